#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# kernels: none
# tracefs: none
#
# The totals of linux.waits have each wait of each thread: as many as the kernel counted, of more threads than a CPU adds
# up at the same time (bpf/short_waits.h), which end and leave their place to others.
. "$(dirname "$0")/lib.sh"
short=$B/tests/root/short_waits
needs_built "$short"
cd "$TMP" || exit 2

counted() { # NAME FIELDS BATCHES THREADS WAITS: the waits that the kernel counted and those of the totals, of each thread
  echo "buffers { size_kb: 65536 } data_sources { config { name: 'linux.waits' waits_config {
    totals_by_thread: true programs: 'short_waits' $2 } } } ${beside:-}" >config
  "$SONDA" record -c config -o "$1" -- sh -c "exec '$short' $3 $4 $5 >known" >log 2>&1 || return 1
  "$SONDA" sql --csv "$1" "select t.tid, sum(v.value) from stack_sample s
    join stack_sample_task_context c on c.id = s.task_context_id join stack_sample_counter v on v.stack_sample_id = s.id
    join stack_sample_counter_track k on k.id = v.track_id join thread t using (utid)
    where s.source = 'linux.waits' and k.name = 'waits' group by 1" 2>>log | tail -n +2 | tr -d '\r' | tr ',' ' ' | sort >ours
  sort known | join -a 1 -e 0 -o 0,1.2,2.2 - ours >both
  [ "$(wc -l <both)" = $(($3 * $4)) ]
}
# A thread that ends may wait once more. What is missing is counted: some virtual machines run no program while their own
# processes run.
is_exact() { # NAME
  local missing
  missing=$("$SONDA" sql --csv "$1" "select value from stats where name = 'sonda_waits_missing'" 2>>log | tail -n 1 | tr -d '\r')
  awk -v missing="$missing" '$3 > $2 + 2 { print; bad = 1 } $3 < $2 { print; less += $2 - $3 }
    END { print "less", less + 0, "missing", missing; exit bad || NR == 0 || less > missing }' both >wrong
}

counted many "" 3 100 "$(scaled 30)" && is_exact many
verdict "a hundred threads at the same time have the waits that the kernel counted" $? wrong log
counted stacks "user_stacks_per_second: 100000" 1 100 10 && is_exact stacks
verdict "  with the stack of each" $? wrong log
counted periods "totals_period_ms: 100 no_user_stacks: true" 1 80 "$(scaled 300)" && is_exact periods
verdict "  read again and again" $? wrong log
counted short "" 20 50 1 && is_exact short
verdict "so have threads that wait once" $? wrong log
# Samples interrupt programs that update the same maps. (A virtual machine without a PMU takes them in interrupts, not in NMIs.)
beside="data_sources { config { name: 'linux.perf' perf_event_config { timebase { frequency: 4000 } } } }"
counted sampled "user_stacks_per_second: 100000" 1 100 "$(scaled 30)" && is_exact sampled &&
  "$SONDA" sql sampled "select count(*) > 100 as any from perf_sample" | grep -q 1
verdict "  beside 4000 samples a second" $? wrong log
exit $BAD
