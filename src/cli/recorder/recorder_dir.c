/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/recorder/recorder_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/system/fs.h"
#include "base/text/str.h"

#define PART_SUFFIX ".pftrace"

/* ---- names ---- */

/* The beginning of a part's name, and the whole name. */
#define SERIES_FORMAT "part-%06u-%s"
#define PART_FORMAT SERIES_FORMAT ".%06u" PART_SUFFIX

int recorder_part_path(const char *dir, const struct recorder_part *part, char ret[static PATH_MAX])
{
	int n = snprintf(ret, PATH_MAX, "%s/" PART_FORMAT, dir, part->session, part->boot,
			 part->number);

	return n < PATH_MAX ? 0 : -ENAMETOOLONG;
}

int recorder_part_series(const char *dir, uint32_t session, const char *boot,
			 char ret[static PATH_MAX])
{
	int n = snprintf(ret, PATH_MAX, "%s/" SERIES_FORMAT PART_SUFFIX, dir, session, boot);

	return n < PATH_MAX ? 0 : -ENAMETOOLONG;
}

/* Parses the name of a part. Returns false for other files. */
static bool recorder_part_parse(const char *name, struct recorder_part *ret)
{
	char same[64];

	if (sscanf(name, "part-%9u-%8[0-9a-f].%9u", &ret->session, ret->boot, &ret->number) != 3)
		return false;
	snprintf(same, sizeof(same), PART_FORMAT, ret->session, ret->boot, ret->number);
	return !strcmp(same, name);
}

void recorder_boot_read(char ret[static RECORDER_BOOT_SIZE])
{
	struct strbuf text = {0};

	snprintf(ret, RECORDER_BOOT_SIZE, "00000000");
	if (!fs_read_file("/proc/sys/kernel/random/boot_id", 256, &text) &&
	    strspn(text.s ? text.s : "", "0123456789abcdef") >= RECORDER_BOOT_SIZE - 1)
		snprintf(ret, RECORDER_BOOT_SIZE, "%.8s", text.s);
	strbuf_deinit(&text);
}

/* ---- the list ---- */

struct part_list {
	const char *dir; /* borrowed */
	struct recorder_parts *parts; /* borrowed */
};

static int part_list_add(void *ctx, const char *name, unsigned char d_type)
{
	struct part_list *l = ctx;
	struct recorder_part part = {0};
	char path[PATH_MAX];
	struct stat st;

	if (!recorder_part_parse(name, &part) || l->parts->n == RECORDER_PARTS_MAX ||
	    fs_join(path, sizeof(path), l->dir, name) || lstat(path, &st) || !S_ISREG(st.st_mode))
		return 0;
	if (array_reserve(&l->parts->of, &l->parts->cap, l->parts->n + 1, sizeof(*l->parts->of)))
		return -ENOMEM;
	part.bytes = (uint64_t)st.st_size;
	part.end_ns = (int64_t)st.st_mtim.tv_sec * (int64_t)NS_PER_S + st.st_mtim.tv_nsec;
	l->parts->of[l->parts->n++] = part;
	l->parts->bytes += part.bytes;
	return 0;
}

static int recorder_part_compare(const void *a, const void *b)
{
	const struct recorder_part *x = a, *y = b;

	if (x->session != y->session)
		return x->session < y->session ? -1 : 1;
	return (x->number > y->number) - (x->number < y->number);
}

int recorder_parts_read(const char *dir, struct recorder_parts *ret)
{
	struct part_list l = {.dir = dir, .parts = ret};
	int r;

	ret->n = 0;
	ret->bytes = 0;
	r = fs_each(dir, part_list_add, &l);
	if (r == 0 && ret->n)
		qsort(ret->of, ret->n, sizeof(*ret->of), recorder_part_compare);
	return r;
}

void recorder_parts_deinit(struct recorder_parts *p)
{
	free(p->of);
	*p = (struct recorder_parts){0};
}

size_t recorder_parts_prune(const char *dir, struct recorder_parts *p, uint64_t max_bytes,
			    int64_t oldest_ns)
{
	char path[PATH_MAX];
	size_t n = 0;

	while (n + 1 < p->n && (p->bytes > max_bytes || p->of[n].end_ns < oldest_ns)) {
		if (recorder_part_path(dir, &p->of[n], path) == 0)
			unlink(path);
		p->bytes -= p->of[n++].bytes;
	}
	if (n)
		memmove(p->of, p->of + n, (p->n - n) * sizeof(*p->of));
	p->n -= n;
	return n;
}

/* ---- the lock ---- */

/* Creates the directory and the missing ones above it. */
static int make_dirs(const char *dir)
{
	char path[PATH_MAX];

	if (strlen(dir) >= sizeof(path))
		return -ENAMETOOLONG;
	strcpy(path, dir);
	for (char *at = strchr(path + 1, '/'); at; at = strchr(at + 1, '/')) {
		*at = '\0';
		if (mkdir(path, 0755) && errno != EEXIST)
			return -errno;
		*at = '/';
	}
	return mkdir(path, 0700) && errno != EEXIST ? -errno : 0;
}

/* Returns 0 if the directory is this user's own, and no other user may write into it; else -errno
 * and sets e. Other users could replace the files that the recorder opens and removes. */
static int check_owner(const char *dir, struct err_text *e)
{
	struct stat st;

	if (stat(dir, &st) < 0)
		return err_set(e, -errno, "cannot use the directory %.300s: %s", dir,
			       strerror(errno));
	if (!S_ISDIR(st.st_mode))
		return err_set(e, -ENOTDIR, "%.300s is not a directory", dir);
	if (st.st_uid != geteuid() || (st.st_mode & 022))
		return err_set(e, -EPERM,
			       "the directory %.300s must be owned by this user and writable by no "
			       "other user; choose another one with --dir",
			       dir);
	return 0;
}

int recorder_dir_lock(const char *dir, int *ret_fd, struct err_text *e)
{
	_cleanup_(closep) int fd = -1;
	char path[PATH_MAX];
	int r = make_dirs(dir);

	if (r < 0)
		return err_set(e, r, "cannot create the directory %.300s: %s", dir, strerror(-r));
	r = check_owner(dir, e);
	if (r < 0)
		return r;
	r = fs_join(path, sizeof(path), dir, "lock");
	if (r == 0)
		fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return err_set(e, r ? r : -errno, "cannot create %.300s/lock: %s", dir,
			       strerror(r ? -r : errno));
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return err_set(e, -EBUSY,
			       "another recorder already uses the directory %.300s; see sonda "
			       "recorder status",
			       dir);
	*ret_fd = TAKE_FD(fd);
	return 0;
}

bool recorder_dir_is_locked(const char *dir)
{
	_cleanup_(closep) int fd = -1;
	char path[PATH_MAX];

	if (fs_join(path, sizeof(path), dir, "lock"))
		return false;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	return fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK;
}
