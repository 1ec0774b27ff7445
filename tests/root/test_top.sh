#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# tracefs: shared
# kernels: none
#
# The numbers of sonda top against the kernel's own: CPU time and waits for a CPU against /proc/PID/schedstat, system calls
# against a program that makes a known number, I/O against /proc/PID/io. What it shows without eBPF. What it leaves: nothing.
. "$(dirname "$0")/lib.sh"
B=${BIN%/bin}
[ -x "$B/tests/root/do_calls" ] && [ -x "$B/tests/root/short_lived" ] || { echo "do_calls or short_lived is not built" >&2; exit 77; }
TOP=

start_top() { # [COMMAND...]: sonda top, in the background; returns when it has shown a screen
  : >"$TMP/screens"
  "$@" "$BIN/sonda" top --json -d 0.5 >"$TMP/screens" 2>"$TMP/top.err" </dev/null &
  TOP=$!
  PIDS+=("$TOP")
  wait_for test -s "$TMP/screens"
}
# The last whole screen, and a value of a process in it.
last() { grep '}$' "$TMP/screens" | tail -n 1; }
value() { last | grep -o "{\"pid\":$1,[^}]*}" | grep -o "\"$2\":[0-9.]*" | cut -d : -f 2; } # PID NAME
# Three more screens: what a process did before that is blocked now is in the last one.
settle() {
  local n
  n=$(wc -l <"$TMP/screens")
  wait_for eval "[ \$(wc -l <'$TMP/screens') -ge $((n + 3)) ]"
}
is_near() { # OURS THEIRS PER_CENT MORE: less than that apart
  echo "ours ${1:-none}, theirs $2" >"$TMP/near"
  awk -v a="${1:-0}" -v b="$2" -v p="$3" -v more="$4" 'BEGIN { d = a - b; exit !(a > 0 && b > 0 && (d < 0 ? -d : d) <= b * p / 100 + more) }'
}
near() { # NAME OURS THEIRS PER_CENT MORE
  is_near "${@:2}"
  verdict "$1" $? "$TMP/near"
}
is_asleep() { [ "$(cut -d ' ' -f 3 "/proc/$1/stat" 2>/dev/null)" = S ]; }

start_top
verdict "it counts" $? "$TMP/top.err"
last | grep -q '"ebpf":true'
verdict "with eBPF" $? <(last | cut -c 1-300)

# ---- a process that shares CPU 0 with another one
cat >"$TMP/load" <<'LOAD'
#!/bin/bash
for ((i = 0; i < $1; i++)); do :; done &
for ((i = 0; i < $1; i++)); do :; done
wait
read -r line
LOAD
chmod +x "$TMP/load"
# Interrupts and what the hypervisor took, in ns: the kernel does not count them as the process's time, the switches do.
others() { awk -v hz="$(getconf CLK_TCK)" '/^cpu0 / { printf "%.0f", ($7 + $8 + $9 + 1) * 1e9 / hz }' /proc/stat; }
# Kernels of some virtual machines leave out switches of the first process's threads. Then the load has their time, too: another
# one is run, at most twice.
mkfifo "$TMP/line"
for _ in 1 2 3; do
  before=$(others)
  taskset -c 0 "$TMP/load" "$(scaled 300000)" <"$TMP/line" &
  load=$!
  PIDS+=("$load")
  exec 5>"$TMP/line"
  wait_for eval "is_asleep $load && ! pgrep -P $load"
  settle
  read -r ran waited _ <"/proc/$load/schedstat"
  more=$(($(others) - before))
  ours=$(value "$load" cpu_ns) ours_waited=$(value "$load" runq_ns)
  exec 5>&-
  is_near "$ours" "$ran" 2 "$more" && is_near "$ours_waited" "$waited" 5 $((more + 10000000)) && break
done
near "CPU time is that of schedstat, within 2 %" "$ours" "$ran" 2 "$more"
near "the wait for a CPU is that of schedstat, within 5 %" "$ours_waited" "$waited" 5 $((more + 10000000))

# ---- a known number of system calls
mkfifo "$TMP/steps"
"$B/tests/root/do_calls" wait getppid=12345 wait <"$TMP/steps" >"$TMP/calls.out" &
calls=$!
PIDS+=("$calls")
exec 6>"$TMP/steps"
wait_for is_asleep "$calls"
settle
first=$(value "$calls" syscalls)
echo >&6
settle
wait_for is_asleep "$calls"
settle
second=$(value "$calls" syscalls)
# The calls, and the read that returned.
echo "first ${first:-none}, then ${second:-none}" >"$TMP/near"
[ $((${second:-0} - ${first:-0})) = 12346 ]
verdict "12345 calls and the read that returned are 12346" $? "$TMP/near"
exec 6>&-

