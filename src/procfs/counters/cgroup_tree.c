/* SPDX-License-Identifier: Apache-2.0 */
#include "procfs/counters/cgroup_tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "procfs/counters/counter_files.h"

/* The names "NAME KEY" of the pairs of a line: NAME stays, KEY changes. */
struct line_name {
	char s[COUNTER_KEY_SIZE];
	size_t len; /* with the blank */
};

/* Begins a name with a word. Returns false if it is too long. */
static bool line_name_init(struct line_name *n, struct span word)
{
	if (word.len + 1 >= sizeof(n->s))
		return false;
	memcpy(n->s, word.p, word.len);
	n->s[word.len] = ' ';
	n->len = word.len + 1;
	return true;
}

/* Sets *ret to the name with key as its last word. Returns false if it is too long. */
static bool line_name_append(struct line_name *n, struct span key, struct span *ret)
{
	if (key.len >= sizeof(n->s) - n->len)
		return false;
	memcpy(n->s + n->len, key.p, key.len);
	*ret = (struct span){n->s, n->len + key.len};
	return true;
}

/* Parses "key=value"; returns false if it is invalid. Skips "max". */
static bool cgroup_text_parse_pair(struct line_name *n, struct span word, counter_number_fn fn,
				   void *ctx)
{
	const char *eq = memchr(word.p, '=', word.len);
	struct span key, value, name;
	struct counter_number v;

	if (!eq)
		return false;
	key = (struct span){word.p, (size_t)(eq - word.p)};
	value = (struct span){eq + 1, word.len - key.len - 1};
	if (key.len == 0 || value.len == 0)
		return false;
	if (span_is(value, "max"))
		return true;
	if (!counter_number_parse(value, &v) || !line_name_append(n, key, &name))
		return false;
	fn(ctx, name, &v);
	return true;
}

static bool cgroup_text_parse_pairs(struct span first, struct span word, struct span rest,
				    counter_number_fn fn, void *ctx)
{
	struct line_name n;
	bool good = line_name_init(&n, first);

	do
		good = good && cgroup_text_parse_pair(&n, word, fn, ctx);
	while (span_next_word(&rest, &word));
	return good;
}

/* Parses a line. Returns false if it has another format. */
static bool cgroup_text_parse_line(struct span line, counter_number_fn fn, void *ctx)
{
	struct counter_number v;
	struct span first, word;

	if (!span_next_word(&line, &first))
		return true;
	if (!span_next_word(&line, &word)) {
		if (counter_number_parse(first, &v))
			fn(ctx, (struct span){first.p, 0}, &v);
		return true;
	}
	if (memchr(word.p, '=', word.len))
		return cgroup_text_parse_pairs(first, word, line, fn, ctx);
	if (span_is(word, "max"))
		return true;
	if (!counter_number_parse(word, &v) || span_next_word(&line, &word))
		return false;
	fn(ctx, first, &v);
	return true;
}

int cgroup_text_parse(struct span text, counter_number_fn fn, void *ctx)
{
	struct span line;
	bool good = true;

	while (span_next_line(&text, &line))
		good &= cgroup_text_parse_line(line, fn, ctx);
	return good ? 0 : -EBADMSG;
}

/* ---- one group ---- */

static char *make_child_path(const struct cgroup *parent, const char *name)
{
	char *path;

	if (!parent || !parent->path[0])
		return strdup(name);
	return asprintf(&path, "%s/%s", parent->path, name) < 0 ? NULL : path;
}

