#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# kernels: 5.10 newest
#
# The eBPF counters by process, on kernels with other signatures and other ways to keep what belongs to a thread.
. "$(dirname "$0")/../lib.sh"

[ -e /sys/kernel/btf/vmlinux ] || { echo "the kernel has no BTF" >&2; exit 77; }
cat >"$TMP/config" <<'END'
buffers { size_kb: 16384 fill_policy: DISCARD }
flush_timeout_ms: 60000
data_source_stop_timeout_ms: 60000
data_sources { config { name: "linux.ebpf_counters" ebpf_counters_config {
  families: CPU_TIME families: FAULTS families: SYSCALLS families: FUTEX top_n: 500 period_ms: 1000 } } }
END
"$BIN/sonda" record -a -c "$TMP/config" -o "$OUT/ebpf_processes.pftrace" -- \
  "$B/tests/interop/process_load" spin=30 sleep=10 block=50 touch=500 getppid=1000 fail=100 futex=10 >"$TMP/log" 2>&1
verdict "recorded" $? "$TMP/log"
if grep -q 'was built without' "$TMP/log"; then echo "this build has no eBPF counters" >&2; exit 77; fi
! grep -E '(cpu_time|faults|syscalls|futex):' "$TMP/log"
verdict "each family is loaded and attached" $? "$TMP/log"
sed 's/^/# /' "$TMP/log"

pid=$(sed -n 's/^\([0-9]*\) [0-9]* [0-9]*$/\1/p' "$TMP/log") # as it says itself
largest() { # TRACK
  echo "select max(value) from counter c join process_counter_track t on t.id = c.track_id join process p using (upid)
    where p.pid = ${pid:-0} and t.name like '$1'" | tr '\n' ' '
}
is_true ebpf_processes "calls are counted by name" "select ($(largest getppid)) = 1000"
is_true ebpf_processes "and errors" "select ($(largest 'close errors')) = 100"
is_true ebpf_processes "in all" "select ($(largest syscalls)) between 1100 and 1300"
is_true ebpf_processes "page faults" "select ($(largest 'page faults')) between 500 and 1000"
is_true ebpf_processes "waits for futexes" "select ($(largest 'futex waits')) = 10 and ($(largest 'futex wait time')) > 50e6"
is_true ebpf_processes "time on CPU" "select ($(largest 'CPU time')) > 10e6"
is_true ebpf_processes "time asleep" "select ($(largest '%sleeping')) > 50e6"
is_true ebpf_processes "time blocked" "select ($(largest '%blocked')) > 50e6"
exit $BAD
