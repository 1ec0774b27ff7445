/* SPDX-License-Identifier: Apache-2.0 */
#include "config/limits.h"
#include "unit/test.h"
#define STAGE_SETUP setup
#include "service/ipc/limits.h"
#include "unit/service/rig.h"

#define CONFIG "buffers { size_kb: 16384 } data_sources { config { name: 'src' } }"

static int setup(void **state)
{
	struct stage *g = stage_new(0, false);

	stage_start(g, CONFIG);
	*state = g;
	return 0;
}

/* Commits one packet of `size` bytes of text, over as many chunks as it takes. */
static void write_big(struct stage *g, uint16_t writer, size_t size, char fill)
{
	size_t head = 2 + pb_varint_len(size), left = head + size, len;
	uint8_t *packet = malloc(left), *from = packet, *to;
	struct smb_chunk_header h = {.writer_id = writer};
	struct smb_chunk c;

	assert_non_null(packet);
	to = pb_put_varint(packet, pb_tag(PEER_FIELD, PB_WIRE_BYTES));
	pb_put_varint(to, size);
	memset(packet + head, fill, size);
	for (; left > 0; left -= len, from += len, h.chunk_id++) {
		len = left < 4000 ? left : 4000;
		assert_true(smb_partition(&g->s.smb, 0, SMB_DIV1));
		assert_true(smb_acquire_free(&g->s.smb, 0, 0, &h, &c));
		pb_put_varint4(c.payload, (uint32_t)len);
		memcpy(c.payload + 4, from, len);
		smb_header_store_packets(c.header, 1,
					 (uint8_t)((from > packet ? SMB_CONTINUES_FROM_PREV : 0) |
						   (left > len ? SMB_CONTINUES_ON_NEXT : 0)));
		assert_true(smb_release_complete(&g->s.smb, 0, 0));
		assert_true(peer_accepted(g->prod, peer_commit(g->prod, 0, 0, g->s.buffer, 0)));
	}
	free(packet);
}

STAGE_TEST(small_trace_is_one_reply)
{
	stage_write(g, 0, 1, 0, "a");
	stage_read(g);
	assert_int_equal(g->got.n_replies, 1);
	assert_int_equal(peer_count_text(&g->got, "a"), 1);
}

STAGE_TEST(a_pass_without_packets_sends_nothing)
{
	for (uint32_t i = 0; i < 30; i++)
		stage_write_empty(g, i, 1, i, 1000);
	stage_write(g, 30, 1, 30, "text");
	stage_read(g);
	assert_int_equal(peer_count_text(&g->got, "text"), 1);
	assert_in_range(g->got.n_replies, 1,
			2); /* what the service says, in a pass that found no more */
}

STAGE_TEST(large_trace_comes_in_batches)
{
	const char *text = stage_text('x', 3500);

	stage_write_many(g, 100, 64, text);
	stage_read(g);
	assert_int_equal(peer_count_text(&g->got, text), 100);
	assert_in_range(g->got.n_replies, 100 * 3500 / READ_BATCH_BYTES,
			100 * 3500 / READ_BATCH_BYTES + 2);
}

/* Slices, packets and replies all end at sizes of their own. */
STAGE_TEST(packets_of_all_sizes_are_whole)
{
	static const size_t sizes[] = {1,	   127,	       128,	16383,
				       16384,	   130400,     130530,	130540,
				       130550,	   130560,     130570,	131000,
				       2 * 130560, 500000,     1000000, LARGE_PACKET_BYTES,
				       3000000,	   10 * 130560};
	struct pb_field f;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		write_big(g, (uint16_t)(i + 1), sizes[i], (char)('a' + i));
		stage_read(g);
		assert_int_equal(peer_find_packet(&g->got, 0, PEER_FIELD) >= 0, 1);
		peer_packet_field(&g->got, (size_t)peer_find_packet(&g->got, 0, PEER_FIELD),
				  PEER_FIELD, &f);
		assert_int_equal(f.len, sizes[i]);
		for (size_t b = 0; b < f.len; b++)
			if (f.data[b] != 'a' + i)
				fail_msg("packet %zu differs at %zu", i, b);
	}
}

