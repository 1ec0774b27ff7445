/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/test.h"
#include "procfs/machine/inode_walk.h"

static uint64_t devices[INODE_DEVICES_MAX];

TEST(each_is_written_once)
{
	struct inode_requests w = {0};

	inode_requests_add(&w, 1, 10);
	inode_requests_add(&w, 1, 10);
	inode_requests_add(&w, 2, 10);
	inode_requests_add(&w, 2, 11);
	assert_int_equal(w.waiting, 3);
	assert_false(inode_requests_take(&w, 1, 10)); /* not before a round */
	assert_int_equal(inode_requests_begin(&w, devices), 2);
	assert_true(devices[0] + devices[1] == 3);
	assert_int_equal(w.sought, 3);
	assert_true(inode_requests_take(&w, 1, 10));
	assert_false(inode_requests_take(&w, 1, 10));
	assert_false(inode_requests_take(&w, 1, 11));
	/* Named in the middle of a round: for the next one. */
	inode_requests_add(&w, 3, 5);
	assert_false(inode_requests_take(&w, 3, 5));
	assert_true(inode_requests_take(&w, 2, 11));
	inode_requests_end(&w);
	assert_int_equal(w.written, 2);
	assert_int_equal(w.not_there, 1);
	inode_requests_add(&w, 2, 10); /* not looked for again */
	assert_int_equal(inode_requests_begin(&w, devices), 1);
	assert_int_equal(devices[0], 3);
	assert_int_equal(w.sought, 1);
	inode_requests_deinit(&w);
	assert_int_equal(inode_requests_begin(&w, devices), 0);
	inode_requests_deinit(&w);
}

TEST(no_more_than_there_is_room_for)
{
	struct inode_requests w = {0};

	for (unsigned i = 0; i < INODE_REQUESTS_MAX + 3; i++)
		inode_requests_add(&w, i % 100, i);
	assert_int_equal(w.waiting, INODE_REQUESTS_MAX);
	assert_int_equal(w.dropped, 3);
	assert_int_equal(inode_requests_begin(&w, devices), INODE_DEVICES_MAX);
	inode_requests_deinit(&w);
}
