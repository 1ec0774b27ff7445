/* SPDX-License-Identifier: Apache-2.0 */
#include "service/output/compressor.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <zlib.h>
#include <zstd.h>

#include "base/core/mem.h"
#include "gen/fields.h"
#include "wire/pb_dec.h"
#include "wire/pb_varint.h"

#define MAX_HEAD 12 /* a tag of one or two bytes and a varint */
#define RAW_BYTES (COMPRESSOR_MAX_PACKET + MAX_HEAD)
#define DEFLATE_LEVEL 6
#define DEFAULT_ZSTD_LEVEL 3

_Static_assert(COMPRESSOR_GROUP_BYTES <= RAW_BYTES, "a group fits");

struct compressor {
	struct packet_sink sink;
	struct packet_sink *next; /* borrowed */
	bool is_too_large; /* the current packet, which is passed uncompressed */
	size_t raw_len, out_cap;
	uint8_t *raw, *out; /* owned */
	ZSTD_CCtx *zstd; /* owned; NULL: deflate */
	z_stream deflate;
};

/* ---- groups out ---- */

/* Both functions return the number of bytes in c->out, or 0 if the library has no memory. */
static size_t deflate_packets(struct compressor *c)
{
	z_stream *z = &c->deflate;

	if (deflateReset(z) != Z_OK)
		return 0;
	z->next_in = c->raw;
	z->avail_in = (uInt)c->raw_len;
	z->next_out = c->out;
	z->avail_out = (uInt)c->out_cap;
	return deflate(z, Z_FINISH) == Z_STREAM_END ? z->total_out : 0;
}

static size_t zstd_packets(struct compressor *c)
{
	size_t n = ZSTD_compress2(c->zstd, c->out, c->out_cap, c->raw, c->raw_len);

	return ZSTD_isError(n) ? 0 : n;
}

static void pass_uncompressed(struct compressor *c)
{
	struct pb_field f;
	struct pb_dec d;

	pb_dec_init(&d, c->raw, c->raw_len);
	while (pb_dec_next(&d, &f)) {
		c->next->begin(c->next, f.len);
		c->next->bytes(c->next, f.data, f.len);
	}
}

void compressor_end_group(struct compressor *c)
{
	uint32_t field = c->zstd ? PB_TRACE_PACKET_ZSTD_COMPRESSED_PACKETS
				 : PB_TRACE_PACKET_COMPRESSED_PACKETS;
	uint8_t head[MAX_HEAD], *p;
	size_t len;

	if (c->raw_len == 0)
		return;
	len = c->zstd ? zstd_packets(c) : deflate_packets(c);
	if (len == 0) {
		pass_uncompressed(c);
	} else {
		p = pb_put_varint(head, pb_tag(field, PB_WIRE_BYTES));
		p = pb_put_varint(p, len);
		c->next->begin(c->next, (size_t)(p - head) + len);
		c->next->bytes(c->next, head, (size_t)(p - head));
		c->next->bytes(c->next, c->out, len);
	}
	c->raw_len = 0;
}

/* ---- packets in ---- */

static void compressor_sink_begin(struct packet_sink *sink, size_t size)
{
	struct compressor *c = container_of(sink, struct compressor, sink);
	uint8_t *p;

	c->is_too_large = size > COMPRESSOR_MAX_PACKET;
	if (c->is_too_large || c->raw_len + MAX_HEAD + size > COMPRESSOR_GROUP_BYTES)
		compressor_end_group(c);
	if (c->is_too_large) {
		c->next->begin(c->next, size);
		return;
	}
	p = c->raw + c->raw_len;
	p = pb_put_varint(p, pb_tag(PB_TRACE_PACKET, PB_WIRE_BYTES));
	p = pb_put_varint(p, size);
	c->raw_len = (size_t)(p - c->raw);
}

static void compressor_sink_bytes(struct packet_sink *sink, const void *data, size_t len)
{
	struct compressor *c = container_of(sink, struct compressor, sink);

	if (c->is_too_large) {
		c->next->bytes(c->next, data, len);
	} else if (len > 0) {
		memcpy(c->raw + c->raw_len, data, len);
		c->raw_len += len;
	}
}

size_t compressor_bound(const struct compressor *c, size_t packet_size)
{
	size_t raw = c->raw_len + MAX_HEAD + packet_size;

	/* The bounds of both libraries are about raw / 256 plus a constant. The test compares them
	 * with this one. */
	return raw + raw / 200 + 128 + MAX_HEAD;
}

struct packet_sink *compressor_sink(struct compressor *c, struct packet_sink *next)
{
	c->next = next;
	return &c->sink;
}

/* ---- life ---- */

/* compression_type is deprecated, but older configs use it. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
static bool is_deflate_requested(const Pb__TraceConfig *config)
{
	return (config->compression && config->compression->deflate) ||
	       config->compression_type ==
		       PB__TRACE_CONFIG__COMPRESSION_TYPE__COMPRESSION_TYPE_DEFLATE;
}
#pragma GCC diagnostic pop

static int init_zstd(struct compressor *c, int level)
{
	c->zstd = ZSTD_createCCtx();
	if (!c->zstd)
		return -ENOMEM;
	ZSTD_CCtx_setParameter(c->zstd, ZSTD_c_compressionLevel,
			       level ? MIN(level, COMPRESSOR_MAX_ZSTD_LEVEL) : DEFAULT_ZSTD_LEVEL);
	c->out_cap = ZSTD_compressBound(RAW_BYTES);
	return 0;
}

static int init_deflate(struct compressor *c)
{
	if (deflateInit(&c->deflate, DEFLATE_LEVEL) != Z_OK)
		return -ENOMEM;
	c->out_cap = deflateBound(&c->deflate, RAW_BYTES);
	return 0;
}

int compressor_new(const Pb__TraceConfig *config, struct compressor **ret)
{
	const Pb__TraceConfig__CompressionConfig__Zstd *zstd =
		config->compression ? config->compression->zstd : NULL;
	struct compressor *c;
	int r;

	if (!zstd && !is_deflate_requested(config)) {
		*ret = NULL;
		return 0;
	}
	c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	c->sink.begin = compressor_sink_begin;
	c->sink.bytes = compressor_sink_bytes;
	r = zstd ? init_zstd(c, zstd->level) : init_deflate(c);
	c->raw = malloc(RAW_BYTES);
	c->out = malloc(c->out_cap + 1);
	if (r < 0 || !c->raw || !c->out) {
		compressor_free(c);
		return -ENOMEM;
	}
	*ret = c;
	return 0;
}

void compressor_free(struct compressor *c)
{
	if (!c)
		return;
	ZSTD_freeCCtx(c->zstd);
	deflateEnd(&c->deflate);
	free(c->raw);
	free(c->out);
	free(c);
}
