#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# usage: bench/sessions.sh [PAIRS] [LOOPS]      BUILD=build
#
# One, two and three sessions at once that record the same: `perf bench sched pipe`, sched_switch and sched_waking,
# compact. Figures are for each event of each trace: with no cost but another read of the kernel's ring for each
# session they stay the same from line to line; a twentieth is what two measurements of the same differ by.
set -u
. "$(dirname "$0")/lib.sh"
pairs=${1:-5} loops=${2:-100000}

configs 131072 'data_sources {
  config {
    name: "linux.ftrace"
    ftrace_config {
      ftrace_events: "sched/sched_switch"
      ftrace_events: "sched/sched_waking"
      buffer_size_kb: 16384
    }
  }
}'

pipe_load() { perf bench sched pipe -l "$loops" >/dev/null 2>&1; }

for sessions in 1 2 3; do
  VARIANTS="perfetto sonda" rounds "$pairs" "$sessions" pipe_load
  ratios "$sessions sessions"
  ns=$(ratio_of ns_probes)
  if [ "$sessions" = 1 ]; then
    alone=$ns
  else
    growth=$(awk -v ns="$ns" -v alone="$alone" 'BEGIN { if (ns && alone) printf "%.2f", ns / alone }')
    asked "CPU of our probes, an event, with $sessions sessions to one ($ns ns, $alone ns)" "$growth" 1.05
  fi
done
exit $OVER
