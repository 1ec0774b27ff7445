#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# kernels: none
#
# tracefs: shared
#
# Losses of the kernel's events are reported whichever way a session ends: what the rings and the central buffer lost, where
# the trace has holes, which producer went away and when; and a recording in which there can be no event ends at once.
. "$(dirname "$0")/lib.sh"

helpers=$B/tests/root
sonda() { # EXPECTED EXIT CODE, ARGS...
  local expected=$1 status
  shift
  timeout 60 "$BIN/sonda" "$@" >"$TMP/stdout" 2>"$TMP/log" </dev/null
  status=$?
  [ $status = "$expected" ] || { echo "exit code $status, not $expected" >>"$TMP/log"; return 1; }
}
says() { grep -qE -- "$1" "$TMP/log"; }
lists() { grep -qE -- "$1" "$TMP/stdout"; }
many_events() { "$helpers/ping_pong" "$(scaled 100000)" >"$TMP/load.log" 2>&1; }

start_ready TRACED_NOTIFY_FD "$TMP/service.log" "$BIN/sondad"
start_ready TRACED_PROBES_NOTIFY_FD "$TMP/probes.log" "$BIN/sonda-probes"
probes=${PIDS[-1]}

# ---- overload ----

lossy='kernel rings: [0-9,]+ events \(cpu.*; try -B [0-9]+mb \(buffer_size_kb: [0-9]+\) or fewer events'
sonda 0 record --detach small -b 1mb -B 16k 'sched:*' 'syscalls:*' 'raw_syscalls:*'
kill -STOP "$probes" # so the rings go round
many_events
kill -CONT "$probes"
many_events
sonda 3 snapshot small --strict -o "$TMP/a" && says '^Snapshot after' && says "lost +$lossy"
verdict "snapshot of a session that loses events: says so, and --strict gives 3" $? "$TMP/log"
sonda 3 stop small --strict -o "$TMP/b" && says "lost +$lossy" && says 'ended +sonda stop' &&
  # In a guest the load is too small to fill it.
  { [ -n "${KERNEL:-}" ] || says 'central buffer 0 \(1 MiB\): the oldest [0-9.]+ [KMG]iB were overwritten.*; try -b [0-9]+mb \(size_kb: [0-9]+\)'; }
verdict "stop: likewise" $? "$TMP/log"
grep -E '^  (events|lost|holes|    ) ' "$TMP/log" >"$TMP/losses"
sonda 3 info "$TMP/b" --strict && grep -E '^  (events|lost|holes|    ) ' "$TMP/stdout" | diff "$TMP/losses" - >>"$TMP/log"
verdict "info: the same of the file alone" $? "$TMP/log"
sonda 0 record --detach small -b 64mb -B 16k 'sched:*'
kill -STOP "$probes"
many_events
kill -CONT "$probes"
sonda 0 snapshot small -o "$TMP/a" && says '(holes +|^ +)cpu[0-9]+ [0-9.]+-[0-9.]+ s'
verdict "snapshot: the holes of each CPU" $? "$TMP/log"
sonda 0 stop small --json -o "$TMP/b" && lists '"lossy":true' && lists '"holes":\[\{"cpu":[0-9]+,"from_s":[0-9.]+,"to_s":[0-9.]+,"place":"kernel ring"'
verdict "stop --json: CPU, from and to of each hole" $? "$TMP/stdout"
# Both data sources have rings of their own.
cat >"$TMP/two.cfg" <<'CONFIG'
buffers { size_kb: 65536 }
data_sources { config { name: "linux.ftrace" ftrace_config { ftrace_events: "sched/*" buffer_size_kb: 16 } } }
data_sources { config { name: "linux.ftrace" ftrace_config { ftrace_events: "raw_syscalls/*" buffer_size_kb: 16 } } }
CONFIG
losses() { sed -nE 's/.*"place":"kernel rings","count":([0-9]+).*/\1/p' "$TMP/stdout"; }
in_holes() { grep -oE '"place":"kernel ring","events":[0-9]+' "$TMP/stdout" | awk -F: '{ n += $3 } END { print n + 0 }'; }
adds_up() { echo "lost $(losses), in holes $(in_holes)" >>"$TMP/log" && [ "$(in_holes)" -gt 0 ] && [ "$(losses)" -ge "$(in_holes)" ]; }
sonda 0 record --detach two -c "$TMP/two.cfg"
kill -STOP "$probes"
many_events
kill -CONT "$probes"
sonda 0 stop two --json -o "$TMP/b" && adds_up
verdict "stop of a session with two linux.ftrace: the losses of both are added up" $? "$TMP/log"
sonda 0 info --json "$TMP/b" && adds_up
verdict "info: likewise" $? "$TMP/log"
sonda 0 record --detach large -b 64mb -B 16mb sched
"$helpers/ping_pong" 1000 >"$TMP/load.log" 2>&1 # far less than the rings hold
sonda 0 stop large --strict -o "$TMP/c" && says 'lost +nothing' && ! says holes
verdict "stop of a session that lost nothing: says so, and --strict gives 0" $? "$TMP/log"

