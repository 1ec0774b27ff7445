#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The table of owners in CONTRIBUTING.md: each of its patterns matches a test, no test is in two rows, and make check-answers
# runs the tests of the rows "answers".
. "$(dirname "$0")/../lib.sh"

rows=() # the patterns of each row
answers=()
while read -r part patterns; do
  rows+=("$patterns")
  [ "$part" = recording ] || read -ra answers <<<"${answers[*]} $patterns"
done < <(sed -n 's/^| \(recording\|answers\) |.* | \(.*\) |$/\1 \2/p' CONTRIBUTING.md | tr -d '`')
tests=$(printf '%s\n' tests/unit/*/test_*.c tests/unit/*/*/test_*.c tests/fuzz/fuzz_*.c tests/{system,root,interop}/test_*.sh |
  sed 's,^tests/,,; s,\.c$,,; s,^fuzz/fuzz_,fuzz/,')

twice=$(
  while read -r name; do
    n=0
    for row in "${rows[@]}"; do
      read -ra patterns <<<"$row"
      for pattern in "${patterns[@]}"; do
        # Patterns are meant to match.
        # shellcheck disable=SC2053
        [[ $name == $pattern ]] && { n=$((n + 1)); break; }
      done
    done
    [ $n -le 1 ] || echo "$name is in $n rows"
  done <<<"$tests"
)
no_offenders "no test is in two rows" "$twice"

unused=$(
  read -ra patterns <<<"${rows[*]}"
  for pattern in "${patterns[@]}"; do
    while read -r name; do
      # shellcheck disable=SC2053
      [[ $name != $pattern ]] || continue 2
    done <<<"$tests"
    echo "$pattern matches no test"
  done
)
no_offenders "each pattern matches a test" "$unused"

env -u MAKEFLAGS -u MAKELEVEL make -s --no-print-directory --eval 'list-answer-tests: ; @printf "%s\n" $(foreach t,$(ANSWER_TESTS),"$t")' \
  list-answer-tests >"$TMP/list" 2>&1
[ ${#answers[@]} -gt 0 ] && diff <(printf '%s\n' "${answers[@]}") "$TMP/list" >"$TMP/differences"
verdict "make check-answers runs the tests of the rows of answers" $? "$TMP/differences"
echo "1..$N"
exit $BAD
