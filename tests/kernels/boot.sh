#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# usage: tests/kernels/boot.sh [OPTION...] KERNEL [-- COMMAND [ARGUMENT...]]
#
# Boots a Debian kernel (5.10, 6.1, 6.12, newest: see fetch.sh) in an emulator, with the programs of $BUILD (build) and
# the tests, and runs COMMAND there as root: what it says comes out here, its exit code is the exit code. One word is a
# shell line. Without COMMAND: a shell. A boot takes some 10 seconds.
#
#     tests/kernels/boot.sh 6.1 -- 'cat /sys/kernel/tracing/available_tracers'
#     tests/kernels/boot.sh -o /tmp/here 6.12 -- 'build/bin/sonda record -t 2s -o /out/trace sched "irq/*"'
#     tests/kernels/boot.sh newest -- tests/root/test_record.sh
#     tests/kernels/boot.sh 5.10                                # a shell; "exit" ends it
#     tests/kernels/boot.sh -k 'trace_instance=foo' --boots 2 newest -- '[ $BOOT = 2 ] || warm_reboot; ls /out'
#
#     -o, --out DIR       what COMMAND leaves in the guest's /out is put there
#     -a, --add PATH         a file or directory of this machine, at the same place there (repeatable)
#     -w, --with PROGRAM     a program of this machine, with its libraries (repeatable)
#     -m, --module NAME      a kernel module, with those that it needs, loaded before COMMAND (repeatable)
#     -b, --build            the modules of tests/kernels/modules in /modules there, not loaded; /modules/why if they cannot be had
#     -k, --append WORDS     of the kernel's command line (repeatable)
#     -t, --timeout SECONDS  for all of it (120)
#         --boots N          how often it may boot (1); memory survives the guest's "warm_reboot", as does /out, and
#                            $BOOT counts from 1
#         --smp CPUS         as qemu has it (2,maxcpus=4; before Linux 6.5: 1,maxcpus=4, see below)
#         --memory SIZE      (1G)
#         --real-time        the guest's clock is that of this machine
#         --cpu-threads      with --real-time: each CPU is a thread "CPU N/TCG" of qemu
#         --network          a network card eth0, on which 10.0.2.2 is this machine's 127.0.0.1
#     -v, --verbose          the kernel's console on stderr
#
# There: this repository's tests/, configs/ and $BUILD (as build/) under /sonda, which is the current directory; tracefs,
# debugfs, /tmp, /dev/shm, cgroup2 mounted; bash, coreutils and friends of this machine, busybox for the rest. $KERNEL
# is the name above. `monitor LINE` gives qemu's monitor a command .
#
# Exit codes: COMMAND's; 77 when the kernel or qemu cannot be had (the reason on stderr), 124 at the timeout, 125 when
# the guest died (the end of its console on stderr).
#
#     host                           guest
#     stdin, stdout   <-- ttyS1 -->  COMMAND
#     console file    <-- ttyS0 ---  kernel
#     qemu's monitor  <-- ttyS2 -->  monitor
#     disk image      <-- vda  --->  tar of /out, with the exit code and the number of boots
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)

usage() {
  sed -n '/^# usage/,/^set -u/{/^#/s/^# \{0,1\}//p}' "$0"
  exit "$1"
}
give_up() {
  echo "kernels: $*" >&2
  exit 77
}

out='' add=() with=() modules=(virtio_pci virtio_blk) own='' append='' limit=120 boots=1 smp='' memory=1G clock=(-icount "shift=1,sleep=off") threads=single network=()
verbose=''
while [ $# -gt 0 ]; do
  case $1 in
  -o | --out) out=$2 && shift ;;
  -a | --add) add+=("$(realpath "$2")") && shift ;;
  -w | --with) with+=("$2") && shift ;;
  -m | --module) modules+=("$2") && shift ;;
  -b | --build) own=1 ;;
  -k | --append) append="$append $2" && shift ;;
  -t | --timeout) limit=$2 && shift ;;
  --boots) boots=$2 && shift ;;
  --smp) smp=$2 && shift ;;
  --memory) memory=$2 && shift ;;
  --real-time) clock=() && smp=${smp:-2,maxcpus=4} ;;
  --cpu-threads) threads=multi ;;
  --network) modules+=(virtio_net) && network=(-netdev user,id=network -device "virtio-net-pci,netdev=network,romfile=") ;;
  -v | --verbose) verbose=1 ;;
  -h | --help) usage 0 ;;
  -*) usage 2 >&2 ;;
  *) break ;;
  esac
  shift
done
[ $# -gt 0 ] || usage 2 >&2
kernel=$1
shift
[ $# = 0 ] || [ "$1" = -- ] || usage 2 >&2
[ $# = 0 ] || shift
case $# in
0) command= ;;
1) command=$1 ;;
*) command=$(printf '%q ' "$@") ;;
esac

