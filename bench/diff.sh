#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# usage: bench/diff.sh DIR [SETS [PAIRS [CASE...]]]      BUILD=build, as root
#
# What sonda diff finds, and what it should not find. Makes SETS (20) sets of PAIRS (8) recordings of A and B in DIR, in
# turn, as far as DIR lacks them, and compares each set. Cases:
#
#	same-make, same-redis, same-pgbench	A and B are the same: SETS in all three together. A finding is wrong
#	slow, lock, fsync, cpu			B has a planted change (diff_load.c; cpu: its threads may use one CPU of two): a set counts if
#						the first finding names it. DIFF_LOAD=bench/diff_index.c is another program
#
# At most 1 set in 20 of the same may have a finding, and 18 in 20 of each change must count. It takes an hour, and needs
# redis-server, redis-benchmark, PostgreSQL with pgbench, gcc and make.
. "$(dirname "$0")/../tests/lib.sh"
needs_commands gcc make redis-server redis-benchmark pgbench python3 taskset
export LC_ALL=C
dir=${1:?usage: bench/diff.sh DIR [SETS [PAIRS [CASE...]]]} sets=${2:-20} pairs=${3:-8}
shift $(($# < 3 ? $# : 3))
cases=${*:-slow lock fsync cpu same-redis same-make same-pgbench}
mkdir -p "$dir" && dir=$(cd "$dir" && pwd) || exit 1
LOAD=$dir/load
gcc -O2 -g -D_GNU_SOURCE -pthread -o "$LOAD" "${DIFF_LOAD:-bench/diff_load.c}" || exit 1

record() { # FILE WORD... : of a command or processes; one that lost data is made again
  local file=$1 try
  shift
  [ ! -s "$file" ] || return 0
  for try in 1 2 3 4 5 6 7 8 9 10; do
    "$SONDA" record -q --strict -o "$file" off-cpu syscalls --waits rate=10000 "$@" && return
    [ $? = 3 ] || exit 1
    rm -f "$file"
  done
  echo "$file: each of $try recordings lost data" >&2
  exit 1
}

# ---- loads

record_slow() { record "$1" --cpu-stacks=2999 -- "$LOAD" "$dir/out.$case" $([ "$2" = b ] && echo slow); }
record_lock() { record "$1" --cpu-stacks=2999 -- "$LOAD" "$dir/out.$case" $([ "$2" = b ] && echo lock); }
record_fsync() { record "$1" io --cpu-stacks=2999 -- "$LOAD" "$dir/out.$case" $([ "$2" = b ] && echo fsync); }
record_cpu() { record "$1" --cpu-stacks=2999 -- taskset -c "$([ "$2" = b ] && echo 0 || echo 0,1)" "$LOAD" "$dir/out.$case"; }

setup_same_make() {
  mkdir -p "$dir/make"
  for i in $(seq 12); do
    printf '#include <stdio.h>\n#include <stdlib.h>\nint f%d(const char *s) { return printf("%%s", s) + atoi(s); }\n' "$i" >"$dir/make/f$i.c"
  done
  printf 'all: %s\n%%.o: %%.c\n\tgcc -O2 -c -o $@ $<\n' "$(seq -f 'f%g.o' -s ' ' 12)" >"$dir/make/Makefile"
}
record_same_make() {
  rm -f "$dir"/make/*.o
  record "$1" --cpu-stacks=999 -- make -s -C "$dir/make" -j2
}

setup_same_redis() {
  redis-server --port 0 --unixsocket "$dir/redis.sock" --save '' --dir "$dir" >/dev/null &
  redis=$!
  PIDS+=("$redis")
  sleep 1
  redis-benchmark -q -s "$dir/redis.sock" -c 8 -n 100000000 -t set >/dev/null 2>&1 &
  PIDS+=("$!")
  sleep 1
}
record_same_redis() { record "$1" --cpu-stacks=999 -p "$redis" -t 700ms; }

setup_same_pgbench() {
  local bin pgdir=$TMP/pg
  bin=$(dirname "$(find /usr/lib/postgresql -name initdb | sort | tail -1)")
  chmod 711 "$TMP"
  mkdir -p "$pgdir" && chown postgres "$pgdir"
  (cd / && runuser -u postgres -- "$bin/initdb" -D "$pgdir/data" >/dev/null) || exit 1
  runuser -u postgres -- "$bin/postgres" -D "$pgdir/data" -k "$pgdir" -c listen_addresses= >/dev/null 2>&1 &
  PIDS+=("$!")
  sleep 3
  runuser -u postgres -- pgbench -h "$pgdir" -i -s 2 postgres >/dev/null 2>&1 || exit 1
  runuser -u postgres -- pgbench -h "$pgdir" -c 4 -T 3600 postgres >/dev/null 2>&1 &
  PIDS+=("$!")
  sleep 2
}
record_same_pgbench() { record "$1" io --cpu-stacks=999 -p "$(pgrep -d, -x postgres)" -t 700ms; }

# ---- sets

# The first finding must name the planted change.
expected() {
  case $1 in
  slow) echo 'hash_block|weigh_words' ;;
  lock) echo 'futex|pthread_mutex_lock|lll_lock_wait' ;;
  fsync) echo 'fsync' ;;
  cpu) echo '^cpu load on CPU|^latency' ;;
  esac
}

# Prints the first finding of a set, "-" for none, and how many there are.
first_finding() { # DIR
  "$SONDA" diff --json "$1"/a*.pf -- "$1"/b*.pf | python3 -c '
import json, sys
rows = [r for r in json.load(sys.stdin)["changes"] if r["finding"] and not r["explained_by_part"] and r["metric"] != "run"
        and r["measure"] in ("total", "count", "p99")]
first = rows[0] if rows else None
print(len(rows), "-" if not first else " ".join(str(first[k]) for k in ("metric", "program", "thread", "what", "measure")
      if first[k]) + f""" {first["change_pct"] or 0:+.1f}%""")'
}

bad=0
same=0 same_sets=0
for case in $cases; do
  n=$sets good=0
  name=${case//-/_}
  [ "$case" = "${case#same-}" ] || n=$(((sets + 2) / 3))
  ! declare -F "setup_$name" >/dev/null || "setup_$name"
  for set in $(seq "$n"); do
    to=$dir/$case/$set
    mkdir -p "$to"
    for pair in $(seq "$pairs"); do
      "record_$name" "$to/a$pair.pf" a
      "record_$name" "$to/b$pair.pf" b
    done
    read -r count first <<<"$(first_finding "$to")"
    echo "$case $set: $count findings; first: $first"
    if [ "$case" != "${case#same-}" ]; then
      same_sets=$((same_sets + 1))
      [ "$count" = 0 ] || same=$((same + 1))
    else
      ! grep -Eq "$(expected "$case")" <<<"$first" || good=$((good + 1))
    fi
  done
  if [ "$case" = "${case#same-}" ]; then
    echo "$case: found and first in $good of $n sets (asked: 9 in 10)"
    [ $((good * 10)) -ge $((n * 9)) ] || bad=1
  fi
done
if [ "$same_sets" -gt 0 ]; then
  echo "the same: a finding in $same of $same_sets sets (asked: at most 1 in 20)"
  [ $((same * 20)) -le "$same_sets" ] || [ "$same" -le 1 ] || bad=1
fi
exit $bad
