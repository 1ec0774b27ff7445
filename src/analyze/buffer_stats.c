/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/buffer_stats.h"

#include <stdlib.h>

#include "analyze/packets.h"
#include "base/core/mem.h"
#include "gen/fields.h"
#include "wire/pb_read.h"

#define FINAL_FLUSH_SUCCEEDED 1 /* TraceStats.FinalFlushOutcome */
#define FINAL_FLUSH_FAILED 2

static bool decode_buffer(const struct pb_field *message, struct buffer_stats *b)
{
	*b = (struct buffer_stats){0};
	return pb_read(
		message, PB_TO(PB_TRACE_STATS_BUFFER_STATS_BUFFER_SIZE, &b->size),
		PB_TO(PB_TRACE_STATS_BUFFER_STATS_BYTES_WRITTEN, &b->bytes_written),
		PB_TO(PB_TRACE_STATS_BUFFER_STATS_BYTES_OVERWRITTEN, &b->bytes_overwritten),
		PB_TO(PB_TRACE_STATS_BUFFER_STATS_CHUNKS_OVERWRITTEN, &b->chunks_overwritten),
		PB_TO(PB_TRACE_STATS_BUFFER_STATS_CHUNKS_WRITTEN, &b->chunks_written),
		PB_TO(PB_TRACE_STATS_BUFFER_STATS_CHUNKS_DISCARDED, &b->chunks_discarded),
		PB_TO(PB_TRACE_STATS_BUFFER_STATS_TRACE_WRITER_PACKET_LOSS, &b->writer_packet_loss),
		PB_TO(PB_TRACE_STATS_BUFFER_STATS_PATCHES_FAILED, &b->patches_failed),
		PB_TO(PB_TRACE_STATS_BUFFER_STATS_ABI_VIOLATIONS, &b->abi_violations));
}

static bool decode_departure(const struct pb_field *message, struct departure_stats *s)
{
	struct pb_field source = {0}, producer = {0};
	bool ok;

	*s = (struct departure_stats){0};
	ok = pb_read(message, PB_TO(PB_SOURCE_DEPARTURE_DATA_SOURCE_NAME, &source),
		     PB_TO(PB_SOURCE_DEPARTURE_PRODUCER_NAME, &producer),
		     PB_TO(PB_SOURCE_DEPARTURE_PRODUCER_PID, &s->pid),
		     PB_TO(PB_SOURCE_DEPARTURE_GONE_BOOT_NS, &s->gone_ns),
		     PB_TO(PB_SOURCE_DEPARTURE_BACK_BOOT_NS, &s->back_ns),
		     PB_TO(PB_SOURCE_DEPARTURE_TIMES, &s->times));
	packet_copy_text(&source, s->source, sizeof(s->source));
	packet_copy_text(&producer, s->producer, sizeof(s->producer));
	return ok;
}

bool buffer_stats_decode(const uint8_t *data, size_t len, struct service_stats *ret)
{
	const struct pb_field *message = PB_BYTES(data, len);
	struct pb_field reason = {0}, filter = {0};
	uint32_t flush = 0;
	bool ok;

	*ret = (struct service_stats){0};
	ok = pb_read(message, PB_TO(PB_TRACE_STATS_CHUNKS_DISCARDED, &ret->chunks_discarded),
		     PB_TO(PB_TRACE_STATS_PATCHES_DISCARDED, &ret->patches_discarded),
		     PB_TO(PB_TRACE_STATS_INVALID_PACKETS, &ret->invalid_packets),
		     PB_TO(PB_TRACE_STATS_FLUSHES_FAILED, &ret->flushes_failed),
		     PB_TO(PB_TRACE_STATS_FINAL_FLUSH_OUTCOME, &flush),
		     PB_TO(PB_TRACE_STATS_END_REASON, &reason),
		     PB_TO(PB_TRACE_STATS_FILTER_STATS, &filter));
	packet_copy_text(&reason, ret->end_reason, sizeof(ret->end_reason));
	ret->final_flush_failed = flush == FINAL_FLUSH_FAILED;
	ret->final_flush_succeeded = flush == FINAL_FLUSH_SUCCEEDED;
	ok &= pb_read(&filter, PB_TO(PB_TRACE_STATS_FILTER_STATS_ERRORS, &ret->filter_errors));
	pb_for_each (f, message)
		if (f.id == PB_TRACE_STATS_BUFFER_STATS && ret->n_buffers < BUFFER_STATS_MAX)
			ok &= decode_buffer(&f, &ret->buffers[ret->n_buffers++]);
		else if (f.id == PB_TRACE_STATS_DEPARTURES &&
			 ret->n_departures < DEPARTURE_STATS_MAX)
			ok &= decode_departure(&f, &ret->departures[ret->n_departures++]);
	return ok;
}

void service_stats_from_message(const Pb__TraceStats *message, struct service_stats *ret)
{
	size_t len = pb__trace_stats__get_packed_size(message);
	_cleanup_(freep) uint8_t *bytes = malloc(len + 1);

	/* The service's answer and the packets of a trace use the same decoder. */
	*ret = (struct service_stats){0};
	if (!bytes)
		return;
	pb__trace_stats__pack(message, bytes);
	buffer_stats_decode(bytes, len, ret);
}
