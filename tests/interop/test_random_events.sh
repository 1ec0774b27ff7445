#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# tracefs: none
#
# 10,000 track events of 8 threads, chosen by a seed (tests/library/random_events.c): trace_processor finds each of them as it
# was written, through our service and through Perfetto's. SEEDS="FIRST LAST" runs more than the few of make check;
# SERVICES="sonda" with one service only.
. "$(dirname "$0")/lib.sh"
RANDOM_EVENTS=$B/tests/library/random_events
needs_built "$RANDOM_EVENTS"
read -r FIRST LAST <<<"${SEEDS:-1 3}"

# One line for each event, as the program writes them.
lines() {
  node -e '
    for (const line of require("fs").readFileSync(0, "utf8").trim().split("\n"))
      console.log(line.startsWith("[") ? JSON.parse(line).map(r => r.l).join("\n") : line);' | sort
}

# Perfetto's service starts no session without a producer, so there the program is first, and the time is limited.
record_seed() { # SERVICE SEED
  if [ "$1" = sonda ]; then
    timeout 100 "$BIN/sonda" record -c "$dir/config" -o "$dir/trace" -- "$RANDOM_EVENTS" "$2" "$dir/want.raw"
  else
    "$RANDOM_EVENTS" "$2" "$dir/want.raw" &
    timeout 100 "$BIN/sonda" record -c <(cat "$dir/config"; echo 'duration_ms: 2000') -o "$dir/trace"
    wait $!
  fi
}

one_seed() { # SERVICE SEED
  record_seed "$@" >"$dir/log" 2>&1 || return 1
  sort "$dir/want.raw" >"$dir/want"
  query "$dir/trace" "
    select printf('S|%s|%s|%s|%d|%d|%d|%s', coalesce(th.name, tr.name), s.name, s.category, s.ts, s.dur, s.depth,
      coalesce((select group_concat(printf(' %s=%s:%s', substr(key, 7), value_type, coalesce(string_value,
          int_value, printf('%.2f', real_value))), '')
        from (select * from args where arg_set_id = s.arg_set_id and key glob 'debug.*' order by key)), '')) as l
    from slice s join track tr on s.track_id = tr.id
      left join thread_track tt on tt.id = tr.id and tr.name is null left join thread th using (utid)" "
    select printf('C|%s|%d|%.2f', t.name, c.ts, c.value) as l from counter c join counter_track t on c.track_id = t.id
      where t.name glob 'counter*'" "
    select printf('F|%d|%d', o.ts, i.ts) as l from flow join slice o on slice_out = o.id join slice i on slice_in = i.id" |
    lines >"$dir/got"
  diff "$dir/want" "$dir/got" >"$dir/diff" || return 1
  trace_errors "$dir/trace" | grep -vx '\[\]' >"$dir/diff" && return 1
  [ "$(wc -l <"$dir/got")" -gt 5000 ]
}

for service in ${SERVICES:-sonda perfetto}; do
  dir=$TMP/$service
  mkdir "$dir"
  use_sockets "$dir"
  printf 'buffers { size_kb: 32768 }\ndata_sources { config { name: "track_event" } }\n' >"$dir/config"
  start_service $service "$dir"
  for ((seed = FIRST; seed <= LAST; seed++)); do
    one_seed $service $seed
    status=$?
    [ $status = 0 ] || cat "$dir/log" >>"$dir/diff"
    verdict "seed $seed through $service's service: what was written is what is read" $status "$dir/diff"
  done
  stop_all
done
exit $BAD
