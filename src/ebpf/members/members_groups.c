/* SPDX-License-Identifier: Apache-2.0 */
#include "ebpf/members/members_groups.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"

static void group_entry_remove_path(struct member_groups *g, struct group_entry *e)
{
	if (e->hh_path.tbl)
		HASH_DELETE(hh_path, g->by_path, e);
	e->hh_path.tbl = NULL;
}

static void group_entry_free(struct member_groups *g, struct group_entry *e)
{
	if (e->is_unwritten)
		TAILQ_REMOVE(&g->unwritten, e, unwritten);
	group_entry_remove_path(g, e);
	HASH_DEL(g->by_id, e);
	free(e);
}

static struct group_entry *group_entry_find(const struct member_groups *g, uint64_t id)
{
	struct group_entry *e;

	HASH_FIND(hh, g->by_id, &id, sizeof(id), e);
	return e;
}

/* Returns the group, which is added if it is new. NULL: too many groups, or no memory; counted. */
static struct group_entry *group_entry_get(struct member_groups *g, uint64_t id)
{
	struct group_entry *e = group_entry_find(g, id);

	if (e)
		return e;
	if (HASH_COUNT(g->by_id) < MEMBER_GROUPS_MAX)
		e = calloc(1, sizeof(*e));
	if (!e) {
		g->refused++;
		return NULL;
	}
	e->id = id;
	HASH_ADD(hh, g->by_id, id, sizeof(e->id), e);
	if (!e->hh.tbl) {
		free(e);
		g->refused++;
		return NULL;
	}
	return e;
}

struct group_entry *member_groups_find(struct member_groups *g, const char *path)
{
	struct group_entry *e;

	HASH_FIND(hh_path, g->by_path, path, strlen(path), e);
	return e;
}

static void group_entry_mark_unwritten(struct member_groups *g, struct group_entry *e)
{
	if (!e->is_unwritten)
		TAILQ_INSERT_TAIL(&g->unwritten, e, unwritten);
	e->is_unwritten = true;
}

static void group_entry_set_path(struct member_groups *g, struct group_entry *e, const char *path)
{
	struct group_entry *older = member_groups_find(g, path);

	if (e->path)
		return;
	if (older)
		group_entry_remove_path(g, older);
	e->path = path;
	HASH_ADD_KEYPTR(hh_path, g->by_path, path, strlen(path), e);
}

struct group_entry *member_groups_get(struct member_groups *g, uint64_t id)
{
	struct group_entry *e = group_entry_get(g, id);
	const struct cgroup_row *row = e && !e->path ? cgroup_names_find(g->names, id) : NULL;

	if (row)
		group_entry_set_path(g, e, row->path);
	if (e && !e->path)
		g->has_unknown = true;
	return e;
}

/* Sets the path of a group that is new, or whose names are known now, and marks it as unwritten.
 * may_be_gone: a group that is not in the table was removed. */
static void member_groups_set_row(struct member_groups *g, const struct cgroup_row *row,
				  bool may_be_gone)
{
	struct group_entry *e = group_entry_find(g, row->id);
	bool is_gone = !e && may_be_gone;

	if (!e)
		e = group_entry_get(g, row->id);
	if (!e)
		return;
	e->is_removed |= is_gone;
	group_entry_set_path(g, e, row->path);
	group_entry_mark_unwritten(g, e);
}

static void member_groups_on_named(void *ctx, const struct cgroup_row *row)
{
	struct member_groups *g = ctx;

	/* A group that is in no container is named at once, when it is added. */
	member_groups_set_row(g, row, *row->container || *row->pod_uid);
}

int member_groups_init(struct member_groups *g, const char *sys_root, struct event_base *loop)
{
	struct cgroup_mount mount = {.is_v2 = true}; /* without one the walk finds nothing */
	const struct cgroup_names_options o = {
		.loop = loop, .mount = &mount, .named = member_groups_on_named, .ctx = g};

	*g = (struct member_groups){.names = NULL};
	TAILQ_INIT(&g->unwritten);
	(void)cgroup_mount_find(sys_root, 0, &mount);
	return cgroup_names_new(&o, &g->names);
}

void member_groups_deinit(struct member_groups *g)
{
	while (g->by_id)
		group_entry_free(g, g->by_id);
	cgroup_names_free(g->names);
	g->names = NULL;
}

/* In a cgroup namespace, the walk has paths below the root of the namespace, while those of records
 * begin above it. So a group whose parent is known gets its path from the parent's. */
void member_groups_add(struct member_groups *g, uint64_t id, uint64_t parent, const char *path)
{
	const struct cgroup_row *above = parent ? cgroup_names_find(g->names, parent) : NULL;
	const char *slash = strrchr(path, '/');
	_cleanup_(freep) char *joined = NULL;
	const struct cgroup_row *row;

	if (above && slash &&
	    asprintf(&joined, "%s%s", strcmp(above->path, "/") == 0 ? "" : above->path, slash) < 0)
		joined = NULL;
	if (!group_entry_get(g, id))
		return;
	row = cgroup_names_add(g->names, id, parent, joined ? joined : path);
	if (row)
		member_groups_set_row(g, row, false);
}

void member_groups_remove(struct member_groups *g, uint64_t id)
{
	struct group_entry *e = group_entry_find(g, id);

	if (!e)
		return;
	e->is_removed = true;
	if (!e->is_unwritten)
		group_entry_free(g, e);
}

/* ---- the walk ---- */

void member_groups_begin_walk(struct member_groups *g)
{
	g->has_unknown = false;
	g->is_walking = true;
}

bool member_groups_walk_step(struct member_groups *g)
{
	const struct cgroup_row *row = NULL;

	if (!g->is_walking)
		return false;
	if (cgroup_names_walk_step(g->names))
		return true;
	g->is_walking = false;
	/* Groups whose names are still being read are written with their paths. */
	while ((row = cgroup_names_next(g->names, row)))
		if (!row->is_named && !group_entry_find(g, row->id))
			member_groups_set_row(g, row, false);
	return true;
}

bool member_groups_are_named(const struct member_groups *g)
{
	const struct cgroup_row *row = NULL;

	while ((row = cgroup_names_next(g->names, row)))
		if (!row->is_named)
			return false;
	return true;
}

/* ---- writing ---- */

void member_groups_mark_all_unwritten(struct member_groups *g)
{
	struct group_entry *e, *next;

	HASH_ITER (hh, g->by_id, e, next)
		if (e->path)
			group_entry_mark_unwritten(g, e);
}

struct group_entry *member_groups_next_unwritten(const struct member_groups *g)
{
	return TAILQ_FIRST(&g->unwritten);
}

void member_groups_mark_written(struct member_groups *g, struct group_entry *e)
{
	TAILQ_REMOVE(&g->unwritten, e, unwritten);
	e->is_unwritten = false;
	if (e->is_removed)
		group_entry_free(g, e);
}
