#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# tracefs: shared
#
# sonda sql on recorded traces: every row of the tables is trace_processor's. It writes markers, good and bad, which all
# recordings of markers get.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/sql_lib.sh"
need_tracefs
dir=$TMP/sql
mkdir "$dir"
use_sockets "$dir"

config() { # EVENTS... : of a recording
  cat <<CONFIG
buffers { size_kb: ${SIZE:-32768} }
data_sources { config { name: "linux.ftrace" ftrace_config { $(printf 'ftrace_events: "%s" ' "${@:2}") $1 } } }
data_sources { config { name: "linux.process_stats" process_stats_config { scan_all_processes_on_start: true } } }
data_sources { config { name: "linux.system_info" } }
duration_ms: ${DURATION:-200}
$MORE
CONFIG
}

hold_top_level
start_service sonda "$dir" && start_probes sonda "$dir"
verdict "sondad and sonda-probes start" $? "$dir/service.log"
sched=(sched/sched_switch sched/sched_waking task/task_newtask task/task_rename sched/sched_process_free)
MORE=
config 'compact_sched { enabled: true }' "${sched[@]}" >"$dir/compact.config"
# As a busy machine has many events, the buffer limits the rows that are compared.
SIZE=4096 DURATION=400 config 'compact_sched { enabled: false } symbolize_ksyms: true' "${sched[@]}" sched/sched_blocked_reason \
  timer/hrtimer_expire_entry \
  timer/hrtimer_expire_exit irq/softirq_entry irq/softirq_exit irq/irq_handler_entry irq/irq_handler_exit \
  workqueue/workqueue_execute_start workqueue/workqueue_execute_end ftrace/print kmem/rss_stat power/cpu_idle \
  power/cpu_frequency oom/oom_score_adj_update net/netif_receive_skb net/net_dev_xmit skb/kfree_skb signal/signal_generate \
  signal/signal_deliver sock/inet_sock_set_state tcp/tcp_retransmit_skb vmscan/mm_vmscan_direct_reclaim_begin \
  vmscan/mm_vmscan_direct_reclaim_end block/block_io_start block/block_io_done napi/napi_poll >"$dir/full.config"
MORE='compression_type: COMPRESSION_TYPE_DEFLATE' config 'compact_sched { enabled: true }' "${sched[@]}" >"$dir/deflated.config"
SIZE=64 DURATION=700 config 'compact_sched { enabled: true }' "${sched[@]}" raw_syscalls/sys_enter >"$dir/lossy.config"
cat >"$dir/counters.config" <<CONFIG
buffers { size_kb: 8192 }
data_sources { config { name: "linux.process_stats" process_stats_config {
  scan_all_processes_on_start: true proc_stats_poll_ms: 100 scan_smaps_rollup: true record_process_runtime: true } } }
data_sources { config { name: "linux.sys_stats" sys_stats_config { meminfo_period_ms: 100 vmstat_period_ms: 100
  stat_period_ms: 100 cpufreq_period_ms: 100 buddyinfo_period_ms: 100 psi_period_ms: 100 thermal_period_ms: 100
  cpuidle_period_ms: 100 slab_period_ms: 100 devfreq_period_ms: 100 diskstat_period_ms: 100 } } }
duration_ms: 300
CONFIG
while sleep 0.02; do :; done &
load=$!
PIDS+=("$load")
# Markers as programs write them, good and bad, while there are recordings.
while sleep 0.03; do
  for line in "B|$$|outer|part" "B|$$|" "E|$$" "C|$$|depth|7" "I|$$|now" E "text" "S|$$|load|3" "S|$$|load|4" "F|$$|load|3" \
    "G|$$|line|job|7" "H|$$|line|7" "N|$$|line|moment" "C|$$|none|x"; do echo "$line" >/sys/kernel/tracing/trace_marker; done 2>/dev/null
done &
markers=$!
PIDS+=("$markers")
for name in compact full deflated lossy counters; do
  record sonda "$dir/$name.config" "$dir/$name.trace" "$dir/$name.log"
  verdict "a $name trace is recorded" $? "$dir/$name.log"
done
kill "$load" "$markers"
leave_top_level
for name in compact full deflated lossy counters; do keep_parents "$dir/$name.trace"; done
for name in compact deflated lossy counters; do equal "$name" "$dir/$name.trace" "${kernel_tables[@]}"; done
# trace_processor does not know the flags of a sched_waking that is not in columns, nor the fields that its messages lack.
further=$(awk '
  NR == FNR { known[$1]; next }
  FNR == 1 { event = FILENAME; sub(/\/format$/, "", event); sub(/.*\//, "", event) }
  /^\tfield:/ && toupper("PB_FTRACE_EVENT_" event) in known {
    sub(/;.*/, ""); sub(/\[.*/, ""); field = $NF; sub(/^\*/, "", field)
    if (!(toupper("PB_" event "_FTRACE_EVENT_" field) in known))
      printf ", (\047%s\047, \047%s\047), (\047%s\047, \047%s_name\047)", event, field, event, field
    printf ", (\047%s\047, \047%s_symbol\047)", event, field
  }' "$B/gen/fields.h" $(sed 's/ftrace_events: /\n/g' "$dir/full.config" |
  sed -nE "s:^\"([a-z0-9_]+/[a-z0-9_]+)\".*:/sys/kernel/tracing/events/\1/format:p" | xargs -r ls 2>/dev/null))
without_flags=("${kernel_tables[@]//irq_context, /}")
known="!= ('kfree_skb', 'location')"
without_flags=("${without_flags[@]//"$known"/"not in (('kfree_skb', 'location')$further)"}")
without_flags=("${without_flags[@]//common_flags, /}")
equal full "$dir/full.trace" "${without_flags[@]}"
head -c "$(($(stat -c %s "$dir/full.trace") * 2 / 3))" "$dir/full.trace" >"$dir/cut.trace"
equal "cut off" "$dir/cut.trace" "${without_flags[@]}"
exit $BAD
