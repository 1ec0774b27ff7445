/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/test.h"
#include "procfs/sys/sys_source.h"
#include "unit/procfs/captured_log.h"

TEST(each_id_is_logged_once)
{
	struct unknown_ids u = {0};

	capture_log();
	for (unsigned i = 0; i < 3; i++) {
		unknown_ids_log(&u, "vmstat", -1);
		unknown_ids_log(&u, "vmstat", 4711);
	}
	assert_int_equal(captured("vmstat has no counter with the id "), 2);
	assert_non_null(strstr(log_text, "id -1\n"));
	assert_non_null(strstr(log_text, "id 4711\n"));
}

TEST(of_many_the_first_ones)
{
	struct unknown_ids u = {0};

	capture_log();
	for (int i = 0; i < 100000; i++)
		unknown_ids_log(&u, "stat", 1000 + i);
	assert_int_equal(captured("with the id "), UNKNOWN_IDS_MAX);
	assert_non_null(strstr(log_text, "further unknown counter ids"));
}
