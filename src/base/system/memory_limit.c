/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /proc/self/cgroup has a line for each hierarchy, see cgroups(7):
 *
 *	0::/system.slice/sondad.service		v2
 *	4:memory:/system.slice			v1: its controllers
 *
 * In a container without a cgroup namespace a path may lie outside the mount. Then the mounted
 * directory is the group itself, or one above it.
 */
#include "base/system/memory_limit.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/system/fs.h"
#include "base/text/number_read.h"
#include "base/text/str.h"

#define MAX_TEXT 65536

static uint64_t machine_memory(void)
{
	long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);

	return pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : UINT64_MAX;
}

/* Reads a limit from a file. "max" or a missing file means no limit. */
static uint64_t read_limit_file(const char *dir, const char *name)
{
	_cleanup_(strbuf_deinit) struct strbuf b = {0};
	char path[PATH_MAX];
	uint64_t limit;

	if (fs_join(path, sizeof(path), dir, name) < 0 || fs_read_file(path, 64, &b) < 0)
		return UINT64_MAX;
	b.s[strcspn(b.s, "\n")] = '\0';
	return str_to_u64(b.s, &limit) == 0 ? limit : UINT64_MAX;
}

static uint64_t read_dir_limit(const char *dir)
{
	static const char *const names[] = {"memory.max", "memory.high", "memory.limit_in_bytes"};
	uint64_t limit = UINT64_MAX;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		uint64_t one = read_limit_file(dir, names[i]);

		limit = MIN(limit, one);
	}
	return limit;
}

/* Returns the lowest limit of the group and of those above it, up to the mount. */
static uint64_t read_group_limit(const char *mount, const char *group)
{
	uint64_t limit = read_dir_limit(mount);
	char path[PATH_MAX];
	char *slash;

	if (strstr(group, "/..") ||
	    snprintf(path, sizeof(path), "%s%s", mount, group) >= (int)sizeof(path))
		return limit;
	while ((slash = strrchr(path, '/')) && strlen(path) > strlen(mount)) {
		uint64_t one = read_dir_limit(path);

		limit = MIN(limit, one);
		*slash = '\0';
	}
	return limit;
}

static bool lists_memory_controller(const char *controllers)
{
	for (const char *c = controllers; c; c = strchr(c, ',') ? strchr(c, ',') + 1 : NULL)
		if (!strncmp(c, "memory", 6) && (c[6] == ',' || c[6] == '\0'))
			return true;
	return false;
}

/* Returns the limit of the group that a line of /proc/self/cgroup names, or UINT64_MAX. Modifies
 * the line. */
static uint64_t read_line_limit(char *line, const char *mounts)
{
	char *controllers = strchr(line, ':'), *group, mount[PATH_MAX];
	uint64_t limit;

	group = controllers ? strchr(controllers + 1, ':') : NULL;
	if (!group)
		return UINT64_MAX;
	*group++ = '\0';
	controllers++;
	if (*controllers)
		return lists_memory_controller(controllers) &&
				       fs_join(mount, sizeof(mount), mounts, "memory") == 0
			       ? read_group_limit(mount, group)
			       : UINT64_MAX;
	limit = read_group_limit(mounts, group);
	if (limit == UINT64_MAX && fs_join(mount, sizeof(mount), mounts, "unified") == 0)
		limit = read_group_limit(mount, group);
	return limit;
}

uint64_t memory_limit_of_cgroup(const char *proc_cgroup, const char *mounts)
{
	_cleanup_(strbuf_deinit) struct strbuf b = {0};
	uint64_t limit = UINT64_MAX;
	char *rest, *line;

	if (fs_read_file(proc_cgroup, MAX_TEXT, &b) < 0 || !b.s)
		return limit;
	for (rest = b.s; (line = strsep(&rest, "\n"));) {
		uint64_t of_line = read_line_limit(line, mounts);

		limit = MIN(limit, of_line);
	}
	return limit;
}

uint64_t memory_limit(void)
{
	uint64_t limit = memory_limit_of_cgroup("/proc/self/cgroup", "/sys/fs/cgroup");

	return MIN(machine_memory(), limit / 4 * 3);
}

uint64_t memory_available(const char *proc_root)
{
	static const char key[] = "MemAvailable:";
	_cleanup_(strbuf_deinit) struct strbuf text = {0};
	char path[PATH_MAX];
	const char *at;

	if (fs_join(path, sizeof(path), proc_root, "meminfo") < 0 ||
	    fs_read_file(path, MAX_TEXT, &text) < 0 || !text.s || !(at = strstr(text.s, key)))
		return UINT64_MAX;
	return str_leading_u64(at + strlen(key), 10) << 10;
}
