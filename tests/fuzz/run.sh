#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# usage: tests/fuzz/run.sh BUILD SECONDS      runs each fuzzer that long on its corpus, as many at a time as there are CPUs
#
# Starts no further fuzzer after a finding. New inputs go to BUILD/corpus/NAME; a crashing one to BUILD/crash-*.
set -u
export B=$1 seconds=$2
run_fuzzer() { # NAME
  local name=$1 said status
  mkdir -p "$B/corpus/$name" "tests/fuzz/corpus/$name"
  said=$("$B/fuzz/fuzz_$name" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=4096 -print_final_stats=1 \
    -artifact_prefix="$B/crash-$name-" "$B/corpus/$name" "tests/fuzz/corpus/$name" 2>&1)
  status=$?
  echo "== $name: $seconds s, $(sed -n 's/^stat::number_of_executed_units: *//p' <<<"$said") inputs"
  [ $status = 0 ] || { tail -n 60 <<<"$said"; return 255; }
}
export -f run_fuzzer
names=(tests/fuzz/fuzz_*.c)
names=("${names[@]#tests/fuzz/fuzz_}")
# The shell that xargs starts expands it.
# shellcheck disable=SC2016
printf '%s\0' "${names[@]%.c}" | xargs -0 -n 1 -P "$(nproc)" bash -c 'run_fuzzer "$1"' bash || exit 1
echo "${#names[@]} fuzzers, no finding"
