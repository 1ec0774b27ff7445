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
equal "functions and macros" "$TRACE" "CREATE PERFETTO FUNCTION longest(tid LONG, name STRING) RETURNS LONG AS SELECT max(dur) FROM sched JOIN thread t USING (utid)
  WHERE t.tid = \$tid AND t.name = \$name; select utid, longest(tid, name) as dur from thread order by utid" \
  "CREATE OR REPLACE PERFETTO FUNCTION runs_of(utid JOINID(thread.id)) RETURNS TABLE(ts TIMESTAMP, dur DURATION) AS SELECT ts, dur FROM sched WHERE utid = \$utid;
  select t.utid, r.ts, r.dur from thread t, runs_of(t.utid) r order by t.utid, r.ts" \
  "CREATE PERFETTO FUNCTION fib(n INT) RETURNS INT AS SELECT iif(\$n < 2, \$n, fib(\$n - 1) + fib(\$n - 2)); select fib(9) as n" \
  "CREATE PERFETTO MACRO count_of(t TableOrSubquery, c ColumnName) RETURNS TableOrSubquery AS (SELECT \$c, count() AS n FROM \$t GROUP BY \$c);
  CREATE PERFETTO MACRO first_of(t TableOrSubquery) RETURNS TableOrSubquery AS (SELECT * FROM \$t LIMIT 3);
  select * from first_of!(count_of!((select * from sched), utid)) order by utid" \
  "CREATE PERFETTO MACRO column_of(c ColumnName, n ColumnName) RETURNS _ProjectionFragment AS \$c AS \$n; select __intrinsic_token_apply!(column_of, (utid, tid, name), (a, b)),
  __intrinsic_stringify!(x y) as d __intrinsic_token_apply_prefix!(column_of, (tid), (e)) __intrinsic_token_apply_prefix!(column_of, (), ()) from thread order by utid" \
  "CREATE PERFETTO MACRO is_equal(a Expr, b Expr) RETURNS Expr AS \$a = \$b; select count() as n from thread where __intrinsic_token_apply_and!(is_equal, (tid, is_idle), (tid, 0))
  __intrinsic_token_apply_and_prefix!(is_equal, (utid, 1), (utid, 1))" "select cast_int!('7') as a, cast_double!('7') as b, cast_string!(7) as c" \
  "select create_function('twice(n INT)', 'INT', 'select \$n * 2') as made, create_view_function('pair(n INT)', 'a INT, b STRING', 'select \$n as a, null as b') as other" \
  "select twice(4) as a, b, pair.a as c from pair(2)" "CREATE PERFETTO TABLE indexed AS SELECT * FROM thread; CREATE PERFETTO INDEX by_tid ON indexed(tid, utid); DROP PERFETTO INDEX by_tid ON indexed;
  select count() as n from indexed"
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
