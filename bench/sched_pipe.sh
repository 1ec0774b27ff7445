#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# usage: bench/sched_pipe.sh [PAIRS] [LOOPS]      BUILD=build
#
# `perf bench sched pipe -l LOOPS` recorded by Perfetto's three programs and by ours in turn (A B A B ...), sched_switch
# and sched_waking, compact encoding, 16 MiB of kernel ring a CPU. For each recording: CPU time of service and probes
# (sum of /proc/PID/task/*/schedstat, from before the session to after its trace is read) divided by the events in
# the trace; bytes of trace for each event; resident memory of each daemon at the end; what was lost. Last: the
# medians of the pairwise ratios ours / Perfetto's.
set -u
. "$(dirname "$0")/../tests/interop/lib.sh"
need_tracefs
pairs=${1:-5} loops=${2:-200000}
command -v perf >/dev/null || { echo "perf is missing (Debian: linux-perf)" >&2; exit 77; }

cat >"$TMP/config" <<'CONFIG'
buffers { size_kb: 262144 fill_policy: DISCARD }
data_sources {
  config {
    name: "linux.ftrace"
    ftrace_config {
      ftrace_events: "sched/sched_switch"
      ftrace_events: "sched/sched_waking"
      compact_sched { enabled: true }
      buffer_size_kb: 16384
    }
  }
}
CONFIG

cpu_ns() { # PID
  local sum=0 ns
  for task in /proc/"$1"/task/*/schedstat; do
    read -r ns _ <"$task" 2>/dev/null && sum=$((sum + ns))
  done
  echo $sum
}

# A wait for the daemons to come to rest, so that each measurement holds its own work only.
at_rest() { # PID...
  local before=0 now
  for _ in $(seq 50); do
    now=0
    for pid; do now=$((now + $(cpu_ns "$pid"))); done
    [ $((now - before)) -gt 300000 ] || return 0
    before=$now
    sleep 0.1
  done
}

rss_kb() { awk '/^VmRSS/ { print $2 }' "/proc/$1/status"; }

# Appends "ns_per_event bytes_per_event service_kb probes_kb" to $TMP/FAMILY.
measure() { # FAMILY ROUND
  local dir=$TMP/$1.$2 service probes recorder before after events bytes
  mkdir "$dir"
  use_sockets "$dir"
  start_service "$1" "$dir" && start_probes "$1" "$dir" || exit 1
  service=${PIDS[0]} probes=${PIDS[1]}
  at_rest "$service" "$probes"
  before=$(($(cpu_ns "$service") + $(cpu_ns "$probes")))
  case $1 in
  sonda) "$BIN/sonda" record -c "$TMP/config" -o "$dir/trace" >"$dir/log" 2>&1 & ;;
  perfetto) "$PEERS/run" perfetto --txt -c "$TMP/config" -o "$dir/trace" >"$dir/log" 2>&1 & ;;
  esac
  recorder=$!
  PIDS+=("$recorder")
  sleep 1.5
  perf bench sched pipe -l "$loops" >/dev/null 2>&1
  sleep 0.5
  kill -TERM "$recorder"
  wait "$recorder"
  after=$(($(cpu_ns "$service") + $(cpu_ns "$probes")))
  read -r events bytes < <("${BUILD:-build}/bench/count_events" "$dir/trace")
  [ "${events:-0}" -gt "$loops" ] || { echo "only ${events:-0} events:"; cat "$dir/log"; exit 1; }
  echo "$((after - before)) $events $bytes $(rss_kb "$service") $(rss_kb "$probes")" |
    awk '{ printf "%.1f %.3f %d %d\n", $1 / $2, $3 / $2, $4, $5 }' >>"$TMP/$1"
  echo "$1: $events events, $(tail -n 1 "$TMP/$1" | awk '{ print $1 " ns and " $2 " bytes an event; resident " $3 " + " $4 " kB" }')"
  query "$dir/trace" "select name, idx, value from stats where severity in ('error', 'data_loss') and value > 0" |
    grep -v '^\[\]$' | sed "s/^/$1: lost or wrong: /"
  stop_all
  rm -f "$dir/trace"
}

for round in $(seq "$pairs"); do
  measure perfetto "$round"
  measure sonda "$round"
done

paste -d' ' "$TMP/sonda" "$TMP/perfetto" | awk '
  function median(a, n,    i, j, t) {
    for (i = 2; i <= n; i++)
      for (j = i; j > 1 && a[j - 1] > a[j]; j--) { t = a[j]; a[j] = a[j - 1]; a[j - 1] = t }
    return n % 2 ? a[(n + 1) / 2] : (a[n / 2] + a[n / 2 + 1]) / 2
  }
  { cpu[NR] = $1 / $5; bytes[NR] = $2 / $6; service[NR] = $3 / $7; probes[NR] = $4 / $8 }
  END {
    printf "median of %d ratios, ours / Perfetto'\''s: CPU an event %.2f, bytes an event %.2f, ", NR, median(cpu, NR), median(bytes, NR)
    printf "service resident %.2f, probes resident %.2f\n", median(service, NR), median(probes, NR)
  }'
