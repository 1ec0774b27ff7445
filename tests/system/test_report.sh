#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# sonda report on a trace whose answers are known (report_trace.py): the numbers of each report, -p, --by, --from, --to,
# --top; which file it takes; colours; mistakes and their exit codes.
. "$(dirname "$0")/../lib.sh"
needs_commands python3
export LC_ALL=C
TRACE=$TMP/trace.pf
python3 tests/system/report_trace.py "$B/gen/fields.h" "$TRACE" || exit 1

# rows NAME EXPECTED TITLE FIELDS ARGS...: the fields of the rows of a table, a line each; NULL is None. Numbers ending in
# 000000 are printed in ms.
rows() {
  local name=$1 expected=$2 title=$3 fields=$4
  shift 4
  "$SONDA" report --json "$@" "$TRACE" 2>"$TMP/err" | python3 -c '
import json, sys
def text(v):
    v = int(v) if isinstance(v, float) and v == int(v) else v
    return f"{v / 1e6:g}ms" if isinstance(v, int) and v and v % 100000 == 0 else str(v)
for row in json.load(sys.stdin)[sys.argv[1]]:
    print("|".join(text(row[k]) for k in sys.argv[2].split()))' "$title" "$fields" >"$TMP/got" 2>>"$TMP/err"
  printf '%s\n' "$expected" | diff - "$TMP/got" >"$TMP/diff"
  verdict "$name" $? "$TMP/diff" "$TMP/err"
}

# ---- why
rows "why: the time of a thread by state" $'running|44ms|3\nasleep|40ms|2\nrunnable|11ms|2\nblocked|5ms|1' \
  "Its time" "state total_ns times" why app
rows "why: what it waited in, who ended the wait, what the waker had done, and who woke the waker" \
  $'10ms|asleep|sys_read|server 20|7ms|interrupt\n5ms|blocked|open|interrupt|None|None' \
  "Waits for something else than a CPU" \
  "wait_ns state waits_in woken_by waker_ran_ns waker_woken_by" why 10
rows "why: the chain of wakers" $'1|app 10|10ms|sys_read|10ms|server 20\n2|server 20|10ms|None|1ms|interrupt' \
  "Chain of wakers" \
  "step thread was_off_ns waits_in waited_for_cpu_ns woken_by" why app
rows "why: who had the CPU while it was runnable" $'hog|10ms|1\n(idle)|1ms|1' \
  "Who had the CPU during these waits" "thread held_ns waits" why app
rows "why: of the waits in a window only" $'(idle)|1ms|1' \
  "Who had the CPU during these waits" "thread held_ns waits" why app --from 50ms --to 65ms

# ---- who wakes whom
pairs=$'(interrupt)|app 10|1|1ms\n(interrupt)|server 20|1|1ms\nserver 20|app 10|1|10ms'
rows "wakeups: who wakes whom, and the wait that follows; an interrupt is no thread" "$pairs" \
  "Who wakes whom" "waker wakes wakeups wait_max_ns" wakeups
rows "wakeups: -p has those of and by the thread" $'(interrupt)|server 20\nserver 20|app 10' "Who wakes whom" "waker wakes" wakeups -p server
rows "wakeups --by program" $'(interrupt)|app\n(interrupt)|server\nserver|app' "Which program wakes which" "waker wakes" \
  wakeups --by program

# ---- system calls: a read from 9 to 31 ms
rows "syscalls: a call that began before the window and returned in it has all its time" 'read|1|22ms|0' \
  "System calls" "syscall calls total_ns errors" syscalls --from 20ms --to 40ms
rows "syscalls: and it is one of the slowest" 'read|22ms|5009ms|1' "Slowest calls" "syscall took_ns at_ts ret" syscalls --from 20ms --to 40ms

# ---- end
rows "end: what each CPU did last" $'0|hog 30|20ms|None|print|0\n1|server 20|10ms|NET_RX|softirq_entry|1ms' \
  CPUs "cpu thread runs_for_ns runs_in last_event silent_ns" end
rows "end: who waited for a CPU at that time, and since when" $'hog|30ms|5030ms|None' \
  "Waited for a CPU" "thread waited_ns since_ts woken_by" end --to 60ms -p hog
rows "end: who was blocked" $'app|2ms' Blocked "thread waited_ns" end --to 57ms

# ---- the boot before
mkdir -p "$TMP/recorder/boots"
boot() { "$SONDA" report --dir "$TMP/recorder" --boot "$@" >"$TMP/out" 2>"$TMP/err"; }
boot -1
[ $? = 1 ] && grep -q "has no data from an earlier boot.*sonda recorder enable --crash" "$TMP/err"
verdict "--boot: nothing was armed" $? "$TMP/err"
lines() { printf 'id 1c9d2f0a-0000-0000-0000-000000000000\nrelease 6.12.1\narmed_s 1795810585\ndate_ns 1795810580000000000\ncpus 2\nsaved_s 1\nwhy %s\n' "$1"; }
lines 'the memory did not survive' >"$TMP/recorder/boots/20261126T000000-1c9d2f0a.boot"
lines '' >"$TMP/recorder/boots/20261127T000000-1c9d2f0a.boot"
echo "nonsense" >"$TMP/recorder/boots/20261128T000000-1c9d2f0a.boot"
cp "$TRACE" "$TMP/recorder/boots/20261127T000000-1c9d2f0a.pftrace"
TZ=UTC boot -1 && grep -q 'boot 1c9d2f0a-.*, Linux 6.12.1: the last event was at 2026-11-27 ' "$TMP/err" && grep -q '^CPUs: who ran last' "$TMP/out"
verdict "--boot -1: the report end, and which boot it is of" $? "$TMP/err" "$TMP/out"
boot -1 cpu && grep -q '^Threads' "$TMP/out" && ! grep -q 'who ran last' "$TMP/out"
verdict "--boot -1 with the name of a report" $? "$TMP/err" "$TMP/out"
boot -2
[ $? = 1 ] && grep -q 'no data is left from boot 1c9d2f0a (armed .*): the memory did not survive$' "$TMP/err"
verdict "--boot -2: why there is no trace" $? "$TMP/err"
boot -3
[ $? = 1 ] && grep -q 'has only 2 earlier boots$' "$TMP/err"
verdict "--boot -3: there are only two" $? "$TMP/err"
boot 1
[ $? = 2 ] && ! boot -1 "$TRACE" && grep -q 'boot selects the trace' "$TMP/err" && ! "$SONDA" report --dir /tmp "$TRACE" 2>/dev/null
verdict "--boot: mistakes" $? "$TMP/err"

