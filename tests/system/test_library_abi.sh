#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# usage: tests/system/test_library_abi.sh [--write]
#
# A program that was built with the first version of libsonda and libsonda-service runs with these: abidiff compares each
# library with the committed description of that version (tests/data/libsonda*.abi). Functions and types may be added.
# --write makes the descriptions that are missing; a new one in place of an old one is for a change of the library's number.
. "$(dirname "$0")/../lib.sh"
details() { cat "$TMP/out"; }
LIB=$B/lib/libsonda.so.0 ABI=tests/data/libsonda.abi
SERVICE=$B/lib/libsonda-service.so.0 SERVICE_ABI=tests/data/libsonda-service.abi
needs_commands abidiff
[ "$(uname -m)" = x86_64 ] || { echo "$ABI is of x86_64" >&2; exit 77; }
needs_built "$LIB"
! nm -D "$LIB" | grep -q '__[at]san_' || { echo "a sanitizer adds to the library" >&2; exit 77; }
readelf -S "$LIB" | grep -q debug_info || { echo "$LIB has no debug information" >&2; exit 77; }

write() { # DESCRIPTION LIBRARY
  [ -e "$1" ] || abidw --headers-dir include/sonda --drop-private-types --no-show-locs --no-corpus-path --no-comp-dir-path \
    --no-elf-needed --no-parameter-names --exported-interfaces-only --type-id-style hash --out-file "$1" "$2"
}
if [ "${1:-}" = --write ]; then
  write "$ABI" "$LIB" && write "$SERVICE_ABI" "$SERVICE"
  exit
fi

# Its header has the name of a public one, so abidiff takes it for a public type.
cat >"$TMP/private" <<'SUPPRESS'
[suppress_type]
  name_regexp = ^(sonda_packet|pb_enc)$
SUPPRESS
differs() { # DESCRIPTION [LIBRARY]: compares them. Returns 0 if nothing but additions differs.
  abidiff --no-added-syms --suppressions "$TMP/private" "$1" "${2:-$LIB}" >"$TMP/out" 2>&1
}
differs "$ABI"
verdict "programs that were built with the first version run with this one" $?
differs "$SERVICE_ABI" "$SERVICE"
verdict "programs that were built with the first version run with this libsonda-service" $?
# What it must find.
sed 's/sonda_version/sonda_versiom/g' "$ABI" >"$TMP/abi"
! differs "$TMP/abi"
verdict "a function that is gone is found" $?
sed "s/\(class-decl name='sonda_category' size-in-bits=\)'[0-9]*'/\1'64'/" "$ABI" >"$TMP/abi"
! differs "$TMP/abi"
verdict "a type of another size is found" $?
echo "1..$N"
exit $BAD