static const char *last_path_component(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static void cgroup_tree_decide_if_recorded(const struct cgroup_tree *t, struct cgroup *g)
{
	const struct cgroup *parent = g->parent;

	if (cgroup_choice_is_root(t->choice, g->path)) {
		g->recorded = true;
	} else if (parent && parent->recorded && parent->below < t->choice->max_depth) {
		g->recorded = true;
		g->below = parent->below + 1;
	}
}

static struct cgroup *cgroup_new(struct cgroup_tree *t, struct cgroup *parent, const char *name,
				 uint64_t inode)
{
	size_t n = t->choice->files.n;
	struct cgroup *g = calloc(1, sizeof(*g) + n * sizeof(g->files[0]));

	if (!g)
		return NULL;
	g->path = make_child_path(parent, name);
	if (!g->path) {
		free(g);
		return NULL;
	}
	g->name = last_path_component(g->path);
	g->parent = parent;
	g->inode = inode;
	g->depth = parent ? parent->depth + 1 : 0;
	TAILQ_INIT(&g->children);
	for (size_t i = 0; i < n; i++)
		g->files[i].file.fd = -1;
	cgroup_tree_decide_if_recorded(t, g);
	g->track =
		parent ? tracks_add(t->poll->tracks, &(struct track_spec){.kind = TRACK_GROUP,
									  .parent = parent->track,
									  .name = g->name})
		       : t->poll->group;
	t->n++;
	return g;
}

static void cgroup_free(struct cgroup_tree *t, struct cgroup *g)
{
	struct cgroup *child;

	while ((child = TAILQ_FIRST(&g->children))) {
		TAILQ_REMOVE(&g->children, child, sibling);
		cgroup_free(t, child); /* not deeper than CGROUP_DEPTH_MAX */
	}
	for (size_t i = 0; i < t->choice->files.n; i++) {
		counter_file_close(&g->files[i].file, t->poll);
		counter_tracks_deinit(&g->files[i].tracks);
	}
	free(g->path);
	free(g);
	t->n--;
}

/* ---- the tree ---- */

int cgroup_tree_init(struct cgroup_tree *t, const struct cgroup_choice *choice,
		     struct polled_source *poll, const char *path)
{
	*t = (struct cgroup_tree){.choice = choice, .poll = poll};
	TAILQ_INIT(&t->lost);
	t->fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (t->fd < 0)
		return -errno;
	t->root = cgroup_new(t, NULL, "", 0);
	return t->root ? 0 : -ENOMEM;
}

void cgroup_tree_deinit(struct cgroup_tree *t)
{
	struct cgroup *g;

	while ((g = TAILQ_FIRST(&t->lost))) {
		TAILQ_REMOVE(&t->lost, g, sibling);
		cgroup_free(t, g);
	}
	if (t->root)
		cgroup_free(t, t->root);
	t->root = NULL;
	closep(&t->fd);
	t->fd = -1;
}

struct cgroup *cgroup_tree_next(struct cgroup *g)
{
	if (!TAILQ_EMPTY(&g->children))
		return TAILQ_FIRST(&g->children);
	for (; g; g = g->parent)
		if (TAILQ_NEXT(g, sibling) && g->parent)
			return TAILQ_NEXT(g, sibling);
	return NULL;
}

static void remove_child(struct cgroup_tree *t, struct cgroup *child)
{
	TAILQ_REMOVE(&child->parent->children, child, sibling);
	tracks_remove(t->poll->tracks, child->track);
	cgroup_free(t, child);
}

/* Finds a child. The kernel lists groups in the same order each time, so it is nearly always the
 * next sibling of last. */
static struct cgroup *find_child(const struct cgroup *g, struct cgroup *last, const char *name)
{
	struct cgroup *next = last ? TAILQ_NEXT(last, sibling) : TAILQ_FIRST(&g->children), *child;

	if (next && strcmp(next->name, name) == 0)
		return next;
	TAILQ_FOREACH (child, &g->children, sibling)
		if (strcmp(child->name, name) == 0)
			return child;
	return NULL;
}

static struct cgroup *add_child(struct cgroup_tree *t, struct cgroup *g, struct cgroup *last,
				const struct dirent *e)
{
	struct cgroup *child;

	if (t->n >= CGROUPS_MAX || g->depth >= CGROUP_DEPTH_MAX) {
		polled_source_failed(t->poll, &t->limit_logged, e->d_name, E2BIG);
		return NULL;
	}
	child = cgroup_new(t, g, e->d_name, e->d_ino);
	if (!child)
		return NULL;
	if (last)
		TAILQ_INSERT_AFTER(&g->children, last, child, sibling);
	else
		TAILQ_INSERT_HEAD(&g->children, child, sibling);
	return child;
}

/* Returns the group of a directory entry, known or new, or `last` if the entry is not a group or
 * cannot be added. Removes a group that was replaced by this one. */
static struct cgroup *find_or_add_child(struct cgroup_tree *t, struct cgroup *g,
					struct cgroup *last, const struct dirent *e)
{
	struct cgroup *child;

	if (e->d_type != DT_DIR || strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
		return last;
	child = find_child(g, last, e->d_name);
	if (child && child->inode != e->d_ino) {
		if (child == last)
			last = NULL;
		remove_child(t, child);
		child = NULL;
	}
	if (!child)
		child = add_child(t, g, last, e);
	if (!child)
		return last;
	child->found_in = t->poll->pass;
	return child;
}

/* Returns true if descendants of the group may be recorded. */
static bool may_have_recorded_child(const struct cgroup_tree *t, const struct cgroup *g)
{
	return g->depth < t->choice->levels || (g->recorded && g->below < t->choice->max_depth);
}

static void move_missing_to_lost(struct cgroup_tree *t, struct cgroup *g)
{
	struct cgroup *child = TAILQ_FIRST(&g->children), *next;

	for (; child; child = next) {
		next = TAILQ_NEXT(child, sibling);
		if (child->found_in == t->poll->pass)
			continue;
		TAILQ_REMOVE(&g->children, child, sibling);
		TAILQ_INSERT_TAIL(&t->lost, child, sibling);
		child->parent = NULL;
	}
}

bool cgroup_tree_free_lost(struct cgroup_tree *t)
{
	struct cgroup *g;

	for (unsigned i = 0; i < CGROUP_DROP_PIECE && (g = TAILQ_FIRST(&t->lost)); i++) {
		while (!TAILQ_EMPTY(&g->children))
			g = TAILQ_FIRST(&g->children);
		TAILQ_REMOVE(g->parent ? &g->parent->children : &t->lost, g, sibling);
		tracks_remove(t->poll->tracks, g->track);
		cgroup_free(t, g);
	}
	return !TAILQ_EMPTY(&t->lost);
}

void cgroup_tree_list_children(struct cgroup_tree *t, struct cgroup *g)
{
	struct cgroup *last = NULL;
	struct dirent *e;
	DIR *dir;
	int fd;

	if (!may_have_recorded_child(t, g))
		return;
	fd = openat(t->fd, g->path[0] ? g->path : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	dir = fd >= 0 ? fdopendir(fd) : NULL;
	if (!dir) {
		/* A group that was removed meanwhile is handled when its parent is listed next. */
		if (errno != ENOENT && errno != ENODEV)
			polled_source_failed(t->poll, &t->list_error_logged, g->path, errno);
		closep(&fd);
		return;
	}
	while ((e = readdir(dir)))
		last = find_or_add_child(t, g, last, e);
	closedir(dir);
	move_missing_to_lost(t, g);
}