# ---- timeline: 100 blocks of 1 ms
repeat() { printf "%$1s" "" | tr ' ' "$2"; }
rows "timeline: a line for each CPU" "$(repeat 55 '#')$(repeat 6 ' ')$(repeat 9 '#')$(repeat 10 ' ')$(repeat 20 '#')|CPU 0
 #$(repeat 11 ' ')$(repeat 8 '#')$(repeat 69 ' ')$(repeat 10 '#')|CPU 1" CPUs "time_bar cpu" timeline
rows "timeline: a line for each thread: # ran, w waited for a CPU, D blocked" \
  "$(repeat 10 '#')$(repeat 10 ' ')$(repeat 10 w)$(repeat 25 '#')DDDDDw$(repeat 9 '#')$(repeat 30 ' ')|app 10" \
  Threads "time_bar thread" timeline -p app

# ---- disks
rows "io: devices, in the numbers of user space" $'8:0|read|2|16384|0|1ms|3ms|3ms\n259:300|write|1|4096|2ms|4ms|4ms|4ms' \
  Devices "device op requests size_bytes queued_ns p50_ns p99_ns max_ns" io
rows "io: a request belongs to the process that queued it, not to the worker that queued it again and issued it" \
  $'/usr/bin/hog|2|16384\n/usr/bin/app|1|4096' Processes "process requests size_bytes" io
rows "io -p" '259:300|write|1' Devices "device op requests" io -p app
rows "io: a window has the requests that are wholly in it" '8:0|read|1' Devices "device op requests" io --from 2ms --to 15.5ms -p hog

# ---- memory
rows "mem: the machine" $'MemFree|1024000|614400\nMemTotal|2048000|2048000' "Memory of the machine" "memory first_bytes last_bytes" mem
rows "mem: processes by their largest size" '/usr/bin/app|10|512000' "Processes, by their largest size" "process pid rss_bytes" mem
rows "mem: reclaim" 'direct reclaim|hog|4ms|1' "Time spent to free memory" "what thread total_ns times" mem
rows "mem: stalls" 'some threads|20ms|20' "Stalls" "who stalled_ns share_pct" mem
rows "mem: OOM kills" '30|hog|app 10' "Processes that the kernel killed for memory" "pid process asked_for_memory" mem
{
  for track in '70 parent_uuid: 10' '71 parent_uuid: 20' '72'; do
    case $track in *10) echo 'packet { trusted_packet_sequence_id: 1 timestamp: 100 track_descriptor { uuid: 10 process { pid: 10 process_name: "app" } } }' ;;
    *20) echo 'packet { trusted_packet_sequence_id: 1 timestamp: 100 track_descriptor { uuid: 20 process { pid: 20 } } }' ;; esac
    echo "packet { trusted_packet_sequence_id: 1 timestamp: 100 track_descriptor { uuid: $track name: \"page faults\" counter { } } }"
    echo "packet { trusted_packet_sequence_id: 1 timestamp: 100 sequence_flags: 1 track_event { type: 3 name: \"begin\" track_uuid: 9 } }"
    echo "packet { trusted_packet_sequence_id: 1 timestamp: 300 track_event { type: 4 track_uuid: ${track%% *} counter_value: ${track%% *} } }"
  done
} | protoc -Iprotos --encode=perfetto.protos.Trace protos/trace/trace.proto >"$TMP/faults"
TRACE=$TMP/faults rows "mem: a process without a name is not the sum of all processes" $'(all)|None|72\n|20|71\napp|10|70' \
  "Page faults, counted in the kernel" "process pid faults" mem
TRACE=$TMP/faults rows "mem --by program: the faults of its processes" '|70' "Page faults, counted in the kernel, by program" "program faults" \
  mem --by program -p app

# ---- network
rows "net: packets by device; refused ones are none" $'eth0|sent|2|2000|1\neth0|received|1|60|0' \
  "Packets, by device" "device way packets size_bytes refused" net
rows "net: who sent them" '/usr/bin/app|2|2000' "Packets, by the process that sent them" "process packets size_bytes" net
rows "net: packets in a window, of a process" $'eth0|sent|1|1000|1' \
  "Packets, by device" "device way packets size_bytes refused" net --from 5ms --to 20ms -p app
rows "net: changes of sockets" $'TCP|ESTABLISHED|2\nTCP|SYN_SENT|1' "Sockets: changes of their state" "protocol state times" net
rows "net: drops by function and protocol" \
  $'0x8000000000000000|0x0800|2\n(function 7; recorded without --ksyms)|0x86dd|1\ntcp_v4_rcv|0x0800|1' \
  "Packets that the kernel dropped" "function protocol packets" net

