#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# usage: tests/data/ftrace/record.sh OUT PAGES EVENT... -- COMMAND...
#
# Records pages of the running kernel's ring as the tests use them: runs COMMAND with the events (GROUP/NAME) on in an
# instance of its own, and keeps up to PAGES pages of each CPU as OUT/cpuN.pages, with the format files and strings
# beside them as in tracefs (OUT/events, OUT/printk_formats). Needs root.
set -eu
out=$1 pages=$2
shift 2
events=()
while [ "$1" != -- ]; do events+=("$1"); shift; done
shift

tracefs=/sys/kernel/tracing
instance=$tracefs/instances/record-$$
mkdir "$instance"
trap '[ "$BASHPID" != $$ ] || rmdir "$instance"' EXIT
echo 0 >"$instance/tracing_on"
echo boot >"$instance/trace_clock"
echo "${RING_KB:-4096}" >"$instance/buffer_size_kb"

mkdir -p "$out/events"
cat "$tracefs/events/header_page" >"$out/events/header_page"
cat "$tracefs/printk_formats" >"$out/printk_formats"
for e in "${events[@]}"; do
  mkdir -p "$out/events/$e"
  cat "$tracefs/events/$e/format" >"$out/events/$e/format"
  if [ "$e" = ftrace/print ]; then echo 1 >"$instance/options/copy_trace_marker"; else
    echo 1 >"$instance/events/$e/enable"
  fi
done
echo 1 >"$instance/tracing_on"
"$@"
echo 0 >"$instance/tracing_on"
for cpu in "$instance"/per_cpu/cpu*; do
  dd if="$cpu/trace_pipe_raw" of="$out/$(basename "$cpu").pages" bs=4096 count="$pages" iflag=nonblock status=none || true
  cat "$cpu/stats" >"$out/$(basename "$cpu").stats"
done
