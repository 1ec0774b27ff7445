#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# usage: bench/sched_pipe.sh [PAIRS] [LOOPS...]      BUILD=build
#
# `perf bench sched pipe -l LOOPS` recorded by Perfetto's three programs and by ours in turn (A B A B ...), sched_switch
# and sched_waking, compact encoding, 16 MiB of kernel ring a CPU. A short run and a long one: what a session costs
# before its first event weighs in the short one only.
set -u
. "$(dirname "$0")/lib.sh"
pairs=${1:-5}
shift
[ $# -gt 0 ] || set -- 175000 1250000

configs 262144 'data_sources {
  config {
    name: "linux.ftrace"
    ftrace_config {
      ftrace_events: "sched/sched_switch"
      ftrace_events: "sched/sched_waking"
      compact_sched { enabled: true }
      buffer_size_kb: 16384
    }
  }
}'

for loops; do
  most=0.45
  [ "$loops" -lt 1000000 ] || most=0.55
  pipe_load() { perf bench sched pipe -l "$loops" >/dev/null 2>&1; }
  rounds "$pairs" 1 pipe_load 16384 sched/sched_switch sched/sched_waking
  ratios "sched pipe, compact, $loops loops"
  asked_ratio "CPU of all three programs until the file is whole, $loops loops" all $most
  asked_ratio "CPU of the service, $loops loops" service 0.5
  asked_ratio "CPU of all three programs by the floor, $loops loops" floor 2
  asked_ratio "CPU of probes, $loops loops" probes 0.45
  asked_ratio "bytes of trace, an event, $loops loops" bytes 1
  asked_ratio "peak memory of probes" resident_probes 1
  asked_ratio "peak memory of the service" resident_service 1
done
exit $OVER
