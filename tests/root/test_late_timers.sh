#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# kernels: none
# tracefs: shared
#
# sonda report timers beside cyclictest: its largest latency is among the longest sleeps, as the delay of the timer and the
# wait for a CPU.
. "$(dirname "$0")/lib.sh"
needs_commands cyclictest /usr/bin/python3
cd "$TMP" || exit 2

report() { # SECTION EXPRESSION: of each row r
  /usr/bin/python3 -c '
import json, sys
for title, rows in json.load(open("json")).items():
    for r in rows if title.startswith(sys.argv[1]) and rows else []:
        print(*eval(sys.argv[2]), sep="\t")' "$1" "$2"
}

# Kernels of some virtual machines leave out events while threads of the first process run. The longest sleep of a round may
# lack its switch then: its wait for a CPU is too long, while the delay of its timer is right. So there are several rounds.
explained=1
for round in 1 2 3 4 5 6; do
  timeout 60 "$BIN/sonda" record -a -o trace sched timer -- cyclictest -q -p 80 -i 1000 -l 400 >log 2>&1
  read -r tid max < <(sed -nE 's/^T: *0 \( *([0-9]+)\).* Max: *([0-9]+).*/\1 \2/p' log)
  [ -n "$max" ] || break
  "$BIN/sonda" report timers --top 100000 --json trace >json 2>report.err
  report "Longest sleeps" '(r["total_ns"] // 1000, r["timer_late_ns"] // 1000, r["waited_for_cpu_ns"] // 1000, r["tid"])' |
    awk -v tid="$tid" '$4 == tid' >sleeps
  echo "round $round: cyclictest $max us; $(wc -l <sleeps) sleeps, longest $(head -n 1 sleeps | tr '\t' ' ')" >>rounds
  # cyclictest also measures the way back to the program.
  awk -v max="$max" '{ for (i = 1; i <= 2; i++) if ($i <= max + 2 && $i >= 0.8 * max - 25) found = 1 } END { exit !found || NR < 300 }' sleeps && { explained=0; break; }
done
verdict "the largest latency of cyclictest is a sleep of the report" $explained rounds log report.err

report "Sleeps that a timer ended, by thread" '(r["tid"], r["times"], r["timer_late_ns"] + r["waited_for_cpu_ns"] - r["max_ns"])' >threads
awk -v tid="$tid" '$1 == tid && $2 >= 300 && $3 == 0 { found = 1 } END { exit !found }' threads
verdict "the parts of a thread's longest sleep add up" $? threads report.err
report "Timers, by the function" '(r["function"], r["kind"], r["times"], r["max_ns"])' >functions
awk -F'\t' '$1 == "hrtimer_wakeup" && $2 == "hrtimer" && $3 >= 300 && $4 > 0 && $4 < 1e9 { found = 1 } END { exit !found }' functions
verdict "timers by function" $? functions report.err
# A timer of the wheel fires at its tick, or a later one.
awk -F'\t' '$2 == "timer wheel" && $4 > 60e9 { bad = 1 } END { exit bad }' functions
verdict "timers of the wheel are late by ticks" $? functions

# Each reason adds up to all timers of functions, without those of the wheel counted twice.
report "Timers, by the reason" '(r["times"], r["reason"])' >reasons
[ "$(awk '{ n += $1 } END { print n }' reasons)" = "$(awk -F'\t' '{ n += $3 } END { print n }' functions)" ]
verdict "each timer has a reason" $? reasons functions
report "Latest timers" '(r["late_ns"], r["behind"], r["reason"])' | sort -s -c -k1,1nr 2>order
verdict "the latest timers, the latest first" $? order
exit $BAD
