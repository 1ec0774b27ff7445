#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# tracefs: top
#
# Producers of other machines, which for this test are this one, through TCP: Perfetto's traced_probes at our service,
# directly and behind a relay whose clocks are ahead; who is not in the list of addresses; and our producers at either
# family's service.
. "$(dirname "$0")/lib.sh"
need_tracefs
RELAY=$B/tests/interop/relay
needs_built "$RELAY"

# Below the ports that the kernel gives to clients.
free_port() {
  local port
  while :; do
    port=$((20000 + RANDOM % 12000))
    (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || { echo $port; return; }
  done
}
config() { # DATA SOURCE FIELDS
  cat <<CONFIG
buffers { size_kb: 16384 }
data_sources { config { name: "linux.ftrace" ftrace_config { ftrace_events: "sched/sched_switch" } } $1 }
data_sources { config { name: "linux.process_stats" process_stats_config { scan_all_processes_on_start: true } } $1 }
duration_ms: 600
CONFIG
}
use_sockets "$TMP"
here=$PERFETTO_PRODUCER_SOCK_NAME
port=$(free_port)
there=127.0.0.1:$port
start_ours() { # ARGUMENTS...; with a producer socket on TCP
  start_daemon TRACED_NOTIFY_FD "$TMP/service.log" env PERFETTO_PRODUCER_SOCK_NAME="$here,$there" "$BIN/sondad" "$@"
}
start_theirs_at() { # SOCKET
  start_daemon TRACED_PROBES_NOTIFY_FD "$TMP/probes.log" env PERFETTO_PRODUCER_SOCK_NAME="$1" "$PEERS/run" traced_probes
}
# Scheduling of no machine but the other one, the names of its threads, and nothing lost or wrong. More SQL: $TMP/more.
is_remote() { # TRACE [SQL...]
  local trace=$1
  shift
  query "$trace" "select name, idx, value from stats where severity in ('error', 'data_loss') and value > 0" \
    "select count(*) > 10 as many, count(distinct machine_id) as machines, min(machine_id) > 0 as remote
      from sched join cpu using (ucpu)" "select count(*) > 3 as named from thread where name is not null" "$@" >"$TMP/rows"
  sed -n '4,$p' "$TMP/rows" >"$TMP/more"
  [ "$(head -n 3 "$TMP/rows")" = '[]
[{"many":1,"machines":1,"remote":1}]
[{"named":1}]' ]
}

# Directly: from a loopback address and without an identity, they are of the service's machine.
config '' >"$TMP/config"
start_ours --allow-remote 127.0.0.1 --enable-relay-endpoint-on "$there" && start_theirs_at "$there"
verdict "Perfetto's probes come to our service by TCP" $? "$TMP/service.log"
record perfetto "$TMP/config" "$TMP/trace" "$TMP/log"
verdict "they are recorded" $? "$TMP/log"
query "$TMP/trace" "select name, idx, value from stats where severity in ('error', 'data_loss') and value > 0" \
  "select count(*) > 10 as many, max(machine_id) as machine from sched join cpu using (ucpu)" >"$TMP/rows"
[ "$(cat "$TMP/rows")" = '[]
[{"many":1,"machine":0}]' ]
verdict "without trace_all_machines, as with Perfetto's service; nothing lost, nothing wrong" $? "$TMP/rows"
kill "${PIDS[1]}" && wait "${PIDS[1]}" 2>/dev/null
PIDS=("${PIDS[0]}")

# Behind a relay. Its machine's clocks are said to be an hour behind, so what it records is an hour later:
# this machine may have been up for less than an hour, and readers drop events before the boot.
start_daemon TRACED_NOTIFY_FD "$TMP/relay.log" "$RELAY" "$TMP/guest" "$there" some-boot-id guest -3600000000000 &&
  start_theirs_at "$TMP/guest"
verdict "a relay comes to our service, and Perfetto's probes to it" $? "$TMP/relay.log"
config 'machine_name_filter: "guest"' >"$TMP/config"
begin=$(uptime_ns)
record perfetto "$TMP/config" "$TMP/trace" "$TMP/log"
verdict "they are recorded by the machine's name" $? "$TMP/log"
end=$(uptime_ns)
is_remote "$TMP/trace" "select raw_id, release, num_cpus from machine where id > 0" \
  "select min(ts) > $begin + 3600000000000 and max(ts) < $end + 3600000000000 as shifted from sched"
verdict "the scheduling is the other machine's, nothing lost, nothing wrong" $? "$TMP/rows"
# The id is a hash with a key of the service's own.
grep -qxE '\[\{"raw_id":[1-9][0-9]*,"release":"6.0.1-relayed","num_cpus":3\}\]' <(head -n 1 "$TMP/more")
verdict "the machine is the one that the relay announced" $? "$TMP/more"
[ "$(sed -n 2p "$TMP/more")" = '[{"shifted":1}]' ]
verdict "times are those of our clocks" $? "$TMP/more"
stop_all

# From an address that is not in the list.
start_ours --allow-remote 127.0.0.2,::1
PERFETTO_PRODUCER_SOCK_NAME=$there "$PEERS/run" traced_probes >"$TMP/probes.log" 2>&1 &
PIDS+=($!)
for _ in $(seq 100); do grep -q '127.0.0.1 is refused' "$TMP/service.log" && break; sleep 0.1; done
grep -q '127.0.0.1 is refused' "$TMP/service.log"
verdict "who is not in the list is refused, and named" $? "$TMP/service.log"
"$PEERS/run" perfetto --query >"$TMP/rows" 2>&1
! grep -q 'perfetto.traced_probes' "$TMP/rows"
verdict "a machine that is not in the list has no producer" $? "$TMP/rows"

stop_all

# Ours, at both: the probes, and 15 MB in 20000 packets of which none may be missing.
packets=20000
COUNTER=$B/tests/system/producer_counter
config '' | sed '/^duration_ms/d' >"$TMP/config"
cat >>"$TMP/config" <<CONFIG
trigger_config { trigger_mode: STOP_TRACING trigger_timeout_ms: 50000 triggers { name: "sonda.test.counter.written" } }
buffers { size_kb: 65536 fill_policy: DISCARD }
data_sources { config { name: "sonda.test.counter" target_buffer: 1 } }
trace_all_machines: true
flush_timeout_ms: 10000
CONFIG
for service in perfetto sonda; do
  if [ $service = sonda ]; then
    start_ours --allow-remote 127.0.0.1 --enable-relay-endpoint
  else
    start_daemon TRACED_NOTIFY_FD "$TMP/service.log" env PERFETTO_PRODUCER_SOCK_NAME="$here,$there" "$PEERS/run" traced \
      --enable-relay-endpoint
  fi &&
    PERFETTO_PRODUCER_SOCK_NAME=$there start_probes sonda "$TMP" &&
    PERFETTO_PRODUCER_SOCK_NAME=$there start_daemon TRACED_PROBES_NOTIFY_FD "$TMP/producer.log" "$COUNTER" run $packets
  verdict "service=$service: our producers come by TCP" $? "$TMP/probes.log"
  record sonda "$TMP/config" "$TMP/trace" "$TMP/log"
  verdict "service=$service: they are recorded" $? "$TMP/log"
  "$COUNTER" check $packets <"$TMP/trace" >>"$TMP/producer.log"
  verdict "service=$service: every packet is there once and whole" $? "$TMP/producer.log"
  is_remote "$TMP/trace" "select release from machine where id > 0"
  verdict "service=$service: the scheduling is the other machine's, nothing lost, nothing wrong" $? "$TMP/rows"
  [ "$(cat "$TMP/more")" = "[{\"release\":\"$(uname -r)\"}]" ]
  verdict "service=$service: the service knows the machine" $? "$TMP/more"
  stop_all
done

echo "1..$N"
exit $BAD
