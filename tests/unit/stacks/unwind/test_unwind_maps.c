/* SPDX-License-Identifier: Apache-2.0 */
/* The maps in the kernel of this machine. */
#include "stacks/unwind/unwind_maps.h"
#include "unit/test.h"

TEST(the_kernel_has_room_for_what_the_tables_keep)
{
	static struct unwind_process p;
	static const struct unwind_rule rule;
	struct unwind_maps m;
	int r = unwind_maps_create(&m);

	if (r == -EPERM || r == -ENOTSUP || r == -ENOSYS)
		skip();
	assert_int_equal(r, 0);
	m.rows[0].address = m.rows[UNWIND_ROWS_MAX - 1].address = 1;
	assert_int_equal(unwind_maps_set_rule(&m, UNWIND_RULES_MAX - 1, &rule), 0);
	assert_int_equal(unwind_maps_set_rule(&m, UNWIND_RULES_MAX, &rule), -E2BIG);
	for (int32_t pid = 1; pid <= UNWIND_PROCESSES_MAX; pid++)
		assert_int_equal(unwind_maps_set_process(&m, pid, &p), 0);
	assert_int_equal(unwind_maps_set_process(&m, 1, &p), 0);
	assert_int_equal(unwind_maps_set_process(&m, UNWIND_PROCESSES_MAX + 1, &p), -E2BIG);
	unwind_maps_remove_process(&m, 1);
	assert_int_equal(unwind_maps_set_process(&m, UNWIND_PROCESSES_MAX + 1, &p), 0);
	unwind_maps_destroy(&m);
}
