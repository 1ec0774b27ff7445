/* SPDX-License-Identifier: Apache-2.0 */
#include "ebpf/program_file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/system/fs.h"
#include "base/core/mem.h"

static int check_name(const char *name, struct err_text *e)
{
	static const char chars[] = "abcdefghijklmnopqrstuvwxyz"
				    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
	size_t len = strlen(name);

	if (len > 0 && len <= PROGRAM_NAME_CHARS && strspn(name, chars) == len)
		return 0;
	return err_set(
		e, -EINVAL,
		"a program's name has 1 to %d letters, digits, '_' and '-', and leads nowhere "
		"else",
		PROGRAM_NAME_CHARS);
}

/* Of what is open: it is no other one any more. */
static int check_owner(int fd, const char *what, unsigned owner, mode_t type, struct err_text *e)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return err_set(e, -errno, "%s: %s", what, strerror(errno));
	if ((st.st_mode & S_IFMT) != type)
		return err_set(e, -EINVAL, "%s is no %s", what,
			       type == S_IFDIR ? "folder" : "file");
	if (st.st_uid != owner)
		return err_set(e, -EPERM, "%s belongs to user %u, and must to %u", what,
			       (unsigned)st.st_uid, owner);
	if (st.st_mode & (S_IWGRP | S_IWOTH))
		return err_set(e, -EPERM, "%s can be written by others than its owner", what);
	return 0;
}

/* A link that stays in the folder is fine; before 5.6 there is no way to know. */
static int open_beneath(int folder, const char *name)
{
	const struct open_how how = {.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK,
				     .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS};
	int fd = (int)syscall(SYS_openat2, folder, name, &how, sizeof(how));

	if (fd < 0 && errno == ENOSYS)
		fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
	return fd < 0 ? -errno : fd;
}

int program_file_read(const char *folder, const char *name, unsigned owner, struct strbuf *b,
		      struct err_text *e)
{
	_cleanup_(closep) int dir = -1, fd = -1;
	char file[PROGRAM_NAME_CHARS + sizeof(".bpf.o")];
	int r = check_name(name, e);

	if (r < 0)
		return r;
	snprintf(file, sizeof(file), "%s.bpf.o", name);
	dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return err_set(e, -errno, "%s: %s", folder, strerror(errno));
	r = check_owner(dir, folder, owner, S_IFDIR, e);
	if (r < 0)
		return r;
	fd = open_beneath(dir, file);
	if (fd == -EXDEV || fd == -ELOOP)
		return err_set(e, fd, "%s is a link that leads out of %s", file, folder);
	if (fd < 0)
		return err_set(e, fd, "%s/%s: %s", folder, file, strerror(-fd));
	r = check_owner(fd, file, owner, S_IFREG, e);
	if (r < 0)
		return r;
	r = fs_read_fd(fd, PROGRAM_BYTES_MAX, b);
	return r < 0 ? err_set(e, r, "%s/%s: %s", folder, file, strerror(-r)) : 0;
}
