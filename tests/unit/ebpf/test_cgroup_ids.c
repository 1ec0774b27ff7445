/* SPDX-License-Identifier: Apache-2.0 */

#include "unit/test.h"
#include "ebpf/ebpf_config.c"

static uint64_t id;
static struct err_text e;

TEST(no_mount)
{
	assert_int_equal(cgroup_id("/no/such", "x", &id, &e), -ENOENT);
	assert_non_null(strstr(e.text, "not mounted in /no/such"));
}

TEST(the_root_has_the_first_id)
{
	int r = cgroup_id("/sys", "/", &id, &e);

	if (r == -ENOENT)
		skip();
	assert_int_equal(r, 0);
	assert_int_not_equal(id, 0);
}

TEST(paths_that_are_no_control_group)
{
	if (cgroup_id("/sys", "", &id, &e) == -ENOENT)
		skip();
	assert_int_equal(cgroup_id("/sys", "/nosuch", &id, &e), -ENOENT);
	assert_string_equal(e.text, "/nosuch: No such file or directory");
	assert_int_equal(cgroup_id("/sys", "cgroup.procs", &id, &e), -ENOTDIR);
	assert_int_equal(cgroup_id("/sys", "../..", &id, &e), -EINVAL);
	assert_int_equal(cgroup_id("/sys", "a/../../x", &id, &e), -EINVAL);
	assert_string_equal(e.text, "a/../../x is outside of the mount");
}
