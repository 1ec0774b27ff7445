/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flock(2) locks the file, not its name. Between open() and flock() the owner may unlink the file
 * or replace it by a rewritten one; so the name is checked again after locking.
 *
 * Root reads the logs and writes their values to tracefs. So the directory must be ours alone, and
 * a file name in a log must not lead out of the tracefs directory.
 */
#include "ftrace/tracefs/undo_log.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/system/fs.h"
#include "base/system/log.h"
#include "base/text/str.h"
#include "ftrace/tracefs/setting_file.h"

#define HEAD "sonda-undo 1 "
#define OLD_HEAD "sonda-loan 1 " /* first word of older versions; read, but not written */
#define TOP_LEVEL "top-level"
#define SHOWN 200 /* bytes of a value in a message */

/* ---- changes ---- */

static void remove_change(struct undo_log *l, struct setting_change *c)
{
	TAILQ_REMOVE(&l->changes, c, link);
	free(c->file);
	free(c->old_value);
	free(c->new_value);
	free(c->text);
	free(c);
}

int undo_log_add(struct undo_log *l, const char *file, const char *old_value,
		 struct setting_change **ret)
{
	struct setting_change *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	TAILQ_INSERT_TAIL(&l->changes, c, link);
	c->file = strdup(file);
	c->old_value = strdup(old_value);
	if (!c->file || !c->old_value) {
		remove_change(l, c);
		return -ENOMEM;
	}
	*ret = c;
	return 0;
}

/* Restores the old value, unless another process has changed the setting since. Returns 0, also if
 * there is nothing to do, or -errno. */
static int restore_setting(const struct setting_change *c, const char *dir)
{
	_cleanup_(freep) char *now = NULL, *text = NULL;
	enum setting_kind kind = setting_find_kind(c->file);
	char path[4096];
	int r = fs_join(path, sizeof(path), dir, c->file);

	if (r || !fs_exists(path))
		return r;
	if (kind == SETTING_COMMAND)
		return c->new_value ? setting_remove_command(path, c->new_value) : 0;
	now = setting_read(path);
	text = setting_text_to_write(c->file, c->old_value);
	/* A list whose threads have all ended matches no thread, but reads like an empty list. */
	if (now && !(kind == SETTING_LIST && text && !*text) &&
	    setting_equal(c->file, now, c->old_value))
		return 0;
	/* The kernel removes ended threads from a list, so it rarely reads as written. */
	if (now && c->new_value && kind != SETTING_LIST &&
	    !setting_equal(c->file, now, c->new_value))
		return 0;
	/* A value without a write form ("X") is a summary of other settings, which are restored
	 * themselves. */
	return text ? setting_write(path, text) : 0;
}

/* Returns true if a restore that failed may succeed later: another process may have the file in
 * use, or memory may be free then. */
static bool may_succeed_later(int r)
{
	return r == -EBUSY || r == -ENOMEM;
}

static void log_failure(const struct undo_log *l, const struct setting_change *c, int r)
{
	bool command = setting_find_kind(c->file) == SETTING_COMMAND;
	const char *value = command ? c->new_value : c->old_value;
	size_t len = value ? MIN(strcspn(value, "\n"), (size_t)SHOWN) : 0;

	log_warn("%s/%s: cannot %s \"%.*s\": %s", l->dir, c->file,
		 command ? "remove the trigger" : "restore the value", (int)len, value ?: "",
		 strerror(-r));
}

int undo_log_undo(struct undo_log *l, struct setting_change *c)
{
	int r = c->logged ? restore_setting(c, l->dir) : 0;

	if (may_succeed_later(r))
		return r;
	if (r)
		log_failure(l, c, r);
	remove_change(l, c);
	return 0;
}

static int undo_all(struct undo_log *l)
{
	struct setting_change *c, *before;
	int one, r = 0;

	for (c = TAILQ_LAST(&l->changes, setting_changes); c; c = before) {
		before = TAILQ_PREV(c, setting_changes, link);
		one = undo_log_undo(l, c);
		r = r ? r : one;
	}
	return r;
}

/* ---- names ---- */

/* These two functions convert the name of a directory to that of its log, and back: "instances/foo"
 * is "instances:foo", and "" is "top-level". */
static char *make_log_path(const char *state, const char *subdir)
{
	char *path = NULL, *slash;

	if (asprintf(&path, "%s/%s", state, *subdir ? subdir : TOP_LEVEL) < 0)
		return NULL;
	slash = strchr(path + strlen(state) + 1, '/');
	if (slash)
		*slash = ':';
	return path;
}

static void parse_log_name(const char *name, char subdir[static NAME_MAX + 1])
{
	char *colon;

	snprintf(subdir, NAME_MAX + 1, "%s", strcmp(name, TOP_LEVEL) ? name : "");
	colon = strchr(subdir, ':');
	if (colon)
		*colon = '/';
}