# ---- interrupts
rows "irq: by CPU; the longest one and when" $'IRQ (disk)|0|1.5ms|2|1ms|5047ms\nIRQ (disk)|1|0.2ms|1|0.2ms|5030ms' \
  Interrupts "name cpu total_ns times max_ns max_at_ts" irq
rows "irq: one that did not end is not counted" 'NET_RX|1|1ms|2|0.5ms' Softirqs "name cpu total_ns times mean_ns" irq
rows "irq: in a window, by name" $'NET_RX|1\nIRQ (disk)|1' "Interrupts of all CPUs" "name times" irq --by name --from 30ms --to 31.6ms
rows "irq --by cpu" $'0|2\n1|3' "CPUs in interrupts" "cpu times" irq --by cpu

rows "net: retransmissions" 'retransmission|?:80|?:4000|ESTABLISHED|1' "TCP: retransmissions and resets" \
  "what local remote state times" net

# ---- counters and slices
rows "counters: the mean is by time" $'depth|3|0|9|14|0|None\nmem.rss|1|512000|512000|512000|512000|None' \
  Counters "counter times min_value mean_value max_value last_value per_s_value" counters -p app --from 30ms --to 60ms
"$SONDA" report counters --csv "$TRACE" | grep '^num_forks,' >"$TMP/got"
echo 'num_forks,,2,100.0,100.0,150.0,150.0,500.0,' | diff - <(tr -d '\r' <"$TMP/got") >"$TMP/diff"
verdict "counters: a total has a rate" $? "$TMP/diff"
rows "slices: total, self time without the slices inside, percentiles" \
  $'outer|1|10ms|5ms|10ms|10ms\ninner|2|5ms|5ms|2ms|3ms' Slices "name times total_ns self_ns p50_ns max_ns" slices -p app --from 31.5ms
rows "slices that did not end have a table of their own" $'open|1\nNET_RX|1' "Slices that did not end" "name times" slices

# ---- processes and programs
rows "cpu --by process" $'/usr/bin/app|10|44ms\n/usr/bin/hog|30|40ms\n/usr/bin/server|20|19ms' Processes "process pid run_ns" cpu --by process
rows "sched --by program" 'app|44ms|11ms|5ms|40ms' Programs "program run_ns runnable_ns blocked_ns sleep_ns" sched --by program -p app
rows "several words after -p, with patterns" $'hog|30\nserver|20' Threads "thread tid" cpu -p 'h?g,20'

# ---- a recording of one process
ALL=$TRACE TRACE=$TMP/only_app.pf
python3 tests/system/report_trace.py "$B/gen/fields.h" "$TRACE" only-app || exit 1
rows "a recording of a process is reported as that; runs of others without an end are not counted" '0|47ms|20ms' \
  CPUs "cpu busy_ns others_ns" cpu
rows "threads outside of it are not reported" 'app|47ms' Threads "thread run_ns" cpu
rows "unless they are asked for" 'hog|20ms' Threads "thread run_ns" cpu -p hog
rows "of requests of all threads, those of the process are" '259:300|write|1' Devices "device op requests" io

"$SONDA" report loss "$TRACE" >"$TMP/out" 2>&1
! grep -q 'switches whose previous thread' "$TMP/out" && "$SONDA" sql "$TRACE" 'select name from stats where value > 0' | grep -q mismatched_sched
verdict "switches that are missing on purpose are no losses" $? "$TMP/out"
TRACE=$ALL

# ---- as text
run() { # NAME EXIT_CODE STDOUT_REGEX STDERR_REGEX ARGS...
  local name=$1 code=$2 out=$3 err=$4
  shift 4
  "$SONDA" report "$@" >"$TMP/out" 2>"$TMP/err"
  local got=$?
  [ $got = "$code" ] && [[ $(<"$TMP/out") =~ $out ]] && [[ $(<"$TMP/err") =~ $err ]]
  verdict "$name (exit code $got)" $? "$TMP/out" "$TMP/err"
}
run "each part of the overview names the command that says more" 0 "Disks   \(sonda report io $TRACE\)" '^$' "$TRACE"
run "the commands repeat -p" 0 "\(sonda report why app $TRACE\)" '^$' -p app "$TRACE"
run "a table that -p does not limit says so, and the command that says more has no -p" 0 \
  $'\nInterrupts, of the whole machine   \\(sonda report irq '"$TRACE\)" '^$' -p app "$TRACE"
machine_wide=(
  'Interrupts' 'Softirqs' 'Packets that the kernel dropped' 'TCP: retransmissions and resets'
  'Sockets: changes of their state' 'Stalls' 'Processes that the kernel killed for memory'
)
for report in irq net mem; do "$SONDA" report $report -p hog --csv "$TRACE"; done | tr -d '\r' >"$TMP/out" 2>"$TMP/err"
lack=
for title in "${machine_wide[@]}"; do grep -qx "# $title, of the whole machine" "$TMP/out" || lack+=" $title;"; done
[ -z "$lack" ] && grep -qx '# Processes, by their largest size' "$TMP/out"
verdict "of irq, net and mem, too (lacking:${lack:- none})" $? "$TMP/out" "$TMP/err"
run "without -p no table says that" 0 $'\nInterrupts   \\(' '^$' "$TRACE"
run "a list that was cut says so" 0 $'\\.\\.\\. and more: --top N$' '^$' cpu --top 1 "$TRACE"
run "without a terminal there are no colours" 0 '^CPUs' '^$' cpu "$TRACE"
run "--color always" 0 $'^\e\[1mCPUs' '^$' cpu --color always "$TRACE"
run "a report without data says what to record, and fails" 1 '^the trace has no data for this report; record it with: sonda record stacks$' '^$' functions "$TRACE"
run "with --json in a key" 1 '"No data": "record it with: sonda record stacks"}$' '^$' functions --json "$TRACE"
run "with --by it says what those tables need" 1 'record it with: sonda record pagecache$' '^$' mem --by cache "$TRACE"
run "with --csv the code says it" 1 '^# Functions' '^$' functions --csv "$TRACE"
run "data is no key" 0 '"cpus":1}\s\]\s}$' '^$' cpu --json "$TRACE"

