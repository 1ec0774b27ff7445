/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <linux/bpf.h>
#include <stdlib.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "bpf/outliers.h"
#include "bpf/settings.h"
#include "ebpf/engine/family.h"
#include "ebpf/engine/map.h"
#include "ebpf/engine/object.h"
#include "ebpf/tracks/counter.h"
#include "ebpf/tracks/event_tracks.h"
#include "ebpf/tracks/per_process.h"

/*
 * Slices above a threshold (bpf/outliers.h). Waits and stalls are on the track of the thread, which
 * does nothing else meanwhile; block requests are on a track below it.
 */

static const struct {
	const char *lane; /* NULL: the track of the thread */
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

static void outliers_free(struct outliers *o)
{
	if (!o)
		return;
	event_ring_free(o->ring);
	map_cpus_deinit(&o->cpus);
	free(o);
}

/* Opens the ring of a loaded object's outliers; what belongs to the run is borrowed. Returns 0 or
 * -errno. */
static int outliers_new(struct ebpf_run *r, struct outliers **ret)
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

/* Writes the slices, and how many were left out; no-op for NULL. Call it after tracks_begin() and
 * after all other tracks are set. Returns 0 or -errno. */
static int outliers_read(struct outliers *o)
{
	struct sonda_outliers_cpu sum;
	const char *name;
	uint64_t left_out;
	int e = o ? event_ring_read(o->ring) : 0, f = o ? map_cpus_sum(&o->cpus, &sum) : 0;

	if (!o || f < 0)
		return f;
	name = kinds[o->run->family->outliers].left_out;
	left_out = sum.left_out + event_ring_counts(o->ring).left_out;
	ebpf_set_limited(o->run, &o->left_out_track, name,
			 "outliers without a slice: limit max_per_second exceeded", left_out);
	return e;
}

static const struct per_process_spec *choose_per_process_spec(const struct ebpf_run *r)
{
	const struct ebpf_family *fam = r->family;

	return fam->processes_below && r->variant != fam->variants ? fam->processes_below
								   : fam->processes;
}

/* Keeps one of the two maps with per-thread data (bpf/thread.h). Returns bits of switches. */
static uint32_t prepare_threads(struct ebpf_object *o, const struct ebpf_features *f)
{
	bool typed, storage;

	if (!ebpf_object_has_map(o, "threads_by_pid"))
		return 0;
	typed = f->has_map_type(f->ctx, BPF_MAP_TYPE_TASK_STORAGE); /* 5.11 has both */
	storage = typed && ebpf_object_has_map(o, "threads") &&
		  f->has_member(f->ctx, "bpf_local_storage_map", "storage_ma");
	ebpf_object_leave_out_map(o, storage ? "threads_by_pid" : "threads");
	return (typed ? SONDA_TYPED_CURRENT : 0) | (storage ? SONDA_TASK_STORAGE : 0);
}

static uint32_t family_run_prepare(const struct ebpf_run *r, const struct ebpf_features *f)
{
	const struct ebpf_family *fam = r->family;
	uint32_t switches = prepare_threads(r->object, f);

	ebpf_find_fields(f, r->variant, ebpf_object_fields(r->object));
	if (fam->processes)
		per_process_prepare(r->object, choose_per_process_spec(r), r->n_cpus);
	if (fam->prepare)
		switches |= fam->prepare(r->object, f, r->n_cpus);
	if (r->no_call_names)
		switches |= fam->no_names_switch;
	if (r->thread_rows)
		switches |= SONDA_BY_THREAD;
	if (r->waits_by_cgroup)
		switches |= fam->by_cgroup_switch;
	else
		ebpf_object_leave_out_map(r->object, "cgroup_waits");
	return switches;
}

static int family_run_begin(struct ebpf_run *r)
{
	const struct ebpf_family *fam = r->family;
	int e = 0;

	r->state = calloc(1, MAX(fam->state_size + r->n_cpus * fam->state_per_cpu, 1u));
	if (!r->state)
		return -ENOMEM;
	if (fam->cpu_size)
		e = map_cpus_init(&r->cpus, ebpf_object_map(r->object, "cpus"), r->n_cpus,
				  fam->cpu_size);
	if (e == 0 && fam->processes)
		e = per_process_new(r, choose_per_process_spec(r), &r->processes);
	return e == 0 && fam->begin ? fam->begin(r) : e;
}

/* Opens, loads and attaches r->variant. Returns 0, or -errno and sets why; the caller cleans up. */
static int open_variant(struct ebpf_run *r, const struct ebpf_features *f,
			const struct ebpf_scope *scope, struct err_text *why)
{
	int e = ebpf_object_open(&r->variant->image, &r->object, why);

	if (e < 0)
		return e;
	if (r->family->setup) {
		e = r->family->setup(r, f);
		if (e < 0)
			return err_set(why, e, "%s", r->why.text);
	}
	e = ebpf_object_load(r->object, scope, family_run_prepare(r, f), why);
	if (e < 0)
		return e;
	r->features = f;
	e = family_run_begin(r);
	r->features = NULL;
	if (e < 0 && *r->why.text)
		return err_set(why, e, "%s", r->why.text);
	if (e < 0)
		return err_set(why, e, "%s.bpf.o: cannot set up the maps: %s",
			       r->variant->image.name, strerror(-e));
	if (scope->outlier_ns) {
		e = outliers_new(r, &r->outliers);
		if (e < 0)
			return err_set(why, e, "%s.bpf.o: cannot set up the ring of outliers: %s",
				       r->variant->image.name, strerror(-e));
	}
	return ebpf_object_attach(r->object, why);
}

int ebpf_run_start(struct ebpf_run *r, const struct ebpf_features *f,
		   const struct ebpf_scope *scope, struct err_text *why)
{
	const struct ebpf_family *fam = r->family;
	struct err_text first = {""};
	int e = -ENOENT, first_error = 0;

	for (int i = 0;; i++) {
		struct err_text text = {""};

		i = ebpf_choose_variant(f, fam->variants, fam->n_variants, i, &text);
		if (i >= 0) {
			r->variant = &fam->variants[i];
			e = open_variant(r, f, scope, &text);
			if (e == 0)
				return 0;
			ebpf_run_stop(r);
		}
		/* Report the error of the best variant. */
		if (!first.text[0]) {
			first = text;
			first_error = e;
		}
		if (i < 0 || e == -EPERM)
			break;
	}
	*why = first;
	return first_error;
}

static int read_period(struct ebpf_run *r)
{
	int e, f;

	r->generation = ebpf_object_next_period(r->object);
	if (!r->generation)
		return -EIO;
	tracks_begin(r->tracks, clock_boot_ns());
	e = r->family->read ? r->family->read(r) : per_process_read(r->processes, r);
	f = outliers_read(r->outliers);
	return e < 0 ? e : f;
}

#define READ_SHARE 200u /* budget of each family: 1/200 of one CPU */
#define READS_AVERAGED 8u /* so that the first read, which creates tracks, counts little */

int ebpf_run_read(struct ebpf_run *r)
{
	uint64_t began = clock_ns(CLOCK_THREAD_CPUTIME_ID), took;
	int e = read_period(r);

	took = clock_ns(CLOCK_THREAD_CPUTIME_ID) - began;
	r->read_ns += took / READS_AVERAGED - r->read_ns / READS_AVERAGED;
	r->next_read_ns = clock_mono_ns() + (READ_SHARE - 1) * r->read_ns;
	return e;
}

/* Returns true if the next period must be skipped to keep the cost low. No period is skipped while
 * many elements are in use, because reading frees those of ended processes. */
bool ebpf_run_over_budget(const struct ebpf_run *r)
{
	return clock_mono_ns() < r->next_read_ns &&
	       !(r->processes && per_process_is_filling(r->processes));
}

void ebpf_run_remove_tracks(struct ebpf_run *r)
{
	if (r->family->remove_tracks)
		r->family->remove_tracks(r);
	if (r->processes)
		per_process_remove_tracks(r->processes, r);
	if (r->outliers)
		tracks_remove(r->tracks, r->outliers->left_out_track);
}

void ebpf_run_stop(struct ebpf_run *r)
{
	if (r->state && r->family->end)
		r->family->end(r);
	free(r->state);
	r->state = NULL;
	map_cpus_deinit(&r->cpus);
	per_process_free(r->processes);
	r->processes = NULL;
	outliers_free(r->outliers);
	r->outliers = NULL;
	new_groups_leave(&r->new_groups);
	ebpf_object_free(r->object);
	r->object = NULL;
}
