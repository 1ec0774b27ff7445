#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The service of all users, attacked by a producer of uid 4242, by a consumer of that uid, and by one that is a member of the
# consumers' group: root's recording beside that loses nothing.
#
# kernels: none
# tracefs: shared
. "$(dirname "$0")/lib.sh"
needs_commands setpriv

chmod 755 "$TMP"
mkdir -m 777 "$TMP/out"
cp "$BIN/sonda" "$B/tests/system/service_flood" "$TMP"
start_for_all_users root:0666
as_4242=(setpriv --reuid 4242 --regid "$members" --clear-groups)
as_member=(setpriv --reuid 4244 --regid 4244 --groups "$members")

config() { # NAME LINE...
  local name=$1
  shift
  printf '%s\n' "$@" >"$TMP/$name"
}
refused() { # CONFIG PATTERN: to the consumer
  ! "${as_consumer[@]}" "$TMP/sonda" record -c "$TMP/$1" -o "$TMP/out/trace" >"$TMP/log" 2>&1 && grep -q "$2" "$TMP/log"
}
roots_recording_loses_nothing() { # WHAT
  "$BIN/sonda" record --strict -c "$TMP/root" -o "$TMP/trace" >"$TMP/record.log" 2>&1 && [ "$(events_in "$TMP/trace")" -gt 100 ]
  verdict "$1" $? "$TMP/record.log"
}
ftrace='data_sources { config { name: "linux.ftrace" ftrace_config { ftrace_events: "sched/*" drain_period_ms: 20 } } }'
config root 'duration_ms: 1500' 'buffers { size_kb: 65536 }' "$ftrace"

# ---- a consumer

config small 'duration_ms: 300' 'buffers { size_kb: 1024 }' 'producers { producer_name: "perfetto.traced_probes" shm_size_kb: 4 page_size_kb: 4 }' "$ftrace"
config fifo 'duration_ms: 300' "$ftrace" 'buffers { size_kb: 1024 }' 'priority_boost { policy: POLICY_SCHED_FIFO priority: 99 }'
config lockdown 'duration_ms: 300' "$ftrace" 'buffers { size_kb: 1024 }' 'lockdown_mode: LOCKDOWN_SET'
attack() { # NAME COMMAND that becomes another user...
  local as_consumer=("${@:2}") memory
  "${as_consumer[@]}" "$TMP/sonda" record -c "$TMP/small" -o "$TMP/out/trace" >"$TMP/log" 2>&1
  memory=$(sed -n 's/^\([0-9a-f]*\)-\([0-9a-f]*\) rw-s.*memfd:.*/0x\2 - 0x\1/p' "/proc/$probes/maps" | head -n 1)
  grep -q '^Recorded' "$TMP/log" && [ $((memory)) -gt 4096 ]
  verdict "$1: the memory of sonda-probes is not what its config says" $? "$TMP/log"
  roots_recording_loses_nothing "$1: after it, root's recording loses nothing"
  refused fifo 'priority_boost needs root'
  verdict "$1: priority_boost is refused" $? "$TMP/log"
  refused lockdown 'lockdown_mode.* only root may set it'
  verdict "$1: a lockdown is refused" $? "$TMP/log"
  roots_recording_loses_nothing "$1: after both, root's recording loses nothing"
  rm -f "$TMP/out/trace"
}
attack "uid 4242" "${as_4242[@]}"
attack "a member of the group" "${as_member[@]}"

# ---- a producer

flood() { # packets|requests PROCESSES: while root records what they send, in a buffer of its own
  local i
  config root 'duration_ms: 3000' 'buffers { size_kb: 65536 }' 'buffers { size_kb: 131072 }' "$ftrace" \
    'data_sources { config { name: "flood" target_buffer: 1 } }' 'write_into_file: true' 'file_write_period_ms: 500' 'flush_timeout_ms: 1000'
  flooders=()
  for ((i = 0; i < $2; i++)); do
    "${as_4242[@]}" "$TMP/service_flood" "$1" flood >"$TMP/flood.log" 2>&1 &
    flooders+=($!)
    PIDS+=($!)
  done
  wait_for eval '"$BIN/sonda" status | grep -q flood'
}
# The kernel's statistics of the data source, and the events that are in the trace.
no_event_is_lost() { # WHAT
  "$BIN/sonda" record -c "$TMP/root" -o "$TMP/trace" >"$TMP/record.log" 2>&1 &&
    grep -q '^begins' "$TMP/flood.log" && [ "$(events_in "$TMP/trace")" -gt 100 ] &&
    ! grep -qE 'shared memory|holes|\(64 MiB\)|kernel|linux.ftrace' "$TMP/record.log"
  verdict "$1" $? "$TMP/record.log"
}
stop_flood() {
  kill "${flooders[@]}" 2>/dev/null
  wait "${flooders[@]}" 2>/dev/null
}

flood packets 1
no_event_is_lost "beside packets of 64 MB of uid 4242, root's recording loses no event"
stop_flood

policy_and_nice() { # sets $now
  local stat
  read -r stat <"/proc/$service/stat"
  read -ra stat <<<"${stat##*) }"
  now="${stat[38]} ${stat[16]}"
}
# A unit has its limits only where systemd may raise them.
has_real_time() { [ -z "${INSTALLED:-}" ] || grep -qE '^Max realtime priority +[1-9]' "/proc/$service/limits"; }
if chrt -f 1 nice -n -20 true 2>/dev/null; then
  policy_and_nice
  usual=$now
  flood requests 4
  "$BIN/sonda" record -c "$TMP/root" -o "$TMP/trace" >"$TMP/record.log" 2>&1 &
  recorder=$!
  PIDS+=("$recorder")
  # Looks without priority between two with real time: before and after the session there is no priority either.
  ordinary=0 since=-1000000 looks=0
  wait_for grep -q '^begins' "$TMP/flood.log"
  while kill -0 "$recorder" 2>/dev/null; do
    policy_and_nice
    case $now in
      "1 "*) [ "$since" -lt 0 ] || ordinary=$((ordinary + since)); since=0 ;;
      "$usual") since=$((since + 1)) ;;
    esac
    looks=$((looks + 1))
    sleep 0.005
  done
  wait "$recorder"
  echo "# without priority in $ordinary of $looks looks"
  if has_real_time; then
    [ "$ordinary" -gt 0 ]
    verdict "after its budget, a flood of requests of uid 4242 has no priority" $? "$TMP/record.log"
  else
    skip "after its budget, a flood of requests of uid 4242 has no priority" "the unit has no right to real time here"
  fi
  ! grep -qE 'shared memory|holes|\(64 MiB\)|kernel|linux.ftrace' "$TMP/record.log" && [ "$(events_in "$TMP/trace")" -gt 100 ]
  verdict "beside it, root's recording loses no event" $? "$TMP/record.log"
  stop_flood
fi
exit "$BAD"
