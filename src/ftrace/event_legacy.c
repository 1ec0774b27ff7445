// SPDX-License-Identifier: Apache-2.0
/* Names are few, long and the same in every event; nothing here is tuned. */
#include <string.h>

#include "ftrace/event_legacy.h"
#include "ftrace/field_value.h"
#include "ftrace/msg_bytes.h"
#include "gen/fields.h"

#define FIELD_OVERHEAD (2 * (1 + MSG_LEN_MAX) + 1 + 10) /* two headers, and a value's */

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

static bool is_signed(enum field_kind kind)
{
	return kind >= FIELD_S8 && kind <= FIELD_PID;
}

static uint8_t *put_value(uint8_t *p, const struct field_op *op, const struct page_record *r,
			  struct encode_ctx *ctx)
{
	struct span s;

	if (field_is_int(op->kind)) {
		p = pb_put_varint(p, pb_tag(is_signed(op->kind)
						    ? PB_GENERIC_FTRACE_EVENT_FIELD_INT_VALUE
						    : PB_GENERIC_FTRACE_EVENT_FIELD_UINT_VALUE,
					    PB_WIRE_VARINT));
		return pb_put_varint(p, field_int(op, r->payload, ctx));
	}
	s = field_span(op, r, ctx);
	if (!s.data) {
		ctx->bad_field = true;
		return p;
	}
	if (field_is_str(op->kind))
		return put_string(p, PB_GENERIC_FTRACE_EVENT_FIELD_STR_VALUE, s.data, s.len);
	return put_hex(p, PB_GENERIC_FTRACE_EVENT_FIELD_STR_VALUE, s.data, s.len);
}

uint8_t *event_encode_legacy(const struct event_row *row, const struct page_record *r,
			     struct encode_ctx *ctx, uint8_t *p)
{
	p = put_string(p, PB_GENERIC_FTRACE_EVENT_EVENT_NAME, row->name, strlen(row->name));
	for (unsigned i = 0; i < row->n_ops; i++) {
		const char *name = row->field_names[i];
		uint8_t *field;

		*p++ = PB_GENERIC_FTRACE_EVENT_FIELD << 3 | PB_WIRE_BYTES;
		field = p++;
		p = put_string(p, PB_GENERIC_FTRACE_EVENT_FIELD_NAME, name, strlen(name));
		p = put_value(p, &row->ops[i], r, ctx);
		p = msg_close(field, p);
	}
	return p;
}

size_t event_legacy_bound(const struct event_row *row)
{
	size_t bound = 1 + MSG_LEN_MAX + strlen(row->name);

	for (unsigned i = 0; i < row->n_ops; i++)
		bound +=
			FIELD_OVERHEAD + strlen(row->field_names[i]) + 2 * (size_t)row->ops[i].size;
	return bound;
}
