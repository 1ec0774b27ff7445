#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# sonda report on call stacks whose answers are known (tests/data/stacks/waits.txtpb): functions, waits, and the code that why
# names; export of the same stacks.
. "$(dirname "$0")/../lib.sh"
needs_commands protoc python3
export LC_ALL=C
TRACE=$TMP/waits.pf
protoc -Iprotos --encode=perfetto.protos.Trace protos/trace/trace.proto <tests/data/stacks/waits.txtpb >"$TRACE" || exit 1

# rows NAME EXPECTED TITLE FIELDS ARGS...: the fields of the rows of a table, a line each; NULL is None.
rows() {
  local name=$1 expected=$2 title=$3 fields=$4
  shift 4
  "$SONDA" report --json "$@" "$TRACE" 2>"$TMP/err" | python3 -c '
import json, sys
def text(v):
    return f"{v / 1e6:g}ms" if isinstance(v, int) and v >= 100000 else f"{v:g}" if isinstance(v, float) else str(v)
for row in json.load(sys.stdin)[sys.argv[1]]:
    print("|".join(text(row[k]) for k in sys.argv[2].split()))' "$title" "$fields" >"$TMP/got" 2>>"$TMP/err"
  printf '%s\n' "$expected" | diff - "$TMP/got" >"$TMP/diff"
  verdict "$name" $? "$TMP/diff" "$TMP/err"
}
fails() { # NAME REGEX ARGS...: exit code 2, and the message
  local name=$1 regex=$2
  shift 2
  "$SONDA" report "$@" "$TRACE" >"$TMP/out" 2>"$TMP/err"
  [ $? = 2 ] && grep -q -- "$regex" "$TMP/err"
  verdict "$name" $? "$TMP/err"
}

# ---- functions
rows "functions: a recursion counts once, code without a name has a row for each range" \
  $'app+0x1000|app|3|3\nhash|app|3|3\napp+0x3000|app|1|1\nmain|app|0|6\nwalk|app|0|2' Functions "function file self total" functions
rows "functions: in a window" $'hash|2|2\nmain|0|2\nwalk|0|2' Functions "function self total" functions --to 25ms
"$SONDA" report functions -p db "$TRACE" 2>"$TMP/err" | grep -q "record it with: sonda record stacks"
verdict "functions of another program: none" $? "$TMP/err"
rows "functions --by file" "app|7|5" "Samples, by file" "file self functions" functions --by file
rows "functions --tree: from main down, the larger call first" \
  $'0|main|6|0\n1|app+0x1000|3|42.8571\n1|walk|2|0\n2|walk|2|0\n3|hash|2|28.5714\n1|hash|1|14.2857\n0|app+0x3000|1|14.2857' \
  Calls "depth function samples self_pct" functions --tree
rows "functions --tree: the largest calls" $'0|main|6\n1|app+0x1000|3\n1|walk|2' Calls "depth function samples" functions --tree --top 3
rows "functions --tree=up" $'0|hash|3\n1|walk|2\n2|walk|2\n3|main|2\n1|main|1\n0|app+0x1000|3\n1|main|3\n0|app+0x3000|1' \
  Callers "depth function samples" functions --tree=up
rows "functions --callers: of the outermost call of a recursion" $'0|walk|2\n1|main|2' "Callers of a function" "depth function samples" \
  functions --callers 'wal*'
rows "functions --callees" $'0|walk|2\n1|walk|2\n2|hash|2' "Calls of a function" "depth function samples" functions --callees walk
"$SONDA" report functions --tree "$TRACE" 2>"$TMP/err" | sed -n '2,5p' | cut -c 1-74 >"$TMP/got"
cat >"$TMP/want" <<'TEXT'
total %  self %  samples  graph                              function     
   85.7     0.0        6  ############################         - main     
   42.9    42.9        3  ##############                         - app+0x1
   28.6     0.0        2                #########                - walk   
TEXT
diff "$TMP/want" "$TMP/got" >"$TMP/diff"
verdict "functions --tree: a flame graph in the terminal" $? "$TMP/diff" "$TMP/err"
fails "--by callers without a function" "needs a function" functions --by callers
fails "--tree and --by at once" "cannot be combined" functions --tree --by file
fails "--tree of another report" "does not support --by .tree." cpu --tree

