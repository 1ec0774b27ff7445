/* SPDX-License-Identifier: Apache-2.0 */
#include "base/core/process_uuid.h"

#include "unit/test.h"

TEST(uuids_of_perfettos_libraries)
{
	uint64_t process = process_uuid_of(123456, 4321);

	assert_int_equal(process, 0x2b66ede09940c497ull);
	assert_int_equal(thread_uuid_of(process, 4322), 0x2b66ede09940d475ull);
}

TEST(the_name_in_stat_may_look_like_its_end)
{
	uint64_t ticks;

	assert_true(process_start_ticks("7 (a) S 1) S 1 7 7 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 "
					"98765 4096 1",
					&ticks));
	assert_int_equal(ticks, 98765);
	assert_false(process_start_ticks("7 (sh) S 1 7 7 0 -1", &ticks));
	assert_false(process_start_ticks("", &ticks));
}
