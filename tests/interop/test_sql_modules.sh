#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# tracefs: none
#
# The modules of sonda have trace_processor's rows; most modules of Perfetto's own library run with --modules.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/sql_lib.sh"
dir=$TMP/sql_modules
mkdir "$dir"
flows=$dir/flows
protoc -Iprotos --encode=perfetto.protos.Trace protos/trace/trace.proto <tests/interop/sql_traces/flows.txtpb >"$flows" 2>"$dir/log"
verdict "protoc encodes flows" $? "$dir/log"
window="trace_start() + trace_dur() / 5, trace_dur() / 2"
scheduler=(
  "include perfetto module sched.states; select state, sched_state_to_human_readable_string(state) as name, sched_state_io_to_human_readable_string(state, 1) as io,
   sched_state_io_to_human_readable_string(state, null) as other from (select distinct state from thread_state union select 'x' union select 'DK' union select 'P') order by 1"
  "include perfetto module sched.runnable; select * from sched_previous_runnable_on_thread order by id"
  "include perfetto module sched.latency; select * from sched_latency_for_running_interval order by 1"
  "include perfetto module sched.thread_level_parallelism; select * from sched_runnable_thread_count"
  "select * from sched_uninterruptible_sleep_thread_count" "select * from sched_active_cpu_count"
  "include perfetto module sched.time_in_state; select * from sched_time_in_state_for_thread order by utid, state"
  "select * from sched_percentage_of_time_in_state order by utid"
  "select t.utid, x.* from thread t, sched_time_in_state_for_thread_in_interval($window, t.utid) x order by 1, 2, 3, 4"
  "select t.utid, x.* from thread t, sched_time_in_state_and_cpu_for_thread_in_interval($window, t.utid) x order by 1, 2, 3, 4, 5"
  "select c.cpu, x.* from cpu c, sched_time_in_state_for_cpu_in_interval(c.cpu, $window) x order by 1, 2"
  "include perfetto module sched.thread_executing_span; select * from _wakeup_graph order by id"
  "select c.* from thread t, _thread_executing_span_critical_path(t.utid, trace_start(), trace_dur()) c order by 1, 2, 4, 5, 3"
  "select c.* from thread t, _thread_executing_span_critical_path(t.utid, $window) c order by 1, 2, 4, 5, 3"
  "include perfetto module slices.self_dur; select * from slice_self_dur order by id"
  "include perfetto module slices.time_in_state; select * from thread_slice_time_in_state order by id, state, io_wait, blocked_function"
  "include perfetto module slices.cpu_time; select * from thread_slice_cpu_time order by id"
  "include perfetto module counters.intervals; select * from counter_leading_intervals!(counter) order by track_id, id"
  "include perfetto module intervals.intersect; select ts, dur, id_0, id_1, id_2, cpu from _interval_intersect!(((select * from sched where dur >= 0),
   (select * from sched where dur >= 0 and id % 3 > 0), (select * from sched where dur > 0 and id % 5 > 0)), (cpu)) order by 1, 3, 4, 5"
  "with a(id, ts, dur) as (values (0, 0, 10), (1, 10, 0), (2, 10, 5), (3, 20, 0), (4, 30, 5), (5, 3, 4)), b(id, ts, dur) as (values (0, 0, 5), (1, 5, 0),
   (2, 5, 6), (3, 15, 0), (4, 20, 3), (5, 30, 5)) select ts, dur, id_0, id_1 from _interval_intersect!(((select * from a), (select * from b)), ()) order by 1, 3, 4"
  "select id, ts, dur from _interval_intersect_single!(trace_start() + trace_dur() / 3, trace_dur() / 3, (select * from sched where dur >= 0)) order by ts, id"
  "include perfetto module intervals.overlap; select ts, dur from interval_merge_overlapping!((select * from thread_state where dur > 0 and id % 3 = 0), 0) order by ts"
  "select ts, dur from interval_merge_overlapping!((select * from thread_state where dur > 0 and id % 3 = 0), 100000) order by ts"
  "select ts, dur, utid from interval_merge_overlapping_partitioned!((select * from thread_state where dur > 0 and id % 3 = 0), (utid)) order by ts, utid"
  "select ts, value from intervals_overlap_count!(slice, ts, dur) order by ts"
  "select ts, value, group_name from intervals_overlap_count_by_group!(sched, ts, dur, cpu) order by ts, group_name"
  "include perfetto module graphs.search; select * from graph_reachable_dfs!((select id as source_node_id, waker_id as dest_node_id from thread_state
   where waker_id is not null), (select id as node_id from thread_state where id % 7 = 0))"
  "select * from graph_reachable_bfs!((select id as source_node_id, waker_id as dest_node_id from thread_state where waker_id is not null),
   (select id as node_id from thread_state where id % 7 = 0))"
  "with g(source_node_id, dest_node_id) as (values (1, 2), (1, 3), (2, 4), (3, 4), (4, 5), (3, 6), (6, 1), (9, 10)) select * from graph_reachable_dfs!((select * from g),
   (select 9 as node_id union all select 3 union all select 77))"
  "create perfetto table edges as with g(source_node_id, dest_node_id, edge_weight) as (values (1, 2, 5), (1, 3, 1), (1, 7, 1), (2, 4, 5), (3, 4, 1),
   (4, 5, 1), (5, 6, 10), (6, 1, 1)) select * from g; create perfetto table roots as with r(root_node_id, root_target_weight) as (values (1, 20), (2, 0),
   (1, 21), (1, 22), (3, 1000), (1, 23)) select * from r; select * from graph_reachable_weight_bounded_dfs!(edges, roots, 0)"
  "select * from graph_reachable_weight_bounded_dfs!(edges, roots, 1)"
  "select * from graph_reachable_weight_bounded_dfs!((select id as source_node_id, waker_id as dest_node_id, ts % 97 as edge_weight from thread_state
   where waker_id is not null), (select id as root_node_id, id % 301 as root_target_weight from thread_state where waker_id is not null), 1)"
  "select * from graph_next_sibling!((select id as node_id, utid as node_parent_id, ts as sort_key from sched)) order by 1"
  "include perfetto module linux.cpu.idle; select * from cpu_idle_counters order by id"
  "include perfetto module slices.hierarchy; select s.id as of, a.id, a.ts, a.dur, a.depth, a.name, a.parent_id from slice s, _slice_ancestor_and_self(s.id) a order by 1, 2"
  "select s.id as of, d.id, d.ts, d.dur, d.depth, d.name, d.track_id from slice s, _slice_descendant_and_self(s.id) d order by 1, 2"
  "include perfetto module viz.summary.processes; select * from _process_available_info_summary order by upid"
  "include perfetto module viz.summary.threads; select * from _thread_available_info_summary order by utid"
  "include perfetto module viz.summary.slices; select * from _slice_track_summary order by id"
  "include perfetto module viz.summary.counters; select * from _counter_track_summary order by id"
)
for trace in ring_losses kernel_6.1; do
  cp "tests/data/traces/$trace.pftrace" "$dir/$trace"
  equal "modules on $trace" "$dir/$trace" "${scheduler[@]}"
