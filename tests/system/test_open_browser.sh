#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# sonda open with Chromium as its client. It is skipped where there is none; make check-page installs it.
. "$(dirname "$0")/../lib.sh"
TMPDIR=$TMP HOME=$TMP python3 tests/page/open_test.py "$SONDA" tests/data/traces/ring_losses.pftrace
