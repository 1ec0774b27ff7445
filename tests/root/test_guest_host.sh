#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A guest in an emulator whose relay brings its events to the service of this machine, which records its own as well. A thread
# with real-time priority takes the CPU of the guest for 20 ms, 20 times: sonda report why of a thread that is busy in the guest
# names it for each of them. The clocks of both agree to less than 50 us.
#
# tracefs: machine
# check: heavy
# kernels: none
. "$(dirname "$0")/lib.sh"
needs_commands python3 taskset qemu-system-x86_64
needs_built "$BIN/sonda-relay"
times=20

# Below the ports that the kernel gives to clients.
free_port() {
  local port
  while :; do
    port=$((20000 + RANDOM % 12000))
    (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || { echo $port; return; }
  done
}
port=$(free_port)
start_daemon TRACED_NOTIFY_FD "$TMP/service.log" env PERFETTO_PRODUCER_SOCK_NAME="$TMP/producer,127.0.0.1:$port" "$BIN/sondad" \
  --allow-remote 127.0.0.1 --enable-relay-endpoint || exit 1
start_daemon TRACED_PROBES_NOTIFY_FD "$TMP/probes.log" "$BIN/sonda-probes" || exit 1

# The guest ends after five minutes, also if this test is killed.
cat >"$TMP/in_guest" <<GUEST
ifconfig eth0 10.0.2.15 up
export PERFETTO_PRODUCER_SOCK_NAME=/tmp/producer PERFETTO_RELAY_SOCK_NAME=10.0.2.2:$port PERFETTO_MACHINE_NAME=guest
build/bin/sonda-relay &
build/bin/sonda-probes &
cp /bin/bash /tmp/busy
/tmp/busy -c 'while :; do :; done' &
while sleep 0.05; do :; done &
sleep 300
GUEST
nice -n -10 tests/kernels/boot.sh --real-time --cpu-threads --smp 1 --network -t 600 6.12 -- "$(cat "$TMP/in_guest")" >"$TMP/guest.log" 2>&1 </dev/null &
guest=$!
end_guest() {
  kill $guest && wait $guest
} 2>/dev/null
for ((i = 0; i < 300; i++)); do
  ! grep -qs 'sent clock snapshots' "$TMP/guest.log" && kill -0 $guest 2>/dev/null || break
  sleep 1
done
if ! kill -0 $guest 2>/dev/null; then
  wait $guest
  [ $? != 77 ] || { tail -n 1 "$TMP/guest.log" >&2; exit 77; }
fi
grep -q 'sent clock snapshots' "$TMP/guest.log"
verdict "the guest reports its clocks" $? "$TMP/guest.log" "$TMP/service.log"
# The other threads of the emulator run elsewhere: for their locks, the CPU of the guest would sleep.
qemu=$(pgrep -P "$(pgrep -P $guest timeout)" qemu-system)
[ "$(nproc)" = 1 ] || taskset -acp "1-$(($(nproc) - 1))" "$qemu" >/dev/null
vcpu=$(for task in /proc/"$qemu"/task/*; do
  ! grep -qx 'CPU 0/TCG' "$task/comm" || echo "${task##*/}"
done)
[ -n "$vcpu" ] && taskset -cp 0 "$vcpu" >/dev/null && renice -n -20 -p "$vcpu" >/dev/null
verdict "the CPU of the guest is a thread" $? "$TMP/guest.log"
[ $BAD = 0 ] || { end_guest; exit 1; }

# It takes the CPU from the guest, which does not sleep then.
cat >"$TMP/taker.py" <<'TAKER'
import os, sys, time
os.sched_setaffinity(0, {0})
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(2))
with open('/proc/self/comm', 'w') as f:
    f.write('taker')
taken = open(sys.argv[2], 'w')
vcpu = int(os.path.basename(sys.argv[3]))


def run_time():
    return int(open(sys.argv[3] + '/schedstat').read().split()[0])


for _ in range(int(sys.argv[1])):
    time.sleep(0.08)
    # It runs, and does not wait for another thread of this machine, and none of these follows: it might have the CPU for longer.
    ran = 0
    while ran < 1_500_000 or open(sys.argv[3] + '/stat').read().rsplit(')', 1)[1].split()[0] != 'R':
        before = run_time()
        time.sleep(0.002)
        ran = run_time() - before
    os.sched_setscheduler(vcpu, os.SCHED_FIFO, os.sched_param(1))
    begin = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
    while time.clock_gettime_ns(time.CLOCK_BOOTTIME) < begin + 20_000_000:
        pass
    print(begin, begin + 20_000_000, file=taken)
    time.sleep(0.002)
    os.sched_setscheduler(vcpu, os.SCHED_OTHER, os.sched_param(0))
TAKER
"$SONDA" record --all --all-machines -o "$TMP/trace" sched -- python3 "$TMP/taker.py" $times "$TMP/taken" \
  "/proc/$qemu/task/$vcpu" >"$TMP/log" 2>&1
verdict "both are recorded" $? "$TMP/log"
end_guest

"$SONDA" report why busy --top 500 --json=keys "$TMP/trace" >"$TMP/why" 2>"$TMP/log"
verdict "why of the thread in the guest" $? "$TMP/log"
python3 - "$TMP/why" "$TMP/taken" $times >"$TMP/out" 2>&1 <<'CHECK'
import json, sys
(machine,) = json.load(open(sys.argv[1]))["machines"].values()
tables = {key: table["rows"] for key, table in machine["tables"].items()}
(host,) = tables["vm_host"]
print("#", host)
stolen = [s for s in tables["stolen"] if (s["behind"] or "").startswith("taker ")]
taken = [tuple(map(int, line.split())) for line in open(sys.argv[2])]
named = 0
for begin, end in taken:
    middle = (begin + end) // 2 - host["clock_behind_ns"]
    of = [s for s in tables["stolen"] if s["at_ts"] <= middle <= s["at_ts"] + s["stolen_ns"]]
    if any(s in stolen and s["stolen_ns"] >= 19_000_000 for s in of):
        named += 1
    else:
        print("# not named:", begin, of)
print("# named:", named, "of", len(taken), "by", len(stolen), "rows")
sys.exit(not (named == len(taken) == int(sys.argv[3]) and host["process"].endswith("qemu-system-x86_64")
              and host["clock_error_ns"] < 50_000))
CHECK
status=$?
grep '^#' "$TMP/out"
grep -h 'sent clock snapshots' "$TMP/guest.log" | sed 's/^/# /'
verdict "it names the thread of the host each of $times times, and the clocks agree to less than 50 us" $status "$TMP/out"
exit $BAD
