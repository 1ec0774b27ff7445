/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>

#include "unit/test.h"
#include "unit/rng.h"
#include "service/buffer/buffer_store.h"
#include "unit/service/buffer_script.h"

/* The copy of a chunk, and the check of the copy. */

static struct chunk c;

/* ---- honest chunks ---- */

TEST_WITH(what_trails_in_a_chunk_takes_no_space, setup_4k, teardown)
{
	struct trace_buffer *b = *state;

	for (uint32_t i = 0; i < 100; i++) {
		chunk_start(&c, 1, 1, i, 0);
		chunk_text(&c, "small");
		c.trail = 0xff;
		chunk_commit_in(b, &c, 4000, true);
	}
	assert_int_equal(stats_of(state)->bytes_written, 100 * 32);
	assert_int_equal(stats_of(state)->chunks_overwritten, 4096 / 32 < 100 ? 1 : 0);
	trace_buffer_begin_read(b);
	for (uint32_t i = 0; i < 100; i++)
		expect_packet(b, 1, 1, "small", 0);
	expect_end(b);
}

SCRIPT(a_chunk_may_be_larger_than_the_ring_if_its_packets_are_not, 4096,
       "put 1.1#0 x*4076 [32760] 1.1#1 y*4076 [65535]\n"
       "read 1.1 y*4076 -overwrite end\n"
       "count abi_violations 0")

IN_64K(many_small_packets)
{
	chunk_start(&c, 1, 1, 0, 0);
	for (unsigned i = 0; i < SMB_MAX_PACKETS; i++) {
		uint8_t packet[2] = {1, (uint8_t)('a' + i % 26)};

		chunk_raw(&c, packet, 2);
		c.h.count++;
	}
	chunk_commit_in(b, &c, 4080, true);
	trace_buffer_begin_read(b);
	for (unsigned i = 0; i < SMB_MAX_PACKETS; i++)
		expect_fill(b, 1, (char)('a' + i % 26), 1, 0);
	expect_end(b);
}

/* ---- hostile chunks ---- */

SCRIPT(no_payload, 64 << 10,
       "put 1.1#0 /1 [0]\n"
       "count abi_violations 1\n"
       "read end\n"
       "put 1.1#1 'next'\n"
       "next 1.1 'next' -corrupted")

SCRIPT(more_packets_than_fit, 64 << 10,
       "put 1.1#0 'one' 'two' /1023\n"
       "count abi_violations 1\n"
       "read 1.1 'one' 1.1 'two' end")

/* Packets of zeroes behind the ones that are there are empty fragments, and no offence. */
SCRIPT(more_packets_than_were_written, 64 << 10,
       "put 1.1#0 'one' /3 [100]\n"
       "read 1.1 'one' end\n"
       "count abi_violations 0")

/* A packet behind it, since a fragment that cannot be told ends the chunk. */
static void bad_size(void **state, const void *size, size_t len)
{
	uint64_t violations = stats_of(state)->abi_violations;
	struct trace_buffer *b = *state;
	static uint32_t id;

	chunk_start(&c, 1, 1, id++, 0);
	chunk_text(&c, "good");
	chunk_raw(&c, size, len);
	chunk_raw(&c, "some bytes", 10);
	c.h.count++;
	chunk_text(&c, "unreachable");
	chunk_commit(b, &c);
	assert_int_equal(stats_of(state)->abi_violations, violations + 1);
	commit_text(b, 1, 1, id++, 0, "next");
	trace_buffer_begin_read(b);
	expect_packet(b, 1, 1, "good", 0);
	expect_packet(b, 1, 1, "next", DATA_LOSS_CHUNK_CORRUPTED);
	expect_end(b);
	/* It was seen at once, and not stored to be seen again. */
	assert_int_equal(stats_of(state)->abi_violations, violations + 1);
	assert_int_equal(bytes_in_use(b), 0);
}

