#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# tracefs: shared
#
# The installed units under a real systemd (systemd_lib.sh). Sockets that start the service, readiness, what it may and may
# not do under the units' restrictions, kill -9 and the restart, stop. Traces are read by trace_processor.
. "$(dirname "$0")/lib.sh"
. "$HERE/systemd_lib.sh"

# ---- activation, readiness -------------------------------------------------------------------------------------------

ctl start sondad.socket sondad-consumer.socket
verdict "both sockets are opened" $? "$TMP/ctl"
[ "$(mode_of producer)" = "666 root:root" ] && [ "$(mode_of consumer)" = "660 root:sonda" ]
verdict "everybody may produce, the group sonda may consume" $?
is sondad.service ActiveState inactive
verdict "no client has connected: the service does not run" $?
sonda status >"$TMP/log" 2>&1 && is sondad.service ActiveState active
verdict "the first one who connects starts it, and is answered" $? "$TMP/log"
is sondad.service Type notify && is sondad.service NotifyAccess main && is sondad.service NRestarts 0
verdict "it has said that it is ready" $?
[ "$(of_status sondad.service Uid)" = "$(inside id -u sonda)" ] && [ "$(of_status sondad.service CapBnd)" = 0000000000000000 ] &&
  [ "$(of_status sondad.service NoNewPrivs)" = 1 ] && [ "$(of_status sondad.service Seccomp)" = 2 ]
verdict "it runs as user sonda, without capabilities, with both filters" $?
as_nobody "$(inside id -g sonda)" "$TMP/usr/bin/sonda" status >"$TMP/log" 2>&1
verdict "a member of the group sonda is answered" $? "$TMP/log"
! as_nobody 65534 "$TMP/usr/bin/sonda" status >"$TMP/log" 2>&1
verdict "another user is not" $? "$TMP/log"

# ---- under the restrictions of the units -----------------------------------------------------------------------------

ctl start sonda-probes.service
verdict "the probes start, and say that they are ready" $? "$TMP/ctl"
confined() { # PID CAPABILITIES that it may have
  [ "$(field_of "$1" Uid) $(field_of "$1" NoNewPrivs) $(field_of "$1" Seccomp)" = "0 1 2" ] && [ "$(field_of "$1" Seccomp_filters)" -ge 2 ] &&
    [ $((0x$(field_of "$1" CapPrm) & ~$2)) = 0 ]
}
probes=$(main_pid sonda-probes.service)
bits() { # NUMBER...
  local n sum=0
  for n; do sum=$((sum | 1 << n)); done
  echo "$sum"
}
# Its nine, as in the unit.
confined "$probes" "$(bits 1 2 12 19 21 23 34 38 39)" && [ "$(field_of "$probes" CapEff)" = 0000000000000000 ]
verdict "they are root's, with both filters, and without an effective capability while nothing is recorded" $? "/proc/$probes/status"
for _ in $(seq 100); do
  reads=$(pid_of sonda-probes.service sonda-reads)
  [ -z "$reads" ] || break
  sleep 0.1
