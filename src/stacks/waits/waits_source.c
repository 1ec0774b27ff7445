/* SPDX-License-Identifier: Apache-2.0 */
/*
 *	tick, or an answer of the file reader, or no answer in time
 *	        |
 *	        v
 *	     run_round:  records  ->  names of new frames  ->  packets  ->  flushes, stop
 *
 * The programs record from the start until the stop. A dummy perf event of each CPU records how the
 * mappings of processes change.
 */
#include "stacks/waits/waits_source.h"

#include <errno.h>
#include <linux/capability.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/event_loop/event_free.h"
#include "base/event_loop/event_timer.h"
#include "base/system/log.h"
#include "base/system/outside_reads.h"
#include "stacks/waits/waits_session.h"

#define RING_PAGES 64 /* of each CPU, for changes of mappings */

/* ---- rounds ---- */

/* Returns true if all records are handled and everything is written. */
static bool run_round(struct waits_session *s)
{
	bool at_end;

	do {
		s->has_read = !stack_resolver_is_waiting(&s->resolver) &&
			      (s->has_read || waits_records_handle(s));
		if (!s->has_read || !stack_resolver_ask_names(&s->resolver)) {
			stack_resolver_wait(&s->resolver);
			return false;
		}
		s->has_read = false;
		at_end = s->n_waits < WAITS_ROUND_MAX && !stacks_is_full(&s->resolver.stacks);
		waits_packets_write_waits(s);
		if (at_end && s->writes_totals) {
			s->writes_totals = false;
			waits_packets_write_totals(s);
		}
		if (stack_resolver_end_packets(&s->resolver)) {
			s->has_state = false;
			waits_records_forget(s);
		}
	} while (!at_end);
	stack_resolver_end_round(&s->resolver);
	return true;
}

static void leave_bus(struct waits_session *s)
{
	if (s->is_publisher)
		metadata_bus_unregister(s->bus, ds_session_id(s->h), s);
	s->is_publisher = false;
}

static void waits_source_finish(struct waits_session *s, const struct waits_counts *counts)
{
	waits_packets_write_stats(s, counts);
	writer_flush(s->writer);
	leave_bus(s);
	s->is_stopping = false;
	ds_stopped(s->h);
}

/* Runs a round. At its end it answers flushes and the stop. */
static void waits_source_run(struct waits_session *s)
{
	if (!s->is_started || !run_round(s))
		return;
	s->reads_all = s->is_stopping;
	if (s->flushes.n) {
		writer_flush(s->writer);
		flushes_answer(&s->flushes, s->h);
	}
	if (s->is_stopping) {
		s->is_started = false;
		waits_source_finish(s, &s->counts);
	}
}

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
	waits_program_count(s->program, &s->counts);
	event_freep(&s->program_wakeup);
	waits_program_free(TAKE_PTR(s->program));
	unwind_tables_leave(&s->tables);
}

/* The programs cost more than max_overhead_percent, although they take no stacks. */
static void end_costly_programs(struct waits_session *s)
{
	s->refusal = err_set(&s->refused, -EDQUOT,
			     "its programs take more than max_overhead_percent (%g %%) of the "
			     "machine, even without stacks, so they were removed",
			     s->config.max_overhead_percent);
	log_warn("linux.waits: %s", s->refused.text);
	waits_program_end_waits(s->program, &s->queue);
	read_totals(s);
	remove_programs(s);
}

static void end_period(struct waits_session *s)
{
	uint64_t now = clock_boot_ns();

	if (!s->program || now < s->totals_due)
		return;
	s->totals_due = now + s->config.totals_period_ms * NS_PER_MS;
	read_totals(s);
	if (!waits_program_check_cost(s->program))
		end_costly_programs(s);
}

static void waits_source_on_tick(evutil_socket_t fd, short what, void *ctx)
{
	struct waits_session *s = ctx;

	(void)fd;
	(void)what;
	s->reads_soon = false;
	event_timer_ms(s->tick, clock_ms_to_tick(WAITS_READ_MS));
	end_period(s);
	if (s->program)
		waits_program_read(s->program, &s->queue);
	waits_source_run(s);
}

static void waits_source_on_half_full(evutil_socket_t fd, short what, void *ctx)
{
	(void)fd;
	(void)what;
	waits_source_run(ctx);
}

/*
 * The ring of the programs is half full, or has a stack of a process without tables, which is read
 * when it is old enough (CPU_RINGS_DELAY_NS).
 */
