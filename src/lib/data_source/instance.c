/* SPDX-License-Identifier: Apache-2.0 */
/*
 *	FREE --setup--> SET_UP --start--> STARTED --stop--> STOPPING --answered--> FREE
 *	                   |                 |  bit in ds->enabled   |  still set
 *	                   +---- the connection is lost, or the source is unregistered ----> FREE
 *
 * All of this runs on the loop's thread. The end of an instance clears its bit, waits until no
 * thread is inside, and frees the writers of all threads, which commits their last chunks. So all
 * data that was written before the answer to a stop is committed before it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "client/producer/service_link.h"
#include "client/transport/arbiter.h"
#include "gen/fields.h"
#include "lib/data_source/event_writer.h"
#include "lib/data_source/startup.h"
#include "lib/public.h"
#include "wire/pb_dec.h"

/* How long a flush waits for threads that are inside. Their data is committed later. */
#define FLUSH_WAIT_MS 100
/* How long the end of an instance waits for room to report dropped packets. */
#define REPORT_WAIT_MS 500

#define STARTUP_ID 1
/* Far above the ids of the connection's writers, so that no two writers have the same id. */
#define FIRST_WRITER_ID 16384u
#define PAGE_SIZE 4096u

/* DataSourceConfig.buffer_exhausted_policy */
enum { POLICY_DROP = 1, POLICY_STALL_THEN_ABORT = 2, POLICY_STALL_THEN_DROP = 3 };

/* ---- answers ---- */

/* One flush command. It is answered when all sources have answered. */
struct flush {
	struct source_host *host; /* NULL: lost */
	uint64_t request;
	unsigned open; /* sources that have not answered */
	struct flush *next; /* the next request */
};

static struct flush *flushes;

struct sonda_answer {
	struct io_task task;
	struct user_object *user; /* a reference */
	struct instance *instance; /* it stops; valid while its epoch is this one */
	uint32_t epoch;
	struct flush *flush; /* NULL: a stop */
	bool later;
};

/* Removes u from its source, calls on_destroy, and frees u unless there are references to it. */
static void user_object_free(struct user_object *u)
{
	struct source *s = u->source;

	for (struct user_object **p = &s->users; *p; p = &(*p)->next)
		if (*p == u) {
			*p = u->next;
			break;
		}
	u->source = NULL;
	if (s->callbacks.on_destroy)
		s->callbacks.on_destroy(s->ctx, u->object);
	if (u->refs == 0)
		free(u);
}

static void user_object_unref(struct user_object *u)
{
	if (--u->refs > 0)
		return;
	if (u->source)
		user_object_free(u);
	else
		free(u);
}

static void flush_writers_of_thread(struct thread *t, void *ctx)
{
	const struct source_host *h = ctx;

	for (struct source *s = source_next(-1); s; s = source_next((int)s->index))
		for (unsigned i = 0; i < SONDA_MAX_INSTANCES; i++)
			if (s->instances[i].state != INSTANCE_FREE && s->instances[i].host == h)
				event_writer_flush(t, &s->instances[i]);
}

/* Answers the flushes at the head of the list that all sources have answered, in the order of the
 * requests, because an answer also answers all earlier requests. Commits the data of all threads
 * before each answer. */
static void instance_answer_flushes(void)
{
	while (flushes && flushes->open == 0) {
		struct flush *f = flushes;

		flushes = f->next;
		if (f->host) {
			threads_claim(flush_writers_of_thread, f->host, FLUSH_WAIT_MS);
			service_link_report_flushed(f->host->link, f->request);
		}
		free(f);
	}
}

static void instance_end(struct instance *in);

static void end_stopped_instance(struct instance *in)
{
	struct source_host *h = in->host;
	uint64_t id = in->id;

	instance_end(in);
	if (h->link)
		service_link_report_stopped(h->link, id);
}

static void on_answer(struct io_task *t)
{
	struct sonda_answer *a = container_of(t, struct sonda_answer, task);

	if (a->flush) {
		a->flush->open--;
		instance_answer_flushes();
	} else if (a->user->source && a->instance->epoch == a->epoch &&
		   a->instance->state == INSTANCE_STOPPING) {
		end_stopped_instance(a->instance);
	}
	user_object_unref(a->user);
	free(a);
}

SONDA_PUBLIC void sonda_answer_later(struct sonda_answer *answer)
{
	answer->later = true;
}

