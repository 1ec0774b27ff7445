#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# kernels: none
#
# sonda-probes by itself: however it ends, and whatever the service does, tracefs is as it was found; what it may not
# do is reported in one sentence.
. "$(dirname "$0")/lib.sh"

service='' probes='' recorder=''
start() { # VARIABLE LOG COMMAND...
  local variable=$1 log=$2
  shift 2
  "$@" >"$log" 2>&1 </dev/null &
  PIDS+=($!)
  printf -v "$variable" %s $!
}
gone() { [ ! -e "/proc/$1" ]; }
# Other tests may have instances of their own.
recording() { compgen -G "$TRACEFS/instances/sonda-$probes-*" >/dev/null; }
no_recording() { ! recording; }
start_recording() {
  start recorder "$TMP/record.log" "$BIN/sonda" record -t 60s -o "$TMP/trace" sched
  wait_for recording
  verdict "$1: a recording makes an instance" $? "$TMP/record.log"
}
stop_recording() {
  kill -INT "$recorder" 2>/dev/null
  wait_for gone "$recorder"
  verdict "$1: the recording ends" $?
}
others() { picture | grep -v '^sonda-'; }
others >"$TMP/before"
as_found() {
  others >"$TMP/after"
  diff "$TMP/before" "$TMP/after" >"$TMP/diff"
  verdict "$1: tracefs is as it was found" $? "$TMP/diff"
}

start_service() {
  mkfifo "$TMP/ready"
  exec 8<>"$TMP/ready"
  start service "$TMP/service.log" env TRACED_NOTIFY_FD=8 "$BIN/sondad" --system-users 65534
  [ "$(timeout 20 head -c 1 <&8)" = 1 ]
  verdict "the service is ready" $? "$TMP/service.log"
  exec 8>&-
  rm "$TMP/ready"
}

start_service

# CAP_DAC_OVERRIDE 1, _DAC_READ_SEARCH 2, _NET_ADMIN 12, _SYS_PTRACE 19, _SYS_ADMIN 21, _SYS_NICE 23, _SYSLOG 34, _PERFMON 38,
# _BPF 39
NEEDED=$((1 << 1 | 1 << 2 | 1 << 12 | 1 << 19 | 1 << 21 | 1 << 23 | 1 << 34 | 1 << 38 | 1 << 39))
keeps_what_it_needs() {
  local field value
  while read -r field value; do
    case $field in CapInh: | CapAmb:) [ $((0x$value)) = 0 ] || return 1 ;; Cap*) [ $((0x$value & ~NEEDED)) = 0 ] || return 1 ;;
    NoNewPrivs:) [ "$value" = 1 ] || return 1 ;; esac
  done <"/proc/$probes/status"
}

for signal in TERM INT HUP; do
  start probes "$TMP/probes.log" "$BIN/sonda-probes"
  start_recording "SIG$signal"
  keeps_what_it_needs
  verdict "SIG$signal: it has no capabilities but those that it needs" $?
  kill "-$signal" "$probes"
  wait "$probes"
  verdict "SIG$signal: exit code 0" $? "$TMP/probes.log"
  no_recording
  verdict "SIG$signal: the instance is gone with it" $?
  as_found "SIG$signal"
  stop_recording "SIG$signal"
done

# ---- killed: the next one tidies up

start probes "$TMP/probes.log" "$BIN/sonda-probes"
start_recording "SIGKILL"
has_read() { grep -q '^read events: [1-9]' "$TRACEFS/instances/sonda-$probes"-*/per_cpu/cpu*/stats; }
wait_for has_read
sleep 0.5 # for what was read to be on its way
kill -KILL "$probes"
wait "$probes" 2>/dev/null
recording
verdict "SIGKILL: the instance stays" $?
stop_recording "SIGKILL"
[ "$(events_in "$TMP/trace")" -gt 0 ]
verdict "SIGKILL: what it wrote until then is in the trace" $? "$TMP/record.log"
killed=$probes
start probes "$TMP/probes.log" "$BIN/sonda-probes"
left() { compgen -G "$TRACEFS/instances/sonda-$killed-*" >/dev/null; }
nothing_left() { ! left; }
wait_for nothing_left
verdict "SIGKILL: the next start does" $? "$TMP/probes.log"
wait_for grep -qE 'removed (1 tracefs instance|([2-9]|[0-9]{2,}) tracefs instances) left behind by a killed process' "$TMP/probes.log"
verdict "SIGKILL: and says so" $? "$TMP/probes.log"

# ---- a service that goes, and one that comes

