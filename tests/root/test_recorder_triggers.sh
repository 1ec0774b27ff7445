#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# check: long
# kernels: none
# tracefs: shared
#
# What makes sonda recorder save a snapshot: a counter above a value, a unit that failed, a message of the journal, a signal.
# The journal is of the test's own (see test_journald.sh). And the limits of the snapshots.
set -u
journald=/lib/systemd/systemd-journald
if [ -z "${IN_NAMESPACE:-}" ]; then
  [ "$(id -u)" = 0 ] || { echo "needs root" >&2; exit 77; }
  [ -x $journald ] || { echo "no systemd-journald here" >&2; exit 77; }
  unshare -m true 2>/dev/null || { echo "no mount namespaces here" >&2; exit 77; }
  command -v python3 >/dev/null || { echo "python3 is missing" >&2; exit 77; }
  IN_NAMESPACE=1 exec unshare -m --propagation private "$0" "$@"
fi
. "$(dirname "$0")/lib.sh"
mount -t tmpfs none /run && mount -t tmpfs none /var/log && mkdir -p /run/systemd/journal /run/log || exit 2
[ -s /etc/machine-id ] || { echo "no machine-id" >&2; exit 77; }
mkdir -p "/run/log/journal/$(cat /etc/machine-id)"
$journald >"$TMP/journald.log" 2>&1 &
PIDS+=($!)
wait_for test -S /run/systemd/journal/socket

# An entry of process 1, as which root may send, or of the sender.
say() { # 1|0 FIELD...
  python3 - "$@" <<'PYTHON'
import os, socket, struct, sys, time
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.connect('/run/systemd/journal/socket')
sender = struct.pack('3i', int(sys.argv[1]) or os.getpid(), 0, 0)
s.sendmsg([('\n'.join(sys.argv[2:]) + '\n').encode()], [(socket.SOL_SOCKET, socket.SCM_CREDENTIALS, sender)])
time.sleep(0.3)
PYTHON
}
ring=$TMP/ring
details() { tail -n 6 "$TMP/run.log" "$ring/state"; ls -l "$ring/snapshots"; }
has() { compgen -G "$ring/snapshots/*-$1.pftrace.json" >/dev/null; } # NAME
saves() { # NAME NANOSECONDS: a snapshot, within 2 s
  wait_for has "$1" && [ $(($(date +%s%N) - $2)) -lt 2000000000 ]
}
start_daemon SONDA_RECORDER_NOTIFY_FD "$TMP/run.log" "$SONDA" recorder run --dir "$ring" --part 1s --keep 1m --pause 500ms --snapshots 5 \
  --on 'late=counter:runq latency p99>50ms' --on 'unit-failed:web*' --on 'oom=journal:Out of (memory|room)' minimal journal runq || exit 1
pid=${PIDS[-1]}
sleep 1
failed=MESSAGE_ID=d9b373ed55a64feb8242e02dbe79a49c

say 0 $failed UNIT=web.service "MESSAGE=web.service: Failed with result 'exit-code'." PRIORITY=4
say 1 $failed UNIT=other.service "MESSAGE=other.service: Failed with result 'exit-code'." PRIORITY=4
sleep 1
! has unit-failed
verdict "another unit, and another process that says so, save nothing" $?
began=$(date +%s%N)
say 1 $failed UNIT=web.service "MESSAGE=web.service: Failed with result 'exit-code'." PRIORITY=4
saves unit-failed "$began"
verdict "a unit that failed: a snapshot within 2 s" $?
sleep 0.6
began=$(date +%s%N)
say 0 'MESSAGE=a: Out of memory' PRIORITY=3
saves oom "$began"
verdict "a message of the journal: a snapshot within 2 s" $?
grep -qa 'a: Out of memory' "$ring"/snapshots/*-oom.pftrace
verdict "it has the message" $?
sleep 0.6
# They end on their own, too. timeout(1) leaves its command running if it is killed while it starts it.
loads=()
for _ in $(seq $((8 * $(nproc)))); do bash -c 'while [ $SECONDS -lt 10 ]; do :; done' & loads+=($!); done
wait_for has late
verdict "a counter above its value: a snapshot" $?
kill "${loads[@]}"
wait "${loads[@]}" 2>/dev/null
grep -q '"reason":"late=counter:runq latency p99>50ms of perfetto.traced_probes"' "$ring"/snapshots/*-late.pftrace.json
verdict "it has its reason" $? <(cat "$ring"/snapshots/*-late.pftrace.json)
for _ in 1 2 3; do
  sleep 1.1
  kill -USR1 "$pid"
done
wait_for has signal
verdict "a signal: a snapshot" $?
few() { [ "$(find "$ring/snapshots" -name "*.$1" | wc -l)" -le 5 ]; }
wait_for few pftrace && wait_for few json
verdict "there are never more than the number" $? <(ls "$ring/snapshots")
has unit-failed && has oom && has late
verdict "a trigger that fires again and again does not push out others" $?
kill "$pid"
wait "$pid"
verdict "SIGTERM ends it well" $? "$TMP/run.log"
bad=
for file in "$ring"/snapshots/*.pftrace; do "$SONDA" info "$file" >/dev/null 2>&1 || bad+="$file"$'\n'; done
no_offenders "each opens" "$bad"
exit $BAD
