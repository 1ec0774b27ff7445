#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# usage: bench/ebpf_families.sh [FAMILY...]       BUILD=build SECONDS_EACH=2
#
# What the programs of each family of linux.ebpf_counters cost in the kernel under `perf bench sched pipe` and under
# `perf bench syscall basic`: runs a second, ns a run, percent of the machine, by BPF's run time statistics. These are
# themselves some 50 ns of each run: `FUTEX`, which leaves at nearly every call, shows how much. "default" is all families
# that a config without any has. "RUNQ+cgroups" is RUNQ with waits_by_cgroup: if RUNQ is named as often, as in
# `RUNQ RUNQ+cgroups RUNQ RUNQ+cgroups`, the medians of its switches are compared.
set -u
. "$(dirname "$0")/lib.sh"
[ $# -gt 0 ] || set -- default RUNQ CPU_TIME FAULTS SYSCALLS FUTEX
command -v bpftool >/dev/null || { echo "bpftool is missing" >&2; exit 77; }
stats=/proc/sys/kernel/bpf_stats_enabled
seconds=${SECONDS_EACH:-2}
was=$(cat $stats)
end() {
  echo "$was" >$stats
  leave
}
trap '[ "$BASHPID" != $$ ] || end' EXIT

# "ID NAME NS RUNS" of each program.
programs() {
  bpftool prog | awk '/^[0-9]+: / { id = $1 + 0; ns = runs = 0; name = "-"
      for (i = 2; i < NF; i++) {
        if ($i == "name") name = $(i + 1)
        if ($i == "run_time_ns") ns = $(i + 1)
        if ($i == "run_cnt") runs = $(i + 1)
      }
      print id, name, ns, runs }' | sort
}

measure_family() { # FAMILY LOAD...
  local family=$1 recorder load sum
  shift
  bpftool prog | sed -n 's/^\([0-9]*\): .*/\1/p' >"$TMP/ids"
  {
    echo 'buffers { size_kb: 65536 fill_policy: DISCARD }'
    echo 'data_sources { config { name: "linux.ebpf_counters" ebpf_counters_config {'
    [ "$family" = default ] || echo "families: ${family%+cgroups}"
    [ "$family" = "${family%+cgroups}" ] || echo "waits_by_cgroup: true"
    echo '} } }'
  } >"$TMP/config"
  rm -f "$TMP/is_on"
  "$BIN/sonda" record -c "$TMP/config" -o "$TMP/trace" -- sh -c 'echo >"$0"; exec sleep 600' "$TMP/is_on" >"$TMP/log" 2>&1 &
  recorder=$!
  wait_for [ -e "$TMP/is_on" ]
  timeout $((seconds + 1)) "$@" >/dev/null 2>&1 &
  load=$!
  sleep 0.5
  echo 1 >$stats
  programs >"$TMP/before"
  sleep "$seconds"
  programs >"$TMP/after"
  echo "$was" >$stats
  join "$TMP/before" "$TMP/after" | awk -v family="$family" -v what="$*" -v s="$seconds" -v cpus="$(nproc)" '
    FILENAME != "-" { old[$1] = 1; next }
    !($1 in old) && $7 > $4 {
      printf "  %-20s %9.0f /s %7.1f ns %6.2f %%\n", $2, ($7 - $4) / s, ($6 - $3) / ($7 - $4), ($6 - $3) / s / cpus / 1e7
      sum += ($6 - $3) / s / cpus / 1e7
    }
    END { printf "%s, %s: %.2f %% of the machine\n", family, what, sum }' "$TMP/ids" - | tee "$TMP/figures"
  sum=$(sed -n 's/.*: \([0-9.]*\) % of the machine$/\1/p' "$TMP/figures")
  [ "$family" != default ] || asked "the default families together, percent of the machine" "$sum" 3
  [ "$2 $3" != "bench sched" ] || sed -n "s|^  on_switch .*/s *\([0-9.]*\) ns.*|$family \1|p" "$TMP/figures" >>"$TMP/switches"
  kill "$recorder"
  wait "$recorder"
  wait "$load"
}
median_of() { # FAMILY
  awk -v f="$1" '$1 == f { print $2 }' "$TMP/switches" | sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'
}

use_sockets "$TMP"
start_service sonda "$TMP" && start_probes sonda "$TMP" || exit 1
for family; do
  measure_family "$family" perf bench sched pipe -l 100000000
  measure_family "$family" perf bench syscall basic -l 1000000000
done
if [ -n "$(median_of RUNQ)" ] && [ -n "$(median_of RUNQ+cgroups)" ]; then
  asked "ns of a switch that RUNQ takes longer by control group" \
    "$(awk "BEGIN { print $(median_of RUNQ+cgroups) - $(median_of RUNQ) }")" 120
fi
exit "$OVER"
