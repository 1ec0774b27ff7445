#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Peers of other machines that break the rules, through TCP against a running sondad.
. "$(dirname "$0")/../lib.sh"
use_sockets "$TMP"

# Below the ports that the kernel gives to clients.
free_port() {
  local port
  while :; do
    port=$((20000 + RANDOM % 12000))
    (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || { echo $port; return; }
  done
}
tcp=127.0.0.1:$(free_port) relay=127.0.0.1:$(free_port)

start_daemon TRACED_NOTIFY_FD "$TMP/log" env PERFETTO_PRODUCER_SOCK_NAME="$TMP/producer,$tcp,$relay" "$BIN/sondad" --allow-remote 127.0.0.1 \
  --enable-relay-endpoint-on "$relay" || exit 1
verdicts_of timeout 120 "$B/tests/system/service_remote" "$tcp" "$relay"
kill "${PIDS[-1]}" && wait "${PIDS[-1]}"
verdict "sondad ends well after all that" $? "$TMP/log"
! grep "sandbox blocked" "$TMP/log" >"$TMP/forbidden"
verdict "sondad has tried nothing that its sandbox forbids" $? "$TMP/forbidden"
exit $BAD
