#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# tracefs: none
#
# linux.systemd_journald under Perfetto's traced_probes and under ours: of the same lines the same are recorded, field for
# field. The journal is a systemd-journald of the test's own, in a mount namespace.
set -u
journald=/lib/systemd/systemd-journald
if [ -z "${IN_NAMESPACE:-}" ]; then
  [ "$(id -u)" = 0 ] || { echo "needs root" >&2; exit 77; }
  [ -x $journald ] && [ -s /etc/machine-id ] || { echo "no systemd-journald here" >&2; exit 77; }
  unshare -m true 2>/dev/null || { echo "no mount namespaces here" >&2; exit 77; }
  for tool in python3 protoc; do
    command -v $tool >/dev/null || { echo "$tool is missing" >&2; exit 77; }
  done
  IN_NAMESPACE=1 exec unshare -m --propagation private "$0" "$@"
fi
. "$(dirname "$0")/lib.sh"

mount -t tmpfs none /run && mount -t tmpfs none /var/log || exit 2
mkdir -p /run/systemd/journal "/run/log/journal/$(cat /etc/machine-id)"
cat >"$TMP/config" <<'END'
buffers { size_kb: 16384 fill_policy: DISCARD }
data_sources { config { name: "linux.systemd_journald" journald_config { min_prio: 4 filter_identifiers: "mine" } } }
END

$journald >"$TMP/journald.log" 2>&1 &
journal_daemon=$!
for _ in $(seq 100); do [ -S /run/systemd/journal/socket ] && break; sleep 0.1; done

say() {
  python3 - <<'PYTHON'
import socket
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.connect('/run/systemd/journal/socket')
for i in range(400):
    s.send(f'MESSAGE=line {i}\nPRIORITY={i % 8}\nSYSLOG_IDENTIFIER={"mine" if i % 3 else "other"}\n'.encode())
PYTHON
}

# The lines of a recording in $TMP/FAMILY.lines, without what is another one each time: when, and by whom.
record_lines() { # FAMILY
  local family=$1 probes recorder
  mkdir "$TMP/$family"
  use_sockets "$TMP/$family"
  start_service sonda "$TMP/$family" && start_probes "$family" "$TMP/$family"
  verdict "$family: its probes start" $? "$TMP/$family/probes.log"
  probes=${PIDS[-1]}
  "$BIN/sonda" record -c "$TMP/config" -o "$TMP/$family.trace" >"$TMP/log" 2>&1 </dev/null &
  recorder=$!
  for _ in $(seq 200); do grep -q libsystemd "/proc/$probes/maps" && break; sleep 0.1; done
  sleep 1
  say
  sleep 1.5
  kill -INT $recorder
  wait $recorder
  verdict "$family: records" $? "$TMP/log"
  stop_all
  protoc -Iprotos --decode=perfetto.protos.Trace trace/trace.proto <"$TMP/$family.trace" 2>"$TMP/decode.log" |
    awk '/^packet {/ { packet = "" } $1 == "timestamp:" && $2 > 0 { packet = packet " timestamp" }
      $1 == "pid:" && $2 > 0 { packet = packet " pid" }
      $1 ~ /^(timestamp_clock_id|uid|gid|prio|tag|message|comm|exe|hostname|transport|num_total|num_failed):/ {
        packet = packet " " $0 } /^}/ { if (packet ~ /message:|num_total/) print packet }' | sort -u >"$TMP/$family.lines"
}
# Perfetto's stays behind the end of a journal in which the filter has let nothing through so far.
say
record_lines perfetto
record_lines sonda
# The packets' own clock, said or not.
for family in perfetto sonda; do
  sed -i 's/ *timestamp_clock_id: 6//' "$TMP/$family.lines"
  sort -o "$TMP/$family.lines" "$TMP/$family.lines"
done
diff "$TMP/perfetto.lines" "$TMP/sonda.lines" >"$TMP/diff" && [ "$(grep -c message: "$TMP/sonda.lines")" = 166 ]
verdict "the same 166 lines, field for field" $? "$TMP/diff"
grep -q 'num_total: 166 *num_failed: 0' "$TMP/sonda.lines"
verdict "the counters sum up the lines" $? "$TMP/diff"
kill $journal_daemon
wait $journal_daemon 2>/dev/null
[ "$(trace_errors "$TMP/sonda.trace")" = '[]' ]
verdict "trace_processor has no complaint" $? "$TMP/tpq.err"
exit $BAD
