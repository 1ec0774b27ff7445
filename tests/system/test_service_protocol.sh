#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The sequences of the protocol, and peers that break its rules, frame by frame against a running sondad.
set -u
# AddressSanitizer keeps freed memory back; what is measured here is what the service holds.
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}quarantine_size_mb=1
cd "$(dirname "$0")/../.." || exit 2
tmp=$(mktemp -d)
pid=
trap '[ "$BASHPID" != $$ ] || { [ -z "$pid" ] || kill "$pid" 2>/dev/null; wait; rm -rf "$tmp"; }' EXIT
export PERFETTO_PRODUCER_SOCK_NAME=$tmp/producer PERFETTO_CONSUMER_SOCK_NAME=$tmp/consumer

mkfifo "$tmp/ready"
TRACED_NOTIFY_FD=9 "$BUILD/bin/sondad" 9>"$tmp/ready" 2>"$tmp/log" &
pid=$!
timeout 20 cat "$tmp/ready" >/dev/null

# Some of the peers are other users, where we may become one.
[ "$(id -u)" != 0 ] || chmod go+rwx "$tmp" "$tmp/producer" "$tmp/consumer"

bad=0 done=0
peers() { # PROGRAM ARGUMENT...: its verdicts, counted on
  "$BUILD/tests/system/$@" >"$tmp/out" || bad=1
  awk -v n="$done" '/^(not )?ok / { sub(/ok [0-9]+/, "ok " ++n) } { print }' "$tmp/out"
  done=$((done + $(grep -cE '^(not )?ok ' "$tmp/out")))
}
peers service_conformance
peers service_conformance_trace
peers service_hostile "$pid"
peers service_hostile_attacks "$pid"
peers service_hostile_descriptors "$pid"
peers service_hostile_latency "$pid"
peers service_hostile_data
peers service_hostile_memory
peers service_hostile_peers "$pid"
peers service_sessions
done=$((done + 1))

# Some 20 lines of 1 kB a user in 10 s, and there are few users.
log_bytes=$(stat -c %s "$tmp/log")
if [ "$log_bytes" -lt 1000000 ]; then echo "ok $done - its log is of a bounded length"; else
  echo "not ok $done - its log is of a bounded length"
  echo "# $log_bytes bytes"
  bad=1
fi
done=$((done + 1))
kill "$pid"
if wait "$pid"; then echo "ok $done - sondad ends well after all that"; else
  echo "not ok $done - sondad ends well after all that"
  sed 's/^/# /' "$tmp/log"
  bad=1
fi
pid=
if ! grep "sandbox does not allow" "$tmp/log"; then echo "ok $((done + 1)) - and has tried nothing that its sandbox forbids"; else
  echo "not ok $((done + 1)) - and has tried nothing that its sandbox forbids"
  bad=1
fi
exit $bad
