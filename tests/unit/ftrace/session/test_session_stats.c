// SPDX-License-Identifier: Apache-2.0
/* With rings: test_ftrace_ds.c. */

#include "unit/ftrace/fake_tracefs.h"
#include "unit/ftrace/fake_writer.h"
#include "ftrace/session/session_stats.h"

static struct ftrace_session s;
static struct session_stats stats;
static struct writer *w;

SETUP
{
	s = (struct ftrace_session){0};
	stats = (struct session_stats){0};
	w = fake_writer_new(4096);
}

TEARDOWN
{
	session_stats_deinit(&stats);
	setup_errors_deinit(&s.errors);
	writer_free(w);
}

/* Packets in the trace; the last value of a field in those of a phase, 0 without. */
static unsigned read_stats(uint64_t phase, uint32_t field, uint64_t *ret)
{
	struct pb_field packet, whole, f;
	struct pb_dec d, dp, ds;
	unsigned n = 0;

	*ret = 0;
	pb_dec_init(&d, w->begin, fake_writer_len(w));
	for (; pb_dec_next(&d, &packet); n++) {
		pb_dec_init(&dp, packet.data, packet.len);
		assert_true(pb_dec_next(&dp, &whole));
		assert_int_equal(whole.id, PB_TRACE_PACKET_FTRACE_STATS);
		pb_dec_init(&ds, whole.data, whole.len);
		assert_true(pb_dec_next(&ds, &f) && f.id == PB_FTRACE_STATS_PHASE);
		while (f.u64 == phase && pb_dec_next(&ds, &f)) {
			if (f.id == field)
				*ret = f.u64;
			f.u64 = phase;
		}
	}
	return n;
}

FIXTURE_TEST(test_what_is_new_is_told)
{
	uint64_t value;

	session_stats_begin(&stats, &s, w);
	assert_int_equal(fake_writer_len(w), 0);
	session_stats_write(&stats, &s, w, false);
	assert_int_equal(read_stats(0, 0, &value), 2);
	session_stats_write(&stats, &s, w, false);
	assert_int_equal(read_stats(0, 0, &value), 2);
	session_stats_write(&stats, &s, w, true);
	assert_int_equal(read_stats(0, 0, &value), 4);
	setup_error_add(&s.errors, "option:x (y)");
	session_stats_write(&stats, &s, w, false);
	assert_int_equal(read_stats(0, 0, &value), 6);
}

FIXTURE_TEST(test_symbols_that_came_late)
{
	uint64_t value;

	session_stats_begin(&stats, &s, w);
	s.extra.ksyms_parsed = 7;
	session_stats_write(&stats, &s, w, false);
	for (uint64_t phase = FTRACE_STATS_START; phase <= FTRACE_STATS_END; phase++) {
		read_stats(phase, PB_FTRACE_STATS_KERNEL_SYMBOLS_PARSED, &value);
		assert_int_equal(value, 7);
	}
}

FIXTURE_TEST(test_that_rings_were_preserved_is_told_at_once)
{
	uint64_t value;

	s.settings.preserve = true;
	session_stats_begin(&stats, &s, w);
	assert_int_equal(
		read_stats(FTRACE_STATS_START, PB_FTRACE_STATS_PRESERVE_FTRACE_BUFFER, &value), 1);
	assert_int_equal(value, 1);
}
