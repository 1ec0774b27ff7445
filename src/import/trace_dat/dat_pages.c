/* SPDX-License-Identifier: Apache-2.0 */
#include "import/trace_dat/dat_pages.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "import/trace_dat/decompress.h"

int dat_pages_init(struct dat_pages *p, const struct dat_file *f, const struct dat_buffer *b,
		   const struct dat_cpu *cpu)
{
	struct byte_reader r;

	*p = (struct dat_pages){.page_size = b->page_size};
	if (!cpu->size)
		return 0;
	p->page = malloc(b->page_size);
	if (!p->page)
		return -ENOMEM;
	r = byte_reader_make(f->data + cpu->offset, cpu->size);
	if (b->is_compressed) {
		/* The size does not count the number of chunks. */
		r.end += MIN(sizeof(p->chunks_left), f->len - cpu->offset - cpu->size);
		p->compression = f->compression;
		p->chunks_left = byte_reader_u32(&r);
	}
	p->at = r.at;
	p->end = r.end;
	return 0;
}

void dat_pages_deinit(struct dat_pages *p)
{
	free(p->chunk);
	free(p->page);
	*p = (struct dat_pages){0};
}

/* Decompresses the next chunk. Returns 1; 0 at the end; -EBADMSG or -ENOMEM. */
static int next_chunk(struct dat_pages *p)
{
	struct byte_reader r = {.at = p->at, .end = p->end};
	uint32_t packed, whole;
	const uint8_t *data;
	int error;

	if (!p->chunks_left)
		return 0;
	packed = byte_reader_u32(&r);
	whole = byte_reader_u32(&r);
	data = byte_reader_read(&r, packed);
	if (!data || whole > DECOMPRESS_MAX)
		return -EBADMSG;
	if (array_reserve(&p->chunk, &p->chunk_cap, (size_t)whole + 1, 1))
		return -ENOMEM;
	error = decompress_block(p->compression, data, packed, p->chunk, whole);
	p->at = r.at;
	p->chunks_left--;
	p->chunk_len = whole;
	p->chunk_at = 0;
	return error ? error : 1;
}

int dat_pages_next(struct dat_pages *p)
{
	size_t left;
	int r;

	if (!p->page)
		return 0;
	if (!p->compression) {
		left = (size_t)(p->end - p->at);
		if (left < p->page_size)
			return left ? -EBADMSG : 0;
		memcpy(p->page, p->at, p->page_size);
		p->at += p->page_size;
		return 1;
	}
	while (p->chunk_len - p->chunk_at < p->page_size) {
		if (p->chunk_at < p->chunk_len)
			return -EBADMSG;
		r = next_chunk(p);
		if (r <= 0)
			return r;
	}
	memcpy(p->page, p->chunk + p->chunk_at, p->page_size);
	p->chunk_at += p->page_size;
	return 1;
}
