#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# tracefs: top
#
# linux.process_stats on the real /proc, by Perfetto's programs and by ours at the same time and with the same config:
# the same counters of the same processes with values that agree, and what /proc says of a process that stands still.
# Then what only we record: I/O, the threads' CPU time, cgroups; a hostile name; a number that is used twice.
. "$(dirname "$0")/lib.sh"
need_tracefs
tools=$B/tests/root

# Has used time and memory, and stands still from then on.
bash -c 'text=$(seq 100000); for ((i = 0; i < 100000; i++)); do :; done; kill -STOP $$' &
still=$!
"$tools/hostile_names" >"$TMP/named" &
hostile=$!
leave_too() {
  kill -KILL $still $hostile "${second:-$still}" 2>/dev/null
  wait $still 2>/dev/null
  leave
}
trap '[ "$BASHPID" != $$ ] || leave_too' EXIT
is_stopped() { [ "$(sed 's/.*) //' "/proc/$1/stat" | cut -d' ' -f1)" = T ]; }
for _ in $(seq 200); do is_stopped $still && [ -s "$TMP/named" ] && break; sleep 0.1; done
kill -STOP $hostile
for _ in $(seq 100); do is_stopped $hostile && break; sleep 0.1; done
is_stopped $still && is_stopped $hostile
verdict "two processes stand still" $?

config() { # NAME FIELDS DURATION
  cat >"$TMP/$1.cfg" <<END
buffers { size_kb: 65536 fill_policy: DISCARD }
duration_ms: $3
data_sources { config { name: "linux.process_stats" process_stats_config { $2 } } }
END
}
counters_of() { # TRACE: pid, name, least, most; rows of text
  query "$1" "select pid || ' ' || t.name || ' ' || cast(min(value) as int) || ' ' || cast(max(value) as int) as row
    from counter c join process_counter_track t on c.track_id = t.id join process using (upid) group by pid, t.name" |
    grep -o '"row":"[^"]*"' | cut -d'"' -f4 | sort
}

# ---- both families at once

config both "scan_all_processes_on_start: true record_thread_names: true proc_stats_poll_ms: 200 scan_smaps_rollup: true
  record_process_age: true record_process_runtime: true" 5000
switched() { # each process, with how often it left a CPU
  cat /proc/[0-9]*/status 2>/dev/null |
    awk '/^Pid:/ { p = $2 } /ctxt_switches:/ { n[p] += $2 } END { for (p in n) print p, n[p] }' | sort
}
switched >"$TMP/switched"
for family in perfetto sonda; do
  mkdir "$TMP/$family"
  use_sockets "$TMP/$family"
  start_service $family "$TMP/$family" && start_probes $family "$TMP/$family"
  verdict "$family starts" $? "$TMP/$family/probes.log"
done
use_sockets "$TMP/perfetto"
record perfetto "$TMP/both.cfg" "$TMP/perfetto/trace" "$TMP/perfetto/log" &
recorder=$!
use_sockets "$TMP/sonda"
record sonda "$TMP/both.cfg" "$TMP/sonda/trace" "$TMP/sonda/log"
verdict "sonda records" $? "$TMP/sonda/log"
wait $recorder
verdict "perfetto records" $? "$TMP/perfetto/log"
for family in perfetto sonda; do counters_of "$TMP/$family/trace" >"$TMP/$family/counters"; done
cut -d' ' -f2 "$TMP/perfetto/counters" | sort | uniq -c | awk '{ print $2 }' >"$TMP/perfetto/names"
cut -d' ' -f2 "$TMP/sonda/counters" | sort | uniq -c | awk '{ print $2 }' >"$TMP/sonda/names"
comm -23 "$TMP/perfetto/names" "$TMP/sonda/names" >"$TMP/missing"
names=$(wc -l <"$TMP/perfetto/names")
[ "$names" -ge 16 ] && [ ! -s "$TMP/missing" ]
verdict "each of Perfetto's $names counters is ours, by the same name" $? "$TMP/missing"
# Of the processes that did not run between the first poll and the last. What they share may be mapped by others, who come
# and go: the ranges of two polls meet, all but a few.
join "$TMP/switched" <(switched) | awk '$2 == $3 { print $1 }' >"$TMP/stood"
join <(awk '{ print $1 "/" $2, $3, $4 }' "$TMP/perfetto/counters" | sort) \
  <(awk '{ print $1 "/" $2, $3, $4 }' "$TMP/sonda/counters" | sort) |
  awk 'NR == FNR { stood[$1]; next } { split($1, id, "/") } id[1] in stood' "$TMP/stood" - >"$TMP/joined"
awk '$2 > $5 * 1.02 + 65536 || $4 > $3 * 1.02 + 65536' "$TMP/joined" >"$TMP/apart"
n=$(wc -l <"$TMP/joined")
[ "$n" -gt 100 ] && [ $(($(wc -l <"$TMP/apart") * 100)) -le "$n" ]
verdict "values of $n counters of the same processes agree" $? "$TMP/apart"

