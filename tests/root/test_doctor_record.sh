#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# tracefs: shared
# kernels: none
#
# Each obstacle that sonda doctor knows and that can be made here, in namespaces of mounts, users and PIDs, and by fewer
# capabilities: sonda record, which it stops or limits, says the sentence of sonda doctor.
. "$(dirname "$0")/lib.sh"
needs_own_mounts
for program in setpriv unshare python3; do
  command -v $program >/dev/null || { echo "$program is missing" >&2; exit 77; }
done
chmod 755 "$TMP"
mkdir -m 777 "$TMP/open" "$TMP/empty" "$TMP/alone"
cp "$BIN"/sonda* "$TMP/open"
cp "$BIN/sonda" "$TMP/alone"
cd "$TMP/open" || exit 2
sonda=$TMP/open/sonda
export sonda TMP

# Prints "TEXT; run: REMEDY" of one check, as sonda record says it.
sentence() { # CHECK
  "$sonda" doctor --json "$1" </dev/null | python3 -c '
import json, sys
for c in json.load(sys.stdin)["checks"]:
    if c["verdict"] in ("limit", "fault"):
        print(c["text"] + ("; run: " + c["remedy"] if "remedy" in c else ""))'
}
# Records, and looks for the sentence.
says_it() { # CHECK ARGUMENT... of sonda record
  local check=$1 expected
  shift
  expected=$(sentence "$check")
  rm -f "$TMP/open/said"
  echo "expected: $expected"
  timeout 60 "$sonda" record -o "$TMP/open/trace" "$@" >"$TMP/open/said" 2>&1 </dev/null
  echo "exit code: $?"
  cat "$TMP/open/said"
  [ -n "$expected" ] && [ "$(grep -cF -- "$expected" "$TMP/open/said")" = 1 ]
}
export -f sentence says_it
# Runs a line of shell where mounts are its own.
verdict_of() { # NAME LINE
  unshare --mount --propagation private bash -c "$2" >"$TMP/log" 2>&1 </dev/null
  verdict "$1" $? "$TMP/log"
}
nobody='setpriv --reuid 65534 --regid 65534 --clear-groups'
without() { # CAPABILITY...: the command that drops them
  local list
  list=$(printf -- ',-%s' "$@")
  echo "setpriv --bounding-set=${list#,} --inh-caps=${list#,} --ambient-caps=-all"
}
briefly='-t 300ms'

# ---- what stops each recording -----------------------------------------------------------------------------------------

unshare --mount --propagation private bash -c 'umount -l /proc; "$sonda" doctor -q kernel; "$sonda" record -t 300ms -o "$TMP/open/trace" sched
  "$sonda" record -t 300ms -o "$TMP/open/trace" minimal' >"$TMP/log" 2>&1 </dev/null
[ "$(grep -c '^sonda: procfs is not mounted on /proc: .*; run: sudo mount -t proc proc /proc$' "$TMP/log")" = 2 ] &&
  grep -q '^fault  kernel  *procfs is not mounted' "$TMP/log"
verdict "without procfs: kernel events and counters of processes" $? "$TMP/log"
verdict_of "without sondad" "export sonda=$TMP/alone/sonda PATH=/usr/bin:/bin; says_it programs $briefly minimal"

# ---- what stops kernel events ------------------------------------------------------------------------------------------

verdict_of "without sysfs" "umount -l /sys; says_it tracefs $briefly sched"
verdict_of "a tracefs that is mounted read-only" "mount -o remount,bind,ro /sys/kernel/tracing; says_it tracefs $briefly sched"
verdict_of "no tracefs, and no right to mount it" "umount --recursive --lazy /sys/kernel/debug
  while umount /sys/kernel/tracing 2>/dev/null; do :; done
  exec $nobody bash -c 'says_it tracefs $briefly sched'"
verdict_of "lockdown" "mount -t tmpfs none /sys/kernel/security &&
  echo 'none integrity [confidentiality]' >/sys/kernel/security/lockdown; says_it lockdown $briefly sched"
# The kernel makes no user namespace for a process in a chroot.
! $nobody unshare -U -r true 2>/dev/null || verdict_of "root of a container without privileges" "exec $nobody unshare -U -r bash -c 'says_it container $briefly sched'"
verdict_of "another user" "exec $nobody bash -c 'says_it rights $briefly sched'"
verdict_of "a full disk" "mount -t tmpfs -o size=1m none $TMP/empty && cd $TMP/empty && head -c 1040000 /dev/zero >full
  expected=\$(sentence disk); echo \"\$expected\"; [ -n \"\$expected\" ] && \"\$sonda\" record -o trace $briefly sched >$TMP/open/said 2>&1
  cat $TMP/open/said; grep -qF -- \"\$expected\" $TMP/open/said"

