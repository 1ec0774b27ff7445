#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# usage: bench/waits.sh [PAIRS] [LOAD...]       BUILD=build VARIANTS="waits runq stacks floor clock offcputime perf"
#        LOAD: pipe, redis, postgres
#
# What linux.waits costs a load: the load alone and recorded in turn (A B A B ...), by sonda (waits: single waits from 1 ms on,
# totals, user stacks; stacks: samples at 99 Hz), by the counters of RUNQ, by two programs at the same events that do nothing (floor)
# or read the clock once (clock), by offcputime and by `perf record --call-graph dwarf -F 99`. For each the medians of the pairwise
# ratios of throughput, and of the CPU time of the load for one operation, and the CPU time and the bytes of the recorder. The pipe
# is `perf bench sched pipe` on one CPU: two switches an operation and nothing else, the worst case. The loads run with SCHED_FIFO, so
# that other work on the machine does not take their CPUs.
set -u
. "$(dirname "$0")/lib.sh"
pairs=${1:-7}
shift
[ $# -gt 0 ] || set -- pipe redis postgres
variants=(${VARIANTS:-waits runq stacks floor clock offcputime perf})
command -v offcputime >/dev/null || variants=("${variants[@]/offcputime/}")
postgres_bin=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | tail -n 1)

config() { # SOURCE
  echo "buffers { size_kb: 65536 fill_policy: DISCARD } data_sources { config { $1 } }"
}
config 'name: "linux.waits"' >"$TMP/waits.cfg"
config 'name: "linux.ebpf_counters" ebpf_counters_config { families: RUNQ }' >"$TMP/runq.cfg"

# ---- loads: each prints "OPERATIONS SECONDS CPU_NS"

first=(chrt -f 1)
now_ns() { date +%s%N; }
pipe_load() {
  local loops=50000
  "$BENCH/count_cpu" "$TMP/cpu" "${first[@]}" taskset -c 0 perf bench sched pipe -l $loops >"$TMP/bench" 2>&1
  awk -v n=$loops -v ns="$(cut -d' ' -f1 "$TMP/cpu")" '/Total time/ { print n, $3, ns }' "$TMP/bench"
}
redis_load() {
  local n=60000 before start
  before=$(cpu_ns "$redis") start=$(now_ns)
  "$BENCH/count_cpu" "$TMP/cpu" "${first[@]}" redis-benchmark -s "$TMP/redis.sock" -q -t set,get -n $((n / 2)) >/dev/null 2>&1
  awk -v n=$n -v s="$start" -v e="$(now_ns)" -v ns=$(($(cpu_ns "$redis") - before + $(cut -d' ' -f1 "$TMP/cpu"))) \
    'BEGIN { print n, (e - s) / 1e9, ns }'
}
# The first process of postgres has the CPU time of the backends that it has waited for.
postgres_ns() { awk -v tick="$(getconf CLK_TCK)" '{ printf "%.0f\n", ($16 + $17) * 1e9 / tick }' "/proc/$1/stat"; }
postgres_load() {
  local before postmaster
  postmaster=$(head -n 1 "$TMP/pg/data/postmaster.pid")
  before=$(postgres_ns "$postmaster")
  "$BENCH/count_cpu" "$TMP/cpu" "${first[@]}" su postgres -s /bin/sh -c \
    "'$postgres_bin/pgbench' -h '$TMP/pg' -n -c 4 -j 2 -t 1000 postgres" >"$TMP/bench" 2>&1
  sleep 0.1 # the backends end
  awk -v ns="$(($(postgres_ns "$postmaster") - before + $(cut -d' ' -f1 "$TMP/cpu")))" '/^tps/ { tps = $3 }
    /actually processed/ { split($NF, a, "/"); n = a[1] } END { print n, n / tps, ns }' "$TMP/bench"
}
as_postgres() { "${first[@]}" su postgres -s /bin/sh -c "$1"; }

redis_begin() {
  command -v redis-server >/dev/null || return 1
  "${first[@]}" redis-server --port 0 --unixsocket "$TMP/redis.sock" --save '' --appendonly no >/dev/null 2>&1 &
  redis=$!
  PIDS+=("$redis")
  wait_for [ -e "$TMP/redis.sock" ]
}
redis_end() { kill "$redis" && wait "$redis" 2>/dev/null; }
postgres_begin() {
  [ -n "$postgres_bin" ] && mkdir "$TMP/pg" && chown postgres "$TMP/pg" && chmod 711 "$TMP" || return 1
  as_postgres "'$postgres_bin/initdb' -D '$TMP/pg/data' && '$postgres_bin/pg_ctl' -D '$TMP/pg/data' -w start \
    -o '-k $TMP/pg -c listen_addresses=' && '$postgres_bin/pgbench' -h '$TMP/pg' -i -s 5 postgres" >"$TMP/pg.log" 2>&1
}
postgres_end() { as_postgres "'$postgres_bin/pg_ctl' -D '$TMP/pg/data' -m fast stop" >/dev/null 2>&1; }
pipe_begin() { true; }
pipe_end() { true; }

