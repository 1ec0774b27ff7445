#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# kernels: none
#
# linux.waits of threads and processes that live for a few milliseconds: no wait reaches from one thread to the next one
# in its place, and the stacks of a child are never of the program of its parent, whose memory it had.
. "$(dirname "$0")/lib.sh"
needs_commands /usr/bin/python3
cd "$TMP" || exit 2
threads=$(scaled 600)
cat >threads.py <<'PY'
import sys, threading, time
for _ in range(int(sys.argv[1]) // 50):
    batch = [threading.Thread(target=time.sleep, args=(0.03,)) for _ in range(50)]
    for t in batch:
        t.start()
    for t in batch:
        t.join()
PY
cat >children.py <<'PY'
import os, time
for _ in range(50):
    os.waitpid(os.posix_spawn("/bin/sleep", ["sleep", "0.005"], os.environ), 0)
PY
cat >load.sh <<LOAD
/usr/bin/python3 -S threads.py $threads
/usr/bin/python3 -S children.py
LOAD
cat >config <<'CONFIG'
buffers { size_kb: 65536 }
data_sources { config { name: "linux.waits" waits_config { totals_by_thread: true user_stacks_per_second: 100000
  max_per_second: 100000 programs: "python3" programs: "sleep" } } }
data_sources { config { name: "linux.process_stats" } }
CONFIG
ask() { # QUERY
  "$SONDA" sql --csv trace "$1" 2>>log | tail -n +2 | tr -d '"\r'
}
"$SONDA" record -c config -o trace -- sh load.sh >log 2>&1
verdict "a recording of threads and children" $? log

# A thread sleeps once, unless 30 ms have passed before it gets there.
ask "select count(*), max(n) from (select c.utid, sum(v.value) as n from stack_sample s
  join stack_sample_task_context c on c.id = s.task_context_id join stack_sample_counter v on v.stack_sample_id = s.id
  join stack_sample_counter_track t on t.id = v.track_id join thread using (utid) join process p using (upid)
  join stack_profile_callsite k on k.id = s.callsite_id join stack_profile_frame f on f.id = k.frame_id
  where s.source = 'linux.waits' and t.name = 'waits' and f.name = '[sleep]' and p.cmdline glob '/usr/bin/python3*threads.py*'
  group by 1)" >waits
awk -F, -v n="$threads" '{ exit !($1 > n / 2 && $1 <= n && $2 == 1) }' waits
verdict "$threads threads have at most one wait for a time each" $? waits log
ask "select max(s.dur) from slice s join thread_track tt on tt.id = s.track_id join thread t using (utid) join process p using (upid)
  where s.name = 'sleep' and p.cmdline glob '*threads.py*'" >longest
[ "$(cat longest)" -lt 500000000 ]
verdict "  which ends with it" $? longest
ask "select count(*) from (select s.track_id, s.ts, s.dur, lead(s.ts) over (partition by s.track_id order by s.ts) as next
  from slice s join thread_track tt on tt.id = s.track_id) where dur >= 0 and next < ts + dur" >overlaps
[ "$(cat overlaps)" = 0 ]
verdict "  and no two waits of a thread overlap" $? overlaps

# Files of the stacks in which children wait for their time. On a busy machine they end before their command line is read.
ask "with recursive w(callsite) as (
    select c.callsite_id from __intrinsic_track_event_callstacks c join slice s on s.id = c.slice_id
    join thread_track tt on tt.id = s.track_id join thread t using (utid) join process p using (upid)
    where s.name = 'sleep' and coalesce(p.cmdline, 'sleep 0.005') = 'sleep 0.005' and c.callsite_id is not null
    union select k.parent_id from w join stack_profile_callsite k on k.id = w.callsite)
  select distinct m.name from w join stack_profile_callsite k on k.id = w.callsite
  join stack_profile_frame f on f.id = k.frame_id join stack_profile_mapping m on m.id = f.mapping" | sort >files
grep -q '^/kernel$' files && grep -q libc files && ! grep -q python files
verdict "children that were made by vfork have stacks of their own program" $? files
exit $BAD
