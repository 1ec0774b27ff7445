#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What everybody wants of every kernel: scheduling, interrupts, a marker, names of processes; and what the kernel does
# not have is said, while the rest records.
. "$(dirname "$0")/../lib.sh"

cp "$B/tests/root/ping_pong" "$TMP/pinged"
"$BIN/sonda" record -a -o "$OUT/basics.pftrace" sched 'irq:*' ftrace:print -- \
  sh -c "echo 'I|$$|a marker' >$TRACEFS/trace_marker; dd if=/dev/vda of=/dev/null count=1 iflag=direct; exec '$TMP/pinged' 500" >"$TMP/log" 2>&1
verdict "sched, irq:*, print: exit code 0" $? "$TMP/log"
sed 's/^/# /' "$TMP/log"
is_true basics "tasks were switched" "select count(*) > 1000 from ftrace_event where name = 'sched_switch'"
is_true basics "on each CPU" "select count(distinct cpu) = $(nproc) from sched"
is_true basics "interrupts were handled" "select count(*) > 0 from ftrace_event where name = 'irq_handler_entry'"
is_true basics "soft interrupts too" "select count(*) > 0 from ftrace_event where name = 'softirq_entry'"
is_true basics "the load has its name" "select count(distinct tid) = 2 from sched join thread using (utid) where thread.name = 'pinged'"
is_true basics "processes have theirs" "select count(*) > 0 from process where name like '%sonda-probes'"
is_true basics "no running thread is without a name" \
  "select count(*) = 0 from sched join thread using (utid) where tid != 0 and thread.name is null"
is_true basics "the marker is there once" \
  "select count(*) = 1 from ftrace_event join args using (arg_set_id) where ftrace_event.name = 'print' and string_value like 'I|$$|a marker%'"

# ---- what no kernel has

"$BIN/sonda" record --strict -t 1s -o "$OUT/missing.pftrace" sched:sched_switch nope:nothing sched:sched_swich >"$TMP/log" 2>&1
[ $? = 3 ]
verdict "events that do not exist: exit code 3 with --strict" $? "$TMP/log"
grep -q "nope:nothing\|nope/nothing" "$TMP/log" && grep -q "sched_swich.*sched_switch" "$TMP/log"
verdict "events that do not exist: named" $? "$TMP/log"
is_true missing "the rest is recorded" "select count(*) > 0 from ftrace_event where name = 'sched_switch'"

# ---- names of functions, which an emulator takes seconds to read

# Nor does the stop wait for them longer than the config allows, or the service flush meanwhile.
cat >"$TMP/config" <<'CONFIG'
buffers { size_kb: 16384 }
data_sources { config { name: "linux.ftrace" ftrace_config { ftrace_events: "timer/hrtimer_expire_entry" symbolize_ksyms: true } } }
flush_timeout_ms: 60000
data_source_stop_timeout_ms: 60000
CONFIG
"$BIN/sonda" record --strict -c "$TMP/config" -o "$OUT/short.pftrace" -- sleep 0.4 >"$TMP/log" 2>&1
verdict "a recording that is shorter than that: exit code 0, nothing is missing" $? "$TMP/log"
sed 's/^/# /' "$TMP/log"
is_true short "it has events, and all have names" \
  "select count(*) > 0 and count(*) = sum(extract_arg(arg_set_id, 'function') not glob '0x*') from ftrace_event"

# ---- all that this kernel has

# An emulator takes its time to turn a thousand of them on.
cat >"$TMP/config" <<'CONFIG'
buffers { size_kb: 65536 }
data_sources { config { name: "linux.ftrace" ftrace_config { ftrace_events: "*/*" buffer_size_kb: 16384 } } }
flush_timeout_ms: 60000
data_source_stop_timeout_ms: 60000
CONFIG
"$BIN/sonda" record -c "$TMP/config" -o "$OUT/everything.pftrace" -- sleep 1 >"$TMP/log" 2>&1 &&
  grep -q '^ *lost *nothing' "$TMP/log"
verdict "all events at once: exit code 0, nothing lost" $? "$TMP/log"
sed 's/^/# /' "$TMP/log"
is_true everything "many kinds" "select count(distinct name) > 50 from ftrace_event"
exit $BAD
