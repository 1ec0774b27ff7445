#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# usage: tests/kernels/fetch.sh KERNEL
#
# Brings one of Debian's kernels to this machine, outside the repository, from the mirror that this machine uses
# already, and prints its folder: FOLDER/vmlinuz, FOLDER/config, FOLDER/lib/modules/VERSION, FOLDER/version. KERNEL is
#
#     5.10     Debian 11
#     6.1      Debian 12
#     6.12     Debian 13
#     newest   Debian unstable, whatever it has when it is fetched first
#
# KERNEL_DIR chooses the folder of folders (${TMPDIR:-/tmp}/sonda-kernels). Exits with 77 and a reason when the kernel
# cannot be had. What is there is not fetched again: remove the folder for a newer one.
set -eu
all=${KERNEL_DIR:-${TMPDIR:-/tmp}/sonda-kernels}

give_up() {
  echo "kernels: $*" >&2
  exit 77
}

kernel=${1-}
case $kernel in
5.10) suite=bullseye ;;
6.1) suite=bookworm ;;
6.12) suite=trixie ;;
newest) suite=sid ;;
*) echo "usage: tests/kernels/fetch.sh 5.10|6.1|6.12|newest" >&2; exit 2 ;;
esac
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

# awk gives up at a file that is not there, and many machines have no sources.list.
mirror=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/*.sources /etc/apt/sources.list.d/*.list 2>/dev/null |
  awk '$1 == "URIs:" { print $2; exit }
    $1 == "deb" { for (i = 2; i <= NF; i++) if ($i ~ /:\/\//) { print $i; exit } }' || true)
[ -n "$mirror" ] || give_up "no Debian mirror in /etc/apt"

rm -rf "${dir:?}"/{apt,lib,boot,usr}
mkdir -p "$dir/apt/lists/partial" "$dir/apt/debs"
echo "deb $mirror $suite main" >"$dir/apt/sources"
apt=(-o "Dir::State::Lists=$dir/apt/lists" -o "Dir::Etc::SourceList=$dir/apt/sources" -o Dir::Etc::SourceParts=/dev/null
  -o "Dir::Cache=$dir/apt/cache" -o Acquire::Languages=none -o APT::Sandbox::User=root)
fields() { # PACKAGE FIELD
  apt-cache "${apt[@]}" show --no-all-versions "$1" 2>/dev/null | sed -n "s/^$2: //p"
}
apt-get "${apt[@]}" update >"$dir/log" 2>&1 || give_up "no package lists of $suite (see $dir/log)"
image=$(fields linux-image-amd64 Depends | tr ',' '\n' | awk '$1 ~ /^linux-image-/ { print $1; exit }')
[ -n "$image" ] || give_up "$suite has no linux-image-amd64"
# Newer packages are in parts.
parts=$(fields "$image" Depends | tr ',' '\n' | awk '$1 ~ /^linux-(base|binary|modules)-[0-9]/ { print $1 }')
# Word splitting is meant: $parts is a list.
# shellcheck disable=SC2086
(cd "$dir/apt/debs" && apt-get "${apt[@]}" download "$image" $parts) >>"$dir/log" 2>&1 ||
  give_up "$image cannot be fetched (see $dir/log)"

# Most of the modules drive hardware that is not there.
for deb in "$dir"/apt/debs/*.deb; do
  dpkg-deb --fsys-tarfile "$deb" | tar -x -C "$dir" --wildcards --wildcards-match-slash \
    --exclude='*/kernel/drivers/[!bcv]*' --exclude='*/kernel/drivers/vfio*' --exclude='*/kernel/drivers/bluetooth' \
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
