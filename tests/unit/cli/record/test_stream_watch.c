// SPDX-License-Identifier: Apache-2.0
#include "unit/test.h"
#include "cli/record/progress.c"

#define BUFFER (32u << 20)

static struct stream_watch watch;
static char text[STREAM_WATCH_TEXT];

static int setup(void **state)
{
	memset(&watch, 0, sizeof(watch));
	return 0;
}

/* A second later so many bytes have come, and so many have left. */
static bool note_stalled(uint64_t written, uint64_t read, uint64_t lost, uint64_t stalled_ms)
{
	Pb__TraceStats__BufferStats buffer = PB__TRACE_STATS__BUFFER_STATS__INIT;
	Pb__TraceStats__BufferStats *buffers[] = {&buffer};
	Pb__TraceStats stats = PB__TRACE_STATS__INIT;

	buffer.bytes_written = written;
	buffer.bytes_read = read;
	buffer.chunks_overwritten = lost;
	stats.n_buffer_stats = 1;
	stats.buffer_stats = buffers;
	stats.has_file_stalled_ms = true;
	stats.file_stalled_ms = stalled_ms;
	text[0] = '\0';
	return stream_watch_note(&watch, &stats, BUFFER, text);
}

static bool note(uint64_t written, uint64_t read, uint64_t lost)
{
	return note_stalled(written, read, lost, 0);
}

#define FIXTURE_TEST(name) TEST_WITH(name, setup, NULL)

FIXTURE_TEST(test_a_file_that_keeps_up_is_no_message)
{
	assert_false(note(0, 0, 0));
	assert_false(note(1000, 0, 0));
	assert_false(note(50 << 20, (50 << 20) - 1000, 0));
	assert_false(note(50 << 20, 50 << 20, 0));
	assert_false(note(50 << 20, 50 << 20, 0));
}

FIXTURE_TEST(test_one_that_falls_behind_is_told_once_and_that_it_came_back)
{
	assert_false(note(1 << 20, 1 << 20, 0));
	assert_true(note(21 << 20, 2 << 20, 0));
	assert_string_equal(
		text, "the output accepts data too slowly: 19 MiB wait in the service's buffer");
	assert_false(note(30 << 20, 3 << 20, 0));
	assert_false(note(30 << 20, 20 << 20, 0));
	assert_true(note(30 << 20, 29 << 20, 0));
	assert_string_equal(text, "the output accepts data again");
	assert_false(note(30 << 20, 30 << 20, 0));
}

FIXTURE_TEST(test_one_that_takes_nothing_is_told_however_little_waits)
{
	assert_false(note(1000, 1000, 0));
	assert_false(note_stalled(2000, 1000, 0, 1000));
	assert_false(note_stalled(3000, 1000, 0, 2000));
	assert_true(note_stalled(4000, 1000, 0, 3000));
	assert_string_equal(text,
			    "the output accepts no data: 2.93 KiB wait in the service's buffer");
	assert_false(note_stalled(5000, 1000, 0, 4000));
	assert_true(note(5000, 5000, 0));
}

FIXTURE_TEST(test_a_packet_whose_end_was_not_committed_is_no_stalled_output)
{
	assert_false(note(1000, 1000, 0));
	for (int s = 0; s < 10; s++)
		assert_false(note(40000, 1000, 0));
}

FIXTURE_TEST(test_each_loss_is_told)
{
	assert_true(note(64 << 20, 10 << 20, 5));
	assert_non_null(strstr(text, "and data is lost"));
	assert_false(note(65 << 20, 11 << 20, 5));
	assert_true(note(66 << 20, 12 << 20, 6));
}