STAGE_TEST(slow_reader_holds_one_batch)
{
	struct ipc_conn *conn = rig_consumer_port(rig_session(&g->rig))->conn;
	const char *text = stage_text('y', 3500);
	uint64_t id;

	stage_write_many(g, 2000, 64, text);
	id = peer_call(g->cons, C_READ, NULL, 0);
	for (int i = 0; i < 200; i++)
		rig_pump(&g->rig); /* the replies are not read */
	assert_true(ipc_conn_queued(conn) > 0);
	assert_true(ipc_conn_queued(conn) <= 2 * READ_BATCH_BYTES);
	assert_true(peer_read_replies(g->cons, id, &g->got));
	assert_int_equal(peer_count_text(&g->got, text), 2000);
}

/* Its size is the producer's choice, and not the reader's. */
STAGE_TEST(slow_reader_holds_a_piece_of_a_large_packet)
{
	struct ipc_conn *conn = rig_consumer_port(rig_session(&g->rig))->conn;
	uint64_t id;

	write_big(g, 1, 5000000, 'x');
	stage_write(g, 0, 2, 0, "after");
	id = peer_call(g->cons, C_READ, NULL, 0);
	for (int i = 0; i < 200; i++)
		rig_pump(&g->rig); /* the replies are not read */
	assert_true(ipc_conn_queued(conn) > 0);
	assert_true(ipc_conn_queued(conn) <= 2 * LARGE_PACKET_BYTES);
	assert_true(peer_read_replies(g->cons, id, &g->got));
	assert_int_equal(peer_count_text(&g->got, "after"), 1);
	assert_int_equal(g->rig.quota->held[QUOTA_CONN_BYTES] < LARGE_PACKET_BYTES, true);
}

STAGE_TEST(large_packet_without_a_share_is_dropped_and_no_other)
{
	struct quota *q = g->rig.quota;
	struct pb_field f;

	write_big(g, 1, 5000000, 'x');
	stage_write(g, 0, 2, 0, "after");
	q->limits[QUOTA_CONN_BYTES] = (struct quota_limit){4 << 20, 4 << 20, 4 << 20};
	stage_read(g);
	assert_int_equal(peer_count_text(&g->got, "after"), 1);
	for (size_t i = 0; i < g->got.n; i++)
		assert_false(peer_packet_field(&g->got, i, PEER_FIELD, &f) && f.len == 5000000);
	assert_int_equal(q->refused[QUOTA_CONN_BYTES], 1);
}

STAGE_TEST(others_have_their_turn_meanwhile)
{
	const char *text = stage_text('z', 3500);
	uint64_t id;

	stage_write_many(g, 500, 64, text);
	id = peer_call(g->cons, C_READ, NULL, 0);
	rig_pump(&g->rig);
	assert_true(peer_accepted(g->prod, peer_call(g->prod, P_SYNC, NULL, 0)));
	assert_true(peer_read_replies(g->cons, id, &g->got));
	assert_int_equal(peer_count_text(&g->got, text), 500);
}

STAGE_TEST(second_read_rejects_the_first)
{
	uint64_t first, second;
	const char *text = stage_text('w', 3500);

	stage_write_many(g, 500, 64, text);
	first = peer_call(g->cons, C_READ, NULL, 0);
	second = peer_call(g->cons, C_READ, NULL, 0);
	do
		assert_true(peer_reply(g->cons, first));
	while (g->cons->f.success);
	assert_true(peer_read_replies(g->cons, second, &g->got));
}

STAGE_TEST(freeing_the_buffers_rejects_the_read)
{
	uint64_t read, end;
	const char *text = stage_text('v', 3500);

	stage_write_many(g, 500, 64, text);
	read = peer_call(g->cons, C_READ, NULL, 0);
	end = peer_call(g->cons, C_FREE, NULL, 0);
	do
		assert_true(peer_next(g->cons));
	while (g->cons->f.request_id == read && g->cons->f.success);
	assert_int_equal(g->cons->f.request_id, end);
	assert_true(peer_rejected(g->cons, read));
}

STAGE_TEST(reader_that_hangs_up_ends_quietly)
{
	stage_write_many(g, 100, 64, "u");
	peer_call(g->cons, C_READ, NULL, 0);
	rig_hang_up(&g->rig, g->cons);
	g->cons = NULL;
	assert_true(peer_command(g->prod, g->stream, CMD(STOP_DATA_SOURCE), &(struct pb_field){0}));
}
