# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# For the tests of this directory that run sondad and a producer of numbered packets: the programs, a private workplace with
# sockets of its own, and an end that leaves nothing. Sourced.

. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
COUNTER=$B/tests/system/producer_counter
needs_built "$BIN/sondad" "$BIN/sonda-probes" "$COUNTER"
use_sockets "$TMP"
