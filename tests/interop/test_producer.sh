#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# tracefs: none
#
# A producer of ours under either family's service and consumer: 20000 numbered packets from 4 bytes to 300 KB, nested
# up to 8 deep, through shared memories of several shapes. Every packet must be in the trace once, in order, whole, and
# a producer whose service is replaced must work with the next one.
. "$(dirname "$0")/lib.sh"
COUNTER=$B/tests/system/producer_counter
needs_built "$COUNTER"
packets=20000

config() { # SHM_KB PAGE_KB: a recording that ends when all are written
  cat <<CONFIG
buffers { size_kb: 65536 fill_policy: DISCARD }
data_sources { config { name: "sonda.test.counter" } }
producers { producer_name: "sonda.test.producer" shm_size_kb: $1 page_size_kb: $2 }
trigger_config { trigger_mode: STOP_TRACING trigger_timeout_ms: 50000 triggers { name: "sonda.test.counter.written" } }
flush_timeout_ms: 10000
CONFIG
}

run_one() { # SERVICE CONSUMER SHM_KB PAGE_KB
  local name="service=$1 consumer=$2 shared memory of $3 KiB in pages of $4" dir="$TMP/$1-$2-$3-$4"
  mkdir "$dir"
  use_sockets "$dir"
  config "$3" "$4" >"$dir/config"
  start_service "$1" "$dir" && start_daemon TRACED_PROBES_NOTIFY_FD "$dir/producer.log" "$COUNTER" run $packets &&
    record "$2" "$dir/config" "$dir/trace" "$dir/record.log"
  verdict "$name: records" $? "$dir/record.log"
  stop_all
  if [ -e "$dir/trace" ]; then
    "$COUNTER" check $packets <"$dir/trace" >>"$dir/producer.log"
    verdict "$name: every packet is there once and whole" $? "$dir/producer.log"
    query "$dir/trace" "select name, idx, value from stats where severity in ('error', 'data_loss') and value > 0" \
      >"$dir/errors"
    [ "$(cat "$dir/errors")" = '[]' ]
    verdict "$name: nothing lost, nothing wrong" $? "$dir/errors"
  fi
}

run_one perfetto perfetto 2048 32
run_one perfetto perfetto 256 4
run_one perfetto perfetto 64 16
if [ -x "$BIN/sonda" ] && [ -x "$BIN/sondad" ]; then
  run_one sonda perfetto 2048 32
  run_one sonda sonda 64 4
  run_one perfetto sonda 128 8
fi

# The service goes in the middle of a session, and another one takes its place.
use_sockets "$TMP"
config 2048 32 >"$TMP/config"
sed 's/^trigger_config.*/duration_ms: 60000/' "$TMP/config" >"$TMP/long"
start_daemon TRACED_NOTIFY_FD "$TMP/service.log" "$PEERS/run" traced &&
  start_daemon TRACED_PROBES_NOTIFY_FD "$TMP/producer.log" "$COUNTER" run $packets
verdict "a service and its producer start" $?
timeout 60 "$PEERS/run" perfetto --txt -c "$TMP/long" -o "$TMP/lost" >"$TMP/lost.log" 2>&1 &
consumer=$!
sleep 1
kill -KILL "${PIDS[0]}"
wait "${PIDS[0]}" $consumer 2>/dev/null
start_daemon TRACED_NOTIFY_FD "$TMP/service2.log" "$PEERS/run" traced
for _ in $(seq 100); do
  [ "$(grep -c '^connected' "$TMP/producer.log")" = 2 ] && break
  sleep 0.1
done
grep -c '^disconnected' "$TMP/producer.log" >"$TMP/count"
[ "$(cat "$TMP/count")" = 1 ] && [ "$(grep -c '^connected' "$TMP/producer.log")" = 2 ]
verdict "the producer finds the next service" $? "$TMP/producer.log"
record perfetto "$TMP/config" "$TMP/trace" "$TMP/record.log" && "$COUNTER" check $packets <"$TMP/trace" >"$TMP/check.log"
verdict "the producer works with the next service" $? "$TMP/check.log"

echo "1..$N"
exit $BAD
