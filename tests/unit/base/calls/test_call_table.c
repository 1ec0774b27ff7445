/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/calls/call_table.h"
#include "base/core/mem.h"
#include "base/system/syscall_names.h"
#include "unit/test.h"

TEST(rows_are_in_the_order_of_their_names_and_each_is_found)
{
	for (size_t i = 0; i < n_call_rows; i++) {
		const char *name = call_rows[i].name;

		assert_true(i == 0 || strcmp(call_rows[i - 1].name, name) < 0);
		assert_ptr_equal(call_row_find(name, strlen(name)), &call_rows[i]);
		assert_true(strlen(call_rows[i].args) <= CALL_ARGS_MAX);
	}
	assert_null(call_row_find("openat3", 7));
	assert_null(call_row_find("opena", 5));
	assert_null(call_row_find("", 0));
	assert_string_equal(call_row_find("openat2", 6)->name, "openat");
}

#if defined(__x86_64__)
/* A misspelt name would never be recorded. */
TEST(each_row_is_a_call_of_this_machine_or_of_its_32_bit_programs)
{
	for (size_t i = 0; i < n_call_rows; i++)
		assert_true(syscall_number(call_rows[i].name, false) >= 0 ||
			    syscall_number(call_rows[i].name, true) >= 0 ||
			    !strcmp(call_rows[i].name, "recv")); /* of Arm */
}

/* Each call of the machine's table has a row, except those that the kernel no longer has. */
TEST(calls_without_a_row_are_known)
{
	static const char *const without[] = {
		"_sysctl",
		"afs_syscall",
		"create_module",
		"epoll_ctl_old",
		"epoll_wait_old",
		"file_getattr",
		"file_setattr",
		"get_kernel_syms",
		"getpmsg",
		"getxattrat",
		"listmount",
		"listns",
		"listxattrat",
		"lookup_dcookie",
		"lsm_get_self_attr",
		"lsm_list_modules",
		"lsm_set_self_attr",
		"kexec_file_load",
		"kexec_load",
		"map_shadow_stack",
		"migrate_pages",
		"move_pages",
		"nfsservctl",
		"open_tree_attr",
		"putpmsg",
		"query_module",
		"quotactl_fd",
		"removexattrat",
		"rseq_slice_yield",
		"security",
		"set_mempolicy_home_node",
		"setxattrat",
		"statmount",
		"sysfs",
		"tuxcall",
		"uprobe",
		"uretprobe",
		"uselib",
		"vserver",
	};
	char name[SYSCALL_NAME_MAX];

	for (uint32_t nr = 0; nr < 512; nr++) {
		bool known = false;

		syscall_name(NULL, nr, name);
		if (!*name || call_row_find(name, strlen(name)))
			continue;
		for (size_t i = 0; i < ARRAY_SIZE(without); i++)
			known |= !strcmp(without[i], name);
		if (!known)
			fail_msg("no row for %s", name);
	}
}

#endif

TEST(classes_have_names)
{
	assert_int_equal(call_class_find("file", 4), CALL_OF_FILE);
	assert_int_equal(call_class_find("%network", 8), CALL_OF_NETWORK);
	assert_int_equal(call_class_find("files", 5), 0);
	assert_int_equal(call_class_find("%", 1), 0);
	assert_int_equal(call_class_find("", 0), 0);
}

TEST(the_path_of_a_call)
{
	assert_int_equal(call_row_path(call_row_find("openat", 6)), 1);
	assert_int_equal(call_row_path(call_row_find("symlink", 7)), 0);
	assert_int_equal(call_row_path(call_row_find("read", 4)), -1);
}
