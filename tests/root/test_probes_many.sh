#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# kernels: none
# tracefs: shared
# check: long
#
# More probes than a session may have: the first ones record, the others are reported. It takes the kernel long to stop as many.
. "$(dirname "$0")/lib.sh"

[ -e $TRACEFS/uprobe_events ] || { echo "the kernel has no uprobe_events" >&2; exit 77; }
cp "$B/tests/root/probed" "$TMP/probed"
at=$TMP/probed:$("$TMP/probed" offset)
for i in $(seq 300); do echo "uprobe_events: 'p:many/p$i $at'"; done >"$TMP/many.cfg"
timeout 120 "$B/tests/root/ftrace_record" "$TMP/trace" 100 "$(cat "$TMP/many.cfg")" "$TMP/probed" 2 >"$TMP/out" 2>&1 &&
  "$B/tests/root/print_events" "$TMP/trace" >"$TMP/events"
[ "$(grep -c '^many/' "$TMP/events")" = 512 ] && grep -q 'only the first 256 of 300 probes are used' "$TMP/out"
verdict "256 probes record each call, 44 are reported" $? "$TMP/out"
wait_for no_instances
verdict "no instance is left" $?
exit $BAD
