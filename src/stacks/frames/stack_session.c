/* SPDX-License-Identifier: Apache-2.0 */
#include "stacks/frames/stack_session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <event2/event.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/event_loop/event_free.h"
#include "base/event_loop/event_timer.h"
#include "gen/fields.h"

/* ---- rounds ---- */

/* Runs the passes of a round. Returns true if the rings are read to the end and everything is
 * written; false if the round waits for an answer. */
static bool run_round(struct stack_session *s)
{
	bool is_last;

	do {
		s->has_read = !stack_resolver_is_waiting(&s->resolver) &&
			      (s->has_read || s->ops->read(s));
		if (!s->has_read || !stack_resolver_request_names(&s->resolver)) {
			stack_resolver_begin_waiting(&s->resolver);
			return false;
		}
		s->has_read = false;
		is_last = !s->has_more && !stacks_is_full(&s->resolver.stacks);
		s->ops->write(s, is_last);
		if (stack_resolver_end_packets(&s->resolver)) {
			memset(s->has_state, 0, sizeof(s->has_state));
			if (s->ops->on_stacks_reset)
				s->ops->on_stacks_reset(s);
		}
	} while (!is_last);
	stack_resolver_end_round(&s->resolver);
	return true;
}

static void flush_writers(struct stack_session *s)
{
	writer_flush(s->writer);
	if (s->other_writer)
		writer_flush(s->other_writer);
}

static void leave_bus(struct stack_session *s)
{
	if (s->is_publisher)
		metadata_bus_unregister(s->bus, ds_session_id(s->h), s);
	s->is_publisher = false;
}

/* Runs a round. At its end it answers flushes and the stop. */
static void stack_session_run(struct stack_session *s)
{
	if (!s->is_started || !run_round(s))
		return;
	s->reads_all = s->is_stopping;
	if (s->flushes.n) {
		flush_writers(s);
		flushes_answer(&s->flushes, s->h);
	}
	if (s->is_stopping) {
		s->is_started = s->is_stopping = false;
		s->ops->finish(s);
		flush_writers(s);
		leave_bus(s);
		ds_stopped(s->h);
	}
}

static void stack_session_on_tick(evutil_socket_t fd, short what, void *ctx)
{
	struct stack_session *s = ctx;

	s->reads_soon = false;
	event_timer_ms(s->tick, clock_ms_to_tick(s->read_ms));
	if (s->ops->tick)
		s->ops->tick(s);
	stack_session_run(s);
}

/* Brings the next tick forward: the program's ring is half full, or has a stack of a process
 * without tables. The newest records matter, and are read when they are old enough
 * (CPU_RINGS_DELAY_NS). */
static void stack_session_on_program(evutil_socket_t fd, short what, void *ctx)
{
	struct stack_session *s = ctx;

	if (s->reads_soon)
		return;
	s->reads_soon = true;
	event_timer_ms(s->tick, 1 + CPU_RINGS_DELAY_NS / NS_PER_MS);
}

/* Called when a ring has reached its watermark. Reads the rings now, or a little later if its
 * records are still too young. */
static void stack_session_on_ring(evutil_socket_t fd, short what, void *ctx)
{
	struct stack_session *s = ctx;

	if (s->delays_rings)
		stack_session_on_program(fd, what, ctx);
	else
		stack_session_run(s);
}

static void stack_session_on_ready(void *ctx)
{
	stack_session_run(ctx);
}

/* ---- its life ---- */

int stack_session_init(struct stack_session *s, struct ds_handle *h, const struct ds_env *env,
		       const char *source, const struct stack_session_ops *ops)
{
	int r;

	s->ops = ops;
	s->h = h;
	s->loop = env->loop;
	s->proc_root = env->proc_root;
	s->bus = env->bus;
	s->resolver = (struct stack_resolver){
		.source = source, .rings = &s->rings, .ready = stack_session_on_ready, .ctx = s};
	r = stack_resolver_init(&s->resolver, s->loop, !ds_consumer_is_root(h));
	if (r < 0)
		return r;
	s->tick = evtimer_new(s->loop, stack_session_on_tick, s);
	s->writer = ds_writer_new(h);
	if (!s->tick || !s->writer)
		return -ENOMEM;
	ds_yield_to_root(h, s->tick);
	ds_yield_to_root(h, s->resolver.deadline);
	s->is_publisher = s->bus && metadata_bus_register(s->bus, ds_session_id(h), s) == 0;
	return 0;
}

void stack_session_deinit(struct stack_session *s)
{
	leave_bus(s);
	event_freep(&s->program_wakeup);
	event_freep(&s->tick);
	stack_resolver_deinit(&s->resolver);
	cpu_rings_deinit(&s->rings);
	free(s->tids);
	writer_free(s->writer);
	writer_free(s->other_writer);
}

