#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# usage: bench/write_into_file.sh [PAIRS] [LOOPS]      BUILD=build
#
# Perfetto's service and ours in turn write a trace into a file themselves: the same producer (our probes), the same
# command line (Perfetto's), the same load (`perf bench sched pipe`). CPU time of the service, from before the session to
# after its end, for each MB of the file; the median of the pairwise ratios.
set -u
. "$(dirname "$0")/lib.sh"
pairs=${1:-5} loops=${2:-200000}

cat >"$TMP/config" <<'CONFIG'
buffers { size_kb: 65536 }
data_sources {
  config {
    name: "linux.ftrace"
    ftrace_config {
      ftrace_events: "sched/sched_switch"
      ftrace_events: "sched/sched_waking"
      buffer_size_kb: 16384
    }
  }
}
write_into_file: true
file_write_period_ms: 500
flush_period_ms: 5000
CONFIG

one() { # FAMILY
  local dir service client ns bytes
  dir=$(mktemp -d "$TMP/$1.XXXX")
  use_sockets "$dir"
  start_service "$1" "$dir" && start_probes sonda "$dir" || exit 1
  service=${PIDS[0]}
  at_rest "${PIDS[@]}"
  ns=$(cpu_ns "$service")
  start_recorder perfetto "$TMP/config" "$dir/trace"
  client=${PIDS[2]}
  wait_for is_recording sonda 1 || { echo "$1 does not record" >&2; exit 1; }
  perf bench sched pipe -l "$loops" >/dev/null 2>&1
  sleep 0.5
  kill -TERM "$client"
  wait "$client"
  ns=$(($(cpu_ns "$service") - ns)) bytes=$(stat -c %s "$dir/trace")
  [ "$bytes" -gt 1000000 ] || { echo "only $bytes bytes" >&2; exit 1; }
  query "$dir/trace" "select name, idx, value from stats where severity in ('error', 'data_loss') and value > 0" |
    grep -v '^\[\]$' | sed "s/^/$1: lost or wrong: /"
  awk -v ns="$ns" -v bytes="$bytes" 'BEGIN { printf "%.3f\n", ns / bytes }' >>"$TMP/$1"
  echo "$1: $bytes bytes, $(tail -n 1 "$TMP/$1") ms of the service for each MB"
  stop_all
  rm -rf "$dir"
}

for _ in $(seq "$pairs"); do
  one perfetto
  one sonda
done
paste -d' ' "$TMP/sonda" "$TMP/perfetto" | awk '{ print $1 / $2 }' | sort -n |
  awk '{ r[NR] = $1 } END { printf "median of %d ratios, ours / Perfetto'\''s, service CPU for each MB: %.2f\n", NR, NR % 2 ? r[(NR + 1) / 2] : (r[NR / 2] + r[NR / 2 + 1]) / 2 }' |
  tee "$TMP/figures"
asked "CPU of the service, a MB" "$(sed 's/.* //' "$TMP/figures")" 1
exit $OVER
