#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# tracefs: none
#
# Counter tracks of client/counters/tracks.h under either family's service, in trace_processor: each has its name, unit, group and
# values, when the state is cleared ten times a second too, and when a ring buffer has lost the beginning.
. "$(dirname "$0")/lib.sh"
COUNTER=$B/tests/system/producer_counter
needs_built "$COUNTER"

config() { # BUFFER_KB FILL_POLICY CLEAR_MS
  cat <<CONFIG
buffers { size_kb: $1 fill_policy: $2 }
data_sources { config { name: "sonda.test.tracks" } }
incremental_state_config { clear_period_ms: $3 }
producers { producer_name: "sonda.test.producer" page_size_kb: 4 }
duration_ms: 1500
CONFIG
}

run_one() { # SERVICE BUFFER_KB FILL_POLICY CLEAR_MS
  local dir="$TMP/$1-$2"
  name="service=$1, $3 of $2 KiB, cleared each $4 ms"
  mkdir "$dir"
  use_sockets "$dir"
  config "$2" "$3" "$4" >"$dir/config"
  start_service "$1" "$dir" && start_daemon TRACED_PROBES_NOTIFY_FD "$dir/producer.log" "$COUNTER" run 0 &&
    record "$1" "$dir/config" "$dir/trace" "$dir/record.log"
  verdict "$name: records" $? "$dir/record.log"
  PID=${PIDS[1]}
  stop_all
  query "$dir/trace" "select name, idx, value from stats where severity in ('error', 'data_loss') and value > 0" \
    >"$dir/errors"
  TRACE=$dir/trace
}
expect() { # NAME SQL ROWS
  query "$TRACE" "$2" >"$TMP/rows"
  [ "$(cat "$TMP/rows")" = "$3" ]
  verdict "$name: $1" $? "$TMP/rows"
}
nothing_wrong() {
  [ "$(cat "${TRACE%/*}/errors")" = '[]' ]
  verdict "$name: nothing lost, nothing wrong" $? "${TRACE%/*}/errors"
}

whole() { # what a trace must show from which nothing is missing
  nothing_wrong
  expect "groups, units, descriptions" \
    "select g.name as g, t.name, c.unit, c.description as d from counter_track c join track t using (id)
     join track g on t.parent_id = g.id where t.name not like 'visitor%' order by g.name, t.name" \
    '[{"g":"CPU 1","name":"depth","unit":"count","d":null},{"g":"test group","name":"half","unit":"h","d":null},{"g":"test group","name":"still","unit":"bytes","d":"never moves"},{"g":"test group","name":"ticks","unit":"count","d":null}]'
  expect "the CPU's group stands under the other" \
    "select g.name from track c join track g on c.parent_id = g.id where c.name = 'CPU 1'" '[{"name":"test group"}]'
  expect "counters of a process and of a thread" \
    "select t.name, p.pid, t.unit from process_counter_track t join process p using (upid)
     union all select t.name, h.tid, t.unit from thread_counter_track t join thread h using (utid)" \
    "[{\"name\":\"of process\",\"pid\":$PID,\"unit\":\"count\"},{\"name\":\"of thread\",\"pid\":$PID,\"unit\":\"count\"}]"
  expect "each tick is there, in order" \
    "select count(distinct value) > 50 as many, max(value) = count(distinct value) as each_one, min(value) as first
     from counter join track t on t.id = track_id where t.name = 'ticks'" '[{"many":1,"each_one":1,"first":1}]'
  expect "values of one moment agree" \
    "with v as (select t.name, c.ts, c.value from counter c join track t on t.id = c.track_id)
     select count(*) > 50 as many, sum(h.value != a.value * 500) as bad from v a join v h using (ts)
     where a.name = 'ticks' and h.name = 'half'" '[{"many":1,"bad":0}]'
  expect "the still one was said to be so to the end" \
    "with v as (select t.name, c.ts, c.value from counter c join track t on t.id = c.track_id)
     select (select max(ts) from v where name = 'still') = (select max(ts) from v where name = 'ticks') as till_the_end,
     (select count(distinct value) from v where name = 'still') as values_of_it" '[{"till_the_end":1,"values_of_it":1}]'
  expect "visitors end with 0" \
    "with v as (select t.name, c.ts, c.value, row_number() over (partition by t.name order by ts desc) as last
       from counter c join track t on t.id = c.track_id where t.name like 'visitor%')
     select count(*) > 4 as many, max(value) as v from v where last = 1 and name != (select name from v order by ts desc limit 1)" \
    '[{"many":1,"v":0}]'
}

run_one sonda 4096 DISCARD 200
whole
run_one perfetto 4096 DISCARD 100000
whole
# The whole is about 60 kB. Values before the first state that is left have no meaning, and are left out.
run_one sonda 16 RING_BUFFER 100
expect "the end is whole, the beginning is gone, no complaint" \
  "with v as (select t.name, c.ts, c.value from counter c join track t on t.id = c.track_id)
   select (select max(ts) from v where name = 'still') = (select max(ts) from v where name = 'ticks') as till_the_end,
   (select min(value) > 20 from v where name = 'ticks') as gone,
   (select count(*) from stats where severity = 'error' and value > 0) as errors" '[{"till_the_end":1,"gone":1,"errors":0}]'
echo "1..$N"
exit $BAD
