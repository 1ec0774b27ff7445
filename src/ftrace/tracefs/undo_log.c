// SPDX-License-Identifier: Apache-2.0
/*
 * flock(2) locks the file, not its name. Meanwhile the owner may have unlinked the file or
 * replaced it by a rewritten one; so the name is checked again after locking.
 *
 * Root reads the logs and writes their values to tracefs. So the directory must be ours alone, and
 * a file name in a log must not lead out of the tracefs directory.
 */
#include "ftrace/tracefs/undo_log.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/system/fs.h"
#include "base/core/mem.h"
#include "base/text/str.h"

#define HEAD "sonda-loan 1"
#define TOP_LEVEL "top-level"

#define TRIES 10 /* opening a file can fail when another process removes the empty directory */

struct undo_log {
	int fd; /* owned, with the lock */
	char path[4096];
};

/* ---- names ---- */

/* "instances/foo" <-> "instances:foo", "" <-> "top-level" */
static int path_of_log(char *path, size_t size, const char *state, const char *place)
{
	char name[512];
	int n = snprintf(name, sizeof(name), "%s", *place ? place : TOP_LEVEL);
	char *slash = strchr(name, '/');

	if (n < 0 || (size_t)n >= sizeof(name))
		return -ENAMETOOLONG;
	if (slash)
		*slash = ':';
	return fs_join(path, size, state, name);
}

static int dir_of_log(char *path, size_t size, const char *root, const char *name)
{
	static const char prefix[] = "instances:";
	bool top = !strcmp(name, TOP_LEVEL), instance = str_starts(name, prefix);
	int n = snprintf(path, size, "%s%s%s", root, top ? "" : (instance ? "/instances/" : "/"),
			 top ? "" : (instance ? name + strlen(prefix) : name));

	return n < 0 || (size_t)n >= size ? -ENAMETOOLONG : 0;
}

/* ---- the directory ---- */

static int check_state(const char *state)
{
	struct stat st;

	if (lstat(state, &st))
		return -errno;
	return S_ISDIR(st.st_mode) && st.st_uid == geteuid() && !(st.st_mode & 022) ? 0 : -EPERM;
}

static int make_state(const char *state, struct err_text *e)
{
	int r;

	if (mkdir(state, 0700) && errno != EEXIST)
		return err_set(e, -errno, "cannot make %s: %s", state, strerror(errno));
	r = check_state(state);
	return r ? err_set(e, r, "%s is not a directory that only this user may write to", state)
		 : 0;
}

/* ---- parsing ---- */

static int read_boot_id(char id[static 64])
{
	struct strbuf b = {0};
	int r = fs_read_file("/proc/sys/kernel/random/boot_id", 63, &b);

	snprintf(id, 64, "%.*s", r || !b.s ? 0 : (int)strcspn(b.s, "\n"), b.s ? b.s : "");
	strbuf_deinit(&b);
	return r;
}

static struct setting_change *find_change(struct setting_changes *list, const char *file,
					  size_t len)
{
	struct setting_change *c;

	TAILQ_FOREACH_REVERSE(c, list, setting_changes, link)
	if (strlen(c->file) == len && !memcmp(c->file, file, len))
		return c;
	return NULL;
}

/* A setting has one change; a trigger file has one for each command. */
static int add_entry(struct setting_changes *list, bool was, const char *file, const char *text,
		     size_t len)
{
	_cleanup_(freep) char *copy = strndup(text, len);
	struct setting_change *c = find_change(list, file, strlen(file));

	if (!copy)
		return -ENOMEM;
	if (!was) {
		if (c) {
			free(c->new_value);
			c->new_value = TAKE_PTR(copy);
		}
		return 0;
	}
	c = malloc(sizeof(*c));
	if (!c || setting_change_init(c, file, copy)) {
		free(c);
		return -ENOMEM;
	}
	TAILQ_INSERT_TAIL(list, c, link);
	return 0;
}

static bool is_inside(const char *file)
{
	return *file && *file != '/' && !strstr(file, "..");
}

