/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <sched.h>

#include "base/core/clock.h"
#include "base/system/shm.h"
#include "unit/rng.h"
#include "unit/test.h"
#include "wire/smb.h"

#define PAGES 4u

static const uint32_t page_sizes[] = {4096, 8192, 16384, 32768};
static const enum smb_layout layouts[] = {SMB_DIV1, SMB_DIV2, SMB_DIV4, SMB_DIV7, SMB_DIV14};
static const uint32_t chunks_of[] = {1, 2, 4, 7, 14};

static struct smb memory(uint32_t page_size)
{
	static _Alignas(4096) uint8_t base[PAGES * SMB_MAX_PAGE];
	struct smb m;

	memset(base, 0, sizeof(base));
	assert_int_equal(smb_init(&m, base, PAGES * page_size, page_size), 0);
	return m;
}

/* What the other side might write at any time. */
static void set_word(const struct smb *m, uint32_t page, uint32_t word)
{
	atomic_store(&smb_page(m, page)->word, word);
}

static uint32_t word_of(const struct smb *m, uint32_t page)
{
	return smb_load_word(m, page);
}

/* ---- geometry ---- */

TEST(geometry_of_the_abi_is_accepted)
{
	struct smb m;
	void *base = aligned_alloc(4096, 4096);

	for (size_t i = 0; i < ARRAY_SIZE(page_sizes); i++) {
		assert_int_equal(smb_init(&m, base, page_sizes[i], page_sizes[i]), 0);
		assert_int_equal(m.n_pages, 1);
		assert_int_equal(smb_init(&m, base, SMB_MAX_SIZE, page_sizes[i]), 0);
		assert_int_equal(m.n_pages, SMB_MAX_SIZE / page_sizes[i]);
		assert_int_equal(m.page_size, page_sizes[i]);
		assert_ptr_equal(m.base, base);
	}
	free(base);
}

TEST(other_geometry_is_refused)
{
	static const uint32_t bad_pages[] = {0,	    1,	   2048,  4095,	      4097,	 6144,
					     12288, 24576, 65536, 0x80000000, UINT32_MAX};
	_cleanup_(freep) uint8_t *base = aligned_alloc(4096, 8192);
	struct smb m;

	for (size_t i = 0; i < ARRAY_SIZE(bad_pages); i++)
		assert_int_equal(smb_init(&m, base, 1 << 20, bad_pages[i]), -EINVAL);
	assert_int_equal(smb_init(&m, base, 0, 4096), -EINVAL);
	assert_int_equal(smb_init(&m, base, 4095, 4096), -EINVAL);
	assert_int_equal(smb_init(&m, base, 4097, 4096), -EINVAL);
	assert_int_equal(smb_init(&m, base, 4096, 8192), -EINVAL);
	assert_int_equal(smb_init(&m, base, 12288, 8192), -EINVAL);
	assert_int_equal(smb_init(&m, base, SMB_MAX_SIZE + 4096, 4096), -EINVAL);
	assert_int_equal(smb_init(&m, base, SIZE_MAX & ~4095ul, 4096), -EINVAL);
	assert_int_equal(smb_init(&m, base + 8, 4096, 4096), -EINVAL);
}

TEST(chunk_sizes_are_the_abis)
{
	static const uint32_t sizes[][6] = {
		{4096, 4088, 2044, 1020, 584, 292},	  {8192, 8184, 4092, 2044, 1168, 584},
		{16384, 16376, 8188, 4092, 2336, 1168},	  {32768, 32760, 16380, 8188, 4680, 2340},
		{65536, 65528, 32764, 16380, 9360, 4680},
	};

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
		for (size_t l = 0; l < ARRAY_SIZE(layouts); l++)
			assert_int_equal(smb_chunk_size(sizes[i][0], layouts[l]), sizes[i][1 + l]);
	for (uint32_t l = 0; l < 8; l++)
		assert_int_equal(smb_layout_chunks(l), l >= 1 && l <= 5 ? chunks_of[l - 1] : 0);
}

