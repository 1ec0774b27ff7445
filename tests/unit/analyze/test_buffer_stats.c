/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/buffer_stats.h"
#include "unit/message_text.h"

static struct service_stats s;

#define decode(...)                                                                                \
	({                                                                                         \
		struct pb_mem m_;                                                                  \
		bool ok_;                                                                          \
		message_make(&m_, "TraceStats", __VA_ARGS__);                                      \
		ok_ = buffer_stats_decode(m_.buf, pb_mem_len(&m_), &s);                            \
		pb_mem_deinit(&m_);                                                                \
		ok_;                                                                               \
	})

TEST(every_counter_has_its_member)
{
	assert_true(
		decode("buffer_stats { bytes_written: 1 chunks_overwritten: 2 patches_failed: 3 "
		       "abi_violations: 4 buffer_size: 0x10000000000 bytes_overwritten: 6 "
		       "chunks_discarded: 7 trace_writer_packet_loss: 8 } buffer_stats { } "
		       "chunks_discarded: 9 patches_discarded: 10 invalid_packets: 11 "
		       "filter_stats { errors: 13 } flushes_failed: 12 final_flush_outcome: 2"));
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
	/* Nothing of an earlier message remains. */
	assert_true(buffer_stats_decode(NULL, 0, &s));
	assert_int_equal(s.n_buffers, 0);
	assert_int_equal(s.invalid_packets, 0);
}

TEST(buffers_past_the_limit_are_left_out)
{
	struct strbuf text = {0};

	for (int i = 0; i < BUFFER_STATS_MAX + 3; i++)
		strbuf_puts(&text, "buffer_stats { } ");
	assert_true(decode("%s invalid_packets: 1", text.s));
	assert_int_equal(s.n_buffers, BUFFER_STATS_MAX);
	assert_int_equal(s.invalid_packets, 1);
	strbuf_deinit(&text);
}

TEST(invalid_messages_are_refused)
{
	static const uint8_t cut_short[] = {0x0a, 0x05, 0x08, 0x01}; /* buffer_stats of 5 bytes */

	assert_false(buffer_stats_decode(cut_short, sizeof(cut_short), &s));
	assert_false(decode("buffer_stats: '\\x08' invalid_packets: 7")); /* a tag, no value */
	assert_int_equal(s.invalid_packets, 7); /* what could be read counts */
	assert_false(decode("buffer_stats: 7"));
}

TEST(departures_and_the_reason_of_the_end_are_read)
{
	struct strbuf text = {0};

	for (unsigned i = 0; i < DEPARTURE_STATS_MAX + 1; i++)
		strbuf_printf(
			&text,
			"departures { data_source_name: 'linux.ftrace' producer_name: 'a\\x1b[31m' "
			"producer_pid: 7 gone_boot_ns: %u back_boot_ns: 200 times: 3 } ",
			100 + i);
	assert_true(decode("%s end_reason: 'duration reached'", text.s));
	assert_int_equal(s.n_departures, DEPARTURE_STATS_MAX);
	assert_string_equal(s.departures[0].source, "linux.ftrace");
	assert_string_equal(s.departures[0].producer, "a?[31m");
	assert_int_equal(s.departures[0].pid, 7);
	assert_int_equal(s.departures[1].gone_ns, 101);
	assert_int_equal(s.departures[0].back_ns, 200);
	assert_int_equal(s.departures[0].times, 3);
	assert_string_equal(s.end_reason, "duration reached");
	strbuf_deinit(&text);
}
