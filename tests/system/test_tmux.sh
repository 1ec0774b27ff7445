#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The terminal of the tests (tmux.sh): what it types, shows, resizes and ends.
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/system/tmux.sh
. tests/system/tmux.sh

# shellcheck disable=SC2317 # check calls it.
is() { [ "$1" = "$2" ] || { echo "#   \"$1\", not \"$2\""; return 1; }; }

terminal 40 10 COLOUR=blue
# shellcheck disable=SC2016 # The terminal's shell expands them.
terminal_run 'echo $COLUMNS $LINES $COLOUR'
check "a size and a variable" terminal_shows '^40 10 blue$'
terminal_run '(exit 7)'
check "an exit code" is "$(terminal_exit_code)" 7
terminal_run 'printf "\033[31mred\033[0m\n"'
check "a text" terminal_shows '^red$'
check "its colour" grep -q $'\033\[31mred' <(terminal_colors)
terminal_run 'printf "\033[?1049h"; echo other; read -rs'
check "the alternate screen" terminal_wait terminal_is_alternate
terminal_keys Enter
terminal_run 'printf "\033[?1049l"'
check "the end of it" terminal_wait terminal_is_restored
terminal_run "bash -c 'trap \"stty size\" WINCH; echo ready; while sleep 0.05; do :; done'"
check "a program that runs" terminal_shows '^ready$'
terminal_resize 100 30
check "a resize" terminal_shows '^30 100$'
terminal_keys C-c
check "a key that ends it" is "$(terminal_exit_code)" 130
server=$(terminal_tmux display-message -p '#{pid}')
terminal_end
check "the end" test ! -e "/proc/$server"
exit $BAD
