# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# A sondad of the test's own ($pid), and peers that speak to it frame by frame. Sourced by the tests of tests/system/service_*.c.
set -u
# AddressSanitizer keeps freed memory back; what is measured here is what the service holds.
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}quarantine_size_mb=1
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 2
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
  local program=$1
  shift
  "$BUILD/tests/system/$program" "$@" >"$tmp/out" || bad=1
  awk -v n="$done" '/^(not )?ok / { sub(/ok [0-9]+/, "ok " ++n) } { print }' "$tmp/out"
  done=$((done + $(grep -cE '^(not )?ok ' "$tmp/out")))
}
verdict() { # NAME STATUS [DETAIL]
  done=$((done + 1))
  if [ "$2" = 0 ]; then
    echo "ok $done - $1"
  else
    echo "not ok $done - $1"
    [ -z "${3:-}" ] || sed 's/^/# /' <<<"$3"
    bad=1
  fi
}

# Ends the service, looks at what it says of all that, and exits.
service_ends() {
  local status log_bytes
  # Some 20 lines of 1 kB a user in 10 s, and there are few users.
  log_bytes=$(stat -c %s "$tmp/log")
  [ "$log_bytes" -lt 1000000 ]
  verdict "its log is of a bounded length" $? "$log_bytes bytes"
  kill "$pid"
  wait "$pid"
  status=$?
  pid=
  verdict "sondad ends well after all that" $status "$(cat "$tmp/log")"
  ! grep -q "sandbox does not allow" "$tmp/log"
  verdict "sondad has tried nothing that its sandbox forbids" $? "$(grep "sandbox does not allow" "$tmp/log")"
  exit $bad
}
