/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record                                    FtraceEventBundle.event
 *
 *   id flags preempt pid                      12 len
 *   field field field ...       ops             08 time  10 pid
 *     |     |     |                             tag len                    the event's own message
 *     +-----+-----+--- one op a field -->         tag value  tag value ...
 *
 * One pass, in the kernel's order of the fields. The two lengths are filled in afterwards
 * (pb_unchecked.h).
 */
#include <string.h>

#include "ftrace/encode/event_encode.h"
#include "ftrace/encode/event_legacy.h"
#include "ftrace/encode/field_value.h"
#include "ftrace/encode/intern_tables.h"
#include "ftrace/encode/pb_unchecked.h"
#include "ftrace/encode/text_fields.h"
#include "gen/fields.h"

#define TAG_EVENT (PB_FTRACE_EVENT_BUNDLE_EVENT << 3 | PB_WIRE_BYTES)
#define TAG_TIMESTAMP (PB_FTRACE_EVENT_TIMESTAMP << 3 | PB_WIRE_VARINT)
#define TAG_PID (PB_FTRACE_EVENT_PID << 3 | PB_WIRE_VARINT)
_Static_assert(TAG_EVENT < 0x80 && TAG_TIMESTAMP < 0x80 && TAG_PID < 0x80, "one byte each");

/* Writes a task name, char[16]. Always copies 16 bytes, whatever the length of the name. */
static inline uint8_t *put_comm(uint8_t *p, const uint8_t *comm)
{
	struct comm c = comm_load(comm);
	unsigned len = comm_len(c);

	*p++ = (uint8_t)len;
	memcpy(p, &c, sizeof(c));
	return p + len;
}

static inline uint8_t *put_span(uint8_t *p, const struct field_op *op, struct field_bytes s,
				struct encode_ctx *ctx)
{
	if (!s.data) {
		ctx->bad_field = true;
		return p;
	}
	p = unchecked_put_tag(p, op->tag, op->tag_len);
	p = unchecked_put_varint(p, s.len);
	memcpy(p, s.data, s.len);
	return p + s.len;
}

static uint8_t *put_array(uint8_t *p, const struct field_op *op, const uint8_t *at)
{
	unsigned step = op->type == FIELD_ULONG64_ARRAY ? 8 : 4;

	for (unsigned i = 0; i < op->size; i += step) {
		p = unchecked_put_tag(p, op->tag, op->tag_len);
		p = unchecked_put_varint(p, step == 8 ? load64(at + i) : load32(at + i));
	}
	return p;
}

/* Writes a text field, whose length is known only after the text. Omits an empty one. */
static __attribute__((noinline)) uint8_t *put_text(uint8_t *p, const struct field_op *op,
						   const struct ring_record *r,
						   struct encode_ctx *ctx)
{
	uint8_t *text = unchecked_put_tag(p, op->tag, op->tag_len);
	uint8_t *end = field_text_put(text + 1, op, r, ctx);

	return end ? unchecked_close(text, end) : p;
}

/* Writes a field of one of the less common types. */
static __attribute__((noinline)) uint8_t *put_rare_field(uint8_t *p, const struct field_op *op,
							 const struct ring_record *r,
							 struct encode_ctx *ctx)
{
	if (field_is_int(op->type)) {
		p = unchecked_put_tag(p, op->tag, op->tag_len);
		return unchecked_put_varint(p, field_int(op, r->payload, ctx));
	}
	if (field_is_array(op->type))
		return put_array(p, op, r->payload + op->offset);
	if (op->type >= FIELD_FIRST_TEXT)
		return put_text(p, op, r, ctx);
	return put_span(p, op, field_span(op, r, ctx), ctx);
}

static inline uint8_t *event_encode_put_field(uint8_t *p, const struct field_op *op,
					      const struct ring_record *r, struct encode_ctx *ctx)
{
	/* The value is read before a store, so that the compiler still knows the type of the op. */
	if (field_is_plain(op->type)) {
		uint64_t value = field_plain(op, r->payload, ctx);

		p = unchecked_put_tag(p, op->tag, op->tag_len);
		return unchecked_put_varint(p, value);
	}
	if (op->type == FIELD_COMM) {
		p = unchecked_put_tag(p, op->tag, op->tag_len);
		return put_comm(p, r->payload + op->offset);
	}
	return put_rare_field(p, op, r, ctx);
}

static inline uint8_t *put_fields(const struct compiled_event *ev, const struct ring_record *r,
				  struct encode_ctx *ctx, uint8_t *p)
{
	for (const struct field_op *op = ev->ops, *end = op + ev->n_ops; op < end; op++)
		p = event_encode_put_field(p, op, r, ctx);
	return p;
}

static __attribute__((noinline)) uint8_t *put_rare_event(const struct compiled_event *ev,
							 const struct ring_record *r,
							 struct encode_ctx *ctx, uint8_t *p)
{
	switch (ev->kind) {
	case COMPILED_LEGACY:
	case COMPILED_LEGACY_OF_THREADS:
		return event_encode_legacy(ev, r, ctx, p);
	case COMPILED_PROBE:
		return event_encode_probe(ev, r, ctx, p);
	default:
		return put_fields(ev, r, ctx, p);
	}
}

/* Caches the upper bits of the time, which are constant for a quarter of a second. */
static __attribute__((noinline)) uint8_t *put_new_time(uint8_t *p, uint64_t time,
						       struct encode_ctx *ctx)
{
	uint64_t top = time >> 28;

	memset(&ctx->time, 0, sizeof(ctx->time));
	if (!top)
		return unchecked_put_wide_varint(p, time);
	ctx->time.top = top;
	ctx->time.len = (uint8_t)(4 + pb_put_varint(ctx->time.bytes, top) - ctx->time.bytes);
	return pb_put_varint(p, time);
}

static inline uint8_t *event_encode_put_time(uint8_t *p, uint64_t time, struct encode_ctx *ctx)
{
	uint32_t x = unchecked_spread28((uint32_t)time & 0x0fffffff) | UNCHECKED_MORE32;

	if (__builtin_expect(time >> 28 != ctx->time.top || !ctx->time.len, 0))
		return put_new_time(p, time, ctx);
	memcpy(p, &x, sizeof(x));
	memcpy(p + sizeof(x), ctx->time.bytes, sizeof(ctx->time.bytes));
	return p + ctx->time.len;
}

uint8_t *event_encode(const struct compiled_event *ev, const struct ring_record *r,
		      struct encode_ctx *ctx, uint8_t *p)
{
	uint8_t *event, *fields;

	*p++ = TAG_EVENT;
	event = p++;
	*p++ = TAG_TIMESTAMP;
	p = event_encode_put_time(p, r->time, ctx);
	*p++ = TAG_PID;
	p = unchecked_put_mixed_varint(p, load32(r->payload + ev->pid_offset));

	memcpy(p, &ev->event_tag, sizeof(ev->event_tag));
	p += ev->event_tag_len;
	fields = p++;
	if (ctx->tids)
		event_add_tids(ev, r, ctx);
	if (__builtin_expect(ev->kind != COMPILED_FIELDS, 0))
		p = put_rare_event(ev, r, ctx, p);
	else
		p = put_fields(ev, r, ctx, p);
	p = unchecked_close(fields, p);
	return unchecked_close(event, p);
}
