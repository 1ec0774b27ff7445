#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# tracefs: shared
#
# Probes of a session's own, recorded through Perfetto's service: trace_processor shows each call with its arguments, by
# the names that the config gives them.
. "$(dirname "$0")/lib.sh"
need_tracefs
[ -e /sys/kernel/tracing/uprobe_events ] || { echo "the kernel has no uprobe_events" >&2; exit 77; }
[ "$(uname -m)" = x86_64 ] || { echo "the names of this machine's registers are not known here" >&2; exit 77; }

use_sockets "$TMP"
cp "$B/tests/root/probed" "$TMP/probed"
at=$TMP/probed:$("$TMP/probed" offset)
cat >"$TMP/config" <<END
buffers { size_kb: 4096 }
duration_ms: 4000
data_sources { config { name: "linux.ftrace" ftrace_config {
  uprobe_events: "p:mine/known $at a=%di:s32 s=+0(%si):string b=%dx:u64"
  uprobe_events: "r:mine/back $at value=\$retval:s32"
  uprobe_events: "s:mine/whole $at a=%di:s32 -> value=\$retval:s32"
} } }
END
# traced does not say who asks.
trusting=$TMP/trusting-probes
printf '#!/bin/sh\nexec "%s/sonda-probes" --trust-consumers "$@"\n' "$BIN" >"$trusting"
chmod +x "$trusting"
start_service perfetto "$TMP" && PROBES=$trusting start_probes sonda "$TMP"
verdict "Perfetto's service and our probes start" $? "$TMP/probes.log"

# Everything that is registered, and what the service may expect of it; a + has its state cleared when asked to.
"$PEERS/run" perfetto --query-raw 2>"$TMP/log" |
  protoc -Iprotos --decode=perfetto.protos.TracingServiceState protos/common/tracing_service_state.proto >"$TMP/state"
awk '/ds_descriptor/ { inside = 1; name = clears = ""; start = stop = 0 }
  $1 == "name:" && inside && !name { name = $2 }
  $1 == "will_notify_on_start:" { start = $2 == "true" }
  $1 == "will_notify_on_stop:" { stop = $2 == "true" }
  $1 == "handles_incremental_state_clear:" && $2 == "true" { clears = "+" }
  inside && $1 == "}" { print name clears (start && stop ? "" : " does not answer"); inside = 0 }' "$TMP/state" |
  tr -d '"' | sort >"$TMP/sources"
sort >"$TMP/expected" <<END
linux.ftrace
linux.frozen_ftrace
linux.process_stats+
linux.sys_stats+
linux.system_info
linux.sysfs_power
linux.systemd_journald
linux.cgroup_stats+
linux.network_stats+
linux.ebpf_counters+
linux.perf+
END
comm -23 "$TMP/expected" "$TMP/sources" >"$TMP/diff"
grep 'does not answer' "$TMP/sources" >>"$TMP/diff"
! [ -s "$TMP/diff" ]
verdict "the service knows each source of ours with what it answers to" $? "$TMP/diff"
record sonda "$TMP/config" "$TMP/trace" "$TMP/log" &
recorder=$!
is_on() { grep -qs 1 /sys/kernel/tracing/instances/sonda-"${PIDS[-1]}"-*/tracing_on; }
for _ in $(seq 100); do is_on && break; sleep 0.1; done
"$TMP/probed" 50
wait $recorder
verdict "sonda record gets them past it" $? "$TMP/log"

value() { echo "extract_arg(arg_set_id, '$1')"; }
query "$TMP/trace" "select count(*) as n, count(distinct $(value a)) as a, sum($(value b)) as b,
  sum($(value s) = 'text ' || $(value a)) as s from ftrace_event where name = 'known'" \
  "select count(*) as n, sum($(value value)) as value from ftrace_event where name = 'back'" \
  "select count(*) as n, sum(dur > 0) as whole from slice join thread_track on thread_track.id = track_id where slice.name = 'whole'" >"$TMP/rows"
[ "$(sed -n 1p "$TMP/rows")" = '[{"n":50,"a":50,"b":1225000,"s":50}]' ]
verdict "trace_processor shows every call with its arguments" $? "$TMP/rows"
[ "$(sed -n 2p "$TMP/rows")" = '[{"n":50,"value":8575}]' ]
verdict "trace_processor shows the result of every call" $? "$TMP/rows"
[ "$(sed -n 3p "$TMP/rows")" = '[{"n":50,"whole":50}]' ]
verdict "trace_processor shows each call of a span as a slice of its thread" $? "$TMP/rows"
[ "$(trace_errors "$TMP/trace")" = '[]' ]
verdict "trace_processor has no complaint" $? "$TMP/tpq.err"
exit $BAD
