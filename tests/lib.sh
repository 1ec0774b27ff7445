# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# For every test that is a script: the programs, a directory of its own, verdicts, daemons, and an end that leaves nothing.
# Sourced first, directly or by the lib.sh of the test's directory.
#
#   B, BIN, SONDA   the build, its programs, and sonda: absolute paths
#   TMP             the test's directory, which is removed at its end
#   PIDS            the processes that the test started: stopped at its end, the last one first
#   N, BAD          the number of verdicts; 1 after a bad one: a test ends with exit $BAD

set -u
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 2
case ${BUILD:-build} in /*) B=$BUILD ;; *) B=$PWD/${BUILD:-build} ;; esac
# shellcheck disable=SC2034 # for the tests
BIN=$B/bin SONDA=$B/bin/sonda
TMP=$(mktemp -d)
# No test uses or leaves files in the user's cache of traces (tests/system/test_trace_cache.sh has its own).
export SONDA_CACHE=off
PIDS=()
N=0 BAD=0

stop_all() { # [SIGNAL]
  local i
  for ((i = ${#PIDS[@]} - 1; i >= 0; i--)); do
    kill "-${1:-TERM}" "${PIDS[i]}" 2>/dev/null
    wait "${PIDS[i]}" 2>/dev/null
  done
  PIDS=()
}
# A test or a lib.sh that has more to undo defines its own.
leave() {
  stop_all
  rm -rf "$TMP"
}
trap '[ "$BASHPID" != $$ ] || leave' EXIT
trap 'exit 1' INT TERM

needs_built() { # FILE...: skips the test where one is not built
  local file
  for file; do [ -e "$file" ] || { echo "$file is not built" >&2; exit 77; }; done
}
needs_commands() { # COMMAND...: skips the test where one is not installed
  local command
  for command; do command -v "$command" >/dev/null || { echo "$command is not installed" >&2; exit 77; }; done
}
needs_root() { [ "$(id -u)" = 0 ] || { echo "needs root" >&2; exit 77; }; }
needs_built "$BIN/sonda"

# What a bad verdict without files of its own prints; a test defines its own.
details() { :; }
verdict() { # NAME STATUS [FILE]...: the files say why
  N=$((N + 1))
  [ "$2" != 0 ] || { echo "ok $N - $1"; return; }
  BAD=1
  echo "not ok $N - $1"
  if [ $# -gt 2 ]; then cat -- "${@:3}"; else details; fi 2>/dev/null | head -n 40 | sed 's/^/#   /'
}
no_offenders() { # NAME TEXT: there is no text
  [ -z "$2" ]
  verdict "$1" $? <(printf '%s\n' "$2")
}
check() { # NAME COMMAND...: it succeeds
  "${@:2}" >"$TMP/check" 2>&1
  verdict "$1" $? "$TMP/check" <(details)
}
skip() { # NAME REASON
  N=$((N + 1))
  echo "ok $N - $1 # SKIP $2"
}
# Verdicts that a program prints, counted on.
verdicts_of() { # COMMAND...
  "$@" >"$TMP/verdicts" || BAD=1
  awk -v n="$N" '/^(not )?ok / { sub(/ok [0-9]+/, "ok " ++n) } { print }' "$TMP/verdicts"
  N=$((N + $(grep -cE '^(not )?ok ' "$TMP/verdicts")))
}

# Starts a daemon, in ${PIDS[-1]}, and returns when it says that it is ready: registered, if it is a producer.
start_daemon() { # NOTIFY_VARIABLE LOG COMMAND...
  local variable=$1 log=$2 fifo=$TMP/ready.$RANDOM
  shift 2
  mkfifo "$fifo"
  env "$variable=9" "$@" >"$log" 2>&1 9>"$fifo" </dev/null &
  PIDS+=($!)
  if [ "$(timeout 20 head -c 1 "$fifo")" != 1 ]; then
    echo "# not ready: $*"
    sed 's/^/#   /' "$log"
    return 1
  fi
  rm -f "$fifo"
}
use_sockets() { # DIR
  export PERFETTO_PRODUCER_SOCK_NAME=$1/producer PERFETTO_CONSUMER_SOCK_NAME=$1/consumer
}

# Waits up to 20 s until a command succeeds.
wait_for() {
  local i
  for i in $(seq 200); do
    "$@" >/dev/null 2>&1 && return 0
    sleep 0.1
  done
  return 1
}

# The log of a daemon without the line that a sanitizer adds, and that of an instance that a test beside this one left,
# which killed its sonda-probes.
log_of() { # LOG
  grep -vE 'built with a sanitizer: no sandbox$|instances? left behind by a killed process$' "$1"
}