start_recording "a lost service"
kill -KILL "$service"
wait "$service" 2>/dev/null
wait_for no_recording
verdict "a lost service: the instance is removed" $?
as_found "a lost service"
wait_for gone "$recorder"
verdict "a lost service: the recording ends" $?
start_service
start_recording "the next service"
stop_recording "the next service"
wait_for no_recording
kill -TERM "$probes"
wait "$probes"
verdict "the next service: exit code 0" $? "$TMP/probes.log"
as_found "the next service"

# ---- priority_boost

boosted_config() { # POLICY PRIORITY
  cat >"$TMP/config" <<CONFIG
buffers { size_kb: 1024 }
data_sources { config { name: "linux.process_stats" process_stats_config { scan_all_processes_on_start: true }
  priority_boost { policy: POLICY_SCHED_$1 priority: $2 } } }
CONFIG
}
runs_as() { # POLICY RT_PRIORITY NICE, as in /proc/PID/stat
  [ "$(sed 's/.*) //' "/proc/$probes/stat" | cut -d' ' -f39,38,17)" = "$3 $2 $1" ]
}
record_boosted() { # WHAT POLICY RT_PRIORITY NICE
  record_in_background "$TMP/record.log" -c "$TMP/config" -o "$TMP/trace"
  wait_for runs_as "$2" "$3" "$4"
  verdict "$1: during the recording" $? "$TMP/probes.log"
  kill -TERM "${PIDS[-1]}"
  wait "${PIDS[-1]}"
  verdict "$1: the recording is good" $? "$TMP/record.log"
  wait_for runs_as 0 0 "$nice"
  verdict "$1: and as before after it" $? "/proc/$probes/stat"
}

# More than ours, whatever that is.
nice=$(nice -n 3 nice)
start probes "$TMP/probes.log" nice -n 3 "$BIN/sonda-probes"
wait_for runs_as 0 0 "$nice"
if chrt -f 99 nice -n -20 true 2>/dev/null; then
  boosted_config FIFO 7
  record_boosted "priority_boost, SCHED_FIFO" 1 7 "$nice"
  boosted_config OTHER 5
  record_boosted "priority_boost, SCHED_OTHER" 0 0 -5
fi
boosted_config OTHER 21
record_boosted "priority_boost out of range" 0 0 "$nice"
wait_for grep -q 'linux.process_stats: priority_boost must be' "$TMP/probes.log"
verdict "priority_boost out of range: reported" $? "$TMP/probes.log"
[ "$(log_of "$TMP/probes.log" | wc -l)" = 1 ]
verdict "priority_boost: nothing else to complain of" $? "$TMP/probes.log"
kill -TERM "$probes"
wait "$probes"

# ---- priority of who reads the rings

cat >"$TMP/config" <<CONFIG
buffers { size_kb: 1024 }
data_sources { config { name: "linux.ftrace" ftrace_config { ftrace_events: "sched/sched_process_exec" } } }
CONFIG
if chrt -f 1 true 2>/dev/null; then
  offers_ftrace() { "$BIN/sonda" status | grep -q linux.ftrace; }
  start probes "$TMP/probes.log" nice -n 3 "$BIN/sonda-probes"
  wait_for offers_ftrace
  record_boosted "linux.ftrace" 1 1 "$nice"
  cp "$TMP/config" "$TMP/config.with"
  sed -i 's/name: "linux.ftrace"/& priority_boost { policy: POLICY_SCHED_OTHER priority: 0 }/' "$TMP/config"
  record_boosted "linux.ftrace with a priority_boost of 0, which is none" 0 0 "$nice"
  mv "$TMP/config.with" "$TMP/config"
  kill -TERM "$probes"
  wait "$probes"
  [ "$(grep -c 'read with SCHED_FIFO 1 (--no-priority: priority unchanged)' "$TMP/probes.log")" = 1 ] &&
    [ "$(log_of "$TMP/probes.log" | wc -l)" = 1 ]
  verdict "linux.ftrace: the priority that it takes is reported once" $? "$TMP/probes.log"
  start probes "$TMP/probes.log" nice -n 3 "$BIN/sonda-probes" --no-priority
  wait_for offers_ftrace
  record_boosted "linux.ftrace with --no-priority" 0 0 "$nice"
  kill -TERM "$probes"
  wait "$probes"
  ! log_of "$TMP/probes.log" >/dev/null
  verdict "--no-priority: nothing to complain of" $? "$TMP/probes.log"
fi

# ---- what it may not do

one_sentence() { # WHAT PATTERN
  wait_for grep -q "$2" "$TMP/probes.log"
  verdict "$1: reported" $? "$TMP/probes.log"
  [ "$(log_of "$TMP/probes.log" | wc -l)" = 1 ]
  verdict "$1: in one line" $? "$TMP/probes.log"
  kill -TERM "$probes"
  wait "$probes"
  verdict "$1: exit code 0" $?
}

