#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# kernels: none
# tracefs: none
#
# What is no wait for linux.waits: the time of a thread that is preempted, and time that would be counted twice because a
# thread is woken before it has left its CPU. And what is no frame of a kernel stack: our own BPF programs.
. "$(dirname "$0")/lib.sh"
ping_pong=$B/tests/root/ping_pong
needs_built "$ping_pong"
needs_commands /usr/bin/python3
cd "$TMP" || exit 2

rows() { # QUERY: without the head
  "$SONDA" sql --csv trace "$1" 2>>log | tail -n +2 | tr -d '\r'
}
waits="with w as (select t.tid, t.name, c.upid, c.utid, k.name as what, sum(v.value) as n from stack_sample s
  join stack_sample_task_context c on c.id = s.task_context_id join stack_sample_counter v on v.stack_sample_id = s.id
  join stack_sample_counter_track k on k.id = v.track_id join thread t using (utid) where s.source = 'linux.waits' group by c.utid, k.name)"

# Two processes on one CPU. Each prints its switches that were and were not its own will.
cat >hogs.py <<'PY'
import ctypes, os, resource, time
for _ in range(2):
    if os.fork() == 0:
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
        ctypes.CDLL(None).prctl(15, b'hog', 0, 0, 0)
        before = resource.getrusage(resource.RUSAGE_SELF)
        end = time.monotonic() + 0.6
        while time.monotonic() < end:
            pass
        after = resource.getrusage(resource.RUSAGE_SELF)
        with open(f'hog.{os.getpid()}', 'w') as f:
            f.write(f'{os.getpid()} {after.ru_nvcsw - before.ru_nvcsw} {after.ru_nivcsw - before.ru_nivcsw}\n')
        os._exit(0)
for _ in range(2):
    os.wait()
PY
echo "buffers { size_kb: 16384 } data_sources { config { name: 'linux.waits' waits_config { totals_by_thread: true programs: 'hog' } } }" >config
"$SONDA" record -c config -o trace -- /usr/bin/python3 hogs.py >log 2>&1
verdict "a recording of two processes that share a CPU" $? log
rows "$waits select tid, cast(n as int) from w where what = 'waits' and name = 'hog'" | sort >ours
cat hog.* >known
# The end of a process may be one more.
awk -F'[ ,]' 'FILENAME == "ours" { waits[$1] = $2; next } { n++; preempted += $3; if (waits[$1] > $2 + 1) bad = 1 }
  END { exit bad || n != 2 || preempted < 4 }' ours known
verdict "what is preempted does not wait" $? ours known log

echo "buffers { size_kb: 16384 } data_sources { config { name: 'linux.waits' waits_config { totals_by_thread: true min_us: 1
  programs: 'ping_pong' } } }" >config
"$SONDA" record -c config -o trace -- "$ping_pong" "$(scaled 20000)" >log 2>&1
verdict "a recording of two processes that wake each other" $? log
rows "$waits select sum(iif(what = 'blocked', n, 0)), (select end_ts - start_ts from trace_bounds), sum(iif(what = 'waits', n, 0))
  from w group by utid" >ours
awk -F, '$1 <= 0 || $1 > $2 || $3 < 100 { bad = 1 } END { exit bad || NR != 2 }' ours
verdict "a thread waits for no longer than the time that there was" $? ours log
rows "with recursive calls as (select callsite_id as id from stack_sample where callsite_id is not null
    union select parent_id from stack_profile_callsite join calls using (id) where parent_id is not null)
  select f.name, count(*) from calls join stack_profile_callsite c using (id) join stack_profile_frame f on f.id = c.frame_id
  join stack_profile_mapping m on m.id = f.mapping where m.name glob '*kernel*' group by 1" >frames
[ "$(wc -l <frames)" -gt 20 ] && ! grep -E '^(bpf_prog_[0-9a-f]{8}|bpf_trampoline|bpf_trace_run|__bpf_trace|__bpf_prog)' frames
verdict "kernel stacks have no frame of our programs" $? frames
exit $BAD
