# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# For the tests of this directory that run sondad and a producer of numbered packets: the programs, a private workplace with
# sockets of its own, and an end that leaves nothing. Sourced.

. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
COUNTER=$B/tests/system/producer_counter
needs_built "$BIN/sondad" "$BIN/sonda-probes" "$COUNTER"
use_sockets "$TMP"

# Writes a config that records the producer's packets, with a buffer that has room for all.
write_counter_config() { # FILE TEXT...
  cat >"$TMP/$1" <<CONFIG
buffers { size_kb: 65536 fill_policy: DISCARD }
data_sources { config { name: "sonda.test.counter" } }
producers { producer_name: "sonda.test.producer" shm_size_kb: 2048 page_size_kb: 32 }
${*:2}
CONFIG
}
