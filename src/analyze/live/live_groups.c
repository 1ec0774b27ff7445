/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Control groups and programs of processes. At the end of a period the growth of each process is
 * added to its group and to its program, so the sums include processes that have ended since.
 *
 * The row with the group of a new process may come after its first values. Until then, or until the
 * process is forgotten, its growth is in no group.
 */
#include "analyze/live/live.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/live/live_internal.h"
#include "base/core/mem.h"

static void live_group_free(struct live_group_entry *g)
{
	for (size_t i = 0; i < LIVE_GROUP_TEXTS; i++)
		free(g->g.texts[i]);
	free(g);
}

void live_groups_free(struct live *l)
{
	struct live_group_entry *g, *next;

	HASH_ITER (hh, l->groups, g, next) {
		HASH_DEL(l->groups, g);
		live_group_free(g);
	}
	HASH_ITER (hh, l->programs, g, next) {
		HASH_DEL(l->programs, g);
		live_group_free(g);
	}
}

struct live_group_entry *live_find_or_add_group(struct live *l, uint64_t id)
{
	struct live_group_entry *g;

	HASH_FIND(hh, l->groups, &id, sizeof(id), g);
	if (g || HASH_COUNT(l->groups) >= LIVE_GROUPS_MAX)
		return g;
	g = calloc(1, sizeof(*g));
	if (!g)
		return NULL;
	g->g.id = id;
	HASH_ADD(hh, l->groups, g.id, sizeof(g->g.id), g);
	if (!g->hh.tbl)
		free(TAKE_PTR(g));
	return g;
}

static struct live_group_entry *live_find_or_add_program(struct live *l, const char *name)
{
	struct live_group_entry *g;

	HASH_FIND(hh, l->programs, name, strlen(name), g);
	if (g || HASH_COUNT(l->programs) >= LIVE_GROUPS_MAX)
		return g;
	g = calloc(1, sizeof(*g));
	if (g)
		g->g.texts[LIVE_GROUP_PATH] = strdup(name);
	if (g && g->g.texts[LIVE_GROUP_PATH])
		HASH_ADD_KEYPTR(hh, l->programs, g->g.texts[LIVE_GROUP_PATH], strlen(name), g);
	if (g && !g->hh.tbl) {
		live_group_free(g);
		return NULL;
	}
	return g;
}

/* ---- the screen ---- */

/* Adds what the process has grown since it was last added to a group of this kind. */
static void add_growth_to_group(struct live *l, struct live_entry *p, enum live_grouping kind,
				struct live_group_entry *g)
{
	for (size_t i = 0; g && i < LIVE_METRICS; i++) {
		const struct live_value *v = &p->p.values[i];
		uint64_t *grouped = &p->grouped[kind][i];

		if (!v->has_total)
			continue;
		g->source[i] = p->source[i];
		live_add_growth(&g->g.values[i], v->total - *grouped, v->at,
				live_growth_began(l, p->source[i], v->at));
		*grouped = v->total;
	}
}

static void add_to_group(struct live *l, struct live_entry *p, enum live_grouping kind,
			 struct live_group_entry *g, bool is_last)
{
	add_growth_to_group(l, p, kind, g);
	if (!g || is_last || p->has_ended || !p->is_reported)
		return;
	g->g.processes++;
	g->g.rss += p->p.rss;
	g->g.has_rss |= p->p.has_rss;
}

/* Returns the group of a process, or of the process of a thread; 0: unknown. */
static uint64_t find_group_id(struct live *l, const struct live_entry *p)
{
	const struct live_entry *main_thread;

	if (p->p.group || !p->p.tgid || p->p.tgid == p->p.pid)
		return p->p.group;
	HASH_FIND(hh, l->processes, &p->p.tgid, sizeof(p->p.tgid), main_thread);
	return main_thread ? main_thread->p.group : 0;
}

void live_add_to_groups(struct live *l, struct live_entry *p, bool is_last)
{
	uint64_t id = l->setup.has_groups ? find_group_id(l, p) : 0;

	if (l->setup.has_groups && is_last && !id)
		id = LIVE_UNKNOWN_GROUP;
	else if (id)
		p->p.group = id;
	add_to_group(l, p, LIVE_BY_GROUP, id ? live_find_or_add_group(l, id) : NULL, is_last);
	if (l->setup.has_programs)
		add_to_group(l, p, LIVE_BY_PROGRAM,
			     live_find_or_add_program(l, live_program_name(p->p.name)), is_last);
}

static void clear_count(struct live_group *g)
{
	g->processes = 0;
	g->rss = 0;
	g->has_rss = false;
}

void live_groups_begin_period(struct live *l)
{
	struct live_group_entry *g, *next;

	HASH_ITER (hh, l->groups, g, next)
		clear_count(&g->g);
	HASH_ITER (hh, l->programs, g, next)
		clear_count(&g->g);
}

void live_groups_end_period(struct live *l)
{
	struct live_group_entry *g, *next;

	HASH_ITER (hh, l->groups, g, next)
		live_compute_rates(l, g->g.values, g->source);
	HASH_ITER (hh, l->programs, g, next)
		live_compute_rates(l, g->g.values, g->source);
}

void live_each_group(const struct live *l, enum live_grouping kind,
		     void (*fn)(void *ctx, const struct live_group *g), void *ctx)
{
	struct live_group_entry *head = kind == LIVE_BY_PROGRAM ? l->programs : l->groups, *g,
				*next;

	HASH_ITER (hh, head, g, next)
		fn(ctx, &g->g);
}

const struct live_group *live_find_group(const struct live *l, uint64_t id)
{
	struct live_group_entry *g;

	HASH_FIND(hh, l->groups, &id, sizeof(id), g);
	return g ? &g->g : NULL;
}

const char *live_program_name(const char *name)
{
	const char *slash = *name == '/' || str_starts(name, "./") ? strrchr(name, '/') : NULL;

	return slash && slash[1] ? slash + 1 : name;
}
