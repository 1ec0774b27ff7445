/* SPDX-License-Identifier: Apache-2.0 */

#include "client/transport/commit_batch.h"
#include "common/commit_data_request.pb-c.h"
#include "unit/test.h"
#include "wire/smb.h"

/* Everything that was sent, unpacked. */
static Pb__CommitDataRequest *sent[2000];
static size_t n_sent, largest;
static int send_result;

static int on_send(void *ctx, const void *request, size_t len)
{
	largest = len > largest ? len : largest;
	sent[n_sent] = pb__commit_data_request__unpack(NULL, len, request);
	assert_non_null(sent[n_sent]);
	n_sent++;
	return send_result;
}

static void forget(void)
{
	for (size_t i = 0; i < n_sent; i++)
		pb__commit_data_request__free_unpacked(sent[i], NULL);
	n_sent = largest = 0;
}

static struct commit_batch b;

static int setup(void **state)
{
	send_result = 0;
	return commit_batch_init(&b, 1000, 1024);
}

static int teardown(void **state)
{
	commit_batch_deinit(&b);
	forget();
	return 0;
}

static void add_move(uint32_t page, uint32_t index, uint16_t writer_id, uint32_t chunk_id)
{
	commit_batch_add(&b, &(struct commit_move){
				     .chunk = {.page = page, .index = index, .payload_size = 92},
				     .writer_id = writer_id,
				     .chunk_id = chunk_id,
				     .target_buffer = 65535,
			     });
}

static void add_patch(uint16_t writer_id, uint32_t chunk_id, uint16_t offset, bool more)
{
	struct chunk_patch p = {.writer_id = writer_id,
				.chunk_id = chunk_id,
				.target_buffer = 2,
				.offset = offset,
				.more = more};

	memcpy(p.data, "\x81\x82\x83\x04", 4);
	commit_batch_add_patch(&b, &p);
}

#define FIXTURE_TEST(name) TEST_WITH(name, setup, teardown)

FIXTURE_TEST(one_request_says_it_all)
{
	Pb__CommitDataRequest *m;

	assert_true(commit_batch_empty(&b));
	add_move(0, 0, 1, 10);
	add_move(8191, 13, 2, UINT32_MAX);
	add_patch(1, 9, 0, true);
	add_patch(1, 9, 32700, false);
	add_patch(32767, UINT32_MAX, 5, true);
	b.flush_id = UINT64_MAX;
	assert_false(commit_batch_empty(&b));
	assert_int_equal(commit_batch_send(&b, on_send, NULL), 0);
	assert_int_equal(n_sent, 1);
	m = sent[0];
	assert_int_equal(m->n_chunks_to_move, 2);
	assert_int_equal(m->chunks_to_move[0]->page, 0);
	assert_true(m->chunks_to_move[0]->has_page);
	assert_int_equal(m->chunks_to_move[1]->page, 8191);
	assert_int_equal(m->chunks_to_move[1]->chunk, 13);
	assert_int_equal(m->chunks_to_move[1]->target_buffer, 65535);
	assert_false(m->chunks_to_move[0]->has_data);
	assert_int_equal(m->n_chunks_to_patch, 2);
	assert_int_equal(m->chunks_to_patch[0]->writer_id, 1);
	assert_int_equal(m->chunks_to_patch[0]->chunk_id, 9);
	assert_int_equal(m->chunks_to_patch[0]->target_buffer, 2);
	assert_int_equal(m->chunks_to_patch[0]->n_patches, 2);
	assert_int_equal(m->chunks_to_patch[0]->patches[1]->offset, 32700);
	assert_int_equal(m->chunks_to_patch[0]->patches[1]->data.len, 4);
	assert_memory_equal(m->chunks_to_patch[0]->patches[1]->data.data, "\x81\x82\x83\x04", 4);
	assert_false(m->chunks_to_patch[0]->has_more_patches);
	assert_int_equal(m->chunks_to_patch[1]->chunk_id, UINT32_MAX);
	assert_true(m->chunks_to_patch[1]->has_more_patches);
	assert_int_equal(m->flush_request_id, UINT64_MAX);
	assert_true(commit_batch_empty(&b));
}

FIXTURE_TEST(chunks_themselves_are_sent_without_a_place)
{
	static struct {
		struct smb_shared_header header;
		uint8_t payload[92];
	} chunk = {.payload = "bytes"};

	b.inlines = true;
	for (int i = 0; i < 20; i++)
		commit_batch_add(&b, &(struct commit_move){.chunk = {.header = &chunk.header,
								     .payload = chunk.payload,
								     .payload_size = 92,
								     .page = 7},
							   .writer_id = 1,
							   .target_buffer = 9});
	assert_int_equal(commit_batch_send(&b, on_send, NULL), 0);
	assert_true(n_sent > 1 && largest <= 1024);
	assert_false(sent[0]->chunks_to_move[0]->has_page);
	assert_false(sent[0]->chunks_to_move[0]->has_chunk);
	assert_int_equal(sent[0]->chunks_to_move[0]->target_buffer, 9);
	assert_int_equal(sent[0]->chunks_to_move[0]->data.len, 100);
	assert_memory_equal(sent[0]->chunks_to_move[0]->data.data + 8, "bytes", 6);
}

