#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# check: heavy
#
# sonda ship, killed before each call that changes a file, and with each fault at each request: nothing is lost, and nothing
# is stored twice.
. "$(dirname "$0")/ship.sh"
PRELOAD=$B/tests/system/preload/kill_at_call.so
needs_built "$PRELOAD"

begin
ship_all
ask_store state >"$TMP/expected"
requests=$(wc -l <"$STORE/log")
verdict "two traces are shipped, with $requests requests" $?

# A count that the child and its parent reach kills both: the collector and the uploader.
bad="" kills=0
for ((at = 1; at < 2000; at++)); do
  begin
  KILL_AT=$at LD_PRELOAD=$PRELOAD ship_all
  code=$?
  [ $code = 0 ] && break
  kills=$((kills + 1))
  ship_all && is_whole || bad+=" $at"
done
no_offenders "killed before each of $kills calls" "$bad"
[ $kills -gt 60 ]
verdict "the calls are those of both processes" $?

for fault in 503 500 200error refuse cut lose half kill killdone; do
  bad=""
  for ((at = 1; at <= requests; at++)); do
    begin "$fault@$at"
    ship_all
    case $fault in kill*) ship_all ;; esac
    is_whole || bad+=" $at"
  done
  no_offenders "$fault at each request" "$bad"
done
exit $BAD
