#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# usage: bench/sys_stats.sh [PAIRS] [SECONDS]      BUILD=build
#
# linux.sys_stats with all counters every 100 ms, by Perfetto's traced_probes and by ours in turn: CPU time of the
# producer for one poll, with and without the slab caches, of which the kernel's part is larger than that of all others
# together. Then 36,000 polls in a row, and the memory that they take.
set -u
. "$(dirname "$0")/lib.sh"
pairs=${1:-5} seconds=${2:-10}

config() { # NAME FIELDS
  printf 'buffers { size_kb: 131072 fill_policy: DISCARD }\nduration_ms: 120000\n' >"$TMP/config.$1"
  printf 'data_sources { config { name: "linux.sys_stats" sys_stats_config { %s } } }\n' "$2" >>"$TMP/config.$1"
}
most="meminfo_period_ms: 100 vmstat_period_ms: 100 stat_period_ms: 100 devfreq_period_ms: 100 cpufreq_period_ms: 100
  buddyinfo_period_ms: 100 diskstat_period_ms: 100 psi_period_ms: 100 thermal_period_ms: 100 cpuidle_period_ms: 100
  gpufreq_period_ms: 100"
config all "$most slab_period_ms: 100"
config without_slab "$most"

poll() { # FAMILY CONFIG: ns of one poll, in the steady state
  local dir probes before
  dir=$(mktemp -d "$TMP/$1.XXXX")
  use_sockets "$dir"
  start_service "$1" "$dir" && start_probes "$1" "$dir" || exit 1
  probes=${PIDS[1]}
  at_rest "${PIDS[@]}"
  start_recorder "$1" "$TMP/config.$2" "$dir/trace"
  sleep 1.5
  before=$(cpu_ns "$probes")
  sleep "$seconds"
  echo $((($(cpu_ns "$probes") - before) / (10 * seconds))) >>"$TMP/$1.$2"
  kill -TERM "${PIDS[2]}"
  wait "${PIDS[2]}"
  [ "$(trace_errors "$dir/trace")" = '[]' ] || { echo "the trace has errors:"; trace_errors "$dir/trace"; }
  stop_all
  rm -rf "$dir"
}

for what in all without_slab; do
  for _ in $(seq "$pairs"); do
    poll perfetto $what
    poll sonda $what
  done
  paste "$TMP/sonda.$what" "$TMP/perfetto.$what" | awk '{ print $1 / $2, $1, $2 }' | sort -n | awk -v what=$what '
    { ratio[NR] = $1; ours[NR] = $2; theirs[NR] = $3 }
    END {
      m = int((NR + 1) / 2)
      printf "%s: median of %d ratios %.2f (there %.0f us a poll, Perfetto %.0f us)\n", what, NR, ratio[m], ours[m] / 1e3, theirs[m] / 1e3
    }' | tee "$TMP/figures"
  asked "CPU of probes, a poll, $what" "$(sed -n 's/.* ratios \([0-9.]*\) .*/\1/p' "$TMP/figures")" 0.5
done
"${BUILD:-build}/bench/sys_stats_polls" 36000
exit $OVER