int stack_session_watch_rings(struct stack_session *s)
{
	int r = cpu_rings_watch(&s->rings, s->loop, stack_session_on_ring, s);

	for (unsigned i = 0; r == 0 && i < s->rings.n; i++)
		ds_yield_to_root(s->h, s->rings.items[i].wakeup);
	return r;
}

int stack_session_watch_program(struct stack_session *s, int fd)
{
	s->program_wakeup =
		event_new(s->loop, fd, EV_READ | EV_PERSIST | EV_ET, stack_session_on_program, s);
	if (!s->program_wakeup)
		return -ENOMEM;
	ds_yield_to_root(s->h, s->program_wakeup);
	return 0;
}

/* ---- start, flush, clear and stop ---- */

void stack_session_start(struct stack_session *s)
{
	s->is_started = true;
	if (!s->refusal)
		stack_session_on_tick(-1, 0, s);
	ds_started(s->h);
}

/* Reads all records from before the flush, also those that CPU_RINGS_DELAY_NS would leave: the
 * records of a running CPU are visible at once. */
void stack_session_flush(void *instance, uint64_t flush_id)
{
	struct stack_session *s = instance;

	if (!flushes_add(&s->flushes, flush_id)) {
		flushes_answer(&s->flushes, s->h);
		flushes_add(&s->flushes, flush_id);
	}
	s->reads_all = true;
	s->has_read = false;
	stack_session_run(s);
}

void stack_session_clear(void *instance)
{
	struct stack_session *s = instance;

	memset(s->has_state, 0, sizeof(s->has_state));
}

void stack_session_stop(struct stack_session *s)
{
	event_del(s->tick);
	s->is_stopping = s->reads_all = s->resolver.is_last_round = true;
	s->has_read = false;
	stack_session_run(s);
}

/* ---- packets ---- */

#define CLOCK_BOOTTIME_ID 6

struct pb_enc *stack_session_begin_packet_now(struct stack_session *s)
{
	struct pb_enc *e = writer_begin(s->writer);

	pb_enc_u64(e, PB_TRACE_PACKET_TIMESTAMP, clock_boot_ns());
	pb_enc_u64(e, PB_TRACE_PACKET_TIMESTAMP_CLOCK_ID, CLOCK_BOOTTIME_ID);
	return e;
}

void stack_session_switch_sequence(struct stack_session *s)
{
	struct writer *other = s->other_writer;

	if (!other)
		return;
	s->other_writer = s->writer;
	s->writer = other;
	s->resolver.stacks.sequence = 1 - s->resolver.stacks.sequence;
}

struct pb_enc *stack_session_begin_state(struct stack_session *s)
{
	bool *has_state = &s->has_state[s->resolver.stacks.sequence];
	struct pb_enc *e;

	if (*has_state && !writer_has_lost(s->writer))
		return NULL;
	stacks_clear_written(&s->resolver.stacks);
	*has_state = true;
	e = stack_session_begin_packet_now(s);
	pb_enc_u64(e, PB_TRACE_PACKET_SEQUENCE_FLAGS, STACK_STATE_BEGINS);
	return e;
}

struct pb_enc *stack_session_begin_packet(struct stack_session *s, uint64_t time, uint32_t stack)
{
	struct stacks *stacks = &s->resolver.stacks;
	struct pb_enc *e = writer_begin(s->writer);

	pb_enc_u64(e, PB_TRACE_PACKET_TIMESTAMP, time);
	pb_enc_u64(e, PB_TRACE_PACKET_SEQUENCE_FLAGS, STACK_STATE_NEEDED);
	if (stack && !stacks_has_written(stacks, stack - 1)) {
		pb_enc_open(e, PB_TRACE_PACKET_INTERNED_DATA);
		stacks_write_interned(stacks, stack - 1, e);
		pb_enc_close(e);
	}
	return e;
}

/* ---- threads ---- */

bool stack_session_has_subscriber(const struct stack_session *s)
{
	return s->is_publisher && metadata_bus_has_subscriber(s->bus, ds_session_id(s->h));
}

int stack_session_reserve_tids(struct stack_session *s, size_t n)
{
	return array_reserve(&s->tids, &s->cap_tids, n, sizeof(*s->tids));
}

static int compare_tids(const void *a, const void *b)
{
	int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;

	return x < y ? -1 : x > y;
}

void stack_session_publish_tids(struct stack_session *s, size_t n)
{
	struct metadata_batch batch = {.tids = s->tids};

	qsort(s->tids, n, sizeof(*s->tids), compare_tids);
	for (size_t i = 0; i < n; i++)
		if (s->tids[i] > 0 &&
		    (batch.n_tids == 0 || s->tids[batch.n_tids - 1] != s->tids[i]))
			s->tids[batch.n_tids++] = s->tids[i];
	metadata_bus_publish(s->bus, ds_session_id(s->h), &batch);
}
