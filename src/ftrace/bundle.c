// SPDX-License-Identifier: Apache-2.0
/*
 * The packet is written as the records come; only columns and the set of descriptors wait for its
 * end. Everything that is numbered anew in each bundle (names, addresses, descriptors) is emptied
 * by counting a generation up.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "ftrace/bundle.h"
#include "gen/fields.h"

int bundle_init(struct bundle *b, struct writer *writer, size_t n_generic)
{
	b->writer = writer;
	b->described = calloc(n_generic + 1, sizeof(*b->described));
	b->to_describe = calloc(n_generic + 1, sizeof(*b->to_describe));
	if (b->described && b->to_describe)
		return 0;
	bundle_deinit(b);
	return -ENOMEM;
}

void bundle_deinit(struct bundle *b)
{
	assert(!b->enc);
	free(b->described);
	free(b->to_describe);
	b->described = NULL;
	b->to_describe = NULL;
}

static void write_sync(struct pb_enc *e, const struct clock_sync *sync)
{
	if (sync->clock == FTRACE_CLOCK_BOOT)
		return;
	pb_enc_u64(e, PB_FTRACE_EVENT_BUNDLE_FTRACE_CLOCK, sync->clock);
	pb_enc_u64(e, PB_FTRACE_EVENT_BUNDLE_FTRACE_TIMESTAMP, sync->ftrace_ns);
	pb_enc_u64(e, PB_FTRACE_EVENT_BUNDLE_BOOT_TIMESTAMP, sync->boot_ns);
}

void bundle_begin(struct bundle *b, const struct bundle_head *head)
{
	struct pb_enc *e;

	assert(!b->enc);
	b->enc = e = writer_begin(b->writer);
	b->generation++;
	b->n_to_describe = 0;
	sym_index_clear(&b->syms);
	compact_sched_clear(&b->compact);

	pb_enc_open(e, PB_TRACE_PACKET_FTRACE_EVENTS);
	pb_enc_u64(e, PB_FTRACE_EVENT_BUNDLE_CPU, head->cpu);
	if (head->lost)
		pb_enc_bool(e, PB_FTRACE_EVENT_BUNDLE_LOST_EVENTS, true);
	if (head->lost_count)
		pb_enc_u64(e, PB_FTRACE_EVENT_BUNDLE_LOST_EVENT_COUNT, head->lost_count);
	pb_enc_u64(e, PB_FTRACE_EVENT_BUNDLE_PREVIOUS_BUNDLE_END_TIMESTAMP, head->previous_end);
	write_sync(e, head->sync);
}

void bundle_end(struct bundle *b)
{
	struct pb_enc *e = b->enc;

	if (!e)
		return;
	compact_sched_write(&b->compact, e);
	for (size_t i = 0; i < b->n_to_describe; i++)
		pb_enc_bytes(e, PB_FTRACE_EVENT_BUNDLE_GENERIC_EVENT_DESCRIPTORS,
			     b->to_describe[i]->descriptor, b->to_describe[i]->descriptor_len);
	pb_enc_close(e);
	writer_end(b->writer);
	b->enc = NULL;
}

void bundle_error(struct bundle *b, uint64_t time, enum page_status status)
{
	struct pb_enc *e = b->enc;

	pb_enc_open(e, PB_FTRACE_EVENT_BUNDLE_ERROR);
	if (time)
		pb_enc_u64(e, PB_FTRACE_EVENT_BUNDLE_FTRACE_ERROR_TIMESTAMP, time);
	pb_enc_u64(e, PB_FTRACE_EVENT_BUNDLE_FTRACE_ERROR_STATUS, status);
	pb_enc_close(e);
}
