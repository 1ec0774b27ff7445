/* SPDX-License-Identifier: Apache-2.0 */
#include "procfs/sys/sys_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/core/mem.h"
#include "base/system/fs.h"
#include "base/text/str.h"

/* A value of /sys has at most one page, and pages have up to 64 KiB. */
#define ONCE_MAX 65536

static char *make_path(const char *root, const char *fmt, va_list ap)
{
	_cleanup_(freep) char *name = NULL;
	char *path;

	if (vasprintf(&name, fmt, ap) < 0) {
		name = NULL;
		return NULL;
	}
	return asprintf(&path, "%s/%s", root, name) < 0 ? NULL : path;
}

int sys_file_init(struct sys_file *f, bool whole, const char *root, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	*f = (struct sys_file){.path = make_path(root, fmt, ap), .fd = -1, .whole = whole};
	va_end(ap);
	return f->path ? 0 : -ENOMEM;
}

static void sys_file_close_file(struct sys_file *f, struct sys_packet *p)
{
	if (f->fd < 0)
		return;
	close(f->fd);
	f->fd = -1;
	p->fds--;
}

void sys_file_deinit(struct sys_file *f, struct sys_packet *p)
{
	if (!f->path)
		return;
	sys_file_close_file(f, p);
	free(f->path);
	f->path = NULL;
}

/* Returns true if every user may read the file: only then a file that a user named is read. */
static bool is_public_file(const struct stat *st, dev_t public_on)
{
	return S_ISREG(st->st_mode) && (st->st_mode & S_IROTH) && st->st_dev == public_on;
}

/* Returns 0 if the file is public or need not be. sys_file_open_file() checks it before the open
 * too, because an open may have side effects. */
static int check_file_is_public(const struct sys_file *f)
{
	struct stat st;

	if (!f->public_on)
		return 0;
	if ((f->fd < 0 ? stat(f->path, &st) : fstat(f->fd, &st)) < 0)
		return -errno;
	return is_public_file(&st, f->public_on) ? 0 : -EPERM;
}

/* Opens the file. Returns 0; -EAGAIN before f->retry; or another -errno, and sets f->retry. */
static int sys_file_open_file(struct sys_file *f, struct sys_packet *p)
{
	int r;

	if (p->now < f->retry)
		return -EAGAIN;
	r = check_file_is_public(f);
	if (r == 0) {
		/* O_NONBLOCK, in case it is a pipe or a device. */
		f->fd = open(f->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
		r = f->fd < 0 ? -errno : 0;
	}
	if (f->fd >= 0) {
		p->fds++;
		r = check_file_is_public(f);
	}
	if (r < 0) {
		sys_file_close_file(f, p);
		f->retry = p->now + SYS_FILE_RETRY_NS;
	}
	return r;
}

/* Returns true if the device was removed or the feature is off. */
static bool is_missing_file_error(int r)
{
	return r == -ENODEV || r == -ENOENT || r == -ENXIO || r == -EOPNOTSUPP || r == -ESTALE;
}

int sys_file_read(struct sys_file *f, struct sys_packet *p, struct span *ret_text)
{
	int r = f->fd < 0 ? sys_file_open_file(f, p) : 0;

	if (r < 0)
		return r;
	r = fs_reread(f->fd, f->whole, f->max ? f->max : SYS_FILE_SIZE_MAX, &p->text);
	if (r == 0 && p->text.len == 0)
		r = -ENODATA;
	if (is_missing_file_error(r))
		f->retry = p->now + SYS_FILE_RETRY_NS;
	if (is_missing_file_error(r) || p->fds > SYS_PACKET_FDS_MAX)
		sys_file_close_file(f, p);
	if (r < 0)
		return r == -EAGAIN ? -EIO : r;
	*ret_text = (struct span){p->text.s, p->text.len};
	return 0;
}

/* Like sys_file_read(), for a table: logs and counts errors other than -EAGAIN. Returns false on
 * error. */
static bool sys_file_read_for_table(struct sys_file *f, struct sys_packet *p, struct sys_errors *t,
				    struct span *ret_text)
{
	int r = sys_file_read(f, p, ret_text);

	if (r < 0 && r != -EAGAIN)
		sys_packet_count_error(p, t, f->path, -r);
	return r == 0;
}

void sys_file_poll(struct sys_file *f, struct sys_packet *p, struct sys_errors *t,
		   int (*parse)(void *state, struct sys_packet *p, struct span text), void *state)
{
	struct span text;
	int r;

	if (!sys_file_read_for_table(f, p, t, &text))
		return;
	r = parse(state, p, text);
	if (r < 0)
		sys_packet_count_error(p, t, f->path, -r);
}

int sys_file_read_once(struct strbuf *b, const char *root, const char *fmt, ...)
{
	_cleanup_(freep) char *path = NULL;
	va_list ap;
	int r;

	va_start(ap, fmt);
	path = make_path(root, fmt, ap);
	va_end(ap);
	if (!path)
		return -ENOMEM;
	strbuf_clear(b);
	r = fs_read_file(path, ONCE_MAX, b);
	if (r < 0)
		return r;
	if (b->len > 0 && b->s[b->len - 1] == '\n')
		b->s[--b->len] = '\0';
	return b->len > 0 ? 0 : -ENODATA;
}
