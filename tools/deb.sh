#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: tools/deb.sh BUILD
#
# Builds the Debian packages of these sources in BUILD/deb/sonda, which has the committed and changed files but nothing
# that was built, and checks them and the source package with lintian. The packages are in BUILD/deb then.
# DEB_BUILD_OPTIONS is dpkg's: "nocheck parallel=2" leaves out the unit tests.
set -eu
cd "$(dirname "$0")/.."
to=$1/deb

rm -rf "$to"
mkdir -p "$to/sonda"
if git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
  : "${SOURCE_DATE_EPOCH:=$(git log -1 --format=%ct)}"
  git ls-files -z --cached --others --exclude-standard
else
  : "${SOURCE_DATE_EPOCH:=$(date -r NEWS.md +%s)}"
  find . -path "./$1" -prune -o -type f -print0
fi >"$to/files"
export SOURCE_DATE_EPOCH
# A file that was deleted is still in git's list.
tar --create --null --files-from "$to/files" --ignore-failed-read 2>/dev/null | tar --extract --directory "$to/sonda"
rm "$to/files"

echo "  DEB     dpkg-buildpackage compiles, which takes some minutes, and logs into $to/build.log"
cd "$to/sonda"
: "${DEB_BUILD_OPTIONS:=parallel=$(nproc)}"
export DEB_BUILD_OPTIONS
dpkg-buildpackage --no-sign --build=full >../build.log 2>&1 || {
  tail -n 40 ../build.log >&2
  exit 1
}
cd ..
rm -rf sonda
# Who uploads them to Debian adds a name.
lintian --allow-root --fail-on error,warning --suppress-tags no-human-maintainers ./*.changes
ls ./*.deb
