#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: tools/dist.sh BUILD
#
# Writes the committed sources as BUILD/dist/sonda-VERSION.tar.gz, with SHA256SUMS beside it. The same commit gives the same
# bytes on every machine with the same gzip.
set -eu
cd "$(dirname "$0")/.."
version=$(awk '/^#define SONDA_VERSION_(MAJOR|MINOR|PATCH) / { v = v (v ? "." : "") $3 } END { print v }' include/sonda/version.h)
name=sonda-$version.tar.gz
mkdir -p "$1/dist"
git diff --quiet HEAD || echo "dist: changes that are not committed are left out" >&2
git archive --format=tar --prefix="sonda-$version/" HEAD | gzip -9n >"$1/dist/$name"
cd "$1/dist"
sha256sum "$name" >SHA256SUMS
echo "$1/dist/$name"
