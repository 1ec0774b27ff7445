#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# tracefs: machine
#
# linux.ebpf_counters on the real kernel: threads that spin on one CPU wait for each other, and what the programs in the
# kernel counted of it, read with trace_processor, is what the sched events of the same recording say.
. "$(dirname "$0")/lib.sh"
need_tracefs
[ -e /sys/kernel/btf/vmlinux ] || { echo "the kernel has no BTF" >&2; exit 77; }
cpu=$(taskset -pc $$ | sed 's/.*[ ,-]//')
waiting=3

use_sockets "$TMP"
cat >"$TMP/config" <<END
buffers { size_kb: 65536 fill_policy: DISCARD }
duration_ms: 1700
data_sources { config { name: "linux.ebpf_counters" ebpf_counters_config {
  families: RUNQ outliers { runq_us: 2000 max_per_second: 1000 } period_ms: 250
} } }
data_sources { config { name: "linux.ftrace" ftrace_config {
  ftrace_events: "sched/sched_switch" ftrace_events: "sched/sched_wakeup" ftrace_events: "sched/sched_wakeup_new"
  ftrace_events: "sched/sched_migrate_task" buffer_size_kb: 16384
  compact_sched { enabled: false }
} } }
END
start_service sonda "$TMP" && start_probes sonda "$TMP" || exit 1
probes=${PIDS[-1]}
chrt -a -f -p 1 "$probes" # the reader is not kept waiting by what else runs here: the end of a period is where it says
for ((i = 0; i <= waiting; i++)); do
  taskset -c "$cpu" sh -c 'while :; do :; done' &
  PIDS+=($!)
done
record sonda "$TMP/config" "$TMP/trace" "$TMP/log"
verdict "recorded" $? "$TMP/log"
grep -q '^  *\(cost\)* .* of the machine for eBPF counters: runq [0-9.]* %$' "$TMP/log"
verdict "what it cost is in the summary" $? "$TMP/log"
cat >"$TMP/config.limited" <<END
buffers { size_kb: 1024 }
duration_ms: 1500
data_sources { config { name: "linux.ebpf_counters" ebpf_counters_config {
  families: RUNQ families: MEMORY period_ms: 10 max_overhead_percent: 0.001
} } }
END
record sonda "$TMP/config.limited" "$TMP/limited" "$TMP/log"
grep -q '^  missing .*eBPF counters: runq: switched off: .* max_overhead_percent (0.001)' "$TMP/log" &&
  ! grep -q 'memory: switched off' "$TMP/log"
verdict "above a limit the most expensive family ends, and is reported" $? "$TMP/log"
stop_all
if grep -q 'was built without' "$TMP/probes.log"; then echo "this build has no eBPF counters" >&2; exit 77; fi
[ "$(grep -c 'runq:' "$TMP/probes.log")" = 1 ]
verdict "else it runs" $? "$TMP/probes.log"

# Who ran before is asked of each event, not concluded from the one before it (compact_sched): there are kernels that leave
# switches out, for the programs as for the events, and trace_processor then counts a mismatch.
#
# All that is asked of the trace at once, one line a row: kind, time, value ...
query "$TMP/trace" \
  "select 'stats 0 ' || name || ' ' || value as x from stats where severity in ('error', 'data_loss') and value > 0
    and name != 'mismatched_sched_switch_tids'" \
  "select 'unit 0 ' || t.name || ', ' || coalesce(k.unit, '-') as x from counter_track k join track t using (id)
    join track g on g.id = t.parent_id where g.name = 'CPU $cpu'" \
  "select replace(t.name, ' ', '_') || ' ' || c.ts || ' ' || cast(c.value as text) as x from counter c
    join track t on t.id = c.track_id join track g on g.id = t.parent_id join track r on r.id = g.parent_id
    where r.name = 'eBPF counters' and g.name = 'CPU $cpu'" \
  "select 'cost 0 ' || c.value as x from counter c join track t on t.id = c.track_id join track g on g.id = t.parent_id
    where g.name = 'own cost' and t.name = 'runq'" \
  "select 'switch ' || ts || ' ' || cpu || ' ' || extract_arg(arg_set_id, 'prev_pid') || ' ' ||
    extract_arg(arg_set_id, 'prev_state') || ' ' || extract_arg(arg_set_id, 'next_pid') as x
    from ftrace_event where name = 'sched_switch'" \
  "select 'slice ' || (s.ts + s.dur) || ' ' || h.tid || ' ' || s.dur || ' ' || extract_arg(s.arg_set_id, 'debug.ran before tid') ||
    ' ' || extract_arg(s.arg_set_id, 'debug.ran before') as x
    from slice s join thread_track t on t.id = s.track_id join thread h using (utid) where s.name = 'runq wait'" \
  "select 'left 0 ' || cast(max(c.value) as int) as x from counter c join track t on t.id = c.track_id
    where t.name = 'runq slices left out'" \
  "select 'wakeup ' || ts || ' ' || extract_arg(arg_set_id, 'pid') as x
    from ftrace_event where name in ('sched_wakeup', 'sched_wakeup_new')" \
  "select 'migration ' || ts || ' 1' as x from ftrace_event where name = 'sched_migrate_task' and
    extract_arg(arg_set_id, 'dest_cpu') = $cpu" >"$TMP/rows" # a pipe would be cut at 64 KiB
