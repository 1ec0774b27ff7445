/* SPDX-License-Identifier: Apache-2.0 */
#include "ebpf/families/families.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/core/hash_table.h"
#include "base/core/mem.h"
#include "base/system/syscall_names.h"
#include "bpf/process.h"
#include "bpf/syscalls.h"
#include "client/counters/tracks.h"
#include "ebpf/engine/images.h"
#include "ebpf/tracks/per_process.h"
#include "ebpf/tracks/top_n.h"

/*
 * Tracks of the most frequent system calls, by name, of the processes that have tracks. A call that
 * others have overtaken keeps its last value and its track is removed.
 *
 *	s->period++
 *	syscall_sums_add(s, pid, what, value)     for each element (bpf/process.h)
 *	syscall_sums_end(s, tracks, top)          after top_n_end()
 */
#define SYSCALL_SUMS_SHOWN 5u /* limit for a process */
#define SYSCALL_SUMS_MAX (1u << 18) /* limit; further ones are ignored */

struct syscall_sums {
	struct syscall_sum *all; /* uthash of owned entries */
	struct syscall_sum **order; /* owned */
	size_t order_cap;
	uint32_t period;
};

struct syscall_id {
	uint32_t pid, what;
};

struct syscall_sum {
	struct syscall_id id;
	UT_hash_handle hh;
	uint32_t period; /* last period with an element of the call */
	struct syscalls sum;
	bool is_shown;
	uint32_t process, group, count, time, errors; /* tracks; TRACK_ROOT without any errors */
};

static struct syscall_sum *syscalls_find_or_add_sum(struct syscall_sums *s, struct syscall_id id)
{
	struct syscall_sum *c;

	HASH_FIND(hh, s->all, &id, sizeof(id), c);
	if (c || HASH_COUNT(s->all) >= SYSCALL_SUMS_MAX)
		return c;
	c = calloc(1, sizeof(*c));
	if (!c)
		return NULL;
	c->id = id;
	HASH_ADD(hh, s->all, id, sizeof(c->id), c);
	if (!c->hh.tbl)
		free(TAKE_PTR(c));
	return c;
}

static void syscall_sums_add(struct syscall_sums *s, uint32_t pid, uint32_t what,
			     const struct syscalls *value)
{
	struct syscall_sum *c = syscalls_find_or_add_sum(s, (struct syscall_id){pid, what});

	if (!c)
		return;
	if (c->period != s->period) {
		c->period = s->period;
		c->sum = (struct syscalls){0};
	}
	c->sum.count += value->count;
	c->sum.ns += value->ns;
	c->sum.errors += value->errors;
}

/* ---- tracks ---- */

static void format_call_name(uint32_t what, char *ret, size_t size)
{
	char name[SYSCALL_NAME_MAX] = "";
	uint32_t nr = what & ~SYSCALLS_COMPAT;
	bool compat = what & SYSCALLS_COMPAT;

	if (compat)
		syscall_compat_name(nr, name, sizeof(name) - 1);
	else
		syscall_name(NULL, nr, name);
	if (!name[0])
		snprintf(name, sizeof(name), nr == SYSCALLS_NONE ? "no call" : "call %u", nr);
	snprintf(ret, size, "%s%s", name, compat ? " (32-bit)" : "");
}

static uint32_t syscalls_add_counter(struct tracks *t, const struct syscall_sum *c,
				     const char *suffix, enum track_unit unit)
{
	char call[SYSCALL_NAME_MAX + 16], name[sizeof(call) + 16];

	format_call_name(c->id.what, call, sizeof(call));
	snprintf(name, sizeof(name), "%s%s", call, suffix);
	return tracks_add(t, &(struct track_spec){.kind = TRACK_COUNTER,
						  .parent = c->group,
						  .name = name,
						  .unit = unit,
						  .total = true});
}

