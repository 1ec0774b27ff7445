#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# usage: tests/distros/cross.sh DIR        in a clean chroot, as root: tests/kernels/arm64.sh runs it there
#
# Builds the programs for arm64 with Debian's cross compiler and its libraries of that architecture, as README.md
# says. DIR gets programs, static program, a program that records itself with libsonda-service, their libraries, a
# busybox, and Debian's kernel with the modules of a disk.
set -eu
to=$1
export DEBIAN_FRONTEND=noninteractive
dpkg --add-architecture arm64
apt-get update
packages() { sed -n "/^Build-Depends:/,/^[A-Z]/s/^ \([a-z0-9.+-]*\).*/\1/p" debian/control; }
native=$(packages | grep -vE -- '-dev$|^debhelper' | paste -sd' ')
foreign=$(packages | grep -E -- '-dev$' | grep -vE 'uthash|cmocka' | sed 's/$/:arm64/' | paste -sd' ')
# Word splitting is intended.
# shellcheck disable=SC2086
apt-get install -y --no-install-recommends make gcc libc6-dev gcc-aarch64-linux-gnu libc6-dev-arm64-cross uthash-dev kmod $native $foreign
make -j"$(nproc)" CROSS=aarch64-linux-gnu- B=build/arm64 EBPF=yes programs static

mkdir -p "$to/bin" "$to/static" "$to/lib"
for file in build/arm64/bin/*; do aarch64-linux-gnu-strip -o "$to/bin/${file##*/}" "$file"; done
cp build/arm64/static/sonda "$to/static"
aarch64-linux-gnu-gcc -O2 -fomit-frame-pointer -o "$to/bin/stack_shapes" tests/root/stack_shapes.c -ldl
aarch64-linux-gnu-gcc -O2 -fomit-frame-pointer -pthread -o "$to/bin/known_waits" tests/root/known_waits.c
aarch64-linux-gnu-gcc -Iinclude examples/record_itself.c -Lbuild/arm64/lib -lsonda-service -lsonda -Wl,--allow-shlib-undefined \
  -o "$to/bin/record_itself"
for library in build/arm64/lib/libsonda*.so.0; do aarch64-linux-gnu-strip -o "$to/lib/${library##*/}" "$library"; done
# Their libraries, those of these, and the loader.
list() { aarch64-linux-gnu-objdump -p "$@" | awk '$1 == "NEEDED" { print $2 }' | sort -u; }
copy() { # FILE...
  local name
  for name in $(list "$@"); do
    [ ! -e "$to/lib/$name" ] || continue
    for directory in /lib /usr/lib; do
      [ ! -e "$directory/aarch64-linux-gnu/$name" ] || cp -L "$directory/aarch64-linux-gnu/$name" "$to/lib"
    done
    copy "$to/lib/$name"
  done
}
copy "$to"/bin/* "$to"/lib/libsonda*.so.0

cd "$to"
image=$(apt-cache depends linux-image-arm64:arm64 | awk '/Depends: linux-image-[0-9]/ { print $2; exit }')
apt-get download busybox-static:arm64 "$image"
mkdir -p kernel busybox
dpkg-deb -x busybox-static*.deb busybox
dpkg-deb --fsys-tarfile linux-image*.deb | tar -x -C kernel --wildcards ./boot/vmlinuz\* './lib/modules/*'
cp kernel/boot/vmlinuz* vmlinuz
cp "$(find busybox/bin busybox/usr/bin -name busybox -type f -print -quit 2>/dev/null)" bin/busybox
version=$(basename kernel/lib/modules/*)
depmod -b kernel "$version"
mkdir modules
for module in virtio_pci virtio_blk; do
  modprobe -d kernel -S "$version" --show-depends $module
done | awk '$1 == "insmod" && !seen[$2]++ { print $2 }' | while IFS= read -r file; do
  cp "$file" modules
  echo "${file##*/}" >>modules/order
done
touch modules/order
echo "$version" >version
rm -rf kernel busybox ./*.deb
