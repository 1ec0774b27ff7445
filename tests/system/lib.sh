# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# For the tests of this folder that run sondad and a producer of numbered packets: the programs, a private workplace with
# sockets of its own, and an end that leaves nothing. Sourced.

cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 2
case ${BUILD:-build} in /*) B=$BUILD ;; *) B=$PWD/${BUILD:-build} ;; esac
COUNTER=$B/tests/system/producer_counter
for program in "$B/bin/sondad" "$B/bin/sonda" "$B/bin/sonda-probes" "$COUNTER"; do
  [ -x "$program" ] || { echo "$program is not built" >&2; exit 77; }
done
TMP=$(mktemp -d)
PIDS=()
N=0 BAD=0
# What a verdict without files of its own shows when it is bad.
DETAILS=()
leave() {
  local i
  for ((i = ${#PIDS[@]} - 1; i >= 0; i--)); do
    kill "${PIDS[i]}" 2>/dev/null
    wait "${PIDS[i]}" 2>/dev/null
  done
  PIDS=()
}
trap '[ "$BASHPID" != $$ ] || { leave; rm -rf "$TMP"; }' EXIT
trap 'exit 1' INT TERM
export PERFETTO_PRODUCER_SOCK_NAME=$TMP/producer PERFETTO_CONSUMER_SOCK_NAME=$TMP/consumer

verdict() { # NAME STATUS [DETAIL FILE]...
  N=$((N + 1))
  if [ "$2" = 0 ]; then
    echo "ok $N - $1"
    return
  fi
  echo "not ok $N - $1"
  shift 2
  [ $# != 0 ] || set -- "${DETAILS[@]}"
  [ $# = 0 ] || sed 's/^/#   /' "$@" | head -n 40
  BAD=1
}

start() { # NOTIFY_VARIABLE LOG COMMAND...: returns when it says that it is ready
  local variable=$1 log=$2
  shift 2
  rm -f "$TMP/ready"
  mkfifo "$TMP/ready"
  env "$variable=9" "$@" >"$log" 2>&1 9>"$TMP/ready" </dev/null &
  PIDS+=($!)
  [ "$(timeout 20 head -c 1 "$TMP/ready")" = 1 ]
}