run "syscalls: a call that returned after the window is none of its calls" 1 '^the trace has no data' '^$' syscalls --to 30ms "$TRACE"
# ---- names of processes
python3 tests/system/report_trace.py "$B/gen/fields.h" "$TMP/titles.pf" titles || exit 1
TRACE=$TMP/titles.pf
backends=$'postgres: bench COMMIT\npostgres: bench/a idle'
rows "the title that a process has set is its name" "$backends" Processes process cpu --by process -p 'postgres*'
rows "a pattern without a slash is that of the program, without its directory" /usr/lib/x/server Processes process cpu --by process -p 's*r'
run "not that of a directory" 1 '^$' 'has no process or thread .lib\*' cpu -p 'lib*' "$TRACE"
rows "with a slash it is that of the path" /usr/lib/x/server Processes process cpu --by process -p '/usr/lib/*/server'
run "and no wildcard matches a slash" 1 '^$' 'has no process or thread ./usr/\*/server' cpu -p '/usr/*/server' "$TRACE"
"$SONDA" export --folded sched -o - "$TRACE" 2>&1 | cut -d';' -f1 | sort -u | grep postgres >"$TMP/got"
printf '%s\n' "$backends" | diff - "$TMP/got" >"$TMP/diff"
verdict "folded stacks have the title" $? "$TMP/diff"

# ---- threads that ended
python3 tests/system/report_trace.py "$B/gen/fields.h" "$TMP/ended.pf" ended || exit 1
TRACE=$TMP/ended.pf
rows "sched: without a last switch a thread waits for a CPU, or runs, until it or its process ended" \
  $'worker|21|0|45ms\nserver|20|14ms|1ms\nlate|50|0|4ms' Threads "thread tid run_ns runnable_ns" sched -p worker,server,late
rows "cpu: also the time of its CPU" $'0|0\n1|14ms' CPUs "cpu busy_ns" cpu -p server
rows "timeline: the wait ends with the thread" "$(repeat 40 ' ')wwww$(repeat 56 ' ')|late 50" Threads "time_bar thread" timeline -p late
"$SONDA" sql --csv "$TRACE" 'select dur from thread_state join thread using (utid) where tid = 50' | tr -d '\r' >"$TMP/got"
printf 'dur\n-1\n' | diff - "$TMP/got" >"$TMP/diff"
verdict "sql: the interval has no end" $? "$TMP/diff"
TRACE=$ALL

# ---- a thread is preempted when it is about to sleep, and woken before it runs again; later it is woken from a sleep
event() { # MS PID, an event
  printf 'event { timestamp: %s000000 pid: %s %s }\n' "$@"
}
switch() { # MS PREV STATE NEXT
  event "$1" "$2" "sched_switch { prev_comm: \"t$2\" prev_pid: $2 prev_state: $3 next_comm: \"t$4\" next_pid: $4 next_prio: 120 }"
}
waking() { # MS PID WOKEN
  event "$1" "$2" "sched_waking { comm: \"t$3\" pid: $3 prio: 120 }"
}
{
  printf 'packet { system_info { utsname { sysname: "Linux" release: "6.18.0" } } }\n'
  printf 'packet { trusted_packet_sequence_id: 1 ftrace_events { cpu: 0\n'
  switch 10 0 0 5
  switch 20 5 256 6 # preempted
  waking 30 6 5
  switch 60 6 1 5
  switch 70 5 256 6
  switch 75 6 1 5
  switch 80 5 1 6
  waking 85 6 5
  switch 90 6 1 5
  printf '} }\n'
} | protoc -Iprotos --encode=perfetto.protos.Trace protos/trace/trace.proto >"$TMP/preempted.pf"
TRACE=$TMP/preempted.pf
rows "latency: a wait from a preemption until the thread runs is one, though a wakeup is in it" 't5|1|2|40ms|20ms' \
  "Waits for a CPU, by thread" "thread wakeups preempted max_ns max_at_ts" latency -p 5
rows "latency: it has its whole length among the longest waits, and who had the CPU" \
  $'40ms|20ms|preemption|t6 6|40ms|None\n5ms|70ms|preemption|t6 6|5ms|None\n5ms|85ms|wakeup|t6 6|5ms|t6 6' \
  "Longest waits" "wait_ns at_ts since behind held_ns waker" latency -p 5
rows "wakeups: such a wakeup is no wait of its own" 't6 6|t5 5|1|5ms' "Who wakes whom" "waker wakes wakeups wait_max_ns" wakeups
TRACE=$ALL

