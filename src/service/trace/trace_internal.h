/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "service/ipc/clock_snapshots.h"
#include "service/trace/sequence_ids.h"
#include "service/trace/trace_events.h"
#include "service/trace/trace_owner.h"

struct trace_filter;

/* The fields of struct trace, for service/trace alone. */

struct session_buffer {
	uint16_t id; /* service-wide */
	struct trace_buffer *buffer; /* owned */
	uint64_t written_before; /* bytes_written when the last reading began */
};

struct trace {
	const struct trace_env *env; /* borrowed */
	struct trace_owner owner;
	struct session_buffer *buffers; /* owned, in the order of the config */
	size_t n_buffers, cap_buffers;

	/* the service's own packets */
	struct clock_snapshots clocks;
	struct service_events service_events;
	struct received_trigger clone_trigger; /* owned; of a clone. name NULL: there was none */
	struct received_trigger *received; /* owned; not yet written */
	size_t n_received, cap_received;
	struct concurrent_events concurrent;
	bool head_written; /* config, uuid, system info ... were written */
	uint64_t remote_written; /* remote_machines.last up to which packets were written */
	bool sync_marker_due, stats_due; /* trace_mark_due() */
	int64_t uuid_msb, uuid_lsb;
	int64_t start_realtime_ns; /* 0: not started */

	/* reading */
	struct sequence_ids sequences;
	size_t reading_buffer; /* the buffer that the next batch continues with */
	uint64_t invalid_packets;
	struct trace_filter *filter; /* owned; NULL: packets are not filtered */
};