static void remove_call_tracks(struct tracks *t, struct syscall_sum *c)
{
	if (!c->is_shown)
		return;
	tracks_remove(t, c->count);
	tracks_remove(t, c->time);
	tracks_remove(t, c->errors);
	tracks_remove(t, c->group);
	tracks_remove(t, c->process);
	c->is_shown = false;
}

static void syscalls_add_tracks(struct tracks *t, struct syscall_sum *c)
{
	if (!c->is_shown) {
		/* The tracks of the process and of the group are shared, and end with their last
		 * user. */
		c->process = tracks_add(
			t, &(struct track_spec){.kind = TRACK_PROCESS, .pid = (int32_t)c->id.pid});
		c->group = tracks_add(t, &(struct track_spec){.kind = TRACK_GROUP,
							      .parent = c->process,
							      .name = "syscalls by name"});
		c->count = syscalls_add_counter(t, c, "", TRACK_UNIT_COUNT);
		c->time = syscalls_add_counter(t, c, " time", TRACK_UNIT_NS);
		c->errors = TRACK_ROOT;
		c->is_shown = true;
	}
	if (c->errors == TRACK_ROOT && c->sum.errors)
		c->errors = syscalls_add_counter(t, c, " errors", TRACK_UNIT_COUNT);
	tracks_set(t, c->count, (int64_t)c->sum.count);
	tracks_set(t, c->time, (int64_t)c->sum.ns);
	tracks_set(t, c->errors, (int64_t)c->sum.errors);
}

/* ---- ranking ---- */

static int compare_by_process_and_count(const void *a, const void *b)
{
	const struct syscall_sum *x = *(struct syscall_sum *const *)a;
	const struct syscall_sum *y = *(struct syscall_sum *const *)b;

	if (x->id.pid != y->id.pid)
		return x->id.pid < y->id.pid ? -1 : 1;
	if (x->sum.count != y->sum.count)
		return x->sum.count < y->sum.count ? 1 : -1;
	return x->id.what < y->id.what ? -1 : x->id.what > y->id.what;
}

/* Drops calls that do not exist any more. Returns the number of calls of processes with tracks;
 * s->order has them, sorted. */
static size_t drop_ended_and_sort(struct syscall_sums *s, struct tracks *t, const struct top_n *top)
{
	struct syscall_sum *c, *next;
	size_t n = 0;

	if (array_reserve(&s->order, &s->order_cap, HASH_COUNT(s->all), sizeof(*s->order)) < 0)
		return 0;
	HASH_ITER (hh, s->all, c, next) {
		if (c->period != s->period) {
			remove_call_tracks(t, c);
			HASH_DEL(s->all, c);
			free(c);
		} else if (!top_n_has_tracks(top, c->id.pid)) {
			remove_call_tracks(t, c);
		} else {
			s->order[n++] = c;
		}
	}
	if (n)
		qsort(s->order, n, sizeof(*s->order), compare_by_process_and_count);
	return n;
}

/* Returns the rank of call i within its process, from 0; before: the rank of call i - 1. */
static size_t syscalls_next_rank(struct syscall_sum *const *order, size_t i, size_t before)
{
	return i > 0 && order[i - 1]->id.pid == order[i]->id.pid ? before + 1 : 0;
}

static void syscall_sums_end(struct syscall_sums *s, struct tracks *tracks, const struct top_n *top)
{
	size_t n = drop_ended_and_sort(s, tracks, top), rank = 0;

	for (size_t i = 0; i < n; i++) {
		rank = syscalls_next_rank(s->order, i, rank);
		if (rank >= SYSCALL_SUMS_SHOWN)
			remove_call_tracks(tracks, s->order[i]);
	}
	for (size_t i = 0; i < n; i++) {
		rank = syscalls_next_rank(s->order, i, rank);
		if (rank < SYSCALL_SUMS_SHOWN)
			syscalls_add_tracks(tracks, s->order[i]);
	}
}

EBPF_DECLARE(syscalls);
EBPF_DECLARE(syscalls_raw);

