/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "ftrace/format/ring_page.h"

/* Writes ring pages by hand: a 64-bit kernel's, of 4096 bytes. */
#define PAGE_MAKER_SIZE 4096
#define PAGE_LOST (1u << 31)
#define PAGE_LOST_STORED (1u << 30)

static const struct ring_page_layout page_maker_layout = {
	.size = PAGE_MAKER_SIZE,
	.time_offset = 0,
	.commit_offset = 8,
	.commit_size = 8,
	.data_offset = 16,
};

struct page_maker {
	uint8_t bytes[PAGE_MAKER_SIZE];
	uint32_t at; /* past the last record */
};

static inline void page_put(struct page_maker *m, const void *data, size_t len)
{
	assert(m->at + len <= PAGE_MAKER_SIZE);
	memcpy(m->bytes + m->at, data, len);
	m->at += (uint32_t)len;
}

static inline void page_put32(struct page_maker *m, uint32_t v)
{
	page_put(m, &v, sizeof(v));
}

static inline void page_begin(struct page_maker *m, uint64_t time)
{
	memset(m, 0, sizeof(*m));
	page_put(m, &time, sizeof(time));
	m->at = page_maker_layout.data_offset;
}

static inline void page_head(struct page_maker *m, uint32_t type_len, uint32_t delta)
{
	page_put32(m, delta << 5 | type_len);
}

/* A record of len bytes, as the kernel would store it: short, or with a length of its own. */
static inline void ring_record(struct page_maker *m, uint32_t delta, const void *payload,
			       uint32_t len)
{
	static const uint8_t zeros[4];
	uint32_t pad = (4 - len % 4) % 4, whole = len + pad;

	if (whole && whole <= 4 * RING_PAGE_TYPE_MAX) {
		page_head(m, whole / 4, delta);
	} else {
		page_head(m, 0, delta);
		page_put32(m, whole + 4);
	}
	page_put(m, payload, len);
	page_put(m, zeros, pad);
}

static inline void page_padding(struct page_maker *m, uint32_t delta, uint32_t len)
{
	page_head(m, 29, delta);
	page_put32(m, len);
	m->at += len - 4;
}

static inline void page_time_extend(struct page_maker *m, uint64_t delta)
{
	page_head(m, 30, delta & ((1u << 27) - 1));
	page_put32(m, (uint32_t)(delta >> 27));
}

static inline void page_time_stamp(struct page_maker *m, uint64_t time)
{
	page_head(m, 31, time & ((1u << 27) - 1));
	page_put32(m, (uint32_t)(time >> 27 & 0xffffffff));
}

/* Sets the length, and flags: PAGE_LOST, PAGE_LOST_STORED with the count behind the records. */
static inline void page_end(struct page_maker *m, uint32_t flags, uint64_t lost)
{
	uint64_t commit = (m->at - page_maker_layout.data_offset) | flags;

	if (flags & PAGE_LOST)
		commit |= 0xffffffff00000000; /* the kernel adds a negative number */
	memcpy(m->bytes + page_maker_layout.commit_offset, &commit, sizeof(commit));
	if (flags & PAGE_LOST_STORED)
		memcpy(m->bytes + m->at, &lost, sizeof(lost));
}
