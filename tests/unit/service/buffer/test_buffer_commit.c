/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>

#include "unit/rng.h"
#include "unit/service/buffer_script.h"
#include "unit/test.h"

/* Chunks and patches that no correct writer sends. */

static struct chunk c;

/* ---- ids, counts and flags that no writer sends ---- */

SCRIPT(ids_that_are_none, 64 << 10,
       "put 1.0#0 'no writer' 1.32768#0 'no such writer' 1.65535#0 'no such writer'\n"
       "count abi_violations 3\n"
       "put 1.32767#0 'the last writer' 65535.1#0 'the last producer'\n"
       "read 1.32767 'the last writer' 65535.1 'the last producer' end")

SCRIPT(flags_on_chunks_without_fragments, 64 << 10,
       "put 1.1#0<>! 1.1#1 'next'\n"
       "read 1.1 'next' end")

/* Ids so far apart that their order is ambiguous. */
SCRIPT(ids_half_the_way_round, 64 << 10,
       "put 1.1#0 'a' 1.1#0x7fffffff 'b' 1.1#0xbfffffff 'refused'\n"
       "count abi_violations 1\n"
       "read 1.1 'a' 1.1 'b' -gap end\n"
       "put 1.1#0xbfffffff 'c'\n"
       "read 1.1 'c' -gap\n"
       /* As far as can be before it: past. */
       "put 1.1#0x3fffffff 'refused'\n"
       "read end")

/* Without a limit each one would cost more than the one before. */
BUFFER_TEST(late_chunks_have_a_limit, 32 << 20, TRACE_BUFFER_RING)
{
	uint32_t limit = SMB_MAX_SIZE / SMB_MIN_PAGE / 2;
	struct trace_packet p;
	uint32_t n = 0;

	for (uint32_t i = 0; i < 2 * limit + 2; i++)
		commit_text(b, 1, 1, 10 + 2 * i, 0, "x");
	commit_text(b, 1, 1, 11 + 2 * limit, 0, "too far from both ends");
	assert_int_equal(trace_buffer_stats(b)->abi_violations, 1);
	commit_text(b, 1, 1, 9 + 2 * limit, 0, "just near enough to the first");
	commit_text(b, 1, 1, 15 + 2 * limit, 0, "and to the last");
	assert_int_equal(trace_buffer_stats(b)->abi_violations, 1);
	assert_int_equal(trace_buffer_stats(b)->chunks_written, 2 * limit + 4);
	trace_buffer_begin_read(b);
	while (trace_buffer_next_packet(b, NULL, &p))
		n++;
	assert_int_equal(n, 2 * limit + 4);
}

/* Nor may the rest of a chunk that was scraped long ago. */
BUFFER_TEST(the_rest_of_a_chunk_has_the_same_limit, 32 << 20, TRACE_BUFFER_RING)
{
	uint32_t limit = SMB_MAX_SIZE / SMB_MIN_PAGE / 2;

	for (uint32_t i = 0; i <= limit; i++)
		commit_text(b, 1, 1, i, 0, "x");
	chunk_start(&c, 1, 1, limit + 1, 0);
	chunk_text(&c, "one");
	chunk_text(&c, "two");
	chunk_scrape(b, &c);
	for (uint32_t i = 0; i <= limit; i++)
		commit_text(b, 1, 1, limit + 2 + i, 0, "x");
	chunk_commit(b, &c);
	assert_int_equal(trace_buffer_stats(b)->abi_violations, 1);
	assert_int_equal(trace_buffer_stats(b)->chunks_rewritten, 0);
}

/* Each of them goes in front of all others, which is no more work than behind them. */
BUFFER_TEST(descending_ids_have_no_limit, 32 << 20, TRACE_BUFFER_RING)
{
	enum { CHUNKS = 200000 };

	for (uint32_t i = 0; i < CHUNKS; i++)
		commit_text(b, 1, 1, CHUNKS - i, 0, "x");
	assert_int_equal(trace_buffer_stats(b)->abi_violations, 0);
	assert_int_equal(trace_buffer_stats(b)->chunks_written, CHUNKS);
	trace_buffer_begin_read(b);
	for (uint32_t i = 0; i < CHUNKS; i++)
		expect_packet(b, 1, 1, "x", 0);
	expect_end(b);
}

