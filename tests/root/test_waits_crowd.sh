#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# kernels: none
# tracefs: none
# check: long
#
# The totals of linux.waits have each wait of as many threads at the same time as the default of kernel.pid_max allows beside
# others: 20,000 for the 32,768 places of bpf/slots.h.
. "$(dirname "$0")/lib.sh"
short=$B/tests/root/short_waits
needs_built "$short"
cd "$TMP" || exit 2

# Each waits once, and perhaps at its begin and its end.
crowd=$(scaled 20000)
"$SONDA" record -o crowd waits -- sh -c "exec '$short' 1 $crowd 0 >known" >log 2>&1
"$SONDA" sql --csv crowd "select sum(v.value) from stack_sample s
    join stack_sample_task_context c on c.id = s.task_context_id join stack_sample_counter v on v.stack_sample_id = s.id
    join stack_sample_counter_track k on k.id = v.track_id join process p using (upid)
    where s.source = 'linux.waits' and k.name = 'waits' and p.cmdline like '%short_waits%'" 2>>log | tail -n 1 >ours
awk -v ours="$(cat ours)" -v missing="$("$SONDA" sql --csv crowd "select value from stats where name = 'sonda_waits_missing'" | tail -n 1)" '
  { n++; known += $2 } END { print n, "threads, waits:", known, "ours:", ours, "missing:", missing
    exit !(n == '"$crowd"' && ours + missing >= known && ours <= known + 3 * n) }' known >wrong
verdict "$crowd threads at the same time have the waits that the kernel counted" $? wrong log
exit $BAD
