/* SPDX-License-Identifier: Apache-2.0 */
#include "config/limits.h"
#include "unit/test.h"
#define STAGE_SETUP setup
#include "unit/service/rig.h"

static int setup(void **state)
{
	struct stage *g = stage_new(0, false);

	stage_start(g, STAGE_CONFIG);
	*state = g;
	return 0;
}

static uint32_t page_word(struct stage *g, uint32_t page)
{
	return smb_load_word(&g->s.smb, page);
}

STAGE_TEST(committed_chunk_is_free_when_the_answer_comes)
{
	stage_write(g, 3, 1, 0, "hello");
	assert_int_equal(page_word(g, 3), 0);
	assert_int_equal(stage_count(g, "hello"), 1);
	assert_int_equal(stage_count(g, "hello"), 0); /* read once */
}

/* Fills every chunk of the page with one packet. */
static void fill_page(struct stage *g, uint32_t page, enum smb_layout layout, uint32_t chunk_id)
{
	struct smb_chunk_header h = {.writer_id = 1, .chunk_id = chunk_id};
	struct smb_chunk c;

	assert_true(smb_partition(&g->s.smb, page, layout));
	for (uint32_t i = 0; i < smb_layout_chunks(layout); i++, h.chunk_id++) {
		assert_true(smb_acquire_free(&g->s.smb, page, i, &h, &c));
		memcpy(c.payload, "\x05\xa2\x38\x02hi", 6);
		smb_header_store_packets(c.header, 1, 0);
		assert_true(smb_release_complete(&g->s.smb, page, i));
	}
}

STAGE_TEST(chunks_of_every_layout_are_taken)
{
	static const enum smb_layout layouts[] = {SMB_DIV1, SMB_DIV2, SMB_DIV4, SMB_DIV7,
						  SMB_DIV14};
	uint32_t n = 0;

	for (uint32_t page = 0; page < 5; page++) {
		fill_page(g, page, layouts[page], n);
		for (uint32_t i = 0; i < smb_layout_chunks(layouts[page]); i++, n++)
			assert_true(peer_accepted(g->prod,
						  peer_commit(g->prod, page, i, g->s.buffer, 0)));
		assert_int_equal(page_word(g, page), 0);
	}
	assert_int_equal(n, 1 + 2 + 4 + 7 + 14);
	assert_int_equal(stage_count(g, "hi"), n);
}

STAGE_TEST(chunk_that_is_not_complete_is_left_alone)
{
	const char *text = "x";

	peer_write_chunk(&g->s.smb, 0, 1, 0, &text, 1, false);
	assert_true(peer_accepted(g->prod, peer_commit(g->prod, 0, 0, g->s.buffer, 0)));
	assert_int_equal(smb_word_state(page_word(g, 0), 0), SMB_BEING_WRITTEN);
	assert_int_equal(stage_count(g, "x"), 0);
}

/* Its chunk ids begin at 0 again. */
STAGE_TEST(later_writer_may_have_the_id_of_one_that_is_gone)
{
	for (uint32_t i = 0; i < 3; i++) {
		assert_true(peer_accepted(g->prod, peer_register_writer(g->prod, 1, g->s.buffer)));
		stage_write(g, 0, 1, 0, "one");
		stage_write(g, 0, 1, 1, "two");
		assert_true(peer_accepted(g->prod, peer_unregister_writer(g->prod, 1)));
		assert_int_equal(stage_stats(g, 0)->chunks_written, 2 * i + 2);
	}
	stage_read(g);
	assert_int_equal(peer_count_text(&g->got, "one"), 3);
	assert_int_equal(peer_count_text(&g->got, "two"), 3);
}

STAGE_TEST(writer_ids_are_checked)
{
	const char *text = "w";

	peer_write_chunk(&g->s.smb, 0, 0, 0, &text, 1, true);
	peer_write_chunk(&g->s.smb, 1, 32768, 0, &text, 1, true);
	peer_write_chunk(&g->s.smb, 2, 32767, 0, &text, 1, true);
	for (uint32_t i = 0; i < 3; i++)
		assert_true(peer_accepted(g->prod, peer_commit(g->prod, i, 0, g->s.buffer, 0)));
	assert_int_equal(g->rig.producers->chunks_discarded, 2);
	assert_int_equal(stage_count(g, "w"), 1);
}

