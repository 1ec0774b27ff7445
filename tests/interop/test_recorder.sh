#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# tracefs: shared
#
# What trace_processor makes of a recorder's ring: each part alone, and the snapshot of parts of two sessions.
. "$(dirname "$0")/lib.sh"
need_tracefs
use_sockets "$TMP"
ring=$TMP/ring
run() {
  start_daemon SONDA_RECORDER_NOTIFY_FD "$TMP/run.log" "$SONDA" recorder run --dir "$ring" --part 1s --keep 1m sched minimal
}
parts() { find "$ring" -name 'part-*' | sort; }
has_parts() { [ "$(parts | wc -l)" -ge "$1" ]; }
one() { query "$1" "$2" | grep -oE '[0-9]+' | tail -n 1; } # TRACE SQL: the number it gives

run && wait_for has_parts 3 && kill "${PIDS[-1]}" && wait "${PIDS[-1]}"
verdict "a session of three parts" $? "$TMP/run.log"
first=$(parts | wc -l)
run && wait_for has_parts $((first + 3))
verdict "a second session" $? "$TMP/run.log"
"$SONDA" snapshot -q --dir "$ring" -o "$TMP/snapshot" recorder
verdict "a snapshot of both" $?
kill "${PIDS[-1]}"
wait "${PIDS[-1]}"

bad='' sum=0
for part in $(parts | head -n -1); do
  [ "$(trace_errors "$part")" = '[]' ] || bad+="$part: $(trace_errors "$part")"$'\n'
  # The first part of a session has a start, the others begin with a scan of all processes.
  [ "$(one "$part" "select count(*) from process where name like '%sondad'")" -gt 0 ] || bad+="$part does not name sondad"$'\n'
  sum=$((sum + $(one "$part" "select count(*) from sched")))
done
no_offenders "each part opens alone, with its processes" "$bad"
trace_errors "$TMP/snapshot" >"$TMP/errors"
[ "$(cat "$TMP/errors")" = '[]' ]
verdict "the snapshot opens without an error" $? "$TMP/errors"
# A part lacks the slices before the first packet of the other CPU, and the last part may have more.
n=$(one "$TMP/snapshot" "select count(*) from sched")
begin=$(one "$TMP/snapshot" "select min(ts) from sched")
end=$(one "$(parts | sed -n "${first}p")" "select max(ts) from sched")
[ "$n" -gt $((sum * 8 / 10)) ] && [ "$begin" -lt "$end" ]
verdict "the snapshot has the events of both sessions" $? <(echo "$n of $sum, from $begin; the first session ended at $end")
twice="select count(*) as n from (select ts from sched where cpu = 0 group by ts having count(*) > 1)"
query "$TMP/snapshot" "$twice" >"$TMP/twice"
grep -q '"n":0' "$TMP/twice"
verdict "the snapshot has each of them once" $? "$TMP/twice"

# ---- rings in the kernel

ring=$TMP/kernel
start_daemon SONDA_RECORDER_NOTIFY_FD "$TMP/run.log" "$SONDA" recorder run --dir "$ring" --in-kernel --size 8mb sched
verdict "rings in the kernel are armed" $? "$TMP/run.log"
cp /bin/sleep "$TMP/ended-before" && "$TMP/ended-before" 0.01
"$SONDA" snapshot -q --dir "$ring" -o "$TMP/first" recorder && "$SONDA" snapshot -q --dir "$ring" -o "$TMP/snapshot" recorder
verdict "two snapshots of them" $?
kill "${PIDS[-1]}"
wait "${PIDS[-1]}"
trace_errors "$TMP/snapshot" >"$TMP/errors"
[ "$(cat "$TMP/errors")" = '[]' ]
verdict "the second opens without an error" $? "$TMP/errors"
[ "$(one "$TMP/snapshot" "select count(*) from thread join process using (upid) where thread.name = 'ended-before'
  and process.name like '%ended-before'")" = 1 ]
verdict "it names a process that ended before the first" $?
query "$TMP/snapshot" "$twice" >"$TMP/twice"
grep -q '"n":0' "$TMP/twice"
verdict "it has each event once" $? "$TMP/twice"
echo "1..$N"
exit $BAD
