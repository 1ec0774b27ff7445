#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# kernels: none
# tracefs: shared
#
# Each allocation of sonda-probes in turn fails, over a session with each of its data sources from its set-up to its end:
# sonda-probes lives, keeps no memory and no tracefs instance, and records the next session. EVERY as in
# tests/system/test_nth_alloc.sh.
. "$(dirname "$0")/lib.sh"
every=${EVERY:-60}
B=$(dirname "$BIN")
nth=$B/tests/system/nth_alloc
preload=$B/tests/system/preload/nth_alloc.so
[ -x "$nth" ] && [ -e "$preload" ] || { echo "$nth is not built" >&2; exit 77; }
! nm -D "$BIN/sonda-probes" | grep -q __asan || { echo "a sanitizer has an allocator of its own" >&2; exit 77; }

numbers=$TMP/of_probes
truncate -s 64 "$numbers"
start_ready TRACED_NOTIFY_FD "$TMP/service.log" "$BIN/sondad"
# Each sweep has one of its own, so that one that dies does not spoil the next.
start_probes() {
  start_ready TRACED_PROBES_NOTIFY_FD "$TMP/probes.log" env LD_PRELOAD="$preload" NTH_ALLOC_FILE="$numbers" \
    NTH_ALLOC_PROGRAM=sonda-probes ${SHOWS:+NTH_ALLOC_SHOWS=1} "$BIN/sonda-probes"
}

# Waits until sonda-probes, which may have lost its connection, is registered again.
cat >"$TMP/session" <<END
i=0
until "$BIN/sonda" status 2>/dev/null | grep -q linux.sys_stats || [ \$((i += 1)) -gt 200 ]; do sleep 0.05; done
exec "$BIN/sonda" record -c "\$1" -o "$TMP/trace"
END
sweep() { # WHAT DATA_SOURCES
  cat >"$TMP/config" <<CONFIG
buffers { size_kb: 4096 fill_policy: DISCARD }
$2
duration_ms: 30
flush_timeout_ms: 2000
CONFIG
  start_probes
  "$nth" "$numbers" "${PIDS[-1]}" "$every" -- sh "$TMP/session" "$TMP/config" >"$TMP/log" 2>"$TMP/err"
  verdict "$1" $? "$TMP/log"
  tail -n 1 "$TMP/log" | sed 's/^/# /'
  wait_for no_instances
  verdict "$1: no instance is left" $? "$TMP/probes.log"
  { kill "${PIDS[-1]}"; wait "${PIDS[-1]}"; } 2>/dev/null
  unset 'PIDS[-1]'
}
source_of() { # NAME CONFIG
  echo "data_sources { config { name: \"$1\" $2 } }"
}
sweep linux.ftrace "$(source_of linux.ftrace 'ftrace_config { ftrace_events: "sched/sched_switch"
  ftrace_events: "irq/softirq_entry" compact_sched { enabled: true } buffer_size_kb: 256 }')"
sweep "linux.ftrace with options" "$(source_of linux.ftrace 'ftrace_config { ftrace_events: "sched/*" symbolize_ksyms: true
  syscall_events: "sys_read" event_filters { event: "sched/sched_switch" filter: "prev_pid > 0" } pids_to_trace: 1
  buffer_size_kb: 256 }')"
sweep "process_stats, sys_stats" "$(
  source_of linux.process_stats 'process_stats_config { scan_all_processes_on_start: true proc_stats_poll_ms: 100 }'
  source_of linux.sys_stats 'sys_stats_config { meminfo_period_ms: 10 stat_period_ms: 10 psi_period_ms: 10 }')"
sweep "system_info, sysfs_power, journald, cgroup_stats, network_stats" "$(
  source_of linux.system_info 'system_info_config { irq_names: true }'
  for source in sysfs_power systemd_journald cgroup_stats network_stats; do source_of linux.$source ''; done)"
sweep ebpf_counters "$(source_of linux.ebpf_counters 'ebpf_counters_config { families: CPU_TIME families: TCP }')"

start_probes
sh "$TMP/session" "$TMP/config" >"$TMP/log" 2>&1
verdict "afterwards sonda-probes records as before" $? "$TMP/log"
exit $BAD
