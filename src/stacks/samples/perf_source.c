/* SPDX-License-Identifier: Apache-2.0 */
/*
 *	tick, or a ring is half full, or an answer, or no answer in time
 *	        |
 *	        v
 *	     run_round:  read records  ->  names of new frames  ->  packets  ->  flushes, stop
 *	                      |                  |
 *	                      +--- waits --------+   for an answer of the file reader, or for the
 *	                                             kernel's symbols
 *
 * While a round waits, the rings hold what comes.
 */
#include "stacks/samples/perf_source.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/event_loop/event_free.h"
#include "base/event_loop/event_timer.h"
#include "base/system/log.h"
#include "stacks/samples/perf_session.h"

int perf_source_start_helpers(void)
{
	return file_reader_start();
}

/* ---- rounds ---- */

/* Returns true if the rings are read to the end and everything is written. */
static bool run_round(struct perf_session *s)
{
	bool at_end;

	do {
		s->has_read = !stack_resolver_is_waiting(&s->resolver) &&
			      (s->has_read || perf_records_read(s));
		if (!s->has_read || !stack_resolver_ask_names(&s->resolver)) {
			stack_resolver_wait(&s->resolver);
			return false;
		}
		s->has_read = false;
		at_end = s->n_samples < PERF_SAMPLES_MAX && !stacks_is_full(&s->resolver.stacks);
		perf_packets_write(s);
	} while (!at_end);
	stack_resolver_end_round(&s->resolver);
	return true;
}

static void leave_bus(struct perf_session *s)
{
	if (s->is_publisher)
		metadata_bus_unregister(s->bus, ds_session_id(s->h), s);
	s->is_publisher = false;
}

static void report_remaining_losses(struct perf_session *s)
{
	for (unsigned i = 0; i < s->rings.n; i++) {
		uint64_t n = cpu_ring_unreported_lost(&s->rings.items[i]);

		if (n)
			perf_packets_write_lost(s, s->rings.items[i].cpu, n);
	}
}

static void perf_source_finish(struct perf_session *s)
{
	report_remaining_losses(s);
	log_debug("linux.perf: %llu samples", (unsigned long long)s->n_written);
	if (s->n_lost)
		log_warn("linux.perf: the kernel dropped %llu records because its rings were full; "
			 "a larger ring_buffer_pages or a lower frequency would help",
			 (unsigned long long)s->n_lost);
	if (s->n_throttled)
		log_warn("linux.perf: the kernel throttled sampling %llu times "
			 "(kernel.perf_event_max_sample_rate); samples are missing",
			 (unsigned long long)s->n_throttled);
	writer_flush(s->writer);
	leave_bus(s);
	s->is_stopping = false;
	ds_stopped(s->h);
}

/* Runs a round. At its end it answers flushes and the stop. */
static void perf_source_run(struct perf_session *s)
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
		perf_source_finish(s);
	}
}

static void perf_source_on_tick(evutil_socket_t fd, short what, void *ctx)
{
	struct perf_session *s = ctx;

	(void)fd;
	(void)what;
	s->reads_soon = false;
	event_timer_ms(s->tick, clock_ms_to_tick(s->perf.read_ms));
	perf_source_run(s);
}

/*
 * A ring has reached its watermark, or the program has a sample of a process without tables. With a
 * program the newest records matter, and are read when they are old enough (CPU_RINGS_DELAY_NS);
 * else the ring is half full.
 */
static void perf_source_on_wakeup(evutil_socket_t fd, short what, void *ctx)
{
	struct perf_session *s = ctx;

	(void)fd;
	(void)what;
	if (!s->program) {
		perf_source_run(s);
	} else if (!s->reads_soon) {
		s->reads_soon = true;
		event_timer_ms(s->tick, 1 + CPU_RINGS_DELAY_NS / NS_PER_MS);
	}
}

static void on_resolver_ready(void *ctx)
{
	perf_source_run(ctx);
}

/* ---- set up ---- */

static void perf_destroy(void *instance)
{
	struct perf_session *s = instance;

	if (!s)
		return;
	leave_bus(s);
	perf_events_close(s);
	cpu_rings_deinit(&s->rings);
	event_freep(&s->tick);
	stack_resolver_deinit(&s->resolver);
	free(s->samples);
	free(s->follower_counts);
	while (s->n_additional)
		free(s->additional[--s->n_additional]);
	free(s->additional);
	free(s->tids);
	free(s->renamed);
	writer_free(s->writer);
	if (s->config)
		pb__data_source_config__free_unpacked(s->config, NULL);
	free(s);
}

static void perf_source_destroyp(struct perf_session **s)
{
	perf_destroy(*s);
}

/* The config is valid during create only. */
static int perf_source_copy_config(struct perf_session *s, const Pb__DataSourceConfig *config)
{
	size_t len = pb__data_source_config__get_packed_size(config);
	_cleanup_(freep) uint8_t *bytes = malloc(len + 1);

	if (!bytes)
		return -ENOMEM;
	pb__data_source_config__pack(config, bytes);
	s->config = pb__data_source_config__unpack(NULL, len, bytes);
	return s->config ? 0 : -ENOMEM;
}

