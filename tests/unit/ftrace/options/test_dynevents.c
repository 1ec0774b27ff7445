/* SPDX-License-Identifier: Apache-2.0 */
/* Plain files take every command; what the kernel makes of them is in tests/root. */

#include "ftrace/options/dynevents.h"
#include "ftrace/options/synthetic_events.h"
#include "ftrace/tracefs/owner_tag.h"
#include "unit/ftrace/fake_tracefs.h"

static struct dynevents m;

static int make(enum dynevent_type type, const char *group, const char *name)
{
	char command[128];

	snprintf(command, sizeof(command), "p:%s/%s x\n", group, name);
	return dynevents_create(&m, fake_root,
				&(struct dynevent){
					.type = type,
					.group = (char *)group,
					.name = (char *)name,
					.repr = {"mine", name, EVENT_AS_FIELDS},
				},
				command);
}

DIR_TEST(made_and_removed)
{
	struct event_selection s = {0};

	assert_false(dynevent_supported(fake_root, DYNEVENT_KPROBE));
	fake_text("kprobe_events", "p:kprobes/other y\n");
	fake_text("uprobe_events", "");
	fake_text("synthetic_events", "");
	fake_text("dynamic_events", "");
	assert_true(dynevent_supported(fake_root, DYNEVENT_KPROBE));
	assert_int_equal(make(DYNEVENT_KPROBE, "g", "a"), 0);
	assert_int_equal(make(DYNEVENT_KPROBE, "g", "a"), 0); /* one more place */
	assert_int_equal(make(DYNEVENT_UPROBE, "g", "b"), 0);
	assert_int_equal(make(DYNEVENT_SYNTHETIC, "synthetic", "c"), 0);
	assert_int_equal(make(DYNEVENT_UPROBE, "g", "d"), 0);
	assert_string_equal(fake_read("kprobe_events"), "p:kprobes/other y\np:g/a x\np:g/a x\n");
	assert_int_equal(m.n, 4);
	dynevents_destroy_last(&m);
	assert_int_equal(m.n, 3);
	assert_string_equal(fake_read("uprobe_events"), "p:g/b x\np:g/d x\n-:g/d");

	assert_int_equal(dynevents_select(&m, &s), 0);
	assert_int_equal(s.n, 3);
	assert_string_equal(event_selection_find(&s, "g", "b")->repr->group, "mine");
	event_selection_deinit(&s);

	fake_text("kprobe_events", "");
	fake_text("uprobe_events", "");
	assert_int_equal(dynevents_destroy(&m), 0);
	assert_string_equal(fake_read("kprobe_events"), "-:g/a");
	assert_string_equal(fake_read("uprobe_events"), "-:g/b");
	assert_string_equal(fake_read("dynamic_events"), "-:synthetic/c");
	assert_int_equal(dynevents_destroy(&m), 0);
}

DIR_TEST(what_the_kernel_refuses_is_forgotten)
{
	assert_int_equal(make(DYNEVENT_KPROBE, "g", "a"), -ENOENT);
	assert_int_equal(m.n, 0);
	fake_text("kprobe_events", "");
	assert_int_equal(make(DYNEVENT_KPROBE, "g", "a"), 0);
	unlink(fake_path("kprobe_events"));
	assert_int_equal(make(DYNEVENT_KPROBE, "g", "a"), -ENOENT); /* the first place stays */
	assert_int_equal(m.n, 1);
	assert_int_equal(dynevents_destroy(&m), 1);
}

/* A file says what is there; what is appended to it are the commands. */
DIR_TEST(what_the_dead_left_behind)
{
	char text[1024], want[256], live[OWNER_NAME_SIZE];
	pid_t dead = fork();
	int n;

	if (!dead)
		_exit(0);
	waitpid(dead, NULL, 0);
	owner_tag_new_name(live);
	n = snprintf(text, sizeof(text),
		     "p:kprobes/other vfs_read\n"
		     "p:sonda_%d_77_0/a vfs_read x=%%di\n"
		     "r1024:sonda_%d_77_1/b vfs_read\n"
		     "p:%s/c vfs_read\n"
		     "p:sonda/d vfs_read\n"
		     "p:sonda_%d_77_2 vfs_read\n"
		     "nonsense\n\n:\n",
		     dead, dead, live, dead);
	fake_text("kprobe_events", text);
	snprintf(text + n, sizeof(text) - (size_t)n, "-:sonda_%d_77_0/a-:sonda_%d_77_1/b", dead,
		 dead);
	assert_int_equal(dynevents_destroy_stale(fake_root), 2);
	assert_string_equal(fake_read("kprobe_events"), text);

	snprintf(text, sizeof(text), "other\tu64 lat\nsonda_%d_77_3_rss\tint a; int b\n", dead);
	fake_text("kprobe_events", "");
	fake_text("synthetic_events", text);
	fake_text("dynamic_events", "");
	assert_int_equal(dynevents_destroy_stale(fake_root), 1);
	snprintf(want, sizeof(want), "-:synthetic/sonda_%d_77_3_rss", dead);
	assert_string_equal(fake_read("dynamic_events"), want);
	assert_int_equal(dynevents_destroy_stale("/nowhere"), 0);
}

DIR_TEST(histograms_are_taken_out)
{
	static const char trigger[] =
		"hist:keys=member:vals=hitcount:size=2048 [active]\n"
		"hist:keys=mm_id:size=2048:onchange($bucket).sonda_1_2_3(mm_id) [active]\n"
		"traceon:unlimited\n";
	char path[300];

	fake_text("instances/x/events/kmem/rss_stat/trigger", trigger);
	fake_text("instances/x/events/power/suspend_resume/trigger",
		  "# Available triggers:\n# hist\n");
	synthetic_events_release(fake_path("instances/x"));
	snprintf(path, sizeof(path),
		 "%s!hist:keys=mm_id:size=2048:onchange($bucket).sonda_1_2_3(mm_id)", trigger);
	assert_string_equal(fake_read("instances/x/events/kmem/rss_stat/trigger"), path);
	assert_string_equal(fake_read("instances/x/events/power/suspend_resume/trigger"),
			    "# Available triggers:\n# hist\n");
	synthetic_events_release("/nowhere");
}
