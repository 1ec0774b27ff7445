#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# kernels: 5.10
# tracefs: shared
#
# linux.cgroup_stats and linux.network_stats on the real kernel: a control group that this test makes, loads with a known
# number of processes, of bytes and of CPU time, and removes; interfaces in a network namespace of its own with a known
# number of packets. What the trace says is what the files say at the same moment. trace_processor, where it is there,
# shows the counters by name and group.
set -u
places() { # where version 2 of control groups may be
  local d
  for d in /sys/fs/cgroup /sys/fs/cgroup/unified; do
    [ ! -e $d/cgroup.controllers ] || { echo $d; return; }
  done
}
if [ -z "$(places)" ] && [ -z "${OWN_MOUNTS:-}" ]; then
  OWN_MOUNTS=1 exec unshare -m "$0" "$@"
fi
. "$(dirname "$0")/lib.sh"
[ -n "$(places)" ] || mount -t cgroup2 none /sys/fs/cgroup 2>/dev/null
CG=$(places)
helpers=$B/tests/root
group=sonda-test-$$
PEERS=$(tests/interop/peers.sh 2>/dev/null) || PEERS=

end() {
  rmdir "$CG/$group/inner" "$CG/$group" 2>/dev/null
  for c in ${enabled:-}; do echo "-$c" >"$CG/cgroup.subtree_control"; done
  ip netns del "$group-a" 2>/dev/null
  ip netns del "$group-b" 2>/dev/null
  leave
}
trap '[ "$BASHPID" != $$ ] || end' EXIT

# Records by a config until it gets a signal; a directory for each.
start_recording() { # NAME COMMAND-PREFIX...
  local name=$1
  shift
  mkdir -p "$TMP/$name"
  cat >"$TMP/$name/config"
  PERFETTO_PRODUCER_SOCK_NAME=$TMP/$name/producer PERFETTO_CONSUMER_SOCK_NAME=$TMP/$name/consumer \
    "$@" "$BIN/sonda" record -c "$TMP/$name/config" -o "$TMP/$name/trace" >"$TMP/$name/log" 2>&1 </dev/null &
  recorder=$!
  PIDS+=("$recorder")
  sleep 1.5
}
stop_recording() { # NAME
  kill -INT "$recorder"
  wait "$recorder"
  "$helpers/track_lines" "$TMP/$1/trace" >"$TMP/$1/lines" 2>"$TMP/$1/err"
  verdict "$1: recorded, every value has its track" $? "$TMP/$1/log"
}
values_of() { # NAME PATH
  awk -v p="$2" '{ v = $2; t = $1; sub(/^[^ ]+ [^ ]+ /, "") } $0 == p { print v }' "$TMP/$1/lines"
}
has_value() { # NAME PATH VALUE
  values_of "$1" "$2" >"$TMP/values"
  grep -qxF -- "$3" "$TMP/values"
  verdict "$1: $2 was $3" $? "$TMP/values"
}
ends_with() { # NAME PATH VALUE
  values_of "$1" "$2" >"$TMP/values"
  [ "$(tail -n 1 "$TMP/values")" = "$3" ]
  verdict "$1: $2 ends with $3" $? "$TMP/values"
}
# trace_processor's word for it: counters of these names in groups of these names, and no complaint.
shown() { # NAME "GROUP NAME"...
  local trace=$TMP/$1/trace name=$1
  shift
  [ -n "$PEERS" ] || { skip "$name: trace_processor shows the counters" "it is not there"; return; }
  TP_ASSETS=$PEERS/tp timeout 120 node tests/interop/tpq.mjs "$trace" \
    "select name, value from stats where severity = 'error' and value > 0" \
    "select distinct g.name || ' ' || t.name as x from counter_track c join track t using (id)
     join track g on g.id = t.parent_id" >"$TMP/shown" 2>/dev/null
  [ "$(head -n 1 "$TMP/shown")" = '[]' ]
  verdict "$name: trace_processor has no complaint" $? "$TMP/shown"
  for x; do
    grep -qF "\"$x\"" "$TMP/shown"
    verdict "$name: trace_processor shows $x" $? "$TMP/shown"
  done
}

