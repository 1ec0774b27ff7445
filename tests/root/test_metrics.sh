#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# kernels: none
# check: long
#
# sonda metrics: what it serves, to whom, and that its totals continue when the programs that it reads from are restarted.
. "$(dirname "$0")/lib.sh"
needs_commands /usr/bin/python3
for MOUNT in /sys/fs/cgroup /sys/fs/cgroup/unified none; do
  [ "$(stat -f -c %T $MOUNT 2>/dev/null)" != cgroup2fs ] || break
done
GROUP=$MOUNT/sonda-metrics-$$
leave_group() {
  leave
  [ ! -d "$GROUP" ] || rmdir "$GROUP"
}
trap '[ "$BASHPID" != $$ ] || leave_group' EXIT
details() { cat "$TMP"/*.log; }

# request METHOD PATH [HEADER]...: the answer, with its head; on the port, or on the unix socket in $SOCKET
cat >"$TMP/request.py" <<'PYTHON'
import os, socket, sys
where, method, path, headers = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]
if where.startswith('/'):
    s = socket.socket(socket.AF_UNIX)
    s.connect(where)
else:
    s = socket.create_connection(('127.0.0.1', int(where)))
s.settimeout(20)
if not any(h.lower().startswith('host:') for h in headers):
    headers.append('Host: 127.0.0.1')
s.sendall(''.join([f'{method} {path} HTTP/1.1\r\n', *[h + '\r\n' for h in headers], '\r\n']).encode())
while part := s.recv(65536):
    os.write(1, part)
PYTHON
request() { python3 "$TMP/request.py" "${SOCKET:-$PORT}" "$@" 2>>"$TMP/request.log"; }
status() { request "$@" | sed -n '1s/.*1 \([0-9]*\) .*/\1/p'; }
body() { request "$@" | sed '1,/^\r$/d'; }
value() { body GET /metrics | awk -v name="$1" '$1 == name { print $2 }'; }
grows() { # SERIES FROM: it is more than FROM
  local now
  now=$(value "$1")
  [ -n "$now" ] && awk -v now="$now" -v from="$2" 'BEGIN { exit !(now > from) }'
}

PORT=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
start_service() { start_daemon TRACED_NOTIFY_FD "$TMP/sondad.log" "$BIN/sondad"; }
start_probes() { start_daemon TRACED_PROBES_NOTIFY_FD "$TMP/probes.log" "$BIN/sonda-probes"; }
start_service && SERVICE=${PIDS[-1]} && start_probes && PROBES=${PIDS[-1]} &&
  start_daemon SONDA_METRICS_NOTIFY_FD "$TMP/metrics.log" "$SONDA" metrics --listen "127.0.0.1:$PORT" --socket "$TMP/consumer"
verdict "it starts" $?

wait_for grows sonda_context_switches_total 0
verdict "switches are counted" $?
wait_for grows sonda_runq_latency_seconds_count 0
verdict "waits for a CPU are counted" $?
[ "$(value 'sonda_session_up{session="metrics"}')" = 1 ]
verdict "the session is up" $?
wait_for grows 'sonda_probe_seconds_total{family="runq"}' 0
verdict "the cost of the programs is known" $?

# Formats.
request GET /metrics | tr -d '\r' | grep -q '^Content-Type: text/plain; version=0.0.4'
verdict "text is the default" $?
body GET /metrics 'Accept: application/openmetrics-text;version=1.0.0' >"$TMP/open"
[ "$(tail -n 1 "$TMP/open")" = '# EOF' ] && grep -q '^# TYPE sonda_context_switches counter$' "$TMP/open"
verdict "OpenMetrics is chosen by the header" $? "$TMP/open"
request GET /metrics 'Accept: application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited' |
  grep -aq '^Content-Type: application/vnd.google.protobuf'
verdict "protobuf is chosen by the header" $?
if command -v promtool >/dev/null; then
  body GET /metrics >"$TMP/text"
  check "promtool finds nothing wrong" eval 'promtool check metrics <"$TMP/text"'
else
  skip "promtool finds nothing wrong" "promtool (package prometheus) is not installed"
fi

# Who may ask, and what.
[ "$(status HEAD /metrics) $(status GET /) $(status DELETE /metrics) $(status POST /metrics 'Content-Length: 0')" = '200 404 405 405' ]
verdict "HEAD, other paths, other methods" $? <(status HEAD /metrics; status GET /; status DELETE /metrics)
[ -z "$(body HEAD /metrics)" ]
verdict "HEAD has no body" $?
[ "$(status GET /metrics 'Host: evil.example') $(status GET /metrics 'Origin: http://evil.example')" = '403 403' ]
verdict "requests for the pages of other sites are refused" $?
setpriv --reuid=65534 --clear-groups /usr/bin/python3 -c '
import socket, sys
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
try:
    s.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
    sys.exit(len(s.recv(100)) > 0)
except OSError:
    pass
' "$PORT" && grep -q 'refused a connection from user 65534' "$TMP/metrics.log"
verdict "another user is refused" $? "$TMP/metrics.log"

# A client that neither sends nor reads does not delay others; above the limit of connections new ones wait.
python3 - "$PORT" <<'PYTHON' &
import socket, sys, time
all = [socket.create_connection(('127.0.0.1', int(sys.argv[1]))) for i in range(31)]
for s in all[:15]:
    s.sendall(b'GET /met')
for s in all[15:]:
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    s.sendall(b'GET /metrics HTTP/1.0\r\n\r\n')
time.sleep(5)
PYTHON
SLOW=$!
sleep 0.5
[ "$(status GET /metrics)" = 200 ]
verdict "31 slow clients do not delay another one" $?
wait "$SLOW"

# A control group has series of its own.
if [ "$MOUNT" != none ] && mkdir "$GROUP" 2>/dev/null; then
  bash -c 'echo 0 >"$1/cgroup.procs"; while [ $SECONDS -lt 14 ]; do :; done' bash "$GROUP" &
  LOAD=$!
  wait_for grows "sonda_subject_cpu_seconds_total{id=\"/${GROUP##*/}\",mode=\"user\"}" 0.1
  verdict "a control group has its CPU time" $?
  wait_for grows "sonda_subject_runq_latency_seconds_count{id=\"/${GROUP##*/}\"}" 0
  verdict "and its waits for a CPU" $?
  wait "$LOAD"
else
  skip "a control group has its CPU time" "no control group of version 2 can be made here"
fi

# Restarts.
before=$(value sonda_context_switches_total)
kill "$PROBES"
wait "$PROBES"
start_probes && wait_for grows sonda_context_switches_total "$before"
verdict "totals continue when sonda-probes is restarted" $? "$TMP/probes.log"
before=$(value sonda_context_switches_total)
PROBES=${PIDS[-1]}
kill "$SERVICE"
wait "$SERVICE"
is_down() { [ "$(value 'sonda_session_up{session="metrics"}')" = 0 ]; }
wait_for is_down && [ "$(value sonda_context_switches_total)" -ge "$before" ]
verdict "without the service its totals stay, and it is down" $?
start_service && wait_for grows sonda_context_switches_total "$before"
verdict "totals continue when the service is restarted" $? "$TMP/sondad.log"

start_daemon SONDA_METRICS_NOTIFY_FD "$TMP/unix.log" "$SONDA" metrics --listen "$TMP/unix" --socket "$TMP/consumer" &&
  [ "$(SOCKET=$TMP/unix status GET /metrics)" = 200 ]
verdict "it serves a unix socket" $? "$TMP/unix.log"
"$SONDA" metrics --listen 0.0.0.0:9437 2>"$TMP/refused.log"
[ $? = 2 ] && grep -q 'neither 127.0.0.1:PORT nor a unix socket' "$TMP/refused.log"
verdict "it listens for this machine only" $? "$TMP/refused.log"
exit $BAD