# ---- waits
rows "waits: harmful reasons before idle ones; exact times of totals, the longest of single waits" \
  $'held up|futex|50ms|51|44.999ms\nheld up|fsync|40ms|1|39.989ms\nfor others|open|0.2ms|4|None\nidle|epoll|90ms|1|90ms' \
  Reasons "what waits_for blocked_ns waits longest_ns" waits
rows "waits: the function of the program, not that of libc or the kernel" \
  $'lock_queue|app|futex|45ms\nflush_log|app|fsync|40ms\n(no stack taken)|None|futex|5ms\n(no stack taken)|None|open|0.2ms\nserve|db|epoll|90ms' \
  "Functions that waited" "function file waits_for blocked_ns" waits
rows "waits: single waits, with the waker and its function; an interrupt is no thread" \
  $'44.999ms|futex|lock_queue|worker 11|unlock_queue|app 10\n39.989ms|fsync|flush_log|interrupt|blk_mq_end_request|worker 11
2ms|futex|None|None|None|app 10' \
  "Longest waits" "wait_ns waits_for function woken_by waker_in thread" waits
rows "waits: locks, their holders, and what these did; nothing without an event that shows it" \
  $'44.999ms|app:queue_lock+0x8|lock_queue|worker 11|mutex owner|11.1314|0|88.8686|fsync|flush_log
2ms|None|None|(not recorded)|None|None|None|None|None|None' \
  Locks "blocked_ns lock function held_by known_by ran_pct waited_for_cpu_pct blocked_pct holder_waits_for holder_function" waits
rows "waits: by thread" $'app|10|futex|46.999ms\nworker|11|fsync|39.989ms\n/usr/bin/db|20|epoll|90ms' Threads \
  "thread tid waits_for blocked_ns" waits
rows "waits of a thread: its single waits, as totals are of processes" $'fsync|flush_log|39.989ms' "Functions that waited" \
  "waits_for function blocked_ns" waits -p worker
rows "waits: what linux.waits left out" "4|2|50" "Left out" "single_waits not_counted without_user_stack" waits
"$SONDA" sql --csv "$TRACE" "select name, value from stats where name glob 'sonda_unwind_*' and value > 0 order by name" 2>"$TMP/err" |
  tail -n +2 | tr -d '"\r' >"$TMP/got"
printf '%s\n' sonda_unwind_evicted,3 sonda_unwind_files,5 sonda_unwind_files_cut,2 sonda_unwind_files_left_out,6 sonda_unwind_refused,4 \
  sonda_unwind_rows,1234 | diff - "$TMP/got" >"$TMP/diff"
verdict "stats have the limits of the tables for user stacks" $? "$TMP/diff" "$TMP/err"
rows "waits --by process" $'10|futex|50ms\n10|fsync|40ms\n20|open|0.2ms\n20|epoll|90ms' Processes "pid waits_for blocked_ns" waits --by process
rows "waits --by stack: the reason is the innermost frame" \
  $'0|main|85ms\n1|lock_queue|45ms\n2|pthread_mutex_lock|45ms\n3|futex_wait|45ms\n4|[futex]|45ms\n1|flush_log|40ms\n2|fsync|40ms
3|ext4_sync_file|40ms\n4|[fsync]|40ms\n0|[no stack taken]|5ms\n1|[futex]|5ms' \
  "Stacks that waited" "depth function blocked_ns" waits --by stack -p 10
rows "waits --by waker" $'0|main|90ms\n1|send_reply|90ms\n2|try_to_wake_up|90ms' "Functions that ended waits" \
  "depth function blocked_ns" waits --by waker -p db
rows "waits: a window cuts single waits" $'app|futex|5ms\nworker|fsync|4.99ms' Threads "thread waits_for blocked_ns" waits -p app --to 105001us

# ---- why
rows "why: the reason, the thread's own function, and the function that ended the wait" \
  $'45ms|futex|lock_queue|worker 11|unlock_queue\n39.99ms|fsync|flush_log|interrupt|blk_mq_end_request' \
  "Waits for something else than a CPU" "wait_ns waits_in function woken_by waker_function" why 10
rows "why: the chain of wakers" $'1|app 10|futex|lock_queue|unlock_queue\n2|worker 11|fsync|flush_log|blk_mq_end_request' \
  "Chain of wakers" "step thread waits_in function waker_function" why app

