/* SPDX-License-Identifier: Apache-2.0 */
#include "service/trace/trace_stats.h"

#include "common/trace_stats.pb-c.h"
#include "gen/fields.h"
#include "service/buffer/trace_buffer.h"
#include "service/filter/trace_filter.h"
#include "service/trace/trace_internal.h"
#include "wire/pb_enc.h"

/* ---- buffers ---- */

static void put_buffer(struct pb_enc *e, const struct trace_buffer *b)
{
	const struct trace_buffer_stats *s = trace_buffer_stats(b);
	const struct {
		uint32_t field;
		uint64_t value;
	} fields[] = {
		{PB_TRACE_STATS_BUFFER_STATS_BYTES_WRITTEN, s->bytes_written},
		{PB_TRACE_STATS_BUFFER_STATS_CHUNKS_WRITTEN, s->chunks_written},
		{PB_TRACE_STATS_BUFFER_STATS_CHUNKS_OVERWRITTEN, s->chunks_overwritten},
		{PB_TRACE_STATS_BUFFER_STATS_WRITE_WRAP_COUNT, s->write_wrap_count},
		{PB_TRACE_STATS_BUFFER_STATS_PATCHES_SUCCEEDED, s->patches_succeeded},
		{PB_TRACE_STATS_BUFFER_STATS_PATCHES_FAILED, s->patches_failed},
		{PB_TRACE_STATS_BUFFER_STATS_READAHEADS_SUCCEEDED, s->readaheads_succeeded},
		{PB_TRACE_STATS_BUFFER_STATS_READAHEADS_FAILED, s->readaheads_failed},
		{PB_TRACE_STATS_BUFFER_STATS_ABI_VIOLATIONS, s->abi_violations},
		{PB_TRACE_STATS_BUFFER_STATS_CHUNKS_REWRITTEN, s->chunks_rewritten},
		{PB_TRACE_STATS_BUFFER_STATS_CHUNKS_COMMITTED_OUT_OF_ORDER,
		 s->chunks_committed_out_of_order},
		{PB_TRACE_STATS_BUFFER_STATS_BUFFER_SIZE, trace_buffer_size(b)},
		{PB_TRACE_STATS_BUFFER_STATS_BYTES_OVERWRITTEN, s->bytes_overwritten},
		{PB_TRACE_STATS_BUFFER_STATS_BYTES_READ, s->bytes_read},
		{PB_TRACE_STATS_BUFFER_STATS_PADDING_BYTES_WRITTEN, s->padding_bytes_written},
		{PB_TRACE_STATS_BUFFER_STATS_PADDING_BYTES_CLEARED, s->padding_bytes_cleared},
		{PB_TRACE_STATS_BUFFER_STATS_CHUNKS_READ, s->chunks_read},
		{PB_TRACE_STATS_BUFFER_STATS_CHUNKS_DISCARDED, s->chunks_discarded},
		{PB_TRACE_STATS_BUFFER_STATS_TRACE_WRITER_PACKET_LOSS, s->trace_writer_packet_loss},
		{PB_TRACE_STATS_BUFFER_STATS_CHUNKS_RELOCATED, s->chunks_relocated},
	};

	pb_enc_open(e, PB_TRACE_STATS_BUFFER_STATS);
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		pb_enc_u64(e, fields[i].field, fields[i].value);
	pb_enc_close(e);
}

/* ---- writers ---- */

struct writer_sink {
	struct trace *trace;
	struct pb_enc *enc;
	uint64_t end; /* no entry begins at or after this position of the encoder */
	uint32_t buffer; /* index */
};

static void put_packed(struct pb_enc *e, uint32_t field, const uint64_t *values, size_t n)
{
	uint8_t bytes[TRACE_BUFFER_HISTOGRAM_BUCKETS * 10], *p = bytes;

	for (size_t i = 0; i < n; i++)
		p = pb_put_varint(p, values[i]);
	pb_enc_bytes(e, field, bytes, (size_t)(p - bytes));
}

static void put_writer(void *ctx, const struct trace_buffer_writer *writer,
		       const struct trace_buffer_histogram *h)
{
	struct writer_sink *w = ctx;
	struct pb_enc *e = w->enc;
	uint32_t id;

	_Static_assert(sizeof(h->sums[0]) == sizeof(uint64_t), "int64 is encoded as uint64 is");
	if (pb_enc_pos(e) >= w->end)
		return;
	if (sequence_ids_get_or_add(&w->trace->sequences, w->trace->owner.account->quota, writer,
				    &id) < 0)
		return;
	pb_enc_open(e, PB_TRACE_STATS_WRITER_STATS);
	pb_enc_u64(e, PB_TRACE_STATS_WRITER_STATS_SEQUENCE_ID, id);
	put_packed(e, PB_TRACE_STATS_WRITER_STATS_CHUNK_PAYLOAD_HISTOGRAM_COUNTS, h->counts,
		   TRACE_BUFFER_HISTOGRAM_BUCKETS);
	put_packed(e, PB_TRACE_STATS_WRITER_STATS_CHUNK_PAYLOAD_HISTOGRAM_SUM,
		   (const uint64_t *)h->sums, TRACE_BUFFER_HISTOGRAM_BUCKETS);
	pb_enc_u64(e, PB_TRACE_STATS_WRITER_STATS_BUFFER, w->buffer);
	pb_enc_close(e);
}

void trace_put_writer_stats(struct trace *t, struct pb_enc *e, uint64_t end)
{
	const Pb__TraceConfig__BuiltinDataSource *b = t->owner.config->builtin_data_sources;
	struct writer_sink w = {.trace = t, .enc = e, .end = end};

	if (b && b->disable_chunk_usage_histograms)
		return;
	for (size_t i = 0; i < TRACE_BUFFER_HISTOGRAM_THRESHOLDS; i++)
		pb_enc_i64(e, PB_TRACE_STATS_CHUNK_PAYLOAD_HISTOGRAM_DEF,
			   trace_buffer_histogram_thresholds[i]);
	for (size_t i = 0; i < t->n_buffers; i++) {
		w.buffer = (uint32_t)i;
		trace_buffer_each_writer(t->buffers[i].buffer, put_writer, &w);
	}
}

/* ---- buffers and reading ---- */

void trace_put_buffer_stats(const struct trace *t, struct pb_enc *e)
{
	for (size_t i = 0; i < t->n_buffers; i++)
		put_buffer(e, t->buffers[i].buffer);
}

void trace_put_read_stats(const struct trace *t, struct pb_enc *e)
{
	pb_enc_u64(e, PB_TRACE_STATS_INVALID_PACKETS, t->invalid_packets);
	if (!t->filter)
		return;
	pb_enc_open(e, PB_TRACE_STATS_FILTER_STATS);
	trace_filter_put_stats(t->filter, e);
	pb_enc_close(e);
}
