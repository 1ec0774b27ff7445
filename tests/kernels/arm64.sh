#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# usage: tests/kernels/arm64.sh [DIR]
#
# The programs as a cross build makes them for arm64 (tests/distros/cross.sh, in a clean chroot of Debian 12), in an emulator
# with Debian's arm64 kernel: they record there, a program records itself with libsonda-service, and each verb that reads
# traces does; the traces are read here too, by sonda and by trace_processor if it is there. A build that is in DIR is
# taken; it and the traces (out/) stay there. Speaks TAP. Takes some ten minutes, and root.
#
# Exit codes: 0 all good, 1 one failed, 77 it cannot run here (the reason on stderr).
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
build=${BUILD:-build}
case $build in /*) ;; *) build=$root/$build ;; esac
# shellcheck source=tests/distros/lib.sh
. "$root/tests/distros/lib.sh"
give_up() { # REASON
  echo "arm64: $*" >&2
  exit 77
}
qemu=
finish() {
  [ -z "$qemu" ] || { kill "$qemu" && wait "$qemu"; } 2>/dev/null
  rm -rf "$tmp"
}
trap '[ "$BASHPID" != $$ ] || finish' EXIT
trap 'exit 130' INT TERM HUP
for program in qemu-system-aarch64 cpio; do
  command -v $program >/dev/null || give_up "$program is missing (make check-arm64 installs it)"
done
made=${1:-$tmp/made}
mkdir -p "$made"
if [ ! -e "$made/version" ]; then
  DEBS=$made "$root/tests/distros/run.sh" 12 -- tests/distros/cross.sh /debs >"$tmp/log" 2>&1 ||
    { tail -n 20 "$tmp/log"; echo "not ok 1 - it builds"; exit 1; }
fi
[ -x "$build/bin/sonda" ] || give_up "$build/bin/sonda is missing, which reads the traces (make)"

# ---- the guest -------------------------------------------------------------------------------------------------------

initramfs=$tmp/initramfs
mkdir -p "$initramfs"/{bin,dev,lib,etc,out,proc,root,run,sys,tmp,static}
cp "$made"/bin/* "$initramfs/bin"
cp "$made"/lib/* "$initramfs/lib"
cp "$made/static/sonda" "$initramfs/static"
cp -r "$made/modules" "$initramfs/modules"
cat >"$initramfs/shapes.cfg" <<'CONFIG'
buffers { size_kb: 16384 }
data_sources { config { name: "linux.perf" perf_event_config { timebase { frequency: 999 }
  callstack_sampling { scope { target_cmdline: "stack_shapes" } } } } }
data_sources { config { name: "linux.process_stats" } }
CONFIG
echo 'root:x:0:0:root:/root:/bin/sh' >"$initramfs/etc/passwd"
echo 'root:x:0:' >"$initramfs/etc/group"
# Static programs have their own loader; the others look for it here.
cat >"$initramfs/init" <<'INIT'
#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin HOME=/root
mount -t proc none /proc && mount -t sysfs none /sys && mount -t devtmpfs none /dev
mkdir -p /dev/shm && mount -t tmpfs none /dev/shm
mount -t tracefs none /sys/kernel/tracing
while read -r module; do insmod "/modules/$module"; done </modules/order
until [ -b /dev/vda ]; do sleep 0.1; done
uname -m >/out/machine
uname -r >/out/release
run() { # NAME COMMAND...
  name=$1
  shift
  echo "== $*" >/dev/console
  "$@" >/out/$name.out 2>/out/$name.err
  echo $? >/out/$name.status
  cat /out/$name.out /out/$name.err >/dev/console
}
load() { while :; do dd if=/dev/zero of=/dev/null bs=1k count=64 2>/dev/null; sleep 0.01; done; }
load & load=$!
run doctor sonda doctor
run list sonda list events 'sched:*'
run sched sonda record -t 1s -o /out/sched.pftrace sched
run counters sonda record -t 2s -o /out/counters.pftrace runq mem minimal
run syscalls sonda record -t 1s -o /out/syscalls.pftrace syscalls
run stacks sonda record -t 1s -o /out/stacks.pftrace sched_switch --trigger stacktrace
run command sonda record --exit-code -o /out/command.pftrace sched -- sh -c 'exit 7'
run shapes sonda record -c /shapes.cfg -o /out/shapes.pftrace -- stack_shapes 60
run waits sonda record -o /out/waits.pftrace waits -- known_waits 2 20 /tmp
run static /static/sonda record -t 1s -o /out/static.pftrace sched
run itself record_itself /out/itself.pftrace
run top sonda top -b -n 2 -d 0.5
kill $load
run report sonda report /out/sched.pftrace
run report-syscalls sonda report syscalls /out/syscalls.pftrace
run page sonda report --html -o /out/page.html /out/sched.pftrace
run sql sonda sql /out/sched.pftrace 'select count(*) > 0 as any from sched'
run info sonda info /out/sched.pftrace
run cut sonda cut --from 0.2s -o /out/part.pftrace /out/sched.pftrace
run split sonda split --every 500ms -o /out/piece /out/sched.pftrace
run json sonda export --json -o /out/trace.json /out/sched.pftrace
run csv sonda export --csv -o /out/tables /out/sched.pftrace
run sqlite sonda export --sqlite -o /out/trace.sqlite /out/sched.pftrace
run folded sonda export --folded sched -o /out/trace.folded /out/sched.pftrace
run static-report /static/sonda report /out/sched.pftrace
# A root directory with Android's directories: no /tmp, /run and /etc, processes hidden from all but a group, and tracefs
# where older kernels have it.
mkdir /android && mount -t tmpfs none /android && cd /android
mkdir -p system/bin data/local/tmp dev proc sys && ln -s /system/bin bin
cp /bin/busybox system/bin && ln -s busybox system/bin/sh && cp /static/sonda data/local/tmp
mount -t proc -o hidepid=2,gid=3009 none proc && mount -t sysfs none sys && mount -t debugfs none sys/kernel/debug
mount -t tmpfs -o mode=755 none dev && mkdir dev/socket && mknod -m 666 dev/null c 1 3 && mknod -m 666 dev/zero c 1 5
mount -t tmpfs none data/local/tmp && cp /static/sonda data/local/tmp && mount -o remount,ro /android
in_android() { chroot /android /bin/sh -c "cd /data/local/tmp && $*"; }
run android-doctor in_android ./sonda doctor
run android-list in_android ./sonda list events sched:sched_switch
mount -t tracefs none sys/kernel/tracing
run android in_android ./sonda record -t 1s -o android.pftrace minimal sched
run android-stacks in_android ./sonda record -o stacks.pftrace --cpu-stacks=999 -- busybox dd if=/dev/zero of=/dev/null bs=1k count=100000
run android-report in_android ./sonda report functions stacks.pftrace
chroot /android /data/local/tmp/sonda sondad & service=$!
chroot /android /data/local/tmp/sonda sonda-probes & probes=$!
for i in $(seq 100); do
  chroot /android /data/local/tmp/sonda status 2>/dev/null | grep linux.ftrace && break
  sleep 0.1
done
run android-service in_android ./sonda record -v -t 1s -o service.pftrace sched
ls dev/socket >/out/android-sockets
kill $probes $service
for i in android service; do cp data/local/tmp/$i.pftrace /out; done
cd /
ls /sys/kernel/tracing/instances >/out/instances
tar -C /out -cf /dev/vda . && sync
poweroff -f
INIT
chmod +x "$initramfs/init"
(cd "$initramfs" && find . -print0 | cpio --null --quiet -o -H newc --owner 0:0) >"$tmp/initramfs.cpio"
truncate -s 256M "$tmp/disk"
# Its clock counts instructions, as that of boot.sh.
timeout --foreground "${BOOT_TIMEOUT:-900}" qemu-system-aarch64 -M virt -cpu max -accel tcg,thread=single,tb-size=256 \
  -icount shift=1,sleep=off -smp 2 -m 1G -nodefaults -display none -no-reboot \
  -kernel "$made/vmlinuz" -initrd "$tmp/initramfs.cpio" -append "console=ttyAMA0 panic=-1 loglevel=5" -serial "file:$tmp/console" \
  -drive "file=$tmp/disk,format=raw,if=virtio,cache=unsafe" &
qemu=$!
wait $qemu
status=$?
qemu=
out=$made/out
rm -rf "$out" && mkdir "$out"
tar -xf "$tmp/disk" -C "$out" 2>/dev/null

# ---- what it left ----------------------------------------------------------------------------------------------------

is_status() { # NAME STATUS
  cat "$out/$1.out" "$out/$1.err" && [ "$(cat "$out/$1.status")" = "$2" ]
}
value() { # TRACE SELECT
  "$build/bin/sonda" sql "$out/$1.pftrace" "$2"
}
has() { # TRACE SELECT: which has at least one row
  value "$1" "$2" | tee "$tmp/rows" && [ "$(wc -l <"$tmp/rows")" -gt 1 ]
}
by_peer() { # TRACE
  local rows
  rows=$(TP_ASSETS=$TP_ASSETS node "$root/tests/interop/tpq.mjs" "$out/$1.pftrace" \
    "select name, idx, value from stats where severity in ('error', 'data_loss') and value > 0") && echo "$rows" &&
    [ "$rows" = '[]' ]
}
check "the guest comes to its end" [ $status = 0 ] || tail -n 40 "$tmp/console" | sed 's/^/#   /'
check "it is arm64" [ "$(cat "$out/machine")" = aarch64 ]
echo "# Linux $(cat "$out/release")"
check "doctor reports no fault" is_status doctor 0
check "events are listed" grep -q sched_switch "$out/list.out"
for trace in sched counters syscalls stacks shapes waits static; do check "$trace is recorded" is_status $trace 0; done
check "the exit code of a command is passed on" is_status command 7
check "switches are there" has sched "select ts, cpu, utid from sched limit 1"
check "both CPUs are there" has sched "select 1 where (select count(distinct cpu) from sched) = 2"
check "system calls have names of arm64" has syscalls "select name from slice where name = 'sys_clone' or name = 'sys_execve' or name = 'sys_openat' limit 1"
check "counters of the kernel's own programs are there" has counters "select distinct name from counter_track limit 1"
# The samples of a function with that stack, in percent.
complete() { # FUNCTION STACK
  value shapes "with recursive w(id, error, up, path) as (
      select id, coalesce(unwind_error, 'none'), callsite_id, '' from perf_sample where callsite_id is not null
      union all select w.id, w.error, k.parent_id, coalesce(f.name, '') || ';' || w.path from w
      join stack_profile_callsite k on k.id = w.up join stack_profile_frame f on f.id = k.frame_id)
    select cast(100 * avg(error = 'none' and path glob '_start;*main;$2') as int) as part, count(*) as n from w
    where up is null and path glob '*;$1;*'" | tee "$tmp/rows" | tail -n 1 | { read -r part n && [ "$part" -ge 95 ] && [ "$n" -ge 20 ]; }
}
check "callers of functions without frame pointers are there" complete shape_chain 'shape_chain;shape_chain_2;shape_chain_3;shape_spin;'
check "a stack that is aligned anew" complete shape_aligned 'shape_aligned;shape_spin;'
check "a signal handler with a stack of its own" complete shape_handler 'shape_signal;*;shape_handler;shape_spin;'
check "a call that is a function's end" complete shape_no_return 'shape_jump;shape_last_call;shape_no_return;shape_spin;'
of_known="from slice s join thread_track t on t.id = s.track_id join thread x using (utid)
  where x.tid = $(awk '$1 == "tid" { print $2 }' "$out/waits.out")"
frames() { # COLUMN_PREFIX: functions in the stacks of the waits; end_: of those who ended them
  echo "with recursive w(id, callsite, name) as (
    select slice_id, $1callsite_id, '' from __intrinsic_track_event_callstacks where $1callsite_id is not null
    union all select w.id, k.parent_id, f.name from w
    join stack_profile_callsite k on k.id = w.callsite join stack_profile_frame f on f.id = k.frame_id)
    select s.name, count(distinct s.id) as n from w join slice s on s.id = w.id where s.id in (select s.id $of_known)"
}
check "waits have their reasons" has waits "select 1 where (select count(*) $of_known and s.name = 'sleep') >= 6
  and (select count(*) $of_known and s.name = 'read from pipe') >= 6"
check "the code that ended them" has waits "select 1 where (select sum(n) >= 12 from ($(frames end_)
  and (s.name = 'read from pipe' and w.name glob '*pipe_write' or s.name = 'sleep' and w.name = 'hrtimer_wakeup') group by 1))"
check "the code that waited, without frame pointers" has waits "select 1 where (select sum(n) >= 6 from ($(frames '')
  and w.name = 'main' group by 1))"
check "a program records itself with libsonda-service" is_status itself 0
check "its slices are there" has itself "select name from slice where name = 'part' limit 1"
for verb in top report report-syscalls page sql info cut split json csv sqlite folded static-report; do
  check "$verb works there" is_status $verb 0
done
same() { # RUN VERB ARGUMENT... of sonda, here
  "$build/bin/sonda" "${@:2}" >"$tmp/here" && diff <(sed "s,/out/,$out/," "$out/$1.out") "$tmp/here"
}
check "report prints there what it prints here" same report report "$out/sched.pftrace"
check "the static program reports the same" diff "$out/report.out" "$out/static-report.out"
check "top lists processes" grep -qE '^ *[0-9]+ .*[a-z]' "$out/top.out"
check "the page is whole" grep -q '</html>' "$out/page.html"
check "switches of the part are there" has part "select ts from sched limit 1"
check "rows of the export are there" grep -qE '^[0-9]' "$out/tables/sched.csv"
check "with Android's directories doctor reports no fault" is_status android-doctor 0
check "events are listed where older kernels have tracefs" grep -q sched_switch "$out/android-list.out"
for run in android android-stacks android-report android-service; do check "$run works" is_status $run 0; done
check "processes that hidepid hides have names" has android "select name from process where pid = 1 and name glob '*busybox*'"
check "the service listens in /dev/socket" grep -q traced_consumer "$out/android-sockets"
check "sonda finds it there" bash -c '! grep -q "a private" "$1"' bash "$out/android-service.err"
check "no instance is left" [ ! -s "$out/instances" ]
TP_ASSETS=$("$root/tests/interop/peers.sh" 2>"$tmp/peers.err")/tp
for trace in sched counters syscalls stacks shapes waits static command itself part piece.000 android service; do
  if [ -d "$TP_ASSETS" ]; then
    check "trace_processor reads $trace without an error" by_peer $trace
  else
    n=$((n + 1))
    echo "ok $n - trace_processor reads $trace # SKIP $(tail -n 1 "$tmp/peers.err")"
  fi
done
echo "1..$n"
exit $bad