# ---- late timers: 5 sleeps until 30 (monotonic) and 110 (real time), and is woken at 42 and 111; the timers of 70 are
# not its own, or cancelled; that of 150 has not fired when another thread wakes it
start() { # MS FUNCTION EXPIRES: by 5
  event "$1" 5 "hrtimer_start { hrtimer: 1 function: $2 expires: $3 }"
}
{
  printf 'packet { clock_snapshot { clocks { clock_id: 6 timestamp: 1 } clocks { clock_id: 3 timestamp: 7000000001 }
    clocks { clock_id: 1 timestamp: 1700000000000000001 } } }\n'
  printf 'packet { trusted_packet_sequence_id: 1 sequence_flags: 1 interned_data {
    kernel_symbols { iid: 3 str: "hrtimer_wakeup" } kernel_symbols { iid: 4 str: "tick_nohz_handler" } }\n ftrace_events { cpu: 0\n'
  switch 5 0 0 5
  start 10 3 7030000000
  event 11 5 'hrtimer_cancel { hrtimer: 2 }'
  switch 11 5 1 0
  waking 42 0 5
  switch 50 0 0 5
  start 60 4 7070000000
  switch 61 5 1 0
  waking 75 0 5
  switch 76 0 0 5
  start 77 3 7080000000
  event 78 5 'hrtimer_cancel { hrtimer: 1 }'
  switch 79 5 1 0
  waking 90 0 5
  switch 91 0 0 5
  start 100 3 1700000000110000000
  switch 101 5 1 0
  waking 111 0 5
  switch 112 0 0 5
  start 113 3 7150000000
  switch 114 5 1 0
  waking 140 0 5
  switch 141 0 0 5
  printf '} }\n'
} >"$TMP/late.txtpb"
protoc -Iprotos --encode=perfetto.protos.Trace protos/trace/trace.proto <"$TMP/late.txtpb" >"$TMP/late.pf"
TRACE=$TMP/late.pf
rows "latency: timers that fired late, of whatever clock: how many, how late, and when the worst was due" 't5|2|6.5ms|12ms|30ms' \
  "Late timers" "thread sleeps mean_ns max_ns due_at_ts" latency
rows "why: which sleep ended late, and how late" $'31ms|12ms\n26ms|None\n14ms|None\n11ms|None\n10ms|1ms' \
  "Waits for something else than a CPU" "wait_ns timer_late_ns" why 5
rows "why: and the sum" 't5|2|12ms' "Late timers" "thread sleeps max_ns" why 5
rows "late timers of a window" 't5|1|1ms' "Late timers" "thread sleeps max_ns" latency --from 60ms
TRACE=$ALL
run "without events of timers it says that it cannot know, in a line" 0 \
  $'\nLate timers: not known \(sonda record sched timer\)\n' '^$' latency "$TRACE"
run "so does why" 0 $'\nLate timers: not known \(' '^$' why app "$TRACE"
run "--csv" 0 '# Late timers: not known \(' '^$' latency --csv "$TRACE"
"$SONDA" report latency --json "$TRACE" | grep -q '"Late timers": null'
verdict "--json: null" $?
sed 's/hrtimer_wakeup/0x12/' "$TMP/late.txtpb" | protoc -Iprotos --encode=perfetto.protos.Trace protos/trace/trace.proto >"$TMP/nameless.pf"
run "nor can it without the names of functions" 0 $'\nLate timers: not known \(' '^$' latency "$TMP/nameless.pf"

# ---- losses
for kind in lost counted; do python3 tests/system/report_trace.py "$B/gen/fields.h" "$TMP/$kind.pf" $kind || exit 1; done
run "a report says how many events were lost, and what says more" 0 \
  "^Lost: 1,234 events are missing from this report   \(sonda info $TMP/counted.pf\)"$'\n\nCPUs' '^$' cpu "$TMP/counted.pf"
run "without their number it says that some were" 0 '^Lost: some events are missing from this report   \(sonda info ' '^$' why app "$TMP/lost.pf"
run "also where it has nothing else" 1 $'^Lost: some events.*\n\nthe trace has no data for this report' '^$' functions "$TMP/lost.pf"
run "the overview says on how many CPUs, and how many events" 0 $'rings lost events on 2 CPUs +data_loss +1234\n' '^$' "$TMP/counted.pf"
run "a flag of a CPU is no number of events" 0 $'rings lost events on 2 CPUs +data_loss +-\n' '^$' "$TMP/lost.pf"
run "--csv: on stderr" 0 '^# CPUs' "^sonda: the trace lost 1,234 events, which are missing from the report; see sonda info $TMP/counted.pf$" --csv cpu "$TMP/counted.pf"
run "--html: on stderr" 0 '^$' 'the trace lost some events, which are missing from the report; see sonda info' --html "$TMP/lost.pf" -o "$TMP/lost.html"
"$SONDA" report --html "$TMP/counted.pf" -o "$TMP/counted.html" 2>"$TMP/err"
grep -o '"losses":[^"]*' "$TMP/counted.html" >"$TMP/out" && grep -q ',1000,' "$TMP/out" && grep -q ',234,' "$TMP/out"
verdict "the page has the number of each CPU" $? "$TMP/out"
TRACE=$TMP/counted.pf rows "--json: a key" "1234|0|sonda info $TMP/counted.pf" Lost "events more see" cpu
TRACE=$TMP/lost.pf rows "--json: the number is null where it is not known" 'None|1' Lost "events more" cpu
run "without losses it says nothing of them" 0 '^CPUs' '^$' cpu "$TRACE"
"$SONDA" report --json cpu "$TRACE" | grep -q Lost
[ $? = 1 ]
verdict "and has no key" $?

