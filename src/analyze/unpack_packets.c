// SPDX-License-Identifier: Apache-2.0
#include "analyze/unpack_packets.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>

#include <zlib.h>
#include <zstd.h>

#include "gen/fields.h"

#define STEP_BYTES (64u << 10)

static int add(struct strbuf *ret, const uint8_t *step, size_t n)
{
	if (n > UNPACK_MAX_BYTES - ret->len)
		return -EFBIG;
	strbuf_add(ret, step, n);
	return ret->failed ? -ENOMEM : 0;
}

static int unpack_deflate(const uint8_t *data, size_t len, struct strbuf *ret)
{
	uint8_t step[STEP_BYTES];
	z_stream z = {.next_in = (uint8_t *)data, .avail_in = (uInt)len};
	int r = 0, status = Z_OK;

	if (len > UINT_MAX || inflateInit(&z) != Z_OK)
		return -ENOMEM;
	while (r == 0 && status == Z_OK) {
		z.next_out = step;
		z.avail_out = sizeof(step);
		status = inflate(&z, Z_NO_FLUSH);
		r = add(ret, step, sizeof(step) - z.avail_out);
	}
	inflateEnd(&z);
	return r < 0 || status == Z_STREAM_END ? r : -EBADMSG;
}

static int unpack_zstd(const uint8_t *data, size_t len, struct strbuf *ret)
{
	uint8_t step[STEP_BYTES];
	ZSTD_DStream *z = ZSTD_createDStream();
	ZSTD_inBuffer in = {.src = data, .size = len};
	size_t left = 1;
	int r = 0;

	if (!z)
		return -ENOMEM;
	while (r == 0 && left > 0) {
		ZSTD_outBuffer out = {.dst = step, .size = sizeof(step)};

		left = ZSTD_decompressStream(z, &out, &in);
		if (ZSTD_isError(left) || (left > 0 && out.pos < out.size && in.pos == in.size))
			r = -EBADMSG;
		else
			r = add(ret, step, out.pos);
	}
	ZSTD_freeDStream(z);
	return r;
}

int unpack_packets(uint32_t field, const uint8_t *data, size_t len, struct strbuf *ret)
{
	strbuf_clear(ret);
	return field == PB_TRACE_PACKET_ZSTD_COMPRESSED_PACKETS ? unpack_zstd(data, len, ret)
								: unpack_deflate(data, len, ret);
}
