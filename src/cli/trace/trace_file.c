/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/trace/trace_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/text/str.h"
#include "cli/terminal/sudo_user.h"
#include "cli/trace/safe_path.h"
#include "gen/fields.h"
#include "wire/pb_dec.h"
#include "wire/pb_varint.h"

/*
 * Packets are collected in one buffer and written with one write(2):
 *
 *	buf   | 0A len packet | 0A len packet | ...        |
 *	      0                               used        BUF_SIZE
 *
 *	file  | whole packets          | part of one       |
 *	      0                        whole               disk full: truncated to whole
 *
 * A packet larger than the buffer is written directly. If a write fails for good, the records in
 * the buffer are scanned for the last one that is completely in the file.
 *
 * Until it is saved the file has no name (O_TMPFILE), so that nothing is left if this process ends.
 * On file systems without O_TMPFILE it has a hidden name.
 */

#define BUF_SIZE (256u << 10)
#define PATIENCE_MS 3000 /* for the reader of a pipe, before on_stall reports it */
#define MAX_RECORD_HEAD 11 /* tag (1 byte) and varint (at most 10) */
#define MAX_NAMES_TRIED 100 /* hidden names, which other files may have */
#define MAX_SPARE_BYTES (1ull << 30) /* kept free on a large file system */

struct trace_file {
	int fd;
	bool owns_fd; /* false: standard output */
	char *path; /* owned; the final name, NULL if it is written directly */
	char *temp; /* owned; its hidden name, NULL: none */
	bool is_named; /* it has its final name */
	void (*on_stall)(void *ctx, bool stalled); /* NULL: writes may block */
	void *stall_ctx;
	int signals; /* borrowed */
	int error; /* -errno of the failed write: later packets are dropped */
	uint64_t whole; /* bytes of whole packets that were written */
	size_t used;
	uint8_t buf[BUF_SIZE];
};

/* ---- opening ---- */

int trace_file_check_new(const char *path, struct err_text *e)
{
	struct stat st;

	if (!strcmp(path, "-") || stat(path, &st) < 0 || !S_ISREG(st.st_mode))
		return 0;
	return err_set(e, -EEXIST,
		       "%s already exists; replace it with --force, or choose another name with -o",
		       path);
}

/* Returns "dir/.name.XXXXXX" for "dir/name"; a long name is cut. The caller frees it. Returns NULL
 * if memory runs out. */
static char *temp_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	struct strbuf b = {0};

	strbuf_add(&b, path, (size_t)(name - path));
	strbuf_printf(&b, ".%.*s.XXXXXX", NAME_MAX - 8, name);
	return strbuf_take(&b);
}

/* Opens a file without a name, or with a hidden one, beside path. Takes ownership of path. */
static int open_beside(struct trace_file *f, char *path)
{
	f->path = path;
	f->fd = safe_path_open_dir(f->path, O_TMPFILE | O_RDWR);
	if (f->fd < 0) {
		f->temp = temp_name(f->path);
		if (!f->temp)
			return -ENOMEM;
		f->fd = mkostemp(f->temp, O_CLOEXEC);
	}
	if (f->fd < 0) {
		free(TAKE_PTR(f->temp)); /* mkstemp failed: no file to remove */
		return -errno;
	}
	sudo_user_chown(f->fd); /* the user who called sudo must be able to read it */
	return 0;
}

static int link_file_to(const struct trace_file *f, const char *path)
{
	char self[32];

	snprintf(self, sizeof(self), "/proc/self/fd/%d", f->fd);
	return linkat(AT_FDCWD, self, AT_FDCWD, path, AT_SYMLINK_FOLLOW) ? -errno : 0;
}

/* Links the file under a hidden name in the same directory; rename(2) can then replace an older
 * trace. */
static int link_hidden(struct trace_file *f)
{
	_cleanup_(freep) char *temp = NULL;
	int r = -EEXIST;
	unsigned random;

	if (f->temp)
		return 0;
	temp = temp_name(f->path);
	if (!temp)
		return -ENOMEM;
	for (int tries = 0; r == -EEXIST && tries < MAX_NAMES_TRIED; tries++) {
		if (getrandom(&random, sizeof(random), 0) < 0)
			return -errno;
		snprintf(temp + strlen(temp) - 6, 7, "%06x", random & 0xffffff);
		r = link_file_to(f, temp);
	}
	if (r == 0)
		f->temp = TAKE_PTR(temp);
	return r;
}