build=${BUILD:-build}
case $build in /*) ;; *) build=$root/$build ;; esac
PATH=$PATH:/usr/sbin:/sbin
for program in qemu-system-x86_64 busybox cpio modprobe strip xz; do
  command -v $program >/dev/null || give_up "$program is missing (make deps installs it)"
done
ldd "$(command -v busybox)" >/dev/null 2>&1 && give_up "busybox is not static (Debian: busybox-static)"
dir=$("$here/fetch.sh" "$kernel") || exit
version=$(cat "$dir/version")

tmp=$(mktemp -d)
qemu=
finish() {
  [ -z "$qemu" ] || { kill "$qemu" && wait "$qemu"; } 2>/dev/null
  rm -rf "$tmp"
}
trap '[ "$BASHPID" != $$ ] || finish' EXIT
trap 'exit 130' INT TERM HUP

# ---- what the guest's root directory holds ----------------------------------------------------------------------------

initramfs=$tmp/initramfs
mkdir -p "$initramfs"/{bin,dev,etc,lib,out,proc,root,run,sys,tmp,var/tmp,modules,sonda/build}
ln -s ../bin "$initramfs/sbin"
mkdir "$initramfs/usr"
ln -s ../bin "$initramfs/usr/bin"
ln -s ../bin "$initramfs/usr/sbin"
ln -s ../lib "$initramfs/usr/lib"
ln -s lib "$initramfs/lib64"
cp "$(command -v busybox)" "$initramfs/bin/busybox"
cp "$here/init" "$initramfs/init"

# Programs whose options the tests know from coreutils and util-linux; busybox lends its names where there are none.
for program in bash awk bc cat chmod chown chrt cksum cmp comm cp cut date dd diff dirname basename env expr fallocate \
  find flock getconf getopt grep head id kill ln ls md5sum mkdir mkfifo mktemp mount mv nice nproc od pgrep pidof printf ps \
  readlink realpath renice rm rmdir sed seq setpriv setsid sha256sum sleep sort split stat stdbuf strace stty sync tail \
  tar taskset tee timeout touch tr truncate umount uname uniq unshare wc xargs "${with[@]}"; do
  path=$(type -P "$program") && cp -L "$path" "$initramfs/bin/${program##*/}"
done

# The programs and the helpers of the tests, without what only a debugger reads.
(cd "$build" && find bin static tests/root tests/system tests/interop bench -type f -perm -u+x 2>/dev/null) |
  while IFS= read -r file; do
    mkdir -p "$initramfs/sonda/build/${file%/*}"
    # Tests look for functions of their own programs.
    case $file in tests/*) what=--strip-debug ;; *) what=--strip-all ;; esac
    strip $what -o "$initramfs/sonda/build/$file" "$build/$file" 2>/dev/null
  done
if [ -d "$build/gen/bpf/examples" ]; then
  mkdir -p "$initramfs/sonda/build/gen/bpf" && cp -r "$build/gen/bpf/examples" "$initramfs/sonda/build/gen/bpf/"
fi
tar -C "$root" -c --exclude='tests/fuzz' --exclude='tests/unit' --exclude='*.c' --exclude='*.h' --exclude='tests/data/traces' \
  tests configs | tar -C "$initramfs/sonda" -x
for path in "${add[@]}"; do
  mkdir -p "$initramfs${path%/*}"
  cp -RL "$path" "$initramfs${path%/*}/"
done

# Shared libraries, and the loader where programs look for it.
find "$initramfs" -type f -perm -u+x -exec ldd {} + 2>/dev/null |
  awk '$2 == "=>" && $3 ~ /^\// { print $3 } $1 ~ /^\// && $1 !~ /:$/ { print $1 }' | sort -u |
  while IFS= read -r library; do
    case $library in /lib/* | /lib64/* | /usr/lib/*) place=$initramfs/lib/${library##*/} ;; *) place=$initramfs$library ;; esac
    mkdir -p "${place%/*}"
    cp -L "$library" "$place"
  done
mkdir -p "$initramfs/etc/ld.so.conf.d"

# Modules in the order in which they are loaded, plain.
for module in "${modules[@]}"; do
  modprobe -d "$dir" -S "$version" --show-depends "$module" >"$tmp/depends" 2>"$tmp/err" ||
    { cat "$tmp/err" >&2; give_up "$kernel has no module $module (make clean-kernels, if an older script fetched it)"; }
  awk '$1 == "insmod" { print $2 }' "$tmp/depends"
done | awk '!seen[$0]++' | while IFS= read -r file; do
  name=${file##*/}
  name=${name%%.ko*}.ko
  case $file in
  *.xz) xz -dc "$file" ;;
  *.zst) zstd -qdc "$file" ;;
  *) cat "$file" ;;
  esac >"$initramfs/modules/$name"
  echo "$name" >>"$initramfs/modules/order"
