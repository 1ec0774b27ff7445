#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# tracefs: alone
#
# Thresholds of linux.ebpf_counters, on the real kernel: threads that wait for one CPU push the run-queue latency above 20 ms,
# and a flight recorder that nothing else ends stops, or writes a snapshot.
. "$(dirname "$0")/lib.sh"
need_tracefs
[ -e /sys/kernel/btf/vmlinux ] || { echo "the kernel has no BTF" >&2; exit 77; }
cpu=$(taskset -pc $$ | sed 's/.*[ ,-]//')
use_sockets "$TMP"
start_service sonda "$TMP" && start_probes sonda "$TMP" || exit 1

until_true() { # COMMAND...
  for ((i = 0; i < 300; i++)); do
    "$@" && return 0
    sleep 0.1
  done
  return 1
}
has_started() { grep -q "$1" <("$BIN/sonda" status 2>/dev/null); }
both_started() { [ "$("$BIN/sonda" sessions | grep -cE '^[0-9]+ .* STARTED ')" = 2 ]; }
snapshots() { (cd "$TMP" && find . -name "$1" -size +0 -printf "$TMP/%P\n" | sort -V); } # PATTERN: those that are there
more_than() { [ "$(snapshots "$2" | wc -l)" -gt "$1" ]; } # HOW MANY PATTERN
ended() { ! kill -0 "$1" 2>/dev/null; }
# Each waits for all others: with a slice of 3 ms or so, 240 ms. A busy machine has some tens of ms of its own.
load() {
  for ((k = 0; k < 80; k++)); do
    taskset -c "$cpu" sh -c 'while :; do :; done' &
    LOAD+=($!)
    PIDS+=($!)
  done
}
unload() {
  kill "${LOAD[@]}"
  wait "${LOAD[@]}" 2>/dev/null
  LOAD=()
}
LOAD=()
# What the trace says: its triggers, and the largest p99.
judge() { # NAME TRACE FIELD NS
  protoc -Iprotos --decode=perfetto.protos.Trace protos/trace/trace.proto <"$2" 2>/dev/null | grep -A6 "^  $3 {" >"$TMP/trigger"
  grep -q 'trigger_name: "late"' "$TMP/trigger" && grep -q 'producer_name: "perfetto.traced_probes"' "$TMP/trigger"
  verdict "$1: the trigger is in the trace" $? "$TMP/trigger"
  query "$2" "select count(*) as x from counter c join track t on t.id = c.track_id where t.name = 'runq latency p99' and c.value > $4" \
    "select 'stats ' || name || ' ' || value as bad from stats where severity = 'error' and value > 0" >"$TMP/rows"
  grep -q '"x":[1-9]' "$TMP/rows" && ! grep -q '"bad"' "$TMP/rows"
  verdict "$1: and the value that fired it" $? "$TMP/rows"
}

"$BIN/sonda" record -c configs/ebpf-flight-recorder.cfg -o "$TMP/stop" >"$TMP/log" 2>&1 &
recorder=$!
PIDS+=("$recorder")
until_true has_started STARTED
if grep -q 'was built without' "$TMP/probes.log"; then echo "this build has no eBPF counters" >&2; exit 77; fi
load
until_true ended $recorder
verdict "STOP_TRACING: the recorder ends" $? "$TMP/log"
unload
judge STOP_TRACING "$TMP/stop" trigger 20e6
grep -qE 'runq latency p99 is [0-9.e+]+, above 2e\+07: trigger late' "$TMP/probes.log"
verdict "sonda-probes says what fired" $? "$TMP/probes.log"

sed 's/STOP_TRACING/CLONE_SNAPSHOT/; s/stop_delay_ms: 1000/stop_delay_ms: 100/
  s/above: 20000000/above: 100000000/; s/^      families: RUNQ/&\n triggers { counter: "no such*" above: 1 name: "never" } triggers { name: "half" }/' \
  configs/ebpf-flight-recorder.cfg >"$TMP/config"
# Perfetto's own program asks for the snapshots; its text configs do not have our fields.
protoc -Iprotos --encode=perfetto.protos.TraceConfig protos/config/trace_config.proto <"$TMP/config" >"$TMP/config.pb"
"$PEERS/run" perfetto -c "$TMP/config.pb" -o "$TMP/snap" >"$TMP/log" 2>&1 &
recorder=$!
"$BIN/sonda" record -c "$TMP/config" -o "$TMP/ours.trace" >"$TMP/ours.log" 2>&1 &
ours=$!
PIDS+=("$recorder" "$ours")
until_true both_started
# A snapshot that comes before all data sources have started has no statistics: then there is another load.
saved="snapshot $TMP/ours.[0-9]*.trace: trigger 'late' of perfetto.traced_probes at .* events( from .* s before it)?; lost nothing"
for ((round = 0; round < 5; round++)); do
  theirs=$(snapshots 'snap.*' | wc -l) own=$(snapshots 'ours.*.trace' | wc -l)
  load
  until_true more_than "$theirs" 'snap.*' && until_true more_than "$own" 'ours.*.trace'
  status=$?
  unload
  [ $status = 0 ] && ! grep -qE "$saved" "$TMP/ours.log" || break
  sleep 1
done
verdict "CLONE_SNAPSHOT: there is a snapshot, and the recorder goes on" $status "$TMP/log"
kill -0 $recorder && kill -INT $recorder $ours
until_true ended $recorder && until_true ended $ours
grep -qE "$saved" "$TMP/ours.log"
verdict "sonda record saves one as well, and says why" $? "$TMP/ours.log"
judge CLONE_SNAPSHOT "$(snapshots 'snap.*' | tail -n 1)" clone_snapshot_trigger 100e6
# The trace does not say whose counters the trigger is of: both sessions have them.
[ "$(trace_errors "$(snapshots 'ours.*.trace' | tail -n 1)")" = '[]' ]
verdict "the snapshot is a whole trace" $?
grep -q 'triggers: an entry is skipped: it needs counter, above and name' "$TMP/probes.log" &&
  grep -q 'triggers: there was no counter "no such\*" for the trigger never' "$TMP/probes.log"
verdict "triggers that make no sense are reported" $? "$TMP/probes.log"
stop_all
echo "1..$N"
exit $BAD
