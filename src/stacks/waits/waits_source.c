/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The programs record from the start until the stop. A dummy perf event of each CPU records how the
 * mappings of processes change.
 */
#include "stacks/waits/waits_source.h"

#include <errno.h>
#include <linux/capability.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <event2/event.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/event_loop/event_free.h"
#include "base/system/log.h"
#include "base/system/own_processes.h"
#include "stacks/waits/waits_session.h"

#define RING_PAGES 64 /* of each CPU, for changes of mappings */

/* ---- rounds ---- */

static void read_totals(struct waits_session *s)
{
	if (!s->config.has_totals)
		return;
	waits_totals_read(s);
	s->writes_totals = true;
}

static void remove_programs(struct waits_session *s)
{
	if (!s->program)
		return;
	waits_program_read_counts(s->program, &s->counts);
	event_freep(&s->base.program_wakeup);
	waits_program_free(TAKE_PTR(s->program));
	if (s->tables.is_joined)
		unwind_tables_get_stats(&s->table_stats);
	unwind_tables_leave(&s->tables);
}

/* Removes the programs, because they cost more than max_overhead_percent although they take no
 * stacks. */
static void end_costly_programs(struct waits_session *s)
{
	s->base.refusal = err_set(&s->base.refused, -EDQUOT,
				  "removed the BPF programs: they exceeded max_overhead_percent "
				  "(%g %% of the machine) even without stacks",
				  s->config.max_overhead_percent);
	log_warn("linux.waits: %s", s->base.refused.text);
	waits_program_end_waits(s->program, &s->queue);
	read_totals(s);
	remove_programs(s);
}

static void end_period_if_due(struct waits_session *s)
{
	uint64_t now = clock_boot_ns();

	if (!s->program || now < s->totals_due)
		return;
	s->totals_due = now + s->config.totals_period_ms * NS_PER_MS;
	read_totals(s);
	if (!waits_program_check_cost(s->program))
		end_costly_programs(s);
}

static void waits_source_tick(struct stack_session *base)
{
	struct waits_session *s = (struct waits_session *)base;

	end_period_if_due(s);
	if (s->program)
		waits_program_read_records(s->program, &s->queue);
}

static void waits_source_write(struct stack_session *base, bool is_last)
{
	struct waits_session *s = (struct waits_session *)base;

	waits_packets_write_waits(s);
	if (is_last && s->writes_totals) {
		s->writes_totals = false;
		waits_packets_write_totals(s);
	}
}

static void waits_source_on_stacks_reset(struct stack_session *base)
{
	waits_records_forget_stacks((struct waits_session *)base);
}

static void waits_source_finish(struct stack_session *base)
{
	struct waits_session *s = (struct waits_session *)base;

	waits_packets_write_stats(s, &s->counts);
	if (s->table_stats.n_files) {
		unwind_tables_write_stats(&s->table_stats, stack_session_begin_packet_now(base));
		writer_end(base->writer);
	}
}

static const struct stack_session_ops waits_source_ops = {
	.read = waits_records_handle_queue,
	.write = waits_source_write,
	.on_stacks_reset = waits_source_on_stacks_reset,
	.tick = waits_source_tick,
	.finish = waits_source_finish,
};

/* ---- set up ---- */

/* Opens a ring of each CPU for changes of mappings, and of tasks. */
static int open_rings(struct waits_session *s)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU,
		.disabled = 1,
		.mmap = 1,
		.mmap2 = 1,
		.comm = 1,
		.comm_exec = 1,
		.task = 1,
		.sample_id_all = 1,
		.exclude_kernel = 1,
		.use_clockid = 1,
		.clockid = CLOCK_BOOTTIME,
	};
	uint32_t pages = RING_PAGES;
	int r = cpu_rings_init(&s->base.rings);

	for (unsigned cpu = 0; r == 0 && cpu < s->base.rings.n_cpus; cpu++) {
		r = cpu_rings_add(&s->base.rings, &attr, cpu, &pages);
		r = r == -ENODEV ? 0 : r; /* the CPU is offline */
	}
	return r == 0 ? stack_session_watch_rings(&s->base) : r;
}

static void waits_destroy(void *instance)
{
	struct waits_session *s = instance;

	if (!s)
		return;
	unwind_preload_deinit(&s->preload);
	event_freep(&s->base.program_wakeup);
	waits_program_free(TAKE_PTR(s->program));
	unwind_tables_leave(&s->tables);
	stack_session_deinit(&s->base);
	waits_records_forget_stacks(s);
	HASH_FREE(s->threads);
	HASH_FREE(s->totals);
	HASH_FREE(s->without_waker);
	waits_config_deinit(&s->config);
	free(s->queue.bytes);
	free(s->waits);
	free(s);
}

static void waits_source_destroyp(struct waits_session **s)
{
	waits_destroy(*s);
}

/* Reads the config and opens the rings. A refusal by the config or the kernel is written to the
 * trace, which then has no waits. Returns 0 or -ENOMEM. */
