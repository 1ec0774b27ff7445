/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first pass loads the families, one per step, because the verifier is slow. Every later pass
 * reads them, one per step, and measures their cost:
 *
 *	load, load, load ... -> period -> read, read, read ..., cost -> period -> ...
 *
 * Periods are those of client/counters/polled_source.h. The stop reads once more, so that totals
 * are complete.
 */
#include "ebpf/ebpf_source.h"
#include "ebpf/families/families.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "client/counters/polled_source.h"
#include "ebpf/ebpf_config.h"
#include "ebpf/engine/errors.h"
#include "ebpf/engine/family.h"
#include "ebpf/histograms/histogram.h"
#include "ebpf/program_cost.h"
#include "ebpf/thresholds.h"
#include "ebpf/tracks/per_process.h"
#include "ebpf/user_program.h"

struct ebpf_counters {
	struct polled_source poll;
	struct ebpf_config settings;
	struct ebpf_errors errors;
	struct ebpf_features features; /* valid while families are loaded */
	struct program_cost cost;
	struct thresholds *thresholds; /* owned; NULL: none */
	struct process_ends ends; /* of process_rows */
	const char *bpf_root; /* borrowed */
	struct user_program *programs[EBPF_PROGRAMS_MAX]; /* owned; NULL: not read */
	struct histogram *histograms[EBPF_HISTOGRAMS_MAX]; /* owned */
	size_t n_histograms;
	/* Families, histograms, user programs; family of a program is NULL until its file is
	 * read. */
	struct ebpf_run runs[EBPF_FAMILIES_MAX + EBPF_HISTOGRAMS_MAX + EBPF_PROGRAMS_MAX];
	size_t n_runs;
	size_t at; /* next run of the pass */
	bool is_loaded, is_stopping;
};

static bool is_histogram(const struct ebpf_counters *s, size_t i)
{
	return i >= s->settings.n && i - s->settings.n < s->n_histograms;
}

/* Sets the family of run i; for a user program it reads the file. Returns 0, or -errno and sets
 * why. */
static int find_family(struct ebpf_counters *s, size_t i, struct err_text *why)
{
	size_t p = i - s->settings.n - s->n_histograms;
	int r;

	if (s->runs[i].family)
		return 0;
	if (!s->bpf_root)
		return err_set(why, -ENOENT,
			       "no directory for BPF programs is set (sonda-probes --bpf-dir)");
	r = user_program_new(s->bpf_root, s->settings.programs[p], &s->programs[p], why);
	if (r == 0)
		s->runs[i].family = user_program_family(s->programs[p]);
	return r;
}

/* Starts the run of family i. If that fails, reports the error; the run has no object then. */
static void load_family(struct ebpf_counters *s, size_t i)
{
	struct ebpf_scope scope = {
		.own_pid = (uint32_t)getpid(),
		.pids = s->settings.pids,
		.n_pids = s->settings.n_pids,
		.subject = &s->settings.subject,
		.has_cgroups = s->settings.has_cgroups,
		.cgroups = s->settings.cgroups,
		.n_cgroups = s->settings.n_cgroups,
		.outliers_per_second = s->settings.outliers_per_second,
	};
	struct ebpf_run *r = &s->runs[i];
	struct err_text why;

	if (find_family(s, i, &why) < 0) {
		ebpf_errors_add(&s->errors,
				s->settings.programs[i - s->settings.n - s->n_histograms], "%s",
				why.text);
		return;
	}
	/* An event may be one of an interrupt, whatever thread it interrupts. */
	if (is_histogram(s, i))
		scope.own_pid = UINT32_MAX;
	scope.outlier_ns = s->settings.outlier_ns[r->family->outliers];
	if (ebpf_run_start(r, &s->features, &scope, &why) < 0) {
		ebpf_errors_add(&s->errors, r->family->name, "%s", why.text);
		return;
	}
	if (new_groups_join(&r->new_groups, r->object, &s->settings.subject, &why) < 0)
		ebpf_errors_add(&s->errors, r->family->name,
				"awaited containers and pods are missing: %s", why.text);
}

static void read_family(struct ebpf_counters *s, struct ebpf_run *r)
{
	int e;

	if (!r->object)
		return;
	r->is_asked_for_all = s->is_stopping || s->poll.is_waited_for;
	e = ebpf_run_read(r);
	if (e < 0)
		polled_source_failed(&s->poll, &r->error_logged, r->family->name, -e);
}

