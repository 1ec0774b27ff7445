#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# tracefs: none
#
# What scripts for trace_processor write beside SQL: span joins of random intervals have its rows, included modules its
# views, PERFETTO tables and views are made.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/sql_lib.sh"
dir=$TMP/sql_dialect
mkdir "$dir"
TRACE=tests/data/traces/ring_losses.pftrace
for seed in 1 2 3 4; do
  node "$HERE/span_join.mjs" $seed >"$dir/statements"
  mapfile -t statements <"$dir/statements"
  cp "$TRACE" "$dir/trace$seed" # a database of its own
  equal "span joins of seed $seed" "$dir/trace$seed" "${statements[@]}"
done
protoc -Iprotos --encode=perfetto.protos.Trace protos/trace/trace.proto <tests/interop/sql_traces/tracks.txtpb >"$dir/tracks" 2>"$dir/log"
verdict "protoc encodes tracks" $? "$dir/log"
equal "modules on tracks" "$dir/tracks" "INCLUDE PERFETTO MODULE slices.with_context; select id, ts, dur, category, name, track_id, track_name, process_name, upid, pid, depth, parent_id, thread_name, utid, tid, is_main_thread, thread_ts, thread_dur from thread_slice order by id" \
  "select id, ts, dur, category, name, track_id, track_name, process_name, upid, pid, depth, parent_id, thread_ts, thread_dur from process_slice order by id" "select id, ts, dur, category, name, track_id, track_name, process_name, upid, pid, depth, parent_id, thread_name, utid, tid from thread_or_process_slice order by id"
equal "modules on the scheduler" "$TRACE" "INCLUDE PERFETTO MODULE sched.with_context; INCLUDE PERFETTO MODULE sched.with_context;
  select * from sched_with_thread_process order by id" \
  "INCLUDE PERFETTO MODULE time.conversion; select time_from_ms(3) as a, time_to_us(5999) as b, time_from_min(2) as c, time_to_s(-1) as d" \
  "CREATE PERFETTO TABLE runs AS SELECT utid, sum(dur) AS ns FROM sched GROUP BY utid; select * from runs order by utid" \
  "CREATE OR REPLACE PERFETTO TABLE runs(n LONG) AS SELECT count() AS n FROM sched; select n from runs" \
  "CREATE PERFETTO VIEW few AS SELECT n FROM runs; select * from few"
equal "views of views, and of slices" "$TRACE" "create view of_slices as select id, ts, name, depth from slice; create view of_tracks as select s.*, t.utid
  from of_slices s join __intrinsic_slice i using (id) join thread_track t on t.id = i.track_id; select * from of_tracks order by id" \
  "create view if not exists of_counters as select c.ts, t.name, t.cpu, c.value from counter c join cpu_counter_track t on t.id = c.track_id;
  select count() as n from of_counters" "drop view of_slices; create view of_slices as select count() as n from slices; select * from of_slices"
equal "slices around slices" "$dir/tracks" "select s.id as of, a.id, a.ts, a.dur, a.track_id,
  a.category, a.name, a.depth, a.parent_id, a.thread_ts, a.thread_dur from slice s, ancestor_slice(s.id) a order by s.id, a.id" \
  "select s.id as of, d.id, d.name, d.depth from slice s, descendant_slice(s.id) d order by s.id, d.id" "select id from ancestor_slice(null)"
equal "texts" "$TRACE" "select name from thread where name regexp '^k.*/[0-9]+$' or name regexp 'sh' order by utid" \
  "select null regexp 'a' as a, 'a' regexp null as b, 'ab' regexp 'b' as c" \
  "select str_split('a,b,,c', ',', 0) as a, str_split('a,b,,c', ',', 2) as b, str_split('a,b,,c', ',', 3) as c, str_split('a,b', ',', 2) as d,
   str_split('a--b', '--', 1) as e, str_split('', ',', 0) as f"
exit $BAD
