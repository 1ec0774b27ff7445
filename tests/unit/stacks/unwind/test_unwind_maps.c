/* SPDX-License-Identifier: Apache-2.0 */
/* The maps in the kernel of this machine. */
#include "stacks/unwind/unwind_maps.h"
#include "unit/test.h"

TEST(the_kernel_has_room_for_what_the_tables_keep)
{
	static const struct unwind_file file = {.used_ns = 5};
	static const struct unwind_rule rule;
	struct unwind_file_key key = {.device = 1};
	struct unwind_maps m;
	int r = unwind_maps_create(&m);

	if (r == -EPERM || r == -ENOTSUP || r == -ENOSYS)
		skip();
	assert_int_equal(r, 0);
	m.rows[0].address = m.rows[UNWIND_ROWS_MAX - 1].address = 1;
	assert_int_equal(unwind_maps_set_rule(&m, UNWIND_RULES_MAX - 1, &rule), 0);
	assert_int_equal(unwind_maps_set_rule(&m, UNWIND_RULES_MAX, &rule), -E2BIG);
	for (key.inode = 1; key.inode <= UNWIND_FILES_MAX; key.inode++)
		assert_int_equal(unwind_maps_set_file(&m, &key, &file), 0);
	assert_int_equal(unwind_maps_set_file(&m, &key, &file), -E2BIG);
	assert_int_equal(unwind_maps_read_last_use(&m, &key), 0);
	key.inode = 1;
	assert_int_equal(unwind_maps_set_file(&m, &key, &file), 0);
	assert_int_equal(unwind_maps_read_last_use(&m, &key), 5);
	unwind_maps_remove_file(&m, &key);
	assert_int_equal(unwind_maps_read_last_use(&m, &key), 0);
	key.inode = UNWIND_FILES_MAX + 1;
	assert_int_equal(unwind_maps_set_file(&m, &key, &file), 0);
	unwind_maps_increment_changes(&m);
	unwind_maps_destroy(&m);
}
