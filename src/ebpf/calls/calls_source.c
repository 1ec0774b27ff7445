/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The programs record from the start until the stop. An iteration of the loop reads a batch of
 * their records; a flush and the stop wait until the ring is empty.
 */
#include "ebpf/calls/calls_source.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>

#include <event2/event.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/event_loop/event_free.h"
#include "base/event_loop/event_timer.h"
#include "base/system/log.h"
#include "base/system/own_processes.h"
#include "base/system/syscall_names.h"
#include "ebpf/calls/calls_session.h"

#define CALLS_READ_MS 100 /* time between two reads */
#define CALLS_BATCH_MAX 2048 /* records of a batch */
#define CALLS_WAITED_FOR (1u << 19) /* more records than the ring has room for */
#define CALLS_MEASURE_MS 1000

/* ---- reading ---- */

/* Reads a batch of records. Returns true if the ring is empty. */
static bool calls_source_read(struct calls_session *s)
{
	const void *record;
	uint32_t size;

	for (unsigned i = 0; s->program && i < CALLS_BATCH_MAX; i++) {
		record = calls_program_peek(s->program, &size);
		if (!record)
			return true;
		calls_packets_add_record(s, record, size);
		calls_program_consume(s->program);
	}
	s->left -= MIN(s->left, (size_t)CALLS_BATCH_MAX);
	return !s->program;
}

static void calls_source_leave_bus(struct calls_session *s)
{
	if (s->is_publisher)
		metadata_bus_unregister(s->bus, ds_session_id(s->h), s);
	s->is_publisher = false;
}

static void calls_source_remove_programs(struct calls_session *s)
{
	if (!s->program)
		return;
	calls_program_read_counts(s->program, &s->counts);
	event_freep(&s->program_wakeup);
	calls_program_free(TAKE_PTR(s->program));
}

static void write_open_call(void *ctx, const struct call_record *r)
{
	calls_packets_write_open_call(ctx, r);
}

static void calls_source_finish(struct calls_session *s)
{
	if (s->program)
		calls_program_each_open_call(s->program, write_open_call, s);
	calls_source_remove_programs(s);
	calls_packets_write_stats(s);
	calls_packets_publish_tids(s);
	writer_flush(s->writer);
	calls_source_leave_bus(s);
	event_del(s->tick);
	s->is_started = s->is_stopping = false;
	ds_stopped(s->h);
}

/* Reads a batch of records. Answers flushes and the stop when the ring is empty, or when more was
 * read than the ring can hold; else it continues in the next iteration of the loop. */
static void calls_source_read_batch(struct calls_session *s)
{
	bool is_empty;

	if (!s->is_started)
		return;
	is_empty = calls_source_read(s);
	calls_packets_publish_tids(s);
	if (!is_empty && s->left) {
		event_timer_soon(s->tick);
		return;
	}
	if (s->flushes.n) {
		writer_flush(s->writer);
		flushes_answer(&s->flushes, s->h);
	}
	if (s->is_stopping) {
		calls_source_finish(s);
		return;
	}
	if (is_empty)
		event_timer_ms(s->tick, clock_ms_to_tick(CALLS_READ_MS));
	else
		event_timer_soon(s->tick);
}

static void calls_source_on_tick(evutil_socket_t fd, short what, void *ctx)
{
	struct calls_session *s = ctx;
	uint64_t now = clock_boot_ns();

	(void)fd;
	(void)what;
	if (s->program && now >= s->measure_due) {
		s->measure_due = now + CALLS_MEASURE_MS * NS_PER_MS;
		calls_program_measure_cost(s->program);
	}
	calls_source_read_batch(s);
}

static void calls_source_on_program(evutil_socket_t fd, short what, void *ctx)
{
	(void)fd;
	(void)what;
	calls_source_read_batch(ctx);
}

/* ---- set up ---- */

static void calls_destroy(void *instance)
{
	struct calls_session *s = instance;

	if (!s)
		return;
	calls_source_leave_bus(s);
	event_freep(&s->program_wakeup);
	calls_program_free(s->program);
	event_freep(&s->tick);
	calls_packets_free_threads(s);
	calls_config_deinit(&s->config);
	strbuf_deinit(&s->text);
	free(s->tids);
	writer_free(s->writer);
	free(s);
}

