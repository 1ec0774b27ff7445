#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# sonda-relay between producers and a service that break the rules; its options and sockets.
. "$(dirname "$0")/../lib.sh"
needs_built "$BIN/sonda-relay"
needs_commands python3

verdicts_of timeout 100 python3 tests/system/relay_peers.py "$BIN/sonda-relay" "$TMP" 2>"$TMP/err"
[ ! -s "$TMP/err" ]
verdict "the peers had no trouble of their own" $? "$TMP/err"

refuses() { # STATUS TEXT COMMAND...
  timeout 20 "${@:3}" >"$TMP/log" 2>&1
  [ $? = "$1" ] && grep -qF -- "$2" "$TMP/log"
}
details() { cat "$TMP/log"; }
relay=$BIN/sonda-relay
export PERFETTO_PRODUCER_SOCK_NAME=$TMP/p
check "without a service it does not start" refuses 1 "PERFETTO_RELAY_SOCK_NAME is not set" "$relay"
export PERFETTO_RELAY_SOCK_NAME=127.0.0.1:1
check "producers of this machine need a unix socket" refuses 1 "must be a unix socket" env PERFETTO_PRODUCER_SOCK_NAME=127.0.0.1:20001 "$relay"
check "it does not relay to itself" refuses 1 "is the address of both the service and" env PERFETTO_RELAY_SOCK_NAME="$TMP/p" "$relay"
check "permissions have two parts" refuses 2 "expected GROUP:MODE" "$relay" --set-socket-permissions root
check "modes are octal" refuses 2 "is not a mode" "$relay" --set-socket-permissions 0:rw
check "it takes no arguments" refuses 2 "unexpected argument" "$relay" there
check "it has a version" refuses 0 "sonda-relay " "$relay" --version

start_daemon TRACED_RELAY_NOTIFY_FD "$TMP/log" "$relay" --set-socket-permissions "$(id -g):0640"
verdict "it starts while no service answers" $? "$TMP/log"
check "the socket has the mode" test "$(stat -c %a "$TMP/p")" = 640
if [ "$(id -u)" = 0 ] && ! grep -q 'built with a sanitizer' "$TMP/log"; then
  check "the relay runs without privileges" eval 'grep -qP "^Uid:\t(?!0\t)" "/proc/${PIDS[-1]}/status" &&
    grep -qP "^CapPrm:\t0+\$" "/proc/${PIDS[-1]}/status" && grep -qP "^Seccomp:\t2" "/proc/${PIDS[-1]}/status"'
else
  skip "the relay runs without privileges" "it was started without any, or keeps them"
fi
check "a second one is refused" refuses 1 "another server is already listening there" "$relay"
stop_all

# As systemd passes one.
cat >"$TMP/pass.py" <<'PASS'
import os, socket, sys
s = socket.socket(socket.AF_UNIX)
s.bind(sys.argv[1])
s.listen()
if s.fileno() == 3:
    s.set_inheritable(True)
else:
    os.dup2(s.fileno(), 3)
os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS='1')
os.execv(sys.argv[2], sys.argv[2:])
PASS
start_daemon TRACED_RELAY_NOTIFY_FD "$TMP/log" env PERFETTO_PRODUCER_SOCK_NAME="$TMP/p.own" python3 "$TMP/pass.py" "$TMP/passed" "$relay"
verdict "a socket that systemd passes is used" $? "$TMP/log"
check "no other socket is made" test ! -e "$TMP/p.own"
kill "${PIDS[-1]}" && wait "${PIDS[-1]}"
verdict "it ends well" $? "$TMP/log"
PIDS=()

# A service on a unix socket, as at the end of a bridge.
config() {
  cat <<CONFIG
buffers { size_kb: 65536 fill_policy: DISCARD }
data_sources { config { name: "sonda.test.counter" } }
trigger_config { trigger_mode: STOP_TRACING trigger_timeout_ms: 20000 triggers { name: "sonda.test.counter.written" } }
trace_all_machines: true
CONFIG
}
COUNTER=$B/tests/system/producer_counter
if [ -x "$COUNTER" ]; then
  config >"$TMP/config"
  chmod 711 "$TMP" # the relay runs as another user, if root starts it
  export PERFETTO_CONSUMER_SOCK_NAME=$TMP/consumer
  start_daemon TRACED_NOTIFY_FD "$TMP/service.log" env PERFETTO_PRODUCER_SOCK_NAME="$TMP/producer,$TMP/bridge" "$BIN/sondad" \
    --enable-relay-endpoint-on "$TMP/bridge" --set-socket-permissions "$(id -g):0666:$(id -g):0600"
  start_daemon TRACED_RELAY_NOTIFY_FD "$TMP/log" env PERFETTO_RELAY_SOCK_NAME="$TMP/bridge" PERFETTO_MACHINE_NAME=guest "$relay" &&
    wait_for grep -q 'sent clock snapshots' "$TMP/log"
  verdict "sondad takes relays on a unix socket that it names for them" $? "$TMP/log" "$TMP/service.log"
  start_daemon TRACED_PROBES_NOTIFY_FD "$TMP/counter.log" "$COUNTER" run 5000
  "$BIN/sonda" record -c "$TMP/config" -o "$TMP/trace" >"$TMP/record.log" 2>&1 && "$COUNTER" check 5000 <"$TMP/trace" >>"$TMP/counter.log"
  verdict "each packet of a producer that ends after its last commit is there once and whole" $? "$TMP/record.log" "$TMP/counter.log"
  check "the producer is of the other machine" eval '"$BIN/sonda" sql "$TMP/trace" "select count(*) as machines from machine" | grep -qx " *2"'
  kill "${PIDS[-1]}" "${PIDS[-2]}" && wait "${PIDS[-1]}" "${PIDS[-2]}" 2>/dev/null
  PIDS=("${PIDS[0]}")
  start_daemon TRACED_RELAY_NOTIFY_FD "$TMP/log" env PERFETTO_RELAY_SOCK_NAME="$TMP/producer" "$relay" &&
    wait_for grep -q 'relays are not accepted on this socket; pass it to --enable-relay-endpoint-on' "$TMP/service.log"
  verdict "at another unix socket it is refused with advice, and not taken for this machine" $? "$TMP/log" "$TMP/service.log"
  stop_all
fi

pid=$("$relay" --background 2>"$TMP/log")
[ -d "/proc/$pid" ] && test -S "$TMP/p"
verdict "--background prints the process id when the sockets are open" $? "$TMP/log"
kill "$pid" && wait_for test ! -d "/proc/$pid"
verdict "it ends by a signal" $?
exit $BAD
