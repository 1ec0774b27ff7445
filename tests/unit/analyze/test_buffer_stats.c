/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/buffer_stats.h"
#include "gen/fields.h"
#include "unit/test.h"
#include "wire/pb_mem.h"

TEST(test_every_counter_finds_its_place)
{
	struct service_stats s;
	struct pb_mem m;
	struct pb_enc *e = &m.enc;

	assert_int_equal(pb_mem_init(&m), 0);
	pb_enc_open(e, PB_TRACE_STATS_BUFFER_STATS);
	pb_enc_u64(e, PB_TRACE_STATS_BUFFER_STATS_BYTES_WRITTEN, 1);
	pb_enc_u64(e, PB_TRACE_STATS_BUFFER_STATS_CHUNKS_OVERWRITTEN, 2);
	pb_enc_u64(e, PB_TRACE_STATS_BUFFER_STATS_PATCHES_FAILED, 3);
	pb_enc_u64(e, PB_TRACE_STATS_BUFFER_STATS_ABI_VIOLATIONS, 4);
	pb_enc_u64(e, PB_TRACE_STATS_BUFFER_STATS_BUFFER_SIZE, 1ull << 40);
	pb_enc_u64(e, PB_TRACE_STATS_BUFFER_STATS_BYTES_OVERWRITTEN, 6);
	pb_enc_u64(e, PB_TRACE_STATS_BUFFER_STATS_CHUNKS_DISCARDED, 7);
	pb_enc_u64(e, PB_TRACE_STATS_BUFFER_STATS_TRACE_WRITER_PACKET_LOSS, 8);
	pb_enc_close(e);
	pb_enc_open(e, PB_TRACE_STATS_BUFFER_STATS);
	pb_enc_close(e);
	pb_enc_u64(e, PB_TRACE_STATS_CHUNKS_DISCARDED, 9);
	pb_enc_u64(e, PB_TRACE_STATS_PATCHES_DISCARDED, 10);
	pb_enc_u64(e, PB_TRACE_STATS_INVALID_PACKETS, 11);
	pb_enc_open(e, PB_TRACE_STATS_FILTER_STATS);
	pb_enc_u64(e, PB_TRACE_STATS_FILTER_STATS_ERRORS, 13);
	pb_enc_close(e);
	pb_enc_u64(e, PB_TRACE_STATS_FLUSHES_FAILED, 12);
	pb_enc_u64(e, PB_TRACE_STATS_FINAL_FLUSH_OUTCOME, 2);

	assert_true(service_stats_decode(m.buf, pb_mem_len(&m), &s));
	assert_int_equal(s.n_buffers, 2);
	assert_int_equal(s.buffers[0].bytes_written, 1);
	assert_int_equal(s.buffers[0].chunks_overwritten, 2);
	assert_int_equal(s.buffers[0].patches_failed, 3);
	assert_int_equal(s.buffers[0].abi_violations, 4);
	assert_true(s.buffers[0].size == 1ull << 40);
	assert_int_equal(s.buffers[0].bytes_overwritten, 6);
	assert_int_equal(s.buffers[0].chunks_discarded, 7);
	assert_int_equal(s.buffers[0].writer_packet_loss, 8);
	assert_int_equal(s.buffers[1].size, 0);
	assert_int_equal(s.chunks_discarded, 9);
	assert_int_equal(s.patches_discarded, 10);
	assert_int_equal(s.invalid_packets, 11);
	assert_int_equal(s.filter_errors, 13);
	assert_int_equal(s.flushes_failed, 12);
	assert_true(s.final_flush_failed && !s.final_flush_succeeded);
	pb_mem_deinit(&m);
}

TEST(test_an_old_answer_is_forgotten)
{
	struct service_stats s = {.n_buffers = 5, .invalid_packets = 3};

	assert_true(service_stats_decode(NULL, 0, &s));
	assert_int_equal(s.n_buffers, 0);
	assert_int_equal(s.invalid_packets, 0);
}

TEST(test_buffers_past_the_limit_are_left_out)
{
	struct service_stats s;
	struct pb_mem m;
	int i;

	assert_int_equal(pb_mem_init(&m), 0);
	for (i = 0; i < BUFFER_STATS_MAX + 3; i++)
		pb_enc_bytes(&m.enc, PB_TRACE_STATS_BUFFER_STATS, "", 0);
	pb_enc_u64(&m.enc, PB_TRACE_STATS_INVALID_PACKETS, 1);
	assert_true(service_stats_decode(m.buf, pb_mem_len(&m), &s));
	assert_int_equal(s.n_buffers, BUFFER_STATS_MAX);
	assert_int_equal(s.invalid_packets, 1);
	pb_mem_deinit(&m);
}

TEST(test_broken_bytes_are_told)
{
	static const uint8_t cut_short[] = {0x0a, 0x05, 0x08, 0x01}; /* buffer_stats of 5 bytes */
	static const uint8_t cut_inside[] = {0x0a, 0x01, 0x08, 0x50, 0x07}; /* a tag, no value */
	static const uint8_t wrong_type[] = {0x08, 0x07}; /* buffer_stats as a varint */
	struct service_stats s;

	assert_false(service_stats_decode(cut_short, sizeof(cut_short), &s));
	assert_false(service_stats_decode(cut_inside, sizeof(cut_inside), &s));
	assert_int_equal(s.invalid_packets, 7); /* what could be read counts */
	assert_false(service_stats_decode(wrong_type, sizeof(wrong_type), &s));
}

TEST(test_who_went_away_and_why_it_ended)
{
	struct service_stats s;
	struct pb_mem m;
	struct pb_enc *e = &m.enc;

	assert_int_equal(pb_mem_init(&m), 0);
	for (unsigned i = 0; i < DEPARTURE_STATS_MAX + 1; i++) {
		pb_enc_open(e, PB_TRACE_STATS_DEPARTURES);
		pb_enc_str(e, PB_SOURCE_DEPARTURE_DATA_SOURCE_NAME, "linux.ftrace");
		pb_enc_str(e, PB_SOURCE_DEPARTURE_PRODUCER_NAME, "a\x1b[31m");
		pb_enc_i64(e, PB_SOURCE_DEPARTURE_PRODUCER_PID, 7);
		pb_enc_u64(e, PB_SOURCE_DEPARTURE_GONE_BOOT_NS, 100 + i);
		pb_enc_u64(e, PB_SOURCE_DEPARTURE_BACK_BOOT_NS, 200);
		pb_enc_u64(e, PB_SOURCE_DEPARTURE_TIMES, 3);
		pb_enc_close(e);
	}
	pb_enc_str(e, PB_TRACE_STATS_END_REASON, "duration reached");
	assert_true(service_stats_decode(m.buf, pb_mem_len(&m), &s));
	assert_int_equal(s.n_departures, DEPARTURE_STATS_MAX);
	assert_string_equal(s.departures[0].source, "linux.ftrace");
	assert_string_equal(s.departures[0].producer, "a?[31m");
	assert_int_equal(s.departures[0].pid, 7);
	assert_int_equal(s.departures[1].gone_ns, 101);
	assert_int_equal(s.departures[0].back_ns, 200);
	assert_int_equal(s.departures[0].times, 3);
	assert_string_equal(s.end_reason, "duration reached");
	pb_mem_deinit(&m);
}
