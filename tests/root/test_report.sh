#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# tracefs: shared
# kernels: none
#
# sonda report against other witnesses of the same run: CPU time against the scheduler's account of the process,
# waits for a CPU against perf sched latency, system calls against strace -c, disks against the kernel's counters of the device,
# packets against /proc/net/dev, memory against /proc/PID/status.
. "$(dirname "$0")/lib.sh"

report() { "$BIN/sonda" report --json "$@" 2>"$TMP/report.err"; }
# rows TITLE FIELD...: of a report in JSON on stdin, a line each
rows() {
  python3 -c 'import json, sys
for row in json.load(sys.stdin)[sys.argv[1]]:
    print(*(row[k] for k in sys.argv[2:]))' "$@"
}
near() { # OURS THEIRS PER_CENT [NS: of the machine's, in either]
  echo "ours $1, theirs $2, interrupts and stolen ${4:-0}" >"$TMP/near"
  awk -v a="$1" -v b="$2" -v p="$3" -v more="${4:-0}" \
    'BEGIN { d = a - b; exit !(a > 0 && b > 0 && (d < 0 ? -d : d) <= b * p / 100 + more) }'
}
LOOP=
trap '[ "$BASHPID" != $$ ] || { [ -z "$LOOP" ] || losetup -d "$LOOP"; leave; }' EXIT
needs_commands python3

# ---- a process that shares its CPU with another one
python3 -c 'import sys; print("#!" + sys.executable)' >"$TMP/two_loads" # itself, where python3 is a script that starts it
cat >>"$TMP/two_loads" <<'LOAD'
# Two processes of so many rounds. Of one: its pid, the scheduler's account of all its time, and what others took of its CPU.
import os, sys
def others(): # Interrupts and what the hypervisor took, in ticks: not the process's time in the kernel's account, but in a trace.
    with open("/proc/stat") as stat:
        return sum(map(int, next(l for l in stat if l.startswith("cpu0 ")).split()[6:9]))
def begin():
    pid = os.fork()
    if not pid:
        with open("/proc/self/comm", "w") as comm: comm.write("load")
        for _ in range(int(sys.argv[2])): pass
        os._exit(0)
    return pid
before = others()
pid, other = begin(), begin()
os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT) # a zombie: it will not run any more
with open(f"/proc/{pid}/schedstat") as schedstat:
    ran = schedstat.read().split()[0]
for p in pid, other: os.waitpid(p, 0)
with open(sys.argv[1], "w") as out:
    print(pid, ran, others() - before + 1, file=out)
LOAD
chmod +x "$TMP/two_loads"
perf=()
perf sched record -k CLOCK_MONOTONIC -o "$TMP/perf.probe" -- true >"$TMP/log" 2>&1 &&
  perf=(perf sched record -k CLOCK_MONOTONIC -o "$TMP/perf.data" --)
