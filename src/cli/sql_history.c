/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/sql_history.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/mem.h"

#define PATH_BYTES 3072
#define NAME "sql_history"

static bool sql_history_is_trusted(uid_t owner)
{
	return owner == 0 || owner == geteuid();
}

/* Replaces *folder by its subfolder `name`, which is created if it is missing. Returns 0 or
 * -errno. */
static int sql_history_enter(int *folder, const char *name)
{
	_cleanup_(closep) int fd = -1;
	struct stat st;
	int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;

	if (fstatat(*folder, name, &st, AT_SYMLINK_NOFOLLOW) &&
	    (errno != ENOENT || mkdirat(*folder, name, 0700) ||
	     fstatat(*folder, name, &st, AT_SYMLINK_NOFOLLOW)))
		return -errno;
	if (!sql_history_is_trusted(st.st_uid))
		return -EPERM;
	if (!S_ISLNK(st.st_mode) || geteuid() == 0)
		flags |= O_NOFOLLOW;
	fd = openat(*folder, name, flags);
	if (fd < 0 || fstat(fd, &st))
		return -errno;
	if (!sql_history_is_trusted(st.st_uid))
		return -EPERM;
	close(*folder);
	*folder = TAKE_FD(fd);
	return 0;
}

/* Returns a descriptor of the folder of the history, or -errno. */
static int open_folder(void)
{
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
	_cleanup_(closep) int folder = -1;
	char path[PATH_BYTES], *rest;
	struct stat st;
	int n, r;

	if (state && *state == '/')
		n = snprintf(path, sizeof(path), "%s/sonda", state);
	else if (home && *home == '/')
		n = snprintf(path, sizeof(path), "%s/.local/state/sonda", home);
	else
		return -ENOENT;
	if (n < 0 || (size_t)n >= sizeof(path))
		return -ENAMETOOLONG;
	folder = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (folder < 0)
		return -errno;
	for (char *name = strtok_r(path, "/", &rest); name; name = strtok_r(NULL, "/", &rest)) {
		r = sql_history_enter(&folder, name);
		if (r)
			return r;
	}
	if (fstat(folder, &st))
		return -errno;
	return st.st_uid == geteuid() ? TAKE_FD(folder) : -EPERM;
}

/* Returns a descriptor of the file or -errno. */
static int sql_history_open_file(int folder, int flags)
{
	_cleanup_(closep) int fd =
		openat(folder, NAME, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || st.st_nlink != 1)
		return -EPERM;
	return TAKE_FD(fd);
}

int sql_history_load(History *history_of)
{
	_cleanup_(closep) int fd = -1;
	int folder = open_folder();
	HistEvent event;
	char path[32];

	fd = folder < 0 ? -1 : sql_history_open_file(folder, O_RDONLY);
	if (fd >= 0) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		history(history_of, &event, H_LOAD, path);
	}
	return folder;
}

void sql_history_save(History *history_of, int folder)
{
	_cleanup_(closep) int fd =
		folder < 0 ? -1 : sql_history_open_file(folder, O_WRONLY | O_CREAT);
	HistEvent event;
	FILE *f;

	if (fd < 0 || ftruncate(fd, 0))
		return;
	f = fdopen(fd, "w");
	if (!f)
		return;
	TAKE_FD(fd);
	history(history_of, &event, H_SAVE_FP, f);
	fclose(f);
}
