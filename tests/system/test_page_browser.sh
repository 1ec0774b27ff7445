#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The page of sonda report --html in Chromium. It is skipped where there is none; make check-page installs it, and runs this
# with a trace of PAGE_EVENTS=5000000 events. PAGE_PICTURES: a folder for pictures of the page.
set -u
cd "$(dirname "$0")/../.." || exit 2
SONDA=${BUILD:-build}/bin/sonda
[ -x "$SONDA" ] || { echo "$SONDA is not built" >&2; exit 77; }
TMP=$(mktemp -d)
trap '[ "$BASHPID" != $$ ] || rm -rf "$TMP"' EXIT
TMPDIR=$TMP HOME=$TMP python3 tests/page/browser_test.py "$SONDA" "$TMP" "${PAGE_EVENTS:-20000}" ${PAGE_PICTURES:+"$PAGE_PICTURES"}
