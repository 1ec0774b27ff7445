#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# check: long
# tracefs: shared
#
# The units of sonda metrics, sonda ship and sonda-relay under a real systemd (systemd_lib.sh), as their pages enable them: each
# works without privileges, as its own user, and stops.
. "$(dirname "$0")/lib.sh"
. "$HERE/systemd_lib.sh"
needs_commands python3 curl
for unit in sonda-metrics sonda-ship sonda-ship-collect sonda-relay; do
  mkdir "$UNITS/$unit.service.d"
  printf '[Service]\nStandardError=append:%s\nRestartSec=50ms\n' "$TMP/out/$unit.log" >"$UNITS/$unit.service.d/log.conf"
done
inside ip link set lo up
inside mount -t tmpfs none /var/spool
# As a system has it: credentials are mounted by a process of their own.
inside mount --make-rshared /
ctl daemon-reload
details() { cat "$TMP/ctl" "$TMP"/out/*.log; }

has_user() { # UNIT USER: its main process, which has no capabilities and can gain none
  local status
  status=$(inside cat "/proc/$(value "$1" MainPID)/status") || return
  printf '%s\n' "$status" >"$TMP/status"
  [ "$(inside stat -c %U "/proc/$(value "$1" MainPID)")" = "$2" ] &&
    [ "$(awk '$1 == "CapEff:" || $1 == "CapPrm:" || $1 == "CapBnd:" { print $2 }' "$TMP/status" | sort -u)" = 0000000000000000 ] &&
    [ "$(awk '$1 == "NoNewPrivs:" || $1 == "Seccomp:" { print $2 }' "$TMP/status" | tr '\n' ' ')" = "1 2 " ]
}
enable() { # UNIT WANTS...
  ctl enable --now "$1" && [ -n "$(inside find /etc/systemd/system -name "$1" -type l)" ]
}
has_stopped() { # UNIT
  ctl stop "$1" && is "$1" ActiveState inactive && is "$1" Result success
}

# ---- sonda metrics ----

metrics() { inside curl -sf --max-time 20 http://127.0.0.1:9437/metrics; }
enable sonda-metrics.socket && is sonda-metrics.service ActiveState inactive
verdict "metrics: the socket is enabled, and nothing runs before the first scrape" $?
metrics | grep -q '^sonda_build_info'
verdict "metrics: the first scrape starts it" $?
counts() { metrics | grep -q '^sonda_context_switches_total [1-9]'; }
wait_for counts
verdict "metrics: it has started the service and sonda-probes, and counts" $?
has_user sonda-metrics.service sonda-metrics
verdict "metrics: its user is a dynamic one, without capabilities" $? "$TMP/status"
! as_nobody 65534 curl -sf --max-time 20 http://127.0.0.1:9437/metrics >/dev/null
verdict "metrics: another user is refused" $?
has_stopped sonda-metrics.service && metrics | grep -q '^sonda_build_info'
verdict "metrics: it stops, and the next scrape starts it again" $?
ctl disable sonda-metrics.socket && ctl stop sonda-metrics.socket && has_stopped sonda-metrics.service && ! metrics >/dev/null
verdict "metrics: disabled" $?

# ---- sonda ship ----

mkdir "$TMP/store"
inside python3 "$PWD/tests/system/s3_server.py" "$TMP/store" >"$TMP/store/port" 2>"$TMP/out/store.log" &
PIDS+=($!)
until PORT=$(cat "$TMP/store/port") && [ -n "$PORT" ]; do sleep 0.02; done
stored() { inside curl -sf "http://127.0.0.1:$PORT/-state"; }
ctl start sonda-ship.service
is sonda-ship.service ActiveState inactive
verdict "ship: the unit does not start without a target" $?
snapshots=/var/lib/sonda/recorder/snapshots
inside mkdir -p /etc/sonda && inside mkdir -m 700 -p $snapshots
inside cp "$PWD/tests/data/traces/kernel_6.1.pftrace" $snapshots/1.pftrace && inside chmod 600 $snapshots/1.pftrace &&
  inside touch -d @1700000000 $snapshots/1.pftrace
inside bash -c "printf 'TARGET=s3://bucket/fleet\nOPTIONS=--endpoint http://127.0.0.1:$PORT --region eu-test-1 --every 1s\n' >/etc/sonda/ship
  umask 077; printf '[default]\naws_access_key_id = test-key\naws_secret_access_key = test/secret+key\n' >/etc/sonda/ship-credentials"
enable sonda-ship.service
verdict "ship: it is enabled" $?
is_shipped() { stored | grep -q '^fleet/v1/manifests/'; }
wait_for is_shipped
verdict "ship: a snapshot of root reaches the bucket" $?
has_user sonda-ship.service sonda-ship
verdict "ship: the uploader is the user sonda-ship, without capabilities" $? "$TMP/status"
has_user sonda-ship-collect.service root
verdict "ship: the collector is root without capabilities" $? "$TMP/status"
! grep -qs 'secret+key' "$TMP"/out/*.log && ! inside grep -qa 'secret+key' "/proc/$(value sonda-ship.service MainPID)/cmdline" \
  "/proc/$(value sonda-ship.service MainPID)/environ"
verdict "ship: the key is neither in a log, nor in arguments, nor in the environment" $?
uploader=$(value sonda-ship.service MainPID)
[ "$uploader" -le 1 ] || inside kill -KILL "$uploader"
again() { is sonda-ship.service NRestarts 1 && is sonda-ship.service ActiveState active; }
wait_for again
verdict "ship: kill -9: systemd starts it again" $?
has_stopped sonda-ship.service && wait_for is sonda-ship-collect.service ActiveState inactive && is sonda-ship-collect.service Result success
verdict "ship: both units stop" $?
[ "$(stored | awk '$3 != 1' | wc -l)" = 0 ]
verdict "ship: each object was stored once" $? <(stored)
ctl start sonda-metrics.socket && metrics | grep -q '^sonda_uploads_total{result="stored"} 1$'
verdict "metrics: they have the uploads" $? <(metrics | grep -E 'spool|uploads')
ctl stop sonda-metrics.socket sonda-metrics.service

# ---- sonda-relay ----

# The service of "another machine".
start_daemon TRACED_NOTIFY_FD "$TMP/out/other.log" nsenter -t "$init" --mount --pid --cgroup --uts --ipc --net --wd=/ env \
  PERFETTO_PRODUCER_SOCK_NAME="$TMP/out/producer,127.0.0.1:20001" PERFETTO_CONSUMER_SOCK_NAME="$TMP/out/consumer" \
  "$TMP/usr/bin/sondad" --allow-remote 127.0.0.1 --enable-relay-endpoint
verdict "relay: the service of another machine" $?
commands=$(sed -n 's/^    guest# \(mkdir\|systemctl\) /\1 /p' <(sed -n '/^## With systemd/,$p' docs/reference/relay.md) |
  sed 's/10\.77\.0\.1:/127.0.0.1:/')
[ "$(wc -l <<<"$commands")" = 4 ] && inside bash -ec "$(head -n 1 <<<"$commands")"
verdict "relay: its address" $?
# This systemd reads its units from one directory only, where nothing can be masked.
grep -q '^systemctl mask --now sondad.socket sondad-consumer.socket sondad.service$' <<<"$commands" && ctl stop sondad.socket sondad-consumer.socket sondad.service
for unit in sondad.socket sondad-consumer.socket sondad.service; do ln -sf /dev/null "$UNITS/$unit"; done
ctl daemon-reload && inside bash -ec "$(tail -n 2 <<<"$commands")" >"$TMP/ctl" 2>&1
verdict "relay: the commands of the manual" $?
is sonda-relay.socket ActiveState active && wait_for is sonda-relay.service ActiveState active && is sonda-probes.service ActiveState active
verdict "relay: it runs beside sonda-probes" $? "$TMP/ctl"
has_user sonda-relay.service sonda
verdict "relay: its user is sonda, without capabilities" $? "$TMP/status"
at_other() { inside env PERFETTO_CONSUMER_SOCK_NAME="$TMP/out/consumer" "$TMP/usr/bin/sonda" "$@"; }
is_remote() { at_other status >"$TMP/log" 2>&1 && grep -q ' guest  *perfetto.traced_probes$' "$TMP/log"; }
wait_for is_remote
verdict "relay: the other machine has its producer" $? "$TMP/log"
at_other record --all-machines -t 1s -o "$TMP/out/both" sched >"$TMP/log" 2>&1 && grep -q '^  events  *.*sched [1-9]' "$TMP/log"
verdict "relay: and records it" $? "$TMP/log"
ctl stop sonda-relay.socket && has_stopped sonda-relay.service
verdict "relay: it stops" $?
echo "1..$N"
exit $BAD
