/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/test.h"
#include "client/transport/commit_batch.h"

/* A sink of two chunks, as a writer is. */
static uint8_t chunk[2][400];
static struct patch_list list;
static struct pb_enc e;
static const struct chunk_patch ids = {.chunk_id = 7, .writer_id = 3, .target_buffer = 9};
static bool any;

static void to_second_chunk(struct pb_enc *enc)
{
	any = patch_list_detach(&list, enc, &ids, chunk[0]);
	pb_enc_set_range(enc, chunk[1], chunk[1] + sizeof(chunk[1]));
}

static int setup(void **state)
{
	list = (struct patch_list){0};
	pb_enc_init(&e, chunk[0] + 4, chunk[0] + sizeof(chunk[0]), to_second_chunk);
	return 0;
}

#define FIXTURE_TEST(name) TEST_WITH(name, setup, NULL)

FIXTURE_TEST(nothing_open_is_nothing_to_patch)
{
	struct chunk_patch p;

	pb_enc_open(&e, 1);
	pb_enc_close(&e);
	to_second_chunk(&e);
	assert_false(any);
	assert_int_equal(list.used, 0);
	assert_false(patch_list_take(&list, &p));
}

FIXTURE_TEST(open_lengths_become_patches_when_closed)
{
	struct chunk_patch p;

	pb_enc_open(&e, 1); /* tag at 4, length at 5 */
	pb_enc_u64(&e, 1, 1);
	pb_enc_open(&e, 2); /* length at 12 */
	to_second_chunk(&e);
	assert_true(any);
	assert_false(patch_list_take(&list, &p));
	pb_enc_bytes(&e, 3, chunk, 200);
	pb_enc_close(&e);
	assert_true(patch_list_take(&list, &p));
	assert_int_equal(p.offset, 12);
	assert_int_equal(p.chunk_id, 7);
	assert_int_equal(p.writer_id, 3);
	assert_int_equal(p.target_buffer, 9);
	assert_true(p.more);
	assert_memory_equal(p.data, "\xcb\x81\x80\x00", 4); /* 203 */
	assert_false(patch_list_take(&list, &p));
	pb_enc_close(&e);
	assert_true(patch_list_take(&list, &p));
	assert_int_equal(p.offset, 5);
	assert_false(p.more);
	assert_memory_equal(p.data, "\xd2\x81\x80\x00", 4); /* 2 + 1 + 4 + 203 */
	assert_int_equal(list.used, 0);
}

/* Even a length that would fit in one byte is four: the place is. */
FIXTURE_TEST(short_and_empty_messages_are_patched_too)
{
	struct chunk_patch p;

	pb_enc_open(&e, 1);
	to_second_chunk(&e);
	pb_enc_close(&e);
	assert_true(patch_list_take(&list, &p));
	assert_memory_equal(p.data, "\x80\x80\x80\x00", 4);
}

FIXTURE_TEST(lengths_in_other_chunks_stay)
{
	struct chunk_patch p;
	uint8_t *field;

	pb_enc_open(&e, 1);
	to_second_chunk(&e);
	pb_enc_open(&e, 2);
	field = e.nest[1].size_field;
	/* the second chunk is left, too: only its own length is detached */
	any = patch_list_detach(&list, &e, &(struct chunk_patch){.chunk_id = 8, .writer_id = 3},
				chunk[1]);
	assert_true(any);
	assert_int_equal(list.used, 3);
	assert_int_equal(list.slot[0].chunk_id, 7);
	assert_int_equal(list.slot[1].chunk_id, 8);
	assert_int_equal(list.slot[1].offset, field - chunk[1]);
	pb_enc_set_range(&e, chunk[0], chunk[0] + 300);
	pb_enc_close(&e);
	assert_true(patch_list_take(&list, &p));
	assert_int_equal(p.chunk_id, 8);
	assert_false(p.more); /* of that chunk */
	pb_enc_open(&e, 2); /* the slot is used again */
	any = patch_list_detach(&list, &e, &(struct chunk_patch){.chunk_id = 9, .writer_id = 3},
				chunk[0]);
	assert_true(any);
	pb_enc_set_range(&e, chunk[1], chunk[1] + 300);
	pb_enc_close(&e);
	pb_enc_close(&e);
	assert_true(patch_list_take(&list, &p));
	assert_int_equal(p.chunk_id, 7);
	assert_true(patch_list_take(&list, &p));
	assert_int_equal(p.chunk_id, 9);
	assert_false(patch_list_take(&list, &p));
}

FIXTURE_TEST(every_depth_has_its_slot)
{
	struct chunk_patch p;

	for (unsigned i = 0; i < PB_MAX_DEPTH; i++)
		pb_enc_open(&e, 1);
	to_second_chunk(&e);
	while (e.depth > 0)
		pb_enc_close(&e);
	for (unsigned i = 0; i < PB_MAX_DEPTH; i++) {
		assert_true(patch_list_take(&list, &p));
		assert_int_equal(p.offset, 5 + 5 * i);
		assert_int_equal(p.more, i + 1 < PB_MAX_DEPTH);
	}
	assert_false(patch_list_take(&list, &p));
}
