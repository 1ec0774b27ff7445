#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# usage: tests/run.sh BUILD [rules|unit|fuzz|system|root|interop|long|heavy|kernels]...
#
# Without a list: rules unit fuzz system root interop, which is make check. "long" and "heavy" are the tests that say so
# (below), from all directories; "kernels" boots guests; make check-long is all three.
#
# TESTS='unit/wire/* system/test_sql*' are those of the kinds whose name one of the patterns matches, OTHER_TESTS='...' all
# but those. A pattern of TESTS that matches no test of the kinds is an error; one that matches only tests of another length
# ("check: long", "check: heavy") is reported.
#
# Every test speaks TAP on stdout: "ok N - name", "not ok N - name", "ok N - name # SKIP reason". A test that exits
# with 77 before its first line is skipped whole; one that dies counts as a failure of its own. After the last test the
# failures are listed once more, with the lines that say why. The last line is the sum: "N passed, N failed, N skipped".
#
# A script says in its head how it may be run:
#
#     # tracefs: alone     no other test uses tracefs meanwhile (root/ and interop/, unless they say something else)
#     # tracefs: top       it uses tracefs' top level, as Perfetto's traced_probes does: no other "top" runs meanwhile
#     # tracefs: shared    it uses instances of its own: "shared" ones and one "top" may run beside it; it takes the lock of
#                          "top" for the parts that use the top level (hold_top_level of tests/interop/lib.sh)
#     # tracefs: none      it does not use tracefs (all other directories)
#     # tracefs: machine   no other test and no guest runs meanwhile: it compares times, or takes all CPUs
#     # check: long        only in make check-long and make check-all
#     # check: heavy       only in make check-long: it takes both CPUs for long
#
# JOBS tests run at the same time (three times as many as there are CPUs, since most of them wait most of the time). "top" and
# "shared" tests run first, then "alone" ones with "none" beside them, and last the "machine" ones. Tests that use the tracefs of
# the machine also wait for those of another run.
#
# A test that fails beside others runs once more alone; if it passes then, it is listed as FLAKY.
#
# These also fail a test: what a sanitizer finds in any of its processes, files that it leaves in TMPDIR, processes that it
# leaves running, and tracefs instances that it leaves behind.
set -u
cd "$(dirname "$0")/.." || exit 2
B=$1
shift
[ $# -gt 0 ] || set -- rules unit fuzz system root interop
tracing=/sys/kernel/tracing

# A tracefs that has to be mounted is mounted for this run only: all of it is in a mount namespace of its own then.
if [ "$(id -u)" = 0 ] && [ ! -e $tracing/trace ] && [ -z "${RUN_IN_NAMESPACE:-}" ]; then
  export RUN_IN_NAMESPACE=1
  ! unshare --mount true 2>/dev/null ||
    exec unshare --mount --propagation slave sh -c 'mount -t tracefs tracefs "$1" 2>/dev/null; shift; exec "$@"' \
      sh $tracing "$0" "$B" "$@"
fi

log=$(mktemp -d)
chmod 711 "$log"
# Each test has a TMPDIR of its own; these are kept from run to run.
export PEER_DIR=${PEER_DIR:-${TMPDIR:-/tmp}/peers} KERNEL_DIR=${KERNEL_DIR:-${TMPDIR:-/tmp}/sonda-kernels}
declare -A CLASS=() NAME=() LANE=() BEGAN=() # of the jobs that run, by process
leave() {
  local pid
  for pid in "${!CLASS[@]}"; do kill -TERM -- "-$pid" 2>/dev/null; done
  rm -rf "$log"
}
trap '[ "$BASHPID" != $$ ] || leave' EXIT
trap 'exit 130' INT TERM HUP

# ---- one test, in a process of its own -----------------------------------------------------------

# What stands in $1: where the test leaves its words and a sanitizer its findings, which are files that a process of another
# user may write too.
enter_lane() { # DIR
  local variable
  lane=$1
  mkdir -m 711 "$lane" && mkdir -m 1777 "$lane/findings" "$lane/tmp"
  for variable in ASAN_OPTIONS LSAN_OPTIONS TSAN_OPTIONS UBSAN_OPTIONS; do
    export $variable="${!variable:+${!variable}:}print_stacktrace=1:log_path=$lane/findings/of"
  done
  ASAN_OPTIONS+=:verify_asan_link_order=0 # tests preload libraries of their own
  export TMPDIR=$lane/tmp TEST_PROGRESS=$lane/progress
  export PERF_BUILDID_DIR=$lane/perf # else perf(1) keeps copies of programs in ~/.debug
}

# Instances of processes that are gone.
stale_instances() {
  local i pid
  for i in "$tracing"/instances/sonda-*; do
    pid=${i##*/sonda-}
    [ ! -e "$i" ] || [ -e "/proc/${pid%%-*}" ] || echo "tracefs instance ${i##*/}"
  done
}

# Processes of the test that have another process group, as children of timeout(1) and daemons have: their TMPDIR is the test's.
detached_processes() {
  local file
  for file in $(TMPDIR='' grep -lzsxF "TMPDIR=$lane/tmp" /proc/[0-9]*/environ); do
    file=${file#/proc/}
    echo "${file%/environ}"
  done
}

left_behind() { # CLASS PROCESS_GROUP
  local i
  for i in 1 2 3 4 5 6 7 8 9 10; do
    kill -0 -- "-$2" 2>/dev/null || break
    sleep 0.1
  done
  if kill -0 -- "-$2" 2>/dev/null; then
    ps -eo pgid=,pid=,stat=,args= | awk -v g="$2" '$1 == g && $3 !~ /Z/ { $1 = ""; print "process" $0 }' >"$lane/processes"
    cat "$lane/processes"
    kill -KILL -- "-$2" 2>/dev/null
  fi
  for i in 1 2 3 4 5 6 7 8 9 10; do
    detached_processes >"$lane/processes"
    [ -s "$lane/processes" ] || break
    sleep 0.1
  done
  while read -r i; do
    ps -o pid=,stat=,args= -p "$i" | awk '$2 !~ /Z/ { print "process", $0 }'
    kill -KILL "$i" 2>/dev/null
  done <"$lane/processes"
  (shopt -s nullglob dotglob && cd "$lane/tmp" && set -- * && [ $# = 0 ] || printf 'TMPDIR/%s\n' "$@")
  case $1 in alone | machine) stale_instances ;; esac
}

# The lines that say why: a failed verdict with its context, or the last words of a test that has none.
why() {
  awk '/^(not )?ok / { show = /^not / && !/# *SKIP/ ? 40 : 0 } show > 0 { print; show--; n++ } END { exit !n }' \
    "$lane/out" >"$lane/why" && head -n 200 "$lane/why" || tail -n 15 "$lane/out"
  tail -n 20 "$lane/err"
}

report() { # NAME STATUS SECONDS CPU_SECONDS: what the test in $lane came to
  local name=$1 status=$2 n_ok n_bad n_skip findings left
  findings=$(shopt -s nullglob; set -- "$lane"/findings/*; [ $# = 0 ] || cat "$@")
  left=$(<"$lane/left")
  # cmocka writes "not ok N # SKIP name".
  read -r n_ok n_bad n_skip < <(awk '/^(not )?ok [0-9]+.*# *SKIP/ { s++; next } /^ok / { o++ } /^not ok / { b++ }
    END { print o + 0, b + 0, s + 0 }' "$lane/out")
  if [ "$status" = 77 ] && [ "$n_ok" = 0 ]; then
    n_skip=1
    echo "skip $name: $(tail -n 1 "$lane/err")"
  elif [ "$n_bad" != 0 ] || [ "$status" != 0 ] || [ "$findings$left" ] || [ $((n_ok + n_skip)) = 0 ]; then
    [ "$n_bad" != 0 ] || n_bad=1
    {
      echo "FAIL $name (exit $status, $3 s)"
      why | sed 's/^/     /'
      [ -z "$left" ] || sed 's/^/     left behind: /' <<<"$left"
      [ -z "$findings" ] || head -n 120 <<<"$findings" | sed 's/^/     /'
    } | tee "$lane/failure"
  else
    echo "ok   $name ($n_ok, $3 s, CPU $4 s)"
  fi
  [ "$n_skip" = 0 ] || grep -E '^(not )?ok [0-9]+.*# *SKIP' "$lane/out" | sed -E "s,^(not )?ok [0-9]+ *-? *,skip $name: ,; s/# *SKIP *//"
  echo "$n_ok $n_bad $n_skip" >"$lane/sum"
}

# A test that is about to be killed for its time: what it waits for, into its words. Without a process of its own it can be
# killed with nothing left.
tell_what_hangs() { # SECONDS PROCESS_GROUP
  read -rt "$1" <> <(:)
  {
    echo "# after $1 s it still runs:"
    ps -eo pgid=,pid=,ppid=,stat=,time=,wchan:24=,args= | awk -v g="$2" '$1 == g { $1 = "#  "; print substr($0, 1, 200) }'
  } >>"$lane/err"
}

# Of the line "0m1.234s 1m2.345s" in $lane/times: 63.5.
cpu_seconds() {
  local pattern='([0-9]+)m([0-9]+)\.([0-9]{3})s ([0-9]+)m([0-9]+)\.([0-9]{3})s' ms
  { read -r _; read -r ms; } <"$lane/times"
  [[ $ms =~ $pattern ]] || return
  set -- "${BASH_REMATCH[@]:1}"
  ms=$(((10#$1 + 10#$4) * 60000 + (10#$2 + 10#$5) * 1000 + 10#$3 + 10#$6))
  echo "$((ms / 1000)).$((ms % 1000 / 100))"
}

run_one() { # CLASS NAME COMMAND...
  local class=$1 name=$2 began status group watcher limit=${TEST_TIMEOUT:-300}
  shift 2
  if [ "$class" != none ] && [ -r $tracing ]; then
    exec 9<$tracing
    case $class in
    alone | machine) flock 9 ;;
    shared) flock -s 9 ;;
    top) exec 8<$tracing/events && flock 8 && flock -s 9 ;;
    esac
  fi
  began=$SECONDS
  set -m # a process group of its own
  # In the background of a script SIGINT is ignored, and under nohup SIGHUP: a test of these signals would wait for ever.
  CMOCKA_MESSAGE_OUTPUT=TAP BUILD=$B timeout --kill-after=10 "$limit" env --default-signal=HUP,INT,QUIT "$@" \
    >"$lane/out" 2>"$lane/err" </dev/null 8<&- 9<&- &
  group=$!
  set +m
  trap 'kill -TERM -- "-$group" $watcher 2>/dev/null' TERM
  tell_what_hangs $((limit - 5)) $group &
  watcher=$!
  wait $group
  status=$?
  { kill -KILL $watcher && wait $watcher; } 2>/dev/null # a new process could still drop another signal
  left_behind "$class" $group >"$lane/left"
  times >"$lane/times" # second line: of the processes that this one has waited for, and of theirs
  report "$name" $status $((SECONDS - began)) "$(cpu_seconds)" >"$lane/said"
}

# ---- which tests, and when ------------------------------------------------------------------------

alone=() top=() shared=() none=() machine=() # names of the tests that wait
guests=

said_in() { # FILE WORD
  sed -n "2,20s/^# $2: *//p" "$1"
}
read -ra only <<<"${TESTS:-}"
read -ra but <<<"${OTHER_TESTS:-}"
declare -A matched=() other_length=() # patterns: of tests that run, of tests of another length
is_chosen() { # NAME
  local pattern chosen=1
  [ ${#only[@]} = 0 ] || chosen=
  # Patterns are meant to match.
  # shellcheck disable=SC2053
  for pattern in "${only[@]}"; do [[ $1 != $pattern ]] || chosen=1 matched[$pattern]=1; done
  # shellcheck disable=SC2053
  for pattern in "${but[@]}"; do [[ $1 != $pattern ]] || chosen=; done
  [ "$chosen" ]
}
add() { # CLASS NAME
  is_chosen "$2" || return 0
  case $1 in
  alone) alone+=("$2") ;;
  top) top+=("$2") ;;
  shared) shared+=("$2") ;;
  none) none+=("$2") ;;
  machine) machine+=("$2") ;;
  *) echo "tests/run.sh: $2: no such class: $1" >&2; exit 2 ;;
  esac
}
add_scripts() { # DIR short|long|heavy
  local t class length pattern
  for t in tests/"$1"/test_*.sh; do
    [ -e "$t" ] || continue
    length=$(said_in "$t" check)
    if [ "${length:-short}" != "$2" ]; then
      # shellcheck disable=SC2053
      for pattern in "${only[@]}"; do [[ ${t#tests/} != $pattern ]] || other_length[$pattern]=1; done
      continue
    fi
    class=$(said_in "$t" tracefs)
    case $1 in root | interop) : "${class:=alone}" ;; *) : "${class:=none}" ;; esac
    add "$class" "${t#tests/}"
  done
}
for kind; do
  [ "$kind" != heavy ] || export HEAVY=1
  case $kind in
  unit) for t in tests/unit/*/test_*.c tests/unit/*/*/test_*.c; do t=${t%.c}; add none "${t#tests/}"; done ;;
  fuzz) for t in tests/fuzz/fuzz_*.c; do t=${t%.c}; add none "fuzz/${t##*/fuzz_}"; done ;;
  rules | system | root | interop) add_scripts "$kind" short ;;
  long | heavy) for directory in rules system root interop; do add_scripts $directory "$kind"; done ;;
  kernels) guests=1 ;;
  *) echo "tests/run.sh: no such kind: $kind" >&2; exit 2 ;;
  esac
