#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# make install and uninstall, and the systemd units that are installed.
set -u
cd "$(dirname "$0")/../.." || exit 2
tmp=$(mktemp -d)
trap '[ "$BASHPID" != $$ ] || rm -rf "$tmp"' EXIT

n=0 bad=0
check() { # NAME COMMAND...
  local name=$1
  shift
  n=$((n + 1))
  if "$@" >"$tmp/out" 2>&1; then echo "ok $n - $name"; else
    echo "not ok $n - $name"
    sed 's/^/#   /' "$tmp/out"
    bad=1
  fi
}
# Says nothing, that is.
verifies() { systemd-analyze verify --man=no "$tmp/usr/lib/systemd/system/$1" >"$tmp/said" 2>&1 && ! grep "$tmp" "$tmp/said"; }

check "it installs" tools/install.sh install "$BUILD" "" "$tmp/usr"
check "the programs run from there" "$tmp/usr/bin/sondad" --version
check "the installed presets are found" eval \
  'HOME=$tmp "$tmp/usr/bin/sonda" describe irq | grep -F "$tmp/usr/share/sonda/presets/irq.cfg"'
check "the links and samples of the docs are there" tests/distros/doc_links.sh "$tmp/usr/share/doc/sonda"
check "pages of the manual name the installed samples" grep -qF "$(sed 's/-/\\-/g' <<<"-c $tmp/usr/share/sonda/configs/")" \
  "$tmp/usr/share/man/man1/sonda-record.1"
check "units name the program's place" grep -q "^ExecStart=$tmp/usr/bin/sondad$" "$tmp/usr/lib/systemd/system/sondad.service"
for unit in sondad.socket sondad-consumer.socket sondad.service sonda-probes.service; do
  if command -v systemd-analyze >/dev/null; then
    check "$unit is a good unit" verifies $unit
  else
    n=$((n + 1))
    echo "ok $n - $unit is a good unit # SKIP no systemd-analyze here"
  fi
done
if systemd-analyze security --help 2>/dev/null | grep -q -- --threshold; then
  check "sonda-probes' unit is exposed by 4.0 at most" \
    systemd-analyze security --offline=true --threshold=40 "$tmp/usr/lib/systemd/system/sonda-probes.service"
  check "sondad's by 1.5 at most" \
    systemd-analyze security --offline=true --threshold=15 "$tmp/usr/lib/systemd/system/sondad.service"
else
  n=$((n + 1))
  echo "ok $n - exposure of the units # SKIP no systemd-analyze security --threshold here"
fi
# What a program of somebody else's needs: the installed files alone.
export PKG_CONFIG_PATH=$tmp/usr/lib/pkgconfig
# An example names its packages in its head.
packages_of() { # EXAMPLE
  sed -n 's/.*pkg-config --cflags --libs \([a-z0-9 -]*\)).*/\1/p' "$tmp/usr/share/doc/sonda/examples/$1"
}
builds() { # COMPILER STANDARD EXAMPLE
  "$1" -std="$2" -D_GNU_SOURCE -O1 -Wall -Werror "$tmp/usr/share/doc/sonda/examples/$3" \
    $(pkg-config --cflags --libs $(packages_of "$3")) -pthread -o "$tmp/example"
}
builds_static() { # EXAMPLE
  cc -O1 "$tmp/usr/share/doc/sonda/examples/$1" $(pkg-config --static --cflags --libs $(packages_of "$1") |
    sed 's/-l\(sonda[a-z-]*\)/-l:lib\1.a/g') -pthread -o "$tmp/example" && ! readelf -d "$tmp/example" | grep sonda
}
sanitized=$(nm -D "$tmp/usr/lib/libsonda.so.0" | grep -c '__[at]san_')
for f in examples/*.c; do
  [ "$sanitized" = 0 ] || break
  check "$f builds against the installed library" builds cc gnu11 "${f##*/}"
  check "$f builds with libsonda.a" builds_static "${f##*/}"
done
version=$("$BUILD/bin/sonda" version | sed 's/.* //')
check "pkg-config has the version of the programs" test "$(pkg-config --modversion sonda)" = "$version"
check "the Debian package has the version of the programs" grep -q "^sonda ($version)" debian/changelog
check "it uninstalls" tools/install.sh uninstall "$BUILD" "" "$tmp/usr"
check "uninstall leaves nothing" test ! -e "$tmp/usr"
mkdir -p "$tmp/usr/bin" "$tmp/usr/include" "$tmp/usr/share/man/man1"
tools/install.sh install "$BUILD" "" "$tmp/usr" && tools/install.sh install "$BUILD" "" "$tmp/usr"
tools/install.sh uninstall "$BUILD" "" "$tmp/usr"
check "uninstall_leaves_the_folders_that_were_there_before" test "$(cd "$tmp/usr" && find . | sort | tr '\n' ' ')" = \
  ". ./bin ./include ./share ./share/man ./share/man/man1 "
exit $bad
