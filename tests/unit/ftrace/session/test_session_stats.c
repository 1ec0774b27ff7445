/* SPDX-License-Identifier: Apache-2.0 */
/* With rings: test_ftrace_source.c. */

#include "ftrace/session/session_stats.h"
#include "unit/ftrace/fake_tracefs.h"
#include "unit/ftrace/fake_writer.h"

static struct ftrace_session s;
static struct session_stats stats;
static struct writer *w;

SETUP
{
	s = (struct ftrace_session){0};
	stats = (struct session_stats){0};
	fake_root_new();
	w = fake_writer_new(4096);
}

TEARDOWN
{
	session_stats_deinit(&stats);
	dynevents_destroy(&s.made);
	setup_errors_deinit(&s.errors);
	writer_free(w);
	fake_root_remove();
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

FIXTURE_TEST(test_stats_are_written_if_they_are_new)
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

FIXTURE_TEST(test_symbols_that_are_late)
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

FIXTURE_TEST(test_preserved_rings_are_reported_at_the_start)
{
	uint64_t value;

	s.settings.preserve = true;
	session_stats_begin(&stats, &s, w);
	assert_int_equal(
		read_stats(FTRACE_STATS_START, PB_FTRACE_STATS_PRESERVE_FTRACE_BUFFER, &value), 1);
	assert_int_equal(value, 1);
}

/* ---- probes ---- */

static void make_probe(enum dynevent_type type, const char *name)
{
	assert_int_equal(dynevents_create(&s.made, fake_root,
					  &(struct dynevent){.type = type,
							     .group = (char *)"ours",
							     .name = (char *)name,
							     .repr = {"mine", name, 0}},
					  ""),
			 0);
}

static void make_probes(void)
{
	fake_text("kprobe_events", "");
	fake_text("uprobe_events", "");
	make_probe(DYNEVENT_KPROBE, "read");
	make_probe(DYNEVENT_KPROBE, "write");
	make_probe(DYNEVENT_UPROBE, "main");
}

static void check_probe(size_t n, uint64_t hits, uint64_t misses)
{
	assert_int_equal(s.made.events[n]->hits, hits);
	assert_int_equal(s.made.events[n]->misses, misses);
}

static const char kprobe_events[] = "p:kprobes/read vfs_read\n"
				    "r1024:ours/read vfs_read ret=$retval\n"
				    "p:ours/write vfs_write\n"
				    "p:ours/write vfs_writev\n"
				    "p:other/write vfs_write\n";
static const char kprobe_profile[] = "  read                        100               1\n"
				     "  read                         17               2\n"
				     "  write                         3               0\n"
				     "  write                  5000000000             4\n"
				     "  write                       900               8\n";

FIXTURE_TEST(test_hits_of_the_probes_of_this_session)
{
	make_probes();
	fake_text("kprobe_events", kprobe_events);
	fake_text("kprobe_profile", kprobe_profile);
	fake_text("uprobe_events", "p:uprobes/main /bin/b:0x1\np:ours/main /bin/a:0x1 a=%di\n");
	fake_text("uprobe_profile", "  /bin/b main   5\n  /bin/a main    7\n");
	for (unsigned i = 0; i < 2; i++) { /* not summed up */
		session_stats_write(&stats, &s, w, true);
		check_probe(0, 17, 2);
		check_probe(1, 5000000003, 4);
		check_probe(2, 7, 0);
	}
}

FIXTURE_TEST(test_profiles_that_do_not_match_the_list_of_probes)
{
	static const char *const parsed[] = {
		"",
		"  read 1 1\n",
		"  read 1 1\n  read 1 1\n  read 1 1\n  write 1 1\n  write 1 1\n",
		"  read 1 1\n  read 1 1\n  write 1 1\n  write 1 1\n  write 1 1\n  more 1 1\n",
		"  read 1 1\n  read x 1\n  write 1 1\n  write 1 1\n  write 1 1\n",
		"nonsense",
	};

	make_probes();
	fake_text("kprobe_events", kprobe_events);
	fake_text("kprobe_profile", kprobe_profile);
	session_stats_write(&stats, &s, w, true);
	for (unsigned i = 0; i < ARRAY_SIZE(parsed); i++) {
		fake_text("kprobe_profile", parsed[i]);
		session_stats_write(&stats, &s, w, true);
		check_probe(0, 17, 2);
	}
	unlink(fake_path("kprobe_profile"));
	session_stats_write(&stats, &s, w, true);
	check_probe(0, 17, 2);
	fake_text("kprobe_events", "p:\n:\n/\n");
	fake_text("kprobe_profile", "a 1 1\nb 1 1\nc 1 1\n");
	session_stats_write(&stats, &s, w, true);
	check_probe(0, 17, 2);
}
