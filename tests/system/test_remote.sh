#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Peers of other machines that break the rules, through TCP against a running sondad.
set -u
cd "$(dirname "$0")/../.." || exit 2
tmp=$(mktemp -d)
pid=
trap '[ "$BASHPID" != $$ ] || { [ -z "$pid" ] || kill "$pid" 2>/dev/null; wait; rm -rf "$tmp"; }' EXIT
export PERFETTO_PRODUCER_SOCK_NAME=$tmp/producer PERFETTO_CONSUMER_SOCK_NAME=$tmp/consumer

# Below the ports that the kernel gives to clients.
free_port() {
  local port
  while :; do
    port=$((20000 + RANDOM % 12000))
    (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || { echo $port; return; }
  done
}
tcp=127.0.0.1:$(free_port) relay=127.0.0.1:$(free_port)

mkfifo "$tmp/ready"
PERFETTO_PRODUCER_SOCK_NAME=$tmp/producer,$tcp,$relay TRACED_NOTIFY_FD=9 "$BUILD/bin/sondad" --allow-remote 127.0.0.1 \
  --enable-relay-endpoint-on "$relay" 9>"$tmp/ready" 2>"$tmp/log" &
pid=$!
[ "$(timeout 20 cat "$tmp/ready")" = 1 ] || cat "$tmp/log"

bad=0
timeout 120 "$BUILD/tests/system/service_remote" "$tcp" "$relay" || bad=1
kill "$pid"
if wait "$pid"; then echo "ok 12 - sondad ends well after all that"; else
  echo "not ok 12 - sondad ends well after all that"
  sed 's/^/# /' "$tmp/log"
  bad=1
fi
pid=
if ! grep "sandbox does not allow" "$tmp/log"; then echo "ok 13 - and has tried nothing that its sandbox forbids"; else
  echo "not ok 13 - and has tried nothing that its sandbox forbids"
  bad=1
fi
exit $bad
