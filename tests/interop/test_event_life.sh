#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# tracefs: none
#
# Track events of libsonda when sessions overlap, when the incremental state is cleared, when the shared memory is full, and
# around fork(); and the list of categories in the service.
. "$(dirname "$0")/lib.sh"
LIBRARY=$B/tests/library
needs_built "$LIBRARY/event_life"

dir=$TMP/life
mkdir "$dir"
use_sockets "$dir"
start_service sonda "$dir"

config() { # CATEGORIES MORE
  printf 'buffers { size_kb: 65536 }\n%s\n' "${2:-}"
  printf 'data_sources { config { name: "track_event" track_event_config { disabled_categories: "*" enabled_categories: "%s" } } }\n' "$1"
}

# ---- a flood ----
service=${PIDS[-1]}
coproc FLOOD { "$LIBRARY/event_life" flood; }
flood=$FLOOD_PID
"$BIN/sonda" record -c <(config life; echo 'duration_ms: 3000') -o "$dir/flood" >"$dir/log" 2>&1 &
recorder=$!
read -r -t 20 line <&"${FLOOD[0]}" # enabled
kill -STOP "$service"
echo >&"${FLOOD[1]}"
read -r -t 20 line <&"${FLOOD[0]}" # flooded
kill -CONT "$service"
echo >&"${FLOOD[1]}"
wait $flood && wait $recorder
verdict "a program writes while the service stands still" $? "$dir/log"
query "$dir/flood" "select count() < 100000 as some from slice where name = 'flood'" \
  "select count() > 0 as n from stats where name glob 'traced_buf_*packet_loss' and value > 0" >"$dir/got"
printf '[{"some":1}]\n[{"n":1}]\n' | cmp -s - "$dir/got"
verdict "events are lost, and the trace tells" $? "$dir/got"
check_answer "all that come after the loss have their names" "$dir/flood" "select count() as n,
  count(distinct extract_arg(arg_set_id, 'debug.n')) as d from slice where name = 'after' and category = 'life'" '[{"n":10,"d":10}]'
check_answer "every event that came has its name" "$dir/flood" "select count() as n from slice where name is null or name not in
  ('flood', 'after')" '[{"n":0}]'
check_answer "no reader misses a definition" "$dir/flood" "select count() as n from stats where value > 0 and name in
  ('interned_data_tokenizer_errors', 'track_event_parser_errors')" '[{"n":0}]'

# ---- fork ----
if nm -D "$LIBRARY/event_life" | grep -q __tsan_; then
  echo "# the thread sanitizer cannot follow a child with threads"
else
  timeout 100 "$BIN/sonda" record --exit-code -c <(config life) -o "$dir/fork" -- "$LIBRARY/event_life" fork >"$dir/log" 2>&1
  verdict "a program forks while it traces" $? "$dir/log"
  check_answer "no loss and no error" "$dir/fork" "$EVENT_ERRORS" '[]'
  check_answer "the parent's events are all there" "$dir/fork" "select count() as n, (select dur > 0 from slice where name = 'around') as around
    from slice where name in ('before', 'meanwhile')" '[{"n":101,"around":1}]'
  check_answer "each event is under the process that wrote it" "$dir/fork" "select sum(extract_arg(s.arg_set_id, 'debug.pid') = p.pid) as right,
    count(distinct upid) as processes, count() as n from slice s join thread_track t on s.track_id = t.id join thread using (utid)
    join process p using (upid) where s.name in ('before', 'meanwhile', 'of the child')" '[{"right":102,"processes":2,"n":102}]'
  check_answer "before it starts the library the child writes nothing" "$dir/fork" "select count() as n from slice where name = 'lost'" '[{"n":0}]'
fi

# ---- sessions that overlap, and clears ----
start_daemon EVENT_CASES_NOTIFY_FD "$dir/cases.log" "$LIBRARY/event_cases"
verdict "a program with several categories starts" $? "$dir/cases.log"
"$PEERS/run" perfetto --query-raw >"$dir/query" 2>"$dir/log"
grep -aq 'cases\.slow' "$dir/query" && grep -aq 'Off by default' "$dir/query" && grep -aq 'All cases' "$dir/query"
verdict "the service lists its categories, with description and tags" $? "$dir/log"
"$BIN/sonda" status >"$dir/status"
grep -qE '^cases\.slow +slow +[^ ]*event_cases +Off by default$' "$dir/status"
verdict "sonda status lists them" $? "$dir/status"
# The program writes when the first session begins: the second one records by then.
timeout 100 "$BIN/sonda" record -c <(config second) -o "$dir/second" -- \
  sh -c 'echo >"$0"; while [ ! -e "$1" ]; do sleep 0.1; done' "$dir/second_on" "$dir/first_done" >"$dir/log2" 2>&1 &
second=$!
for _ in $(seq 300); do [ ! -e "$dir/second_on" ] || break; sleep 0.1; done
timeout 100 "$BIN/sonda" record -c <(config cases 'incremental_state_config { clear_period_ms: 10 }'; echo 'duration_ms: 1500') \
  -o "$dir/first" >"$dir/log" 2>&1
verdict "two sessions at once" $? "$dir/log"
echo >"$dir/first_done"
wait $second
verdict "with different categories" $? "$dir/log2"
check_answer "one has what it asked for, although its state was cleared often" "$dir/first" "select count(distinct name) as n,
  count() as all_of_them from slice where name in ('one name', 'last of a thread', 'types', 'nested', 'all written')" \
  '[{"n":5,"all_of_them":1053}]'
check_answer "without an error" "$dir/first" "select name, value from stats where value > 0 and name != 'unknown_extension_fields' and
  (severity in ('error', 'data_loss') or name in ('interned_data_tokenizer_errors', 'track_event_parser_errors'))" '[]'
check_answer "the other has the one event of its category" "$dir/second" "select name, category from slice" \
  '[{"name":"of a group","category":"cases,second"}]'
exit $BAD