static void waits_source_on_program(evutil_socket_t fd, short what, void *ctx)
{
	struct waits_session *s = ctx;

	(void)fd;
	(void)what;
	if (s->reads_soon)
		return;
	s->reads_soon = true;
	event_timer_ms(s->tick, 1 + CPU_RINGS_DELAY_NS / NS_PER_MS);
}

static void on_resolver_ready(void *ctx)
{
	waits_source_run(ctx);
}

/* ---- set up ---- */

/* Changes of mappings, and of tasks, in a ring of each CPU. */
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
	int r = cpu_rings_init(&s->rings);

	for (unsigned cpu = 0; r == 0 && cpu < s->rings.n_cpus; cpu++) {
		r = cpu_rings_add(&s->rings, &attr, cpu, &pages);
		r = r == -ENODEV ? 0 : r; /* the CPU is offline */
	}
	if (r == 0)
		r = cpu_rings_watch(&s->rings, s->loop, waits_source_on_half_full, s);
	for (unsigned i = 0; r == 0 && i < s->rings.n; i++)
		ds_yield_to_root(s->h, s->rings.items[i].wakeup);
	return r;
}

struct own_processes {
	uint32_t *pids; /* borrowed; WAITS_OWN_MAX */
	size_t n;
};

static void add_own(struct own_processes *own, unsigned long pid)
{
	if (pid > 1 && own->n < WAITS_OWN_MAX)
		own->pids[own->n++] = (uint32_t)pid;
}

static bool has_name(const char *proc_root, unsigned long pid, const char *name)
{
	char path[64], comm[32];
	ssize_t len;

	snprintf(path, sizeof(path), "%s/%lu/comm", proc_root, pid);
	len = outside_read(path, comm, sizeof(comm) - 1, OUTSIDE_READ_LONG_MS);
	comm[MAX(len, 0)] = '\0';
	comm[strcspn(comm, "\n")] = '\0';
	return strcmp(comm, name) == 0;
}

/* Adds the children of a process; those with a name if it is not NULL. */
static void add_children(struct own_processes *own, const char *proc_root, unsigned long parent,
			 const char *name)
{
	char path[64], text[4096], *rest = text, *word;
	ssize_t len;

	snprintf(path, sizeof(path), "%s/%lu/task/%lu/children", proc_root, parent, parent);
	len = outside_read(path, text, sizeof(text) - 1, OUTSIDE_READ_LONG_MS);
	text[MAX(len, 0)] = '\0';
	while ((word = strsep(&rest, " \n"))) {
		unsigned long pid = strtoul(word, NULL, 10);

		if (pid && (!name || has_name(proc_root, pid, name)))
			add_own(own, pid);
	}
}

/*
 * Finds the processes of the recorder: this one, the helpers that it has forked, and the service.
 * Their waits are left out, as each wait that is read causes some of them. The kernel names the
 * process that opened the service's sockets: sonda record does that for a service of its own. A
 * service whose sockets systemd has opened is not known.
 */
static void find_own_processes(const struct ds_env *env, uint32_t pids[static WAITS_OWN_MAX])
{
	struct own_processes own = {pids, 0};
	unsigned long service = (unsigned long)env->service_pid;

	add_own(&own, (unsigned long)getpid());
	add_children(&own, env->proc_root, (unsigned long)getpid(), NULL);
	if (service <= 1)
		return;
	add_own(&own, service);
	if (!has_name(env->proc_root, service, "sondad")) {
		size_t before = own.n;

		add_children(&own, env->proc_root, service, "sondad");
		if (own.n == before)
			return;
		service = pids[before];
	}
	add_children(&own, env->proc_root, service, NULL);
}

static void waits_destroy(void *instance)
{
	struct waits_session *s = instance;

	if (!s)
		return;
	leave_bus(s);
	event_freep(&s->program_wakeup);
	waits_program_free(s->program);
	unwind_tables_leave(&s->tables);
	event_freep(&s->tick);
	waits_records_forget(s);
	HASH_FREE(s->threads);
	HASH_FREE(s->totals);
	stack_resolver_deinit(&s->resolver);
	cpu_rings_deinit(&s->rings);
	waits_config_deinit(&s->config);
	free(s->queue.bytes);
	free(s->waits);
	free(s->tids);
	writer_free(s->writer);
	free(s);
}

static void waits_source_destroyp(struct waits_session **s)
{
	waits_destroy(*s);
}

