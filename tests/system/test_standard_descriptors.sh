#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Each of the programs starts with descriptors 0 to 2 closed, and none of its sockets and files gets one of these
# numbers, because then it would get what the program prints.
#
# tracefs: shared
. "$(dirname "$0")/lib.sh"
# Shown by verdict.
# shellcheck disable=SC2034
details() { cat "$TMP/fds"; }

# Becomes the command, with its standard descriptors closed.
closed() { exec "$@" <&- >&- 2>&-; }
start_closed() { # NOTIFY_VARIABLE COMMAND...
  local variable=$1
  shift
  mkfifo "$TMP/ready"
  (export "$variable=9"; closed "$@" 9>"$TMP/ready") &
  PIDS+=($!)
  [ "$(timeout 20 head -c 1 "$TMP/ready")" = 1 ]
  rm "$TMP/ready"
}
are_null() { # PID
  local fd
  for fd in 0 1 2; do readlink "/proc/$1/fd/$fd"; done >"$TMP/fds"
  [ "$(sort -u "$TMP/fds")" = /dev/null ]
}
holds_file() { # PID
  readlink "/proc/$1/fd"/* 2>/dev/null | grep -q "^$TMP"
}

start_closed TRACED_NOTIFY_FD "$B/bin/sondad"
are_null "${PIDS[-1]}"
verdict "sondad: the standard descriptors are taken before its sockets are opened" $?
start_closed TRACED_PROBES_NOTIFY_FD "$B/bin/sonda-probes"
are_null "${PIDS[-1]}"
verdict "sonda-probes: the standard descriptors are taken before its sockets are opened" $?
PERFETTO_PRODUCER_SOCK_NAME=$TMP/relay PERFETTO_RELAY_SOCK_NAME=127.0.0.1:1 start_closed TRACED_RELAY_NOTIFY_FD "$B/bin/sonda-relay"
are_null "${PIDS[-1]}"
verdict "sonda-relay: the standard descriptors are taken before its sockets are opened" $?
cat >"$TMP/config" <<CONFIG
buffers { size_kb: 1024 }
data_sources { config { name: "linux.sys_stats" sys_stats_config { meminfo_period_ms: 1000 } } }
duration_ms: 60000
write_into_file: true
CONFIG
closed "$B/bin/sonda" record -c "$TMP/config" -o "$TMP/trace" &
PIDS+=($!)
for _ in $(seq 400); do
  holds_file "${PIDS[-1]}" && break
  sleep 0.05
done
are_null "${PIDS[-1]}"
verdict "sonda: the standard descriptors are taken before its files are opened" $?
kill "${PIDS[-1]}"
wait "${PIDS[-1]}"
[ -s "$TMP/trace" ] && "$B/bin/sonda" info "$TMP/trace" >"$TMP/info" 2>&1 && grep -q 'lost  *nothing' "$TMP/info"
verdict "sonda: the trace is whole" $? "$TMP/info"
echo "1..$N"
exit "$BAD"
