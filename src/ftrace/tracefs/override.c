/* SPDX-License-Identifier: Apache-2.0 */
/*
 *	dirs --> dir "" (top level), sessions 1 and 2 --> undo log, in memory and on disk
 *	           |
 *	           +- "tracing_on"    old "0"  new "1"   holders: sessions 1, 2
 *	           +- "trace_clock"   old "[local] boot"  new "local [boot]"  holders: session 1
 *
 * Settings are kept in the order of their changes and restored in reverse order. A setting that
 * had the wanted value is held as well, so that no other session changes it, but it is not
 * written.
 */
#include "ftrace/tracefs/override.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/event_loop/coroutine.h"
#include "base/system/fs.h"
#include "base/text/str.h"
#include "ftrace/tracefs/setting_file.h"
#include "ftrace/tracefs/undo_log.h"

struct override_dir {
	LIST_ENTRY(override_dir) link;
	/* of the settings that a session holds, or that could not be restored yet */
	struct undo_log log;
	uint64_t sessions; /* a bit each */
	uint64_t readers; /* those of them that read records */
};

struct override {
	struct override_dir *dir;
	uint64_t bit; /* this session in the directory */
	char *refused; /* owned */
};

/* All overridden directories of this process. */
static LIST_HEAD(, override_dir) dirs = LIST_HEAD_INITIALIZER(dirs);

/* ---- directories ---- */

static struct override_dir *find_dir(const struct override_target *target)
{
	size_t len = strlen(target->root);
	struct override_dir *d;

	LIST_FOREACH (d, &dirs, link)
		if (!strncmp(d->log.dir, target->root, len) &&
		    !strcmp(d->log.dir + len + (d->log.dir[len] == '/'), target->subdir))
			return d;
	return NULL;
}

static int override_dir_new(const struct override_target *target, struct override_dir **ret,
			    struct err_text *e)
{
	struct override_dir *d = calloc(1, sizeof(*d));
	int r = d ? undo_log_open(&d->log, target->state, target->root, target->subdir, e)
		  : err_set(e, -ENOMEM, "out of memory");

	if (r) {
		free(d);
		return r;
	}
	LIST_INSERT_HEAD(&dirs, d, link);
	*ret = d;
	return 0;
}

static int check_override_dir(const struct override_target *target, const struct override_dir *d,
			      struct err_text *e)
{
	const struct setting_change *c;

	if (!~d->sessions)
		return err_set(e, -EBUSY, "too many recordings already use %s", d->log.dir);
	TAILQ_FOREACH (c, &d->log.changes, link)
		if (!target->reads_nothing && setting_is_restricting(c->file))
			return err_set(e, -EBUSY,
				       "another recording has restricted what %s records (%s)",
				       d->log.dir, c->file);
	return 0;
}

int override_new(const struct override_target *target, struct override **ret, struct err_text *e)
{
	struct override *l = calloc(1, sizeof(*l));
	int r = l ? 0 : err_set(e, -ENOMEM, "out of memory");

	if (!r) {
		l->dir = find_dir(target);
		r = l->dir ? check_override_dir(target, l->dir, e)
			   : override_dir_new(target, &l->dir, e);
	}
	if (r) {
		free(l);
		return r;
	}
	l->bit = ~l->dir->sessions & (l->dir->sessions + 1);
	l->dir->sessions |= l->bit;
	l->dir->readers |= target->reads_nothing ? 0 : l->bit;
	*ret = l;
	return 0;
}

struct override *override_free(struct override *l)
{
	struct override_dir *d;

	if (!l)
		return NULL;
	d = l->dir;
	override_restore(l);
	d->readers &= ~l->bit;
	d->sessions &= ~l->bit;
	if (d->sessions) {
		undo_log_rewrite(&d->log);
	} else {
		LIST_REMOVE(d, link);
		undo_log_close(&d->log);
		free(d);
	}
	free(l->refused);
	free(l);
	return NULL;
}

/* ---- held settings ---- */

