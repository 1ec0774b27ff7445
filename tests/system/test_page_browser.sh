#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The page of sonda report --html in Chromium. It is skipped where there is none; make check-page installs it, and runs this
# with a trace of PAGE_EVENTS=5000000 events. PAGE_PICTURES: a directory for pictures of the page.
. "$(dirname "$0")/../lib.sh"
TMPDIR=$TMP HOME=$TMP python3 tests/page/browser_test.py "$SONDA" "$TMP" "${PAGE_EVENTS:-20000}" ${PAGE_PICTURES:+"$PAGE_PICTURES"}