/* One that the socket's end tells: its memory is mapped late, or never. */
STAGE_TEST(producer_without_memory_is_rejected)
{
	struct peer *p = rig_producer(&g->rig);

	assert_true(peer_accepted(p, peer_initialize(p, "poor", false)));
	assert_true(peer_rejected(p, peer_commit(p, 0, 0, 1, 0)));
	rig_hang_up(&g->rig, p);
}

STAGE_TEST(broken_request_does_nothing)
{
	const char *text = "x";
	struct pb_mem m;

	peer_write_chunk(&g->s.smb, 0, 1, 0, &text, 1, true);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(pb_mem_init(&m), 0);
		peer_put_move(&m.enc, 0, 0, g->s.buffer);
		switch (i) {
		case 0:
			pb_enc_raw(&m.enc, "\x0a\x7f", 2); /* a move that ends too soon */
			break;
		case 1:
			pb_enc_raw(&m.enc, "\x0a\x01\x08", 3); /* a number that does */
			break;
		case 2:
			pb_enc_raw(&m.enc, "\x12\x04\x22\x02\x0a\x7f", 6); /* in a patch */
			break;
		case 3:
			pb_enc_raw(&m.enc, "\x1b", 1); /* a group */
			break;
		}
		assert_true(peer_rejected(g->prod, peer_call_mem(g->prod, P_COMMIT, &m)));
		assert_int_equal(smb_word_state(page_word(g, 0), 0), SMB_COMPLETE);
	}
	assert_int_equal(stage_count(g, "x"), 0);
}

/* ---- chunks in the request ---- */

static bool commit_inline(struct stage *g, const void *chunk, size_t len, bool incomplete)
{
	struct pb_mem m;

	assert_int_equal(pb_mem_init(&m), 0);
	pb_enc_open(&m.enc, PB_COMMIT_DATA_REQUEST_CHUNKS_TO_MOVE);
	pb_enc_u64(&m.enc, PB_COMMIT_DATA_REQUEST_CHUNKS_TO_MOVE_TARGET_BUFFER, g->s.buffer);
	pb_enc_bytes(&m.enc, PB_COMMIT_DATA_REQUEST_CHUNKS_TO_MOVE_DATA, chunk, len);
	if (incomplete)
		pb_enc_bool(&m.enc, PB_COMMIT_DATA_REQUEST_CHUNKS_TO_MOVE_CHUNK_INCOMPLETE, true);
	pb_enc_close(&m.enc);
	return peer_accepted(g->prod, peer_call_mem(g->prod, P_COMMIT, &m));
}

/* chunk_id 0, writer 5, so many packets of 6 bytes with the text "in". */
static size_t make_inline(uint8_t *chunk, uint16_t packets)
{
	size_t len = 8;

	memset(chunk, 0, 8);
	chunk[4] = 5;
	memcpy(chunk + 6, &packets, 2);
	for (int i = 0; i < packets; i++, len += 6)
		memcpy(chunk + len, "\x05\xa2\x38\x02in", 6);
	return len;
}

STAGE_TEST(last_packet_of_an_incomplete_one_is_not_counted_on)
{
	uint8_t chunk[64];

	assert_true(commit_inline(g, chunk, make_inline(chunk, 3), true));
	assert_int_equal(stage_count(g, "in"), 2);
	assert_true(commit_inline(g, chunk, make_inline(chunk, 3), false));
	assert_int_equal(stage_count(g, "in"), 1);
}

/* ---- patches ---- */

