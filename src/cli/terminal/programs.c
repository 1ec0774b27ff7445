/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/terminal/programs.h"

#include <endian.h>
#include <errno.h>
#include <limits.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/system/fs.h"
#include "base/system/multicall.h"

static bool is_program(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISREG(st.st_mode) && !access(path, X_OK);
}

int program_find(const char *name, char *buf, size_t size)
{
	const char *path = getenv("PATH"), *end;
	char dir[PATH_MAX];

	if (strchr(name, '/')) {
		snprintf(buf, size, "%s", name);
		return strlen(name) < size && is_program(name) ? 0 : -ENOENT;
	}
	for (; *name && path && *path; path = *end ? end + 1 : end) {
		end = strchrnul(path, ':');
		if (end == path || (size_t)(end - path) >= sizeof(dir))
			continue;
		memcpy(dir, path, (size_t)(end - path));
		dir[end - path] = '\0';
		if (!fs_join(buf, size, dir, name) && is_program(buf))
			return 0;
	}
	return -ENOENT;
}

/* Sets dir to the directory of the running program. Returns 0 or -ENOENT. */
static int find_own_dir(char dir[static PATH_MAX])
{
	ssize_t n = readlink(OURSELVES, dir, PATH_MAX - 1);
	char *slash;

	dir[MAX(n, 0)] = '\0';
	slash = strrchr(dir, '/');
	if (!slash)
		return -ENOENT;
	*slash = '\0';
	return 0;
}

static int find_beside_us(const char *name, char *buf, size_t size)
{
	char self[PATH_MAX], path[PATH_MAX];

	if (find_own_dir(self) || fs_join(path, sizeof(path), self, name))
		return -ENOENT;
	return program_find(path, buf, size);
}

int program_find_shared(const char *name, char path[PATH_MAX])
{
	static const char *const above[] = {"../share/sonda", "../../share/sonda"};
	char self[PATH_MAX], directory[PATH_MAX], found[PATH_MAX];

	if (find_own_dir(self))
		return -ENOENT;
	for (size_t i = 0; i < ARRAY_SIZE(above); i++)
		if (!fs_join(directory, sizeof(directory), self, above[i]) &&
		    !fs_join(found, sizeof(found), directory, name) && fs_exists(found))
			return realpath(found, path) ? 0 : -ENOENT;
	return -ENOENT;
}

int program_find_daemon(const char *name, char *buf, size_t size, struct err_text *e)
{
	if (multicall_contains(name) && !program_find(OURSELVES, buf, size))
		return 0;
	if (!find_beside_us(name, buf, size) || !program_find(name, buf, size))
		return 0;
	return err_set(e, -ENOENT, "cannot find %s in sonda's directory or in PATH", name);
}

uint64_t program_capabilities(const char *path)
{
	struct vfs_cap_data c; /* little-endian; later versions add fields at its end */
	char buf[64];
	struct stat st;
	ssize_t n;

	if (stat(path, &st))
		return 0;
	if (st.st_mode & S_ISUID && st.st_uid == 0)
		return UINT64_MAX;
	n = getxattr(path, "security.capability", buf, sizeof(buf));
	if (n < (ssize_t)sizeof(c))
		return 0;
	memcpy(&c, buf, sizeof(c));
	return le32toh(c.data[0].permitted) | (uint64_t)le32toh(c.data[1].permitted) << 32;
}
