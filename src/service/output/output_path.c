/* SPDX-License-Identifier: Apache-2.0 */
#include "service/output/output_path.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/mem.h"

static bool asker_may_write(const struct stat *folder, uid_t asker)
{
	if (asker == 0 || asker == geteuid())
		return true;
	if (folder->st_uid == asker)
		return folder->st_mode & S_IWUSR;
	return folder->st_mode & S_IWOTH;
}

static int fail(struct err_text *e, int error, const char *path)
{
	bool is_right = error == EACCES || error == EPERM || error == EROFS;

	return err_set(e, -error, "cannot create output_path %.300s: %s%s", path, strerror(error),
		       is_right ? " (for the service, which has its user's rights only; an open "
				  "file can be passed instead of output_path)"
				: "");
}

/* The folder of path, into which asker may put files. */
static int open_folder(const char *path, uid_t asker, struct err_text *e, int *ret_fd)
{
	const char *slash = strrchr(path, '/');
	_cleanup_(freep) char *folder = strndup(path, MAX((size_t)(slash - path), 1u));
	_cleanup_(closep) int fd = -1;
	struct stat st;

	if (!folder)
		return err_set(e, -ENOMEM, "out of memory");
	fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return fail(e, errno, path);
	if (!asker_may_write(&st, asker))
		return err_set(e, -EACCES,
			       "cannot create output_path %.300s: the folder is neither user %u's "
			       "nor writable for everybody; an open file can be passed instead",
			       path, (unsigned)asker);
	*ret_fd = TAKE_FD(fd);
	return 0;
}

int output_path_create(const char *path, uid_t asker, struct err_text *e, int *ret_fd)
{
	const char *name = strrchr(path, '/') + 1;
	_cleanup_(closep) int folder = -1, fd = -1;
	int r;

	assert(path[0] == '/');
	r = open_folder(path, asker, e, &folder);
	if (r < 0)
		return r;
	fd = openat(folder, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return fail(e, errno, path);
	/* Readable for whoever asked, whatever the umask of the service is. */
	if (fchmod(fd, 0644) < 0) {
		int error = errno;

		unlinkat(folder, name, 0);
		return fail(e, error, path);
	}
	*ret_fd = TAKE_FD(fd);
	return 0;
}

struct output_file output_file_of(int fd)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return (struct output_file){0};
	return (struct output_file){.dev = st.st_dev, .ino = st.st_ino};
}

/* The path may lead into another folder by now, through a link that asker has put there. */
void output_path_remove(const char *path, uid_t asker, const struct output_file *file)
{
	const char *name = strrchr(path, '/') + 1;
	_cleanup_(closep) int folder = -1;
	struct stat st;

	if (open_folder(path, asker, NULL, &folder) < 0 ||
	    fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return;
	if (file->ino != 0 && st.st_ino == file->ino && st.st_dev == file->dev)
		unlinkat(folder, name, 0);
}
