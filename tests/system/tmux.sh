# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# A terminal for tests: an interactive bash in a tmux server of its own. Sourced after tests/lib.sh. Example:
#
#     . tests/system/tmux.sh
#     terminal 80 24
#     terminal_run sonda report x.pftrace
#     terminal_shows 'COMMAND' || ...            waits
#     terminal_keys q
#     terminal_exit_code                         0
#
# Nothing here waits for a fixed time: each function that waits returns as soon as its condition is true, and fails after
# TERMINAL_PATIENCE seconds.

needs_commands tmux
TERMINAL_PATIENCE=${TERMINAL_PATIENCE:-60}

leave() {
  terminal_end
  stop_all
  rm -rf "$TMP"
}
details() { terminal_screen; }

terminal_tmux() { LC_ALL=C.UTF-8 tmux -u -S "$TMP/tmux" "$@"; }

# Starts the terminal, or a new one of another size. COLUMNS ROWS [NAME=VALUE]... of its environment.
terminal() {
  local columns=$1 rows=$2
  shift 2
  terminal_end
  env -u TMUX LC_ALL=C.UTF-8 "$@" PS1='shell \# $?> ' HISTFILE= INPUTRC=/dev/null tmux -u -S "$TMP/tmux" -f /dev/null \
    new-session -d -x "$columns" -y "$rows" bash --norc --noprofile --noediting -i
  terminal_wait terminal_is_idle
}

# Ends the terminal and everything in it. Without one it does nothing.
terminal_end() {
  local pid
  [ -S "$TMP/tmux" ] || return 0
  pid=$(terminal_tmux display-message -p '#{pid}' 2>/dev/null)
  terminal_tmux kill-server 2>/dev/null
  [ -z "$pid" ] || terminal_wait test ! -e "/proc/$pid"
  rm -f "$TMP/tmux"
}

# Waits until the command succeeds.
terminal_wait() {
  local end=$((SECONDS + TERMINAL_PATIENCE))
  until "$@"; do
    [ $SECONDS -le $end ] || return 1
    sleep 0.05
  done
}

# Keys as tmux names them: q, Enter, C-c, Up ... A text of several letters is typed.
terminal_keys() { terminal_tmux send-keys "$@"; }

# The shell's prompt has the number of the command line and the exit code of the last one: "shell 3 0>".
terminal_prompt() { terminal_screen | sed -n '/./h; ${g; s/^shell \([0-9]*\) \([0-9]*\)>$/\1 \2/p}'; }
# Succeeds if the shell waits for a command line.
terminal_is_idle() { [ -n "$(terminal_prompt)" ]; }
terminal_is_back() { terminal_is_idle && [ "$(terminal_prompt | cut -d ' ' -f 1)" -gt "$TERMINAL_COMMAND" ]; }

# Types a command line, on a clear screen, when the shell waits for one.
terminal_run() {
  terminal_wait terminal_is_idle || return 1
  TERMINAL_COMMAND=$(terminal_prompt | cut -d ' ' -f 1)
  terminal_keys -l "clear; $*"
  terminal_keys Enter
}

# Prints the exit code of the last command line, when the shell is back.
terminal_exit_code() {
  terminal_wait terminal_is_back || return 1
  terminal_prompt | cut -d ' ' -f 2
}

# The text on the screen, and the same with its colours as escape sequences.
terminal_screen() { terminal_tmux capture-pane -p; }
terminal_colors() { terminal_tmux capture-pane -p -e; }

# Succeeds if a line of the screen matches the extended regular expression now.
terminal_has() { terminal_screen | grep -qE -- "$1"; }
# Waits for such a line, or for the last one to go.
terminal_shows() { terminal_wait terminal_has "$1"; }
terminal_lacks() { ! terminal_has "$1"; }
terminal_hides() { terminal_wait terminal_lacks "$1"; }

# Succeeds if the program has the alternate screen, which leaves the lines before it unchanged.
terminal_is_alternate() { [ "$(terminal_tmux display-message -p '#{alternate_on}')" = 1 ]; }
# Succeeds if the terminal is as a shell expects it: the normal screen, a visible cursor, echo and lines.
terminal_is_restored() {
  local modes
  modes=$(stty -a -F "$(terminal_tmux display-message -p '#{pane_tty}')")
  [ "$(terminal_tmux display-message -p '#{alternate_on} #{cursor_flag}')" = "0 1" ] &&
    [[ $modes =~ [[:space:]]isig\ icanon\  && $modes =~ \ echo\  ]]
}

terminal_resize() { terminal_tmux resize-window -x "$1" -y "$2"; }

# Prints the process ids of the programs that the shell runs.
terminal_programs() { pgrep -P "$(terminal_tmux display-message -p '#{pane_pid}')"; }
