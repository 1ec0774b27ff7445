// SPDX-License-Identifier: Apache-2.0
#include "unit/test.h"

#include <limits.h>
#include <sys/stat.h>

#include "unit/temp_dir.h"
#include "cli/record/progress.c"

static void check(struct progress p, const char *expected)
{
	char buf[PROGRESS_MAX];

	assert_string_equal(progress_format(&p, buf), expected);
}

TEST(test_what_is_known_is_shown)
{
	check((struct progress){0}, "  0 s");
	check((struct progress){.elapsed_ms = 12999},
	      "  13 s"); /* ticks come a little late or early */
	check((struct progress){.elapsed_ms = 12499}, "  12 s");
	check((struct progress){.elapsed_ms = 1000, .duration_ms = 1500}, "  1 s of 1.5 s");
	check((struct progress){.elapsed_ms = 2000, .has_bytes = true, .bytes = 21400000},
	      "  2 s   20.4 MiB");
	check((struct progress){.elapsed_ms = 2000,
				.duration_ms = 60000,
				.has_bytes = true,
				.bytes = 21400000,
				.has_events = true,
				.events = 1204331,
				.lost = 0},
	      "  2 s of 60 s   1,204,331 events   20.4 MiB   0 lost");
	check((struct progress){.elapsed_ms = 2000,
				.has_events = true,
				.events = 1204331,
				.rate = 98112,
				.has_fill = true,
				.fill = 12,
				.lost = 7},
	      "  2 s   1,204,331 events (98,112/s)   buffers 12%   7 lost");
}

TEST(test_the_largest_numbers_fit)
{
	struct progress p = {UINT64_MAX, UINT64_MAX, true,	 UINT64_MAX, true,
			     UINT64_MAX, UINT64_MAX, UINT64_MAX, true,	     UINT_MAX};
	char buf[PROGRESS_MAX];

	progress_format(&p, buf);
	assert_non_null(strstr(buf, "18,446,744,073,709,551,615 lost"));
}

static Pb__TraceConfig__BufferConfig one_buffer = PB__TRACE_CONFIG__BUFFER_CONFIG__INIT;
static Pb__TraceStats__BufferStats one_stats = PB__TRACE_STATS__BUFFER_STATS__INIT;

/* After 10 s of 60. */
TEST(test_a_buffer_that_is_nearly_full_is_told_once_with_the_size_that_would_do)
{
	Pb__TraceConfig__BufferConfig *buffers[] = {&one_buffer};
	Pb__TraceStats__BufferStats *list[] = {&one_stats};
	Pb__TraceConfig config = PB__TRACE_CONFIG__INIT;
	Pb__TraceStats stats = PB__TRACE_STATS__INIT;
	struct recording_progress p = {0};
	struct recording_setup setup = {.config = &config};
	struct strbuf note = {0};

	config.n_buffers = stats.n_buffer_stats = 1;
	config.buffers = buffers;
	config.duration_ms = 60000;
	stats.buffer_stats = list;
	one_buffer.fill_policy = PB__TRACE_CONFIG__BUFFER_CONFIG__FILL_POLICY__RING_BUFFER;
	one_stats.buffer_size = 12u << 20;
	one_stats.bytes_written = 100u << 17;
	one_stats.bytes_read = 5u << 17; /* 11.9 of 12 MiB are in use */
	assert_false(recording_progress_note(&p, &setup, &stats, 10000, &note));
	one_buffer.fill_policy = PB__TRACE_CONFIG__BUFFER_CONFIG__FILL_POLICY__DISCARD;
	one_stats.bytes_read += 3u << 20;
	assert_false(recording_progress_note(&p, &setup, &stats, 10000, &note));
	one_stats.bytes_read = 5u << 17;
	assert_true(recording_progress_note(&p, &setup, &stats, 10000, &note));
	assert_string_equal(note.s, "buffer 0 (12 MiB) is 98% full, and data that finds no room is "
				    "discarded; size_kb: 131072 would do");
	assert_false(recording_progress_note(&p, &setup, &stats, 11000, &note));
	recording_progress_note_stats(&p, NULL, &stats);
	assert_int_equal(p.buffer_fill, 98);
	strbuf_deinit(&note);
}

static void write_ring_file(void *const *state, const char *name, const char *text)
{
	FILE *f = fopen(temp_dir_path(state, 0, name), "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

/* The size and the words of the summary. */
TEST_WITH(test_rings_that_lose_events_are_told_with_the_size_of_now, temp_dir_setup,
	  temp_dir_teardown)
{
	Pb__TraceStats stats = PB__TRACE_STATS__INIT;
	Pb__TraceConfig config = PB__TRACE_CONFIG__INIT;
	struct recording_setup setup = {.config = &config, .from_words = true};
	struct recording_progress p = {.instance = *state};
	struct strbuf note = {0};

	assert_int_equal(mkdir(temp_dir_path(state, 0, "per_cpu"), 0700), 0);
	assert_int_equal(mkdir(temp_dir_path(state, 0, "per_cpu/cpu0"), 0700), 0);
	write_ring_file(state, "per_cpu/cpu0/stats", "overrun: 0\n");
	write_ring_file(state, "per_cpu/cpu0/buffer_size_kb", "12\n");
	assert_false(recording_progress_note(&p, &setup, &stats, 1000, &note));
	write_ring_file(state, "per_cpu/cpu0/stats", "overrun: 5000\n");
	assert_true(recording_progress_note(&p, &setup, &stats, 2000, &note));
	assert_string_equal(note.s, "the kernel's rings have lost 5,000 events so far; "
				    "try -B 1mb or fewer events");
	assert_false(recording_progress_note(&p, &setup, &stats, 3000, &note));
	p.told_ring = setup.from_words = false;
	strbuf_clear(&note);
	assert_true(recording_progress_note(&p, &setup, &stats, 4000, &note));
	assert_non_null(strstr(note.s, "try buffer_size_kb: 1024 in ftrace_config"));
	strbuf_deinit(&note);
}