SONDA_PUBLIC void sonda_answer_send(struct sonda_answer *answer)
{
	io_post(&library_loop, &answer->task);
}

static struct sonda_answer *answer_new(struct instance *in, struct flush *flush)
{
	struct sonda_answer *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	*a = (struct sonda_answer){.task = {.fn = on_answer},
				   .user = in->user,
				   .instance = in,
				   .epoch = in->epoch,
				   .flush = flush};
	in->user->refs++;
	return a;
}

/* ---- the instance before its session (startup.h) ---- */

/* A session that was set up, with the object that the user's on_setup returned. */
struct instance_session {
	struct source_host *host;
	uint64_t id;
	uint16_t target_buffer;
	bool stalls;
	struct user_object *user; /* a reference */
};

static struct startup {
	struct source_host host;
	struct instance *in; /* NULL: none */
	struct io_timer timer;
	bool (*may_take_over)(unsigned instance, const void *object);
	struct instance_session next; /* the session that was set up; host NULL: none */
	const struct source_host *to; /* the service that gets the chunks; NULL: none yet */
} startup;

/* Does nothing: the chunks stay in the memory until a session starts. */
static void on_schedule(void *ctx, bool urgent)
{
}

static int on_commit(void *ctx, const void *request, size_t len)
{
	return startup.to ? service_link_commit(startup.to->link, request, len) : -EAGAIN;
}

static int on_drain(void *ctx, int timeout_ms)
{
	return -EPIPE; /* no writer waits for room */
}

static void on_writer_added(void *ctx, uint16_t writer_id, uint16_t target_buffer)
{
}

static void on_writer_removed(void *ctx, uint16_t writer_id)
{
}

static const struct arbiter_ops arbiter_ops = {
	.schedule = on_schedule,
	.commit = on_commit,
	.drain = on_drain,
	.writer_added = on_writer_added,
	.writer_removed = on_writer_removed,
};

/* Creates the arbiter of the startup instance, whose private memory keeps all chunks. Returns 0,
 * -EINVAL or -ENOMEM. */
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

static void clear_next_session(void)
{
	if (startup.next.host)
		user_object_unref(startup.next.user);
	startup.next = (struct instance_session){0};
}

static void free_writer_of_thread(struct thread *t, void *ctx)
{
	event_writer_free(t, ctx);
}

static const struct instance *find_startup_instance(const struct source *s)
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

/* Assigns the startup instance to the session that was set up; startup.next then has the previous
 * user object. No thread writes events during the call, so each event is written once. */
static void assign_instance_to_session(void *ctx)
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
	arbiter_set_target_buffer(a, in->target_buffer);
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
	io_timer_disarm(&library_loop, &startup.timer);
	threads_claim_all(free_writer_of_thread, assign_instance_to_session, in);
	if (s->callbacks.on_start)
		s->callbacks.on_start(s->ctx, in->user->object);
	send_recorded_chunks(in);
	startup.in = NULL;
	clear_next_session(); /* the previous user object */
	return true;
}

static void startup_stop(const struct source_host *h, uint64_t id)
{
	if (startup.next.host == h && startup.next.id == id)
		clear_next_session();
}

/* ---- setup ---- */

struct config {
	const uint8_t *name;
	size_t name_len;
	uint64_t target_buffer, session_id, policy;
};

/* Returns false if the config is malformed or has no name. */
static bool instance_read_config(const void *data, size_t len, struct config *ret)
{
	struct pb_field f;
	struct pb_dec d;

	*ret = (struct config){0};
	pb_dec_init(&d, data, len);
	while (pb_dec_next(&d, &f)) {
		if (f.id == PB_DATA_SOURCE_CONFIG_NAME && f.data) {
			ret->name = f.data;
			ret->name_len = f.len;
		} else if (f.wire_type != PB_WIRE_VARINT) {
			continue;
		} else if (f.id == PB_DATA_SOURCE_CONFIG_TARGET_BUFFER) {
			ret->target_buffer = f.u64;
		} else if (f.id == PB_DATA_SOURCE_CONFIG_TRACING_SESSION_ID) {
			ret->session_id = f.u64;
		} else if (f.id == PB_DATA_SOURCE_CONFIG_BUFFER_EXHAUSTED_POLICY) {
			ret->policy = f.u64;
		}
	}
	return pb_dec_ok(&d) && ret->name;
}

