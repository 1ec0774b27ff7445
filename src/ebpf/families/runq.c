/* SPDX-License-Identifier: Apache-2.0 */
#include "ebpf/families/families.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "bpf/runq.h"
#include "ebpf/engine/errors.h"
#include "ebpf/engine/images.h"
#include "ebpf/engine/map.h"
#include "ebpf/engine/object.h"
#include "ebpf/families/cgroup_waits.h"
#include "ebpf/tracks/counter.h"
#include "ebpf/tracks/histogram_rows.h"

EBPF_DECLARE(runq);
EBPF_DECLARE(runq_tp);

static const struct ebpf_need needs_of_tp_btf[] = {
	/* The first three arguments are stable; 5.18 appended prev_state. */
	NEED_TP_BTF("sched_switch", 3, 8),
	NEED_TP_BTF("sched_wakeup", 1, 1),
	NEED_TP_BTF("sched_wakeup_new", 1, 1),
	NEED_TP_BTF("sched_migrate_task", 2, 2),
	NEED_MEMBER("sched_entity", "cfs_rq"),
	NEED_MEMBER("cfs_rq", "rq"), /* CONFIG_FAIR_GROUP_SCHED */
	NEED_END,
};

/* There is no raw_tp variant: the arguments are tasks, whose fields need BTF. */
static const struct ebpf_need needs_of_tp[] = {
	NEEDS_OF_SWITCH_RECORDS,
	NEED_FIELD("sched/sched_migrate_task", "dest_cpu", SWITCH_MIGRATED_TO),
	NEED_END,
};

static const struct ebpf_variant variants[] = {
	{"tp_btf", EBPF_IMAGE(runq), needs_of_tp_btf},
	{"tp", EBPF_IMAGE(runq_tp), needs_of_tp}, /* without depths */
};

/* Tracks of a CPU, created at its first switch. */
struct cpu {
	bool is_shown;
	uint32_t group, p50, p99, max, depth, depth_max, switches, migrations, throttled;
	struct sonda_hist last;
	uint64_t last_depth_ns, last_clock, last_wait_ns;
};

struct runq {
	int migrations_fd; /* owned by the object */
	uint64_t *migrations; /* owned, one a CPU */
	uint32_t lost_track;
	struct cgroup_waits_reader *cgroups; /* owned; NULL: not by control group */
	struct sonda_hist added; /* on all CPUs, since the last read; likewise the next two */
	uint64_t added_n, added_ns;
	struct cpu cpus[];
};

static uint32_t runq_prepare(struct ebpf_object *o, const struct ebpf_features *f, uint32_t n_cpus)
{
	uint32_t switches = 0;

	ebpf_object_resize(o, "migrations", n_cpus);
	cgroup_waits_prepare(o, f);
	if (f->has_member(f->ctx, "cfs_rq", "h_nr_runnable") &&
	    f->has_member(f->ctx, "cfs_rq", "h_nr_queued"))
		switches |= RUNQ_NO_SLEEPERS;
	if (f->count_args(f->ctx, "sched_switch") >= 4)
		switches |= RUNQ_HAS_STATE;
	return switches;
}

static bool has_depths(const struct ebpf_run *r)
{
	return r->variant == variants;
}

static int runq_begin(struct ebpf_run *r)
{
	struct runq *s = r->state;

	s->migrations_fd = ebpf_object_map(r->object, "migrations");
	if (s->migrations_fd < 0)
		return s->migrations_fd;
	s->migrations = calloc(r->n_cpus, sizeof(*s->migrations));
	if (!s->migrations)
		return -ENOMEM;
	if (!r->waits_by_cgroup)
		return 0;
	if (has_depths(r))
		return cgroup_waits_reader_new(r, &s->cgroups);
	ebpf_errors_add(r->errors, "waits_by_cgroup", "reading a thread's control group needs BTF");
	return 0;
}

static void add_depth_tracks(const struct ebpf_run *r, struct cpu *c)
{
	struct track_spec spec = {.kind = TRACK_COUNTER,
				  .parent = c->group,
				  .unit = TRACK_UNIT_COUNT,
				  .axis = "runq depth",
				  .name = "runq depth",
				  .description = "waiting threads, averaged over the period"};

	c->depth = tracks_add(r->tracks, &spec);
	spec.name = "runq depth max";
	spec.description = "largest number of waiting threads at a context switch";
	c->depth_max = tracks_add(r->tracks, &spec);
}

static void add_cpu_tracks(const struct ebpf_run *r, struct cpu *c, uint32_t cpu)
{
	const struct track_spec latency = {.kind = TRACK_COUNTER,
					   .parent = tracks_add_cpu(r->tracks, r->group, cpu),
					   .unit = TRACK_UNIT_NS,
					   .axis = "runq latency"};
	struct track_spec spec = latency;

	c->is_shown = true;
	c->group = latency.parent;
	spec.name = "runq latency p50";
	spec.description = "half of the threads that began to run had waited this long or less";
	c->p50 = tracks_add(r->tracks, &spec);
	spec.name = "runq latency p99";
	spec.description = "99 % of the threads that began to run had waited this long or less";
	c->p99 = tracks_add(r->tracks, &spec);
	spec.name = "runq latency max";
	spec.description = "longest wait of a thread that began to run";
	c->max = tracks_add(r->tracks, &spec);
	if (has_depths(r))
		add_depth_tracks(r, c);
	c->switches = ebpf_add_total(r, c->group, "context switches",
				     "including those to and from idle, since the recording began",
				     TRACK_UNIT_COUNT);
	c->migrations = ebpf_add_total(r, c->group, "migrations",
				       "threads moved to this CPU, since the recording began",
				       TRACK_UNIT_COUNT);
}

