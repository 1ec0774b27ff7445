#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# tracefs: none
# check: long
#
# A thousand random programs of test_random_events.sh.
SEEDS="4 1003" exec "$(dirname "$0")/test_random_events.sh"
