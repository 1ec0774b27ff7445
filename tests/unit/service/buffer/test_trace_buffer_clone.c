/* SPDX-License-Identifier: Apache-2.0 */

#include "unit/test.h"
#include "unit/rng.h"
#include "unit/service/trace_buffer_helper.h"

/* Everything that can be read from both comes out the same, byte by byte; the loss of each packet
 * too. */
static unsigned assert_read_alike(struct trace_buffer *a, struct trace_buffer *b)
{
	struct trace_packet p, q;
	unsigned n = 0;

	trace_buffer_begin_read(a);
	trace_buffer_begin_read(b);
	while (trace_buffer_next_packet(a, NULL, &p)) {
		assert_true(trace_buffer_next_packet(b, NULL, &q));
		assert_int_equal(p.size, q.size);
		assert_int_equal(p.loss, q.loss);
		assert_int_equal(p.n_slices, q.n_slices);
		assert_memory_equal(&p.writer, &q.writer, sizeof(p.writer));
		for (size_t i = 0; i < p.n_slices; i++) {
			assert_int_equal(p.slices[i].iov_len, q.slices[i].iov_len);
			assert_ptr_not_equal(p.slices[i].iov_base, q.slices[i].iov_base);
			assert_memory_equal(p.slices[i].iov_base, q.slices[i].iov_base,
					    p.slices[i].iov_len);
		}
		n++;
	}
	assert_false(trace_buffer_next_packet(b, NULL, &q));
	return n;
}

static struct trace_buffer *clone_of(struct trace_buffer *b)
{
	struct trace_buffer *clone;

	assert_int_equal(trace_buffer_new_like(b, &clone), 0);
	assert_int_equal(trace_buffer_clone(b, clone), 0);
	assert_int_equal(trace_buffer_size(clone), trace_buffer_size(b));
	return clone;
}

TEST(empty_one)
{
	struct trace_buffer *b = buffer_of(4096, TRACE_BUFFER_RING), *clone = clone_of(b);

	assert_int_equal(assert_read_alike(b, clone), 0);
	commit_text(clone, 1, 1, 0, 0, "x");
	assert_int_equal(trace_buffer_stats(b)->chunks_written, 0);
	trace_buffer_free(b);
	trace_buffer_free(clone);
}

TEST(what_was_read_is_not_in_it)
{
	struct trace_buffer *b = buffer_of(4096, TRACE_BUFFER_RING), *clone;
	struct trace_packet p;

	commit_text(b, 1, 1, 0, 0, "one");
	commit_text(b, 1, 2, 0, 0, "two");
	commit_text(b, 1, 1, 1, 0, "three");
	trace_buffer_begin_read(b);
	assert_true(trace_buffer_next_packet(b, NULL, &p));
	clone = clone_of(b);
	assert_int_equal(trace_buffer_stats(clone)->bytes_read, trace_buffer_stats(b)->bytes_read);
	assert_int_equal(assert_read_alike(b, clone), 2);
	trace_buffer_free(b);
	trace_buffer_free(clone);
}

TEST(it_outlives_the_source)
{
	struct trace_buffer *b = buffer_of(4096, TRACE_BUFFER_RING), *clone;
	struct trace_packet p;

	commit_text(b, 1, 1, 0, 0, "one");
	clone = clone_of(b);
	commit_text(b, 1, 1, 1, 0, "later");
	trace_buffer_free(b);
	trace_buffer_begin_read(clone);
	assert_true(trace_buffer_next_packet(clone, NULL, &p));
	assert_int_equal(p.size, 3);
	assert_memory_equal(p.slices[0].iov_base, "one", 3);
	assert_false(trace_buffer_next_packet(clone, NULL, &p));
	trace_buffer_free(clone);
}

/* The packet is whole in neither; then its end comes to both. */
TEST(fragments_and_patches_go_on_in_both)
{
	static const struct trace_buffer_patch patch = {.offset = 4, .data = {'P', 'P', 'P', 'P'}};
	struct trace_buffer *b = buffer_of(4096, TRACE_BUFFER_RING), *clone;

	commit_text(b, 1, 1, 0, ON_NEXT, "begin");
	commit_text(b, 1, 2, 0, NEEDS_PATCHING, "needs a patch");
	clone = clone_of(b);
	assert_int_equal(assert_read_alike(b, clone), 0);
	for (int i = 0; i < 2; i++) {
		commit_text(i ? clone : b, 1, 1, 1, FROM_PREV, "end");
		trace_buffer_apply_patches(i ? clone : b, 1, 2, 0, &patch, 1, false);
	}
	assert_int_equal(assert_read_alike(b, clone), 2);
	trace_buffer_free(b);
	trace_buffer_free(clone);
}

