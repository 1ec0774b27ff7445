#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# usage: bench/strace.sh [ROUNDS]      BUILD=build
#
# CPU time, in seconds, of a program that opens and closes a file 50,000 times, and of what traces it: nothing, sonda record
# --strace, perf trace and strace for both calls; bpftrace for the opens with their paths and results, as opensnoop prints
# them, and sonda for the same. The time of sonda is with its daemons, and the start of these.
set -u
cd "$(dirname "$0")/.." || exit
S=$PWD/${BUILD:-build}/bin/sonda load=$PWD/${BUILD:-build}/bench/open_calls
TMP=$(mktemp -d)
trap '[ "$BASHPID" != $$ ] || rm -rf "$TMP"' EXIT
cd "$TMP" || exit
cat >opens.bt <<'BT'
tracepoint:syscalls:sys_enter_openat { @f[tid] = args->filename; }
tracepoint:syscalls:sys_exit_openat /@f[tid]/ { printf("%d %s %d %s\n", pid, comm, args->ret, str(@f[tid])); delete(@f[tid]); }
BT
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
  cpu bpftrace-opens bpftrace -o bpftrace.txt -c "$load" opens.bt
done
