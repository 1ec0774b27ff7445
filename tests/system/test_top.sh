#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# sonda top as a command and on a terminal: its options, lines for pipes, JSON, keys, sizes, and an end that leaves the
# terminal and the machine as they were. It starts its own daemons; with root they count with eBPF, without it from /proc.
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/system/tmux.sh
. tests/system/tmux.sh
mkdir "$TMP/run"
# The sockets of private daemons are in TMPDIR; no service listens at the address.
export TMPDIR=$TMP/run PERFETTO_PRODUCER_SOCK_NAME=$TMP/producer PERFETTO_CONSUMER_SOCK_NAME=$TMP/consumer

on_screen() { # NAME COMMAND...: on failure with the screen
  local name=$1
  shift
  "$@"
  verdict "$name" $? <(terminal_screen)
}
left_nothing() { [ -z "$(ls -A "$TMP/run")" ]; }

# ---- the command line ----

mistake() { # NAME REGEX ARGUMENT...
  local name=$1 regex=$2
  shift 2
  "$SONDA" top "$@" >"$TMP/out" 2>"$TMP/err"
  [ $? = 2 ] && [ ! -s "$TMP/out" ] && [[ $(<"$TMP/err") =~ $regex ]]
  verdict "$name" $? "$TMP/err"
}
mistake "an unknown key" 'valid keys: pid, cpu, runq' -s latency
mistake "no time" '-d .0. is not a time' -d 0
mistake "no number" '-n .x. is not a number' -n x
mistake "no process" "no process is named 'x'" -p 12,x
mistake "no subject" 'valid keys: process, program, unit' --by user
mistake "two kinds of selections" '-p cannot be combined with --unit' -p 1 --unit a
mistake "an unknown option" 'did you mean --batch' --bach
mistake "a word" "unexpected word 'cpu'" cpu
"$SONDA" top --socket "$TMP/nowhere" -b >"$TMP/out" 2>"$TMP/err"
[ $? = 1 ] && grep -q "$TMP/nowhere" "$TMP/err"
verdict "no service at the address" $? "$TMP/err"

# ---- lines ----

"$SONDA" top -n 2 -d 0.2 --top 3 >"$TMP/out" 2>"$TMP/err" </dev/null
[ $? = 0 ] && [ "$(grep -c '^sonda top ' "$TMP/out")" = 2 ] && [ "$(grep -c '^    PID ' "$TMP/out")" = 2 ] &&
  [ "$(grep -cE '^ +[0-9]+ ' "$TMP/out")" = 6 ] && ! grep -q $'\033' "$TMP/out" && grep -qxE 'lost       (nothing|cpu_time lost [0-9]+)' "$TMP/out"
verdict "a pipe gets plain lines" $? "$TMP/out"
"$SONDA" top -b -d 0.2 2>"$TMP/err" </dev/null | head -n 1 >"$TMP/out"
[ "${PIPESTATUS[0]}" = 0 ] && grep -q '^sonda top ' "$TMP/out"
verdict "a reader that ends is no error" $? "$TMP/err"
"$SONDA" top --json -n 2 -d 0.2 >"$TMP/out" 2>"$TMP/err" </dev/null
python3 - "$TMP/out" $$ >"$TMP/said" 2>&1 <<'PYTHON'
import json, sys
screens = [json.loads(line) for line in open(sys.argv[1])]
assert [s["screen"] for s in screens] == [1, 2], screens
for s in screens:
    assert s["machine"]["cpus"] >= 1 and s["machine"]["memory_total_bytes"] > 1 << 20
    assert s["lost"]["gaps"] == 0 and s["lost"]["service"] == "", s["lost"]
    me = [p for p in s["processes"] if p["pid"] == int(sys.argv[2])]
    assert len(me) == 1 and me[0]["rss_bytes"] > 4096, me
    assert "test_top.sh" in me[0]["name"] or "bash" in me[0]["name"], me