static bool is_command_file(const char *file)
{
	return setting_find_kind(file) == SETTING_COMMAND;
}

/* Finds the change of a setting. A trigger file has one change for each command. */
static struct setting_change *override_find(const struct override *l, const char *file,
					    const char *text)
{
	struct setting_change *c;

	TAILQ_FOREACH (c, &l->dir->log.changes, link)
		if (!strcmp(c->file, file) &&
		    (!is_command_file(file) || (c->text && !strcmp(c->text, text))))
			return c;
	return NULL;
}

/* Returns the latest change that this session holds, or NULL. file NULL: of any file. prefix: only
 * a change whose text begins with it. */
static struct setting_change *find_latest_own_change(const struct override *l, const char *file,
						     const char *prefix)
{
	struct setting_change *c;

	TAILQ_FOREACH_REVERSE(c, &l->dir->log.changes, setting_changes, link)
	if ((c->holders & l->bit) && (!file || !strcmp(c->file, file)) &&
	    (!*prefix || (c->text && str_starts(c->text, prefix))))
		return c;
	return NULL;
}

/* Ends our hold of a change. The last holder restores the setting. If that fails with -EBUSY or
 * -ENOMEM, the change stays in the log without a holder. Returns 0 or -errno. */
static int override_drop(struct override *l, struct setting_change *c)
{
	c->holders &= ~l->bit;
	return c->holders ? 0 : undo_log_undo(&l->dir->log, c);
}

static void drop_own_changes(struct override *l, const char *file, const char *prefix)
{
	struct setting_change *c;

	while ((c = find_latest_own_change(l, file, prefix)))
		override_drop(l, c);
}

/* Stores a copy of the text that this file writes into the setting. NULL: the session writes it. */
static int set_text_of_change(struct setting_change *c, const char *text)
{
	char *copy = text ? strdup(text) : NULL;

	if (text && !copy)
		return -ENOMEM;
	free(c->text);
	c->text = copy;
	return 0;
}

static int override_refuse(struct override *l, const char *file)
{
	if (!l->refused)
		l->refused = strdup(file);
	return -EBUSY;
}

/* Holds a setting that no session holds yet. was: the value to restore; NULL: the current one. */
static int add_held_change(struct override *l, const char *file, const char *was, const char *text,
			   struct setting_change **ret)
{
	_cleanup_(freep) char *now = NULL;
	struct setting_change *c;
	char path[4096];
	int r = fs_join(path, sizeof(path), l->dir->log.dir, file);

	if (r)
		return r;
	if (!was) {
		if (!fs_exists(path))
			return -ENOENT;
		now = is_command_file(file) ? strdup("") : setting_read(path);
		was = now;
	}
	if (!was)
		return -EACCES;
	if (setting_is_restricting(file) && (l->dir->readers & ~l->bit))
		return override_refuse(l, file);
	r = undo_log_add(&l->dir->log, file, was, &c);
	if (r)
		return r;
	c->holders = l->bit;
	r = set_text_of_change(c, text);
	if (r)
		override_drop(l, c);
	else
		*ret = c;
	return r;
}

/* ---- changing ---- */

/* Reads and logs the new value after a write. */
static int log_new_value(struct override *l, struct setting_change *c, const char *path)
{
	free(c->new_value);
	c->new_value = is_command_file(c->file) ? strdup(c->text) : setting_read(path);
	return undo_log_write_new_value(&l->dir->log, c);
}

/* Logs the old value before the first change. */
static int log_old_value(struct override *l, struct setting_change *c)
{
	int r = undo_log_write_old_value(&l->dir->log, c);

	/* A trigger is logged before its write: the file does not show which process added it. */
	return r || !is_command_file(c->file) ? r : log_new_value(l, c, NULL);
}

/* Handles a write that the kernel refused. Drops the change, unless the file has changed
 * nevertheless. */
static void handle_refused_write(struct override *l, struct setting_change *c, const char *path)
{
	_cleanup_(freep) char *now = setting_read(path);

	if (now && !is_command_file(path) && !setting_equal(path, now, c->old_value)) {
		log_new_value(l, c, path);
		return;
	}
	c->logged = false;
	override_drop(l, c);
	undo_log_rewrite(&l->dir->log);
}

