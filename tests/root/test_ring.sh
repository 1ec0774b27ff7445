#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# kernels: 6.12
# tracefs: shared
#
# The reader of linux.ftrace on the real kernel: rings and sub-buffers of any size, what is lost counted exactly,
# watermarks that wake seldom and in time.
. "$(dirname "$0")/lib.sh"

record=$B/tests/root/ftrace_record
ping_pong=$B/tests/root/ping_pong
sched='ftrace_events: "sched/sched_switch" ftrace_events: "sched/sched_waking"'
page_kb=$(awk '/^KernelPageSize/ { print $2; exit }' /proc/self/smaps)
has_subbufs() { [ -e $TRACEFS/buffer_subbuf_size_kb ]; }

run() { # NAME CONFIG [COMMAND...]: as long as the command runs; its report in $TMP/NAME.out
  local name=$1 config=$2
  shift 2
  timeout 100 "$record" "$TMP/$name.trace" 50 "$sched $config" "$@" >"$TMP/$name.out" 2>&1
}
sum() { # NAME FIELD, over the CPUs
  awk -v field="$2" '$1 == "cpu" { for (i = 3; i < NF; i += 2) if ($i == field) n += $(i + 1) } END { print n + 0 }' \
    "$TMP/$1.out"
}
ring_kb() { awk -v kb="$page_kb" '$1 == "pages" { print $2 * kb }' "$TMP/$1.out"; } # NAME
between() { [ "${1:-0}" -ge "$2" ] && [ "$1" -le "$3" ]; }

# Every event that left a ring is in the trace, CPU by CPU, none stayed behind, and nothing was unreadable.
whole() { # NAME
  awk '$1 == "cpu" { n++; if ($4 != $6 || $8 != 0) bad = 1; events += $4 } $1 == "problem" || $1 == "status" { bad = 1 }
    END { exit !(n && !bad && events) }' "$TMP/$1.out" && [ "$(sum "$1" errors)" = 0 ]
}
quiet() { ! grep -q '^failed' "$TMP/$1.out"; } # NAME

# ---- sizes ----

run tiny 'buffer_size_kb: 1' $ping_pong 300 && whole tiny && quiet tiny && between "$(ring_kb tiny)" 1 64
verdict "the smallest ring" $? "$TMP/tiny.out"

run least 'buffer_size_kb: 64 buffer_size_lower_bound: true' $ping_pong 300 && whole least && quiet least &&
  between "$(ring_kb least)" 2048 9000
verdict "buffer_size_lower_bound: at least the usual size" $? "$TMP/least.out"

run huge 'buffer_size_kb: 65536' $ping_pong 3000 && whole huge && quiet huge &&
  between "$(ring_kb huge)" 65536 70000 && [ "$(sum huge overrun)" = 0 ]
verdict "a ring of 64 MiB a CPU" $? "$TMP/huge.out"

if has_subbufs; then
  run subbuf 'buffer_size_kb: 4096 subbuf_size_kb: 128' $ping_pong 2000 && whole subbuf && quiet subbuf
  verdict "sub-buffers of 128 KiB" $? "$TMP/subbuf.out"
  run few 'buffer_size_kb: 16 subbuf_size_kb: 64' $ping_pong 300 && whole few && between "$(ring_kb few)" 64 256
  verdict "sub-buffers larger than the ring: the kernel gives it two" $? "$TMP/few.out"
  run giant 'buffer_size_kb: 4096 subbuf_size_kb: 1048576' $ping_pong 300 && whole giant &&
    grep -q '^failed option:subbuf_size_kb (1048576: .*; using 32 KiB)' "$TMP/giant.out"
  verdict "a size that the kernel refuses is reported, and another is taken" $? "$TMP/giant.out"
else
  run subbuf 'subbuf_size_kb: 64' $ping_pong 300 && whole subbuf &&
    grep -q '^failed option:subbuf_size_kb (the kernel supports only ' "$TMP/subbuf.out"
  verdict "a kernel with sub-buffers of one size says so" $? "$TMP/subbuf.out"
