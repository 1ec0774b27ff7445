#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# check: long
# tracefs: shared
#
# The attacks of uid 4242 and of a member of the group sonda, which tests/root makes on daemons of its own, on the installed
# units under a real systemd (systemd_lib.sh). Root's recording beside each of them loses nothing.
. "$(dirname "$0")/lib.sh"
. "$HERE/systemd_lib.sh"

ctl start sondad.socket sondad-consumer.socket sonda-probes.service
verdict "the units start" $? "$TMP/ctl"
for attacks in service_attacked consumer_rights consumer_shares; do
  verdicts_of inside env INSTALLED="$TMP/usr" BUILD="$B" TMPDIR="$TMP/out" bash "$PWD/tests/root/test_$attacks.sh"
done
is sondad.service NRestarts 0 && is sonda-probes.service NRestarts 0
verdict "no attack has ended a unit" $?
exit "$BAD"