static int write_and_log(struct override *l, struct setting_change *c, const char *text,
			 const char *path)
{
	bool first = !c->logged;
	int r = first ? log_old_value(l, c) : 0;

	if (r)
		return r;
	/* Growing rings takes the kernel long, so the event loop runs on. It waits for a first
	 * write: no other session may hold a setting that is not set yet. */
	if (!first)
		coroutine_block_begin();
	r = setting_write(path, text);
	if (!first)
		coroutine_block_end();
	if (!r)
		r = set_text_of_change(c, text);
	return r || is_command_file(path) ? r : log_new_value(l, c, path);
}

int override_write(struct override *l, const char *file, const char *text)
{
	struct setting_change *c = override_find(l, file, text);
	/* Any session may switch tracing_on on; the last one that releases it restores it. */
	bool is_additive = !strcmp(file, "tracing_on");
	bool is_new = !c, same = c && c->text && !strcmp(c->text, text);
	char path[4096];
	int r = fs_join(path, sizeof(path), l->dir->log.dir, file);

	if (!r && is_command_file(file) && *text == '!') {
		drop_own_changes(l, file, text + 1);
		return 0;
	}
	if (!r && is_new)
		r = add_held_change(l, file, NULL, text, &c);
	if (r)
		return r;
	if (!is_new && !same && !is_additive && c->holders && c->holders != l->bit)
		return override_refuse(l, file);
	c->holders |= l->bit;
	if (same ||
	    (is_new && !is_command_file(file) && setting_matches_write(file, c->old_value, text)))
		return 0;
	r = write_and_log(l, c, text, path);
	if (r && is_new)
		handle_refused_write(l, c, path);
	return r;
}

int override_append(struct override *l, const char *file, const char *text)
{
	struct setting_change *c = override_find(l, file, text);
	_cleanup_(freep) char *all = NULL;
	char path[4096];
	int r = fs_join(path, sizeof(path), l->dir->log.dir, file);

	if (r)
		return r;
	if (!c || c->holders != l->bit || !c->text)
		return override_refuse(l, file);
	if (asprintf(&all, "%s%s", c->text, text) < 0) {
		all = NULL;
		return -ENOMEM;
	}
	r = c->logged ? 0 : log_old_value(l, c);
	if (!r)
		r = setting_append(path, text);
	return r ? r : set_text_of_change(c, all);
}

int override_save(struct override *l, const char *file, const char *was)
{
	struct setting_change *c = override_find(l, file, "");
	int r;

	if (c && c->holders && c->holders != l->bit)
		return override_refuse(l, file);
	r = c ? 0 : add_held_change(l, file, was, NULL, &c);
	if (!r)
		c->holders = l->bit;
	return r || c->logged ? r : log_old_value(l, c);
}

/* ---- sessions ---- */

void override_join(struct override *l)
{
	struct setting_change *c;

	TAILQ_FOREACH (c, &l->dir->log.changes, link)
		if (!str_starts(c->file, "events/"))
			c->holders |= l->bit;
}

void override_release(struct override *l, const char *file)
{
	drop_own_changes(l, file, "");
}

int override_restore(struct override *l)
{
	struct setting_change *c;
	int one, r = 0;

	while ((c = find_latest_own_change(l, NULL, ""))) {
		one = override_drop(l, c);
		r = r ? r : one;
		coroutine_yield(); /* restores all settings even if cancelled */
	}
	return r;
}

bool override_is_held_by_others(const struct override *l, const char *file)
{
	const struct setting_change *c = override_find(l, file, "");

	return c && (c->holders & ~l->bit);
}

bool override_has_changed(const struct override *l, const char *file)
{
	const struct setting_change *c = override_find(l, file, "");

	return c && c->logged && c->holders == l->bit;
}

const char *override_refused_file(const struct override *l)
{
	return l->refused;
}
