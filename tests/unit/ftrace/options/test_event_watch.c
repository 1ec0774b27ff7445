/* SPDX-License-Identifier: Apache-2.0 */
#include "ftrace/options/event_enable.h"
#include "unit/ftrace/fake_tracefs.h"

static struct event_watch w;

static bool changed(void)
{
	return event_watch_changed(&w);
}

SETUP
{
	static char sys[64]; /* borrowed by the watch */

	fake_root_new();
	snprintf(sys, sizeof(sys), "%s/sys", fake_root);
	fake_text("sys/module/xfs/initstate", "live");
	fake_text("dynamic_events", "p:mine/a vfs_read x=%di\n");
	fake_text("events/mine/a/format", "");
	event_watch_begin(&w, fake_root, sys);
}

TEARDOWN
{
	fake_root_remove();
}

FIXTURE_TEST(modules_come_and_go)
{
	fake_text("sys/module/btrfs/initstate", "live");
	assert_true(changed());
	assert_false(changed());
	unlink(fake_path("sys/module/btrfs/initstate"));
	rmdir(fake_path("sys/module/btrfs"));
	assert_true(changed());
	assert_false(changed());
}

/* The directory's number is new, though its name is the same. */
FIXTURE_TEST(a_module_that_comes_back_at_once)
{
	assert_int_equal(rename(fake_path("sys/module/xfs"), fake_path("old")), 0);
	fake_text("sys/module/xfs/initstate", "live");
	assert_true(changed());
	assert_false(changed());
}

FIXTURE_TEST(dynamic_events_come_and_go)
{
	fake_text("dynamic_events", "p:mine/a vfs_read x=%di\ns:synthetic/lat\tu64 lat\n");
	assert_true(changed());
	assert_false(changed());
	fake_text("dynamic_events", "p:mine/a vfs_read y=%di\ns:synthetic/lat\tu64 lat\n");
	assert_true(changed());
	fake_text("dynamic_events", "");
	assert_true(changed());
	unlink(fake_path("dynamic_events"));
	assert_false(changed()); /* a kernel without them has as few */
}

FIXTURE_TEST(events_of_sessions_mean_nothing)
{
	fake_text("dynamic_events", "p:sonda_1_2_3/x vfs_write\np:mine/a vfs_read x=%di\n"
				    "s:synthetic/sonda_1_2_4_rss\tu64 size\n");
	assert_false(changed());
	fake_text("dynamic_events", "p:sonda_1_2_3/x vfs_write\np:mine/b vfs_read x=%di\n");
	assert_true(changed());
}

/* Selected or not: it may have been dropped since the last check. */
FIXTURE_TEST(an_event_that_is_made_anew_as_it_was)
{
	assert_int_equal(rename(fake_path("events/mine/a"), fake_path("old")), 0);
	assert_true(changed());
	assert_false(changed());
	fake_text("events/mine/a/format", "");
	assert_true(changed());
	assert_false(changed());
}

FIXTURE_TEST(the_dir_of_an_event)
{
	struct instance i;
	uint64_t before;

	fake_text("instances/x/events/mine/a/format", "");
	i = fake_instance();
	before = event_dir_id(&i, "mine", "a");
	assert_true(before != 0);
	assert_int_equal(event_dir_id(&i, "mine", "nope"), 0);
	assert_int_equal(rename(fake_path("instances/x/events/mine/a"), fake_path("old")), 0);
	assert_int_equal(event_dir_id(&i, "mine", "a"), 0);
	fake_text("instances/x/events/mine/a/format", "");
	assert_true(event_dir_id(&i, "mine", "a") != before);
	fake_instance_free(&i);
}

FIXTURE_TEST(lines_of_other_forms)
{
	fake_text("dynamic_events", "\n:\n/\nu:user_event a b\nx:/\np:mine/a");
	assert_true(changed());
	assert_false(changed());
}
