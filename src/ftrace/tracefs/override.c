// SPDX-License-Identifier: Apache-2.0
/*
 *	places --> place "" (top level)  -- record on disk
 *	             |  folder, loans: 2
 *	             +- knob "tracing_on"    was "0"  is "1"   held by 2
 *	             +- knob "trace_clock"   was "[local] boot"  is "local [boot]"  held by 1
 *
 *	           loan of session 1 --> tracing_on, trace_clock
 *	           loan of session 2 --> tracing_on
 *
 * Knobs stand in the order in which they were changed, and go back in the reverse order. A knob
 * that was as wanted is held like the others, so that nobody of us changes it, but never written.
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

struct place {
	LIST_ENTRY(place) link;
	char *folder; /* owned */
	struct undo_log *record; /* owned; NULL: none is kept */
	bool keep_record; /* something could not be put back */
	struct setting_changes changes; /* of struct held */
	unsigned n_loans;
	unsigned n_readers; /* of them read records there */
};

/* A knob of a place, as somebody of us wants it. */
struct held {
	struct setting_change change;
	bool changed; /* and has to be put back */
	char *value; /* owned: what it was set to; NULL: its holder writes by himself */
	unsigned holders;
};

struct override {
	struct place *place;
	bool reads;
	struct held **held; /* owned; what it points to is the place's */
	size_t n_held;
	size_t held_cap;
	char *refused; /* owned */
};

/* Of this process. */
static LIST_HEAD(, place) places = LIST_HEAD_INITIALIZER(places);

/* ---- places ---- */

static struct place *find_place(const char *folder)
{
	struct place *p;

	LIST_FOREACH (p, &places, link)
		if (!strcmp(p->folder, folder))
			return p;
	return NULL;
}

static const char *narrowed_by(const struct place *p)
{
	const struct setting_change *c;

	TAILQ_FOREACH (c, &p->changes, link)
		if (setting_restricts(c->file))
			return c->file;
	return NULL;
}

static void place_free(struct place *p)
{
	assert(TAILQ_EMPTY(&p->changes));
	LIST_REMOVE(p, link);
	undo_log_close(p->record, p->keep_record);
	free(p->folder);
	free(p);
}

/* Takes over folder. */
static int place_new(const struct override_target *terms, char *folder, struct place **ret,
		     struct err_text *e)
{
	struct place *p = calloc(1, sizeof(*p));
	int r = 0;

	if (!p) {
		free(folder);
		return err_set(e, -ENOMEM, "out of memory");
	}
	p->folder = folder;
	TAILQ_INIT(&p->changes);
	LIST_INSERT_HEAD(&places, p, link);
	if (terms->state)
		r = undo_log_open(terms->state, terms->root, terms->place, &p->record, e);
	if (r) {
		place_free(p);
		return r;
	}
	*ret = p;
	return 0;
}

static int use_place(const struct override_target *terms, struct place **ret, struct err_text *e)
{
	char *folder = NULL;
	const char *file;
	struct place *p;

	if (asprintf(&folder, "%s%s%s", terms->root, *terms->place ? "/" : "", terms->place) < 0)
		return err_set(e, -ENOMEM, "out of memory");
	p = find_place(folder);
	if (!p)
		return place_new(terms, folder, ret, e);
	free(folder);
	file = terms->reads_nothing ? NULL : narrowed_by(p);
	if (file)
		return err_set(e, -EBUSY,
			       "another recording uses %s, and leaves records out there (%s)",
			       p->folder, file);
	*ret = p;
	return 0;
}

/* ---- what is held ---- */

static struct held *find_held(const struct place *p, const char *file, const char *text)
{
	bool command = setting_kind_of(file) == SETTING_COMMAND;
	struct setting_change *c;
	struct held *h;

	TAILQ_FOREACH (c, &p->changes, link) {
		h = container_of(c, struct held, change);
		if (!strcmp(c->file, file) && (!command || (h->value && !strcmp(h->value, text))))
			return h;
	}
	return NULL;
}

static bool is_mine(const struct override *l, const struct held *h)
{
	for (size_t i = 0; i < l->n_held; i++)
		if (l->held[i] == h)
			return true;
	return false;
}

