/* SPDX-License-Identifier: Apache-2.0 */
/*
 *	           first join                end of file, packed
 *	 (none) ---------------> loading -------------------------> ready
 *	    ^                       |                                 |
 *	    +-----------------------+---------------------------------+
 *	           the last user leaves, and the policy is not to retain
 *
 * A timer with zero timeout drives the loading, so the loop serves other events in between.
 */
#include "symbols/symbol_cache.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/core/clock.h"
#include "base/core/err.h"
#include "base/core/fnv.h"
#include "base/core/mem.h"
#include "base/event_loop/event_free.h"
#include "base/event_loop/event_timer.h"
#include "base/system/fs.h"
#include "base/text/number_read.h"
#include "symbols/symbol_table.h"

/* ---- opening kallsyms ---- */

/*
 * Opens /proc/kallsyms so that it shows addresses.
 *
 * A process with CAP_SYSLOG sees them if kptr_restrict is 0 or 1. With 2 no process does. Then the
 * value is lowered while the file is opened, because the kernel decides at that moment, and
 * restored before the first byte is read. It stays lowered only if the process is killed between
 * these two writes, or if the second one fails, which is an error. A lock on the file keeps a
 * second sonda-probes from taking the lowered value for the one to restore.
 *
 *	open, look  -- hidden -->  kptr_restrict N-1, open, kptr_restrict N, look  -- hidden -->  N-2
 *
 * Hidden addresses are zeros. Some real ones are zero, too (per-CPU offsets), so the first read is
 * examined as a whole.
 */

static int symbol_cache_open_file(const char *proc_root)
{
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/kallsyms", proc_root);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* Returns 1 if an address is not zero, 0, or -errno. */
static int check_addresses_shown(int fd)
{
	char text[4097], *line, *eol;
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);

	if (n < 0)
		return -errno;
	text[n] = '\0';
	for (line = text; *line; line = *eol ? eol + 1 : eol) {
		eol = strchrnul(line, '\n');
		if (str_leading_u64(line, 16))
			return 1;
	}
	return 0;
}

/* ---- kptr_restrict ---- */

static void format_kptr_restrict_path(const char *proc_root, char *path, size_t size)
{
	snprintf(path, size, "%s/sys/kernel/kptr_restrict", proc_root);
}

/* Returns the value or -errno. */
static int read_restrict(const char *proc_root)
{
	struct strbuf b = {0};
	char path[4096];
	int r;

	format_kptr_restrict_path(proc_root, path, sizeof(path));
	r = fs_read_file(path, 64, &b);
	if (!r)
		r = b.s ? (int)str_leading_i64(b.s, 10) : -EIO;
	strbuf_deinit(&b);
	return r;
}

static int write_restrict(const char *proc_root, int value)
{
	char path[4096], text[16];

	format_kptr_restrict_path(proc_root, path, sizeof(path));
	snprintf(text, sizeof(text), "%d\n", value);
	return fs_write_file(path, text, false);
}

#define LOCK_TRIES 20
#define LOCK_PAUSE_MS 1

/* Locks kptr_restrict until the descriptor is closed. Another sonda-probes holds the lock for a few
 * system calls only. But any user can hold it for longer, so this function gives up after
 * LOCK_TRIES attempts and does not stop the event loop. Returns the descriptor or -errno,
 * -EWOULDBLOCK if another process holds the lock. */
static int lock_restrict(const char *proc_root)
{
	_cleanup_(closep) int fd = -1;
	char path[4096];

	format_kptr_restrict_path(proc_root, path, sizeof(path));
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	for (int i = 0; i < LOCK_TRIES; i++) {
		if (!flock(fd, LOCK_EX | LOCK_NB))
			return TAKE_FD(fd);
		if (errno != EWOULDBLOCK && errno != EINTR)
			break;
		poll(NULL, 0, LOCK_PAUSE_MS);
	}
	return -errno;
}

/* Opens the file while the value is lowered; nothing may happen in between. Returns a descriptor or
 * -errno. *ret_is_back: whether the value was restored, if it was lowered. */
