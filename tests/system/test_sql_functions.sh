#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Functions and modules of sonda sql on rows that are written here, and their mistakes.
. "$(dirname "$0")/../lib.sh"
TRACE=tests/data/traces/ring_losses.pftrace

check() { # NAME STDOUT SQL : the rows as CSV, without the header
  local got
  got=$("$SONDA" sql --csv "$TRACE" "$3" 2>"$TMP/err" | tr -d '\r' | tail -n +2)
  N=$((N + 1))
  if [ "$got" = "$2" ]; then
    echo "ok $N - $1"
  else
    echo "not ok $N - $1"
    { echo "$got"; cat "$TMP/err"; } | sed 's/^/#   /'
    BAD=1
  fi
}
fails() { # NAME STDERR_REGEX SQL
  "$SONDA" sql "$TRACE" "$3" >"$TMP/out" 2>"$TMP/err"
  got=$?
  N=$((N + 1))
  if [ $got = 1 ] && grep -Eq "$2" "$TMP/err"; then
    echo "ok $N - $1"
  else
    echo "not ok $N - $1"
    { echo "exit code $got"; cat "$TMP/out" "$TMP/err"; } | sed 's/^/#   /'
    BAD=1
  fi
}

check "percentiles" 1.75,10.0,1.0 "with v(x) as (values (10), (1), (null), (4), (2)) select percentile(x, 25) as a, percentile(x, 100) as b, percentile(x, 0) as c from v"
fails "a percentage above 100" 'not between 0 and 100' "select percentile(x, 101) from (select 1 as x union all select 2)"
fails "a percentile of texts" 'not a number' "select percentile('a', 50)"
check "the last value of a window" $'5\n5\n\n2' "select last_non_null(x) over (order by i rows between 1 preceding and current row) as l
  from (select 1 as i, 5 as x union all select 2, null union all select 3, null union all select 4, 2)"
check "hexadecimal numbers" 31,-1 "select unhex('0x1f') as a, unhex('FFFFFFFFFFFFFFFF') as b"
fails "no hexadecimal number" 'unhex: the text is not' "select unhex('0x')"
fails "a hexadecimal number that is too long" 'unhex: the text is not' "select unhex('10000000000000000')"
check "parts of texts" 123,abc, "select regexp_extract('abc123', '[0-9]+') as a, regexp_extract('abc123', '([a-z]+)[0-9]') as b, regexp_extract('x', 'y') as c"
fails "several groups" 'more than one capture group' "select regexp_extract('ab', '(a)(b)')"
fails "a bad pattern" 'unmatched' "select regexp_extract('ab', '(')"
check "replaced parts" "a-b-,-a-b-,<>" "select regexp_replace_simple('aXbX', 'X', '-') as a, regexp_replace_simple('ab', 'x*', '-') as b, regexp_replace_simple('', '^', '<>') as c"
check "a text backwards" "ßäb" "select reverse('bäß') as a"
check "flows of no slice" "" "select * from following_flow(-1) union all select * from preceding_flow(999999) union all select * from directly_connected_flow('x')"
fails "flows without a slice" 'preceding_flow needs the id' "select * from preceding_flow"

modules="include perfetto module graphs.search; include perfetto module intervals.intersect; include perfetto module intervals.overlap;
  include perfetto module counters.intervals; include perfetto module intervals.fill_gaps;"
check "depth first" $'1,\n2,1\n4,2\n3,1\n9,\n10,9' "$modules with g(source_node_id, dest_node_id) as (values (1, 2), (1, 3), (2, 4), (3, 4), (4, 1), (9, 10), (null, 1))
  select * from graph_reachable_dfs!((select * from g), (select 1 as node_id union all select 9 union all select 1))"
check "breadth first, with numbers far from each other" $'-5000000000,\n2,-5000000000\n9000000000000000000,-5000000000\n4,2' "$modules
  with g(source_node_id, dest_node_id) as (values (-5000000000, 2), (-5000000000, 9000000000000000000), (2, 4), (4, 2))
  select * from graph_reachable_bfs!((select * from g), (select -5000000000 as node_id))"