fi

# Two at once that agree in nothing.
run large 'buffer_size_kb: 8192 subbuf_size_kb: 64 drain_period_ms: 7' $ping_pong 3000 &
PIDS+=($!)
run small "buffer_size_kb: 2048 subbuf_size_kb: $page_kb drain_period_ms: 50" $ping_pong 1000 && whole small &&
  between "$(ring_kb small)" 2048 2200
verdict "two sessions with rings of their own: the small one" $? "$TMP/small.out"
wait "${PIDS[-1]}" && whole large && between "$(ring_kb large)" 8192 8500
verdict "two sessions with rings of their own: the large one" $? "$TMP/large.out"
unset 'PIDS[-1]'

# ---- losses ----

# A ring that goes round many times between two reads. What the kernel overwrote is counted by its own counters, and
# by the pages: to the event, wherever a page had room for the number.
exact() { # NAME
  whole "$1" && [ "$(sum "$1" overrun)" -gt 0 ] && [ "$(sum "$1" gaps)" -gt 0 ] &&
    awk '$1 == "cpu" { for (i = 3; i < NF; i += 2) v[$i] = $(i + 1)
      if (v["counted"] == v["gaps"] ? v["lost"] != v["overrun"] : v["lost"] > v["overrun"]) bad = 1 } END { exit bad }' \
      "$TMP/$1.out"
}
NO_FLUSH=1 run lossy 'buffer_size_kb: 64 drain_period_ms: 60000' $ping_pong 5000 && exact lossy
verdict "what a small ring loses is counted to the event" $? "$TMP/lossy.out"
if has_subbufs; then
  NO_FLUSH=1 run lossy64 'buffer_size_kb: 256 subbuf_size_kb: 64 drain_period_ms: 60000' $ping_pong 5000 && exact lossy64
  verdict "what a small ring with sub-buffers of 64 KiB loses is counted to the event" $? "$TMP/lossy64.out"
fi

# Each gap has its place and its number, also where the page behind it had no room for it: the numbers of a CPU add up to
# the kernel's, and no event lies where events are missing.
placed() { # NAME
  exact "$1" && awk '$1 == "cpu" { for (i = 3; i < NF; i += 2) v[$i] = $(i + 1); if (v["ranged"] != v["overrun"]) bad = 1 }
    $1 == "ranges" { ranges = $2; if ($4) bad = 1 } END { exit bad || !ranges }' "$TMP/$1.out"
}
placed lossy
verdict "what is lost lies between two times on a CPU, with its number" $? "$TMP/lossy.out"
run gaps 'buffer_size_kb: 64 drain_period_ms: 30' $ping_pong 40000 && placed gaps && [ "$(sum gaps gaps)" -gt 4 ]
verdict "each of several gaps lies between two times on a CPU, with its number" $? "$TMP/gaps.out"

# ---- watermark ----

start() { # what is recorded, by the three programs
  start_ready TRACED_NOTIFY_FD "$TMP/service.log" "$BIN/sondad"
  start_ready TRACED_PROBES_NOTIFY_FD "$TMP/probes.log" "$BIN/sonda-probes"
}
naps() { awk '/^voluntary_ctxt_switches/ { print $2 }' "/proc/${PIDS[1]}/status"; }

woken() { awake=$(($(naps) - before)) && [ $awake -ge "$1" ]; } # SO OFTEN

# Records while the load runs; $TMP/NAME.log is what sonda says, $awake how often sonda-probes woke up.
watch() { # NAME CONFIG LOAD...
  local name=$1
  echo "buffers { size_kb: 65536 } data_sources { config { name: \"linux.ftrace\" ftrace_config { $sched $2 } } }" \
    >"$TMP/$name.cfg"
  shift 2
  record_in_background "$TMP/$name.log" -c "$TMP/$name.cfg" -o "$TMP/$name.trace"
  before=$(naps)
  "$@"
  awake=$(($(naps) - before))
  kill -TERM "${PIDS[-1]}"
  wait "${PIDS[-1]}"
  unset 'PIDS[-1]'
  echo "woke up $awake times" >>"$TMP/$name.log"
}

