/* SPDX-License-Identifier: Apache-2.0 */
#include "base/system/memory_limit.h"
#include "unit/temp_dir.h"
#include "unit/test.h"

static void put(void **state, const char *dir, const char *name, const char *text)
{
	char command[512];

	snprintf(command, sizeof(command), "mkdir -p '%s/%s' && printf '%%s\n' '%s' >'%s/%s/%s'",
		 (const char *)*state, dir, text, (const char *)*state, dir, name);
	assert_int_equal(system(command), 0);
}

static uint64_t limit_with(void **state, const char *proc_cgroup)
{
	put(state, "cgroup", "none", "");
	put(state, ".", "proc", proc_cgroup);
	return memory_limit_of_cgroup(temp_dir_path(state, 0, "proc"),
				      temp_dir_path(state, 1, "cgroup"));
}

#define IN_DIR(name) TEST_WITH(name, temp_dir_setup, temp_dir_teardown)

IN_DIR(nothing_there_is_no_limit)
{
	assert_true(limit_with(state, "0::/a/b") == UINT64_MAX);
	assert_true(limit_with(state, "") == UINT64_MAX);
	assert_true(limit_with(state, "nonsense") == UINT64_MAX);
	assert_true(memory_limit_of_cgroup("/nonexistent", "/nonexistent") == UINT64_MAX);
}

IN_DIR(lowest_limit_on_the_way_up_counts)
{
	put(state, "cgroup/a/b", "memory.max", "max");
	assert_true(limit_with(state, "0::/a/b") == UINT64_MAX);
	put(state, "cgroup/a", "memory.max", "67108864");
	assert_int_equal(limit_with(state, "0::/a/b"), 67108864);
	put(state, "cgroup/a/b", "memory.high", "1048576");
	assert_int_equal(limit_with(state, "0::/a/b"), 1048576);
	assert_int_equal(limit_with(state, "0::/a"), 67108864);
	assert_true(limit_with(state, "0::/other") == UINT64_MAX);
}

IN_DIR(available_memory)
{
	char root[512];

	assert_true(memory_available("/nonexistent") == UINT64_MAX);
	put(state, "proc", "meminfo", "MemTotal:  65536 kB\n");
	snprintf(root, sizeof(root), "%s/proc", (const char *)*state);
	assert_true(memory_available(root) == UINT64_MAX);
	put(state, "proc", "meminfo",
	    "MemTotal:  65536 kB\nMemAvailable:   32768 kB\nCached: 1 kB\n");
	assert_int_equal(memory_available(root), 32768u << 10);
}

IN_DIR(first_version_is_known)
{
	put(state, "cgroup/memory/a", "memory.limit_in_bytes", "4096");
	put(state, "cgroup/memory", "memory.limit_in_bytes", "9223372036854771712");
	assert_int_equal(limit_with(state, "5:cpu,cpuacct:/x\n4:hugetlb,memory:/a\n0::/"), 4096);
	assert_int_equal(limit_with(state, "4:memory:/b"), 9223372036854771712u);
	assert_true(limit_with(state, "4:memoryless:/a") == UINT64_MAX);
}

/* The path is that of the host, of which a container sees its own part only. */
IN_DIR(group_that_is_not_mounted_is_the_mounted_one)
{
	put(state, "cgroup", "memory.max", "8192");
	assert_int_equal(limit_with(state, "0::/../../host.slice/x"), 8192);
	assert_int_equal(limit_with(state, "0::/docker/0123"), 8192);
}
