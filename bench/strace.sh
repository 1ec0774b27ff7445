#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# usage: bench/strace.sh [ROUNDS]      BUILD=build
#
# CPU time, in seconds, of a program that opens and closes a file 50,000 times, and of what traces it: nothing, sonda record
# --strace, perf trace and strace for both calls; bpftrace's opensnoop.bt for the opens with their paths and results, and sonda
# for the same. The time of sonda is with its daemons, and the start of these.
set -u
cd "$(dirname "$0")/.." || exit
S=$PWD/${BUILD:-build}/bin/sonda load=$PWD/${BUILD:-build}/bench/open_calls
TMP=$(mktemp -d)
trap '[ "$BASHPID" != $$ ] || rm -rf "$TMP"' EXIT
cd "$TMP" || exit
OPENSNOOP=$(command -v opensnoop.bt) || { echo "opensnoop.bt is missing (Debian: bpftrace)" >&2; exit 77; }
TIMEFORMAT='%U %S'
cpu() { # NAME COMMAND...
  printf '%s ' "$1"
  { time "${@:2}" >out 2>err; } 2>&1 | awk '{ print $1 + $2 }'
}
for _ in $(seq "${1:-3}"); do
  cpu alone "$load"
  cpu sonda "$S" record -q --strace=openat,close -o sonda.pf -- "$load"
  cpu perf-trace perf trace -e openat,close -o perf.txt "$load"
  cpu sonda "$S" record -q --strace=openat,close -o sonda.pf -- "$load"
  cpu strace strace -f -y -e trace=openat,close -o strace.txt "$load"
  cpu sonda-opens "$S" record -q --strace=openat -o opens.pf -- "$load"
  cpu opensnoop bpftrace -o bpftrace.txt -c "$load" "$OPENSNOOP"
done
