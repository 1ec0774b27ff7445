#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Programs that are recorded by further services than the system's (include/sonda/backend.h): one in the process itself, one
# that is reached by the program's own connections. Every packet that was written is in the trace of each session once, in
# order and whole.
. "$(dirname "$0")/lib.sh"
P=$B/tests/library/backends CHECK=$B/tests/system/library_check
for program in "$P" "$CHECK"; do
  [ -x "$program" ] || { echo "$program is not built" >&2; exit 77; }
done
free_port() { # a port without a listener
  python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}
# A child after fork() keeps what the parent's connection had.
export ASAN_OPTIONS=detect_leaks=0
# Sanitizers make files and processes of their own.
! nm -D "$P" | grep -qE '__[at]san_' || export NO_SANDBOX=1

complete() { # TRACE: it has what the program wrote
  "$CHECK" "$1" >"$TMP/found" &&
    [ "$(awk '$1 == "packets" { print $2 }' "$TMP/found")" = "$(awk '$1 == "called" { print $2 - $4 }' "$TMP/said")" ]
}
recorded() { # NAME MODE [PORT]: with one trace
  timeout 100 "$P" "${@:2}" "$TMP/trace" >"$TMP/said" 2>"$TMP/errors" && complete "$TMP/trace"
  verdict "$1" $? "$TMP/said" "$TMP/found" "$TMP/errors"
}

recorded "a program records itself: no daemon, and what makes a socket, a file or a process is killed" in-process
recorded "a hostile producer of a program's own service takes nothing from the program" attacked "$B/tests/system/service_hostile_in_process"
timeout 100 "$P" life >"$TMP/said" 2>"$TMP/errors"
verdict "mistakes have errors, services start and end in either order, a child has none" $? "$TMP/errors"
timeout 100 "$B/tests/library/struct_sizes" 2>"$TMP/errors"
verdict "options_of_programs_built_with_an_earlier_or_later_header_are_accepted" $? "$TMP/errors"

port=$(free_port)
PERFETTO_PRODUCER_SOCK_NAME=$PERFETTO_PRODUCER_SOCK_NAME,127.0.0.1:$port \
  start_daemon TRACED_NOTIFY_FD "$TMP/service.log" "$B/bin/sondad" --allow-remote 127.0.0.1 || exit 1
timeout 100 "$P" both "$TMP/trace" "$TMP/own" >"$TMP/said" 2>"$TMP/errors" && complete "$TMP/trace" && complete "$TMP/own"
verdict "the system's service and one in the process record at the same time, both all of it" $? "$TMP/said" "$TMP/found" "$TMP/errors"
recorded "a connection that the program makes, by TCP" tcp "$port"
recorded "bytes that the program carries" pump "$port"
recorded "shared memory that the program makes" memory
grep -qx "memory of this process: yes" "$TMP/said"
verdict "the service uses that memory" $? "$TMP/said"

# ---- services that know fewer methods than sondad ----
service=$PERFETTO_PRODUCER_SOCK_NAME consumer=$PERFETTO_CONSUMER_SOCK_NAME
start_daemon FEWER_NOTIFY_FD "$TMP/fewer.log" tests/system/fewer_methods.py "$TMP/oldest" "$service" \
  Sync UpdateDataSource RegisterTraceWriter UnregisterTraceWriter ActivateTriggers
PERFETTO_PRODUCER_SOCK_NAME=$TMP/oldest recorded "a service with the oldest methods alone records" memory
for method in InitializeConnection GetAsyncCommand RegisterDataSource CommitData; do
  start_daemon FEWER_NOTIFY_FD "$TMP/fewer.log" tests/system/fewer_methods.py "$TMP/without$method" "$service" $method
  PERFETTO_PRODUCER_SOCK_NAME=$TMP/without$method "$P" memory "$TMP/trace" >"$TMP/said" 2>"$TMP/errors" &
  program=$!
  while kill -0 $program 2>/dev/null && ! grep -q "it does not support $method" "$TMP/errors"; do sleep 0.01; done
  grep -q "^the service on $TMP/without$method cannot be used: it does not support $method$" "$TMP/errors"
  verdict "one without $method cannot, and the program gets a message" $? "$TMP/errors"
  kill $program
  wait $program 2>/dev/null
done
start_daemon FEWER_NOTIFY_FD "$TMP/fewer.log" tests/system/fewer_methods.py "$TMP/consumers" "$consumer" \
  ObserveEvents CloneSession QueryServiceState
PERFETTO_CONSUMER_SOCK_NAME=$TMP/consumers timeout 100 "$P" fewer >"$TMP/said" 2>"$TMP/errors"
verdict "calls of sessions that a service does not have return -ENOSYS" $? "$TMP/errors"
echo "1..$N"
exit $BAD
