#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# tracefs: none
# kernels: none
#
# record --cpu-stacks and report functions, of a load whose shares are known, and beside perf record where that is here.
# Samples that the kernel drops because a ring is full are counted.
. "$(dirname "$0")/lib.sh"
B=${BIN%/bin}
hot=$B/tests/root/hot_functions
needs_built "$hot"
cd "$TMP" || exit 2
ms=$(scaled 2000)
export HOT_TIMES=$TMP/times

# ---- the shares of two functions

if command -v perf >/dev/null && perf record -q -e cpu-clock -o perf.try true >/dev/null 2>&1; then
  has_perf=1
  "$BIN/sonda" record -o shares --cpu-stacks=999 -- perf record -q -e cpu-clock -F 999 -g -o perf.data -- "$hot" "$ms" >log 2>&1
else
  has_perf=
  "$BIN/sonda" record -o shares --cpu-stacks=999 -- "$hot" "$ms" >log 2>&1
fi
verdict "samples of a program whose functions are known" $? log
grep -q '^  lost  *nothing' log
verdict "  nothing is lost" $? log

"$BIN/sonda" report functions --json --top 1000 -p hot_functions shares >functions.json 2>>log
verdict "report functions" $? log
ours() { # FUNCTION: its samples, also those in functions that it called
  python3 -c 'import json, sys
print(sum(row["total"] for row in json.load(open("functions.json"))["Functions"] if row["function"] == sys.argv[1]))' "$1"
}
theirs() { # FUNCTION: the same of perf record
  perf script -i perf.data -F ip,sym 2>/dev/null | awk -v name="$1" '
    NF { found += $2 == name; next } { n += found > 0; found = 0 }
    END { print n + (found > 0) }'
}
# Shares of at least 500 samples, which are apart by less than 5 points, or 5 standard deviations where these are more:
# of this share, and of the other one if it is that of samples, too.
near() { # PART OF SHARE [SAMPLES OF THE OTHER]
  awk -v part="$1" -v of="$2" -v share="$3" -v other="${4:-0}" 'BEGIN {
    d = of ? 100 * part / of - share : 100
    limit = of && share > 0 && share < 100 ? 5 * sqrt(share * (100 - share) * (1 / of + (other ? 1 / other : 0))) : 0
    if (limit < 5) limit = 5
    exit !(of >= 500 && d < limit && d > -limit) }'
}
three=$(ours hot_three) one=$(ours hot_one) leaf=$(ours hot_leaf)
both=$((three + one))
share=$(awk '{ print 100 * $1 / ($1 + $2) }' "$HOT_TIMES")
near "$three" $both "$share"
verdict "hot_three has its share of the time of both ($three of $both, by its clock $share %)" $? functions.json
near $both "$leaf" 100
verdict "what they call is theirs ($both of $leaf)" $? functions.json
if [ -n "$has_perf" ]; then
  their_three=$(theirs hot_three) their_one=$(theirs hot_one) their_leaf=$(theirs hot_leaf) their_main=$(theirs main)
  their_both=$((their_three + their_one))
  near "$three" $both "$(awk "BEGIN { print 100 * $their_three / ($their_both + 1e-9) }")" "$their_both"
  verdict "perf record has the same share of hot_three ($their_three of $their_both)" $? functions.json
  main=$(ours main)
  near "$leaf" "$main" "$(awk "BEGIN { print 100 * $their_leaf / ($their_main + 1e-9) }")" "$their_main"
  verdict "and of hot_leaf in main ($their_leaf of $their_main, here $leaf of $main)" $? functions.json
else
  skip "the shares of perf record" "perf is not here, or takes no samples"
fi

# ---- a tracepoint, for which the kernel refuses the clock of the config

cat >tracepoint <<'CONFIG'
buffers { size_kb: 8192 }
data_sources { config { name: "linux.perf" perf_event_config { timebase { period: 1 timestamp_clock: PERF_CLOCK_BOOTTIME
  tracepoint { name: "sched:sched_switch" } } } } }
CONFIG
"$BIN/sonda" record -c tracepoint -o switches -- sh -c 'for i in 1 2 3 4; do true & wait; done' >log 2>&1 &&
  [ "$("$BIN/sonda" sql --csv switches 'select count(*) > 3 from perf_sample' 2>>log | tail -n 1 | tr -dc 0-9)" = 1 ]
verdict "a tracepoint is sampled though its clock is to be CLOCK_BOOTTIME" $? log

# ---- followers, and programs besides those of the scope