static void ebpf_begin(struct polled_source *p)
{
	struct ebpf_counters *s = container_of(p, struct ebpf_counters, poll);

	s->at = 0;
}

static void ebpf_source_end_pass(struct ebpf_counters *s)
{
	const char *const *names;
	size_t n;

	if (!s->is_loaded)
		ebpf_features_free(&s->features);
	s->is_loaded = true;
	program_cost_end_pass(&s->cost, s->runs, s->n_runs, &s->errors);
	/* Pending values of tracks are written before other packets. */
	tracks_end(s->poll.tracks);
	ebpf_errors_write(&s->errors, false, s->poll.writer);
	/* A trigger may end the session, so all values are committed before it. */
	n = thresholds_collect_fired(s->thresholds, &names);
	if (n)
		polled_source_flush_writers(&s->poll);
	ds_activate_triggers(s->poll.h, names, n);
}

/* Returns true if the read would exceed the family's share of a CPU and may wait for a later
 * period. User programs are always read, because events in their rings would be lost, and
 * histograms, because they are read once a second. */
static bool may_skip_read(const struct ebpf_counters *s, const struct ebpf_run *r)
{
	return s->at < s->settings.n && !s->poll.is_waited_for && ebpf_run_over_budget(r);
}

static bool ebpf_step(struct polled_source *p)
{
	struct ebpf_counters *s = container_of(p, struct ebpf_counters, poll);

	if (s->at == s->n_runs) {
		ebpf_source_end_pass(s);
		return false;
	}
	if (!s->is_loaded)
		load_family(s, s->at);
	else if (!may_skip_read(s, &s->runs[s->at]))
		read_family(s, &s->runs[s->at]);
	s->at++;
	return true;
}

/* Writes how many programs were missed. All families missed the same ones, except families that
 * were stopped earlier. */
static void ebpf_source_write_missed(const struct ebpf_counters *s)
{
	uint64_t missed = 0;

	for (size_t i = 0; i < s->n_runs; i++)
		missed = MAX(missed, s->runs[i].new_groups.missed);
	ebpf_errors_write_missed("linux.ebpf_counters", missed, s->poll.writer);
}

static void stop_all_families(struct ebpf_counters *s)
{
	for (size_t i = 0; i < s->n_runs; i++)
		if (s->runs[i].object)
			ebpf_run_stop(&s->runs[i]);
}

static void ebpf_deinit(struct polled_source *p)
{
	struct ebpf_counters *s = container_of(p, struct ebpf_counters, poll);

	stop_all_families(s);
	for (size_t i = 0; i < s->settings.n_programs; i++)
		user_program_free(s->programs[i]);
	for (size_t i = 0; i < s->n_histograms; i++)
		histogram_free(s->histograms[i]);
	program_cost_deinit(&s->cost);
	ebpf_features_free(&s->features);
	thresholds_free(s->thresholds);
	ebpf_config_deinit(&s->settings);
	ebpf_errors_deinit(&s->errors);
	pid_set_clear(&s->ends.pids);
	polled_source_deinit(p);
	free(s);
}

static const struct polled_source_ops ebpf_ops = {
	.name = "linux.ebpf_counters",
	.group = "eBPF counters",
	.has_thread_tracks = true,
	.begin = ebpf_begin,
	.step = ebpf_step,
	.deinit = ebpf_deinit,
};

/* Checks the histograms of the config. Reports those that are refused, or beyond the limit. Returns
 * 0 or -ENOMEM. */
static int add_histograms(struct ebpf_counters *s, const Pb__EbpfCountersConfig *c)
{
	struct err_text why;

	for (size_t i = 0; c && i < c->n_histograms; i++) {
		int r;

		if (s->n_histograms == EBPF_HISTOGRAMS_MAX) {
			ebpf_errors_add(&s->errors, "histograms",
					"only the first %d of %zu are counted", EBPF_HISTOGRAMS_MAX,
					c->n_histograms);
			return 0;
		}
		r = histogram_new(c->histograms[i], &s->histograms[s->n_histograms], &why);
		if (r == -ENOMEM)
			return r;
		if (r < 0)
			ebpf_errors_add(&s->errors, "histograms", "%s", why.text);
		else
			s->n_histograms++;
	}
	return 0;
}

