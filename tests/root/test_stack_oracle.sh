#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# tracefs: machine
# check: long
# kernels: none
#
# Call stacks of programs of this machine beside eu-stack: a program is stopped again and again, and the sample of the switch
# that stops it has the frames that eu-stack sees then.
. "$(dirname "$0")/lib.sh"
compare=$(dirname "$(realpath "$0")")/stopped_stacks.py
[ "$(uname -m)" = x86_64 ] && [ -e /sys/kernel/btf/vmlinux ] || { echo "stacks are unwound by frame pointers" >&2; exit 77; }
command -v eu-stack >/dev/null || { echo "eu-stack is not here (elfutils)" >&2; exit 77; }
awk -v cpus="$(nproc)" '{ exit !(int($4) <= 2 * cpus) }' /proc/loadavg || { echo "the machine is busy: a stop comes late, and rings overflow" >&2; exit 77; }
cd "$TMP" || exit 2

# Loads that run and sleep in turn; each writes its pid.
load_python3() {
  exec python3 -c '
import time
def f(n): return sum(i * i % 7 for i in range(n))
while True: f(10000); time.sleep(0.0001)'
}
load_bash() { exec bash -c 'while :; do x=$((x + 1)); read -r -t 0.001 y </dev/zero; done'; }
load_gzip() { exec gzip -c <random >/dev/null; }
load_xz() { exec xz -1 -c <random >/dev/null; }
load_redis-server() { exec redis-server --port 0 --unixsocket "$TMP/redis" --save '' --appendonly no >/dev/null; }

# The stack of each sample: "TIME TID FILE+ADDRESS;...", the outermost frame first.
samples="with recursive walk(sample, ts, tid, up, path) as (
    select s.id, s.ts, t.tid, s.callsite_id, '' from perf_sample s join thread t using (utid) where callsite_id is not null
    union all
    select w.sample, w.ts, w.tid, c.parent_id, replace(m.name, rtrim(m.name, replace(m.name, '/', '')), '') || '+' ||
      printf('%x', f.rel_pc) || ';' || w.path
    from walk w join stack_profile_callsite c on c.id = w.up join stack_profile_frame f on f.id = c.frame_id
    join stack_profile_mapping m on m.id = f.mapping)
  select ts || ' ' || tid || ' ' || path from walk where up is null"

for program in python3 bash gzip xz redis-server; do
  command -v $program >/dev/null || { skip "$program" "it is not here"; continue; }
  feeder=
  if [ $program = gzip ] || [ $program = xz ]; then
    rm -f random && mkfifo random
    cat /dev/urandom >random &
    feeder=$!
    PIDS+=("$feeder")
  fi
  "load_$program" >/dev/null 2>&1 &
  pid=$!
  PIDS+=("$pid")
  if [ $program = redis-server ]; then
    redis-benchmark -s "$TMP/redis" -n 100000000 >/dev/null 2>&1 &
    feeder=$!
    PIDS+=("$feeder")
  fi
  cat >config <<CONFIG
buffers { size_kb: 131072 }
data_sources { config { name: "linux.perf" perf_event_config { timebase { counter: SW_CONTEXT_SWITCHES period: 1 }
  callstack_sampling { scope { target_pid: $pid } user_frames: UNWIND_DWARF } } } }
CONFIG
  "$BIN/sonda" record -c config -o trace -- sh -c "sleep 1; '$compare' take $pid 40 theirs" >log 2>&1
  "$BIN/sonda" sql --csv trace "$samples" 2>>log | tr -d '\r"' | tail -n +2 | "$compare" compare theirs >result 2>>log
  read -r equal of <result
  [ "${of:-0}" -ge 100 ] && [ $((100 * equal)) -ge $((98 * of)) ]
  verdict "$program: 98 % of the frames are those of eu-stack ($equal of $of)" $? log
  kill "$pid" $feeder 2>/dev/null
  wait "$pid" $feeder 2>/dev/null
  rm -f trace
done
exit $BAD
