#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# usage: tests/run.sh BUILD [unit|rules|system|root|interop|kernels]...      all of them without a list
#
# Every test speaks TAP on stdout: "ok N - name", "not ok N - name", "ok N - name # SKIP reason". A test that exits
# with 77 before its first line is skipped whole; one that dies counts as a failure of its own. The last line is the
# sum: "N passed, N failed, N skipped".
#
# What a sanitizer finds in any process of a test, a daemon in the background too, fails the test. The tests that use
# the tracefs of the machine wait for each other, also those of another run; the others run beside them. The seconds of
# each test are told, as a suite is kept short by those who see what takes long.
set -u
cd "$(dirname "$0")/.." || exit 2
B=$1
shift
[ $# -gt 0 ] || set -- rules unit system root interop kernels
log=$(mktemp -d)
lanes=()
leave() {
  local pid
  for pid in "${lanes[@]}"; do kill -TERM -- "-$pid" 2>/dev/null; done
  rm -rf "$log"
}
trap '[ "$BASHPID" != $$ ] || leave' EXIT
trap 'exit 130' INT TERM HUP
chmod 711 "$log"

# What stands in $1: where a test of this lane leaves its words and a sanitizer its findings, which are files that a
# process of another user may write too.
enter_lane() { # FOLDER
  local variable
  lane=$1
  mkdir -m 711 "$lane" && mkdir -m 1777 "$lane/findings"
  for variable in ASAN_OPTIONS LSAN_OPTIONS TSAN_OPTIONS UBSAN_OPTIONS; do
    export $variable="${!variable:+${!variable}:}print_stacktrace=1:log_path=$lane/findings/of"
  done
}

report() { # NAME STATUS SECONDS: what the test in $lane came to
  local name=$1 status=$2 out=$lane/out n_ok n_bad n_skip findings
  findings=$(cat "$lane"/findings/* 2>/dev/null)
  rm -f "$lane"/findings/*
  # cmocka writes "not ok N # SKIP name".
  n_skip=$(grep -cE '^(not )?ok [0-9]+.*# *SKIP' "$out")
  n_ok=$(grep -E '^ok ' "$out" | grep -cvE '# *SKIP')
  n_bad=$(grep -E '^not ok ' "$out" | grep -cvE '# *SKIP')
  if [ "$status" = 77 ] && [ "$n_ok" = 0 ]; then
    n_skip=1
    echo "skip $name: $(tail -n 1 "$lane/err")"
  elif [ "$n_bad" != 0 ] || [ "$status" != 0 ] || [ "$findings" ] || [ $((n_ok + n_skip)) = 0 ]; then
    [ "$n_bad" != 0 ] || n_bad=1
    echo "FAIL $name (exit $status, $3 s)"
    grep -vE '^ok ' "$out" | tail -n 60 | sed 's/^/     /'
    tail -n 60 "$lane/err" | sed 's/^/     /'
    [ -z "$findings" ] || head -n 120 <<<"$findings" | sed 's/^/     /'
  else
    echo "ok   $name ($n_ok, $3 s)"
  fi
  grep -E '^(not )?ok [0-9]+.*# *SKIP' "$out" | sed -E "s,^(not )?ok [0-9]+ *-? *,skip $name: ,; s/# *SKIP *//"
  echo "$n_ok $n_bad $n_skip" >>"$log/sums"
}

run_one() { # NAME COMMAND...
  local name=$1 began=$SECONDS status
  shift
  CMOCKA_MESSAGE_OUTPUT=TAP BUILD=$B "${alone[@]}" timeout --kill-after=10 "${TEST_TIMEOUT:-300}" "$@" \
    >"$lane/out" 2>"$lane/err" </dev/null
  status=$?
  # The lines of a test stay together.
  report "$name" $status $((SECONDS - began)) >"$lane/said"
  flock "$log" cat "$lane/said"
}

run_kinds() { # KIND...
  local kind t
  for kind; do
    alone=()
    case $kind in root | interop) [ ! -r /sys/kernel/tracing ] || alone=(flock --close /sys/kernel/tracing) ;; esac
    case $kind in
    unit) for t in tests/unit/*/test_*.c; do t=${t%.c}; run_one "${t#tests/}" "$B/$t"; done ;;
    rules | system | root | interop) for t in tests/"$kind"/test_*.sh; do
      [ -e "$t" ] && run_one "${t#tests/}" "$t"
    done ;;
    # The guests' time does not depend on their speed.
    kernels) TEST_TIMEOUT=${TEST_TIMEOUT:-1200} run_one kernels nice -n 10 tests/kernels/check.sh ;;
    esac
  done
  return 0
}

with_tracefs=() others=()
for kind; do
  case $kind in
  root | interop) with_tracefs+=("$kind") ;;
  rules | unit | system | kernels) others+=("$kind") ;;
  *) echo "tests/run.sh: no such kind: $kind" >&2; exit 2 ;;
  esac
done

# Job control gives each lane a process group of its own, and lets SIGINT reach what runs in it: a shell without it
# starts what is in the background with SIGINT ignored, and then no test of Ctrl-C can be right.
set -m
(set +m && enter_lane "$log/with_tracefs" && run_kinds "${with_tracefs[@]}" && echo 0 0 0 >"$log/end1") &
lanes+=($!)
(set +m && enter_lane "$log/others" && run_kinds "${others[@]}" && echo 0 0 0 >"$log/end2") &
lanes+=($!)
set +m
wait "${lanes[@]}"
lanes=()
cat "$log/end1" "$log/end2" >>"$log/sums" || echo 0 1 0 >>"$log/sums" # a lane that did not reach its end

read -r passed failed skipped <<<"$(awk '{ p += $1; f += $2; s += $3 } END { print p + 0, f + 0, s + 0 }' "$log/sums")"
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ] && [ "$passed" != 0 ]
