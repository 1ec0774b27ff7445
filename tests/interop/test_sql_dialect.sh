#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# tracefs: none
#
# What scripts for trace_processor write beside SQL: span joins of random intervals have its rows, included modules its
# views, PERFETTO tables and views are made.
set -u
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
exit $BAD
