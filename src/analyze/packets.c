/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/packets.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "base/core/mem.h"
#include "gen/fields.h"

static void read_packet_field(struct packet *p, const struct pb_field *f,
			      bool (*wants)(uint32_t field))
{
	switch (f->id) {
	case PB_TRACE_PACKET_TIMESTAMP:
		p->timestamp = f->u64;
		p->has_timestamp = true;
		break;
	case PB_TRACE_PACKET_TIMESTAMP_CLOCK_ID:
		p->clock = (uint32_t)f->u64;
		p->has_clock = true;
		break;
	case PB_TRACE_PACKET_TRUSTED_PACKET_SEQUENCE_ID:
		p->sequence = (uint32_t)f->u64;
		p->has_sequence = true;
		break;
	case PB_TRACE_PACKET_TRUSTED_PID:
		p->pid = (int32_t)f->u64;
		break;
	case PB_TRACE_PACKET_PREVIOUS_PACKET_DROPPED:
		p->dropped = (uint32_t)f->u64;
		break;
	case PB_TRACE_PACKET_PACKETS_DROPPED:
		p->n_dropped = f->u64;
		break;
	case PB_TRACE_PACKET_FIRST_PACKET_ON_SEQUENCE:
		p->first = f->u64 != 0;
		break;
	case PB_TRACE_PACKET_SEQUENCE_FLAGS:
		p->flags |= (uint32_t)f->u64;
		break;
	case PB_TRACE_PACKET_INCREMENTAL_STATE_CLEARED:
		p->flags |= f->u64 ? PACKET_STATE_CLEARED : 0;
		break;
	case PB_TRACE_PACKET_MACHINE_ID:
		p->machine = (uint32_t)f->u64;
		break;
	case PB_TRACE_PACKET_INTERNED_DATA:
		p->interned = *f;
		break;
	case PB_TRACE_PACKET_TRACE_PACKET_DEFAULTS:
		p->defaults = *f;
		break;
	default:
		if (f->data && wants(f->id))
			p->payload = *f;
		break;
	}
}

bool packet_read(struct packet *ret, const uint8_t *data, size_t len, bool (*wants)(uint32_t field))
{
	struct pb_field f;
	struct pb_dec d;

	*ret = (struct packet){.sequence = 0};
	pb_dec_init(&d, data, len);
	while (pb_dec_next(&d, &f))
		read_packet_field(ret, &f, wants);
	return pb_dec_ok(&d);
}

/*
 * Contents of TracePacket.compressed_packets (zlib format) and zstd_compressed_packets (zstd
 * frames): bytes of Trace.packet records. The bytes are untrusted.
 */

/* Limit of the contents; services compress a mebibyte or less at a time. */
#define UNPACK_MAX_BYTES (64u << 20)

#define STEP_BYTES (64u << 10)

static int packets_add(struct strbuf *ret, const uint8_t *step, size_t n)
{
	if (n > UNPACK_MAX_BYTES - ret->len)
		return -EFBIG;
	strbuf_add(ret, step, n);
	return ret->failed ? -ENOMEM : 0;
}

/* Unpacks zlib streams up to the end of the data. Sets *ret_whole to the length of ret after each
 * whole stream; the caller initialises it to 0. Returns 0, -EBADMSG, -EFBIG or -ENOMEM. */
static int unpack_deflate(const uint8_t *data, size_t len, struct strbuf *ret, size_t *ret_whole)
{
	uint8_t step[STEP_BYTES];
	z_stream z = {.next_in = (uint8_t *)data, .avail_in = (uInt)len};
	int r = 0, status = Z_OK;

	if (len > UINT_MAX)
		return -EFBIG;
	if (inflateInit(&z) != Z_OK)
		return -ENOMEM;
	while (r == 0 && status == Z_OK) {
		z.next_out = step;
		z.avail_out = sizeof(step);
		status = inflate(&z, Z_NO_FLUSH);
		r = packets_add(ret, step, sizeof(step) - z.avail_out);
		if (r == 0 && status == Z_STREAM_END)
			*ret_whole = ret->len;
		if (status == Z_STREAM_END && z.avail_in)
			status = inflateReset(&z);
	}
	inflateEnd(&z);
	if (status == Z_MEM_ERROR)
		return -ENOMEM;
	return r < 0 || status == Z_STREAM_END ? r : -EBADMSG;
}

/* Unpacks zstd frames in the same way. */
static int unpack_zstd(const uint8_t *data, size_t len, struct strbuf *ret, size_t *ret_whole)
{
	uint8_t step[STEP_BYTES];
	ZSTD_DStream *z = ZSTD_createDStream();
	ZSTD_inBuffer in = {.src = data, .size = len};
	size_t left = 1;
	int r = 0;

	if (!z)
		return -ENOMEM;
	while (r == 0 && (left > 0 || in.pos < in.size)) {
		ZSTD_outBuffer out = {.dst = step, .size = sizeof(step)};

		left = ZSTD_decompressStream(z, &out, &in);
		if (ZSTD_isError(left) || (left > 0 && out.pos < out.size && in.pos == in.size))
			r = -EBADMSG;
		else
			r = packets_add(ret, step, out.pos);
		if (r == 0 && left == 0)
			*ret_whole = ret->len;
	}
	ZSTD_freeDStream(z);
	return r;
}

int packets_unpack(uint32_t field, const uint8_t *data, size_t len, struct strbuf *ret)
{
	size_t whole = 0;
	int r;

	strbuf_clear(ret);
	r = field == PB_TRACE_PACKET_ZSTD_COMPRESSED_PACKETS
		    ? unpack_zstd(data, len, ret, &whole)
		    : unpack_deflate(data, len, ret, &whole);
	if (r != -EBADMSG || !whole)
		return r;
	ret->len = whole;
	return 1;
}

/* ---- text ---- */

void packet_copy_text(const struct pb_field *f, char *to, size_t size)
{
	size_t len = f->data ? MIN(f->len, size - 1) : 0;

	if (len)
		memcpy(to, f->data, len);
	to[len] = '\0';
	str_make_plain(to, strlen(to), "");
}

#define HEAD_BYTES 4096u

static bool is_plain_text(const uint8_t *head, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (head[i] == 0x7f || (head[i] < ' ' && !strchr("\t\n\r\f", head[i])) || !head[i])
			return false;
	return true;
}

/* The tag of Trace.packet is a line feed. */
bool packets_are_binary(const uint8_t *data, size_t len, uint64_t size)
{
	const uint8_t *at, *end = data + len;
	uint64_t tag, packet;
	struct pb_field f;
	struct pb_dec d;

	at = len ? pb_get_varint(data, end, &tag) : NULL;
	at = at && tag == (PB_TRACE_PACKET << 3 | 2) ? pb_get_varint(at, end, &packet) : NULL;
	if (!at || packet > size - (uint64_t)(at - data))
		return false;
	if (packet > (uint64_t)(end - at))
		return true;
	pb_dec_init(&d, at, (size_t)packet);
	while (pb_dec_next(&d, &f))
		;
	return pb_dec_ok(&d);
}

bool packets_are_text(const uint8_t *data, size_t len, uint64_t size)
{
	len = MIN(len, HEAD_BYTES);
	return len && is_plain_text(data, len) && !packets_are_binary(data, len, size);
}
