/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tick works through these steps; later ticks do what is left:
 *
 *	records of the programs  ->  threads that existed before  ->  a walk  ->  groups
 *
 * The programs run before the threads and groups are listed, so nothing is missed. Rows have the
 * ids of groups and do not wait for their paths. A flush, and the stop, are answered when nothing
 * is left to do.
 */
#include "ebpf/members/members_source.h"

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
#include "base/event_loop/time_slice.h"
#include "base/system/log.h"
#include "ebpf/members/members_groups.h"
#include "ebpf/members/members_packets.h"
#include "ebpf/members/members_poll.h"
#include "ebpf/members/members_program.h"

#define READ_MS 250 /* time between two reads of the ring, which has room for 26,000 rows */
#define POLL_MS 1000
#define POLL_MIN_MS 100u
#define POLL_SHARE 20 /* passes over /proc take at most 1/POLL_SHARE of the time */
#define WALK_AGAIN_NS NS_PER_S /* until the first walk for a group whose path is unknown */
#define WALK_AGAIN_MAX_NS (64 * NS_PER_S) /* each further walk comes after twice the time */
#define NAMES_MS 300 /* time for which the stop waits for names */
#define RECORDS_EACH 256 /* of a step */

struct members {
	struct ds_handle *h; /* borrowed, as are the next two */
	const char *tracefs_root;
	bool no_ebpf;
	uint32_t poll_ms;
	struct event_base *loop; /* borrowed */
	struct writer *writer; /* owned */
	struct event *tick, *group_made; /* owned; NULL: see watch_new_groups() */
	struct members_program *program; /* owned; NULL: it polls, or has stopped */
	struct err_text polled_because; /* "": it does not poll */
	struct member_groups groups;
	struct members_packets packets;
	struct members_poll poll;
	int threads_fd; /* owned; an iteration over all threads; -1: none */
	uint64_t walk_due, walk_after; /* the next walk, CLOCK_MONOTONIC; the time until it */
	uint64_t stop_due; /* CLOCK_MONOTONIC: the stop waits for names until then */
	uint64_t poll_due; /* CLOCK_MONOTONIC */
	uint64_t lost, lost_written;
	bool is_started, is_stopping;
	struct flushes flushes;
};

static bool uses_polling(const struct members *s)
{
	return s->polled_because.text[0];
}

/* ---- steps: each returns true if there is more to do ---- */

/* Handles the next records of the ring. Returns false if it is empty now. */
static bool read_records(struct members *s)
{
	const void *record;
	uint32_t type;

	for (unsigned i = 0; i < RECORDS_EACH; i++) {
		const struct member_group *g;

		record = s->program ? members_program_peek(s->program, &type) : NULL;
		if (!record)
			return false;
		g = record;
		if (type == MEMBER_ROW)
			members_packets_add_row(&s->packets, record, false);
		else if (type == MEMBER_GROUP)
			member_groups_add(&s->groups, g->group, g->parent, g->path);
		else
			member_groups_remove(&s->groups, g->group);
		members_program_consume(s->program);
	}
	return true;
}

/* Adds rows of the threads that existed before the programs ran; after a clear, of all threads. */
static bool read_threads(struct members *s)
{
	struct member_row rows[RECORDS_EACH];
	ssize_t n;

	if (s->threads_fd < 0)
		return false;
	n = read(s->threads_fd, rows, sizeof(rows));
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return true;
	for (ssize_t i = 0; i < n / (ssize_t)sizeof(*rows); i++)
		members_packets_add_row(&s->packets, &rows[i], true);
	if (n <= 0)
		closep(&s->threads_fd);
	return n > 0;
}

static bool members_source_step(struct members *s)
{
	return read_records(s) || read_threads(s) || members_poll_step(&s->poll, &s->packets) ||
	       member_groups_walk_step(&s->groups) || members_packets_write_groups(&s->packets);
}

/* ---- the tick ---- */

static void write_stats(struct members *s, bool always)
{
	if (s->program)
		s->lost = members_program_count_lost(s->program);
	if (!always && s->lost + s->packets.refused + s->groups.refused == s->lost_written)
		return;
	s->lost_written = s->lost + s->packets.refused + s->groups.refused;
	members_packets_write_stats(&s->packets, s->lost_written,
				    uses_polling(s) ? s->polled_because.text : NULL, s->poll_ms);
}

static void free_program(struct members *s)
{
	event_freep(&s->group_made);
	members_program_free(TAKE_PTR(s->program));
}

static void members_source_finish_stop(struct members *s)
{
	write_stats(s, true);
	writer_flush(s->writer);
	free_program(s);
	s->is_started = s->is_stopping = false;
	ds_stopped(s->h);
}

/* Ends a tick that left nothing to do: answers flushes, and the stop when all names are known. */
static void members_source_end_turn(struct members *s)
{
	members_packets_end(&s->packets);
	write_stats(s, false);
	if (s->flushes.n) {
		writer_flush(s->writer);
		flushes_answer(&s->flushes, s->h);
	}
	if (!s->is_stopping)
		event_timer_ms(s->tick, clock_ms_to_tick(READ_MS));
	else if (clock_mono_ns() < s->stop_due && !member_groups_are_named(&s->groups))
		event_timer_ms(s->tick, 1);
	else
		members_source_finish_stop(s);
}

