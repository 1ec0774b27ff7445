/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/cut/cut_kind.h"

#include "gen/fields.h"

/* Payloads of other programs, by their numbers in TracePacket. */
enum {
	PACKAGES_LIST = 47,
	MODULE_SYMBOLS = 61,
	DEOBFUSCATION_MAPPING = 64,
	UI_STATE = 78,
	PROTOVMS = 125,
	TRACE_ATTRIBUTES = 126,
};

#define START_OF_TRACE 1 /* FtraceStats.Phase */

static uint64_t number_in(const struct pb_field *message, uint32_t field)
{
	uint64_t v = 0;

	pb_for_each (f, message)
		if (f.id == field && !f.data)
			v = f.u64;
	return v;
}

/* Each part needs the start of tracing: it tells readers which events are older. */
static enum cut_kind kind_of_service_event(const struct pb_field *event)
{
	return number_in(event, PB_TRACING_SERVICE_EVENT_TRACING_STARTED) ||
			       number_in(event, PB_TRACING_SERVICE_EVENT_ALL_DATA_SOURCES_STARTED)
		       ? CUT_STATE
		       : CUT_EVENT;
}

bool cut_is_start_of_tracing(const struct cut_packet *c)
{
	const struct pb_field *f = &c->p.payload;

	return f->id == PB_TRACE_PACKET_SERVICE_EVENT &&
	       number_in(f, PB_TRACING_SERVICE_EVENT_TRACING_STARTED);
}

enum cut_kind cut_kind_of(const struct cut_packet *c)
{
	const struct pb_field *f = &c->p.payload;

	switch (f->id) {
	case 0:
		return c->p.dropped ? CUT_EVENT : CUT_NOTHING;
	case PB_TRACE_PACKET_SYNCHRONIZATION_MARKER:
		return CUT_NOTHING;
	case PB_TRACE_PACKET_FTRACE_EVENTS:
		return CUT_BUNDLE;
	case PB_TRACE_PACKET_PROCESS_TREE:
		return CUT_PROCESS_TREE;
	case PB_TRACE_PACKET_CLOCK_SNAPSHOT:
		return CUT_SNAPSHOT;
	case PB_TRACE_PACKET_SERVICE_EVENT:
		return kind_of_service_event(f);
	case PB_TRACE_PACKET_FTRACE_STATS:
		return number_in(f, PB_FTRACE_STATS_PHASE) == START_OF_TRACE ? CUT_STATE
									     : CUT_EVENT;
	case PB_TRACE_PACKET_TRACE_CONFIG:
	case PB_TRACE_PACKET_TRACE_UUID:
	case PB_TRACE_PACKET_SYSTEM_INFO:
	case PB_TRACE_PACKET_CPU_INFO:
	case PB_TRACE_PACKET_INTERRUPT_INFO:
	case PB_TRACE_PACKET_INODE_FILE_MAP:
	case PB_TRACE_PACKET_TRACK_DESCRIPTOR:
	case PB_TRACE_PACKET_PROCESS_DESCRIPTOR:
	case PB_TRACE_PACKET_EXTENSION_DESCRIPTOR:
	case PB_TRACE_PACKET_REMOTE_CLOCK_SYNC:
	case PB_TRACE_PACKET_TRACE_PROVENANCE:
	case PACKAGES_LIST:
	case MODULE_SYMBOLS:
	case DEOBFUSCATION_MAPPING:
	case UI_STATE:
	case PROTOVMS:
	case TRACE_ATTRIBUTES:
		return CUT_STATE;
	}
	return CUT_EVENT;
}

bool cut_becomes_rows(uint32_t payload)
{
	return payload == PB_TRACE_PACKET_TRACK_EVENT || payload == PB_TRACE_PACKET_SYS_STATS ||
	       payload == PB_TRACE_PACKET_PROCESS_STATS;
}

bool cut_has_own_time(uint32_t payload)
{
	return payload == PB_TRACE_PACKET_SERVICE_EVENT ||
	       payload == PB_TRACE_PACKET_FTRACE_STATS ||
	       payload == PB_TRACE_PACKET_REMOTE_CLOCK_SYNC;
}
