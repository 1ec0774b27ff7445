#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The programs and the library are built hardened: position independent, full RELRO, stack protector, FORTIFY_SOURCE, stack-clash
# protection, and CET where the compiler has it. A build with a sanitizer is not checked.
. "$(dirname "$0")/../lib.sh"

# What every file has. Its readelf output is in $dynamic, $segments and $symbols.
hardened() { # NAME "start"|"load" CHECKED_FUNCTIONS
  grep -q GNU_RELRO <<<"$segments" && grep -qE 'BIND_NOW|FLAGS.* NOW' <<<"$dynamic"
  verdict "$1: what the loader relocates is read-only after the $2 (full RELRO, now)" $?
  grep -q 'GNU_STACK .* RW ' <<<"$segments"
  verdict "$1: the stack is not executable" $?
  grep -q __stack_chk_fail <<<"$symbols"
  verdict "$1 has stack protectors" $?
  grep -qE "$3" <<<"$symbols"
  verdict "$1 calls libc's checked functions (FORTIFY_SOURCE)" $?
}

for program in sondad sonda-probes sonda-relay sonda; do
  file=$B/bin/$program
  needs_built "$file"
  symbols=$(readelf -W --dyn-syms "$file")
  case $symbols in *__asan_* | *__tsan_* | *__ubsan_*) echo "built with a sanitizer" >&2; exit 77 ;; esac
  dynamic=$(readelf -Wd "$file")
  segments=$(readelf -Wl "$file")
  grep -q 'FLAGS_1.*PIE' <<<"$dynamic"
  verdict "$program is position independent (PIE)" $?
  hardened "$program" start '__(memcpy|read|fprintf|snprintf|vsnprintf)_chk'
done

# The libraries are loaded into other programs.
for library in libsonda libsonda-service; do
  file=$B/lib/$library.so.0
  dynamic=$(readelf -Wd "$file")
  segments=$(readelf -Wl "$file")
  symbols=$(readelf -W --dyn-syms "$file")
  ! grep -q TEXTREL <<<"$dynamic"
  verdict "$library: its code is not relocated" $?
  hardened $library load '__[a-z]+_chk'
done
# What leaves no mark in a program: the debug information of an object says how it was compiled, the preprocessor what
# was defined.
producers=$(for object in obj/service/main.o pic/lib/api/init.o; do
  readelf --debug-dump=info "$B/$object" 2>/dev/null | grep -m 1 DW_AT_producer
done)
has() { # OPTION: of a program and of the library
  [ "$(grep -c -e "$1" <<<"$producers")" = 2 ]
}
case $(make -s --no-print-directory B="$B" flags) in
*' -D_FORTIFY_SOURCE=3 '*) true ;;
*) false ;;
esac
verdict "FORTIFY_SOURCE has level 3" $?
for option in fstack-protector-strong fstack-clash-protection fcf-protection=full; do
  # Word splitting is intended. clang says less in the debug information.
  # shellcheck disable=SC2086
  if [[ $producers = *clang* ]] || ! ${CC:-gcc} -Werror "-$option" -c -o /dev/null -xc /dev/null 2>/dev/null; then
    skip "-$option" "this compiler does not have it, or does not say so"
    continue
  fi
  has "-$option"
  verdict "objects are compiled with -$option" $?
done
echo "1..$N"
exit $BAD
