#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# tracefs: none
#
# libsonda under either family's service and consumer: numbered packets of several threads are in the trace once, in order
# and whole, or counted as dropped. (With more that can happen to a program: tests/system/test_library.sh.)
. "$(dirname "$0")/lib.sh"
P=$B/tests/library CHECK=$B/tests/system/library_check
for program in "$P/threads" "$P/backends" "$CHECK"; do
  [ -x "$program" ] || { echo "$program is not built" >&2; exit 77; }
done

run_one() { # SERVICE CONSUMER THREADS EVENTS POLICY
  local name="service=$1 consumer=$2: $3 threads that $5" dir="$TMP/$1-$2-$5" program
  mkdir "$dir"
  use_sockets "$dir"
  cat >"$dir/config" <<CONFIG
buffers { size_kb: 131072 fill_policy: DISCARD }
data_sources { config { name: "sonda.test.numbers" } }
trigger_config { trigger_mode: STOP_TRACING trigger_timeout_ms: 50000 triggers { name: "sonda.test.numbers.written" } }
flush_timeout_ms: 10000
CONFIG
  start_service "$1" "$dir"
  "$P/threads" "$3" "$4" "$5" >"$dir/said" 2>"$dir/errors" &
  program=$!
  while kill -0 $program 2>/dev/null && ! grep -q '^ready' "$dir/said"; do sleep 0.01; done
  record "$2" "$dir/config" "$dir/trace" "$dir/record.log"
  verdict "$name: records" $? "$dir/record.log" "$dir/errors"
  wait $program
  verdict "$name: the program ends" $? "$dir/said" "$dir/errors"
  stop_all
  "$CHECK" "$dir/trace" >"$dir/found" &&
    [ "$(awk '$1 == "packets" { print $2 }' "$dir/found")" = "$(awk '$1 == "called" { print $2 - $4 }' "$dir/said")" ]
  verdict "$name: what came and what was dropped is what was written" $? "$dir/said" "$dir/found"
  [ "$5" = stall ] || return
  query "$dir/trace" "select name, idx, value from stats where severity in ('error', 'data_loss') and value > 0" >"$dir/errors"
  [ "$(cat "$dir/errors")" = '[]' ]
  verdict "$name: nothing lost, nothing wrong" $? "$dir/errors"
}

for service in sonda perfetto; do
  mkdir "$TMP/$service"
  use_sockets "$TMP/$service"
  start_service $service "$TMP/$service"
  "$P/sessions" "$TMP/$service/trace" >"$TMP/$service/said" 2>"$TMP/$service/errors" &&
    "$CHECK" "$TMP/$service/trace" | grep -q "^packets $(awk '{ print $2 }' "$TMP/$service/said") missing 0 bad 0 marked 0 dropped 0$"
  verdict "service=$service: a program that records itself through a session" $? "$TMP/$service/said" "$TMP/$service/errors"
  "$P/backends" memory "$TMP/$service/trace" >"$TMP/$service/said" 2>"$TMP/$service/errors" &&
    grep -qx "memory of this process: yes" "$TMP/$service/said" &&
    "$CHECK" "$TMP/$service/trace" | grep -q "^packets 80000 missing 0 bad 0 marked 0 dropped 0$"
  verdict "service=$service: it takes the memory that a program makes" $? "$TMP/$service/said" "$TMP/$service/errors"
  "$P/backends" both "$TMP/$service/trace" "$TMP/$service/own" >"$TMP/$service/said" 2>"$TMP/$service/errors" &&
    "$CHECK" "$TMP/$service/trace" | grep -q "^packets 80000 missing 0 bad 0 marked 0 dropped 0$" &&
    "$CHECK" "$TMP/$service/own" | grep -q "^packets 80000 missing 0 bad 0 marked 0 dropped 0$"
  verdict "service=$service: and it records beside the service in the process" $? "$TMP/$service/said" "$TMP/$service/errors"
  stop_all
  for consumer in sonda perfetto; do
    run_one $service $consumer 4 20000 stall
  done
  run_one $service sonda 8 100000 drop
done

echo "1..$N"
exit $BAD
