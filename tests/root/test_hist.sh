#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# kernels: 5.10 newest
# tracefs: shared
#
# Histograms that the kernel counts (sonda record --hist): a known load by each kind of key and of buckets, times from one
# event to another, the limit of keys, what is refused; and the counts of bpftrace in the same run.
. "$(dirname "$0")/lib.sh"
cd "$TMP" || exit 2

# A program with a name of its own.
cp "$(command -v dd)" hist_dd
writes() { # BYTES TIMES
  ./hist_dd if=/dev/zero of=/dev/null bs="$1" count="$2" status=none
}
cat >load.sh <<'LOAD'
for size in 1 100 512 4000 70000; do
  ./hist_dd if=/dev/zero of=/dev/null bs=$size count=$((size % 7 * 100 + 50)) status=none
done
LOAD
sql() { # TRACE STATEMENT: rows, with commas
  "$BIN/sonda" sql --csv "$1" "$2" | tail -n +2 | tr -d '\r"'
}
buckets() { # TRACE NAME KEY: from,to,n of a histogram
  sql "$1" "select from_value, to_value, sum(b.n) from event_histogram_bucket b join event_histogram_row r on r.id = row_id
    join event_histogram h on h.id = histogram_id where name = '$2' and key_text = '$3' group by from_value order by from_value"
}

timeout 60 "$BIN/sonda" record -a -o trace --hist 'sys_enter_write: count by comm' \
  --hist 'syscalls:sys_enter_write: count by comm linear 0..1000 step 100' \
  --hist 'sys_enter_write..sys_exit_write: time by comm' --hist 'sys_enter_write: count by cgroup' \
  --hist 'sched_process_exec: old_pid by cpu' --hist 'sched_process_exit: prio by comm' \
  --hist 'sys_enter_write: fd' -- sh load.sh >log 2>&1
verdict "histograms of a known load are recorded" $? log
! grep -E '^ *(lost|missing|refused)' log | grep -v 'program runs that the kernel skipped\|lost *nothing' >losses
verdict "nothing is lost, and no histogram is missing" $? losses

buckets trace 'sys_enter_write: count by comm' hist_dd >got
cat >want <<'WANT'
1,2,150
64,128,250
512,1024,150
2048,4096,350
65536,131072,50
WANT
cmp -s got want
verdict "buckets of powers of two have the load" $? got
buckets trace 'syscalls/sys_enter_write: count by comm linear 0..1000 step 100' hist_dd >got
printf '%s\n' 0,100,150 100,200,250 500,600,150 1000,,400 >want
cmp -s got want
verdict "linear buckets have the load, and the last one all above" $? got
sql trace "select n, total from (select sum(r.n) n, sum(total) total from event_histogram_row r join event_histogram h on
  h.id = histogram_id where name = 'sys_enter_write: count by comm' and key_text = 'hist_dd')" >got
[ "$(cat got)" = "950,$((150 + 250 * 100 + 150 * 512 + 350 * 4000 + 50 * 70000))" ]
verdict "the sum of the values" $? got
buckets trace 'sys_enter_write..sys_exit_write: time by comm' hist_dd >got
[ "$(awk -F, '{ n += $3 } END { print n }' got)" = 950 ] && ! grep -q '^[^,]*,1,' got
verdict "each call has its time" $? got
GROUP=$(sed -n 's/^0:://p' /proc/self/cgroup)
for mount in /sys/fs/cgroup/unified /sys/fs/cgroup; do
  ID=$(stat -c %i "$mount$GROUP" 2>/dev/null) && break
done
sql trace "select sum(r.n) >= 950 from event_histogram_row r join event_histogram h on h.id = histogram_id where
  name = 'sys_enter_write: count by cgroup' and key_number = ${ID:-0}" >got
[ "$(cat got)" = 1 ]
verdict "by control group: that of the load has its calls" $? got
sql trace "select max(key_number) < (select count(*) from cpu), sum(r.n) >= 5 from event_histogram_row r join event_histogram h
  on h.id = histogram_id where name = 'sched_process_exec: old_pid by cpu'" >got
[ "$(cat got)" = 1,1 ]
verdict "by CPU" $? got
sql trace "select key_text, sum(r.n) from event_histogram_row r join event_histogram h on h.id = histogram_id where
  name = 'sched_process_exit: prio by comm' and key_text = 'hist_dd'" >got
[ "$(cat got)" = hist_dd,5 ]
verdict "the running thread's name comes before a field of that name" $? got
"$BIN/sonda" report histograms --top 100000 --csv trace >report 2>report.err
grep -q '^sys_enter_write: count by comm,hist_dd,950,' report && grep -q '^sys_enter_write: count by comm,hist_dd,64,128,,250,' report
verdict "the report has them" $? report report.err

