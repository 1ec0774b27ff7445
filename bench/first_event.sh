#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# usage: bench/first_event.sh [PAIRS]      BUILD=build
#
# The time from the start of the command to the first event of the trace, by Perfetto's three programs and ours in turn
# (A B A B ...), daemons started anew each time: sched_switch and sched_waking under a load that switches all the time, the
# default ring. CPU time is that of the producer in the 200 ms of the session.
set -u
. "$(dirname "$0")/lib.sh"
pairs=${1:-7}

cat >"$TMP/config" <<'CONFIG'
buffers { size_kb: 32768 }
duration_ms: 200
data_sources {
  config {
    name: "linux.ftrace"
    ftrace_config {
      ftrace_events: "sched/sched_switch"
      ftrace_events: "sched/sched_waking"
      compact_sched { enabled: false }
    }
  }
}
CONFIG
"${BUILD:-build}/tests/root/ping_pong" 1000000000 &
load=$!
end() {
  kill "$load"
  leave
}
trap '[ "$BASHPID" != $$ ] || end' EXIT

# Appends "first event in ms, CPU ms of the producer" to $TMP/FAMILY.
first() { # FAMILY
  local dir probes before at events
  dir=$(mktemp -d "$TMP/$1.XXXX")
  use_sockets "$dir"
  start_service "$1" "$dir" && start_probes "$1" "$dir" || exit 1
  probes=${PIDS[1]}
  at_rest "${PIDS[@]}"
  before=$(cpu_ns "$probes")
  case $1 in
  sonda) "$BENCH/started_at" "$dir/at" "$BIN/sonda" record -c "$TMP/config" -o "$dir/trace" >"$dir/log" 2>&1 ;;
  perfetto) "$BENCH/started_at" "$dir/at" "$PEERS/run" perfetto --txt -c "$TMP/config" -o "$dir/trace" >"$dir/log" 2>&1 ;;
  esac
  at=$(cat "$dir/at")
  events=$("${BUILD:-build}/tests/root/trace_lines" "$dir/trace" | awk -v at="$at" '
    $1 == "event" && (!first || $6 < first) { first = $6 } END { if (first) printf "%.2f\n", (first - at) / 1e6 }')
  [ -n "$events" ] || { echo "no events:"; cat "$dir/log"; exit 1; }
  echo "$events $(awk -v ns=$(($(cpu_ns "$probes") - before)) 'BEGIN { printf "%.2f", ns / 1e6 }')" >>"$TMP/$1"
  stop_all
  rm -rf "$dir"
}

for _ in $(seq "$pairs"); do
  first perfetto
  first sonda
done
paste -d' ' "$TMP/perfetto" "$TMP/sonda" | awk '
  function median(a, n,    i, j, t) {
    for (i = 2; i <= n; i++)
      for (j = i; j > 1 && a[j - 1] > a[j]; j--) { t = a[j]; a[j] = a[j - 1]; a[j - 1] = t }
    return n % 2 ? a[(n + 1) / 2] : (a[n / 2] + a[n / 2 + 1]) / 2
  }
  { for (c = 1; c <= 4; c++) v[c, NR] = $c; ratio[NR] = $3 / $1 }
  END {
    for (c = 1; c <= 4; c++) { for (i = 1; i <= NR; i++) a[i] = v[c, i]; m[c] = median(a, NR) }
    printf "first event: perfetto %.1f ms (producer %.1f ms of CPU), sonda %.1f ms (%.1f), medians of %d\n",
      m[1], m[2], m[3], m[4], NR
    printf "%.2f\n", median(ratio, NR) >"/dev/stderr"
  }' 2>"$TMP/ratio"
asked "time to the first event" "$(cat "$TMP/ratio")" 1.0
exit $OVER
