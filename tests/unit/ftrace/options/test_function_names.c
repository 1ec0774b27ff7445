// SPDX-License-Identifier: Apache-2.0
#include "unit/ftrace/fake_tracefs.h"
#include "ftrace/options/probes.c"

static struct function_names f;

FOLDER_TEST(test_the_nearest)
{
	fake_text("available_filter_functions",
		  "vfs_read\nvfs_write\nxfs_iget [xfs]\nvfs_readlink\n__x64_sys_read");
	assert_string_equal(function_names_nearest(&f, fake_root, "vfs_raed"), "vfs_read");
	assert_string_equal(function_names_nearest(&f, fake_root, "xfs_igets"), "xfs_iget");
	assert_string_equal(function_names_nearest(&f, fake_root, "_x64_sys_read"),
			    "__x64_sys_read");
	assert_null(function_names_nearest(&f, fake_root, "nothing_like_it"));
	assert_null(function_names_nearest(&f, fake_root, "[xfs]"));
	/* Read once. */
	fake_text("available_filter_functions", "");
	assert_string_equal(function_names_nearest(&f, fake_root, "vfs_raed"), "vfs_read");
	function_names_deinit(&f);
	assert_null(function_names_nearest(&f, fake_root, "vfs_raed"));
	function_names_deinit(&f);
}

FOLDER_TEST(test_no_list)
{
	assert_null(function_names_nearest(&f, fake_root, "vfs_raed"));
	function_names_deinit(&f);
}
