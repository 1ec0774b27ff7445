/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/buffer_stats.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/text/str.h"
#include "gen/fields.h"
#include "wire/pb_read.h"

#define FINAL_FLUSH_SUCCEEDED 1 /* TraceStats.FinalFlushOutcome */
#define FINAL_FLUSH_FAILED 2

static bool decode_buffer(const uint8_t *data, size_t len, struct buffer_stats *b)
{
	struct pb_field f;
	struct pb_dec d;

	*b = (struct buffer_stats){0};
	pb_dec_init(&d, data, len);
	while (pb_dec_next(&d, &f))
		switch (f.id) {
		case PB_TRACE_STATS_BUFFER_STATS_BUFFER_SIZE:
			b->size = f.u64;
			break;
		case PB_TRACE_STATS_BUFFER_STATS_BYTES_WRITTEN:
			b->bytes_written = f.u64;
			break;
		case PB_TRACE_STATS_BUFFER_STATS_BYTES_OVERWRITTEN:
			b->bytes_overwritten = f.u64;
			break;
		case PB_TRACE_STATS_BUFFER_STATS_CHUNKS_OVERWRITTEN:
			b->chunks_overwritten = f.u64;
			break;
		case PB_TRACE_STATS_BUFFER_STATS_CHUNKS_WRITTEN:
			b->chunks_written = f.u64;
			break;
		case PB_TRACE_STATS_BUFFER_STATS_CHUNKS_DISCARDED:
			b->chunks_discarded = f.u64;
			break;
		case PB_TRACE_STATS_BUFFER_STATS_TRACE_WRITER_PACKET_LOSS:
			b->writer_packet_loss = f.u64;
			break;
		case PB_TRACE_STATS_BUFFER_STATS_PATCHES_FAILED:
			b->patches_failed = f.u64;
			break;
		case PB_TRACE_STATS_BUFFER_STATS_ABI_VIOLATIONS:
			b->abi_violations = f.u64;
			break;
		}
	return pb_dec_ok(&d);
}

static bool decode_filter(const uint8_t *data, size_t len, struct service_stats *s)
{
	struct pb_field f;
	struct pb_dec d;

	pb_dec_init(&d, data, len);
	while (pb_dec_next(&d, &f))
		if (f.id == PB_TRACE_STATS_FILTER_STATS_ERRORS)
			s->filter_errors = f.u64;
	return pb_dec_ok(&d);
}

static void take_text(const struct pb_field *f, char *to, size_t size)
{
	if (!f->data)
		return;
	snprintf(to, size, "%.*s", (int)MIN(f->len, size - 1), (const char *)f->data);
	str_make_plain(to, strlen(to), "");
}

static bool decode_departure(const uint8_t *data, size_t len, struct departure_stats *s)
{
	struct pb_field f;
	struct pb_dec d;

	*s = (struct departure_stats){0};
	pb_dec_init(&d, data, len);
	while (pb_dec_next(&d, &f))
		switch (f.id) {
		case PB_SOURCE_DEPARTURE_DATA_SOURCE_NAME:
			take_text(&f, s->source, sizeof(s->source));
			break;
		case PB_SOURCE_DEPARTURE_PRODUCER_NAME:
			take_text(&f, s->producer, sizeof(s->producer));
			break;
		case PB_SOURCE_DEPARTURE_PRODUCER_PID:
			s->pid = (int32_t)f.u64;
			break;
		case PB_SOURCE_DEPARTURE_GONE_BOOT_NS:
			s->gone_ns = f.u64;
			break;
		case PB_SOURCE_DEPARTURE_BACK_BOOT_NS:
			s->back_ns = f.u64;
			break;
		case PB_SOURCE_DEPARTURE_TIMES:
			s->times = (uint32_t)f.u64;
			break;
		}
	return pb_dec_ok(&d);
}

bool service_stats_decode(const uint8_t *data, size_t len, struct service_stats *ret)
{
	struct pb_field f;
	struct pb_dec d;
	bool ok = true;

	*ret = (struct service_stats){0};
	pb_dec_init(&d, data, len);
	while (pb_dec_next(&d, &f))
		switch (f.id) {
		case PB_TRACE_STATS_BUFFER_STATS:
			if (ret->n_buffers == BUFFER_STATS_MAX)
				break;
			ok = f.data &&
			     decode_buffer(f.data, f.len, &ret->buffers[ret->n_buffers++]) && ok;
			break;
		case PB_TRACE_STATS_CHUNKS_DISCARDED:
			ret->chunks_discarded = f.u64;
			break;
		case PB_TRACE_STATS_PATCHES_DISCARDED:
			ret->patches_discarded = f.u64;
			break;
		case PB_TRACE_STATS_INVALID_PACKETS:
			ret->invalid_packets = f.u64;
			break;
		case PB_TRACE_STATS_FILTER_STATS:
			ok = f.data && decode_filter(f.data, f.len, ret) && ok;
			break;
		case PB_TRACE_STATS_DEPARTURES:
			if (ret->n_departures == DEPARTURE_STATS_MAX)
				break;
			ok = f.data &&
			     decode_departure(f.data, f.len,
					      &ret->departures[ret->n_departures++]) &&
			     ok;
			break;
		case PB_TRACE_STATS_END_REASON:
			take_text(&f, ret->end_reason, sizeof(ret->end_reason));
			break;
		case PB_TRACE_STATS_FLUSHES_FAILED:
			ret->flushes_failed = f.u64;
			break;
		case PB_TRACE_STATS_FINAL_FLUSH_OUTCOME:
			ret->final_flush_failed = f.u64 == FINAL_FLUSH_FAILED;
			ret->final_flush_succeeded = f.u64 == FINAL_FLUSH_SUCCEEDED;
			break;
		}
	return ok && pb_dec_ok(&d);
}

void stats_message_decode(const Pb__TraceStats *message, struct service_stats *ret)
{
	size_t len = pb__trace_stats__get_packed_size(message);
	_cleanup_(freep) uint8_t *bytes = malloc(len + 1);

	/* The service's answer and the packets of a trace use the same decoder. */
	*ret = (struct service_stats){0};
	if (!bytes)
		return;
	pb__trace_stats__pack(message, bytes);
	service_stats_decode(bytes, len, ret);
}