TEST(chunks_lie_side_by_side_in_their_page)
{
	for (size_t i = 0; i < ARRAY_SIZE(page_sizes); i++)
		for (size_t l = 0; l < ARRAY_SIZE(layouts); l++) {
			struct smb m = memory(page_sizes[i]);
			uint8_t *at = m.base + 2 * page_sizes[i] + SMB_PAGE_HEADER;

			for (uint32_t n = 0; n < chunks_of[l]; n++) {
				struct smb_chunk c = smb_chunk_at(&m, 2, layouts[l], n);

				assert_ptr_equal(c.header, at);
				assert_int_equal((uintptr_t)c.header % 4, 0);
				assert_ptr_equal(c.payload, at + SMB_CHUNK_HEADER);
				assert_int_equal(c.page, 2);
				assert_int_equal(c.index, n);
				at = c.payload + c.payload_size;
			}
			assert_true(at <= m.base + 3 * page_sizes[i]);
			assert_true(at > m.base + 3 * page_sizes[i] - 4 * chunks_of[l] - 8);
		}
}

TEST(chunk_header_has_the_bytes_of_the_abi)
{
	struct smb m = memory(4096);
	struct smb_chunk c = smb_chunk_at(&m, 0, SMB_DIV1, 0);
	struct smb_chunk_header h;

	smb_header_store_ids(c.header, 0x1234, 0xa1b2c3d4);
	smb_header_store_packets(c.header, 1022, SMB_CONTINUES_ON_NEXT | SMB_NEEDS_PATCHING);
	assert_memory_equal(c.header, "\xd4\xc3\xb2\xa1\x34\x12\xfe\x1b", 8);
	h = smb_header_load(c.header);
	assert_int_equal(h.chunk_id, 0xa1b2c3d4);
	assert_int_equal(h.writer_id, 0x1234);
	assert_int_equal(h.count, 1022);
	assert_int_equal(h.flags, SMB_CONTINUES_ON_NEXT | SMB_NEEDS_PATCHING);
	/* undefined flags are masked */
	memset(c.header, 0xff, SMB_CHUNK_HEADER);
	h = smb_header_load(c.header);
	assert_int_equal(h.count, SMB_MAX_PACKETS);
	assert_int_equal(h.flags, SMB_CHUNK_FLAGS);
}

/* ---- the state machine ---- */

TEST(every_chunk_goes_once_around)
{
	for (size_t i = 0; i < ARRAY_SIZE(page_sizes); i++)
		for (size_t l = 0; l < ARRAY_SIZE(layouts); l++) {
			struct smb m = memory(page_sizes[i]);
			uint32_t n = chunks_of[l], layout_bits = (uint32_t)layouts[l] << 28;
			struct smb_chunk w, r[SMB_MAX_CHUNKS];

			assert_true(smb_partition(&m, 1, layouts[l]));
			assert_int_equal(word_of(&m, 1), layout_bits);
			for (uint32_t k = 0; k < n; k++) {
				struct smb_chunk_header h = {.writer_id = 5, .chunk_id = k}, got;

				assert_true(smb_acquire_free(&m, 1, k, &h, &w));
				assert_int_equal(smb_word_state(word_of(&m, 1), k),
						 SMB_BEING_WRITTEN);
				memset(w.payload, (int)k, w.payload_size);
				smb_header_store_packets(w.header, 1, 0);
				assert_true(smb_release_complete(&m, 1, k));
				assert_true(smb_acquire_complete(&m, 1, k, &r[k]));
				assert_ptr_equal(r[k].payload, w.payload);
				assert_int_equal(r[k].payload_size,
						 smb_chunk_size(page_sizes[i], layouts[l]) - 8);
				got = smb_header_load(r[k].header);
				assert_int_equal(got.chunk_id, k);
				assert_int_equal(got.writer_id, 5);
				assert_int_equal(got.count, 1);
				assert_int_equal(r[k].payload[r[k].payload_size - 1], k);
			}
			/* the layout goes with the last chunk, whichever it is */
			for (uint32_t k = n; k-- > 0;) {
				assert_int_equal(word_of(&m, 1) >> 28, layouts[l]);
				assert_true(smb_release_free(&m, &r[k]));
				assert_memory_equal(r[k].header, "\0\0\0\0\0\0\0\0", 8);
			}
			assert_int_equal(word_of(&m, 1), 0);
			/* the other pages were never touched */
			assert_int_equal(word_of(&m, 0), 0);
			assert_int_equal(word_of(&m, 2), 0);
		}
}