# ---- what limits a recording -------------------------------------------------------------------------------------------

verdict_of "a PID namespace" "exec unshare -p -f --mount-proc bash -c 'says_it container $briefly sched_switch -p 1'"
verdict_of "no CAP_SYSLOG, for names of kernel functions" \
  "exec $(without syslog sys_admin) bash -c 'says_it symbols $briefly sched_switch --trigger stacktrace'"
[ "$(cat /proc/sys/kernel/perf_event_paranoid)" -le 0 ] ||
  verdict_of "no CAP_PERFMON, for call stacks" "exec $(without perfmon sys_admin) bash -c 'says_it stacks $briefly --cpu-stacks'"
grep -qa 'was built without clang or libbpf was missing' "$BIN/sonda-probes" ||
  verdict_of "no CAP_BPF, for eBPF counters" "exec $(without bpf perfmon sys_admin) bash -c 'says_it bpf $briefly runq'"
verdict_of "no journal" "mount -t tmpfs none /run; mount -t tmpfs none /var/log; says_it journal $briefly journal"
verdict_of "a journal of others" "mount -t tmpfs none /run; mount -t tmpfs none /var/log; mkdir -p /var/log/journal/0123
  touch /var/log/journal/0123/system.journal; chmod 640 /var/log/journal/0123/system.journal
  exec $nobody bash -c 'says_it journal $briefly journal'"
verdict_of "files of processes that this user may not read" "exec $nobody bash -c 'says_it files $briefly processes'"

verdict_of "SELinux, where something is refused" "mount -t tmpfs none /sys/fs && mkdir /sys/fs/selinux && echo 1 >/sys/fs/selinux/enforce
  exec $nobody bash -c 'says_it selinux $briefly processes'"
# A group of the first version, or of the second one where its controller is on.
group=
for directory in /sys/fs/cgroup/memory /sys/fs/cgroup /sys/fs/cgroup/unified; do
  [ -z "$group" ] && [ -w $directory/cgroup.procs ] && mkdir "$directory/sonda-doctor-$$" 2>/dev/null || continue
  for limit in memory.limit_in_bytes memory.max; do
    [ ! -e "$directory/sonda-doctor-$$/$limit" ] || ! echo 16M >"$directory/sonda-doctor-$$/$limit" || group=$directory/sonda-doctor-$$
  done
  [ -n "$group" ] || rmdir "$directory/sonda-doctor-$$"
done
if [ -n "$group" ]; then
  export group
  verdict_of "a limit of a control group, for buffers" "echo \$\$ >\$group/cgroup.procs; says_it memory $briefly -b 64mb sched"
  rmdir "$group"
fi

# Of the options that the kernel lacks, those that the recording would have needed.
lacks() { # OPTION ARGUMENT... of sonda record
  timeout 60 "$sonda" record -t 300ms -o "$TMP/open/trace" "${@:2}" >"$TMP/log" 2>&1 </dev/null
  grep -qE "^sonda: the kernel lacks CONFIG_$1 \(--[a-z-]+\); run: sudo apt install" "$TMP/log"
}
[ -e /sys/kernel/tracing/kprobe_events ] || { lacks KPROBE_EVENTS --kprobe do_sys_openat2; verdict "a kernel without kprobes" $? "$TMP/log"; }
[ -e /sys/kernel/tracing/set_graph_function ] || { lacks FUNCTION_GRAPH_TRACER --function-graph=vfs_read; verdict "a kernel without function graph" $? "$TMP/log"; }
"$sonda" record -t 300ms -o "$TMP/open/trace" sched minimal runq >"$TMP/log" 2>&1 </dev/null && ! grep -q 'run: ' "$TMP/log"
verdict "a recording that lacks nothing says nothing of it" $? "$TMP/log"

# ---- a service that runs -----------------------------------------------------------------------------------------------

start_ready TRACED_NOTIFY_FD "$TMP/service.log" "$BIN/sondad"
says_it probes $briefly sched >"$TMP/log" 2>&1
verdict "a service without sonda-probes" $? "$TMP/log"
# shellcheck disable=SC2046
start_ready TRACED_PROBES_NOTIFY_FD "$TMP/probes.log" $(without syslog sys_admin sys_ptrace) "$BIN/sonda-probes"
says_it symbols $briefly sched_switch --trigger stacktrace >"$TMP/log" 2>&1
verdict "a service whose sonda-probes has no CAP_SYSLOG" $? "$TMP/log"
exit $BAD