/* In bytes, of this process. */
static size_t resident(void)
{
	unsigned long pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	assert_non_null(f);
	assert_int_equal(fscanf(f, "%*u %lu", &pages), 1);
	fclose(f);
	return pages * (size_t)sysconf(_SC_PAGESIZE);
}

TEST(memory_that_was_not_written_is_not_cloned)
{
	struct trace_buffer *b = buffer_of(1 << 30, TRACE_BUFFER_RING), *clone;
	size_t before;

	for (uint32_t i = 0; i < 100; i++)
		commit_fill(b, 1, i, 'x', 4000);
	before = resident();
	clone = clone_of(b);
	assert_true(resident() - before < 16 << 20);
	assert_int_equal(assert_read_alike(b, clone), 100);
	trace_buffer_free(b);
	trace_buffer_free(clone);
}

TEST(refusal_is_cloned)
{
	struct trace_buffer *b = buffer_of(4096, TRACE_BUFFER_DISCARD), *clone, *fresh;
	char text[1000];

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	for (uint32_t i = 0; i < 6; i++)
		commit_text(b, 1, 1, i, 0, text);
	assert_true(trace_buffer_stats(b)->chunks_discarded > 0);
	clone = clone_of(b);
	commit_text(clone, 1, 1, 9, 0, "small");
	assert_int_equal(trace_buffer_stats(clone)->chunks_discarded,
			 trace_buffer_stats(b)->chunks_discarded + 1);
	assert_int_equal(trace_buffer_new_like(b, &fresh), 0);
	assert_int_equal(trace_buffer_size(fresh), 4096);
	assert_int_equal(trace_buffer_stats(fresh)->chunks_written, 0);
	for (uint32_t i = 0; i < 6; i++)
		commit_text(fresh, 1, 1, i, 0, text);
	assert_true(trace_buffer_stats(fresh)->chunks_discarded > 0);
	trace_buffer_free(b);
	trace_buffer_free(clone);
	trace_buffer_free(fresh);
}

/* One random chunk, into each that is given. */
static void commit_random(uint64_t *r, struct trace_buffer *a, struct trace_buffer *b,
			  uint32_t *ids)
{
	uint32_t writer = 1 + rng_below(r, 40), n = 1 + rng_below(r, 4);
	struct chunk *c = test_malloc(sizeof(*c));
	bool complete = rng_below(r, 8) != 0;

	ids[writer] += rng_below(r, 20) == 0;
	chunk_start(c, 1, (uint16_t)writer, ids[writer]++,
		    (rng_below(r, 4) ? 0 : ON_NEXT) | (rng_below(r, 4) ? 0 : FROM_PREV));
	while (n--)
		chunk_fill(c, (char)('a' + rng_below(r, 26)), 1 + rng_below(r, 300));
	chunk_commit_in(a, c, c->len, complete);
	if (b)
		chunk_commit_in(b, c, c->len, complete);
	test_free(c);
}

/* Commits, reads, and ends writers. */
static void live(uint64_t *r, struct trace_buffer *b, uint32_t *ids)
{
	struct trace_packet p;

	for (uint32_t i = rng_below(r, 200); i > 0; i--) {
		commit_random(r, b, NULL, ids);
		if (rng_below(r, 20) == 0)
			trace_buffer_end_writer(b, 1, (uint16_t)(1 + rng_below(r, 40)));
		if (rng_below(r, 30) == 0)
			trace_buffer_begin_read(b);
		for (uint32_t n = rng_below(r, 3); n > 0; n--)
			trace_buffer_next_packet(b, NULL, &p);
	}
}

/* Whatever state the source is in: wrapped, half read, with sequences that ended and writers that
 * came back, the clone is the same, and stays the same under the same load. */
TEST(any_state_is_the_same)
{
	uint64_t r = 7, wrapped = 0, padded = 0;
	unsigned n = 0;

	for (int round = 0; round < 100; round++) {
		struct trace_buffer *b = buffer_of(16384, TRACE_BUFFER_RING), *clone;
		uint32_t ids[64] = {0};

		live(&r, b, ids);
		clone = clone_of(b);
		wrapped += trace_buffer_stats(b)->write_wrap_count > 0;
		padded += trace_buffer_stats(b)->padding_bytes_written >
			  trace_buffer_stats(b)->padding_bytes_cleared;
		if (round % 2)
			n += assert_read_alike(b, clone);
		for (uint32_t i = rng_below(&r, 200); i > 0; i--)
			commit_random(&r, b, clone, ids);
		n += assert_read_alike(b, clone);
		trace_buffer_free(clone);
		trace_buffer_free(b);
	}
	assert_true(n > 1000 && wrapped > 10 && padded > 10);
}

