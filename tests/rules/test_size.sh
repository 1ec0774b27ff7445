#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Sizes at which a file or function stops being read: no header over 200 lines, no function over 100 lines and at most 5 %
# over 60. A file has one idea, and usually 200 to 600 lines: the limits are no aim. Prints the largest of each, and a warning
# for each .c over 1,000 lines.
. "$(dirname "$0")/../lib.sh"

functions() { # LINES FILE:LINE, one row a function with its brace at column 0
  awk '/^{/ { s = FNR } /^}/ { if (s) print FNR - s + 1, FILENAME ":" s; s = 0 }' src/*/*.c src/*/*/*.c
}

files=$(wc -l src/*/*.c src/*/*/*.c | grep -v ' total$' | sort -rn)
headers=$(wc -l src/*/*.h src/*/*/*.h include/*.h 2>/dev/null | grep -v ' total$' | sort -rn)
fns=$(functions | sort -rn)
for list in "$files" "$headers" "$fns"; do
  printf '%s\n' "$list" | sed -n '1,5s/^/# /p'
done

too_long() { awk -v limit="$1" '$1 > limit' <<<"$2"; }
too_long 1000 "$files" | sed 's/^ */# warning: over 1,000 lines: /'
no_offenders "no header over 200 lines" "$(too_long 200 "$headers")"
no_offenders "no function over 100 lines" "$(too_long 100 "$fns")"
no_offenders "at most 5 % of functions over 60 lines" "$(awk '$1 > 60 { n++; row[n] = $0 } END { if (n * 20 > NR) for (i in row) print row[i] }' <<<"$fns")"
no_offenders "at most 3 % of static functions have a name that three or more files use" "$(python3 tests/rules/check_static_names.py shared 3)"
no_offenders "at most 1 % of static functions have a name of one word" "$(python3 tests/rules/check_static_names.py one-word 1)"
exit $BAD