static void held_free(struct held *h)
{
	setting_change_deinit(&h->change);
	free(h->value);
	free(h);
}

static int hold(struct override *l, struct held *h)
{
	if (is_mine(l, h))
		return 0;
	if (array_reserve(&l->held, &l->held_cap, l->n_held + 1, sizeof(*l->held)))
		return -ENOMEM;
	l->held[l->n_held++] = h;
	h->holders++;
	return 0;
}

/* The last holder's: as it was, and forgotten. */
static int put_back(struct place *p, struct held *h)
{
	int r = h->changed ? setting_change_undo(&h->change, p->folder) : 0;

	p->keep_record = p->keep_record || setting_change_may_retry(r);
	TAILQ_REMOVE(&p->changes, &h->change, link);
	held_free(h);
	return r;
}

static int drop(struct override *l, size_t i)
{
	struct held *h = l->held[i];

	memmove(l->held + i, l->held + i + 1, (--l->n_held - i) * sizeof(*l->held));
	return --h->holders ? 0 : put_back(l->place, h);
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
	return fs_join(path, 4096, l->place->folder, file);
}

/* Notes how the file reads now that it was written. */
static int note_is(struct override *l, struct held *h, const char *path)
{
	char *is = setting_kind_of(path) == SETTING_COMMAND ? strdup(h->value) : setting_read(path);

	free(h->change.new_value);
	h->change.new_value = is;
	return undo_log_new_value(l->place->record, &h->change);
}

static int set_value(struct held *h, const char *text)
{
	char *copy = text ? strdup(text) : NULL;

	if (text && !copy)
		return -ENOMEM;
	free(h->value);
	h->value = copy;
	return 0;
}

/* A knob that nobody of us has yet, as it is. text NULL: its holder writes by himself. */
static int take_as(struct override *l, const char *file, const char *was, const char *text,
		   struct held **ret)
{
	struct held *h;
	int r;

	if (setting_restricts(file) && l->place->n_readers > l->reads)
		return refuse(l, file);
	h = calloc(1, sizeof(*h));
	if (!h || setting_change_init(&h->change, file, was)) {
		free(h);
		return -ENOMEM;
	}
	TAILQ_INSERT_TAIL(&l->place->changes, &h->change, link);
	r = set_value(h, text);
	if (!r)
		r = hold(l, h);
	if (r) {
		put_back(l->place, h);
		return r;
	}
	*ret = h;
	return 0;
}

static int take(struct override *l, const char *file, const char *text, const char *path,
		struct held **ret)
{
	bool command = setting_kind_of(file) == SETTING_COMMAND;
	_cleanup_(freep) char *was = NULL;

	if (!fs_exists(path))
		return -ENOENT;
	was = command ? strdup("") : setting_read(path);
	return was ? take_as(l, file, was, text, ret) : -EACCES;
}

/* Before the first change of it. */
static int note_was(struct override *l, struct held *h)
{
	int r = undo_log_old_value(l->place->record, &h->change);

	/* Two of a kind look the same afterwards; what to take away has to be known before. */
	if (!r && setting_kind_of(h->change.file) == SETTING_COMMAND)
		r = note_is(l, h, h->change.file);
	if (!r)
		h->changed = true;
	return r;
}

/* The kernel refused what was held last. Some files keep something of it all the same. */
static void not_taken(struct override *l, struct held *h, const char *path)
{
	_cleanup_(freep) char *now = setting_read(path);

	if (now && setting_kind_of(path) != SETTING_COMMAND &&
	    !setting_equal(path, now, h->change.old_value)) {
		note_is(l, h, path);
		return;
	}
	h->changed = false;
	drop(l, l->n_held - 1);
	undo_log_rewrite(l->place->record, &l->place->changes);
}

static int write_first(struct override *l, const char *file, const char *text, const char *path)
{
	struct held *h;
	int r = take(l, file, text, path, &h);

	if (r || (setting_kind_of(file) != SETTING_COMMAND &&
		  setting_reads(file, h->change.old_value, text)))
		return r;
	r = note_was(l, h);
	if (!r)
		r = setting_write(path, text);
	if (r) {
		not_taken(l, h, path);
		return r;
	}
	return setting_kind_of(file) == SETTING_COMMAND ? 0 : note_is(l, h, path);
}

