#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# kernels: 6.12
# tracefs: machine
#
# The families of linux.ebpf_counters that count the machine, on the real kernel: loads that move them by a known amount,
# or by one that the kernel tells elsewhere, and what the trace says of it. trace_processor, where it is there, reads the
# same. A kernel without what a load needs skips it, with the reason.
#
# modules: loop
. "$(dirname "$0")/lib.sh"
helpers=$B/tests/root
group=sonda-ebpf-$$
PEERS=$(tests/interop/peers.sh 2>/dev/null) || PEERS=
[ -e /sys/kernel/btf/vmlinux ] || { echo "the kernel has no BTF" >&2; exit 77; }

end() {
  [ -z "${spaces:-}" ] || { ip netns del "$group-a"; ip netns del "$group-b"; } 2>/dev/null
  [ -z "${loop:-}" ] || losetup -d "$loop"
  [ -z "${mounted:-}" ] || { fsfreeze -u "$mounted"; umount "$mounted"; } 2>/dev/null
  [ -z "${cgroup:-}" ] || rmdir "$cgroup"
  [ -z "${enabled:-}" ] || echo -memory >"$enabled/cgroup.subtree_control"
  leave
}
trap '[ "$BASHPID" != $$ ] || end' EXIT

export TMP group loop='' cgroup=''
start_ready TRACED_NOTIFY_FD "$TMP/service.log" "$BIN/sondad"
start_ready TRACED_PROBES_NOTIFY_FD "$TMP/probes.log" "$BIN/sonda-probes"

# Records while a function of the file $TMP/load runs, and gathers the last value of each counter: "VALUE PATH" a line.
record_load() { # NAME "CONFIG LINES" FUNCTION
  cat >"$TMP/config" <<END
buffers { size_kb: 16384 fill_policy: DISCARD }
data_sources { config { name: "linux.ebpf_counters" ebpf_counters_config { period_ms: 50 $2 } } }
${4:-}
END
  : >"$TMP/probes.log"
  "$BIN/sonda" record -c "$TMP/config" -o "$TMP/$1.trace" -- bash -c ". '$TMP/load'; $3" >"$TMP/$1.log" 2>&1 </dev/null &&
    grep -qE '^  lost +nothing$' "$TMP/$1.log" &&
    "$helpers/track_lines" "$TMP/$1.trace" >"$TMP/$1.lines" 2>>"$TMP/$1.log"
  verdict "$1: recorded, nothing lost, every value has its track" $? "$TMP/$1.log"
  if grep -q 'was built without' "$TMP/probes.log"; then echo "this build has no eBPF counters" >&2; exit 77; fi
  [ "$(grep -c "$1:" "$TMP/probes.log")" = 0 ]
  verdict "$1: the family runs" $? "$TMP/probes.log"
  awk '{ v = $2; sub(/^[^ ]+ [^ ]+ /, ""); sub(/^eBPF counters\//, ""); last[$0] = v }
    END { for (path in last) print last[path], path }' "$TMP/$1.lines" | sort -k2 >"$TMP/$1"
}
# The last value of a counter; 0 where there is none.
last() { # NAME PATH
  awk -v p="$2" '{ v = $1; sub(/^[^ ]+ /, "") } $0 == p { found = v } END { print found + 0 }' "$TMP/$1"
}
is() { # NAME PATH VALUE
  [ "$(last "$1" "$2")" = "$3" ]
  verdict "$1: $2 is $3" $? "$TMP/$1"
}
between() { # NAME PATH MIN MAX
  awk -v v="$(last "$1" "$2")" -v min="$3" -v max="$4" 'BEGIN { exit !(v >= min && v <= max) }'
  verdict "$1: $2 is $3 to $4" $? "$TMP/$1"
}
# Each that is counted took longer than 1 us: it is a slice, of which each CPU has 20 a second, or is left out.
outliers() { # NAME FAMILY FIELD FUNCTION TRACK COUNTERS-REGEX WHERE: a condition that some of the slices meet
  local sum
  [ -n "$PEERS" ] || return
  record_load "$1" "families: $2 outliers { $3: 1 max_per_second: 20 }" "$4"
  grep -qE '(note|^) +[a-z]+: [0-9,]+ outliers without a slice: limit max_per_second exceeded' "$TMP/$1.log"
  verdict "$1: what the limit left out is a note" $? "$TMP/$1.log"
  TP_ASSETS=$PEERS/tp timeout 60 node tests/interop/tpq.mjs "$TMP/$1.trace" "select count(*) as n, count(iif($7, 1, null)) as good,
      (max(s.ts) - min(s.ts)) / 1000000000 + 2 as seconds, sum(s.dur <= 1000) as short from slice s
    left join thread_track tt on tt.id = s.track_id left join track t on t.id = s.track_id
    left join thread h on h.utid = tt.utid" >"$TMP/$1.slices" 2>"$TMP/tpq.err"
  sum=$(awk -v re="$6" '$0 ~ re { n += $1 } END { print n + 0 }' "$TMP/$1")
  tr ':,}' '   ' <"$TMP/$1.slices" | awk -v left="$(last "$1" "$5")" -v sum="$sum" -v cpus="$(getconf _NPROCESSORS_CONF)" '{
      print $2, "slices,", left, "left out,", sum, "counted,", $4, "as they should be"
      ok = $2 + left == sum && $2 > 0 && left > 0 && $2 <= 20 * cpus * $6 && $4 > 0 && $8 == 0
    } END { exit !ok }' >"$TMP/compared"
  verdict "$1: of what takes too long some are slices, the rest is counted" $? <(cat "$TMP/compared" "$TMP/$1.slices" "$TMP/$1")
}