/* ---- chunks that come again ---- */

SCRIPT(other_contents_do_not_replace_what_was_taken, 64 << 10,
       "put 1.1#0 'first' 1.1#0 'other'\n"
       "read 1.1 'first' end")

SCRIPT(shorter_longer_and_flagless_repetitions, 64 << 10,
       "put 1.1#0> 'one' 'two' 1.1#0+ /1\n"
       "count abi_violations 1\n"
       "put 1.1#0+- /2\n"
       "count abi_violations 2\n"
       /* A complete chunk is complete. */
       "put 1.1#0+> 'three'\n"
       "count abi_violations 3\n"
       "scrape 1.1#0+\n"
       "count abi_violations 3\n"
       "read 1.1 'one' end\n"
       "put 1.1#1< '!'\n"
       "read 1.1 'two!' end")

/* ---- scraped chunks ---- */

SCRIPT(a_scraped_chunk_ends_without_growing, 64 << 10,
       "scrape 1.1#0 'one' 'unsure'\n"
       "put 1.1#1 'two'\n"
       "read 1.1 'one' end\n"
       "put 1.1#0+ /1\n"
       "read 1.1 'two' end\n"
       /* The same with all of it unread. */
       "scrape 1.1#2 'three' 'unsure'\n"
       "put 1.1#2+ /1 1.1#3 'four'\n"
       "read 1.1 'three' 1.1 'four'")

SCRIPT(a_scraped_chunk_that_shrinks_or_loses_flags, 64 << 10,
       "scrape 1.1#0< 'orphan' 'one' 'two' 1.1#0+ /2\n"
       "count abi_violations 1\n"
       "put 1.1#0+ /1\n"
       "count abi_violations 2\n"
       "put 1.1#0+- /3\n"
       "count abi_violations 3\n"
       "put 1.1#0+< [5]\n"
       "count abi_violations 4\n"
       "put 1.1#0+\n"
       "read 1.1 'one' -orphan 1.1 'two' end")

TEST_WITH(a_scraped_chunk_that_changes_keeps_what_was_taken, setup_64k, teardown)
{
	struct trace_buffer *b = *state;

	chunk_start(&c, 1, 1, 0, 0);
	chunk_text(&c, "one");
	chunk_text(&c, "two");
	chunk_scrape(b, &c);
	memset(c.payload, 0xff, 7);
	chunk_commit(b, &c);
	trace_buffer_begin_read(b);
	expect_packet(b, 1, 1, "one", 0);
	expect_packet(b, 1, 1, "two", 0);
	assert_int_equal(stats_of(state)->abi_violations, 0);
}

SCRIPT(a_scraped_chunk_that_breaks_the_format_is_over, 64 << 10,
       "scrape 1.1#0 'one' raw %ffffff0f /3\n"
       "count abi_violations 1\n"
       "put 1.1#0+ /4 1.1#1 'next'\n"
       "read 1.1 'one' 1.1 'next' -corrupted end")

SCRIPT(scraped_overwritten_and_taken_up_again, 4096,
       "scrape 1.1#0 'one' 'two'\n"
       "put 1.2#0 x*1000 1.2#1 x*1000 1.2#2 x*1000 1.2#3 x*1000\n"
       "count chunks_overwritten 2\n"
       "put 1.1#0+ 'three'\n"
       "count chunks_relocated 1\n"
       "read 1.2 x*1000 -overwrite 1.2 x*1000 1.2 x*1000 1.1 'two' -overwrite\n"
       "next 1.1 'three' end")

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

/* The fragment without a valid size ends the chunk, so the packet behind it is lost. */
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
       /* Nothing else is lost by it. */
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

/* ---- large rings ---- */

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

