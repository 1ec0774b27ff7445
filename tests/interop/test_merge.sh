#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# tracefs: none
#
# sonda merge: trace_processor reads the merged trace without an error, with the rows of each trace on one clock.
. "$(dirname "$0")/lib.sh"
one=tests/data/traces/ring_losses.pftrace two=tests/data/traces/generic_events.pftrace

"$SONDA" merge -o "$TMP/both" "$one" "$two" >"$TMP/log" 2>&1
verdict "a merged trace" $? "$TMP/log"
query "$TMP/both" "select name, value from stats where value > 0 and severity = 'error'" >"$TMP/errors"
query "$one" "select name, value from stats where value > 0 and severity = 'error'" >"$TMP/errors.one"
diff "$TMP/errors.one" "$TMP/errors" >"$TMP/log"
verdict "trace_processor reads it without an error that the traces do not have" $? "$TMP/log"
# The times of each as CLOCK_REALTIME, which the clock of the trace may miss by the time between two clock readings.
rows() { # TRACE WHERE
  query "$1" "select cast(min(to_realtime(ts)) / 100000 as text) as begin, cast(max(to_realtime(ts)) / 100000 as text) as end, count(*) as n, sum(dur) as dur
    from sched join cpu using (ucpu) where dur >= 0 and $2"
}
rows "$one" true >"$TMP/apart" && rows "$two" true >>"$TMP/apart" && rows "$TMP/both" "coalesce(machine_id, 0) = 0" >"$TMP/merged" &&
  rows "$TMP/both" "machine_id = 1" >>"$TMP/merged"
sort "$TMP/apart" >"$TMP/a" && sort "$TMP/merged" >"$TMP/m" && diff "$TMP/a" "$TMP/m" >"$TMP/log" && [ "$(wc -l <"$TMP/m")" = 2 ]
verdict "each machine has the slices of its trace at their time" $? "$TMP/log"
exit $BAD