boot=$(python3 -c 'import time; print(time.clock_gettime_ns(time.CLOCK_BOOTTIME) - time.clock_gettime_ns(time.CLOCK_MONOTONIC))')
longest_wait() { # FIELD...: of the longest wait of both
  report latency --top 100000 "$TMP/sched" | rows "Longest waits" thread wait_ns "$@" |
    awk '$1 == "load" && $2 > max { max = $2; $1 = ""; row = $0 } END { print row }'
}
# A busy machine's perf lacks switches, and the kernels of some virtual machines leave some out: then a CPU leaves another thread
# than it went to before. A wait in which that was says nothing.
is_whole() { # START END: of a wait, in ns of CLOCK_MONOTONIC
  awk -v start="$1" -v end="$2" '/sched_switch/ {
      sub(/:$/, "", $2); time = $2 * 1000000000; last = ended[$1]; ended[$1] = time
      match($0, /prev_pid=[0-9]+/); prev = substr($0, RSTART + 9, RLENGTH - 9)
      match($0, /next_pid=[0-9]+/); went = to[$1]; to[$1] = substr($0, RSTART + 9, RLENGTH - 9)
      if (went != "" && went != prev && time > start && last < end) { bad = 1; print }
    } END { exit bad }' "$TMP/switches" >>"$TMP/broken"
}
# perf merges tasks of a name, so its longest wait is that of both; it counts from sched_wakeup on, we from sched_waking on.
# Where perf lacks events, a wait goes on to the next event of the thread that it has.
both_are_whole() {
  local begins ends
  perf sched latency -i "$TMP/perf.data" >"$TMP/latency" 2>/dev/null
  ! grep -qE 'INFO:.*lost' "$TMP/latency" || return
  perf script -i "$TMP/perf.data" --ns -F cpu,time,event,trace >"$TMP/switches" 2>/dev/null
  read -r begins ends < <(awk '/ load:/ { sub(/.*max start: */, ""); sub(/ s .*max end: */, " "); print $1 * 1e9, $2 * 1e9 }' \
    OFMT=%.0f "$TMP/latency")
  is_whole "$begins" "$ends" || return
  read -r ours at < <(longest_wait at_ts)
  is_whole "$((at - boot))" "$((at - boot + ours))"
}
for _ in 1 2 3 4 5 6; do
  timeout 120 "${perf[@]}" "$BIN/sonda" record -a -o "$TMP/sched" sched -- taskset -c 0 "$TMP/two_loads" "$TMP/ran" 20000000 >"$TMP/log" 2>&1
  [ ${#perf[@]} != 0 ] || break
  is_compared=
  both_are_whole && is_compared=1 && break
done
[ -s "$TMP/ran" ]
verdict "a load is recorded" $? "$TMP/log"
grep -q "sonda report $TMP/sched" "$TMP/log"
verdict "the summary names the next step" $? "$TMP/log"
read -r pid ran others <"$TMP/ran"
read -r ours < <(report cpu -p "$pid" --top 1000 "$TMP/sched" | rows Threads tid run_ns | awk -v p="$pid" '$1 == p { print $2 }')
near "${ours:-0}" "$ran" 1 $((others * 1000000000 / $(getconf CLK_TCK)))
verdict "report cpu: the time of the process is the scheduler's account of it, within 1 %" $? "$TMP/near"
read -r states < <(report sched -p "$pid" --top 1000 "$TMP/sched" | rows Threads tid run_ns | awk -v p="$pid" '$1 == p { print $2 }')
[ "${states:-0}" = "${ours:-1}" ]
verdict "report sched: it is the same time" $?

read -r longest at < <(report latency -p "$pid" --top 1000 "$TMP/sched" | rows "Waits for a CPU, by thread" tid max_ns max_at_ts |
  awk -v p="$pid" '$1 == p { print $2, $3 }')
behind=$(report latency -p "$pid" --top 1 "$TMP/sched" | rows "Longest waits" behind)
[ -n "$behind" ] && [ "$behind" != None ]
verdict "report latency: another thread had the CPU meanwhile" $? "$TMP/report.err"
if [ ${#perf[@]} -gt 0 ] && [ -z "$is_compared" ]; then
  echo "# perf lacks events: its longest wait is not compared"
elif [ ${#perf[@]} -gt 0 ]; then
  theirs=$(awk -F'|' '/ load:/ { sub(/.*max: */, "", $5); print $5 * 1000000 }' "$TMP/latency")
  near "$(longest_wait)" "${theirs:-0}" 2
  verdict "report latency: the longest wait is that of perf sched latency, within 2 %" $? "$TMP/near"
fi
[ -n "${longest:-}" ] && [ "${at:-0}" -gt 0 ]
verdict "report latency: the longest wait has its time" $?

# A window: nothing outside of it counts.
report cpu -p "$pid" --from 0 --to 1ms "$TMP/sched" | rows Threads run_ns | awk '$1 > 1000000 { exit 1 }'
verdict "--from, --to: time is that of the window" $?
"$BIN/sonda" report "$TMP/sched" >"$TMP/screen" 2>&1 && grep -q '^CPU time' "$TMP/screen" && [ "$(wc -l <"$TMP/screen")" -le 50 ]
verdict "sonda report: one screen" $? "$TMP/screen"

# ---- system calls
if command -v strace >/dev/null; then
  timeout 120 "$BIN/sonda" record -a -o "$TMP/calls" sched raw_syscalls:sys_enter raw_syscalls:sys_exit -- \
    strace -c -o "$TMP/strace" dd if=/dev/zero of=/dev/null bs=1 count=3000 >"$TMP/log" 2>&1
  pid=$("$BIN/sonda" sql --csv "$TMP/calls" "select tid from thread where name = 'dd' order by utid limit 1" | tail -n 1 | tr -d '\r')
  report syscalls -p "$pid" --top 1000 "$TMP/calls" | rows "System calls" syscall calls errors | sort >"$TMP/ours"
  # The columns of strace: % time, seconds, usecs/call, calls, errors (may be empty), syscall.
  awk '/^ *[0-9]/ && $NF != "total" { print $NF, $4, (NF > 5 ? $5 : 0) }' "$TMP/strace" | sort >"$TMP/theirs"
  # Before dd starts, the process is strace's; only calls of dd alone are compared.
  for call in read write openat lseek; do
    diff <(grep "^$call " "$TMP/theirs") <(grep "^$call " "$TMP/ours") >"$TMP/diff" && grep -q "^$call " "$TMP/theirs"
    verdict "report syscalls: calls and errors of $call are those of strace -c" $? "$TMP/diff"
  done
fi

# ---- a recording of the command alone: switches between other threads are missing
# Kernels of some virtual machines leave out switches of the first process's threads: then it is recorded again, at most twice.
alone() { # PER_CENT EVENTS: is the time of the process that of the scheduler?
  for _ in 1 2 3; do
    # $2 is a list of events. The load is a child of sh, and its start may not be recorded.
    # shellcheck disable=SC2086
    timeout 120 "$BIN/sonda" record -o "$TMP/alone" $2 -- sh -c 'taskset -c 0 "$0" "$1" 5000000; :' "$TMP/two_loads" "$TMP/ran" >"$TMP/log" 2>&1
    read -r pid ran others <"$TMP/ran"
    report cpu --by process --top 1000 "$TMP/alone" | rows Processes pid run_ns >"$TMP/processes"
    near "$(awk -v p="$pid" '$1 == p { print $2 }' "$TMP/processes")" "$ran" "$1" $((others * 1000000000 / $(getconf CLK_TCK))) && return
  done
  return 1
}
alone 1 sched
verdict "a recording of the command alone: the time of its process is the scheduler's account of it, within 1 %" $? "$TMP/near"
[ "$(wc -l <"$TMP/processes")" -lt 20 ] && report cpu "$TMP/alone" | rows CPUs busy_pct | awk '$1 > 100 { exit 1 }'
verdict "the report is about its processes only, and no CPU is busy for longer than the recording" $? "$TMP/processes"

# Reports include the command's children even if no event of their start is recorded, and if the disk requests of all threads are.
for events in sched_switch "sched io" "sched_switch syscalls"; do
  alone 2 "$events" && [ "$(wc -l <"$TMP/processes")" -lt 20 ]
  verdict "a recording of the command alone ($events): its children are in the report, and no other process" $? "$TMP/processes"
done
timeout 120 "$BIN/sonda" record -o "$TMP/alone" sched stacks -- sh -c 'for i in 1 2 3 4 5 6 7 8 9 10; do env readlink /proc/self; done; sleep 0.5' >"$TMP/log" 2>&1
"$BIN/sonda" sql --csv "$TMP/alone" "select count(*), count(distinct pid) from process where name glob '*readlink' and pid in (select pid from process
  where parent_upid in (select upid from process where name = 'sh'))" | tr -d '\r' >"$TMP/ours"
[ "$(tail -n 1 "$TMP/ours")" = 10,10 ]
verdict "children of a command whose call stacks are sampled are one process each" $? "$TMP/ours"
timeout 120 "$BIN/sonda" record -o "$TMP/calls" syscalls -- sh -c 'for i in 1 2 3; do dd if=/dev/zero of=/dev/null bs=1 count=2000; done' >"$TMP/log" 2>&1
report syscalls --top 1000 "$TMP/calls" | rows "System calls" syscall calls | grep -x 'write 600[0-9]' >"$TMP/ours"
verdict "report syscalls: without switches, the calls of the command's children count" $? "$TMP/report.err"

# ---- a recording of one CPU, and one with a filter
timeout 120 "$BIN/sonda" record -o "$TMP/one_cpu" -C 0 sched io -- true >"$TMP/log" 2>&1
"$BIN/sonda" report sched "$TMP/one_cpu" 2>&1 | head -n 1 | grep -x 'only CPU 0 is recorded: a thread on another CPU appears to wait' >"$TMP/ours"
verdict "a report of a recording with -C says that other CPUs are missing" $? "$TMP/log"
timeout 120 "$BIN/sonda" record -a -o "$TMP/filtered" sched_switch --filter 'next_pid > 1' -- sleep 0.1 >"$TMP/log" 2>&1
"$BIN/sonda" report sched "$TMP/filtered" 2>&1 | head -n 1 | grep -x 'sched_switch is filtered: thread times are incomplete' >"$TMP/ours"
verdict "a report of a recording with --filter says that switches are missing" $? "$TMP/log"

# ---- disks: a loop device of our own has no other user
if truncate -s 32M "$TMP/disk" && loop=$(losetup -f --show "$TMP/disk" 2>"$TMP/log"); then
  LOOP=$loop
  ! command -v udevadm >/dev/null || udevadm settle
  stat=/sys/block/${loop#/dev/}/stat
  read -r -a before <"$stat"
  timeout 120 "$BIN/sonda" record -a -o "$TMP/io" 'block:block_rq_*' sched -- sh -c "
    dd if=/dev/zero of=$loop bs=64k count=100 oflag=direct && dd if=$loop of=/dev/null bs=32k count=150 iflag=direct" >"$TMP/log" 2>&1
  read -r -a after <"$stat"
  {
    echo "read $((after[0] - before[0])) $(((after[2] - before[2]) * 512))"
    echo "write $((after[4] - before[4])) $(((after[6] - before[6]) * 512))"
  } >"$TMP/theirs"
  # A request that the kernel splits is one in its counters, too: both count what the device completed.
  report io --by device --top 1000 "$TMP/io" | rows Devices device op requests size_bytes |
    awk -v d="$(lsblk -nro MAJ:MIN "$loop")" '$1 == d && ($2 == "read" || $2 == "write") { print $2, $3, $4 }' | sort >"$TMP/ours"
  diff "$TMP/theirs" "$TMP/ours" >"$TMP/diff" && [ "$(awk '{ n += $2 } END { print n }' "$TMP/ours")" -ge 250 ]
  verdict "report io: requests and bytes of a device are those of the kernel's counters" $? "$TMP/diff"
  report io -p dd --by device --top 1000 "$TMP/io" | rows Devices op size_bytes | sort >"$TMP/ours"
  printf 'read %s\nwrite %s\n' $((150 * 32768)) $((100 * 65536)) | diff - <(grep -E ' (4915200|6553600)$' "$TMP/ours") >"$TMP/diff"
  verdict "report io -p: they belong to the process that asked for them" $? "$TMP/ours"
  # The kernel's counters are read each second: there are requests between two times.
  timeout 120 "$BIN/sonda" record -a -o "$TMP/named" io -- \
    sh -c "for _ in 1 2 3 4; do dd if=/dev/zero of=$loop bs=64k count=10 oflag=direct; sleep 0.8; done" >"$TMP/log" 2>&1
  name=$(lsblk -nro NAME "$loop")
  "$BIN/sonda" report io --top 1000 "$TMP/named" >"$TMP/ours" 2>&1
  [ "$(report io --by device --top 1000 "$TMP/named" | rows Devices device op | grep -cx "$name write")" = 1 ] &&
    report io --top 1000 "$TMP/named" | rows "Slowest requests" device | grep -qx "$name" &&
    report io --by disk --top 1000 "$TMP/named" | rows "Disks, by the kernel's counters" disk | grep -qx "$name" &&
    ! grep -q " $(lsblk -nro MAJ:MIN "$loop") \|^$(lsblk -nro MAJ:MIN "$loop") " "$TMP/ours"
  verdict "report io: a device has the same name in all tables, if the trace has its counters" $? "$TMP/ours" "$TMP/log"
  # The command begins these requests, and a thread of the kernel ends them.
  timeout 120 "$BIN/sonda" record -o "$TMP/begun" io -- dd if=/dev/zero of="$loop" bs=64k count=100 oflag=direct >"$TMP/log" 2>&1
  report io "$TMP/begun" | rows Devices op requests size_bytes | grep -x "write 100 $((100 * 65536))" >"$TMP/ours"
  verdict "a recording of a command: all its requests are there, with their ends" $? "$TMP/log"
  timeout 120 "$BIN/sonda" record -o "$TMP/begun" block:block_rq_insert block:block_rq_issue -- \
    dd if=/dev/zero of="$loop" bs=64k count=100 oflag=direct >"$TMP/log" 2>&1
  report io "$TMP/begun" | rows "Requests without an end" op requests size_bytes | grep -x "write 100 $((100 * 65536))" >"$TMP/ours"
  verdict "report io: requests whose end is not recorded are shown" $? "$TMP/report.err"
  # With a short queue a thread of the kernel issues most of them. Of those of another process, the command may issue some.
  echo mq-deadline >"/sys/block/${loop#/dev/}/queue/scheduler" && echo 4 >"/sys/block/${loop#/dev/}/queue/nr_requests"
  while dd if="$loop" of=/dev/null bs=32k skip=800 iflag=direct 2>/dev/null; do :; done &
  PIDS+=($!)
  timeout 120 "$BIN/sonda" record -o "$TMP/begun" io -- sh -c "sleep 0.3; dd if=/dev/zero of=$loop bs=64k count=400 conv=fsync" >"$TMP/log" 2>&1
  kill "${PIDS[-1]}"
  wait "${PIDS[-1]}" 2>/dev/null
  unset 'PIDS[-1]'
  report io --by device --top 1000 "$TMP/begun" | rows Devices device op size_bytes | grep -E "^($name|$(lsblk -nro MAJ:MIN "$loop")) " >"$TMP/ours"
  "$BIN/sonda" sql "$TMP/begun" "select thread.name, count(*) from ftrace_event join thread using (utid)
    where ftrace_event.name = 'block_rq_issue' group by 1" >"$TMP/issued"
  grep -q kworker "$TMP/issued" && grep -q " write $((400 * 65536))$" "$TMP/ours" && awk '$2 == "read" && $3 > 1000000 { exit 1 }' "$TMP/ours"
  verdict "a recording of a command: its requests that others issue are there, and those of others are not" $? "$TMP/ours" "$TMP/issued"
  losetup -d "$loop"
  LOOP=
else
  echo "# no loop device here"
fi

# ---- network: two interfaces of our own, in a namespace of our own
if unshare -n ip link add name "sr$$" type veth peer name "sp$$" 2>"$TMP/log"; then
  cat >"$TMP/send" <<SEND
echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6
ip link add name sr$$ type veth peer name sp$$ && ip addr add 10.9.9.1/24 broadcast + dev sr$$
ip link set sp$$ up && ip link set sr$$ up
python3 -c "
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
for i in range(300):
    s.sendto(bytes(100 + i), ('10.9.9.255', 9))"
grep -E 'sr$$|sp$$' /proc/net/dev >"$TMP/dev"
SEND
  timeout 120 "$BIN/sonda" record -a -o "$TMP/net" net:net_dev_xmit net:netif_receive_skb sched -- unshare -n sh "$TMP/send" >"$TMP/log" 2>&1
  tr ':' ' ' <"$TMP/dev" | awk '/ *sr/ { print $1, "sent", $11, $10 } / *sp/ { print $1, "received", $3 }' | sort >"$TMP/theirs"
  # What is received has no link header any more: only packets are compared.
  report net --by device --top 1000 "$TMP/net" | rows "Packets, by device" device way packets size_bytes |
    awk -v r="sr$$" -v p="sp$$" '$1 == r && $2 == "sent"; $1 == p && $2 == "received" { print $1, $2, $3 }' | sort >"$TMP/ours"
  diff "$TMP/theirs" "$TMP/ours" >"$TMP/diff" && [ "$(wc -l <"$TMP/ours")" = 2 ]
  verdict "report net: packets and bytes of an interface are those of /proc/net/dev" $? "$TMP/diff"
  report net --by process "$TMP/net" | rows "Packets, by the process that sent them" process packets >"$TMP/senders"
  report net --by process -p python3 "$TMP/net" | rows "Packets, by the process that sent them" packets | grep -qx 300
  verdict "report net: the process that sent them" $? "$TMP/senders" "$TMP/report.err"
else
  echo "# no network namespace with veth here"
fi

# ---- what is not of the threads of a command
for words in net irq workq power; do
  timeout 120 "$BIN/sonda" record -o "$TMP/part" "$words" -- true >"$TMP/log" 2>&1
  grep -q 'note .*interrupts, received packets, work queues and idle CPUs do not belong to the recorded threads: .* (--all records all)' "$TMP/log" || break
done && timeout 120 "$BIN/sonda" record -a -o "$TMP/part" irq -- true >"$TMP/log" 2>&1 && ! grep note "$TMP/log"
verdict "the summary of a recording of a command says what it has of interrupts, work queues, power and packets" $? "$TMP/log"

# ---- memory of a process that stays as it is
mkfifo "$TMP/hold"
python3 -c 'import sys; x = bytearray(b"x" * (64 << 20)); open(sys.argv[1], "w").write(open("/proc/self/status").read()); open(sys.argv[2]).read()' \
  "$TMP/status" "$TMP/hold" &
PIDS+=($!)
until [ -s "$TMP/status" ]; do kill -0 "${PIDS[-1]}" || break; sleep 0.02; done
size=
for seconds in 0 2 8 20; do # until /proc was polled
  timeout 120 "$BIN/sonda" record -a -o "$TMP/mem" processes -- sleep $seconds >"$TMP/log" 2>&1
  size=$(report mem --by process -p "${PIDS[-1]}" "$TMP/mem" | rows "Processes, by their largest size" rss_bytes)
  [ -z "$size" ] || break
done
near "${size:-0}" "$(awk '/^VmRSS/ { print $2 * 1024 }' "$TMP/status")" 2
verdict "report mem: the size of a process is VmRSS of /proc/PID/status, within 2 %" $? "$TMP/near"
: >"$TMP/hold"

# ---- mistakes and output
"$BIN/sonda" report latncy "$TMP/sched" 2>"$TMP/err"
[ $? = 2 ] && grep -q 'did you mean latency' "$TMP/err"
verdict "an unknown report: exit code 2 and a suggestion" $? "$TMP/err"
"$BIN/sonda" report --csv cpu "$TMP/sched" | sed -n '1p;2p' | tr -d '\r' >"$TMP/csv"
printf '# CPUs\ncpu,busy_ns,busy_pct,others_ns,idle_ns,unknown_ns,switches\n' | diff - "$TMP/csv" >"$TMP/diff"
verdict "--csv: numbers as they are, under their names" $? "$TMP/diff"
exit $BAD
