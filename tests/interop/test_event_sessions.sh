#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# tracefs: none
#
# Track events of a program at the borders of what sessions can do: nine instances, sessions one after another, categories that
# come meanwhile, slices that are nested wrongly, two copies of the library in one process, events inside callbacks and
# allocators, a ring buffer that has wrapped, and a service that is killed while events are written.
. "$(dirname "$0")/lib.sh"
LIBRARY=$B/tests/library
for program in event_sessions event_hooks event_life; do
  [ -x "$LIBRARY/$program" ] || { echo "$LIBRARY/$program is not built" >&2; exit 77; }
done
sanitized() { nm -D "$LIBRARY/event_hooks" | grep -q '__[at]san_'; }

dir=$TMP/sessions
mkdir "$dir"
use_sockets "$dir"
start_service sonda "$dir"
service=${PIDS[-1]}

plugin=$LIBRARY/plugin/event_plugin.so
! sanitized || plugin= # it would bring a second sanitizer
timeout 300 "$LIBRARY/event_sessions" "$dir" ${plugin:+"$plugin"} >"$dir/log" 2>&1
verdict "a program records itself through sessions, one of which finds no instance" $? "$dir/log"
for i in 0 1 2 3 4; do
  query "$dir/nine.$i" "select count(*) as n from slice where name = 'of nine'"
done >"$dir/got"
printf '[{"n":%d}]\n' 2 2 2 2 0 | cmp -s - "$dir/got"
verdict "of nine instances, in five sessions, eight record" $? "$dir/got"
for name in first second third; do
  check_answer "the $name of three sessions has its own event only" "$dir/$name" "select name from slice" "[{\"name\":\"in the $name\"}]"
done
check_answer "a category that comes while a session runs is recorded, if the config wants it" "$dir/late" \
  "select name, category from slice" '[{"name":"late event","category":"late.wanted"}]'
check_answer "ends that cross are counted, and the outer slice has its end" "$dir/nesting" "select name, dur,
  (select value from stats where name = 'misplaced_end_event') as misplaced from slice
  where track_id in (select id from track where name = 'crossed') and name = 'outer'" '[{"name":"outer","dur":2000000,"misplaced":1}]'
# An older trace_processor keeps the slices, on the last level, and counts nothing.
check_answer "of 600 levels none is deeper than 512" "$dir/nesting" "select max(depth) as depth, count(*) +
  coalesce((select value from stats where name = 'slice_max_depth_exceeded'), 0) as n from slice where name = 'level'" \
  '[{"depth":511,"n":600}]'
check_answer "a session of a program with a loop of its own" "$dir/loop" "select name from slice" '[{"name":"in a loop"}]'
if [ "$plugin" ]; then
  check_answer "two copies of the library have one process and one thread" "$dir/copies" "select count(distinct t.utid) as threads,
    count(distinct upid) as processes, group_concat(s.name, ', ') as names from (select * from slice order by ts) s
    join thread_track t on s.track_id = t.id join thread using (utid)" \
    '[{"threads":1,"processes":1,"names":"of the program, of the plugin"}]'
  check_answer "two copies of the library share tracks, without an error" "$dir/copies" "select (select count(*) from process_track where name = 'of both') as tracks,
    (select depth from slice where name = 'of the plugin' and depth = 1) as depth, (select count(*) from ($EVENT_ERRORS)) as bad" \
    '[{"tracks":1,"depth":1,"bad":0}]'
fi

# ---- events inside callbacks and allocators ----
cat >"$dir/hooks.cfg" <<'CONFIG'
buffers { size_kb: 65536 }
data_sources { config { name: "track_event" track_event_config { disabled_categories: "*" enabled_categories: "hooks" } } }
data_sources { config { name: "sonda.test.hooks" } }
incremental_state_config { clear_period_ms: 10 }
trigger_config { trigger_mode: STOP_TRACING trigger_timeout_ms: 600000 triggers { name: "sonda.test.hooks.end" stop_delay_ms: 1 } }
CONFIG
timeout 100 "$BIN/sonda" record --exit-code -c "$dir/hooks.cfg" -o "$dir/hooks" -- "$LIBRARY/event_hooks" >"$dir/log" 2>&1
verdict "events inside callbacks and allocators deadlock nothing" $? "$dir/log"
check_answer "those of callbacks are recorded, and none that would be inside another packet" "$dir/hooks" "select
  (select count(distinct name) from slice where name in ('flush', 'clear')) as callbacks,
  (select count(*) from slice where name = 'inside another packet') as inside" '[{"callbacks":2,"inside":0}]'
check_answer "whatever was dropped: every event has its name, and no definition is missing" "$dir/hooks" "select
  (select count(*) from slice where name is null) as unnamed, (select count(*) > 0 from slice where name = 'event') as some,
  (select count(*) from stats where value > 0 and name in ('track_event_parser_errors', 'interned_data_tokenizer_errors')) as bad" \
  '[{"unnamed":0,"some":1,"bad":0}]'

# ---- a ring buffer that has lost its start ----
cat >"$dir/ring.cfg" <<'CONFIG'
buffers { size_kb: 1024 fill_policy: RING_BUFFER }
data_sources { config { name: "track_event" track_event_config { disabled_categories: "*" enabled_categories: "life" } } }
data_sources { config { name: "sonda.test.ring" } }
incremental_state_config { clear_period_ms: 10 }
CONFIG
timeout 100 "$BIN/sonda" record -c "$dir/ring.cfg" -o "$dir/ring" -- "$LIBRARY/event_life" ring >"$dir/log" 2>&1
check_answer "a ring that has wrapped: what remains is the newest, and each event has its name and argument" "$dir/ring" "select
  min(extract_arg(arg_set_id, 'debug.n')) > 0 as wrapped, max(extract_arg(arg_set_id, 'debug.n')) as last,
  sum(name is not 'ring' or category is not 'life' or extract_arg(arg_set_id, 'debug.n') is null) as bad from slice" \
  '[{"wrapped":1,"last":19999,"bad":0}]'

# ---- a service that is killed while events are written ----
coproc STEADY { "$LIBRARY/event_life" steady; }
steady=$STEADY_PID
config='buffers { size_kb: 65536 } data_sources { config { name: "track_event" track_event_config { disabled_categories: "*" enabled_categories: "life" } } }'
"$BIN/sonda" record -c <(echo "$config") -o "$dir/killed" >"$dir/log" 2>&1 &
recorder=$!
read -r -t 60 _ <&"${STEADY[0]}" # events are written
kill -KILL "$service"
wait $recorder
start_service sonda "$dir"
"$BIN/sonda" record -c <(echo "$config") -o "$dir/again" >"$dir/log" 2>&1 &
recorder=$!
read -r -t 60 _ <&"${STEADY[0]}" # and again, in another session
kill -TERM $recorder
wait $recorder
echo >&"${STEADY[1]}"
wait $steady
verdict "a service is killed while events are written: the program goes on" $? "$dir/log"
check_answer "the next service records the events" "$dir/again" "select count(*) > 0 as some, sum(name is not 'steady') as bad,
  (select count(*) from ($EVENT_ERRORS)) as stats from slice" '[{"some":1,"bad":0,"stats":0}]'
exit $BAD
