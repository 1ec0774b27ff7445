#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# check: long
#
# Every header compiles alone, as C11, without a warning; every file names its licence.
set -u
cd "$(dirname "$0")/../.." || exit 2

n=0 bad=0
CFLAGS=$(pkg-config --cflags libtracefs libtraceevent libprotobuf-c libevent_core libseccomp)
export CFLAGS
# Called by xargs.
# shellcheck disable=SC2317
compile_alone() { # HEADER: a line, and behind it what the compiler says
  local err
  # Word splitting is intended.
  # shellcheck disable=SC2086
  err=$(gcc -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -iquote . -Isrc -Iinclude -I"$BUILD" -I"$BUILD/gen/pb" $CFLAGS \
    -fsyntax-only -include "$1" -xc /dev/null 2>&1) && [ -z "$err" ]
  printf '%s %s\t%s\n' $? "$1" "${err//$'\n'/ | }"
}
export -f compile_alone
while IFS=$'\t' read -r status err; do
  n=$((n + 1))
  if [ "${status%% *}" = 0 ]; then
    echo "ok $n - ${status#* } compiles alone"
  else
    echo "not ok $n - ${status#* } compiles alone"
    printf '#   %s\n' "$err"
    bad=1
  fi
done < <(printf '%s\n' src/*/*.h src/*/*/*.h | xargs -P "$(nproc)" -I{} bash -c 'compile_alone {}' | sort -k2)

# What programs include: C11 and C++17, by both compilers, and nothing of this tree besides.
for header in include/sonda/*.h; do
  for compiler in 'gcc -std=c11 -xc' 'clang -std=c11 -xc' 'g++ -std=c++17 -xc++' 'clang++ -std=c++17 -xc++'; do
    command -v "${compiler%% *}" >/dev/null || continue
    n=$((n + 1))
    # shellcheck disable=SC2086
    if said=$(echo "#include <sonda/${header##*/}>" |
      $compiler -pedantic -Wall -Wextra -Wshadow -Werror -Iinclude -fsyntax-only - 2>&1); then
      echo "ok $n - <sonda/${header##*/}> compiles with ${compiler% *}"
    else
      echo "not ok $n - <sonda/${header##*/}> compiles with ${compiler% *}"
      printf '%s\n' "$said" | sed 's/^/#   /'
      bad=1
    fi
  done
done

n=$((n + 1))
without=$(git ls-files '*.c' '*.h' '*.proto' '*.sh' '*.awk' '*.mjs' Makefile | while IFS= read -r f; do
  head -n 3 "$f" | grep -q 'SPDX-License-Identifier:' || echo "$f"
done)
if [ -z "$without" ]; then echo "ok $n - every source names its licence"; else
  echo "not ok $n - every source names its licence"
  printf '%s\n' "$without" | sed 's/^/#   /'
  bad=1
fi

n=$((n + 1))
promises=$(git grep -nIE '\b(TODO|FIXME|XXX)\b' -- src bpf tests tools bench Makefile ':!tests/rules' || true)
if [ -z "$promises" ]; then echo "ok $n - no promises left in the code"; else
  echo "not ok $n - no promises left in the code"
  printf '%s\n' "$promises" | sed 's/^/#   /'
  bad=1
fi
exit $bad