static void begin_due_passes(struct members *s)
{
	uint64_t now = clock_mono_ns();

	if (s->groups.has_unknown && now >= s->walk_due) {
		s->walk_after = MIN(2 * s->walk_after, WALK_AGAIN_MAX_NS);
		s->walk_due = now + s->walk_after;
		member_groups_begin_walk(&s->groups);
	}
	if (uses_polling(s) && !s->poll.dir && now >= s->poll_due) {
		s->poll_due = now + MAX(s->poll_ms * NS_PER_MS, POLL_SHARE * s->poll.took);
		members_poll_begin(&s->poll);
	}
}

static void members_source_on_tick(evutil_socket_t fd, short what, void *ctx)
{
	struct time_slice slice = time_slice_start(clock_mono_ns);
	struct members *s = ctx;

	(void)fd;
	(void)what;
	begin_due_passes(s);
	do {
		if (!members_source_step(s)) {
			members_source_end_turn(s);
			return;
		}
	} while (!time_slice_over(&slice));
	event_timer_soon(s->tick);
}

static void members_source_on_group_made(evutil_socket_t fd, short what, void *ctx)
{
	struct members *s = ctx;

	(void)fd;
	(void)what;
	event_timer_ms(s->tick, 0); /* earlier than planned */
}

/* ---- life ---- */

/* Reads the name of each new group at once. If groups cannot be watched, the next tick reads it. */
static void watch_new_groups(struct members *s)
{
	int fd = members_program_watched_fd(s->program);

	if (fd < 0)
		return;
	s->group_made = event_new(s->loop, fd, EV_READ | EV_PERSIST | EV_ET,
				  members_source_on_group_made, s);
	if (!s->group_made)
		return;
	ds_yield_to_root(s->h, s->group_made);
	(void)event_add(s->group_made, NULL);
}

static void members_destroy(void *instance)
{
	struct members *s = instance;

	if (!s)
		return;
	event_freep(&s->tick);
	free_program(s);
	closep(&s->threads_fd);
	members_poll_deinit(&s->poll);
	members_packets_deinit(&s->packets);
	member_groups_deinit(&s->groups);
	writer_free(s->writer);
	free(s);
}

static int members_create(struct ds_handle *h, const struct ds_env *env,
			  const Pb__DataSourceConfig *config, void **ret_instance)
{
	const Pb__CgroupMembersConfig *c = config->cgroup_members_config;
	struct members *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->h = h;
	s->tracefs_root = env->tracefs_root;
	s->no_ebpf = c && c->no_ebpf;
	s->poll_ms = c && c->poll_ms ? MAX(c->poll_ms, POLL_MIN_MS) : POLL_MS;
	s->poll.proc_root = env->proc_root;
	s->threads_fd = -1;
	s->loop = env->loop;
	s->tick = evtimer_new(env->loop, members_source_on_tick, s);
	s->writer = ds_writer_new(h);
	if (!s->tick || !s->writer ||
	    member_groups_init(&s->groups, env->sys_root, env->loop) < 0 ||
	    members_packets_init(&s->packets, s->writer, &s->groups) < 0) {
		members_destroy(s);
		return -ENOMEM;
	}
	s->packets.hides_names = !ds_consumer_is_root(h);
	ds_yield_to_root(h, s->tick);
	*ret_instance = s;
	return 0;
}

static void begin_polling(struct members *s)
{
	if (!s->polled_because.text[0])
		(void)err_set(&s->polled_because, 0, "cannot load a BPF program");
	if (!s->no_ebpf)
		log_warn("linux.cgroup_members polls /proc/PID/cgroup instead: %s",
			 s->polled_because.text);
}

static void members_start(void *instance)
{
	struct members *s = instance;

	s->is_started = true;
	if (s->no_ebpf)
		(void)err_set(&s->polled_because, 0, "disabled by no_ebpf in the config");
	else if (members_program_new(s->tracefs_root, &s->program, &s->polled_because) == 0)
		s->polled_because.text[0] = '\0';
	if (s->program) {
		watch_new_groups(s);
		s->threads_fd = members_program_open_threads(s->program);
	} else {
		begin_polling(s);
	}
	s->walk_after = WALK_AGAIN_NS;
	s->walk_due = clock_mono_ns() + s->walk_after;
	member_groups_begin_walk(&s->groups);
	write_stats(s, true);
	/* Without BPF the walk comes before the first pass, which needs the ids of the paths. */
	while (uses_polling(s) && member_groups_walk_step(&s->groups))
		;
	members_source_on_tick(-1, 0, s);
	ds_started(s->h);
}

static void members_flush(void *instance, uint64_t flush_id)
{
	struct members *s = instance;

	if (!flushes_add(&s->flushes, flush_id)) {
		flushes_answer(&s->flushes, s->h);
		flushes_add(&s->flushes, flush_id);
	}
	event_timer_soon(s->tick);
}

static void members_clear(void *instance)
{
	struct members *s = instance;

	member_groups_mark_all_unwritten(&s->groups);
	if (s->program && s->threads_fd < 0)
		s->threads_fd = members_program_open_threads(s->program);
	write_stats(s, true);
}

static void members_stop(void *instance)
{
	struct members *s = instance;

	s->is_stopping = true;
	s->stop_due = clock_mono_ns() + NAMES_MS * NS_PER_MS;
	members_source_on_tick(-1, 0, s);
}

const struct data_source cgroup_members_data_source = {
	.name = "linux.cgroup_members",
	.handles_incremental_state_clear = true,
	.capabilities = 1ull << CAP_BPF | 1ull << CAP_PERFMON | 1ull << CAP_SYS_ADMIN |
			1ull << CAP_DAC_READ_SEARCH,
	.create = members_create,
	.start = members_start,
	.flush = members_flush,
	.clear = members_clear,
	.stop = members_stop,
	.destroy = members_destroy,
};