static bool patch(struct stage *g, uint32_t buffer, uint32_t writer, size_t n, size_t size,
		  uint32_t offset, bool more)
{
	struct pb_mem m;

	assert_int_equal(pb_mem_init(&m), 0);
	pb_enc_open(&m.enc, PB_COMMIT_DATA_REQUEST_CHUNKS_TO_PATCH);
	pb_enc_u64(&m.enc, PB_COMMIT_DATA_REQUEST_CHUNK_TO_PATCH_TARGET_BUFFER, buffer);
	pb_enc_u64(&m.enc, PB_COMMIT_DATA_REQUEST_CHUNK_TO_PATCH_WRITER_ID, writer);
	pb_enc_u64(&m.enc, PB_COMMIT_DATA_REQUEST_CHUNK_TO_PATCH_CHUNK_ID, 0);
	for (size_t i = 0; i < n; i++) {
		pb_enc_open(&m.enc, PB_COMMIT_DATA_REQUEST_CHUNK_TO_PATCH_PATCHES);
		pb_enc_u64(&m.enc, PB_COMMIT_DATA_REQUEST_CHUNK_TO_PATCH_PATCH_OFFSET, offset);
		pb_enc_bytes(&m.enc, PB_COMMIT_DATA_REQUEST_CHUNK_TO_PATCH_PATCH_DATA, "abcdefgh",
			     size);
		pb_enc_close(&m.enc);
	}
	if (more)
		pb_enc_bool(&m.enc, PB_COMMIT_DATA_REQUEST_CHUNK_TO_PATCH_HAS_MORE_PATCHES, true);
	pb_enc_close(&m.enc);
	return peer_accepted(g->prod, peer_call_mem(g->prod, P_COMMIT, &m));
}

/* A chunk with the packet "0000", to be patched. */
static void write_unpatched(struct stage *g)
{
	struct smb_chunk_header h = {.writer_id = 1};
	struct smb_chunk c;

	assert_true(smb_partition(&g->s.smb, 0, SMB_DIV1));
	assert_true(smb_acquire_free(&g->s.smb, 0, 0, &h, &c));
	memcpy(c.payload,
	       "\x07\xa2\x38\x04"
	       "0000",
	       8);
	smb_header_store_packets(c.header, 1, SMB_NEEDS_PATCHING);
	assert_true(smb_release_complete(&g->s.smb, 0, 0));
	assert_true(peer_accepted(g->prod, peer_commit(g->prod, 0, 0, g->s.buffer, 0)));
}

STAGE_TEST(chunk_waits_for_its_last_patch)
{
	write_unpatched(g);
	assert_int_equal(stage_count(g, "0000"), 0);
	assert_true(patch(g, g->s.buffer, 1, 1, 4, 4, true));
	assert_int_equal(stage_count(g, "abcd"), 0);
	assert_true(patch(g, g->s.buffer, 1, 1, 4, 4, false));
	assert_int_equal(stage_count(g, "abcd"), 1);
	assert_int_equal(stage_stats(g, 0)->patches_succeeded, 2);
}

STAGE_TEST(patches_that_make_no_sense_are_counted)
{
	const struct producers *p = g->rig.producers;

	write_unpatched(g);
	assert_true(patch(g, 99, 1, 2, 4, 4, false)); /* buffer */
	assert_int_equal(p->patches_discarded, 2);
	assert_true(patch(g, g->s.buffer, 0, 1, 4, 4, false)); /* writers */
	assert_true(patch(g, g->s.buffer, 32768, 1, 4, 4, false));
	assert_int_equal(p->patches_discarded, 4);
	assert_true(patch(g, g->s.buffer, 1, 1, 3, 4, true)); /* sizes */
	assert_true(patch(g, g->s.buffer, 1, 1, 5, 4, true));
	assert_int_equal(p->patches_discarded, 6);
	assert_int_equal(stage_stats(g, 0)->patches_failed, 0);
	assert_true(patch(g, g->s.buffer, 1, 1, 4, 5, false)); /* past the end */
	assert_true(patch(g, g->s.buffer, 2, 1, 4, 4, false)); /* no such chunk */
	assert_int_equal(stage_stats(g, 0)->patches_failed, 2);
	assert_int_equal(stage_stats(g, 0)->patches_succeeded, 0);
}

STAGE_TEST(more_patches_than_allowed_are_all_discarded)
{
	write_unpatched(g);
	assert_true(patch(g, g->s.buffer, 1, LIMIT_PATCHES_PER_CHUNK + 1, 4, 4, false));
	assert_int_equal(g->rig.producers->patches_discarded, LIMIT_PATCHES_PER_CHUNK + 1);
	assert_int_equal(stage_count(g, "abcd"), 0);
	assert_true(patch(g, g->s.buffer, 1, LIMIT_PATCHES_PER_CHUNK, 4, 4, false));
	assert_int_equal(stage_stats(g, 0)->patches_succeeded, LIMIT_PATCHES_PER_CHUNK);
	assert_int_equal(stage_count(g, "abcd"), 1);
}
