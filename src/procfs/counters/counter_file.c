/* SPDX-License-Identifier: Apache-2.0 */
#include "procfs/counters/counter_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/system/fs.h"

void counter_file_close(struct counter_file *f, struct counter_poll *p)
{
	if (f->fd < 0)
		return;
	close(f->fd);
	f->fd = -1;
	p->fds--;
}

/* With the object (-ENODEV), or because the feature is off. */
static bool is_missing(int r)
{
	return r == -ENOENT || r == -ENODEV || r == -ENOTDIR || r == -EOPNOTSUPP;
}

static int open_file(struct counter_file *f, struct counter_poll *p, int at, const char *path)
{
	if (f->retry && (int32_t)(p->pass - f->retry) < 0)
		return -ENOENT;
	/* O_NONBLOCK: should it be a pipe or a device after all. */
	f->fd = openat(at, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (f->fd < 0)
		return -errno;
	p->fds++;
	f->retry = 0;
	return 0;
}

/* A line that was cut off has a number that was. */
static int whole_lines(const struct strbuf *b, struct span *ret)
{
	const char *nl = b->len > 0 ? memrchr(b->s, '\n', b->len) : NULL;

	if (b->len == 0)
		return -ENODATA;
	*ret = (struct span){b->s, nl ? (size_t)(nl + 1 - b->s) : 0};
	return ret->len == b->len ? 0 : -EBADMSG;
}

int counter_file_read(struct counter_file *f, struct counter_poll *p, int at, const char *path,
		      bool whole, struct span *ret_text)
{
	int r = f->fd < 0 ? open_file(f, p, at, path) : 0;

	*ret_text = (struct span){NULL, 0};
	if (r == 0)
		r = fs_reread(f->fd, whole, COUNTER_FILE_MAX, &p->text);
	if (r < 0 || p->fds > COUNTER_FDS_MAX)
		counter_file_close(f, p);
	if (is_missing(r)) {
		if (!f->retry || (int32_t)(p->pass - f->retry) >= 0)
			f->retry = p->pass + COUNTER_FILE_RETRY;
		return -ENOENT;
	}
	return r < 0 ? r : whole_lines(&p->text, ret_text);
}
