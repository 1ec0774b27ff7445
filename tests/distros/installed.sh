#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# usage: tests/distros/installed.sh FOLDER        in a clean chroot, as root: run.sh with DEBS=FOLDER runs it there
#
# The packages of FOLDER (make deb) are installed, used, upgraded, removed and purged. Nothing of them is left then: files
# of /etc, /usr and /var, users and groups are as before. Speaks TAP.
set -u
debs=$1
export DEBIAN_FRONTEND=noninteractive
# shellcheck source=tests/distros/lib.sh
. "$(dirname "$0")/lib.sh"
install() { apt-get install -y --no-install-recommends "$@"; }
records() {
  sonda record -t 1s -o "$tmp/trace" sched && sonda info "$tmp/trace" | grep -E 'events +sched'
}
has_pages() {
  local page
  for page in sonda.1 sonda-record.1 sonda.cfg.5 sonda-trace.7 sondad.8 sonda-probes.8; do
    man -w "${page##*.}" "${page%.*}" && man "${page##*.}" "${page%.*}" | grep -q NAME || return
  done
}
compiles() {
  printf '#include <sonda/sonda.h>\n#include <stdio.h>\nint main(void) { return puts(sonda_version()) < 0; }\n' >"$tmp/x.c"
  # Words are meant.
  # shellcheck disable=SC2046
  gcc "$tmp/x.c" $(pkg-config --cflags --libs sonda) -o "$tmp/x" && "$tmp/x" | grep -E '^[0-9.]+$'
}

apt-get update >/dev/null 2>&1
# What the packages need and what the checks need is there before, so that the difference is theirs alone. Debian's
# minimal systems have no manual: the pages of packages are left out.
rm -f /etc/dpkg/dpkg.cfg.d/docker /etc/dpkg/dpkg.cfg.d/excludes
# Words are meant.
# shellcheck disable=SC2046
install man-db passwd procps gcc libc6-dev pkg-config $(needs_of "$debs") >"$tmp/out" 2>&1 || { tail -n 5 "$tmp/out"; exit 1; }
picture >"$tmp/before"

check "the packages are installed" install "$debs"/sonda_*.deb "$debs"/libsonda0_*.deb \
  "$debs"/libsonda-service0_*.deb "$debs"/libsonda-dev_*.deb
check "no file of theirs was changed" dpkg --verify sonda libsonda0 libsonda-service0 libsonda-dev
check "the user sonda is there" getent passwd sonda
check "sonda records as root, without a service" records
check "the manual is there" has_pages
check "a program builds with libsonda-dev and runs with libsonda0" compiles
make_newer "$debs"/sonda_*.deb "$tmp/sonda_newer.deb" >/dev/null 2>&1
check "an upgrade works" install "$tmp/sonda_newer.deb"
check "what was upgraded records" records
check "the packages are removed" apt-get remove -y sonda libsonda0 libsonda-service0 libsonda-dev
check "they are purged" dpkg --purge sonda libsonda-dev libsonda-service0 libsonda0
check "nothing of them is left" as_before
rm -rf "$tmp"
echo "1..$n"
exit $bad