/* The last entry is incomplete if the process was killed while writing it. */
static int parse(const char *text, size_t len, struct setting_changes *list)
{
	const char *at = text, *end = text + len;
	char kind[8], file[600];
	size_t bytes;
	int head, r = 0;

	while (!r && at < end && memchr(at, '\n', (size_t)(end - at))) {
		if (sscanf(at, "%7s %zu %599[^\n]%n", kind, &bytes, file, &head) != 3)
			break;
		at += head + 1;
		if (at > end || bytes > (size_t)(end - at) || !is_inside(file))
			break;
		r = add_entry(list, !strcmp(kind, "was"), file, at, bytes);
		at += bytes + 1;
	}
	return r;
}

static void free_changes(struct setting_changes *list)
{
	struct setting_change *c;

	while ((c = TAILQ_FIRST(list))) {
		TAILQ_REMOVE(list, c, link);
		setting_change_deinit(c);
		free(c);
	}
}

/* ---- rollback ---- */

static int roll_back_all(struct setting_changes *list, const char *dir)
{
	struct setting_change *c;
	int one, r = 0;

	TAILQ_FOREACH_REVERSE(c, list, setting_changes, link)
	{
		one = setting_change_undo(c, dir);
		r = r ? r : one;
	}
	return r;
}

/* A reboot has reset all settings. */
static int roll_back_text(const char *text, size_t len, const char *dir)
{
	struct setting_changes list = TAILQ_HEAD_INITIALIZER(list);
	const char *eol = memchr(text, '\n', len);
	char now[64], then[64];
	int r;

	if (!eol || sscanf(text, HEAD " %63s", then) != 1 || read_boot_id(now) || strcmp(now, then))
		return 0;
	r = parse(eol + 1, len - (size_t)(eol + 1 - text), &list);
	if (!r)
		r = roll_back_all(&list, dir);
	free_changes(&list);
	return r;
}

static int roll_back_file(int fd, const char *dir)
{
	struct strbuf b = {0};
	int r = fs_read_fd(fd, UNDO_LOG_MAX, &b);

	if (!r && b.s)
		r = roll_back_text(b.s, b.len, dir);
	strbuf_deinit(&b);
	return r;
}

/* ---- the lock ---- */

static bool has_name(int fd, const char *path)
{
	struct stat mine, named;

	return !fstat(fd, &mine) && !stat(path, &named) && mine.st_ino == named.st_ino &&
	       mine.st_dev == named.st_dev;
}

/* Returns a descriptor with the lock, or -EWOULDBLOCK if another process holds it. */
static int lock(const char *path, int flags)
{
	for (;;) {
		int r, fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | flags, 0600);

		if (fd < 0)
			return -errno;
		r = flock(fd, LOCK_EX | LOCK_NB) ? -errno : 0;
		if (!r && has_name(fd, path))
			return fd;
		close(fd);
		if (r)
			return r;
	}
}

static int owner_of_log(const char *path)
{
	struct strbuf b = {0};
	int pid = 0;

	if (!fs_read_file(path, UNDO_LOG_MAX, &b) && b.s && sscanf(b.s, HEAD " %*s %d", &pid) != 1)
		pid = 0;
	strbuf_deinit(&b);
	return pid;
}

static int write_head(int fd)
{
	char text[160], boot[64];

	if (read_boot_id(boot))
		return -EIO;
	snprintf(text, sizeof(text), HEAD " %s %d\n", boot, (int)getpid());
	return fs_write_all(fd, text, strlen(text));
}

/* ---- the log of this process ---- */

static int open_log(struct undo_log *r, const char *dir, struct err_text *e)
{
	int error;

	r->fd = lock(r->path, O_CREAT | O_APPEND);
	if (r->fd == -EWOULDBLOCK)
		return err_set(e, -EBUSY, "another sonda-probes (process %d) uses %s",
			       owner_of_log(r->path), dir);
	if (r->fd < 0)
		return err_set(e, r->fd, "cannot write %s: %s", r->path, strerror(-r->fd));
	error = roll_back_file(r->fd, dir);
	if (!error)
		error = ftruncate(r->fd, 0) ? -errno : write_head(r->fd);
	if (error) {
		close(r->fd);
		return err_set(e, error, "cannot roll back %s: %s", r->path, strerror(-error));
	}
	return 0;
}

