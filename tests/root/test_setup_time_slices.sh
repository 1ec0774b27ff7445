#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# kernels: none
#
# Setting up a session of every event and of large rings, and taking it down, takes the kernel a second and more. Others
# record meanwhile as if it were not there: a session with a ring that fills in a part of that time loses nothing, though
# it is read in short steps. A session that is stopped while it is set up leaves nothing behind.
. "$(dirname "$0")/lib.sh"

start_ready TRACED_NOTIFY_FD "$TMP/service.log" "$BIN/sondad"
start_ready TRACED_PROBES_NOTIFY_FD "$TMP/probes.log" "$BIN/sonda-probes"
probes=${PIDS[-1]}
picture >"$TMP/before"
# The top level's ring, which such a session has as well, is as large.
ram_kb=$(sed -n 's/^MemAvailable: *\([0-9]*\).*/\1/p' /proc/meminfo)
large=$((ram_kb / 20 / $(nproc)))
[ $large -le 131072 ] || large=131072

config() { # NAME FTRACE_CONFIG
  printf 'buffers { size_kb: 524288 }\ndata_sources { config { name: "linux.ftrace" ftrace_config { %s } } }\n' "$2" \
    >"$TMP/$1.cfg"
}
config small 'ftrace_events: "sched/sched_switch" drain_period_ms: 20 buffer_size_kb: 16384 compact_sched { enabled: false }
  event_filters { event: "sched/sched_switch" filter: "prev_comm == \"ping_pong\" || next_comm == \"ping_pong\"" }'
config large "ftrace_events: '*' buffer_size_kb: $large"

record_in_background "$TMP/small.log" -c "$TMP/small.cfg" -o "$TMP/small.trace"
small=${PIDS[-1]}
"$B/tests/root/ping_pong" 100000000 >/dev/null 2>&1 &
PIDS+=($!)
"$BIN/sonda" record -c "$TMP/large.cfg" -o "$TMP/large.trace" -- true >"$TMP/large.log" 2>&1
verdict "a session of every event, with large rings, comes and goes" $? "$TMP/large.log"

# Once it has made its instance.
"$BIN/sonda" record -c "$TMP/large.cfg" -o "$TMP/stopped.trace" >"$TMP/stopped.log" 2>&1 &
PIDS+=($!)
begins() { [ "$(compgen -G "$TRACEFS/instances/sonda-$probes-*" | wc -l)" = "$1" ]; } # HOW MANY
for _ in $(seq 100000); do ! begins 2 || break; done
kill -TERM "${PIDS[-1]}"
wait "${PIDS[-1]}"
unset 'PIDS[-1]'
is_whole "$TMP/stopped.trace" || grep -q 'the session ended while it was being set up' "$TMP/stopped.log"
verdict "one that is stopped while it is set up has records, or says why not" $? "$TMP/stopped.log"
wait_for begins 1
verdict "one that is stopped while it is set up leaves nothing behind" $?

kill -TERM "${PIDS[-1]}" "$small"
wait "$small"
events=$(events_in "$TMP/small.trace")
# What the service refused is of the session that was stopped: its last chunks, for a buffer that is gone.
losses() {
  awk '/^  lost / { print; in_it = 1; next } in_it && /^   / { print; next } { in_it = 0 }' "$TMP/small.log" |
    grep -vE '^ *(lost +)?(nothing|service: rejected during the recording, from this or another session: [0-9]+ chunks, 0 patches)$'
}
[ "${events:-0}" -gt 50000 ] && grep -q '^  lost ' "$TMP/small.log" && ! losses
verdict "a session beside them has lost nothing ($events events)" $? "$TMP/small.log"
picture | diff "$TMP/before" - >"$TMP/diff"
verdict "tracefs is as it was" $? "$TMP/diff"

# With sonda-probes itself gone in the middle of it.
"$BIN/sonda" record -c "$TMP/large.cfg" -o "$TMP/gone.trace" >"$TMP/gone.log" 2>&1 &
PIDS+=($!)
for _ in $(seq 100000); do ! begins 1 || break; done
kill -TERM "$probes"
wait "$probes"
begins 0
verdict "SIGTERM while a session is set up leaves nothing behind" $? "$TMP/probes.log"
picture | diff "$TMP/before" - >"$TMP/diff"
verdict "tracefs is as it was then" $? "$TMP/diff"
exit $BAD
