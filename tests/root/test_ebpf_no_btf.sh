#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# kernels: 5.10
#
# linux.ebpf_counters on a kernel without BTF, by one that has it: probes which do not find it record beside others that
# do, and what both say of one load is the same.
#
# modules: loop
. "$(dirname "$0")/lib.sh"
helpers=$B/tests
[ -e /sys/kernel/btf/vmlinux ] || { echo "the kernel has no BTF at all" >&2; exit 77; }
unshare -m mount -t tmpfs none /sys/kernel/btf 2>"$TMP/err" || { cat "$TMP/err" >&2; exit 77; }

loop=
end() {
  [ -z "$loop" ] || losetup -d "$loop"
  leave
}
trap '[ "$BASHPID" != $$ ] || end' EXIT
truncate -s 16M "$TMP/disk"
free=$(losetup -f 2>"$TMP/err") && losetup "$free" "$TMP/disk" 2>>"$TMP/err" && loop=$free

start_ready TRACED_NOTIFY_FD "$TMP/service.log" "$BIN/sondad"
start_ready TRACED_PROBES_NOTIFY_FD "$TMP/probes.log" "$BIN/sonda-probes"
without=(env "PERFETTO_PRODUCER_SOCK_NAME=$TMP/producer2" "PERFETTO_CONSUMER_SOCK_NAME=$TMP/consumer2")
start_ready TRACED_NOTIFY_FD "$TMP/service2.log" "${without[@]}" "$BIN/sondad"
start_ready TRACED_PROBES_NOTIFY_FD "$TMP/probes2.log" "${without[@]}" unshare -m sh -c \
  'mount -t tmpfs none /sys/kernel/btf && exec "$0"' "$BIN/sonda-probes"

cat >"$TMP/config" <<'END'
buffers { size_kb: 16384 fill_policy: DISCARD }
flush_timeout_ms: 60000
data_source_stop_timeout_ms: 60000
data_sources { config { name: "linux.ebpf_counters" ebpf_counters_config { top_n: 500 period_ms: 200
  families: RUNQ families: CPU_TIME families: BLOCK families: SYSCALLS families: FAULTS families: TCP
  families: INTERRUPTS families: MEMORY families: LOCKS families: FUTEX } } }
END
cat >"$TMP/load" <<END
$helpers/interop/process_load spin=50 block=10 touch=1000 getppid=500 fail=50 futex=5 sleep=5 >$TMP/pid
for i in {1..200}; do echo x >/dev/udp/127.0.0.1/9; done 2>/dev/null
[ ! -w /proc/sys/vm/compact_memory ] || echo 1 >/proc/sys/vm/compact_memory
[ -z "$loop" ] || {
  dd if=/dev/zero of=$loop bs=64k count=32 oflag=direct status=none
  dd if=$loop of=/dev/null bs=4k count=50 iflag=direct status=none
  dd if=/dev/zero of=$loop bs=4k count=1 oflag=direct conv=fsync status=none
}
END
ip link set lo up 2>/dev/null
"$BIN/sonda" record -c "$TMP/config" -o "$TMP/with.trace" -- \
  "${without[@]}" "$BIN/sonda" record -c "$TMP/config" -o "$TMP/without.trace" -- bash "$TMP/load" >"$TMP/log" 2>&1 </dev/null
verdict "recorded, with BTF and without" $? "$TMP/log"
if grep -q 'was built without' "$TMP/probes.log"; then echo "this build has no eBPF counters" >&2; exit 77; fi

# "VALUE PATH": the last one of each counter.
for name in with without; do
  "$helpers/root/track_lines" "$TMP/$name.trace" | awk '{ v = $2; sub(/^[^ ]+ [^ ]+ /, ""); sub(/^eBPF counters\//, ""); last[$0] = v }
    END { for (path in last) print last[path], path }' | sort -k2 >"$TMP/$name"
done
# Of those that do not run it is said why; others run.
grep -o 'linux.ebpf_counters: [a-z_]*: the kernel has no .*' "$TMP/probes2.log" | sed 's/.*counters: //' >"$TMP/missing"
sed 's/^/# /' "$TMP/missing"
! grep -vE '^locks: the kernel has no BTF.*no event lock/' "$TMP/missing" >"$TMP/other"
verdict "all families run without it" $? "$TMP/other"

