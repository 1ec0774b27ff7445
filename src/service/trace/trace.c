/* SPDX-License-Identifier: Apache-2.0 */
#include "service/trace/trace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "common/trace_stats.pb-c.h"
#include "gen/fields.h"
#include "service/buffer/trace_buffer.h"
#include "service/filter/trace_filter.h"
#include "service/ipc/limits.h"
#include "service/trace/trace_internal.h"
#include "wire/pb_enc.h"

/* ---- buffers ---- */

int trace_add_buffer(struct trace *t, uint16_t id, struct trace_buffer *buffer)
{
	if (array_reserve(&t->buffers, &t->cap_buffers, t->n_buffers + 1, sizeof(*t->buffers)) < 0)
		return -ENOMEM;
	t->buffers[t->n_buffers++] = (struct session_buffer){.id = id, .buffer = buffer};
	return 0;
}

size_t trace_n_buffers(const struct trace *t)
{
	return t->n_buffers;
}

struct trace_buffer *trace_get_buffer(const struct trace *t, size_t i)
{
	return t->buffers[i].buffer;
}

uint16_t trace_get_buffer_id(const struct trace *t, size_t i)
{
	return t->buffers[i].id;
}

int trace_find_buffer(const struct trace *t, uint16_t buffer_id)
{
	for (size_t i = 0; i < t->n_buffers; i++)
		if (t->buffers[i].id == buffer_id)
			return (int)i;
	return -1;
}

struct trace_buffer *trace_replace_buffer(struct trace *t, size_t i, struct trace_buffer *with)
{
	struct trace_buffer *old = t->buffers[i].buffer;

	t->buffers[i].buffer = with;
	return old;
}

bool trace_has_received(const struct trace *t, uint64_t bytes)
{
	for (size_t i = 0; i < t->n_buffers; i++) {
		const struct session_buffer *b = &t->buffers[i];
		uint64_t new = trace_buffer_stats(b->buffer)->bytes_written - b->written_before;

		if (new >= MIN(bytes, trace_buffer_size(b->buffer) / 2))
			return true;
	}
	return false;
}

uint64_t trace_bytes_read(const struct trace *t)
{
	uint64_t n = 0;

	for (size_t i = 0; i < t->n_buffers; i++)
		n += trace_buffer_stats(t->buffers[i].buffer)->bytes_read;
	return n;
}

/* ---- events ---- */

void trace_record_event(struct trace *t, enum service_event_kind kind)
{
	service_events_add(&t->service_events, kind, clock_boot_ns());
}

void trace_record_event_at(struct trace *t, enum service_event_kind kind, uint64_t boot_ns,
			   uint32_t value)
{
	service_events_add_value(&t->service_events, kind, boot_ns, value);
}

void trace_record_slow_sources(struct trace *t, enum service_event_kind kind, const void *bytes,
			       size_t len)
{
	service_events_add_sources(&t->service_events, kind, clock_boot_ns(), bytes, len);
}

void trace_drop_events(struct trace *t, enum service_event_kind kind)
{
	service_events_remove(&t->service_events, kind);
}

void trace_add_concurrent_event(struct trace *t, const struct concurrent_event *event)
{
	t->owner.account->quota->refused[REFUSED_CONCURRENT_EVENTS] +=
		!concurrent_session_events_add(&t->concurrent, event);
}

void trace_mark_due(struct trace *t, unsigned due)
{
	t->stats_due |= (due & TRACE_DUE_STATS) != 0;
	t->sync_marker_due |= (due & TRACE_DUE_SYNC_MARKER) != 0;
}

/* ---- triggers ---- */

void trace_add_trigger(struct trace *t, const struct received_trigger *trigger)
{
	struct received_trigger copy;

	if (t->n_received >= MAX_RECEIVED_TRIGGERS) {
		t->owner.account->quota->refused[REFUSED_RECEIVED_TRIGGERS]++;
		received_trigger_deinit(&t->received[0]);
		memmove(&t->received[0], &t->received[1], --t->n_received * sizeof(t->received[0]));
	}
	if (array_reserve(&t->received, &t->cap_received, t->n_received + 1,
			  sizeof(t->received[0])) == 0 &&
	    received_trigger_copy(trigger, &copy) == 0)
		t->received[t->n_received++] = copy;
}

void trace_move_triggers(struct trace *from, struct trace *to)
{
	to->received = TAKE_PTR(from->received);
	to->n_received = from->n_received;
	to->cap_received = from->cap_received;
	from->n_received = from->cap_received = 0;
}

void trace_set_clone_trigger(struct trace *t, struct received_trigger *trigger)
{
	t->clone_trigger = *trigger;
	*trigger = (struct received_trigger){0};
}

/* ---- clocks ---- */

static bool are_clock_snapshots_enabled(const struct trace *t)
{
	const Pb__TraceConfig__BuiltinDataSource *b = t->owner.config->builtin_data_sources;

	return !b || !b->disable_clock_snapshotting;
}

void trace_snapshot_clocks(struct trace *t)
{
	struct clock_snapshot now;

	if (!are_clock_snapshots_enabled(t))
		return;
	clock_snapshot_take(&now);
	clock_snapshots_add(&t->clocks, &now);
}

/* The initial snapshot is written before those in the ring, so the ring is cleared: the clocks of a
 * trace must not go back. */
static void add_initial_clock_snapshot(struct trace *t)
{
	if (!are_clock_snapshots_enabled(t))
		return;
	clock_snapshots_clear(&t->clocks);
	clock_snapshot_take(&t->clocks.initial);
	t->clocks.has_initial = true;
}