/* ---- one that stood in for another ---- */

static struct trace_buffer *stand_in_of(const struct trace_buffer *b)
{
	struct trace_buffer *stand_in;

	assert_int_equal(trace_buffer_new_like(b, &stand_in), 0);
	return stand_in;
}

/* As if all had come into the same one. */
TEST(appended_is_as_if_committed)
{
	uint64_t r = 9;
	unsigned n = 0;

	for (int round = 0; round < 100; round++) {
		struct trace_buffer *a = buffer_of(1 << 20, TRACE_BUFFER_RING);
		struct trace_buffer *b = buffer_of(1 << 20, TRACE_BUFFER_RING), *stand_in;
		uint32_t ids[64] = {0};

		for (uint32_t i = rng_below(&r, 200); i > 0; i--)
			commit_random(&r, a, b, ids);
		if (round % 2)
			n += assert_read_alike(a, b);
		stand_in = stand_in_of(b);
		for (uint32_t i = rng_below(&r, 200); i > 0; i--)
			commit_random(&r, a, stand_in, ids);
		trace_buffer_append(b, stand_in);
		for (uint32_t i = rng_below(&r, 50); i > 0; i--)
			commit_random(&r, a, b, ids);
		n += assert_read_alike(a, b);
		assert_int_equal(trace_buffer_stats(a)->chunks_written,
				 trace_buffer_stats(b)->chunks_written);
		trace_buffer_free(a);
		trace_buffer_free(b);
	}
	assert_true(n > 1000);
}

TEST(chunk_that_grew_meanwhile_is_one)
{
	struct trace_buffer *b = buffer_of(1 << 16, TRACE_BUFFER_RING), *stand_in = stand_in_of(b);
	static struct chunk c;

	chunk_start(&c, 1, 1, 0, 0);
	chunk_text(&c, "one");
	chunk_text(&c, "two");
	chunk_scrape(b, &c);
	chunk_text(&c, "three");
	chunk_scrape(stand_in, &c);
	chunk_text(&c, "four");
	chunk_commit(stand_in, &c);
	chunk_start(&c, 1, 1, 1, 0);
	chunk_text(&c, "gives up");
	chunk_raw(&c, "\xff\xff\xff\x7f", 4); /* the size of a packet that is dropped */
	c.h.count++;
	chunk_commit(stand_in, &c);
	trace_buffer_append(b, stand_in);
	trace_buffer_begin_read(b);
	expect_packet(b, 1, 1, "one", 0);
	expect_packet(b, 1, 1, "two", 0);
	expect_packet(b, 1, 1, "three", 0);
	expect_packet(b, 1, 1, "four", 0);
	expect_packet(b, 1, 1, "gives up", 0);
	expect_end(b);
	assert_int_equal(trace_buffer_stats(b)->trace_writer_packet_loss, 1);
	assert_int_equal(trace_buffer_stats(b)->abi_violations, 0);
	commit_text(b, 1, 1, 2, 0, "next");
	trace_buffer_begin_read(b);
	expect_packet(b, 1, 1, "next", DATA_LOSS_WRITER_ABORT);
	trace_buffer_free(b);
}

/* The beginning of a chunk was read in the stand-in, or overwritten: its rest has no place. */
TEST(rest_without_a_beginning_is_counted)
{
	struct trace_buffer *b = buffer_of(1 << 16, TRACE_BUFFER_RING), *stand_in = stand_in_of(b);
	static struct chunk c;

	chunk_start(&c, 1, 1, 0, 0);
	chunk_text(&c, "one");
	chunk_text(&c, "two");
	chunk_scrape(stand_in, &c);
	trace_buffer_begin_read(stand_in);
	expect_packet(stand_in, 1, 1, "one", 0);
	chunk_commit(stand_in, &c);
	trace_buffer_append(b, stand_in);
	trace_buffer_begin_read(b);
	expect_end(b);
	assert_int_equal(trace_buffer_stats(b)->chunks_discarded, 1);
	trace_buffer_free(b);
}
