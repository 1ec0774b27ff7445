#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# tracefs: shared
#
# sonda sql on traces that others made: Perfetto's service and probes; two machines, of which the one is Perfetto's behind
# a relay with other clocks, or ours at Perfetto's service; compressed packets of either kind; other kernels (of
# tests/data/traces). Every row of the tables is trace_processor's.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/sql_lib.sh"
need_tracefs
RELAY=$B/tests/interop/relay
needs_built "$RELAY"
dir=$TMP/sql
mkdir "$dir"
use_sockets "$dir"

config() { # FTRACE [MORE SOURCES]
  cat <<CONFIG
buffers { size_kb: ${SIZE:-1024} }
data_sources { config { name: "linux.ftrace" ftrace_config { $1 } } ${MACHINES:-} }
data_sources { config { name: "linux.process_stats" process_stats_config { scan_all_processes_on_start: true ${POLL:-} } } ${MACHINES:-} }
data_sources { config { name: "linux.system_info" } ${MACHINES:-} }
duration_ms: ${DURATION:-200}
${2:-}
CONFIG
}
events() { printf 'ftrace_events: "%s" ' "$@"; }
sched=$(events sched/sched_switch sched/sched_waking task/task_newtask task/task_rename sched/sched_process_free)
more=$(events irq/irq_handler_entry irq/irq_handler_exit irq/softirq_entry irq/softirq_exit raw_syscalls/sys_enter raw_syscalls/sys_exit \
  timer/hrtimer_expire_entry timer/hrtimer_expire_exit workqueue/workqueue_execute_start workqueue/workqueue_execute_end \
  ftrace/print kmem/rss_stat power/cpu_idle sched/sched_blocked_reason signal/signal_generate block/block_rq_issue block/block_rq_complete)
compact='compact_sched { enabled: true }'
sys='data_sources { config { name: "linux.sys_stats" sys_stats_config { meminfo_period_ms: 100 vmstat_period_ms: 100
  stat_period_ms: 100 cpufreq_period_ms: 100 buddyinfo_period_ms: 100 psi_period_ms: 100 thermal_period_ms: 100
  cpuidle_period_ms: 100 slab_period_ms: 100 devfreq_period_ms: 100 diskstat_period_ms: 100 } } }'
config "$compact $sched" >"$dir/compact.config"
config "symbolize_ksyms: true $sched $more" >"$dir/full.config"
config "$compact $sched" 'compression_type: COMPRESSION_TYPE_DEFLATE' >"$dir/deflated.config"
SIZE=32 config "$compact $sched $(events raw_syscalls/sys_enter)" >"$dir/lossy.config"
POLL='proc_stats_poll_ms: 100 scan_smaps_rollup: true record_process_runtime: true' config "$(events power/cpu_frequency)" "$sys" \
  >"$dir/counters.config"
MACHINES='machine_name_filter: "guest" machine_name_filter: "host"'
config "$sched $(events irq/softirq_entry irq/softirq_exit)" "${sys/%\}/$MACHINES \}}" >"$dir/machines.config"

hold_top_level
while sleep 0.02; do :; done &
PIDS+=($!)
start_service perfetto "$dir" && start_probes perfetto "$dir"
verdict "Perfetto's service and probes start" $? "$dir/service.log"
for name in compact full deflated lossy counters; do
  record perfetto "$dir/$name.config" "$dir/$name.trace" "$dir/$name.log"
  verdict "a $name trace is recorded" $? "$dir/$name.log"
done
stop_all
leave_top_level
for name in compact full deflated lossy counters; do keep_parents "$dir/$name.trace"; done
# A trace that is cut off in the middle of a packet.
head -c "$(($(stat -c %s "$dir/full.trace") * 2 / 3))" "$dir/full.trace" >"$dir/cut.trace"
for name in compact full deflated lossy counters cut; do equal "Perfetto's $name" "$dir/$name.trace" "${kernel_tables[@]}"; done
equal "Perfetto's tracks" "$dir/counters.trace" "${track_tables[@]}"

# trace_processor 55 does not read what zstd packed: its rows are those of the packets as they were.
python3 - "$dir/compact.trace" "$dir/zstd.trace" <<'END' >"$dir/log" 2>&1
import ctypes, sys
data = open(sys.argv[1], "rb").read()
lib = ctypes.CDLL("libzstd.so.1")
lib.ZSTD_compress.restype = ctypes.c_size_t
lib.ZSTD_compress.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int]
out = ctypes.create_string_buffer(len(data) + 1024)
n = lib.ZSTD_compress(out, len(out), data, len(data), 1)
assert 0 < n < len(out)
def varint(n):
    out = b""
    while n >= 128:
        out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])