# ---- recorders: count_cpu has the CPU time of a recorder with its daemons, from its begin to its end

record() { # ARGS...
  "$BENCH/count_cpu" "$TMP/recorder.cpu" "$BIN/sonda" record "$@" -o "$TMP/out" -- sh -c 'echo >"$0"; exec sleep 600' \
    "$TMP/is_on" >"$TMP/log" 2>&1 &
}
start_variant() { # VARIANT
  rm -f "$TMP/is_on" "$TMP/out" "$TMP/recorder.cpu"
  case $1 in
  waits | runq) record -c "$TMP/$1.cfg" ;;
  stacks) record --cpu-stacks=99 ;;
  floor) "$BENCH/ebpf_floor" 0 >"$TMP/log" & ;;
  clock) "$BENCH/ebpf_floor" 1 >"$TMP/log" & ;;
  offcputime) "$BENCH/count_cpu" "$TMP/recorder.cpu" offcputime >"$TMP/out" 2>/dev/null & ;;
  perf) "$BENCH/count_cpu" "$TMP/recorder.cpu" perf record -q -a --call-graph dwarf -F 99 -o "$TMP/out" >/dev/null 2>&1 & ;;
  esac
  recorder=$!
  PIDS+=("$recorder")
  case $1 in
  waits | runq | stacks) wait_for [ -e "$TMP/is_on" ] ;;
  floor | clock) wait_for grep -q ready "$TMP/log" ;;
  offcputime) wait_for sh -c "ls -l /proc/\$(pgrep -P $recorder)/fd | grep -q bpf.link" ;;
  esac
  sleep 0.5
}
stop_variant() { # VARIANT
  case $1 in offcputime) kill -INT "$recorder" ;; *) kill "$recorder" ;; esac
  wait "$recorder" 2>/dev/null
}

for load; do
  "${load}_begin" || { echo "$load: cannot run here"; continue; }
  "${load}_load" >/dev/null # warm
  for _ in $(seq "$pairs"); do
    for v in ${variants[*]}; do
      alone=$("${load}_load")
      start_variant "$v"
      recorded=$("${load}_load")
      stop_variant "$v"
      echo "$v $alone $recorded $(cut -d' ' -f1 "$TMP/recorder.cpu" 2>/dev/null || echo 0)" \
        "$(stat -c %s "$TMP/out" 2>/dev/null || echo 0)"
    done
  done >"$TMP/pairs"
  "${load}_end"
  awk '
    function median(of, n,    i, j, t, a) {
      for (i = 1; i <= n; i++) a[i] = v[of, i]
      for (i = 2; i <= n; i++)
        for (j = i; j > 1 && a[j - 1] > a[j]; j--) { t = a[j]; a[j] = a[j - 1]; a[j - 1] = t }
      return n % 2 ? a[(n + 1) / 2] : (a[n / 2] + a[n / 2 + 1]) / 2
    }
    NF == 9 {
      n[$1]++
      v[$1 " rate", n[$1]] = ($5 / $6) / ($2 / $3)
      v[$1 " ns", n[$1]] = $7 / $5 - $4 / $2
      v[$1 " cpu", n[$1]] = $4 ? ($7 / $5) / ($4 / $2) : 0
      v[$1 " own", n[$1]] = $8 / 1e6
      v[$1 " bytes", n[$1]] = $9 / 1024
    }
    END { for (k in n) printf "%s %.3f %.3f %.0f %.0f %.0f %d\n", k, median(k " rate", n[k]), median(k " cpu", n[k]),
      median(k " ns", n[k]), median(k " own", n[k]), median(k " bytes", n[k]), n[k] }' \
    "$TMP/pairs" | sort >"$TMP/medians"
  while read -r v rate cpu ns own kib n; do
    echo "$load, $v: throughput by that of the load alone $rate, CPU time of the load $cpu, $ns ns an operation more;" \
      "the recorder took $own ms of CPU and wrote $kib KiB (medians of $n pairs)"
  done <"$TMP/medians"
  of() { awk -v v="$1" -v c="$2" '$1 == v { print $c }' "$TMP/medians"; }
  [ -n "$(of waits 2)" ] || continue
  lost=$(awk "BEGIN { print 1 - $(of waits 2) }")
  case $load in
  pipe)
    asked "throughput that the pipe loses with waits" "$lost" 0.10
    [ -z "$(of runq 2)" ] || asked "ns of CPU that a switch takes above RUNQ" "$(awk "BEGIN { print ($(of waits 4) - $(of runq 4)) / 2 }")" 150
    ;;
  *) asked "throughput that $load loses with waits" "$lost" 0.03 ;;
  esac
  for v in offcputime perf; do
    [ -z "$(of $v 2)" ] || asked "$load: that loss by the loss with $v" "$(awk "BEGIN { l = 1 - $(of $v 2); print (l > 0 ? $lost / l : 1) }")" 1
  done
done
exit $OVER
