#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# usage: bench/verbose_mix.sh [PAIRS] [LOOPS]      BUILD=build
#
# All events of sched, irq, timer and raw_syscalls, none of them compact, while `perf bench sched messaging` and a copy of
# files run; Perfetto's three programs and ours in turn, 64 MiB of kernel ring a CPU.
set -u
. "$(dirname "$0")/lib.sh"
pairs=${1:-5} loops=${2:-100}

cat >"$TMP/config" <<'CONFIG'
buffers { size_kb: 524288 fill_policy: DISCARD }
data_sources {
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
}
CONFIG

mix_load() {
  (cd /usr/include && tar cf - .) >"$TMP/copy" 2>/dev/null &
  perf bench sched messaging -g 4 -l "$loops" >/dev/null 2>&1
  wait $!
  rm -f "$TMP/copy"
}

for _ in $(seq "$pairs"); do
  measure perfetto "$TMP/config" 1 mix_load
  measure sonda "$TMP/config" 1 mix_load
done
ratios "sched, irq, timer, raw_syscalls, verbose"
asked_ratio "CPU of probes, an event" probes 0.5
exit $OVER
