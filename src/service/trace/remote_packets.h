/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "service/filter/packet_sink.h"

struct trace;

/*
 * What the service writes into a trace of other machines: the SystemInfo of each, and how far its
 * clocks are from ours; each as soon as it is known, and once. Nothing in a trace of this machine
 * alone.
 */
void remote_packets_put(struct trace *t, struct packet_sink *sink);
