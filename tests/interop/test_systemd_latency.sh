#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# tracefs: shared
# check: heavy
#
# The service of the installed units answers each query in time while a peer does its worst, as in
# tests/system/test_service_latency.sh. sonda-probes stays connected, and peers that broke the protocol came before.
. "$(dirname "$0")/lib.sh"
. "$HERE/systemd_lib.sh"

ctl start sondad.socket sondad-consumer.socket sonda-probes.service
verdict "the service and the probes start" $? "$TMP/ctl"
attacks_as_member service_hostile
verdict "peers that break the protocol do not keep the service from others" $? "$TMP/log"
attacks service_hostile_latency
verdict "a query is answered in time during each attack" $? "$TMP/log"
grep '^#\|^not ok' "$TMP/log"
is sondad.service NRestarts 0 && is sonda-probes.service NRestarts 0
verdict "neither the service nor the probes have ended" $?
echo "1..$N"
exit $BAD
