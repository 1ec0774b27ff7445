#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The page of sonda diff --html in Chromium.
. "$(dirname "$0")/../lib.sh"
needs_commands protoc python3 chromium
TMPDIR=$TMP HOME=$TMP python3 tests/page/diff_test.py "$SONDA" "$TMP"
