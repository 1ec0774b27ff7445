#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# kernels: none
#
# linux.waits of loads whose waits are known: their time beside the events of the scheduler in the same recording, their
# number, the code that waited and the code that woke it; waits that began before or last past the end; what is no wait;
# throttled processes.
. "$(dirname "$0")/lib.sh"
known=$B/tests/root/known_waits
needs_built "$known" "$B/tests/root/ping_pong"
needs_commands /usr/bin/python3
cd "$TMP" || exit 2
times=5 ms=5

config() { # FIELDS: linux.waits with these, and the events of the scheduler
  cat <<CONFIG
buffers { size_kb: 65536 }
data_sources { config { name: "linux.waits" waits_config { $1 } } }
data_sources { config { name: "linux.process_stats" } }
data_sources { config { name: "linux.ftrace" ftrace_config { buffer_size_kb: 16384
  ftrace_events: "sched/sched_switch" ftrace_events: "sched/sched_waking" } } }
CONFIG
}
ask() { # TRACE QUERY: the rows, without the head, columns separated by commas
  "$SONDA" sql --csv "$1" "$2" 2>>log | tail -n +2 | tr -d '"\r'
}
# Each function of a stack, with the weights of its sample; and each function of the stack of a waker, with its wait.
of_totals="with recursive s(id, utid, callsite, ns, n) as (
    select s.id, c.utid, s.callsite_id,
      sum(iif(t.name = 'blocked', v.value, 0)), sum(iif(t.name = 'waits', v.value, 0))
    from stack_sample s join stack_sample_task_context c on c.id = s.task_context_id
    join stack_sample_counter v on v.stack_sample_id = s.id join stack_sample_counter_track t on t.id = v.track_id
    where s.source = 'linux.waits' group by 1),
  w(id, utid, ns, n, callsite, name) as (
    select id, utid, ns, n, callsite, '' from s
    union all select w.id, w.utid, w.ns, w.n, k.parent_id, f.name from w
    join stack_profile_callsite k on k.id = w.callsite join stack_profile_frame f on f.id = k.frame_id)"
of_wakers="with recursive w(id, callsite, name) as (
    select slice_id, end_callsite_id, '' from __intrinsic_track_event_callstacks where end_callsite_id is not null
    union all select w.id, k.parent_id, f.name from w
    join stack_profile_callsite k on k.id = w.callsite join stack_profile_frame f on f.id = k.frame_id)"
annotation() { # KEY: of slice s
  echo "(select coalesce(string_value, int_value) from args where arg_set_id = s.arg_set_id and key = 'debug.$1')"
}
# NAME: of each thread the file sums has ns and number of our waits and of the scheduler's events, in its last four columns.
# Some virtual machines leave out events of the scheduler and count none of them; then ftrace has fewer sleeps than we have.
same_time() {
  if awk -F, '{ d = $(NF - 1) - $NF; few = 1 + $NF / 500; if (d > few || d < -few) bad = 1 } END { exit bad }' sums; then
    awk -F, '{ d = $(NF - 3) / $(NF - 2) - 1; if (d > 0.02 || d < -0.02) bad = 1 } END { exit bad || NR < 2 }' sums
    verdict "$1" $? sums
  else
    skip "$1" "the kernel left out events of the scheduler: $(tr '\n' ' ' <sums)"
  fi
}
thread_of_slice="join thread_track tt on tt.id = s.track_id join thread using (utid)"

# ---- known waits, and what else happens meanwhile

sleep 600 &
sleeper=$!
PIDS+=($sleeper)
cat >others.sh <<OTHERS
sleep 600 & victim=\$!
sleep 0.1
kill -KILL \$victim
taskset -c 0 sh -c 'i=0; while [ \$i -lt 60000 ]; do i=\$((i+1)); done' &
taskset -c 0 sh -c 'i=0; while [ \$i -lt 60000 ]; do i=\$((i+1)); done' &
echo \$victim \$\$ >victim
/usr/bin/python3 -SE -c 'import select, os; r, w = os.pipe(); p = select.poll(); p.register(r, select.POLLIN); p.poll(600)' & poller=\$!
echo \$poller >poller
for i in \$(seq 100); do grep -q '^7 ' /proc/\$poller/syscall && break; sleep 0.01; done
sleep 0.05
kill -STOP \$poller
sleep 0.05
kill -CONT \$poller
# The events of a CPU may begin later than those of the other ones.
sleep 0.5
$known $times $ms $TMP >known
wait
OTHERS
config "totals_by_thread: true user_stacks_per_second: 100000 max_per_second: 100000 kernel_stacks_per_second: 100000" >config
"$SONDA" record -c config -o trace -- sh others.sh >log 2>&1
verdict "a recording of known waits" $? log
grep -q '^  lost  *nothing' log
verdict "  nothing is lost" $? log
tid=$(awk '$1 == "tid" { print $2 }' known)
read -r victim killer <victim

