/* SPDX-License-Identifier: Apache-2.0 */
#include "procfs/sys/sys_extras.h"

#include <errno.h>
#include <stdlib.h>

#include "base/core/mem.h"

int sys_extras_init(struct sys_extras *x, const char *source, struct writer *w)
{
	*x = (struct sys_extras){0};
	return tracks_new(source, w, &x->tracks);
}

void sys_extras_deinit(struct sys_extras *x)
{
	for (size_t i = 0; i < x->n; i++)
		free(x->all[i].name);
	free(x->all);
	free(x->fresh);
	tracks_free(x->tracks);
	*x = (struct sys_extras){0};
}

uint32_t sys_extras_group(struct sys_extras *x, const char *name)
{
	return sys_extras_subgroup(x, TRACK_ROOT, name);
}

uint32_t sys_extras_subgroup(struct sys_extras *x, uint32_t group, const char *name)
{
	const struct track_spec spec = {.kind = TRACK_GROUP, .parent = group, .name = name};

	return x->tracks ? tracks_add(x->tracks, &spec) : TRACK_VOID;
}

uint32_t sys_extras_cpu(struct sys_extras *x, uint32_t group, uint32_t cpu)
{
	return x->tracks ? tracks_add_cpu(x->tracks, group, cpu) : TRACK_VOID;
}

/* Only when a file's lines are learnt: it may take its time. */
static uint32_t find(const struct sys_extras *x, uint32_t group, struct span name)
{
	for (size_t i = 0; i < x->n; i++)
		if (x->all[i].group == group && span_is(name, x->all[i].name))
			return (uint32_t)i;
	return SYS_EXTRA_NONE;
}

static bool has_room(struct sys_extras *x)
{
	return x->n < SYS_EXTRAS_MAX &&
	       array_reserve(&x->all, &x->cap, x->n + 1, sizeof(*x->all)) == 0 &&
	       array_reserve(&x->fresh, &x->fresh_cap, x->n + 1, sizeof(*x->fresh)) == 0;
}

uint32_t sys_extras_new(struct sys_extras *x, uint32_t group, struct span name,
			const struct track_spec *kind)
{
	struct sys_extra extra = {.group = group};
	struct track_spec spec = *kind;

	if (!x->tracks || !has_room(x) || !(extra.name = strndup(name.p, name.len)))
		return SYS_EXTRA_NONE;
	spec.kind = TRACK_COUNTER;
	spec.parent = group;
	spec.name = extra.name;
	extra.track = tracks_add(x->tracks, &spec);
	x->all[x->n] = extra;
	return (uint32_t)x->n++;
}

uint32_t sys_extras_counter(struct sys_extras *x, uint32_t group, struct span name,
			    const struct track_spec *kind)
{
	uint32_t at = find(x, group, name);

	return at != SYS_EXTRA_NONE ? at : sys_extras_new(x, group, name, kind);
}

/* NULL: there is no such counter. */
static struct sys_extra *fresh(struct sys_extras *x, uint32_t counter)
{
	if (counter >= x->n || x->n_fresh == x->n)
		return NULL;
	x->fresh[x->n_fresh++] = counter;
	return &x->all[counter];
}

void sys_extras_set(struct sys_extras *x, uint32_t counter, int64_t value)
{
	struct sys_extra *extra = fresh(x, counter);

	if (!extra)
		return;
	extra->value = value;
	extra->is_double = false;
}

void sys_extras_set_double(struct sys_extras *x, uint32_t counter, double value)
{
	struct sys_extra *extra = fresh(x, counter);

	if (!extra)
		return;
	extra->fraction = value;
	extra->is_double = true;
}

bool sys_extras_put(struct sys_extras *x, uint32_t *slot, uint32_t group, struct span name,
		    const struct track_spec *kind, int64_t value)
{
	/* One more than the counter's number; of SYS_EXTRA_NONE that is 0. */
	if (!*slot)
		*slot = sys_extras_new(x, group, name, kind) + 1;
	if (!*slot)
		return false;
	sys_extras_set(x, *slot - 1, value);
	return true;
}

void sys_extras_write(struct sys_extras *x, uint64_t boot_ns)
{
	if (x->n_fresh == 0)
		return;
	tracks_begin(x->tracks, boot_ns);
	for (size_t i = 0; i < x->n_fresh; i++) {
		const struct sys_extra *extra = &x->all[x->fresh[i]];

		if (extra->is_double)
			tracks_set_double(x->tracks, extra->track, extra->fraction);
		else
			tracks_set(x->tracks, extra->track, extra->value);
	}
	tracks_end(x->tracks);
	x->n_fresh = 0;
}