static int open_with_restrict_lowered(const char *proc_root, int value, int lower,
				      bool *ret_is_back)
{
	int fd, r = write_restrict(proc_root, lower);

	if (r)
		return r;
	fd = symbol_cache_open_file(proc_root);
	r = write_restrict(proc_root, value);
	if (r)
		r = write_restrict(proc_root, value);
	*ret_is_back = r == 0;
	return fd;
}

static int set_hidden_error(struct err_text *e, int value)
{
	return err_set(e, -EACCES,
		       "/proc/kallsyms shows no addresses: kptr_restrict is %d, and this process "
		       "may not lower that value",
		       value);
}

/* Opens kallsyms while kptr_restrict is lowered, by as little as is needed, and restored at once.
 * Returns the descriptor, or -errno and sets e. */
static int open_by_lowering(const char *proc_root, struct err_text *e)
{
	_cleanup_(closep) int lock = lock_restrict(proc_root);
	int value = read_restrict(proc_root), fd, r;
	bool is_back = true;

	if (value < 0)
		return err_set(e, -EACCES, "/proc/kallsyms shows no addresses");
	if (lock < 0)
		return err_set(e, -EACCES,
			       "/proc/kallsyms shows no addresses: kptr_restrict is %d and cannot "
			       "be locked: %s",
			       value, strerror(-lock));
	for (int lower = value - 1; lower >= 0; lower--) {
		fd = open_with_restrict_lowered(proc_root, value, lower, &is_back);
		if (fd < 0)
			break;
		r = is_back ? check_addresses_shown(fd) : 0;
		if (r > 0)
			return fd;
		close(fd);
		if (!is_back)
			return err_set(e, -EIO, "cannot restore kptr_restrict to %d; it is now %d",
				       value, lower);
	}
	return set_hidden_error(e, value);
}

/* Returns a descriptor at the start of the file, or -errno with e; -EACCES if all addresses are
 * hidden. */
static int kallsyms_open(const char *proc_root, struct err_text *e)
{
	int fd = symbol_cache_open_file(proc_root), r;

	if (fd < 0)
		return err_set(e, fd, "cannot open /proc/kallsyms: %s", strerror(-fd));
	r = check_addresses_shown(fd);
	if (r > 0)
		return fd;
	close(fd);
	if (r < 0)
		return err_set(e, r, "cannot read /proc/kallsyms: %s", strerror(-r));
	return open_by_lowering(proc_root, e);
}

/* ---- the cache ---- */

#define MODULES_MAX (1u << 20) /* bytes of /proc/modules */

struct symbol_cache {
	TAILQ_HEAD(, symbol_cache_user) users;
	struct symbol_table table;
	bool is_there; /* loading has ended; the table may be empty */
	bool retain;
	uint64_t modules; /* hash of /proc/modules when loading started */
	struct err_text problem;
	/* While loading. */
	struct event *next_slice; /* owned */
	struct symbol_table_build *build; /* owned; NULL: not loading */
	int fd; /* owned; -1: at the end */
	uint64_t text_len;
	char text[1 << 16];
};

static struct symbol_cache *cache;

/* ---- loading ---- */

static void stop_loading(struct symbol_cache *s)
{
	event_freep(&s->next_slice);
	s->build = symbol_table_build_free(s->build);
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
}

static void symbol_cache_free(struct symbol_cache *s)
{
	stop_loading(s);
	symbol_table_deinit(&s->table);
	free(s);
	cache = NULL;
}

static const char *loading_problem(const struct symbol_cache *s)
{
	return s->table.n_functions ? NULL : s->problem.text;
}

/* Notifies all users. A callback may make the last user leave, which frees the cache. */
static void notify_users(struct symbol_cache *s)
{
	struct symbol_cache_user *u;

	s->is_there = true;
	do {
		TAILQ_FOREACH (u, &s->users, link)
			if (!u->is_ready)
				break;
		if (!u)
			return;
		u->is_ready = true;
		u->problem = loading_problem(s);
		u->ready(u->ctx);
	} while (cache == s && s->is_there);
}

