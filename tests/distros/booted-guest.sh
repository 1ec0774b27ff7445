#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs in the guest of booted.sh, as a service of systemd, in each of its two boots. Speaks TAP; "# the end" says that it
# came to its last line.
set -u
exec 3>&1
# shellcheck source=tests/distros/lib.sh
. /checks/lib.sh
export DEBIAN_FRONTEND=noninteractive SYSTEMD_COLORS=0 SYSTEMD_PAGER='' LC_ALL=C.UTF-8
units="sondad.socket sondad-consumer.socket sonda-probes.service"

wait_for() { # COMMAND...: for as long as a slow guest may need
  local i
  for ((i = 0; i < 300; i++)); do
    ! "$@" >/dev/null 2>&1 || return 0
    sleep 0.2
  done
  "$@"
}
is() { # STATE UNIT...
  local unit
  for unit in "${@:2}"; do
    [ "$(systemctl is-active "$unit")" = "$1" ] || { systemctl status --no-pager -l "$unit"; return 1; }
  done
}
is_not_enabled() { ! systemctl is-enabled $units; }
# shellcheck disable=SC2086
enable() { systemctl enable --now $units; }
# What fails of the system itself, as in a guest without udev, is printed and is not the packages' fault.
has_booted() {
  systemctl is-system-running --wait
  systemctl --failed --no-legend --plain | sed 's/^/# failed: /' | tee "$tmp/failed" >&3
  [ "$(systemctl is-system-running)" != starting ] && ! grep sonda "$tmp/failed"
}
# As the only way to a recording: a private service would need root, and its cost is in the summary.
records() { # USER
  local trace
  trace=$(mktemp -u /tmp/trace.XXXXXX)
  runuser -u "$1" -- sonda record -t 1s -o "$trace" sched minimal 2>"$tmp/said" || { cat "$tmp/said"; return 1; }
  cat "$tmp/said"
  ! grep -q private "$tmp/said" && sonda info "$trace" | tee "$tmp/info" && grep -E 'events +sched' "$tmp/info"
}
is_refused() { # USER
  ! runuser -u "$1" -- sonda record -t 1s -o "/tmp/refused-$1" sched >"$tmp/said" 2>&1 && cat "$tmp/said" &&
    grep -q "group" "$tmp/said" && [ "$(wc -l <"$tmp/said")" -le 2 ]
}
owner_of() { stat -c '%U:%G %a' "$1"; }
pid_of() { systemctl show -p MainPID --value "$1"; }
records_itself() {
  runuser -u other -- /checks/record_itself /tmp/itself.pftrace && sonda info /tmp/itself.pftrace &&
    [ "$(stat -c %U /tmp/itself.pftrace)" = other ]
}
runs_as() { # USER UNIT
  [ "$(ps -o user= -p "$(pid_of "$2")")" = "$1" ]
}
# An emulator may be so slow that the service has not begun to answer when its producer says so.
no_complaints() {
  ! journalctl -b --no-pager -p warning -u sondad.service -u sonda-probes.service | grep -vE '^--|does not answer; waiting for it$'
}

# ---- the units of a fleet ----

scrape() {
  exec 4<>/dev/tcp/127.0.0.1/9437 && printf 'GET /metrics HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n' >&4 &&
    timeout 120 cat <&4 >"$tmp/metrics"
  exec 4>&-
  grep "^sonda_build_info" "$tmp/metrics"
}
metrics_start() {
  systemctl enable --now sonda-metrics.socket && is inactive sonda-metrics.service && scrape && is active sonda-metrics.service
}
runs_as_dynamic_user() { # UNIT
  local uid
  uid=$(ps -o uid= -p "$(pid_of "$1")") && echo "$uid" && [ "$uid" -ge 61184 ] && [ "$uid" -le 65519 ] &&
    grep -E '^CapEff:[[:space:]]*0000000000000000$' "/proc/$(pid_of "$1")/status"
}
collects() { # a snapshot of root, into the spool
  local snapshots=/var/lib/sonda/recorder/snapshots
  mkdir -p $snapshots && sonda record -t 1s -o $snapshots/1.pftrace sched && touch -d @1700000000 $snapshots/1.pftrace &&
    systemctl start sonda-ship-collect.service && wait_for compgen -G '/var/spool/sonda/ready/*/list' &&
    grep -E '^CapEff:[[:space:]]*0000000000000000$' "/proc/$(pid_of sonda-ship-collect.service)/status"
}
relay_start() {
  mkdir -p /etc/sonda && printf 'PERFETTO_RELAY_SOCK_NAME=127.0.0.1:20001\nPERFETTO_MACHINE_NAME=guest\n' >/etc/sonda/relay &&
    systemctl mask --now sondad.socket sondad-consumer.socket sondad.service &&
    systemctl enable --now sonda-relay.socket sonda-relay.service && systemctl restart sonda-probes.service &&
    wait_for is active sonda-relay.socket sonda-relay.service sonda-probes.service
}
relay_stop() {
  systemctl disable --now sonda-relay.socket sonda-relay.service && rm /etc/sonda/relay && rmdir --ignore-fail-on-non-empty /etc/sonda &&
    systemctl unmask sondad.socket sondad-consumer.socket sondad.service && enable && wait_for is active sondad.socket sonda-probes.service
}