done
equal "stacks of slices" "$flows" "include perfetto module slices.stack; select id, ts, dur, name, depth, parent_id, min(id) over (partition by stack_id) as first,
  parent_stack_id = 0 as is_root from slice_with_stack_id order by id" "select s.id as of, a.id, a.name, a.depth from slice_with_stack_id s, ancestor_slice_by_stack(s.stack_id) a order by 1, 2" \
  "select s.id as of, a.id, a.name, a.depth from slice_with_stack_id s, descendant_slice_by_stack(s.stack_id) a order by 1, 2"
equal "flows of slices" "$flows" "select s.id as of, f.* from slice s, following_flow(s.id) f order by s.id, f.id" "select s.id as of, f.* from slice s, preceding_flow(s.id) f order by s.id, f.id" \
  "select s.id as of, f.* from slice s, directly_connected_flow(s.id) f order by s.id, f.id" \
  "select a.id as a, d.id as b, slice_is_ancestor(a.id, d.id) as x from slice a, slice d order by 1, 2" "select id from following_flow(null)"
equal "functions of numbers and times" "$dir/ring_losses" "select percentile(dur, 50) as a, percentile(dur, 0) as b, percentile(dur, 99.5) as c, percentile(dur, 100) as d from sched" \
  "select cpu, percentile(dur, 90) as p from sched group by cpu order by cpu" "select percentile(null, 50) as p" \
  "select id, last_non_null(waker_utid) over (partition by utid order by id) as a, last_non_null(waker_utid) over (order by id rows between 3 preceding and 1 preceding) as b
   from thread_state order by id" "select unhex('1f') as a, unhex(' 0x1F ') as b, unhex(null) as c" \
  "select abs_time_str(ts) as a, abs_time_str(0) as b, cast(to_realtime(ts) as text) as c, to_monotonic(ts) as d, to_timecode(dur) as e from sched order by id" \
  "select to_realtime(null) as a, to_timecode(3723000000001) as b, to_timecode(-1) as c, ln(2) as d, exp(1) as e, sqrt(2) as f"
