/* SPDX-License-Identifier: Apache-2.0 */
#include "service/output/output_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/mem.h"

static bool may_write(int dir, uid_t user)
{
	struct stat st;

	if (user == 0 || user == geteuid())
		return true;
	if (fstat(dir, &st) < 0)
		return false;
	return st.st_mode & (st.st_uid == user ? S_IWUSR : S_IWOTH);
}

static bool output_dir_is_name(const char *name, size_t len)
{
	return len > 0 && len <= NAME_MAX && !(name[0] == '.' && len == 1) &&
	       !(name[0] == '.' && name[1] == '.' && len == 2);
}

static int output_dir_fail(struct err_text *e, int error)
{
	return err_set(e, -error, "%s", strerror(error));
}

/* Replaces *dir by its sub-directory of this name. Returns 0 or -errno. */
static int output_dir_step(int *dir, const char *name, size_t len)
{
	char one[NAME_MAX + 1];
	int fd;

	if (!output_dir_is_name(name, len))
		return -EINVAL;
	memcpy(one, name, len);
	one[len] = '\0';
	fd = openat(*dir, one, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	closep(dir);
	*dir = fd;
	return 0;
}

/* Opens the directory of path, if the user may create files there. *ret_name points to the last
 * component. Returns 0, or -errno and sets e. */
static int open_parent_dir(int top, const char *path, uid_t user, struct err_text *e, int *ret_dir,
			   const char **ret_name)
{
	_cleanup_(closep) int dir = fcntl(top, F_DUPFD_CLOEXEC, 0);
	const char *name = path, *slash;
	int r = dir < 0 ? -errno : 0;

	for (; r == 0 && (slash = strchr(name, '/')); name = slash + 1)
		r = output_dir_step(&dir, name, (size_t)(slash - name));
	if (r == 0 && !output_dir_is_name(name, strlen(name)))
		r = strlen(name) > NAME_MAX ? -ENAMETOOLONG : -EINVAL;
	if (r < 0)
		return output_dir_fail(e, -r);
	if (name != path && !may_write(dir, user))
		return err_set(e, -EACCES,
			       "its directory is neither owned by user %u nor writable by all",
			       (unsigned)user);
	*ret_dir = TAKE_FD(dir);
	*ret_name = name;
	return 0;
}

static int change_owner(int fd, uid_t user, struct err_text *e)
{
	if (user == geteuid() || fchown(fd, user, (gid_t)-1) == 0)
		return 0;
	return err_set(e, -errno, "its owner cannot be changed to user %u: %s%s", (unsigned)user,
		       strerror(errno), errno == EPERM ? " (the service has no CAP_CHOWN)" : "");
}

int output_dir_create(int top, const char *path, uid_t user, struct err_text *e, int *ret_fd)
{
	_cleanup_(closep) int dir = -1, fd = -1;
	const char *name;
	int r = open_parent_dir(top, path, user, e, &dir, &name);

	if (r < 0)
		return r;
	fd = openat(dir, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return output_dir_fail(e, errno);
	r = change_owner(fd, user, e);
	if (r < 0)
		unlinkat(dir, name, 0);
	else
		*ret_fd = TAKE_FD(fd);
	return r;
}

struct output_file output_file_of(int fd)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return (struct output_file){0};
	return (struct output_file){.dev = st.st_dev, .ino = st.st_ino};
}

void output_dir_remove(int top, const char *path, uid_t user, const struct output_file *file)
{
	_cleanup_(closep) int dir = -1;
	const char *name;
	struct stat st;

	if (open_parent_dir(top, path, user, NULL, &dir, &name) < 0 ||
	    fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return;
	if (file->ino != 0 && st.st_ino == file->ino && st.st_dev == file->dev)
		unlinkat(dir, name, 0);
}
