#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Each of the 60 cases of tests/library/conformance.tsv has a test that has the check that is named.
set -u
cd "$(dirname "$0")/../.." || exit 2

table=tests/library/conformance.tsv
bad=$(
  awk -F '\t' '!/^#/ && (NF != 4 || $1 != ++n) { print "line " NR ": case " n " with four fields is expected" }
    END { if (n != 60) print n + 0 " cases, of 60" }' "$table"
  while IFS=$'\t' read -r case _ test check; do
    [ "${case#\#}" = "$case" ] || continue
    [ -f "$test" ] && grep -qF -- "$check" "$test" || echo "case $case: $test has no check '$check'"
  done <"$table"
)
if [ -z "$bad" ]; then
  echo "ok 1 - each case of track events has its test"
else
  echo "not ok 1 - each case of track events has its test"
  printf '%s\n' "$bad" | sed 's/^/#   /'
fi
echo 1..1
[ -z "$bad" ]
