#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# kernels: none
# check: long
# tracefs: shared
#
# Alertmanager's webhook: sonda metrics passes an alert on to sonda recorder, which saves what was before it; or as a trigger
# to sessions.
. "$(dirname "$0")/lib.sh"
needs_commands /usr/bin/python3
details() { cat "$TMP"/*.log; ls "$ring/snapshots"; }
ring=$TMP/ring
echo a-token-of-the-test >"$TMP/token"
PORT=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')

# post TOKEN ALERTS: prints the status; ALERTS: python, a list of alert(FINGERPRINT, START[, STATUS])
cat >"$TMP/post.py" <<'PYTHON'
import http.client, json, sys
def alert(n, start, status='firing', **labels):
    return {'status': status, 'labels': {'alertname': 'Slow', **labels}, 'annotations': {}, 'startsAt': start,
            'endsAt': '0001-01-01T00:00:00Z', 'generatorURL': 'http://p', 'fingerprint': '%016x' % n}
body = sys.argv[3] if sys.argv[3].startswith('{') else json.dumps({
    'receiver': 'sonda', 'status': 'firing', 'alerts': eval(sys.argv[3]), 'groupLabels': {}, 'commonLabels': {},
    'commonAnnotations': {}, 'externalURL': 'http://a', 'version': '4', 'groupKey': '{}', 'truncatedAlerts': 0})
c = http.client.HTTPConnection('127.0.0.1', int(sys.argv[1]))
c.request('POST', '/alerts', body, {'Content-Type': 'application/json', 'Authorization': 'Bearer ' + sys.argv[2]})
print(c.getresponse().status)
PYTHON
post() { python3 "$TMP/post.py" "$PORT" "$@" 2>>"$TMP/post.log"; }
value() {
  python3 -c 'import sys, urllib.request
print(urllib.request.urlopen(f"http://127.0.0.1:{sys.argv[1]}/metrics").read().decode())' "$PORT" |
    awk -v name="$1" '$1 == name { print $2 }'
}
has() { [ "$(value "$1")" = "$2" ]; }
saved() { [ "$(find "$ring/snapshots" -name '*-alert.pftrace.json' 2>/dev/null | wc -l)" = "$1" ]; }

start_daemon SONDA_METRICS_NOTIFY_FD "$TMP/metrics.log" "$SONDA" metrics --listen "127.0.0.1:$PORT" --socket "$TMP/consumer" \
  --alerts "$TMP/token" --alert-match 'instance=web1:*' --recorder "$TMP/alerts"
verdict "it starts without a recorder" $?
grep -q "no recorder listens on $TMP/alerts" "$TMP/metrics.log"
verdict "and reports that there is none" $? "$TMP/metrics.log"
[ "$(post a-token-of-the-test '[alert(1, "2026-11-27T10:00:00Z", instance="web1:9437")]')" = 503 ]
verdict "without a recorder the answer is 503, so Alertmanager tries again" $?

start_daemon SONDA_RECORDER_NOTIFY_FD "$TMP/recorder.log" "$SONDA" recorder run --dir "$ring" --part 1s --keep 1m --pause 60s \
  --alerts "$TMP/alerts" sched_process_exit minimal || exit 1
sleep 2
cp /bin/sleep "$TMP/before-alert" && "$TMP/before-alert" 0.01
[ "$(post wrong-token-of-the-test '[alert(1, "2026-11-27T10:00:00Z", instance="web1:9437")]')" = 401 ]
verdict "a wrong token is refused" $?
[ "$(post a-token-of-the-test '{"version":"4","alerts":[{]}')" = 400 ] && ! saved 1
verdict "a request that is not valid is refused" $?
[ "$(post a-token-of-the-test '[alert(9, "2026-11-27T10:00:00Z", instance="db1:9437"), alert(8, "2026-11-27T10:00:00Z", "resolved", instance="web1:9437")]')" = 200 ] &&
  has 'sonda_alerts_received_total{result="resolved"}' 1 && ! saved 1
verdict "alerts of other machines, and resolved ones, save nothing" $?
[ "$(post a-token-of-the-test '[alert(1, "2026-11-27T10:00:00Z", instance="web1:9437", note="\"quoted\"\n")]')" = 200 ] && wait_for saved 1
verdict "an alert saves a snapshot" $?
wait_for has 'sonda_snapshots_total{result="saved"}' 1
verdict "sonda metrics knows that it was saved" $?
trace=$(echo "$ring"/snapshots/*.pftrace)
"$SONDA" sql "$trace" "select name from thread where name = 'before-alert'" --csv | grep -q before-alert
verdict "it has what was before the alert" $?
"$SONDA" sql "$trace" "select str_value from metadata where name in ('trace_attribute.alert.starts_at',
  'trace_attribute.alert.label.instance') order by 1" --csv | tr '\n' ' ' | grep -q '2026-11-27T10:00:00Z.*web1:9437'
verdict "the trace names the alert and its start" $? <("$SONDA" sql "$trace" "select name, str_value from metadata")
python3 -c 'import json, sys; a = json.load(open(sys.argv[1]))["alert"]; assert a["labels"]["note"] == "\"quoted\"\n"' "$trace.json"
verdict "the file beside it has the labels" $? "$trace.json"

post a-token-of-the-test '[alert(1, "2026-11-27T10:00:00Z", instance="web1:9437")]' >/dev/null
wait_for has 'sonda_alerts_received_total{result="duplicate"}' 1
verdict "the same alert counts once" $?
[ "$(post a-token-of-the-test '[alert(100 + i, "2026-11-27T10:00:00Z", instance="web1:9437") for i in range(3000)]')" = 200 ] &&
  sleep 1 && saved 1
verdict "a storm of other alerts saves no second snapshot within the pause" $?
kill "${PIDS[-1]}" && wait "${PIDS[-1]}"
[ ! -e "$TMP/alerts" ]
verdict "the recorder removes its socket" $?

stop_all
start_daemon SONDA_RECORDER_NOTIFY_FD "$TMP/recorder.log" "$SONDA" recorder run --dir "$ring" --part 1s --keep 1m --before 60s \
  --alerts "$TMP/alerts" minimal &&
  start_daemon SONDA_METRICS_NOTIFY_FD "$TMP/metrics.log" "$SONDA" metrics --listen "127.0.0.1:$PORT" --socket "$TMP/consumer" \
    --alerts "$TMP/token" --alert-delay 90s --recorder "$TMP/alerts" &&
  wait_for grep -q 'the time before the alert is missing' "$TMP/metrics.log"
verdict "it reports that the ring is too short for the delay of the alerts" $? "$TMP/metrics.log"
stop_all

# ---- triggers of sessions ----

cat >"$TMP/session.cfg" <<'CONFIG'
buffers { size_kb: 4096 fill_policy: RING_BUFFER }
trigger_config { trigger_mode: CLONE_SNAPSHOT trigger_timeout_ms: 60000 triggers { name: "slow" } triggers { name: "other" } }
data_sources { config { name: "linux.ftrace" ftrace_config { ftrace_events: "sched/sched_process_exit" ftrace_events: "task/task_rename" } } }
CONFIG
# Waits until the kernel records: on a busy machine that is some time after the session was enabled.
# The instance appears later, so its name is expanded at each try.
is_recorded_by() { # PID
  grep -qs '^1' "$TRACEFS/instances/sonda-$1-"*/events/task/task_rename/enable
}
start_session() {
  local probes=${PIDS[-1]}
  "$SONDA" record -c "$TMP/session.cfg" -o "$TMP/snap.pftrace" >"$TMP/session.log" 2>&1 </dev/null &
  PIDS+=($!)
  wait_for grep -q 'a snapshot is saved on trigger' "$TMP/session.log" &&
    wait_for is_recorded_by "$probes"
}
start_daemon TRACED_NOTIFY_FD "$TMP/sondad.log" "$BIN/sondad" && start_daemon TRACED_PROBES_NOTIFY_FD "$TMP/probes.log" "$BIN/sonda-probes" &&
  start_session && start_daemon SONDA_METRICS_NOTIFY_FD "$TMP/metrics.log" "$SONDA" metrics --listen "127.0.0.1:$PORT" \
  --alerts "$TMP/token" --alert-match 'instance=web1:*' --alert-trigger 'Slow*=slow' --alert-trigger '*=nobody'
