#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# kernels: none
#
# The drain of linux.ftrace is not kept waiting by scans and polls: with a thousand processes of four threads, the loop of
# sonda-probes is looked at from below (metered_probes.c) while one session drains a ring and others come, scan, poll and
# go. A round of the loop is at most 5 ms of CPU time, but for a single step of the kernel's that takes longer.
. "$(dirname "$0")/lib.sh"
LIMIT_US=$((10000 * ${SLOWNESS:-1}))
export METER_FILE=$TMP/meter

mkfifo "$TMP/idle"
"$B/bench/idle_processes" "$(scaled 1000)" 4 >"$TMP/idle" &
PIDS+=($!)
read -r word <"$TMP/idle" && [ "$word" = ready ]
verdict "a thousand processes" $?
start_ready TRACED_NOTIFY_FD "$TMP/sondad.log" "$BIN/sondad"
start_ready TRACED_PROBES_NOTIFY_FD "$TMP/probes.log" "$B/tests/root/metered_probes"
probes=${PIDS[-1]}
cat >"$TMP/drain" <<'END'
buffers { size_kb: 1024 fill_policy: RING_BUFFER }
data_sources { config { name: "linux.ftrace" ftrace_config {
  ftrace_events: "sched/sched_process_exit" drain_period_ms: 100 } } }
END
record_in_background "$TMP/log" -c "$TMP/drain" -o "$TMP/drain.trace"
verdict "a session that drains is on" $? "$TMP/log"

processes='data_sources { config { name: "linux.process_stats" process_stats_config {
  scan_all_processes_on_start: true record_thread_names: true proc_stats_poll_ms: 200 } } }'
everything='data_sources { config { name: "linux.sys_stats" sys_stats_config { meminfo_period_ms: 10 vmstat_period_ms: 10
  stat_period_ms: 10 psi_period_ms: 10 slab_period_ms: 50 buddyinfo_period_ms: 10 diskstat_period_ms: 10
  thermal_period_ms: 10 cpufreq_period_ms: 10 cpuidle_period_ms: 10 devfreq_period_ms: 10 } } }
data_sources { config { name: "linux.network_stats" network_stats_config { period_ms: 10 counters: "*" } } }
data_sources { config { name: "linux.cgroup_stats" cgroup_stats_config { period_ms: 10 counters: "*" } } }
data_sources { config { name: "linux.system_info" system_info_config { irq_names: true } } }
data_sources { config { name: "linux.sysfs_power" } }'
# "longest_us N over_5ms N rounds N" of what was since the last time, to $TMP/lines.
ask_meter() {
  : >"$METER_FILE"
  kill -USR1 "$probes"
  wait_for [ -s "$METER_FILE" ]
}
# A session comes and goes; its rounds are those of the loop from before its start to after its end.
measure() { # NAME SOURCES...
  local name=$1 longest over rounds
  shift
  printf '%s\n' 'buffers { size_kb: 32768 fill_policy: RING_BUFFER }' 'duration_ms: 800' "$@" >"$TMP/config"
  ask_meter
  "$BIN/sonda" record -c "$TMP/config" -o "$TMP/trace" >"$TMP/log" 2>&1
  verdict "$name: recorded" $? "$TMP/log"
  ask_meter
  read -r _ longest _ over _ rounds <"$METER_FILE"
  [ "$rounds" -ge 20 ] && [ "$longest" -le "$LIMIT_US" ] && [ "$over" -le $((1 + rounds / 50)) ]
  verdict "$name: no round of the loop keeps a ring waiting" $? "$METER_FILE"
}
measure "every source at once" "$processes" "$everything"
measure "six scans at once" "$processes" "$processes" "$processes" "$processes" "$processes" "$processes"
kill "${PIDS[0]}"
wait "${PIDS[0]}"
exit $BAD
