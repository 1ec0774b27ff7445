#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# tracefs: top
#
# sonda-relay between Perfetto's probes and ours on one side, and Perfetto's service and ours on the other: scheduling, 15 MB
# in 20000 packets of which none may be missing, machine ids, and clocks. The other machine is this one.
. "$(dirname "$0")/lib.sh"
need_tracefs
COUNTER=$B/tests/system/producer_counter
needs_built "$COUNTER" "$BIN/sonda-relay"

# Below the ports that the kernel gives to clients.
free_port() {
  local port
  while :; do
    port=$((20000 + RANDOM % 12000))
    (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || { echo $port; return; }
  done
}
use_sockets "$TMP"
here=$PERFETTO_PRODUCER_SOCK_NAME there=127.0.0.1:$(free_port)
packets=20000
cat >"$TMP/config" <<CONFIG
buffers { size_kb: 16384 }
buffers { size_kb: 65536 fill_policy: DISCARD }
data_sources { config { name: "linux.ftrace" ftrace_config { ftrace_events: "sched/sched_switch" } } }
data_sources { config { name: "linux.process_stats" process_stats_config { scan_all_processes_on_start: true } } }
data_sources { config { name: "sonda.test.counter" target_buffer: 1 } }
trigger_config { trigger_mode: STOP_TRACING trigger_timeout_ms: 50000 triggers { name: "sonda.test.counter.written" } }
trace_all_machines: true
flush_timeout_ms: 10000
CONFIG

for service in perfetto sonda; do
  if [ $service = sonda ]; then
    start_daemon TRACED_NOTIFY_FD "$TMP/service.log" env PERFETTO_PRODUCER_SOCK_NAME="$here,$there" "$BIN/sondad" \
      --allow-remote 127.0.0.1 --enable-relay-endpoint
  else
    start_daemon TRACED_NOTIFY_FD "$TMP/service.log" env PERFETTO_PRODUCER_SOCK_NAME="$here,$there" "$PEERS/run" traced \
      --enable-relay-endpoint
  fi && start_daemon TRACED_RELAY_NOTIFY_FD "$TMP/relay.log" env PERFETTO_PRODUCER_SOCK_NAME="$TMP/guest" \
    PERFETTO_RELAY_SOCK_NAME="$there" PERFETTO_MACHINE_NAME=guest "$BIN/sonda-relay" &&
    wait_for grep -q 'sent clock snapshots' "$TMP/relay.log"
  verdict "service=$service: the relay reports its machine and clocks" $? "$TMP/service.log" "$TMP/relay.log"
  for probes in perfetto sonda; do
    what="service=$service probes=$probes"
    running=${#PIDS[@]}
    PERFETTO_PRODUCER_SOCK_NAME=$TMP/guest start_probes $probes "$TMP" &&
      PERFETTO_PRODUCER_SOCK_NAME=$TMP/guest start_daemon TRACED_PROBES_NOTIFY_FD "$TMP/producer.log" "$COUNTER" run $packets
    verdict "$what: producers come through the relay" $? "$TMP/probes.log" "$TMP/relay.log"
    begin=$(uptime_ns)
    record sonda "$TMP/config" "$TMP/trace" "$TMP/log"
    verdict "$what: they are recorded" $? "$TMP/log"
    end=$(uptime_ns)
    "$COUNTER" check $packets <"$TMP/trace" >>"$TMP/producer.log"
    verdict "$what: every packet is there once and whole" $? "$TMP/producer.log"
    query "$TMP/trace" "select name, idx, value from stats where severity in ('error', 'data_loss') and value > 0" \
      "select count(*) > 10 as many, count(distinct machine_id) as machines, min(machine_id) > 0 as remote
        from sched join cpu using (ucpu)" \
      "select count(*) as machines, max(release) as release from machine where id > 0" \
      "select min(ts) > $begin - 10000000000 and max(ts) < $end + 1000000000 as now from sched" >"$TMP/rows"
    [ "$(cat "$TMP/rows")" = "[]
[{\"many\":1,\"machines\":1,\"remote\":1}]
[{\"machines\":1,\"release\":\"$(uname -r)\"}]
[{\"now\":1}]" ]
    verdict "$what: the scheduling is the other machine's, nothing lost, nothing wrong" $? "$TMP/rows"
    while [ ${#PIDS[@]} -gt "$running" ]; do
      kill "${PIDS[-1]}" && wait "${PIDS[-1]}" 2>/dev/null
      unset 'PIDS[-1]'
    done
  done
  stop_all
done
! grep 'sandbox blocked' "$TMP/relay.log" >"$TMP/forbidden"
verdict "the relay has tried nothing that its sandbox forbids" $? "$TMP/forbidden"

echo "1..$N"
exit $BAD
