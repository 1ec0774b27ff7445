/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/cut/cut_overview.h"

#include <string.h>

#include "analyze/cut/cut_bundle.h"
#include "base/core/mem.h"
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

static uint64_t read_number_field(const struct pb_field *message, uint32_t field)
{
	uint64_t v = 0;

	pb_for_each (f, message)
		if (f.id == field && !f.data)
			v = f.u64;
	return v;
}

/* Returns the kind of a service event. The start of tracing is state, which each part needs: from
 * it readers know which events are older. */
static enum cut_kind classify_service_event(const struct pb_field *event)
{
	return read_number_field(event, PB_TRACING_SERVICE_EVENT_TRACING_STARTED) ||
			       read_number_field(event,
						 PB_TRACING_SERVICE_EVENT_ALL_DATA_SOURCES_STARTED)
		       ? CUT_STATE
		       : CUT_EVENT;
}

/* Returns true for the service event tracing_started. Importers ignore kernel events before its
 * time. */
static bool cut_is_start_of_tracing(const struct cut_packet *c)
{
	const struct pb_field *f = &c->p.payload;

	return f->id == PB_TRACE_PACKET_SERVICE_EVENT &&
	       read_number_field(f, PB_TRACING_SERVICE_EVENT_TRACING_STARTED);
}

enum cut_kind cut_classify_packet(const struct cut_packet *c)
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
		return classify_service_event(f);
	case PB_TRACE_PACKET_FTRACE_STATS:
		return read_number_field(f, PB_FTRACE_STATS_PHASE) == START_OF_TRACE ? CUT_STATE
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

/* Returns true for a payload that becomes rows with a time. The earliest of these and of the kernel
 * events is the start of the trace. */
static bool is_payload_with_time(uint32_t payload)
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

#define FIRST_WIDTH 1000000 /* ns */

static int64_t find_bucket(const struct cut_overview *o, int64_t ts)
{
	return ts / o->width - (ts % o->width < 0) - o->base;
}

/* Doubles the width of the buckets. base: the number of the first bucket, in the new width. */
static void double_bucket_width(struct cut_overview *o, int64_t base)
{
	uint64_t old[CUT_BUCKETS];
	int64_t from = o->base;

	memcpy(old, o->bytes, sizeof(old));
	memset(o->bytes, 0, sizeof(o->bytes));
	o->width *= 2;
	o->base = base;
	for (int64_t i = 0; i < CUT_BUCKETS; i++) {
		int64_t at = ((from + i) >> 1) - base;

		if (old[i] && at >= 0 && at < CUT_BUCKETS)
			o->bytes[at] += old[i];
	}
}

static void add_bytes_to_bucket(struct cut_overview *o, int64_t ts, size_t n)
{
	int64_t at;

	if (ts < 0)
		return;
	if (!o->width) {
		o->width = FIRST_WIDTH;
		o->base = find_bucket(o, ts);
	}
	/* Earlier times move the first bucket; later ones only make all buckets wider. */
	while ((at = find_bucket(o, ts)) < 0 || at >= CUT_BUCKETS) {
		int64_t base = o->base >> 1;

		if (at < 0)
			base = MAX(0, MIN(base, (o->base + at) >> 1));
		double_bucket_width(o, base);
		if (o->width > INT64_MAX / 4)
			return;
	}
	o->bytes[at] += n;
}

static void cut_overview_extend(struct cut_overview *o, int64_t ts)
{
	if (ts < 0)
		return;
	o->start = MIN(o->start, ts);
	o->end = MAX(o->end, ts);
}

static void extend_span_to_event(void *ctx, int64_t ts)
{
	struct cut_overview *o = ctx;

	if (ts >= o->started)
		cut_overview_extend(o, ts);
}

static int cut_overview_on_packet(void *ctx, const struct cut_packet *c)
{
	struct cut_overview *o = ctx;
	int64_t ts = c->ts;

	switch (cut_classify_packet(c)) {
	case CUT_STATE:
		if (cut_is_start_of_tracing(c))
			o->started = MAX(o->started, ts);
		/* fall through */
	case CUT_PROCESS_TREE:
		o->state_bytes += c->len;
		return 0;
	case CUT_BUNDLE:
		cut_bundle_read_span(&o->reader, c, &ts, extend_span_to_event, o);
		c->m->latest = MAX(c->m->latest, ts);
		break;
	case CUT_EVENT:
		if (is_payload_with_time(c->p.payload.id))
			cut_overview_extend(o, ts);
		break;
	case CUT_SNAPSHOT:
	case CUT_NOTHING:
		return 0;
	}
	add_bytes_to_bucket(o, ts, c->len);
	return 0;
}

int cut_overview_read(struct cut_overview *o, const uint8_t *data, size_t len, bool mapped)
{
	memset(o, 0, sizeof(*o));
	o->start = INT64_MAX;
	o->end = o->started = INT64_MIN;
	cut_reader_init(&o->reader);
	o->reader.on_packet = cut_overview_on_packet;
	o->reader.ctx = o;
	return cut_reader_run(&o->reader, data, len, mapped);
}

const char *cut_overview_refusal(const struct cut_overview *o)
{
	if (o->start > o->end)
		return "it contains no events";
	if (o->reader.programs)
		return "it contains packets that modify the state of a ProtoVM program";
	return NULL;
}

void cut_overview_deinit(struct cut_overview *o)
{
	cut_reader_deinit(&o->reader);
}