done
touch "$initramfs/modules/order"
if [ -z "$own" ]; then
  :
elif directory=$("$here/modules.sh" "$kernel" 2>"$initramfs/modules/why"); then
  cp "$directory"/*.ko "$initramfs/modules"
fi

echo 'root:x:0:0:root:/root:/bin/bash' >"$initramfs/etc/passwd"
echo 'nobody:x:65534:65534:nobody:/:/bin/false' >>"$initramfs/etc/passwd"
printf 'root:x:0:\nnogroup:x:65534:\n' >"$initramfs/etc/group"
echo "127.0.0.1 localhost" >"$initramfs/etc/hosts"
[ -z "$command" ] || printf '%s\n' "$command" >"$initramfs/command"
printf 'export KERNEL=%q BOOTS=%q COLUMNS=%q LINES=%q\n' "$kernel" "$boots" "${COLUMNS:-}" "${LINES:-}" >"$initramfs/env"
chmod 755 "$initramfs" && chmod 1777 "$initramfs/tmp" "$initramfs/var/tmp"
(cd "$initramfs" && find . -print0 | cpio --null --quiet -o -H newc --owner 0:0) >"$tmp/initramfs.cpio" || exit 125

# Older kernels wait for a CPU that comes without a pause, and the clock of instructions goes on to another CPU at pauses
# only: they would wait forever.
case $kernel in 5.10 | 6.1) : "${smp:=1,maxcpus=4}" ;; *) : "${smp:=2,maxcpus=4}" ;; esac

# ---- the machine ---------------------------------------------------------------------------------------------------

# The third serial port and the monitor, back to back.
mkfifo "$tmp/to-guest" "$tmp/to-monitor"
ln -s to-guest "$tmp/port.in" && ln -s to-monitor "$tmp/port.out"
ln -s to-monitor "$tmp/monitor.in" && ln -s to-guest "$tmp/monitor.out"
# Its clock counts instructions, two nanoseconds each, and leaps over the time in which it has nothing to do: a guest
# sees a machine of this speed, however busy the real one is, and never waits for it.
machine=(-M pc -cpu max -accel "tcg,thread=$threads,tb-size=256" "${clock[@]}" -smp "$smp" -m "$memory" -nodefaults -display none
  -name guest,debug-threads=on "${network[@]}"
  -kernel "$dir/vmlinuz" -initrd "$tmp/initramfs.cpio"
  -append "console=ttyS0,115200 loglevel=5 panic=-1 mitigations=off nokaslr tsc=reliable random.trust_cpu=on apparmor=0 audit=0$append"
  -drive "file=$tmp/disk,format=raw,if=virtio,cache=unsafe"
  -serial "file:$tmp/console"
  -chardev "stdio,id=command,signal=off" -serial chardev:command
  -chardev "pipe,id=port,path=$tmp/port" -serial chardev:port
  -chardev "pipe,id=monitor,path=$tmp/monitor" -mon "chardev=monitor,mode=control")
[ "$boots" -gt 1 ] || machine+=(-no-reboot)
[ -z "$verbose" ] || { tail -f "$tmp/console" >&2 & trap '[ "$BASHPID" != $$ ] || { kill '$!' 2>/dev/null; finish; }' EXIT; }

# Starts it; what it left in /out is in $tmp/out then.
run() {
  rm -rf "$tmp/out" "$tmp/disk"
  mkdir "$tmp/out"
  truncate -s 1G "$tmp/disk"
  timeout --foreground --kill-after=5 "$limit" qemu-system-x86_64 "${machine[@]}" <&0 2>"$tmp/qemu.err" &
  qemu=$!
  wait $qemu
  status=$?
  qemu=
  cat "$tmp/qemu.err" >&2
  tar -xf "$tmp/disk" -C "$tmp/out" 2>/dev/null
}

touch "$tmp/console"
tty=$(stty -g 2>/dev/null)
run
# One that dies before it has said a word of ours dies of the emulation.
if [ $status = 0 ] && [ ! -e "$tmp/out/.boot" ]; then
  echo "kernels: $kernel died while it booted, once more" >&2
  run
fi
[ -z "$tty" ] || stty "$tty"

if [ -n "$out" ]; then
  mkdir -p "$out" && (cd "$tmp/out" && tar -c --exclude=./.status --exclude=./.boot .) | tar -x -C "$out"
fi
if [ $status = 124 ]; then
  echo "kernels: $kernel: not done after $limit s" >&2
elif [ -s "$tmp/out/.status" ]; then
  exit "$(cat "$tmp/out/.status")"
else
  echo "kernels: $kernel: the guest died" >&2
  status=125
fi
[ -n "$verbose" ] || tail -n 40 "$tmp/console" >&2
exit $status
