/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/page/page_columns.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/text/str.h"

/* Most bytes are the low bytes of durations, which zlib cannot compress: a higher level takes
 * longer and saves hardly anything. */
#define LEVEL 5

static const char *const names[PAGE_COLUMNS] = {
#define X(identifier, name) name,
	PAGE_COLUMN_LIST(X)
#undef X
};

int page_columns_init(struct page_columns *c)
{
	c->error = 0;
	c->of = calloc(PAGE_COLUMNS, sizeof(*c->of));
	if (!c->of)
		return -ENOMEM;
	for (unsigned i = 0; i < PAGE_COLUMNS; i++)
		if (deflateInit(&c->of[i].z, LEVEL) != Z_OK) {
			page_columns_deinit(c);
			return -ENOMEM;
		}
	return 0;
}

void page_columns_deinit(struct page_columns *c)
{
	if (!c->of)
		return;
	for (unsigned i = 0; i < PAGE_COLUMNS; i++) {
		deflateEnd(&c->of[i].z);
		free(c->of[i].bytes);
	}
	free(c->of);
	c->of = NULL;
}

void page_column_compress(struct page_columns *c, enum page_column_id id, int flush)
{
	struct page_column *column = &c->of[id];
	z_stream *z = &column->z;
	int r = Z_OK;

	z->next_in = column->room;
	z->avail_in = (uInt)column->n_room;
	column->n_room = 0;
	while (!c->error && (z->avail_in || (flush == Z_FINISH && r != Z_STREAM_END))) {
		if (array_reserve(&column->bytes, &column->cap_bytes,
				  column->n_bytes + PAGE_COLUMN_ROOM, 1)) {
			c->error = -ENOMEM;
			return;
		}
		z->next_out = column->bytes + column->n_bytes;
		z->avail_out = (uInt)MIN(column->cap_bytes - column->n_bytes, 1u << 30);
		r = deflate(z, flush);
		column->n_bytes = (size_t)(z->next_out - column->bytes);
	}
}

void page_put_bytes(struct page_columns *c, enum page_column_id id, const void *data, size_t len)
{
	struct page_column *column = &c->of[id];
	const uint8_t *p = data;

	while (len) {
		size_t n = MIN(len, PAGE_COLUMN_ROOM - column->n_room);

		memcpy(column->room + column->n_room, p, n);
		column->n_room += n;
		p += n;
		len -= n;
		if (column->n_room == PAGE_COLUMN_ROOM)
			page_column_compress(c, id, Z_NO_FLUSH);
	}
}

/* ---- to the file ---- */

#define PIECE (3u << 10) /* groups of three bytes, which become four characters */

int page_columns_write(struct page_columns *c, FILE *to)
{
	struct strbuf base64 = {0};

	for (unsigned i = 0; i < PAGE_COLUMNS; i++)
		page_column_compress(c, i, Z_FINISH);
	if (c->error)
		return c->error;
	/* In pieces, so that a long column is not in memory twice. */
	for (unsigned i = 0; i < PAGE_COLUMNS; i++) {
		fprintf(to, "<script type=\"application/octet-stream\" id=\"%s\">", names[i]);
		for (size_t at = 0; at < c->of[i].n_bytes && !base64.failed; at += PIECE) {
			strbuf_clear(&base64);
			strbuf_put_base64(&base64, c->of[i].bytes + at,
					  MIN(PIECE, c->of[i].n_bytes - at));
			fwrite(base64.s, 1, base64.len, to);
		}
		fputs("</script>\n", to);
	}
	if (base64.failed)
		c->error = -ENOMEM;
	strbuf_deinit(&base64);
	return c->error ?: ferror(to) ? -(errno ? errno : EIO) : 0;
}