ask trace "$of_totals
  select t.tid, t.name, sum(s.ns), (select sum(dur) from thread_state o where o.utid = s.utid and o.state in ('S', 'D') and dur > 0),
    sum(s.n), (select count(*) from thread_state o where o.utid = s.utid and o.state in ('S', 'D') and dur > 0)
  from s join thread t using (utid) where t.name in ('known_waits', 'waker') group by s.utid" >sums
same_time "the blocked time of each thread is that of the scheduler's events within 2 %"
ask trace "$of_totals
  select name, sum(n), cast(sum(ns) as int) from (select distinct id, name, n, ns, utid from w where name glob 'wait_*') group by 1" >functions
calls=$((3 * times))
for kind in futex pipe sleep; do
  grep -q "^wait_$kind,$calls\(\.0\)*," functions
  verdict "wait_$kind has waited $calls times" $? functions
done
# A call takes longer than its wait: until the thread runs again.
awk 'NR == FNR { split($0, f, ","); ns[f[1]] = f[3]; next }
  $1 ~ /wait_(futex|pipe|sleep)/ && !(ns[$1] <= $3 && ns[$1] > 0.5 * $3) { bad = 1 }
  END { exit bad }' functions known
verdict "  and no longer than its calls took" $? functions known
# Totals by wakers are of the same waits: of each thread their time and number, those without a waker's stack included.
ask trace "select c.utid, sum(iif(s.source = 'linux.waits', v.value, -v.value)), count(distinct s.source)
  from stack_sample s join stack_sample_task_context c on c.id = s.task_context_id
  join stack_sample_counter v on v.stack_sample_id = s.id join stack_sample_counter_track t on t.id = v.track_id
  where t.name in ('blocked', 'waits') and s.source in ('linux.waits', 'linux.wakers') group by c.utid, t.name" >differences
awk -F, '$2 != 0 || $3 != 2 { bad = 1 } END { exit bad || !NR }' differences
verdict "totals by wakers have the time and number of all waits" $? differences
ask trace "${of_totals//source = \'linux.waits\'/source = \'linux.wakers\'}
  select name, sum(n) >= $calls from (select distinct id, name, n from w where name in ('wake_futex', 'wake_pipe')) group by 1 order by 1" >wakers
printf 'wake_futex,1\nwake_pipe,1\n' | diff - wakers >difference
verdict "  by the functions that ended them" $? difference wakers
ask trace "$of_wakers select s.name, w.name, count(distinct s.id) from w join slice s on s.id = w.id $thread_of_slice
  where tid = $tid and (w.name glob 'wake_*' or w.name = 'hrtimer_wakeup') group by 1, 2" >wakers
for pair in "futex,wake_futex" "read from pipe,wake_pipe"; do
  grep -q "^$pair,$((3 * times))" wakers
  verdict "each wait of ${pair%,*} was ended by ${pair#*,}" $? wakers
done
ask trace "select distinct s.name, $(annotation waker) from slice s $thread_of_slice
  where tid = $tid and s.name in ('sleep', 'futex', 'read from pipe') order by 1" >names
cat >expected <<EXPECTED
futex,waker
read from pipe,waker
sleep,interrupt
EXPECTED
diff expected names >difference
verdict "wakers have their names; a timer is an interrupt, whatever it interrupted" $? difference
ask trace "select count(*) from slice s $thread_of_slice where tid = $tid and s.name = 'page fault' and $(annotation syscall) is not null" >faults
[ "$(cat faults)" = 0 ]
verdict "a wait in a page fault has no system call" $? faults
ask trace "$of_totals select id, count(*) from w where name = 'chain' group by 1" | sort -t, -nk2 >chains
grep -q ',1$' chains && grep -q ',20$' chains && awk -F, '$2 > 60 { n++ } END { exit !n }' chains
verdict "stacks have the 1, 20 and up to 127 functions that were called" $? chains

