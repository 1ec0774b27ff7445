/* SPDX-License-Identifier: Apache-2.0 */
/*
 *	on_mkdir  --ring-->  names of all groups  --files were read-->  add to the users' objects
 *	a walk    -------->
 *
 * The walk finds the groups that were made after the subject was looked up and before the program
 * was attached, and those whose records were lost.
 */
#include "ebpf/engine/new_groups.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <event2/event.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/event_loop/event_free.h"
#include "base/event_loop/event_timer.h"
#include "base/event_loop/time_slice.h"
#include "bpf/members.h"
#include "bpf/new_groups.h"
#include "ebpf/engine/images.h"
#include "ebpf/engine/map.h"
#include "ebpf/engine/object.h"
#include "ebpf/engine/ring.h"
#include "subjects/cgroup_names.h"

EBPF_DECLARE(new_groups);

#define RECORDS_EACH 64 /* of a step */

static const struct ebpf_need needs[] = {
	NEED_TP_BTF("cgroup_mkdir", 2, 2),
	NEED_TP_BTF("sched_process_exec", 1, 8),
	NEED_MEMBER("css_set", "dfl_cgrp"),
	NEED_END,
};

static const struct ebpf_variant variant = {"tp_btf", EBPF_IMAGE(new_groups), needs};

static struct {
	TAILQ_HEAD(, new_groups_user) users;
	struct ebpf_object *object; /* owned; NULL: there is no user */
	struct ebpf_ring ring;
	struct map_cpus lost;
	uint64_t n_lost; /* records, at the last walk */
	struct cgroup_mount mount;
	struct cgroup_names *names; /* owned */
	bool is_walking;
	struct event *readable, *tick; /* owned */
	struct event_base *loop; /* borrowed */
} all;

/* ---- groups that are named ---- */

static bool is_late_group(const struct new_groups_user *u, uint64_t id)
{
	for (size_t i = 0; i < u->n_late; i++)
		if (u->late[i] == id)
			return true;
	return false;
}

static bool is_below_late_group(const struct new_groups_user *u, const struct cgroup_row *row)
{
	for (; row; row = cgroup_names_find(all.names, row->parent))
		if (is_late_group(u, row->id))
			return true;
	return false;
}

static void add_if_awaited(struct new_groups_user *u, const struct cgroup_row *row)
{
	uint64_t *more;

	if (!subject_ids_is_awaited(u->ids, row) || ebpf_object_has_group(u->object, row->id) ||
	    ebpf_object_add_group(u->object, row->id) < 0)
		return;
	more = realloc(u->late, (u->n_late + 1) * sizeof(*more));
	if (!more)
		return;
	u->late = more;
	u->late[u->n_late++] = row->id;
}

/* Returns how many programs were executed in the group until now, and ends their count. */
static uint64_t remove_exec_count(uint64_t id)
{
	int fd = ebpf_object_map(all.object, "unnamed");
	uint64_t n = 0;

	if (bpf_map_lookup_elem(fd, &id, &n) == 0)
		(void)bpf_map_delete_elem(fd, &id);
	return n;
}

static void new_groups_on_named(void *ctx, const struct cgroup_row *row)
{
	struct new_groups_user *u;
	uint64_t execs;

	(void)ctx;
	TAILQ_FOREACH (u, &all.users, link)
		add_if_awaited(u, row);
	execs = remove_exec_count(row->id);
	TAILQ_FOREACH (u, &all.users, link)
		if (execs && is_below_late_group(u, row))
			u->missed += execs;
}

/* ---- new groups ---- */

static int begin_walk(void)
{
	const struct cgroup_names_options o = {
		.loop = all.loop, .mount = &all.mount, .named = new_groups_on_named};

	/* The names keep the rows of removed groups until they are full. */
	if (all.names && cgroup_names_count_left_out(all.names)) {
		cgroup_names_free(all.names);
		all.names = NULL;
	}
	all.is_walking = true;
	return all.names ? 0 : cgroup_names_new(&o, &all.names);
}

static bool is_group_record(const struct member_group *g, uint32_t size)
{
	size_t head = offsetof(struct member_group, path);

	return size > head && g->type == MEMBER_GROUP && memchr(g->path, '\0', size - head);
}

/* Adds the groups of some records, then runs a step of the walk. Returns true if there is more to
 * do. */
