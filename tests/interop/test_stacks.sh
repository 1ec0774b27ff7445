#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# tracefs: none
#
# linux.perf with trace_processor as the reader: the call stacks of a load whose functions are known, its shares, names of
# kernel functions, mappings and build ids. Programs whose file is deleted, spoiled or replaced have no wrong names. Without
# answers of the process that reads files, the samples have no names.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/sql_lib.sh"
hot=$(realpath "$B/tests/root/hot_functions")
needs_built "$hot"

dir=$TMP/stacks
mkdir "$dir"
use_sockets "$dir"
start_service sonda "$dir" || exit 1
start_probes sonda "$dir" || exit 1
probes=${PIDS[-1]}

# Records what the script runs. Its loads take a time of the CPU, so that all machines have as many samples. Those whose
# file is gone stay until the recording has ended, since only their process still has the file.
config() { # SCOPE
  cat <<CONFIG
buffers { size_kb: 65536 fill_policy: DISCARD }
data_sources { config { name: "linux.perf" perf_event_config { timebase { frequency: 499 }
  callstack_sampling { kernel_frames: true user_frames: UNWIND_DWARF $1 } } } }
data_sources { config { name: "linux.process_stats" process_stats_config { scan_all_processes_on_start: true } } }
CONFIG
}
# For scripts: starts a load from a copy that is removed once it runs.
cat >"$dir/lib.sh" <<'LIB'
start_copy() { # NAME MS
  cp "$hot" "$dir/$1"
  "$dir/$1" "$2" "$dir/$1.done" >/dev/null 2>&1 &
  echo $! >"$dir/$1.pid"
  while [ "$(readlink "/proc/$!/exe")" != "$(realpath "$dir/$1")" ]; do sleep 0.01; done
  rm "$dir/$1"
}
until_done() { # NAME
  while [ ! -e "$dir/$1.done" ]; do sleep 0.01; done
}
LIB
record_script() { # NAME SCOPE, the script on stdin
  config "$2" >"$dir/config"
  { cat "$dir/lib.sh" && cat; } >"$dir/script"
  env dir="$dir" hot="$hot" "$BIN/sonda" record -c "$dir/config" -o "$dir/trace" -- bash "$dir/script" >"$dir/log" 2>&1
  verdict "$1" $? "$dir/log"
}
end_copy() { # NAME
  kill "$(cat "$dir/$1.pid")"
}

record_script "records" 'scope { target_cmdline: "hot_functions" target_cmdline: "deleted" }' <<'SCRIPT'
start_copy deleted 700
HOT_TIMES="$dir/times" "$hot" 700 &
echo $! >"$dir/load.pid"
wait $!
until_done deleted
SCRIPT
end_copy deleted
load=$(cat "$dir/load.pid") deleted=$(cat "$dir/deleted.pid")
trace_errors "$dir/trace" >"$dir/errors"
[ "$(cat "$dir/errors")" = "[]" ]
verdict "trace_processor has no complaint" $? "$dir/errors"

# The functions of each stack, the outermost one first, with the number of its samples.
stacks="with recursive walk(sample, pid, up, path) as (
    select s.id, p.pid, s.callsite_id, '' from perf_sample s join thread using (utid) join process p using (upid)
    union all
    select w.sample, w.pid, c.parent_id, coalesce(f.name, '?') || ';' || w.path from walk w
    join stack_profile_callsite c on c.id = w.up join stack_profile_frame f on f.id = c.frame_id)
  select pid, path, count(*) as n from walk where up is null group by 1, 2 order by 3 desc"
