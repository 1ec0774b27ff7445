/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "ebpf/ebpf_config.c"

static uint64_t id;
static struct err_text e;

static void no_mount(void **state)
{
	(void)state;
	assert_int_equal(cgroup_id("/no/such", "x", &id, &e), -ENOENT);
	assert_non_null(strstr(e.text, "not mounted in /no/such"));
}

static void the_root_has_the_first_id(void **state)
{
	int r = cgroup_id("/sys", "/", &id, &e);

	(void)state;
	if (r == -ENOENT)
		skip();
	assert_int_equal(r, 0);
	assert_int_not_equal(id, 0);
}

static void what_is_no_control_group(void **state)
{
	(void)state;
	if (cgroup_id("/sys", "", &id, &e) == -ENOENT)
		skip();
	assert_int_equal(cgroup_id("/sys", "/nosuch", &id, &e), -ENOENT);
	assert_string_equal(e.text, "/nosuch: No such file or directory");
	assert_int_equal(cgroup_id("/sys", "cgroup.procs", &id, &e), -ENOTDIR);
	assert_int_equal(cgroup_id("/sys", "../..", &id, &e), -EINVAL);
	assert_int_equal(cgroup_id("/sys", "a/../../x", &id, &e), -EINVAL);
	assert_string_equal(e.text, "a/../../x leads out of the mount");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_mount),
		cmocka_unit_test(the_root_has_the_first_id),
		cmocka_unit_test(what_is_no_control_group),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
