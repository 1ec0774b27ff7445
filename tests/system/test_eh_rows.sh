#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The unwind rows of programs and libraries of the machine equal those of readelf, at every address. EXTRA_FILES are
# compared, too.
. "$(dirname "$0")/../lib.sh"
needs_commands readelf python3 "${CC:-gcc}"
needs_built "$B/tests/system/eh_rows"
[ "$(uname -m)" = x86_64 ] || { echo "readelf's names of registers are those of x86-64" >&2; exit 77; }

libc=$(ldd "$SONDA" | awk '$1 ~ /^libc\.so/ { print $3 }')
# A program with its own libc in it has functions of hand-written assembly, signal frames and no header of .eh_frame.
printf 'int main(void) { return 0; }\n' | "${CC:-gcc}" -static -xc -o "$TMP/static" - 2>/dev/null
for file in "$libc" "$(readlink -f "$(command -v bash)")" "$TMP/static" ${EXTRA_FILES:-}; do
  check "rows of ${file##*/} equal readelf's" python3 tests/system/eh_rows_readelf.py "$B/tests/system/eh_rows" "$file"
done
exit $BAD
