#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# usage: tests/run.sh BUILD [unit|rules|system|root|interop|kernels]...      all but kernels without a list
# (they keep two processors busy for four minutes, and longer where others work)
#
# Every test speaks TAP on stdout: "ok N - name", "not ok N - name", "ok N - name # SKIP reason". A test that exits
# with 77 before its first line is skipped whole; one that dies counts as a failure of its own. The last line is the
# sum: "N passed, N failed, N skipped".
#
# What a sanitizer finds in any process of a test, a daemon in the background too, fails the test. The tests that use
# the tracefs of the machine wait for each other, also those of another run.
set -u
cd "$(dirname "$0")/.." || exit 2
B=$1
shift
[ $# -gt 0 ] || set -- rules unit system root interop
passed=0 failed=0 skipped=0
log=$(mktemp -d)
trap 'rm -rf "$log"' EXIT
# Findings are files, which a process of another user may write too.
chmod 711 "$log" && mkdir -m 1777 "$log/findings"
for variable in ASAN_OPTIONS LSAN_OPTIONS TSAN_OPTIONS UBSAN_OPTIONS; do
  export $variable="${!variable:+${!variable}:}print_stacktrace=1:log_path=$log/findings/of"
done

run_one() { # NAME COMMAND...
  local name=$1 out=$log/out status n_ok n_bad n_skip findings
  shift
  CMOCKA_MESSAGE_OUTPUT=TAP BUILD=$B "${alone[@]}" timeout --kill-after=10 "${TEST_TIMEOUT:-300}" "$@" \
    >"$out" 2>"$log/err" </dev/null
  status=$?
  findings=$(cat "$log"/findings/* 2>/dev/null)
  rm -f "$log"/findings/*
  # cmocka writes "not ok N # SKIP name".
  n_skip=$(grep -cE '^(not )?ok [0-9]+.*# *SKIP' "$out")
  n_ok=$(grep -E '^ok ' "$out" | grep -cvE '# *SKIP')
  n_bad=$(grep -E '^not ok ' "$out" | grep -cvE '# *SKIP')
  if [ $status = 77 ] && [ $n_ok = 0 ]; then
    n_skip=1
    echo "skip $name: $(tail -n 1 "$log/err")"
  elif [ "$n_bad" != 0 ] || [ $status != 0 ] || [ "$findings" ] || [ $((n_ok + n_skip)) = 0 ]; then
    [ "$n_bad" != 0 ] || n_bad=1
    echo "FAIL $name (exit $status)"
    grep -vE '^ok ' "$out" | tail -n 60 | sed 's/^/     /'
    tail -n 60 "$log/err" | sed 's/^/     /'
    [ -z "$findings" ] || head -n 120 <<<"$findings" | sed 's/^/     /'
  else
    echo "ok   $name ($n_ok)"
  fi
  grep -E '^(not )?ok [0-9]+.*# *SKIP' "$out" | sed -E "s,^(not )?ok [0-9]+ *-? *,skip $name: ,; s/# *SKIP *//"
  passed=$((passed + n_ok)) failed=$((failed + n_bad)) skipped=$((skipped + n_skip))
}

for kind; do
  alone=()
  case $kind in root | interop) [ ! -r /sys/kernel/tracing ] || alone=(flock --close /sys/kernel/tracing) ;; esac
  case $kind in
  unit) for t in tests/unit/*/test_*.c; do t=${t%.c}; run_one "${t#tests/}" "$B/$t"; done ;;
  rules | system | root | interop) for t in tests/"$kind"/test_*.sh; do
    [ -e "$t" ] && run_one "${t#tests/}" "$t"
  done ;;
  kernels) TEST_TIMEOUT=${TEST_TIMEOUT:-1200} run_one kernels tests/kernels/check.sh ;;
  *) echo "tests/run.sh: no such kind: $kind" >&2; exit 2 ;;
  esac
done
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed = 0 ] && [ $passed != 0 ]
