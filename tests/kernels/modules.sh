#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# usage: tests/kernels/modules.sh KERNEL
#
# Builds the kernel modules of tests/kernels/modules for a kernel of fetch.sh, with that kernel's headers from Debian and
# this machine's gcc, and prints the directory where they are. What is built is not built again until a source changes.
# Exits with 77 and a reason when they cannot be had: Debian keeps the headers of the newest kernel of a suite only.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/debian.sh"

kernel=${1-}
suite=$(suite_of "$kernel") || { echo "usage: tests/kernels/modules.sh 5.10|6.1|6.12|newest" >&2; exit 2; }
for program in gcc ld make; do
  command -v $program >/dev/null || give_up "$program is missing"
done
image=$("$here/fetch.sh" "$kernel") || exit
version=$(cat "$image/version")
dir=$image/headers
mkdir -p "$dir"
exec 9>"$dir/lock"
flock 9

# ---- the headers ---------------------------------------------------------------------------------------------------

# Debian's programs for the build want Debian's C library of that time.
lend_library() { # PROGRAM...
  local program library
  library=$(find "$dir/lib" "$dir/usr/lib" -name ld-linux-x86-64.so.2 2>/dev/null | head -n 1)
  for program; do
    "$program" </dev/null 2>&1 | grep -q "version .GLIBC_[0-9.]*' not found" || continue
    mv "$program" "$program.theirs"
    printf '#!/bin/sh\nexec %s --library-path %s %s "$@"\n' "$library" "${library%/*}" "$program.theirs" >"$program"
    chmod +x "$program"
  done
}

fetch_headers() {
  local deb build
  packages_open "$dir" "$suite"
  [ -n "$(package_field "linux-headers-$version" Version)" ] || give_up "$suite has no headers of $version any more"
  build=$(package_needs "linux-headers-$version" linux-kbuild)
  # Word splitting is intended.
  # shellcheck disable=SC2046
  packages_fetch "linux-headers-$version" "$build" $(package_needs "linux-headers-$version" linux-headers) \
    $(package_needs "$build" 'libc6|libelf|libssl|zlib')
  for deb in "$dir"/apt/debs/*.deb; do
    dpkg-deb --fsys-tarfile "$deb" | tar -x -C "$dir" --exclude='*/share/doc'
  done
  rm -rf "$dir/apt" "$dir"/usr/src/linux-headers-*/vmlinux # with it, it would want type information
  sed -i "s,\\(include \|KBUILD_OUTPUT=\)/usr/,\1$dir/usr/," "$dir/usr/src/linux-headers-$version/Makefile"
  lend_library "$dir"/usr/lib/linux-kbuild-*/{scripts/mod/modpost*,scripts/genksyms/genksyms*,tools/objtool/objtool*}
  # Options that a later gcc has.
  cat >"$dir/cc" <<'CC'
#!/bin/bash
words=()
for word; do
  case $word in
  -fmin-function-alignment=*) words+=("-falign-functions=${word#*=}") ;;
  *) words+=("$word") ;;
  esac
done
exec gcc "${words[@]}"
CC
  chmod +x "$dir/cc"
  touch "$dir/there"
}

[ -e "$dir/there" ] || fetch_headers

# ---- the modules ---------------------------------------------------------------------------------------------------

built=$dir/modules
sum=$(cat "$here"/modules/* "$0" | md5sum)
if [ "$(cat "$built/sum" 2>/dev/null)" != "$sum" ]; then
  rm -rf "${built:?}"
  mkdir "$built"
  cp "$here"/modules/* "$built"
  {
    echo 'ccflags-y := -I$(src)'
    (cd "$built" && printf 'obj-m += %s\n' *.c) | sed 's/c$/o/'
  } >"$built/Makefile"
  make -C "$dir/usr/src/linux-headers-$version" "M=$built" "CC=$dir/cc" CROSS_COMPILE= modules >"$built/log" 2>&1 ||
    give_up "no modules for $kernel: $(grep -m 1 -i error "$built/log")"
  strip --strip-debug "$built"/*.ko
  echo "$sum" >"$built/sum"
fi
echo "$built"
