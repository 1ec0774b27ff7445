#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# usage: tests/soak/run.sh [SECONDS] [COMMAND PREFIX...]      BUILD=build
#
# sondad under producers that come, write and die, and consumers that clone, read and leave (soak.c says more). After a
# run of a minute or more trace_processor reads some of the traces too, where it can be had.
set -u
cd "$(dirname "$0")/../.." || exit 2
seconds=${1:-600}
shift
B=${BUILD:-build}
tmp=$(mktemp -d)
pid=
trap '[ "$BASHPID" != $$ ] || { [ -z "$pid" ] || kill "$pid" 2>/dev/null; wait; rm -rf "$tmp"; }' EXIT
export PERFETTO_PRODUCER_SOCK_NAME=$tmp/producer PERFETTO_CONSUMER_SOCK_NAME=$tmp/consumer

mkfifo "$tmp/ready"
TRACED_NOTIFY_FD=9 "$@" "$B/bin/sondad" 9>"$tmp/ready" 2>"$tmp/log" &
pid=$!
timeout 20 head -c 1 "$tmp/ready" >/dev/null

mkdir "$tmp/traces"
bad=0
"$B/tests/soak/soak" "$pid" "$seconds" "$tmp/traces" || bad=1
kill "$pid" && wait "$pid" || bad=1
pid=
[ $bad = 0 ] || sed 's/^/# /' "$tmp/log" | tail -n 20

if [ "$seconds" -ge 60 ] && peers=$(tests/interop/peers.sh 2>/dev/null); then
  wrong=
  for trace in "$tmp"/traces/*; do
    errors=$(TP_ASSETS=$peers/tp timeout 60 node tests/interop/tpq.mjs "$trace" \
      "select name, idx, value from stats where severity = 'error' and value > 0" 2>/dev/null)
    [ "$errors" = "[]" ] || wrong+="# ${trace##*/}: $errors"$'\n'
  done
  if [ -z "$wrong" ]; then echo "ok 4 - trace_processor finds no error in the traces"; else
    echo "not ok 4 - trace_processor finds no error in the traces"
    printf '%s' "$wrong"
    bad=1
  fi
else
  echo "ok 4 - trace_processor finds no error in the traces # SKIP a short run, or it is not here"
fi
exit $bad