kb() { awk -v key="$2:" '$1 == key { printf "%.0f", $2 * 1024; exit }' "/proc/$1"; }
stat() { sed 's/.*) //' "/proc/$1/stat" | cut -d' ' -f$(($2 - 2)); }
expect() { # PID: what /proc says of one that stands still
  local tick=$((1000000000 / $(getconf CLK_TCK)))
  cat <<END
$1 mem.virt $(kb "$1/status" VmSize)
$1 mem.rss $(kb "$1/status" VmRSS)
$1 mem.rss.anon $(kb "$1/status" RssAnon)
$1 mem.rss.file $(kb "$1/status" RssFile)
$1 mem.rss.shmem $(kb "$1/status" RssShmem)
$1 mem.swap $(kb "$1/status" VmSwap)
$1 mem.locked $(kb "$1/status" VmLck)
$1 mem.rss.watermark $(kb "$1/status" VmHWM)
$1 oom_score_adj $(cat "/proc/$1/oom_score_adj")
$1 mem.smaps.pss.anon $(kb "$1/smaps_rollup" Pss_Anon)
$1 mem.smaps.swap.pss $(kb "$1/smaps_rollup" SwapPss)
$1 runtime.user_ns $(($(stat "$1" 14) * tick))
$1 runtime.kernel_ns $(($(stat "$1" 15) * tick))
END
}
for pid in $still $hostile; do
  comm=$(tr -d '\n' <"/proc/$pid/comm")
  expect $pid | awk '{ print $1, $2, $3, $3 }' | sort >"$TMP/expected"
  comm -23 "$TMP/expected" "$TMP/sonda/counters" >"$TMP/missing"
  [ "$(wc -l <"$TMP/expected")" = 13 ] && [ ! -s "$TMP/missing" ]
  verdict "$comm: each counter is what /proc says" $? "$TMP/missing"
done
[ "$(trace_errors "$TMP/sonda/trace")" = '[]' ]
verdict "trace_processor has no complaint" $? "$TMP/tpq.err"
stop_all

# ---- what only we record

# Records, once every source does; sets recorder.
start_recording() { # CONFIG OUT LOG
  rm -f "$TMP/is_on"
  "$BIN/sonda" record -c "$1" -o "$2" -- sh -c 'echo >"$0"; exec sleep 600' "$TMP/is_on" >"$3" 2>&1 </dev/null &
  recorder=$!
  PIDS+=("$recorder")
  for _ in $(seq 300); do [ -e "$TMP/is_on" ] && return; sleep 0.1; done
}
# The poll has read a process: from then on it keeps a file of it.
wait_polled() { # PID
  for _ in $(seq 300); do
    find "/proc/${PIDS[1]}/fd" -lname "/proc/$1/oom_score_adj" 2>/dev/null | grep -q . && break
    sleep 0.1
  done
  sleep 1
}

mkdir "$TMP/own"
use_sockets "$TMP/own"
start_service sonda "$TMP/own" && start_probes sonda "$TMP/own"
sed 's/^duration_ms:.*/duration_ms: 60000/' configs/process-counters.cfg >"$TMP/own.cfg"
start_recording "$TMP/own.cfg" "$TMP/own/trace" "$TMP/own/log"
wait_polled $hostile
times_of_threads() {
  local task run wait
  for task in "/proc/$hostile"/task/*; do
    read -r run wait _ <"$task/schedstat"
    echo "${task##*/} sched.run_ns $run"
    echo "${task##*/} sched.wait_ns $wait"
  done | sort
}
# On a busy machine its threads take a while until all of them sleep. Then polls go on for a second.
for _ in $(seq 60); do
  times_of_threads >"$TMP/expected.threads"
  sleep 1
  times_of_threads | cmp -s "$TMP/expected.threads" - && break
done
awk -v pid=$hostile '{ sub(":", "", $1); print pid, "io." $1, $2 }' "/proc/$hostile/io" | sort >"$TMP/expected.io"
cgroup=$(grep '^0::' /proc/$hostile/cgroup | grep -v ':/$' || grep 'name=systemd:' /proc/$hostile/cgroup | grep -v ':/$' ||
  grep ':memory:' /proc/$hostile/cgroup | grep -v ':/$' || grep -v ':/$' /proc/$hostile/cgroup | head -n 1)
[ -n "$cgroup" ] || cgroup=0::/
kill -KILL $hostile
wait $hostile 2>/dev/null
sleep 1
kill -TERM "$recorder"
wait "$recorder"
verdict "records I/O, CPU time and cgroups" $? "$TMP/own/log"
rows() { grep -o '"row":"[^"]*"' | cut -d'"' -f4 | sort; }
query "$TMP/own/trace" "select $hostile || ' ' || t.name || ' ' || cast(max(value) as int) as row from counter c
  join process_counter_track t on c.track_id = t.id join process using (upid) where pid = $hostile and t.name glob 'io.*'
  group by t.name" | rows >"$TMP/io"
