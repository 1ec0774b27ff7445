#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# check: heavy
#
# While a peer does its worst, each query of another consumer is answered in time.
. "$(dirname "$0")/service_lib.sh"
peers service_hostile_latency "$pid"
service_ends
