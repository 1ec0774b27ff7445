#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# usage: bench/track_event.sh      BUILD=build
#
# What track events of libsonda cost the program that writes them: ns an event (the least of 30 rounds of 5,000), with a
# session of our service; instructions of a disabled event, by callgrind; bytes an event. Ends with 1 if a figure is over
# the one that is asked. Perfetto's C SDK measures 230 ns for an enabled instant and 2.2 for a disabled event.
set -u
cd "$(dirname "$0")/.." || exit 2
B=${BUILD:-build}
tmp=$(mktemp -d)
service=
trap '[ "$BASHPID" != $$ ] || { [ -z "$service" ] || kill "$service"; rm -rf "$tmp"; }' EXIT
export PERFETTO_PRODUCER_SOCK_NAME=$tmp/producer PERFETTO_CONSUMER_SOCK_NAME=$tmp/consumer

"$B/bin/sondad" >"$tmp/service.log" 2>&1 &
service=$!
for ((i = 0; i < 100; i++)); do [ -S "$tmp/consumer" ] && break; sleep 0.1; done

over=0
asked() { # WHAT FIGURE LIMIT UNIT
  local verdict=good
  awk "BEGIN { exit !($2 <= $3) }" || { verdict=OVER over=1; }
  printf '%-44s %8s %-12s asked: %s  %s\n' "$1" "$2" "$4" "$3" "$verdict"
}
row() { printf '%-44s %8s %s\n' "$1" "$2" "$3"; } # WHAT FIGURE UNIT
of() { awk -v w="$1" '$1 == w { print $NF }' "$tmp/figures"; }

"$B/bin/sonda" record -q --app bench -o "$tmp/trace" -- "$B/bench/library/event_cost" >"$tmp/figures" || exit 1
row "reading the clock" "$(of clock)" ns
row "disabled" "$(of disabled)" "ns (with the call and the loop around it)"
asked "instant, with the clock" "$(of instant)" 80 ns
asked "instant with two annotations" "$(of annotations)" 120 ns
row "slice (begin and end)" "$(of slice)" ns
row "counter" "$(of counter)" ns
row "instant on a track of its own" "$(of track)" ns
row "instant with a text of 36 bytes" "$(of text)" ns
for n in 1 2 8; do
  "$B/bin/sonda" record -q --app bench -o "$tmp/trace$n" -- "$B/bench/library/event_cost" $n 20000 >>"$tmp/figures" || exit 1
  row "$n threads at once, CPU of an instant" "$(tail -n 1 "$tmp/figures" | awk '{ print $3 }')" ns
done

# Perfetto's SDK writes the same fields: 13 bytes an instant and 9 an end, with a time of two bytes (a gap of 128 ns or more).
"$B/bin/sonda" record -q --app bench -o "$tmp/instants" -- "$B/bench/library/event_cost" 1 20000 >/dev/null || exit 1
asked "an instant in the trace" "$(bench/packet_bytes.py "$tmp/instants" 3)" 13 bytes
asked "the end of a slice" "$(bench/packet_bytes.py "$tmp/trace" 2)" 9 bytes

if command -v valgrind >/dev/null; then
  valgrind --tool=callgrind --callgrind-out-file="$tmp/callgrind" "$B/bench/library/event_cost" disabled 100000 2>"$tmp/err" ||
    { cat "$tmp/err"; exit 1; }
  callgrind_annotate "$tmp/callgrind" >"$tmp/annotated"
  cost() { awk -v f=":$1" 'index($0, f " ") { gsub(",", "", $1); print $1; exit }' "$tmp/annotated"; }
  asked "disabled" "$(awk "BEGIN { print ($(cost with_events) - $(cost without)) / 100000 }")" 4 instructions
fi
exit $over