/* Bytes of such a ring are not in a cache when they are overwritten. */
BUFFER_TEST(a_large_ring_that_goes_round, 8 << 20, TRACE_BUFFER_RING)
{
	const struct trace_buffer_stats *st = trace_buffer_stats(b);
	struct mark last = {.chunk_id = UINT32_MAX};
	struct trace_packet p;
	uint64_t rng = 11;

	for (uint32_t id = 0; id < 12000; id++) {
		commit_marked(b, &rng, id);
		if (rng_below(&rng, 8) == 0)
			trace_buffer_begin_read(b);
		if (rng_below(&rng, 2) && trace_buffer_next_packet(b, NULL, &p))
			check_marked(&p, &last);
	}
	assert_int_equal(st->chunks_written, 12000);
	assert_true(st->write_wrap_count > 3 && st->chunks_overwritten > 3000);
	assert_true(st->trace_writer_packet_loss > 50 && st->abi_violations > 50);
	trace_buffer_begin_read(b);
	while (trace_buffer_next_packet(b, NULL, &p))
		check_marked(&p, &last);
	assert_int_equal(st->chunks_written, st->chunks_read + st->chunks_overwritten);
}

/* ---- patches ---- */

SCRIPT(several_patches_in_several_requests, 64 << 10,
       "put 1.1#0! '............'\n"
       "patch 1.1#0 @4 'abcd' @12 'ijkl' more\n"
       "read end\n"
       "patch 1.1#0 @8 'efgh'\n"
       "read 1.1 'abcdefghijkl'\n"
       "count patches_succeeded 3 patches_failed 0")

SCRIPT(patches_over_a_packet_of_many_chunks, 64 << 10,
       "put 1.1#0>! 'aaaa' 1.1#1<>! 'bbbb' 1.1#2< 'cccc'\n"
       "read end\n"
       "patch 1.1#0 @4 'AAAA'\n"
       "read end\n"
       "patch 1.1#1 @4 'BBBB'\n"
       "read 1.1 'AAAABBBBcccc' end")

/* The patch is for the packet that goes on; the one that ends in the chunk is whole. */
SCRIPT(the_end_of_a_packet_in_a_chunk_that_needs_patching, 64 << 10,
       "put 1.1#0> 'one ' 1.1#1<>! 'end' '****' 1.1#2< '!'\n"
       "read 1.1 'one end' end\n"
       "patch 1.1#1 @11 'next'\n"
       "read 1.1 'next!' end")

SCRIPT(the_first_and_the_last_place, 64 << 10,
       "put 1.1#0! '........'\n"
       "patch 1.1#0 @8 'last' more\n"
       "patch 1.1#0 @0 %88808000 more\n"
       "count patches_succeeded 2 patches_failed 0\n"
       "patch 1.1#0 @9 'over' more\n"
       "patch 1.1#0 @12 'over' more\n"
       "patch 1.1#0 @4294967295 'over' more\n"
       "patch 1.1#0 @4294967292 'over'\n"
       "count patches_succeeded 2 patches_failed 4\n"
       "read end\n"
       /* a patch that failed does not free it */
       "patch 1.1#0 @4 'good'\n"
       "read 1.1 'goodlast'")

SCRIPT(in_a_chunk_that_is_too_short, 64 << 10,
       "put 1.1#0! raw %026162 /1\n"
       "patch 1.1#0 @0 'xxxx' more\n"
       "patch 1.1#0 @1 'xxxx' more\n"
       "patch 1.1#0 @2 'xxxx' more\n"
       "patch 1.1#0 @3 'xxxx' more\n"
       "patch 1.1#0 @4 'xxxx' more\n"
       "patch 1.1#0 @5 'xxxx' more\n"
       "patch 1.1#0 @6 'xxxx' more\n"
       "patch 1.1#0 @7 'xxxx' more\n"
       "count patches_succeeded 0 patches_failed 8\n"
       "put 1.1#1\n"
       "patch 1.1#1 @0 'xxxx'\n"
       "count patches_succeeded 0 patches_failed 9")

SCRIPT(the_rest_of_a_failed_request_is_given_up, 64 << 10,
       "put 1.1#0! '........'\n"
       "patch 1.1#0 @4 'abcd' @100 'wxyz' @8 'efgh'\n"
       "count patches_succeeded 0 patches_failed 1\n"
       "read end\n"
       "patch 1.1#0\n"
       "read 1.1 'abcd....'\n"
       "count patches_succeeded 0 patches_failed 1")