# ---- memory, names and ends
status=$(awk '/^VmRSS/ { print $2 * 1024 }' "/proc/$$/status")
near "memory is that of /proc/PID/status, within 10 %" "$(value $$ rss_bytes)" "$status" 10 0
mkfifo "$TMP/go"
bash -c "read -r line <'$TMP/go'; exec sleep 1000" &
renamed=$!
PIDS+=("$renamed")
name_is() { last | grep -q "{\"pid\":$1,\"name\":\"$2\""; }
wait_for name_is "$renamed" bash
echo >"$TMP/go"
wait_for name_is "$renamed" sleep
verdict "a process that executes another program has its name" $? <(last | grep -o "{\"pid\":$renamed,[^}]*}")
kill "$renamed"
wait "$renamed" 2>/dev/null
is_not_listed() { ! last | grep -q "{\"pid\":$1,"; }
wait_for is_not_listed "$renamed"
verdict "a process that ended is not listed" $? <(last | grep -o "{\"pid\":$renamed,[^}]*}")

# ---- I/O
mkfifo "$TMP/end"
cat >"$TMP/writer" <<'WRITER'
import os, sys
fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT, 0o600)
for _ in range(64):
    os.write(fd, bytes(262144))
os.fsync(fd)
os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
os.lseek(fd, 0, 0)
while os.read(fd, 262144):
    pass
sys.stdin.readline()
WRITER
python3 "$TMP/writer" "$TMP/data" <"$TMP/end" &
writer=$!
PIDS+=("$writer")
exec 7>"$TMP/end"
has_written() { [ "$(awk '/^wchar/ { print $2 }' "/proc/$writer/io" 2>/dev/null)" -ge 16777216 ] && is_asleep "$writer"; }
wait_for has_written
settle
for pair in read_bytes:read_bytes write_bytes:written_bytes; do
  theirs=$(awk -v name="${pair%:*}:" '$1 == name { print $2 }' "/proc/$writer/io")
  ours=$(value "$writer" "${pair#*:}")
  if [ "${theirs:-0}" = 0 ]; then
    skip "${pair%:*} is that of /proc/PID/io" "this file system has none"
    continue
  fi
  echo "ours ${ours:-none}, theirs $theirs" >"$TMP/near"
  [ "${ours:-0}" = "$theirs" ]
  verdict "${pair%:*} is that of /proc/PID/io" $? "$TMP/near"
done
exec 7>&-
rm -f "$TMP/data"

# ---- processes that end at once: while they do, each takes room on every CPU where it ran
mkdir "$TMP/programs"
"$B/tests/root/short_lived" "$TMP/programs" "$TMP/storm" "$(scaled 6000)" 8 storm >"$TMP/near" 2>&1
verdict "thousands of processes begin and end" $? "$TMP/near"
settle

# ---- all of them together: each number is rounded to 0.01
awk -v most="$(($(getconf _NPROCESSORS_ONLN) * 101))" '!/}$/ { next } # the last line may be cut
  { sum = rounded = 0; n++
    while (match($0, /"cpu_percent":[0-9.]+/)) {
      sum += substr($0, RSTART + 14, RLENGTH - 14); rounded += 0.005
      $0 = substr($0, RSTART + RLENGTH)
    }
    if (sum > most + rounded) { print "screen " n ": " sum " %, of " most " at most"; bad = 1 } }
  END { exit bad || n < 10 }' "$TMP/screens" >"$TMP/near"
verdict "no screen has more CPU time than the CPUs have" $? "$TMP/near"

# ---- the end
# A kernel may leave out switches: see above.
last | grep -qE '"lost":{"gaps":0,"bad_packets":0,"unknown_values":0,"processes":0,"members":0,"service":"","counters":"(cpu_time lost [0-9]+)?"}'
verdict "nothing was lost" $? <(last | grep -o '"lost":{[^}]*}')
children=$(pgrep -P "$TOP" | tr '\n' ' ')
kill "$TOP"
wait "$TOP"
verdict "SIGTERM ends it with 0" $? "$TMP/top.err"
gone() { local p; for p in $children; do [ ! -e "/proc/$p" ] || return 1; done; }
[ "$(wc -w <<<"$children")" = 2 ] && wait_for gone && no_instances
verdict "its daemons ended with it" $? <(echo "$children")

# ---- without eBPF
if command -v setpriv >/dev/null; then
  caps=-bpf,-perfmon,-sys_admin
  start_top setpriv --bounding-set "$caps" --inh-caps "$caps"
  verdict "without CAP_BPF it shows what /proc has" $? "$TMP/top.err"
  wait_for eval "tail -n 1 '$TMP/screens' | grep -q '\"ebpf\":false'"
  last | grep -q '"notes":\[.*"blocked time and system calls are unknown: .*permission denied: CAP_BPF and CAP_PERFMON are required'
  verdict "it says what is missing and why" $? <(last | cut -c 1-600)
  shows_busy() { awk -v v="$(value "$$" cpu_ns)" 'BEGIN { exit !(v > 0) }'; }
  wait_for shows_busy
  verdict "CPU time is that of /proc" $? <(last | cut -c 1-600)
  kill "$TOP"
  wait "$TOP"
fi
exit $BAD
