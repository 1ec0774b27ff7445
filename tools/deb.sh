#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: tools/deb.sh BUILD
#
# Builds the Debian packages of these sources in BUILD/deb/sonda, which has the committed and changed files but nothing
# that was built, and checks them and the source package with lintian. The packages are in BUILD/deb then. All files but
# debian/ are the upstream tarball.
# Without the unit tests: whoever installs sonda does not wait for them, and a busy machine does not fail. DEB_BUILD_OPTIONS
# is dpkg's: "parallel=2" runs them.
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
upstream=$(sed -n '1s/.*(\(.*\)-.*/\1/p' debian/changelog)
# A file that was deleted is still in git's list.
pack() { # OPTION...
  tar --create --null --ignore-failed-read --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner \
    "$@" --files-from "$to/files" 2>/dev/null
}
pack | tar --extract --directory "$to/sonda"
pack --anchored --exclude=debian --exclude=./debian --transform "s,^\(\./\)*,sonda-$upstream/," | gzip -9n >"$to/sonda_$upstream.orig.tar.gz"
rm "$to/files"

echo "  DEB     dpkg-buildpackage compiles, which takes some minutes, and logs into $to/build.log"
cd "$to/sonda"
: "${DEB_BUILD_OPTIONS:=nocheck parallel=$(nproc)}"
export DEB_BUILD_OPTIONS
dpkg-buildpackage --no-sign --build=full >../build.log 2>&1 || {
  tail -n 40 ../build.log >&2
  exit 1
}
cd ..
rm -rf sonda
# Who uploads them to Debian adds a name, and the bug that asks for the package.
lintian --allow-root --fail-on error,warning --suppress-tags no-human-maintainers,initial-upload-closes-no-bugs ./*.changes
ls ./*.deb