# ---- block: so many bytes through a loop device ---------------------------------------------------------------------

cat >>"$TMP/load" <<'END'
block_load() {
  dd if=/dev/zero of=$loop bs=64k count=64 oflag=direct status=none
  dd if=$loop of=/dev/null bs=4k count=100 iflag=direct status=none
  dd if=/dev/zero of=$loop bs=4k count=1 oflag=direct conv=fsync status=none
}
# Over more than a second, as other disks may have used up the slices of one.
block_slices_load() {
  local i
  for i in {1..30}; do
    dd if=/dev/zero of=$loop bs=4k count=100 oflag=direct status=none
    sleep 0.05
  done
}
END
truncate -s 16M "$TMP/disk"
free=$(losetup -f 2>"$TMP/losetup.err") && losetup "$free" "$TMP/disk" 2>>"$TMP/losetup.err" && loop=$free
if [ -z "$loop" ]; then
  skip "block: a loop device" "$(head -n 1 "$TMP/losetup.err")"
else
  # Whatever looks at a new disk has done so; nothing of it is in the cache.
  command -v udevadm >/dev/null && udevadm settle
  record_load block "families: BLOCK" block_load
  disk="Block I/O/${loop#/dev/}"
  is block "$disk/write" $((64 * 65536 + 4096))
  is block "$disk/write requests" 65
  between block "$disk/read" 409600 4000000 # and what looks at a disk that was written
  between block "$disk/read requests" 100 1000
  is block "$disk/in flight" 0
  between block "$disk/flush requests" 1 10
  # A percentile is not above the maximum, and a device takes its time.
  awk -v d="$disk" '{ t = $1; v = $2; sub(/^[^ ]+ [^ ]+ eBPF counters\//, "") } index($0, d "/write latency") { s[$NF, t] = v }
    END { for (k in s) { split(k, p, SUBSEP); if (p[1] == "max" && s[k] > 0) { n++
      m = s[k]; if (s["p99", p[2]] > m || s["p50", p[2]] > s["p99", p[2]] && ("p99", p[2]) in s || m < 500 || m > 2e10) bad = 1 } }
      exit !n || bad }' "$TMP/block.lines"
  verdict "block: latencies are in order" $? "$TMP/block.lines"
  awk '/^[^ ]+ process [0-9]+( dd)?\/block written$/ { sum += $1 } END { exit sum < 64 * 65536 }' "$TMP/block"
  verdict "block: the bytes are those of who wrote them" $? "$TMP/block"
  outliers block_slices BLOCK block_us block_slices_load "block slices left out" 'Block I/O/.* requests$' "s.name = 'block write' and
    extract_arg(s.arg_set_id, 'debug.bytes') = 4096 and extract_arg(s.arg_set_id, 'debug.sector') % 8 = 0 and
    extract_arg(s.arg_set_id, 'debug.device') = '${loop#/dev/}' and t.name = 'block I/O'"
  losetup -d "$loop" && loop=
fi

# ---- interrupts: as many as /proc tells -----------------------------------------------------------------------------