done
[ -z "$reads" ] || confined "$reads" "$(bits 2 19 23)"
verdict "their child that reads has the capabilities for that only" $? "/proc/${reads:-self}/status"
cat >"$TMP/out/config" <<'CONFIG'
buffers { size_kb: 16384 }
data_sources { config { name: "linux.ftrace" ftrace_config { ftrace_events: "sched/sched_switch" } } }
data_sources { config { name: "linux.process_stats" process_stats_config { scan_all_processes_on_start: true } } }
data_sources { config { name: "linux.sys_stats" sys_stats_config { meminfo_period_ms: 100 } } }
CONFIG
records() { # WHAT [COMMAND...]: a recording by the config, for 400 ms of all its data sources, and what is in it
  local what=$1
  shift
  rm -f "$TMP/out/trace"
  "${@:-inside}" "$TMP/usr/bin/sonda" record -c "$TMP/out/config" -o "$TMP/out/trace" -- sleep 0.4 >"$TMP/log" 2>&1
  verdict "$what" $? "$TMP/log"
  query "$TMP/out/trace" "select name, idx, value from stats where severity in ('error', 'data_loss') and value > 0" \
    "select count(*) > 10 as many from sched" "select count(*) > 3 as named from thread where name is not null" \
    "select count(*) > 1 as polled from counter" >"$TMP/rows"
  [ "$(cat "$TMP/rows")" = '[]
[{"many":1}]
[{"named":1}]
[{"polled":1}]' ]
  verdict "  nothing is missing, nothing wrong" $? "$TMP/rows"
}
with() { printf '%s\n' "$@" >>"$TMP/out/config"; }
without() { sed -i "/$1/d" "$TMP/out/config"; }
records "a recording by the units"
with 'compression { zstd { level: 3 } deflate {} }' 'compression_type: COMPRESSION_TYPE_DEFLATE'
without '^compression {'
records "a member of the group records, compressed" as_nobody "$(inside id -g sonda)"
without '^compression_type'

# Files that the service makes itself.
with 'write_into_file: true' 'file_write_period_ms: 100' 'flush_period_ms: 100' 'duration_ms: 400'
makes() { # DIR: a file of the service's there, for root's session
  inside rm -f "$1/made.pftrace"
  (cat "$TMP/out/config" && echo "output_path: \"$1/made.pftrace\"") >"$TMP/out/config.path"
  sonda record -c "$TMP/out/config.path" >"$TMP/log" 2>&1 && inside test -s "$1/made.pftrace"
}
! makes "$TMP/out" && grep -q 'started without --output-dir' "$TMP/log"
verdict "it makes no files, and names the option" $? "$TMP/log"
[ -z "$(pid_of sondad.service sonda-files)" ]
verdict "no helper process that could make files runs" $?
# With the drop-in that the unit shows.
output_dir() { # on|off
  if [ "$1" = on ]; then
    sed -n 's/^#\t//p' "$UNITS/sondad.service" >"$UNITS/sondad.service.d/output.conf"
  else
    rm "$UNITS/sondad.service.d/output.conf"
  fi
  ctl stop sonda-probes.service && ctl stop sondad.service && ctl daemon-reload && ctl start sonda-probes.service
}
output_dir on
makes /var/lib/sonda && [ "$(inside stat -c '%a %u' /var/lib/sonda/made.pftrace)" = "600 0" ]
verdict "with --output-dir it makes files there, 0600 and its consumer's" $? "$TMP/log"
! makes /etc && grep -q 'not below /var/lib/sonda/' "$TMP/log"
verdict "not in /etc, and says so" $? "$TMP/log"
(cat "$TMP/out/config" && echo 'output_path: "/var/lib/sonda/member.pftrace"') >"$TMP/out/config.path"
as_nobody "$(inside id -g sonda)" "$TMP/usr/bin/sonda" record -c "$TMP/out/config.path" >"$TMP/log" 2>&1 &&
  [ "$(inside stat -c '%a %u' /var/lib/sonda/member.pftrace)" = "600 65534" ]
verdict "a member of the group gets a file of its own" $? "$TMP/log"
files=$(pid_of sondad.service sonda-files)
[ "$(of_status sondad.service CapPrm) $(field_of "$files" CapPrm) $(field_of "$files" Uid)" = \
  "0000000000000000 0000000000000001 $(inside id -u sonda)" ]
verdict "its child sonda-files has CAP_CHOWN, the service has nothing" $? "/proc/$files/status"
output_dir off
without '^write_into_file\|^file_write\|^flush_period\|^duration'

if grep -qE '^Max nice priority +40 +40' "/proc/$(main_pid sondad.service)/limits"; then
  with 'priority_boost { policy: POLICY_SCHED_OTHER priority: 15 }'
  records "its priority may be raised"
  without '^priority_boost'
else
  skip "its priority may be raised" "root has no CAP_SYS_RESOURCE here"
fi

# ---- attacks ---------------------------------------------------------------------------------------------------------

attacks service_hostile_attacks
verdict "no attack of user 4242 on the units' sockets keeps the service from others" $? "$TMP/log"
attacks service_hostile_descriptors
verdict "descriptors that take long to close do not keep the service from others" $? "$TMP/log"
for program in service_hostile service_hostile_data service_hostile_memory; do
  attacks_as_member $program
  verdict "$program: nor does a member of the group that breaks the protocol" $? "$TMP/log"
done
is sondad.service NRestarts 0
verdict "the service has not ended" $?
! as_member env PERFETTO_PRODUCER_SOCK_NAME=/run/perfetto/p PERFETTO_CONSUMER_SOCK_NAME=/run/perfetto/c \
  timeout 20 "$TMP/usr/bin/sondad" >"$TMP/log" 2>&1 && grep -qi 'permission denied' "$TMP/log"
verdict "user 4242 cannot listen in /run/perfetto" $? "$TMP/log"

# A consumer gets no probe that changes memory of root's process; root does, so the probes know who asks.
cp "$B/tests/root/probed" "$TMP/usr/bin/"
cat >"$TMP/out/probe" <<CONFIG
duration_ms: 300
buffers { size_kb: 1024 }
data_sources { config { name: "linux.ftrace" ftrace_config {
  uprobe_events: "p:x $TMP/usr/bin/probed:$("$TMP/usr/bin/probed" offset)($("$TMP/usr/bin/probed" word </dev/null))" } } }
CONFIG
word_changes_while() { # COMMAND...: records the probe. Fails with the count of the change
  mkfifo "$TMP/input"
  "$TMP/usr/bin/probed" word <"$TMP/input" >/dev/null &
  exec 7>"$TMP/input"
  "$@" "$TMP/usr/bin/sonda" record -c "$TMP/out/probe" -o "$TMP/out/probed.$1" >"$TMP/log" 2>&1 </dev/null
  exec 7>&-
  rm "$TMP/input"
  ! wait $!
}
if [ -e /sys/kernel/tracing/uprobe_events ]; then
  ! word_changes_while as_member && grep -q 'only root may probe programs' "$TMP/log"
  verdict "a member of the group gets no probe of a program" $? "$TMP/log"
  word_changes_while inside
  verdict "root does" $? "$TMP/log"
else
  skip "probes of programs" "the kernel has no uprobe_events"
fi

# A lockdown is for root.
(cat "$TMP/out/config" && printf '%s\n' 'lockdown_mode: LOCKDOWN_SET' 'write_into_file: true' 'output_path: "/var/lib/sonda/lockdown"') \
  >"$TMP/out/lockdown"
! as_member "$TMP/usr/bin/sonda" record -c "$TMP/out/lockdown" >"$TMP/log" 2>&1 && grep -q 'lockdown_mode .* only root may set it' "$TMP/log"
verdict "a refused config with a lockdown" $? "$TMP/log"
ctl stop sonda-probes.service # it would be one producer too many
attacks service_hostile_peers
verdict "  keeps no producer of another user out, and hostile peers get no further than without the units" $? "$TMP/log"
ctl start sonda-probes.service

# ---- kill -9, and back -----------------------------------------------------------------------------------------------

restarted() { is "$1" NRestarts "$2" && is "$1" ActiveState active; } # UNIT TIMES
probes=$(main_pid sonda-probes.service)
sonda record -t 60s -o "$TMP/out/killed" sched >"$TMP/log" 2>&1 &
PIDS+=($!)
recording() { sonda status 2>&1 | grep -q STARTED; }
wait_for recording
kill -KILL "$(main_pid sondad.service)"
wait "${PIDS[-1]}"
status=$?
unset 'PIDS[-1]'
[ $status != 0 ] && grep -q "disconnected" "$TMP/log"
verdict "kill -9 of the service: who recorded is reported" $? "$TMP/log"
wait_for restarted sondad.service 1
verdict "systemd starts it again" $? "$TMP/ctl"
offered() { sonda status 2>&1 | grep -q linux.ftrace; }
wait_for offered && [ "$(main_pid sonda-probes.service)" = "$probes" ]
verdict "the probes come back to it, without a restart of theirs" $?
records "and record"
kill -KILL "$probes"
wait_for restarted sonda-probes.service 1 && wait_for offered
verdict "kill -9 of the probes: systemd starts them again" $?
records "and they record"

# ---- stop ------------------------------------------------------------------------------------------------------------

# Other tests have instances of their own. The name has the pid of the probes' own pid namespace.
inner=$(awk '$1 == "NSpid:" { print $NF }' "/proc/$(main_pid sonda-probes.service)/status")
ctl stop sonda-probes.service && is sonda-probes.service Result success && is sonda-probes.service ExecMainStatus 0
verdict "the probes stop well" $? "$TMP/ctl"
[ "$inner" ] && ! compgen -G "/sys/kernel/tracing/instances/sonda-$inner-*" >"$TMP/left"
verdict "the probes leave nothing in tracefs" $? "$TMP/left"
ctl stop sondad.service
is sondad.service Result success && is sondad.service ExecMainStatus 0 && is sondad.socket ActiveState active
verdict "the service stops well, its sockets stay" $? "$TMP/ctl"
sonda status >"$TMP/log" 2>&1 && is sondad.service ActiveState active
verdict "the next one who connects starts it again" $? "$TMP/log"
! grep "sandbox blocked" "$TMP/out"/*.log
verdict "neither tried what its sandbox forbids" $?
ctl is-failed sondad.service sonda-probes.service sondad.socket sondad-consumer.socket
[ "$(grep -c '^failed' "$TMP/ctl")" = 0 ]
verdict "no unit has failed" $? "$TMP/ctl"

echo "1..$N"
exit $BAD
