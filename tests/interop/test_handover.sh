#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# tracefs: shared
#
# What sonda makes of a trace, read by trace_processor: sonda export --json has the same slices, the parts of sonda split
# have the same events.
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

# A test beside this one runs threads with names that are no text. trace_processor has other names for them in JSON.
plain="name not glob '*[^ -~]*'"
slices="select name, count(*) as n, sum(dur) as sum, min(ts) as first, max(ts) as last from"
for name in full columns tracks merged_tracks; do
  "$BIN/sonda" export --json -o "$dir/$name.json" "$dir/$name" >"$dir/log" 2>&1
  verdict "$name as JSON" $? "$dir/log"
  query "$dir/$name" "$slices (select ifnull(name, '') as name, dur, ts from slice where dur >= 0 union all
    select ifnull(t.name, 'thread ' || t.tid), s.dur, s.ts from sched s join thread t using (utid) where s.dur >= 0 and t.name <> '')
    where $plain group by name order by name" "select count(*) from counter" "select name, count(*) from thread
    where name <> '' and $plain and name not glob 'CPU [0-9]*' group by name order by name" >"$dir/theirs"
  query "$dir/$name.json" "$slices (select ifnull(name, '') as name, dur, ts from slice where dur >= 0 and ifnull(name, '') <> '[No name]')
    where $plain group by name order by name" \
    "select count(*) from counter" "select name, count(*) from thread
    where name <> '' and $plain and name not glob 'CPU [0-9]*' group by name order by name" >"$dir/ours"
  diff "$dir/theirs" "$dir/ours" >"$dir/diff"
  verdict "trace_processor reads the same slices, counters and threads from the JSON of $name" $? "$dir/diff"
  query "$dir/$name.json" "select name, value from stats where severity = 'error' and value > 0" >"$dir/errors"
  grep -q '^\[\]$' "$dir/errors"
  verdict "without an error" $? "$dir/errors"
done

# ---- split ----

# Rows of each table, by name: sums over the parts are those of the whole. A part also has the values that its counters had at its
# begin: at most one of each track.
counts="select 'sched ' || t.tid as what, count(*) as n from sched join thread t using (utid) group by 1
  union all select 'ftrace ' || e.name || ' ' || t.tid, count(*) from ftrace_event e join thread t using (utid) group by 1
  union all select 'slice ' || ifnull(name, ''), count(*) from slice group by 1
  union all select 'counter ' || t.type || ifnull(t.name, ''), count(*) from counter c join track t on t.id = c.track_id group by 1
  union all select 'bounds', 0"
errors="select name, idx, value from stats where severity in ('error', 'data_loss') and value > 0"
for name in full columns merged_tracks; do
  every=150ms
  [ $name != merged_tracks ] || every=7ns
  "$BIN/sonda" split --every $every -o "$dir/$name-part" "$dir/$name" >"$dir/log" 2>&1
  verdict "$name is split" $? "$dir/log"
  query "$dir/$name" "$counts" "$errors" >"$dir/whole"
  for part in "$dir/$name"-part.*; do query "$part" "$counts" "$errors"; done >"$dir/parts"
  python3 - "$dir/whole" "$dir/parts" <<'END' >"$dir/diff" 2>&1
import collections, json, sys
def read(path):
    sums, errors, lines = collections.Counter(), collections.Counter(), [json.loads(l) for l in open(path)]
    for rows, stats in zip(lines[::2], lines[1::2]):
        for r in rows:
            sums[r["what"]] += r["n"]
        for r in stats:
            if not r["name"].startswith("track_descriptor"):
                errors[r["name"], r["idx"]] += r["value"]
    return len(lines) // 2, sums, errors
n, whole, errors = read(sys.argv[1])
parts, union, part_errors = read(sys.argv[2])
print(parts, "parts,", sum(whole.values()), "rows; missing", list((whole - union).items())[:9], "more", list((union - whole).items())[:9])
print(dict(errors), dict(part_errors))
more = [(what, k) for what, k in (union - whole).items() if not what.startswith("counter ") or k > (parts - 1) * whole[what]]
sys.exit(not (parts > 3 and not whole - union and not more and errors == part_errors and sum(whole.values()) > 10))
END
  verdict "trace_processor reads the same rows and no further error from the parts of $name" $? "$dir/diff"
done
exit $BAD
