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
 * Turns one record into the bytes of one `event` field of a FtraceEventBundle, by the event's row.
 * Writes to plain memory that has room for the largest result, so nothing is checked on the way
 * but what the record itself claims (the place and length of its strings).
 */
struct encode_ctx {
	struct {
		uint64_t top; /* of the last time, the bits from 28 on; 0: none yet */
		uint8_t bytes[8]; /* as a varint */
		uint8_t len; /* of the whole time in bytes; 0: none yet */
	} time; /* the encoder's own; starts at zero */
	struct sym_index *syms;
	const struct printk_formats *strings;
	const struct symbol_table *symbols; /* NULL: addresses have no names */
	struct tid_set *tids; /* those of the record's time; NULL: nobody wants to know */
	struct metadata_events *metadata; /* with tids, which are its own */
	bool bad_field; /* set where a field lay outside its record; the event is without it */
};

/* The most bytes that event_encode writes. */
static inline size_t event_encode_bound(const struct compiled_event *ev, uint32_t len)
{
	return ev->fixed_bound + (size_t)ev->n_var * len;
}

/* The record has ev->min_len bytes or more. Gives the byte after what was written. */
uint8_t *event_encode(const struct compiled_event *ev, const struct ring_record *r,
		      struct encode_ctx *ctx, uint8_t *p);

/* Tells the session's feed, which wants to know, of a thread that a field names. */
void encode_add_tid(struct encode_ctx *ctx, int32_t tid);

/* Tells the session's feed what the record says of threads; common to every kind of row. Before the
 * threads in its fields are told. */
static inline void event_add_tids(const struct compiled_event *ev, const struct ring_record *r,
				  struct encode_ctx *ctx)
{
	int32_t tid;

	memcpy(&tid, r->payload + ev->pid_offset, sizeof(tid));
	ctx->tids = metadata_tids(ctx->metadata, r->time);
	tid_set_add(ctx->tids, tid);
	if (ev->metadata.kind)
		metadata_add(ctx->metadata, &ev->metadata, r, tid);
}