# ---- which file
(cd "$TMP" && cp trace.pf newest && printf '\nno trace\n' >later && mkdir directory)
run_here() { (cd "$TMP" && touch later && "$SONDA" report "$@" >out 2>err); }
touch -d '2001-01-01' "$TRACE"
run_here cpu
[ $? = 0 ] && grep -q '^sonda: report: newest is the newest trace here$' "$TMP/err" && grep -q '(sonda report sched)' "$TMP/out"
verdict "without a file it is the newest trace of the directory, which it names" $? "$TMP/err" "$TMP/out"
run_here why app
verdict "why PID without a file" $? "$TMP/err"
(cd "$TMP/directory" && "$SONDA" report 2>../err)
[ $? = 1 ] && grep -q 'this directory contains no trace; name a file' "$TMP/err"
verdict "no trace here: exit code 1" $? "$TMP/err"

# ---- mistakes
run "an unknown report: a suggestion" 2 '^$' 'no report is named .latncy.; did you mean latency\?' latncy "$TRACE"
run "an unknown key: those that there are" 2 '^$' 'report .cpu. does not support --by .name.; it supports cpu, thread, process, container, unit, pod, cgroup, program' cpu --by name "$TRACE"
run "an unknown process" 1 '^$' 'trace.pf has no process or thread .nobody' cpu -p app,nobody "$TRACE"
run "an unknown process that is like another" 1 '^$' 'has no process or thread .aqp.; did you mean app\?' why aqp "$TRACE"
run "why without a process" 2 '^$' 'no process or thread is given' why
run "a window without data" 1 '^$' 'the trace has no data between --from and --to' --from 5 "$TRACE"
printf '\n\0' >"$TRACE.bare" # one packet, empty
run "a trace without any time" 1 '^$' 'the trace contains no timestamped events' "$TRACE.bare"

# ---- traces of some CPUs, or with filters: times of threads are wrong, and every report says so
limited() { # NAME EXPECTED_LINES FTRACE_CONFIG...: of a linux.ftrace each
  local name=$1 expected=$2
  shift 2
  {
    printf 'packet { trace_config {\n'
    printf 'data_sources { config { name: "linux.ftrace" ftrace_config { %s } } }\n' "$@"
    printf '} }\n'
    [ -z "${CPUS:-}" ] || printf 'packet { system_info { num_cpus: %s } }\n' "$CPUS"
  } | protoc -Iprotos --encode=perfetto.protos.Trace protos/trace/trace.proto | cat - "$ALL" >"$TMP/limited"
  "$SONDA" report cpu "$TMP/limited" 2>&1 | sed '/^CPUs/,$d' >"$TMP/got"
  printf '%s' "${expected:+$expected$'\n\n'}" | diff - "$TMP/got" >"$TMP/diff"
  verdict "$name" $? "$TMP/diff"
}
limited "a trace of one CPU" 'only CPU 0 is recorded: a thread on another CPU appears to wait' \
  'ftrace_events: "sched/sched_switch" tracing_cpumask: "1"'
"$SONDA" report overview --json "$TMP/limited" 2>"$TMP/err" | python3 -c 'import json, sys; json.load(sys.stdin)' &&
  grep -q '^sonda: report: only CPU 0 is recorded' "$TMP/err"
verdict "with --json that is on standard error" $? "$TMP/err"
limited "a trace of some CPUs" 'only CPUs 0-2, 4, 39 are recorded: a thread on another CPU appears to wait' \
  'tracing_cpumask: "80,00000017"'
CPUS=2 limited "a mask with all CPUs of the machine is no limit" '' \
  'ftrace_events: "sched/sched_switch" tracing_cpumask: "7"'
CPUS=4 limited "a mask that leaves a CPU out" 'only CPUs 0-2 are recorded: a thread on another CPU appears to wait' \
  'ftrace_events: "sched/sched_switch" tracing_cpumask: "7"'
limited "other events of some CPUs are no limit" '' \
  'ftrace_events: "sched/*"' 'ftrace_events: "irq/*" tracing_cpumask: "1"'
limited "sched_switch with a filter" 'sched_switch is filtered: thread times are incomplete' \
  'ftrace_events: "sched_switch" event_filters { event: "sched_switch" filter: "next_pid == 5" }'
limited "filters of patterns" \
  $'sched_waking is filtered: wakeups, and the waits after them, are incomplete
sys_enter is filtered: system calls are incomplete
sys_exit is filtered: system calls are incomplete' 'event_filters { event: "raw_syscalls/*" filter: "id == 0" }
    event_filters { event: "sched/sched_wak*" filter: "pid == 5" } event_filters { event: "irq/*" filter: "irq == 5" }'
limited "no filter, and one beside a source without it" '' 'event_filters { event: "sched/sched_switch" filter: "0" }' \
  'event_filters { event: "sched/sched_waking" filter: "pid == 5" }' 'ftrace_events: "sched/sched_waking"'

# ---- several machines ----

protoc -Iprotos --encode=perfetto.protos.Trace protos/trace/trace.proto <tests/interop/sql_traces/machines.txtpb >"$TMP/machines"
of_machines() { # NAME EXPRESSION ARGUMENT...: of the JSON object r
  "$SONDA" report --json "${@:3}" "$TMP/machines" 2>"$TMP/err" | python3 -c 'import json, sys
r = json.load(sys.stdin)
sys.exit(not eval(sys.argv[1]))' "$2" 2>>"$TMP/err"
  verdict "$1" $? "$TMP/err"
}
of_machines "machines have their own CPUs, with their numbers" \
  '[[(c["cpu"], c["switches"]) for c in r[m]["CPUs"]] for m in ("machine 0", "machine 1")] == [[(0, 2)], [(0, 2)]]' cpu