static void symbol_cache_finish_loading(struct symbol_cache *s, int error)
{
	if (error)
		err_set(&s->problem, error, "/proc/kallsyms: %s", strerror(-error));
	else
		s->table = symbol_table_build_finish(TAKE_PTR(s->build));
	if (!s->table.n_functions && !*s->problem.text)
		err_set(&s->problem, -ENOENT, "/proc/kallsyms lists no functions");
	stop_loading(s);
	notify_users(s);
}

/* Does one read or one step, in less than a millisecond. Returns 1 if there is more to do, 0, or
 * -errno. */
static int load_one_step(struct symbol_cache *s)
{
	ssize_t n;

	if (s->fd < 0)
		return symbol_table_build_step(s->build);
	n = read(s->fd, s->text, sizeof(s->text));
	if (n < 0)
		return errno == EINTR || errno == EAGAIN ? 1 : -errno;
	s->text_len += (uint64_t)n;
	if (n == 0 || s->text_len > SYMBOL_CACHE_TEXT_MAX) {
		close(s->fd);
		s->fd = -1;
		return 1;
	}
	n = symbol_table_build_feed(s->build, s->text, (size_t)n);
	return n ? (int)n : 1;
}

static void symbol_cache_on_slice(evutil_socket_t fd, short what, void *arg)
{
	uint64_t end = clock_mono_ns() + SYMBOL_CACHE_SLICE_NS;
	struct symbol_cache *s = arg;
	int r;

	do
		r = load_one_step(s);
	while (r == 1 && clock_mono_ns() < end);
	if (r == 1 && !event_timer_us(s->next_slice, 0))
		return;
	symbol_cache_finish_loading(s, r == 1 ? -ENOMEM : r);
}

static uint64_t hash_modules(const char *proc_root)
{
	struct strbuf b = {0};
	char path[4096];
	uint64_t h;

	snprintf(path, sizeof(path), "%s/modules", proc_root);
	fs_read_file(path, MODULES_MAX, &b);
	h = fnv1a(FNV1A_START, b.s, b.len);
	strbuf_deinit(&b);
	return h;
}

static int start_loading(struct symbol_cache *s, struct event_base *loop, const char *proc_root)
{
	s->modules = hash_modules(proc_root);
	s->fd = kallsyms_open(proc_root, &s->problem);
	if (s->fd < 0) {
		s->fd = -1;
		s->is_there = true;
		return 0;
	}
	s->next_slice = evtimer_new(loop, symbol_cache_on_slice, s);
	if (!s->next_slice || symbol_table_build_new(&s->build) || event_timer_us(s->next_slice, 0))
		return -ENOMEM;
	return 0;
}

static int symbol_cache_create(struct event_base *loop, const char *proc_root)
{
	struct symbol_cache *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	TAILQ_INIT(&s->users);
	s->fd = -1;
	cache = s;
	if (start_loading(s, loop, proc_root)) {
		symbol_cache_free(s);
		return -ENOMEM;
	}
	return 0;
}

/* ---- users ---- */

int symbol_cache_join(struct symbol_cache_user *u, struct event_base *loop, const char *proc_root,
		      enum symbol_cache_policy policy)
{
	if (cache && TAILQ_EMPTY(&cache->users) && cache->modules != hash_modules(proc_root))
		symbol_cache_free(cache);
	if (!cache && symbol_cache_create(loop, proc_root))
		return -ENOMEM;
	if (policy == SYMBOL_CACHE_RETAIN || policy == SYMBOL_CACHE_CLEANUP)
		cache->retain = policy == SYMBOL_CACHE_RETAIN;
	u->joined = true;
	u->is_ready = false;
	u->problem = NULL;
	TAILQ_INSERT_TAIL(&cache->users, u, link);
	if (cache->is_there)
		notify_users(cache);
	return 0;
}

void symbol_cache_leave(struct symbol_cache_user *u)
{
	if (!u->joined)
		return;
	u->joined = false;
	TAILQ_REMOVE(&cache->users, u, link);
	if (TAILQ_EMPTY(&cache->users) && !(cache->retain && cache->table.n_functions))
		symbol_cache_free(cache);
}

const struct symbol_table *symbol_cache_table(const struct symbol_cache_user *u)
{
	return u->joined && u->is_ready && cache->table.n_functions ? &cache->table : NULL;
}