# ---- control groups ----

if [ -z "$CG" ]; then
  skip "control groups" "this kernel has no version 2 of them"
else
  # As far as this machine leaves them to version 2.
  for c in cpu memory pids io; do
    grep -qw $c "$CG/cgroup.controllers" && ! grep -qw $c "$CG/cgroup.subtree_control" &&
      echo "+$c" >"$CG/cgroup.subtree_control" 2>/dev/null && enabled="${enabled:-} $c"
  done
  start_recording cgroups <<CONFIG
buffers { size_kb: 8192 fill_policy: DISCARD }
data_sources {
  config {
    name: "linux.cgroup_stats"
    cgroup_stats_config { period_ms: 50 cgroups: "$group" cgroups: "sonda-nosuch-*" counters: "*" }
  }
}
CONFIG
  mkdir "$CG/$group"
  for c in cpu memory pids io; do echo "+$c" >"$CG/$group/cgroup.subtree_control" 2>/dev/null; done
  mkdir "$CG/$group/inner"
  mkfifo "$TMP/go" "$TMP/ready"
  "$helpers/cgroup_load" "$CG/$group/inner" 48 7 200 <"$TMP/go" >"$TMP/ready" 2>"$TMP/load.err" &
  load=$!
  PIDS+=("$load")
  exec 7>"$TMP/go"
  [ "$(timeout 60 head -n 1 "$TMP/ready")" = ready ]
  verdict "a load in a control group" $? "$TMP/load.err"
  # While all sleep, nothing moves: what the files say now, the trace must say.
  steady() {
    local f
    for f in memory.current pids.current; do
      [ ! -e "$CG/$group/inner/$f" ] || echo "$f $(cat "$CG/$group/inner/$f")"
    done
    sed -n 's/^\(usage\|user\|system\)_usec /cpu.stat &/p' "$CG/$group/inner/cpu.stat"
    [ ! -e "$CG/$group/inner/memory.stat" ] ||
      sed -n 's/^\(anon\|pgfault\|kernel_stack\) /memory.stat &/p' "$CG/$group/inner/memory.stat"
  }
  for _ in $(seq 20); do
    steady >"$TMP/before"
    sleep 0.5
    steady >"$TMP/after"
    ! cmp -s "$TMP/before" "$TMP/after" || break
  done
  cmp "$TMP/before" "$TMP/after" >"$TMP/cmp"
  verdict "the files have come to rest" $? "$TMP/cmp"
  exec 7>&-
  wait "$load"
  wait_for rmdir "$CG/$group/inner"
  sleep 0.5
  stop_recording cgroups
  path=cgroups/$group/inner
  while read -r line; do
    has_value cgroups "$path/${line% *}" "${line##* }"
  done <"$TMP/after"
  usage=$(awk '/usage_usec/ { print $NF }' "$TMP/after")
  [ "$usage" -ge 200000 ]
  verdict "the counters have the CPU time that the load used" $? "$TMP/after"
  if grep -q '^pids' "$TMP/after"; then
    has_value cgroups "$path/pids.current" 7
    ends_with cgroups "$path/pids.current" 0
    awk '/^memory.stat anon/ { exit !($NF >= 48 * 1048576 && $NF < 64 * 1048576) }' "$TMP/after"
    verdict "the counters have the memory that the load took" $? "$TMP/after"
  else
    skip "processes and memory" "version 1 has these controllers on this machine"
  fi
  ! grep -q 'failed reads\|sonda-nosuch' "$TMP/cgroups/lines"
  verdict "nothing failed, with a group that came and went" $? "$TMP/cgroups/lines"
  ! grep -q "cgroups/cpu.stat" "$TMP/cgroups/lines"
  verdict "nothing but the requested counters is recorded" $?
  shown cgroups "inner cpu.stat usage_usec" "$group cpu.stat system_usec"

  printf 'usage_usec 1\nof a newer format\n' >"$TMP/text"
  # shellcheck disable=SC2016 # of the inner shell
  start_recording newer unshare -m sh -c 'mount --bind "$0" "$1" && shift && exec "$@"' \
    "$TMP/text" "$CG/$group/cpu.stat" <<CONFIG
