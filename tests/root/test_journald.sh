#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# kernels: none
# tracefs: shared
#
# linux.systemd_journald on a real journal: a systemd-journald of the test's own, which begins after the recording, with
# its files and sockets in a mount namespace, so that the machine's own is left alone.
set -u
journald=/lib/systemd/systemd-journald
if [ -z "${IN_NAMESPACE:-}" ]; then
  [ "$(id -u)" = 0 ] || { echo "needs root" >&2; exit 77; }
  [ -x $journald ] || { echo "no systemd-journald here" >&2; exit 77; }
  unshare -m true 2>/dev/null || { echo "no mount namespaces here" >&2; exit 77; }
  for tool in python3 protoc; do
    command -v $tool >/dev/null || { echo "$tool is missing" >&2; exit 77; }
  done
  IN_NAMESPACE=1 exec unshare -m --propagation private "$0" "$@"
fi
. "$(dirname "$0")/lib.sh"

mount -t tmpfs none /run && mount -t tmpfs none /var/log && mkdir -p /run/systemd/journal /run/log || exit 2
[ -s /etc/machine-id ] || { echo "no machine-id" >&2; exit 77; }

start_journald() {
  mkdir -p "/run/log/journal/$(cat /etc/machine-id)"
  $journald >"$TMP/journald.log" 2>&1 &
  PIDS+=($!)
  daemon=$!
  wait_for test -S /run/systemd/journal/socket
}

# Lines as programs write them. FIELDS: further ones, separated by blanks.
say() { # IDENTIFIER PRIORITY FIRST LAST [FIELDS]
  python3 - "$@" <<'PYTHON'
import socket, sys, time
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.connect('/run/systemd/journal/socket')
tag, priority, first, last = sys.argv[1:5]
more = ''.join(f + '\n' for f in sys.argv[5:])
for i in range(int(first), int(last) + 1):
    s.send(f'MESSAGE={tag} {i}\nPRIORITY={priority}\nSYSLOG_IDENTIFIER={tag}\n{more}'.encode())
# The daemon looks at the sender when it takes a line; a busy machine is late.
time.sleep(0.5)
PYTHON
}

decode() { # TRACE
  protoc -Iprotos --decode=perfetto.protos.Trace trace/trace.proto <"$1" >"$TMP/text" 2>"$TMP/decode.log"
}
# How many lines of a program are in the trace.
lines_of() { # IDENTIFIER
  grep -c "message: \"$1 [0-9]*\"" "$TMP/text"
}
total() { awk -v k="$1:" '$1 == k { n = $2 } END { print n + 0 }' "$TMP/text"; } # FIELD

start_recording() { # CONFIG
  printf 'buffers { size_kb: 16384 fill_policy: DISCARD }\n%s' "$1" >"$TMP/config"
  "$BIN/sonda" record -c "$TMP/config" -o "$TMP/trace" >"$TMP/log" 2>&1 </dev/null &
  recorder=$!
  PIDS+=($!)
  # Started: its sonda-probes has opened the library.
  wait_for reads_journal
  sleep 0.5
}
reads_journal() {
  local p
  for p in $(cat "/proc/$recorder/task/$recorder/children"); do
    ! grep -q libsystemd "/proc/$p/maps" || return 0
  done
  return 1
}
stop_recording() {
  kill -INT "$recorder"
  wait "$recorder"
  verdict "$1: records" $? "$TMP/log"
  decode "$TMP/trace"
  verdict "$1: a trace that protoc reads" $? "$TMP/decode.log"
}
source() { echo "data_sources { config { name: \"linux.systemd_journald\" journald_config { $1 } } }"; } # CONFIG

# ---- no journal at first, then one

start_recording "$(source '')"
start_journald
say early 6 1 10 "TID=77"
sleep 1.5
say late 3 1 10
stop_recording "a journal that begins later"
grep -q 'no readable journal' "$TMP/log"
verdict "a journal that begins later: it is reported" $? "$TMP/log"
[ "$(lines_of early)" = 10 ] && [ "$(lines_of late)" = 10 ]
verdict "a journal that begins later: every line" $? "$TMP/log"
awk '/journald_event/ { n++ } n && /message: "early 1"/ { hit = n } { line[n] = line[n] $0 " " } END {
  print line[hit]
  exit !(hit && line[hit] ~ /prio: 6/ && line[hit] ~ /tag: "early"/ && line[hit] ~ /tid: 77/ && line[hit] ~ /pid: [1-9]/ &&
    line[hit] ~ /uid: 0/ && line[hit] ~ /gid: 0/ && line[hit] ~ /comm: "python3/ && line[hit] ~ /exe: "\/[^"]*python3/ &&
    line[hit] ~ /hostname: "/ && line[hit] ~ /transport: "journal"/) }' "$TMP/text" >"$TMP/line"
verdict "a journal that begins later: the fields of a line" $? "$TMP/line"
grep -c 'timestamp_clock_id: 3' "$TMP/text" >"$TMP/line"
[ "$(cat "$TMP/line")" = "$(grep -c 'message: "' "$TMP/text")" ]
verdict "a journal that begins later: each on the monotonic clock" $? "$TMP/line"

# ---- from now on, by severity and by who says it; the journal is rotated meanwhile

say before 3 1 100
start_recording "$(source 'min_prio: 4 filter_identifiers: "mine" filter_identifiers: "other"')"
say mine 4 1 50
say mine 5 51 60
say third 3 1 10
kill -USR2 "$daemon" # rotates
sleep 0.5
say other 0 1 50
kill -USR2 "$daemon"
sleep 0.5
say mine 3 61 90
stop_recording "filters"
printf '%s %s %s %s ' "$(lines_of before)" "$(lines_of mine)" "$(lines_of other)" "$(lines_of third)" >"$TMP/counts"
printf '%s %s\n' "$(total num_total)" "$(total num_failed)" >>"$TMP/counts"
[ "$(cat "$TMP/counts")" = '0 80 50 0 130 0' ]
verdict "filters: what is asked for, from now on, through two rotations" $? "$TMP/counts"

# ---- a flood

start_recording "$(source 'filter_identifiers: "flood"')"
say flood 6 1 30000
stop_recording "a flood"
recorded=$(lines_of flood)
echo "$recorded $(total num_total) $(total 20000) $(total num_dropped)" >"$TMP/counts"
[ "$recorded" -ge 10000 ] && [ "$(total num_total)" = $((recorded + $(total num_dropped))) ]
verdict "a flood: every line is recorded or counted" $? "$TMP/counts"

if PEERS=$(tests/interop/peers.sh 2>/dev/null); then
  TP_ASSETS=$PEERS/tp timeout 120 node tests/interop/tpq.mjs "$TMP/trace" \
    "select name, idx, value from stats where severity in ('error', 'data_loss') and value > 0" >"$TMP/errors" 2>/dev/null
  [ "$(cat "$TMP/errors")" = '[]' ]
  verdict "trace_processor has nothing to complain of" $? "$TMP/errors"
fi
exit $BAD
