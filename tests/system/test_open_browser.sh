#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# sonda open with Chromium as its client. It is skipped where there is none; make check-page installs it.
set -u
cd "$(dirname "$0")/../.." || exit 2
SONDA=${BUILD:-build}/bin/sonda
[ -x "$SONDA" ] || { echo "$SONDA is not built" >&2; exit 77; }
TMP=$(mktemp -d)
trap '[ "$BASHPID" != $$ ] || rm -rf "$TMP"' EXIT
TMPDIR=$TMP HOME=$TMP python3 tests/page/open_test.py "$SONDA" tests/data/traces/ring_losses.pftrace