tr '{' '\n' <"$TMP/rows" | sed -n 's/.*"x":"\([^"]*\)".*/\1/p' | sort -s -k2,2n >"$TMP/events"

[ "$(grep -c '^stats ' "$TMP/events")" = 0 ]
verdict "nothing lost, nothing wrong" $? <(grep '^stats ' "$TMP/events")
sed -n 's/^unit 0 //p' "$TMP/events" | sort >"$TMP/tracks"
sort >"$TMP/expected" <<END
context switches, count
migrations, count
runq depth max, count
runq depth, count
runq latency max, ns
runq latency p50, ns
runq latency p99, ns
END
diff "$TMP/expected" "$TMP/tracks" >"$TMP/diff"
verdict "tracks of a CPU and their units" $? "$TMP/diff"

# A period is from one value of "context switches" to the next; but the reader may be kept waiting between its steps, so a
# wait that ended within 30 ms after the end may count in the one or the other. The value must be one that the rank has in
# one of the periods that this makes, give or take half a bucket and 30 us. Periods that began before the events did, and
# those in which a wait ended that began before them, are not compared.
awk -v cpu="$cpu" -v ours="$probes" '
function gather(from, to,   i, j, v) { # what waited in (from, to], in order
  n = 0
  for (i = 1; i <= m; i++) if (all_ts[i] > from && all_ts[i] <= to) waits[++n] = all[i]
  for (i = 2; i <= n; i++) { v = waits[i]; for (j = i - 1; j > 0 && waits[j] > v; j--) waits[j + 1] = waits[j]; waits[j + 1] = v }
}
function at_rank(percent,   rank) {
  rank = int(n * percent / 100 + 0.999999)
  return waits[rank < 1 ? 1 : rank]
}
function check(what, percent, from, to,   counted, lo, hi, i, v) {
  if (!(("runq_latency_" what, to) in values) || from < first) return
  for (i = 1; i <= u; i++) if (unknown[i] > from && unknown[i] <= to + 30e6) return
  counted = values["runq_latency_" what, to]
  for (i = 0; i < 4; i++) {
    gather(from + (i % 2) * 30e6, to + int(i / 2) * 30e6)
    v = n ? at_rank(percent) : 0
    if (!i || v < lo) lo = v
    if (!i || v > hi) hi = v
  }
  if (counted < lo * 0.98 - 30000 || counted > hi * 1.02 + 30000) {
    printf "period to %.0f: %s is %d, and by events %d..%d\n", to, what, counted, lo, hi; bad++
  }
  checked++
}
# One that waits already does so since then; one that still runs waits from its switch on, or for nothing.
$1 == "wakeup" && !since[$3] { since[$3] = $2 }
$1 == "switch" {
  if (!first) first = $2
  if ($3 == cpu && $6 && !($6 in since)) unknown[++u] = $2
  since[$4] = $4 != 0 && $5 % 256 == 0 ? $2 : 0 # would run on
  if ($3 == cpu && $6 != ours && since[$6]) { all_ts[++m] = $2; all[m] = $2 - since[$6] }
  since[$6] = 0
}
$1 == "context_switches" { ends[++e] = $2 }
/^runq_latency/ { values[$1, $2] = $3 }
END {
  for (k = 2; k < e; k++) {
    check("p50", 50, ends[k - 1], ends[k])
    check("p99", 99, ends[k - 1], ends[k])
    check("max", 100, ends[k - 1], ends[k])
  }
  print checked + 0, "percentiles compared"
  exit bad || checked < 6
}' "$TMP/events" >"$TMP/percentiles"
verdict "percentiles are those of the sched events" $? "$TMP/percentiles"