TEST(partition_needs_a_page_that_is_wholly_free)
{
	struct smb m = memory(4096);

	assert_true(smb_partition(&m, 0, SMB_DIV4));
	assert_false(smb_partition(&m, 0, SMB_DIV4));
	assert_false(smb_partition(&m, 0, SMB_DIV1));
	assert_int_equal(word_of(&m, 0), (uint32_t)SMB_DIV4 << 28);
	set_word(&m, 1, 1); /* no layout, but a chunk in use: nonsense */
	assert_false(smb_partition(&m, 1, SMB_DIV1));
	assert_int_equal(word_of(&m, 1), 1);
}

TEST(page_keeps_its_layout_while_a_chunk_is_in_use)
{
	struct smb_chunk_header h = {.writer_id = 1};
	struct smb m = memory(4096);
	struct smb_chunk a, b;

	assert_true(smb_partition(&m, 0, SMB_DIV2));
	assert_true(smb_acquire_free(&m, 0, 0, &h, &a));
	assert_true(smb_acquire_free(&m, 0, 1, &h, &b));
	assert_true(smb_release_complete(&m, 0, 0));
	assert_true(smb_acquire_complete(&m, 0, 0, &a));
	assert_true(smb_release_free(&m, &a));
	assert_int_equal(word_of(&m, 0), (uint32_t)SMB_DIV2 << 28 | SMB_BEING_WRITTEN << 2);
	/* the free one can be taken again */
	assert_true(smb_acquire_free(&m, 0, 0, &h, &a));
}

/* From each state only its own move works; all others change nothing. */
TEST(moves_from_other_states_are_refused)
{
	struct smb_chunk_header h = {.chunk_id = 9, .writer_id = 9, .count = 9};
	struct smb m = memory(4096);
	struct smb_chunk c;

	for (uint32_t s = SMB_FREE; s <= SMB_COMPLETE; s++) {
		uint32_t word = (uint32_t)SMB_DIV7 << 28 | s << 2 * 3 | 1; /* and chunk 0 in use */
		uint8_t *at = smb_chunk_at(&m, 0, SMB_DIV7, 3).payload - SMB_CHUNK_HEADER;

		memset(at, 0x77, SMB_CHUNK_HEADER);
		set_word(&m, 0, word);
		if (s != SMB_FREE)
			assert_false(smb_acquire_free(&m, 0, 3, &h, &c));
		if (s != SMB_BEING_WRITTEN)
			assert_false(smb_release_complete(&m, 0, 3));
		if (s != SMB_COMPLETE)
			assert_false(smb_acquire_complete(&m, 0, 3, &c));
		assert_int_equal(word_of(&m, 0), word);
		assert_int_equal(at[0], 0x77); /* nor was a header written */
		c = smb_chunk_at(&m, 0, SMB_DIV7, 3);
		if (s != SMB_BEING_READ)
			assert_false(smb_release_free(&m, &c));
		assert_int_equal(word_of(&m, 0), word);
	}
}

/* ---- hostile words ---- */

TEST(indexes_out_of_range_are_refused)
{
	static const uint32_t pages[] = {PAGES, PAGES + 1, 0x7fffffff, 0x80000000, UINT32_MAX};
	static const uint32_t indexes[] = {1, 13, 14, 15, 16, 31, 32, 0x80000000, UINT32_MAX};
	struct smb m = memory(4096);
	struct smb_chunk c = {.page = 77};

	set_word(&m, 0, (uint32_t)SMB_DIV1 << 28 | 0x0fffffff); /* all Complete, only one exists */
	for (size_t i = 0; i < ARRAY_SIZE(pages); i++)
		assert_false(smb_acquire_complete(&m, pages[i], 0, &c));
	for (size_t i = 0; i < ARRAY_SIZE(indexes); i++)
		assert_false(smb_acquire_complete(&m, 0, indexes[i], &c));
	assert_int_equal(c.page, 77);
	assert_true(smb_acquire_complete(&m, 0, 0, &c));
}