TEST_WITH(sizes_that_lie, setup_64k, teardown)
{
	/* One more than there is: "some bytes", a size of 4, "unreachable". */
	bad_size(state, "\x1a", 1);
	bad_size(state, "\xff\xff\x7f", 3);
	/* The largest that writers can write, less one: not the mark of a dropped packet. */
	bad_size(state, "\xfe\xff\xff\x7f", 4);
	bad_size(state, "\xff\xff\xff\xff\x0f", 5);
	bad_size(state, "\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 9);
	bad_size(state, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10);
	/* 2^64 and above, which must not come round to a small number. */
	bad_size(state, "\x84\x80\x80\x80\x80\x80\x80\x80\x80\x02", 10);
	bad_size(state, "\x84\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 11);
	bad_size(state, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 16);
}

TEST_WITH(a_size_that_goes_on_past_the_end, setup_64k, teardown)
{
	struct trace_buffer *b = *state;

	for (unsigned n = 1; n < 10; n++) {
		chunk_start(&c, 1, 1, n, 0);
		chunk_text(&c, "good");
		chunk_raw(&c, "\x80\x80\x80\x80\x80\x80\x80\x80\x80", n);
		c.h.count++;
		chunk_commit(b, &c);
		trace_buffer_begin_read(b);
		expect_packet(b, 1, 1, "good", n > 1 ? DATA_LOSS_CHUNK_CORRUPTED : 0);
		expect_end(b);
	}
	assert_int_equal(stats_of(state)->abi_violations, 9);
}

SCRIPT(a_size_of_ten_bytes_may_be_honest, 64 << 10,
       "put 1.1#0 raw %84808080808080808000666f7572 'next' /2\n"
       "read 1.1 'four' 1.1 'next'\n"
       "count abi_violations 0")

SCRIPT(a_fragment_larger_than_the_ring, 4096,
       "put 1.2#0 'other' 1.1#0 x*4077\n"
       "count abi_violations 1 chunks_written 1\n"
       "put 1.1#1 x*60000\n"
       "count abi_violations 2\n"
       "put 1.1#2 'fits'\n"
       /* And nobody lost anything by it. */
       "read 1.2 'other' 1.1 'fits' end")

/* A producer that writes on while its chunk is taken. volatile: it is meant. */
struct scribbler {
	volatile uint8_t *payload;
	size_t len;
	volatile bool stop;
};

static void *scribble(void *arg)
{
	struct scribbler *s = arg;
	uint64_t rng = 5;

	while (!s->stop) {
		size_t at = rng_below(&rng, (uint32_t)s->len - 4);
		uint8_t size[4];

		pb_put_varint4(size, rng_below(&rng, 200));
		for (size_t i = 0; i < 4; i++)
			s->payload[at + i] = size[i];
		s->payload[0] = (uint8_t)rng_below(&rng, 256);
	}
	return NULL;
}

TEST_WITH(a_source_that_changes_while_it_is_copied, setup_64k, teardown)
{
	const struct trace_buffer_stats *st = stats_of(state);
	struct trace_buffer_writer w = {.producer_id = 1, .writer_id = 1};
	struct smb_chunk_header h = {.writer_id = 1, .count = 300};
	struct scribbler s = {.payload = calloc(1, 16368), .len = 16368};
	struct trace_buffer *b = *state;
	struct trace_packet p;
	uint64_t violations;
	pthread_t thread;

#ifdef __SANITIZE_THREAD__
	skip(); /* the race is what this is about */
#endif
	assert_non_null(s.payload);
	assert_int_equal(pthread_create(&thread, NULL, scribble, &s), 0);
	for (h.chunk_id = 0; h.chunk_id < 3000; h.chunk_id++) {
		h.flags = h.chunk_id & SMB_CHUNK_FLAGS & ~NEEDS_PATCHING;
		trace_buffer_commit(b, &w, &h, (const void *)s.payload, s.len, true);
		if (h.chunk_id % 5)
			continue;
		violations = st->abi_violations;
		trace_buffer_begin_read(b);
		while (trace_buffer_next_packet(b, NULL, &p))
			assert_true(p.size > 0 && p.n_slices > 0);
		/* What was stored is what was checked: nothing new is found in it. */
		assert_int_equal(st->abi_violations, violations);
	}
	s.stop = true;
	assert_int_equal(pthread_join(thread, NULL), 0);
	trace_buffer_end_writer(b, 1, 1);
	trace_buffer_begin_read(b);
	while (trace_buffer_next_packet(b, NULL, &p))
		;
	assert_int_equal(st->chunks_written, 3000);
	assert_int_equal(st->chunks_read + st->chunks_overwritten, 3000);
	assert_int_equal(st->bytes_written, st->bytes_read + st->bytes_overwritten);
	free((void *)s.payload);
}

/* ---- through the window, as in a ring that is large and goes round ---- */

/* Which one it is, and how much of it there is, in its first bytes. */
struct mark {
	uint32_t chunk_id, index;
	uint16_t size;
};

enum { MAX_MARKED = 9000 };

/* A fragment whose bytes are known by where they are. */
static void put_marked(uint64_t *rng, uint32_t index)
{
	static uint8_t data[MAX_MARKED];
	uint32_t spread = rng_below(rng, 4) ? 100 : MAX_MARKED - sizeof(struct mark);
	struct mark m = {c.h.chunk_id, index, (uint16_t)(sizeof(m) + rng_below(rng, spread))};

	for (size_t i = 0; i < m.size; i++)
		data[i] = (uint8_t)(m.chunk_id + index + i * 7);
	memcpy(data, &m, sizeof(m));
	chunk_fragment(&c, data, m.size);
}

static void check_marked(const struct trace_packet *p, struct mark *last)
{
	uint8_t *data = (uint8_t *)packet_text(p);
	struct mark m;

	assert_true(p->size >= sizeof(m));
	memcpy(&m, data, sizeof(m));
	assert_int_equal(m.size, p->size);
	for (size_t i = sizeof(m); i < m.size; i++)
		assert_int_equal(data[i], (uint8_t)(m.chunk_id + m.index + i * 7));
	if (p->loss)
		assert_true(m.chunk_id > last->chunk_id);
	else if (m.index)
		assert_true(m.chunk_id == last->chunk_id && m.index == last->index + 1);
	else
		assert_true(m.chunk_id == last->chunk_id + 1);
	*last = m;
	test_free(data);
}

/* Some end in a fragment that the chunk is too short for, or that the writer gave up. */
static void commit_marked(struct trace_buffer *b, uint64_t *rng, uint32_t chunk_id)
{
	static const uint8_t drop[] = {0xff, 0xff, 0xff, 0x7f};
	uint32_t n = 1 + rng_below(rng, 6), end = rng_below(rng, 20);

	chunk_start(&c, 1, 1, chunk_id, 0);
	for (uint32_t i = 0; i < n; i++)
		put_marked(rng, i);
	if (end == 0)
		chunk_raw(&c, drop, sizeof(drop));
	c.h.count = (uint16_t)(n + (end <= 1));
	chunk_commit_in(b, &c, c.len + (end > 1 ? rng_below(rng, 5000) : 0), true);
}

TEST_WITH(a_large_ring_that_goes_round, setup_64k, teardown)
{
	const struct trace_buffer_stats *st = stats_of(state);
	struct mark last = {.chunk_id = UINT32_MAX};
	struct trace_buffer *b = *state;
	struct trace_packet p;
	unsigned n_far = 0;
	uint64_t rng = 11;

	b->ring.is_large = true;
	for (uint32_t id = 0; id < 5000; id++) {
		n_far += tb_ring_is_uncached(&b->ring);
		commit_marked(b, &rng, id);
		if (rng_below(&rng, 8) == 0)
			trace_buffer_begin_read(b);
		for (uint32_t n = rng_below(&rng, 4); n > 0; n--)
			if (trace_buffer_next_packet(b, NULL, &p))
				check_marked(&p, &last);
	}
	assert_true(n_far > 1000);
	assert_int_equal(st->chunks_written, 5000);
	assert_true(st->write_wrap_count > 100 && st->chunks_overwritten > 100);
	assert_true(st->trace_writer_packet_loss > 50 && st->abi_violations > 50);
	trace_buffer_begin_read(b);
	while (trace_buffer_next_packet(b, NULL, &p))
		check_marked(&p, &last);
	assert_int_equal(st->chunks_written, st->chunks_read + st->chunks_overwritten);
}
