#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# check: long
#
# The hot pieces take no more instructions than when bench/cost was last written.
set -u
cd "$(dirname "$0")/../.." || exit 2
! nm -D "${BUILD:-build}/bin/sonda" | grep -qE '__[at]san_init' || { echo "valgrind runs no program with a sanitizer" >&2; exit 77; }
exec bench/cost.sh
