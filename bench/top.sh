#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# usage: bench/top.sh [PAIRS] [SCREENS] [PROCESSES]
#
# CPU time of a screen of `sonda top -b`, with its daemons, and of procps' `top -b`, which run at the same time and so
# under the same load, once a second; and that of the start of sonda top: all before its third screen, less three screens.
# PROCESSES idle processes run beside. The programs in the kernel are not in it: the summary of a recording with
# the same families has their cost.
set -u
cd "$(dirname "$0")/.." || exit 2
pairs=${1:-3} screens=${2:-20} processes=${3:-0}
SONDA=${BUILD:-build}/bin/sonda
SHORT=3
TMP=$(mktemp -d)
leave() {
  [ -z "${idle:-}" ] || kill "$idle"
  rm -rf "$TMP"
}
trap '[ "$BASHPID" != $$ ] || leave' EXIT
export PERFETTO_CONSUMER_SOCK_NAME=$TMP/consumer PERFETTO_PRODUCER_SOCK_NAME=$TMP/producer
if [ "$processes" != 0 ]; then
  "${BUILD:-build}/bench/idle_processes" "$processes" 1 >"$TMP/idle" &
  idle=$!
fi

files_of() { # PID: schedstat of all threads of a process and of those that it started
  local child
  echo "/proc/$1"/task/*/schedstat
  for child in $(pgrep -P "$1"); do files_of "$child"; done
}
us_of() { # PID: their CPU time so far
  # Word splitting is intended.
  # shellcheck disable=SC2046
  awk '{ ns += $1 } END { printf "%d", ns / 1000 }' $(files_of "$1")
}
screens_of() { grep -c '^top - ' "$TMP/top.out"; }
ours() { grep -c '^sonda top ' "$TMP/sonda.out"; }

for ((i = 0; i < pairs; i++)); do
  : >"$TMP/top.out"
  : >"$TMP/sonda.out"
  top -b -d 1 >"$TMP/top.out" 2>/dev/null </dev/null &
  top=$!
  "$SONDA" top -b -d 1 >"$TMP/sonda.out" 2>"$TMP/sonda.err" </dev/null &
  sonda=$!
  until [ "$(screens_of)" -ge $SHORT ] && [ "$(ours)" -ge $SHORT ]; do
    kill -0 $sonda || { cat "$TMP/sonda.err" >&2; exit 1; }
    sleep 0.2
  done
  begin=$(screens_of) had=$(ours) a=$(us_of $top) b=$(us_of $sonda)
  until [ "$(screens_of)" -ge $((begin + screens)) ]; do sleep 0.2; done
  screen=$((($(us_of $sonda) - b) / screens))
  echo "top $((($(us_of $top) - a) / screens))"
  echo "sonda $screen"
  echo "start $((b - had * screen))"
  kill $top $sonda
  wait $top $sonda 2>/dev/null
done | awk '
  { v[$1] = v[$1] " " $2 }
  $1 == "top" { top = $2 }
  $1 == "sonda" && top > 0 { ratio[++n] = $2 / top }
  END {
    for (i = 1; i <= n; i++) for (j = i + 1; j <= n; j++) if (ratio[j] < ratio[i]) { t = ratio[i]; ratio[i] = ratio[j]; ratio[j] = t }
    print "us a screen: top" v["top"] "; sonda top" v["sonda"]
    print "us of the start of sonda top:" v["start"]
    printf "median of the ratios: %.2f (asked 1)\n", ratio[int((n + 1) / 2)]
  }'