equal "functions of texts" "$dir/ring_losses" "select regexp_extract(name, '[a-z]+') as a, regexp_extract(name, '^(.)') as b, regexp_extract(name, 'k(w)?') as c,
  regexp_replace_simple(name, '[0-9]', '#') as d, regexp_replace_simple(name, 'x*', '-') as e, reverse(name) as f, base64_encode(cast(name as blob)) as g,
  hex(base64_decode(base64_encode(cast(name as blob)))) as h from thread order by utid" "select hex(base64_decode('aGVsbG8')) as a, typeof(base64_decode('')) as b,
  base64_decode(null) as c" \
  "select hex(cat_stacks('a', null, 'bc', cat_stacks('d'))) as a, cat_stacks(null) is null as b, hex(stack_from_stack_profile_callsite(300)) as c,
  hex(stack_from_stack_profile_callsite(3, true)) as d, hex(stack_from_stack_profile_frame(5)) as e"
equal "numbers of rows" "$dir/ring_losses" "create perfetto table a as select tid from thread order by tid; create perfetto table b as select a._auto_id as id, tid from a;
  select b.* from b join a on a._auto_id = b.id order by b.id"

cycles=$dir/cycles
protoc -Iprotos --encode=perfetto.protos.Trace protos/trace/trace.proto <tests/interop/sql_traces/cpu_frequencies.txtpb >"$cycles" 2>"$dir/log"
verdict "protoc encodes frequencies of CPUs" $? "$dir/log"
equal "cycles of CPUs, processes and threads" "$cycles" "${scheduler[@]}" \
  "include perfetto module linux.cpu.utilization.system; select * from cpu_cycles" "select * from cpu_cycles_per_cpu order by ucpu" \
  "select * from cpu_cycles_in_interval(1100000000, 400000000)" "select * from cpu_cycles_in_interval(0, 70000000)" \
  "select * from cpu_cycles_per_cpu_in_interval(1100000000, 400000000) order by ucpu" \
  "include perfetto module linux.cpu.utilization.process; select * from cpu_cycles_per_process order by upid" \
  "select * from cpu_cycles_per_process_in_interval(1100000000, 400000000) order by upid" \
  "include perfetto module linux.cpu.utilization.thread; select * from cpu_cycles_per_thread order by utid" \
  "select * from cpu_cycles_per_thread_in_interval(1100000000, 400000000) order by utid"
# docs/reference/sql.md names what trace_processor leaves out here: runs that cross the end of a period, and slices with others inside of them.
"$BIN/sonda" sql --csv "$cycles" "include perfetto module linux.cpu.utilization.system; include perfetto module linux.cpu.utilization.thread;
  include perfetto module linux.cpu.utilization.slice;
  create perfetto table periods as select u.*, (select runtime from cpu_cycles_in_interval(u.ts, 70000000)) as runtime from cpu_utilization_per_period(70000000) u;
  create perfetto table cycles as select s.id, s.millicycles, (select c.millicycles from thread_slice t, cpu_cycles_per_thread_in_interval(t.ts, t.dur) c
    where t.id = s.id and c.utid = t.utid) as expected from cpu_cycles_per_thread_slice s join slice using (id) where dur > 0;
  select (select count() from periods) > 20 as periods, (select max(abs(unnormalized_utilization * 70000000 - runtime)) from periods) < 1 as busy,
    (select max(abs(unnormalized_utilization - 2 * utilization)) from periods) < 1e-9 as share,
    (select count(millicycles) from cycles) > 10 as slices, (select count() from cycles where millicycles is not expected) as different" >"$dir/log" 2>&1
[ "$(tail -n 1 "$dir/log" | tr -d '\r')" = 1,1,1,1,0 ]
verdict "runs are divided among periods; slices have the cycles that their thread spent" $? "$dir/log"
tree="include perfetto module stacks.cpu_profiling; with recursive walk(id, path, self_count, cumulative_count) as (select id, name || '@' || mapping_name, self_count,
  cumulative_count from cpu_profiling_summary_tree where parent_id is null union all select t.id, w.path || ' > ' || t.name || '@' || t.mapping_name,
  t.self_count, t.cumulative_count from walk w join cpu_profiling_summary_tree t on t.parent_id = w.id) select path, self_count, cumulative_count from walk order by 1, 2, 3"
for trace in perf_samples clone; do
  protoc -Iprotos --encode=perfetto.protos.Trace protos/trace/trace.proto <"tests/interop/sql_traces/$trace.txtpb" >"$dir/$trace" 2>"$dir/log"