buffers { size_kb: 1024 }
data_sources { config { name: "linux.cgroup_stats" cgroup_stats_config { period_ms: 50 cgroups: "$group" files: "cpu.stat" } } }
CONFIG
  stop_recording newer
  grep -qF "counters of linux.cgroup_stats: $group/cpu.stat: part of the file has an unknown format" "$TMP/newer/log"
  verdict "newer: sonda record says which file it could not understand" $? "$TMP/newer/log"
  shown newer "cgroups failed reads"
fi

# ---- interfaces ----

in_a() { nsenter --net=/run/netns/$group-a "$@"; }
in_b() { nsenter --net=/run/netns/$group-b "$@"; }
make_link() {
  ip netns add $group-a && ip netns add $group-b &&
    in_a sysctl -qw net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1 &&
    in_b sysctl -qw net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1 &&
    ip link add va address 02:00:00:00:00:0a netns $group-a type veth peer name vb \
      address 02:00:00:00:00:0b netns $group-b &&
    in_a ip addr add 10.99.99.1/24 dev va && in_b ip addr add 10.99.99.2/24 dev vb &&
    in_a ip link set va up && in_b ip link set vb up && in_a ip link set lo up &&
    in_a ip neigh add 10.99.99.2 lladdr 02:00:00:00:00:0b dev va &&
    in_b ip neigh add 10.99.99.1 lladdr 02:00:00:00:00:0a dev vb
}
# Datagrams of 100 bytes to a port without a listener, a new socket each: none hears of the refusal of another.
send() { # FROM TO COUNT
  "in_$1" bash -c "for i in \$(seq $3); do printf '%0100d' 0 >/dev/udp/$2/9; done"
}

if ! make_link >"$TMP/link.log" 2>&1; then
  skip "interfaces" "no pair of them in namespaces here: $(tail -n 1 "$TMP/link.log")"
else
  start_recording network nsenter --net=/run/netns/$group-a <<CONFIG
buffers { size_kb: 8192 fill_policy: DISCARD }
data_sources {
  config { name: "linux.network_stats" network_stats_config { period_ms: 50 counters: "*" exclude_interfaces: "lo" } }
}
CONFIG
  before=$(in_a awk '/^Udp:/ { n = $3 } END { print n }' /proc/net/snmp)
  send b 10.99.99.1 25 >"$TMP/send.log" 2>&1
  in_a ip link add late0 type veth peer name late1
  sleep 0.5
  in_a awk '/va:/ { print "rx bytes", $2; print "rx packets", $3; print "tx bytes", $10; print "tx packets", $11 }' \
    /proc/net/dev >"$TMP/dev"
  in_a awk '/^(Udp|Tcp):/ { if ($2 ~ /^[A-Z]/) split($0, name); else for (i = 2; i <= NF; i++)
    print substr($1, 1, length($1) - 1) "/" name[i], $i }' /proc/net/snmp >"$TMP/snmp"
  sleep 0.5
  in_a ip link del late0
  sleep 0.3
  stop_recording network
  while read -r direction what value; do
    has_value network "network/interfaces/va/$direction $what" "$value"
  done <"$TMP/dev"
  n_snmp=0
  while read -r name value; do
    n_snmp=$((n_snmp + 1))
    values_of network "network/protocols/$name" | grep -qxF -- "$value" || echo "$name $value" >>"$TMP/bad"
  done <"$TMP/snmp"
  [ ! -s "$TMP/bad" ] && [ $n_snmp -gt 15 ]
  verdict "network: $n_snmp counters of UDP and TCP are what the file says" $? "$TMP/bad"
  # Each datagram has 14 + 20 + 8 + 100 bytes on the wire.
  [ "$(awk '/rx packets/ { print $3 }' "$TMP/dev")" = 25 ] && [ "$(awk '/rx bytes/ { print $3 }' "$TMP/dev")" = 3550 ]
  verdict "network: which is what was sent" $? "$TMP/dev"
  ports=$(awk '/Udp\/NoPorts/ { print $2 }' "$TMP/snmp")
  [ "$ports" = $((before + 25)) ]
  verdict "network: all of it to a port without a listener" $? "$TMP/snmp"
  ends_with network "network/interfaces/late1/rx bytes" 0
  ! grep -q 'interfaces/lo/\|failed reads' "$TMP/network/lines"
  verdict "network: nothing failed, and nothing but what was asked for" $? "$TMP/network/lines"
  shown network "va rx bytes" "va tx drop" "late0 rx bytes" "Tcp RetransSegs" "TcpExt ListenDrops"