check "a graph without edges, and without starts" "" "$modules select * from graph_reachable_dfs!((select 1 as source_node_id, 2 as dest_node_id where 0), (select 7 as node_id))
  union all select * from graph_reachable_bfs!((select 1 as source_node_id, 2 as dest_node_id), (select 7 as node_id where 0))"
sets="create perfetto table a as with x(id, ts, dur, p) as (values (0, 0, 10, 'x'), (1, 10, 0, 'x'), (2, 10, 5, 'y'), (3, 12, 1, null)) select * from x;
  create perfetto table b as with x(id, ts, dur, p) as (values (0, 0, 4, 'x'), (1, 4, 0, 'y'), (2, 4, 8, 'y'), (3, 12, 1, null)) select * from x;"
check "intersections" $'0,4,0,0\n4,0,0,1\n4,6,0,2\n10,0,1,2\n10,2,2,2\n12,1,2,3\n12,1,3,3' "$modules $sets select * from _interval_intersect!((a, b), ()) order by 1, 3, 4"
check "intersections of parts" $'0,4,0,0,x\n10,2,2,2,y\n12,1,3,3,' "$modules $sets select * from _interval_intersect!((a, b), (p)) order by 1, 3, 4"
fails "a negative duration" 'a duration is negative' "$modules select * from _interval_intersect!(((select 1 as id, 5 as ts, -1 as dur), (select 1 as id, 5 as ts, 1 as dur)), ())"
check "merged intervals" $'0,15' "$modules $sets select * from interval_merge_overlapping!(a, 0)"
check "merged intervals of parts" $'12,1,\n0,10,x\n10,5,y' "$modules $sets select * from interval_merge_overlapping_partitioned!(a, (p)) order by p"
check "how many at once" $'0,1\n10,1\n12,2\n13,1\n15,0' "$modules $sets select * from intervals_overlap_count!(a, ts, dur)"
gaps="create perfetto table g as with x(ts, dur, p, v) as (values (200, 100, 'x', 42), (500, 200, 'x', 43), (550, 50, 'x', 44), (0, 150, 'y', 45), (null, null, 'z', null))
  select trace_start() + ts as ts, dur, p, v from x;"
check "gaps between intervals" $'x,0,200,\nx,200,100,42\nx,300,200,\nx,500,200,43\nx,550,50,44\nx,700,end,\ny,0,150,45\ny,150,end,\nz,0,end,' "$modules $gaps
  select p, ts - trace_start() as ts, iif(ts + dur = trace_end(), 'end', dur) as dur, v from _intervals_fill_gaps!((p), (v), g) order by p, ts"
check "gaps without a partition" $'0,200,\n200,100,42\n300,end,' "$modules $gaps
  select ts - trace_start() as ts, iif(ts + dur = trace_end(), 'end', dur) as dur, v from _intervals_fill_gaps!((NULL), (v), (select * from g where v = 42)) order by ts"
check "counters as intervals" $'1,10,5.0,5.0,\n2,20,5.0,5.0,0.0\n4,10,5.0,7.0,0.0\n5,5,7.0,,2.0' "$modules with c(id, ts, track_id, value) as (values (1, 0, 1, 5), (2, 10, 1, 5), (3, 20, 1, 5), (4, 30, 1, 5), (5, 40, 1, 7))
  select id, iif(next_value is null, 5, dur) as dur, value, next_value, delta_value from counter_leading_intervals!((select * from c))"
fails "a pointer that SQL made" 'needs a set of rows' "select * from __intrinsic_table_ptr"
check "rows that are none" "" "select c0 from __intrinsic_table_ptr('rows') where __intrinsic_table_ptr_bind(c0, 'id')"
fails "a function of the table alone" 'is only for the columns of' "select __intrinsic_table_ptr_bind(1, 'id')"
check "the time of a slice" "$(printf '%s\n' 5 3)" "include perfetto module slices.self_dur; select self_dur from (select 5 as self_dur union all select 3) where (select count() from slice_self_dur) >= 0"
exit $BAD
