#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# tracefs: top
#
# The flight recorder of configs/: sonda record with CLONE_SNAPSHOT saves a snapshot at each trigger and goes on, with each
# family's service and probes on the other end. Each snapshot must load in trace_processor with no error, hold the threads
# that ran before it, and say which trigger it is for.
. "$(dirname "$0")/lib.sh"
need_tracefs

"$B/tests/interop/named_threads" 6 120 >"$TMP/tids" &
load=$!

until_true() { # COMMAND...
  local i
  for ((i = 0; i < 300; i++)); do
    "$@" >/dev/null 2>&1 && return 0
    sleep 0.05
  done
  return 1
}
ended() { ! kill -0 "$1" 2>/dev/null; }
logged() { grep -qE "$1" "$dir/log"; }
config() { # SED...
  sed -e 's/stop_delay_ms: 500/stop_delay_ms: 100/; s/size_kb: 65536/size_kb: 8192/; s/ftrace_config {/& drain_period_ms: 50/' \
    -e 's/max_per_24_h: 50//' "$@" configs/flight-recorder.cfg
}
recorder() { # OPTION... <CONFIG: sets pid; its words come to $dir/log
  : >"$dir/log"
  "$BIN/sonda" record -c - "$@" <&0 2>"$dir/log" &
  pid=$!
  PIDS+=("$pid")
  until_true logged 'a snapshot is saved on trigger' && until_true all_record
}
all_record() {
  local tracing
  grep -q 'STARTED' <("$BIN/sonda" sessions) || return 1
  for tracing in "/sys/kernel/tracing/instances/sonda-$probes_pid"-*; do :; done
  [ "$probes" = sonda ] || tracing=/sys/kernel/tracing
  grep -qsx 1 "$tracing/tracing_on" && grep -qsx 1 "$tracing/events/sched/sched_switch/enable"
}
ends() { # EXIT_CODE
  until_true ended "$pid" || return 1
  wait "$pid"
  [ $? = "$1" ]
}
is_good() { # WHAT TRACE
  query "$2" "select name, idx, value from stats where severity in ('error', 'data_loss') and value > 0" \
    "select count(distinct t.name) as n from sched s join thread t using (utid) where t.name glob 'sonda-t*'" >"$dir/answers" 2>&1
  grep -qx '\[\]' "$dir/answers" && grep -qx '\[{"n":6}\]' "$dir/answers"
  verdict "$1" $? "$dir/answers"
  protoc -Iprotos --decode=perfetto.protos.Trace protos/trace/trace.proto <"$2" 2>/dev/null |
    grep -A6 '^  clone_snapshot_trigger {' >"$dir/why"
  grep -q 'trigger_name: "slow-request"' "$dir/why" && grep -q 'producer_name: "sonda"' "$dir/why"
  verdict "$1: and says what for" $? "$dir/why"
}
begin() { # SERVICE PROBES
  what="$1's service, $2's probes" dir=$TMP/$1-$2 probes=$2
  mkdir "$dir"
  use_sockets "$dir"
  start_service "$1" "$dir" && start_probes "$2" "$dir"
  verdict "$what: start" $?
  probes_pid=${PIDS[-1]}
}

# ---- what each pair does ----

for pair in "sonda sonda" "perfetto sonda" "sonda perfetto"; do
  # shellcheck disable=SC2086
  begin $pair
  echo mine >"$dir/slow.1.trace"
  recorder -o "$dir/slow.trace" < <(config)
  verdict "$what: the recorder waits" $? "$dir/log"
  sleep 0.5
  "$BIN/sonda" trigger slow-request
  until_true test -s "$dir/slow.0.trace"
  verdict "$what: a trigger saves a snapshot" $? "$dir/log"
  "$BIN/sonda" trigger slow-request
  until_true test -s "$dir/slow.2.trace" && [ "$(cat "$dir/slow.1.trace")" = mine ]
  verdict "$what: so does the next one, which does not overwrite a file of another program" $? "$dir/log"
  kill -INT "$pid"
  ends 0
  verdict "$what: Ctrl-C ends it well" $? "$dir/log"
  grep -q '^Recorded .*: 2 snapshots$' "$dir/log" &&
    [ "$(grep -cE "^ .* $dir/slow\.[02]\.trace: trigger 'slow-request' of sonda at 20.*, [0-9.]+ [KM]iB, [0-9,]+ events from [0-9.]+ s before it; lost nothing" "$dir/log")" = 2 ] &&
    [ ! -e "$dir/slow.trace" ]
  verdict "$what: the summary names both" $? "$dir/log"
  is_good "$what: the second is good" "$dir/slow.2.trace"
  [ "$pair" = "sonda sonda" ] || { stop_all; continue; }

  # ---- what may happen meanwhile ----

  is_good "and so is the first" "$dir/slow.0.trace"

  recorder -o "$dir/many" < <(config -e 's/stop_delay_ms: 100//')
  for ((k = 0; k < 20; k++)); do "$BIN/sonda" trigger slow-request; done
  kill -INT "$pid"
  ends 0
  verdict "Ctrl-C right after triggers: it ends well" $? "$dir/log"
  [ "$(find "$dir" -name 'many.*' -size +0 | wc -l)" = 20 ] && grep -q ': 20 snapshots$' "$dir/log"
  verdict "Ctrl-C right after triggers: each trigger has its snapshot" $? "$dir/log"

  recorder -o "$dir/over" < <(config -e 's/trigger_timeout_ms: .*/trigger_timeout_ms: 5000/' -e 's/stop_delay_ms: 100//')
  "$BIN/sonda" trigger slow-request
  ends 0 && [ -s "$dir/over.0" ]
  verdict "the end of its time ends it as well" $? "$dir/log"

  mkdir "$dir/full" && mount -t tmpfs -o size=32m none "$dir/full"
  head -c 64000000 /dev/zero >"$dir/full/filler" 2>/dev/null
  recorder --strict -o "$dir/full/slow" < <(config)
  "$BIN/sonda" trigger slow-request
  until_true logged 'not saved: .*No space left'
  verdict "a full disk is reported" $? "$dir/log"
  rm "$dir/full/filler"
  sleep 0.2
  "$BIN/sonda" trigger slow-request
  until_true logged "snapshot .*/full/slow.* lost nothing"
  verdict "after a full disk the next snapshot has room" $? "$dir/log"
  kill -INT "$pid"
  ends 3
  verdict "--strict: what had no room is a loss" $? "$dir/log"
  umount "$dir/full"

  recorder -o "$dir/killed" < <(config)
  "$BIN/sonda" trigger slow-request
  until_true test -s "$dir/killed.0"
  kill -KILL "${PIDS[0]}"
  wait "${PIDS[0]}" 2>/dev/null
  ends 1 && grep -q 'the tracing service disconnected while recording' "$dir/log" && grep -q ': 1 snapshot$' "$dir/log"
  verdict "sondad is killed: that is reported, and the snapshot stays" $? "$dir/log"
  stop_all
done

kill $load
wait $load
echo "1..$N"
exit $BAD
