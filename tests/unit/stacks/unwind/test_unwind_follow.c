/* SPDX-License-Identifier: Apache-2.0 */
#include "stacks/unwind/unwind_follow.h"

#include <string.h>

#include "base/core/clock.h"
#include "stacks/frames/mapping_records.h"
#include "stacks/unwind/unwind_tables.h"
#include "unit/fixture.h"

/* The tables: they have the process or not. */
static struct {
	bool is_whole;
	unsigned n_set;
	int32_t removed;
} tables;

bool unwind_tables_use_process(int32_t pid)
{
	assert_int_equal(pid, 7);
	return tables.is_whole;
}

void unwind_tables_set_process(const struct address_space *a, const struct mapped_files *files)
{
	assert_int_equal(a->pid, 7);
	tables.n_set++;
	tables.is_whole = true;
}

void unwind_tables_remove_process(int32_t pid)
{
	tables.removed = pid;
	tables.is_whole = false;
}

static struct address_space space;

SETUP
{
	memset(&tables, 0, sizeof(tables));
	space = (struct address_space){.pid = 7, .is_known = true, .has_changed = true};
}

TEARDOWN
{
}

static unsigned set_at(uint64_t ms)
{
	unsigned before = tables.n_set;

	unwind_follow_process(&space, NULL, ms * NS_PER_MS);
	return tables.n_set - before;
}

FIXTURE_TEST(a_process_is_set_once)
{
	assert_int_equal(set_at(1000), 1);
	assert_int_equal(set_at(1001), 0);
	assert_int_equal(set_at(5000), 0);
}

FIXTURE_TEST(a_process_whose_mappings_are_unknown_is_not_set)
{
	space.is_known = false;
	assert_int_equal(set_at(1000), 0);
}

FIXTURE_TEST(mappings_that_change_all_the_time_are_set_at_longer_intervals)
{
	unsigned n = 0;

	for (uint64_t ms = 1000; ms < 11000; ms++) {
		space.has_changed = true;
		n += set_at(ms);
	}
	assert_in_range(n, 10, 20);
	assert_int_equal(set_at(60000), 1);
	space.has_changed = true; /* it has been quiet */
	assert_int_equal(set_at(60000 + UNWIND_FOLLOW_MIN_MS - 1), 0);
	assert_int_equal(set_at(60000 + UNWIND_FOLLOW_MIN_MS), 1);
}

FIXTURE_TEST(rows_that_have_made_room_are_set_again_but_not_at_once)
{
	assert_int_equal(set_at(1000), 1);
	tables.is_whole = false;
	assert_int_equal(set_at(1000 + UNWIND_FOLLOW_AGAIN_MS - 1), 0);
	assert_int_equal(set_at(1000 + UNWIND_FOLLOW_AGAIN_MS), 1);
}

FIXTURE_TEST(a_process_that_ends_or_executes_is_removed)
{
	struct {
		struct task_record task;
		char end[MAPPING_RECORD_END];
	} exit = {.task = {.header = {.type = PERF_RECORD_EXIT, .size = sizeof(exit)},
			   .pid = 7,
			   .tid = 8}};
	struct {
		struct comm_record comm;
		char name[16], end[MAPPING_RECORD_END];
	} comm = {.comm = {.header = {.type = PERF_RECORD_COMM, .size = sizeof(comm)}, .pid = 9}};

	unwind_follow_record(&exit.task.header); /* a thread */
	unwind_follow_record(&comm.comm.header); /* a new name */
	assert_int_equal(tables.removed, 0);
	exit.task.tid = 7;
	unwind_follow_record(&exit.task.header);
	assert_int_equal(tables.removed, 7);
	comm.comm.header.misc = PERF_RECORD_MISC_COMM_EXEC;
	unwind_follow_record(&comm.comm.header);
	assert_int_equal(tables.removed, 9);
	comm.comm.header.size = sizeof(comm.comm);
	comm.comm.pid = 10; /* too short */
	unwind_follow_record(&comm.comm.header);
	assert_int_equal(tables.removed, 9);
}
