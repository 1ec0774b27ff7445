#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# kernels: 6.12
#
# On a machine where tracefs is not mounted (here: in a mount namespace without it), `sonda record` records, and no
# other process sees a mount of tracefs: not while it records, not afterwards, not after SIGKILL.
. "$(dirname "$0")/lib.sh"
needs_own_mounts
export BIN TMP

cat >"$TMP/without" <<'END'
# Shared, as systemd has it: a mount of one process would appear to all others.
mount --make-rshared /sys || exit 77
umount --recursive --lazy /sys/kernel/debug 2>/dev/null
while umount /sys/kernel/tracing 2>/dev/null; do :; done
mounts() { grep -w tracefs /proc/self/mounts; }
! mounts >/dev/null || exit 77
mount -t tracefs none "$TMP/probe" && umount "$TMP/probe" || exit 77

echo '== list'
"$BIN/sonda" list sched_switch
echo "== list ended with $?"
"$BIN/sonda" list minimal

echo '== record'
"$BIN/sonda" record --strict -o "$TMP/trace" sched -- grep -w tracefs /proc/self/mounts
echo "== record ended with $?"
mounts && echo '== still mounted after record'

echo '== kill'
"$BIN/sonda" record -t 60s -o "$TMP/killed" sched -- sh -c 'echo $$ >"$TMP/is_on"; exec sleep 60' &
for i in $(seq 200); do [ ! -s "$TMP/is_on" ] || break; sleep 0.1; done
[ -e "$TMP/is_on" ] && mounts && echo '== seen while it records'
for pid in $(cat /proc/$!/task/*/children); do
  case $(readlink "/proc/$pid/exe") in */sonda-probes) kill -KILL "$pid" && echo '== killed' && echo "$pid" >>"$TMP/ours" ;; esac
done
kill -TERM $!
wait
kill "$(cat "$TMP/is_on")" 2>/dev/null # a recording that ends by itself leaves its command running
mounts && echo '== still mounted after SIGKILL'
true
END
mkdir "$TMP/probe"
unshare --mount --propagation private bash "$TMP/without" >"$TMP/log" 2>&1 </dev/null
status=$?
[ $status != 77 ] || { echo "no mount namespace without tracefs here" >&2; exit 77; }

sed '/^== record/q' "$TMP/log" >"$TMP/list"
grep -q 'tracefs is not mounted on .*; run: sudo mount -t tracefs' "$TMP/list" && grep -q '^== list ended with 1' "$TMP/list" &&
  ! grep -q 'matches\|did you mean' "$TMP/list" && grep -q '^preset *minimal ' "$TMP/list"
verdict "list says that it cannot read the events, and not that there is none" $? "$TMP/list"
is_whole "$TMP/trace" && [ "$(events_in "$TMP/trace")" -gt 0 ] && grep -q '^== record ended with 0' "$TMP/log"
verdict "a recording without a mounted tracefs: all of it" $? "$TMP/log"
! sed '/^== kill/q' "$TMP/log" | grep -qE '^[^ =]+ /[^ ]* tracefs|still mounted'
verdict "no other process sees the mount, and it ends with the recording" $? "$TMP/log"
grep -q '^== killed' "$TMP/log" && ! grep -qE 'seen while|after SIGKILL' "$TMP/log"
verdict "no mount stays after SIGKILL" $? "$TMP/log"
# The next sonda-probes removes what the killed one left.
"$BIN/sonda" record -t 100ms -o "$TMP/next" sched >"$TMP/log" 2>&1 </dev/null && wait_for no_instances
verdict "what the killed one left in tracefs goes with the next recording" $? "$TMP/log"
exit $BAD
