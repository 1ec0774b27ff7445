/* SPDX-License-Identifier: Apache-2.0 */
#include "ebpf/cgroup_ids.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "base/system/fs.h"
#include "base/core/mem.h"

/* -ENOENT: there is no mount of version 2. */
static int open_mount(const char *sys_root)
{
	static const char *const places[] = {"fs/cgroup", "fs/cgroup/unified"};
	char path[256];
	struct statfs fs;

	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		if (fs_join(path, sizeof(path), sys_root, places[i]) < 0)
			continue;
		if (statfs(path, &fs) == 0 && (unsigned long)fs.f_type == CGROUP2_SUPER_MAGIC) {
			int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);

			return fd < 0 ? -errno : fd;
		}
	}
	return -ENOENT;
}

/* Has it a part ".."? */
static bool goes_up(const char *path)
{
	for (const char *p = path; *p;) {
		size_t n = strcspn(p, "/");

		if (n == 2 && p[0] == '.' && p[1] == '.')
			return true;
		p += n;
		p += strspn(p, "/");
	}
	return false;
}

int cgroup_id(const char *sys_root, const char *path, uint64_t *ret_id, struct err_text *e)
{
	_cleanup_(closep) int mount = open_mount(sys_root);
	const char *below = path + strspn(path, "/");
	struct stat st;

	if (mount < 0)
		return err_set(e, mount, "control groups of version 2 are not mounted in %s",
			       sys_root);
	if (goes_up(path))
		return err_set(e, -EINVAL, "%.256s leads out of the mount", path);
	if (fstatat(mount, *below ? below : ".", &st, AT_SYMLINK_NOFOLLOW) < 0)
		return err_set(e, -errno, "%.256s: %s", path, strerror(errno));
	if (!S_ISDIR(st.st_mode))
		return err_set(e, -ENOTDIR, "%.256s is no control group", path);
	*ret_id = st.st_ino;
	return 0;
}
