#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# kernels: none
#
# Where linux.waits cannot record, or stacks can only be walked by frame pointers, the summary gives the reason, and the rest is
# recorded: a kernel without BTF, missing capabilities. (Lockdown: tests/kernels/guest/test_lockdown.sh.)
. "$(dirname "$0")/lib.sh"
needs_own_mounts
needs_commands setpriv
cd "$TMP" || exit 2
mkdir empty
export SONDA TMP

says() { # NAME REGEX COMMAND...: exit code 0 or that of a partial recording, the summary, and scheduler events
  "${@:3}" >log 2>&1 </dev/null
  grep -qE "^  missing  .*$2" log && "$SONDA" sql trace 'select count(*) > 0 as any from sched' 2>>log | grep -q 1
  verdict "$1" $? log
}
without_btf() { # COMMAND...
  unshare --mount --propagation private sh -c 'mount --bind empty /sys/kernel/btf && exec "$@"' sh "$@"
}
without() { # CAPABILITIES COMMAND...
  setpriv --bounding-set="$1" --inh-caps="$1" "${@:2}"
}
off_cpu=("$SONDA" record -t 300ms -o trace off-cpu)
says "without BTF: no waits, and the reason" "'linux.waits' recorded nothing: the kernel has no BTF" without_btf "${off_cpu[@]}"
says "without BTF: stacks by frame pointers, and the reason" "callers .*: the kernel has no BTF" \
  without_btf "$SONDA" record -t 300ms -o trace --cpu-stacks sched
says "without CAP_BPF: the reason" "'linux.waits' recorded nothing: permission denied: CAP_BPF" without -bpf,-sys_admin "${off_cpu[@]}"
says "without CAP_PERFMON: the reason" "'linux.waits' recorded nothing: perf_event_open: .*; CAP_PERFMON" \
  without -bpf,-sys_admin,-perfmon "${off_cpu[@]}"
exit $BAD