query "$dir/trace" "$stacks" >"$dir/stacks"
count() { # PID REGEX: samples of the stacks that match; PID is a regular expression, too
  tr '{' '\n' <"$dir/stacks" | awk -F'"' -v pid="$1" -v regex="$2" '
    { split($0, a, /"pid":/); split(a[2], p, ","); if (p[1] "" !~ "^(" pid ")$" || $0 !~ regex) next
      split($0, a, /"n":/); sum += a[2] + 0 }
    END { print sum + 0 }'
}
# Of n samples, a part p has np, give or take 5 times the root of np(1 - p).
is_share() { # PART OF SHARE
  awk -v k="$1" -v n="$2" -v p="$3" 'BEGIN { d = k - n * p; exit !(n > 50 && d * d <= 25 * n * p * (1 - p)) }'
}
share=$(awk '{ print $1 / ($1 + $2) }' "$dir/times")
# From 2.41 on, a local function of the C library makes the call, which is not among its symbols.
caller='(read|write)'
printf '2.41\n%s\n' "$(getconf GNU_LIBC_VERSION | sed 's/.* //')" | sort -CV && caller='(read|write|[?])'
for pid in $load $deleted; do
  name=$([ "$pid" = "$load" ] && echo "a program" || echo "a deleted program")
  three=$(count "$pid" ';main;hot_three;hot_leaf;')
  one=$(count "$pid" ';main;hot_one;hot_leaf;')
  leaf=$((three + one))
  is_share "$three" $leaf "$share"
  verdict "$name: hot_three has its share of hot_leaf ($three of $leaf, by its clock $share)" $? "$dir/stacks"
  # The C library has no frame pointers, so the caller of its read() is not there.
  [ "$(count "$pid" ';main;(hot_kernel;)?'"$caller"';.*;vfs_(read|write);')" -gt 0 ]
  verdict "$name: below read() and write() are functions of the kernel" $? "$dir/stacks"
done

# Every name that a kernel frame has is a function of this kernel. BPF programs of others come and go.
query "$dir/trace" "select distinct f.name from stack_profile_frame f join stack_profile_mapping m on m.id = f.mapping
  where m.name = '/kernel' and f.name is not null and f.name != ''" | tr -d '[]{}"' | tr ',' '\n' | sed 's/^name://' |
  sort -u >"$dir/kernel"
awk '{ print $3 }' /proc/kallsyms | sort -u >"$dir/kallsyms"
comm -23 "$dir/kernel" "$dir/kallsyms" | grep -v '^bpf_prog_' >"$dir/unknown"
n=$(wc -l <"$dir/kernel")
[ "$n" -gt 0 ] && ! [ -s "$dir/unknown" ]
verdict "all $n names of kernel functions are in kallsyms" $? "$dir/unknown"

# The mapping is that of the program, rel_pc is the address in the ELF file.
query "$dir/trace" "select distinct build_id, name from stack_profile_mapping where name glob '*hot_functions'" >"$dir/mapping"
id=$(readelf -n "$hot" | awk '/Build ID/ { print $3 }')
grep -qF "\"build_id\":\"$id\",\"name\":\"$hot\"" "$dir/mapping"
verdict "build id and path of the program" $? "$dir/mapping"
query "$dir/trace" "select min(rel_pc) as low, max(rel_pc) as high from stack_profile_frame where name = 'hot_leaf'" |
  tr -dc '0-9,' | tr ',' ' ' >"$dir/range"
