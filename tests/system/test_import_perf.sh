#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# sonda import of a perf.data: a file and a stream, compressed, samples resolved by the mappings of their time, tracepoints,
# losses, clocks, names of the kernel's functions, damaged files.
. "$(dirname "$0")/../lib.sh"
. tests/system/import.sh
needs_commands python3

make_data() { python3 tests/system/perf_data.py "$TMP/perf.data" "$@"; } # OPTION...
# A line for each frame of each sample: time, thread, depth, file or function, address in the file.
FRAMES="with recursive f(ts, utid, depth, id, up) as (
  select ts, utid, 0, frame_id, parent_id from perf_sample join stack_profile_callsite c on c.id = callsite_id
  union all select f.ts, f.utid, f.depth + 1, c.frame_id, c.parent_id from f join stack_profile_callsite c on c.id = f.up)
  select f.ts - 5000000000, tid, depth, iif(r.name <> '', r.name, m.name), rel_pc from f join thread using (utid)
  join stack_profile_frame r on r.id = f.id join stack_profile_mapping m on m.id = r.mapping order by 1, 3"
# The fixed program has addresses beyond its offsets. The second one is what process 200 executes from 2000 on.
WANTED='0,100,0,/usr/bin/first,4112
0,100,1,/usr/bin/first,4352
600,200,0,/usr/bin/first,4128
1000,100,0,NAME,0
1000,100,1,/usr/bin/fixed,4194595
1900,200,0,/usr/bin/first,4144
3000,201,0,/usr/bin/second,32'

# ---- files and streams ----

for way in "" --stream --compressed "--stream --compressed" --unsorted "--id --stream" "--id --compressed"; do
  # shellcheck disable=SC2086 # options
  make_data $way
  run_import perf.data && says " and 5 samples from 2 CPUs; 0 lost, 0 not imported" &&
    same "$(ask "$FRAMES")" "${WANTED/NAME/0xffffffff81000105}"
  verdict "perf.data $way: each sample has the stack of its time" $?
  same "$(ask "select name from stats where severity = 'error' and value > 0")" ""
  verdict "perf.data $way: the trace has no error" $?
done
same "$(ask "select tid, thread.name, process.name from thread join process using (upid) where tid in (100, 200) order by 1")" \
  $'100,first,first\n200,second,second'
verdict "names of processes and threads are in the trace" $?
same "$(ask "select build_id from stack_profile_mapping where name = '/usr/bin/first' limit 1")" \
  0102030405060708090a0b0c0d0e0f1011121314
verdict "build ids of programs are in the trace" $?

# ---- tracepoints ----

make_data --id && run_import perf.data && says "10 events and 5 samples"
same "$(ask 'select ts - 5000000000, cpu, dur, tid from sched join thread using (utid) order by ts limit 3')" \
  $'200,0,100,101\n300,0,100,100\n400,0,100,101'
verdict "samples of a tracepoint are events of the kernel" $?
make_data --id --lost 7 && run_import perf.data && says "; 7 lost" &&
  "$SONDA" info "$TMP/trace.pf" >"$TMP/out" 2>&1 && grep -q 'holes.*cpu1 .*(7 events)' "$TMP/out"
verdict "lost records are counted, with their CPU" $?
make_data --lost 9 && run_import perf.data && says "; 9 lost" &&
  same "$(ask "select sum(value) from stats where name like 'perf_cpu_lost%'")" 9
verdict "lost samples are counted" $?

# ---- context switches ----

make_data --switches && run_import perf.data && says "6 events and 5 samples from 2 CPUs; 0 lost, 0 not imported" &&
  says "neither priorities nor sleep states"
same "$(ask 'select ts - 5000000000, cpu, dur, tid, end_state from sched join thread using (utid) where tid > 0 order by ts')" \
  $'100,0,100,100,R\n200,0,100,200,S\n300,0,100,100,S\n500,0,100,201,S'
verdict "context switches of all CPUs are switches, also of a thread that ends" $?

# ---- clocks ----

make_data && run_import perf.data && says "clock perf"
verdict "the clock of perf is named" $?
make_data --clock 1 --clock-data && run_import perf.data && says "clock mono" &&
  same "$(ask "select clock_value - ts from clock_snapshot where clock_name = 'REALTIME'")" 1699999995000000000
verdict "CLOCK_REALTIME is in the trace if perf has measured it" $?

# ---- names of the kernel's functions ----

make_data
printf 'ffffffff91000000 T _text\nffffffff91000100 T some_function\nffffffff91000200 T other\n' >"$TMP/kallsyms"
run_import perf.data --kallsyms "$TMP/kallsyms" && ! says "no names" && same "$(ask "$FRAMES")" "${WANTED/NAME/some_function}"
verdict "--kallsyms names functions, also of a kernel that was loaded elsewhere" $?
run_import perf.data && says "kernel functions have no names"
verdict "the names of another kernel are not used" $?
run_import perf.data --kallsyms "$TMP/missing"
[ $? = 1 ] && says "cannot read"
verdict "a kallsyms that is not there is an error" $?

# ---- recorded by perf ----

cp tests/data/import/perf_6.1_zstd.data "$TMP/perf.data"
run_import perf.data && says "perf.data by perf 6.1.192, clock mono: 0 events and 176 samples"
verdict "a compressed file of perf 6.1 has all its samples" $?
if command -v perf >/dev/null; then
  perf script -i "$TMP/perf.data" -F tid,time --ns 2>>"$TMP/err" | sed -E 's/^ *([0-9]+) +([0-9]+)\.([0-9]+):.*/\1,\2\3/' >"$TMP/perf"
  ask 'select tid, ts from perf_sample join thread using (utid) order by ts, tid' >"$TMP/sonda"
  sed -E 's/,0+/,/' "$TMP/perf" | sort | cmp -s - <(sort "$TMP/sonda")
  verdict "its samples have the threads and times that perf script prints" $? "$TMP/perf" "$TMP/sonda"
else
  echo "# perf is not installed: not compared with perf script"
fi

# ---- files that cannot be read ----

make_data --big-endian
refuses "a file of a big-endian machine is refused" "big-endian" perf.data
head -c 60 tests/data/import/perf_6.1_zstd.data >"$TMP/cut"
refuses "a file without its head is refused" "the file is damaged" cut
make_data --cut 700 && run_import perf.data && says "the end of the file is missing"
verdict "a file without its end is imported up to there" $?
exit $BAD
