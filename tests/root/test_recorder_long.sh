#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# check: heavy
# kernels: none
# tracefs: shared
#
# sonda recorder: the ring stays within its size and age; a file system that becomes full, and has room again; kill -9 of its
# sondad and of its sonda-probes; --in-kernel with a full file system.
. "$(dirname "$0")/lib.sh"
needs_own_mounts
ring=$TMP/ring
details() { cat "$TMP/run.log" "$TMP/state"; }
# Its directory is in a mount of its own, which is reached through the process.
run() { # ARGUMENT...: of sonda recorder run, in ${PIDS[-1]}
  # shellcheck disable=SC2016
  start_daemon SONDA_RECORDER_NOTIFY_FD "$TMP/run.log" unshare --mount --propagation private bash -c \
    'mkdir -p "$1" && mount -t tmpfs -o size=100m,mode=700 none "$1" && exec "$2" recorder run --dir "$1" "${@:3}"' \
    bash "$ring" "$SONDA" "$@"
  pid=${PIDS[-1]} inside=/proc/${PIDS[-1]}/root$ring
}
state() { sed -n 's/^what //p' "$inside/state" | tee "$TMP/state"; }
is() { [ "$(state)" = "$1" ]; }
count() { find "$inside" -name 'part-*' 2>/dev/null | wc -l; }
bytes() { find "$inside" -name 'part-*' -printf '%s\n' 2>/dev/null | awk '{ s += $1 } END { print s + 0 }'; }
newest() { find "$inside" -name 'part-*' 2>/dev/null | sed 's/.*part-0*\([0-9]*\)-.*/\1/' | sort -n | tail -n 1; } # session
child() { pgrep -P "$pid" -x "$1"; }
# Until a condition holds, but at least for some seconds: does the ring have more bytes than that at any time?
stays_below() { # BYTES SECONDS
  local i
  for i in $(seq $(($2 * 10))); do
    [ "$(bytes)" -le "$1" ] || { echo "$(bytes) bytes" >"$TMP/state"; return 1; }
    sleep 0.1
  done
}

run --part 3s --keep 8m --size 16mb minimal sched '*:*sys_enter*' '*:*sys_exit*'
verdict "it records" $? "$TMP/run.log"
timeout 15 bash -c 'while :; do head -c 1000000 /dev/zero | dd bs=10 of=/dev/null; done' 2>/dev/null &
stays_below 16777216 12
verdict "the ring stays within its size" $?
[ "$(bytes)" -gt 8000000 ] && ! [ -e "$inside/part-000001-$(head -c 8 /proc/sys/kernel/random/boot_id).000001.pftrace" ]
verdict "it has most of its size, and the oldest parts are gone" $? <(ls -l "$inside")
wait $!

# ---- a full file system

head -c $((96 << 20)) /dev/zero >"$inside/other" 2>/dev/null
wait_for is waiting && grep -q '^why the file system is nearly full$' "$inside/state" && grep -q 'nearly full' "$TMP/run.log"
verdict "a full file system: the recorder waits, and says so" $?
kept=$(count)
[ "$kept" -gt 0 ] && kill -0 "$pid"
verdict "a full file system: its parts stay" $?
"$SONDA" snapshot --dir "$inside" -o "$TMP/full.pftrace" recorder 2>"$TMP/summary" && grep -q 'the file system is nearly full' "$TMP/summary"
verdict "a full file system: a snapshot has what is there" $? "$TMP/summary"
n=$(newest)
rm "$inside/other"
wait_for is recording && wait_for eval '[ "$(newest)" -gt "$n" ]'
verdict "it goes on when there is room" $?

# ---- its daemons

for daemon in sondad sonda-probes; do
  why='sonda-probes was killed by signal 9; the parts'
  [ $daemon = sonda-probes ] || why='service disconnected.*; the parts'
  n=$(newest)
  sleep 1
  victim=$(child $daemon)
  kill -KILL "$victim"
  wait_for eval '[ "$(newest)" -gt "$n" ]' && wait_for is recording && [ "$(child $daemon)" != "$victim" ] &&
    grep -q "$why" "$TMP/run.log"
  verdict "kill -9 of $daemon: it begins again" $?
done
mkdir "$TMP/parts"
cp "$inside"/part-* "$TMP/parts" 2>/dev/null # of which some are removed meanwhile
for part in "$TMP/parts"/part-*; do
  [ ! -s "$part" ] || "$SONDA" info "$part" >/dev/null 2>"$TMP/info" || { echo "$part" >>"$TMP/info"; break; }
done
! grep -q part- "$TMP/info"
verdict "every part opens" $? "$TMP/info"
"$SONDA" snapshot --dir "$inside" -o "$TMP/all.pftrace" recorder 2>"$TMP/summary" && [ "$(sed -n 's/^restarts //p' "$inside/state")" = 2 ]
verdict "a snapshot has them all" $? "$TMP/summary"
old=$(find "$inside" -name 'part-*' | sort | head -n 1)
touch -d '20 minutes ago' "$old"
wait_for [ ! -e "$old" ]
verdict "parts that are too old are removed" $?

kill "$pid"
wait "$pid"
verdict "SIGTERM ends it well" $? "$TMP/run.log"

# ---- events in the kernel, and a full file system

run --in-kernel --size 4mb sched
cp /bin/sh "$TMP/not-lost" && "$TMP/not-lost" -c 'for i in 1 2 3 4 5; do sleep 0.01; done'
head -c $((101 << 20)) /dev/zero >"$inside/other" 2>/dev/null
"$SONDA" snapshot --dir "$inside" -o "$TMP/kernel.pftrace" recorder 2>"$TMP/summary" &&
  "$SONDA" sql --csv "$TMP/kernel.pftrace" "select name from thread where name = 'not-lost'" 2>>"$TMP/summary" | grep -q not-lost
verdict "in the kernel, a full file system: a snapshot on another one has the events" $? "$TMP/summary"
again() { [ "$(sed -n 's/^restarts //p' "$inside/state")" = 1 ] && is recording; }
wait_for again
verdict "in the kernel, a full file system: it records on" $? "$TMP/state" "$TMP/run.log"
kill "$pid"
wait "$pid"
! compgen -G "$TRACEFS/instances/sonda-kept-recorder-*" >"$TMP/kept"
verdict "in the kernel, a full file system: SIGTERM leaves no instance" $? "$TMP/kept" "$TMP/run.log"
PIDS=()
exit $BAD
