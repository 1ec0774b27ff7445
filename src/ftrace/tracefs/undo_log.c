// SPDX-License-Identifier: Apache-2.0
/*
 * The lock is the file's, not its name's: a file that was locked may have lost its name meanwhile
 * to its owner's end or to a rewritten one, so the name is looked at again.
 *
 * Records are read by root and become writes to tracefs. So the folder has to be ours alone, and a
 * file's name in a record cannot lead out of the place.
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

#define TRIES 10 /* to open a file in a folder that others remove when it is empty */

struct undo_log {
	int fd; /* owned, with the lock */
	char path[4096];
};

/* ---- names ---- */

/* "instances/foo" <-> "instances:foo", "" <-> "top-level" */
static int path_of_record(char *path, size_t size, const char *state, const char *place)
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

static int folder_of_record(char *path, size_t size, const char *root, const char *name)
{
	static const char prefix[] = "instances:";
	bool top = !strcmp(name, TOP_LEVEL), instance = str_starts(name, prefix);
	int n = snprintf(path, size, "%s%s%s", root, top ? "" : (instance ? "/instances/" : "/"),
			 top ? "" : (instance ? name + strlen(prefix) : name));

	return n < 0 || (size_t)n >= size ? -ENAMETOOLONG : 0;
}

/* ---- the folder ---- */

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
	return r ? err_set(e, r, "%s is not a folder of our own", state) : 0;
}

/* ---- what a record says ---- */

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

/* A knob has one change; a trigger has one for each command. */
static int take_item(struct setting_changes *list, bool was, const char *file, const char *text,
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

/* The end of what we were writing when we were killed may be missing. */
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
		r = take_item(list, !strcmp(kind, "was"), file, at, bytes);
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

/* ---- undoing ---- */

static int undo_all(struct setting_changes *list, const char *folder)
{
	struct setting_change *c;
	int one, r = 0;

	TAILQ_FOREACH_REVERSE(c, list, setting_changes, link)
	{
		one = setting_change_undo(c, folder);
		r = r ? r : one;
	}
	return r;
}

/* What was there before another boot is gone with it. */
static int undo_text(const char *text, size_t len, const char *folder)
{
	struct setting_changes list = TAILQ_HEAD_INITIALIZER(list);
	const char *eol = memchr(text, '\n', len);
	char now[64], then[64];
	int r;

	if (!eol || sscanf(text, HEAD " %63s", then) != 1 || read_boot_id(now) || strcmp(now, then))
		return 0;
	r = parse(eol + 1, len - (size_t)(eol + 1 - text), &list);
	if (!r)
		r = undo_all(&list, folder);
	free_changes(&list);
	return r;
}

static int undo_file(int fd, const char *folder)
{
	struct strbuf b = {0};
	int r = fs_read_fd(fd, UNDO_LOG_MAX, &b);

	if (!r && b.s)
		r = undo_text(b.s, b.len, folder);
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

/* A descriptor with the lock; -EWOULDBLOCK: somebody has it. */
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

static int owner_of_record(const char *path)
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

/* ---- a record of our own ---- */

static int open_record(struct undo_log *r, const char *folder, struct err_text *e)
{
	int error;

	r->fd = lock(r->path, O_CREAT | O_APPEND);
	if (r->fd == -EWOULDBLOCK)
		return err_set(e, -EBUSY, "another sonda-probes (process %d) uses %s",
			       owner_of_record(r->path), folder);
	if (r->fd < 0)
		return err_set(e, r->fd, "cannot write %s: %s", r->path, strerror(-r->fd));
	error = undo_file(r->fd, folder);
	if (!error)
		error = ftruncate(r->fd, 0) ? -errno : write_head(r->fd);
	if (error) {
		close(r->fd);
		return err_set(e, error, "cannot undo what %s says: %s", r->path, strerror(-error));
	}
	return 0;
}

int undo_log_open(const char *state, const char *root, const char *place, struct undo_log **ret,
		  struct err_text *e)
{
	_cleanup_(freep) struct undo_log *r = calloc(1, sizeof(*r));
	char folder[4096];
	int error;

	if (!r)
		return err_set(e, -ENOMEM, "out of memory");
	error = path_of_record(r->path, sizeof(r->path), state, place);
	if (!error)
		error = folder_of_record(folder, sizeof(folder), root, strrchr(r->path, '/') + 1);
	if (error)
		return err_set(e, error, "the name %s is too long", place);
	for (int i = 0; i < TRIES; i++) {
		error = make_state(state, e);
		if (!error)
			error = open_record(r, folder, e);
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
	if (!keep) {
		unlink(r->path);
		/* With the last one the folder goes. */
		*strrchr(r->path, '/') = '\0';
		rmdir(r->path);
	}
	close(r->fd);
	free(r);
	return NULL;
}

/* One write, so that it is there or not. */
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

/* A new file takes the name, locked before it has it. */
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

/* ---- records of others ---- */

struct sweep {
	const char *state;
	const char *root;
	int undone;
};

/* One that cannot be undone now may be so later: it stays. */
static int undo_if_stale(void *ctx, const char *name, unsigned char d_type)
{
	struct sweep *s = ctx;
	char path[4096], folder[4096];
	int fd, r;

	(void)d_type;
	if (fs_join(path, sizeof(path), s->state, name) ||
	    folder_of_record(folder, sizeof(folder), s->root, name))
		return 0;
	fd = lock(path, 0);
	if (fd < 0)
		return 0;
	r = *name == '.' ? 0 : undo_file(fd, folder);
	if (!r) {
		unlink(path);
		s->undone += *name != '.';
	}
	close(fd);
	return 0;
}

int undo_logs_roll_back(const char *state, const char *root)
{
	struct sweep s = {.state = state, .root = root};
	int r = check_state(state);

	if (!r)
		r = fs_each(state, undo_if_stale, &s);
	if (!r)
		rmdir(state);
	return r == -ENOENT ? 0 : r ? r : s.undone;
}
