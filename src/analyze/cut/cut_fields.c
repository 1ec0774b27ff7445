/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/cut/cut_fields.h"

#include <string.h>

#include "wire/pb_varint.h"

void cut_put_number(struct strbuf *b, uint32_t field, uint64_t v)
{
	uint8_t *p = (uint8_t *)strbuf_reserve(b, 20);

	if (p)
		b->len = (size_t)((char *)pb_put_varint(
					  pb_put_varint(p, pb_tag(field, PB_WIRE_VARINT)), v) -
				  b->s);
}

void cut_put_fixed64(struct strbuf *b, uint32_t field, uint64_t v)
{
	uint8_t *p = (uint8_t *)strbuf_reserve(b, 20);

	if (!p)
		return;
	p = pb_put_varint(p, pb_tag(field, PB_WIRE_FIXED64));
	memcpy(p, &v, sizeof(v));
	b->len = (size_t)((char *)p + sizeof(v) - b->s);
}

void cut_put_bytes(struct strbuf *b, uint32_t field, const void *data, size_t len)
{
	cut_put_number(b, field, len);
	if (b->failed)
		return;
	/* cut_put_number() has written a tag for a varint: change its wire type to bytes. */
	b->s[b->len - pb_varint_len(len) - pb_varint_len(pb_tag(field, PB_WIRE_BYTES))] |=
		PB_WIRE_BYTES;
	strbuf_add(b, data, len);
}