rows "why: who held the lock" $'44.999ms|app:queue_lock+0x8|worker 11|5.009ms|0|39.99ms|fsync|flush_log
2ms|None|(not recorded)|None|None|None|None|None' \
  Locks "wait_ns lock held_by holder_ran_ns waited_for_cpu_ns was_blocked_ns holder_waits_for holder_function" why app

rows "overview: what held threads up" $'45ms|lock_queue|futex\n40ms|flush_log|fsync\n5ms|(no stack taken)|futex' "Held up" \
  "blocked_ns function waits_for" overview
# Without the annotations of the holder, the waker is the one that released the lock: it was in unlock_queue().
protoc -Iprotos --encode=perfetto.protos.Trace protos/trace/trace.proto < <(grep -v '"futex object"\|"holder known by"' \
  tests/data/stacks/waits.txtpb) >"$TMP/released.pf" &&
  "$SONDA" report waits --json --by lock "$TMP/released.pf" 2>"$TMP/err" >"$TMP/got"
grep -q '"held_by":"worker 11","known_by":"released it"' "$TMP/got"
verdict "the waker that was in a function to unlock has released the lock" $? "$TMP/got" "$TMP/err"
"$SONDA" cut --from 0.12 --to 0.16 -o "$TMP/part" "$TRACE" 2>"$TMP/err" >"$TMP/out" &&
  "$SONDA" report waits --json --by reason "$TMP/part" 2>>"$TMP/err" | tr -d '\n' >"$TMP/got"
grep -q '"futex","blocked_ns":50000000,.*"fsync","blocked_ns":40000000,' "$TMP/got"
verdict "a part of the trace has its totals, also the last event" $? "$TMP/got" "$TMP/err"

# ---- export
exported() { # NAME EXPECTED ARGS...
  local name=$1 expected=$2
  shift 2
  "$SONDA" export "$@" -o - "$TRACE" 2>"$TMP/err" | diff <(printf '%s\n' "$expected") - >"$TMP/diff"
  verdict "$name" $? "$TMP/diff" "$TMP/err"
}
exported "export --folded stacks: samples" $'/usr/bin/app;app 10;app+0x3000 1\n/usr/bin/app;app 10;main;app+0x1000 3
/usr/bin/app;app 10;main;hash 1\n/usr/bin/app;app 10;main;walk;walk;hash 2' --folded stacks
exported "export --folded waits: ns of totals" $'/usr/bin/app;[no stack taken];[futex] 5000000
/usr/bin/app;main;flush_log;fsync;ext4_sync_file;[fsync] 40000000\n/usr/bin/app;main;lock_queue;pthread_mutex_lock;futex_wait;[futex] 45000000
/usr/bin/db;[no stack taken];[open] 200000\n/usr/bin/db;serve;epoll_wait;[epoll] 90000000' --folded waits
exported "export --folded wakers: ns of single waits" $'/usr/bin/app;app 10;main;unlock_queue;try_to_wake_up;[futex] 44999000
/usr/bin/app;worker 11;asm_common_interrupt;blk_mq_end_request;try_to_wake_up;[fsync] 39989000
/usr/bin/db;thread 20;main;send_reply;try_to_wake_up;[epoll] 90000000' --folded wakers
# Totals by wakers, which another sequence has, come before single waits.
protoc -Iprotos --encode=perfetto.protos.Trace protos/trace/trace.proto >"$TMP/wakers.pf" < <(cat tests/data/stacks/waits.txtpb - <<'PACKETS'
packet { trusted_packet_sequence_id: 9 sequence_flags: 1 timestamp: 1000000003
  trace_packet_defaults { timestamp_clock_id: 6 stack_sample_defaults { source: "linux.wakers"
    primary_descriptor { name: "blocked" unit: UNIT_NANOSECONDS scope: SCOPE_GLOBAL }
    follower_descriptors { name: "waits" unit: UNIT_COUNT scope: SCOPE_GLOBAL } } }
  interned_data { mapping_paths { iid: 1 str: "kernel" } mappings { iid: 1 path_string_ids: 1 } mapping_paths { iid: 2 str: "usr/bin/app" }
    mappings { iid: 2 path_string_ids: 2 start: 4096 end: 65536 } function_names { iid: 1 str: "[waker: worker]" }
    function_names { iid: 2 str: "unlock_queue" } function_names { iid: 3 str: "[no waker stack taken]" }
    frames { iid: 1 function_name_id: 1 mapping_id: 1 } frames { iid: 2 function_name_id: 2 mapping_id: 2 rel_pc: 64 }
    frames { iid: 3 function_name_id: 3 mapping_id: 1 } callstacks { iid: 1 frame_ids: [1, 2] } callstacks { iid: 2 frame_ids: [3] } } }
packet { trusted_packet_sequence_id: 9 sequence_flags: 2 timestamp: 1145000000 stack_sample { task_context { pid: 10 } callstack_iid: 1 primary_weight: 45000000 follower_weights: [1] } }
packet { trusted_packet_sequence_id: 9 sequence_flags: 2 timestamp: 1152000000 stack_sample { task_context { pid: 10 } callstack_iid: 2 primary_weight: 45000000 follower_weights: [51] } }
PACKETS
)
"$SONDA" export --folded wakers -o - "$TMP/wakers.pf" 2>"$TMP/err" >"$TMP/got"
printf '%s\n' '/usr/bin/app;[no waker stack taken] 45000000' '/usr/bin/app;[waker: worker];unlock_queue 45000000' | diff - "$TMP/got" >"$TMP/diff"
verdict "export --folded wakers: totals if there are any" $? "$TMP/diff" "$TMP/err"
"$SONDA" export --folded stacks -o - "$TMP/wakers.pf" 2>"$TMP/err" | grep -c waker >"$TMP/got"
[ "$(cat "$TMP/got")" = 0 ]
verdict "  which are no samples of code that ran" $? "$TMP/got" "$TMP/err"
# A message of profile.proto: sample_type 1, sample 2, location 4, function 5, string_table 6.
"$SONDA" export --pprof=waits -o - "$TRACE" 2>"$TMP/err" | python3 -c '
import gzip, sys
def fields(b):
    at = 0
    def varint():
        nonlocal at
        v = shift = 0
        while True:
            v |= (b[at] & 0x7f) << shift
            shift += 7
            at += 1
            if b[at - 1] < 0x80:
                return v
    while at < len(b):
        tag = varint()
        n = varint()
        if tag & 7 == 2:
            at += n
            yield tag >> 3, b[at - n:at]
        else:
            yield tag >> 3, n
