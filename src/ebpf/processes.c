/* SPDX-License-Identifier: Apache-2.0 */
#include "ebpf/processes.h"

#include <errno.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "bpf/process.h"
#include "bpf/settings.h"
#include "ebpf/counter.h"
#include "ebpf/object.h"

/* Processes that do nothing are looked for in /proc at one read of so many, or at each one while the
 * hash is half full. */
#define LOOK_EVERY 10u

static uint32_t size_for(const struct processes_spec *spec, uint32_t n_cpus)
{
	uint64_t n = (uint64_t)MAX(spec->elements_per_cpu, PROCESSES_PER_CPU) * n_cpus;

	return (uint32_t)MIN(MAX(n, PROCESSES_MIN), PROCESSES_MAX_ELEMENTS);
}

uint32_t processes_prepare(struct ebpf_object *o, const struct ebpf_facts *f,
			   const struct processes_spec *spec, uint32_t n_cpus)
{
	bool typed = f->has_map_type(f->ctx, BPF_MAP_TYPE_TASK_STORAGE); /* came with it */
	bool storage = typed && ebpf_object_has_map(o, "threads") &&
		       f->has_member(f->ctx, "bpf_local_storage_map", "storage_ma");

	ebpf_object_resize(o, "processes", size_for(spec, n_cpus));
	ebpf_object_leave_out(o, storage ? "threads_by_pid" : "threads");
	return (typed ? SONDA_TYPED_CURRENT : 0) | (storage ? SONDA_TASK_STORAGE : 0);
}

int processes_new(const struct ebpf_run *r, const struct processes_spec *spec,
		  struct processes **ret)
{
	struct processes *p = *ret = calloc(1, sizeof(*p));
	int e;

	if (!p)
		return -ENOMEM;
	p->spec = spec;
	p->sums.n_values = spec->n_values;
	p->sums.is_spans = spec->is_spans;
	p->max_elements = size_for(spec, r->n_cpus);
	p->reader = (struct map_reader){
		.fd = ebpf_object_map(r->object, "processes"),
		.key_size = sizeof(struct sonda_process_key),
		.value_size = spec->n_values * sizeof(uint64_t),
	};
	if (p->reader.fd < 0)
		return p->reader.fd;
	e = map_cpus_init(&p->lost, ebpf_object_map(r->object, "lost"), r->n_cpus,
			  sizeof(uint64_t));
	if (e < 0)
		return e;
	return top_new(r->tracks, spec->columns, spec->n_columns, r->top_n, r->proc_root, &p->top);
}

static void see(void *ctx, const void *key, const void *value)
{
	const struct sonda_process_key *k = key;
	struct processes *p = ctx;
	struct process_sum *sum = process_sums_add(&p->sums, k->tgid, value);

	p->n_elements++;
	if (p->each)
		p->each(p->ctx, key, value);
	if (!sum || !sum->is_gone ||
	    array_reserve(&p->gone, &p->gone_cap, p->n_gone + 1, sizeof(*p->gone)) < 0)
		return;
	p->gone[p->n_gone++] = *k;
}

/* The totals are kept until the elements are not seen any more. */
static void delete_gone(struct processes *p)
{
	for (size_t i = 0; i < p->n_gone; i++)
		map_delete(p->reader.fd, &p->gone[i]);
	p->n_gone = 0;
}

static void tell_top(struct processes *p)
{
	struct process_sum *sum, *next;

	top_begin(p->top);
	HASH_ITER (hh, p->sums.all, sum, next) {
		uint64_t weight = 0;

		for (uint32_t i = 0; i < p->spec->n_values; i++)
			if (p->spec->weights >> i & 1)
				weight += sum->totals[i];
		if (!sum->is_gone)
			top_add(p->top, sum->pid, weight, sum->totals);
	}
	top_end(p->top);
}

/* In the initial namespace of pids, or with its /proc; a process that is not seen there, but counts,
 * stays. */
static void look_for_gone(struct processes *p, const char *proc_root)
{
	struct process_sum *sum, *next;
	char path[512];

	HASH_ITER (hh, p->sums.all, sum, next) {
		if (sum->grew)
			continue;
		snprintf(path, sizeof(path), "%s/%u", proc_root, sum->pid);
		sum->is_gone = access(path, F_OK) < 0 && errno == ENOENT;
	}
}

static int read_lost(struct processes *p, struct ebpf_run *r)
{
	uint64_t lost;
	int e = map_cpus_sum(&p->lost, &lost);

	if (e == 0)
		ebpf_set_lost(r, &p->lost_track, p->spec->lost_name, p->spec->lost_description,
			      lost);
	return e;
}

static void set_totals(struct processes *p, const struct ebpf_run *r)
{
	for (uint32_t i = 0; p->spec->has_totals && i < p->spec->n_columns; i++) {
		const struct track_spec *c = &p->spec->columns[i];

		if (p->total_tracks[i] == TRACK_ROOT)
			p->total_tracks[i] =
				ebpf_add_total(r, r->group, c->name, c->description, c->unit);
		tracks_set(r->tracks, p->total_tracks[i], (int64_t)p->sums.all_totals[i]);
	}
}

int processes_read(struct processes *p, struct ebpf_run *r)
{
	int e;

	p->n_elements = 0;
	process_sums_begin(&p->sums, clock_boot_ns());
	e = map_each(&p->reader, see, p);
	if (e < 0)
		return e;
	process_sums_end(&p->sums);
	tell_top(p);
	set_totals(p, r);
	delete_gone(p);
	if (p->sums.period % LOOK_EVERY == 0 || p->n_elements > p->max_elements / 2)
		look_for_gone(p, r->proc_root);
	return read_lost(p, r);
}

void processes_hide(struct processes *p, struct ebpf_run *r)
{
	top_hide(p->top);
	tracks_remove(r->tracks, p->lost_track);
	for (uint32_t i = 0; i < PROCESS_VALUES_MAX; i++)
		tracks_remove(r->tracks, p->total_tracks[i]);
}

void processes_free(struct processes *p)
{
	if (!p)
		return;
	process_sums_deinit(&p->sums);
	top_free(p->top);
	map_reader_deinit(&p->reader);
	map_cpus_deinit(&p->lost);
	free(p->gone);
	free(p);
}
