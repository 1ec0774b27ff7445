// SPDX-License-Identifier: Apache-2.0
/*
 *	dirs --> dir "" (top level)  -- undo log on disk
 *	           |  path, overrides: 2
 *	           +- "tracing_on"    old "0"  new "1"   holders: 2
 *	           +- "trace_clock"   old "[local] boot"  new "local [boot]"  holders: 1
 *
 *	         override of session 1 --> tracing_on, trace_clock
 *	         override of session 2 --> tracing_on
 *
 * Settings are kept in the order of their changes and restored in reverse order. A setting that
 * had the wanted value is held as well, so that no other session changes it, but it is not
 * written.
 */
#include "ftrace/tracefs/override.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/system/fs.h"
#include "base/core/mem.h"
#include "base/text/str.h"
#include "base/event_loop/coroutine.h"
#include "ftrace/tracefs/setting_file.h"
#include "ftrace/tracefs/undo_log.h"

struct override_dir {
	LIST_ENTRY(override_dir) link;
	char *path; /* owned */
	struct undo_log *log; /* owned; NULL: not logged */
	bool keep_log; /* a setting could not be restored */
	struct setting_changes changes; /* of struct held_setting */
	unsigned n_overrides;
	unsigned n_readers; /* of them, those that read records */
};

/* A setting of a directory, held by at least one session. */
struct held_setting {
	struct setting_change change;
	bool changed; /* must be restored */
	char *value; /* owned: the text written; NULL: the holder writes the file itself */
	unsigned holders;
};

struct override {
	struct override_dir *dir;
	bool reads;
	struct held_setting **held; /* owned; the settings belong to the directory */
	size_t n_held;
	size_t held_cap;
	char *refused; /* owned */
};

/* All overridden directories of this process. */
static LIST_HEAD(, override_dir) dirs = LIST_HEAD_INITIALIZER(dirs);

/* ---- directories ---- */

static struct override_dir *find_dir(const char *path)
{
	struct override_dir *p;

	LIST_FOREACH (p, &dirs, link)
		if (!strcmp(p->path, path))
			return p;
	return NULL;
}

static const char *restricted_by(const struct override_dir *p)
{
	const struct setting_change *c;

	TAILQ_FOREACH (c, &p->changes, link)
		if (setting_restricts(c->file))
			return c->file;
	return NULL;
}

static void dir_free(struct override_dir *p)
{
	assert(TAILQ_EMPTY(&p->changes));
	LIST_REMOVE(p, link);
	undo_log_close(p->log, p->keep_log);
	free(p->path);
	free(p);
}

/* Takes ownership of path. */
static int dir_new(const struct override_target *terms, char *path, struct override_dir **ret,
		   struct err_text *e)
{
	struct override_dir *p = calloc(1, sizeof(*p));
	int r = 0;

	if (!p) {
		free(path);
		return err_set(e, -ENOMEM, "out of memory");
	}
	p->path = path;
	TAILQ_INIT(&p->changes);
	LIST_INSERT_HEAD(&dirs, p, link);
	if (terms->state)
		r = undo_log_open(terms->state, terms->root, terms->place, &p->log, e);
	if (r) {
		dir_free(p);
		return r;
	}
	*ret = p;
	return 0;
}

static int use_dir(const struct override_target *terms, struct override_dir **ret,
		   struct err_text *e)
{
	char *path = NULL;
	const char *file;
	struct override_dir *p;

	if (asprintf(&path, "%s%s%s", terms->root, *terms->place ? "/" : "", terms->place) < 0)
		return err_set(e, -ENOMEM, "out of memory");
	p = find_dir(path);
	if (!p)
		return dir_new(terms, path, ret, e);
	free(path);
	file = terms->reads_nothing ? NULL : restricted_by(p);
	if (file)
		return err_set(e, -EBUSY, "another recording restricts the records of %s (%s)",
			       p->path, file);
	*ret = p;
	return 0;
}

/* ---- held settings ---- */

static struct held_setting *find_held(const struct override_dir *p, const char *file,
				      const char *text)
{
	bool command = setting_kind_of(file) == SETTING_COMMAND;
	struct setting_change *c;
	struct held_setting *h;

	TAILQ_FOREACH (c, &p->changes, link) {
		h = container_of(c, struct held_setting, change);
		if (!strcmp(c->file, file) && (!command || (h->value && !strcmp(h->value, text))))
			return h;
	}
	return NULL;
}

static bool is_mine(const struct override *l, const struct held_setting *h)
{
	for (size_t i = 0; i < l->n_held; i++)
		if (l->held[i] == h)
			return true;
	return false;
}

static void held_setting_free(struct held_setting *h)
{
	setting_change_deinit(&h->change);
	free(h->value);
	free(h);
}