/* Gives the file the name path, which must not exist yet. Returns 0 or -errno. */
static int rename_to_new_name(struct trace_file *f, const char *path)
{
	if (!f->temp)
		return link_file_to(f, path);
	if (link(f->temp, path) == 0)
		unlink(f->temp);
	else if (errno == EEXIST || renameat2(AT_FDCWD, f->temp, AT_FDCWD, path, RENAME_NOREPLACE))
		return -errno; /* renameat2: for file systems without hard links */
	free(TAKE_PTR(f->temp));
	return 0;
}

/* Opens stdout, a device or a pipe directly, and for a regular file a new one beside it. Sets e
 * only if safe_path_follow() does so. */
static int open_by_kind(struct trace_file *f, const char *path, struct err_text *e)
{
	_cleanup_(freep) char *last = strdup(path);
	_cleanup_(closep) int fd = -1;
	struct stat st;
	int r;

	f->owns_fd = strcmp(path, "-") != 0;
	if (!f->owns_fd) {
		f->fd = STDOUT_FILENO;
		return 0;
	}
	if (!last)
		return -ENOMEM;
	r = safe_path_follow(&last, &fd, &st, e);
	if (r < 0)
		return r;
	if (fd < 0 || S_ISREG(st.st_mode))
		return open_beside(f, TAKE_PTR(last));
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	f->fd = safe_path_open(fd, last, &st);
	return MIN(f->fd, 0);
}

int trace_file_open(const char *path, struct err_text *e, struct trace_file **ret)
{
	struct trace_file *f = malloc(sizeof(*f));
	struct err_text why = {""};
	int r;

	if (!f)
		return err_set(e, -ENOMEM, "out of memory");
	/* Not calloc: the buffer is large and needs no zeroes. */
	f->fd = -1;
	f->owns_fd = true;
	f->path = f->temp = NULL;
	f->is_named = false;
	f->on_stall = NULL;
	f->error = 0;
	f->whole = f->used = 0;
	r = open_by_kind(f, path, &why);
	if (r) {
		trace_file_free(f);
		return why.text[0] ? err_set(e, r, "%s", why.text)
				   : err_set(e, r, "cannot write %s: %s", path, strerror(-r));
	}
	*ret = f;
	return 0;
}

/* ---- writing ---- */

/* Waits until a pipe accepts bytes, and returns true. on_stall reports a reader that does not read.
 * After that report a signal ends the wait, and the function returns false; no other code reads the
 * signalfd meanwhile. */
static bool await_reader(struct trace_file *f)
{
	struct pollfd p[2] = {{.fd = f->fd, .events = POLLOUT},
			      {.fd = f->signals, .events = POLLIN}};
	bool stalled = poll(p, 1, PATIENCE_MS) == 0;

	if (!stalled)
		return true;
	f->on_stall(f->stall_ctx, true);
	while (poll(p, ARRAY_SIZE(p), -1) < 0 && errno == EINTR)
		;
	if (!p[0].revents)
		return false;
	f->on_stall(f->stall_ctx, false);
	return true;
}

/* To a pipe with on_stall, writes at most PIPE_BUF bytes: a pipe that poll(2) reports writable
 * accepts these at once. */
static ssize_t write_piece(struct trace_file *f, const uint8_t *data, size_t len)
{
	if (f->path || !f->on_stall)
		return write(f->fd, data, len);
	if (!await_reader(f)) {
		errno = ECANCELED;
		return -1;
	}
	return write(f->fd, data, MIN(len, PIPE_BUF));
}

/* Writes as much as possible. Returns the number of bytes written. */
static size_t write_until_error(struct trace_file *f, const uint8_t *data, size_t len)
{
	size_t done = 0;
	ssize_t n;

	while (done < len) {
		n = write_piece(f, data + done, len - done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			f->error = n < 0 ? -errno : -EIO;
			break;
		}
		done += (size_t)n;
	}
	return done;
}

