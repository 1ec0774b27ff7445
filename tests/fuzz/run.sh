#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# usage: tests/fuzz/run.sh BUILD SECONDS      runs each fuzzer that long on its corpus; stops at the first finding.
#
# New inputs go to BUILD/corpus/NAME; a crashing one to BUILD/crash-*.
set -euo pipefail
B=$1 seconds=$2
for f in "$B"/fuzz/fuzz_*; do
  [ -x "$f" ] && [ "${f##*.}" = "$f" ] || continue
  name=$(basename "$f")
  name=${name#fuzz_}
  mkdir -p "$B/corpus/$name" "tests/fuzz/corpus/$name"
  echo "== $name: $seconds s"
  "$f" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=4096 -print_final_stats=1 \
    -artifact_prefix="$B/crash-$name-" "$B/corpus/$name" "tests/fuzz/corpus/$name" 2>&1 |
    grep -E '^(stat::number_of_executed|==|SUMMARY|.*ERROR|artifact)' || exit 1
  ls "$B"/crash-"$name"-* >/dev/null 2>&1 && exit 1
done
echo "no finding"