static int hold(struct override *l, struct held_setting *h)
{
	if (is_mine(l, h))
		return 0;
	if (array_reserve(&l->held, &l->held_cap, l->n_held + 1, sizeof(*l->held)))
		return -ENOMEM;
	l->held[l->n_held++] = h;
	h->holders++;
	return 0;
}

/* Restores and frees the setting of the last holder. */
static int restore_setting(struct override_dir *p, struct held_setting *h)
{
	int r = h->changed ? setting_change_undo(&h->change, p->path) : 0;

	p->keep_log = p->keep_log || setting_change_may_retry(r);
	TAILQ_REMOVE(&p->changes, &h->change, link);
	held_setting_free(h);
	return r;
}

static int drop(struct override *l, size_t i)
{
	struct held_setting *h = l->held[i];

	memmove(l->held + i, l->held + i + 1, (--l->n_held - i) * sizeof(*l->held));
	return --h->holders ? 0 : restore_setting(l->dir, h);
}

/* ---- changing ---- */

static int refuse(struct override *l, const char *file)
{
	if (!l->refused)
		l->refused = strdup(file);
	return -EBUSY;
}

static int path_of(const struct override *l, const char *file, char path[static 4096])
{
	return fs_join(path, 4096, l->dir->path, file);
}

/* Reads and logs the new value after a write. */
static int log_new_value(struct override *l, struct held_setting *h, const char *path)
{
	char *is = setting_kind_of(path) == SETTING_COMMAND ? strdup(h->value) : setting_read(path);

	free(h->change.new_value);
	h->change.new_value = is;
	return undo_log_new_value(l->dir->log, &h->change);
}

static int set_value(struct held_setting *h, const char *text)
{
	char *copy = text ? strdup(text) : NULL;

	if (text && !copy)
		return -ENOMEM;
	free(h->value);
	h->value = copy;
	return 0;
}

/* Holds a setting that no session holds yet. text NULL: the holder writes the file itself. */
static int hold_new_as(struct override *l, const char *file, const char *was, const char *text,
		       struct held_setting **ret)
{
	struct held_setting *h;
	int r;

	if (setting_restricts(file) && l->dir->n_readers > l->reads)
		return refuse(l, file);
	h = calloc(1, sizeof(*h));
	if (!h || setting_change_init(&h->change, file, was)) {
		free(h);
		return -ENOMEM;
	}
	TAILQ_INSERT_TAIL(&l->dir->changes, &h->change, link);
	r = set_value(h, text);
	if (!r)
		r = hold(l, h);
	if (r) {
		restore_setting(l->dir, h);
		return r;
	}
	*ret = h;
	return 0;
}

static int hold_new(struct override *l, const char *file, const char *text, const char *path,
		    struct held_setting **ret)
{
	bool command = setting_kind_of(file) == SETTING_COMMAND;
	_cleanup_(freep) char *was = NULL;

	if (!fs_exists(path))
		return -ENOENT;
	was = command ? strdup("") : setting_read(path);
	return was ? hold_new_as(l, file, was, text, ret) : -EACCES;
}

/* Logs the old value before the first change. */
static int log_old_value(struct override *l, struct held_setting *h)
{
	int r = undo_log_old_value(l->dir->log, &h->change);

	/*
	 * Equal triggers cannot be distinguished after the write; so log the one to remove before
	 * it.
	 */
	if (!r && setting_kind_of(h->change.file) == SETTING_COMMAND)
		r = log_new_value(l, h, h->change.file);
	if (!r)
		h->changed = true;
	return r;
}

/* The kernel refused the latest write. Some files change nevertheless. */
static void write_refused(struct override *l, struct held_setting *h, const char *path)
{
	_cleanup_(freep) char *now = setting_read(path);

	if (now && setting_kind_of(path) != SETTING_COMMAND &&
	    !setting_equal(path, now, h->change.old_value)) {
		log_new_value(l, h, path);
		return;
	}
	h->changed = false;
	drop(l, l->n_held - 1);
	undo_log_rewrite(l->dir->log, &l->dir->changes);
}

static int write_first(struct override *l, const char *file, const char *text, const char *path)
{
	struct held_setting *h;
	int r = hold_new(l, file, text, path, &h);

	if (r || (setting_kind_of(file) != SETTING_COMMAND &&
		  setting_reads(file, h->change.old_value, text)))
		return r;
	r = log_old_value(l, h);
	if (!r)
		r = setting_write(path, text);
	if (r) {
		write_refused(l, h, path);
		return r;
	}
	return setting_kind_of(file) == SETTING_COMMAND ? 0 : log_new_value(l, h, path);
}

