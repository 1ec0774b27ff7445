#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# tracefs: shared
#
# Names of processes on the real kernel, read with trace_processor: each process is one, with its name, also beside
# counters and events of the ends of processes; and in what a ring has kept after it wrapped, whichever service has it.
. "$(dirname "$0")/lib.sh"
need_tracefs
ping_pong=$B/tests/root/ping_pong
needs_built "$ping_pong"

load() { # until it is stopped
  exec >/dev/null 2>&1
  while :; do
    /bin/true
    (:)
    sleep 0.03
  done
}
load &
PIDS+=($!)

# A twin is a process beside another one of the same number that did not end before it began. A process without a
# beginning was there before the session; it may have ended while the session began, before its name could be read.
twins="select pid, name, start_ts, end_ts from process p where exists (select 1 from process q
  where q.pid = p.pid and q.upid != p.upid and (p.start_ts is null or q.start_ts is null)
    and not ifnull(p.end_ts <= q.start_ts, 0) and not ifnull(q.end_ts <= p.start_ts, 0))
  and not exists (select 1 from process b join process c using (pid) where b.upid < c.upid and c.start_ts is not null
    and b.start_ts is not null and b.pid in (p.pid, (select pid from process r where r.upid = p.parent_upid)))"
nameless="select pid, start_ts, end_ts from process where name is null and start_ts is not null and pid > 0"

use_sockets "$TMP"
start_service sonda "$TMP" && start_probes sonda "$TMP" || exit 1
cat >"$TMP/counters.cfg" <<'CONFIG'
buffers { size_kb: 65536 fill_policy: DISCARD }
data_sources { config { name: "linux.ebpf_counters" ebpf_counters_config { period_ms: 100 top_n: 500 } } }
data_sources { config { name: "linux.process_stats" process_stats_config {
  scan_all_processes_on_start: true record_thread_names: true proc_stats_poll_ms: 250 } } }
data_sources { config { name: "linux.ftrace" ftrace_config {
  ftrace_events: "sched/sched_switch" ftrace_events: "task/task_newtask" ftrace_events: "task/task_rename"
  ftrace_events: "sched/sched_process_exec" ftrace_events: "sched/sched_process_exit"
  ftrace_events: "sched/sched_process_free" buffer_size_kb: 8192 } } }
CONFIG
cp configs/process-counters.cfg "$TMP/process-counters.cfg"
for config in counters process-counters; do
  # Daemons: the parent of each has ended when it is first seen in /proc.
  timeout 60 "$BIN/sonda" record -c "$TMP/$config.cfg" -o "$TMP/trace" -- \
    bash -c 'for i in {1..30}; do (sleep 0.5 &); sleep 0.1; done' >"$TMP/log" 2>&1
  verdict "$config: recorded" $? "$TMP/log"
  query "$TMP/trace" "select count(*) > 100 as many from process where end_ts is not null" >"$TMP/rows"
  grep -q '"many":1' "$TMP/rows"
  verdict "$config: processes have ended" $? "$TMP/rows"
  query "$TMP/trace" "$twins" >"$TMP/rows"
  [ "$(cat "$TMP/rows")" = '[]' ]
  verdict "$config: no process is there twice" $? "$TMP/rows"
  query "$TMP/trace" "$nameless" >"$TMP/rows"
  [ "$(cat "$TMP/rows")" = '[]' ]
  verdict "$config: none is without a name" $? "$TMP/rows"
done
# The kernel's rings hold three seconds without switches. Other processes may have used a number twice meanwhile.
sed '/sched_switch/s/ftrace_events: "sched\/sched_switch"//' "$TMP/counters.cfg" >"$TMP/stopped.cfg"
timeout 60 "$BIN/sonda" record -c "$TMP/stopped.cfg" -o "$TMP/trace" -- bash -c 'sleep 1; kill -STOP $0
  for i in {1..30}; do (sleep 5 &); sleep 0.1; done; kill -CONT $0; sleep 1' "${PIDS[-1]}" >"$TMP/log" 2>&1
