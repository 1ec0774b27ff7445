#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# usage: tests/distros/installed.sh DIR        in a clean chroot, as root: run.sh with DEBS=DIR runs it there
#
# The packages of DIR (make deb) in a system that has nothing of them:
#
#     installed     files as in the packages, the user, the manual, completion in bash
#     used          record, as root and with sudo; info, report, sql, cut, split, export, top, doctor
#     developed     programs build with libsonda-dev, one records itself with libsonda-service0
#     tested        debian/tests, which autopkgtest runs
#     upgraded      to a higher version, and records
#     purged        files of /etc, /usr and /var, users and groups are as before
#
# Leaves the program that records itself in DIR, for booted.sh. Speaks TAP.
set -u
debs=$1
root=$(cd "$(dirname "$0")/../.." && pwd)
export DEBIAN_FRONTEND=noninteractive
# shellcheck source=tests/distros/lib.sh
. "$(dirname "$0")/lib.sh"
install() { apt-get install -y --no-install-recommends "$@"; }
records() {
  sonda record -a -o "$tmp/trace" sched -- sleep 1 && sonda info "$tmp/trace" | grep -E 'events +sched'
}
has_pages() {
  local page
  for page in sonda.1 sonda-record.1 sonda.cfg.5 sonda-trace.7 sondad.8 sonda-probes.8 sonda-relay.8; do
    man -w "${page##*.}" "${page%.*}" && man "${page##*.}" "${page%.*}" | grep -q NAME || return
  done
}
compiles() {
  printf '#include <sonda/sonda.h>\n#include <stdio.h>\nint main(void) { return puts(sonda_version()) < 0; }\n' >"$tmp/x.c"
  # Word splitting is intended.
  # shellcheck disable=SC2046
  gcc "$tmp/x.c" $(pkg-config --cflags --libs sonda) -o "$tmp/x" && "$tmp/x" | grep -E '^[0-9.]+$'
}
records_itself() {
  # shellcheck disable=SC2046
  gcc /usr/share/doc/libsonda-dev/examples/record_itself.c $(pkg-config --cflags --libs sonda-service) -o "$debs/record_itself" &&
    ldd "$debs/record_itself" | grep -q libsonda-service.so.0 &&
    (cd "$tmp" && runuser -u person -- "$debs/record_itself" /tmp/itself.pftrace) && sonda info /tmp/itself.pftrace && rm /tmp/itself.pftrace
}
# As autopkgtest runs the tests of the installed packages.
autopkgtest() { # NAME
  mkdir "$tmp/$1" && AUTOPKGTEST_TMP=$tmp/$1 "$root/debian/tests/$1"
}
verbs_work() {
  sonda report "$tmp/trace" | grep -E '[0-9]' && sonda sql "$tmp/trace" 'select count(*) from sched' | grep -E '^ *[1-9]' &&
    sonda cut --from 0.2s -o "$tmp/part" "$tmp/trace" && sonda info "$tmp/part" | grep -E 'events +sched' &&
    sonda split --every 500ms -o "$tmp/piece" "$tmp/trace" && sonda info "$tmp"/piece.000.pftrace &&
    sonda export --json -o "$tmp/trace.json" "$tmp/trace" && grep -q traceEvents "$tmp/trace.json" &&
    sonda report --html -o "$tmp/page.html" "$tmp/trace" && grep -q '</html>' "$tmp/page.html" &&
    sonda top -b -n 2 -d 0.5 | grep -E 'PID .*COMMAND' && sonda list presets | grep -w sched && sonda doctor
}
completes() { # FOUND WORD...: by bash-completion, which loads the file of the package
  bash --norc -c '. /usr/share/bash-completion/bash_completion
    { _comp_load sonda || _completion_loader sonda; } 2>/dev/null
    COMP_WORDS=(sonda "${@:2}") COMP_CWORD=$(($# - 1)) COMP_LINE="sonda ${*:2}" COMP_POINT=${#COMP_LINE}
    "$(complete -p sonda | sed "s/.*-F \([^ ]*\).*/\1/")" sonda
    printf "%s\n" "${COMPREPLY[@]}" | tee /dev/stderr | grep -qxF -e "$1"' bash "$@"
}
# With Debian's sudo and its own rules for the environment.
is_the_callers() {
  runuser -u person -- sudo sonda record -t 1s -o /home/person/trace sched &&
    [ "$(stat -c '%U:%G %a' /home/person/trace)" = 'person:person 600' ] &&
    runuser -u person -- sonda report /home/person/trace && rm /home/person/trace
}
# As if root had called sudo: as another user, and as a user who claims to be under sudo.
is_not_given_away() {
  runuser -u person -- env SUDO_UID=0 SUDO_GID=0 sonda record -t 1s -o /home/person/trace minimal &&
    [ "$(stat -c '%U:%G %a' /home/person/trace)" = 'person:person 600' ] && rm /home/person/trace &&
    runuser -u person -- sudo -u other sonda record -t 1s -o /home/other/trace minimal &&
    [ "$(stat -c '%U:%G %a' /home/other/trace)" = 'other:other 600' ] && rm /home/other/trace &&
    sudo sonda record -t 1s -o "$tmp/roots" minimal && [ "$(stat -c '%U:%G %a' "$tmp/roots")" = 'root:root 600' ]
}

apt-get update >/dev/null 2>&1
# What the packages need and what the checks need is there before, so that the difference is theirs alone. Debian's
# minimal systems have no manual: the pages of packages are left out.
rm -f /etc/dpkg/dpkg.cfg.d/docker /etc/dpkg/dpkg.cfg.d/excludes
# Word splitting is intended.
# shellcheck disable=SC2046
install man-db passwd procps sudo bash-completion gcc libc6-dev pkg-config $(needs_of "$debs") >"$tmp/out" 2>&1 || { tail -n 5 "$tmp/out"; exit 1; }
useradd -m person && useradd -m other && chmod 755 "$tmp" "$debs"
echo 'person ALL=(ALL) NOPASSWD: ALL' >/etc/sudoers.d/person
picture >"$tmp/before"

check "the packages are installed" install "$debs"/sonda_*.deb "$debs"/libsonda0_*.deb \
  "$debs"/libsonda-service0_*.deb "$debs"/libsonda-dev_*.deb
check "no file of theirs was changed" dpkg --verify sonda libsonda0 libsonda-service0 libsonda-dev
check "the user sonda is there" getent passwd sonda
check "sonda records as root, without a service" records
check "the verbs work with its trace" verbs_work
check "a trace that is recorded with sudo is the caller's" is_the_callers
check "a trace belongs to the user whose rights sonda record has" is_not_given_away
check "the manual is there" has_pages
check "the links and samples of the docs are there" "$(dirname "$0")/doc_links.sh" /usr/share/doc/sonda
check "bash completes a verb" completes record rec
check "bash completes an event of this kernel" completes sched/sched_switch record sched/sched_sw
check "bash completes a preset" completes net record ne
check "a program builds with libsonda-dev and runs with libsonda0" compiles
check "a program records itself with libsonda-service0" records_itself
check "debian/tests/record passes" autopkgtest record
check "debian/tests/library passes" autopkgtest library
make_newer "$debs"/sonda_*.deb "$tmp/sonda_newer.deb" >/dev/null 2>&1
check "an upgrade works" install "$tmp/sonda_newer.deb"
check "what was upgraded records" records
check "the packages are removed" apt-get remove -y sonda libsonda0 libsonda-service0 libsonda-dev
check "they are purged" dpkg --purge sonda libsonda-dev libsonda-service0 libsonda0
check "nothing of them is left" as_before
rm -rf "$tmp"
echo "1..$n"
exit $bad
