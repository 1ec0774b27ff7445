/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>

#include "base/core/mem.h"

static void array_keeps_its_elements_while_it_grows(void **state)
{
	_cleanup_(freep) uint32_t *a = NULL;
	size_t cap = 0;

	(void)state;
	for (uint32_t i = 0; i < 5000; i++) {
		assert_int_equal(array_reserve(&a, &cap, i + 1, sizeof(*a)), 0);
		assert_true(cap > i);
		a[i] = i * 3;
	}
	for (uint32_t i = 0; i < 5000; i++)
		assert_int_equal(a[i], i * 3);
}

static void array_grows_by_doubling(void **state)
{
	_cleanup_(freep) char *a = NULL;
	size_t cap = 0, grown = 0;

	(void)state;
	for (size_t i = 1; i <= 100000; i++) {
		size_t before = cap;

		assert_int_equal(array_reserve(&a, &cap, i, 1), 0);
		grown += cap != before;
	}
	assert_true(grown < 20);
}

static void array_with_room_is_left_alone(void **state)
{
	_cleanup_(freep) uint64_t *a = NULL;
	uint64_t *before;
	size_t cap = 0;

	(void)state;
	assert_int_equal(array_reserve(&a, &cap, 0, sizeof(*a)), 0);
	assert_null(a);
	assert_int_equal(array_reserve(&a, &cap, 100, sizeof(*a)), 0);
	before = a;
	assert_int_equal(array_reserve(&a, &cap, 100, sizeof(*a)), 0);
	assert_int_equal(array_reserve(&a, &cap, 1, sizeof(*a)), 0);
	assert_ptr_equal(a, before);
}

static void array_too_large_changes_nothing(void **state)
{
	_cleanup_(freep) uint64_t *a = NULL;
	uint64_t *before;
	size_t cap = 0;

	(void)state;
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

static void taking_leaves_nothing_behind(void **state)
{
	char c, *p = &c, *taken = TAKE_PTR(p);
	int fd = 7, taken_fd = TAKE_FD(fd);

	(void)state;
	assert_ptr_equal(taken, &c);
	assert_null(p);
	assert_int_equal(taken_fd, 7);
	assert_int_equal(fd, -1);
}

static void cleanup_closes_at_the_end_of_the_scope(void **state)
{
	int seen;

	(void)state;
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

static void container_of_finds_the_owner(void **state)
{
	struct owner {
		int before;
		int member;
	} o;

	(void)state;
	assert_ptr_equal(container_of(&o.member, struct owner, member), &o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(array_keeps_its_elements_while_it_grows),
		cmocka_unit_test(array_grows_by_doubling),
		cmocka_unit_test(array_with_room_is_left_alone),
		cmocka_unit_test(array_too_large_changes_nothing),
		cmocka_unit_test(taking_leaves_nothing_behind),
		cmocka_unit_test(cleanup_closes_at_the_end_of_the_scope),
		cmocka_unit_test(container_of_finds_the_owner),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
