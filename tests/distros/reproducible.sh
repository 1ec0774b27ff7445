#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# usage: tests/distros/reproducible.sh [FILE...]        below build/; all programs, the library and the manual without a list
#
# Two builds of these sources in two directories give the same files, with SOURCE_DATE_EPOCH as builds of packages set it. It
# compiles everything twice, without a cache: some minutes.
set -u
cd "$(dirname "$0")/../.." || exit 2
tmp=$(mktemp -d)
trap '[ "$BASHPID" != $$ ] || rm -rf "$tmp"' EXIT

files=("$@") targets=()
for file; do targets+=("build/$file"); done
if [ $# = 0 ]; then
  files=(bin/sonda bin/sondad bin/sonda-probes bin/sonda-relay lib/libsonda.so.0 lib/libsonda.a lib/libsonda-service.so.0 lib/libsonda-service.a man completion)
  targets=(programs)
fi
export SOURCE_DATE_EPOCH=1700000000
build() { # DIR
  mkdir -p "$1" && tar -c --exclude=./build --exclude=./.git . | tar -x -C "$1" || return
  env -u CC -u MAKEFLAGS -u CFLAGS -u LDFLAGS make -s -C "$1" -j"$(nproc)" B=build "${targets[@]}" >"$tmp/log" 2>&1 ||
    { tail -n 5 "$tmp/log"; false; }
}
build "$tmp/one" && build "$tmp/another/directory" || { echo "not ok 1 - it builds"; exit 1; }

n=0 bad=0
for file in "${files[@]}"; do
  n=$((n + 1))
  if diff -r "$tmp/one/build/$file" "$tmp/another/directory/build/$file" >"$tmp/diff"; then
    echo "ok $n - $file is the same from both"
  else
    echo "not ok $n - $file is the same from both"
    sed 's/^/#   /; 5q' "$tmp/diff"
    bad=1
  fi
done
echo "1..$n"
exit $bad
