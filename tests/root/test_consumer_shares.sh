#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A consumer of uid 4242, and a member of the group that may consume, take what they can of sonda-probes: data sources,
# instances of tracefs, memory for rings. Root's recording beside each of these has every event and lasts no longer, and
# what they do not get is refused with the reason.
#
# kernels: 6.12
# tracefs: shared
. "$(dirname "$0")/lib.sh"
needs_commands setpriv
MARKERS=2000
chmod 755 "$TMP"
mkdir -m 777 "$TMP/out"
cp "$BIN/sonda" "$TMP/sonda"
start_for_all_users root:0660

as_4242() { exec setpriv --reuid 4242 --regid "$members" --clear-groups "$TMP/sonda" "$@"; }
as_member() { exec setpriv --reuid 4244 --regid 4244 --groups "$members" "$TMP/sonda" "$@"; }

# Sessions of users that record until end_attack. The functions above become sonda.
ATTACKERS=()
attack() { # USER CONFIG: its log is $TMP/out/N
  local n=${#ATTACKERS[@]}
  "as_$1" record -c "$2" -o "$TMP/out/trace$n" >"$TMP/out/$n" 2>&1 </dev/null &
  ATTACKERS+=($!)
  PIDS+=($!)
}
recording_sessions() { "$BIN/sonda" sessions 2>/dev/null | grep -c STARTED; }
attacks_record() { [ "$(recording_sessions)" -ge ${#ATTACKERS[@]} ]; }
end_attack() { # the exit codes are in CODES
  CODES=()
  for pid in "${ATTACKERS[@]}"; do
    kill "$pid"
    wait "$pid"
    CODES+=($?)
  done
  ATTACKERS=()
  wait_for no_instances
}
times() { # N TEXT
  local i
  for ((i = 0; i < $1; i++)); do echo "$2"; done
}

# A recording of root's, while this script writes markers.
record_of_root() {
  local i began=$EPOCHREALTIME
  "$BIN/sonda" record -a -o "$TMP/trace" sched ftrace/print processes -- sh -c '
    i=0
    while [ $i -lt "$1" ]; do
      echo "root-marker-$i" >/sys/kernel/tracing/trace_marker
      i=$((i + 1))
    done
    sleep 2' sh $MARKERS >"$TMP/record.log" 2>&1 </dev/null
  code=$?
  took=$(((${EPOCHREALTIME/./} - ${began/./}) / 1000))
}
has_all() {
  [ "$code" = 0 ] && grep -q 'lost  *nothing' "$TMP/record.log" &&
    [ "$(grep -aoE 'root-marker-[0-9]+' "$TMP/trace" | sort -u | wc -l)" = $MARKERS ]
}
# The same without an attack, to compare with.
record_of_root
has_all
verdict "root alone: records all" $? "$TMP/record.log"
alone=$took
beside() { # NAME
  has_all
  verdict "$1: root's recording has every event" $? "$TMP/record.log"
  echo "# $took ms, alone $alone ms"
  [ $took -le $((2 * alone)) ]
  verdict "$1: and does not last long" $? "$TMP/record.log"
}

# ---- data sources

{
  echo 'buffers { size_kb: 4096 } duration_ms: 600000'
  times 200 'data_sources { config { name: "linux.process_stats" process_stats_config { scan_all_processes_on_start: true
    proc_stats_poll_ms: 100 record_thread_names: true scan_smaps_rollup: true record_process_io: true record_thread_sched: true } } }'
} >"$TMP/processes.cfg"
for user in 4242 member; do
  attack $user "$TMP/processes.cfg"
  wait_for attacks_record
  verdict "200 process_stats of $user: they record" $? "$TMP/out/0"
  record_of_root
  beside "200 process_stats of $user"
  end_attack
  grep -q "'linux.process_stats' recorded nothing: too many instances are recording: the limit is 16" "$TMP/out/0" && [ "${CODES[0]}" = 1 ]
  verdict "200 process_stats of $user: the rest is refused, which is a failure" $? "$TMP/out/0"
done

# ---- instances of tracefs

{
  echo 'buffers { size_kb: 4096 } duration_ms: 600000'
  times 64 'data_sources { config { name: "linux.ftrace" ftrace_config { ftrace_events: "sched/*" } } }'
} >"$TMP/ftrace.cfg"
for user in 4242 4242 member; do attack $user "$TMP/ftrace.cfg"; done
wait_for attacks_record
verdict "3 x 64 ftrace: they record" $? "$TMP/out/0"
record_of_root
beside "3 x 64 ftrace"
end_attack
cat "$TMP"/out/[012] >"$TMP/refused"
grep -q "'linux.ftrace' recorded nothing: too many instances are recording: the limit is 16" "$TMP/refused" && [ "${CODES[*]}" = "1 1 1" ]
verdict "3 x 64 ftrace: the rest is refused, which is a failure" $? "$TMP/refused"

# ---- memory of the kernel's rings

memory() { awk -v what="$1:" '$1 == what { print $2 }' /proc/meminfo; } # in kB
total_of_rings() { our_dirs | sed 's,$,/buffer_total_size_kb,' | xargs -r cat | awk '{ n += $1 } END { print n + 0 }'; }
if [ $(($(memory MemTotal) / 2)) -gt "$(memory MemAvailable)" ]; then
  skip "memory of rings" "more than half of the memory is in use"
else
  echo 'buffers { size_kb: 4096 } duration_ms: 600000
    data_sources { config { name: "linux.ftrace" ftrace_config { ftrace_events: "sched/sched_process_exit"
      buffer_size_kb: 4000000000 } } }' >"$TMP/rings.cfg"
  for _ in 1 2 3; do attack 4242 "$TMP/rings.cfg"; done
  wait_for attacks_record
  # The kernel allocates for seconds, and meanwhile holds the lock that the start of any recording needs.
  is_settled() { # twice the same
    local before=$has
    has=$(total_of_rings)
    [ "$(our_dirs | wc -l)" = 3 ] && [ "$has" = "$before" ]
  }
  has=0
  for _ in $(seq 100); do
    is_settled && break
    sleep 0.5
  done
  echo "# 3 sessions of one user: $has kB of $(memory MemTotal)"
  # An eighth, and the least that each session has.
  [ "$has" -gt 0 ] && [ "$has" -le $(($(memory MemTotal) / 8 + 3 * 4096 * $(nproc))) ]
  verdict "rings of three sessions of a user take an eighth of the memory" $? "$TMP/out/0"
  record_of_root
  beside "rings"
  end_attack
  cat "$TMP"/out/[012] >"$TMP/refused"
  [ "$(grep -c 'option buffer_size_kb.*the rings of a user other than root may use 2/16' "$TMP/refused")" = 3 ]
  verdict "rings: the limit is reported" $? "$TMP/refused"
fi
echo "1..$N"
exit "$BAD"
