#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Every header compiles alone, as C11, without a warning; every file names its licence.
set -u
cd "$(dirname "$0")/../.." || exit 2

n=0 bad=0
for h in src/*/*.h $(ls include/*.h 2>/dev/null); do
  n=$((n + 1))
  # shellcheck disable=SC2046
  if err=$(gcc -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Isrc -I"$BUILD" -I"$BUILD/gen/pb" \
      $(pkg-config --cflags libtracefs libtraceevent libprotobuf-c libevent_core libseccomp) \
      -fsyntax-only -include "$h" -xc /dev/null 2>&1) && [ -z "$err" ]; then
    echo "ok $n - $h compiles alone"
  else
    echo "not ok $n - $h compiles alone"
    printf '%s\n' "$err" | sed 's/^/#   /'
    bad=1
  fi
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
