#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# kernels: none
#
# linux.waits beside offcputime (libbpf-tools) on the same run: each function of the kernel that our stacks of long waits have
# is in those of offcputime; those with more than 100 ms have the same time within 2 %. offcputime counts until the thread runs
# again, linux.waits until it is woken: the load has real-time priority, so it runs some 50 us later.
. "$(dirname "$0")/lib.sh"
known=$B/tests/root/known_waits
needs_built "$known"
needs_commands offcputime chrt
cd "$TMP" || exit 2
cat >config <<'CONFIG'
buffers { size_kb: 16384 }
data_sources { config { name: "linux.waits" waits_config { programs: "known_waits" totals_period_ms: 500 } } }
data_sources { config { name: "linux.process_stats" } }
data_sources { config { name: "linux.ftrace" ftrace_config { buffer_size_kb: 16384
  ftrace_events: "sched/sched_switch" ftrace_events: "sched/sched_waking" } } }
CONFIG

# The process that becomes the load waits until both record it. That wait began before, so offcputime has no begin of it.
cat >load.sh <<LOAD
echo \$\$ >pid.new && mv pid.new pid
read -r go <gate
exec chrt -f 1 '$known' 5 20 '$TMP'
LOAD
mkfifo gate
cat >both.sh <<'BOTH'
sh load.sh >known 2>&1 & load=$!
until [ -e pid ]; do sleep 0.05; done
offcputime -p $load -m 1000 --stack-storage-size=16384 >theirs 2>theirs.err & theirs=$!
until ls -l /proc/$theirs/fd 2>/dev/null | grep -q 'bpf.link'; do
  kill -0 $theirs 2>/dev/null || exit 3
  sleep 0.05
done
sleep 0.1
echo go >gate
wait $load
status=$?
kill -INT $theirs
wait $theirs
exit $status
BOTH
"$SONDA" record --exit-code -c config -o trace -- sh both.sh >log 2>&1
result=$?
if [ $result = 3 ] || [ ! -s theirs ]; then
  echo "offcputime does not run here: $(tail -n 1 theirs.err 2>/dev/null)" >&2
  exit 77
fi
verdict "a recording beside offcputime" $result log theirs.err known

# FUNCTION NS of all functions of the kernel, each once a stack.
"$SONDA" sql --csv trace "with recursive s(id, callsite, ns) as (
    select s.id, s.callsite_id, v.value from stack_sample s
    join stack_sample_counter v on v.stack_sample_id = s.id join stack_sample_counter_track t on t.id = v.track_id
    where s.source = 'linux.waits' and t.name = 'blocked'),
  w(id, ns, up, name, file) as (
    select id, ns, callsite, '', '' from s
    union all select w.id, w.ns, k.parent_id, f.name, m.name from w join stack_profile_callsite k on k.id = w.up
    join stack_profile_frame f on f.id = k.frame_id join stack_profile_mapping m on m.id = f.mapping)
  select name, cast(sum(ns) as int) from (select distinct id, ns, name from w where file = '/kernel') group by name" 2>>log |
  tail -n +2 | tr -d '"\r' | grep -v '^\[' | tr , ' ' | sort >ours.functions
awk '/^$/ { n = 0; split("", seen); next }
  /^    -  / { named = 1; next }
  /^        [0-9]+$/ && named { for (f in seen) ns[f] += $1 * 1000; named = 0; split("", seen); next }
  { seen[$1] = 1 }
  END { for (f in ns) print f, ns[f] }' theirs | sort >theirs.functions
join ours.functions theirs.functions | awk '$3 > 1e8 { d = $2 / $3 - 1; print $0, d; if (d > 0.02 || d < -0.02) bad = 1 }
  END { exit bad }' >both
result=$?
n=$(wc -l <both)
# What the threads waited for a CPU after their waits, in ms.
late=$("$SONDA" sql --csv trace "select cast(sum(s.dur) / 1e6 as int) from thread_state s join thread t using (utid)
  join process p using (upid) where p.pid = $(cat pid) and s.state in ('R', 'R+')" 2>>log | tail -n 1 | tr -dc 0-9)
if [ $result != 0 ] && [ "${late:-0}" -ge 10 ]; then
  skip "the same time in each function of the kernel" "the load waited for a CPU for $late ms"
else
  [ $result = 0 ] && [ "$n" -ge 8 ]
  verdict "the same time in each function of the kernel ($n functions)" $? both theirs
fi
join -v 1 ours.functions theirs.functions >missing
[ ! -s missing ]
verdict "no function that offcputime does not have" $? missing theirs
exit $BAD