query "$TMP/trace" "$twins and name = 'sleep'" "select count(*) >= 30 as many from process where name = 'sleep'" >"$TMP/rows"
[ "$(cat "$TMP/rows")" = '[]
[{"many":1}]' ]
verdict "sonda-probes did not run for three seconds: no process is there twice" $? <(cat "$TMP/rows" "$TMP/log")
# The rings are read after a time in which polls have seen each process several times; they hold that without switches, too.
sed 's/buffer_size_kb: 8192/& drain_period_ms: 5000/' "$TMP/stopped.cfg" >"$TMP/late.cfg"
timeout 60 "$BIN/sonda" record -c "$TMP/late.cfg" -o "$TMP/trace" -- \
  bash -c 'for i in {1..10}; do (sleep 7 &); sleep 0.1; done; sleep 4.5' >"$TMP/log" 2>&1
query "$TMP/trace" "$twins and name = 'sleep'" "select count(*) >= 10 as many from process where name = 'sleep'" >"$TMP/rows"
[ "$(cat "$TMP/rows")" = '[]
[{"many":1}]' ]
verdict "the rings are read every five seconds: no process is there twice" $? <(cat "$TMP/rows" "$TMP/log")
stop_all
load &
PIDS+=($!)

# ---- a ring that wraps ----

# A thread that exits leaves its CPU for the last time when its process may have been reaped: sched_process_free of the
# process comes first, and trace_processor takes that switch for another thread's of the same number.
last_step="(p.pid is null and not exists (select 1 from sched s where s.utid = t.utid and s.end_state not glob 'X*')
  and exists (select 1 from thread u join process q using (upid) where u.tid = t.tid
    and q.end_ts <= (select min(ts) from sched s where s.utid = t.utid)))"
# The first event is later than the start, and all that ran after it and before the trace was requested is named. Tasks
# that began before the session and ended while /proc was scanned may have no process. Events of the time between the
# flush and the copy of the buffers are in a trace, too: their threads may have no name yet.
started=0 requested=0 scan_ns=500000000
wrapped() { # TRACE
  query "$1" "select idx from stats where name = 'traced_buf_bytes_overwritten' and value > 0" \
    "select count(*) > 0 as before from sched where ts between $started and $requested" \
    "select tid, t.name, p.pid, t.start_ts - $started as begin_ns, (select max(ts) - $started from sched s where s.utid = t.utid
        and s.end_state glob 'X*') as end_ns from thread t left join process p using (upid)
      where utid in (select utid from sched where ts between $started and $requested) and tid > 0
        and (t.name is null or p.name is null) and not $last_step and not ifnull(begin_ns is null and end_ns < $scan_ns, 0)" >"$TMP/rows"
  [ "$(cat "$TMP/rows")" = '[{"idx":0}]
[{"before":1}]
[]' ]
}
for service in sonda perfetto; do
  dir=$TMP/$service
  mkdir "$dir"
  use_sockets "$dir"
  start_service $service "$dir" && start_probes sonda "$dir"
  "$BIN/sonda" record --detach ring -b 512kb sched >"$dir/log" 2>&1
  verdict "$service: a ring is recorded" $? "$dir/log"
  "$ping_pong" 1000000000 1000 & # fills the ring
  PIDS+=($!)
  started=$(uptime_ns)
  for ((i = 0; i < 100; i++)); do
    requested=$(uptime_ns)
    "$BIN/sonda" snapshot ring -o "$dir/snapshot.$i" >"$dir/log" 2>&1 || break
    wrapped "$dir/snapshot.$i" && break
    grep -q '"idx":0' "$TMP/rows" && grep -q '"before":1' "$TMP/rows" && break
    rm "$dir/snapshot.$i"
    sleep 1
  done
  grep -q '"idx":0' "$TMP/rows"
  verdict "$service: it has wrapped" $? "$TMP/rows"
  wrapped "$dir/snapshot.$i"
  verdict "$service: in a snapshot every thread that ran has a name, and its process" $? "$TMP/rows"
  requested=$(uptime_ns)
  "$BIN/sonda" stop ring -o "$dir/last" >"$dir/log" 2>&1 && wrapped "$dir/last"
  verdict "$service: and at the end" $? "$TMP/rows"
  stop_all
  load &
  PIDS+=($!)
done
exit $BAD