profile = list(fields(gzip.decompress(sys.stdin.buffer.read())))
text = [v.decode() for k, v in profile if k == 6]
name = {dict(fields(v))[1]: text[dict(fields(v))[2]] for k, v in profile if k == 5}
place = {}
for k, v in profile:
    if k == 4:
        parts = list(fields(v))
        place[dict(parts)[1]] = [name[dict(fields(line))[1]] for key, line in parts if key == 4]
print([tuple(text[t] for _, t in fields(v)) for k, v in profile if k == 1])
for k, v in profile:
    if k == 2:
        parts = list(fields(v))
        print(" < ".join(n for key, at in parts if key == 1 for n in place[at]), [n for key, n in parts if key == 2])
' >"$TMP/got" 2>>"$TMP/err"
cat >"$TMP/want" <<'TEXT'
[('waits', 'count'), ('blocked', 'nanoseconds')]
[fsync] < ext4_sync_file < fsync < flush_log < main [1, 40000000]
[futex] < futex_wait < pthread_mutex_lock < lock_queue < main [1, 45000000]
[futex] < [no stack taken] [50, 5000000]
[open] < [no stack taken] [4, 200000]
[epoll] < epoll_wait < serve [1, 90000000]
TEXT
diff <(sort "$TMP/want") <(sort "$TMP/got") >"$TMP/diff"
verdict "export --pprof" $? "$TMP/diff" "$TMP/err"
"$SONDA" export --folded wakers -o "$TMP/none.folded" tests/data/traces/ring_losses.pftrace >"$TMP/out" 2>"$TMP/err"
[ $? = 1 ] && [ ! -e "$TMP/none.folded" ] && grep -q 'has no waits; record them with: sonda record waits' "$TMP/err"
verdict "a trace without waits makes no file" $? "$TMP/err"
exit $BAD
