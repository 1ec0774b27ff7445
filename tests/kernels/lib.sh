# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# For the tests of guest/: all of tests/root/lib.sh, and what the host will ask of a trace. Sourced, in a guest of
# boot.sh: traces go to $OUT.

. "$(dirname "${BASH_SOURCE[0]}")/../root/lib.sh"
[ -n "${OUT:-}" ] || { echo "runs in a guest of tests/kernels/boot.sh" >&2; exit 77; }

# The statement's one value is 1 when $OUT/TRACE.pftrace is as it should be; trace_processor says so on the host.
is_true() { # TRACE WHAT SELECT
  printf '%s\t%s\n' "$2" "$(tr '\n' ' ' <<<"$3")" >>"$OUT/$1.sql"
}
