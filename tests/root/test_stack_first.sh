#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# tracefs: none
# kernels: none
#
# The first call stacks of a recording are whole: rows of the files of a command are there before it runs, those of a process
# before it is sampled.
. "$(dirname "$0")/lib.sh"
[ "$(uname -m)" = x86_64 ] || { echo "stacks of this architecture are unwound by frame pointers" >&2; exit 77; }
[ -e /sys/kernel/btf/vmlinux ] || { echo "the kernel has no BTF" >&2; exit 77; }
awk -v cpus="$(nproc)" '{ exit !($1 <= 8 * cpus) }' /proc/loadavg || { echo "the machine is busy: files are not read in time" >&2; exit 77; }
cd "$TMP" || exit 2
cp "$(command -v gzip)" first_gzip
base64 -w 0 /dev/zero 2>/dev/null | head -c 15000000 >text

config() { # FIELDS
  cat >config <<CONFIG
buffers { size_kb: 65536 }
data_sources { config { name: "linux.perf" perf_event_config { timebase { frequency: 999 }
  callstack_sampling { $1 user_frames: UNWIND_DWARF } } } }
CONFIG
}
# Of the first 10 stacks of the program: "WHOLE ALL".
whole() {
  "$BIN/sonda" sql --csv trace "with mine as (select distinct utid from perf_sample s join stack_profile_callsite c on c.id = s.callsite_id
      join stack_profile_frame f on f.id = c.frame_id join stack_profile_mapping m on m.id = f.mapping where m.name like '%/first_gzip')
    select sum(unwind_error is null), count(*) from (select unwind_error from perf_sample join mine using (utid)
      where callsite_id is not null order by ts limit 10)" 2>>log | tr -d '\r' | tail -n 1 | tr , ' '
}
is_whole() { [ "${all:-0}" = 10 ] && [ "$good" = 10 ]; }

# Other processes may take the time to read the files: it is tried again.
config ''
for turn in 1 2 3; do
  "$BIN/sonda" record -c config -o trace -- ./first_gzip -c text >out.gz 2>log
  read -r good all < <(whole)
  is_whole && break
done
is_whole
verdict "the first stacks of a command are whole ($good of $all, turn $turn)" $? log

timeout 60 ./first_gzip -c </dev/zero >/dev/null &
load=$!
wait_for pgrep -P "$load" first_gzip >/dev/null
pid=$(pgrep -P "$load" first_gzip)
config "scope { target_pid: $pid }"
for turn in 1 2 3; do
  "$BIN/sonda" record -c config -t 1s -o trace >log 2>&1
  read -r good all < <(whole)
  is_whole && break
done
kill "$load"
wait "$load" 2>/dev/null
is_whole
verdict "the first stacks of a process that runs are whole ($good of $all, turn $turn)" $? log
exit $BAD
