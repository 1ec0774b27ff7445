#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# tracefs: none
#
# linux.waits with trace_processor as the reader: no error, each single wait with the stack of the sleeper and that of its
# waker, and the waker's name; the incremental state is cleared again and again meanwhile.
. "$(dirname "$0")/lib.sh"
known=$B/tests/root/known_waits
needs_built "$known"
needs_root

dir=$TMP/waits
mkdir "$dir"
use_sockets "$dir"
start_service sonda "$dir" || exit 1
start_probes sonda "$dir" || exit 1
cat >"$dir/config" <<'CONFIG'
buffers { size_kb: 65536 }
data_sources { config { name: "linux.waits" waits_config { user_stacks_per_second: 100000 max_per_second: 100000
  kernel_stacks_per_second: 100000 totals_period_ms: 100 } } }
data_sources { config { name: "linux.process_stats" } }
incremental_state_config { clear_period_ms: 100 }
CONFIG
record sonda "$dir/config" "$dir/trace" "$dir/log" -- "$known" 5 20 "$dir"
verdict "a recording of known waits" $? "$dir/log"

asks() { # NAME EXPECTED QUERY
  local answer
  answer=$(query "$dir/trace" "$3" 2>&1)
  [ "$answer" = "$2" ]
  verdict "$1" $? <(printf '%s\n' "$answer")
}
asks "trace_processor reads it without an error" "[]" \
  "select name, value from stats where severity in ('error', 'data_loss') and value > 0"
of_waits="from slice s join track t on t.id = s.track_id where t.name = 'waits'"
# A virtual machine may hide the wakeup from BPF programs: such a wait has no waker.
has_waker="coalesce(extract_arg(s.arg_set_id, 'debug.waker'), extract_arg(s.arg_set_id, 'debug.waker in interrupt')) is not null"
asks "each wait that has ended has both stacks" '[{"n":0}]' \
  "select count(*) as n $of_waits and s.dur > 0 and $has_waker and 2 != (select count(*) from __intrinsic_track_event_callstacks c
   where c.slice_id = s.id and coalesce(c.callsite_id, c.end_callsite_id) is not null)"
asks "its time is an annotation" '[{"n":0}]' \
  "select count(*) as n $of_waits and s.dur > 0 and s.dur != extract_arg(s.arg_set_id, 'debug.blocked ns')"
# The end of the waker may be one more wait for a futex.
asks "waits for the waker have its name, at least 12 of 15" '[{"name":"futex","n":1},{"name":"read from pipe","n":1}]' \
  "select s.name as name, count(*) >= 12 as n $of_waits and s.name in ('futex', 'read from pipe') and s.dur > 0
   and extract_arg(s.arg_set_id, 'debug.waker') = 'waker' group by 1 order by 1"
exit $BAD
