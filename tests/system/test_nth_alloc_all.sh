#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# check: heavy
#
# test_nth_alloc.sh with more of the n: each up to 16, then in steps of 4 percent.
EVERY=4 exec "$(dirname "$0")/test_nth_alloc.sh"
