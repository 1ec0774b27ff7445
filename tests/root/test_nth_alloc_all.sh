#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# kernels: none
# tracefs: shared
# check: heavy
#
# test_nth_alloc.sh with more of the allocations: each would be thousands of sessions.
EVERY=8 exec "$(dirname "$0")/test_nth_alloc.sh"
