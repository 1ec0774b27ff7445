#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Producers that come through vsock, which for this test is the machine's own loop: the probes, and numbered packets of
# which none may be missing; who is not in the list. With Perfetto's programs there, its probes too:
#
#     D=$(tests/interop/peers.sh); tests/kernels/boot.sh -o /tmp/here -m vsock_loopback -a $D/run -a $D/root/usr/lib \
#       -a $D/root/usr/sbin 6.12 -- tests/kernels/guest/test_vsock.sh
#
# modules: vsock_loopback
# kernels: 6.12
. "$(dirname "$0")/../lib.sh"
grep -q '^vsock_loopback ' /proc/modules || { echo "vsock_loopback is not loaded" >&2; exit 77; }
COUNTER=$B/tests/system/producer_counter
packets=$(scaled 40000)
there=vsock://1:20001 # CID 1 is the machine itself

config() { # FIELDS...
  cat >"$TMP/config" <<CONFIG
buffers { size_kb: 32768 fill_policy: DISCARD }
data_sources { config { name: "linux.ftrace" ftrace_config { ftrace_events: "sched/sched_switch" } } }
data_sources { config { name: "linux.process_stats" process_stats_config { scan_all_processes_on_start: true } } }
duration_ms: 3000
flush_timeout_ms: 20000
trace_all_machines: true
$*
CONFIG
}
service() { # ALLOWED
  start_ready TRACED_NOTIFY_FD "$TMP/service.log" env PERFETTO_PRODUCER_SOCK_NAME="$TMP/producer,vsock://-1:20001" \
    "$BIN/sondad" --allow-remote "$1" --enable-relay-endpoint
}
from_there() { # LOG COMMAND...
  start_ready TRACED_PROBES_NOTIFY_FD "$1" env PERFETTO_PRODUCER_SOCK_NAME="$there" PERFETTO_MACHINE_NAME=loop "${@:2}"
}
stop() {
  local i
  for ((i = ${#PIDS[@]} - 1; i >= 0; i--)); do kill "${PIDS[i]}" && wait "${PIDS[i]}"; done
  PIDS=()
}
is_remote() { # TRACE
  is_true "$1" "the scheduling is the other machine's" "select count(*) > 10 and min(machine_id) > 0 from sched join cpu using (ucpu)"
  is_true "$1" "its threads have names" "select count(*) > 3 from thread where name is not null"
}

service vsock://1
from_there "$TMP/probes.log" "$BIN/sonda-probes"
from_there "$TMP/counter.log" "$COUNTER" run "$packets"
config 'data_sources { config { name: "sonda.test.counter" } }'
"$BIN/sonda" record -c "$TMP/config" -o "$OUT/vsock.pftrace" >"$TMP/log" 2>&1
verdict "our probes are recorded through vsock" $? "$TMP/log"
"$COUNTER" check "$packets" <"$OUT/vsock.pftrace" >"$TMP/log"
verdict "every packet is there once and whole" $? "$TMP/log"
is_remote vsock
is_true vsock "the service knows the machine" "select count(*) = 1 from machine where id > 0 and release = '$(uname -r)'"
"$BIN/sonda" status --json >"$TMP/log" 2>&1
grep -qE '"machine_name": *"loop"' "$TMP/log"
verdict "its name is in the list" $? "$TMP/log"
stop

# The same, behind a relay.
service vsock://1
start_ready TRACED_RELAY_NOTIFY_FD "$TMP/relay.log" env PERFETTO_PRODUCER_SOCK_NAME="$TMP/guest" PERFETTO_MACHINE_NAME=loop \
  PERFETTO_RELAY_SOCK_NAME=$there "$BIN/sonda-relay"
behind() { # LOG COMMAND...
  start_ready TRACED_PROBES_NOTIFY_FD "$1" env PERFETTO_PRODUCER_SOCK_NAME="$TMP/guest" "${@:2}"
}
behind "$TMP/probes.log" "$BIN/sonda-probes"
behind "$TMP/counter.log" "$COUNTER" run "$packets"
config 'data_sources { config { name: "sonda.test.counter" } }'
"$BIN/sonda" record -c "$TMP/config" -o "$OUT/vsock_relay.pftrace" >"$TMP/log" 2>&1
verdict "probes behind a relay are recorded through vsock" $? "$TMP/log" "$TMP/relay.log"
"$COUNTER" check "$packets" <"$OUT/vsock_relay.pftrace" >"$TMP/log"
verdict "the relay passes every packet once and whole" $? "$TMP/log"
is_remote vsock_relay
is_true vsock_relay "the relay announced the machine" "select count(*) = 1 from machine where id > 0 and release = '$(uname -r)'"
! grep 'sandbox blocked' "$TMP/relay.log" >"$TMP/log"
verdict "the relay has tried nothing that its sandbox forbids" $? "$TMP/log"
stop

peers=${PEER_DIR:-/tmp/peers}
if [ -x "$peers/run" ]; then
  service vsock://1
  from_there "$TMP/probes.log" bash "$peers/run" traced_probes
  config
  "$BIN/sonda" record -c "$TMP/config" -o "$OUT/vsock_perfetto.pftrace" >"$TMP/log" 2>&1
  verdict "Perfetto's probes are recorded through vsock" $? "$TMP/log"
  is_remote vsock_perfetto
  stop
else
  skip "Perfetto's probes are recorded through vsock" "they are not in this guest"
fi

service vsock://5
PERFETTO_PRODUCER_SOCK_NAME=$there "$BIN/sonda-probes" >"$TMP/probes.log" 2>&1 &
PIDS+=($!)
wait_for grep -q 'vsock://1 is refused' "$TMP/service.log"
verdict "who is not in the list is refused, and named" $? "$TMP/service.log"
"$BIN/sonda" status >"$TMP/log" 2>&1
! grep -q linux.ftrace "$TMP/log"
verdict "a machine that is not in the list has no producer" $? "$TMP/log"
stop
exit $BAD
