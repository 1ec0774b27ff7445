/* SPDX-License-Identifier: Apache-2.0 */
#include "ebpf/tracks/outliers.h"

#include <errno.h>
#include <stdlib.h>

#include "bpf/outliers.h"
#include "ebpf/tracks/counter.h"
#include "ebpf/tracks/event_tracks.h"
#include "ebpf/engine/map.h"
#include "ebpf/engine/object.h"
#include "ebpf/engine/trouble.h"

static const struct {
	const char *lane; /* NULL: the thread's own track */
	const char *left_out;
} kinds[EBPF_OUTLIERS] = {
	[EBPF_OUTLIERS_RUNQ] = {NULL, "runq slices left out"},
	[EBPF_OUTLIERS_BLOCK] = {"block I/O", "block slices left out"},
	[EBPF_OUTLIERS_RECLAIM] = {NULL, "memory slices left out"},
};

struct outliers {
	struct ebpf_run *run; /* borrowed */
	struct event_ring *ring; /* owned */
	struct map_cpus cpus;
	uint32_t left_out_track;
};

int outliers_new(struct ebpf_run *r, struct outliers **ret)
{
	struct outliers *o = calloc(1, sizeof(*o));
	int e;

	if (!o)
		return -ENOMEM;
	o->run = r;
	e = event_ring_new(ebpf_object_map(r->object, EVENT_RING_MAP), r->tracks, r->group,
			   kinds[r->family->outliers].lane, &o->ring);
	if (e == 0)
		e = map_cpus_init(&o->cpus, ebpf_object_map(r->object, "outliers"), r->n_cpus,
				  sizeof(struct sonda_outliers_cpu));
	if (e < 0)
		outliers_free(o);
	else
		*ret = o;
	return e;
}

void outliers_free(struct outliers *o)
{
	if (!o)
		return;
	event_ring_free(o->ring);
	map_cpus_deinit(&o->cpus);
	free(o);
}

int outliers_read(struct outliers *o)
{
	struct sonda_outliers_cpu sum;
	const char *name;
	uint64_t left_out;
	int e = o ? event_ring_read(o->ring) : 0, f = o ? map_cpus_sum(&o->cpus, &sum) : 0;

	if (!o || f < 0)
		return f;
	name = kinds[o->run->family->outliers].left_out;
	left_out = sum.left_out + event_ring_counts(o->ring).left_out;
	ebpf_set_lost(o->run, &o->left_out_track, name,
		      "outliers that have no slice: more than max_per_second", left_out);
	return e;
}

void outliers_hide(struct outliers *o)
{
	if (o)
		tracks_remove(o->run->tracks, o->left_out_track);
}
