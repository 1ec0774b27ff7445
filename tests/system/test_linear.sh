#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# check: heavy
#
# The cost of an import and of reports grows as the trace does: instructions are counted for n, 2n and 4n events, and the
# second step must take twice the first, within 10 %. Counts do not depend on the machine or its load. And the memory of the
# rows of a trace.
. "$(dirname "$0")/../lib.sh"
needs_commands python3 valgrind
needs_built "$B/tests/system/preload/fixed_getrandom.so"
! nm -D "$SONDA" | grep -qE '__[at]san_init' || { echo "valgrind runs no program with a sanitizer" >&2; exit 77; }

instructions() { # ARGS... of sonda
  valgrind --tool=cachegrind --cache-sim=no --cachegrind-out-file=/dev/null "$SONDA" "$@" 2>&1 >"$TMP/out" |
    awk '/I +refs:/ { gsub(",", "", $NF); print $NF }'
}

# linear NAME KIND EVENTS ARGS...: of a trace of linear_trace.py. The second step is at most MOST (2.2) times the first.
linear() {
  local name=$1 kind=$2 n=$3 i
  shift 3
  : >"$TMP/counts"
  for i in 1 2 4; do
    python3 tests/system/linear_trace.py "$B/gen/fields.h" "$kind" $((n * i)) "$TMP/trace.pf" || exit 1
    instructions "$@" "$TMP/trace.pf" >>"$TMP/counts"
  done
  awk '{ v[NR] = $1 } END { exit NR != 3 || v[2] <= v[1] || (v[3] - v[2]) / (v[2] - v[1]) > most }' most="${MOST:-2.2}" "$TMP/counts"
  verdict "$name" $? "$TMP/counts"
}

linear "runs, waits and their percentiles" switches 2000 report latency
linear "all of the longest waits" switches 1000 report latency --top 1000000
linear "lines of blocks" switches 2000 report timeline
linear "who had the CPU during the longest waits" switches 2000 report why -p t7
linear "system calls" calls 2000 report syscalls
linear "requests to block devices" requests 4000 report io
linear "asynchronous markers that are all open at once, and their slices" markers 2000 report slices

linear "threads with one tid, each of another process" tids 1000 report sched
# Hash tables of different sizes add some steps; with a search of all pairs it is more than 5.
MOST=3.3 linear "the way between two clocks, which a chain of others connects" way 60 report slices

# The stacks of this trace have n * n frames together, so what the import costs does not count. The keys of hash tables are
# fixed: their collisions would change the two large counts by more than they differ.
for n in 100 200 400; do
  python3 tests/system/linear_trace.py "$B/gen/fields.h" stacks $n "$TMP/trace.pf" || exit 1
  (
    export LD_PRELOAD=$B/tests/system/preload/fixed_getrandom.so
    echo $(($(instructions report functions "$TMP/trace.pf") - $(instructions report sched "$TMP/trace.pf")))
  )
done >"$TMP/counts"
awk '{ v[NR] = $1 } END { exit NR != 3 || (v[3] - v[2]) > 2.2 * (v[2] - v[1]) }' "$TMP/counts"
verdict "functions of deep stacks" $? "$TMP/counts"

# Rows of a trace take at most half as much again as the trace, beside some memory of any import: those of a system call
# refer to its events.
python3 tests/system/linear_trace.py "$B/gen/fields.h" calls 300000 "$TMP/trace.pf" || exit 1
"$SONDA" sql --memory $(($(stat -c %s "$TMP/trace.pf") * 3 / 2 / 1024 + 2048))k --csv "$TMP/trace.pf" \
  "select count(*), sum(extract_arg(arg_set_id, 'ret')), max(extract_arg(arg_set_id, 'args[1]')) from slice" >"$TMP/out" 2>&1 &&
  grep -q '^150000,306430208,139637995927424' "$TMP/out"
verdict "the rows of a trace of system calls fit into 1.5 times its size" $? "$TMP/out"
echo "1..$N"
exit $BAD
