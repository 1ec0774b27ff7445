/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/data_source/startup.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "client/producer/service_link.h"
#include "client/transport/arbiter.h"
#include "lib/data_source/event_writer.h"
#include "lib/data_source/instance.h"

#define STARTUP_ID 1
/* Far above the ids of the connection's writers, so that no two writers have the same id. */
#define FIRST_WRITER_ID 16384u
#define PAGE_SIZE 4096u

static struct startup {
	struct source_host host;
	struct instance *in; /* NULL: none */
	struct io_timer timer;
	bool (*may_take_over)(unsigned instance, const void *object);
	struct instance_session next; /* the session that was set up; host NULL: none */
	const struct source_host *to; /* the service that gets the chunks; NULL: none yet */
} startup;

/* ---- the memory: its chunks stay until a session starts ---- */

static void on_schedule(void *ctx, bool urgent)
{
	(void)ctx, (void)urgent;
}

static int on_commit(void *ctx, const void *request, size_t len)
{
	(void)ctx;
	return startup.to ? service_link_commit(startup.to->link, request, len) : -EAGAIN;
}

static int on_drain(void *ctx, int timeout_ms)
{
	(void)ctx, (void)timeout_ms;
	return -EPIPE; /* no writer waits for room */
}

static void on_writer_added(void *ctx, uint16_t writer_id, uint16_t target_buffer)
{
	(void)ctx, (void)writer_id, (void)target_buffer;
}

static void on_writer_removed(void *ctx, uint16_t writer_id)
{
	(void)ctx, (void)writer_id;
}

static const struct arbiter_ops arbiter_ops = {
	.schedule = on_schedule,
	.commit = on_commit,
	.drain = on_drain,
	.writer_added = on_writer_added,
	.writer_removed = on_writer_removed,
};

static int make_startup_arbiter(struct arbiter **ret)
{
	const struct arbiter_options o = {
		.ops = &arbiter_ops, .first_writer_id = FIRST_WRITER_ID, .keeps = true};
	struct arbiter *a;
	int r = arbiter_new(&o, &a);

	if (r < 0)
		return r;
	r = arbiter_attach_private(a, PAGE_SIZE);
	if (r < 0) {
		arbiter_free(a);
		return r;
	}
	/* Patches go directly into the chunks, so that no patch waits for a commit. */
	arbiter_patch_in_place(a, true);
	*ret = a;
	return 0;
}

/* ---- its end ---- */

static void startup_on_timer(struct io_timer *t)
{
	(void)t;
	startup_end();
}

static void forget_next_session(void)
{
	if (startup.next.host)
		user_object_unref(startup.next.user);
	startup.next = (struct instance_session){0};
}

void startup_end(void)
{
	struct instance *in = TAKE_PTR(startup.in);
	char sentence[128];
	uint64_t n;

	if (!in)
		return;
	io_disarm(&library_loop, &startup.timer);
	forget_next_session();
	instance_end(in);
	n = atomic_load_explicit(&in->written, memory_order_relaxed);
	atomic_fetch_add_explicit(&in->source->dropped, n, memory_order_relaxed);
	arbiter_free(TAKE_PTR(startup.host.arbiter));
	snprintf(sentence, sizeof(sentence),
		 "no session has taken over the startup events: %llu packets are dropped",
		 (unsigned long long)n);
	source_host_report(&startup.host, sentence);
}

void startup_after_fork_in_child(void)
{
	if (startup.in)
		arbiter_after_fork_in_child(startup.host.arbiter);
	startup = (struct startup){0};
}

/* ---- a session takes it over ---- */

static const struct instance *offer(const struct source *s)
{
	return startup.in && startup.in->source == s && !startup.next.host ? startup.in : NULL;
}

static bool startup_set_up(const struct instance_session *next)
{
	if (!startup.may_take_over(startup.in->slot, next->user->object))
		return false;
	startup.next = *next;
	return true;
}

static void free_writer(struct thread *t, void *ctx)
{
	event_writer_free(t, ctx);
}

/* Makes the instance that of the session. All threads are outside meanwhile, so each event is
 * written once. */
static void assign_to_session(void *ctx)
{
	struct instance *in = ctx;
	struct user_object *old = in->user;

	in->epoch++;
	in->host = startup.next.host;
	in->id = startup.next.id;
	in->target_buffer = startup.next.target_buffer;
	in->stalls = startup.next.stalls;
	in->user = startup.next.user;
	startup.next.user = old;
}

/* Sends the recorded chunks to the service of the session. */
static void send_recorded_chunks(const struct instance *in)
{
	struct arbiter *a = TAKE_PTR(startup.host.arbiter);

	startup.to = in->host;
	arbiter_retarget(a, in->target_buffer);
	arbiter_commit(a);
	arbiter_free(a);
	startup.to = NULL;
}

static bool startup_start(const struct source_host *h, uint64_t id)
{
	struct instance *in = startup.in;
	struct source *s;

	if (!in || startup.next.host != h || startup.next.id != id)
		return false;
	s = in->source;
	io_disarm(&library_loop, &startup.timer);
	threads_claim_all(free_writer, assign_to_session, in);
	if (s->callbacks.on_start)
		s->callbacks.on_start(s->ctx, in->user->object);
	send_recorded_chunks(in);
	startup.in = NULL;
	forget_next_session(); /* the previous user object */
	return true;
}

static void startup_stop(const struct source_host *h, uint64_t id)
{
	if (startup.next.host == h && startup.next.id == id)
		forget_next_session();
}

static void forget_lost_host(const struct source_host *h)
{
	if (startup.next.host == h)
		forget_next_session();
}

static const struct startup_ops ops = {.offer = offer,
				       .set_up = startup_set_up,
				       .start = startup_start,
				       .stop = startup_stop,
				       .lost = forget_lost_host};

/* ---- its begin ---- */

int startup_begin(const struct startup_options *o)
{
	struct source *s = source_find(o->source, strlen(o->source));
	struct arbiter *a;
	int r;

	if (!s)
		return -ENOENT;
	if (startup.in)
		return -EBUSY;
	r = make_startup_arbiter(&a);
	if (r < 0)
		return r;
	startup = (struct startup){.host = {.arbiter = a, .trouble = o->trouble},
				   .timer = {.fn = startup_on_timer},
				   .may_take_over = o->may_take_over};
	startup_ops = &ops;
	instance_begin(&startup.host, STARTUP_ID, o->config, o->config_len);
	startup.in = instance_find(&startup.host, STARTUP_ID);
	if (!startup.in) {
		arbiter_free(a);
		return -ENOMEM; /* or all instances of the source are in use */
	}
	io_arm(&library_loop, &startup.timer, o->ms);
	return 0;
}
