#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# tracefs: none
# kernels: none
#
# Call stacks of programs without frame pointers (UNWIND_DWARF): functions with realigned stacks and arrays of any size, deep
# recursion, signal handlers, other stacks, calls that do not return, the vDSO, a library that is loaded meanwhile. And programs
# of this machine: nearly all of their stacks reach the outermost function.
. "$(dirname "$0")/lib.sh"
B=${BIN%/bin}
here=$(dirname "$(realpath "$0")")
shapes=$B/tests/root/stack_shapes
needs_built "$shapes"
[ "$(uname -m)" = x86_64 ] || { echo "stacks of this architecture are unwound by frame pointers" >&2; exit 77; }
[ -e /sys/kernel/btf/vmlinux ] || { echo "the kernel has no BTF" >&2; exit 77; }
[ -x "$B/tests/root/ebpf_unwind" ] || { echo "this build has no eBPF programs" >&2; exit 77; }
cd "$TMP" || exit 2
ms=$(scaled 100)
[ "$ms" -ge 20 ] || ms=20

# Of the programs with these names only, so that the tables of no others are made before.
config() { # NAME...
  cat <<CONFIG
buffers { size_kb: 65536 fill_policy: DISCARD }
data_sources { config { name: "linux.perf" perf_event_config { timebase { frequency: 999 }
  callstack_sampling { kernel_frames: true user_frames: UNWIND_DWARF scope { $(printf 'target_cmdline: "%s" ' "$@") } } } } }
data_sources { config { name: "linux.process_stats" process_stats_config { scan_all_processes_on_start: true } } }
CONFIG
}
# Each stack on a line: samples, error, and the functions, the outermost one first. Of the process, from its first whole stack with
# code of the program on: before that its tables are being made, and before exec the code is that of the shell. With
# "each" all with code of the program, with "all" those without it as well.
stacks() { # TRACE PID PROGRAM|all [each]
  "$BIN/sonda" sql --csv "$1" "with recursive mine as (select s.* from perf_sample s join thread using (utid) join process p using (upid)
      where p.pid = $2 and s.callsite_id is not null),
    walk(ts, error, up, path, is_program) as (
      select ts, coalesce(unwind_error, 'none'), callsite_id, '', 0 from mine
      union all
      select w.ts, w.error, c.parent_id, coalesce(nullif(f.name, ''), '?') || ';' || w.path,
        w.is_program or m.name glob '*/$3*' from walk w
      join stack_profile_callsite c on c.id = w.up join stack_profile_frame f on f.id = c.frame_id
      join stack_profile_mapping m on m.id = f.mapping),
    whole as materialized (select * from walk where up is null)
    select count(*), error, ';' || path from whole
    where '$3' = 'all' or (is_program and '${4:-}' = 'each')
      or ts >= (select min(ts) from whole where error = 'none' and is_program and '${4:-}' = '')
    group by error, path order by 1 desc" | tr -d '\r' | tail -n +2
}
count() { # FILE REGEX: the samples whose line matches
  awk -F, -v regex="$2" '$0 ~ regex { n += $1 } END { print n + 0 }' "$1"
}
# Of the samples of a function, at least 95 % have stacks that match.
nearly_all() { # FILE FUNCTION REGEX SAY
  local of good
  of=$(count "$1" "[;]$2;")
  good=$(count "$1" "$3")
  [ "$of" -ge $((ms / 5)) ] && [ $((100 * good)) -ge $((95 * of)) ]
  verdict "$4 ($good of $of)" $? "$1"
}

