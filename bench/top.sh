#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# usage: bench/top.sh [PAIRS] [SCREENS] [PROCESSES]
#
# CPU time of a screen of `sonda top -b`, with its daemons, and of procps' `top -b`, in turn, once a second. The start is left
# out: a long run minus a short one. PROCESSES idle processes run beside. The programs in the kernel are not in it: the
# summary of a recording with the same families has their cost.
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

cpu_ms() { # COMMAND...: user and system time of it and its children
  local TIMEFORMAT='%U %S'
  { time "$@" >/dev/null 2>&1 </dev/null; } 2>&1 | awk '{ printf "%d", ($1 + $2) * 1000 }'
}
of_top() { cpu_ms top -b -d 1 -n "$1"; }
of_sonda() { cpu_ms "$SONDA" top -b -d 1 -n "$1"; }

for ((i = 0; i < pairs; i++)); do
  for who in top sonda; do
    short=$("of_$who" $SHORT)
    long=$("of_$who" $((SHORT + screens)))
    echo "$who $(((long - short) * 1000 / screens))"
  done
done | awk '
  { v[$1] = v[$1] " " $2 }
  $1 == "top" { top = $2 }
  $1 == "sonda" && top > 0 { ratio[++n] = $2 / top }
  END {
    for (i = 1; i <= n; i++) for (j = i + 1; j <= n; j++) if (ratio[j] < ratio[i]) { t = ratio[i]; ratio[i] = ratio[j]; ratio[j] = t }
    print "us a screen: top" v["top"] "; sonda top" v["sonda"]
    printf "median of the ratios: %.2f (asked 1)\n", ratio[int((n + 1) / 2)]
  }'