read -r low high <"$dir/range"
read -r start size _ < <(nm -S "$hot" | grep ' hot_leaf$')
[ "$low" -ge $((16#$start)) ] && [ "$high" -lt $((16#$start + 16#$size)) ]
verdict "rel_pc lies in the symbol's range" $? "$dir/range"

# ---- the same load with perf record

# Of n and m samples, the parts k/n and l/m differ by at most 5 times what chance does.
agree() { # K N L M
  awk -v k="$1" -v n="$2" -v l="$3" -v m="$4" 'BEGIN { p = (k + l) / (n + m); d = k / n - l / m
    exit !(n > 50 && m > 50 && d * d <= 25 * p * (1 - p) * (1 / n + 1 / m)) }'
}
perf_count() { # REGEX: samples of the stacks that match
  perf script -i "$dir/perf.data" -F ip,sym 2>/dev/null | awk -v regex="$1" '
    NF { path = $2 ";" path; next } path != "" { n += (";" path) ~ regex; path = "" }
    END { print n + (path != "" && (";" path) ~ regex) }'
}
if command -v perf >/dev/null; then
  record_script "records beside perf record" 'scope { target_cmdline: "hot_functions" }' <<'SCRIPT'
perf record -q -e cpu-clock -F 499 -g -o "$dir/perf.data" -- "$hot" 800
SCRIPT
  query "$dir/trace" "$stacks" >"$dir/stacks"
  for part in hot_leaf hot_three 'vfs_(read|write)'; do
    ours=$(count '[0-9]+' ";$part;") n=$(count '[0-9]+' .)
    theirs=$(perf_count ";$part;") m=$(perf_count .)
    agree "$ours" "$n" "$theirs" "$m"
    verdict "perf record has the same share of $part ($theirs of $m, here $ours of $n)" $? "$dir/log"
  done
else
  echo "ok - # SKIP perf is not here"
fi

# ---- processes that come and go, and a file that is no ELF file any more

# Another file at the path, and the mapped one is gone.
record_script "records processes that come and go" "" <<'SCRIPT'
start_copy spoiled 500
head -c 100000 /dev/urandom >"$dir/spoiled"
for _ in $(seq 40); do "$hot" 20; done
until_done spoiled
SCRIPT
end_copy spoiled
spoiled=$(cat "$dir/spoiled.pid")
trace_errors "$dir/trace" >"$dir/errors"
[ "$(cat "$dir/errors")" = "[]" ]
verdict "trace_processor has no complaint about them" $? "$dir/errors"
query "$dir/trace" "$stacks" >"$dir/stacks"
[ "$(count "$spoiled" 'hot_leaf')" -gt 0 ]
verdict "a program with another file at its path has the names of its own" $? "$dir/stacks"
query "$dir/trace" "select count(distinct p.pid) as n from perf_sample s join thread using (utid) join process p using (upid)
  join stack_profile_callsite c on c.id = s.callsite_id join stack_profile_frame f on f.id = c.frame_id
  where f.name = 'hot_leaf' and p.pid != $spoiled" | tr -dc '0-9' >"$dir/n"
n=$(cat "$dir/n")
[ "$n" -gt 20 ]
verdict "names of $n of 40 processes that began during the recording and ended" $? "$dir/stacks"
! log_of "$dir/probes.log" | grep -v "ring buffers are read with SCHED_" >"$dir/log"
verdict "sonda-probes has nothing to complain about" $? "$dir/log"

# ---- the same tables with sonda sql

equal "tables of samples" "$dir/trace" "select * from perf_sample order by id" "select * from perf_session" \
  "select * from stack_profile_callsite order by id" "select id, name, mapping, rel_pc, symbol_set_id, deobfuscated_name from stack_profile_frame order by id" \
  "select * from stack_profile_mapping order by id" "select id, ts, track_id, value from counter order by id" \
  "select id, name, type, parent_id from track order by id" "select * from trace_bounds"
"$BIN/sonda" report functions "$dir/trace" -p "$spoiled" --top 1 >"$dir/report" 2>&1 && grep -q 'hot_leaf' "$dir/report"
verdict "sonda report functions has hot_leaf first" $? "$dir/report"
"$BIN/sonda" export --folded stacks -o - "$dir/trace" >"$dir/folded" 2>&1
grep -q ';main;hot_three;hot_leaf [0-9]*$' "$dir/folded" && [ -z "$(sed 's/ [0-9]*$//' "$dir/folded" | uniq -d)" ]
verdict "folded stacks" $? "$dir/folded"

# ---- the process that reads files

elf=$(pgrep -x -P "$probes" sonda-elf)
if grep -qaE '__[at]san_init' "$BIN/sonda-probes"; then
  skip "the memory of sonda-elf" "a build with a sanitizer sets no limit"
else
  [ "$(awk '/^Max address space/ { print $4, $5 }' "/proc/$elf/limits")" = "1073741824 1073741824" ]
  verdict "sonda-elf has at most 1 GiB of memory" $? "/proc/$elf/limits"
fi
record_load() { # NAME
  record_script "$1" 'scope { target_cmdline: "hot_functions" }' <<'SCRIPT'
"$hot" 300 &
echo $! >"$dir/load.pid"
wait $!
SCRIPT
  query "$dir/trace" "$stacks" >"$dir/stacks"
  load=$(cat "$dir/load.pid")
}
has_samples() { [ "$(count "$load" .)" -gt 50 ]; }
has_names() { [ "$(count "$load" 'hot_leaf')" -gt 0 ]; }
kill -STOP "$elf"
record_load "records while sonda-elf does not answer"
has_samples && ! has_names
verdict "  all samples are there, without names" $? "$dir/stacks"
kill -CONT "$elf"
record_load "records when it answers again"
has_samples && has_names
verdict "  with names" $? "$dir/stacks"
kill -KILL "$elf"
record_load "records after sonda-elf has ended"
has_samples && ! has_names
verdict "  all samples are there, without names" $? "$dir/stacks"
[ "$(grep -c 'the helper that reads program files has exited; user functions will have no names' "$dir/probes.log")" = 1 ]
verdict "  sonda-probes logs that, once" $? "$dir/probes.log"
exit $BAD
