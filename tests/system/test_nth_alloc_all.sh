#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# check: long
#
# test_nth_alloc.sh with each n.
EVERY=0 exec "$(dirname "$0")/test_nth_alloc.sh"
