# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# What a measurement is asked to stay below (README.md has the last figures): a script says each one by `asked`, and ends
# by `exit $OVER`. Sourced.
# shellcheck disable=SC2034 # of the scripts
OVER=0

asked() { # NAME MEASURED AT_MOST
  local verdict=ok
  if ! awk -v is="$2" -v most="$3" 'BEGIN { exit !(is != "" && is + 0 <= most + 0) }'; then
    verdict=over
    # shellcheck disable=SC2034
    OVER=1
  fi
  printf 'asked: %s: %s, at most %s: %s\n' "$1" "${2:-nothing was measured}" "$3" "$verdict"
}
