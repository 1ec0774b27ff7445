#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What a reviewer should not have to say: formatting, clang-tidy, the rules of the directories (RULES=no: without them).
set -u
cd "$(dirname "$0")/.." || exit 2
B=${BUILD:-build}
bad=0

echo "== clang-format"
git ls-files 'src/*.[ch]' 'tests/*.[ch]' 'bench/*.[ch]' 'include/*.h' |
  xargs clang-format --dry-run --Werror || bad=1
echo "== lines over 100 columns" # but for pictures and tables of comments, strings, and single words
git ls-files 'src/*.[ch]' 'include/*.h' | while IFS= read -r f; do
  expand -t 8 "$f" | awk -v f="$f" 'length($0) > 100 && !/^ \*      / && !/^ \*   [a-z]/ && !/"/ && NF > 1 { print f ":" FNR }'
done | grep . && bad=1
if command -v clang-tidy >/dev/null; then
  echo "== clang-tidy"
  # .clang-tidy has the checks.
  make -s compdb >/dev/null
  make --no-print-directory -k -j"$(nproc)" B="$B" tidy || bad=1
fi
if command -v shellcheck >/dev/null; then
  echo "== shellcheck"
  # Not told: variables of sourced files (SC1091, SC2034, SC2154), traps and functions that are called by name (SC2317), words
  # that are meant as several (SC2046, SC2048, SC2086, SC2206), "A && B || C" (SC2015), programs and texts in quotes (SC2016, SC2028), the
  # status of what came before (SC2181: verdict NAME $?), lists of our own files (SC2010, SC2012, SC2013), sed in place of
  # "${ //}" (SC2001), a log that is read while it is written (SC2094), variables of a subshell (SC2030, SC2031), options of qemu
  # with commas (SC2054), files named like programs (SC2238), optional arguments of functions (SC2119, SC2120).
  git ls-files '*.sh' | xargs shellcheck \
    -e SC1091,SC2034,SC2154,SC2317,SC2046,SC2086,SC2015,SC2016,SC2028,SC2181,SC2010,SC2012,SC2013,SC2001,SC2094,SC2030,SC2031,SC2048,SC2054,SC2119,SC2120,SC2206,SC2238 || bad=1
fi
if [ "${RULES:-}" != no ]; then
  echo "== rules"
  tests/run.sh "$B" rules || bad=1
fi
exit $bad
