#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# tracefs: none
# check: heavy
#
# More of test_random_events.sh: SEEDS="4 1003" runs a thousand programs, which takes about an hour.
SEEDS=${SEEDS:-4 13} exec "$(dirname "$0")/test_random_events.sh"
