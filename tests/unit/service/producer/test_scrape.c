/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/test.h"
#define STAGE_SETUP setup
#include "unit/service/rig.h"

static int setup(void **state)
{
	struct stage *g = stage_new(0, true);

	stage_start(g, STAGE_CONFIG);
	assert_true(peer_accepted(g->prod, peer_register_writer(g->prod, 1, g->s.buffer)));
	*state = g;
	return 0;
}

static const char *const texts[] = {"one", "two", "three"};

static void scrape(struct stage *g)
{
	session_scrape(rig_session(&g->rig));
}

STAGE_TEST(last_packet_comes_with_the_commit)
{
	peer_write_chunk(&g->s.smb, 2, 1, 0, texts, 3, false);
	scrape(g);
	scrape(g);
	stage_read(g);
	assert_int_equal(peer_count_text(&g->got, "one") + peer_count_text(&g->got, "two"), 2);
	assert_int_equal(peer_count_text(&g->got, "three"), 0);
	assert_true(smb_release_complete(&g->s.smb, 2, 0));
	assert_true(peer_accepted(g->prod, peer_commit(g->prod, 2, 0, g->s.buffer, 0)));
	stage_read(g);
	assert_int_equal(peer_count_text(&g->got, "one") + peer_count_text(&g->got, "two"), 0);
	assert_int_equal(peer_count_text(&g->got, "three"), 1);
}

STAGE_TEST(one_begun_packet_is_not_taken)
{
	peer_write_chunk(&g->s.smb, 0, 1, 0, texts, 1, false);
	scrape(g);
	assert_int_equal(stage_stats(g, 0)->chunks_written, 0);
}

/* A writer that has ended a packet counts one more, so that the packet is read before the next one. */
STAGE_TEST(ended_packet_of_an_open_chunk_is_taken)
{
	peer_write_chunk(&g->s.smb, 0, 1, 0, texts, 1, false);
	smb_header_store_packets(smb_chunk_at(&g->s.smb, 0, SMB_DIV1, 0).header, 2, 0);
	scrape(g);
	assert_int_equal(stage_count(g, "one"), 1);
	assert_true(smb_release_complete(&g->s.smb, 0, 0));
	assert_true(peer_accepted(g->prod, peer_commit(g->prod, 0, 0, g->s.buffer, 0)));
	assert_int_equal(stage_count(g, "one"), 0);
	assert_int_equal(stage_stats(g, 0)->abi_violations, 0);
}

STAGE_TEST(complete_chunk_is_taken_whole)
{
	peer_write_chunk(&g->s.smb, 0, 1, 0, texts, 1, true);
	scrape(g);
	assert_int_equal(stage_count(g, "one"), 1);
	assert_int_equal(smb_word_state(smb_load_word(&g->s.smb, 0), 0), SMB_COMPLETE);
	/* The commit that comes later brings nothing new. */
	assert_true(peer_accepted(g->prod, peer_commit(g->prod, 0, 0, g->s.buffer, 0)));
	assert_int_equal(stage_count(g, "one"), 0);
}

STAGE_TEST(unregistered_writer_is_not_scraped)
{
	peer_write_chunk(&g->s.smb, 0, 2, 0, texts, 3, false);
	scrape(g);
	assert_int_equal(stage_stats(g, 0)->chunks_written, 0);
	assert_true(peer_accepted(g->prod, peer_register_writer(g->prod, 2, 999)));
	scrape(g);
	assert_int_equal(stage_stats(g, 0)->chunks_written, 0);
	assert_true(peer_accepted(g->prod, peer_register_writer(g->prod, 2, g->s.buffer)));
	scrape(g);
	assert_int_equal(stage_count(g, "one"), 1);
}

STAGE_TEST(buffer_of_another_session_is_left_for_it)
{
	struct peer *second = rig_consumer(&g->rig);
	struct session *first = rig_session(&g->rig);

	peer_enable(second, STAGE_CONFIG);
	assert_true(peer_await_session(g->prod, g->stream, true, &g->s));
	assert_true(peer_accepted(g->prod, peer_register_writer(g->prod, 2, g->s.buffer)));
	peer_write_chunk(&g->s.smb, 0, 2, 0, texts, 3, false);
	session_scrape(first);
	assert_int_equal(stage_stats(g, 0)->chunks_written, 0);
	session_scrape(rig_session(&g->rig));
	assert_int_equal(stage_stats(g, 0)->chunks_written, 1);
	rig_hang_up(&g->rig, second);
}

/* ---- what scrapes: a flush, also one that fails, a producer that leaves, the end of the session ---- */

static void flush_in_time(struct stage *g)
{
	uint64_t call = peer_call(g->cons, C_FLUSH, NULL, 0);
	struct pb_field f;

	assert_true(peer_command(g->prod, g->stream, CMD(FLUSH), &f));
	stage_ack_flush(g, &f);
	assert_true(peer_accepted(g->cons, call));
}

/* A producer that hangs commits no chunks, so scraping is the only way to them. */
static void flush_without_answer(struct stage *g)
{
	struct pb_mem m;

	assert_int_equal(pb_mem_init(&m), 0);
	pb_enc_u64(&m.enc, PB_FLUSH_REQUEST_TIMEOUT_MS, 10);
	assert_true(peer_rejected(g->cons, peer_call_mem(g->cons, C_FLUSH, &m)));
}

TEST(what_was_written_is_saved)
{
	static void (*const ways[])(struct stage * g) = {flush_in_time, flush_without_answer,
							 stage_hang_up_producer, stage_disable};

	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		void *made;
		struct stage *g;

		setup(&made);
		g = made;
		peer_write_chunk(&g->s.smb, 5, 1, 0, texts, 3, false);
		ways[i](g);
		stage_read(g);
		assert_int_equal(peer_count_text(&g->got, "one"), 1);
		assert_int_equal(peer_count_text(&g->got, "two"), 1);
		assert_int_equal(peer_count_text(&g->got, "three"), 0);
		stage_free(g);
	}
}

TEST(producers_are_scraped_only_if_they_ask)
{
	struct stage *g = stage_new(0, false);

	stage_start(g, STAGE_CONFIG);
	assert_true(peer_accepted(g->prod, peer_register_writer(g->prod, 1, g->s.buffer)));
	peer_write_chunk(&g->s.smb, 0, 1, 0, texts, 3, true);
	scrape(g);
	assert_int_equal(stage_stats(g, 0)->chunks_written, 0);
	stage_free(g);
}