first_boot() {
  picture >/var/tmp/before
  check "systemd has booted, and no unit of sonda failed" has_booted
  check "the packages are installed" dpkg --install /debs/sonda_*.deb /debs/libsonda0_*.deb /debs/libsonda-service0_*.deb
  check "no unit is enabled before the admin says so" is_not_enabled
  check "nothing runs before the admin says so" is inactive sondad.socket sondad-consumer.socket sondad.service sonda-probes.service sonda-recorder.service
  check "doctor names what is missing" bash -c 'sonda doctor; [ $? -le 1 ]'
  check "root records without a service" sonda record -t 1s -o /tmp/private.pftrace sched
  check "the message to a user names the group" is_refused nobody
  check "the units are enabled, as README.Debian says" enable
  check "the daemons are there" wait_for is active sondad.socket sondad-consumer.socket sondad.service sonda-probes.service
  check "root records with the service" records root
}

second_boot() {
  cp /var/tmp/before "$tmp/before"
  check "systemd has booted, and no unit of sonda failed" has_booted
  check "the sockets listen" is active sondad.socket sondad-consumer.socket
  check "the producer's socket is for all" [ "$(owner_of /run/perfetto/traced-producer.sock)" = 'root:root 666' ]
  check "the consumer's socket is for the group" [ "$(owner_of /run/perfetto/traced-consumer.sock)" = 'root:sonda 660' ]
  check "the producer runs, and its socket has started the service" wait_for is active sonda-probes.service sondad.service
  check "sondad runs as sonda" runs_as sonda sondad.service
  useradd -m -G sonda member && useradd -m other
  check "a member of the group records" records member
  check "the message to another user names the group" is_refused other
  if [ -x /checks/record_itself ]; then
    check "a program of any user records itself with libsonda-service0" records_itself
  else
    n=$((n + 1))
    echo "ok $n - a program of any user records itself with libsonda-service0 # SKIP installed.sh did not run before"
  fi
  check "the service is stopped" systemctl stop sondad.service
  check "a recording starts it by its socket" records member
  check "it runs again" is active sondad.service
  check "neither daemon complains" no_complaints
  check "the first scrape starts sonda metrics" metrics_start
  check "as a user of its own, without capabilities" runs_as_dynamic_user sonda-metrics.service
  check "it stops" systemctl disable --now sonda-metrics.socket sonda-metrics.service
  check "the recorder is enabled" sonda recorder enable --keep 1m --size 16mb minimal
  check "it runs" is active sonda-recorder.service
  check "it is disabled" sonda recorder disable --remove
  check "sonda ship collects a snapshot, without capabilities" collects
  check "it stops" systemctl stop sonda-ship-collect.service
  check "the relay takes the place of the service" relay_start
  check "the relay runs as sonda" runs_as sonda sonda-relay.service
  check "the service comes back" relay_stop
  check "a member records again" records member
  before=$(pid_of sondad.service)
  make_newer /debs/sonda_*.deb "$tmp/sonda_newer.deb" >/dev/null 2>&1
  check "an upgrade works" dpkg --install "$tmp/sonda_newer.deb"
  check "it has started the daemons anew" [ "$(pid_of sondad.service)" != "$before" ]
  check "after it a member records" records member
  check "the packages are removed" dpkg --remove sonda libsonda-service0 libsonda0
  check "nothing of them runs" bash -c '! pgrep -l sonda'
  check "no socket is left" bash -c '! find /run/perfetto -type s | grep .'
  check "they are installed again" dpkg --install "$tmp/sonda_newer.deb" /debs/libsonda0_*.deb
  check "what the admin had enabled still is" systemctl is-enabled $units
  check "they are purged" dpkg --purge sonda libsonda-service0 libsonda0
  check "no unit is left" bash -c '! systemctl list-units --all --plain --no-legend "sonda*" | grep .'
  userdel -r member 2>/dev/null && userdel -r other 2>/dev/null
  check "no directory is left" bash -c '! ls -d /run/sonda /var/lib/sonda 2>/dev/null | grep .'
  check "nothing else of them is left" as_before
}

case $(cat /proc/cmdline) in
*checks.boot=1*) first_boot ;;
*) second_boot ;;
esac
rm -rf "$tmp"
echo "# the end"
exit $bad