static void calls_source_destroyp(struct calls_session **s)
{
	calls_destroy(*s);
}

static void calls_source_index_rows(struct calls_session *s)
{
	for (uint32_t i = 0; i < n_call_rows; i++) {
		int number = syscall_number(call_rows[i].name, false);
		int compat = syscall_number(call_rows[i].name, true);

		if (number >= 0 && number < CALLS_NUMBERS)
			s->rows[number] = &call_rows[i];
		if (compat >= 0 && compat < CALLS_NUMBERS)
			s->rows[CALLS_COMPAT + compat] = &call_rows[i];
	}
}

/* Creates an instance. If the config is refused, that is written to the trace, which then has no
 * calls. */
static int calls_create(struct ds_handle *h, const struct ds_env *env,
			const Pb__DataSourceConfig *config, void **ret_instance)
{
	_cleanup_(calls_source_destroyp) struct calls_session *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->h = h;
	s->loop = env->loop;
	s->bus = env->bus;
	s->tracefs_root = env->tracefs_root;
	s->tick = evtimer_new(env->loop, calls_source_on_tick, s);
	s->writer = ds_writer_new(h);
	if (!s->tick || !s->writer)
		return -ENOMEM;
	ds_yield_to_root(h, s->tick);
	calls_source_index_rows(s);
	s->refusal = calls_config_read(config->syscalls_config, ds_consumer_uid(h), &s->config,
				       &s->refused);
	if (!s->refusal)
		s->refusal = subject_find_ids(config->subject_config, env->sys_root,
					      &s->config.subject, &s->refused);
	s->config.subject.loop = env->loop;
	if (s->refusal == -ENOMEM)
		return s->refusal;
	own_processes_find(env->proc_root, env->service_pid, s->config.settings.own, CALLS_OWN_MAX);
	s->is_publisher = s->bus && metadata_bus_register(s->bus, ds_session_id(h), s) == 0;
	*ret_instance = TAKE_PTR(s);
	return 0;
}

/* ---- start, flush, clear and stop ---- */

static void calls_source_start_programs(struct calls_session *s)
{
	s->refusal = calls_program_new(&s->config, s->tracefs_root, &s->program, &s->refused);
	if (s->refusal)
		return;
	s->program_wakeup = event_new(s->loop, calls_program_wakeup_fd(s->program),
				      EV_READ | EV_PERSIST | EV_ET, calls_source_on_program, s);
	if (s->program_wakeup) {
		ds_yield_to_root(s->h, s->program_wakeup);
		event_add(s->program_wakeup, NULL);
	}
	event_timer_ms(s->tick, clock_ms_to_tick(CALLS_READ_MS));
}

static void calls_start(void *instance)
{
	struct calls_session *s = instance;

	s->is_started = true;
	if (!s->refusal)
		calls_source_start_programs(s);
	if (s->refusal)
		log_warn("linux.syscalls: %s", s->refused.text);
	ds_started(s->h);
}

static void calls_flush(void *instance, uint64_t flush_id)
{
	struct calls_session *s = instance;

	if (!flushes_add(&s->flushes, flush_id)) {
		flushes_answer(&s->flushes, s->h);
		flushes_add(&s->flushes, flush_id);
	}
	s->left = CALLS_WAITED_FOR;
	calls_source_read_batch(s);
}

static void calls_clear(void *instance)
{
	struct calls_session *s = instance;

	s->generation = 0;
}

static void calls_stop(void *instance)
{
	struct calls_session *s = instance;

	s->is_stopping = true;
	s->left = CALLS_WAITED_FOR;
	calls_source_read_batch(s);
}

const struct data_source syscalls_data_source = {
	.name = "linux.syscalls",
	.handles_incremental_state_clear = true,
	.capabilities = 1ull << CAP_BPF | 1ull << CAP_PERFMON | 1ull << CAP_SYSLOG |
			1ull << CAP_SYS_ADMIN | 1ull << CAP_DAC_READ_SEARCH |
			1ull << CAP_SYS_PTRACE | 1ull << CAP_SYS_NICE,
	.is_timely = true,
	.create = calls_create,
	.start = calls_start,
	.flush = calls_flush,
	.clear = calls_clear,
	.stop = calls_stop,
	.destroy = calls_destroy,
};
