#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# make install and uninstall, and the systemd units that are installed.
. "$(dirname "$0")/../lib.sh"
# Says nothing, that is.
verifies() { systemd-analyze verify --man=no "$TMP/usr/lib/systemd/system/$1" >"$TMP/said" 2>&1 && ! grep "$TMP" "$TMP/said"; }

check "it installs" tools/install.sh install "$B" "" "$TMP/usr"
check "the programs run from there" "$TMP/usr/bin/sondad" --version
check "the installed presets are found" eval \
  'HOME=$TMP "$TMP/usr/bin/sonda" describe irq | grep -F "$TMP/usr/share/sonda/presets/irq.cfg"'
check "the links and samples of the docs are there" tests/distros/doc_links.sh "$TMP/usr/share/doc/sonda"
check "pages of the manual name the installed samples" grep -qF "$(sed 's/-/\\-/g' <<<"-c $TMP/usr/share/sonda/configs/")" \
  "$TMP/usr/share/man/man1/sonda-record.1"
check "units name the program's place" grep -q "^ExecStart=$TMP/usr/bin/sondad$" "$TMP/usr/lib/systemd/system/sondad.service"
for unit in sondad.socket sondad-consumer.socket sondad.service sonda-probes.service sonda-recorder.service \
  sonda-metrics.socket sonda-metrics.service sonda-relay.socket sonda-relay.service sonda-ship.service sonda-ship-collect.service; do
  if command -v systemd-analyze >/dev/null; then
    check "$unit is a good unit" verifies $unit
  else
    skip "$unit is a good unit" "no systemd-analyze here"
  fi
done
if systemd-analyze security --help 2>/dev/null | grep -q -- --threshold; then
  check "sonda-probes' unit is exposed by 4.0 at most" \
    systemd-analyze security --offline=true --threshold=40 "$TMP/usr/lib/systemd/system/sonda-probes.service"
  check "the recorder's by 4.0 at most" \
    systemd-analyze security --offline=true --threshold=40 "$TMP/usr/lib/systemd/system/sonda-recorder.service"
  check "that of sonda metrics by 1.5 at most" \
    systemd-analyze security --offline=true --threshold=15 "$TMP/usr/lib/systemd/system/sonda-metrics.service"
  for unit in sonda-ship sonda-ship-collect; do
    check "that of $unit by 1.5 at most" \
      systemd-analyze security --offline=true --threshold=15 "$TMP/usr/lib/systemd/system/$unit.service"
  done
  check "the relay's by 2.0 at most" \
    systemd-analyze security --offline=true --threshold=20 "$TMP/usr/lib/systemd/system/sonda-relay.service"
  check "sondad's by 1.5 at most" \
    systemd-analyze security --offline=true --threshold=15 "$TMP/usr/lib/systemd/system/sondad.service"
else
  skip "exposure of the units" "no systemd-analyze security --threshold here"
fi
# What another project's program needs: only the installed files.
export PKG_CONFIG_PATH=$TMP/usr/lib/pkgconfig
# An example names its packages in its head.
packages_of() { # EXAMPLE
  sed -n 's/.*pkg-config --cflags --libs \([a-z0-9 -]*\)).*/\1/p' "$TMP/usr/share/doc/sonda/examples/$1"
}
builds() { # COMPILER STANDARD EXAMPLE
  "$1" -std="$2" -D_GNU_SOURCE -O1 -Wall -Werror "$TMP/usr/share/doc/sonda/examples/$3" \
    $(pkg-config --cflags --libs $(packages_of "$3")) -pthread -o "$TMP/example"
}
builds_static() { # EXAMPLE
  cc -O1 "$TMP/usr/share/doc/sonda/examples/$1" $(pkg-config --static --cflags --libs $(packages_of "$1") |
    sed 's/-l\(sonda[a-z-]*\)/-l:lib\1.a/g') -pthread -o "$TMP/example" && ! readelf -d "$TMP/example" | grep sonda
}
sanitized=$(nm -D "$TMP/usr/lib/libsonda.so.0" | grep -c '__[at]san_')
for f in examples/*.c; do
  [ "$sanitized" = 0 ] || break
  check "$f builds against the installed library" builds cc gnu11 "${f##*/}"
  check "$f builds with libsonda.a" builds_static "${f##*/}"
done
version=$("$B/bin/sonda" version | sed 's/.* //')
check "pkg-config has the version of the programs" test "$(pkg-config --modversion sonda)" = "$version"
check "the Debian package has the version of the programs" grep -q "^sonda ($version-[0-9]*)" debian/changelog
check "so have the packages of other distributions" eval 'grep -qx "pkgver=$version" packaging/arch/PKGBUILD && grep -q "^Version: *$version$" packaging/rpm/sonda.spec'
check "it uninstalls" tools/install.sh uninstall "$B" "" "$TMP/usr"
check "uninstall leaves nothing" test ! -e "$TMP/usr"
mkdir -p "$TMP/usr/bin" "$TMP/usr/include" "$TMP/usr/share/man/man1"
tools/install.sh install "$B" "" "$TMP/usr" && tools/install.sh install "$B" "" "$TMP/usr"
tools/install.sh uninstall "$B" "" "$TMP/usr"
check "uninstall_leaves_the_dirs_that_were_there_before" test "$(cd "$TMP/usr" && find . | sort | tr '\n' ' ')" = \
  ". ./bin ./include ./share ./share/man ./share/man/man1 "
exit $BAD
