#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# tracefs: shared
# kernels: none
#
# The ways to record without root, and what sonda doctor says of each: a group for the service's socket, capabilities for
# sonda-probes, and neither. What doctor calls possible works; the command that it names mends what is missing.
. "$(dirname "$0")/lib.sh"
for program in setpriv setcap; do
  command -v $program >/dev/null || { echo "$program is missing" >&2; exit 77; }
done
chmod 755 "$TMP"
mkdir -m 777 "$TMP/open"
cp "$BIN"/sonda* "$TMP/open"
setcap cap_bpf+ep "$TMP/open/sonda-probes" 2>"$TMP/err" || { cat "$TMP/err" >&2; exit 77; }
setcap -r "$TMP/open/sonda-probes"
trap '[ "$BASHPID" != $$ ] || { leave; rm -rf "$TMP"; }' EXIT
cd "$TMP/open" || exit 2
group=daemon # of every Debian; who is in it there does not matter

as() { # GROUPS COMMAND...: no user of this machine, perhaps in a group
  local groups=--clear-groups
  [ -z "$1" ] || groups=--groups=$(getent group "$1" | cut -d: -f3)
  setpriv --reuid 65534 --regid 65534 "$groups" "${@:2}"
}
sonda() { # EXIT_CODE GROUPS ARGS...
  as "$2" "$TMP/open/sonda" "${@:3}" >"$TMP/log" 2>&1 </dev/null
  [ $? = "$1" ]
}
says() { grep -qE -- "$1" "$TMP/log"; }
records() { # GROUPS: kernel events
  rm -f trace
  sonda 0 "$1" record -t 1 -o trace sched_switch && says 'events +sched [1-9]'
}
export PERFETTO_CONSUMER_SOCK_NAME=$TMP/consumer PERFETTO_PRODUCER_SOCK_NAME=$TMP/producer

# ---- neither

sonda 1 '' doctor rights && says '^fault +rights .*may not create instances'
verdict "neither: doctor has a fault" $? "$TMP/log"
sonda 1 '' record -t 1 -o trace sched_switch && says 'may not create instances.*; run: sudo' && [ ! -e trace ]
verdict "neither: no kernel events are recorded" $? "$TMP/log"
sonda 1 '' record -o trace off-cpu -- touch ran && says 'may not create instances.*; run: sudo' && [ "$(wc -l <"$TMP/log")" = 1 ] && [ ! -e ran ]
verdict "neither: one line refuses waits as well, before the command runs" $? "$TMP/log"
sonda 0 '' record -t 1 -o trace minimal && says 'sys_stats [1-9]'
verdict "neither: what /proc has is recorded" $? "$TMP/log"
! says 'tracefs|linux\.ftrace|chown'
verdict "neither: nothing is said of tracefs that the recording does not need" $? "$TMP/log"
sonda 1 '' doctor rights && sentence=$(sed -n 's/^fault *rights *//p' "$TMP/log") && [ -n "$sentence" ] &&
  sonda 1 '' record -t 1 -o trace sched minimal && [ -s trace ] && says '^sonda: not everything was recorded: ' && grep -qF "sonda: $sentence; run: sudo" "$TMP/log" && ! says chown
verdict "neither: of kernel events beside others record says what doctor says, and fails" $? "$TMP/log"
if [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -ge 2 ]; then
  rm -f trace
  sonda 1 '' record -t 1 -o trace stacks && says '^sonda: nothing was recorded: perf_event_paranoid .*; run: sudo' && [ "$(wc -l <"$TMP/log")" = 1 ] && [ ! -e trace ]
  verdict "neither: call stacks that are refused are a failure without a trace, and one line has the remedy" $? "$TMP/log"
  ! says 'CAP_SYS_PTRACE'
  verdict "neither: which says nothing of the files of other users" $? "$TMP/log"
  sonda 1 '' record -t 1 -o trace minimal stacks && says '^sonda: not everything was recorded: .*perf_event_open: ' && [ -s trace ]
  verdict "neither: beside others, a failure with their trace" $? "$TMP/log"
fi
sonda 0 '' top -n 1 -d 0.1 --json && ! says 'chown|sonda-probes:'
verdict "neither: top says on its screen what is missing, and no daemon says it as well" $? "$TMP/log"
sonda 1 '' list sched_switch && says 'cannot read the kernel' && ! says 'matches|did you mean'
verdict "neither: list says that it cannot read the events, and not that there is none" $? "$TMP/log"
ebpf=
if [ -e /sys/kernel/btf/vmlinux ] && ! grep -q 'was built' <("$BIN/sonda" describe runq 2>&1); then ebpf=1; fi
if [ -n "$ebpf" ]; then
  sonda 0 '' doctor bpf && sentence=$(sed -n 's/^limit *bpf *//p' "$TMP/log") && [ -n "$sentence" ] &&
    sonda 1 '' record -t 1 -o trace runq && grep -qF ": $sentence; run: sudo" "$TMP/log"
  verdict "of eBPF counters record says what doctor says" $? "$TMP/log"
fi

# ---- capabilities

setcap cap_bpf,cap_perfmon+ep sonda-probes
sonda 1 '' doctor rights bpf && says '^fault +rights .*not CAP_DAC_OVERRIDE' && says '^ok +bpf'
verdict "two capabilities: doctor names the third" $? "$TMP/log"
sonda 1 '' record -t 1 -o trace sched_switch && says 'not CAP_DAC_OVERRIDE, which kernel events need; run: sudo setcap'
verdict "record says the same" $? "$TMP/log"
if [ -n "$ebpf" ]; then
  sonda 0 '' record -t 1 -o trace runq && says '[1-9] samples? \(counters\)|counters [1-9]'
  verdict "eBPF counters are recorded" $? "$TMP/log"
fi
sonda 1 '' doctor rights
remedy=$(sed -n 's/^ *run: sudo //p' "$TMP/log")
[[ $remedy == "setcap cap_dac_override"* ]] && $remedy && sonda 0 '' doctor rights && says '^ok +rights .*has all capabilities'
verdict "the command of doctor mends it" $? "$TMP/log"
records ''
verdict "after the command of doctor kernel events are recorded" $? "$TMP/log"
setcap -r sonda-probes

# ---- a group

start_ready TRACED_NOTIFY_FD "$TMP/service.log" "$BIN/sondad" && start_ready TRACED_PROBES_NOTIFY_FD "$TMP/probes.log" "$BIN/sonda-probes" &&
  chgrp $group "$TMP/consumer" && chmod 660 "$TMP/consumer"
verdict "a service whose socket has a group" $? "$TMP/service.log"
sonda 1 '' doctor service && says "^fault +service .*$group" && says '^ +run: sudo '
verdict "another user: doctor names the group" $? "$TMP/log"
sonda 1 '' record -t 1 -o trace sched_switch && says "permission denied.*$group.*; run: sudo"
verdict "another user: record names the group" $? "$TMP/log"
sonda 0 $group doctor service probes rights && ! says '^fault'
verdict "a member: doctor has no fault" $? "$TMP/log"
records $group
verdict "a member: kernel events are recorded" $? "$TMP/log"
exit $BAD
