#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# usage: bench/ebpf_vs_ftrace.sh [ROUNDS] [LOOPS]      BUILD=build
#
# The same question, asked by counters in the kernel and by events: "how long do threads wait to run?" under
# `perf bench sched pipe -l LOOPS` on one CPU (RUNQ; sched_switch and sched_wakeup, compact), and "what calls does a process
# make, and how long do they take?" under `perf bench syscall basic` (SYSCALLS; raw_syscalls). Each round measures the load
# alone, with the counters, with the events by Perfetto's programs and by ours, and with all default families, in turn:
#
#   CPU     of the load and of both daemons, above that of the load alone: ns an operation
#   machine what that is of the time of all CPUs
#   bytes   of the trace, an operation
#
# What is asked compares the counters with Perfetto's events.
set -u
. "$(dirname "$0")/lib.sh"
rounds=${1:-5} loops=${2:-200000}

source_of() { # MODE
  case $1 in
  runq) echo 'name: "linux.ebpf_counters" ebpf_counters_config { families: RUNQ }' ;;
  syscalls) echo 'name: "linux.ebpf_counters" ebpf_counters_config { families: SYSCALLS }' ;;
  default) echo 'name: "linux.ebpf_counters"' ;;
  sched_events) echo 'name: "linux.ftrace" ftrace_config { ftrace_events: "sched/sched_switch" ftrace_events: "sched/sched_wakeup"
    ftrace_events: "sched/sched_wakeup_new" buffer_size_kb: 16384 compact_sched { enabled: true } }' ;;
  call_events) echo 'name: "linux.ftrace" ftrace_config { ftrace_events: "raw_syscalls/sys_enter" ftrace_events: "raw_syscalls/sys_exit"
    buffer_size_kb: 16384 }' ;;
  esac
}

# Nobody else runs between, which would leave cold caches.
pipe_load() { chrt -f 1 taskset -c 0 perf bench sched pipe -l "$loops" >/dev/null 2>&1; }
call_load() { chrt -f 1 taskset -c 0 perf bench syscall basic -l $((loops * 20)) >/dev/null 2>&1; }

stop_recording() {
  kill -TERM "$recorder"
  wait "$recorder"
}

# Appends "CPU ns, wall ns, bytes" of a load to a file.
measure_mode() { # MODE FAMILY LOAD OUT
  local dir wall service=${service_of[$2]} probes=${probes_of[$2]} daemons recorder=
  dir=$(mktemp -d "$TMP/$1.XXXX")
  : >"$dir/trace"
  if [ "$1" != none ]; then
    use_sockets "$TMP/$2"
    { echo 'buffers { size_kb: 524288 fill_policy: DISCARD }'; echo "data_sources { config { $(source_of "$1") } }"; } >"$dir/config"
    rm "$dir/trace"
    start_recorder "$2" "$dir/config" "$dir/trace"
    recorder=$!
    case $1 in *_events) wait_for is_recording "$2" 1 ;; esac
    sleep 2 # a family is loaded a step
  fi
  # What it took to begin is no part of an operation's cost.
  daemons=$(($(cpu_ns "$service") + $(cpu_ns "$probes")))
  wall=$(date +%s%N)
  TIMEFORMAT='%U %S'
  { time "$3"; } 2>"$dir/load_s"
  wall=$(($(date +%s%N) - wall))
  [ -z "$recorder" ] || stop_recording
  daemons=$(($(cpu_ns "$service") + $(cpu_ns "$probes") - daemons))
  awk -v daemons="$daemons" -v wall=$wall -v bytes="$(stat -c %s "$dir/trace")" \
    '{ printf "%.0f %.0f %d\n", ($1 + $2) * 1e9 + daemons, wall, bytes }' "$dir/load_s" >>"$4"
  rm -rf "$dir"
}

compare() { # TITLE LOAD OPERATIONS COUNTERS EVENTS
  for _ in $(seq "$rounds"); do
    measure_mode none sonda "$2" "$TMP/none"
    measure_mode "$4" sonda "$2" "$TMP/counters"
    measure_mode "$5" perfetto "$2" "$TMP/events"
    measure_mode "$5" sonda "$2" "$TMP/own_events"
    measure_mode default sonda "$2" "$TMP/default"
  done
  (cd "$TMP" && paste -d' ' none counters events own_events default) |
    awk -v title="$1" -v n="$3" -v cpus="$(nproc)" -v out="$TMP/figures" '
    function median(a, n,    i, j, t) {
      for (i = 2; i <= n; i++)
        for (j = i; j > 1 && a[j - 1] > a[j]; j--) { t = a[j]; a[j] = a[j - 1]; a[j - 1] = t }
      return n % 2 ? a[(n + 1) / 2] : (a[n / 2] + a[n / 2 + 1]) / 2
    }
    function of(c, per,    i, a) { for (i = 1; i <= NR; i++) a[i] = f[c, i] / per; return median(a, NR) }
    {
      for (c = 0; c < 5; c++) { f["cpu" c, NR] = $(3 * c + 1) - $1; f["bytes" c, NR] = $(3 * c + 3) }
      f["alone", NR] = $1; f["share", NR] = 100 * ($13 - $1) / $14
    }
    END {
      printf "%s, above an operation of %.0f ns: counters %.0f ns, %.3f bytes; events by Perfetto %.0f ns, %.1f bytes, by sonda %.0f ns, %.1f bytes; ",
        title, of("alone", n), of("cpu1", n), of("bytes1", n), of("cpu2", n), of("bytes2", n), of("cpu3", n), of("bytes3", n)
      printf "default families %.0f ns, %.2f %% of the machine\n", of("cpu4", n), of("share", cpus)
      printf "cpu %.3f\nbytes %.5f\nshare %.2f\n", of("cpu1", n) / of("cpu2", n), of("bytes1", n) / of("bytes2", n), of("share", cpus) >out
    }'
  asked "$1: CPU, of that of the events" "$(sed -n 's/^cpu //p' "$TMP/figures")" 0.333
  asked "$1: bytes, of those of the events" "$(sed -n 's/^bytes //p' "$TMP/figures")" 0.02
  asked "$1: default families, percent of the machine" "$(sed -n 's/^share //p' "$TMP/figures")" 3
  rm -f "$TMP"/{none,counters,events,own_events,default}
}

declare -A service_of probes_of
for family in sonda perfetto; do
  mkdir "$TMP/$family"
  use_sockets "$TMP/$family"
  start_service $family "$TMP/$family" && start_probes $family "$TMP/$family" || exit 1
  service_of[$family]=${PIDS[-2]} probes_of[$family]=${PIDS[-1]}
done
compare "waits to run" pipe_load $((loops * 2)) runq sched_events
compare "calls" call_load $((loops * 20)) syscalls call_events
exit "$OVER"
