/* SPDX-License-Identifier: Apache-2.0 */
#include "subjects/cgroup_walk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/system/fs.h"

/* The file shows that the hierarchy is mounted there: each group of its version has it. */
static const struct {
	const char *path, *file;
	bool is_v2;
} mounts[] = {
	{"fs/cgroup", "cgroup.controllers", true},
	{"fs/cgroup/unified", "cgroup.controllers", true},
	{"fs/cgroup/systemd", "tasks", false},
	{"fs/cgroup/cpu,cpuacct", "tasks", false},
	{"fs/cgroup/cpu", "tasks", false},
	{"fs/cgroup/memory", "tasks", false},
	{"fs/cgroup/pids", "tasks", false},
};

bool cgroup_mount_find(const char *sys_root, unsigned n, struct cgroup_mount *ret)
{
	unsigned at = 0;

	for (size_t i = 0; i < ARRAY_SIZE(mounts); i++) {
		char file[512];

		/* Number 0 is version 2, even if it is missing. */
		if (!mounts[i].is_v2 && at == 0)
			at = 1;
		if (at > n)
			return false;
		if (fs_join(ret->path, sizeof(ret->path), sys_root, mounts[i].path) < 0 ||
		    fs_join(file, sizeof(file), ret->path, mounts[i].file) < 0 || !fs_exists(file))
			continue;
		if (at == 1 && mounts[i].is_v2)
			continue;
		if (at++ != n)
			continue;
		ret->is_v2 = mounts[i].is_v2;
		ret->threads = mounts[i].is_v2 ? "cgroup.threads" : "tasks";
		return true;
	}
	return false;
}

/* Opens the directory of the group w->path, whose id is w->id. Returns 0 or -errno. */
static int cgroup_walk_enter(struct cgroup_walk *w, int at, const char *name, size_t len)
{
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;
	DIR *dir;

	if (fd < 0 || fstat(fd, &st) < 0) {
		int r = -errno;

		closep(&fd);
		return r;
	}
	dir = fdopendir(fd);
	if (!dir) {
		close(fd);
		return -ENOMEM;
	}
	w->parent = w->n ? w->levels[w->n - 1].id : 0;
	w->id = st.st_ino;
	w->levels[w->n].dir = dir;
	w->levels[w->n].id = w->id;
	w->levels[w->n].len = len;
	w->n++;
	return 0;
}

int cgroup_walk_begin(struct cgroup_walk *w, const char *directory)
{
	*w = (struct cgroup_walk){.path = "/"};
	return cgroup_walk_enter(w, AT_FDCWD, directory, 0);
}

int cgroup_walk_fd(const struct cgroup_walk *w)
{
	return w->n ? dirfd(w->levels[w->n - 1].dir) : -1;
}

/* Enters the group of a directory entry. Returns false if the entry is not a group, or is left
 * out. */
static bool cgroup_walk_enter_entry(struct cgroup_walk *w, const struct dirent *e)
{
	size_t len = w->levels[w->n - 1].len, add = strlen(e->d_name);

	if (e->d_type != DT_DIR || strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
		return false;
	if (w->n == CGROUP_WALK_DEPTH || len + 1 + add >= sizeof(w->path)) {
		w->left_out++;
		return false;
	}
	w->path[len] = '/';
	memcpy(w->path + len + 1, e->d_name, add + 1);
	/* Ignores a group that is removed during the walk. */
	return cgroup_walk_enter(w, cgroup_walk_fd(w), e->d_name, len + 1 + add) == 0;
}

bool cgroup_walk_next(struct cgroup_walk *w)
{
	if (!w->is_begun) {
		w->is_begun = true;
		return w->n > 0;
	}
	while (w->n) {
		const struct dirent *e = readdir(w->levels[w->n - 1].dir);

		if (!e)
			closedir(w->levels[--w->n].dir);
		else if (cgroup_walk_enter_entry(w, e))
			return true;
	}
	return false;
}

void cgroup_walk_end(struct cgroup_walk *w)
{
	while (w->n)
		closedir(w->levels[--w->n].dir);
}
