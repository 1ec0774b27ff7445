/* SPDX-License-Identifier: Apache-2.0 */
#include "service/output/file_copy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "service/output/file_parts.h"

/* The service opens no file itself, so what was passed for writing only cannot be read. */
static bool is_readable(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	return flags >= 0 && (flags & O_ACCMODE) == O_RDWR;
}

static int check_part(const struct file_part *p, const struct stat *to)
{
	struct stat st;

	if (fstat(p->out.fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -ESPIPE;
	if (st.st_dev == to->st_dev && st.st_ino == to->st_ino)
		return -EDEADLK;
	return is_readable(p->out.fd) ? 0 : -EACCES;
}

static int take_part(struct file_part *p, struct file_range *ret)
{
	struct file_range range = {.fd = -1};

	range.pos = p->out.begin;
	range.end = out_file_end(&p->out);
	range.fd = fcntl(p->out.fd, F_DUPFD_CLOEXEC, 0);
	if (range.fd < 0)
		return -errno;
	*ret = range;
	return 0;
}

static int refuse(const struct file_parts *f, int r, struct err_text *e)
{
	if (r == -ESPIPE)
		return err_set(e, r, "%.300s is no file that can be read again",
			       file_parts_name(f));
	if (r == -EDEADLK)
		return err_set(e, r, "%.300s cannot be cloned into itself", file_parts_name(f));
	if (r == -EACCES)
		return err_set(e, r,
			       "%.300s cannot be copied: it was passed for writing only, not for "
			       "reading and writing",
			       file_parts_name(f));
	return err_set(e, r, "%.300s cannot be copied: %s", file_parts_name(f), strerror(-r));
}

int file_copy_check(const struct file_parts *f, int to, struct err_text *e)
{
	struct stat st;
	int r = fstat(to, &st) < 0 ? -errno : 0;

	for (size_t i = 0; i < f->n && r == 0; i++)
		r = check_part(&f->list[i], &st);
	return r == 0 ? 0 : refuse(f, r, e);
}

int file_copy_take(struct file_copy *c, struct file_parts *f, int to, struct err_text *e)
{
	int r = file_copy_check(f, to, e);

	*c = (struct file_copy){0};
	if (r < 0)
		return r;
	r = file_parts_write_now(f, FILE_COPY_WAIT_MS);
	for (size_t i = 0; i < f->n && r == 0; i++) {
		r = take_part(&f->list[i], &c->ranges[i]);
		c->n += r == 0;
	}
	if (r == 0)
		return 0;
	file_copy_deinit(c);
	return refuse(f, r, e);
}

void file_copy_deinit(struct file_copy *c)
{
	for (size_t i = 0; i < c->n; i++)
		closep(&c->ranges[i].fd);
	*c = (struct file_copy){0};
}

int file_copy_next(struct file_copy *c, struct out_file *to)
{
	struct file_range *range;
	ssize_t n;

	while (c->next < c->n && c->ranges[c->next].pos == c->ranges[c->next].end)
		c->next++;
	if (c->next == c->n)
		return 0;
	range = &c->ranges[c->next];
	n = out_file_take(to, range->fd, range->pos,
			  (size_t)MIN(range->end - range->pos, (off_t)FILE_BATCH_BYTES));
	if (n <= 0)
		return n < 0 ? (int)n : -EIO; /* somebody has cut it */
	range->pos += n;
	return 1;
}
