/* SPDX-License-Identifier: Apache-2.0 */
#include "base/system/process_uuids.h"

#include "base/core/process_uuid.h"
#include "unit/test.h"

TEST(a_process_keeps_its_uuid_after_its_end)
{
	pid_t pid = fork();
	uint64_t uuid;

	if (pid == 0)
		pause();
	uuid = process_uuids_get(pid);
	assert_int_not_equal(uuid, process_uuid_of(0, pid));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	assert_int_equal(process_uuids_get(pid), uuid);
	process_uuids_clear();
	assert_int_equal(process_uuids_get(pid), process_uuid_of(0, pid));
	process_uuids_clear();
}