is_true() { # TRACE QUERY
  [ "$("$BIN/sonda" sql --csv "$1" "$2" 2>>log | tail -n 1 | tr -dc 0-9)" = 1 ]
}
for mode in UNWIND_DWARF UNWIND_FRAME_POINTER; do
  cat >followers <<CONFIG
buffers { size_kb: 8192 }
data_sources { config { name: "linux.perf" perf_event_config { timebase { frequency: 999 }
  followers { counter: SW_CONTEXT_SWITCHES name: "switches" } followers { tracepoint { name: "sched:sched_switch" } name: "events" }
  followers { counter: SW_TASK_CLOCK name: "task" }
  callstack_sampling { scope { additional_cmdline_count: 1 } user_frames: $mode } } } }
data_sources { config { name: "linux.process_stats" } }
CONFIG
  "$BIN/sonda" record -c followers -o followed -- "$hot" "$(scaled 400)" >log 2>&1
  # Both count the switches of the CPU, at a little different moments.
  is_true followed "with c as (select c.ts, t.cpu, t.name, c.value from counter c
    join perf_counter_track t on t.id = c.track_id)
    select count(*) > 0 and max(abs(a.value - b.value)) <= 10 + max(a.value) / 20 and max(a.value) > 0 from c a
    join c b on a.ts = b.ts and a.cpu = b.cpu where a.name = 'switches' and b.name = 'events'"
  verdict "followers are read with each sample ($mode)" $? log
  # A process has the command line of its parent until it executes another program, so a few have another one in the end.
  is_true followed "select max(n) * 10 >= sum(n) * 8 from (select count(*) as n from perf_sample s join thread using (utid)
    join process p using (upid) group by substr(p.cmdline, 1, instr(p.cmdline || ' ', ' ')))"
  verdict "one program is sampled where one is asked for ($mode)" $? log
done

# ---- without the right to load programs the kernel samples, by frame pointers

if command -v setpriv >/dev/null && [ "$(uname -m)" = x86_64 ]; then
  setpriv --bounding-set -bpf,-sys_admin --inh-caps -bpf,-sys_admin "$BIN/sonda" record --cpu-stacks=499 -o walked -- \
    "$hot" "$(scaled 300)" >log 2>&1
  verdict "records without CAP_BPF" $? log
  grep -q '^  missing  callers in programs without frame pointers: ' log
  verdict "  the summary says what is missing" $? log
  is_true walked "select count(*) > 0 and sum(s.unwind_error is null) = 0 from perf_sample s where s.cpu_mode = 'user'"
  verdict "  and so do the samples of programs" $? log
fi

# ---- rings that are too small: sonda-probes does not read them while the load runs

cat >small <<'CONFIG'
buffers { size_kb: 8192 }
data_sources { config { name: "linux.perf" perf_event_config { ring_buffer_pages: 1 timebase { frequency: 999 }
  callstack_sampling { kernel_frames: true user_frames: UNWIND_FRAME_POINTER } } } }
CONFIG
start_ready TRACED_NOTIFY_FD service.log "$BIN/sondad"
start_ready TRACED_PROBES_NOTIFY_FD probes.log "$BIN/sonda-probes"
probes=${PIDS[-1]}
# The command ends when sonda-probes reads again.
"$BIN/sonda" record -c small -o lossy -- sh -c "
  kill -STOP $probes; '$hot' $(scaled 1000); kill -CONT $probes" >log 2>&1
verdict "a recording whose rings are not read for a time" $? log
lost=$(sed -n 's/^  lost .*rings of call stacks: \([0-9,]*\) records\? dropped: the ring was full.*/\1/p' log | tr -d ,)
grep -q 'rings of call stacks: .* the ring was full; try ring_buffer_pages: 4 in perf_event_config, or a lower frequency' log
verdict "the summary has the loss, and what would help" $? log
kept=$("$BIN/sonda" sql --csv lossy 'select count(*) from perf_sample' 2>>log | tail -n 1 | tr -dc 0-9)
least=$(($(scaled 1000) * 999 * 9 / 10000))
echo "lost ${lost:-none}, kept ${kept:-none}; the load alone has $least" >counts
[ "${lost:-0}" -gt 0 ] && [ "${kept:-0}" -gt 0 ] && [ $((${lost:-0} + ${kept:-0})) -ge $least ]
verdict "all samples of the load are kept or counted as lost" $? counts
"$BIN/sonda" report loss --csv lossy >losses.csv 2>&1
[ "$(awk -F, '/perf_cpu_lost_records/ { n += $NF } END { print n + 0 }' losses.csv)" = "$lost" ]
verdict "report loss has the same number" $? losses.csv
exit $BAD