void trace_start(struct trace *t)
{
	struct clock_snapshot now;

	clock_snapshot_take(&now);
	t->start_realtime_ns = (int64_t)now.value[CLOCK_SNAPSHOT_REALTIME];
	add_initial_clock_snapshot(t);
}

int64_t trace_start_realtime_ns(const struct trace *t)
{
	return t->start_realtime_ns;
}

/* ---- the uuid ---- */

/* trace_uuid_msb and trace_uuid_lsb are deprecated, but Perfetto's command line still sets them in
 * every config. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
static void set_uuid_from_config(struct trace *t)
{
	t->uuid_msb = t->owner.config->trace_uuid_msb;
	t->uuid_lsb = t->owner.config->trace_uuid_lsb;
}
#pragma GCC diagnostic pop

/* Sets a random uuid of version 4 (RFC 4122). */
static void set_random_uuid(struct trace *t)
{
	uint64_t half[2] = {0};

	if (getrandom(half, sizeof(half), 0) != sizeof(half)) {
		half[0] = clock_boot_ns();
		half[1] = half[0] * 0x9e3779b97f4a7c15u;
	}
	t->uuid_msb = (int64_t)((half[0] & ~0xf000ull) | 0x4000);
	t->uuid_lsb = (int64_t)((half[1] & ~(3ull << 62)) | 2ull << 62);
}

/* Sets a uuid with a random first half, which identifies the trace, and the second half lsb, which
 * all traces of one recording share. */
static void set_random_uuid_with_lsb(struct trace *t, int64_t lsb)
{
	set_random_uuid(t);
	t->uuid_lsb = lsb;
}

void trace_uuid(const struct trace *t, int64_t *ret_msb, int64_t *ret_lsb)
{
	*ret_msb = t->uuid_msb;
	*ret_lsb = t->uuid_lsb;
}

void trace_restart_head(struct trace *t)
{
	set_random_uuid_with_lsb(t, t->uuid_lsb);
	add_initial_clock_snapshot(t);
	t->head_written = false;
	t->sync_marker_due = true;
}

/* ---- life ---- */

DEFINE_DESTRUCTOR(struct trace *, trace_free)

int trace_new(const struct trace_env *env, const struct trace_owner *owner, struct err_text *e,
	      struct trace **ret)
{
	_cleanup_(trace_freep) struct trace *t = calloc(1, sizeof(*t));
	int r;

	if (!t)
		return err_set(e, -ENOMEM, "out of memory");
	t->env = env;
	t->owner = *owner;
	r = trace_filter_new(owner->config, e, &t->filter);
	if (r < 0)
		return r;
	set_uuid_from_config(t);
	if (!t->uuid_msb && !t->uuid_lsb)
		set_random_uuid(t);
	*ret = TAKE_PTR(t);
	return 0;
}

int trace_new_clone(const struct trace *source, const struct trace_owner *owner, bool unfiltered,
		    struct trace **ret)
{
	_cleanup_(trace_freep) struct trace *t = calloc(1, sizeof(*t));
	int r = 0;

	if (!t)
		return -ENOMEM;
	t->env = source->env;
	t->owner = *owner;
	if (source->filter && !unfiltered)
		r = trace_filter_new(owner->config, NULL, &t->filter);
	if (r == 0)
		r = sequence_ids_copy(&source->sequences, &t->sequences);
	if (r == 0)
		r = service_events_copy(&source->service_events, &t->service_events);
	if (r < 0)
		return r;
	set_random_uuid_with_lsb(t, source->uuid_lsb);
	t->clocks = source->clocks;
	t->start_realtime_ns = source->start_realtime_ns;
	t->invalid_packets = source->invalid_packets;
	*ret = TAKE_PTR(t);
	return 0;
}

void trace_free(struct trace *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->n_buffers; i++)
		trace_buffer_free(t->buffers[i].buffer);
	free(t->buffers);
	received_trigger_deinit(&t->clone_trigger);
	for (size_t i = 0; i < t->n_received; i++)
		received_trigger_deinit(&t->received[i]);
	free(t->received);
	service_events_deinit(&t->service_events);
	concurrent_session_events_deinit(&t->concurrent);
	sequence_ids_deinit(&t->sequences);
	trace_filter_free(t->filter);
	free(t);
}

/* ---- buffers ---- */

static void put_stats_of_buffer(struct pb_enc *e, const struct trace_buffer *b)
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

static void put_packed_numbers(struct pb_enc *e, uint32_t field, const uint64_t *values, size_t n)
{
	uint8_t bytes[TRACE_BUFFER_HISTOGRAM_BUCKETS * 10], *p = bytes;

	for (size_t i = 0; i < n; i++)
		p = pb_put_varint(p, values[i]);
	pb_enc_bytes(e, field, bytes, (size_t)(p - bytes));
}

static void put_stats_of_writer(void *ctx, const struct trace_buffer_writer *writer,
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
	put_packed_numbers(e, PB_TRACE_STATS_WRITER_STATS_CHUNK_PAYLOAD_HISTOGRAM_COUNTS, h->counts,
			   TRACE_BUFFER_HISTOGRAM_BUCKETS);
	put_packed_numbers(e, PB_TRACE_STATS_WRITER_STATS_CHUNK_PAYLOAD_HISTOGRAM_SUM,
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
		trace_buffer_each_writer(t->buffers[i].buffer, put_stats_of_writer, &w);
	}
}

/* ---- buffers and reading ---- */

void trace_put_buffer_stats(const struct trace *t, struct pb_enc *e)
{
	for (size_t i = 0; i < t->n_buffers; i++)
		put_stats_of_buffer(e, t->buffers[i].buffer);
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
