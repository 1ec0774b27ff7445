#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# usage: bench/cgroup_members.sh [ROUNDS [RATE [SECONDS]]]       BUILD=build
#
# What linux.cgroup_members costs while RATE processes a second start and end (5,000): the run time of its BPF programs, by the
# kernel's statistics, which are some 50 ns of each run, and the CPU time of sonda-probes and sondad; in ns for each process, and
# in percent of one CPU. An idle recording of the same length is subtracted.
set -u
. "$(dirname "$0")/lib.sh"
command -v bpftool >/dev/null || { echo "bpftool is missing" >&2; exit 77; }
rounds=${1:-3} rate=${2:-5000} seconds=${3:-5}
stats=/proc/sys/kernel/bpf_stats_enabled
was=$(cat $stats)
end() {
  echo "$was" >$stats
  leave
}
trap '[ "$BASHPID" != $$ ] || end' EXIT

programs() { # "ID NS" of each program of linux.cgroup_members
  bpftool prog | awk '/^[0-9]+: .* name on_(new_task|exec|attach|mkdir|rmdir) / { id = $1 + 0; ns = 0
      for (i = 2; i < NF; i++) if ($i == "run_time_ns") ns = $(i + 1)
      print id, ns }' | sort
}
bpf_ns() { # of those that the recording has loaded, since the file before was written
  programs | join "$TMP/before" - | awk 'NR == FNR { old[$1]; next } !($1 in old) { ns += $3 - $2 } END { printf "%.0f\n", ns }' "$TMP/ids" -
}
# LOAD...: sets ns_bpf, ns_probes and ns_service, each that of the time in which the load ran.
measure_members() {
  local recorder
  rm -f "$TMP/is_on"
  bpftool prog | sed -n 's/^\([0-9]*\): .*/\1/p' >"$TMP/ids"
  "$BIN/sonda" record -c "$TMP/config" -o "$TMP/trace" -- sh -c 'echo >"$0"; exec sleep 600' "$TMP/is_on" >"$TMP/log" 2>&1 &
  recorder=$!
  wait_for [ -e "$TMP/is_on" ]
  at_rest "$service" "$probes"
  ns_service=$(cpu_ns "$service") ns_probes=$(cpu_ns "$probes")
  programs >"$TMP/before"
  echo 1 >$stats
  "$@" >"$TMP/load"
  sleep 0.5 # until its last rows are read
  ns_bpf=$(bpf_ns)
  echo "$was" >$stats
  ns_service=$(($(cpu_ns "$service") - ns_service)) ns_probes=$(($(cpu_ns "$probes") - ns_probes))
  kill "$recorder"
  wait "$recorder"
}

echo 'buffers { size_kb: 65536 } data_sources { config { name: "linux.cgroup_members" } }' >"$TMP/config"
use_sockets "$TMP"
start_service sonda "$TMP" && start_probes sonda "$TMP" || exit 1
service=${PIDS[0]} probes=${PIDS[1]}
for _ in $(seq "$rounds"); do
  measure_members sleep "$seconds"
  idle_bpf=$ns_bpf idle_probes=$ns_probes idle_service=$ns_service
  measure_members "$BENCH/forks" "$rate" "$seconds"
  read -r n took <"$TMP/load"
  awk -v n="$n" -v took="$took" -v rate="$rate" -v b=$((ns_bpf - idle_bpf)) -v p=$((ns_probes - idle_probes)) -v s=$((ns_service - idle_service)) 'BEGIN {
    printf "%d processes in %.1f s; ns a process: programs %.0f, probes %.0f, service %.0f; with %d a second %.3f percent of a CPU\n",
      n, took, b / n, p / n, s / n, rate, (b + p + s) / n * rate / 1e7 }' | tee -a "$TMP/rounds"
done
share=$(sed 's/.* second \([0-9.]*\) percent.*/\1/' "$TMP/rounds" | sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }')
asked "percent of a CPU for rows of membership with $rate processes a second" "$share" 0.2
exit "$OVER"