static int read_config_and_open_rings(struct waits_session *s, const struct ds_env *env,
				      const Pb__DataSourceConfig *config)
{
	int r = waits_config_read(config->waits_config, &s->config, &s->base.refused);

	if (r == 0)
		r = subject_find_ids(config->subject_config, env->sys_root, &s->config.subject,
				     &s->base.refused);
	s->config.subject.loop = env->loop;
	if (r == 0) {
		own_processes_find(env->proc_root, env->service_pid, s->own, WAITS_OWN_MAX);
		r = open_rings(s);
		if (r < 0)
			(void)err_set(&s->base.refused, r, "perf_event_open: %s%s", strerror(-r),
				      r == -EACCES || r == -EPERM ? "; CAP_PERFMON is required"
								  : "");
	}
	if (r == 0)
		return stack_resolver_join(&s->base.resolver, env->loop, env->proc_root,
					   s->config.has_user_stacks, true);
	log_warn("linux.waits: %s", s->base.refused.text);
	s->base.refusal = r;
	return r == -ENOMEM ? r : 0;
}

static int waits_create(struct ds_handle *h, const struct ds_env *env,
			const Pb__DataSourceConfig *config, void **ret_instance)
{
	_cleanup_(waits_source_destroyp) struct waits_session *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	s->tracefs_root = env->tracefs_root;
	s->hides_addresses = !ds_consumer_is_root(h);
	s->base.read_ms = WAITS_READ_MS;
	r = stack_session_init(&s->base, h, env, "linux.waits", &waits_source_ops);
	if (r == 0)
		r = read_config_and_open_rings(s, env, config);
	if (r == 0 && s->config.has_totals) {
		s->base.other_writer = ds_writer_new(h);
		r = s->base.other_writer ? 0 : -ENOMEM;
	}
	if (r < 0)
		return r;
	*ret_instance = TAKE_PTR(s);
	return 0;
}

/* ---- start, flush and stop ---- */

/* Loads the programs. Without tables they walk user stacks by frame pointers. */
static int start_programs(struct waits_session *s)
{
	const struct unwind_maps *tables = NULL;
	int r;

	if (s->tables.is_joined)
		tables = unwind_tables_maps();
	r = waits_program_new(&s->config, s->own, tables, s->tracefs_root, &s->program,
			      &s->base.refused);
	if (r < 0)
		return r;
	if (stack_session_watch_program(&s->base, waits_program_wakeup_fd(s->program)) == 0)
		event_add(s->base.program_wakeup, NULL);
	return 0;
}

static void waits_source_begin(void *ctx)
{
	struct waits_session *s = ctx;

	if (!s->base.refusal) {
		(void)cpu_rings_enable(&s->base.rings, true);
		s->base.refusal = start_programs(s);
		if (s->base.refusal)
			log_warn("linux.waits: %s", s->base.refused.text);
	}
	s->totals_due = clock_boot_ns() + s->config.totals_period_ms * NS_PER_MS;
	stack_session_start(&s->base);
}

/* Returns false if the config selects other pids. Other selections are left to the programs. */
static bool may_be_recorded(void *ctx, int32_t pid)
{
	const struct waits_session *s = ctx;

	for (size_t i = 0; i < s->config.n_pids; i++)
		if (s->config.pids[i] == (uint32_t)pid)
			return true;
	return !s->config.n_pids;
}

static void waits_start(void *instance)
{
	struct waits_session *s = instance;

	s->preload = (struct unwind_preload){.proc_root = s->base.proc_root,
					     .is_wanted = may_be_recorded,
					     .done = waits_source_begin,
					     .ctx = s};
	if (s->base.refusal || !s->config.has_user_stacks ||
	    unwind_tables_join(&s->tables, s->base.loop) < 0 ||
	    unwind_preload_begin(&s->preload, s->base.loop) < 0)
		waits_source_begin(s);
}

/* Handles all records from before the flush, and writes all totals; a flush before the stop leaves
 * the totals to the stop. */
static void waits_flush(void *instance, uint64_t flush_id)
{
	struct waits_session *s = instance;

	if (!ds_flush_precedes_stop(s->base.h))
		read_totals(s);
	if (s->program)
		waits_program_read_records(s->program, &s->queue);
	stack_session_flush(instance, flush_id);
}

/* Stops the recording. Reads the records and totals at once, so that the programs can be
 * removed. */
static void waits_stop(void *instance)
{
	struct waits_session *s = instance;

	unwind_preload_end(&s->preload);
	if (s->program) {
		waits_program_end_waits(s->program, &s->queue);
		read_totals(s);
	}
	remove_programs(s);
	(void)cpu_rings_enable(&s->base.rings, false);
	stack_session_stop(&s->base);
}

const struct data_source waits_data_source = {
	.name = "linux.waits",
	.handles_incremental_state_clear = true,
	.capabilities = 1ull << CAP_BPF | 1ull << CAP_PERFMON | 1ull << CAP_SYSLOG |
			1ull << CAP_SYS_ADMIN | 1ull << CAP_DAC_READ_SEARCH |
			1ull << CAP_SYS_PTRACE | 1ull << CAP_SYS_NICE,
	.is_timely = true,
	.create = waits_create,
	.start = waits_start,
	.flush = waits_flush,
	.clear = stack_session_clear,
	.stop = waits_stop,
	.destroy = waits_destroy,
};
