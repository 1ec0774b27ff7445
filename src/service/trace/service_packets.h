/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/core/version.h"
#include "service/filter/packet_sink.h"

struct trace;

/* What TraceStats and SystemInfo call this program. */
#define SERVICE_VERSION "sondad " SONDA_VERSION

/*
 * What the service itself writes into a trace, on sequence 1:
 *
 *	head	clock snapshots, sync marker, config, uuid, provenance, system info, events
 *		(the packets of the producers)
 *	tail	the event that all was read, and statistics
 *
 * Each is written when there is something new to say, some once a session; the config's
 * builtin_data_sources turn some of them off.
 */
void service_packets_put_head(struct trace *t, struct packet_sink *sink);
/* Ends a reading that came to the end of all buffers. */
void service_packets_put_tail(struct trace *t, struct packet_sink *sink);