TEST(words_without_a_layout_have_no_chunks)
{
	static const uint32_t layouts_without[] = {0, 6, 7};
	struct smb m = memory(4096);
	struct smb_chunk_header h = {0};
	struct smb_chunk c;

	for (size_t i = 0; i < ARRAY_SIZE(layouts_without); i++)
		for (uint32_t fill = 0; fill <= 3; fill++) {
			uint32_t word = layouts_without[i] << 28 | fill * 0x05555555u;

			set_word(&m, 0, word);
			for (uint32_t k = 0; k < 16; k++) {
				assert_false(smb_acquire_free(&m, 0, k, &h, &c));
				assert_false(smb_acquire_complete(&m, 0, k, &c));
				assert_false(smb_release_complete(&m, 0, k));
			}
			assert_int_equal(word_of(&m, 0), word);
		}
}

/* The producer rewrites the word between our acquire and our release. */
TEST_WITH(word_rewritten_while_we_read, NULL, NULL)
{
	uint64_t rng = 5;

	for (int round = 0; round < 5000; round++) {
		struct smb_chunk_header h = {.writer_id = 3};
		struct smb m = memory(4096);
		uint32_t layout = rng_below(&rng, 5), n = chunks_of[layout];
		uint32_t index = rng_below(&rng, n), word = (uint32_t)rng_next(&rng), after;
		struct smb_chunk c;
		bool released;

		assert_true(smb_partition(&m, 1, layouts[layout]));
		assert_true(smb_acquire_free(&m, 1, index, &h, &c));
		assert_true(smb_release_complete(&m, 1, index));
		assert_true(smb_acquire_complete(&m, 1, index, &c));
		if (round % 2) /* half of the time only the layout, or only a state */
			word = rng_below(&rng, 2) ? word_of(&m, 1) ^ rng_below(&rng, 8) << 28
						  : word_of(&m, 1) ^ 1u << rng_below(&rng, 28);
		set_word(&m, 1, word);
		released = smb_release_free(&m, &c);
		after = word_of(&m, 1);
		assert_int_equal(released, index < smb_layout_chunks(smb_word_layout(word)) &&
						   smb_word_state(word, index) == SMB_BEING_READ);
		if (!released)
			assert_int_equal(after, word);
		else if ((word & 0x0fffffff & ~(3u << 2 * index)) == 0)
			assert_int_equal(after, 0);
		else
			assert_int_equal(after, word & ~(3u << 2 * index));
		/* nothing outside of the page was touched */
		for (uint32_t i = 0; i < 4096; i++)
			assert_true(m.base[i] == 0 && m.base[2 * 4096 + i] == 0);
	}
}

/* A chunk's place is that of the layout in the word that was exchanged, whatever was there
 * before. */
TEST(place_follows_the_layout_of_the_moment)
{
	struct smb m = memory(32768);
	struct smb_chunk c;

	for (size_t l = 0; l < ARRAY_SIZE(layouts); l++) {
		uint32_t last = chunks_of[l] - 1;

		set_word(&m, 3, (uint32_t)layouts[l] << 28 | 0x0fffffff);
		assert_true(smb_acquire_complete(&m, 3, last, &c));
		assert_int_equal(c.payload_size, smb_chunk_size(32768, layouts[l]) - 8);
		assert_true(c.payload + c.payload_size <= m.base + 4 * 32768);
	}
}

/* ---- two sides at once ---- */

#define EXCHANGED 20000u
#define TIMEOUT_NS (60 * NS_PER_S) /* without progress */

