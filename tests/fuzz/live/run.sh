#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# usage: tests/fuzz/live/run.sh BUILD SECONDS [SEED]
#
# sondad, sonda-probes and sonda, built with sanitizers, talk to each other through a hostile proxy (proxy.c) for that
# long: frames and shared memory are changed in both directions. The proxy is uid 4242. Beside it consumers of root ask and
# record, and must be served. A finding is a report of a sanitizer, the end of a daemon, or queries that are not
# answered within 100 ms (asker.c).
# Root: sonda-probes records this machine's kernel.
set -u
cd "$(dirname "$0")/../../.." || exit 2
B=$1 seconds=$2 seed=${3:-$RANDOM$RANDOM}
[ "$(id -u)" = 0 ] || { echo "needs root" >&2; exit 77; }
tmp=$(mktemp -d)
chmod 755 "$tmp"
mkdir "$tmp/proxy"
chown 4242 "$tmp/proxy"
pids=()
leave() {
  kill "${pids[@]}" 2>/dev/null
  wait "${pids[@]}" 2>/dev/null
}
trap '[ "$BASHPID" != $$ ] || { leave; rm -rf "$tmp"; }' EXIT
trap 'exit 1' INT TERM
export ASAN_OPTIONS=detect_leaks=0:abort_on_error=0:exitcode=99 UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1:exitcode=99
real="PERFETTO_PRODUCER_SOCK_NAME=$tmp/producer PERFETTO_CONSUMER_SOCK_NAME=$tmp/consumer"
false="PERFETTO_PRODUCER_SOCK_NAME=$tmp/proxy/producer PERFETTO_CONSUMER_SOCK_NAME=$tmp/proxy/consumer SONDA_SERVICE_USER=4242"
echo "seed $seed, $seconds s"

start() { # NAME COMMAND...
  local name=$1
  shift
  env "$@" >"$tmp/$name.log" 2>&1 </dev/null &
  pids+=($!)
}
# shellcheck disable=SC2086
{
  start sondad $real "$B/bin/sondad" --set-socket-permissions 0:0666:0:0666 --system-users 4242
  for _ in $(seq 100); do [ -S "$tmp/consumer" ] && break; sleep 0.1; done
  cp "$B/tests/fuzz/live/proxy" "$tmp/proxy/program"
  start proxy setpriv --reuid 4242 --regid 4242 --clear-groups "$tmp/proxy/program" "$seed" \
    "$tmp/proxy/producer" "$tmp/producer" "$tmp/proxy/consumer" "$tmp/consumer"
  for _ in $(seq 100); do [ -S "$tmp/proxy/consumer" ] && break; sleep 0.1; done
  start probes-good $real "$B/bin/sonda-probes"
  start probes $false "$B/bin/sonda-probes"
  start probes-too $false "$B/bin/sonda-probes"
}
daemons=("${pids[0]}" "${pids[2]}" "${pids[3]}" "${pids[4]}")

cat >"$tmp/all.cfg" <<'CONFIG'
duration_ms: 1500
flush_period_ms: 300
buffers { size_kb: 2048 }
buffers { size_kb: 256 fill_policy: DISCARD }
data_sources { config { name: "linux.ftrace" ftrace_config { ftrace_events: "sched/*" ftrace_events: "irq/*" drain_period_ms: 50 } } }
data_sources { config { name: "linux.process_stats" target_buffer: 1 process_stats_config { scan_all_processes_on_start: true proc_stats_poll_ms: 100 } } }
data_sources { config { name: "linux.sys_stats" sys_stats_config { stat_period_ms: 50 meminfo_period_ms: 50 } } }
data_sources { config { name: "linux.system_info" } }
CONFIG
sed 's/^duration_ms.*/trigger_config { trigger_mode: CLONE_SNAPSHOT trigger_timeout_ms: 3000 triggers { name: "live" } }/' \
  "$tmp/all.cfg" >"$tmp/triggers.cfg"

