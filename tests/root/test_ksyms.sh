#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# kernels: none
# tracefs: alone
#
# How long the table of the kernel's symbols is kept (ksyms_mem_policy): whether a session reads /proc/kallsyms shows in
# what sonda-probes has read by then.
. "$(dirname "$0")/lib.sh"

size=$(wc -c </proc/kallsyms)
[ "$size" -gt 1000000 ] || { echo "/proc/kallsyms is too short to tell" >&2; exit 77; }
start_ready TRACED_NOTIFY_FD "$TMP/sondad.log" "$BIN/sondad"
start_ready TRACED_PROBES_NOTIFY_FD "$TMP/probes.log" "$BIN/sonda-probes"
has_read() { sed -n 's/^rchar: //p' /proc/"${PIDS[-1]}"/io; }
[ -n "$(has_read)" ] || { echo "the kernel does not tell what is read" >&2; exit 77; }

record() { # FIELDS...: 0, and KB is what was read; the trace has names
  local before
  before=$(has_read)
  echo "buffers { size_kb: 1024 } data_sources { config { name: \"linux.ftrace\" ftrace_config {
    ftrace_events: \"timer/hrtimer_expire_entry\" symbolize_ksyms: true $* } } }" >"$TMP/config"
  "$BIN/sonda" record --strict -c "$TMP/config" -o "$TMP/trace" -- sleep 0.1 >"$TMP/log" 2>&1 || return
  KB=$((($(has_read) - before) / 1024))
  echo "read: $KB KB, the table has $((size / 1024)) KB" >>"$TMP/log"
  grep -aqE 'hrtimer_wakeup|tick_' "$TMP/trace"
}
is_read() { [ $((KB * 1024)) -ge "$size" ]; }
is_kept() { [ $((KB * 1024)) -lt $((size / 2)) ]; }

record && is_read && record && is_read
verdict "each session reads the table" $? "$TMP/log"
record 'ksyms_mem_policy: KSYMS_RETAIN' && is_read && record && is_kept
verdict "KSYMS_RETAIN keeps it for the next ones" $? "$TMP/log"
record 'initialize_ksyms_synchronously_for_testing: true' && is_kept
verdict "initialize_ksyms_synchronously_for_testing changes nothing" $? "$TMP/log"
record 'ksyms_mem_policy: KSYMS_CLEANUP_ON_STOP' && is_kept && record && is_read
verdict "KSYMS_CLEANUP_ON_STOP lets it go with its session" $? "$TMP/log"
exit $BAD
