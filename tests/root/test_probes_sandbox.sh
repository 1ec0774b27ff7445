#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# kernels: 5.10
#
# tracefs: shared
#
# What sonda-probes and its child may do, as the kernel says in /proc: user, capabilities, the filter of system calls.
# Idle it has no effective capability; a data source has those that it names, until it ends.
. "$(dirname "$0")/lib.sh"
! is_sanitized || { echo "built with a sanitizer" >&2; exit 77; }

start_ready TRACED_NOTIFY_FD "$TMP/service.log" "$BIN/sondad"
start_ready TRACED_PROBES_NOTIFY_FD "$TMP/probes.log" "$BIN/sonda-probes"
probes=${PIDS[-1]}
value() { # PID FIELD
  sed -n "s/^$2:[[:space:]]*//p" "/proc/$1/status"
}
is() { # NAME PID FIELD VALUE
  value "$2" "$3" >"$TMP/value"
  [ "$(tr '\t' ' ' <"$TMP/value")" = "$4" ]
  verdict "$1: $3 is $4" $? "$TMP/value"
}
caps() { # NUMBER...: as in /proc
  local n sum=0
  for n; do sum=$((sum | 1 << n)); done
  printf '%016x' "$sum"
}
# 1 DAC_OVERRIDE, 2 DAC_READ_SEARCH, 12 NET_ADMIN, 19 SYS_PTRACE, 21 SYS_ADMIN, 23 SYS_NICE, 34 SYSLOG, 38 PERFMON, 39 BPF, 40 CHECKPOINT_RESTORE
if [ "$(printf '%d' "0x$(value $$ CapPrm)")" -ge $((1 << 39)) ]; then bpf="38 39"; else bpf=""; fi
# shellcheck disable=SC2086
kept=$(caps 1 2 12 19 21 23 34 $bpf)
none=$(caps)

is idle "$probes" Uid "0 0 0 0"
is idle "$probes" CapPrm "$kept"
is idle "$probes" CapEff "$none"
is idle "$probes" CapInh "$none"
is idle "$probes" CapAmb "$none"
is idle "$probes" NoNewPrivs 1
is idle "$probes" Seccomp 2
[ "$(stat -c %u "/proc/$probes/maps")" = 0 ] && ! setpriv --reuid 4242 --clear-groups cat "/proc/$probes/maps" >/dev/null 2>&1
verdict "idle: no other user can read its memory maps" $?

child=$(pgrep -x -P "$probes" sonda-reads)
is "the child" "$child" Name sonda-reads
is "the child" "$child" CapEff "$(caps 2 19 23)"
is "the child" "$child" CapPrm "$(caps 2 19 23)"
is "the child" "$child" NoNewPrivs 1
is "the child" "$child" Seccomp 2
opener=$(pgrep -x -P "$probes" sonda-open)
is "the child that opens files" "$opener" CapPrm "$(caps 2 19 40)"
is "the child that opens files" "$opener" Seccomp 2
reader=$(pgrep -x -P "$probes" sonda-elf)
is "the child that parses files" "$reader" CapPrm 0000000000000000
is "the child that parses files" "$reader" CapBnd 0000000000000000
is "the child that parses files" "$reader" Seccomp 2

opener=$(pgrep -x -P "$probes" sonda-name-open)
is "the child that opens files of containers" "$opener" CapPrm "$(caps 2)"
is "the child that opens files of containers" "$opener" Seccomp 2
reader=$(pgrep -x -P "$probes" sonda-names)
is "the child that parses files of containers" "$reader" CapPrm 0000000000000000
is "the child that parses files of containers" "$reader" CapBnd 0000000000000000
is "the child that parses files of containers" "$reader" Seccomp 2

while_recording() { # SOURCE CAPABILITY...
  local source=$1
  shift
  printf 'buffers { size_kb: 4096 } data_sources { config { name: "%s" } }' "$source" >"$TMP/config"
  record_in_background "$TMP/record.log" -c "$TMP/config" -o "$TMP/trace"
  is "$source" "$probes" CapEff "$(caps "$@")"
  kill -TERM "${PIDS[-1]}"
  wait "${PIDS[-1]}"
  unset 'PIDS[-1]'
  has_none() { [ "$(value "$probes" CapEff)" = "$none" ]; }
  wait_for has_none
  verdict "$source: they go with it" $? "$TMP/record.log"
}
while_recording linux.ftrace 1 12 19 21 23 34
while_recording linux.process_stats 2 12 19 23
while_recording linux.sys_stats 2 23

kill "$probes"
wait "$probes"
[ -z "$child" ] || wait_for [ ! -e "/proc/$child" ]
verdict "the child ends with it" $?
! grep -q 'sandbox blocked' "$TMP/probes.log"
verdict "it has made no system call that it may not make" $? "$TMP/probes.log"
exit "$BAD"
