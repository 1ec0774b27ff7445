/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/core/version.h"
#include "service/filter/packet_sink.h"

struct trace;

/* The version of this program in TraceStats and SystemInfo. */
#define SERVICE_VERSION "sondad " SONDA_VERSION

/*
 * The service's own packets in a trace, on sequence 1 (those of remote machines have no sequence):
 *
 *	head	clock snapshots, sync marker, config, triggers, uuid, extension descriptors,
 *		provenance, system info, events, remote machines
 *		(the packets of the producers)
 *	tail	the read_tracing_buffers_completed event, and statistics
 *
 * Each packet is written when its content has changed, some only once per session.
 * builtin_data_sources of the config disables some of them.
 */
void service_packets_put_head(struct trace *t, struct packet_sink *sink);
/* Call when a reading pass has reached the end of all buffers. */
void service_packets_put_tail(struct trace *t, struct packet_sink *sink);