static bool instance_waits_when_full(const struct source *s, const struct config *c)
{
	if (s->full_policy != SONDA_FULL_DEFAULT)
		return s->full_policy == SONDA_FULL_STALL;
	return c->policy == POLICY_STALL_THEN_ABORT || c->policy == POLICY_STALL_THEN_DROP;
}

static struct instance *instance_find(const struct source_host *h, uint64_t id)
{
	for (struct source *s = source_next(-1); s; s = source_next((int)s->index))
		for (unsigned i = 0; i < SONDA_MAX_INSTANCES; i++)
			if (s->instances[i].state != INSTANCE_FREE && s->instances[i].host == h &&
			    s->instances[i].id == id)
				return &s->instances[i];
	return NULL;
}

static struct instance *find_free_slot(struct source *s)
{
	for (unsigned i = 0; i < SONDA_MAX_INSTANCES; i++)
		if (s->instances[i].state == INSTANCE_FREE)
			return &s->instances[i];
	return NULL;
}

static void instance_report(struct source_host *h, const struct source *s, const char *why)
{
	char sentence[256];

	snprintf(sentence, sizeof(sentence), "data source %s records nothing: %s", s->name, why);
	source_host_report(h, sentence);
}

static int make_user_object(struct source *s, const struct sonda_setup *setup,
			    struct user_object **ret)
{
	struct user_object *u = calloc(1, sizeof(*u));
	int r = u ? 0 : -ENOMEM;

	if (r == 0 && s->callbacks.on_setup)
		r = s->callbacks.on_setup(s->ctx, setup, &u->object);
	if (r < 0) {
		free(u);
		return r;
	}
	u->refs = 1;
	u->source = s;
	u->next = s->users;
	s->users = u;
	*ret = u;
	return 0;
}

/* Prepares the session to take over the startup instance. Returns true if it will do so. */
static bool set_up_startup(struct source *s, const struct instance_session *session,
			   const struct sonda_setup *setup)
{
	const struct instance *in = find_startup_instance(s);
	struct instance_session next = *session;
	struct sonda_setup of_slot = *setup;

	if (!in)
		return false;
	of_slot.instance = in->slot;
	if (make_user_object(s, &of_slot, &next.user) < 0)
		return false;
	if (startup_set_up(&next))
		return true;
	user_object_unref(next.user);
	return false;
}

/* Sets up an instance of the session in a free slot. Returns 0, -EMFILE if no slot is free, -ENOMEM
 * or the error of on_setup. */
static int set_up_instance_slot(struct source *s, const struct instance_session *session,
				struct sonda_setup *setup)
{
	struct instance *in = find_free_slot(s);
	int r;

	if (!in)
		return -EMFILE;
	setup->instance = in->slot;
	r = make_user_object(s, setup, &in->user);
	if (r < 0)
		return r;
	in->epoch++;
	in->host = session->host;
	in->id = session->id;
	in->target_buffer = session->target_buffer;
	in->stalls = session->stalls;
	atomic_store_explicit(&in->unreported, 0, memory_order_relaxed);
	atomic_store_explicit(&in->written, 0, memory_order_relaxed);
	in->state = INSTANCE_SET_UP;
	return 0;
}

static void instance_set_up(struct source_host *h, uint64_t id, const void *config, size_t len)
{
	struct sonda_setup setup = {.config = config, .config_len = len};
	struct instance_session session = {.host = h, .id = id};
	struct source *s = NULL;
	struct config c;
	int r;

	if (instance_find(h, id))
		return;
	if (instance_read_config(config, len, &c))
		s = source_find((const char *)c.name, c.name_len);
	if (!s || c.target_buffer > UINT16_MAX)
		return;
	setup.session_id = c.session_id;
	session.target_buffer = (uint16_t)c.target_buffer;
	session.stalls = instance_waits_when_full(s, &c);
	if (set_up_startup(s, &session, &setup))
		return;
	r = set_up_instance_slot(s, &session, &setup);
	if (r < 0)
		instance_report(h, s,
				r == -EMFILE ? "too many sessions are using it" : strerror(-r));
}

static int sources_setup(void *ctx, uint64_t id, const void *config, size_t len)
{
	struct source_host *h = ctx;

	h->sends_setup = true;
	instance_set_up(h, id, config, len);
	return 0;
}

/* ---- start, clear, flush ---- */

