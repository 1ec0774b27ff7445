/* SPDX-License-Identifier: Apache-2.0 */
#include "ebpf/program_cost.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "ebpf/tracks/counter.h"
#include "gen/fields.h"

void program_cost_deinit(struct program_cost *c)
{
	closep(&c->stats_fd);
	c->stats_fd = -1;
}

static void begin_measurement(struct program_cost *c, struct ebpf_run *runs, size_t n,
			      struct ebpf_errors *errors)
{
	uint64_t missed;
	bool any = false;

	c->stats_fd = ebpf_enable_stats();
	c->began = clock_mono_ns();
	for (size_t i = 0; i < n; i++) {
		if (!runs[i].object)
			continue;
		any = true;
		ebpf_object_read_cost(runs[i].object, &runs[i].cost.ns, &runs[i].cost.count,
				      &missed);
	}
	if (c->stats_fd >= 0 || !any)
		return;
	/* The measurement needs more privilege than loading programs. */
	if (!c->is_refused)
		ebpf_errors_add(errors, "own cost",
				"not measured: %s (CAP_SYS_ADMIN is required)%s",
				strerror(-c->stats_fd),
				c->limit > 0 ? "; max_overhead_percent has no effect" : "");
	c->is_refused = true;
}

static void set_missed_track(struct program_cost *c, struct ebpf_run *r)
{
	uint64_t ns, count, missed;

	ebpf_object_read_cost(r->object, &ns, &count, &missed);
	if (!missed)
		return;
	if (c->missed_group == TRACK_ROOT)
		c->missed_group = ebpf_add_group(r, r->group, "runs missed");
	if (r->cost.missed_track == TRACK_ROOT) {
		r->cost.missed_track =
			ebpf_add_total(r, c->missed_group, r->family->name,
				       "program runs that the kernel skipped", TRACK_UNIT_COUNT);
	}
	ebpf_errors_set_count(
		r->errors, r->family->name,
		"program runs that the kernel skipped: another one was already running on the CPU",
		missed, false);
	tracks_set(r->tracks, r->cost.missed_track, (int64_t)missed);
}

void program_cost_set_missed(struct program_cost *c, struct ebpf_run *runs, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (runs[i].object)
			set_missed_track(c, &runs[i]);
}

static void set_cost_track(struct program_cost *c, struct ebpf_run *r)
{
	if (c->group == TRACK_ROOT)
		c->group = tracks_add(r->tracks, &(struct track_spec){.kind = TRACK_GROUP,
								      .parent = r->group,
								      .name = "own cost"});
	if (r->cost.track == TRACK_ROOT)
		r->cost.track = tracks_add(
			r->tracks, &(struct track_spec){
					   .kind = TRACK_COUNTER,
					   .parent = c->group,
					   .name = r->family->name,
					   .description = "share of one CPU, spent in the kernel; "
							  "measured in one period out of ten",
					   .unit_name = "%"});
	tracks_set_double(r->tracks, r->cost.track, round(r->cost.percent * 1000) / 1000);
}

static void add_measurement(struct program_cost *c, struct ebpf_run *r, uint64_t took)
{
	uint64_t ns, count, missed;

	ebpf_object_read_cost(r->object, &ns, &count, &missed);
	ns -= r->cost.ns;
	count -= r->cost.count;
	r->cost.percent = 100.0 * (double)ns / (double)MAX(took, 1);
	r->cost.all_ns += ns;
	r->cost.all_count += count;
	r->cost.all_took += took;
	set_cost_track(c, r);
}

static void end_measurement(struct program_cost *c, struct ebpf_run *runs, size_t n)
{
	uint64_t took = clock_mono_ns() - c->began;

	for (size_t i = 0; i < n; i++)
		if (runs[i].object)
			add_measurement(c, &runs[i], took);
	program_cost_deinit(c);
}

/* Stops families, the most expensive first, until the sum is below the limit. Reports each. */
static void stop_costly_families(const struct program_cost *c, struct ebpf_run *runs, size_t n,
				 struct ebpf_errors *errors)
{
	for (;;) {
		struct ebpf_run *worst = NULL;
		double sum = 0;

		for (size_t i = 0; i < n; i++) {
			if (!runs[i].object)
				continue;
			sum += runs[i].cost.percent / c->n_cpus;
			if (!worst || runs[i].cost.percent > worst->cost.percent)
				worst = &runs[i];
		}
		if (!worst || sum <= c->limit)
			return;
		ebpf_errors_add(
			errors, worst->family->name,
			"switched off: all families together used %.3f %% of the machine, more "
			"than max_overhead_percent (%g), and this one used the most (%.3f %%)",
			sum, c->limit, worst->cost.percent / c->n_cpus);
		tracks_remove(worst->tracks, worst->cost.track);
		tracks_remove(worst->tracks, worst->cost.missed_track);
		worst->cost.track = worst->cost.missed_track = TRACK_ROOT;
		ebpf_run_remove_tracks(worst);
		ebpf_run_stop(worst);
	}
}

static void write_family_cost(struct pb_enc *e, const struct ebpf_run *r, uint32_t n_cpus)
{
	const struct ebpf_cost *c = &r->cost;
	double machine = (double)c->all_took * n_cpus;

	pb_enc_open(e, PB_EBPF_COUNTERS_STATS_COSTS);
	pb_enc_str(e, PB_EBPF_COUNTERS_STATS_COST_FAMILY, r->family->name);
	pb_enc_u64(e, PB_EBPF_COUNTERS_STATS_COST_MACHINE_PPM,
		   (uint64_t)round((double)c->all_ns * 1e6 / machine));
	if (c->all_count)
		pb_enc_u64(e, PB_EBPF_COUNTERS_STATS_COST_RUN_NS, c->all_ns / c->all_count);
	pb_enc_close(e);
}

void program_cost_write(const struct program_cost *c, const struct ebpf_run *runs, size_t n,
			struct writer *w)
{
	struct pb_enc *e = NULL;

	for (size_t i = 0; i < n; i++) {
		if (!runs[i].cost.all_took)
			continue;
		if (!e) {
			e = writer_begin(w);
			pb_enc_u64(e, PB_TRACE_PACKET_TIMESTAMP, clock_boot_ns());
			pb_enc_open(e, PB_TRACE_PACKET_EBPF_COUNTERS_STATS);
		}
		write_family_cost(e, &runs[i], c->n_cpus);
	}
	if (!e)
		return;
	pb_enc_close(e);
	writer_end(w);
}

void program_cost_end_pass(struct program_cost *c, struct ebpf_run *runs, size_t n,
			   struct ebpf_errors *errors)
{
	if (c->stats_fd >= 0) {
		end_measurement(c, runs, n);
		if (c->limit > 0)
			stop_costly_families(c, runs, n, errors);
	}
	if (c->pass++ % COST_EVERY)
		return;
	program_cost_set_missed(c, runs, n);
	begin_measurement(c, runs, n, errors);
}
