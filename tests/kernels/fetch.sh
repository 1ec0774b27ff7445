#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# usage: tests/kernels/fetch.sh KERNEL | --remove
#
# Brings one of Debian's kernels to this machine, outside the repository, from the mirror that this machine uses
# already, and prints its directory: DIR/vmlinuz, DIR/config, DIR/lib/modules/VERSION, DIR/version. KERNEL is
#
#     5.10     Debian 11
#     6.1      Debian 12
#     6.12     Debian 13
#     newest   Debian unstable, whatever it has when it is fetched first
#
# KERNEL_DIR chooses the directory of all kernels (${TMPDIR:-/tmp}/sonda-kernels). Exits with 77 and a reason when the kernel
# cannot be had. What is there is not fetched again: --remove (make clean-kernels) removes it, some 400 MB.
set -eu
all=${KERNEL_DIR:-${TMPDIR:-/tmp}/sonda-kernels}
if [ "${1-}" = --remove ]; then
  # Nothing but what this script and modules.sh put there.
  rm -rf "${all:?}"/{5.10,6.1,6.12,newest}
  [ ! -e "$all" ] || rmdir "$all"
  exit
fi
. "$(dirname "$0")/debian.sh"

kernel=${1-}
suite=$(suite_of "$kernel") || { echo "usage: tests/kernels/fetch.sh 5.10|6.1|6.12|newest" >&2; exit 2; }
[ "$(uname -m)" = x86_64 ] || give_up "the script knows x86_64 only"
for program in apt-get dpkg-deb depmod; do
  PATH=$PATH:/usr/sbin:/sbin command -v $program >/dev/null || give_up "$program is missing"
done

dir=$all/$kernel
mkdir -p "$dir"
exec 9>"$dir/lock"
flock 9
if [ -e "$dir/version" ]; then
  echo "$dir"
  exit 0
fi

rm -rf "${dir:?}"/{lib,boot,usr}
packages_open "$dir" "$suite"
image=$(package_needs linux-image-amd64 linux-image- | head -n 1)
[ -n "$image" ] || give_up "$suite has no linux-image-amd64"
# Newer packages are in parts. Word splitting is intended.
# shellcheck disable=SC2046
packages_fetch "$image" $(package_needs "$image" 'linux-(base|binary|modules)-[0-9]')

# Most of the modules drive hardware that is not there.
for deb in "$dir"/apt/debs/*.deb; do
  dpkg-deb --fsys-tarfile "$deb" | tar -x -C "$dir" --wildcards --wildcards-match-slash \
    --exclude='*/kernel/drivers/[!bcnv]*' --exclude='*/kernel/drivers/n[!e]*' --exclude='*/kernel/drivers/net/[!nv]*' \
    --exclude='*/kernel/drivers/net/*/*' --exclude='*/kernel/drivers/vfio*' --exclude='*/kernel/drivers/bluetooth' \
    --exclude='*/kernel/sound' --exclude='*/share/doc' --exclude='*/share/lintian'
done
version=${image#linux-image-}
modules=$dir/lib/modules/$version
[ -d "$modules" ] || { mkdir -p "$dir/lib" && mv "$dir/usr/lib/modules" "$dir/lib/modules"; }
for file in vmlinuz config; do
  if [ -e "$dir/boot/$file-$version" ]; then mv "$dir/boot/$file-$version" "$dir/$file"; else mv "$modules/$file" "$dir"; fi
done
PATH=$PATH:/usr/sbin:/sbin depmod -b "$dir" "$version"
rm -rf "${dir:?}"/{apt,boot,usr} "$modules/System.map"
echo "$version" >"$dir/version.new"
mv "$dir/version.new" "$dir/version"
echo "$dir"
