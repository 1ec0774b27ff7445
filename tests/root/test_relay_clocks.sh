#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The clocks of a machine whose messages take 0 to 10 ms in each direction: sonda-relay runs in a time namespace that is
# two seconds behind, and our probes record the same scheduling for both machines, so that the error of the offset is seen.
#
# tracefs: shared
# kernels: none
. "$(dirname "$0")/lib.sh"
needs_root
needs_commands python3
needs_built "$BIN/sonda-relay" "$B/tests/root/ping_pong"
behind=2 # seconds: converted times must not be before the boot
unshare --time --boottime -$behind --monotonic -$behind true 2>/dev/null || { echo "no time namespaces here" >&2; exit 77; }

# Below the ports that the kernel gives to clients.
free_port() {
  local port
  while :; do
    port=$((20000 + RANDOM % 12000))
    (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || { echo $port; return; }
  done
}
use_sockets "$TMP"
port=$(free_port) slow_port=$(free_port)
start_daemon TRACED_NOTIFY_FD "$TMP/service.log" env PERFETTO_PRODUCER_SOCK_NAME="$TMP/producer,127.0.0.1:$port" "$BIN/sondad" \
  --allow-remote 127.0.0.1 --enable-relay-endpoint || exit 1
python3 tests/root/jitter_proxy.py "$slow_port" "127.0.0.1:$port" 10 >"$TMP/proxy.log" 2>&1 &
PIDS+=($!)
wait_for grep -q listens "$TMP/proxy.log"
start_daemon TRACED_RELAY_NOTIFY_FD "$TMP/relay.log" env PERFETTO_PRODUCER_SOCK_NAME="$TMP/guest" PERFETTO_MACHINE_NAME=guest \
  PERFETTO_RELAY_SOCK_NAME="127.0.0.1:$slow_port" unshare --time --boottime -$behind --monotonic -$behind "$BIN/sonda-relay" &&
  wait_for grep -q 'sent clock snapshots' "$TMP/relay.log"
verdict "a machine reports its clocks" $? "$TMP/relay.log"
for socket in producer guest; do
  start_daemon TRACED_PROBES_NOTIFY_FD "$TMP/probes.log" env PERFETTO_PRODUCER_SOCK_NAME="$TMP/$socket" "$BIN/sonda-probes"
done
"$BIN/sonda" record --all-machines -o "$TMP/trace" sched -- "$B/tests/root/ping_pong" 2000 >"$TMP/log" 2>&1
verdict "both machines are recorded" $? "$TMP/log"
# A thread and a duration tell which slices of both are the same.
"$BIN/sonda" sql "$TMP/trace" "create temp table s as select ts, dur, tid, coalesce(cpu.machine_id, 0) > 0 as remote
    from sched join cpu using (ucpu) join thread using (utid) where dur > 0" \
  "select abs(b.ts - a.ts - $behind * 1000000000) as error_ns, count(*) as n from s a join s b using (dur, tid)
    where not a.remote and b.remote group by 1 order by 2 desc limit 1" >"$TMP/rows" 2>&1
error=$(awk '$1 ~ /^[0-9]+$/ { print $1 }' "$TMP/rows")
echo "# error of the clocks: ${error:-unknown} ns; $(sed 's/.*service: //' "$TMP/relay.log")"
[ -n "$error" ] && [ "$error" -lt 500000 ]
verdict "its times are right by less than 0.5 ms" $? "$TMP/rows" "$TMP/relay.log"
exit $BAD
