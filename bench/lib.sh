# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# For the paired measurements: records a load with either family's three programs and appends what it cost to
# $TMP/FAMILY. Sourced. A measurement is
#
#   probes ns, service ns   CPU time (/proc/PID/task/*/schedstat) of the whole recording, from before the session to
#                           after its trace is read, divided by the events in the trace
#   bytes                   of packets with events, for each event
#   probes kB, service kB   resident memory at the end
#
# What was lost is printed.
. "$(dirname "${BASH_SOURCE[0]}")/../tests/interop/lib.sh"
. "$(dirname "${BASH_SOURCE[0]}")/asked.sh"
need_tracefs
command -v perf >/dev/null || { echo "perf is missing (Debian: linux-perf)" >&2; exit 77; }

cpu_ns() { # PID
  local sum=0 ns
  for task in /proc/"$1"/task/*/schedstat; do
    read -r ns _ <"$task" 2>/dev/null && sum=$((sum + ns))
  done
  echo $sum
}

# A wait for the daemons to come to rest, so that each measurement holds its own work only.
at_rest() { # PID...
  local before=0 now
  for _ in $(seq 50); do
    now=0
    for pid; do now=$((now + $(cpu_ns "$pid"))); done
    [ $((now - before)) -gt 300000 ] || return 0
    before=$now
    sleep 0.1
  done
}

wait_for() { # COMMAND... : up to 20 s
  for _ in $(seq 200); do
    "$@" && return 0
    sleep 0.1
  done
  return 1
}

rss_kb() { awk '/^VmRSS/ { print $2 }' "/proc/$1/status"; }

start_recorder() { # FAMILY CONFIG OUT
  case $1 in
  sonda) "$BIN/sonda" record -c "$2" -o "$3" >"$3.log" 2>&1 & ;;
  perfetto) "$PEERS/run" perfetto --txt -c "$2" -o "$3" >"$3.log" 2>&1 & ;;
  esac
  PIDS+=("$!")
}

# Whether the kernel records for that many sessions (Perfetto's share the top level).
is_recording() { # FAMILY SESSIONS
  case $1 in
  sonda) [ "$(cat "/sys/kernel/tracing"/instances/sonda-*/tracing_on 2>/dev/null | grep -c 1)" = "$2" ] ;;
  perfetto) [ "$(cat "/sys/kernel/tracing/tracing_on" "/sys/kernel/tracing/events/sched/sched_switch/enable" | tr -d '\n')" = 11 ] ;;
  esac
}

# The load is a function of the caller. With more than one session all of them record the same; events and bytes are
# those of all traces.
measure() { # FAMILY CONFIG SESSIONS LOAD
  local family=$1 config=$2 sessions=$3 load=$4 dir service probes service_ns probes_ns events=0 bytes=0 e b i
  dir=$(mktemp -d "$TMP/$family.XXXX")
  use_sockets "$dir"
  start_service "$family" "$dir" && start_probes "$family" "$dir" || exit 1
  service=${PIDS[0]} probes=${PIDS[1]}
  at_rest "$service" "$probes"
  service_ns=$(cpu_ns "$service") probes_ns=$(cpu_ns "$probes")
  for i in $(seq "$sessions"); do start_recorder "$family" "$config" "$dir/trace$i"; done
  wait_for is_recording "$family" "$sessions" || { echo "$family does not record" >&2; exit 1; }
  sleep 1
  "$load"
  sleep 0.5
  for i in $(seq "$sessions"); do
    kill -TERM "${PIDS[1 + i]}"
  done
  for i in $(seq "$sessions"); do
    wait "${PIDS[1 + i]}"
  done
  service_ns=$(($(cpu_ns "$service") - service_ns)) probes_ns=$(($(cpu_ns "$probes") - probes_ns))
  for i in $(seq "$sessions"); do
    read -r e b < <("${BUILD:-build}/bench/count_events" "$dir/trace$i")
    [ "${e:-0}" -gt 1000 ] || { echo "only ${e:-0} events:"; cat "$dir/trace$i.log"; exit 1; }
    events=$((events + e)) bytes=$((bytes + b))
    query "$dir/trace$i" "select name, idx, value from stats where severity in ('error', 'data_loss') and value > 0" |
      grep -v '^\[\]$' | sed "s/^/$family: lost or wrong: /"
  done
  echo "$probes_ns $service_ns $events $bytes $(rss_kb "$probes") $(rss_kb "$service")" |
    awk '{ printf "%.2f %.2f %.3f %d %d\n", $1 / $3, $2 / $3, $4 / $3, $5, $6 }' >>"$TMP/$family"
  echo "$family: $events events, $(tail -n 1 "$TMP/$family" |
    awk '{ print "probes " $1 " ns, service " $2 " ns, " $3 " bytes an event; resident " $4 " + " $5 " kB" }')"
  stop_all
  rm -rf "$dir"
}

# Medians of the pairwise ratios of what was measured so far, which is forgotten; in $TMP/ratios, for asked_ratio, with
# the median of our own probes' ns an event.
ratios() { # TITLE
  : >"$TMP/ratios"
  paste -d' ' "$TMP/sonda" "$TMP/perfetto" | awk -v title="$1" -v out="$TMP/ratios" '
    function median(a, n,    i, j, t) {
      for (i = 2; i <= n; i++)
        for (j = i; j > 1 && a[j - 1] > a[j]; j--) { t = a[j]; a[j] = a[j - 1]; a[j - 1] = t }
      return n % 2 ? a[(n + 1) / 2] : (a[n / 2] + a[n / 2 + 1]) / 2
    }
    { for (c = 1; c <= 5; c++) ratio[c, NR] = $c / $(c + 5); sum[NR] = ($1 + $2) / ($6 + $7); ns[NR] = $1 }
    function of(c,    i, a) { for (i = 1; i <= NR; i++) a[i] = ratio[c, i]; return median(a, NR) }
    END {
      printf "%s: median of %d ratios, ours / Perfetto'\''s, an event: CPU of probes %.2f, of service %.2f, ", title, NR, of(1), of(2)
      printf "of both %.2f, bytes %.3f; resident probes %.2f, service %.2f\n", median(sum, NR), of(3), of(4), of(5)
      printf "probes %.2f\nservice %.2f\nboth %.2f\nbytes %.3f\nresident_probes %.2f\nresident_service %.2f\nns %.1f\n", of(1), of(2), median(sum, NR), of(3), of(4), of(5), median(ns, NR) >out
    }'
  rm -f "$TMP/sonda" "$TMP/perfetto"
}

ratio_of() { # NAME, as in $TMP/ratios
  sed -n "s/^$1 //p" "$TMP/ratios"
}

asked_ratio() { # TITLE NAME AT_MOST
  asked "$1" "$(ratio_of "$2")" "$3"
}
