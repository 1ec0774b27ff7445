#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# check: long
#
# clang compiles the programs and libraries, too, without a warning.
set -u
cd "$(dirname "$0")/../.." || exit 2
command -v clang >/dev/null || { echo "clang is missing" >&2; exit 77; }
tmp=$(mktemp -d)
trap '[ "$BASHPID" != $$ ] || rm -rf "$tmp"' EXIT

# Only warnings count: optimizing would take most of the time.
MAKEFLAGS='' make -j"$(nproc)" B="$tmp/build" CC=clang OPT=-O0 EBPF=no WERROR=-Werror programs >"$tmp/log" 2>&1
status=$?
if [ $status = 0 ]; then
  echo "ok 1 - clang_compiles_the_programs_without_a_warning"
else
  echo "not ok 1 - clang_compiles_the_programs_without_a_warning"
  grep -v '^  [A-Z]' "$tmp/log" | head -40 | sed 's/^/#   /'
fi
echo 1..1
exit $status