works_for() { # WHAT SETPRIV_OPTION...
  local what=$1
  shift
  start probes "$TMP/probes.log" setpriv --reuid 65534 --regid 65534 --clear-groups "$@" "$TMP/sonda-probes"
  "$BIN/sonda" record -t 1s -o "$TMP/trace" sched >"$TMP/record.log" 2>&1 &&
    [ "$(events_in "$TMP/trace")" -gt 0 ] && ! grep -q missing "$TMP/record.log"
  verdict "$what: records scheduling" $? "$TMP/record.log"
  kill -TERM "$probes"
  wait "$probes"
  no_recording && [ "$(grep -c 'cannot set the priority for reading .* (CAP_SYS_NICE is required)' "$TMP/probes.log")" = 1 ] &&
    [ "$(log_of "$TMP/probes.log" | wc -l)" = 1 ]
  verdict "$what: leaves nothing, complains of priority once" $? "$TMP/probes.log"
}
# As the sentence advises.
give_to() { # USER
  chown "$1" $TRACEFS $TRACEFS/instances
  [ "$(stat -c %u $TRACEFS/events)" = "$1" ] || chown -R "$1" $TRACEFS/events
}
take_back() {
  give_to 0
  leave
}

if command -v setpriv >/dev/null; then
  # A copy that anyone may execute, and sockets that anyone may reach.
  chmod 755 "$TMP"
  chmod 666 "$PERFETTO_PRODUCER_SOCK_NAME"
  cp "$BIN/sonda-probes" "$TMP/sonda-probes"
  start probes "$TMP/probes.log" setpriv --reuid 65534 --clear-groups "$TMP/sonda-probes"
  one_sentence "without root" "/tracing/instances: Permission denied: .*as root.*chown"

  works_for "CAP_DAC_OVERRIDE" --inh-caps +dac_override --ambient-caps +dac_override
  if [ "$(stat -c %u $TRACEFS $TRACEFS/instances | sort -u)" = 0 ]; then
    trap '[ "$BASHPID" != $$ ] || take_back' EXIT
    give_to 65534
    works_for "what the sentence advises"
    give_to 0
  fi
fi

no_tracefs() { # COMMAND...: with tracefs unmounted, for itself alone
  unshare --mount sh -c "umount $TRACEFS && exec \"\$@\"" sh "$@"
}
if no_tracefs true 2>/dev/null && [ ! -e /sys/kernel/debug/tracing ]; then
  if command -v setpriv >/dev/null; then
    start probes "$TMP/probes.log" unshare --mount sh -c "umount $TRACEFS && exec \"\$@\"" sh \
      setpriv --reuid 65534 --clear-groups "$TMP/sonda-probes"
    one_sentence "no tracefs, without root" "nothing is mounted on $TRACEFS: .*mount -t tracefs"
  fi
  start probes "$TMP/probes.log" unshare --mount sh -c "umount $TRACEFS && exec \"\$@\"" sh "$BIN/sonda-probes"
  one_sentence "no tracefs, as root" "mounted tracefs on $TRACEFS"
fi

TRACED_PROBES_NOTIFY_FD=77 "$BIN/sonda-probes" >"$TMP/probes.log" 2>&1 &
probes=$!
PIDS+=("$probes")
one_sentence "a descriptor that is not open" "TRACED_PROBES_NOTIFY_FD=77"

# The start of its unit must not time out while a service, or the one behind a relay, does not answer.
NOTIFY_SOCKET=$TMP/systemd python3 -c '
import os, socket, subprocess, sys
systemd = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
systemd.bind(os.environ["NOTIFY_SOCKET"])
systemd.settimeout(60)
probes = subprocess.Popen(sys.argv[1:])
print(systemd.recv(1000).decode())
probes.terminate()
probes.wait()' env PERFETTO_PRODUCER_SOCK_NAME="$TMP/no_service" "$BIN/sonda-probes" >"$TMP/out" 2>&1
grep -qx 'READY=1' "$TMP/out" && grep -qx 'STATUS=waiting for the tracing service' "$TMP/out"
verdict "without a service, systemd is notified after some seconds" $? "$TMP/out"

"$BIN/sonda-probes" --no-such-option >"$TMP/out" 2>&1
[ $? = 2 ]
verdict "a wrong option: exit code 2" $? "$TMP/out"
"$BIN/sonda-probes" stray >"$TMP/out" 2>&1
[ $? = 2 ] && grep -q "'stray'" "$TMP/out"
verdict "a stray argument: exit code 2" $? "$TMP/out"
"$BIN/sonda-probes" --help >"$TMP/out" && grep -q linux.process_stats "$TMP/out"
verdict "--help names the data sources" $? "$TMP/out"
echo "1..$N"
exit $BAD
