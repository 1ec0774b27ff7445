/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/core/siphash.h"
#include "ftrace/encode/intern_tables.h"
#include "ftrace/encode/metadata.h"
#include "ftrace/format/compiled_event.h"
#include "ftrace/format/printk_formats.h"
#include "ftrace/format/ring_page.h"
#include "ftrace/format/unaligned.h"

struct symbol_table;

#define FIELD_KNOWN_HASHES 64 /* a power of two */

/* The hash of an address that was hashed before. */
struct field_known_hash {
	uint64_t address, hash;
};

/* The state of an encoder between the records of a bundle. */
struct encode_ctx {
	struct {
		uint64_t top; /* bits 28 and up of the previous time; 0: none yet */
		uint8_t bytes[8]; /* `top` as a varint */
		uint8_t len; /* bytes of a complete time; 0: none yet */
	} time; /* private to the encoder; starts zeroed */
	struct sym_index *syms;
	const struct printk_formats *strings;
	const struct symbol_table *symbols; /* NULL: addresses have no names */
	struct tid_list *tids; /* the list for the record's time; NULL: no subscriber */
	struct metadata_events *metadata; /* set with tids, which belong to it */
	bool bad_field; /* set if a field was outside its record; the event lacks that field */
	struct field_known_hash hashes[FIELD_KNOWN_HASHES]; /* by bits of the address */
};

/* Notes the record's thread and its metadata fields for the metadata bus. Call it before the
 * fields are encoded. Requires ctx->tids. */
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

/*
 * Reads the values of a record's fields by their ops. Inline, because both encoders use it in
 * their loops.
 */

/* Returns an integer as stored in the record, sign-extended to 64 bits for a varint. */
static inline uint64_t field_plain(const struct field_op *op, const uint8_t *payload,
				   struct encode_ctx *ctx)
{
	const uint8_t *at = payload + op->offset;

	switch (op->type) {
	case FIELD_U8:
		return *at;
	case FIELD_U16:
		return load16(at);
	case FIELD_U32:
		return load32(at);
	case FIELD_S8:
		return (uint64_t)(int8_t)*at;
	case FIELD_S16:
		return (uint64_t)(int16_t)load16(at);
	case FIELD_PID:
		if (ctx->tids)
			tid_list_add(ctx->tids, (int32_t)load32(at));
		return (uint64_t)(int32_t)load32(at);
	case FIELD_S32:
		return (uint64_t)(int32_t)load32(at);
	}
	return load64(at);
}

/* The hash is a varint of 5 bytes. With 10,000 objects, one trace in 700 has two objects with the
 * same hash. */
#define FIELD_HASH_BITS 35

/* Returns a hash that replaces the address of an object in the trace. Equal addresses have equal
 * hashes. */
static inline uint64_t field_hash_address(struct encode_ctx *ctx, uint64_t address)
{
	struct field_known_hash *k = &ctx->hashes[address >> 6 & (FIELD_KNOWN_HASHES - 1)];

	if (!address)
		return 0;
	if (k->address != address)
		*k = (struct field_known_hash){address, siphash_keyed(&address, sizeof(address)) >>
								(64 - FIELD_HASH_BITS)};
	return k->hash;
}

/* Returns an integer of any type. */
static inline uint64_t field_int(const struct field_op *op, const uint8_t *payload,
				 struct encode_ctx *ctx)
{
	const uint8_t *at = payload + op->offset;

	switch (op->type) {
	case FIELD_DEV32:
		return convert_dev_to_user_space(load32(at));
	case FIELD_DEV64:
		return convert_dev_to_user_space(load64(at));
	case FIELD_SYM32:
		return sym_index_intern(ctx->syms, load32(at));
	case FIELD_SYM64:
		return sym_index_intern(ctx->syms, load64(at));
	case FIELD_HASHED32:
		return field_hash_address(ctx, load32(at));
	case FIELD_HASHED64:
		return field_hash_address(ctx, load64(at));
	}
	return field_plain(op, payload, ctx);
}

struct field_bytes {
	const uint8_t *data; /* NULL: the field lies outside its record */
	uint32_t len;
};

/* Returns the bytes that a __data_loc or __rel_loc refers to. */
static inline struct field_bytes find_loc_bytes(const struct ring_record *r, uint32_t loc,
						uint32_t base)
{
	uint32_t offset = base + (loc & 0xffff), len = loc >> 16;

	if (!len)
		return (struct field_bytes){r->payload, 0};
	if (offset > r->len || len > r->len - offset)
		return (struct field_bytes){NULL, 0};
	return (struct field_bytes){r->payload + offset, len};
}

static inline struct field_bytes find_pointer_text(uint64_t addr, struct encode_ctx *ctx)
{
	const struct printk_format *e = printk_formats_find(ctx->strings, addr);

	if (!e)
		return (struct field_bytes){(const uint8_t *)"", 0};
	return (struct field_bytes){(const uint8_t *)ctx->strings->text + e->at, e->len};
}

/* Returns the bytes of a field of string or bytes type. */
static inline struct field_bytes field_span(const struct field_op *op, const struct ring_record *r,
					    struct encode_ctx *ctx)
{
	const uint8_t *at = r->payload + op->offset;
	struct field_bytes s;

	switch (op->type) {
	case FIELD_TAIL_STR:
	case FIELD_TAIL_BYTES:
		s = (struct field_bytes){at, r->len - op->offset};
		break;
	case FIELD_LOC_STR:
	case FIELD_LOC_BYTES:
		s = find_loc_bytes(r, load32(at), 0);
		break;
	case FIELD_REL_STR:
	case FIELD_REL_BYTES:
		s = find_loc_bytes(r, load32(at), op->offset + 4u);
		break;
	case FIELD_PTR32_STR:
		return find_pointer_text(load32(at), ctx);
	case FIELD_PTR64_STR:
		return find_pointer_text(load64(at), ctx);
	default: /* FIELD_COMM, FIELD_FIXED_STR, FIELD_FIXED_BYTES */
		s = (struct field_bytes){at, op->size};
		break;
	}
	if (s.len && field_is_str(op->type))
		s.len = (uint32_t)strnlen((const char *)s.data, s.len);
	return s;
}