assert screens[1]["time_ns"] > screens[0]["time_ns"]
PYTHON
verdict "a line of JSON a screen" $? "$TMP/said"
"$SONDA" top --json -n 1 -d 0.2 -p $$ 2>"$TMP/err" </dev/null | python3 -c \
  'import json, sys; sys.exit([p["pid"] for p in json.load(sys.stdin)["processes"]] != [int(sys.argv[1])])' $$
verdict "one process" $? "$TMP/err"
left_nothing
verdict "nothing is left in the directory for sockets" $? <(ls -lA "$TMP/run")

# ---- the terminal ----

widest() { terminal_screen | awk '{ if (length > n) n = length } END { print n + 0 }'; }
fits() { terminal_has "$1" && [ "$(widest)" -le "$2" ]; }

terminal 100 24
terminal_run "$SONDA top -d 0.2"
on_screen "a screen" terminal_shows '^    PID +%CPU'
on_screen "it is the alternate one" terminal_is_alternate
on_screen "it is sorted by CPU time" terminal_has 'by cpu'
on_screen "titles are reversed" grep -q $'\033\[7m' <(terminal_colors)
terminal_keys '>'
on_screen "> sorts by the next column" terminal_shows 'by runq'
terminal_keys '<'
terminal_keys '<'
on_screen "< sorts by the column before" terminal_shows 'by pid'
on_screen "the first process is 1" terminal_shows '^ +1 '
terminal_keys 2
on_screen "a digit sorts by that column" terminal_shows 'by cpu'
terminal_keys s
on_screen "s sorts by the next column" terminal_shows 'by runq'
terminal_keys h
on_screen "h explains the keys" terminal_shows '^q +quit'
terminal_keys x
on_screen "a key shows the next page" terminal_shows '^COMMAND +the program'
terminal_keys x
on_screen "any key ends the help" terminal_shows '^    PID'
terminal_keys Space
on_screen "space pauses" terminal_shows PAUSED
terminal_keys Space
on_screen "space continues" terminal_hides PAUSED
terminal_keys Down
on_screen "an arrow selects a process" terminal_shows '^> +[0-9]+ '
terminal_keys /
terminal_keys bash
terminal_keys Enter
on_screen "a filter leaves the processes whose name has it" terminal_shows 'filter: bash$'
others() { terminal_screen | grep -E '^[> ]+[0-9]+ ' | grep -vq bash; }
on_screen "and no others" terminal_wait eval '! others'
terminal_keys Escape
on_screen "Escape removes it" terminal_hides 'filter:'
terminal_keys t
on_screen "t shows a tree" terminal_shows ', tree$'
on_screen "a child is indented" terminal_shows '^ +[0-9]+ .*[0-9BKMG-] {3,}[a-z(]'
terminal_keys t
on_screen "t ends it" terminal_hides ', tree$'
terminal_keys H
on_screen "H shows threads" terminal_shows '^    TID +%CPU'
terminal_keys H
on_screen "H ends it" terminal_shows '^    PID +%CPU'
terminal_keys b
on_screen "b adds up by program" terminal_shows '^  PROCS +%CPU.* PROGRAM$'
terminal_keys /
terminal_keys tmux
terminal_keys Enter
on_screen "a filter of subjects" terminal_wait eval 'terminal_has "^ +[1-9][0-9]* .* tmux" && [ "$(terminal_screen | grep -cE "^ +[0-9]+ ")" -le 3 ]'
terminal_keys Enter
on_screen "Enter shows the processes of the subject" terminal_shows '[0-9] process(es)? of program tmux'
terminal_keys Escape
on_screen "Escape shows the subjects" terminal_shows '^  PROCS +%CPU.* PROGRAM$'
terminal_keys Escape
for by in UNIT CONTAINER POD CGROUP; do
  terminal_keys b
  on_screen "b adds up by $by" terminal_shows "^  PROCS +%CPU.* $by\$"