# A process's counts are those of the other recording; of faults the last may come behind the end.
pid=$(cut -d' ' -f1 "$TMP/pid")
awk -v pid="$pid" '
{ v = $1; sub(/^[^ ]+ /, "") }
$0 !~ "^process " pid "( [^/]*)?/" { next }
{ sub(/^process [^\/]*\//, "") }
FNR == NR { with[$0] = v; next }
/^syscalls by name/ && !($0 in with) { next } # of those that were made as often the other one has others
{
  d = v - with[$0]; d = d < 0 ? -d : d
  allowed = /time|CPU/ ? v / 5 + 2e6 : /page faults/ ? 20 : 0
  print $0 ": " v ", with BTF " with[$0]
  seen[$0]; n += v > 0
  if (d > allowed) { print "WRONG"; bad = 1 }
}
END { exit bad || n < 3 || !("page faults" in seen) || !("CPU time" in seen) || !("syscalls by name/getppid" in seen) ||
  !("syscalls by name/close errors" in seen) || !("off CPU: blocked" in seen) || !("futex waits" in seen) }' "$TMP/with" "$TMP/without" >"$TMP/compared"
verdict "counts of a process are the same" $? "$TMP/compared"

# The machine does other things too, and the one recording lasts as long as the other and a little more.
awk '
{ v = $1; sub(/^[^ ]+ /, ""); sub(/^CPU [0-9]+\//, "") }
/by reason/ && !/NO_SOCKET$/ { next }
FNR == NR { with[$0] += v; next }
{ without[$0] += v }
END {
  split("Network/dropped packets|Network/dropped packets by reason/NO_SOCKET|softirqs NET_RX|Memory/compactions|Memory/background compactions", paths, "|")
  for (i in paths) {
    p = paths[i]
    print p ": " without[p] + 0 ", with BTF " with[p] + 0
    if (without[p] > with[p]) { print "WRONG"; bad = 1 }
  }
  print "switches:", without["context switches"]
  reason = "Network/dropped packets by reason/NO_SOCKET" # from 5.17 on
  exit bad || with[reason] && without[reason] < 200 || without["context switches"] < 100 || !("runq latency max" in without) ||
    without["Network/dropped packets"] < 200 || without["softirqs NET_RX"] < 200 * 0.7
}' "$TMP/with" "$TMP/without" >"$TMP/compared"
verdict "those of the machine are, too" $? "$TMP/compared"
if [ -w /proc/sys/vm/compact_memory ]; then
  grep -q '^[1-9][0-9]* Memory/compactions$' "$TMP/without"
  verdict "stalls for memory are counted" $? "$TMP/without"
fi
# Only this load uses the disk. A program that inspects a disk after a write may read a little.
if [ -z "$loop" ]; then
  skip "those of a disk" "$(head -n 1 "$TMP/err")"
else
  awk -v disk="Block I/O/${loop#/dev/}/" '
  { v = $1; sub(/^[^ ]+ /, "") }
  index($0, disk) != 1 || /latency/ { next }
  { sub(/.*\//, "") }
  FNR == NR { with[$0] = v; next }
  { print $0 ": " v ", with BTF " with[$0]; without[$0] = v; if (v != with[$0]) { print "WRONG"; bad = 1 } }
  END { exit bad || without["write"] != 32 * 65536 + 4096 || without["write requests"] != 33 || without["read"] < 50 * 4096 ||
    !without["flush requests"] || without["in flight"] != 0 }' "$TMP/with" "$TMP/without" >"$TMP/compared"
  verdict "those of a disk are, too" $? <(cat "$TMP/compared"; grep Block "$TMP/with" "$TMP/without")
  awk '/process [0-9]+( dd)?\/block written$/ { sum += $1 } END { exit sum < 32 * 65536 }' "$TMP/without"
  verdict "the process that wrote to a disk is named" $? "$TMP/without"
fi
echo "1..$N"
exit $BAD