static void set_enabled_bit(struct instance *in, bool on)
{
	uint32_t bit = 1u << in->slot;

	if (on)
		__atomic_fetch_or(&in->source->ds->enabled, bit, __ATOMIC_RELEASE);
	else
		__atomic_fetch_and(&in->source->ds->enabled, ~bit, __ATOMIC_SEQ_CST);
}

static void instance_start(struct source_host *h, uint64_t id)
{
	struct instance *in = instance_find(h, id);
	struct source *s;

	if (!in || in->state != INSTANCE_SET_UP)
		return;
	s = in->source;
	in->state = INSTANCE_STARTED;
	if (s->callbacks.on_start)
		s->callbacks.on_start(s->ctx, in->user->object);
	set_enabled_bit(in, true);
}

static void instance_begin(struct source_host *h, uint64_t id, const void *config, size_t len)
{
	instance_set_up(h, id, config, len);
	instance_start(h, id);
}

static int sources_start(void *ctx, uint64_t id, const void *config, size_t len)
{
	struct source_host *h = ctx;

	if (!h->sends_setup)
		instance_set_up(h, id, config, len);
	if (!startup_start(h, id))
		instance_start(h, id);
	service_link_report_started(h->link, id);
	return 0;
}

static void sources_clear(void *ctx, const uint64_t *ids, size_t n)
{
	const struct source_host *h = ctx;

	for (size_t i = 0; i < n; i++) {
		struct instance *in = instance_find(h, ids[i]);
		struct source *s;

		if (!in || in->state != INSTANCE_STARTED)
			continue;
		s = in->source;
		if (s->callbacks.on_clear)
			s->callbacks.on_clear(s->ctx, in->user->object);
		atomic_fetch_add_explicit(&in->clears, 1, memory_order_relaxed);
	}
}

static void flush_instance(struct instance *in, struct flush *f, uint64_t flags)
{
	struct source *s = in->source;
	struct sonda_answer *a;

	if (in->state != INSTANCE_STARTED || !s->callbacks.on_flush)
		return;
	a = answer_new(in, f);
	if (!a)
		return;
	f->open++;
	s->callbacks.on_flush(s->ctx, in->user->object, flags, a);
	if (!a->later)
		sonda_answer_send(a);
}

static void sources_flush(void *ctx, const uint64_t *ids, size_t n, uint64_t request,
			  uint64_t flags)
{
	struct source_host *h = ctx;
	struct flush *f = calloc(1, sizeof(*f)), **last = &flushes;

	if (!f) {
		service_link_report_flushed(h->link, request);
		return;
	}
	*f = (struct flush){.host = h, .request = request, .open = 1};
	while (*last)
		last = &(*last)->next;
	*last = f;
	for (size_t i = 0; i < n; i++) {
		struct instance *in = instance_find(h, ids[i]);

		if (in)
			flush_instance(in, f, flags);
	}
	f->open--;
	instance_answer_flushes();
}

/* ---- stop ---- */

/* Reports, on a new sequence, the dropped packets that freed writers could not report. */
static void report_dropped(const struct instance *in)
{
	uint64_t n = atomic_load_explicit(&in->unreported, memory_order_relaxed);
	struct writer *w = n ? writer_new(in->host->arbiter, in->target_buffer, WRITER_DROP) : NULL;

	if (!w)
		return;
	writer_adopt_loss(w, n);
	writer_report_loss(w, REPORT_WAIT_MS);
	writer_free(w);
}

static void instance_end(struct instance *in)
{
	struct source *s = in->source;

	if (in->state == INSTANCE_STARTED && s->callbacks.on_stop) {
		/* The answer is ignored, because the instance ends at once. */
		struct sonda_answer *a = answer_new(in, NULL);

		if (a) {
			s->callbacks.on_stop(s->ctx, in->user->object, a);
			if (!a->later)
				sonda_answer_send(a);
		}
	}
	set_enabled_bit(in, false);
	threads_claim(free_writer_of_thread, in, -1);
	report_dropped(in);
	in->state = INSTANCE_FREE;
	in->epoch++;
	user_object_unref(TAKE_PTR(in->user));
}