# Clients that the proxy lies to; how they end is not asked, only that no sanitizer does it.
hostile_loop() { # NUMBER
  local i=0
  while :; do
    i=$((i + 1))
    # shellcheck disable=SC2086
    case $((i % 6)) in
    0) env $false timeout -k 5 10 "$B/bin/sonda" sessions ;;
    1) env $false timeout -k 5 10 "$B/bin/sonda" record -t 500ms -o "$tmp/t$1" sched ;;
    2) env $false timeout -k 5 10 "$B/bin/sonda" trigger live other ;;
    3) env $false timeout -k 5 10 "$B/bin/sonda" snapshot -o "$tmp/s$1" ;;
    5) env $false timeout -s INT -k 5 6 "$B/bin/sonda" record -c "$tmp/triggers.cfg" -o "$tmp/v$1" ;;
    4) env $false timeout -s INT -k 5 4 "$B/bin/sonda" record -c "$tmp/all.cfg" -o "$tmp/u$1" ;;
    esac >>"$tmp/clients$1.log" 2>&1 </dev/null
    echo "exit $?" >>"$tmp/clients$1.log"
  done
}
for n in 1 2; do
  hostile_loop $n &
  pids+=($!)
done

# The good ones: a recording all the time, queries.
honest_loop() {
  # shellcheck disable=SC2086
  while :; do env $real timeout -k 5 20 "$B/bin/sonda" record -c "$tmp/all.cfg" -o "$tmp/honest" >>"$tmp/honest.log" 2>&1 </dev/null; printf 'ended after %d s\nexit %d\n' $SECONDS $? >>"$tmp/honest.log"; done
}
honest_loop &
pids+=($!)
bad=0 asked=0 worst=0
finding() {
  echo "FINDING: $1"
  bad=1
}
# shellcheck disable=SC2086
env $real "$B/tests/fuzz/live/asker" "${pids[0]}" "$seconds" >"$tmp/asker.log" 2>&1 </dev/null &
asker=$!
end=$((SECONDS + seconds))
while [ $SECONDS -lt $end ] && [ $bad = 0 ]; do
  begin=$(date +%s%N)
  # shellcheck disable=SC2086
  env $real timeout -k 5 30 "$B/bin/sonda" sessions >"$tmp/query.log" 2>&1 </dev/null || finding "a query of sondad failed ($?): $(tail -n 1 "$tmp/query.log")"
  ms=$((($(date +%s%N) - begin) / 1000000))
  asked=$((asked + 1))
  [ $ms -le $worst ] || worst=$ms
  for pid in "${daemons[@]}"; do kill -0 "$pid" 2>/dev/null || finding "a daemon has ended"; done
  ! grep -lE 'ERROR: AddressSanitizer|runtime error:|AddressSanitizer:DEADLYSIGNAL|exit (99|13[1-689])$' "$tmp"/*.log >"$tmp/found" || finding "in $(tr '\n' ' ' <"$tmp/found")"
  sleep 0.5
done
[ $bad = 0 ] || kill "$asker" 2>/dev/null
wait "$asker" || [ $bad != 0 ] || finding "answers are late, or did not come"
cat "$tmp/asker.log"
echo "$asked times sonda sessions, the slowest took $worst ms with the start of the program; $(grep -c ^exit "$tmp"/clients*.log | cut -d: -f2 | paste -sd+ | bc) runs of clients, $(grep -c '^exit 0' "$tmp/honest.log") of $(grep -c ^exit "$tmp/honest.log") good recordings"
# What a recording that failed wrote, and what the daemons did.
awk '/^exit/ { if ($2 != 0) print "a good recording failed:\n" said $0; said = ""; next } { said = said "  " $0 "\n" }' "$tmp/honest.log"
if grep -q '^exit [1-9]' "$tmp/honest.log"; then tail -n 20 "$tmp/sondad.log" "$tmp/probes-good.log"; fi
if [ $bad != 0 ]; then
  for f in "$tmp"/*.log; do
    echo "== ${f##*/}"
    grep -nE -A40 'ERROR: AddressSanitizer|runtime error:|DEADLYSIGNAL' "$f" | head -n 60
    tail -n 5 "$f"
  done
fi
exit $bad