static void set_depth_tracks(const struct ebpf_run *r, struct cpu *c, const struct runq_cpu *now)
{
	uint64_t ns = now->clock - c->last_clock;
	double mean = (double)now->depth;

	/* Without a switch in the period the mean is the depth at the last switch. */
	if (ns > 0 && c->last_clock)
		mean = (double)(now->depth_ns - c->last_depth_ns) / (double)ns;
	tracks_set_double(r->tracks, c->depth, round(mean * 10) / 10);
	tracks_set(r->tracks, c->depth_max,
		   (int64_t)MAX(histogram_max(&now->depth_max, r->generation),
				(uint64_t)(ns ? 0 : now->depth)));
}

static void add_to_machine(struct runq *s, const struct sonda_hist *added, uint64_t n, uint64_t ns)
{
	for (size_t i = 0; i < SONDA_HIST_BUCKETS; i++)
		s->added.buckets[i] += added->buckets[i];
	s->added_n += n;
	s->added_ns += ns;
}

static void set_cpu_tracks(const struct ebpf_run *r, struct cpu *c, const struct runq_cpu *now)
{
	uint64_t max = histogram_max(&now->wait_max, r->generation), n;
	struct tracks *t = r->tracks;
	struct sonda_hist added;

	n = histogram_compute_added(&now->wait, &c->last, &added);
	if (r->histogram_rows)
		add_to_machine(r->state, &added, n, now->wait_ns - c->last_wait_ns);
	c->last_wait_ns = now->wait_ns;
	tracks_set(t, c->p50, (int64_t)histogram_percentile(&added, n, 50, max));
	tracks_set(t, c->p99, (int64_t)histogram_percentile(&added, n, 99, max));
	tracks_set(t, c->max, (int64_t)max);
	tracks_set(t, c->switches, (int64_t)now->switches);
	if (now->throttled_ns && !c->throttled)
		c->throttled =
			ebpf_add_total(r, c->group, "runq throttled",
				       "time threads waited for their control group's quota (not "
				       "part of the latency), since the recording began",
				       TRACK_UNIT_NS);
	if (c->throttled)
		tracks_set(t, c->throttled, (int64_t)now->throttled_ns);
	if (has_depths(r))
		set_depth_tracks(r, c, now);
}

static void write_machine(const struct ebpf_run *r, struct runq *s)
{
	const struct histogram_rows rows = {
		.added = &s->added, .n = s->added_n, .sum_ns = s->added_ns};

	histogram_rows_write(r, &rows, clock_boot_ns());
	s->added = (struct sonda_hist){{0}};
	s->added_n = s->added_ns = 0;
}

static int runq_read_cpus(struct ebpf_run *r)
{
	struct runq *s = r->state;
	uint64_t lost = 0, cgroups_lost = 0;
	int e = map_cpus_read(&r->cpus);

	if (e == 0)
		e = map_read_array(s->migrations_fd, r->n_cpus, sizeof(*s->migrations),
				   s->migrations);
	if (e < 0)
		return e;
	for (uint32_t i = 0; i < r->n_cpus; i++) {
		const struct runq_cpu *now = map_cpus_at(&r->cpus, i);
		struct cpu *c = &s->cpus[i];

		if (!c->is_shown && !now->switches)
			continue;
		if (!c->is_shown)
			add_cpu_tracks(r, c, i);
		set_cpu_tracks(r, c, now);
		tracks_set(r->tracks, c->migrations, (int64_t)s->migrations[i]);
		c->last_clock = now->clock;
		c->last_depth_ns = now->depth_ns;
		lost += now->lost;
		cgroups_lost += now->cgroups_lost;
	}
	ebpf_set_lost(r, &s->lost_track, "runq lost", "waits not counted: out of memory", lost);
	if (r->histogram_rows)
		write_machine(r, s);
	return s->cgroups ? cgroup_waits_read(s->cgroups, r, cgroups_lost) : 0;
}

static void runq_remove_tracks(struct ebpf_run *r)
{
	struct runq *s = r->state;

	for (uint32_t i = 0; i < r->n_cpus; i++) {
		const struct cpu *c = &s->cpus[i];
		const uint32_t all[] = {c->p50,	       c->p99,	     c->max,
					c->depth,      c->depth_max, c->switches,
					c->migrations, c->throttled, c->group};

		for (size_t k = 0; c->is_shown && k < ARRAY_SIZE(all); k++)
			tracks_remove(r->tracks, all[k]);
	}
	tracks_remove(r->tracks, s->lost_track);
}

static void runq_end(struct ebpf_run *r)
{
	struct runq *s = r->state;

	free(s->migrations);
	cgroup_waits_reader_free(s->cgroups);
}

const struct ebpf_family runq_family = {
	.id = PB__EBPF_COUNTERS_CONFIG__FAMILY__RUNQ,
	.name = "runq",
	.by_default = true,
	.by_cgroup_switch = RUNQ_BY_CGROUP,
	.outliers = EBPF_OUTLIERS_RUNQ,
	.variants = variants,
	.n_variants = ARRAY_SIZE(variants),
	.cpu_size = sizeof(struct runq_cpu),
	.state_size = sizeof(struct runq),
	.state_per_cpu = sizeof(struct cpu),
	.prepare = runq_prepare,
	.begin = runq_begin,
	.read = runq_read_cpus,
	.remove_tracks = runq_remove_tracks,
	.end = runq_end,
};