static int perf_source_read_config(struct perf_session *s, const struct ds_env *env)
{
	static const Pb__PerfEventConfig none = PB__PERF_EVENT_CONFIG__INIT;
	const Pb__PerfEventConfig *m = s->config->perf_event_config;
	struct perf_config_env config_env = {env->tracefs_root, env->sys_root,
					     ds_consumer_is_root(s->h)};
	int r = perf_config_read(m ? m : &none, &config_env, &s->perf, &s->refused);

	if (r < 0)
		log_warn("linux.perf: %s", s->refused.text);
	return r;
}

/*
 * Reads the config and opens the rings. A refusal by the config or the kernel is written to the
 * trace, which then has no samples.
 */
static int read_config_and_open(struct perf_session *s, const struct ds_env *env)
{
	int r = perf_source_read_config(s, env);

	if (r == 0) {
		r = perf_events_open(s);
		if (r < 0)
			(void)err_set(&s->refused, r, "perf_event_open");
	}
	if (r == 0)
		return stack_resolver_join(&s->resolver, env->loop, env->proc_root,
					   s->perf.has_user_frames, s->perf.has_kernel_frames);
	s->refusal = r;
	return r == -ENOMEM ? r : 0;
}

static int perf_create(struct ds_handle *h, const struct ds_env *env,
		       const Pb__DataSourceConfig *config, void **ret_instance)
{
	_cleanup_(perf_source_destroyp) struct perf_session *s = calloc(1, sizeof(*s));
	int r = s ? perf_source_copy_config(s, config) : -ENOMEM;

	if (r < 0)
		return r;
	s->h = h;
	s->loop = env->loop;
	s->proc_root = env->proc_root;
	s->bus = env->bus;
	s->resolver = (struct stack_resolver){
		.source = "linux.perf", .rings = &s->rings, .ready = on_resolver_ready, .ctx = s};
	r = stack_resolver_init(&s->resolver, env->loop, !ds_consumer_is_root(h));
	if (r < 0)
		return r;
	s->woke = perf_source_on_wakeup;
	s->tick = evtimer_new(env->loop, perf_source_on_tick, s);
	s->writer = ds_writer_new(h);
	if (!s->tick || !s->writer)
		return -ENOMEM;
	ds_yield_to_root(h, s->tick);
	ds_yield_to_root(h, s->resolver.deadline);
	r = read_config_and_open(s, env);
	if (r < 0)
		return r;
	s->is_publisher = s->bus && metadata_bus_register(s->bus, ds_session_id(h), s) == 0;
	*ret_instance = TAKE_PTR(s);
	return 0;
}

/* ---- start, flush, clear and stop ---- */

static void perf_start(void *instance)
{
	struct perf_session *s = instance;

	int r = perf_events_enable(s, true);

	s->is_started = true;
	if (r < 0)
		log_warn("linux.perf: not all events could be enabled: %s", strerror(-r));
	if (s->refusal || *s->by_frame_pointers.text)
		perf_packets_write_refusal(s);
	if (!s->refusal)
		perf_source_on_tick(-1, 0, s);
	ds_started(s->h);
}

/*
 * Reads all records from before the flush, also those that CPU_RINGS_DELAY_NS would leave: the records
 * of a running CPU are visible at once.
 */
static void perf_flush(void *instance, uint64_t flush_id)
{
	struct perf_session *s = instance;

	if (!flushes_add(&s->flushes, flush_id)) {
		flushes_answer(&s->flushes, s->h);
		flushes_add(&s->flushes, flush_id);
	}
	s->reads_all = true;
	s->has_read = false;
	perf_source_run(s);
}

static void perf_clear(void *instance)
{
	struct perf_session *s = instance;

	s->has_state = false;
}

static void perf_stop(void *instance)
{
	struct perf_session *s = instance;

	(void)perf_events_enable(s, false);
	event_del(s->tick);
	s->is_stopping = s->reads_all = s->resolver.is_last_round = true;
	s->has_read = false;
	perf_source_run(s);
}

const struct data_source perf_data_source = {
	.name = "linux.perf",
	.handles_incremental_state_clear = true,
	/* CAP_SYS_ADMIN: for kernels before 5.8, and to lower kptr_restrict; CAP_DAC_READ_SEARCH:
	 * the numbers of tracepoints. */
	.capabilities = 1ull << CAP_PERFMON | 1ull << CAP_SYSLOG | 1ull << CAP_SYS_ADMIN |
			1ull << CAP_DAC_READ_SEARCH | 1ull << CAP_SYS_NICE | 1ull << CAP_BPF,
	.is_timely = true,
	.create = perf_create,
	.start = perf_start,
	.flush = perf_flush,
	.clear = perf_clear,
	.stop = perf_stop,
	.destroy = perf_destroy,
};
