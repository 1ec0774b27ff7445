#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# usage: bench/cost.sh [--update]      BUILD=build
#
# Counts the instructions of the hot pieces (ftrace_bench.c, pieces.c) by callgrind and compares them with the committed
# figures of this compiler and C library, bench/cost/*: more than 3 % above is a failure. They do not depend on the load
# of the machine, nor on its model. Where there are no figures the test is skipped. --update writes them.
set -u
cd "$(dirname "$0")/.." || exit 2
B=${BUILD:-build}
command -v valgrind >/dev/null || { echo "valgrind is missing (Debian: valgrind)" >&2; exit 77; }

# The compiler of the build, and the C library, whose copies count too.
compiler=$(readelf -p .comment "$B/obj/service/output/out_file.o" 2>/dev/null | sed -n 's/.*GCC: (.*) /gcc-/p')
compiler=${compiler:-unknown}
figures=bench/cost/$(uname -m)-$compiler-glibc-$(getconf GNU_LIBC_VERSION | cut -d' ' -f2)
# Calls into the C library cost some instructions more or less by another linker.
linker=$(readelf -p .comment "$B/bench/pieces" 2>/dev/null | grep -oiE 'mold|lld|gold' | head -n 1)
if [ "$linker" ]; then
  echo "the figures are of programs that GNU ld has linked, and these are by $linker" >&2
  exit 77
fi
if [ "${1:-}" != --update ] && [ ! -e "$figures" ]; then
  echo "no figures for this compiler and C library: ${figures##*/} (bench/cost.sh --update writes them)" >&2
  exit 77
fi
tmp=$(mktemp -d)
trap '[ "$BASHPID" != $$ ] || rm -rf "$tmp"' EXIT
# The C library chooses its copies by the CPU's model; these every x86-64 has.
export GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX512F,-AVX2,-AVX_Fast_Unaligned_Load,-ERMS,-FSRM

# "FUNCTION INSTRUCTIONS" of every function that is called, with what it calls.
inclusive() { # CALLGRIND_OUT
  awk '
    /^c?fn=/ {
      called = /^cfn=/
      sub(/^c?fn=/, "")
      id = $1
      if (NF > 1) { name[id] = $2; sub(/\x27[0-9]+$/, "", name[id]) }
      if (called) callee = name[id]
    }
    /^calls=/ { next_is_cost = 1; next }
    next_is_cost { sum[callee] += $NF; next_is_cost = 0 }
    END { for (f in sum) print f, sum[f] }' "$1"
}

count() { # OUT PROGRAM ARGUMENTS...
  local out=$1 program=$2
  shift 2
  valgrind --tool=callgrind --callgrind-out-file="$tmp/callgrind" "$B/bench/$program" "$@" >"$tmp/$out.said" 2>"$tmp/err" ||
    { cat "$tmp/err" >&2; exit 1; }
  inclusive "$tmp/callgrind" >"$tmp/$out"
}

of() { # OUT FUNCTION
  awk -v f="$2" '$1 == f { print $2 }' "$tmp/$1"
}

figure() { # NAME UNITS TERM...   sum of terms divided by units, as a line of $tmp/now
  local name=$1 units=$2
  shift 2
  echo "$name $units $(($*))" | awk '{ printf "%s %.1f\n", $1, $3 / $2 }' >>"$tmp/now"
}

decoded() { # NAME SET MODE
  count "$1" ftrace_bench "$2" "$3" 20
  events=$(sed -n 's/.* \([0-9]*\) events a round/\1/p' "$tmp/$1.said")
  figure "decode_$1" $((20 * events)) "$(of "$1" page_encode)"
  figure "scan_$1" "$events" "$(of "$1" trace_scan_file)"
}

decoded sched_compact tests/data/ftrace/sched compact
decoded sched_verbose tests/data/ftrace/sched verbose
decoded mix_verbose tests/data/ftrace/mix verbose
decoded syscalls_verbose bench/data/syscalls verbose
decoded print_verbose bench/data/print verbose

scans=20
count line pieces 4 tests/data/procfs/recorded $scans
read -r packets _ <"$tmp/line.said"
figure write_packet "$packets" "$(of line piece_write) + $(of line piece_send) - $(of line piece_commit)"
figure commit_kb 4096 "$(of line piece_commit)"
figure read_packet "$packets" "$(of line piece_read) - $(of line piece_file)"
figure file_packet "$packets" "$(of line piece_file)"
figure proc_scan $scans "$(of line piece_proc)"

if [ "${1:-}" = --update ]; then
  mkdir -p bench/cost
  cp "$tmp/now" "$figures"
  echo "wrote $figures"
  cat "$figures"
  exit 0
fi
awk -v most=1.03 '
  NR == FNR { was[$1] = $2; next }
  {
    good = $1 in was && $2 > 0 && $2 <= was[$1] * most
    bad += !good
    printf "%s %d - %s takes %s instructions, at most 3 %% above %s\n", good ? "ok" : "not ok", FNR, $1, $2, was[$1]
    if (good && $2 < was[$1] * 0.97) printf "# %s has become cheaper: bench/cost.sh --update keeps it so\n", $1
    delete was[$1]
  }
  END {
    for (name in was) { printf "not ok - %s was not counted\n", name; bad++ }
    print "1.." FNR
    exit bad > 0
  }' "$figures" "$tmp/now"