start
# However long that takes on a machine that is busy; less than a second on one that is not.
watch ticks 'drain_period_ms: 20' wait_for woken 40
ticks=$awake
[ "$ticks" -ge 40 ]
verdict "ticks of 20 ms wake us up" $? "$TMP/ticks.log"
watch mark 'drain_buffer_percent: 50 buffer_size_kb: 16384' sleep 1
if grep -q 'option drain_buffer_percent.*read periodically' "$TMP/mark.log"; then
  [ "$awake" -ge 5 ]
  verdict "a kernel without a watermark reports that, and rings are read periodically" $? "$TMP/mark.log"
else
  [ "$awake" -le $((ticks / 4)) ]
  verdict "a watermark wakes us less often" $? "$TMP/mark.log"
  # Half a second from the mark to the brim, for a machine that is busy; and more than two rings hold, all in all.
  watch full 'drain_buffer_percent: 25 drain_period_ms: 60000 buffer_size_kb: 4096' $ping_pong 50000
  grep -q '^ *lost *nothing' "$TMP/full.log" && [ "$(events_in "$TMP/full.trace")" -gt 150000 ]
  verdict "a ring that fills between two ticks is read in time" $? "$TMP/full.log"
  watch always 'drain_buffer_percent: 50 tracefs_options { name: "block" state: STATE_ENABLED }' sleep 1
  [ "$awake" -le $((ticks * 2)) ]
  verdict "rings that poll says are always readable do not keep us busy" $? "$TMP/always.log"
fi

# ---- one ring, many sessions ----

# Reading takes records out of a ring: two readers of the same would share them out.
shared=ring-test-$$
begin_shared() { # NAME EVENT...
  local name=$1 events
  shift
  events=$(printf 'ftrace_events: "%s" ' "$@")
  echo "buffers { size_kb: 65536 } data_sources { config { name: \"linux.ftrace\" ftrace_config { $events
    instance_name: \"$shared\" compact_sched { enabled: false } } } }" >"$TMP/$name.cfg"
  record_in_background "$TMP/$name.log" -c "$TMP/$name.cfg" -o "$TMP/$name.trace"
}
end_shared() { # in the order opposite to the start
  kill -TERM "${PIDS[-1]}"
  wait "${PIDS[-1]}"
  unset 'PIDS[-1]'
}
remove_shared() {
  leave
  rmdir "$TRACEFS/instances/$shared"
}
mkdir "$TRACEFS/instances/$shared" && trap '[ "$BASHPID" != $$ ] || remove_shared' EXIT
# Other tests' loads are recorded, too, and other sonda-probes have the same priority: the ring takes what comes in some seconds.
echo $((65536 / ${SLOWNESS:-1})) >"$TRACEFS/instances/$shared/buffer_size_kb"
begin_shared all sched/sched_switch
begin_shared wakings sched/sched_waking
begin_shared both sched/sched_switch sched/sched_waking irq/softirq_entry
$ping_pong 2000
end_shared
$ping_pong 1000
end_shared
$ping_pong 1000
end_shared
[ "$(events_in "$TMP/both.trace")" -ge 8000 ] && [ "$(events_in "$TMP/wakings.trace")" -ge 6000 ] &&
  [ "$(events_in "$TMP/all.trace")" -ge 8000 ] && ! grep -q 'sched_waking\|irq' "$TMP/all.log" &&
  ! grep -h '^ *lost' "$TMP/all.log" "$TMP/wakings.log" "$TMP/both.log" | grep -v nothing
status=$?
cat "$TMP/all.log" "$TMP/wakings.log" "$TMP/both.log" >"$TMP/shared.log"
verdict "three sessions of one ring: each has all that it wants" $status "$TMP/shared.log"
exit $BAD
