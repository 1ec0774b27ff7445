/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ftrace/format/compiled_event.h"
#include "ftrace/format/ring_page.h"
#include "ftrace/format/printk_formats.h"
#include "ftrace/encode/intern_tables.h"
#include "ftrace/encode/metadata.h"

struct symbol_table;

/*
 * Encodes one record as an `event` field of a FtraceEventBundle, by its compiled event. The output
 * has room for the largest result, so only offsets and lengths that the record contains are
 * checked.
 */
struct encode_ctx {
	struct {
		uint64_t top; /* bits 28 and up of the previous time; 0: none yet */
		uint8_t bytes[8]; /* as a varint */
		uint8_t len; /* bytes of a complete time; 0: none yet */
	} time; /* private to the encoder; starts zeroed */
	struct sym_index *syms;
	const struct printk_formats *strings;
	const struct symbol_table *symbols; /* NULL: addresses have no names */
	struct tid_list *tids; /* set for the time of the record; NULL: no subscriber */
	struct metadata_events *metadata; /* set with tids, which belong to it */
	bool bad_field; /* set if a field was outside its record; the event lacks that field */
};

/* Returns the most bytes that event_encode writes. */
static inline size_t event_encode_bound(const struct compiled_event *ev, uint32_t len)
{
	return ev->fixed_bound + (size_t)ev->n_var * len;
}

/* The record has at least ev->min_len bytes. Returns the end of the output. */
uint8_t *event_encode(const struct compiled_event *ev, const struct ring_record *r,
		      struct encode_ctx *ctx, uint8_t *p);

/* Notes a thread of a field for the metadata bus. Requires ctx->tids. */
void encode_add_tid(struct encode_ctx *ctx, int32_t tid);

/*
 * Notes the record's thread and its metadata fields for the metadata bus. Call it before the
 * fields are encoded. Requires ctx->tids.
 */
static inline void event_add_tids(const struct compiled_event *ev, const struct ring_record *r,
				  struct encode_ctx *ctx)
{
	int32_t tid;

	memcpy(&tid, r->payload + ev->pid_offset, sizeof(tid));
	ctx->tids = metadata_tids(ctx->metadata, r->time);
	tid_list_add(ctx->tids, tid);
	if (ev->metadata.kind)
		metadata_add(ctx->metadata, &ev->metadata, r, tid);
}
