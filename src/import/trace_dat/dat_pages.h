/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "import/trace_dat/dat_file.h"

/*
 * The pages of one CPU, one after another, each a copy of its own.
 *
 *	plain        | page | page | ...
 *	compressed   u32 chunks | u32 packed, u32 whole, data | ...
 */
struct dat_pages {
	const char *compression; /* borrowed; NULL: plain */
	const uint8_t *at, *end; /* the rest of what is in the file */
	uint32_t chunks_left;
	uint8_t *chunk; /* owned: the decompressed chunk */
	size_t chunk_cap, chunk_len, chunk_at;
	uint8_t *page; /* owned; valid after dat_pages_next() returned 1 */
	uint32_t page_size;
};

/* Returns 0 or -ENOMEM. dat_pages_deinit() also allows a struct of zeros. */
int dat_pages_init(struct dat_pages *p, const struct dat_file *f, const struct dat_buffer *b,
		   const struct dat_cpu *cpu);
void dat_pages_deinit(struct dat_pages *p);

/* Reads the next page. Returns 1; 0 at the end; -EBADMSG if the rest is damaged; or -ENOMEM. */
int dat_pages_next(struct dat_pages *p);
