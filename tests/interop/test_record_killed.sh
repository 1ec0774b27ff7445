#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# tracefs: shared
#
# A recording that is written while it is recorded outlives SIGKILL of any of its programs, at any moment and under load:
# trace_processor reads the file without an error, it ends with a whole packet, and lacks at most the last second.
. "$(dirname "$0")/lib.sh"
need_tracefs
needs_built "$BIN/sonda"
use_sockets "$TMP"

child() { # PARENT NAME: the pid of its child of that name
  local p
  for p in $(cat "/proc/$1/task/$1/children"); do
    case $(tr '\0' ' ' <"/proc/$p/cmdline") in *"$2 "*) echo "$p" ;; esac
  done
}

boot_ms() { awk '{ printf "%d\n", $1 * 1000 }' /proc/uptime; }

# Ends exactly where a packet ends; written without a parser of ours.
ends_whole() { # TRACE
  python3 - "$1" <<'PY'
import sys
d, i = open(sys.argv[1], 'rb').read(), 0
while i < len(d):
    assert d[i] == 0x0a, i
    i, shift, n = i + 1, 0, 0
    while True:
        n |= (d[i] & 0x7f) << shift
        shift, i = shift + 7, i + 1
        if d[i - 1] < 0x80:
            break
    i += n
assert i == len(d) and i > 0, (i, len(d))
PY
}

# ms that these processes have waited for a CPU: what they do late for want of one is not their doing.
waited_ms() { # PID...
  local pid sum=0 waited
  for pid; do
    read -r _ waited _ <"/proc/$pid/schedstat" && sum=$((sum + waited / 1000000))
  done 2>/dev/null
  echo "$sum"
}

# Does the last event come from the second before?
lacks_a_second() { # TRACE KILLED_MS WAITED_MS
  local last
  last=$(query "$1" 'select cast(max(ts) / 1000000 as int) as ms from ftrace_event' | grep -oE '[0-9]+')
  echo "killed at $2 ms, last event at ${last:-none} ms, $3 ms without a CPU" >>"$TMP/log"
  [ -n "$last" ] && [ $(($2 - last)) -le $((1000 + $3)) ]
}

kill_one() { # NAME FILLED: once the file has so many bytes
  local victim at late
  setsid perf bench sched pipe -l 100000000 >/dev/null 2>&1 &
  load=$!
  "$BIN/sonda" record -o "$TMP/trace" sched 'irq:*' timer raw_syscalls:sys_enter >"$TMP/log" 2>&1 </dev/null &
  recorder=$!
  for ((i = 0; i < 600; i++)); do
    [ "$(stat -c %s "$TMP/trace" 2>/dev/null || echo 0)" -lt "$2" ] || break
    sleep 0.05
  done
  victim=$recorder daemon=$(child $recorder sondad)
  [ "$1" = sonda ] || victim=$(child $recorder "$1")
  late=$(waited_ms $recorder "$daemon" "$(child $recorder sonda-probes)")
  at=$(boot_ms)
  kill -KILL "$victim"
  wait $recorder 2>/dev/null
  status=$?
  # The service may still be writing when sonda is gone.
  for ((i = 0; i < 600; i++)); do
    [ -e "/proc/$daemon" ] || break
    sleep 0.05
  done
  kill -- "-$load"
  wait $load 2>/dev/null
  ends_whole "$TMP/trace" 2>>"$TMP/log" && [ "$(trace_errors "$TMP/trace")" = '[]' ] && lacks_a_second "$TMP/trace" "$at" "$late"
}

# Of a trace whose end is missing, nothing is said that is not known: when it ended, and that nothing was lost.
info_knows_no_end() { # TRACE
  "$BIN/sonda" info "$1" >"$TMP/info" && grep -q 'the end of the recording is not in the trace' "$TMP/info" &&
    ! grep -qE 'lost *nothing|^Recorded 0\.00 s' "$TMP/info"
}

# Two moments of each: soon after the start, and when the file has been written to for longer.
for who in sonda sondad sonda-probes; do
  case $who in sonda) sizes='200000 5000000' ;; sondad) sizes='3000000 5000000' ;; *) sizes='200000 3000000' ;; esac
  for filled in $sizes; do
    rm -f "$TMP/trace"
    kill_one $who $filled
    verdict "kill -9 of $who at $filled bytes: whole packets, no error, and at most a second is missing" $? "$TMP/log"
    case $who in
    sonda)
      "$BIN/sonda" info "$TMP/trace" >"$TMP/log" && grep -q '^  ended *the consumer disconnected$' "$TMP/log"
      verdict "kill -9 of $who: the trace has the reason of its end" $? "$TMP/log"
      ;;
    sondad)
      [ $status = 1 ] && grep -q 'sondad was killed by signal 9' "$TMP/log" && grep -q '^Recorded ' "$TMP/log" &&
        grep -q 'the newest events may be missing' "$TMP/log" && grep -q '^  ended *sondad was killed by signal 9$' "$TMP/log" &&
        info_knows_no_end "$TMP/trace"
      verdict "kill -9 of $who: exit code 1, the reason, and what is kept" $? "$TMP/log"
      ;;
    sonda-probes)
      [ $status = 1 ] && grep -q 'uncommitted data' "$TMP/log" &&
        grep -q '^  ended *sonda-probes was killed by signal 9$' "$TMP/log"
      verdict "kill -9 of $who: exit code 1, and what is lost is reported" $? "$TMP/log"
      ;;
    esac
  done
done
exit $BAD