SCRIPT(chunks_that_are_not_there, 64 << 10,
       "patch 1.1#0 @4 'xxxx'\n"
       "put 1.1#5 'original' 1.1#7 'original'\n"
       "patch 1.1#4 @4 'xxxx'\n"
       "patch 1.1#6 @4 'xxxx'\n"
       "patch 1.1#8 @4 'xxxx'\n"
       "patch 1.1#0x80000005 @4 'xxxx'\n"
       "count patches_succeeded 0 patches_failed 5\n"
       "read 1.1 'original' 1.1 'original' -gap\n"
       "patch 1.1#5 @4 'xxxx'\n"
       "patch 1.1#7 @4 'xxxx'\n"
       "count patches_succeeded 0 patches_failed 7")

SCRIPT(only_ones_own_data, 64 << 10,
       "put 1.1#0 '1.1.' 1.2#0 '1.2.' 2.1#0 '2.1.'\n"
       "patch 2.2#0 @4 'xxxx'\n"
       "patch 0.1#0 @4 'xxxx'\n"
       "patch 1.2#0 @4 'xxxx'\n"
       "count patches_succeeded 1 patches_failed 2\n"
       "read 1.1 '1.1.' 1.2 'xxxx' 2.1 '2.1.'")

/* Offsets count from the start of the chunk, though its records lie apart. */
SCRIPT(in_a_chunk_that_was_scraped, 64 << 10,
       "scrape 1.1#0>! '....' '....'\n"
       "put 1.2#0 'other' 1.1#0+ '....'\n"
       "patch 1.1#0 @4 'one ' more\n"
       "patch 1.1#0 @12 'two ' more\n"
       "patch 1.1#0 @6 'over' more\n"
       /* lies in both records */
       "count patches_succeeded 2 patches_failed 1\n"
       "read 1.1 'one ' 1.2 'other' 1.1 'two ' end\n"
       "patch 1.1#0 @4 'gone' more\n"
       "count patches_succeeded 2 patches_failed 2\n"
       "patch 1.1#0 @20 'four'\n"
       "put 1.1#1< '!'\n"
       "read 1.1 'four!' end")

SCRIPT(a_patch_that_breaks_a_size, 64 << 10,
       "put 1.1#0 'good' 'bad!' 'also lost' 1.1#1 'next'\n"
       "patch 1.1#0 @8 %ffffff0f\n"
       "read 1.1 'good' 1.1 'next' -corrupted end\n"
       "count abi_violations 1 bytes_in_use 0")

SCRIPT(a_patch_that_never_ends_a_size, 64 << 10,
       "put 1.1#0 ''\n"
       "patch 1.1#0 @0 %ffffffff\n"
       "put 1.1#1 'next'\n"
       "read 1.1 'next' -corrupted end")

SCRIPT(a_patch_that_cuts_a_packet_in_pieces, 64 << 10,
       "put 1.1#0 '0123456789'\n"
       "patch 1.1#0 @0 %02010205\n"
       "read 1.1 %0102 1.1 '01234'\n"
       /* "5" is 0x35: more than is left. */
       "next end\n"
       "count abi_violations 1")

/* What was found to be the middle of a packet is no longer that, when it is joined. */
SCRIPT(a_patch_that_breaks_a_packet_in_its_middle, 64 << 10,
       "put 1.1#0> 'start' 1.1#1<> 'middle'\n"
       "read end\n"
       "patch 1.1#1 @0 %ffffffff\n"
       "put 1.1#2< 'end' 1.1#3 'next'\n"
       "read 1.1 'next' -broken_chain -corrupted -orphan end")

/* A record may not lead to the bytes of the one after it. */
SCRIPT(a_patch_cannot_reach_other_records, 64 << 10,
       "put 1.1#0 'x' 2.1#0 'secret of another producer'\n"
       "patch 1.1#0 @1 %80807f7f\n"
       "read 2.1 'secret of another producer' end")
