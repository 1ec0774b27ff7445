/* SPDX-License-Identifier: Apache-2.0 */
/* libc has no functions for Landlock, and the header of Debian 12 lacks some rights. */
#include "base/system/landlock.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/core/mem.h"

#ifndef LANDLOCK_ACCESS_FS_REFER
#define LANDLOCK_ACCESS_FS_REFER (1ull << 13)
#endif
#ifndef LANDLOCK_ACCESS_FS_TRUNCATE
#define LANDLOCK_ACCESS_FS_TRUNCATE (1ull << 14)
#endif

#define WRITES (LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_TRUNCATE)
#define MAKES                                                                                      \
	(LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_DIR |                               \
	 LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR)
#define READS (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
/* Rights that are granted nowhere. */
#define NOWHERE                                                                                    \
	(LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_MAKE_CHAR |                               \
	 LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO |                             \
	 LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SYM | LANDLOCK_ACCESS_FS_REFER)

static long landlock_abi_version(void)
{
	return syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
}

bool landlock_is_there(void)
{
	return landlock_abi_version() > 0;
}

/* Returns the rights that a kernel with this ABI version supports. */
static uint64_t supported_rights(long abi)
{
	uint64_t all = READS | WRITES | MAKES | NOWHERE;

	if (abi < 2)
		all &= ~(uint64_t)LANDLOCK_ACCESS_FS_REFER;
	if (abi < 3)
		all &= ~(uint64_t)LANDLOCK_ACCESS_FS_TRUNCATE;
	return all;
}

static int landlock_allow_path(int rules, const struct landlock_path *p, uint64_t handled)
{
	_cleanup_(closep) int fd = open(p->path, O_PATH | O_CLOEXEC);
	struct landlock_path_beneath_attr rule = {.parent_fd = fd};
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return errno == ENOENT || errno == EACCES ? 0 : -errno;
	rule.allowed_access = (WRITES | LANDLOCK_ACCESS_FS_READ_FILE) & handled;
	if (S_ISDIR(st.st_mode))
		rule.allowed_access |=
			(LANDLOCK_ACCESS_FS_READ_DIR & handled) | (p->makes_files ? MAKES : 0);
	return syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) < 0
		       ? -errno
		       : 0;
}

/* Forbids these rights everywhere but in the paths, as far as the kernel supports them. Sets
 * no_new_privs. Returns 0, -ENOSYS or another -errno. */
static int landlock_restrict_to(const struct landlock_path *paths, size_t n, uint64_t rights)
{
	struct landlock_ruleset_attr attr = {0};
	_cleanup_(closep) int rules = -1;
	long abi = landlock_abi_version();
	int r = 0;

	if (abi <= 0) /* negative also where a container's filter forbids the call */
		return -ENOSYS;
	attr.handled_access_fs = supported_rights(abi) & rights;
	rules = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof(attr.handled_access_fs), 0);
	if (rules < 0)
		return -errno;
	for (size_t i = 0; i < n && r == 0; i++)
		r = landlock_allow_path(rules, &paths[i], attr.handled_access_fs);
	if (r < 0)
		return r;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    syscall(SYS_landlock_restrict_self, rules, 0) < 0)
		return -errno;
	return 0;
}

int landlock_restrict_writes(const struct landlock_path *paths, size_t n)
{
	return landlock_restrict_to(paths, n, ~(uint64_t)READS);
}

int landlock_restrict_files(const struct landlock_path *paths, size_t n)
{
	return landlock_restrict_to(paths, n, UINT64_MAX);
}