done
on_screen "a control group with its processes" terminal_shows '^ +[1-9][0-9]* .* (/|\(unknown\))'
terminal_keys t
on_screen "in a tree its processes are below it" terminal_shows '^ +\[[0-9]+\] .* (/|\(unknown\))$'
terminal_keys t
terminal_keys b
on_screen "b ends it" terminal_shows '^    PID +%CPU'
if [ "$(id -u)" = 0 ]; then
  while :; do sleep 0.01; done &
  waiter=$!
  PIDS+=("$waiter")
  terminal_keys /
  terminal_keys "$waiter"
  terminal_keys Enter
  on_screen "a process id is a filter, too" terminal_shows " 1 process, .* filter: $waiter\$"
  terminal_keys Enter
  on_screen "Enter records the process" terminal_shows "^Recording process $waiter for 5s into "
  on_screen "and counts the time" terminal_shows '[1-9][0-9.]* s of 5'
  terminal_keys C-c
  on_screen "Ctrl-C ends it, and why it waited is shown" terminal_shows '^Time by state '
  terminal_keys q
  on_screen "sonda top is back" terminal_shows "filter: $waiter\$"
  rm -rf "$TMP"/run/sonda-top.*
  terminal_keys Escape
fi
terminal_resize 40 10
on_screen "a narrow terminal has fewer columns" terminal_wait fits '^    PID +%CPU +%RUNQ .*COMMAND' 40
terminal_resize 200 50
on_screen "a wide terminal has all columns" terminal_shows '%SLEEP.*ERR/s.*WRITE/s.*COMMAND'
terminal_resize 20 3
on_screen "a tiny terminal is no error" terminal_shows '^sonda top'
terminal_resize 100 24
on_screen "and back" terminal_shows '^    PID +%CPU'
terminal_keys C-z
on_screen "Ctrl-Z stops it" terminal_shows 'Stopped'
on_screen "the terminal is restored while it is stopped" terminal_wait terminal_is_restored
terminal_run fg
on_screen "it continues" terminal_shows '^    PID +%CPU'
on_screen "it has the alternate screen again" terminal_is_alternate
terminal_keys q
[ "$(terminal_exit_code)" = 0 ]
verdict "q ends it" $? <(terminal_screen)
on_screen "the terminal is restored" terminal_wait terminal_is_restored

ends_by() { # NAME EXIT_CODE COMMAND...: a new sonda top, and what ends it
  local name=$1 code=$2
  shift 2
  terminal_run "$SONDA top -d 0.2"
  terminal_shows '^    PID'
  "$@"
  [ "$(terminal_exit_code)" = "$code" ] && terminal_wait terminal_is_restored
  verdict "$name ends it, and the terminal is restored" $? <(terminal_screen)
}
service() { pgrep -P "$(terminal_programs)" -x sondad; }
producer() { pgrep -P "$(terminal_programs)" -x sonda-probes; }
end_top() { kill "$(terminal_programs)"; }
crash_service() { kill -KILL "$(service)"; }
crash_producer() { kill -KILL "$(producer)"; }
ends_by Ctrl-C 0 terminal_keys C-c
ends_by SIGTERM 0 end_top
ends_by "the service's crash" 1 crash_service
on_screen "it says why" terminal_has 'sonda: .*sondad'
ends_by "the producer's crash" 1 crash_producer
on_screen "it says why" terminal_has 'sonda: .*sonda-probes'

terminal 100 24 NO_COLOR=1
terminal_run "$SONDA top -d 0.2"
terminal_shows '^    PID'
! grep -q $'\033\[[0-9;]*[1-9]' <(terminal_colors)
verdict "NO_COLOR has no colours" $? <(terminal_colors)
terminal_keys q
terminal 100 24
terminal_run "TERM=dumb $SONDA top -n 1 -d 0.2 --top 3"
on_screen "a dumb terminal gets lines" terminal_shows '^lost '
[ "$(terminal_exit_code)" = 0 ] && ! terminal_is_alternate
verdict "NO_COLOR has no alternate screen" $? <(terminal_screen)
terminal_end
left_nothing
verdict "nothing is left in the directory for sockets" $? <(ls -lA "$TMP/run")
exit $BAD