# Both look at a clock in the same hook, one after the other. Switches without events (see above) are few.
awk -v ours="$probes" '
$1 == "wakeup" && !since[$3] { since[$3] = $2 }
$1 == "switch" {
  since[$4] = $4 != 0 && $5 % 256 == 0 ? $2 : 0
  if ($6 && since[$6]) { m++; end[m] = $2; tid[m] = $6; wait[m] = $2 - since[$6]; ran[m] = $4; on[$6] = on[$6] " " m }
  since[$6] = 0
}
$1 == "switch" { if (!first) first = $2; last = $2 }
$1 == "left" { left = $3 } # 1000 a second are written
$1 == "slice" && first && $2 - $4 > first { n++; s_end[n] = $2; s_tid[n] = $3; s_wait[n] = $4; s_ran[n] = $5 }
END {
  while (n && s_end[n] > last) n-- # the events end before
  for (i = 1; i <= n; i++) {
    k = split(on[s_tid[i]], all, " "); found = 0
    for (j = 1; j <= k; j++) {
      w = all[j]; d = s_end[i] - end[w]; e = s_wait[i] - wait[w]
      if (d > -200e3 && d < 200e3 && e > -200e3 && e < 200e3 && s_ran[i] == ran[w]) { found = 1; has[w] = 1 }
    }
    if (!found) printf "no such wait: %d of %d ns after %d until %.0f\n", s_tid[i], s_wait[i], s_ran[i], s_end[i]
    good += found; short += s_wait[i] <= 2e6
  }
  for (w = 1; w <= m; w++)
    if (wait[w] > 2.2e6 && tid[w] != ours && end[w] > s_end[1] && end[w] < s_end[n]) { long++; found_long += has[w] }
  print n + 0, "slices, of which", good + 0, "are waits;", long + 0, "long waits, of which", found_long + 0, "are slices"
  exit n < 50 || short || good < n * 0.97 || found_long + left < long * 0.97
}' "$TMP/events" >"$TMP/outliers"
verdict "a wait above the threshold is a slice of its thread, by who ran, as long as by events" $? "$TMP/outliers"

awk -v cpu="$cpu" '
$1 == "switch" && $3 == cpu || $1 == "migration" { n[$1]++ }
$1 == "context_switches" && n["switch"] { if (!(first1)) { first1 = $3; at1 = n["switch"] } told1 = $3 - first1; seen1 = n["switch"] - at1 }
$1 == "migrations" && n["switch"] { if (!(has2)) { has2 = 1; first2 = $3; at2 = n["migration"] } told2 = $3 - first2; seen2 = n["migration"] - at2 }
END {
  print "switches", told1, "events", seen1; print "migrations", told2 + 0, "events", seen2 + 0
  exit told1 < 100 || told1 - seen1 > 5 || seen1 - told1 > 5 || told2 - seen2 > 5 || seen2 - told2 > 5
}' "$TMP/events" >"$TMP/totals"
verdict "switches and migrations are as many as events" $? "$TMP/totals"

# So many wait for the one that runs, whoever else comes.
awk -v waiting=$waiting '$1 == "runq_depth" { n++; if ($3 >= waiting - 0.5) high++; values = values " " $3 }
END { print "depths:" values; exit !n || high != n }' <(grep '^runq_depth ' "$TMP/events" | sed '$d') >"$TMP/depth"
verdict "$waiting threads that wait are a depth of $waiting" $? "$TMP/depth"
awk '$1 == "cost" && $3 > 0 && $3 < 50 { found = 1 } END { exit !found }' "$TMP/events"
verdict "its own cost is measured" $?
echo "1..$N"
exit $BAD