config stack_shapes >shapes.cfg
"$BIN/sonda" record -c shapes.cfg -o trace -- sh -c 'echo $$ >pid && exec "$@"' sh "$shapes" "$ms" >log 2>&1
verdict "samples of functions that are hard to unwind" $? log
stacks trace "$(cat pid)" stack_shapes >stacks
main='none,;_start;.*;main;'
nearly_all stacks shape_chain "${main}shape_chain;shape_chain_2;shape_chain_3;shape_spin;" "functions that call each other"
nearly_all stacks shape_aligned "${main}shape_aligned;shape_spin;" "a stack that is aligned anew"
nearly_all stacks shape_sized "${main}shape_sized;shape_spin;" "an array whose size is known at run time"
nearly_all stacks shape_handler "${main}shape_signal;.*;shape_handler;shape_spin;" "a signal handler with a stack of its own"
nearly_all stacks shape_fiber ',(none|unwind_info),;([^;]*;)?shape_fiber;shape_spin;' "the stack of a fiber ends at its entry"
nearly_all stacks shape_no_return "${main}shape_jump;shape_last_call;shape_no_return;shape_spin;" "a call that is a function's end"
nearly_all stacks shape_clock "${main}shape_clock;" "the vDSO"
deep=$(count stacks 'max_frames_exceeded,;(shape_deep;)+shape_spin;')
all=$(count stacks ';shape_deep;')
[ "$all" -ge $((ms / 5)) ] && [ $((100 * deep)) -ge $((95 * all)) ]
verdict "200 and 600 frames are cut, and the sample says so ($deep of $all)" $? stacks
n=$(count stacks "${main}shape_library;")
[ "$n" -ge $((ms / 2)) ]
verdict "a library that was loaded meanwhile ($n)" $? stacks

# ---- what interrupts

"$BIN/sonda" sql --csv trace "select count(*), sum((s.cpu_mode = 'kernel') != (m.name = '/kernel')),
    (select count(*) from stack_profile_frame where name glob 'bpf_prog_*_on_sample') from perf_sample s
  join stack_profile_callsite c on c.id = s.callsite_id join stack_profile_frame f on f.id = c.frame_id
  join stack_profile_mapping m on m.id = f.mapping" 2>>log | tr -d '\r' | tail -n 1 >modes
grep -qE '^[0-9]{3,},0(\.0)?,0$' modes
verdict "samples of the kernel end in the kernel, all others in programs, and none in the program that takes them" $? modes

# ---- threads without a user stack, and programs of 32 bits

config ring_worker spin32 >workers.cfg
if as --32 -o spin32.o "$here/spin32.S" 2>/dev/null && ld -m elf_i386 -o spin32 spin32.o 2>/dev/null; then
  has_spin=1
else
  cp /bin/true spin32
fi
"$BIN/sonda" record -c workers.cfg -o workers -- sh -c "'$B/tests/root/ring_worker' $((ms * 2)) & echo \$! >ring.pid
  wait \$!; echo \$? >ring.result; ./spin32 & echo \$! >spin.pid; wait" >log 2>&1
verdict "samples of a worker of io_uring and of a 32-bit program" $? log
if [ "$(cat ring.result)" = 0 ]; then
  stacks workers "$(cat ring.pid)" all | grep ';io_wq_worker;' >worker
  [ -s worker ] && ! grep -qv ',none,;ret_from_fork' worker
  verdict "a worker of io_uring has no frames of the program" $? worker
else
  skip "a worker of io_uring" "there is no io_uring"
fi
if [ -n "${has_spin:-}" ]; then
  # Before exec it is the shell, whose stacks are whole.
  stacks workers "$(cat spin.pid)" spin32 each >spin
  [ -s spin ] && ! grep -q ',none,' spin
  verdict "a 32-bit program is unwound by frame pointers, and its samples say so" $? spin
else
  skip "a 32-bit program" "as or ld cannot make one"
fi

# ---- programs of this machine

cat >load <<LOAD
head -c $((ms * 2000000)) /dev/zero | gzip -c >/dev/null &
echo \$! >gzip.pid
head -c $((ms * 1200000)) /dev/zero | xz -0 -c >/dev/null &
echo \$! >xz.pid
python3 -c '
def f(n): return sum(i * i % 7 for i in range(n))
for i in range($((ms * 12))): f(10000)' &
echo \$! >python3.pid
bash -c 'for ((i = 0; i < $((ms * 3000)); i++)); do x=\$((i * i)); done' &
echo \$! >bash.pid
wait
LOAD
config gzip xz python3 bash >programs.cfg
"$BIN/sonda" record -c programs.cfg -o programs -- sh load >log 2>&1
verdict "samples of gzip, xz, python3 and bash" $? log
for program in gzip xz python3 bash; do
  command -v $program >/dev/null || { skip "$program" "it is not here"; continue; }
  stacks programs "$(cat $program.pid)" $program >"stacks.$program"
  whole=$(count "stacks.$program" ',none,')
  all=$(count "stacks.$program" .)
  [ "$all" -ge $((ms / 5)) ] && [ $((100 * whole)) -ge $((95 * all)) ]
  verdict "stacks of $program are whole ($whole of $all)" $? "stacks.$program"
done
exit $BAD
