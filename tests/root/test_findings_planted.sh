#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# check: long
# kernels: none
#
# sonda report findings on real software with a planted trouble: its cause is among the first three findings of 18 of 20
# recordings. And on five loads without trouble: there is no finding about them. Prints a table: trouble, expected finding, place.
#
# Other loads of the machine are troubles as well, so that this session has a high priority. Takes minutes in which no other
# test runs, so only PLANTED=1 runs it.
[ -n "${PLANTED:-}" ] || { echo "takes minutes: run it with PLANTED=1" >&2; exit 77; }
[ -n "${OWN_SESSION:-}" ] || OWN_SESSION=1 exec setsid -w "$0" "$@"
. "$(dirname "$0")/lib.sh"
known=$B/tests/root/known_troubles
needs_built "$known"
needs_commands python3
cd "$TMP" || exit 2
words=(sched waits syscalls io mem net irq timer faults cgroups)
seconds=3 made=0 hit=0
undo=()

echo -15 2>/dev/null >/proc/self/autogroup
renice -n -10 -p $$ >/dev/null

has() { # COMMAND...
  local c
  for c; do command -v "$c" >/dev/null || return 1; done
}
cleanup() { # what a load left, if it was stopped
  local i
  for ((i = ${#undo[@]} - 1; i >= 0; i--)); do eval "${undo[i]}"; done >/dev/null 2>&1
  undo=()
}
eval "$(declare -f leave | sed '1s/leave/leave_root/')"
leave() {
  cleanup
  leave_root
}

# record NAME FUNCTION...: the load begins before the recording and lasts longer.
record() {
  local name=$1 load
  shift
  "$@" >"$name.out" 2>&1 &
  load=$!
  sleep 0.5
  "$SONDA" record -t ${seconds}s -o "$name.pf" "${words[@]}" >"$name.log" 2>&1
  [ -e "$name.pf" ] || sed 's/^/# /' "$name.log"
  wait "$load"
  cleanup
}
# place EXPECTED TRACE: its place among the findings; 0: it is none
place() {
  "$SONDA" report findings --json "$2" 2>>log | python3 -c '
import json, sys
names = [f["name"] for f in json.load(sys.stdin)["findings"]]
print(names.index(sys.argv[1]) + 1 if sys.argv[1] in names else 0)' "$1"
}
plant() { # NAME EXPECTED FUNCTION...
  local name=$1 expected=$2 at
  shift 2
  record "$name" "$@"
  at=$(place "$expected" "$name.pf")
  made=$((made + 1))
  [ "${at:-0}" -lt 1 ] || [ "$at" -gt 3 ] || hit=$((hit + 1))
  printf '# %-28s %-24s %s\n' "$name" "$expected" "${at/#0/not found}"
  [ "${at:-0}" -ge 1 ] || "$SONDA" report findings "$name.pf" 2>&1 | sed -n '2,6s/^/#     /p' | cut -c 1-140
  if [ -n "${KEEP:-}" ]; then cp "$name.pf" "$KEEP"; fi
  rm -f "$name.pf"
}

# ---- loads

with_redis() { # OPTIONS OF REDIS -- COMMAND...: the command runs beside a redis-server
  local options=() server
  while [ "$1" != -- ]; do options+=("$1"); shift; done
  shift
  mkdir -p redis
  redis-server --port 0 --unixsocket "$TMP/redis.sock" --save '' --dir "$TMP/redis" --daemonize no "${options[@]}" &
  server=$!
  sleep 0.3
  "$@" $server
  kill -KILL $server # it ignores TERM after strace
  wait $server
}
ask_redis() { timeout $((seconds + 4)) redis-benchmark -s "$TMP/redis.sock" -c "$1" -n 100000000 -d 500 -t "$2" -q; }
redis_fsync() { with_redis --appendonly yes --appendfsync always -- ask_redis 10 set; }
redis_neighbour() {
  # The neighbour has the higher priority.
  renice -n 5 -p $BASHPID
  with_redis -- beside_stress_first
}
beside_stress_first() {
  nice -n -15 stress-ng --cpu 4 --timeout $((seconds + 4)) -q &
  ask_redis 10 get
  wait $!
}
under_strace() {
  strace -f -o /dev/null -p "$1" &
  local tracer=$!
  ask_redis 10 get
  kill $tracer
}
redis_strace() { with_redis -- under_strace; }
fio_fsync() { fio --name=f --filename="$TMP/fio.dat" --size=16m --rw=randwrite --bs=4k --fsync=1 --time_based --runtime=$((seconds + 4)); }
fio_reads() {
  fio --name=f --filename="$TMP/fio.dat" --size=64m --rw=randread --bs=4k --direct=1 --ioengine=libaio --iodepth=64 --time_based \
    --runtime=$((seconds + 4))
}
shell_forks() {
  local end=$((SECONDS + seconds + 4))
  while [ $SECONDS -lt $end ]; do /bin/true; done
}
small_memory() {
  local group=$memory/sonda-test-$$
  mkdir "$group" && echo 60M >"$group/$memory_limit"
  if [ -e /sys/block/zram0 ] && ! grep -q zram0 /proc/swaps; then
    echo 600M >/sys/block/zram0/disksize && mkswap /dev/zram0 && swapon /dev/zram0
  fi
  (echo $BASHPID >"$group/cgroup.procs"; exec "$known" memory $((seconds + 4)))
}
undo_small_memory() {
  sleep 0.2
  rmdir "$memory/sonda-test-$$"
  swapoff /dev/zram0
  echo 1 >/sys/block/zram0/reset
}
cpu_quota() {
  local group=$cpu/sonda-test-$$
  mkdir "$group"
  if [ -e "$group/cpu.max" ]; then echo 10000 100000 >"$group/cpu.max"; else echo 10000 >"$group/cpu.cfs_quota_us"; fi
  (echo $BASHPID >"$group/cgroup.procs"; exec stress-ng --matrix 1 --timeout $((seconds + 4)) -q)
}
lossy_network() {
  local ns=sonda-test-$$
  ip netns add $ns
  ip link add sondat0 type veth peer name sondat1 netns $ns
  ip addr add 10.99.7.1/24 dev sondat0
  ip link set sondat0 up
  ip netns exec $ns ip addr add 10.99.7.2/24 dev sondat1
  ip netns exec $ns ip link set sondat1 up
  tc qdisc add dev sondat0 root tbf rate 30mbit burst 4k limit 16k
  ip netns exec $ns redis-server --port 7712 --bind 10.99.7.2 --protected-mode no --save '' --daemonize no --dir "$TMP" &
  local server=$!
  sleep 0.3
  timeout $((seconds + 4)) redis-benchmark -h 10.99.7.2 -p 7712 -c 12 -n 100000000 -d 4000 -t set -q
  kill $server
  wait $server
}
# A loop device on a file of a file system on another loop device, which takes 25 writes a second.
slow_disk() {
  dd if=/dev/zero of=outer bs=1M count=64
  outer=$(losetup -f --show outer)
  mkfs.ext4 -q "$outer"
  mkdir -p mounted
  mount "$outer" mounted
  dd if=/dev/zero of=mounted/inner bs=1M count=16
  sync mounted/inner
  inner=$(losetup -f --show --direct-io=on mounted/inner)
  echo "$(cat /sys/block/"${outer#/dev/}"/dev) 25" >/sys/fs/cgroup/blkio/blkio.throttle.write_iops_device
  fio --name=f --filename="$inner" --rw=randwrite --bs=4k --direct=1 --time_based --runtime=$((seconds + 4))
  echo "$(cat /sys/block/"${outer#/dev/}"/dev) 0" >/sys/fs/cgroup/blkio/blkio.throttle.write_iops_device
  losetup -d "$inner"
  umount mounted
  losetup -d "$outer"
}

memory=/sys/fs/cgroup/memory memory_limit=memory.limit_in_bytes cpu=/sys/fs/cgroup/cpu
[ -d $memory ] || memory=/sys/fs/cgroup memory_limit=memory.max cpu=/sys/fs/cgroup

for trouble in "convoy lock_convoy" "inversion priority_inversion" "fsync fsync_storm" "slack timer_slack" "poll busy_polling" \
  "yield busy_polling" "herd thundering_herd" "forks runaway_forks" "growth runaway_forks" "faults page_faults" "migrate migrations"; do
  plant "${trouble% *}" "${trouble#* }" "$known" "${trouble% *}" $((seconds + 4))
done
plant shell-forks runaway_forks shell_forks
! has redis-server redis-benchmark || plant redis-appendfsync fsync_storm redis_fsync
! has redis-server redis-benchmark stress-ng || plant redis-beside-stress-ng cpu_neighbour redis_neighbour
! has redis-server redis-benchmark strace || plant redis-under-strace recorder redis_strace
! has stress-ng || plant stress-ng-affinity migrations stress-ng --affinity 1 --timeout $((seconds + 4)) -q
! has stress-ng || plant stress-ng-udp-flood softirq_flood stress-ng --udp-flood 2 --timeout $((seconds + 4)) -q
! has fio || plant fio-fsync fsync_storm fio_fsync
! has fio || plant fio-reads interrupts_on_one_cpu fio_reads
if [ -e $memory/$memory_limit ] || [ -e $memory/memory.stat ]; then
  undo=(undo_small_memory)
  plant small-memory swap_reclaim small_memory
fi
if has stress-ng && [ -e $cpu/cgroup.procs ] && ! grep -q '^0::/.' /proc/self/cgroup; then
  undo=("sleep 0.2; rmdir $cpu/sonda-test-$$")
  plant cpu-quota cpu_quota cpu_quota
fi
if has ip tc redis-server redis-benchmark; then
  undo=("ip link del sondat0" "ip netns del sonda-test-$$")
  plant lossy-network tcp_loss lossy_network
fi
if has fio losetup mkfs.ext4 && [ -e /sys/fs/cgroup/blkio/blkio.throttle.write_iops_device ]; then
  undo=("losetup -j $TMP/outer -O NAME -n | xargs -r losetup -d" "umount $TMP/mounted" "losetup -j $TMP/mounted/inner -O NAME -n | xargs -r losetup -d")
  plant slow-disk slow_disk slow_disk
fi
echo "# $hit of $made among the first three"
[ $((hit * 20)) -ge $((made * 18)) ]
verdict "planted troubles: 18 of 20 are among the first three findings" $?

# ---- without trouble: of these loads only their own threads are recorded

clean() { # NAME OPTIONS -- FUNCTION
  local name=$1 options=()
  shift
  while [ "$1" != -- ]; do options+=("$1"); shift; done
  "$SONDA" record -o "$name.pf" "${words[@]}" "${options[@]}" -- bash -c "$2" >"$name.log" 2>&1
  "$SONDA" report findings "$name.pf" >"$name.txt" 2>>log
  head -1 "$name.txt" | grep -qx 'No finding'
  verdict "without trouble: $name" $? "$name.txt" "$name.log"
  if [ -n "${KEEP:-}" ]; then cp "$name.pf" "$KEEP"; fi
  rm -f "$name.pf"
}
idle() { sleep $seconds; }
video() { "$known" video $seconds; }
redis_half() { with_redis -- ask_redis 1 get; }
small_make() {
  local i end=$((SECONDS + seconds))
  for i in 1 2 3 4 5 6 7 8; do
    printf '#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\nint f%d(void) { return printf("%%d", %d); }\n' "$i" "$i" >m"$i".c
  done
  printf 'all: m1.o m2.o m3.o m4.o m5.o m6.o m7.o m8.o\n' >makefile
  while [ $SECONDS -lt $end ]; do rm -f m*.o; make -j2 CFLAGS=-O2; done
}
ask_postgres() { pgbench -h "$TMP/pg" -U postgres -c 4 -R 150 -T $seconds postgres; }
clean_postgres() {
  local bin
  bin=$(dirname "$(readlink -f "$(command -v postgres)")")
  mkdir -p pg && chown postgres pg && chmod 755 "$TMP"
  runuser -u postgres -- "$bin/initdb" -D pg -A trust >log 2>&1 &&
    runuser -u postgres -- "$bin/pg_ctl" -D pg -w -l pg/log -o "-c listen_addresses= -k $TMP/pg" start >log 2>&1 &&
    pgbench -h "$TMP/pg" -U postgres -i -s 2 -q postgres >log 2>&1
  undo=("runuser -u postgres -- $bin/pg_ctl -D $TMP/pg -m immediate stop")
  clean pgbench -p "$(head -1 pg/postmaster.pid)" -- ask_postgres
  cleanup
}
export known seconds TMP
export -f idle video redis_half small_make ask_postgres with_redis ask_redis
clean idle -- idle
clean make -- small_make
clean video -- video
! has redis-server redis-benchmark || clean redis -- redis_half
! has postgres pgbench runuser || clean_postgres
exit $BAD