/* Returns the end of the last record that is complete within the first len bytes. */
static size_t last_record_end(const uint8_t *data, size_t len)
{
	const uint8_t *p = data, *end = data + len, *next;
	uint64_t size;

	while (p < end) {
		next = pb_get_varint(p + 1, end, &size);
		if (!next || size > (uint64_t)(end - next))
			break;
		p = next + size;
	}
	return (size_t)(p - data);
}

int trace_file_flush(struct trace_file *f)
{
	size_t done;

	if (f->error)
		return f->error;
	done = write_until_error(f, f->buf, f->used);
	f->whole += last_record_end(f->buf, done);
	f->used = 0;
	return f->error;
}

int trace_file_add_packet(struct trace_file *f, const uint8_t *data, size_t len)
{
	uint8_t head[MAX_RECORD_HEAD], *end;
	size_t head_len;

	if (f->error)
		return f->error;
	head[0] = (uint8_t)pb_tag(PB_TRACE_PACKET, PB_WIRE_BYTES);
	end = pb_put_varint(head + 1, len);
	head_len = (size_t)(end - head);
	if (len > sizeof(f->buf) - MAX_RECORD_HEAD) {
		if (trace_file_flush(f))
			return f->error;
		if (write_until_error(f, head, head_len) == head_len &&
		    write_until_error(f, data, len) == len)
			f->whole += head_len + len;
		return f->error;
	}
	if (head_len + len > sizeof(f->buf) - f->used && trace_file_flush(f))
		return f->error;
	memcpy(f->buf + f->used, head, head_len);
	if (len)
		memcpy(f->buf + f->used + head_len, data, len);
	f->used += head_len + len;
	return 0;
}

void trace_file_watch_stalls(struct trace_file *f, int signals,
			     void (*on_stall)(void *ctx, bool stalled), void *ctx)
{
	f->signals = signals;
	f->on_stall = on_stall;
	f->stall_ctx = ctx;
}

int trace_file_error(const struct trace_file *f)
{
	return f->error;
}

int trace_file_fd(const struct trace_file *f)
{
	return f->fd;
}

bool trace_file_is_named(const struct trace_file *f)
{
	return f->is_named;
}

int trace_file_update_size(struct trace_file *f)
{
	struct stat st;

	if (fstat(f->fd, &st) < 0)
		return -errno;
	f->whole = S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0;
	return 0;
}

bool trace_file_is_regular(const struct trace_file *f)
{
	return f->path != NULL;
}

uint64_t trace_file_room_of(const struct statvfs *st)
{
	uint64_t free = (uint64_t)st->f_bavail * st->f_frsize;
	uint64_t spare = MIN((uint64_t)st->f_blocks * st->f_frsize / 20, MAX_SPARE_BYTES);

	if (!st->f_blocks)
		return UINT64_MAX;
	return free > spare ? free - spare : 0;
}

uint64_t trace_file_room(const struct trace_file *f)
{
	struct statvfs st;

	return fstatvfs(f->fd, &st) ? UINT64_MAX : trace_file_room_of(&st);
}

int trace_file_truncate(struct trace_file *f, uint64_t bytes)
{
	if (ftruncate(f->fd, (off_t)bytes))
		return -errno;
	return trace_file_update_size(f);
}

uint64_t trace_file_bytes(const struct trace_file *f)
{
	return f->whole + f->used;
}

/* ---- the end ---- */

static int trace_file_close_file(struct trace_file *f)
{
	int fd = f->fd;

	f->fd = -1;
	/* A network file system may report only now that the disk is full. */
	if (f->owns_fd && fd >= 0 && close(fd) && errno != EINTR)
		return -errno;
	return 0;
}

/* Flushes the buffered packets. If a write fails, truncates the file after the last complete
 * packet. Returns 0 or the -errno of the write. */
static int flush_or_truncate_packets(struct trace_file *f)
{
	int error = trace_file_flush(f);

	if (error && f->path && ftruncate(f->fd, (off_t)f->whole))
		error = -errno;
	return error;
}

