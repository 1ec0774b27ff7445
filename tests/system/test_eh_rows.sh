#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The unwind rows of programs and libraries of the machine equal those of readelf, at every address. EXTRA_FILES are
# compared, too.
. "$(dirname "$0")/../lib.sh"
needs_commands readelf python3 "${CC:-gcc}"
needs_built "$B/tests/system/eh_rows"

libc=$(ldd "$SONDA" | awk '$1 ~ /^libc\.so/ { print $3 }')
# A program with its own libc in it has functions of hand-written assembly, signal frames and no header of .eh_frame.
printf 'int main(void) { return 0; }\n' | "${CC:-gcc}" -static -xc -o "$TMP/static" - 2>/dev/null
for file in "$libc" "$(readlink -f "$(command -v bash)")" "$TMP/static" ${EXTRA_FILES:-}; do
  check "rows of ${file##*/} equal readelf's" python3 tests/system/eh_rows_readelf.py "$B/tests/system/eh_rows" "$file"
done

# arm64: readelf knows both architectures wherever it runs.
for options in "-O0" "-O2" "-O2 -fomit-frame-pointer" "-O2 -mbranch-protection=pac-ret"; do
  name="rows of arm64, clang $options, equal readelf's"
  # shellcheck disable=SC2086 # options are several words
  if clang --target=aarch64-linux-gnu $options -fPIC -fasynchronous-unwind-tables -c -o "$TMP/arm64.o" \
    tests/system/unwind/freestanding.c 2>/dev/null && ld.lld -m aarch64linux -shared -o "$TMP/arm64.so" "$TMP/arm64.o" 2>/dev/null; then
    check "$name" python3 tests/system/eh_rows_readelf.py "$B/tests/system/eh_rows" "$TMP/arm64.so"
  else
    skip "$name" "clang or lld cannot make it"
  fi
done
exit $BAD
