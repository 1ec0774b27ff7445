/* SPDX-License-Identifier: Apache-2.0 */
/*
 *	group (row)  --->  container (names)  --->  request to the name reader
 *	group (row)  --/        ^
 *	 of a container         |  answer: to all groups of the container
 *
 * Containers wait in a queue: the name reader takes NAME_REQUESTS_MAX requests at a time.
 */
#include "subjects/cgroup_names.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/xattr.h>

#include <event2/event.h>

#include "base/core/clock.h"
#include "base/core/hash_table.h"
#include "base/core/mem.h"
#include "base/event_loop/coroutine.h"
#include "base/event_loop/event_free.h"
#include "subjects/name_reader.h"

#define RETRY_MS 1000 /* after which missing files are read again */
#define INVOCATION_SIZE 33

enum naming { NAMING_QUEUED, NAMING_ASKED, NAMING_RETRY, NAMING_DONE };

struct group;

/* What several groups share: a container, a machine or a pod. */
struct container {
	struct container_key key;
	struct container_names names;
	uint64_t number; /* of its requests */
	enum naming state;
	bool is_retried, found; /* found: a file has it */
	STAILQ_HEAD(, group) groups; /* that wait for the names */
	STAILQ_ENTRY(container) queued;
	UT_hash_handle hh; /* by key */
	UT_hash_handle by_number;
};

struct group {
	struct cgroup_row row;
	struct container *container; /* NULL: it is in none */
	bool is_guess; /* a container if the runtime's files say so */
	char id[CONTAINER_NAME_SIZE], unit[CONTAINER_NAME_SIZE];
	char pod_uid[CGROUP_POD_UID_SIZE], invocation[INVOCATION_SIZE];
	STAILQ_ENTRY(group) waits;
	STAILQ_ENTRY(group) link;
	UT_hash_handle hh; /* by id */
	char path[];
};

struct cgroup_names {
	struct cgroup_names_options o;
	struct cgroup_mount mount;
	struct cgroup_walk walk;
	bool is_walking;
	struct name_reader_user reader;
	struct event *retry; /* owned; NULL: no loop */
	struct group *groups; /* owned: hash table, and the list of all */
	STAILQ_HEAD(, group) all;
	struct container *containers, *by_number; /* owned: hash tables of the same elements */
	STAILQ_HEAD(, container) queue;
	uint64_t last_number;
	unsigned left_out, n_unnamed; /* n_unnamed: containers that are being read */
};

/* ---- names ---- */

/* Sets the names of the group to those of its container, and reports the row as named. */
static void group_set_named(struct cgroup_names *n, struct group *g)
{
	const struct container *c = g->container;

	if (g->is_guess && !(c && c->found)) {
		g->row.runtime = RUNTIME_NONE;
		g->row.container = g->row.name = g->row.namespace = "";
	} else if (c) {
		if (g->is_guess)
			g->row.kind = CGROUP_CONTAINER;
		g->row.name = *c->names.name ? c->names.name : g->row.name;
		g->row.image = c->names.image;
		g->row.pod = c->names.pod;
		g->row.namespace = *c->names.namespace ? c->names.namespace : c->key.namespace;
		if (!*g->pod_uid)
			g->row.pod_uid = c->names.pod_uid;
	}
	g->row.is_named = true;
	if (n->o.named)
		n->o.named(n->o.ctx, &g->row);
}

static void container_set_named(struct cgroup_names *n, struct container *c, bool found)
{
	struct group *g;

	if (c->state != NAMING_DONE)
		n->n_unnamed--;
	c->state = NAMING_DONE;
	c->found = found;
	while ((g = STAILQ_FIRST(&c->groups))) {
		STAILQ_REMOVE_HEAD(&c->groups, waits);
		group_set_named(n, g);
	}
}

/* Sends queued requests until the reader accepts no more. */
static void cgroup_names_send_requests(struct cgroup_names *n)
{
	struct container *c;

	while ((c = STAILQ_FIRST(&n->queue)) &&
	       name_reader_send_request(&n->reader, c->number, &c->key)) {
		STAILQ_REMOVE_HEAD(&n->queue, queued);
		c->state = NAMING_ASKED;
	}
}

static void cgroup_names_handle_reader_end(struct cgroup_names *n)
{
	struct container *c, *next;

	STAILQ_INIT(&n->queue);
	HASH_ITER (hh, n->containers, c, next) {
		if (c->state != NAMING_DONE)
			container_set_named(n, c, false);
	}
}

static void cgroup_names_on_answer(void *ctx, uint64_t id, int result,
				   const struct container_names *names)
{
	struct cgroup_names *n = ctx;
	struct container *c;

	if (result == -EPIPE) {
		cgroup_names_handle_reader_end(n);
		return;
	}
	HASH_FIND(by_number, n->by_number, &id, sizeof(id), c);
	if (c && c->state == NAMING_ASKED) {
		c->names = *names;
		if (result == 0 || c->is_retried || !n->retry) {
			container_set_named(n, c, result == 0);
		} else {
			c->state = NAMING_RETRY;
			c->is_retried = true;
			if (!event_pending(n->retry, EV_TIMEOUT, NULL))
				event_add(n->retry, &(struct timeval){RETRY_MS / 1000,
								      RETRY_MS % 1000 * 1000});
		}
	}
	cgroup_names_send_requests(n);
}

