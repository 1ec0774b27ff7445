/* SPDX-License-Identifier: Apache-2.0 */
#include "base/system/file_watch.h"

#include <errno.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/core/mem.h"

/* Splits a path into its directory ("." for a bare name) and its last part. Returns 0, -EINVAL if
 * the last part is empty, or -ENAMETOOLONG. */
static int file_watch_split_path(const char *path, char dir[static PATH_MAX],
				 char name[static NAME_MAX + 1])
{
	const char *slash = strrchr(path, '/');
	const char *base = slash ? slash + 1 : path;
	size_t dir_len = slash ? MAX((size_t)(slash - path), 1u) : 1;

	if (!*base)
		return -EINVAL;
	if (dir_len >= PATH_MAX || strlen(base) > NAME_MAX)
		return -ENAMETOOLONG;
	memcpy(dir, slash ? path : ".", dir_len);
	dir[dir_len] = '\0';
	strcpy(name, base);
	return 0;
}

int file_watch_open(struct file_watch *w, const char *path)
{
	_cleanup_(closep) int fd = -1;
	char dir[PATH_MAX];
	int r = file_watch_split_path(path, dir, w->name);

	if (r < 0)
		return r;
	/* A service binds its socket (the file appears), changes the mode, then listens. */
	fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (fd < 0 ||
	    inotify_add_watch(fd, dir, IN_CREATE | IN_MOVED_TO | IN_ATTRIB | IN_ONLYDIR) < 0)
		return -errno;
	w->fd = TAKE_FD(fd);
	return 0;
}

void file_watch_close(struct file_watch *w)
{
	closep(&w->fd);
}

enum file_watch_event file_watch_read(struct file_watch *w)
{
	union {
		struct inotify_event align;
		char bytes[4096];
	} buf;
	enum file_watch_event found = FILE_WATCH_QUIET;
	ssize_t n;

	while ((n = read(w->fd, &buf, sizeof(buf))) > 0) {
		found = MAX(found, FILE_WATCH_OTHERS);
		for (ssize_t at = 0; at < n;) {
			const struct inotify_event *e = (const void *)(buf.bytes + at);

			if ((e->mask & IN_Q_OVERFLOW) ||
			    (e->len > 0 && strcmp(e->name, w->name) == 0))
				found = FILE_WATCH_OURS;
			at += (ssize_t)sizeof(*e) + e->len;
		}
	}
	w->pause_ms = found == FILE_WATCH_QUIET ? 0
						: MIN(MAX(w->pause_ms * 2, FILE_WATCH_PAUSE_MIN_MS),
						      FILE_WATCH_PAUSE_MAX_MS);
	return found;
}
