#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# kernels: none
#
# tracefs: shared
#
# kill -9 of sondad while sonda-probes waits for it, with its shared memory full: the recording ends within 2 s, not
# when the wait is over (10 s), and its instance with it.
. "$(dirname "$0")/lib.sh"

"$BIN/sondad" >"$TMP/service.log" 2>&1 </dev/null &
service=$!
PIDS+=("$service")
wait_for [ -S "$PERFETTO_PRODUCER_SOCK_NAME" ]
start_ready TRACED_PROBES_NOTIFY_FD "$TMP/probes.log" "$BIN/sonda-probes"
probes=${PIDS[-1]}

cat >"$TMP/config" <<'CONFIG'
buffers { size_kb: 8192 }
producers { producer_name: "perfetto.traced_probes" shm_size_kb: 64 page_size_kb: 4 }
data_sources { config { name: "linux.ftrace" buffer_exhausted_policy: BUFFER_EXHAUSTED_STALL_THEN_DROP
  ftrace_config { ftrace_events: "raw_syscalls/*" ftrace_events: "sched/*" drain_period_ms: 10 } } }
CONFIG
record_in_background "$TMP/record.log" -c "$TMP/config" -o "$TMP/trace"
we_record
verdict "a recording runs" $? "$TMP/record.log"

# It sleeps only while it waits for a chunk: else it waits in epoll. (230: clock_nanosleep of x86_64, 115: of the others)
stalls() { grep -qE '^(230|115) ' "/proc/$probes/syscall"; }
kill -STOP "$service"
for _ in 1 2; do
  dd if=/dev/zero of=/dev/null bs=1 2>/dev/null &
  PIDS+=($!)
done
wait_for stalls
verdict "sonda-probes waits for the service" $?
# 2 s are 40 looks, each after 50 ms; on a busy machine a look takes longer, as the end of the instance does.
looks=0
begin=$(date +%s%N)
kill -KILL "$service"
while our_instances && [ $looks -lt 400 ]; do
  sleep 0.05
  looks=$((looks + 1))
done
echo "# gone after $((($(date +%s%N) - begin) / 1000000)) ms, $looks looks"
[ $looks -le 40 ]
verdict "the instance goes with the service, not with the end of the wait" $? "$TMP/probes.log"
exit "$BAD"
