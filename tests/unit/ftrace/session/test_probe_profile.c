// SPDX-License-Identifier: Apache-2.0
#include "unit/ftrace/fake_tracefs.h"
#include "ftrace/session/session_stats.c"

static struct dynevents m;

static void make(enum dynevent_type type, const char *name)
{
	assert_int_equal(dynevents_create(&m, fake_root,
					  &(struct dynevent){.type = type,
							     .group = (char *)"ours",
							     .name = (char *)name,
							     .repr = {"mine", name, 0}},
					  ""),
			 0);
}

SETUP
{
	fake_root_new();
	fake_text("kprobe_events", "");
	fake_text("uprobe_events", "");
	make(DYNEVENT_KPROBE, "read");
	make(DYNEVENT_KPROBE, "write");
	make(DYNEVENT_UPROBE, "main");
}

TEARDOWN
{
	dynevents_destroy(&m);
	fake_root_remove();
}

static void check(size_t n, uint64_t hits, uint64_t misses)
{
	assert_int_equal(m.events[n]->hits, hits);
	assert_int_equal(m.events[n]->misses, misses);
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

FIXTURE_TEST(test_only_ours_count)
{
	fake_text("kprobe_events", kprobe_events);
	fake_text("kprobe_profile", kprobe_profile);
	fake_text("uprobe_events", "p:uprobes/main /bin/b:0x1\np:ours/main /bin/a:0x1 a=%di\n");
	fake_text("uprobe_profile", "  /bin/b main   5\n  /bin/a main    7\n");
	for (unsigned i = 0; i < 2; i++) { /* not summed up */
		probe_profile_read(&m);
		check(0, 17, 2);
		check(1, 5000000003, 4);
		check(2, 7, 0);
	}
}

FIXTURE_TEST(test_files_that_do_not_fit_together)
{
	static const char *const parsed[] = {
		"",
		"  read 1 1\n",
		"  read 1 1\n  read 1 1\n  read 1 1\n  write 1 1\n  write 1 1\n",
		"  read 1 1\n  read 1 1\n  write 1 1\n  write 1 1\n  write 1 1\n  more 1 1\n",
		"  read 1 1\n  read x 1\n  write 1 1\n  write 1 1\n  write 1 1\n",
		"nonsense",
	};

	fake_text("kprobe_events", kprobe_events);
	fake_text("kprobe_profile", kprobe_profile);
	probe_profile_read(&m);
	for (unsigned i = 0; i < ARRAY_SIZE(parsed); i++) {
		fake_text("kprobe_profile", parsed[i]);
		probe_profile_read(&m);
		check(0, 17, 2);
	}
	unlink(fake_path("kprobe_profile"));
	probe_profile_read(&m);
	check(0, 17, 2);
	fake_text("kprobe_events", "p:\n:\n/\n");
	fake_text("kprobe_profile", "a 1 1\nb 1 1\nc 1 1\n");
	probe_profile_read(&m);
	check(0, 17, 2);
}