done
equal "samples of the CPU" "$dir/perf_samples" "include perfetto module stacks.cpu_profiling; select * from cpu_profiling_samples order by id" "$tree"
profiles=("select hex(experimental_profile(stack_from_stack_profile_callsite(callsite_id))) as p from perf_sample where callsite_id is not null"
  "select hex(experimental_profile(cat_stacks('all', stack_from_stack_profile_callsite(callsite_id), 'cpu ' || cpu), 'time', 'ns', ts % 1000, 'samples', 'count', 1)) as p
   from perf_sample where callsite_id is not null" "select hex(experimental_profile(stack_from_stack_profile_frame(id), 'frames', 'count', id)) as p from stack_profile_frame"
  "select hex(experimental_profile(name)) as p from (select cat_stacks('a') as name where false)")
query "$dir/perf_samples" "${profiles[@]}" | python3 "$HERE/pprof_stacks.py" >"$dir/theirs" 2>"$dir/log" &&
  "$BIN/sonda" sql --json "$dir/perf_samples" "${profiles[@]}" | awk '{ printf "%s", $0 } /^(\]|\[\])$/ { print "" }' |
  python3 "$HERE/pprof_stacks.py" 2>>"$dir/log" | diff "$dir/theirs" - >>"$dir/log" && [ "$(wc -l <"$dir/theirs")" -gt 10 ]
verdict "experimental_profile has the stacks and values of trace_processor" $? "$dir/log"
equal "times of a clone" "$dir/clone" "include perfetto module traced.stats; select * from traced_clone_flush_latency order by 1" \
  "select * from traced_trigger_clone_flush_latency order by 1"

# Perfetto's own modules, as they are in trace_processor: only what it includes itself counts.
library=$dir/library
mkdir "$library"
python3 "$HERE/stdlib_files.py" "$PEERS/tp/trace_processor.wasm" "$library" 2>"$dir/log" |
  grep -vE '^(android|chrome|wattson|pixel|v8|webview|appleos|pkvm|prelude|common|experimental|export)\.|^trace_(metadata|stats)$' >"$dir/names"
while read -r name; do echo "include perfetto module $name; select '$name' as loaded;"; done <"$dir/names" >"$dir/includes"
"$BIN/sonda" sql -i --csv --modules "$library" "$dir/ring_losses" <"$dir/includes" 2>"$dir/err" | grep -v '^loaded' | tr -d '\r' >"$dir/loaded"
total=$(wc -l <"$dir/names") loaded=$(wc -l <"$dir/loaded")
[ "$total" -ge 60 ] && [ "$loaded" -ge $((total * 8 / 10)) ]
verdict "modules of Perfetto's library about Linux load: $loaded of $total" $? "$dir/err"
equal_library() { # STATEMENT...
  query "$dir/kernel_6.1" "$@" >"$dir/theirs"
  "$BIN/sonda" sql --json --modules "$library" "$dir/kernel_6.1" "$@" 2>"$dir/err" | awk '{ printf "%s", $0 } /^(\]|\[\])$/ { print "" }' >"$dir/ours"
  node "$HERE/compare_sql.mjs" "$dir/theirs" "$dir/ours" >"$dir/diff" 2>&1
}
equal_library "include perfetto module linux.cpu.utilization.system; select * from cpu_utilization_per_second" "select * from cpu_utilization_per_period(100000000)" \
  "include perfetto module linux.cpu.utilization.process; select p.upid, u.* from process p, cpu_process_utilization_per_second(p.upid) u order by 1, 2" \
  "include perfetto module linux.cpu.utilization.thread; select t.utid, u.* from thread t, cpu_thread_utilization_per_second(t.utid) u order by 1, 2" \
  "include perfetto module slices.flat_slices; select slice_id, ts, dur, depth, name, utid from _slice_flattened order by ts, utid" \
  "include perfetto module linux.memory.process; select * from memory_rss_and_swap_per_process order by ts, upid" \
  "include perfetto module sched.thread_state_flattened; select count() as n from thread_state" \
  "include perfetto module sched.thread_executing_span; select * from _wakeup_graph order by id" \
  "select c.* from thread t, _thread_executing_span_critical_path(t.utid, trace_start(), trace_dur()) c where t.utid % 7 = 1 order by 1, 2, 4, 5, 3"
status=$?
verdict "modules of Perfetto's library have its rows ($(tail -n 1 "$dir/diff"))" $status "$dir/diff"
exit $BAD
