// SPDX-License-Identifier: Apache-2.0
/*
 * kernel_stack                       "caller"
 *
 *	size: 3                           blk_mq_submit_bio
 *	caller: ffffffff8151a2b0 ...      submit_bio_noacct
 *	                                  #4                    no symbol of it is known
 */
#include <stdio.h>
#include <string.h>

#include "base/core/mem.h"
#include "ftrace/encode/bprint.h"
#include "ftrace/encode/event_text.h"
#include "ftrace/symbols/ksyms.h"
#include "ftrace/format/load.h"

#define FRAME_MAX (KSYMS_NAME_MAX + 1) /* bytes of a line */
#define CUT "..."
#define TRAMPOLINE 0x7fffffffull /* what the kernel writes for code that it made for a tracer */

static uint64_t load_long(const uint8_t *at, unsigned size)
{
	return size == 8 ? load64(at) : load32(at);
}

/* "#N", or the name; no NUL. */
static size_t name_of(struct encode_ctx *ctx, uint64_t address, char name[static FRAME_MAX])
{
	size_t len = ctx->ksyms ? ksyms_name(ctx->ksyms, address, name) : 0;

	if (len)
		return len;
	return (size_t)snprintf(name, FRAME_MAX, "#%u", sym_index_get(ctx->syms, address));
}

static size_t kernel_frame(struct encode_ctx *ctx, uint64_t address, char line[static FRAME_MAX])
{
	if (address == TRAMPOLINE)
		return (size_t)snprintf(line, FRAME_MAX, "[FTRACE TRAMPOLINE]");
	return name_of(ctx, address, line);
}

static size_t user_frame(struct encode_ctx *ctx, uint64_t address, char line[static FRAME_MAX])
{
	(void)ctx;
	return (size_t)snprintf(line, FRAME_MAX, "0x%llx", (unsigned long long)address);
}

/* One line a frame. A stack ends with the record, with a zero, or with the -1 of older kernels. */
static uint8_t *put_stack(uint8_t *p, const struct field_op *op, const struct page_record *r,
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

static uint8_t *put_symbol(uint8_t *p, const struct field_op *op, const struct page_record *r,
			   struct encode_ctx *ctx, unsigned size)
{
	uint64_t address = load_long(r->payload + op->offset, size);
	size_t len = ctx->ksyms ? ksyms_name(ctx->ksyms, address, (char *)p) : 0;

	return len ? p + len : NULL;
}

static size_t pointer_text(void *ctx, uint64_t address, char *to, size_t size)
{
	char name[FRAME_MAX];
	size_t len = name_of(ctx, address, name);

	len = MIN(len, size);
	memcpy(to, name, len);
	return len;
}

/* The format's address lies right before the arguments. */
static uint8_t *put_bprint(uint8_t *p, const struct field_op *op, const struct page_record *r,
			   struct encode_ctx *ctx)
{
	struct bprint_args args = {
		.long_size = FIELD_BPRINT_LONG(op->size),
		.min_int = FIELD_BPRINT_MIN_INT(op->size),
	};
	const uint8_t *at = r->payload + op->offset;
	const struct string_map_entry *format;

	if (op->offset > r->len)
		return NULL;
	format = string_map_find(ctx->strings, load_long(at - args.long_size, args.long_size));
	if (!format)
		return NULL;
	args.data = at;
	args.len = r->len - op->offset;
	return p + bprint_format(ctx->strings->text + format->at, format->len, &args, pointer_text,
				 ctx, (char *)p, EVENT_TEXT_MAX);
}

static uint8_t *put_rest(uint8_t *p, const struct field_op *op, const struct page_record *r)
{
	size_t len;

	if (op->offset >= r->len)
		return NULL;
	len = r->len - op->offset;
	memcpy(p, r->payload + op->offset, len);
	return p + len;
}

uint8_t *event_text_put(uint8_t *p, const struct field_op *op, const struct page_record *r,
			struct encode_ctx *ctx)
{
	switch (op->kind) {
	case FIELD_STACK32:
		return put_stack(p, op, r, ctx, 4, kernel_frame);
	case FIELD_STACK64:
		return put_stack(p, op, r, ctx, 8, kernel_frame);
	case FIELD_USER_STACK32:
		return put_stack(p, op, r, ctx, 4, user_frame);
	case FIELD_USER_STACK64:
		return put_stack(p, op, r, ctx, 8, user_frame);
	case FIELD_SYMBOL32:
		return put_symbol(p, op, r, ctx, 4);
	case FIELD_SYMBOL64:
		return put_symbol(p, op, r, ctx, 8);
	case FIELD_BPRINT:
		return put_bprint(p, op, r, ctx);
	default:
		return put_rest(p, op, r);
	}
}
