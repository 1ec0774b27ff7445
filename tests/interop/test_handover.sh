#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# tracefs: shared
#
# What sonda makes of a trace for other programs: sonda export --json, read by trace_processor.
set -u
. "$(dirname "$0")/lib.sh"
need_tracefs
dir=$TMP/handover
mkdir "$dir"
use_sockets "$dir"

config() { # FTRACE_OPTIONS
  cat <<CONFIG
buffers { size_kb: 32768 }
data_sources { config { name: "linux.ftrace" ftrace_config { $1
  ftrace_events: "sched/sched_switch" ftrace_events: "sched/sched_waking" ftrace_events: "task/task_newtask"
  ftrace_events: "task/task_rename" ftrace_events: "sched/sched_process_free"
  ftrace_events: "irq/softirq_entry" ftrace_events: "irq/softirq_exit" ftrace_events: "power/cpu_frequency" } } }
data_sources { config { name: "linux.process_stats" process_stats_config { scan_all_processes_on_start: true proc_stats_poll_ms: 100 } } }
data_sources { config { name: "linux.sys_stats" sys_stats_config { meminfo_period_ms: 50 stat_period_ms: 50 } } }
data_sources { config { name: "linux.system_info" } }
duration_ms: 700
CONFIG
}

start_service sonda "$dir" && start_probes sonda "$dir"
verdict "sondad and sonda-probes start" $? "$dir/service.log"
config "" >"$dir/full.cfg"
config "compact_sched { enabled: true }" >"$dir/columns.cfg"
for name in full columns; do
  "$BIN/sonda" record -q -c "$dir/$name.cfg" -o "$dir/$name" -- sh -c 'for i in 1 2 3 4 5 6 7; do sleep 0.1; ls -l / >/dev/null; done' >"$dir/log" 2>&1
  verdict "a recording: $name" $? "$dir/log"
done
for text in tests/interop/sql_traces/{tracks,merged_tracks}.txtpb; do
  name=$(basename "$text" .txtpb)
  protoc -Iprotos --encode=perfetto.protos.Trace protos/trace/trace.proto <"$text" >"$dir/$name" 2>"$dir/log"
  verdict "protoc encodes $name" $? "$dir/log"
done

# ---- export ----

slices="select name, count(*) as n, sum(dur) as sum, min(ts) as first, max(ts) as last from"
for name in full columns tracks merged_tracks; do
  "$BIN/sonda" export --json -o "$dir/$name.json" "$dir/$name" >"$dir/log" 2>&1
  verdict "$name as JSON" $? "$dir/log"
  query "$dir/$name" "$slices (select ifnull(name, '') as name, dur, ts from slice where dur >= 0 union all
    select ifnull(t.name, 'thread ' || t.tid), s.dur, s.ts from sched s join thread t using (utid) where s.dur >= 0)
    group by name order by name" "select count(*) from counter" "select name, count(*) from thread
    where name is not null and name not glob 'CPU [0-9]*' group by name order by name" >"$dir/theirs"
  query "$dir/$name.json" "$slices (select ifnull(name, '') as name, dur, ts from slice where dur >= 0) group by name order by name" \
    "select count(*) from counter" "select name, count(*) from thread
    where name is not null and name not glob 'CPU [0-9]*' group by name order by name" >"$dir/ours"
  diff "$dir/theirs" "$dir/ours" >"$dir/diff"
  verdict "trace_processor reads the same slices, counters and threads from the JSON of $name" $? "$dir/diff"
  query "$dir/$name.json" "select name, value from stats where severity = 'error' and value > 0" >"$dir/errors"
  grep -q '^\[\]$' "$dir/errors"
  verdict "without an error" $? "$dir/errors"
done

exit $BAD
