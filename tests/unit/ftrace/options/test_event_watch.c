// SPDX-License-Identifier: Apache-2.0
#include "unit/test.h"
#include "unit/ftrace/fake_tracefs.h"
#include "ftrace/options/event_enable.h"

static struct event_selection events;
static struct event_watch w;
static struct instance i;

static bool changed(void)
{
	return event_watch_changed(&w, &i, &events);
}

static int setup(void **state)
{
	if (temp_dir_setup(state))
		return -1;
	fake_text(*state, "sys/module/xfs/initstate", "live");
	fake_text(*state, "dynamic_events", "p:mine/a vfs_read x=%di\n");
	fake_text(*state, "instances/x/events/mine/a/format", "");
	i = fake_instance(*state);
	event_watch_begin(&w, *state, temp_dir_path(state, 0, "sys"));
	return 0;
}

static int teardown(void **state)
{
	fake_instance_free(&i);
	event_selection_deinit(&events);
	return temp_dir_teardown(state);
}

#define WITH_FOLDER(name) TEST_WITH(name, setup, teardown)

WITH_FOLDER(test_nothing_changes)
{
	for (unsigned n = 0; n < 3; n++)
		assert_false(changed());
}

WITH_FOLDER(test_modules_come_and_go)
{
	fake_text(*state, "sys/module/btrfs/initstate", "live");
	assert_true(changed());
	assert_false(changed());
	unlink(temp_dir_path(state, 1, "sys/module/btrfs/initstate"));
	rmdir(temp_dir_path(state, 1, "sys/module/btrfs"));
	assert_true(changed());
	assert_false(changed());
}

/* The folder's number is new, though its name is the same. */
WITH_FOLDER(test_a_module_that_comes_back_at_once)
{
	assert_int_equal(
		rename(temp_dir_path(state, 1, "sys/module/xfs"), temp_dir_path(state, 2, "old")),
		0);
	fake_text(*state, "sys/module/xfs/initstate", "live");
	assert_true(changed());
	assert_false(changed());
}

WITH_FOLDER(test_dynamic_events_come_and_go)
{
	fake_text(*state, "dynamic_events", "p:mine/a vfs_read x=%di\ns:synthetic/lat\tu64 lat\n");
	assert_true(changed());
	assert_false(changed());
	fake_text(*state, "dynamic_events", "p:mine/a vfs_read y=%di\ns:synthetic/lat\tu64 lat\n");
	assert_true(changed());
	fake_text(*state, "dynamic_events", "");
	assert_true(changed());
	unlink(temp_dir_path(state, 1, "dynamic_events"));
	assert_false(changed()); /* a kernel without them has as few */
}

WITH_FOLDER(test_events_of_sessions_mean_nothing)
{
	fake_text(*state, "dynamic_events",
		  "p:sonda_1_2_3/x vfs_write\np:mine/a vfs_read x=%di\n"
		  "s:synthetic/sonda_1_2_4_rss\tu64 size\n");
	assert_false(changed());
	fake_text(*state, "dynamic_events", "p:sonda_1_2_3/x vfs_write\np:mine/b vfs_read x=%di\n");
	assert_true(changed());
}

WITH_FOLDER(test_an_event_that_is_made_anew_as_it_was)
{
	struct event_name *e;

	assert_int_equal(event_selection_add(&events, "mine", "a"), 0);
	e = event_selection_find(&events, "mine", "a");
	e->folder = event_folder_id(&i, "mine", "a");
	assert_true(e->folder != 0);
	assert_int_equal(event_folder_id(&i, "mine", "nope"), 0);
	assert_false(changed());
	assert_int_equal(rename(temp_dir_path(state, 1, "instances/x/events/mine/a"),
				temp_dir_path(state, 2, "old")),
			 0);
	assert_true(changed());
	fake_text(*state, "instances/x/events/mine/a/format", "");
	assert_true(changed());
	e->folder = event_folder_id(&i, "mine", "a");
	assert_false(changed());
}

WITH_FOLDER(test_lines_of_other_forms)
{
	fake_text(*state, "dynamic_events", "\n:\n/\nu:user_event a b\nx:/\np:mine/a");
	assert_true(changed());
	assert_false(changed());
}
