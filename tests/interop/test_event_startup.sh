#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# tracefs: none
#
# Startup tracing: events that a program writes before there is a service are in the first session's trace, without a gap or
# a copy where the session takes over; what has no room, or no session, is dropped and counted.
. "$(dirname "$0")/lib.sh"
STARTUP=$B/tests/library/event_startup
needs_built "$STARTUP"

config() { # CATEGORIES
  printf 'buffers { size_kb: 65536 fill_policy: DISCARD }\n'
  printf 'data_sources { config { name: "track_event" track_event_config { disabled_categories: "*" %s } } }\n' "$1"
  printf 'trigger_config { trigger_mode: STOP_TRACING trigger_timeout_ms: 600000 triggers { name: "boot.done" stop_delay_ms: 1 } }\n'
}
written() { until grep -qs '^written' "$dir/said"; do kill -0 $program || return 1; sleep 0.01; done; }

for service in sonda perfetto; do
  dir=$TMP/$service
  mkdir "$dir"
  use_sockets "$dir"
  "$STARTUP" 2000 >"$dir/said" 2>"$dir/errors" &
  program=$!
  written
  verdict "service=$service: a program writes events while there is no service" $? "$dir/errors"
  start_service $service "$dir"
  until "$PEERS/run" perfetto --query-raw 2>/dev/null | grep -aq 'Of the start'; do sleep 0.05; done
  # A session that wants less of it does not get it.
  { config 'enabled_categories: "else*"'; echo 'duration_ms: 200'; } | sed '/trigger_config/d' >"$dir/config"
  record sonda "$dir/config" "$dir/less" "$dir/log"
  check_answer "service=$service: a session without the categories of the start gets none of it" "$dir/less" \
    "select count(*) as n from slice" '[{"n":0}]'
  config 'enabled_categories: "boot" enabled_categories: "other"' >"$dir/config"
  record sonda "$dir/config" "$dir/trace" "$dir/log"
  verdict "service=$service: a session records" $? "$dir/log"
  wait $program
  verdict "service=$service: the program ends" $? "$dir/errors"
  check_answer "service=$service: all events of both threads are there, with names and arguments" "$dir/trace" "select count(*) as n,
    count(distinct extract_arg(arg_set_id, 'debug.n')) as d, count(distinct extract_arg(arg_set_id, 'debug.text')) as threads
    from slice where name = 'early' and category = 'boot'" '[{"n":4000,"d":2000,"threads":2}]'
  check_answer "service=$service: and a slice around them, and a packet of many chunks" "$dir/trace" "select
    (select count(*) from slice where name = 'start' and dur > 0) as start,
    (select length(extract_arg(arg_set_id, 'debug.big')) from slice where name = 'big') as big,
    (select count(*) from slice where name = 'too early') as early" '[{"start":1,"big":20000,"early":0}]'
  check_answer "service=$service: none is missing or twice where the session took over" "$dir/trace" "select
    count(*) - 1 - max(extract_arg(arg_set_id, 'debug.n')) as missing, min(extract_arg(arg_set_id, 'debug.n')) as first,
    count(*) - count(distinct extract_arg(arg_set_id, 'debug.n')) as twice from slice where name = 'waiting'" \
    '[{"missing":0,"first":0,"twice":0}]'
  check_answer "service=$service: no error, and no loss" "$dir/trace" "$EVENT_ERRORS" '[]'
  grep -q 'dropped 0$' "$dir/said"
  verdict "service=$service: nothing is counted as dropped" $? "$dir/said"
  stop_all
done

dir=$TMP/full
mkdir "$dir"
use_sockets "$dir"
"$STARTUP" 50000 >"$dir/said" 2>"$dir/errors" &
program=$!
written
start_service sonda "$dir"
config 'enabled_categories: "boot" enabled_categories: "other"' >"$dir/config"
record sonda "$dir/config" "$dir/trace" "$dir/log"
wait $program
query "$dir/trace" "select count(*) as n from slice where name in ('early', 'waiting')" >"$dir/got"
came=$(sed 's/[^0-9]//g' "$dir/got")
read -r _ early _ later _ dropped <<<"$(tail -n 1 "$dir/said")"
# The packets of definitions that found no room are counted, too, as is the one of 20,000 bytes.
[ "$came" -gt 5000 ] && [ "$dropped" -ge $((early + later - came)) ] && [ "$dropped" -le $((early + later - came + 20)) ]
verdict "more than the memory holds is dropped and counted" $? <(cat "$dir/said" "$dir/got")
grep -qE "shared memory: $(sed ':a;s/\B[0-9]\{3\}\>/,&/;ta' <<<"$dropped") packets dropped" "$dir/log"
verdict "the recording reports the same number of dropped events" $? <(cat "$dir/said" "$dir/log")
stop_all

"$STARTUP" 100 50 >"$dir/said" 2>"$dir/errors"
verdict "a program for which no session comes goes on" $? "$dir/errors"
read -r _ early _ later _ dropped <<<"$(tail -n 1 "$dir/said")"
[ "$dropped" -ge 203 ] && grep -q "no session adopted the startup events; packets dropped: $dropped" "$dir/errors"
verdict "its events are dropped after the time, and counted" $? <(cat "$dir/said" "$dir/errors")
exit $BAD