/* Requests the names again that were not found. One timer serves all, so some are requested less
 * than RETRY_MS after the first time. */
static void cgroup_names_on_retry(evutil_socket_t fd, short what, void *ctx)
{
	struct cgroup_names *n = ctx;
	struct container *c, *next;

	(void)fd;
	(void)what;
	HASH_ITER (hh, n->containers, c, next) {
		if (c->state != NAMING_RETRY)
			continue;
		c->state = NAMING_QUEUED;
		STAILQ_INSERT_TAIL(&n->queue, c, queued);
	}
	cgroup_names_send_requests(n);
}

/* ---- groups ---- */

static void copy_span(struct span s, char *ret, size_t size)
{
	ret[0] = '\0';
	if (s.len == 0 || s.len >= size)
		return;
	memcpy(ret, s.p, s.len);
	ret[s.len] = '\0';
	if (*ret && !container_name_is_valid(ret))
		ret[0] = '\0';
}

/* Returns true if the runtime keeps names in files. */
static bool has_name_files(const struct cgroup_place *p)
{
	return p->kind == CGROUP_POD ? *p->pod_uid != '\0'
				     : p->container.p && p->runtime != RUNTIME_LXC &&
					       p->runtime != RUNTIME_BUILDKIT;
}

static void container_key_init(const struct cgroup_place *p, struct container_key *k)
{
	*k = (struct container_key){.kind = p->kind == CGROUP_POD ? CGROUP_POD : CGROUP_CONTAINER,
				    .runtime =
					    p->kind == CGROUP_POD ? RUNTIME_KUBERNETES : p->runtime,
				    .uid = p->uid};
	if (p->kind == CGROUP_POD)
		memcpy(k->id, p->pod_uid, sizeof(p->pod_uid));
	else
		copy_span(p->container, k->id, sizeof(k->id));
	copy_span(p->namespace, k->namespace, sizeof(k->namespace));
	copy_span(p->scope, k->scope, sizeof(k->scope));
}

/* Returns the container of a place. If it is new, its names are requested. NULL: the place is in
 * none, or there is no memory. */
static struct container *cgroup_names_find_or_add_container(struct cgroup_names *n,
							    const struct cgroup_place *p)
{
	struct container_key key;
	struct container *c;

	container_key_init(p, &key);
	if (!*key.id)
		return NULL;
	HASH_FIND(hh, n->containers, &key, sizeof(key), c);
	if (c)
		return c;
	c = calloc(1, sizeof(*c));
	if (!c)
		return NULL;
	c->key = key;
	c->number = ++n->last_number;
	STAILQ_INIT(&c->groups);
	HASH_ADD(hh, n->containers, key, sizeof(c->key), c);
	if (c->hh.tbl)
		HASH_ADD(by_number, n->by_number, number, sizeof(c->number), c);
	if (!c->hh.tbl || !c->by_number.tbl) {
		if (c->hh.tbl)
			HASH_DELETE(hh, n->containers, c);
		free(c);
		return NULL;
	}
	n->n_unnamed++;
	if (n->reader.number) {
		STAILQ_INSERT_TAIL(&n->queue, c, queued);
		cgroup_names_send_requests(n);
	} else {
		container_set_named(n, c, false);
	}
	return c;
}

static void group_set_path(struct group *g, const struct cgroup_place *p)
{
	copy_span(p->container, g->id, sizeof(g->id));
	copy_span(p->unit, g->unit, sizeof(g->unit));
	memcpy(g->pod_uid, p->pod_uid, sizeof(g->pod_uid));
	g->is_guess = p->is_guess;
	g->row.kind = p->kind;
	g->row.runtime = p->runtime;
	g->row.container = g->id;
	g->row.unit = g->unit;
	g->row.pod_uid = g->pod_uid;
	g->row.invocation = g->invocation;
	g->row.name = g->row.image = g->row.pod = g->row.namespace = "";
	/* These have no ids: the path has the name, with the escapes of systemd. */
	if (p->runtime == RUNTIME_LXC || p->runtime == RUNTIME_NSPAWN ||
	    p->runtime == RUNTIME_LIBVIRT || p->runtime == RUNTIME_CONTAINERD) {
		if (p->runtime != RUNTIME_LXC && p->runtime != RUNTIME_CONTAINERD &&
		    (!cgroup_path_unescape(p->container, g->id, sizeof(g->id)) ||
		     !container_name_is_valid(g->id)))
			g->id[0] = '\0';
		g->row.name = g->id;
	}
}

