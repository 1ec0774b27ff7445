/* SPDX-License-Identifier: Apache-2.0 */
#include "base/system/fs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/core/mem.h"

#define READ_CHUNK 4096
/* Larger than most files that are read repeatedly. */
#define REREAD_CHUNK (32u << 10)

int fs_read_fd(int fd, size_t max, struct strbuf *b)
{
	size_t start = b->len;
	int r = 0;

	/* Reads to the end of the file: files of /proc and tracefs have st_size 0. */
	for (;;) {
		/* One byte above the limit shows that the file is longer. */
		size_t left = max - (b->len - start), room = MIN(left, (size_t)READ_CHUNK - 1) + 1;
		char *to = strbuf_reserve(b, room);
		ssize_t n;

		if (!to) {
			r = -ENOMEM;
			break;
		}
		n = read(fd, to, room);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			r = n < 0 ? -errno : 0;
			break;
		}
		if ((size_t)n > left) {
			r = -EFBIG;
			break;
		}
		b->len += (size_t)n;
	}
	if (r < 0)
		b->len = start;
	if (b->s)
		b->s[b->len] = '\0';
	return r;
}

int fs_read_file(const char *path, size_t max, struct strbuf *b)
{
	_cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -errno : fs_read_fd(fd, max, b);
}

int fs_reread(int fd, bool whole, size_t max, struct strbuf *b)
{
	strbuf_clear(b);
	for (;;) {
		char *to = strbuf_reserve(b, b->cap - b->len > 1 ? 1 : REREAD_CHUNK);
		size_t room = b->cap - b->len - 1;
		ssize_t n;

		if (!to)
			return -ENOMEM;
		n = pread(fd, to, room, (off_t)b->len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		b->len += (size_t)n;
		b->s[b->len] = '\0';
		if (b->len > max)
			return -EFBIG;
		if (n == 0 || (whole && (size_t)n < room))
			return 0;
	}
}

static int write_once(const char *path, int flags, const char *text)
{
	_cleanup_(closep) int fd = open(path, O_WRONLY | O_CLOEXEC | flags);
	size_t len = strlen(text);
	ssize_t n;

	if (fd < 0)
		return -errno;
	do
		n = write(fd, text, len);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	return (size_t)n == len ? 0 : -EIO;
}

int fs_write_file(const char *path, const char *text, bool truncate)
{
	return write_once(path, truncate ? O_TRUNC : 0, text);
}

int fs_append_file(const char *path, const char *text)
{
	return write_once(path, O_APPEND, text);
}

int fs_write_all(int fd, const void *data, size_t len)
{
	const char *p = data;

	while (len > 0) {
		ssize_t n = write(fd, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

const char *fs_error_text(int error)
{
	return error == EBADMSG	  ? "part of the file has an unknown format"
	       : error == ENODATA ? "the file is empty"
				  : strerror(error);
}

bool fs_exists(const char *path)
{
	/* Checks with the effective ids and capabilities, as open(2) does. */
	return faccessat(AT_FDCWD, path, F_OK, AT_EACCESS) == 0;
}

const char *fs_temp_dir(void)
{
	const char *directory = getenv("TMPDIR");

	if (directory && *directory)
		return directory;
	return fs_exists("/tmp") ? "/tmp" : "/data/local/tmp";
}

FILE *fs_temp_file(void)
{
	int fd = open(fs_temp_dir(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	FILE *file = fd >= 0 ? fdopen(fd, "w+") : NULL;

	if (!file && fd >= 0)
		close(fd);
	return file ?: tmpfile();
}

int fs_join(char *buf, size_t size, const char *dir, const char *name)
{
	int n = snprintf(buf, size, "%s/%s", dir, name);

	return n < 0 || (size_t)n >= size ? -ENAMETOOLONG : 0;
}

void fs_occupy_standard_descriptors(void)
{
	int fd;

	/* open() returns the lowest free number. */
	for (int n = STDIN_FILENO; n <= STDERR_FILENO; n++) {
		if (fcntl(n, F_GETFD) >= 0)
			continue;
		fd = open("/dev/null", n == STDIN_FILENO ? O_WRONLY : O_RDONLY);
		if (fd < 0)
			(void)!open("/", O_PATH);
	}
}

void fs_raise_file_limit(unsigned n)
{
	struct rlimit l;

	if (getrlimit(RLIMIT_NOFILE, &l) || l.rlim_cur >= n)
		return;
	l.rlim_cur = MIN(l.rlim_max, n);
	setrlimit(RLIMIT_NOFILE, &l);
}

int fs_make_numbered_path(char *buf, size_t size, const char *path, unsigned number, int digits)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	const char *dot = strrchr(name, '.');
	int n;

	if (!dot || dot == name)
		dot = name + strlen(name);
	n = snprintf(buf, size, "%.*s.%0*u%s", (int)(dot - path), path, digits, number, dot);
	return n < 0 || (size_t)n >= size ? -ENAMETOOLONG : 0;
}

static void closedirp(DIR **d)
{
	if (*d)
		closedir(*d);
}

int fs_each(const char *dir, int (*fn)(void *ctx, const char *name, unsigned char d_type),
	    void *ctx)
{
	_cleanup_(closedirp) DIR *d = opendir(dir);

	if (!d)
		return -errno;
	for (;;) {
		struct dirent *e;
		int r;

		errno = 0; /* the only way to distinguish the end from an error */
		e = readdir(d);
		if (!e)
			return -errno;
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		r = fn(ctx, e->d_name, e->d_type);
		if (r != 0)
			return r;
	}
}

struct fs_nearest {
	struct str_nearest nearest;
	char *best; /* borrowed: for a copy of the name, since readdir(3) reuses its memory */
};

static int try_dir_entry(void *ctx, const char *name, unsigned char d_type)
{
	struct fs_nearest *n = ctx;

	str_nearest_try_copy(&n->nearest, name, n->best);
	return 0;
}

const char *fs_find_nearest(const char *dir, const char *name, char best[static STR_NEAREST_SIZE])
{
	struct fs_nearest n = {.best = best};

	str_nearest_init(&n.nearest, name);
	fs_each(dir, try_dir_entry, &n);
	return str_nearest_get(&n.nearest);
}
