#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# usage: bench/snapshot.sh [MB [RATE [SECONDS]]]      BUILD=build
#
# Snapshots of a full buffer (256 MB), one after the other, while a producer writes a million packets a second: how many,
# the longest, and what the producer lost because the service did not take its data meanwhile. It must be 0. Needs no root,
# and two CPUs that are free.
set -u
. "$(dirname "$0")/../tests/interop/lib.sh"
load=${BUILD:-build}/bench/service_load

use_sockets "$TMP"
"$load" 0 warm 1000 && start_service sonda "$TMP" || exit 1
result=$("$load" "${PIDS[0]}" snapshot "${1:-256}" "${2:-1000000}" "${3:-10}") || exit 1
stop_all
echo "$result"
[[ $result == *" 0 dropped" ]]