static int write_again(struct override *l, struct held *h, const char *text, const char *path)
{
	int r = h->changed ? 0 : note_was(l, h);

	if (r)
		return r;
	/* It stays ours: rings that grow take the kernel long. */
	coroutine_block_begin();
	r = setting_write(path, text);
	coroutine_block_end();
	if (!r)
		r = set_value(h, text);
	if (!r)
		r = note_is(l, h, path);
	return r;
}

/* Switched on by any, off when nobody needs it. */
static bool is_additive(const char *file)
{
	return !strcmp(file, "tracing_on");
}

/* Of those that this session has added, as the last holder: the kernel has them no longer. */
static int take_away(struct override *l, const char *file, const char *kind)
{
	for (size_t i = l->n_held; i-- > 0;)
		if (!strcmp(l->held[i]->change.file, file) && l->held[i]->value &&
		    str_starts(l->held[i]->value, kind))
			drop(l, i);
	return 0;
}

int override_write(struct override *l, const char *file, const char *text)
{
	struct held *h = find_held(l->place, file, text);
	char path[4096];
	int r = path_of(l, file, path);

	if (r)
		return r;
	if (setting_kind_of(file) == SETTING_COMMAND && *text == '!')
		return take_away(l, file, text + 1);
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
	struct held *h = find_held(l->place, file, text);
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
	r = h->changed ? 0 : note_was(l, h);
	if (!r)
		r = setting_append(path, text);
	if (!r)
		r = set_value(h, value);
	return r;
}

int override_save(struct override *l, const char *file, const char *was)
{
	struct held *h = find_held(l->place, file, "");
	char path[4096];
	int r = path_of(l, file, path);

	if (r)
		return r;
	if (h && (!is_mine(l, h) || h->holders > 1))
		return refuse(l, file);
	if (!h)
		r = was ? take_as(l, file, was, NULL, &h) : take(l, file, NULL, path, &h);
	return r || h->changed ? r : note_was(l, h);
}

int override_join(struct override *l)
{
	struct setting_change *c;
	int r = 0;

	TAILQ_FOREACH (c, &l->place->changes, link)
		if (!r && !str_starts(c->file, "events/"))
			r = hold(l, container_of(c, struct held, change));
	return r;
}

void override_release(struct override *l, const char *file)
{
	for (size_t i = l->n_held; i-- > 0;)
		if (!strcmp(l->held[i]->change.file, file))
			drop(l, i);
}

/* ---- loans ---- */

int override_new(const struct override_target *terms, struct override **ret, struct err_text *e)
{
	struct override *l = calloc(1, sizeof(*l));
	int r = l ? use_place(terms, &l->place, e) : err_set(e, -ENOMEM, "out of memory");

	if (r) {
		free(l);
		return r;
	}
	l->reads = !terms->reads_nothing;
	l->place->n_loans++;
	l->place->n_readers += l->reads;
	*ret = l;
	return 0;
}

int override_restore(struct override *l)
{
	int one, r = 0;

	while (l->n_held) {
		one = drop(l, l->n_held - 1);
		r = r ? r : one;
		coroutine_yield(); /* all of it is to go back, whoever wants it */
	}
	return r;
}

struct override *override_free(struct override *l)
{
	struct place *p;

	if (!l)
		return NULL;
	p = l->place;
	override_restore(l);
	p->n_readers -= l->reads;
	if (!--p->n_loans)
		place_free(p);
	else
		undo_log_rewrite(p->record, &p->changes);
	free(l->held);
	free(l->refused);
	free(l);
	return NULL;
}

bool override_others_hold(const struct override *l, const char *file)
{
	const struct held *h = find_held(l->place, file, "");

	return h && h->holders > (is_mine(l, h) ? 1u : 0u);
}

bool override_has_changed(const struct override *l, const char *file)
{
	const struct held *h = find_held(l->place, file, "");

	return h && h->changed && h->holders == 1 && is_mine(l, h);
}

const char *override_refused(const struct override *l)
{
	return l->refused;
}
