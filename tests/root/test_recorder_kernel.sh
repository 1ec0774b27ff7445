#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# check: long
# kernels: none
# tracefs: shared
#
# sonda recorder --in-kernel: no process of it runs while it is armed; what it records, snapshots, a trigger, names of threads
# that ended meanwhile; kill -9 of each of its programs; what it leaves behind.
. "$(dirname "$0")/lib.sh"
ring=$TMP/ring
run() { # ARGUMENT...: of sonda recorder run, in ${PIDS[-1]}
  start_daemon SONDA_RECORDER_NOTIFY_FD "$TMP/run.log" "$SONDA" recorder run --dir "$ring" --in-kernel --size 4mb "$@"
}
status() { "$SONDA" recorder status --dir "$ring" "$@"; }
key() { status --json | sed -E "s/.*\"$1\":\"?([^,\"}]*).*/\1/"; }
is() { [ "$(key state)" = "$1" ]; }
details() { cat "$TMP/run.log" "$ring/state"; }
kept() { # the instances of this ring
  local hash
  hash=$(python3 -c 'import sys
h = 0xcbf29ce484222325
for b in sys.argv[1].encode():
    h = (h ^ b) * 0x100000001b3 % 2**64
print("%012x" % (h >> 16))' "$ring")
  find $TRACEFS/instances -maxdepth 1 -name "sonda-kept-recorder-$hash*"
}
trap '[ "$BASHPID" != $$ ] || { leave; kept | xargs -r rmdir; }' EXIT
# A process with this name, which is gone when it returns. It runs several times: some kernels do not record each switch.
mark() { # NAME
  cp /bin/sh "$TMP/$1" && "$TMP/$1" -c 'for i in 1 2 3 4 5; do sleep 0.01; done'
}
snapshot() { # FILE
  "$SONDA" snapshot --dir "$ring" --last 5m -o "$TMP/$1" recorder 2>"$TMP/summary"
}
has() { # FILE NAME: with its process, and one thread
  [ "$("$SONDA" sql "$TMP/$1" "select count(*) from thread join process using (upid) where thread.name = '$2' and
    process.name like '%$2' and utid in (select utid from sched)" --csv | tail -n 1 | tr -d '\r')" = 1 ]
}
descendants() { # PID
  local child
  echo "$1"
  for child in $(cat "/proc/$1"/task/*/children 2>/dev/null); do descendants "$child"; done
}
# Of all threads: how often each slept and was preempted, and how long it ran.
scheduled() {
  local pid task
  for pid in $(descendants "$1"); do
    for task in "/proc/$pid"/task/*; do
      echo "$(<"$task/comm") ${task##*/} $(grep ctxt "$task/status" | tr '\n' ' ') $(<"$task/schedstat")"
    done
  done
}
load() { # [PAUSE]: until the file is gone, but not for long
  while [ -e "$TMP/busy" ] && [ $SECONDS -lt 90 ]; do sleep "${1:-0}"; done
}

"$SONDA" recorder run --dir "$ring" --in-kernel sched recorder 2>"$TMP/refused"
[ $? = 2 ] && grep -q -- '--in-kernel records only kernel events, but one of the words requires polls of linux.process_stats$' "$TMP/refused"
verdict "a word that needs another data source is refused" $? "$TMP/refused"
run --pause 60s --on trigger:mine sched
verdict "it is armed" $? "$TMP/run.log"
pid=${PIDS[0]}
[ "$(kept | wc -l)" = 2 ]
verdict "it has two instances" $? <(ls $TRACEFS/instances)
sleep 0.5 # what the start left to do
touch "$TMP/busy"
load 0.01 & # the small ring has to hold all of it
scheduled "$pid" >"$TMP/before"
sleep 11 # sondad would take a snapshot of the clocks every 10 s
scheduled "$pid" >"$TMP/after"
rm "$TMP/busy"
wait $!
diff "$TMP/before" "$TMP/after" >"$TMP/diff" && [ "$(wc -l <"$TMP/before")" -gt 3 ]
verdict "armed, none of its threads runs, under load" $? "$TMP/diff"
# A timer, however late, would end the wait of libevent every 35 minutes.
waits_forever() {
  local daemon call
  for daemon in "$pid" $(pgrep -P "$pid" -x 'sondad|sonda-probes'); do
    read -r -a call <"/proc/$daemon/syscall" || return 1
    [ "${call[0]}" = 232 ] || [ "${call[0]}" = 281 ] || [ "${call[0]}" = 22 ] || { echo "$daemon: call ${call[0]}"; return 1; }
    [ "${call[4]}" = 0xffffffff ] || { echo "$(<"/proc/$daemon/comm") waits for ${call[4]} ms"; return 1; }
  done >"$TMP/waits"
}
waits_forever
verdict "armed, none of its programs has a timer" $? "$TMP/waits"
status | grep -qE '^kernel    [0-9.]+ [KM]iB of 4 MiB, (nothing overwritten yet|complete for the last [0-9]+ (s|min))$' &&
  [ "$(key kernel_bytes)" -gt 10000 ] && [ "$(key in_kernel)" = true ] && [ "$(find "$ring" -name 'part-*' -size +0 | wc -l)" = 0 ]
verdict "status: what the kernel holds; nothing is on disk" $? <(status)

mark first
mark second
snapshot a && has a second && has a first
verdict "a snapshot has the names of threads that ended before it" $? "$TMP/summary"
"$SONDA" info "$TMP/a" >"$TMP/info" 2>&1 && grep -q '^  lost     nothing$' "$TMP/info" && is recording
verdict "it has lost nothing, and the recorder stays armed" $? "$TMP/info"
mark third
snapshot b && has b third && has b second && has b first
verdict "the next one has all of it, too" $? "$TMP/summary"

"$SONDA" trigger --dir "$ring" other && began=$(date +%s%N) && "$SONDA" trigger --dir "$ring" mine
saved() { compgen -G "$ring/snapshots/*-mine.pftrace.json"; }
wait_for saved && [ $(($(date +%s%N) - began)) -lt 2000000000 ] && cp "$ring"/snapshots/*-mine.pftrace "$TMP/c" && has c third
verdict "sonda trigger: a snapshot within 2 s" $? <(ls -l --full-time "$ring/snapshots"; date)

# ---- overwriting

touch "$TMP/busy"
load &
load &
overwrites() { [[ $(key kernel_covers_s) =~ ^[0-9]+$ ]]; }
wait_for overwrites
verdict "status: from when on the rings are complete" $? <(status --json)
snapshot d && grep -qE '^  rings    the kernel overwrote [0-9,]+ older events; complete for the last [0-9.]+ s$' "$TMP/summary" &&
  grep -q '^  lost     nothing$' "$TMP/summary" && grep -q 'covers only the last [0-9.]* s, not 300 s, because the kernel overwrote' "$TMP/summary"
verdict "what the kernel overwrote is counted, and is no loss" $? "$TMP/summary"
rm "$TMP/busy"
wait "$!"

# ---- kill -9

again() { [ "$(key restarts)" -gt "$restarts" ] && is recording; }
child() { pgrep -P "$pid" -x "$1"; }
for daemon in sonda-probes sondad; do
  mark "at-$daemon"
  restarts=$(key restarts)
  kill -KILL "$(child $daemon)"
  wait_for again && snapshot "$daemon" && has "$daemon" "at-$daemon" && has "$daemon" third
  verdict "kill -9 of $daemon: the next snapshot has what was in the kernel" $? "$TMP/summary"
done
mark last
{ kill -KILL "$pid"; wait "$pid"; } 2>/dev/null
dead() { ! pgrep -f -- "--output-dir $ring"; }
wait_for dead && run sched && snapshot e && has e last && has e third
verdict "kill -9 of the recorder: the next one has what was in the kernel" $? "$TMP/summary"
pid=${PIDS[-1]}
mark stopped
kill "$pid"
wait "$pid"
[ $? = 0 ] && [ -z "$(kept)" ]
verdict "SIGTERM ends it well, and leaves no instance" $? "$TMP/run.log"
snapshot f && has f stopped
verdict "the ring on disk has what was in the kernel" $? "$TMP/summary"
PIDS=()
exit $BAD