verdict "a session waits for a trigger" $?
! grep -q recorder "$TMP/metrics.log"
verdict "with --alert-trigger no recorder is expected" $? "$TMP/metrics.log"
"$TMP/before-alert" 0.01
[ "$(post a-token-of-the-test '[alert(1, "2026-11-27T10:00:00Z", instance="web1:9437", note="\"a\x1b\"")]')" = 200 ] &&
  wait_for test -s "$TMP/snap.0.pftrace"
verdict "an alert makes the session save a snapshot" $? "$TMP/session.log" "$TMP/metrics.log"
"$SONDA" sql "$TMP/snap.0.pftrace" "select display_value from args where key = 'producer_name'" --csv >"$TMP/out"
grep -q 'alert Slow since 2026-11-27T10:00:00Z instance=web1:9437 note="*a?' "$TMP/out"
verdict "the trace names the alert, its start and its labels" $? "$TMP/out"
"$SONDA" sql "$TMP/snap.0.pftrace" "select name from thread where name = 'before-alert'" --csv | grep -q before-alert
verdict "it has what was before the alert" $?
post a-token-of-the-test '[alert(1, "2026-11-27T10:00:00Z", instance="web1:9437"), alert(2, "2026-11-27T10:00:00Z", instance="db1:9437")]' >/dev/null
wait_for has 'sonda_alerts_received_total{result="duplicate"}' 1 && has 'sonda_alerts_received_total{result="fired"}' 1 &&
  has 'sonda_alerts_received_total{result="refused"}' 1
verdict "the same alert, and one of another machine, activate nothing" $?
stop_all
exit $BAD
