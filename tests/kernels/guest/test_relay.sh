#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# sonda-relay over TCP with 5 ms of delay and 5 ms of jitter in each direction (netem), in a time namespace that is two
# seconds behind: our probes record the same scheduling for both machines, so that the error of the offset is seen. A producer
# that ends after its last commit loses nothing on this way.
#
# modules: sch_netem
# boot: -w tc
# kernels: 6.12
. "$(dirname "$0")/../lib.sh"
COUNTER=$B/tests/system/producer_counter
needs_built "$BIN/sonda-relay" "$COUNTER" "$B/tests/root/ping_pong"
behind=2 packets=$(scaled 20000)
use_sockets "$TMP"

tc qdisc add dev lo root netem delay 5ms 5ms
verdict "a network with jitter" $?

start_ready TRACED_NOTIFY_FD "$TMP/service.log" env PERFETTO_PRODUCER_SOCK_NAME="$TMP/producer,127.0.0.1:20001" "$BIN/sondad" \
  --allow-remote 127.0.0.1 --enable-relay-endpoint
start_ready TRACED_RELAY_NOTIFY_FD "$TMP/relay.log" env PERFETTO_PRODUCER_SOCK_NAME="$TMP/guest" PERFETTO_MACHINE_NAME=there \
  PERFETTO_RELAY_SOCK_NAME=127.0.0.1:20001 unshare --time --boottime -$behind --monotonic -$behind "$BIN/sonda-relay"
wait_for grep -q 'sent clock snapshots' "$TMP/relay.log"
verdict "the relay reports the clocks" $? "$TMP/relay.log"
for socket in producer guest; do
  start_ready TRACED_PROBES_NOTIFY_FD "$TMP/probes.log" env PERFETTO_PRODUCER_SOCK_NAME="$TMP/$socket" "$BIN/sonda-probes"
done
"$BIN/sonda" record --all-machines -o "$OUT/relay.pftrace" sched -- "$B/tests/root/ping_pong" 500 >"$TMP/log" 2>&1
verdict "both machines are recorded" $? "$TMP/log"
"$BIN/sonda" sql "$OUT/relay.pftrace" "create temp table s as select ts, dur, tid, coalesce(cpu.machine_id, 0) > 0 as remote
    from sched join cpu using (ucpu) join thread using (utid) where dur > 0" \
  "select abs(b.ts - a.ts - $behind * 1000000000) as error_ns, count(*) as n from s a join s b using (dur, tid)
    where not a.remote and b.remote group by 1 order by 2 desc limit 1" >"$TMP/rows" 2>&1
error=$(awk '$1 ~ /^[0-9]+$/ { print $1 }' "$TMP/rows")
echo "# error of the clocks: ${error:-unknown} ns; $(sed 's/.*service: //' "$TMP/relay.log")"
[ -n "$error" ] && [ "$error" -lt 200000 ]
verdict "its times are right by less than 0.2 ms" $? "$TMP/rows" "$TMP/relay.log"
is_true relay "two machines" "select count(*) = 2 from machine"

cat >"$TMP/config" <<CONFIG
buffers { size_kb: 65536 fill_policy: DISCARD }
data_sources { config { name: "sonda.test.counter" } }
trigger_config { trigger_mode: STOP_TRACING trigger_timeout_ms: 60000 triggers { name: "sonda.test.counter.written" } }
trace_all_machines: true
flush_timeout_ms: 20000
CONFIG
start_ready TRACED_PROBES_NOTIFY_FD "$TMP/counter.log" env PERFETTO_PRODUCER_SOCK_NAME="$TMP/guest" "$COUNTER" run "$packets"
"$BIN/sonda" record -c "$TMP/config" -o "$TMP/trace" >"$TMP/log" 2>&1 && "$COUNTER" check "$packets" <"$TMP/trace" >>"$TMP/counter.log"
verdict "every packet is there once and whole" $? "$TMP/log" "$TMP/counter.log"
tc qdisc del dev lo root
exit $BAD