int trace_file_assign_name(struct trace_file *f, struct err_text *e)
{
	int r;

	if (f->is_named || !f->path)
		return 0;
	r = link_hidden(f);
	if (r)
		return err_set(e, r, "cannot create %s: %s", f->path, strerror(-r));
	if (rename(f->temp, f->path))
		return err_set(e, -errno, "cannot rename %s to %s: %s", f->temp, f->path,
			       strerror(errno));
	free(TAKE_PTR(f->temp));
	f->is_named = true;
	return 0;
}

void trace_file_remove(struct trace_file *f)
{
	struct stat ours, named;

	/* Another process may have replaced the file. */
	if (f->is_named && fstat(f->fd, &ours) == 0 && lstat(f->path, &named) == 0 &&
	    ours.st_dev == named.st_dev && ours.st_ino == named.st_ino)
		unlink(f->path);
}

int trace_file_save(struct trace_file *f, struct err_text *e)
{
	int error = flush_or_truncate_packets(f), r = trace_file_assign_name(f, e);

	if (r)
		return r;
	r = trace_file_close_file(f);
	if (!error)
		error = r;
	if (error == -ECANCELED)
		return err_set(e, error, "interrupted: wrote only the first %llu bytes",
			       (unsigned long long)f->whole);
	if (error)
		return err_set(e, error, "cannot write all of %s: %s",
			       f->path ? f->path : "the output", strerror(-error));
	return 0;
}

int trace_file_save_new(struct trace_file *f, const char *path, struct err_text *e)
{
	int error = flush_or_truncate_packets(f), r = 0;

	if (!error || f->whole > 0)
		r = rename_to_new_name(f, path);
	if (r)
		return err_set(e, r, "cannot create %s: %s", path, strerror(-r));
	r = trace_file_close_file(f);
	if (!error)
		error = r;
	if (error)
		err_set(e, error, "cannot write all of %s: %s", path, strerror(-error));
	return error && f->whole > 0 ? 1 : error;
}

void trace_file_free(struct trace_file *f)
{
	if (!f)
		return;
	trace_file_close_file(f);
	if (f->temp)
		unlink(f->temp);
	free(f->temp);
	free(f->path);
	free(f);
}

/* ---- the output of a verb ---- */

int trace_file_default_name(const char *kind, const char *machine, struct output_name *ret,
			    struct err_text *e)
{
	char host[256] = "host", when[32];
	time_t now = time(NULL);
	unsigned random;
	struct tm tm;

	if (machine)
		snprintf(host, sizeof(host), "%s", machine);
	else
		gethostname(host, sizeof(host) - 1);
	for (char *p = host; *p; p++)
		if (*p == '/')
			*p = '_';
	if (!localtime_r(&now, &tm))
		return err_set(e, -errno, "cannot choose a name for the output; give one with -o");
	/* Other users must not guess the name, or they could create the file first. */
	if (getrandom(&random, sizeof(random), 0) < 0)
		return err_set(e, -errno, "cannot choose a name for the output; give one with -o");
	strftime(when, sizeof(when), "%Y%m%dT%H%M%S", &tm);
	snprintf(ret->text, sizeof(ret->text), "%.16s-%s-%s-%06x.pftrace", kind, host, when,
		 random & 0xffffff);
	return 0;
}

int trace_file_open_output(const char *path, const char *kind, struct output_name *ret_name,
			   struct trace_file **ret, struct err_text *e)
{
	if (path && !strcmp(path, "-") && isatty(STDOUT_FILENO))
		return err_set(e, -ENOTTY,
			       "a trace is binary and is not written to a terminal; use -o FILE, "
			       "or a pipe: -o - | COMMAND");
	int r = path ? 0 : trace_file_default_name(kind, NULL, ret_name, e);

	if (r < 0)
		return r;
	if (path)
		snprintf(ret_name->text, sizeof(ret_name->text), "%s",
			 strcmp(path, "-") ? path : "standard output");
	return trace_file_open(path ? path : ret_name->text, e, ret);
}
