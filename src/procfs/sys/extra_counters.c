/* SPDX-License-Identifier: Apache-2.0 */
#include "procfs/sys/extra_counters.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"

int extra_counters_init(struct extra_counters *x, const char *source, struct writer *w)
{
	*x = (struct extra_counters){0};
	return tracks_new(source, w, &x->tracks);
}

void extra_counters_deinit(struct extra_counters *x)
{
	for (size_t i = 0; i < x->n; i++)
		free(x->all[i].name);
	free(x->all);
	free(x->fresh);
	tracks_free(x->tracks);
	*x = (struct extra_counters){0};
}

uint32_t extra_counters_add_group(struct extra_counters *x, const char *name)
{
	return extra_counters_add_subgroup(x, TRACK_ROOT, name, NULL);
}

uint32_t extra_counters_add_subgroup(struct extra_counters *x, uint32_t group, const char *name,
				     const char *description)
{
	const struct track_spec spec = {
		.kind = TRACK_GROUP, .parent = group, .name = name, .description = description};

	return x->tracks ? tracks_add(x->tracks, &spec) : TRACK_VOID;
}

uint32_t extra_counters_add_cpu(struct extra_counters *x, uint32_t group, uint32_t cpu)
{
	return x->tracks ? tracks_add_cpu(x->tracks, group, cpu) : TRACK_VOID;
}

/* Used only when the lines of a file are new, so it may be slow. */
static uint32_t extra_counters_lookup(const struct extra_counters *x, uint32_t group,
				      struct span name)
{
	for (size_t i = 0; i < x->n; i++)
		if (x->all[i].group == group && span_is(name, x->all[i].name))
			return (uint32_t)i;
	return EXTRA_COUNTER_NONE;
}

static bool extra_counters_reserve(struct extra_counters *x)
{
	return x->n < EXTRA_COUNTERS_MAX &&
	       array_reserve(&x->all, &x->cap, x->n + 1, sizeof(*x->all)) == 0 &&
	       array_reserve(&x->fresh, &x->fresh_cap, x->n + 1, sizeof(*x->fresh)) == 0;
}

/* As extra_counters_find_or_add(), for a name that is new in its group. */
static uint32_t extra_counters_add(struct extra_counters *x, uint32_t group, struct span name,
				   const struct track_spec *kind)
{
	struct extra_counter extra = {.group = group};
	struct track_spec spec = *kind;

	if (!x->tracks || !extra_counters_reserve(x) || !(extra.name = strndup(name.p, name.len)))
		return EXTRA_COUNTER_NONE;
	spec.kind = TRACK_COUNTER;
	spec.parent = group;
	spec.name = extra.name;
	extra.track = tracks_add(x->tracks, &spec);
	x->all[x->n] = extra;
	return (uint32_t)x->n++;
}

uint32_t extra_counters_find_or_add(struct extra_counters *x, uint32_t group, struct span name,
				    const struct track_spec *kind)
{
	uint32_t at = extra_counters_lookup(x, group, name);

	return at != EXTRA_COUNTER_NONE ? at : extra_counters_add(x, group, name, kind);
}

/* Notes that the counter is set, and returns it; NULL if there is no such counter. */
static struct extra_counter *extra_counters_mark_set(struct extra_counters *x, uint32_t counter)
{
	if (counter >= x->n || x->n_fresh == x->n)
		return NULL;
	x->fresh[x->n_fresh++] = counter;
	return &x->all[counter];
}

void extra_counters_set(struct extra_counters *x, uint32_t counter, int64_t value)
{
	struct extra_counter *extra = extra_counters_mark_set(x, counter);

	if (!extra)
		return;
	extra->value = value;
	extra->is_double = false;
}

void extra_counters_set_double(struct extra_counters *x, uint32_t counter, double value)
{
	struct extra_counter *extra = extra_counters_mark_set(x, counter);

	if (!extra)
		return;
	extra->fraction = value;
	extra->is_double = true;
}

bool extra_counters_set_in_slot(struct extra_counters *x, uint32_t *slot, uint32_t group,
				struct span name, const struct track_spec *kind, int64_t value)
{
	/* The slot is the index of the counter plus one; EXTRA_COUNTER_NONE becomes 0. */
	if (!*slot)
		*slot = extra_counters_add(x, group, name, kind) + 1;
	if (!*slot)
		return false;
	extra_counters_set(x, *slot - 1, value);
	return true;
}

void extra_counters_write(struct extra_counters *x, uint64_t boot_ns)
{
	if (x->n_fresh == 0)
		return;
	tracks_begin(x->tracks, boot_ns);
	for (size_t i = 0; i < x->n_fresh; i++) {
		const struct extra_counter *extra = &x->all[x->fresh[i]];

		if (extra->is_double)
			tracks_set_double(x->tracks, extra->track, extra->fraction);
		else
			tracks_set(x->tracks, extra->track, extra->value);
	}
	tracks_end(x->tracks);
	x->n_fresh = 0;
}
