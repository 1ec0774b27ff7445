#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# tracefs: none
# kernels: 5.10 6.1 newest
#
# The unwinder of user stacks in this kernel (bpf/unwind.h), in both of its forms: functions whose frames are known are
# sampled, also with realigned stacks, signals, entries of .plt, code without rows, and forged frames.
. "$(dirname "$0")/lib.sh"
B=${BIN%/bin}
program=$B/tests/root/ebpf_unwind
[ -x "$program" ] || { echo "this build has no eBPF programs" >&2; exit 77; }
[ -e /sys/kernel/btf/vmlinux ] || { echo "the kernel has no BTF" >&2; exit 77; }

for object in samples samples_calls; do
  "$program" $object >"$TMP/out" 2>"$TMP/log"
  result=$?
  [ $result != 77 ] || { skip "$object" "stacks of this architecture are unwound by the kernel"; continue; }
  if [ $object = samples ] && [ $result = 2 ] && ! grep -qw bpf_loop /proc/kallsyms; then
    skip "$object" "this kernel has no bpf_loop()"
    continue
  fi
  grep -v '^processed\|END PROG' "$TMP/log" | tail -n 12 >>"$TMP/out"
  verdict "$object unwinds $(grep -c '^ok' "$TMP/out") kinds of frames" $result "$TMP/out"
done
exit $BAD