fi

# ---- files that the config names ----

start_recording files <<'CONFIG'
buffers { size_kb: 1024 }
data_sources { config { name: "linux.sys_stats" sys_stats_config {
  files_period_ms: 50
  files { path: "/proc/sys/kernel/pid_max" }
  files { path: "/proc/net/sockstat" counters: "sockets used" counters: "TCP *" }
  files { path: "/proc/loadavg" }
  files { path: "/proc/self/maps" }
  files { path: "/proc/kmsg" }
  files { path: "/proc/../etc/passwd" }
  files { path: "/sys/kernel/tracing/trace_pipe" }
} } }
CONFIG
stop_recording files
has_value files "/proc/sys/kernel/pid_max/pid_max" "$(cat /proc/sys/kernel/pid_max)"
[ "$(grep -c ' /proc/loadavg/loadavg\( [235]\)\?$' "$TMP/files/lines")" -ge 4 ] &&
  grep -q ' /proc/net/sockstat/TCP inuse$' "$TMP/files/lines" &&
  grep -q ' /proc/net/sockstat/sockets used$' "$TMP/files/lines" && ! grep -q 'UDP' "$TMP/files/lines"
verdict "files: the numbers that were asked for" $? "$TMP/files/lines"
! grep -qE ' /(proc/self|proc/kmsg|proc/\.\.|sys/kernel/tracing)' "$TMP/files/lines"
verdict "files: nothing of what is kept from others" $? "$TMP/files/lines"
for f in /proc/self/maps /proc/kmsg /proc/../etc/passwd /sys/kernel/tracing/trace_pipe; do
  grep -qF "counters of $f: Operation not permitted" "$TMP/files/log"
  verdict "files: sonda record says that $f is not recorded" $? "$TMP/files/log"
done

# ---- the sample configs ----

for sample in cgroups network files; do
  mkdir "$TMP/$sample.cfg"
  sed 's/^duration_ms:.*/duration_ms: 1200/' "configs/$sample.cfg" >"$TMP/$sample.cfg/config"
  "$BIN/sonda" record -c "$TMP/$sample.cfg/config" -o "$TMP/$sample.cfg/trace" >"$TMP/$sample.cfg/log" 2>&1 </dev/null &&
    "$helpers/track_lines" "$TMP/$sample.cfg/trace" >"$TMP/$sample.cfg/lines"
  verdict "configs/$sample.cfg" $? "$TMP/$sample.cfg/log"
  [ $sample != cgroups ] || [ -n "$CG" ] || continue
  [ "$(wc -l <"$TMP/$sample.cfg/lines")" -gt 5 ]
  verdict "configs/$sample.cfg records counters" $? "$TMP/$sample.cfg/log"
done
echo "1..$N"
exit $BAD