/* Checks that the directory of the logs is writable for this user alone. */
static int check_log_dir(const char *state)
{
	struct stat st;

	if (lstat(state, &st))
		return -errno;
	return S_ISDIR(st.st_mode) && st.st_uid == geteuid() && !(st.st_mode & 022) ? 0 : -EPERM;
}

/* ---- the file: writing ---- */

static int read_boot_id(char id[static 64])
{
	struct strbuf b = {0};
	int r = fs_read_file("/proc/sys/kernel/random/boot_id", 63, &b);

	snprintf(id, 64, "%.*s", r || !b.s ? 0 : (int)strcspn(b.s, "\n"), b.s ? b.s : "");
	strbuf_deinit(&b);
	return r;
}

/* Uses a single write, so an entry is complete or absent. */
static int write_entry(int fd, const char *kind, const char *file, const char *value)
{
	struct strbuf b = {0};
	int r;

	strbuf_printf(&b, "%s %zu %s\n%s\n", kind, strlen(value), file, value);
	r = b.failed ? -ENOMEM : fs_write_all(fd, b.s, b.len);
	strbuf_deinit(&b);
	return r;
}

int undo_log_write_old_value(struct undo_log *l, struct setting_change *c)
{
	int r = l->path ? write_entry(l->fd, "was", c->file, c->old_value) : 0;

	c->logged = c->logged || !r;
	return r;
}

int undo_log_write_new_value(struct undo_log *l, const struct setting_change *c)
{
	return l->path && c->new_value ? write_entry(l->fd, "is", c->file, c->new_value) : 0;
}

/* ---- the file: reading ---- */

static int load_log_entry(struct undo_log *l, bool is_old, const char *file, const char *value)
{
	struct setting_change *c;
	int r;

	if (is_old) {
		r = undo_log_add(l, file, value, &c);
		if (!r)
			c->logged = true;
		return r;
	}
	TAILQ_FOREACH_REVERSE(c, &l->changes, setting_changes, link)
	if (!strcmp(c->file, file)) {
		free(c->new_value);
		c->new_value = strdup(value);
		return c->new_value ? 0 : -ENOMEM;
	}
	return 0;
}

/* Adds the entries of a log to l. Ignores an incomplete entry at the end, which a failed write can
 * leave. Returns 0 or -ENOMEM. */
static int undo_log_parse(struct undo_log *l, const char *text, size_t len)
{
	const char *at = text, *end = text + len;
	char kind[8], file[600];
	size_t bytes;
	int head, r = 0;

	while (!r && at < end && memchr(at, '\n', (size_t)(end - at))) {
		_cleanup_(freep) char *value = NULL;

		if (sscanf(at, "%7s %zu %599[^\n]%n", kind, &bytes, file, &head) != 3)
			break;
		at += head + 1;
		if (at > end || bytes > (size_t)(end - at) || *file == '/' || strstr(file, ".."))
			break;
		value = strndup(at, bytes);
		r = value ? load_log_entry(l, !strcmp(kind, "was"), file, value) : -ENOMEM;
		at += bytes + 1;
	}
	return r;
}

/* Returns what follows the first words of a log, "BOOT-ID PID\n...", or NULL. */
static const char *skip_log_head(const char *text)
{
	if (text && str_starts(text, HEAD))
		return text + strlen(HEAD);
	return text && str_starts(text, OLD_HEAD) ? text + strlen(OLD_HEAD) : NULL;
}

/* Ignores the log of an earlier boot: the reboot has reset all settings. */
static int roll_back(struct undo_log *l)
{
	struct strbuf b = {0};
	char now[64], then[64];
	int undone, r = fs_read_fd(l->fd, UNDO_LOG_MAX, &b);
	const char *head = r ? NULL : skip_log_head(b.s), *eol = head ? strchr(head, '\n') : NULL;

	if (eol && sscanf(head, "%63s", then) == 1 && !read_boot_id(now) && !strcmp(now, then))
		r = undo_log_parse(l, eol + 1, b.len - (size_t)(eol + 1 - b.s));
	strbuf_deinit(&b);
	undone = undo_all(l);
	return r ? r : undone;
}

static int read_log_pid(const char *path)
{
	struct strbuf b = {0};
	const char *head;
	int pid = 0;

	head = fs_read_file(path, UNDO_LOG_MAX, &b) ? NULL : skip_log_head(b.s);
	if (!head || sscanf(head, "%*s %d", &pid) != 1)
		pid = 0;
	strbuf_deinit(&b);
	return pid;
}

/* ---- the lock ---- */

static bool undo_log_has_name(int fd, const char *path)
{
	struct stat mine, named;

	return !fstat(fd, &mine) && !stat(path, &named) && mine.st_ino == named.st_ino &&
	       mine.st_dev == named.st_dev;
}

/* Returns a descriptor with the lock, or -EWOULDBLOCK if another process holds it. */
static int open_locked(const char *path, int flags)
{
	for (;;) {
		int r, fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | flags, 0600);

		if (fd < 0)
			return -errno;
		r = flock(fd, LOCK_EX | LOCK_NB) ? -errno : 0;
		if (!r && undo_log_has_name(fd, path))
			return fd;
		close(fd);
		if (r)
			return r;
	}
}

