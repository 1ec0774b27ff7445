#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# kernels: 5.10 6.1 newest
#
# linux.waits on each kernel: its programs load, and waits of known number have their reason and waker. (An emulated
# kernel is too slow for the names of user functions: tests/root/test_waits.sh.)
. "$(dirname "$0")/../../root/lib.sh"
cd "$TMP" || exit 2

"$SONDA" record -o trace waits -- "$B/tests/root/known_waits" 2 20 "$TMP" >log 2>&1
verdict "linux.waits: a recording" $? log
ask() { "$SONDA" sql --csv trace "$1" 2>>log | tail -n +2 | tr -d '"\r'; }
of_known="from slice s join thread_track t on t.id = s.track_id join thread x using (utid)
  where x.tid = $(awk '$1 == "tid" { print $2 }' log)"
# The program that becomes the command reads from a pipe, too.
ask "select s.name, count(*) >= 6 $of_known and s.name in ('sleep', 'read from pipe') group by 1" >names
printf '%s\n' "read from pipe,1" "sleep,1" | diff - names >difference
verdict "waits have their reasons" $? difference log
ask "with recursive w(id, callsite, name) as (
    select slice_id, end_callsite_id, '' from __intrinsic_track_event_callstacks where end_callsite_id is not null
    union all select w.id, k.parent_id, f.name from w
    join stack_profile_callsite k on k.id = w.callsite join stack_profile_frame f on f.id = k.frame_id)
  select s.name, count(distinct s.id) >= 6 from w join slice s on s.id = w.id
  where (s.name = 'read from pipe' and w.name glob '*pipe_write' or s.name = 'sleep' and w.name = 'hrtimer_wakeup')
  and s.id in (select k.id from (select s.id as id $of_known) k) group by 1" >wakers
printf '%s\n' "read from pipe,1" "sleep,1" | diff - wakers >difference
verdict "and the code that ended them" $? difference log

# Before Linux 5.18 the state is read from the thread, whose waker may have changed it by then.
"$SONDA" record -o pairs waits --waits min=1us,rate=100000 -- "$B/tests/root/ping_pong" 500 >log 2>&1
"$SONDA" sql --csv pairs "select count(*) > 500, sum(extract_arg(arg_set_id, 'debug.state') != 'S') from slice
  where name in ('unix receive', 'read')" 2>>log | tail -n 1 | tr -d '\r' >states
[ "$(cat states)" = 1,0 ]
verdict "each wait of two processes that wake each other has its state" $? states log

# The programs with the test of the group, which is made before.
grep -q cgroup2 /proc/filesystems && mkdir "$TMP/groups" && mount -t cgroup2 none "$TMP/groups" && mkdir "$TMP/groups/one"
"$SONDA" record -t 300ms -o grouped waits --cgroup /one >log 2>&1 && ! grep -E 'linux.waits|missing' log
verdict "of a control group" $? log
rmdir "$TMP/groups/one" && umount "$TMP/groups"
exit $BAD