cat >>"$TMP/load" <<'END'
irqs() { cat /proc/softirqs <(grep LOC: /proc/interrupts); }
interrupts_load() {
  irqs >"$TMP/irqs1"
  for i in {1..500}; do echo x >/dev/udp/127.0.0.1/9; done 2>/dev/null
  irqs >"$TMP/irqs2"
  sleep 0.3 # The values of the end may be 100 ms old.
}
END
. "$TMP/load"
ip link set lo up 2>/dev/null
irqs >"$TMP/irqs0"
record_load interrupts "families: INTERRUPTS" interrupts_load
irqs >"$TMP/irqs3"
# What is reported is at least what came during the load, and at most what came around the recording. A CPU that is off has
# a column in none of them.
awk '
FNR == 1 { file++ }
file <= 4 && /^ *CPU/ { for (i = 1; i <= NF; i++) cpu[i] = substr($i, 4); n_cpus = NF; next }
file <= 4 { sub(/:/, "", $1); for (i = 1; i <= n_cpus; i++) seen[file, $1, cpu[i]] = $(i + 1); names[$1] }
file == 5 {
  c = $3; sub(/\/.*/, "", c)
  if ($0 ~ /CPU [0-9]+\/softirqs /) counted[$NF, c] = $1
  if ($0 ~ /CPU [0-9]+\/timer interrupts$/) counted["LOC", c] = $1
}
END {
  for (v in names) for (i = 1; i <= n_cpus; i++) {
    c = cpu[i]; n = counted[v, c] + 0; min = seen[3, v, c] - seen[2, v, c]; max = seen[4, v, c] - seen[1, v, c]
    if (v == "LOC" && !n) continue
    line = v " on CPU " c ": " n " of " min " to " max; compared += max > 0
    if (n < min || n > max) { print line " WRONG"; bad = 1 } else print line
  }
  exit bad || compared < 4
}' "$TMP/irqs0" "$TMP/irqs1" "$TMP/irqs2" "$TMP/irqs3" "$TMP/interrupts" >"$TMP/compared"
verdict "interrupts: softirqs and timers are as many as /proc tells" $? "$TMP/compared"
grep -q NET_RX "$TMP/interrupts" && awk '/softirq NET_RX time/ { ns += $1 } /softirqs NET_RX/ { n += $1 }
  END { print ns, n; exit n < 500 || ns / n < 100 || ns / n > 1e7 }' "$TMP/interrupts" >"$TMP/compared"
verdict "interrupts: 500 packets are 500 softirqs that take a while" $? "$TMP/compared"

# ---- tcp: 20 connections into a black hole, 10 refused, 30 packets to a port without a listener --------------------------

cat >>"$TMP/load" <<'END'
retransmitted() { awk '/^Tcp: [0-9]/ { print $13 }' /proc/net/snmp; }
refused() { # ADDRESS
  local i
  for i in {1..10}; do : >/dev/tcp/$1/9; done 2>/dev/null
  for i in {1..30}; do echo x >/dev/udp/$1/9; done 2>/dev/null
}
tcp_load() {
  local i
  refused 10.71.0.2
  for i in {1..20}; do timeout 20 bash -c ': >/dev/tcp/10.71.9.9/9' & done 2>/dev/null
  for i in {1..200}; do [ "$(retransmitted)" -lt 20 ] || break; sleep 0.1; done
  kill $(jobs -p)
  wait
}
tcp_in_namespace() { ip netns exec "$group-a" bash -c '. "$TMP/load"; tcp_load'; }
END
pair() { # two network namespaces; the second one drops what is sent on to 10.71.9.9
  local a="ip -n $group-a" b="ip -n $group-b"
  ip netns add "$group-a" && ip netns add "$group-b" &&
    $a link add eth type veth peer name eth netns "$group-b" &&
    $a addr add 10.71.0.1/24 dev eth && $b addr add 10.71.0.2/24 dev eth &&
    $a link set eth up && $b link set eth up && $a route add 10.71.9.9 via 10.71.0.2 &&
    $b route add blackhole 10.71.9.9 &&
    ip netns exec "$group-a" sh -c 'echo 1 >/proc/sys/net/ipv4/tcp_syn_retries' &&
    ip netns exec "$group-b" sh -c 'echo 1 >/proc/sys/net/ipv4/ip_forward'
}
resets_sent() { awk '/^Tcp: [0-9]/ { print $15 }' /proc/net/snmp; }
spaces=1 others=0
if ! pair 2>"$TMP/pair.err"; then
  skip "tcp: two network namespaces" "$(head -n 1 "$TMP/pair.err")"
  record_load tcp "families: TCP" "refused 127.0.0.1"