static void sources_stop(void *ctx, uint64_t id)
{
	struct source_host *h = ctx;
	struct instance *in = instance_find(h, id);
	struct sonda_answer *a;
	struct source *s;

	if (!in) {
		startup_stop(h, id);
		service_link_report_stopped(h->link, id);
		return;
	}
	s = in->source;
	if (in->state == INSTANCE_STOPPING)
		return;
	a = in->state == INSTANCE_STARTED && s->callbacks.on_stop ? answer_new(in, NULL) : NULL;
	in->state = INSTANCE_STOPPING;
	if (!a) {
		end_stopped_instance(in);
		return;
	}
	s->callbacks.on_stop(s->ctx, in->user->object, a);
	if (!a->later)
		sonda_answer_send(a);
}

/* ---- a connection ---- */

static int sources_begin(void *ctx, struct service_link *link)
{
	struct source_host *h = ctx;

	*h = (struct source_host){.link = link, .arbiter = link->arbiter};
	return 0;
}

static void sources_end(void *ctx)
{
	struct source_host *h = ctx;

	if (startup.next.host == h)
		clear_next_session();
	for (struct flush *f = flushes; f; f = f->next)
		if (f->host == h)
			f->host = NULL;
	for (struct source *s = source_next(-1); s; s = source_next((int)s->index))
		for (unsigned i = 0; i < SONDA_MAX_INSTANCES; i++)
			if (s->instances[i].state != INSTANCE_FREE && s->instances[i].host == h)
				instance_end(&s->instances[i]);
	*h = (struct source_host){0};
}

const struct service_sources source_commands = {
	.max = SOURCES_MAX,
	.describe = source_describe,
	.begin = sources_begin,
	.end = sources_end,
	.setup = sources_setup,
	.start = sources_start,
	.stop = sources_stop,
	.flush = sources_flush,
	.clear = sources_clear,
};

void source_host_report(const struct source_host *h, const char *sentence)
{
	if (h->link)
		service_link_report(h->link, "%s", sentence);
	else if (h->trouble)
		h->trouble(sentence);
}

/* ---- the life of the startup instance ---- */

void startup_end(void)
{
	struct instance *in = TAKE_PTR(startup.in);
	char sentence[128];
	uint64_t n;

	if (!in)
		return;
	io_timer_disarm(&library_loop, &startup.timer);
	clear_next_session();
	instance_end(in);
	n = atomic_load_explicit(&in->written, memory_order_relaxed);
	atomic_fetch_add_explicit(&in->source->dropped, n, memory_order_relaxed);
	arbiter_free(TAKE_PTR(startup.host.arbiter));
	snprintf(sentence, sizeof(sentence),
		 "no session adopted the startup events; packets dropped: %llu",
		 (unsigned long long)n);
	source_host_report(&startup.host, sentence);
}

static void startup_on_timer(struct io_timer *t)
{
	startup_end();
}

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
	instance_begin(&startup.host, STARTUP_ID, o->config, o->config_len);
	startup.in = instance_find(&startup.host, STARTUP_ID);
	if (!startup.in) {
		arbiter_free(a);
		return -ENOMEM; /* or all instances of the source are in use */
	}
	io_timer_arm(&library_loop, &startup.timer, o->ms);
	return 0;
}

void startup_after_fork_in_child(void)
{
	if (startup.in)
		arbiter_after_fork_in_child(startup.host.arbiter);
	startup = (struct startup){0};
}

/* ---- the end of all instances ---- */

struct removal {
	struct io_task task;
	struct sonda_data_source *ds;
};

static void unregister_source(struct io_task *t)
{
	struct removal *r = container_of(t, struct removal, task);
	struct source *s = (struct source *)r->ds->source;

	if (!s)
		return;
	for (unsigned i = 0; i < SONDA_MAX_INSTANCES; i++)
		if (s->instances[i].state != INSTANCE_FREE)
			instance_end(&s->instances[i]);
	while (s->users)
		user_object_free(s->users); /* later answers find source NULL */
	source_remove(s);
}

SONDA_PUBLIC void sonda_data_source_unregister(struct sonda_data_source *ds)
{
	struct removal r = {.task = {.fn = unregister_source}, .ds = ds};

	io_call(&library_loop, &r.task);
}

void sources_clear_instances(void)
{
	flushes = NULL;
	for (struct source *s = source_next(-1); s; s = source_next((int)s->index)) {
		__atomic_store_n(&s->ds->enabled, 0, __ATOMIC_RELAXED);
		for (unsigned i = 0; i < SONDA_MAX_INSTANCES; i++) {
			s->instances[i].state = INSTANCE_FREE;
			s->instances[i].epoch++;
			s->instances[i].user = NULL;
		}
		s->users = NULL;
	}
}
