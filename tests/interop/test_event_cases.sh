#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# tracefs: none
#
# Every kind of track event that libsonda writes (tests/library/event_cases.c), as trace_processor reads it: one trace with
# all cases and one table of queries with their rows. With our service and with Perfetto's, recorded by either, and under
# each setting of TrackEventConfig.
. "$(dirname "$0")/lib.sh"
CASES=$B/tests/library/event_cases
needs_built "$CASES"

# The rows of a query as lines of values with bars between them. A line of the table is
#     what is shown | SQL | rows, with ; between them
rows() {
  node -e '
    const text = require("fs").readFileSync(0, "utf8").trim();
    for (const line of text.split("\n")) {
      if (!line.startsWith("[")) { console.log(line); continue; }
      console.log(JSON.parse(line).map(r => Object.values(r).map(v => v === null ? "NULL" : v).join(" ")).join("; "));
    }'
}

check_table() { # NAME TRACE, the table on standard input
  local what sql want names=() queries=() wants=() line=0 got
  while IFS='|' read -r what sql want; do
    [ -n "$what" ] || continue
    names+=("${what% }") queries+=("$sql") wants+=("$(sed 's/^ *//; s/ *$//' <<<"$want")")
  done
  query "$2" "${queries[@]}" | rows >"$dir/answers"
  for ((line = 0; line < ${#names[@]}; line++)); do
    got=$(sed -n "$((line + 1))p" "$dir/answers")
    [ "$got" = "${wants[line]}" ]
    verdict "$1: ${names[line]}" $? <(printf 'want: %s\ngot:  %s\n' "${wants[line]}" "$got")
  done
}

# The slices of a track: SLICES(name)
macros() {
  sed -E "s/ON\(([^)]*)\)/track_id in (select id from track where name = '\1')/g
    s/ARGS\(([^)]*)\)/(select group_concat(printf('%s=%s:%s:%s', flat_key, key, value_type, coalesce(string_value, real_value, int_value)), ' ') from (select * from args where arg_set_id = s.arg_set_id and key glob '\1' order by key))/g"
}

all_cases() { # NAME TRACE
  check_table "$1" "$2" < <(macros <<'TABLE'
no error or loss | select name, value from stats where value > 0 and name != 'unknown_extension_fields' and (severity in ('error', 'data_loss') or name in ('track_event_parser_errors', 'interned_data_tokenizer_errors', 'packet_skipped_seq_needs_incremental_state_invalid', 'track_hierarchy_missing_uuid')) |
nested slices and an instant | select s.name, s.dur, s.depth, p.name as parent from slice s left join slice p on s.parent_id = p.id where s.ON(nested) order by s.ts | A 10000000 0 NULL; B 2000000 1 A; I 0 2 B
an end alone is nothing | select name, dur from slice s where ON(end alone) | after 0
a slice that is never closed | select name, dur from slice s where ON(open) | never closed -1
an end and a begin at one time are siblings | select name, dur, depth from slice s where ON(one time) order by ts | first 5000000 0; second 2000000 0
a slice begun by one thread and ended by another | select name, dur from slice s where ON(two threads) | handed over 3000000
the last event of each of 50 threads | select count(*), count(distinct t.utid) from slice s join thread_track t on s.track_id = t.id where s.name = 'last of a thread' | 50 50
1000 events with one name | select count(*), count(distinct ts) from slice s where ON(names) and name = 'one name' | 1000 1000
dynamic names | select name from slice s where ON(dynamic names) order by ts | dynamic 0; dynamic 1; dynamic 2
a group and a dynamic category | select name, category from slice s where ON(categories) order by ts | of a group cases,second; of a text cases.dynamic
annotations of every type | select ARGS(debug.*) as a from slice s where name = 'types' | debug.bool=debug.bool:bool:1 debug.bytes=debug.bytes:string:abc debug.int=debug.int:int:-3 debug.interned=debug.interned:string:again debug.json.k=debug.json.k:int:7 debug.pointer=debug.pointer:pointer:4660 debug.real=debug.real:real:1.5 debug.string=debug.string:string:s debug.uint=debug.uint:uint:-1
nested annotations | select ARGS(debug.*) as a from slice s where name = 'nested' and ON(annotations) | debug.d.a=debug.d.a[0]:int:1 debug.d.a.k=debug.d.a[1].k:string:deep
a name with dots and brackets | select ARGS(debug.*) as a from slice s where name = 'odd name' | debug.x_y_0_=debug.x_y_0_:int:1
arguments of begin and end | select ARGS(debug.*) as a from slice s where ON(merged) | debug.begin=debug.begin:int:1 debug.both=debug.both:int:2 debug.end=debug.end:int:1
64 KiB of text | select length(string_value) as n, count(distinct replace(string_value, 'x', '')) as u from args where key = 'debug.big' | 65536 1
a place in the source | select ARGS(source.f*) as a from slice s where name = 'here' | source.file_name=source.file_name:string:tests/library/event_cases.c source.function_name=source.function_name:string:places
a line of a log | select prio, tag glob 'tests/library/event_cases.c:*' as t, msg from android_logs | 5 1 a line of a log
named tracks of the process | select p.name glob '*event_cases' as n, t.name from process_track t join process p using (upid) where t.name = 'nested' | 1 nested
three levels of tracks | select t.name, p.name as parent from track t left join track p on t.parent_id = p.id where t.name glob 'level*' order by t.name | level 1 NULL; level 2 level 1; level 3 level 2
a child of a thread's track | select th.name, t.name as track from thread_track t join thread th using (utid) where t.name = 'of a thread' | cases-main of a thread
a global track and the default one | select t.name, t.type glob 'global*' as g from track t where t.name in ('of all', 'Default Track') order by t.name | Default Track 1; of all 1
order and description | select extract_arg(source_arg_set_id, 'child_ordering') as o, extract_arg(source_arg_set_id, 'description') as d, NULL as r from track where name = 'ordered' union all select NULL, NULL, extract_arg(source_arg_set_id, 'sibling_order_rank') from track where name = 'child' | explicit a description NULL; NULL NULL -5
operations that overlap | select t.name, count(*) as n, count(distinct track_id) as tracks, count(distinct coalesce(track_group_id, -t.id)) as groups, max(depth) as depth from slice s join track t on s.track_id = t.id where t.name glob '* ops' group by t.name | merged ops 2 2 1 0; separate ops 2 2 2 0
counters | select t.name, group_concat(value, ' ') as v, t.unit from (select * from counter order by ts) c join counter_track t on c.track_id = t.id where t.name in ('ints', 'reals', 'sums', 'extra', 'named unit') group by t.name order by t.name | extra 5.0 NULL; ints 307200.0 bytes; named unit 1.0 widgets; reals 0.25 0.5 NULL; sums 10.0 7.0 4.0 1.0 NULL
flows | select o.name as a, i.name as b from flow f join slice o on f.slice_out = o.id join slice i on f.slice_in = i.id order by o.ts | A B; B C; D E; F G
times of other clocks, of now and of the past | select name, abs(s.ts - (select int_value from args where arg_set_id = s.arg_set_id and key = 'debug.boot')) < 1000000 as near from slice s where ON(times) order by name desc, s.id | past 1; now 1; now 1; monotonic 1
threads and their process | select count(distinct upid) as processes, count(distinct tid) as threads, sum(thread.name = 'other') as others from thread join process using (upid) where process.name glob '*event_cases' and thread.name in ('cases-main', 'other') | 1 52 1
TABLE
  )
}

start_both() { # SERVICE DIR
  dir=$TMP/$2
  mkdir "$dir"
  use_sockets "$dir"
  start_service "$1" "$dir" && start_daemon EVENT_CASES_NOTIFY_FD "$dir/cases.log" "$CASES"
  verdict "$1's service and a program start" $? "$dir/cases.log"
}

# The program says when all is written, which ends the session.
config() { # TEXT: of TrackEventConfig
  cat >"$dir/config" <<CONFIG
buffers { size_kb: 16384 }
data_sources { config { name: "track_event" track_event_config { $1 } } }
trigger_config { trigger_mode: STOP_TRACING trigger_timeout_ms: 50000 triggers { name: "event_cases_written" } }
CONFIG
}

# What fields of the packets say.
under() { # NAME TRACK_EVENT_CONFIG, the table on standard input
  config "$2"
  record sonda "$dir/config" "$dir/trace" "$dir/log"
  verdict "$1: recorded" $? "$dir/log"
  check_table "$1" "$dir/trace" < <({ echo "no error | select name, value from stats where value > 0 and name != 'unknown_extension_fields' and severity in ('error', 'data_loss') |"; cat; } | macros)
}

start_both sonda ours
config ''
record sonda "$dir/config" "$dir/trace" "$dir/log"
verdict "sonda records it" $? "$dir/log"
all_cases "sondad and sonda" "$dir/trace"
record perfetto "$dir/config" "$dir/trace" "$dir/log"
all_cases "sondad and perfetto" "$dir/trace"

under "units of a microsecond" 'timestamp_unit_multiplier: 1000' <<'TABLE'
all times are multiples | select count(*) from slice s where ts % 1000 and not ON(times) and name != 'event_cases_written' | 0
and right | select name, abs(s.ts - (select int_value from args where arg_set_id = s.arg_set_id and key = 'debug.boot')) < 1000000 as near from slice s where ON(times) order by name desc, s.id | past 1; now 1; now 1; monotonic 1
durations | select name, dur from slice s where ON(nested) order by ts | A 10000000; B 2000000; I 0
TABLE
under "absolute times" 'disable_incremental_timestamps: true' <<'TABLE'
durations | select name, dur from slice s where ON(nested) order by ts | A 10000000; B 2000000; I 0
times | select name, abs(s.ts - (select int_value from args where arg_set_id = s.arg_set_id and key = 'debug.boot')) < 1000000 as near from slice s where ON(times) order by name desc, s.id | past 1; now 1; now 1; monotonic 1
TABLE
under "absolute microseconds" 'disable_incremental_timestamps: true timestamp_unit_multiplier: 1000' <<'TABLE'
durations | select name, dur from slice s where ON(nested) order by ts | A 10000000; B 2000000; I 0
times | select name, abs(s.ts - (select int_value from args where arg_set_id = s.arg_set_id and key = 'debug.boot')) < 1000000 as near from slice s where ON(times) order by name desc, s.id | past 1; now 1; now 1; monotonic 1
TABLE
under "a multiplier of 0" 'timestamp_unit_multiplier: 0' <<'TABLE'
is 1 | select name, dur from slice s where ON(nested) order by ts | A 10000000; B 2000000; I 0
TABLE
under "filters" 'filter_debug_annotations: true filter_dynamic_event_names: true' <<'TABLE'
no annotations | select count(*) from args where key glob 'debug.*' | 0
no dynamic names | select distinct name from slice s where ON(dynamic names) | FILTERED
other fields stay | select ARGS(source.fu*) as a from slice s where name = 'here' | source.function_name=source.function_name:string:places
TABLE
under "thread time" 'enable_thread_time_sampling: true' <<'TABLE'
slices have it | select thread_ts > 0 as ts, thread_dur > 0 as dur from slice where name = 'busy' | 1 1
its counter | select distinct name, unit from counter_track where name = 'thread_time' | thread_time ns
TABLE
under "a tag" 'enabled_tags: "slow"' <<'TABLE'
enables what is off by default | select count(*) from slice where name = 'slow' | 1
TABLE
under "some categories" 'disabled_categories: "*" enabled_categories: "cases" enabled_categories: "cases.s*"' <<'TABLE'
only those are recorded, and the tag slow comes before a pattern | select distinct category from slice where category is not NULL order by category | cases; cases,second
TABLE

stop_all
start_both perfetto theirs
config ''
record sonda "$dir/config" "$dir/trace" "$dir/log"
all_cases "traced and sonda" "$dir/trace"
record perfetto "$dir/config" "$dir/trace" "$dir/log"
all_cases "traced and perfetto" "$dir/trace"
exit $BAD
