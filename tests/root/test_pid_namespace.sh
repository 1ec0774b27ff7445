#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# kernels: none
#
# sonda sql: slices and instants of a program in a pid namespace of its own are on the threads that the kernel's events name.
. "$(dirname "$0")/lib.sh"
program=$B/tests/library/event_startup
needs_built "$program" "$SONDA"
unshare --mount --pid --fork --mount-proc true 2>/dev/null || { echo "no pid namespaces" >&2; exit 77; }
cd "$TMP" || exit 2

"$SONDA" record -o trace --app boot sched -t 60 -- \
  timeout -s KILL 1 unshare --mount --pid --fork --kill-child --mount-proc "$program" 50 300 >log 2>&1
grep -q "^  ended *'timeout' " log
verdict "a recording of a program in a pid namespace" $? log

# Its second thread lives for a moment. If it ended before its ids were read, it has the negative of its own tid.
"$SONDA" sql --csv trace "
  select p.name glob '*event_startup' as is_program, t.tid = p.pid as is_main, count(distinct t.utid) as threads,
    count(*) >= 50 as has_events, min(t.tid < 0 or exists (select 1 from sched c where c.utid = t.utid)) as has_runs
  from slice s join thread_track k on k.id = s.track_id join thread t using (utid) join process p using (upid)
  group by 1, 2 order by 2 desc" >rows 2>&1
printf '%s\r\n' 'is_program,is_main,threads,has_events,has_runs' 1,1,1,1,1 1,0,1,1,1 >expected
cmp -s rows expected
verdict "its events are on threads that ran" $? rows expected
exit "$BAD"
