#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# usage: bench/sched_pipe.sh [PAIRS] [LOOPS]      BUILD=build
#
# `perf bench sched pipe -l LOOPS` recorded by Perfetto's three programs and by ours in turn (A B A B ...), sched_switch
# and sched_waking, compact encoding, 16 MiB of kernel ring a CPU.
set -u
. "$(dirname "$0")/lib.sh"
pairs=${1:-5} loops=${2:-200000}

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

pipe_load() { perf bench sched pipe -l "$loops" >/dev/null 2>&1; }

for _ in $(seq "$pairs"); do
  measure perfetto "$TMP/config" 1 pipe_load
  measure sonda "$TMP/config" 1 pipe_load
done
ratios "sched pipe, compact"
asked_ratio "CPU of probes, an event" probes 0.45
asked_ratio "CPU of probes and service, an event" both 1
asked_ratio "bytes of trace, an event" bytes 0.95
asked_ratio "resident memory of probes" resident_probes 1
asked_ratio "resident memory of the service" resident_service 1
exit $OVER