of_machines "and their own threads, also with equal numbers" \
  '[sorted((t["thread"], t["tid"]) for t in r[m]["Threads"]) for m in ("machine 0", "machine 1")] == [[("hosts", 21), ("third", 31)], [("helper", 21), ("third", 31)]]' cpu
of_machines "losses are of the trace" 'list(r) == ["all machines"]' loss
of_machines "a machine that has none of the threads is left out" 'list(r) == ["machine 1"]' cpu -p helper
of_machines "--machine shows one" '[t["thread"] for t in r["Threads"]] == ["helper", "third"]' cpu --machine 1
{ cat "$TMP/machines" && printf 'packet { ftrace_events { cpu: 0 lost_events: true } }' |
  protoc -Iprotos --encode=perfetto.protos.Trace protos/trace/trace.proto; } >"$TMP/lossy_machines"
"$SONDA" report --json cpu "$TMP/lossy_machines" 2>"$TMP/err" | python3 -c 'import json, sys
sys.exit(list(json.load(sys.stdin)) != ["machine 0", "machine 1", "Lost"])' 2>>"$TMP/err"
verdict "what was lost is said once, of all machines" $? "$TMP/err"
bad=
for report in overview cpu sched latency wakeups timeline end syscalls io irq mem net counters slices loss; do
  name=$report
  [ $report != overview ] || name=
  "$SONDA" report $name "$TMP/machines" >"$TMP/out" 2>"$TMP/err"
  [ $? -le 1 ] || bad+=" $report" # 1: without data
  [ ! -s "$TMP/err" ] || bad+=" $report"
done
"$SONDA" report why helper "$TMP/machines" >"$TMP/out" 2>"$TMP/err" && grep -q '^Machine 1: Linux 5.10.0-8-amd64$' "$TMP/out" &&
  ! grep -q '^Machine 0' "$TMP/out" || bad+=" why"
[ -z "$bad" ]
verdict "each report is printed machine by machine (failed:${bad:- none})" $? "$TMP/err"
"$SONDA" report --csv cpu "$TMP/machines" >"$TMP/out" 2>"$TMP/err"
[ "$(grep '^#' "$TMP/out" | tr -d '\r' | tr '\n' ' ')" = "# CPUs, machine 0 # Threads, machine 0 # CPUs, machine 1 # Threads, machine 1 " ]
verdict "titles of CSV name the machine" $? "$TMP/out"

# A guest and its host (vm_trace.py).
of_guest() { # KIND NAME EXPRESSION: of the tables t of the guest
  python3 tests/system/vm_trace.py "$B/gen/fields.h" "$TMP/vm" "$1" && "$SONDA" report --json=keys why app,late "$TMP/vm" 2>"$TMP/err" |
    python3 -c 'import json, sys
t = {k: s["rows"] for k, s in json.load(sys.stdin)["machines"]["1"]["tables"].items()}
sys.exit(not eval(sys.argv[1]))' "$3" 2>>"$TMP/err"
  verdict "$2" $? "$TMP/err"
}
for kind in entry names; do
  of_guest $kind "the host of a guest is known by $kind, and corrects its clock" \
    'len(t["vm_host"]) == 1 and all(t["vm_host"][0].items() >= {k: v}.items() for k, v in dict(host=0, process="vmm", cpus=1,
      known_by="'"${kind/entry/kvm_entry}"'".replace("names", "names of threads"), switches=123, off_cpu=0, clock_behind_ns=300500,
      clock_error_ns=100000).items())'
done
of_guest names "why names the thread of the host that had the CPU of the guest" \
  '[(s["thread"], s["guest"], s["behind"], s["stolen_ns"], s["held_ns"], s["woken_by"]) for s in t["stolen"]] == [("app 10", "runs", "load 300", 20000000, 20000000, None), ("late 11", "waits", "load 300", 20000000, 20000000, None), ("app 10", "runs", None, 3000000, None, "load 300")]'
of_guest names "and that the CPU of the guest slept" \
  '[(s["thread"], s["tid"], s["held_ns"]) for s in t["who_stole"]] == [("load", 300, 40000000), ("(the host thread slept)", None, 2500000), ("(idle)", 0, 500000)]'
of_guest alone "the only process that can be the host is, with the clocks as they are" \
  'len(t["vm_host"]) == 1 and t["vm_host"][0]["process"] == "vmm" and t["vm_host"][0]["clock_error_ns"] is None and [s["behind"] for s in t["stolen"]][:2] == ["load 300", "load 300"]'
of_guest alien "a machine whose CPUs switch threads while a process sleeps is not its guest" 't["vm_host"] == t["stolen"] == t["who_stole"] == []'

# ---- all reports ----

for trace in "$ALL" "$TMP/machines"; do
  for who in '' '-p app' '-p helper'; do
    # shellcheck disable=SC2086 # options
    "$SONDA" report --all $who "$trace" >"$TMP/got" 2>"$TMP/err" || continue
    for report in $("$SONDA" help report | sed -n '/^Names:\|Names:$/,/^  -p/s/^  \([a-z]*\)  .*/\1/p'); do
      if [ "$report" = why ]; then
        [ -n "$who" ] || continue
        "$SONDA" report why "${who#-p }" "$trace"
      else
        # shellcheck disable=SC2086
        "$SONDA" report "$report" $who "$trace"
      fi >"$TMP/one" 2>/dev/null && ! grep -qx 'nothing is missing' "$TMP/one" && printf 'sonda report %s\n\n' "$report" && cat "$TMP/one"
    done >"$TMP/want"
    diff <(grep -v '^Lost\|^$' "$TMP/want") <(grep -v '^Lost\|^$' "$TMP/got") >"$TMP/diff" && [ -s "$TMP/want" ]
    verdict "--all $who is each report (${trace##*/})" $? "$TMP/diff" "$TMP/err"
  done
