/* SPDX-License-Identifier: Apache-2.0 */
#include "ebpf/engine/cgroup_mount.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/vfs.h>

#include "base/core/mem.h"
#include "base/system/fs.h"

int cgroup_mount_open(const char *sys_root)
{
	static const char *const dirs[] = {"fs/cgroup", "fs/cgroup/unified"};
	char path[256];
	struct statfs fs;

	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++) {
		if (fs_join(path, sizeof(path), sys_root, dirs[i]) < 0)
			continue;
		if (statfs(path, &fs) == 0 && (unsigned long)fs.f_type == CGROUP2_SUPER_MAGIC) {
			int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);

			return fd < 0 ? -errno : fd;
		}
	}
	return -ENOENT;
}