diff "$TMP/expected.io" "$TMP/io" >"$TMP/diff" && [ "$(wc -l <"$TMP/io")" = 7 ]
verdict "a hostile process: its I/O is what /proc says" $? "$TMP/diff"
query "$TMP/own/trace" "select tid || ' ' || t.name || ' ' || cast(max(value) as int) as row from counter c
  join thread_counter_track t on c.track_id = t.id join thread using (utid) join process using (upid)
  where pid = $hostile group by tid, t.name" | rows >"$TMP/threads"
diff "$TMP/expected.threads" "$TMP/threads" >"$TMP/diff" && [ "$(wc -l <"$TMP/threads")" = 16 ]
verdict "the time of its 8 threads on a CPU and ready to run is what /proc says" $? "$TMP/diff"
query "$TMP/own/trace" "select s.name as row from slice s join process_track t on s.track_id = t.id
  join process using (upid) where pid = $hostile and t.name = 'cgroup' order by s.ts desc limit 1" | rows >"$TMP/cgroup"
[ "$(cat "$TMP/cgroup")" = "${cgroup#*:*:}" ]
verdict "a hostile process: its cgroup is what /proc says" $? "$TMP/cgroup"
query "$TMP/own/trace" "select count(*) as row from process where pid = $hostile and end_ts is not null" >"$TMP/end"
[ "$(cat "$TMP/end")" = '[{"row":1}]' ]
verdict "a hostile process: its end is in the trace" $? "$TMP/end"
query "$TMP/own/trace" "select count(*) as row from counter c join process_counter_track t on c.track_id = t.id
  join process p using (upid) where p.end_ts is not null and c.ts > p.end_ts + 500000000" >"$TMP/late"
[ "$(cat "$TMP/late")" = '[{"row":0}]' ]
verdict "no counter of a process has a value long after its end" $? "$TMP/late"
[ "$(trace_errors "$TMP/own/trace")" = '[]' ]
verdict "trace_processor has no complaint of that" $? "$TMP/tpq.err"

# ---- a number that goes to another process between two polls, without an event that reports it

last_pid=/proc/sys/kernel/ns_last_pid
config reuse "proc_stats_poll_ms: 400 proc_stats_cache_ttl_ms: 600000 record_process_io: true" 60000
start_recording "$TMP/reuse.cfg" "$TMP/reuse.trace" "$TMP/reuse.log"
first='' second=''
if [ -w $last_pid ]; then
  bash -c 'exec -a "first owner" sleep 60' &
  first=$!
  wait_polled $first
  kill -KILL $first
  wait $first 2>/dev/null
  for _ in $(seq 100); do
    echo $((first - 1)) >$last_pid
    bash -c 'exec -a "second owner" sleep 60' &
    second=$!
    [ $second != "$first" ] || break
    kill -KILL $second
    wait $second 2>/dev/null
  done
  sleep 2
fi
kill -TERM "$recorder"
wait "$recorder"
if [ -n "$first" ] && [ "$first" = "$second" ]; then
  "$tools/process_tree" trace "$TMP/reuse.trace" | grep "^process $first " >"$TMP/owners"
  grep -q 'cmdline=first owner' "$TMP/owners" && grep -q 'cmdline=second owner' "$TMP/owners"
  verdict "a number that is used again: both processes are reported" $? "$TMP/owners"
  query "$TMP/reuse.trace" "select count(distinct t.id) as row from counter c join process_counter_track t
    on c.track_id = t.id join process using (upid) where pid = $first and t.name = 'io.rchar'" >"$TMP/tracks"
  [ "$(cat "$TMP/tracks")" = '[{"row":2}]' ]
  verdict "a number that is used again: each process has tracks of its own" $? "$TMP/tracks"
  query "$TMP/reuse.trace" "select count(*) as row from counter c join process_counter_track t on c.track_id = t.id
    join process using (upid) where pid = $first and t.name = 'oom_score_adj'" >"$TMP/again"
  [ "$(cat "$TMP/again")" = '[{"row":2}]' ]
  verdict "no value of the first stands for the second" $? "$TMP/again"
else
  for what in "both processes are reported" "have tracks of their own" "no value of the first stands for the second"; do
    skip "a number that is used again: $what" "the kernel does not let us choose one"
  done
fi
log_of "$TMP/own/probes.log" |
  grep -vE 'PID/io: (Permission denied|not read in time)|ring buffers are read with SCHED_|counter tracks; the excess is dropped' >"$TMP/log"
[ ! -s "$TMP/log" ]
verdict "sonda-probes has nothing else to complain of" $? "$TMP/log"
exit $BAD
