/* SPDX-License-Identifier: Apache-2.0 */
/* A trace that arrives in pieces: the first byte is their size. They give the same packets as the whole. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/host/packet_stream.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int note(void *ctx, const uint8_t *packet, size_t len)
{
	strbuf_add(ctx, &len, sizeof(len));
	strbuf_add(ctx, packet, len);
	return 0;
}

static int cut(const uint8_t *data, size_t size, size_t piece, struct strbuf *ret)
{
	struct packet_stream s = {0};
	int r = 0;

	for (size_t at = 0; !r && at < size; at += piece) {
		size_t n = size - at < piece ? size - at : piece;
		uint8_t *copy = malloc(n);

		memcpy(copy, data + at, n);
		r = packet_stream_add(&s, copy, n, note, ret);
		free(copy);
	}
	packet_stream_deinit(&s);
	return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct strbuf pieces = {0}, whole = {0};

	if (size < 2)
		return 0;
	if (cut(data + 1, size - 1, 1 + (size_t)data[0], &pieces) !=
		    cut(data + 1, size - 1, size, &whole) ||
	    pieces.len != whole.len || (whole.len && memcmp(pieces.s, whole.s, whole.len) != 0))
		abort();
	strbuf_deinit(&pieces);
	strbuf_deinit(&whole);
	return 0;
}