# Keys without room are counted.
cat >few.cfg <<'CFG'
buffers { size_kb: 4096 }
data_sources { config { name: "linux.ebpf_counters" ebpf_counters_config {
  histograms { event: "sys_enter_write" field: "count" key: "count" max_keys: 3 }
  histograms { event: "sys_enter_write" field: "count" key: "pid" }
  histograms { event: "sys_enter_write" field: "nothing" }
  histograms { event: "no_such_event" field: "count" }
  histograms { event: "sys_enter_write" field: "buf" }
  histograms { event: "sys_enter_write" field: "fd" key: "buf" }
  histograms { event: "../../x" field: "fd" }
  histograms { event: "sys_enter_write" field: "fd" linear { step: 1 steps: 255 } }
} } }
CFG
timeout 60 "$BIN/sonda" record -c few.cfg --program hist_dd -o few -- sh load.sh >log 2>&1
sql few "select count(distinct key_number), sum(n) + (select value from stats where name = 'sonda_histogram_no_key') from
  event_histogram_row where histogram_id = 0" >got
[ "$(cat got)" = 3,950 ]
verdict "of more keys than there is room for, the values are counted" $? got log
sql few "select count(distinct key_number), sum(n) from event_histogram_row where histogram_id = 1" >got
[ "$(cat got)" = 5,950 ]
verdict "of a program, each process has its own" $? got
grep -q 'values not counted: no room for their key' log
verdict "the summary says so" $? log
for why in "sys_enter_write has no field 'nothing'" 'the kernel has no event no_such_event' 'sys_enter_write.buf is an address' \
  'neither NAME nor GROUP/NAME' 'set step, and steps (1 to 254)'; do
  grep -q "$why" log
  verdict "refused, with the reason: $why" $? log
done
[ "$(grep -c 'sys_enter_write.buf is an address' log)" -ge 2 ]
verdict "neither as value nor as key is an address shown" $? log
for wrong in 'no colon' 'no_such_event_at_all: x' 'sched_switch: prev_prio linear 0..10 step 3' 'sys_enter_write..sys_exit_write: count' \
  'sched*: x' 'sched_switch: prev_prio by' 'sched_switch: prev_prio linear 0..1000 step 1'; do
  "$BIN/sonda" record --show-config --hist "$wrong" >out 2>&1
  [ $? = 2 ]
  verdict "a usage error: $wrong" $? out
done

# bpftrace, which counts in the same run.
command -v bpftrace >/dev/null || { skip "the counts are those of bpftrace" "there is no bpftrace"; exit $BAD; }
cat >direct.sh <<'LOAD'
sh load.sh
for kb in 4 8 16 64 256; do
  ./hist_dd if=/dev/zero of=direct bs=${kb}k count=$((kb % 5 * 10 + 7)) oflag=direct status=none
done
LOAD
bpftrace -e '
tracepoint:syscalls:sys_enter_write /comm == "hist_dd"/ { @log2 = hist(args->count); @linear = lhist(args->count, 0, 1000, 100); }
tracepoint:block:block_rq_issue /comm == "hist_dd"/ { @sectors = hist(args->nr_sector); }
tracepoint:syscalls:sys_exit_write /comm == "hist_dd"/ { @ret = hist(args->ret); }
BEGIN { printf("attached\n"); }' >oracle 2>oracle.err &
ORACLE=$!
PIDS+=("$ORACLE")
wait_for grep -q attached oracle
sleep 0.2
timeout 60 "$BIN/sonda" record -a -o beside --hist 'sys_enter_write: count by comm' \
  --hist 'sys_enter_write: count by comm linear 0..1000 step 100' --hist 'block_rq_issue: nr_sector by comm' \
  --hist 'sys_exit_write: ret by comm' -- sh direct.sh >log 2>&1
kill -INT $ORACLE && wait $ORACLE 2>/dev/null
for pair in 'log2:sys_enter_write: count by comm' 'linear:sys_enter_write: count by comm linear 0..1000 step 100' \
  'sectors:block_rq_issue: nr_sector by comm' 'ret:sys_exit_write: ret by comm'; do
  buckets beside "${pair#*:}" hist_dd >got
  # "[2K, 4K)  350 |@@|", "[1]  12 |@@|", "[1000, ...)  3 |@@|": from,to,n
  awk -v map="@${pair%%:*}:" '
    function number(s) { return s ~ /K$/ ? s * 1024 : s ~ /M$/ ? s * 1048576 : s + 0 }
    /^@/ { on = index($0, map) == 1; next }
    on && /^[[(]/ {
      n = $0; sub(/^[^\])]*[\])]/, "", n); n += 0
      range = $0; sub(/[\])].*/, "", range); sub(/^[[(]/, "", range)
      parts = split(range, at, /, */)
      if (n) print (at[1] == "..." ? "" : number(at[1])) "," (parts == 1 ? number(at[1]) + 1 : at[2] == "..." ? "" : number(at[2])) "," n
    }' oracle >want
  [ -s want ] && cmp -s got want
  verdict "bpftrace has the same counts in each bucket: ${pair#*:}" $? got want oracle oracle.err log
done
exit $BAD