else
  # Resets of others: those of the machine's own network are counted in both directions if they go over loopback.
  others=$(resets_sent)
  record_load tcp "families: TCP" tcp_in_namespace \
    'data_sources { config { name: "linux.ftrace" ftrace_config { ftrace_events: "tcp/tcp_retransmit_skb" } } }'
  others=$(($(resets_sent) - others))
  # Kernels of some virtual machines leave out events while threads of the first process run, in ftrace as well.
  retransmits=$(events_in "$TMP/tcp.trace")
  between tcp "Network/TCP retransmits" $((retransmits > 11 ? retransmits - 2 : 10)) $((retransmits + 2))
  # Each of 20 was sent twice, and lost. Other tests close sockets with packets in their queues.
  closed=$(last tcp "Network/dropped packets by reason/SOCKET_CLOSE")
  between tcp "Network/dropped packets" 80 $((1000 + ${closed:-0}))
fi
# Until 6.10 the kernel reports a reset only if a socket sends it.
if ! grep -q 'field:.* reason;' $TRACEFS/events/tcp/tcp_send_reset/format; then
  skip "tcp: resets sent" "this kernel does not report all"
else
  between tcp "Network/TCP resets sent" 10 $((20 + others))
fi
between tcp "Network/TCP resets received" 10 $((20 + others))
if grep -q 'packets by reason' "$TMP/tcp"; then
  between tcp "Network/dropped packets by reason/NO_SOCKET" 40 50
  awk '/packets by reason/ { sum += $1 } /Network\/dropped packets$/ { all = $1 } END { exit sum != all }' "$TMP/tcp"
  verdict "tcp: reasons are those of all that was dropped" $? "$TMP/tcp"
else
  skip "tcp: reasons" "this kernel tells none"
fi

# ---- memory: a control group that is too small ----------------------------------------------------------------------

cat >>"$TMP/load" <<'END'
memory_load() {
  echo 1 >/proc/sys/vm/compact_memory
  ( echo $BASHPID >"$cgroup/cgroup.procs" && exec dd if="$TMP/large" of=/dev/null bs=64k status=none )
  ( echo $BASHPID >"$cgroup/cgroup.procs" && exec tail /dev/zero )
  true
}
# The kernel tries some 20 reclaims before each kill.
memory_slices_load() {
  for _ in {1..6}; do ( echo $BASHPID >"$cgroup/cgroup.procs" && exec tail /dev/zero ); done
  true
}
END
limit_group() { # a control group of 16 MB, of either version
  local root=/sys/fs/cgroup
  if [ -e $root/memory/memory.limit_in_bytes ]; then
    root=$root/memory
  else
    [ -e $root/cgroup.controllers ] || root=$root/unified
    grep -qw memory $root/cgroup.controllers || return
    grep -qw memory $root/cgroup.subtree_control || { echo +memory >$root/cgroup.subtree_control && enabled=$root; }
  fi
  cgroup=$root/$group
  mkdir "$cgroup" || return
  if [ -e "$cgroup/memory.max" ]; then
    echo 0 >"$cgroup/memory.swap.max" || true
    echo 16M >"$cgroup/memory.max"
  else
    echo 16M >"$cgroup/memory.limit_in_bytes" && echo 16M >"$cgroup/memory.memsw.limit_in_bytes" || true
  fi
}
if ! limit_group 2>"$TMP/group.err"; then
  skip "memory: a control group with a limit" "$(head -n 1 "$TMP/group.err")"
else
  head -c 64M /dev/urandom >"$TMP/large"
  record_load memory "families: MEMORY" memory_load 'data_sources { config { name: "linux.ftrace" ftrace_config {
    ftrace_events: "vmscan/mm_vmscan_memcg_reclaim_end" ftrace_events: "vmscan/mm_vmscan_direct_reclaim_end"
    ftrace_events: "compaction/mm_compaction_end" } } }'
  between memory "Memory/OOM kills" 1 2
  between memory "Memory/control group reclaims" 10 1000000
  [ ! -e /proc/sys/vm/compact_memory ] || between memory "Memory/compactions" 1 1000
  awk '/^[0-9]+ Memory\/.* time$/ && $1 { t++; bad += $1 < 1000 || $1 > 6e10 } END { exit bad || !t }' "$TMP/memory"
  verdict "memory: stalls take a while" $? "$TMP/memory"
  awk -v events="$(events_in "$TMP/memory.trace")" '/^[0-9]+ Memory\/.*(reclaims|compactions)$/ { n += $1 }
    END { print n, "and ftrace has", events; exit n > events + 2 || n < events - 2 }' "$TMP/memory" >"$TMP/compared"
  verdict "memory: stalls are as many as events" $? "$TMP/compared"
  outliers memory_slices MEMORY reclaim_us memory_slices_load "memory slices left out" '^[0-9]+ Memory/.*(reclaims|compactions)$' "
    s.name = 'control group reclaim' and extract_arg(s.arg_set_id, 'debug.order') = 0 and
    extract_arg(s.arg_set_id, 'debug.pages') >= 0 and h.tid > 0"
