/* SPDX-License-Identifier: Apache-2.0 */
/* This code is not optimized: the names that it writes into every event are long anyway. */
#include <string.h>

#include "ftrace/encode/event_legacy.h"
#include "ftrace/encode/field_value.h"
#include "ftrace/encode/pb_unchecked.h"
#include "ftrace/encode/text_fields.h"
#include "ftrace/format/field_type.h"
#include "gen/fields.h"

#define FIELD_OVERHEAD (2 * (2 + UNCHECKED_LEN_MAX) + 1 + 10) /* two headers, and that of a value */

static uint8_t *put_string(uint8_t *p, uint32_t field, const void *data, size_t len)
{
	p = pb_put_varint(p, pb_tag(field, PB_WIRE_BYTES));
	p = pb_put_varint(p, len);
	memcpy(p, data, len);
	return p + len;
}

static uint8_t *put_hex(uint8_t *p, uint32_t field, const uint8_t *data, size_t len)
{
	static const char digits[] = "0123456789abcdef";

	p = pb_put_varint(p, pb_tag(field, PB_WIRE_BYTES));
	p = pb_put_varint(p, 2 * len);
	for (size_t i = 0; i < len; i++) {
		*p++ = (uint8_t)digits[data[i] >> 4];
		*p++ = (uint8_t)digits[data[i] & 15];
	}
	return p;
}

/* Returns a span without data if the record ends before the field. */
static struct field_bytes find_span_to_record_end(const struct ring_record *r,
						  const struct field_op *op)
{
	if (op->offset >= r->len)
		return (struct field_bytes){NULL, 0};
	return (struct field_bytes){r->payload + op->offset, r->len - op->offset};
}

/* Writes the value of a GenericFtraceEvent.Field. Returns NULL if the record has no value for
 * it. */
static uint8_t *event_legacy_put_value(uint8_t *p, const struct field_op *op,
				       const struct ring_record *r, struct encode_ctx *ctx)
{
	struct field_bytes s;

	if (field_is_int(op->type)) {
		p = pb_put_varint(p, pb_tag(field_type_is_signed(op->type)
						    ? PB_GENERIC_FTRACE_EVENT_FIELD_INT_VALUE
						    : PB_GENERIC_FTRACE_EVENT_FIELD_UINT_VALUE,
					    PB_WIRE_VARINT));
		return pb_put_varint(p, field_int(op, r->payload, ctx));
	}
	if (field_is_text(op->type)) {
		uint8_t *text, *end;

		*p++ = PB_GENERIC_FTRACE_EVENT_FIELD_STR_VALUE << 3 | PB_WIRE_BYTES;
		text = p++;
		end = field_text_put(p, op, r, ctx);
		return end ? unchecked_close(text, end) : NULL;
	}
	s = op->type == FIELD_REMAINING_BYTES ? find_span_to_record_end(r, op)
					      : field_span(op, r, ctx);
	if (!s.data) {
		if (op->type != FIELD_REMAINING_BYTES)
			ctx->bad_field = true;
		return NULL;
	}
	if (field_is_str(op->type))
		return put_string(p, PB_GENERIC_FTRACE_EVENT_FIELD_STR_VALUE, s.data, s.len);
	return put_hex(p, PB_GENERIC_FTRACE_EVENT_FIELD_STR_VALUE, s.data, s.len);
}

/* Writes a GenericFtraceEvent.Field as the field `number` of its message. */
static uint8_t *event_legacy_put_field(uint8_t *p, uint32_t number, const char *name,
				       const struct field_op *op, const struct ring_record *r,
				       struct encode_ctx *ctx)
{
	uint8_t *field = pb_put_varint(p, pb_tag(number, PB_WIRE_BYTES)), *end;

	end = put_string(field + 1, PB_GENERIC_FTRACE_EVENT_FIELD_NAME, name, strlen(name));
	end = event_legacy_put_value(end, op, r, ctx);
	return end ? unchecked_close(field, end) : p;
}

uint8_t *event_encode_legacy(const struct compiled_event *ev, const struct ring_record *r,
			     struct encode_ctx *ctx, uint8_t *p)
{
	p = put_string(p, PB_GENERIC_FTRACE_EVENT_EVENT_NAME, ev->name, strlen(ev->name));
	for (unsigned i = 0; i < ev->n_ops; i++)
		p = event_legacy_put_field(p, PB_GENERIC_FTRACE_EVENT_FIELD, ev->field_names[i],
					   &ev->ops[i], r, ctx);
	return p;
}

uint8_t *event_encode_probe(const struct compiled_event *ev, const struct ring_record *r,
			    struct encode_ctx *ctx, uint8_t *p)
{
	memcpy(p, ev->descriptor, ev->descriptor_len);
	p += ev->descriptor_len;
	for (unsigned i = 0; i < ev->n_ops; i++)
		p = event_legacy_put_field(p, PB_KPROBE_EVENT_ARGUMENT, ev->field_names[i],
					   &ev->ops[i], r, ctx);
	return p;
}

size_t event_legacy_max_size(const struct compiled_event *ev)
{
	size_t bound = 1 + UNCHECKED_LEN_MAX + strlen(ev->name);

	for (unsigned i = 0; i < ev->n_ops; i++)
		bound += FIELD_OVERHEAD + strlen(ev->field_names[i]) + 2 * (size_t)ev->ops[i].size;
	return bound;
}