int undo_log_open(const char *state, const char *root, const char *place, struct undo_log **ret,
		  struct err_text *e)
{
	_cleanup_(freep) struct undo_log *r = calloc(1, sizeof(*r));
	char dir[4096];
	int error;

	if (!r)
		return err_set(e, -ENOMEM, "out of memory");
	error = path_of_log(r->path, sizeof(r->path), state, place);
	if (!error)
		error = dir_of_log(dir, sizeof(dir), root, strrchr(r->path, '/') + 1);
	if (error)
		return err_set(e, error, "the name %s is too long", place);
	for (int i = 0; i < TRIES; i++) {
		error = make_state(state, e);
		if (!error)
			error = open_log(r, dir, e);
		if (error != -ENOENT)
			break;
	}
	if (!error)
		*ret = TAKE_PTR(r);
	return error;
}

struct undo_log *undo_log_close(struct undo_log *r, bool keep)
{
	if (!r)
		return NULL;
	/* The directory stays: other processes may be confined to it by Landlock. */
	if (!keep)
		unlink(r->path);
	close(r->fd);
	free(r);
	return NULL;
}

/* A single write, so an entry is complete or absent. */
static int add(int fd, const char *kind, const char *file, const char *text)
{
	struct strbuf b = {0};
	int r;

	strbuf_printf(&b, "%s %zu %s\n%s\n", kind, strlen(text), file, text);
	r = b.failed ? -ENOMEM : fs_write_all(fd, b.s, b.len);
	strbuf_deinit(&b);
	return r;
}

int undo_log_old_value(struct undo_log *r, const struct setting_change *c)
{
	return r ? add(r->fd, "was", c->file, c->old_value) : 0;
}

int undo_log_new_value(struct undo_log *r, const struct setting_change *c)
{
	return r && c->new_value ? add(r->fd, "is", c->file, c->new_value) : 0;
}

static int write_changes(int fd, const struct setting_changes *changes)
{
	const struct setting_change *c;
	int r = write_head(fd);

	TAILQ_FOREACH (c, changes, link) {
		if (!r)
			r = add(fd, "was", c->file, c->old_value);
		if (!r && c->new_value)
			r = add(fd, "is", c->file, c->new_value);
	}
	return r;
}

/* A new file replaces the old one; it is locked before the rename. */
int undo_log_rewrite(struct undo_log *r, const struct setting_changes *changes)
{
	char path[4096 + 8];
	const char *name;
	int fd, error;

	if (!r)
		return 0;
	name = strrchr(r->path, '/');
	snprintf(path, sizeof(path), "%.*s/.%s", (int)(name - r->path), r->path, name + 1);
	unlink(path);
	fd = lock(path, O_CREAT | O_EXCL | O_APPEND);
	if (fd < 0)
		return fd;
	error = write_changes(fd, changes);
	if (!error && rename(path, r->path))
		error = -errno;
	if (error) {
		unlink(path);
		close(fd);
		return error;
	}
	close(r->fd);
	r->fd = fd;
	return 0;
}

/* ---- logs of other processes ---- */

struct sweep {
	const char *state;
	const char *root;
	int rolled_back;
};

/* Keeps a log that cannot be rolled back now; a later start may succeed. */
static int roll_back_if_stale(void *ctx, const char *name, unsigned char d_type)
{
	struct sweep *s = ctx;
	char path[4096], dir[4096];
	int fd, r;

	(void)d_type;
	if (fs_join(path, sizeof(path), s->state, name) ||
	    dir_of_log(dir, sizeof(dir), s->root, name))
		return 0;
	fd = lock(path, 0);
	if (fd < 0)
		return 0;
	r = *name == '.' ? 0 : roll_back_file(fd, dir);
	if (!r) {
		unlink(path);
		s->rolled_back += *name != '.';
	}
	close(fd);
	return 0;
}

int undo_logs_roll_back(const char *state, const char *root)
{
	struct sweep s = {.state = state, .root = root};
	int r = check_state(state);

	if (!r)
		r = fs_each(state, roll_back_if_stale, &s);
	return r == -ENOENT ? 0 : r ? r : s.rolled_back;
}
