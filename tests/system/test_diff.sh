#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# sonda diff on recordings whose differences are known (diff_traces.py): changes and intervals as an oracle computes them, what is
# refused, exit codes.
. "$(dirname "$0")/../lib.sh"
needs_commands protoc python3
export LC_ALL=C
python3 tests/system/diff_traces.py "$TMP" || exit 1
for text in "$TMP"/*.txtpb; do
  protoc -Iprotos --encode=perfetto.protos.Trace protos/trace/trace.proto <"$text" >"${text%.txtpb}.pf" || exit 1
done
cd "$TMP" || exit 1

# run NAME CODE REGEX ARGS...: the exit code, and a line of the output or the error
run() {
  local name=$1 code=$2 regex=$3
  shift 3
  "$SONDA" diff "$@" >out 2>err
  [ $? = "$code" ] && cat out err | grep -Eq -- "$regex"
  verdict "$name" $? out err
}
answers() { # NAME EXPECTED ARGS...
  local name=$1 expected=$2
  shift 2
  "$SONDA" diff --json "$@" >got.json 2>err && python3 "$OLDPWD/tests/system/diff_traces.py" --check got.json "$expected" 2>>err
  verdict "$name" $? err got.json
}

answers "pairs: recordings that were made in turn" ab.json a*.pf -- b*.pf
answers "pairs: in any order on the command line" ab.json a3.pf a1.pf a0.pf a2.pf a4.pf -- b4.pf b0.pf b1.pf b3.pf b2.pf
answers "repetitions: of different times" ac.json a*.pf -- c*.pf
run "repetitions: a note that they were not made in turn" 0 "not recorded alternately" a*.pf -- c*.pf
run "the largest effect is first, and the thread explains its program" 0 '^\+2[0-9.]+ % +\+[0-9.]+ to \+[0-9.]+ +.* cpu +app +app' a*.pf -- b*.pf
[ "$(grep -c ' cpu  *app ' out)" = 1 ]
verdict "a program that its thread explains has no row" $? out
run "--all has it, and rows without a finding" 0 'No finding' --all a*.pf -- b*.pf
[ "$(grep -c ' cpu  *app ' out)" = 3 ] && grep -q ' cpu  *other' out
verdict "--all has all levels" $? out
run "the same recordings: no finding" 0 "no change is both large enough" a*.pf -- a*.pf
run "one recording of each side: blocks of time" 0 "intervals come from blocks of time" a0.pf b0.pf
grep -Eq ' cpu +app' out
verdict "blocks of time find a large change" $? out
run "one recording with itself: no finding" 0 "no change is both large enough" a0.pf a0.pf
run "runs of which there are too few are not tested" 0 "Largest differences, possibly due to chance" --per run a0.pf b0.pf
run "a command ends with its last exit" 0 '"seconds": 1\.5}' --json run.pf run.pf
run "-p limits to a program" 0 "; 3 rows tested|; 4 rows tested|no change" -p other a*.pf -- b*.pf
run "another config is noted" 0 "the configs differ \(linux.ftrace\)" a0.pf a1.pf a2.pf -- b0.pf b1.pf other_config.pf
run "configs with different pids are the same" 0 "distinguishable" pids0.pf pids1.pf
! grep -q "configs differ" out
verdict "no note on the config" $? out
run "a different load is noted" 0 "different load: the number of syscalls of app per second changed by \+60 %" d*.pf -- e*.pf
run "for each call it is the same" 0 "Compared: cost per sys_39" --per sys_39 d*.pf -- e*.pf
! grep -q "different load" out
verdict "for each call there is no other load" $? out
run "what lost data is refused" 1 "lost.pf lost data, so the totals are too small" a0.pf lost.pf
run "of several it is left out" 0 "lost.pf lost data and is left out" a*.pf -- b*.pf lost.pf
grep -q 'B: b0.pf and 4 more' out
verdict "the others are compared" $? out
run "too few of those that lost nothing" 1 "fewer than 3 recordings of B" a0.pf a1.pf a2.pf -- b0.pf b1.pf lost.pf
answers "pairs: without the one whose partner is missing" ab4.json a*.pf -- b0.pf b1.pf b3.pf b4.pf
run "--lossy compares it" 0 "recordings that lost data are included" --lossy a0.pf a1.pf a2.pf -- b0.pf b1.pf lost.pf
run "--per a slice that no recording has" 1 "no slice or system call named .request." --per request a*.pf -- b*.pf
run "a missing file" 1 "cannot open nosuch.pf" a0.pf nosuch.pf
run "a file that is no trace" 1 "err" a0.pf err

run "--fail-if holds: exit code 4" 4 "cpu of app.* changed by \+2" --fail-if 'cpu app > +10%' a*.pf -- b*.pf
run "--fail-if: a smaller change" 0 "" --fail-if 'cpu app > +60%' a*.pf -- b*.pf
run "--fail-if: no finding" 0 "" --fail-if 'cpu other > 0%' a*.pf -- b*.pf
run "--fail-if: less" 4 "cpu of app" --fail-if 'cpu < -10%' b*.pf -- a*.pf
run "--fail-if without data: exit code 1" 1 "cannot be evaluated" --fail-if 'io p99 > +10%' a*.pf -- b*.pf
run "--fail-if: one that cannot be evaluated comes before one that holds" 1 "cannot be evaluated" \
  --fail-if 'cpu app > +10%' --fail-if 'waits > 1%' a*.pf -- b*.pf
run "--fail-if with JSON: the exit code" 4 '"changes"' --json --fail-if 'cpu app > +10%' a*.pf -- b*.pf
run "options behind --" 0 '"design": "pairs"' a*.pf -- b*.pf --json

run "no recording" 2 "a recording is missing"
run "one recording" 2 "a recording is missing" a0.pf
run "three without --" 2 "'--' is missing" a0.pf a1.pf b0.pf
run "nothing behind --" 2 "no recording after '--'" a0.pf --
run "nothing before --" 2 "no recording before '--'" -- a0.pf
run "--min" 2 "--min .0. is not a percentage" --min 0 a0.pf b0.pf
run "--top" 2 "--top .x. is not a number" --top x a0.pf b0.pf
run "--per without a unit" 2 "--per: expected .run" --per "" a0.pf b0.pf
run "-p without a name" 2 "-p: no process or thread is given" -p , a0.pf b0.pf
run "--fail-if of no metric" 2 "unknown metric .nosuch." --fail-if 'nosuch > 1%' a0.pf b0.pf
exit $BAD