cat >"$TMP/own.cfg" <<'CONFIG'
buffers { size_kb: 4096 }
duration_ms: 3000
write_into_file: true
file_write_period_ms: 250
data_sources { config { name: "linux.ftrace" ftrace_config { ftrace_events: "sched/*" ftrace_events: "sched/nosuch" buffer_size_kb: 16 } } }
CONFIG
sonda 0 record --detach own -c "$TMP/own.cfg" -o "$TMP/own"
kill -STOP "$probes"
many_events
kill -CONT "$probes"
ended() { sonda 0 sessions && ! lists '\bown\b'; }
wait_for ended
sonda 1 stop own && says 'has ended, read the file that it wrote: sonda info FILE'
verdict "stop of a session that wrote its file and has ended: names the verb for it" $? "$TMP/log"
sonda 3 info --strict "$TMP/own" && lists "lost +$lossy" && lists '^  holes' && lists 'ended +duration reached' && lists "missing .*'sched/nosuch' does not exist"
verdict "info of its file: events, losses, holes, what is missing, the end" $? "$TMP/stdout"

# ---- a producer that is killed ----

sonda 0 record --detach widowed -b 8mb sched
kill -KILL "$probes"
departed() { sonda 0 sessions && lists "linux.ftrace: [^ ]* \\(pid $probes\\) disconnected at [0-9:]+$"; }
wait_for departed
verdict "sessions: sonda-probes was killed, and when" $? "$TMP/stdout"
sonda 3 snapshot widowed --strict -o "$TMP/d" && says "lost +[^ ]* \\(pid $probes\\) disconnected [0-9.]+ s after the start: .*linux.ftrace"
verdict "snapshot: likewise" $? "$TMP/log"
sonda 3 stop widowed --strict -o "$TMP/d" && says "lost +[^ ]* \\(pid $probes\\) disconnected [0-9.]+ s after the start: .*linux.ftrace, linux.process_stats" &&
  ! says 'no producer provides'
verdict "stop: likewise, once" $? "$TMP/log"
start_ready TRACED_PROBES_NOTIFY_FD "$TMP/probes.log" "$BIN/sonda-probes"
probes=${PIDS[-1]}
sonda 0 record --detach orphan -b 64mb -B 16k 'sched:*'
kill -STOP "$probes"
many_events
kill -CONT "$probes"
sonda 0 snapshot orphan -o "$TMP/d" # the counters of its rings are in the trace
kill -KILL "$probes"
start_ready TRACED_PROBES_NOTIFY_FD "$TMP/probes.log" "$BIN/sonda-probes"
probes=${PIDS[-1]}
replaced() { sonda 0 sessions && lists 'another producer replaced it'; }
wait_for replaced
kill -STOP "$probes"
many_events
kill -CONT "$probes"
sonda 0 stop orphan --json -o "$TMP/d" && adds_up
verdict "stop: what the rings of a sonda-probes that was killed have lost and those of the next one is added up" $? "$TMP/log"

# ---- what cannot be recorded ----

sonda 2 record -o "$TMP/e" shced help && says "^sonda: event 'shced' does not exist; did you mean sched\?$" && says "^sonda: event 'help' does not exist; .*sonda help record" &&
  says 'nothing to record' && [ ! -e "$TMP/e" ]