done
"$SONDA" report --all --json "$ALL" 2>"$TMP/err" | python3 -c 'import json, sys
r = json.load(sys.stdin)
sys.exit(list(r)[:3] != ["overview", "findings", "cpu"] or not r["cpu"]["CPUs"])' 2>>"$TMP/err"
verdict "--all --json: a member for each report" $? "$TMP/err"

# ---- waits for a CPU that the kernel counted by control group ----

TRACE=$TMP/cgroup-waits.pf
python3 tests/system/report_trace.py "$B/gen/fields.h" "$TRACE" cgroup-waits || exit 1
rows "latency --by container: without events, counted in the kernel; the quota is apart" \
  $'web|101|1152|1152|2.2ms|9ms\ndb|2|1408|1920|2000|None' "Waits for a CPU, counted in the kernel, by container" \
  "container waits p50_ns p99_ns max_ns quota_ns" latency --by container
rows "neighbours: by cause" $'own CPU quota|9ms|1|9ms\nneighbours|301100|101|2.2ms' \
  "Waits for a CPU, counted in the kernel" "cause total_ns waits max_ns" neighbours web
rows "neighbours: of a window" 'neighbours|1100|1|1152' "Waits for a CPU, counted in the kernel" "cause total_ns waits p50_ns" \
  neighbours web --from 60ms
run "what tables by container need" 1 'record it with: sonda record pagecache containers processes mem$' '^$' mem --by container "$TRACE"
run "in a key of --json" 1 '"No data": "record it with: sonda record sched containers"}$' '^$' cpu --by unit --json "$TRACE"
rows "a container by its option, of one kind only" 'neighbours|1100|1|1152' "Waits for a CPU, counted in the kernel" "cause total_ns waits p50_ns" \
  neighbours --container web --from 60ms
rows "--container: no other one" 'web|101' "Waits for a CPU, counted in the kernel, by container" "container waits" \
  latency --by container --container web
run "--unit: a container is none" 1 '^$' "has no threads in unit 'web'; see sonda report cpu --by unit" latency --unit web "$TRACE"
run "--cgroup PATH" 1 '^$' "has no threads in control group '/dock'; see sonda report cpu --by cgroup" cpu --cgroup /dock "$TRACE"
[ "$("$SONDA" sql "$TRACE" "select from_ns, to_ns, l.waits from cgroup_wait_length l join cgroup_wait w on w.id = wait_id
  where cause = 'own CPU quota'" | tail -n 1 | tr -s ' ')" = "8388608 10485760 1" ]
verdict "sql has the lengths" $?
[ "$("$SONDA" sql "$TRACE" "select value from stats where name = 'sonda_cgroup_waits_lost'" | tail -n 1 | tr -d ' ')" = 3 ]
verdict "stats has the waits that were lost" $?

# ---- histograms of events ----

TRACE=$TMP/histograms.pf
python3 tests/system/report_trace.py "$B/gen/fields.h" "$TRACE" histograms || exit 1
rows "histograms: values and losses" $'write: count by comm|3|12|7\na..b: time by cgroup linear -10..10 step 5|2|11|2\nwide|1|2|None' \
  "Histograms" "histogram keys n lost" histograms
rows "histograms: by key, with the names of control groups" $'make|10\ncc1|2\nweb|10\n9|1' "Histograms, by key" "key n" histograms
rows "histograms: buckets" "$(printf '%s\n' 'make|0|1|2' 'make|1|2|1' 'make|64|128|4' 'make|256|512|1' \
  'make|4611686018427387904|None|1' 'make|9223372036854775807|None|1' 'cc1|None|0|2' 'web|None|-10|1' 'web|-10|-5|2' 'web|5|10|3' \
  'web|10|None|4' '9|10|None|1' '|None|1|1' '|9223372036854775807|None|1')" \
  "Buckets" "key from_value to_value n" histograms
rows "histograms: of a window" $'make|1|2|1\nmake|4611686018427387904|None|1\nmake|9223372036854775807|None|1' "Buckets" \
  "key from_value to_value n" histograms --from 74ms --to 76ms
[ "$("$SONDA" sql --csv "$TRACE" "select idx, value from stats where name in ('sonda_histogram_no_key', 'sonda_histogram_no_begin')
  and value > 0 order by name" | tail -n +2 | tr -d '\r' | tr '\n' ' ')" = "1,2 0,7 " ]
verdict "stats has what histograms lost, by histogram" $?

# ---- keys of timeline, slices and counters ----

while read -r report key title; do
  "$SONDA" report --json "$report" --by "$key" --machine 1 "$TMP/machines" 2>"$TMP/err" | python3 -c 'import json, sys
r = json.load(sys.stdin)
sys.exit(not r[sys.argv[1]] or len(r) > 1)' "$title" 2>>"$TMP/err"
  verdict "report $report --by $key" $? "$TMP/err"
done <<'END'
timeline process Processes
timeline program Programs
slices thread Slices, by thread
slices process Slices, by process
counters track Counters
counters name Counters, by name
END
exit $BAD
