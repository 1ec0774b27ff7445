# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# A sondad of the test's own ($pid), and peers that speak to it frame by frame. Sourced by the tests of tests/system/service_*.c.
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
# AddressSanitizer keeps freed memory back; what is measured here is what the service holds.
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}quarantine_size_mb=1
use_sockets "$TMP"
start_daemon TRACED_NOTIFY_FD "$TMP/log" "$BIN/sondad" || exit 1
pid=${PIDS[-1]}

# Some of the peers are other users, where we may become one.
[ "$(id -u)" != 0 ] || chmod go+rwx "$TMP" "$TMP/producer" "$TMP/consumer"

peers() { verdicts_of "$B/tests/system/$1" "${@:2}"; } # PROGRAM ARGUMENT...

# Ends the service, looks at what it says of all that, and exits.
service_ends() {
  local status log_bytes
  # Some 20 lines of 1 kB a user in 10 s, and there are few users.
  log_bytes=$(stat -c %s "$TMP/log")
  [ "$log_bytes" -lt 1000000 ]
  verdict "its log is of a bounded length" $? <(echo "$log_bytes bytes")
  kill "$pid"
  wait "$pid"
  status=$?
  verdict "sondad ends well after all that" $status "$TMP/log"
  ! grep -q "sandbox blocked" "$TMP/log"
  verdict "sondad has tried nothing that its sandbox forbids" $? <(grep "sandbox blocked" "$TMP/log")
  exit $BAD
}
