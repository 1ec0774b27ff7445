/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Chunks written as a producer writes them, and packets compared with text. */

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "service/buffer/trace_buffer.h"
#include "unit/test.h"
#include "wire/pb_varint.h"

#define FROM_PREV SMB_CONTINUES_FROM_PREV
#define ON_NEXT SMB_CONTINUES_ON_NEXT
#define NEEDS_PATCHING SMB_NEEDS_PATCHING

enum { UID = 1000, PID = 4711 };

struct chunk {
	struct smb_chunk_header h;
	uint16_t producer_id;
	size_t len;
	uint8_t trail; /* what stands behind it, when the source is larger */
	uint8_t payload[65536];
};

static inline void chunk_start(struct chunk *c, uint16_t producer_id, uint16_t writer_id,
			       uint32_t chunk_id, uint8_t flags)
{
	c->h = (struct smb_chunk_header){
		.chunk_id = chunk_id, .writer_id = writer_id, .flags = flags};
	c->producer_id = producer_id;
	c->len = 0;
	c->trail = 0;
}

/* Bytes that are no fragment, or not yet. */
static inline void chunk_raw(struct chunk *c, const void *data, size_t len)
{
	assert_true(c->len + len <= sizeof(c->payload));
	memcpy(c->payload + c->len, data, len);
	c->len += len;
}

/* One fragment with its size in 4 bytes, as writers do it. */
static inline void chunk_fragment(struct chunk *c, const void *data, size_t len)
{
	uint8_t size[4];

	pb_put_varint4(size, (uint32_t)len);
	chunk_raw(c, size, sizeof(size));
	chunk_raw(c, data, len);
	c->h.count++;
}

static inline void chunk_text(struct chunk *c, const char *text)
{
	chunk_fragment(c, text, strlen(text));
}

/* n times the same character. */
static inline void chunk_fill(struct chunk *c, char ch, size_t n)
{
	char *data = test_malloc(n + 1);

	memset(data, ch, n);
	chunk_fragment(c, data, n);
	test_free(data);
}

/* The source has `room` bytes of payload, of which c->len are written. */
static inline void chunk_commit_in(struct trace_buffer *b, const struct chunk *c, size_t room,
				   bool complete)
{
	struct trace_buffer_writer w = {.producer_id = c->producer_id,
					.writer_id = c->h.writer_id,
					.uid = UID + c->producer_id,
					.pid = PID + c->producer_id};
	/* On the heap, so that a read past the end is noticed. */
	uint8_t *source = malloc(room ? room : 1);

	assert_non_null(source);
	memset(source, c->trail, room);
	memcpy(source, c->payload, c->len < room ? c->len : room);
	trace_buffer_commit(b, &w, &c->h, source, room, complete);
	free(source);
}

static inline void chunk_commit(struct trace_buffer *b, const struct chunk *c)
{
	chunk_commit_in(b, c, c->len, true);
}

static inline void chunk_scrape(struct trace_buffer *b, const struct chunk *c)
{
	chunk_commit_in(b, c, c->len, false);
}

/* A chunk of one packet, in one call. */
static inline void commit_text(struct trace_buffer *b, uint16_t producer_id, uint16_t writer_id,
			       uint32_t chunk_id, uint8_t flags, const char *text)
{
	struct chunk *c = test_malloc(sizeof(*c));

	chunk_start(c, producer_id, writer_id, chunk_id, flags);
	if (text)
		chunk_text(c, text);
	chunk_commit(b, c);
	test_free(c);
}

/* The same, of n times one character, so that the record takes 16 + 4 + n bytes, rounded up. */
static inline void commit_fill(struct trace_buffer *b, uint16_t writer_id, uint32_t chunk_id,
			       char ch, size_t n)
{
	struct chunk *c = test_malloc(sizeof(*c));

	chunk_start(c, 1, writer_id, chunk_id, 0);
	chunk_fill(c, ch, n);
	chunk_commit(b, c);
	test_free(c);
}

static inline struct trace_buffer *buffer_of(size_t size, enum trace_buffer_policy policy)
{
	struct trace_buffer *b = NULL;

	assert_int_equal(trace_buffer_new(size, policy, &b), 0);
	return b;
}

