#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# usage: tests/distros/booted.sh 12|13|sid DIR
#
# The packages of DIR (make deb) in a guest: Debian's RELEASE on a disk, made by debootstrap, with its kernel and with
# systemd, in an emulator. It boots twice. In the first boot the packages are installed and the units enabled, as
# README.Debian says; after the second boot the daemons start by their sockets, users record, a program records itself with
# libsonda-service0 (record_itself of DIR, which installed.sh leaves there), and all of it is upgraded and purged
# (booted-guest.sh). Speaks TAP. Takes some ten minutes on a machine without KVM, and root for debootstrap.
#
# Exit codes: 0 all good, 1 one failed, 2 the command line or DIR is wrong, 77 it cannot run here (the reason on stderr).
#
#     host                          guest
#     stdout          <-- ttyS1 --- booted-guest.sh
#     console file    <-- ttyS0 --- kernel and systemd; printed if the guest does not come to its end
#     disk image      <-- vda  ---  /, ext4
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
give_up() { # REASON
  echo "booted: $*" >&2
  exit 77
}
case ${1:-} in
12) suite=bookworm kernel=6.1 smp=1 ;; # boot.sh says why
13) suite=trixie kernel=6.12 smp=2 ;;
sid) suite=sid kernel=newest smp=2 ;;
*) sed -n '/^# usage/,/^set -u/{/^#/s/^# \{0,1\}//p}' "$0" >&2; exit 2 ;;
esac
debs=$(realpath "${2:-}") || exit 2
for package in sonda libsonda0 libsonda-service0; do
  compgen -G "$debs/${package}_*.deb" >/dev/null || { echo "booted: $debs has no ${package}_*.deb; run: make deb" >&2; exit 2; }
done
[ "$(id -u)" = 0 ] || give_up "debootstrap needs root"
PATH=$PATH:/usr/sbin:/sbin
for program in debootstrap qemu-system-x86_64 busybox cpio modprobe mkfs.ext4 xz; do
  command -v $program >/dev/null || give_up "$program is missing"
done
# shellcheck source=tests/distros/lib.sh
. "$here/lib.sh"
qemu=
finish() {
  [ -z "$qemu" ] || { kill "$qemu" && wait "$qemu"; } 2>/dev/null
  rm -rf --one-file-system "$tmp"
}
trap '[ "$BASHPID" != $$ ] || finish' EXIT
trap 'exit 130' INT TERM HUP

dir=$("$root/tests/kernels/fetch.sh" "$kernel") || exit
mirror=$(. "$root/tests/kernels/debian.sh" && debian_mirror)
[ -n "$mirror" ] || give_up "no Debian mirror in /etc/apt"

# ---- its disk --------------------------------------------------------------------------------------------------------

disk=$tmp/root
debootstrap --variant=minbase --include="systemd-sysv,libpam-systemd,dbus,adduser,procps,$(needs_of "$debs" | paste -sd,)" \
  "$suite" "$disk" "$mirror" >"$tmp/log" 2>&1 || { tail -n 5 "$tmp/log" >&2; give_up "debootstrap failed"; }
rm -rf "$disk"/var/cache/apt/* "$disk"/var/lib/apt/lists/* "$disk"/usr/share/{doc,locale}/*
mkdir "$disk/debs" "$disk/checks"
cp "$debs"/sonda_*.deb "$debs"/libsonda0_*.deb "$debs"/libsonda-service0_*.deb "$disk/debs"
[ ! -e "$debs/record_itself" ] || cp "$debs/record_itself" "$disk/checks"
cp "$here/lib.sh" "$here/booted-guest.sh" "$disk/checks"
echo guest >"$disk/etc/hostname"
echo '/dev/vda / ext4 defaults 0 0' >"$disk/etc/fstab"
cat >"$disk/etc/systemd/system/checks.service" <<'UNIT'
[Unit]
Description=Checks of the packages
SuccessAction=poweroff-force
FailureAction=poweroff-force
[Service]
Type=idle
ExecStart=/checks/booted-guest.sh
StandardOutput=file:/dev/ttyS1
StandardError=journal+console
Environment=HOME=/root
[Install]
WantedBy=multi-user.target
UNIT
# Without udev the terminal of the console never comes, and systemd would wait for it.
ln -s /dev/null "$disk/etc/systemd/system/serial-getty@ttyS0.service"
ln -s ../checks.service "$disk/etc/systemd/system/multi-user.target.wants/checks.service"
mkfs.ext4 -q -d "$disk" "$tmp/disk" 2G || exit 1
rm -rf --one-file-system "$disk"

# ---- what mounts it --------------------------------------------------------------------------------------------------

initramfs=$tmp/initramfs
mkdir -p "$initramfs"/{bin,dev,proc,modules,new}
cp "$(command -v busybox)" "$initramfs/bin/busybox"
for module in virtio_pci virtio_blk ext4; do
  modprobe -d "$dir" -S "$(cat "$dir/version")" --show-depends $module
done | awk '$1 == "insmod" && !seen[$2]++ { print $2 }' | while IFS= read -r file; do
  name=$(basename "${file%%.ko*}").ko
  case $file in *.xz) xz -dc "$file" ;; *.zst) zstd -qdc "$file" ;; *) cat "$file" ;; esac >"$initramfs/modules/$name"
  echo "$name" >>"$initramfs/modules/order"
done
cat >"$initramfs/init" <<'INIT'
#!/bin/busybox sh
busybox mount -t devtmpfs none /dev
while read -r module; do busybox insmod "/modules/$module"; done </modules/order
until [ -b /dev/vda ]; do busybox sleep 0.1; done
busybox mount -t ext4 /dev/vda /new
busybox mount --move /dev /new/dev
exec busybox switch_root /new /sbin/init
INIT
chmod +x "$initramfs/init"
(cd "$initramfs" && find . -print0 | cpio --null --quiet -o -H newc --owner 0:0) >"$tmp/initramfs.cpio"

# ---- two boots -------------------------------------------------------------------------------------------------------

# Its clock counts instructions, as that of tests/kernels/boot.sh: a guest sees a machine of one speed.
for boot in 1 2; do
  timeout --foreground "${BOOT_TIMEOUT:-1800}" qemu-system-x86_64 -M pc -cpu max -accel tcg,thread=single,tb-size=256 \
    -icount shift=1,sleep=off -smp $smp,maxcpus=4 -m 1G -nodefaults -display none -no-reboot \
    -kernel "$dir/vmlinuz" -initrd "$tmp/initramfs.cpio" \
    -append "console=ttyS0,115200 panic=-1 mitigations=off systemd.show_status=1 checks.boot=$boot" \
    -drive "file=$tmp/disk,format=raw,if=virtio,cache=unsafe" -serial "file:$tmp/console" -serial "file:$tmp/checks" &
  qemu=$!
  wait $qemu
  status=$?
  qemu=
  sed "s/^\(ok\|not ok\) [0-9]* - /\1 - boot $boot: /; s/\r//" "$tmp/checks" | tee -a "$tmp/all"
  if [ $status != 0 ] || ! grep -q '^# the end' "$tmp/checks"; then
    echo "not ok - boot $boot: the guest comes to its end (qemu: $status)"
    tail -n 60 "$tmp/console" | sed 's/^/#   /'
    exit 1
  fi
done
echo "1..$(grep -cE '^(not )?ok ' "$tmp/all")"
! grep -q '^not ok' "$tmp/all"
