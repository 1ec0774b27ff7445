#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# With lockdown=confidentiality BPF programs may not read the kernel's memory: no waits are recorded, stacks are walked by frame
# pointers, and the summary gives the reason.
#
# boot: -k lockdown=confidentiality
# kernels: newest
. "$(dirname "$0")/../../lib.sh"
cd "$TMP" || exit 2
mount -t securityfs none /sys/kernel/security
grep -qs '\[confidentiality\]' /sys/kernel/security/lockdown || { echo "the kernel cannot be locked down" >&2; exit 77; }

"$SONDA" record -t 300ms -o waits waits >log 2>&1
grep -q "'linux.waits' recorded nothing: the kernel is locked down (lockdown=confidentiality)" log
verdict "the reason why there are no waits" $? log
"$SONDA" record -t 1s -o stacks stacks -- sh -c 'while :; do :; done' >log 2>&1
grep -q "missing  callers .*: the kernel is locked down (lockdown=confidentiality)" log
verdict "the reason why stacks may lack callers" $? log
"$SONDA" sql stacks 'select count(*) > 0 as any from perf_sample' 2>>log | grep -q 1
verdict "samples are there" $? log
exit $BAD