/* A refusal by the config or the kernel is written to the trace, which then has no waits. */
static int prepare(struct waits_session *s, const struct ds_env *env,
		   const Pb__DataSourceConfig *config)
{
	int r = waits_config_read(config->waits_config, &s->config, &s->refused);

	if (r == 0) {
		find_own_processes(env, s->own);
		r = open_rings(s);
		if (r < 0)
			(void)err_set(&s->refused, r, "perf_event_open: %s", strerror(-r));
	}
	if (r == 0)
		return stack_resolver_join(&s->resolver, env->loop, env->proc_root,
					   s->config.has_user_stacks, true);
	log_warn("linux.waits: %s", s->refused.text);
	s->refusal = r;
	return r == -ENOMEM ? r : 0;
}

static int waits_create(struct ds_handle *h, const struct ds_env *env,
			const Pb__DataSourceConfig *config, void **ret_instance)
{
	_cleanup_(waits_source_destroyp) struct waits_session *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	s->h = h;
	s->loop = env->loop;
	s->bus = env->bus;
	s->tracefs_root = env->tracefs_root;
	s->hides_addresses = !ds_consumer_is_root(h);
	s->resolver = (struct stack_resolver){
		.source = "linux.waits", .rings = &s->rings, .ready = on_resolver_ready, .ctx = s};
	r = stack_resolver_init(&s->resolver, env->loop, s->hides_addresses);
	if (r < 0)
		return r;
	s->tick = evtimer_new(env->loop, waits_source_on_tick, s);
	s->writer = ds_writer_new(h);
	if (!s->tick || !s->writer)
		return -ENOMEM;
	ds_yield_to_root(h, s->tick);
	ds_yield_to_root(h, s->resolver.deadline);
	r = prepare(s, env, config);
	if (r < 0)
		return r;
	s->is_publisher = s->bus && metadata_bus_register(s->bus, ds_session_id(h), s) == 0;
	*ret_instance = TAKE_PTR(s);
	return 0;
}

/* ---- start, flush, clear and stop ---- */

/* Loads the programs. Without tables they walk user stacks by frame pointers. */
static int start_programs(struct waits_session *s)
{
	const struct unwind_maps *tables = NULL;
	int r;

	if (s->config.has_user_stacks && unwind_tables_join(&s->tables, s->loop) == 0)
		tables = unwind_tables_maps();
	r = waits_program_new(&s->config, s->own, tables, s->tracefs_root, &s->program,
			      &s->refused);
	if (r < 0)
		return r;
	s->program_wakeup = event_new(s->loop, waits_program_descriptor(s->program),
				      EV_READ | EV_PERSIST | EV_ET, waits_source_on_program, s);
	if (s->program_wakeup) {
		ds_yield_to_root(s->h, s->program_wakeup);
		event_add(s->program_wakeup, NULL);
	}
	return 0;
}

static void waits_start(void *instance)
{
	struct waits_session *s = instance;

	s->is_started = true;
	if (!s->refusal) {
		(void)cpu_rings_enable(&s->rings, true);
		s->refusal = start_programs(s);
		if (s->refusal)
			log_warn("linux.waits: %s", s->refused.text);
	}
	if (!s->refusal) {
		s->totals_due = clock_boot_ns() + s->config.totals_period_ms * NS_PER_MS;
		waits_source_on_tick(-1, 0, s);
	}
	ds_started(s->h);
}

/* Handles all records from before the flush, and writes all totals. */
static void waits_flush(void *instance, uint64_t flush_id)
{
	struct waits_session *s = instance;

	if (!flushes_add(&s->flushes, flush_id)) {
		flushes_answer(&s->flushes, s->h);
		flushes_add(&s->flushes, flush_id);
	}
	s->reads_all = true;
	s->has_read = false;
	if (!ds_stop_follows(s->h))
		read_totals(s);
	if (s->program)
		waits_program_read(s->program, &s->queue);
	waits_source_run(s);
}

static void waits_clear(void *instance)
{
	struct waits_session *s = instance;

	s->has_state = false;
}

/* The records and totals are read at once, so that the programs can be removed. */
static void waits_stop(void *instance)
{
	struct waits_session *s = instance;

	if (s->program) {
		waits_program_end_waits(s->program, &s->queue);
		read_totals(s);
	}
	remove_programs(s);
	(void)cpu_rings_enable(&s->rings, false);
	event_del(s->tick);
	s->is_stopping = s->reads_all = s->resolver.is_last_round = true;
	s->has_read = false;
	waits_source_run(s);
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
	.clear = waits_clear,
	.stop = waits_stop,
	.destroy = waits_destroy,
};