/* Each payload is made from its chunk id, so that a torn one is seen. */
static bool produce(const struct smb *m, uint32_t n_chunks)
{
	uint64_t deadline = clock_mono_ns() + TIMEOUT_NS;
	uint32_t id = 0;

	while (id < n_chunks && clock_mono_ns() < deadline) {
		uint32_t before = id;

		for (uint32_t page = 0; page < m->n_pages && id < n_chunks; page++) {
			uint32_t word = smb_load_word(m, page);

			if (word == 0 && smb_partition(m, page, layouts[id % 5]))
				word = smb_load_word(m, page);
			for (uint32_t k = 0; k < smb_layout_chunks(smb_word_layout(word)); k++) {
				struct smb_chunk_header h = {.chunk_id = id, .writer_id = 1};
				struct smb_chunk c;

				if (id >= n_chunks || !smb_acquire_free(m, page, k, &h, &c))
					continue;
				for (uint32_t i = 0; i + 4 <= c.payload_size; i += 4)
					memcpy(c.payload + i, &id, 4);
				smb_header_store_packets(c.header, (uint16_t)(id % 1000), 0);
				if (!smb_release_complete(m, page, k))
					return false;
				id++;
			}
		}
		if (id == before)
			sched_yield();
		else
			deadline = clock_mono_ns() + TIMEOUT_NS;
	}
	return id == n_chunks;
}

/* Takes what is complete; gives the number of chunks. */
static uint32_t consume(const struct smb *m, uint8_t *seen)
{
	uint32_t n = 0;

	for (uint32_t page = 0; page < m->n_pages; page++)
		for (uint32_t k = 0; k < SMB_MAX_CHUNKS; k++) {
			struct smb_chunk_header h;
			struct smb_chunk c;

			if (!smb_acquire_complete(m, page, k, &c))
				continue;
			h = smb_header_load(c.header);
			assert_int_equal(h.writer_id, 1);
			assert_in_range(h.chunk_id, 0, EXCHANGED - 1);
			assert_int_equal(h.count, h.chunk_id % 1000);
			assert_int_equal(seen[h.chunk_id]++, 0);
			for (uint32_t i = 0; i + 4 <= c.payload_size; i += 4)
				if (memcmp(c.payload + i, &h.chunk_id, 4) != 0)
					fail_msg("chunk %u is torn at %u", h.chunk_id, i);
			assert_true(smb_release_free(m, &c));
			n++;
		}
	return n;
}

static void consume_all(const struct smb *m)
{
	uint64_t deadline = clock_mono_ns() + TIMEOUT_NS;
	_cleanup_(freep) uint8_t *seen = calloc(EXCHANGED, 1);
	uint32_t n = 0, before;

	while (n < EXCHANGED && clock_mono_ns() < deadline) {
		before = n;
		n += consume(m, seen);
		if (n == before)
			sched_yield();
		else
			deadline = clock_mono_ns() + TIMEOUT_NS;
	}
	assert_int_equal(n, EXCHANGED);
	for (uint32_t page = 0; page < m->n_pages; page++)
		assert_int_equal(word_of(m, page), 0);
}

TEST(two_processes_exchange_every_chunk_once)
{
	_cleanup_(closep) int fd = -1;
	struct smb m;
	void *addr;
	int status;
	pid_t pid;

	assert_int_equal(shm_create(8 * 4096, &fd, &addr), 0);
	assert_int_equal(smb_init(&m, addr, 8 * 4096, 4096), 0);
	pid = fork();
	if (pid == 0)
		_exit(produce(&m, EXCHANGED) ? 0 : 1);
	consume_all(&m);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	shm_unmap(addr, 8 * 4096);
}

static void *produce_thread(void *arg)
{
	return produce(arg, EXCHANGED) ? arg : NULL;
}

/* The same for the thread sanitizer, which does not see into another process. */
TEST(two_threads_exchange_every_chunk_once)
{
	struct smb m = memory(4096);
	pthread_t thread;
	void *result;

	assert_int_equal(pthread_create(&thread, NULL, produce_thread, &m), 0);
	consume_all(&m);
	pthread_join(thread, &result);
	assert_non_null(result);
}
