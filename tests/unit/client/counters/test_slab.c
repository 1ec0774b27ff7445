/* SPDX-License-Identifier: Apache-2.0 */

#include "client/counters/tracks.c"
#include "unit/test.h"

#define MANY 5000u

static unsigned char *all[MANY];

static void check_all(const struct slab *c, size_t from)
{
	for (size_t i = from; i < MANY; i++)
		for (size_t k = 0; k < c->size; k++)
			assert_int_equal(all[i][k], (unsigned char)i);
}

TEST(objects_are_zeroed_and_do_not_overlap)
{
	static const size_t sizes[] = {1, 8, 17, 333, SLAB_BLOCK_BYTES / 2};

	for (size_t s = 0; s < 5; s++) {
		struct slab c = {.size = sizes[s]};
		size_t n = sizes[s] > 1000 ? 20 : MANY;

		for (size_t i = MANY - n; i < MANY; i++) {
			all[i] = slab_alloc(&c);
			assert_non_null(all[i]);
			assert_int_equal((uintptr_t)all[i] % _Alignof(max_align_t), 0);
			for (size_t k = 0; k < c.size; k++)
				assert_int_equal(all[i][k], 0);
			memset(all[i], (int)i, c.size);
		}
		check_all(&c, MANY - n);
		slab_deinit(&c);
	}
}

TEST(what_is_free_cells_is_used_again)
{
	struct slab c = {.size = 40};

	for (size_t i = 0; i < MANY; i++)
		all[i] = slab_alloc(&c);
	for (unsigned round = 0; round < 3; round++) {
		const struct slab_block *newest = c.blocks;

		for (size_t i = 0; i < MANY; i++)
			slab_free(&c, all[i]);
		for (size_t i = 0; i < MANY; i++) {
			all[i] = slab_alloc(&c);
			for (size_t k = 0; k < c.size; k++)
				assert_int_equal(all[i][k], 0);
			memset(all[i], (int)i, c.size);
		}
		check_all(&c, 0);
		assert_ptr_equal(c.blocks, newest); /* it took no more memory */
	}
	slab_deinit(&c);
}

TEST(after_the_end_it_begins_anew)
{
	struct slab c = {.size = 24};

	slab_deinit(&c);
	slab_free(&c, slab_alloc(&c));
	slab_deinit(&c);
	assert_null(c.blocks);
	assert_non_null(slab_alloc(&c));
	slab_deinit(&c);
}
