#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# tracefs: machine
# check: heavy
#
# One load recorded by sonda, perf and trace-cmd at the same time: what the traces say about it differs by less than 0.1 %,
# and trace_processor reads the imported traces without an error. A program that is not installed, or that this kernel
# refuses to serve, is left out with a word.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/sql_lib.sh"
need_tracefs
needs_commands python3
dir=$TMP/tools
mkdir "$dir"
details() { cat "$dir"/*.log "$TMP/err"; }
EVENTS=(sched:sched_switch sched:sched_waking raw_syscalls:sys_enter raw_syscalls:sys_exit)

# The load has a name of its own. It ends by itself.
cp "$(command -v bash)" "$dir/imp_load"
load() {
  # shellcheck disable=SC2016 # its own variables
  "$dir/imp_load" -c 'for ((i = 0; i < 4000; i++)); do read -r x </proc/version; done; for ((i = 0; i < 300; i++)); do (:); done'
}

# ---- recording ----

# trace-cmd writes to files that some kernels refuse to write.
has_trace_cmd=
if ! command -v trace-cmd >/dev/null; then
  echo "# trace-cmd is not installed"
elif ! trace-cmd record -q -C boot -o "$dir/try.dat" -e sched:sched_switch true >"$dir/try.log" 2>&1; then
  echo "# trace-cmd cannot record here: $(head -n 1 "$dir/try.log")"
else
  has_trace_cmd=1
fi
has_perf=
if command -v perf >/dev/null; then has_perf=1; else echo "# perf is not installed"; fi
[ -n "$has_perf$has_trace_cmd" ] || { echo "neither perf nor trace-cmd can record here" >&2; exit 77; }

# Each records until the load has ended, at most a minute.
"$SONDA" record -t 60s -B 64mb -o "$dir/sonda.pf" "${EVENTS[@]/:/\/}" >"$dir/sonda.log" 2>&1 &
PIDS+=($!)
if [ -n "$has_perf" ]; then
  perf record -q -k mono -m 8192 -a -o "$dir/perf.data" "${EVENTS[@]/#/-e}" sleep 60 >"$dir/perf.log" 2>&1 &
  PIDS+=($!)
fi
if [ -n "$has_trace_cmd" ]; then
  trace-cmd record -q -C boot -b 65536 -o "$dir/trace.dat" "${EVENTS[@]/#/-e}" sleep 60 >"$dir/trace.log" 2>&1 &
  PIDS+=($!)
fi
sleep 4 # all have begun, also on a busy machine
load
sleep 1
recorders=("${PIDS[@]}")
PIDS=()
kill -INT "${recorders[@]}"
wait "${recorders[@]}"
[ -s "$dir/sonda.pf" ] && { [ -z "$has_perf" ] || [ -s "$dir/perf.data" ]; } && { [ -z "$has_trace_cmd" ] || [ -s "$dir/trace.dat" ]; }
verdict "all record" $?
PIDS=()

# ---- comparing ----

one() { # TRACE STATEMENT: one number
  "$SONDA" sql --csv "$1" "$2" 2>>"$TMP/err" | tail -n 1 | tr -d '\r'
}
OF_LOAD="join thread using (utid) where thread.name = 'imp_load'"
# Linux 6.18 gives perf some samples twice, with all their fields; perf script prints them twice, too.
ONCE="count(distinct utid || ' ' || ts)"
declare -A ASK=(
  ["slices of the scheduler"]="select count(*) from sched $OF_LOAD and dur > 0"
  ["time on a CPU"]="select sum(dur) from sched $OF_LOAD and dur > 0"
  ["system calls"]="select $ONCE from ftrace_event $OF_LOAD and ftrace_event.name = 'sys_enter'"
  ["returns of system calls"]="select $ONCE from ftrace_event $OF_LOAD and ftrace_event.name = 'sys_exit'"
)
compare() { # TOOL: the trace $dir/TOOL.pf with that of sonda
  local what ours theirs
  for what in "${!ASK[@]}"; do
    ours=$(one "$dir/sonda.pf" "${ASK[$what]}")
    theirs=$(one "$dir/$1.pf" "${ASK[$what]}")
    python3 -c 'import sys; a, b = map(int, sys.argv[1:]); sys.exit(not (a > 100 and abs(a - b) * 1000 < a))' "$ours" "$theirs"
    verdict "$1: $what of the load differ by less than 0.1 % ($ours, $theirs)" $?
  done
}
check_tool() { # TOOL FILE
  "$SONDA" import -o "$dir/$1.pf" "$dir/$2" >"$dir/import_$1.log" 2>&1 && grep -q "; 0 lost, 0 not imported" "$dir/import_$1.log"
  verdict "$1: the file is imported, and nothing is lost" $?
  compare "$1"
  query "$dir/$1.pf" "select name from stats where severity in ('error', 'data_loss') and value > 0" >"$dir/stats"
  [ "$(cat "$dir/stats")" = "[]" ]
  verdict "$1: trace_processor reads the trace without an error" $? "$dir/stats"
}
[ -z "$has_perf" ] || check_tool perf perf.data
[ -z "$has_trace_cmd" ] || check_tool trace_cmd trace.dat

# ---- samples ----

if [ -n "$has_perf" ]; then
  perf record -q -k mono -g -F 499 -e cpu-clock -o "$dir/stacks.data" "$dir/imp_load" -c 'for ((i = 0; i < 200000; i++)); do :; done' \
    >"$dir/stacks.log" 2>&1
  "$SONDA" import -o "$dir/stacks.pf" "$dir/stacks.data" >"$dir/import_stacks.log" 2>&1
  verdict "samples of perf are imported" $?
  # Addresses of the innermost frames, without the kernel's, which are not in the trace.
  perf script -i "$dir/stacks.data" -F ip,dso 2>>"$TMP/err" | awk 'BEGIN { RS = "" } { print $1, $2 }' | grep -v kernel |
    sed -E 's/^[^ ]+ \((.*)\)$/\1/' | sort | uniq -c >"$dir/theirs"
  "$SONDA" sql --csv "$dir/stacks.pf" "select substr(m.name, 1) from perf_sample join stack_profile_callsite c on c.id = callsite_id
    join stack_profile_frame f on f.id = c.frame_id join stack_profile_mapping m on m.id = f.mapping where m.name not like '%kernel%'" |
    tail -n +2 | tr -d '\r' | sort | uniq -c >"$dir/ours"
  [ -s "$dir/ours" ] && cmp -s "$dir/theirs" "$dir/ours"
  verdict "the innermost frames are in the files that perf script prints" $? "$dir/theirs" "$dir/ours"
  equal "samples of perf" "$dir/stacks.pf" "select ts, utid, cpu, cpu_mode, callsite_id is null from perf_sample order by ts, utid" \
    "select name, count(*) as n from stack_profile_mapping group by 1 order by 1"
  perf record -q -k mono -a --switch-events -e cpu-clock -F 99 -o "$dir/switches.data" -- sleep 0.3 >"$dir/switches.log" 2>&1
  "$SONDA" import -o "$dir/switches.pf" "$dir/switches.data" >>"$dir/switches.log" 2>&1
  # A thread that has ended has no number in perf's record.
  perf script -i "$dir/switches.data" --show-switch-events --ns -F tid,cpu,time 2>>"$TMP/err" | sed -nE \
    's/^ *(-?[0-9]+) +\[0*([0-9]+)\] +([0-9]+)\.([0-9]+): PERF_RECORD_SWITCH_CPU_WIDE OUT .*\/(-?[0-9]+) *$/\2,\3\4,\1,\5/p' | sort >"$dir/theirs"
  "$SONDA" sql --csv "$dir/switches.pf" "select cpu, ts, extract_arg(arg_set_id, 'prev_pid'), extract_arg(arg_set_id, 'next_pid') from ftrace_event
    where name = 'sched_switch'" | tail -n +2 | tr -d '\r' | sort >"$dir/ours"
  [ "$(wc -l <"$dir/ours")" -gt 20 ] && [ "$(wc -l <"$dir/ours")" = "$(wc -l <"$dir/theirs")" ] &&
    ! comm -23 <(grep -v ',-1,' "$dir/theirs") "$dir/ours" | grep . >"$dir/diff"
  verdict "the context switches are those that perf script prints" $? "$dir/switches.log" "$dir/diff"
fi
exit $BAD