/* The packet as one string, which the caller frees with test_free. */
static inline char *packet_text(const struct trace_packet *p)
{
	char *text = test_malloc(p->size + 1);
	size_t len = 0;

	for (size_t i = 0; i < p->n_slices; i++) {
		assert_true(len + p->slices[i].iov_len <= p->size);
		memcpy(text + len, p->slices[i].iov_base, p->slices[i].iov_len);
		len += p->slices[i].iov_len;
	}
	assert_int_equal(len, p->size);
	text[len] = '\0';
	return text;
}

static inline void expect_packet(struct trace_buffer *b, uint16_t producer_id, uint16_t writer_id,
				 const char *text, uint32_t loss)
{
	struct trace_packet p;
	char *got;

	assert_true(trace_buffer_next_packet(b, NULL, &p));
	got = packet_text(&p);
	assert_string_equal(got, text);
	test_free(got);
	assert_int_equal(p.writer.producer_id, producer_id);
	assert_int_equal(p.writer.writer_id, writer_id);
	assert_int_equal(p.writer.uid, UID + producer_id);
	assert_int_equal(p.writer.pid, PID + producer_id);
	assert_int_equal(p.loss, loss ? loss | DATA_LOSS_PRESENT : 0);
}

/* A packet of n times one character. */
static inline void expect_fill(struct trace_buffer *b, uint16_t writer_id, char ch, size_t n,
			       uint32_t loss)
{
	char *text = test_malloc(n + 1);

	memset(text, ch, n);
	text[n] = '\0';
	expect_packet(b, 1, writer_id, text, loss);
	test_free(text);
}

static inline void expect_end(struct trace_buffer *b)
{
	struct trace_packet p;

	assert_false(trace_buffer_next_packet(b, NULL, &p));
}

/* Bytes of unread records and padding, by the counters. */
static inline uint64_t bytes_in_use(const struct trace_buffer *b)
{
	const struct trace_buffer_stats *st = trace_buffer_stats(b);

	return st->bytes_written - st->bytes_overwritten - st->bytes_read +
	       st->padding_bytes_written - st->padding_bytes_cleared;
}

/* ---- a buffer for each test: state is its pointer ---- */

static inline int setup_64k(void **state)
{
	*state = buffer_of(64 << 10, TRACE_BUFFER_RING);
	return 0;
}

static inline int setup_4k(void **state)
{
	*state = buffer_of(4096, TRACE_BUFFER_RING);
	return 0;
}

static inline int setup_1m(void **state)
{
	*state = buffer_of(1 << 20, TRACE_BUFFER_RING);
	return 0;
}

static inline int teardown(void **state)
{
	trace_buffer_free(*state);
	return 0;
}

/* A test with another buffer. */
#define BUFFER_TEST(name, size, policy)                                                            \
	static void name##_in(struct trace_buffer *b);                                             \
	TEST(name)                                                                                 \
	{                                                                                          \
		struct trace_buffer *b = buffer_of(size, policy);                                  \
                                                                                                   \
		name##_in(b);                                                                      \
		trace_buffer_free(b);                                                              \
	}                                                                                          \
	static void name##_in(struct trace_buffer *b)

#define IN_64K(name) TEST_STATE(name, setup_64k, teardown, struct trace_buffer *b)
#define IN_4K(name) TEST_STATE(name, setup_4k, teardown, struct trace_buffer *b)

static inline const struct trace_buffer_stats *stats_of(void **state)
{
	return trace_buffer_stats(*state);
}

/* A record of exactly `size` bytes, a multiple of 16, of one packet. */
static inline void commit_record(struct trace_buffer *b, uint16_t writer_id, uint32_t chunk_id,
				 char ch, size_t size)
{
	commit_fill(b, writer_id, chunk_id, ch, size - 16 - 4);
}

static inline void expect_record(struct trace_buffer *b, uint16_t writer_id, char ch, size_t size,
				 uint32_t loss)
{
	expect_fill(b, writer_id, ch, size - 16 - 4, loss);
}
