#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# kernels: 6.1
# tracefs: shared
#
# linux.ebpf_counters where sonda-probes may not load programs: without CAP_BPF and CAP_PERFMON (and CAP_SYS_ADMIN, which is
# both), and with one of them, which is not enough. All else of the config is recorded; the reason is on stderr, in the
# trace and in the summary, and the exit code is 1.
. "$(dirname "$0")/lib.sh"
needs_commands setpriv
export TMP

cat >"$TMP/config" <<'END'
buffers { size_kb: 16384 fill_policy: DISCARD }
data_sources { config { name: "linux.ebpf_counters" ebpf_counters_config { families: RUNQ families: TCP } } }
data_sources { config { name: "linux.ftrace" ftrace_config { ftrace_events: "sched/sched_switch" } } }
data_sources { config { name: "linux.process_stats" process_stats_config { scan_all_processes_on_start: true } } }
END
start_ready TRACED_NOTIFY_FD "$TMP/service.log" "$BIN/sondad"
record_without() { # NAME CAPABILITIES
  start_ready TRACED_PROBES_NOTIFY_FD "$TMP/probes.log" setpriv --bounding-set "$2" --inh-caps "$2" "$BIN/sonda-probes"
  "$BIN/sonda" record -c "$TMP/config" -o "$TMP/trace" -- true >"$TMP/log" 2>&1 </dev/null
  [ $? = 1 ] && grep -q '^sonda: not everything was recorded: runq: permission denied' "$TMP/log" &&
    "$B/tests/root/trace_lines" "$TMP/trace" >"$TMP/lines" 2>>"$TMP/log" &&
    grep -q '^event sched_switch\|^switch' "$TMP/lines" && ! grep -q '^failed' "$TMP/lines"
  verdict "$1: events are recorded" $? "$TMP/log"
  if grep -q 'was built without' "$TMP/probes.log"; then echo "this build has no eBPF counters" >&2; exit 77; fi
  for family in runq tcp; do
    [ "$(grep -c "linux.ebpf_counters: $family: permission denied: CAP_BPF and CAP_PERFMON are required" "$TMP/probes.log")" = 1 ] &&
      [ "$(grep -c "eBPF counters: $family: permission denied: CAP_BPF and CAP_PERFMON are required" "$TMP/log")" = 1 ]
    verdict "$1: $family is off, on stderr and in the summary once each" $? <(cat "$TMP/probes.log" "$TMP/log")
  done
  [ "$(grep -ac 'permission denied: CAP_BPF and CAP_PERFMON are required' "$TMP/trace")" -gt 0 ]
  verdict "$1: the reason is in the trace" $?
  kill "${PIDS[-1]}" && wait "${PIDS[-1]}"
  unset 'PIDS[-1]'
}
record_without "with neither" -bpf,-perfmon,-sys_admin
record_without "with CAP_BPF alone" -perfmon,-sys_admin
echo "1..$N"
exit $BAD