packet = varint(133 << 3 | 2) + varint(n) + out.raw[:n]  # TracePacket.zstd_compressed_packets
open(sys.argv[2], "wb").write(b"\x0a" + varint(len(packet)) + packet)
END
verdict "zstd packs packets" $? "$dir/log"
equal_to "zstd" "$dir/compact.trace" "$dir/zstd.trace" "${kernel_tables[@]}"

# ---- two machines ----

here=$PERFETTO_PRODUCER_SOCK_NAME
# Below the ports that the kernel gives to clients.
until port=$((20000 + RANDOM % 12000)); ! (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do :; done
there=127.0.0.1:$port
# record_relayed SHIFT_NS TRACE: by our service, from our probes and from Perfetto's on a machine whose clocks differ by so much.
record_relayed() {
  while sleep 0.02; do :; done &
  PIDS+=($!)
  start_daemon TRACED_NOTIFY_FD "$dir/service.log" env PERFETTO_PRODUCER_SOCK_NAME="$here,$there" "$BIN/sondad" \
    --allow-remote 127.0.0.1 --enable-relay-endpoint-on "$there" &&
    start_daemon TRACED_NOTIFY_FD "$dir/relay.log" "$RELAY" "$TMP/guest" "$there" some-boot-id guest "$1" &&
    start_daemon TRACED_PROBES_NOTIFY_FD "$dir/probes.log" env PERFETTO_PRODUCER_SOCK_NAME="$TMP/guest" "$PEERS/run" traced_probes &&
    start_probes sonda "$dir" && record sonda "$dir/machines.config" "$2" "$dir/log"
}
hold_top_level
record_relayed -3600000000000 "$dir/ours.trace"
verdict "our service records our probes and Perfetto's behind a relay" $? "$dir/log"
stop_all
# The times of a machine whose clock is further ahead than this one is up are below 0: its events are dropped.
record_relayed $((($(cut -d. -f1 /proc/uptime) + 3600) * 1000000000)) "$dir/ahead.trace"
verdict "the same with a clock so far ahead that its times are below 0" $? "$dir/log"
stop_all
leave_top_level
for name in ours ahead; do keep_parents "$dir/$name.trace"; done
"$BIN/sonda" sql --csv "$dir/ahead.trace" "select value > 100 from stats where name = 'trace_sorter_negative_timestamp_dropped'" |
  tr -d '\r' | grep -qx 1
verdict "events of times below 0 are dropped and counted" $?
equal "times below 0" "$dir/ahead.trace" "${kernel_tables[@]}"
equal "times below 0, tracks" "$dir/ahead.trace" "${track_tables[@]}"
hold_top_level
while sleep 0.02; do :; done &
PIDS+=($!)
start_daemon TRACED_NOTIFY_FD "$dir/service.log" env PERFETTO_PRODUCER_SOCK_NAME="$here,$there" "$PEERS/run" traced --enable-relay-endpoint &&
  start_probes perfetto "$dir" &&
  start_daemon TRACED_PROBES_NOTIFY_FD "$dir/probes.log" env PERFETTO_MACHINE_NAME=guest PERFETTO_PRODUCER_SOCK_NAME="$there" \
    "$BIN/sonda-probes" && record perfetto "$dir/machines.config" "$dir/theirs.trace" "$dir/log"
verdict "Perfetto's service records its probes and ours of another machine" $? "$dir/log"
stop_all
leave_top_level
keep_parents "$dir/theirs.trace"
for name in ours theirs; do
  [ "$("$BIN/sonda" sql --csv "$dir/$name.trace" "select count(distinct machine_id) from sched join thread using (utid)" | tail -n 1 | tr -d '\r')" = 2 ]
  verdict "$name: both machines are in the trace" $?
  equal "two machines at $name" "$dir/$name.trace" "${kernel_tables[@]}"
  equal "two machines at $name, tracks" "$dir/$name.trace" "${track_tables[@]}"
done

# ---- other kernels ----

for trace in tests/data/traces/kernel_*.pftrace; do
  name=$(basename "$trace" .pftrace)
  equal "$name" "$trace" "${kernel_tables[@]}"
  equal "$name, tracks" "$trace" "${track_tables[@]}"
done
echo "1..$N"
exit $BAD
