/* SPDX-License-Identifier: Apache-2.0 */
/* With rings: test_ftrace_source.c. */

#include "ftrace/session/session_stats.h"
#include "unit/ftrace/fake_tracefs.h"
#include "unit/ftrace/packets.h"

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

FIXTURE_TEST(stats_are_written_if_they_are_new)
{
	session_stats_begin(&stats, &s, w);
	assert_int_equal(w->packets, 0);
	for (unsigned i = 0; i < 2; i++) {
		session_stats_write(&stats, &s, w, false);
		assert_int_equal(packets_count(w, "ftrace_stats"),
				 2); /* of the start and of the end */
	}
	session_stats_write(&stats, &s, w, true);
	assert_int_equal(packets_count(w, "ftrace_stats"), 4);
	setup_error_add(&s.errors, "option:x (y)");
	session_stats_write(&stats, &s, w, false);
	assert_int_equal(packets_count(w, "ftrace_stats"), 6);
}

FIXTURE_TEST(symbols_that_are_late_are_in_the_stats_of_both_phases)
{
	session_stats_begin(&stats, &s, w);
	s.extra.ksyms_parsed = 7;
	session_stats_write(&stats, &s, w, false);
	assert_int_equal(packets_count(w, "phase: 1") + packets_count(w, "phase: 2"), 2);
	assert_int_equal(packets_count(w, "kernel_symbols_parsed: 7"), 2);
}

FIXTURE_TEST(preserved_rings_are_reported_at_the_start)
{
	s.settings.preserve = true;
	session_stats_begin(&stats, &s, w);
	assert_string_equal(packets_text(w),
			    "ftrace_stats { phase: 1 preserve_ftrace_buffer: 1 }\n");
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

FIXTURE_TEST(hits_of_the_probes_of_this_session)
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

FIXTURE_TEST(profiles_that_do_not_match_the_list_of_probes)
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
