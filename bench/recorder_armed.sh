#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# usage: bench/recorder_armed.sh [PAIRS] [LOOPS]       BUILD=build
#
# What a recorder of the preset sched costs: `perf bench sched pipe` alone and beside it in turn (A B A B ...), for sonda recorder and
# for sonda recorder --in-kernel. For each the median of the pairwise ratios of the CPU time of the load, and the CPU time and the
# wake-ups of all processes of the recorder while the load ran. --in-kernel then takes a snapshot.
set -u
. "$(dirname "$0")/lib.sh"
pairs=${1:-7} loops=${2:-200000}

load() { # prints the CPU time of the load in ns
  "$BENCH/count_cpu" "$TMP/cpu" taskset -c 0 perf bench sched pipe -l "$loops" >/dev/null 2>&1
  cut -d' ' -f1 "$TMP/cpu"
}
descendants() { # PID
  local child
  echo "$1"
  for child in $(cat "/proc/$1"/task/*/children 2>/dev/null); do descendants "$child"; done
}
# CPU time in ns, and how often a thread ran, of a process and all below it.
ran() { # PID
  local pid
  for pid in $(descendants "$1"); do cat "/proc/$pid"/task/*/schedstat 2>/dev/null; done |
    awk '{ ns += $1; n += $3 } END { printf "%.0f %.0f\n", ns, n }'
}
start() { # VARIANT
  local more=()
  [ "$1" = disk ] || more=(--in-kernel)
  "$BIN/sonda" recorder run --dir "$TMP/ring.$1" --size 64mb "${more[@]}" sched >"$TMP/log" 2>&1 &
  recorder=$!
  PIDS+=("$recorder")
  wait_for grep -q 'recording sched into' "$TMP/log" || exit 1
  sleep 3 # what the start left to do
}

load >/dev/null # warm
for _ in $(seq "$pairs"); do
  for v in disk kernel; do
    alone=$(load)
    start $v
    before=$(ran "$recorder") began=$(date +%s%N)
    beside=$(load)
    after=$(ran "$recorder") ended=$(date +%s%N)
    took=0
    if [ $v = kernel ]; then
      "$BIN/sonda" snapshot -q --dir "$TMP/ring.$v" -o "$TMP/snapshot" recorder
      took=$(($(date +%s%N) - ended))
    fi
    kill "$recorder"
    wait "$recorder"
    rm -rf "$TMP/ring.$v"
    echo "$v $alone $beside $before $after $((ended - began)) $took"
  done
done >"$TMP/pairs"
awk '
  function median(of, n,    i, j, t, a) {
    for (i = 1; i <= n; i++) a[i] = v[of, i]
    for (i = 2; i <= n; i++)
      for (j = i; j > 1 && a[j - 1] > a[j]; j--) { t = a[j]; a[j] = a[j - 1]; a[j - 1] = t }
    return n % 2 ? a[(n + 1) / 2] : (a[n / 2] + a[n / 2 + 1]) / 2
  }
  {
    n[$1]++
    v[$1 "load", n[$1]] = $3 / $2
    v[$1 "share", n[$1]] = 100 * ($6 - $4) / $8
    v[$1 "wakes", n[$1]] = $7 - $5
    v[$1 "took", n[$1]] = $9 / 1e6
  }
  END {
    printf "%-8s %22s %22s %10s %14s\n", "ring", "CPU time of the load", "CPU of the recorder", "wake-ups", "snapshot"
    for (k in n)
      printf "%-8s %+20.1f %% %20.3f %% %10d %11.0f ms\n", k, 100 * (median(k "load", n[k]) - 1), median(k "share", n[k]),
        median(k "wakes", n[k]), median(k "took", n[k])
  }' "$TMP/pairs"