static bool new_groups_step(void)
{
	const struct member_group *g;
	uint32_t size;
	unsigned n = 0;

	for (; n < RECORDS_EACH && (g = ebpf_ring_peek(&all.ring, &size)); n++) {
		if (is_group_record(g, size))
			(void)cgroup_names_add(all.names, g->group, g->parent, g->path);
		ebpf_ring_consume(&all.ring);
	}
	if (n == RECORDS_EACH)
		return true;
	return all.is_walking && (all.is_walking = cgroup_names_walk_step(all.names));
}

/* Returns true if records of groups were lost since the last call, or their rows found no room: a
 * walk adds these groups. */
static bool detect_missed_groups(void)
{
	uint64_t lost = 0;

	(void)map_cpus_sum(&all.lost, &lost);
	if (lost == all.n_lost && !cgroup_names_count_left_out(all.names))
		return false;
	all.n_lost = lost;
	return true;
}

static void new_groups_on_tick(evutil_socket_t fd, short what, void *ctx)
{
	struct time_slice slice = time_slice_start(clock_mono_ns);

	(void)fd;
	(void)what;
	(void)ctx;
	while (new_groups_step())
		if (time_slice_over(&slice)) {
			event_timer_soon(all.tick);
			return;
		}
	if (detect_missed_groups() && begin_walk() == 0)
		event_timer_soon(all.tick);
}

/* ---- life ---- */

static int load_program(struct err_text *e)
{
	const struct ebpf_scope scope = {.own_pid = 0};
	struct ebpf_features f;
	int r = ebpf_features_new(NULL, &f); /* it needs BTF only */

	if (r < 0)
		return err_set(e, r, "out of memory");
	r = ebpf_choose_variant(&f, &variant, 1, 0, e);
	ebpf_features_free(&f);
	if (r >= 0)
		r = ebpf_object_open(&variant.image, &all.object, e);
	if (r >= 0)
		r = ebpf_object_load(all.object, &scope, 0, e);
	if (r < 0)
		return r;
	r = ebpf_ring_init(&all.ring, ebpf_object_map(all.object, "new_groups"), NEW_GROUPS_RING);
	if (r == 0)
		r = map_cpus_init(&all.lost, ebpf_object_map(all.object, "lost"), ebpf_count_cpus(),
				  sizeof(uint64_t));
	return r < 0 ? err_set(e, r, "new_groups.bpf.o: cannot set up the maps: %s", strerror(-r))
		     : ebpf_object_attach(all.object, e);
}

static void new_groups_end(void)
{
	event_freep(&all.readable);
	event_freep(&all.tick);
	cgroup_names_free(all.names);
	all.names = NULL;
	ebpf_ring_deinit(&all.ring);
	map_cpus_deinit(&all.lost);
	ebpf_object_free(all.object);
	all.object = NULL;
}

static int new_groups_begin(const struct subject_ids *ids, struct err_text *e)
{
	int r;

	TAILQ_INIT(&all.users);
	all.loop = ids->loop;
	all.n_lost = 0;
	if (!cgroup_mount_find(ids->sys_root, 0, &all.mount))
		return err_set(e, -ENOENT, "no cgroup2 file system is mounted");
	r = load_program(e);
	if (r < 0)
		return r;
	all.readable = event_new(all.loop, ebpf_object_map(all.object, "new_groups"),
				 EV_READ | EV_PERSIST | EV_ET, new_groups_on_tick, NULL);
	all.tick = evtimer_new(all.loop, new_groups_on_tick, NULL);
	if (!all.readable || !all.tick || event_add(all.readable, NULL) < 0 || begin_walk() < 0)
		return err_set(e, -ENOMEM, "out of memory");
	event_timer_soon(all.tick);
	return 0;
}

int new_groups_join(struct new_groups_user *u, struct ebpf_object *o, const struct subject_ids *ids,
		    struct err_text *e)
{
	const struct cgroup_row *row = NULL;
	int r;

	if (!ids || (!ids->n_containers && !ids->n_pods))
		return 0;
	if (!all.object) {
		r = new_groups_begin(ids, e);
		if (r < 0) {
			new_groups_end();
			return r;
		}
	}
	*u = (struct new_groups_user){.object = o, .ids = ids};
	TAILQ_INSERT_TAIL(&all.users, u, link);
	while ((row = cgroup_names_next(all.names, row)))
		if (row->is_named)
			add_if_awaited(u, row);
	return 0;
}

void new_groups_leave(struct new_groups_user *u)
{
	if (!u->object)
		return;
	TAILQ_REMOVE(&all.users, u, link);
	u->object = NULL;
	freep(&u->late);
	u->n_late = 0;
	if (TAILQ_EMPTY(&all.users))
		new_groups_end();
}
