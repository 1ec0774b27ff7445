/* SPDX-License-Identifier: Apache-2.0 */
#include "ftrace/encode/text_fields.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/core/mem.h"
#include "ftrace/encode/bprint.h"
#include "ftrace/format/unaligned.h"
#include "symbols/symbol_table.h"

/*
 * The record of a stack, and the text that is written for its field "caller":
 *
 *	kernel_stack                      "caller"
 *
 *	size: 3                           blk_mq_submit_bio
 *	caller: ffffffff8151a2b0 ...      submit_bio_noacct
 *	                                  #4                    no symbol is known
 */

#define FRAME_MAX (SYMBOL_TABLE_NAME_MAX + 1) /* bytes of a line */
#define CUT "..."
#define TRAMPOLINE 0x7fffffffull /* stored by the kernel for code generated for a tracer */

static uint64_t load_long(const uint8_t *at, unsigned size)
{
	return size == 8 ? load64(at) : load32(at);
}

/* Writes "#N" or the function name, without a NUL. */
static size_t format_function(struct encode_ctx *ctx, uint64_t address, char name[static FRAME_MAX])
{
	size_t len = ctx->symbols ? symbol_table_find_name(ctx->symbols, address, name) : 0;

	if (len)
		return len;
	return (size_t)snprintf(name, FRAME_MAX, "#%u", sym_index_intern(ctx->syms, address));
}

static size_t format_kernel_frame(struct encode_ctx *ctx, uint64_t address,
				  char line[static FRAME_MAX])
{
	if (address == TRAMPOLINE)
		return (size_t)snprintf(line, FRAME_MAX, "[FTRACE TRAMPOLINE]");
	return format_function(ctx, address, line);
}

static size_t format_user_frame(struct encode_ctx *ctx, uint64_t address,
				char line[static FRAME_MAX])
{
	return (size_t)snprintf(line, FRAME_MAX, "0x%llx", (unsigned long long)address);
}

/* Writes one line per frame. A stack ends with the record, with a zero, or with -1 (older
 * kernels). */
static uint8_t *put_stack(uint8_t *p, const struct field_op *op, const struct ring_record *r,
			  struct encode_ctx *ctx, unsigned size,
			  size_t (*frame)(struct encode_ctx *, uint64_t, char *))
{
	uint64_t last = size == 8 ? UINT64_MAX : UINT32_MAX, address;
	uint8_t *end = p + EVENT_TEXT_MAX - sizeof(CUT);
	char line[FRAME_MAX];
	size_t len;

	for (unsigned i = 0; i < EVENT_TEXT_FRAMES; i++) {
		if (op->offset + (i + 1) * size > r->len)
			break;
		address = load_long(r->payload + op->offset + i * size, size);
		if (!address || address == last)
			break;
		len = frame(ctx, address, line);
		if (i)
			*p++ = '\n';
		if (len >= (size_t)(end - p)) {
			memcpy(p, CUT, strlen(CUT));
			return p + strlen(CUT);
		}
		memcpy(p, line, len);
		p += len;
	}
	return p;
}

static uint8_t *put_symbol(uint8_t *p, const struct field_op *op, const struct ring_record *r,
			   struct encode_ctx *ctx, unsigned size)
{
	uint64_t address = load_long(r->payload + op->offset, size);
	size_t len = ctx->symbols ? symbol_table_find_name(ctx->symbols, address, (char *)p) : 0;

	return len ? p + len : NULL;
}

static size_t format_pointer(void *ctx, uint64_t address, char *to, size_t size)
{
	char name[FRAME_MAX];
	size_t len = format_function(ctx, address, name);

	len = MIN(len, size);
	memcpy(to, name, len);
	return len;
}

/* Writes the text of bprint's format and arguments. The format's address directly precedes the
 * arguments. Returns NULL if the format is unknown. */
static uint8_t *put_bprint(uint8_t *p, const struct field_op *op, const struct ring_record *r,
			   struct encode_ctx *ctx)
{
	struct bprint_args args = {
		.long_size = FIELD_BPRINT_LONG(op->size),
		.min_int = FIELD_BPRINT_MIN_INT(op->size),
	};
	const uint8_t *at = r->payload + op->offset;
	const struct printk_format *format;

	if (op->offset > r->len)
		return NULL;
	format = printk_formats_find(ctx->strings, load_long(at - args.long_size, args.long_size));
	if (!format)
		return NULL;
	args.data = at;
	args.len = r->len - op->offset;
	return p + bprint_format(ctx->strings->text + format->at, format->len, &args,
				 format_pointer, ctx, (char *)p, EVENT_TEXT_MAX);
}

static uint8_t *put_remaining(uint8_t *p, const struct field_op *op, const struct ring_record *r)
{
	size_t len;

	if (op->offset >= r->len)
		return NULL;
	len = r->len - op->offset;
	memcpy(p, r->payload + op->offset, len);
	return p + len;
}

uint8_t *field_text_put(uint8_t *p, const struct field_op *op, const struct ring_record *r,
			struct encode_ctx *ctx)
{
	switch (op->type) {
	case FIELD_STACK32:
		return put_stack(p, op, r, ctx, 4, format_kernel_frame);
	case FIELD_STACK64:
		return put_stack(p, op, r, ctx, 8, format_kernel_frame);
	case FIELD_USER_STACK32:
		return put_stack(p, op, r, ctx, 4, format_user_frame);
	case FIELD_USER_STACK64:
		return put_stack(p, op, r, ctx, 8, format_user_frame);
	case FIELD_SYMBOL32:
		return put_symbol(p, op, r, ctx, 4);
	case FIELD_SYMBOL64:
		return put_symbol(p, op, r, ctx, 8);
	case FIELD_BPRINT:
		return put_bprint(p, op, r, ctx);
	default:
		return put_remaining(p, op, r);
	}
}
