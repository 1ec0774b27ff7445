#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A few seconds of what `make soak` does for ten minutes.
exec "$(dirname "$0")/../soak/run.sh" 4