fi

# ---- locks: 5 threads that wait for a file system to thaw -----------------------------------------------------------

cat >>"$TMP/load" <<'END'
all_sleep() { [ "$(cat $(sed 's,.*,/proc/&/stat,' "$TMP/pids") | sed 's/.*) //' | grep -c ^D)" = 5 ]; }
locks_load() {
  local i
  fsfreeze -f "$TMP/fs"
  for i in {1..5}; do
    touch "$TMP/fs/$i" &
    echo $! >>"$TMP/pids"
  done
  for i in {1..100}; do all_sleep && break; sleep 0.05; done
  sleep 0.2
  fsfreeze -u "$TMP/fs"
  wait
}
END
mkdir "$TMP/fs" && truncate -s 16M "$TMP/image" && { mkfs.ext4 -q "$TMP/image"; } 2>"$TMP/fs.err" &&
  mount -o loop "$TMP/image" "$TMP/fs" 2>>"$TMP/fs.err" && mounted=$TMP/fs
if [ ! -e $TRACEFS/events/lock/contention_begin ]; then
  skip "locks: waits" "this kernel does not tell of them"
elif [ -z "${mounted:-}" ]; then
  skip "locks: a file system that can be frozen" "$(head -n 1 "$TMP/fs.err")"
  record_load locks "families: LOCKS" true
else
  record_load locks "families: LOCKS" locks_load 'data_sources { config { name: "linux.ftrace" ftrace_config {
    ftrace_events: "lock/contention_begin" event_filters { event: "contention_begin" filter: "flags & 16" } } } }'
  between locks "Locks/percpu rwsem waits" 5 50
  between locks "Locks/percpu rwsem wait time" 1000000000 60000000000
  # Each of them slept for as long as it was frozen, and for little else.
  awk 'FNR == NR { ours[$1] = 1; next } /^[0-9]+ process [0-9]+.*\/kernel lock wait time$/ {
      split($3, pid, "/"); if (pid[1] in ours && $1 > 2e8) n++ }
    END { exit n != 5 }' "$TMP/pids" "$TMP/locks"
  verdict "locks: 5 processes waited for 0.2 s each" $? "$TMP/locks"
  # LCB_F_PERCPU is 16; other kinds are waited for all the time, before and after too.
  awk -v events="$(events_in "$TMP/locks.trace")" '/^[0-9]+ Locks\/percpu rwsem waits$/ { n = $1 }
    END { print n, "and ftrace has", events; exit n > events + 2 || n < events - 2 }' "$TMP/locks" >"$TMP/compared"
  verdict "locks: waits are as many as events" $? "$TMP/compared"
fi

# ---- trace_processor's word for it -----------------------------------------------------------------------------------

if [ -n "$PEERS" ]; then
  words=()
  for trace in "$TMP"/*.trace; do
    [ ${#words[@]} = 0 ] || words+=(--next)
    words+=("$trace" "select name, value from stats where severity in ('error', 'data_loss') and value > 0")
  done
  words+=(--next "$TMP/tcp.trace" "select r.name || '/' || g.name || '/' || t.name || ' ' || k.unit || ' ' ||
      cast(max(c.value) >= 10 as text) as x
    from counter c join counter_track k on k.id = c.track_id join track t on t.id = k.id join track g on g.id = t.parent_id
    join track r on r.id = g.parent_id where t.name = 'TCP resets received'")
  TP_ASSETS=$PEERS/tp timeout 120 node tests/interop/tpq.mjs "${words[@]}" >"$TMP/shown" 2>"$TMP/tpq.err"
  sort -u "$TMP/shown" | diff - <(printf '%s\n' '[]' '[{"x":"eBPF counters/Network/TCP resets received count 1"}]') >"$TMP/diff"
  verdict "trace_processor has no complaint, and shows groups and units" $? <(cat "$TMP/diff" "$TMP/tpq.err")
fi
echo "1..$N"
exit $BAD