static struct group *cgroup_names_add_group(struct cgroup_names *n, uint64_t id, uint64_t parent,
					    const char *path)
{
	struct cgroup_place place;
	struct group *g;

	if (HASH_COUNT(n->groups) >= CGROUP_NAMES_MAX ||
	    !(g = calloc(1, sizeof(*g) + strlen(path) + 1))) {
		n->left_out++;
		return NULL;
	}
	strcpy(g->path, path);
	g->row.id = id;
	g->row.parent = parent;
	g->row.path = g->path;
	HASH_ADD(hh, n->groups, row.id, sizeof(g->row.id), g);
	if (!g->hh.tbl) {
		free(g);
		n->left_out++;
		return NULL;
	}
	STAILQ_INSERT_TAIL(&n->all, g, link);
	cgroup_path_parse(g->path, &place);
	group_set_path(g, &place);
	if (has_name_files(&place))
		g->container = cgroup_names_find_or_add_container(n, &place);
	return g;
}

/* Call it after everything about the group is set. Calls `named`, or lets the group wait for the
 * names of its container. Returns its row. */
static const struct cgroup_row *group_finish(struct cgroup_names *n, struct group *g)
{
	if (g->container && g->container->state != NAMING_DONE)
		STAILQ_INSERT_TAIL(&g->container->groups, g, waits);
	else
		group_set_named(n, g);
	return &g->row;
}

static struct group *cgroup_names_find_group(const struct cgroup_names *n, uint64_t id)
{
	struct group *g;

	HASH_FIND(hh, n->groups, &id, sizeof(id), g);
	return g;
}

/* Reads the id of this run of the unit, with which systemd marks the unit's group. fd: the group's
 * directory, or -1. */
static void read_invocation(struct group *g, int fd)
{
	ssize_t len = 0;

	if (*g->unit && fd >= 0)
		len = fgetxattr(fd, "user.invocation_id", g->invocation, INVOCATION_SIZE - 1);
	g->invocation[MAX(len, 0)] = '\0';
	if (strspn(g->invocation, "0123456789abcdef") != INVOCATION_SIZE - 1)
		g->invocation[0] = '\0';
}

const struct cgroup_row *cgroup_names_add(struct cgroup_names *n, uint64_t id, uint64_t parent,
					  const char *path)
{
	struct group *g = cgroup_names_find_group(n, id);

	if (g)
		return &g->row;
	g = cgroup_names_add_group(n, id, parent, path);
	return g ? group_finish(n, g) : NULL;
}

bool cgroup_names_walk_step(struct cgroup_names *n)
{
	struct group *g;

	if (!n->is_walking && cgroup_walk_begin(&n->walk, n->mount.path) < 0)
		return false;
	n->is_walking = true;
	while (cgroup_walk_next(&n->walk)) {
		if (cgroup_names_find_group(n, n->walk.id))
			continue;
		g = cgroup_names_add_group(n, n->walk.id, n->walk.parent, n->walk.path);
		if (!g)
			continue;
		read_invocation(g, cgroup_walk_fd(&n->walk));
		group_finish(n, g);
		return true;
	}
	n->left_out += n->walk.left_out;
	cgroup_walk_end(&n->walk);
	n->is_walking = false;
	return false;
}

bool cgroup_names_wait(struct cgroup_names *n, unsigned ms)
{
	uint64_t end = clock_boot_ns() + (uint64_t)ms * NS_PER_MS;

	while (n->reader.n_pending || !STAILQ_EMPTY(&n->queue)) {
		uint64_t now = clock_boot_ns();

		if (now >= end)
			return false;
		(void)name_reader_wait((unsigned)((end - now) / NS_PER_MS) + 1);
	}
	return true;
}

const struct cgroup_row *cgroup_names_find(const struct cgroup_names *n, uint64_t id)
{
	const struct group *g = cgroup_names_find_group(n, id);

	return g ? &g->row : NULL;
}

const struct cgroup_row *cgroup_names_next(const struct cgroup_names *n,
					   const struct cgroup_row *row)
{
	const struct group *g = row ? STAILQ_NEXT(container_of(row, struct group, row), link)
				    : STAILQ_FIRST(&n->all);

	return g ? &g->row : NULL;
}

unsigned cgroup_names_count_left_out(const struct cgroup_names *n)
{
	return n->left_out;
}

int cgroup_names_new(const struct cgroup_names_options *o, struct cgroup_names **ret)
{
	struct cgroup_names *n = calloc(1, sizeof(*n));

	if (!n)
		return -ENOMEM;
	n->o = *o;
	n->mount = *o->mount;
	n->reader.answered = cgroup_names_on_answer;
	n->reader.ctx = n;
	STAILQ_INIT(&n->all);
	STAILQ_INIT(&n->queue);
	if (o->loop) {
		n->retry = evtimer_new(o->loop, cgroup_names_on_retry, n);
		if (!n->retry) {
			free(n);
			return -ENOMEM;
		}
	}
	(void)name_reader_join(&n->reader, o->loop);
	*ret = n;
	return 0;
}

void cgroup_names_free(struct cgroup_names *n)
{
	if (!n)
		return;
	name_reader_leave(&n->reader);
	event_freep(&n->retry);
	if (n->is_walking)
		cgroup_walk_end(&n->walk);
	HASH_CLEAR(by_number, n->by_number);
	HASH_FREE(n->containers);
	HASH_FREE(n->groups);
	free(n);
}
