#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# tracefs: none
# check: long
# kernels: none
#
# Call stacks of programs that live for milliseconds: rows are of files, so what another process has mapped before is there
# from the first sample on. And of files that overlayfs shows, which the kernel maps from elsewhere.
. "$(dirname "$0")/lib.sh"
B=${BIN%/bin}
shapes=$B/tests/root/stack_shapes
needs_built "$shapes"
[ "$(uname -m)" = x86_64 ] || { echo "stacks of this architecture are unwound by frame pointers" >&2; exit 77; }
[ -e /sys/kernel/btf/vmlinux ] || { echo "the kernel has no BTF" >&2; exit 77; }
cd "$TMP" || exit 2

cat >config <<CONFIG
buffers { size_kb: 65536 fill_policy: DISCARD }
data_sources { config { name: "linux.perf" perf_event_config { timebase { frequency: 999 }
  callstack_sampling { kernel_frames: true user_frames: UNWIND_DWARF } } } }
CONFIG
# Of processes that ran one of the files: "WHOLE ALL", from `SECONDS` after the first sample on.
whole() { # TRACE SECONDS FILE...
  local trace=$1 seconds=$2
  shift 2
  "$BIN/sonda" sql --csv "$trace" "with recursive walk(upid, ts, error, up, is_user, is_program) as (
      select upid, ts, coalesce(unwind_error, 'none'), callsite_id, 0, 0 from perf_sample s join thread using (utid)
      where callsite_id is not null
      union all
      select w.upid, w.ts, w.error, c.parent_id, w.is_user or m.name <> '/kernel',
        w.is_program or replace(m.name, rtrim(m.name, replace(m.name, '/', '')), '') in ($(printf "'%s', " "$@")'') from walk w
      join stack_profile_callsite c on c.id = w.up join stack_profile_frame f on f.id = c.frame_id
      join stack_profile_mapping m on m.id = f.mapping),
    samples as materialized (select * from walk where up is null)
    select cast(sum(error = 'none') as int), count(*) from samples where is_user and ts > (select min(ts) from samples) + ${seconds}e9
      and upid in (select upid from samples where is_program)" 2>>log | tr -d '\r' | tail -n 1 | tr , ' '
}

# What else runs may need the room for rows, and a busy machine the time: it is measured again then.
for turn in 1 2 3; do
  "$BIN/sonda" record -c config -o trace -- timeout 4 bash -c 'while :; do
    seq 20000 | sort -r | gzip -c >/dev/null
    (x=1; for ((i = 0; i < 300; i++)); do x=$((x * 7 % 1001)); done; echo $x) >/dev/null
    bash -c "for ((i = 0; i < 2000; i++)); do x=\$((i * i)); done"
  done' >log 2>&1
  read -r good all < <(whole trace 2 bash sort gzip seq)
  [ "${all:-0}" -ge 100 ] && [ $((100 * good)) -ge $((95 * all)) ] && break
done
[ "${all:-0}" -ge 100 ] && [ $((100 * good)) -ge $((95 * all)) ]
verdict "stacks of bash, sort, gzip and seq in a loop are whole ($good of $all, turn $turn)" $? log

if has_own_mounts; then
  mkdir upper
  unshare --mount sh -c "mount -t tmpfs none upper && mkdir upper/below upper/changes upper/work upper/all &&
    cp '$shapes' upper/below/shapes_below && mount -t overlay -o lowerdir=upper/below,upperdir=upper/changes,workdir=upper/work none upper/all &&
    '$BIN/sonda' record -c config -o overlay -- upper/all/shapes_below 120" >log 2>&1
  if grep -q 'unknown filesystem\|wrong fs type' log; then
    skip "a file of overlayfs" "this kernel has no overlayfs"
  else
    read -r good all < <(whole overlay 1 shapes_below)
    # Those of 200 and 600 frames are cut.
    [ "${all:-0}" -ge 100 ] && [ $((100 * good)) -ge $((60 * all)) ]
    verdict "a program of overlayfs has rows ($good of $all)" $? log
  fi
else
  skip "a file of overlayfs" "there are no mounts of the test's own"
fi
exit $BAD
