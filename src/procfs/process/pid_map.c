/* SPDX-License-Identifier: Apache-2.0 */
#include "procfs/process/pid_map.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#include "base/core/mem.h"

static bool is_task(int32_t tid)
{
	return tid > 0 && tid < PID_LIMIT;
}

static void *value_in(void *leaf, int32_t tid, size_t size)
{
	return leaf ? (char *)leaf + (size_t)tid % PID_LEAF * size : NULL;
}

/* size: bytes of a value, the same in all calls. Returns the value of an id, which is valid until
 * the leaves are cleared, or NULL if it has no leaf or is outside of 0 < tid < PID_LIMIT. */
static void *pid_leaves_find(const struct pid_leaves *l, int32_t tid, size_t size)
{
	return is_task(tid) ? value_in(l->of[tid / PID_LEAF], tid, size) : NULL;
}

/* Likewise, but allocates the leaf. Returns NULL for ids outside of the range, or without memory. */
static void *pid_leaves_add(struct pid_leaves *l, int32_t tid, size_t size)
{
	size_t i = (size_t)tid / PID_LEAF;

	if (!is_task(tid))
		return NULL;
	if (!l->of[i]) {
		l->of[i] = calloc(PID_LEAF, size);
		l->n = MAX(l->n, i + 1);
	}
	return value_in(l->of[i], tid, size);
}

static void pid_leaves_clear(struct pid_leaves *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(TAKE_PTR(l->of[i]));
	l->n = 0;
}

int32_t pid_map_get(const struct pid_map *m, int32_t tid)
{
	const int32_t *v = pid_leaves_find(&m->leaves, tid, sizeof(*v));

	return v ? *v : 0;
}

int pid_map_set(struct pid_map *m, int32_t tid, int32_t v)
{
	int32_t *to;

	if (!is_task(tid))
		return -ERANGE;
	to = v ? pid_leaves_add(&m->leaves, tid, sizeof(*to))
	       : pid_leaves_find(&m->leaves, tid, sizeof(*to));
	if (!to)
		return v ? -ENOMEM : 0;
	*to = v;
	return 0;
}

void pid_map_clear(struct pid_map *m)
{
	pid_leaves_clear(&m->leaves);
}

void pid_times_put_begin(struct pid_times *t, int32_t tid, uint64_t ns)
{
	struct task_times *of = pid_leaves_add(&t->leaves, tid, sizeof(*of));

	if (of)
		*of = (struct task_times){.began_ns = ns};
}

void pid_times_put_end(struct pid_times *t, int32_t tid, uint64_t ns)
{
	struct task_times *of = pid_leaves_add(&t->leaves, tid, sizeof(*of));

	if (of)
		of->ended_ns = ns;
}

struct task_times pid_times_get(const struct pid_times *t, int32_t tid)
{
	const struct task_times *of = pid_leaves_find(&t->leaves, tid, sizeof(*of));

	return of ? *of : (struct task_times){0};
}

void pid_times_clear(struct pid_times *t)
{
	pid_leaves_clear(&t->leaves);
}