static const struct ebpf_need needs_of_tp_btf[] = {
	NEED_TP_BTF("sys_enter", 2, 2),
	NEED_TP_BTF("sys_exit", 2, 2),
	NEED_TP_BTF("sched_process_exit", 1, 2),
	NEED_END,
};

#if defined(__x86_64__) || defined(__aarch64__)
static const struct ebpf_need needs_of_raw_tp[] = {
	NEEDS_OF_RAW_SYSCALLS,
	NEED_END,
};
#endif

static const struct ebpf_variant variants[] = {
	{"tp_btf", EBPF_IMAGE(syscalls), needs_of_tp_btf},
#if defined(__x86_64__) || defined(__aarch64__)
	{"raw_tp", EBPF_IMAGE(syscalls_raw), needs_of_raw_tp},
#endif
};

static const struct track_spec process_columns[] = {
	TRACK_TOTAL("syscalls", "system calls that returned, since the recording began", COUNT),
	TRACK_TOTAL("syscall time", "from entry to exit of each call, including waits", NS),
	TRACK_TOTAL("syscall errors", "calls that returned an error", COUNT),
};

/* A process has an element for each system call it makes. */
static const struct per_process_spec spec = {
	.columns = process_columns,
	.n_values = sizeof(struct syscalls) / sizeof(uint64_t),
	.n_columns = ARRAY_SIZE(process_columns),
	.weights = 1u,
	.lost_name = "syscalls lost",
	.lost_description = "system calls not counted: no room",
	.elements_per_cpu = 16384,
};

static uint32_t syscalls_prepare(struct ebpf_object *o, const struct ebpf_features *f,
				 uint32_t n_cpus)
{
	uint32_t switches = 0;

#if defined(__x86_64__)
	switches |= SONDA_ON_X86_64;
	if (f->has_member(f->ctx, "thread_info", "status"))
		switches |= SYSCALLS_COMPAT_IN_STATUS;
#elif defined(__aarch64__)
	if (f->has_member(f->ctx, "thread_info", "flags"))
		switches |= SYSCALLS_COMPAT_IN_FLAGS;
#endif
	return switches;
}

static void add_call(void *ctx, uint32_t pid, uint32_t what, const uint64_t *values)
{
	syscall_sums_add(ctx, pid, what, (const struct syscalls *)values);
}

static int syscalls_begin(struct ebpf_run *r)
{
	r->processes->each = r->no_call_names ? NULL : add_call;
	r->processes->ctx = r->state;
	return 0;
}

static int read_calls(struct ebpf_run *r)
{
	struct syscall_sums *s = r->state;
	int e;

	if (r->no_call_names)
		return per_process_read(r->processes, r);
	s->period++;
	e = per_process_read(r->processes, r);
	if (e == 0)
		syscall_sums_end(s, r->tracks, r->processes->top);
	return e;
}

static void syscalls_remove_tracks(struct ebpf_run *r)
{
	struct syscall_sums *s = r->state;
	struct syscall_sum *c, *next;

	HASH_ITER (hh, s->all, c, next)
		remove_call_tracks(r->tracks, c);
}

static void syscalls_end(struct ebpf_run *r)
{
	struct syscall_sums *s = r->state;

	HASH_FREE(s->all);
	free(s->order);
}

const struct ebpf_family syscalls_family = {
	.id = PB__EBPF_COUNTERS_CONFIG__FAMILY__SYSCALLS,
	.name = "syscalls",
	.variants = variants,
	.n_variants = ARRAY_SIZE(variants),
	.processes = &spec,
	.no_names_switch = SYSCALLS_NO_NAMES,
	.state_size = sizeof(struct syscall_sums),
	.prepare = syscalls_prepare,
	.begin = syscalls_begin,
	.read = read_calls,
	.remove_tracks = syscalls_remove_tracks,
	.end = syscalls_end,
};
