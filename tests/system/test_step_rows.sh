#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Stacks are unwound by the rows at every instruction of a fixture (unwind/fixture.c): realigned stacks, variable arrays, large
# frames, the frame pointer as a general register, calls without a return, entries of .plt before and after the first call,
# signal handlers, also on a stack of their own, the vDSO, longjmp(); by several compilers and linkers. No walk may be wrong;
# where no rule says how to go on it ends: in the dynamic linker, mostly.
. "$(dirname "$0")/../lib.sh"
needs_commands "${CC:-gcc}"
needs_built "$B/tests/system/step_rows"
[ "$(uname -m)" = x86_64 ] || { echo "single steps are those of x86-64" >&2; exit 77; }
! nm -D "$B/tests/system/step_rows" | grep -qE '__[at]san_init' || { echo "handlers with a sanitizer have frames of their own" >&2; exit 77; }

# walks NAME SHARE COMPILER OPTIONS...: at least so many percent of the walks are complete, the others end. With lazy binding
# most steps are in the dynamic linker; how many depends on the names that it searches.
walks() {
  local name=$1 share=$2
  shift 2
  command -v "$1" >/dev/null || { skip "$name" "$1 is not installed"; return; }
  if ! "$@" -w -shared -fPIC -o "$TMP/fixture.so" tests/system/unwind/fixture.c 2>"$TMP/compiler"; then
    skip "$name" "$(head -c 80 "$TMP/compiler" | tr -d '\n')"
    return
  fi
  "$B/tests/system/step_rows" "$TMP/fixture.so" >"$TMP/walks" 2>&1 &&
    awk -v share="$share" '{ exit !($3 > 1000 && $9 == 0 && $5 * 100 >= $3 * share) }' "$TMP/walks"
  verdict "$name" $? "$TMP/walks"
}

walks "gcc, not optimized" 20 gcc -O0 -Wl,-z,lazy
walks "gcc, entries of .plt with endbr64" 20 gcc -Os -fcf-protection -Wl,-z,lazy,-z,ibtplt
walks "gcc, without frame pointers" 98 gcc -O2 -fomit-frame-pointer -fno-plt
walks "gcc, with frame pointers, all symbols are bound" 98 gcc -O2 -fno-omit-frame-pointer -Wl,-z,now
if grep -q avx2 /proc/cpuinfo; then
  walks "gcc, vectors" 98 gcc -O3 -mavx2 -Wl,-z,now
else
  skip "gcc, vectors" "this CPU has no AVX2"
fi
walks "gold" 20 gcc -O2 -fuse-ld=gold -Wl,-z,lazy
walks "headers and code in one segment" 98 gcc -O2 -Wl,-z,noseparate-code,-z,now
walks "clang and lld" 98 clang -O2 -fuse-ld=lld -Wl,-z,now
exit $BAD