ask trace "select s.dur, $(annotation 'blocked ns') / 1e9 < 60, $(annotation 'began before the recording') from slice s $thread_of_slice where tid = $sleeper" >open
[ "$(cat open)" = "-1,1,1" ] || [ "$(cat open)" = "-1,1,true" ]
verdict "a thread that sleeps all the time has one open wait, no longer than the recording" $? open
ask trace "select s.name, $(annotation 'waker tid') from slice s $thread_of_slice where tid = $victim and s.dur > 1000000 and s.name = 'sleep'" >killed
[ "$(cat killed)" = "sleep,$killer" ]
verdict "the wait of a killed thread ends at the signal: its killer is the waker" $? killed <(echo "killer $killer")
ask trace "select s.name from slice s $thread_of_slice where tid = $(cat poller) and s.dur > 40000000 order by s.ts" |
  tail -n 2 | tr '\n' ' ' >polls
[ "$(cat polls)" = "stopped poll " ]
verdict "a poll that was stopped and continued is a poll" $? polls
# Those of this recording have the parent of its command; other recordings may run beside it.
ask trace "select cmdline from process where parent_upid = (select parent_upid from process where cmdline = 'sh others.sh')
  and cmdline glob '*sond*'" >daemons
[ "$(grep -c sond daemons)" = 2 ]
verdict "sonda's own processes are known" $? daemons
no_offenders "  and have no waits" "$(ask trace "select distinct p.cmdline from slice s $thread_of_slice join process p using (upid)
  where p.cmdline glob '*sond*' and p.parent_upid = (select parent_upid from process where cmdline = 'sh others.sh')")"
ask trace "select cast(min(ts) >= (select start_ts from trace_bounds) as int) from stack_sample" >bounds
[ "$(cat bounds)" = 1 ]
verdict "totals are within the bounds of the trace" $? bounds

# ---- preemption, and more waits than the limits allow

config "totals_by_thread: true programs: 'ping_pong' min_us: 1 max_per_second: 160 kernel_stacks_per_second: 160 user_stacks_per_second: 160" >config
"$SONDA" record -c config -o busy -- "$B/tests/root/ping_pong" "$(scaled 4000)" 5000 >log 2>&1
verdict "a recording of two processes that wake each other" $? log
ask busy "$of_totals
  select cast(sum(s.ns) as int), (select sum(dur) from thread_state o where o.utid = s.utid and o.state in ('S', 'D') and dur > 0),
    sum(s.n), (select count(*) from thread_state o where o.utid = s.utid and o.state in ('S', 'D') and dur > 0)
  from s join thread t using (utid) where t.name = 'ping_pong' group by s.utid" >sums
same_time "stacks that the limits refuse do not change the blocked time"
ask busy "$of_totals select count(*) > 0 from w where name = '[no stack taken]' and n > 100" >refused
[ "$(cat refused)" = 1 ]
verdict "  and are named so" $? refused

# ---- a control group that uses up its CPU time

group=/sys/fs/cgroup/cpu/sonda-test-$$
if mkdir "$group" 2>/dev/null && echo 20000 2>/dev/null >"$group/cpu.cfs_quota_us"; then
  cat >throttled.sh <<THROTTLED
sh -c 'echo \$\$ >$group/tasks; until grep -q "nr_throttled [5-9]" $group/cpu.stat; do i=0; while [ \$i -lt 10000 ]; do i=\$((i+1)); done; done'
THROTTLED
  config "min_us: 1 max_per_second: 100000 kernel_stacks_per_second: 100000" >config
  "$SONDA" record -c config -o throttled -- sh throttled.sh >log 2>&1
  verdict "a recording of a throttled process" $? log
  ask throttled "select count(*) from slice where name = 'cgroup throttle' and dur > 0" >slices
  awk '$1 == "nr_throttled" { print $2 }' "$group/cpu.stat" >periods
  # The group may be throttled while its thread does not run: that is no wait of it. The kernel counts periods: in one of them
  # the thread may be throttled twice.
  [ "$(cat slices)" -gt 0 ] && [ "$(cat slices)" -le $(($(cat periods) + 1)) ] && [ "$(cat slices)" -ge $(($(cat periods) - 1)) ]
  verdict "  has a wait for each time that the kernel throttled it" $? slices "$group/cpu.stat"
else
  skip "a throttled process" "there is no cpu.cfs_quota_us here"
fi
rmdir "$group" 2>/dev/null
exit $BAD
