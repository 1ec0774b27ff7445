/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/host/packet_stream.h"

#include <errno.h>
#include <string.h>

#include "base/core/mem.h"
#include "cli/trace/trace_readback.h"
#include "gen/fields.h"
#include "wire/pb_dec.h"
#include "wire/pb_varint.h"

#define RECORD_HEAD_MAX 11 /* a tag of one byte and a varint */

/* Finds the record at the beginning of the bytes. Returns 1, 0 if it is incomplete, -EBADMSG or
 * -EFBIG. */
static int next_record(const uint8_t *p, const uint8_t *end, const uint8_t **ret_packet,
		       uint64_t *ret_len)
{
	const uint8_t *body;

	if (p == end)
		return 0;
	if (*p != pb_tag(PB_TRACE_PACKET, PB_WIRE_BYTES))
		return -EBADMSG;
	body = pb_get_varint(p + 1, end, ret_len);
	if (!body)
		return end - p >= RECORD_HEAD_MAX ? -EBADMSG : 0;
	if (*ret_len > PACKET_JOIN_MAX)
		return -EFBIG;
	*ret_packet = body;
	return (uint64_t)(end - body) >= *ret_len;
}

int packet_stream_add(struct packet_stream *s, const uint8_t *data, size_t len,
		      int (*on_packet)(void *ctx, const uint8_t *packet, size_t len), void *ctx)
{
	bool joins = s->rest.len > 0;
	const uint8_t *p = data, *end, *packet = NULL;
	uint64_t size = 0;
	int r;

	if (joins) {
		strbuf_add(&s->rest, data, len);
		if (s->rest.failed)
			return -ENOMEM;
		p = (const uint8_t *)s->rest.s;
		len = s->rest.len;
	}
	end = p + len;
	while ((r = next_record(p, end, &packet, &size)) > 0) {
		r = on_packet(ctx, packet, (size_t)size);
		if (r)
			return r;
		p = packet + size;
	}
	if (r < 0)
		return r;
	if (joins) {
		size_t left = (size_t)(end - p);

		if (p != (const uint8_t *)s->rest.s)
			memmove(s->rest.s, p, left);
		s->rest.len = left;
	} else if (p < end) {
		strbuf_add(&s->rest, p, (size_t)(end - p));
	}
	return s->rest.failed ? -ENOMEM : 0;
}

void packet_stream_deinit(struct packet_stream *s)
{
	strbuf_deinit(&s->rest);
}