/* ---- the log of this process ---- */

/* Writes the log anew. A new file replaces the old one; it is locked before the rename. */
int undo_log_rewrite(struct undo_log *l)
{
	char path[4096], head[160], boot[64];
	struct setting_change *c;
	const char *name;
	int fd, r;

	if (!l->path)
		return 0;
	name = strrchr(l->path, '/') + 1;
	if (snprintf(path, sizeof(path), "%.*s.%s", (int)(name - l->path), l->path, name) >=
	    (int)sizeof(path))
		return -ENAMETOOLONG;
	unlink(path);
	fd = open_locked(path, O_CREAT | O_EXCL | O_APPEND);
	if (fd < 0)
		return fd;
	r = read_boot_id(boot);
	snprintf(head, sizeof(head), HEAD "%s %d\n", boot, (int)getpid());
	if (!r)
		r = fs_write_all(fd, head, strlen(head));
	TAILQ_FOREACH (c, &l->changes, link) {
		if (!r && c->logged)
			r = write_entry(fd, "was", c->file, c->old_value);
		if (!r && c->logged && c->new_value)
			r = write_entry(fd, "is", c->file, c->new_value);
	}
	if (!r && rename(path, l->path))
		r = -errno;
	if (r) {
		unlink(path);
		close(fd);
		return r;
	}
	close(l->fd);
	l->fd = fd;
	return 0;
}

/* Opens and locks the log on disk, and rolls back what a killed process has left in it. Returns 0,
 * or -errno and sets e. */
static int undo_log_open_file(struct undo_log *l, const char *state, const char *subdir,
			      struct err_text *e)
{
	int r;

	l->path = make_log_path(state, subdir);
	if (!l->path)
		return err_set(e, -ENOMEM, "out of memory");
	if (mkdir(state, 0700) && errno != EEXIST)
		return err_set(e, -errno, "cannot create %s: %s", state, strerror(errno));
	r = check_log_dir(state);
	if (r)
		return err_set(e, r, "%s must be a directory that only this user may write to",
			       state);
	l->fd = open_locked(l->path, O_CREAT | O_APPEND);
	if (l->fd == -EWOULDBLOCK)
		return err_set(e, -EBUSY, "another sonda-probes (pid %d) is using %s",
			       read_log_pid(l->path), l->dir);
	if (l->fd < 0)
		return err_set(e, l->fd, "cannot write %s: %s", l->path, strerror(-l->fd));
	r = roll_back(l);
	if (!r)
		r = undo_log_rewrite(l);
	return r ? err_set(e, r, "cannot roll back %s: %s", l->path, strerror(-r)) : 0;
}

static void undo_log_release(struct undo_log *l)
{
	while (!TAILQ_EMPTY(&l->changes))
		remove_change(l, TAILQ_FIRST(&l->changes));
	if (l->fd >= 0)
		close(l->fd);
	free(l->path);
	free(l->dir);
}

int undo_log_open(struct undo_log *l, const char *state, const char *root, const char *subdir,
		  struct err_text *e)
{
	int r = 0;

	*l = (struct undo_log){.changes = TAILQ_HEAD_INITIALIZER(l->changes), .fd = -1};
	if (asprintf(&l->dir, "%s%s%s", root, *subdir ? "/" : "", subdir) < 0)
		return err_set(e, -ENOMEM, "out of memory");
	if (state)
		r = undo_log_open_file(l, state, subdir, e);
	if (r)
		undo_log_release(l);
	return r;
}

void undo_log_close(struct undo_log *l)
{
	undo_all(l);
	/* The directory stays: other processes may be confined to it by Landlock. */
	if (!TAILQ_EMPTY(&l->changes))
		undo_log_rewrite(l);
	else if (l->path)
		unlink(l->path);
	undo_log_release(l);
}

/* ---- logs of other processes ---- */

struct sweep {
	const char *state;
	const char *root;
	int rolled_back;
};

/* Rolls back a log whose process has ended. Keeps the log if that fails for now, because a later
 * start may succeed. */
static int roll_back_if_stale(void *ctx, const char *name, unsigned char d_type)
{
	struct sweep *s = ctx;
	char subdir[NAME_MAX + 1];
	struct undo_log l;

	parse_log_name(name, subdir);
	if (undo_log_open(&l, s->state, s->root, subdir, NULL))
		return 0;
	undo_log_close(&l);
	s->rolled_back += *name != '.';
	return 0;
}

int undo_logs_roll_back(const char *state, const char *root)
{
	struct sweep s = {.state = state, .root = root};
	int r = check_log_dir(state);

	if (!r)
		r = fs_each(state, roll_back_if_stale, &s);
	return r == -ENOENT ? 0 : r ? r : s.rolled_back;
}
