#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The sequences of the protocol, and peers that break its rules, frame by frame against a running sondad.
. "$(dirname "$0")/service_lib.sh"
peers service_conformance
peers service_conformance_trace
peers service_hostile "$pid"
peers service_hostile_attacks "$pid"
peers service_hostile_descriptors "$pid"
peers service_hostile_data
peers service_hostile_memory
peers service_hostile_peers "$pid"
peers service_sessions
service_ends
