#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# tracefs: shared
#
# The installed units beside those of Debian's perfetto, which use the same sockets, under a real systemd (systemd_lib.sh):
# the start of one stops the other, and only then makes its sockets. Perfetto's units are Debian's; their daemons are stand-ins
# that take long to stop, as daemons under load do.
. "$(dirname "$0")/lib.sh"
. "$HERE/systemd_lib.sh"

theirs=$PEERS/root/usr/lib/systemd/system
[ -e "$theirs/traced.service" ] && [ -e "$theirs/traced-probes.service" ] || { echo "no units in $theirs" >&2; exit 77; }
cp "$theirs"/traced.service "$theirs"/traced-probes.service "$UNITS"
mkdir "$UNITS/traced.service.d" "$UNITS/traced-probes.service.d"
# A file is in the place of the socket.
cat >"$UNITS/traced.service.d/stand-in.conf" <<'CONF'
[Service]
DynamicUser=no
SupplementaryGroups=
ExecStart=
ExecStart=/bin/sh -c 'echo traced >/run/perfetto/traced-consumer.sock && sleep 1000 &'
ExecStop=/bin/sleep 0.5
CONF
cat >"$UNITS/traced-probes.service.d/stand-in.conf" <<'CONF'
[Service]
ExecStart=
ExecStart=/bin/sh -c 'sleep 1000 &'
CONF
printf '[Service]\nExecStop=/bin/sleep 0.5\n' >"$UNITS/sondad.service.d/slow.conf"
ctl daemon-reload

ours="sondad.socket sondad-consumer.socket sondad.service sonda-probes.service"
theirs="traced.service traced-probes.service"
all_are() { # STATE UNIT...
  local unit
  for unit in "${@:2}"; do is "$unit" ActiveState "$1" || { echo "$unit is $(value "$unit" ActiveState)"; return 1; }; done >"$TMP/log"
}
answers() { sonda status >"$TMP/log" 2>&1; }
ctl start sonda-probes.service && answers
verdict "the probes start, and the service answers" $? "$TMP/log"

for time in first second; do
  # Word splitting is intended.
  # shellcheck disable=SC2086
  ctl start traced-probes.service && all_are active $theirs && all_are inactive $ours
  verdict "the start of Perfetto's stops ours, for the $time time" $? "$TMP/log"
  [ "$(inside cat /run/perfetto/traced-consumer.sock 2>&1)" = traced ]
  verdict "  what it made in the directory of the sockets is there" $?
  # shellcheck disable=SC2086
  ctl start sonda-probes.service && all_are inactive $theirs
  verdict "the start of ours stops Perfetto's, for the $time time" $? "$TMP/log"
  [ "$(mode_of producer)" = "666 root:root" ] && [ "$(mode_of consumer)" = "660 root:sonda" ] && answers
  verdict "  our sockets are there, and the service answers" $? "$TMP/log"
done

ctl stop sonda-probes.service sondad.socket sondad-consumer.socket && all_are inactive sondad.service
verdict "the service stops with its sockets" $? "$TMP/log"
! inside find /run/perfetto -type s | tee "$TMP/log" | grep -q .
verdict "no socket is left" $? "$TMP/log"

echo "1..$N"
exit $BAD