/* Requests with chunks in them are cut like all others; patches and the flush come behind. */
FIXTURE_TEST(chunks_and_patches_and_a_flush_are_cut_to_the_limit)
{
	static struct {
		struct smb_shared_header header;
		uint8_t payload[700];
	} chunk;
	size_t chunks = 0, patches = 0;

	b.inlines = true;
	for (uint32_t i = 0; i < 20; i++)
		commit_batch_add(&b, &(struct commit_move){.chunk = {.header = &chunk.header,
								     .payload = chunk.payload,
								     .payload_size = 100 + 30 * i},
							   .writer_id = 1,
							   .chunk_id = i});
	for (uint32_t i = 0; i < COMMIT_MAX_PATCHES; i++)
		add_patch(1, 1000 + i, (uint16_t)i, false);
	b.flush_id = 9;
	assert_int_equal(commit_batch_send(&b, on_send, NULL), 0);
	assert_true(largest <= 1024 && n_sent > 20);
	for (size_t i = 0; i < n_sent; i++) {
		const Pb__CommitDataRequest *m = sent[i];

		assert_int_equal(m->has_flush_request_id, i + 1 == n_sent);
		for (size_t k = 0; k < m->n_chunks_to_move; k++) {
			assert_int_equal(patches, 0);
			assert_int_equal(m->chunks_to_move[k]->data.len, 8 + 100 + 30 * chunks++);
		}
		for (size_t k = 0; k < m->n_chunks_to_patch; k++)
			assert_int_equal(m->chunks_to_patch[k]->chunk_id, 1000 + patches++);
	}
	assert_int_equal(chunks, 20);
	assert_int_equal(patches, COMMIT_MAX_PATCHES);
}

FIXTURE_TEST(a_flush_alone_is_a_request)
{
	b.flush_id = 3;
	assert_false(commit_batch_empty(&b));
	assert_int_equal(commit_batch_send(&b, on_send, NULL), 0);
	assert_int_equal(n_sent, 1);
	assert_int_equal(sent[0]->flush_request_id, 3);
}

FIXTURE_TEST(requests_stay_below_the_limit_and_in_order)
{
	size_t moves = 0, patches = 0;

	for (uint32_t i = 0; i < 1000; i++)
		add_move(i, 13, 1, i);
	assert_false(commit_batch_full(&b));
	for (uint32_t i = 0; i < COMMIT_MAX_PATCHES; i++)
		add_patch(1, i / 12, (uint16_t)i, i % 12 != 11);
	assert_true(commit_batch_full(&b));
	b.flush_id = 77;
	assert_int_equal(commit_batch_send(&b, on_send, NULL), 0);
	assert_true(n_sent > 5);
	assert_true(largest <= 1024 && largest > 900);
	for (size_t i = 0; i < n_sent; i++) {
		const Pb__CommitDataRequest *m = sent[i];

		assert_int_equal(m->has_flush_request_id, i + 1 == n_sent);
		assert_true(m->n_chunks_to_move + m->n_chunks_to_patch + m->has_flush_request_id >
			    0);
		if (m->n_chunks_to_move)
			assert_int_equal(patches, 0);
		for (size_t k = 0; k < m->n_chunks_to_move; k++)
			assert_int_equal(m->chunks_to_move[k]->page, moves++);
		for (size_t k = 0; k < m->n_chunks_to_patch; k++)
			for (size_t p = 0; p < m->chunks_to_patch[k]->n_patches; p++)
				assert_int_equal(m->chunks_to_patch[k]->patches[p]->offset,
						 patches++);
	}
	assert_int_equal(moves, 1000);
	assert_int_equal(patches, COMMIT_MAX_PATCHES);
}

/* Only the end of a chunk's patches may say that there are no more. */
FIXTURE_TEST(patches_of_a_chunk_that_stand_apart_keep_their_word)
{
	Pb__CommitDataRequest *m;

	add_patch(1, 5, 10, true);
	add_patch(2, 5, 20, false);
	add_patch(1, 6, 30, false);
	add_patch(1, 5, 40, false);
	commit_batch_send(&b, on_send, NULL);
	m = sent[0];
	assert_int_equal(m->n_chunks_to_patch, 4);
	assert_true(m->chunks_to_patch[0]->has_more_patches);
	assert_false(m->chunks_to_patch[1]->has_more_patches);
	assert_int_equal(m->chunks_to_patch[1]->writer_id, 2);
	assert_false(m->chunks_to_patch[3]->has_more_patches);
}

FIXTURE_TEST(after_an_error_nothing_more_is_sent)
{
	for (uint32_t i = 0; i < 1000; i++)
		add_move(i, 13, 1, i);
	send_result = -EPIPE;
	assert_int_equal(commit_batch_send(&b, on_send, NULL), -EPIPE);
	assert_int_equal(n_sent, 1);
	assert_true(commit_batch_empty(&b));
}
