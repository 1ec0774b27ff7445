#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Sizes at which a file or function stops being read: no .c over 1,000 lines, no header over 200, no function over 100 lines
# and at most 5 % over 60. A file has one idea, and usually 200 to 600 lines: the limits are no aim. Prints the largest of each.
set -u
cd "$(dirname "$0")/../.." || exit 2

n=0 bad=0
verdict() { # NAME OK?
  n=$((n + 1))
  if [ "$2" = 1 ]; then echo "ok $n - $1"; else echo "not ok $n - $1"; bad=1; fi
}

functions() { # LINES FILE:LINE, one row a function with its brace at column 0
  awk '/^{/ { s = FNR } /^}/ { if (s) print FNR - s + 1, FILENAME ":" s; s = 0 }' src/*/*.c src/*/*/*.c
}

files=$(wc -l src/*/*.c src/*/*/*.c | grep -v ' total$' | sort -rn)
headers=$(wc -l src/*/*.h src/*/*/*.h include/*.h 2>/dev/null | grep -v ' total$' | sort -rn)
fns=$(functions | sort -rn)
for list in "$files" "$headers" "$fns"; do
  printf '%s\n' "$list" | sed -n '1,5s/^/# /p'
done

verdict "no .c over 1,000 lines" "$(printf '%s\n' "$files" | awk '$1 > 1000 { b = 1 } END { print !b }')"
verdict "no header over 200 lines" "$(printf '%s\n' "$headers" | awk '$1 > 200 { b = 1 } END { print !b }')"
verdict "no function over 100 lines" "$(printf '%s\n' "$fns" | awk '$1 > 100 { b = 1 } END { print !b }')"
verdict "at most 5 % of functions over 60 lines" \
  "$(printf '%s\n' "$fns" | awk '$1 > 60 { b++ } END { print b * 20 <= NR }')"
verdict "at most 3 % of static functions have a name that three or more files use" \
  "$([ -z "$(python3 tests/rules/check_static_names.py 3 | tee /dev/stderr)" ] && echo 1)"
exit $bad
