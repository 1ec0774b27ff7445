#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# tracefs: shared
#
# The units as docs/reference/remote.md changes them to record other machines, under a real systemd (systemd_lib.sh): its commands
# and its drop-ins, with the address of this machine for both machines.
. "$(dirname "$0")/lib.sh"
. "$HERE/systemd_lib.sh"

section=$(sed -n '/^## With systemd/,/^## Access control/p' docs/reference/remote.md | sed 's/10\.77\.0\.[12]/127.0.0.1/g')
drop_in() { # NUMBER UNIT
  awk -v number="$1" '/^    \[Service\]/ { n++ } !/^    / { inside = 0 } /^    \[Service\]/ { inside = n == number } inside { print substr($0, 5) }' \
    <<<"$section" | sed "s|^ExecStart=/usr/bin/|ExecStart=$(value sondad.service ExecStart | sed 's/.*path=\([^ ]*\)sondad .*/\1/')|" >"$UNITS/$2.d/remote.conf"
  [ -s "$UNITS/$2.d/remote.conf" ]
}
inside ip link set lo up
script=$(sed -n 's/^    first#  \(cp\|sed\) /\1 /p' <<<"$section")
[ "$(wc -l <<<"$script")" = 2 ] && inside mkdir -p /etc/systemd/system && inside bash -ec "$script" >"$TMP/ctl" 2>&1
verdict "the unit without sockets" $? "$TMP/ctl"
# This systemd reads its units from one directory only.
rm "$UNITS/sondad.socket" "$UNITS/sondad-consumer.socket"
ln -s /dev/null "$UNITS/sondad.socket"
ln -s /dev/null "$UNITS/sondad-consumer.socket"
drop_in 1 sondad.service && drop_in 2 sonda-probes.service
verdict "both drop-ins" $?
inside cat /etc/systemd/system/sondad.service >"$UNITS/sondad.service"
ctl daemon-reload && ctl start sondad.service && ctl start sonda-probes.service
verdict "both services start" $? "$TMP/ctl"
[ "$(mode_of producer)" = "666 sonda:sonda" ] && [ "$(mode_of consumer)" = "660 sonda:sonda" ]
verdict "their sockets have the permissions of the socket units" $?
is_remote() { sonda status >"$TMP/log" 2>&1 && grep -q '^1 .* second  *perfetto.traced_probes$' "$TMP/log"; }
wait_for is_remote
verdict "root trusts the service, which has the other machine's producer" $? "$TMP/log"
sonda record --all-machines -t 1s -o "$TMP/out/both" sched >"$TMP/log" 2>&1 && grep -q '^  events  *.*sched [1-9]' "$TMP/log"
verdict "it records the other machine" $? "$TMP/log"

echo "1..$N"
exit $BAD