static void init_runs(struct ebpf_counters *s, const struct ds_env *env)
{
	bool has_ends;

	s->cost.n_cpus = (uint32_t)MAX(sysconf(_SC_NPROCESSORS_ONLN), 1);
	s->cost.limit = s->settings.max_overhead_percent;
	s->n_runs = s->settings.n + s->n_histograms + s->settings.n_programs;
	has_ends = s->settings.process_rows && pid_set_reserve(&s->ends.pids) == 0;
	for (size_t i = 0; i < s->n_runs; i++)
		s->runs[i] = (struct ebpf_run){
			.family = i < s->settings.n ? s->settings.families[i]
				  : is_histogram(s, i)
					  ? histogram_family(s->histograms[i - s->settings.n])
					  : NULL,
			.errors = &s->errors,
			.writer = s->poll.writer,
			.tracks = s->poll.tracks,
			.group = s->poll.group,
			.n_cpus = ebpf_count_cpus(),
			.top_n = s->settings.top_n,
			.no_call_names = s->settings.no_call_names,
			.process_rows = s->settings.process_rows,
			.thread_rows = s->settings.thread_rows,
			.waits_by_cgroup = s->settings.waits_by_cgroup,
			.histogram_rows = s->settings.histogram_rows,
			.ends = has_ends ? &s->ends : NULL,
			.proc_root = env->proc_root,
		};
}

static int ebpf_create(struct ds_handle *h, const struct ds_env *env,
		       const Pb__DataSourceConfig *config, void **ret_instance)
{
	struct ebpf_counters *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	s->cost.stats_fd = -1;
	s->bpf_root = env->bpf_root;
	r = ebpf_config_init(&s->settings, config->ebpf_counters_config, ebpf_families,
			     ebpf_n_families, &s->errors);
	if (r == 0)
		r = add_histograms(s, config->ebpf_counters_config);
	if (r == 0)
		r = ebpf_config_find_cgroups(&s->settings, config->ebpf_counters_config,
					     env->sys_root, &s->errors);
	if (r == 0)
		r = ebpf_config_find_subject(&s->settings, config->subject_config, env->sys_root,
					     &s->errors);
	s->settings.subject.loop = env->loop;
	if (r == 0)
		r = polled_source_init(&s->poll, &ebpf_ops, h, env, s->settings.period_ms);
	if (r == 0)
		r = thresholds_new(config->ebpf_counters_config, &s->errors, &s->thresholds);
	if (r == 0)
		r = ebpf_features_new(env->tracefs_root, &s->features);
	if (r < 0) {
		ebpf_deinit(&s->poll);
		return r;
	}
	if (s->thresholds)
		tracks_watch(s->poll.tracks, thresholds_check_update, s->thresholds);
	init_runs(s, env);
	*ret_instance = &s->poll;
	return 0;
}

static void ebpf_clear(void *instance)
{
	struct ebpf_counters *s =
		container_of((struct polled_source *)instance, struct ebpf_counters, poll);

	ebpf_errors_mark_unwritten(&s->errors);
	for (size_t i = 0; i < s->n_runs; i++)
		s->runs[i].is_cleared = true;
	polled_source_clear(instance);
}

/* Reads and writes the last values, then unloads the programs: here, not when the instance is
 * destroyed. */
static void ebpf_stop(void *instance)
{
	struct ebpf_counters *s =
		container_of((struct polled_source *)instance, struct ebpf_counters, poll);

	s->is_stopping = true;
	for (size_t i = 0; i < s->n_runs; i++)
		read_family(s, &s->runs[i]);
	program_cost_set_missed(&s->cost, s->runs, s->n_runs);
	tracks_flush(s->poll.tracks);
	thresholds_report_unused(s->thresholds, &s->errors);
	ebpf_errors_write(&s->errors, true, s->poll.writer);
	program_cost_write(&s->cost, s->runs, s->n_runs, s->poll.writer);
	ebpf_source_write_missed(s);
	stop_all_families(s);
	program_cost_deinit(&s->cost);
	polled_source_stop(instance);
}

const struct data_source ebpf_counters_data_source = {
	.name = "linux.ebpf_counters",
	.capabilities = 1ull << CAP_BPF | 1ull << CAP_DAC_READ_SEARCH | 1ull << CAP_PERFMON |
			1ull << CAP_SYS_ADMIN | 1ull << CAP_SYS_NICE | 1ull << CAP_SYS_PTRACE |
			1ull << CAP_SYSLOG,
	.handles_incremental_state_clear = true,
	.create = ebpf_create,
	.start = polled_source_start,
	.flush = polled_source_flush,
	.clear = ebpf_clear,
	.stop = ebpf_stop,
	.destroy = polled_source_destroy,
};
