#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# kernels: none
#
# Waits for locks whose holder is known (known_locks): the name of each lock, its holder, and what the holder did
# meanwhile, beside what the program knows.
. "$(dirname "$0")/lib.sh"
known=$B/tests/root/known_locks
needs_built "$known"
cd "$TMP" || exit 2
times=6

cat >config <<CONFIG
buffers { size_kb: 32768 }
data_sources { config { name: "linux.waits" waits_config { programs: "reader" max_per_second: 100000 kernel_stacks_per_second: 100000 user_stacks_per_second: 100000 } } }
data_sources { config { name: "linux.process_stats" } }
data_sources { config { name: "linux.ftrace" ftrace_config { buffer_size_kb: 16384
  ftrace_events: "sched/sched_switch" ftrace_events: "sched/sched_waking" } } }
CONFIG
# The program has tables for its stacks when the waits begin.
"$SONDA" record -c config -o trace -- sh -c "$known $times 10 >known; sleep 0.3" >log 2>&1
verdict "a recording of waits for locks" $? log
reader=$(awk '$1 == "reader" { print $2 }' known)
holder=$(awk '$1 == "holder" { print $2 }' known)
"$SONDA" report waits --json --by lock -p "$reader" trace >locks 2>>log
verdict "sonda report waits --by lock" $? log
python3 - "$holder" "$times" >rows <<'PY' 2>>log
import json, sys
for r in json.load(open("locks"))["Locks"]:
    if r["held_by"] == f"holder {sys.argv[1]}" and r["waits"] >= int(sys.argv[2]) - 1 and r["function"] == "wait_for_lock":
        print(r["lock"], r["known_by"], r["holder_waits_for"], r["holder_function"], sep=",")
PY
sort rows >got
cat >expected <<EXPECTED
heap,mutex owner,sleep,sleep_with_lock
known_locks:lock_of_bss,mutex owner,sleep,sleep_with_lock
known_locks:lock_of_data,mutex owner,sleep,sleep_with_lock
known_locks:lock_with_priority,PI futex,sleep,sleep_with_lock
known_locks:table_of_locks+0x40,mutex owner,sleep,sleep_with_lock
EXPECTED
diff expected got >difference
verdict "each lock has its name, its holder, and what the holder waited for" $? difference locks

# The states of the holder within each wait, by SQL.
"$SONDA" sql --csv trace "
  with w as (select s.ts, s.ts + s.dur as end, extract_arg(s.arg_set_id, 'debug.holder tid') as tid
      from slice s join thread_track t on t.id = s.track_id join thread using (utid)
      where s.name = 'futex' and tid = $reader and extract_arg(s.arg_set_id, 'debug.holder tid') is not null)
  select (select count(*) from w), sum(iif(o.state = 'Running', min(o.ts + o.dur, w.end) - max(o.ts, w.ts), 0)),
    sum(iif(o.state in ('R', 'R+'), min(o.ts + o.dur, w.end) - max(o.ts, w.ts), 0)),
    sum(iif(o.state in ('S', 'D'), min(o.ts + o.dur, w.end) - max(o.ts, w.ts), 0))
  from w join thread h on h.tid = w.tid join thread_state o on o.utid = h.utid and o.ts < w.end and o.ts + o.dur > w.ts" 2>>log |
  tail -n 1 | tr -d '\r' >states
python3 - >sums <<'PY' 2>>log
import json
rows = [r for r in json.load(open("locks"))["Locks"] if r["known_by"] in ("mutex owner", "PI futex")]
def ns(column):
    return round(sum(r["blocked_ns"] * r[column] / 100 for r in rows))
print(sum(r["waits"] for r in rows), ns("ran_pct"), ns("waited_for_cpu_pct"), ns("blocked_pct"), sep=",")
PY
diff <(tr , '\n' <states) <(tr , '\n' <sums) >difference
verdict "the holder's times are those of its states during the waits" $? difference states sums

# Another user's tool has no addresses, but names.
"$SONDA" sql --csv trace "select count(*), sum(a.key = 'debug.futex object') from slice s join args a using (arg_set_id)
  where s.name = 'futex' and a.key in ('debug.futex address', 'debug.futex object')" 2>>log | tail -n 1 | tr -d '\r' >annotations
awk -F, '{ exit !($2 > 0 && $1 >= 2 * $2) }' annotations
verdict "each name is beside an address, for root" $? annotations
exit $BAD