done
for pattern in "${only[@]}"; do
  [ -z "${matched[$pattern]:-}" ] || continue
  [ -n "${other_length[$pattern]:-}" ] || { echo "tests/run.sh: no test is named $pattern" >&2; exit 2; }
  echo "     $pattern matches only tests of another length (short, long or heavy), which do not run"
done

command_of() { # NAME: in $command
  case $1 in
  # The guests' time does not depend on their speed. GUESTS='5.10 newest' are some of them.
  kernels) read -ra guest_names <<<"${GUESTS:-}" && command=(chrt --idle 0 tests/kernels/check.sh "${guest_names[@]}") && TEST_TIMEOUT=${TEST_TIMEOUT:-1200} ;;
  # Recordings of the machine's events come first.
  unit/*) command=(nice -n 10 "$B/tests/$1") ;;
  fuzz/*) command=(nice -n 10 "$B/tests/fuzz/replay_${1#fuzz/}" "tests/fuzz/corpus/${1#fuzz/}") ;;
  *)
    command=("tests/$1")
    [ "$(said_in "tests/$1" check)" != heavy ] || TEST_TIMEOUT=${TEST_TIMEOUT:-900}
    ;;
  esac
}

uses_tracefs=${top[*]}${shared[*]}${machine[*]}
started=0
start_job() { # CLASS NAME
  local command
  started=$((started + 1))
  set -m
  (
    set +m
    enter_lane "$log/$started"
    command_of "$2"
    run_one "$1" "$2" "${command[@]}"
  ) &
  set +m
  CLASS[$!]=$1 NAME[$!]=$2 LANE[$!]=$log/$started BEGAN[$!]=$SECONDS
}

# The next test that may run beside those that run; fails when none may.
start_next() {
  local running=" ${CLASS[*]} "
  [[ $running != *' machine '* ]] || return
  if [[ $running != *' alone '* ]]; then
    if [ ${#top[@]} != 0 ] && [[ $running != *' top '* ]]; then
      start_job top "${top[0]}"
      top=("${top[@]:1}")
      return
    fi
    if [ ${#shared[@]} != 0 ]; then
      start_job shared "${shared[0]}"
      shared=("${shared[@]:1}")
      return
    fi
    if [ ${#alone[@]} != 0 ] && [ ${#top[@]} = 0 ] && [[ $running != *' shared '* && $running != *' top '* ]]; then
      start_job alone "${alone[0]}"
      alone=("${alone[@]:1}")
      return
    fi
  fi
  if [ ${#none[@]} != 0 ]; then
    start_job none "${none[0]}"
    none=("${none[@]:1}")
    return
  fi
  [ ${#machine[@]} != 0 ] && [ ${#CLASS[@]} = 0 ] || return
  start_job machine "${machine[0]}"
  machine=("${machine[@]:1}")
}

n_passed=0 n_failed=0 n_skipped=0
again=() # classes and names of tests that failed beside others
again_failed=() # how many of their checks
finish_job() { # PROCESS
  local lane=${LANE[$1]} passed failed skipped
  [ ! -e "$lane/said" ] || echo "$(<"$lane/said")"
  if read -r passed failed skipped 2>/dev/null <"$lane/sum"; then
    n_passed=$((n_passed + passed)) n_failed=$((n_failed + failed)) n_skipped=$((n_skipped + skipped))
  else # it did not reach its end
    failed=1
    n_failed=$((n_failed + 1))
    echo "FAIL ${NAME[$1]} (nothing is known of it)" | tee "$lane/failure"
  fi
  if [ "${failed:-0}" != 0 ] && [ "${NAME[$1]}" != kernels ]; then
    again+=("${CLASS[$1]} ${NAME[$1]}") again_failed+=("$failed")
  fi
  [ ! -e "$lane/failure" ] || cat "$lane/failure" >>"$log/failures"
  rm -rf "$lane"
  unset "CLASS[$1]" "NAME[$1]" "LANE[$1]" "BEGAN[$1]"
}

# What runs, when nothing has ended for a while.
tell_progress() {
  local pid words=''
  for pid in "${!NAME[@]}"; do
    words="$words, ${NAME[$pid]} for $((SECONDS - BEGAN[$pid])) s"
    [ ! -s "${LANE[$pid]}/progress" ] || words="$words ($(tail -n 1 "${LANE[$pid]}/progress"))"
  done
  echo "     after $SECONDS s: $((${#alone[@]} + ${#top[@]} + ${#shared[@]} + ${#none[@]} + ${#machine[@]})) tests wait, running${words#,}"
}

jobs=${JOBS:-$(($(nproc) * 3))}
ticker=
# The guests take the longest of all, and only the time that the other tests leave.
[ -z "$guests" ] || { start_job none kernels && jobs=$((jobs + 1)); }
while :; do
  while [ ${#CLASS[@]} -lt "$jobs" ] && start_next; do :; done
  [ ${#CLASS[@]} != 0 ] || break
  [ -n "$ticker" ] || { sleep 20 & ticker=$!; }
  wait -n -p ended "${!CLASS[@]}" $ticker
  if [ "$ended" = "$ticker" ]; then
    ticker=
    tell_progress
  else
    finish_job "$ended"
    kill -KILL $ticker && wait $ticker
    ticker=
  fi 2>/dev/null
done
[ -z "$ticker" ] || kill -KILL $ticker

# A test that failed beside others runs once more, alone. One that passes then depends on the load: it is listed, and does
# not fail the run. One that fails again is broken.
retries=("${again[@]}") retries_failed=("${again_failed[@]}") flaky=()
[ ${#retries[@]} -le 8 ] || retries=() # the machine or the build is broken, not a test
for i in "${!retries[@]}"; do
  failed_before=$n_failed
  start_job ${retries[i]}
  wait -n -p ended "${!CLASS[@]}"
  finish_job "$ended"
  if [ $n_failed = $failed_before ]; then
    n_failed=$((n_failed - retries_failed[i]))
    flaky+=("${retries[i]#* }")
  fi
done

# What tests that ran side by side have left: no other run uses tracefs while this lock is held.
if [ "$uses_tracefs" ] && [ -r $tracing ]; then
  exec 9<$tracing
  left=$(flock -w 60 9 && stale_instances)
  exec 9<&-
  if [ "$left" ]; then
    n_failed=$((n_failed + 1))
    sed 's/^/FAIL left behind: /' <<<"$left" | tee -a "$log/failures"
  fi
fi

if [ -s "$log/failures" ]; then
  echo "== what failed"
  cat "$log/failures"
fi
for name in "${flaky[@]}"; do echo "FLAKY $name: it failed beside others, see above, and passed alone"; done
echo "$n_passed passed, $n_failed failed, $n_skipped skipped in $SECONDS s"
[ "$n_failed" = 0 ] && [ "$n_passed" != 0 ]