verdict "record of names that are all wrong: ends at once, with what was meant" $? "$TMP/log"
PERFETTO_CONSUMER_SOCK_NAME=$TMP/no-service sonda 2 record -v -o "$TMP/e" shced && says 'did you mean sched[?]' && ! says 'starting a private one'
verdict "record of names that are all wrong: no daemons are started for it" $? "$TMP/log"
cat >"$TMP/typo.cfg" <<'CONFIG'
buffers { size_kb: 64 }
data_sources { config { name: "linux.ftrace" ftrace_config { ftrace_events: "sched/sched_swich" } } }
CONFIG
sonda 1 record -c "$TMP/typo.cfg" -o "$TMP/e" && says 'did you mean sched/sched_switch' && [ ! -e "$TMP/e" ]
verdict "record -c: likewise" $? "$TMP/log"
"$BIN/sonda" record -t 30s -o "$TMP/e" sched_switch sched_swich 2>"$TMP/log" &
recorder=$!
PIDS+=($!)
wait_for says 'sched_swich.*did you mean sched/sched_switch'
verdict "record -t: a name that does not exist is reported while it records" $? "$TMP/log"
kill "$recorder"
wait "$recorder" 2>/dev/null

# A user who cannot read the kernel's list of events, and root's daemons.
if command -v setpriv >/dev/null; then
  mkdir "$TMP/open" && cp "$BIN/sonda" "$TMP/open/" && chmod 777 "$TMP/open" && chmod 711 "$TMP" && chmod 666 "$TMP"/*consumer*
  # The command ends as soon as the name is reported.
  setpriv --reuid 65534 --regid 65534 --clear-groups "$TMP/open/sonda" record --exit-code -o "$TMP/open/t" sched_switch sched_swich -- \
    sh -c 'for i in $(seq 300); do grep -q "sched_swich.*did you mean sched/sched_switch" "$0" && exit; sleep 0.1; done; exit 1' "$TMP/log" 2>"$TMP/log"
  verdict "record of a user without tracefs: a name that does not exist is reported while it records" $? "$TMP/log"
  "$helpers/trace_lines" "$TMP/open/t" >"$TMP/lines"
  awk '/^unknown / { reported = 1 } /^(event|switch) / { events++; bad += !reported } END { exit !(events && !bad) }' "$TMP/lines"
  verdict "what was refused is in the trace before the first event" $? "$TMP/lines"
  kill "$recorder"
  wait "$recorder" 2>/dev/null
fi

# ---- data sources that do not exist ----

cat >"$TMP/source.cfg" <<'CONFIG'
buffers { size_kb: 64 }
data_sources { config { name: "linx.ftrace" ftrace_config { ftrace_events: "sched/sched_switch" } } }
data_sources { config { name: "linux.sys_stat" sys_stats_config { meminfo_period_ms: 100 } } }
data_sources { config { name: "linux.process_stats" } }
CONFIG
sonda 1 record -c "$TMP/source.cfg" -o "$TMP/none" &&
  says "nothing to record: no producer provides the data source 'linx.ftrace'; did you mean linux.ftrace\?" && [ ! -e "$TMP/none" ]
verdict "record of data sources that are all mistyped: ends at once, with what was meant" $? "$TMP/log"
sonda 1 record -c "$TMP/source.cfg" --detach mistyped && says 'did you mean linux.ftrace' && sonda 0 sessions && ! lists mistyped
verdict "record --detach: likewise, and no session stays" $? "$TMP/log"
sed -i 's/linx/linux/' "$TMP/source.cfg"
"$BIN/sonda" record -c "$TMP/source.cfg" -o "$TMP/e" 2>"$TMP/log" &
recorder=$!
PIDS+=($!)
wait_for says "no producer provides the data source 'linux.sys_stat' yet; did you mean linux.sys_stats\?"
verdict "record of a mistyped data source among others: reported while it records" $? "$TMP/log"
kill "$recorder"
wait "$recorder" 2>/dev/null

# ---- counters ----

cat >"$TMP/stat.cfg" <<'CONFIG'
buffers { size_kb: 1024 }
data_sources { config { name: "linux.sys_stats" sys_stats_config { meminfo_period_ms: 100 } } }
duration_ms: 1000
CONFIG
sonda 0 record -c "$TMP/stat.cfg" -o "$TMP/f" && says '^Recorded [0-9.]+ s.*: [0-9]+ samples, ' && says 'samples +sys_stats [0-9]+' && ! says ' events'
verdict "record of counters: samples, not events" $? "$TMP/log"
if grep -qs Battery /sys/class/power_supply/*/type; then
  echo "ok $((N += 1)) - record of batteries: this machine has some # SKIP"
else
  sonda 3 record --strict -c configs/power.cfg -o "$TMP/g" && says "missing +data source 'linux.sysfs_power' recorded nothing"
  verdict "record of batteries on a machine without: says that there is none" $? "$TMP/log"
fi

kill "$probes"
wait_for no_instances
verdict "nothing is left in tracefs" $?
exit $BAD
