#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# tracefs: none
# kernels: none
#
# Rows of the unwinder are replaced by others all the time, while a program is sampled that they are of: no stack that is said
# to be complete has a wrong caller.
. "$(dirname "$0")/lib.sh"
program=$B/tests/root/ebpf_unwind_updates
[ -x "$program" ] || { echo "this build has no eBPF programs" >&2; exit 77; }
[ -e /sys/kernel/btf/vmlinux ] || { echo "the kernel has no BTF" >&2; exit 77; }

mkdir "$TMP/files"
"$program" "$TMP/files" 1500 >"$TMP/out" 2>"$TMP/log"
result=$?
[ $result != 77 ] || { echo "no stacks are unwound here: $(cat "$TMP/log")" >&2; exit 77; }
# "replaced" is followed by the number of rounds, "complete" by that of stacks.
[ $result = 0 ] && awk '/^replaced/ { exit !($2 >= 5 && $4 >= 5 * $2 && $6 >= 50 && $10 == 0) }' "$TMP/out"
verdict "rows that are replaced make no stack wrong" $? "$TMP/out" "$TMP/log"
exit $BAD
