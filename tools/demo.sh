#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: tools/demo.sh BUILD      records 5 s of scheduling into BUILD/demo.pftrace
set -eu

B=$1
trace=$PWD/$B/demo.pftrace
run=
if [ "$(id -u)" != 0 ]; then
  command -v sudo >/dev/null || {
    echo "demo: recording the kernel takes root: run make demo as root" >&2
    exit 1
  }
  run=sudo
fi

# A tracefs that this script mounts is unmounted again.
if [ ! -e /sys/kernel/tracing/trace ] && $run mount -t tracefs none /sys/kernel/tracing 2>/dev/null; then
  # shellcheck disable=SC2064
  trap "$run umount /sys/kernel/tracing" EXIT
fi

echo "Recording 5 s of this machine's scheduling ..."
$run "$B/bin/sonda" record -t 5s -o "$trace" sched
cat <<END

The trace is $trace
Open it:  https://ui.perfetto.dev, 'Open trace file' (the page keeps it in the browser), or ask it by SQL:
          trace_processor query $trace "select name, sum(dur)/1e9 as cpu_s from sched join thread using (utid) group by 1 order by 2 desc limit 10"
Record again with other events:  ${run:+$run }$B/bin/sonda record -t 5s -o trace.pftrace sched 'irq/*'
END
