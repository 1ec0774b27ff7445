include perfetto module intervals.intersect; include perfetto module graphs.search; include perfetto module counters.intervals;
with a(id, ts, dur, p) as (values (0, 0, 10, 'x'), (1, 10, 0, null), (2, 10, 5, 1.5)) select * from _interval_intersect!(((select * from a), (select * from a)), (p));
with g(source_node_id, dest_node_id) as (values (1, 2), (2, 1), (1, 9)) select * from graph_reachable_dfs!((select * from g), (select 1 as node_id));
with c(id, ts, track_id, value) as (values (1, 0, 1, 5), (2, 10, 1, 5), (3, 20, 1, 5)) select * from counter_leading_intervals!((select * from c));
select percentile(1, 50), last_non_null(1), regexp_replace_simple('aba', 'b*', 'x'), cat_stacks('a', x'0a00'), hash(1, 'a'), unhex('1f'), reverse('äb');
select * from __intrinsic_table_ptr(__intrinsic_bfs(1, 2)) where __intrinsic_table_ptr_bind(c0, 'a') and __intrinsic_table_ptr_bind(c0, c1);
create perfetto table t as select 1 as a; select _auto_id from t; select __intrinsic_interval_intersect(1), __intrinsic_interval_intersect('a', 'b')
