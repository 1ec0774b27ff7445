/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/store/image_stream.h"

#include <string.h>
#include <zlib.h>

void image_write(struct image_writer *w, const void *data, size_t len)
{
	if (w->failed || !len)
		return;
	w->crc = (uint32_t)crc32_z(w->crc, data, len);
	w->len += len;
	w->failed = fwrite(data, 1, len, w->to) != len;
}

void image_read(struct image_reader *r, void *ret, size_t len)
{
	r->failed |= len > r->left;
	if (r->failed) {
		memset(ret, 0, len);
		return;
	}
	if (len)
		memcpy(ret, r->at, len);
	r->at += len;
	r->left -= len;
}

size_t image_read_count(struct image_reader *r, size_t element)
{
	uint64_t n;

	image_read(r, &n, sizeof(n));
	r->failed |= n > r->left / element;
	return r->failed ? 0 : (size_t)n;
}
