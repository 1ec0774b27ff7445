/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/trace/safe_path.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/text/str.h"

#define MAX_LINKS 40 /* the limit of the kernel */

int safe_path_open_dir(const char *path, int flags)
{
	const char *slash = strrchr(path, '/');
	_cleanup_(freep) char *dir =
		slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");

	return dir ? open(dir, flags | O_CLOEXEC, 0600) : -1;
}

/* Refuses a link, a pipe or a device that another user has put into a world-writable directory.
 * This is the rule of fs.protected_symlinks (proc_sys_fs(5)), which not every kernel applies. */
static int check_owner_of_special_file(const char *path, const struct stat *st, struct err_text *e)
{
	_cleanup_(closep) int dir = safe_path_open_dir(path, O_PATH | O_DIRECTORY);
	struct stat directory;

	if (dir < 0 || fstat(dir, &directory))
		return err_set(e, -errno, "cannot write %s: %s", path, strerror(errno));
	if (!(directory.st_mode & S_IWOTH) || st->st_uid == geteuid() ||
	    st->st_uid == directory.st_uid)
		return 0;
	return err_set(
		e, -EACCES,
		"cannot write %s: the path is a %s owned by uid %u in a world-writable directory; "
		"choose another file with -o",
		path, S_ISLNK(st->st_mode) ? "symbolic link" : "special file", st->st_uid);
}

/* Returns the path of the target of the link fd at path, which the caller frees. Returns NULL if
 * the target has no path or one that is too long, or if memory runs out. */
static char *path_of_link_target(int fd, const char *path)
{
	const char *slash = strrchr(path, '/');
	char target[PATH_MAX];
	struct strbuf b = {0};
	struct statfs fs;
	ssize_t n;

	/* The text of a link of /proc need not be a path. Only the kernel can follow it. */
	if (fstatfs(fd, &fs) == 0 && (unsigned long)fs.f_type == PROC_SUPER_MAGIC)
		return realpath(path, NULL);
	n = readlinkat(fd, "", target, sizeof(target));
	if (n <= 0 || n == sizeof(target))
		return NULL;
	if (*target != '/' && slash)
		strbuf_add(&b, path, (size_t)(slash - path) + 1);
	strbuf_add(&b, target, (size_t)n);
	return strbuf_take(&b);
}

int safe_path_follow(char **path, int *ret_fd, struct stat *ret_st, struct err_text *e)
{
	for (int i = 0; i < MAX_LINKS; i++) {
		_cleanup_(closep) int fd = open(*path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
		char *next;
		int r;

		if (fd < 0 || fstat(fd, ret_st) < 0)
			return errno == ENOENT ? 0 : -errno;
		if (!S_ISREG(ret_st->st_mode) && !S_ISDIR(ret_st->st_mode)) {
			r = check_owner_of_special_file(*path, ret_st, e);
			if (r)
				return r;
		}
		next = S_ISLNK(ret_st->st_mode) ? path_of_link_target(fd, *path) : NULL;
		if (!next) {
			*ret_fd = TAKE_FD(fd);
			return 0;
		}
		free(*path);
		*path = next;
	}
	return -ELOOP;
}

int safe_path_open(int fd, const char *path, const struct stat *st)
{
	char self[32];
	int r;

	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	/* Only a pipe behind a link in /proc is opened by its name. */
	r = open(S_ISLNK(st->st_mode) ? path : self, O_WRONLY | O_CLOEXEC);
	return r < 0 ? -errno : r;
}
