#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# usage: bench/verbose_mix.sh [PAIRS] [LOOPS...]      BUILD=build
#
# All events of sched, irq, timer and raw_syscalls, none of them compact, while `perf bench sched messaging` and a copy of
# files run; Perfetto's three programs and ours in turn, 64 MiB of kernel ring a CPU.
set -u
. "$(dirname "$0")/lib.sh"
pairs=${1:-5}
shift
[ $# -gt 0 ] || set -- 100

configs 524288 'data_sources {
  config {
    name: "linux.ftrace"
    ftrace_config {
      ftrace_events: "sched/*"
      ftrace_events: "irq/*"
      ftrace_events: "timer/*"
      ftrace_events: "raw_syscalls/*"
      compact_sched { enabled: false }
      buffer_size_kb: 65536
    }
  }
}'

for loops; do
  mix_load() {
    (cd /usr/include && tar cf - .) >"$TMP/copy" 2>/dev/null &
    perf bench sched messaging -g 4 -l "$loops" >/dev/null 2>&1
    wait $!
    rm -f "$TMP/copy"
  }
  rounds "$pairs" 1 mix_load 65536 sched/ irq/ timer/ raw_syscalls/
  ratios "sched, irq, timer, raw_syscalls, verbose, $loops loops"
  asked_ratio "CPU of all three programs until the file is whole, $loops loops" all 0.4
  asked_ratio "CPU of the service, $loops loops" service 0.5
  asked_ratio "CPU of all three programs by the floor, $loops loops" floor 2
  asked_ratio "CPU of probes, $loops loops" probes 0.5
done
exit $OVER
