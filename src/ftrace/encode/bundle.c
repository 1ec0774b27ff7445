/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events are written to the packet immediately; columns and descriptors are written at its end.
 * Tables that are valid for one bundle (names, addresses, descriptors) are cleared by incrementing
 * a generation.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "ftrace/encode/bundle.h"
#include "gen/fields.h"
#include "symbols/symbol_table.h"

#define SEQ_INCREMENTAL_STATE_CLEARED 1 /* of TracePacket.sequence_flags */

static struct pb_enc *bundle_begin_in_writer(void *ctx)
{
	return writer_begin(ctx);
}

static void bundle_end_in_writer(void *ctx)
{
	writer_end(ctx);
}

struct bundle_output bundle_output_of_writer(struct writer *w)
{
	return (struct bundle_output){bundle_begin_in_writer, bundle_end_in_writer, w};
}

int bundle_init(struct bundle *b, const struct bundle_output *output, size_t n_generic)
{
	b->output = *output;
	return bundle_reserve(b, n_generic);
}

int bundle_reserve(struct bundle *b, size_t n_generic)
{
	uint32_t *described = calloc(n_generic + 1, sizeof(*b->described));
	const struct compiled_event **to_describe = calloc(n_generic + 1, sizeof(*b->to_describe));

	assert(!b->enc);
	if (!described || !to_describe) {
		free(described);
		free(to_describe);
		return -ENOMEM;
	}
	free(b->described);
	free(b->to_describe);
	b->described = described;
	b->to_describe = to_describe;
	b->n_to_describe = 0;
	return 0;
}

void bundle_deinit(struct bundle *b)
{
	assert(!b->enc);
	free(b->described);
	free(b->to_describe);
	b->described = NULL;
	b->to_describe = NULL;
}

void bundle_begin(struct bundle *b, const struct bundle_head *head)
{
	struct pb_enc *e;

	assert(!b->enc);
	b->enc = e = b->output.begin(b->output.ctx);
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
	if (head->sync->clock != FTRACE_CLOCK_BOOT) {
		pb_enc_u64(e, PB_FTRACE_EVENT_BUNDLE_FTRACE_CLOCK, head->sync->clock);
		pb_enc_u64(e, PB_FTRACE_EVENT_BUNDLE_FTRACE_TIMESTAMP, head->sync->ftrace_ns);
		pb_enc_u64(e, PB_FTRACE_EVENT_BUNDLE_BOOT_TIMESTAMP, head->sync->boot_ns);
	}
}

/* Writes the names of the addresses in the bundle. The numbers of addresses restart in each bundle,
 * so earlier interned data is invalidated even if no address has a name. */
static void write_symbols(struct pb_enc *e, const struct bundle *b)
{
	char name[SYMBOL_TABLE_NAME_MAX];
	bool open = false;
	size_t len;

	if (!b->symbols || !b->syms.n)
		return;
	pb_enc_u64(e, PB_TRACE_PACKET_SEQUENCE_FLAGS, SEQ_INCREMENTAL_STATE_CLEARED);
	for (uint32_t i = 0; i < b->syms.n; i++) {
		len = symbol_table_find_name(b->symbols, b->syms.addrs[i], name);
		if (!len)
			continue;
		if (!open)
			pb_enc_open(e, PB_TRACE_PACKET_INTERNED_DATA);
		open = true;
		pb_enc_open(e, PB_INTERNED_DATA_KERNEL_SYMBOLS);
		pb_enc_u64(e, PB_INTERNED_STRING_IID, i + 1);
		pb_enc_bytes(e, PB_INTERNED_STRING_STR, name, len);
		pb_enc_close(e);
	}
	if (open)
		pb_enc_close(e);
}

void bundle_end(struct bundle *b)
{
	struct pb_enc *e = b->enc;

	if (!e)
		return;
	compact_sched_write(&b->compact, e);
	for (size_t i = 0; i < b->n_to_describe; i++) {
		const struct compiled_event *ev = b->to_describe[i];

		if (ev->descriptor_len)
			pb_enc_bytes(e, PB_FTRACE_EVENT_BUNDLE_GENERIC_EVENT_DESCRIPTORS,
				     ev->descriptor, ev->descriptor_len);
		if (ev->further_len)
			pb_enc_bytes(e, PB_FTRACE_EVENT_BUNDLE_FURTHER_FIELD_DESCRIPTORS,
				     ev->further, ev->further_len);
	}
	pb_enc_close(e);
	write_symbols(e, b);
	b->output.end(b->output.ctx);
	b->enc = NULL;
}

void bundle_add_error(struct bundle *b, uint64_t time, enum ring_page_status status)
{
	struct pb_enc *e = b->enc;

	pb_enc_open(e, PB_FTRACE_EVENT_BUNDLE_ERROR);
	if (time)
		pb_enc_u64(e, PB_FTRACE_EVENT_BUNDLE_FTRACE_ERROR_TIMESTAMP, time);
	pb_enc_u64(e, PB_FTRACE_EVENT_BUNDLE_FTRACE_ERROR_STATUS, status);
	pb_enc_close(e);
}

void bundle_add_lost_range(struct bundle *b, const struct lost_range *range)
{
	struct pb_enc *e = b->enc;

	pb_enc_open(e, PB_FTRACE_EVENT_BUNDLE_LOST_RANGES);
	if (range->begin_ns)
		pb_enc_u64(e, PB_FTRACE_EVENT_BUNDLE_LOST_RANGE_BEGIN_TIMESTAMP, range->begin_ns);
	pb_enc_u64(e, PB_FTRACE_EVENT_BUNDLE_LOST_RANGE_END_TIMESTAMP, range->end_ns);
	if (range->count)
		pb_enc_u64(e, PB_FTRACE_EVENT_BUNDLE_LOST_RANGE_EVENT_COUNT, range->count);
	pb_enc_close(e);
}

void bundle_add_broken_page(struct bundle *b, const void *data, size_t len)
{
	pb_enc_bytes(b->enc, PB_FTRACE_EVENT_BUNDLE_BROKEN_ABI_TRACE_PAGE, data, len);
}