static int write_again(struct override *l, struct held_setting *h, const char *text,
		       const char *path)
{
	int r = h->changed ? 0 : log_old_value(l, h);

	if (r)
		return r;
	/* The setting stays held; growing rings takes the kernel long. */
	coroutine_block_begin();
	r = setting_write(path, text);
	coroutine_block_end();
	if (!r)
		r = set_value(h, text);
	if (!r)
		r = log_new_value(l, h, path);
	return r;
}

/* Any session may switch it on; it is switched off after the last one. */
static bool is_additive(const char *file)
{
	return !strcmp(file, "tracing_on");
}

/*
 * Drops the triggers of this kind that this session added; the last holder removes them from the
 * kernel.
 */
static int drop_triggers(struct override *l, const char *file, const char *kind)
{
	for (size_t i = l->n_held; i-- > 0;)
		if (!strcmp(l->held[i]->change.file, file) && l->held[i]->value &&
		    str_starts(l->held[i]->value, kind))
			drop(l, i);
	return 0;
}

int override_write(struct override *l, const char *file, const char *text)
{
	struct held_setting *h = find_held(l->dir, file, text);
	char path[4096];
	int r = path_of(l, file, path);

	if (r)
		return r;
	if (setting_kind_of(file) == SETTING_COMMAND && *text == '!')
		return drop_triggers(l, file, text + 1);
	if (!h)
		return write_first(l, file, text, path);
	if (h->value && !strcmp(h->value, text))
		return hold(l, h);
	if (!is_additive(file) && (!is_mine(l, h) || h->holders > 1))
		return refuse(l, file);
	r = hold(l, h);
	return r ? r : write_again(l, h, text, path);
}

int override_append(struct override *l, const char *file, const char *text)
{
	struct held_setting *h = find_held(l->dir, file, text);
	_cleanup_(freep) char *value = NULL;
	char path[4096];
	int r = path_of(l, file, path);

	if (r)
		return r;
	if (!h || !is_mine(l, h) || h->holders > 1 || !h->value)
		return refuse(l, file);
	if (asprintf(&value, "%s%s", h->value, text) < 0) {
		value = NULL;
		return -ENOMEM;
	}
	r = h->changed ? 0 : log_old_value(l, h);
	if (!r)
		r = setting_append(path, text);
	if (!r)
		r = set_value(h, value);
	return r;
}

int override_save(struct override *l, const char *file, const char *was)
{
	struct held_setting *h = find_held(l->dir, file, "");
	char path[4096];
	int r = path_of(l, file, path);

	if (r)
		return r;
	if (h && (!is_mine(l, h) || h->holders > 1))
		return refuse(l, file);
	if (!h)
		r = was ? hold_new_as(l, file, was, NULL, &h) : hold_new(l, file, NULL, path, &h);
	return r || h->changed ? r : log_old_value(l, h);
}

int override_join(struct override *l)
{
	struct setting_change *c;
	int r = 0;

	TAILQ_FOREACH (c, &l->dir->changes, link)
		if (!r && !str_starts(c->file, "events/"))
			r = hold(l, container_of(c, struct held_setting, change));
	return r;
}

void override_release(struct override *l, const char *file)
{
	for (size_t i = l->n_held; i-- > 0;)
		if (!strcmp(l->held[i]->change.file, file))
			drop(l, i);
}

/* ---- overrides ---- */

int override_new(const struct override_target *terms, struct override **ret, struct err_text *e)
{
	struct override *l = calloc(1, sizeof(*l));
	int r = l ? use_dir(terms, &l->dir, e) : err_set(e, -ENOMEM, "out of memory");

	if (r) {
		free(l);
		return r;
	}
	l->reads = !terms->reads_nothing;
	l->dir->n_overrides++;
	l->dir->n_readers += l->reads;
	*ret = l;
	return 0;
}

int override_restore(struct override *l)
{
	int one, r = 0;

	while (l->n_held) {
		one = drop(l, l->n_held - 1);
		r = r ? r : one;
		coroutine_yield(); /* restores all settings even if cancelled */
	}
	return r;
}

struct override *override_free(struct override *l)
{
	struct override_dir *p;

	if (!l)
		return NULL;
	p = l->dir;
	override_restore(l);
	p->n_readers -= l->reads;
	if (!--p->n_overrides)
		dir_free(p);
	else
		undo_log_rewrite(p->log, &p->changes);
	free(l->held);
	free(l->refused);
	free(l);
	return NULL;
}

bool override_others_hold(const struct override *l, const char *file)
{
	const struct held_setting *h = find_held(l->dir, file, "");

	return h && h->holders > (is_mine(l, h) ? 1u : 0u);
}

bool override_has_changed(const struct override *l, const char *file)
{
	const struct held_setting *h = find_held(l->dir, file, "");

	return h && h->changed && h->holders == 1 && is_mine(l, h);
}

const char *override_refused(const struct override *l)
{
	return l->refused;
}
