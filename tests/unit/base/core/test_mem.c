/* SPDX-License-Identifier: Apache-2.0 */

#include "unit/test.h"

TEST(array_keeps_its_elements_while_it_grows)
{
	_cleanup_(freep) uint32_t *a = NULL;
	size_t cap = 0;

	for (uint32_t i = 0; i < 5000; i++) {
		assert_int_equal(array_reserve(&a, &cap, i + 1, sizeof(*a)), 0);
		assert_true(cap > i);
		a[i] = i * 3;
	}
	for (uint32_t i = 0; i < 5000; i++)
		assert_int_equal(a[i], i * 3);
}

TEST(array_grows_by_doubling)
{
	_cleanup_(freep) char *a = NULL;
	size_t cap = 0, grown = 0;

	for (size_t i = 1; i <= 100000; i++) {
		size_t before = cap;

		assert_int_equal(array_reserve(&a, &cap, i, 1), 0);
		grown += cap != before;
	}
	assert_true(grown < 20);
}

TEST(array_too_large_changes_nothing)
{
	_cleanup_(freep) uint64_t *a = NULL;
	uint64_t *before;
	size_t cap = 0;

	assert_int_equal(array_reserve(&a, &cap, 10, sizeof(*a)), 0);
	before = a;
	a[9] = 42;
	/* the product overflows; so does the doubling */
	assert_int_equal(array_reserve(&a, &cap, SIZE_MAX / 4, sizeof(*a)), -ENOMEM);
	assert_int_equal(array_reserve(&a, &cap, SIZE_MAX, sizeof(*a)), -ENOMEM);
	assert_ptr_equal(a, before);
	assert_int_equal(a[9], 42);
	assert_true(cap >= 10 && cap < 100);
}

TEST(taking_leaves_nothing_behind)
{
	char c, *p = &c, *taken = TAKE_PTR(p);
	int fd = 7, taken_fd = TAKE_FD(fd);

	assert_ptr_equal(taken, &c);
	assert_null(p);
	assert_int_equal(taken_fd, 7);
	assert_int_equal(fd, -1);
}

TEST(cleanup_closes_at_the_end_of_the_scope)
{
	int seen;

	{
		_cleanup_(closep) int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
		_cleanup_(closep) int none = -1;

		assert_true(fd >= 0);
		assert_int_equal(none, -1);
		seen = fd;
	}
	assert_int_equal(fcntl(seen, F_GETFD), -1);
	assert_int_equal(errno, EBADF);
}
