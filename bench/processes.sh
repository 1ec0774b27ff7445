#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# usage: bench/processes.sh [PAIRS] [PROCESSES] [THREADS]      BUILD=build
#
# linux.process_stats with 2,000 idle processes of 4 threads each, by Perfetto's traced_probes and by ours in turn: the
# CPU time of the producer for one full scan with thread names, for one poll of all counters, and for one poll where
# only changes are written; and with smaps_rollup, which is the kernel's work in both. Then its resident memory after
# the first polls and after a hundred more. WHAT="scan poll changes smaps" chooses, and leaves the memory out.
set -u
. "$(dirname "$0")/lib.sh"
pairs=${1:-5} processes=${2:-2000} threads=${3:-4}
polls=10

mkfifo "$TMP/idle"
IDLE=''
end_processes() {
  [ -n "$IDLE" ] || return
  { kill "$IDLE" && wait "$IDLE"; } 2>/dev/null
  IDLE=''
  # The others end with it, but not at once.
  for _ in $(seq 100); do
    pgrep -x idle_processes >/dev/null || break
    sleep 0.1
  done
}
trap '[ "$BASHPID" != $$ ] || { end_processes; leave; }' EXIT

# New ones for each scan: what the kernel keeps of a file in /proc that was looked up before makes it cheaper for the next.
new_processes() {
  local word
  end_processes
  "${BUILD:-build}/bench/idle_processes" "$processes" "$threads" >"$TMP/idle" &
  IDLE=$!
  read -r word <"$TMP/idle" && [ "$word" = ready ] || { echo "the processes do not start" >&2; exit 1; }
}

config() { # WHAT FIELDS...
  printf 'buffers { size_kb: 131072 fill_policy: DISCARD }\nduration_ms: 120000\n' >"$TMP/config.$1"
  printf 'data_sources { config { name: "linux.process_stats" process_stats_config { %s } } }\n' "$2" >>"$TMP/config.$1"
}
config scan "scan_all_processes_on_start: true record_thread_names: true"
config poll "proc_stats_poll_ms: 500"
config changes "proc_stats_poll_ms: 500 proc_stats_cache_ttl_ms: 600000"
config smaps "proc_stats_poll_ms: 500 scan_smaps_rollup: true record_process_runtime: true"

# Sets service, probes and dir.
begin() { # FAMILY
  dir=$(mktemp -d "$TMP/$1.XXXX")
  use_sockets "$dir"
  start_service "$1" "$dir" && start_probes "$1" "$dir" || exit 1
  service=${PIDS[0]} probes=${PIDS[1]}
  at_rest "$service" "$probes"
}
end() {
  kill -TERM "${PIDS[2]}"
  wait "${PIDS[2]}"
  [ "$(trace_errors "$dir/trace")" = '[]' ] || { echo "the trace has errors"; trace_errors "$dir/trace"; }
  stop_all
  rm -rf "$dir"
}

scan() { # FAMILY: ns of one scan
  local before
  new_processes
  begin "$1"
  before=$(cpu_ns "$probes")
  start_recorder "$1" "$TMP/config.scan" "$dir/trace"
  sleep 2
  at_rest "$probes"
  echo $(($(cpu_ns "$probes") - before)) >>"$TMP/$1.scan"
  end
}

poll() { # FAMILY WHAT: ns of one poll, in the steady state
  local before
  begin "$1"
  start_recorder "$1" "$TMP/config.$2" "$dir/trace"
  sleep 2.2
  before=$(cpu_ns "$probes")
  sleep $((polls / 2))
  echo $((($(cpu_ns "$probes") - before) / polls)) >>"$TMP/$1.$2"
  end
}

ratio() { # WHAT
  paste "$TMP/sonda.$1" "$TMP/perfetto.$1" | awk '{ print $1 / $2, $1, $2 }' | sort -n | awk -v what="$1" '
    { r[NR] = $1; a[NR] = $2; b[NR] = $3 }
    END { m = int((NR + 1) / 2); printf "%s: median of %d ratios %.2f (%.1f ms, Perfetto %.1f ms)\n", what, NR, r[m], a[m] / 1e6, b[m] / 1e6 }' |
    tee "$TMP/figures"
  case $1 in
  smaps) ;; # is the kernel's work
  *) asked "CPU of probes, $1" "$(sed -n 's/.* ratios \([0-9.]*\) .*/\1/p' "$TMP/figures")" 0.5 ;;
  esac
}

# Without the shared memory, of which more is touched until all of it is.
anon_kb() { awk '/^RssAnon/ { print $2 }' "/proc/$1/status"; }

memory() {
  local first
  begin sonda
  start_recorder sonda "$TMP/config.changes" "$dir/trace"
  sleep 5
  first=$(anon_kb "$probes")
  sleep 50
  echo "memory: $first kB after 10 polls, $(anon_kb "$probes") kB after 110"
  end
}

new_processes
for what in ${WHAT:-scan poll changes smaps}; do
  for _ in $(seq "$pairs"); do
    for family in perfetto sonda; do
      case $what in
      scan) scan $family ;;
      *) poll $family "$what" ;;
      esac
    done
  done
  ratio "$what"
done
[ -n "${WHAT:-}" ] || memory
exit $OVER
