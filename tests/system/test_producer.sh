#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Numbered packets of all sizes through our own three: producer side, service, consumer side. Every packet is in the
# trace once, in order, whole; by TCP, too, when the service takes nothing for a while. (The same with Perfetto's
# programs: tests/interop/test_producer.sh, test_remote.sh.)
. "$(dirname "$0")/lib.sh"
packets=20000

record_until_written() {
  local recorder
  "$B/bin/sonda" record --strict -c "$TMP/config" -o "$TMP/trace" >"$TMP/record.log" 2>&1 &
  recorder=$!
  for _ in $(seq 400); do
    grep -q '^all are written' "$TMP/producer.log" && break
    sleep 0.1
  done
  kill -TERM $recorder
  wait $recorder
}

run_one() { # SHM_KB PAGE_KB
  local name="shared memory of $1 KiB in pages of $2"
  cat >"$TMP/config" <<CONFIG
buffers { size_kb: 65536 fill_policy: DISCARD }
data_sources { config { name: "sonda.test.counter" } }
producers { producer_name: "sonda.test.producer" shm_size_kb: $1 page_size_kb: $2 }
duration_ms: 60000
flush_timeout_ms: 10000
CONFIG
  start_daemon TRACED_NOTIFY_FD "$TMP/service.log" "$B/bin/sondad" &&
    start_daemon TRACED_PROBES_NOTIFY_FD "$TMP/producer.log" "$COUNTER" run $packets &&
    record_until_written
  verdict "$name: records, and nothing was lost" $? "$TMP/record.log"
  stop_all
  "$COUNTER" check $packets <"$TMP/trace" >>"$TMP/producer.log"
  verdict "$name: every packet is there once and whole" $? "$TMP/producer.log"
  rm -f "$TMP/trace"
}

run_one 2048 32
run_one 64 4

# Below the ports that the kernel gives to clients.
free_port() {
  local port
  while :; do
    port=$((20000 + RANDOM % 12000))
    (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || { echo $port; return; }
  done
}
# From the first packets on, for longer than the sockets and the producer can hold what is written.
stand_still() { # PID
  for _ in $(seq 200); do
    grep -q '^begins' "$TMP/producer.log" && break
    sleep 0.02
  done
  kill -STOP "$1"
  sleep 1
  kill -CONT "$1"
}
tcp=127.0.0.1:$(free_port)
cat >"$TMP/config" <<CONFIG
buffers { size_kb: 65536 fill_policy: DISCARD }
data_sources { config { name: "sonda.test.counter" buffer_exhausted_policy: BUFFER_EXHAUSTED_STALL_THEN_DROP } }
trace_all_machines: true
duration_ms: 60000
flush_timeout_ms: 10000
CONFIG
PERFETTO_PRODUCER_SOCK_NAME=$PERFETTO_PRODUCER_SOCK_NAME,$tcp \
  start_daemon TRACED_NOTIFY_FD "$TMP/service.log" "$B/bin/sondad" --allow-remote 127.0.0.1 &&
  PERFETTO_PRODUCER_SOCK_NAME=$tcp start_daemon TRACED_PROBES_NOTIFY_FD "$TMP/producer.log" "$COUNTER" run $packets
verdict "a producer comes by TCP" $? "$TMP/service.log"
stand_still "${PIDS[0]}" &
still=$!
record_until_written
verdict "by TCP: records, and nothing was lost" $? "$TMP/record.log"
wait $still
stop_all
"$COUNTER" check $packets <"$TMP/trace" >>"$TMP/producer.log"
verdict "by TCP: every packet is there once and whole" $? "$TMP/producer.log"
echo "1..$N"
exit $BAD
