/* SPDX-License-Identifier: Apache-2.0 */
#include "ebpf/members/members_groups.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "ebpf/engine/cgroup_mount.h"

void member_groups_init(struct member_groups *g, const char *sys_root)
{
	*g = (struct member_groups){.mount = cgroup_mount_open(sys_root)};
	TAILQ_INIT(&g->unwritten);
	TAILQ_INIT(&g->unlisted);
}

static void group_entry_free(struct member_groups *g, struct group_entry *e)
{
	if (e->is_unwritten)
		TAILQ_REMOVE(&g->unwritten, e, unwritten);
	if (e->is_unlisted)
		TAILQ_REMOVE(&g->unlisted, e, unlisted);
	HASH_DEL(g->by_id, e);
	if (e->hh_path.tbl)
		HASH_DELETE(hh_path, g->by_path, e);
	free(e->path);
	free(e);
}

void member_groups_deinit(struct member_groups *g)
{
	while (g->by_id)
		group_entry_free(g, g->by_id);
	closep(&g->mount);
}

static struct group_entry *group_entry_find(const struct member_groups *g, uint64_t id)
{
	struct group_entry *e;

	HASH_FIND(hh, g->by_id, &id, sizeof(id), e);
	return e;
}

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

struct group_entry *member_groups_get(struct member_groups *g, uint64_t id)
{
	struct group_entry *e = group_entry_get(g, id);

	if (e && !e->path)
		g->has_unknown = true;
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

static void group_entry_mark_unlisted(struct member_groups *g, struct group_entry *e)
{
	if (!e->is_unlisted)
		TAILQ_INSERT_TAIL(&g->unlisted, e, unlisted);
	e->is_unlisted = true;
}

/* Takes path over. The path of a group never changes. */
static void group_entry_set_path(struct member_groups *g, struct group_entry *e, uint64_t parent,
				 char *path)
{
	struct group_entry *older;

	if (!path || e->path) {
		free(path);
		return;
	}
	e->path = path;
	e->parent = parent;
	older = member_groups_find(g, path);
	if (older) {
		HASH_DELETE(hh_path, g->by_path, older);
		older->hh_path.tbl = NULL;
	}
	HASH_ADD_KEYPTR(hh_path, g->by_path, e->path, strlen(e->path), e);
	group_entry_mark_unwritten(g, e);
}

static char *path_below(const struct group_entry *parent, const char *name)
{
	const char *above = parent->path;
	char *path;

	return asprintf(&path, "%s/%s", strcmp(above, "/") == 0 ? "" : above, name) < 0 ? NULL
											 : path;
}

void member_groups_add(struct member_groups *g, uint64_t id, uint64_t parent, const char *path)
{
	const struct group_entry *above = parent ? group_entry_find(g, parent) : NULL;
	struct group_entry *e = group_entry_get(g, id);
	const char *slash = strrchr(path, '/');

	if (!e || e->path)
		return;
	if (above && above->path && slash)
		group_entry_set_path(g, e, parent, path_below(above, slash + 1));
	else
		group_entry_set_path(g, e, parent, strdup(path));
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

void member_groups_walk(struct member_groups *g)
{
	struct group_entry *root;
	struct stat st;

	g->has_unknown = false;
	if (g->mount < 0 || fstat(g->mount, &st) < 0)
		return;
	root = group_entry_get(g, st.st_ino);
	if (!root)
		return;
	group_entry_set_path(g, root, 0, strdup("/"));
	group_entry_mark_unlisted(g, root);
}

static void list_child(struct member_groups *g, const struct group_entry *parent,
		       const struct dirent *d)
{
	struct group_entry *e;

	if (d->d_type != DT_DIR || strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0)
		return;
	e = group_entry_get(g, d->d_ino);
	if (!e)
		return;
	if (!e->path)
		group_entry_set_path(g, e, parent->id, path_below(parent, d->d_name));
	group_entry_mark_unlisted(g, e);
}

bool member_groups_walk_step(struct member_groups *g)
{
	struct group_entry *e = TAILQ_FIRST(&g->unlisted);
	struct dirent *d;
	DIR *dir;
	int fd;

	if (!e)
		return false;
	TAILQ_REMOVE(&g->unlisted, e, unlisted);
	e->is_unlisted = false;
	if (!e->path)
		return true;
	fd = openat(g->mount, e->path[1] ? e->path + 1 : ".",
		    O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	dir = fd >= 0 ? fdopendir(fd) : NULL;
	if (!dir) {
		closep(&fd); /* it was removed meanwhile, or its path is too long */
		return true;
	}
	while ((d = readdir(dir)))
		list_child(g, e, d);
	closedir(dir);
	return true;
}

/* ---- writing ---- */

void member_groups_write_again(struct member_groups *g)
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

void member_groups_written(struct member_groups *g, struct group_entry *e)
{
	TAILQ_REMOVE(&g->unwritten, e, unwritten);
	e->is_unwritten = false;
	if (e->is_removed)
		group_entry_free(g, e);
}
