/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An instance's life. Commands come from the service, answers return to it. A source may answer
 * from within the command or later.
 *
 *	setup      start             ds_started       stop             ds_stopped
 *	  | create   | start           | started        | stop            |      destroy, stopped
 *	  v          v                 v                v                 v      v
 *	  SET UP --> RUNNING --------------------------> STOPPING -------> ENDED
 *
 * A source that answers a stop from its own callback is destroyed in the next loop iteration, not
 * within that callback. The stop is reported to the service only then, when the writers are freed
 * and all their data is committed.
 *
 * An instance whose set-up failed has no source and is answered at once.
 *
 * Flushes are queued, each with the ids of the instances that have not answered. The service takes
 * an answer to a flush as an answer to all earlier ones, so flushes are answered strictly in order.
 * The oldest flush is answered after a second, even if instances are missing.
 */
#include "client/producer/instance_table.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include <event2/event.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/event_loop/event_free.h"
#include "base/event_loop/event_timer.h"
#include "base/system/process_uuids.h"
#include "client/transport/arbiter.h"
#include "config/limits.h"
#include "config/trace_config.h"

#define EXHAUSTED_DROP PB__DATA_SOURCE_CONFIG__BUFFER_EXHAUSTED_POLICY__BUFFER_EXHAUSTED_DROP

enum ds_state { DS_SET_UP, DS_RUNNING, DS_STOPPING, DS_ENDED };

struct ds_handle {
	TAILQ_ENTRY(ds_handle) link;
	struct instance_table *all;
	const struct data_source *source; /* NULL: the set-up failed */
	void *instance; /* owned by the source */
	uint64_t id;
	uint64_t session_id;
	uint16_t target_buffer;
	uint32_t consumer_uid; /* see ds_consumer_uid */
	int error; /* why the set-up failed */
	char *failed_name; /* owned: of the source whose set-up failed; NULL: no memory */
	enum writer_policy policy;
	struct priority_boost boost; /* valid while the instance exists */
	enum ds_state state;
	bool reported_started;
	bool flush_before_stop; /* the last flush requested it */
};

struct flush {
	TAILQ_ENTRY(flush) link;
	uint64_t id;
	uint64_t deadline_ns;
	size_t n_waiting;
	size_t n_refused;
	uint64_t *refused; /* ids of instances that record nothing; in this allocation */
	uint64_t waiting[]; /* instance ids */
};

TAILQ_HEAD(handle_list, ds_handle);
TAILQ_HEAD(flush_list, flush);

struct instance_table {
	const struct data_source *const *sources;
	const struct ds_env *env;
	const struct instance_table_ops *ops;
	void *ctx;
	bool closing; /* answers are not reported any more */
	struct handle_list handles;
	unsigned n_handles;
	int n_of_root, n_of_others; /* handles of consumers that are root, and of all others */
	struct priority_boost boost; /* strongest boost of all instances */
	uint64_t capabilities; /* those that the data sources of all handles need */
	struct flush_list flushes; /* oldest first */
	unsigned n_flushes;
	struct event *reap; /* owned; destroys ended instances */
	struct event *timeout; /* owned; timeout of the oldest flush */
};

static void destroy_ended_instances(evutil_socket_t fd, short what, void *ctx);
static void on_flush_timeout(evutil_socket_t fd, short what, void *ctx);

struct instance_table *instance_table_new(const struct data_source *const *sources,
					  const struct ds_env *env,
					  const struct instance_table_ops *ops, void *ctx)
{
	struct instance_table *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	*s = (struct instance_table){.sources = sources, .env = env, .ops = ops, .ctx = ctx};
	TAILQ_INIT(&s->handles);
	TAILQ_INIT(&s->flushes);
	s->reap = event_new(env->loop, -1, 0, destroy_ended_instances, s);
	s->timeout = event_new(env->loop, -1, 0, on_flush_timeout, s);
	if (!s->reap || !s->timeout) {
		instance_table_free(s);
		return NULL;
	}
	return s;
}

static struct ds_handle *instance_table_find(const struct instance_table *s, uint64_t id)
{
	struct ds_handle *h;

	TAILQ_FOREACH (h, &s->handles, link)
		if (h->id == id)
			return h;
	return NULL;
}

/* Adds n to the number of instances of root, or of all other users. While root records, other users
 * leave it a part of the shared memory. */
static void count_instances_for_consumer(struct instance_table *s, uint32_t uid, int n)
{
	*(uid == 0 ? &s->n_of_root : &s->n_of_others) += n;
	if (s->env->arbiter)
		arbiter_get_yielding(s->env->arbiter)->reserves = s->n_of_root > 0;
}

/* ---- flushes ---- */

static void report_idle_instance(const struct instance_table *s, uint16_t target_buffer,
				 const char *name, int error)
{
	if (s->ops->records_nothing && name)
		s->ops->records_nothing(s->ctx, target_buffer, name, error);
}

/* Reports the refused instances of a flush once more, after the data of the other instances: a
 * buffer may have wrapped since the start. */
static void report_refused_flush(const struct instance_table *s, const struct flush *f)
{
	for (size_t i = 0; i < f->n_refused; i++) {
		const struct ds_handle *h = instance_table_find(s, f->refused[i]);

		if (h)
			report_idle_instance(s, h->target_buffer, h->failed_name, h->error);
	}
}

/* Answers the flushes at the head of the queue that wait for no instance, and sets the timeout of
 * the next one. */
static void answer_finished_flushes(struct instance_table *s)
{
	uint64_t done = 0, now = clock_mono_ns();
	struct flush *f;

	while ((f = TAILQ_FIRST(&s->flushes)) && f->n_waiting == 0) {
		done = f->id;
		report_refused_flush(s, f);
		TAILQ_REMOVE(&s->flushes, f, link);
		s->n_flushes--;
		free(f);
	}
	if (f) {
		event_timer_us(s->timeout,
			       f->deadline_ns > now ? (f->deadline_ns - now) / 1000 : 0);
	} else {
		event_del(s->timeout);
	}
	if (done)
		s->ops->flushed(s->ctx, done);
}

static void end_oldest_flush(struct instance_table *s)
{
	TAILQ_FIRST(&s->flushes)->n_waiting = 0;
	answer_finished_flushes(s);
}

static void on_flush_timeout(evutil_socket_t fd, short what, void *ctx)
{
	struct instance_table *s = ctx;

	if (!TAILQ_EMPTY(&s->flushes))
		end_oldest_flush(s);
}

static void mark_flush_answered(struct flush *f, uint64_t instance_id)
{
	for (size_t i = 0; i < f->n_waiting; i++) {
		if (f->waiting[i] != instance_id)
			continue;
		f->waiting[i] = f->waiting[--f->n_waiting];
		return;
	}
}

static bool instance_can_flush(const struct ds_handle *h)
{
	return h && h->source && h->state == DS_RUNNING;
}

void instance_table_flush(struct instance_table *s, const uint64_t *ids, size_t n,
			  uint64_t flush_id, uint64_t flags)
{
	bool before_stop = (flags & FLUSH_REASON_MASK) == FLUSH_REASON_STOP;
	bool for_clone = (flags & FLUSH_REASON_MASK) == FLUSH_REASON_CLONE;

	struct flush *f = calloc(1, sizeof(*f) + 2 * n * sizeof(f->waiting[0]));
	struct ds_handle *h;

	if (!f) {
		s->ops->flushed(s->ctx, flush_id);
		return;
	}
	if (s->n_flushes >= DS_INSTANCES_MAX_FLUSHES)
		end_oldest_flush(s);
	f->id = flush_id;
	f->deadline_ns = clock_mono_ns() + PRODUCER_FLUSH_TIMEOUT_MS * NS_PER_MS;
	f->refused = f->waiting + n;
	for (size_t i = 0; i < n; i++) {
		h = instance_table_find(s, ids[i]);
		if (instance_can_flush(h))
			f->waiting[f->n_waiting++] = ids[i];
		else if (h && !h->source && (before_stop || for_clone))
			f->refused[f->n_refused++] = ids[i];
	}
	TAILQ_INSERT_TAIL(&s->flushes, f, link);
	s->n_flushes++;
	/* From here on a callback may free f. Handles stay valid: they are destroyed in another
	 * loop iteration. */
	for (size_t i = 0; i < n; i++) {
		h = instance_table_find(s, ids[i]);
		if (!instance_can_flush(h))
			continue;
		h->flush_before_stop = before_stop;
		h->source->flush(h->instance, flush_id);
	}
	answer_finished_flushes(s);
}

void ds_flushed(struct ds_handle *h, uint64_t flush_id)
{
	struct instance_table *s = h->all;
	struct flush *f;

	if (s->closing)
		return;
	TAILQ_FOREACH (f, &s->flushes, link)
		if (f->id == flush_id)
			mark_flush_answered(f, h->id);
	answer_finished_flushes(s);
}

uint32_t ds_consumer_uid(const struct ds_handle *h)
{
	return h->consumer_uid;
}

bool ds_flush_precedes_stop(const struct ds_handle *h)
{
	return h->flush_before_stop;
}

/* ---- set-up and start ---- */

static const struct data_source *find_source(const struct instance_table *s, const char *name)
{
	for (const struct data_source *const *p = s->sources; *p; p++)
		if (strcmp((*p)->name, name) == 0)
			return *p;
	return NULL;
}

static uint32_t choose_consumer_uid(const struct ds_env *env, const Pb__DataSourceConfig *config)
{
	if (env->trusts_consumers)
		return 0;
	return env->knows_consumers && config->has_consumer_uid ? config->consumer_uid
								: CONSUMER_UNKNOWN;
}

/* Stores the parts of the config that are needed later. */
static void instance_table_read_config(struct ds_handle *h, const Pb__DataSourceConfig *config)
{
	h->session_id = config->tracing_session_id;
	h->target_buffer = (uint16_t)config->target_buffer;
	h->consumer_uid = choose_consumer_uid(h->all->env, config);
	/* Stalling is the default for our sources: data that we do not read stays in the kernel's
	 * rings. */
	h->policy = config->buffer_exhausted_policy == EXHAUSTED_DROP ? WRITER_DROP : WRITER_STALL;
}

static void report_strongest_boost(struct instance_table *s)
{
	struct priority_boost best = {PRIORITY_BOOST_NONE, 0}, was = s->boost;
	struct ds_handle *h;

	TAILQ_FOREACH (h, &s->handles, link)
		if (priority_boost_is_stronger(h->boost, best))
			best = h->boost;
	s->boost = best;
	if (best.policy != was.policy || best.priority != was.priority)
		s->ops->boosted(s->ctx, best);
}

static void read_priority_boost(struct ds_handle *h, const Pb__DataSourceConfig *config)
{
	static const struct priority_boost least = {PRIORITY_BOOST_OTHER, 0};
	bool is_asked = config->priority_boost != NULL;

	if (priority_boost_read(config->priority_boost, &h->boost) < 0)
		h->all->ops->bad_boost(h->all->ctx, h->source->name,
				       "must be POLICY_SCHED_OTHER with a priority of 0 to 20, or "
				       "POLICY_SCHED_FIFO with 1 to 99");
	else if (is_asked && h->consumer_uid && priority_boost_is_stronger(h->boost, least)) {
		h->boost = (struct priority_boost){PRIORITY_BOOST_NONE, 0};
		h->all->ops->bad_boost(h->all->ctx, h->source->name, "needs root");
		is_asked = false;
	}
	if (!is_asked && h->source->is_timely)
		h->boost = (struct priority_boost){PRIORITY_BOOST_BUDGETED, 0};
	report_strongest_boost(h->all);
}

/* Requests the capabilities that all sources need. more: those of an instance that is about to be
 * created. */
static void request_capabilities(struct instance_table *s, uint64_t more)
{
	uint64_t was = s->capabilities;
	struct ds_handle *h;

	s->capabilities = more;
	TAILQ_FOREACH (h, &s->handles, link)
		if (h->source)
			s->capabilities |= h->source->capabilities;
	if (s->capabilities != was && s->ops->capabilities)
		s->ops->capabilities(s->ctx, s->capabilities);
}

/* Returns true if the consumer may have one more instance of the source. */
static bool has_room_for_instance(const struct ds_handle *h, const struct data_source *source)
{
	unsigned of_user = 0, of_others = 0;
	const struct ds_handle *other;

	TAILQ_FOREACH (other, &h->all->handles, link) {
		if (other->source != source || other->consumer_uid == 0)
			continue;
		of_others++;
		of_user += other->consumer_uid == h->consumer_uid;
	}
	return h->consumer_uid == 0 ||
	       (of_others < DS_INSTANCES_OF_OTHERS &&
		(of_user < DS_INSTANCES_OF_USER || h->consumer_uid == CONSUMER_UNKNOWN));
}

/* Creates the instance of a handle, with the capabilities that it needs. Returns 0, -ENOENT (no
 * such source), -EDQUOT (a limit of the consumer), or the error of the source. */
static int instance_table_create(struct ds_handle *h, const Pb__DataSourceConfig *config)
{
	const struct data_source *source = find_source(h->all, config->name ? config->name : "");
	int r;

	if (!source)
		return -ENOENT;
	if (!has_room_for_instance(h, source))
		return -EDQUOT;
	request_capabilities(h->all, source->capabilities);
	r = source->create(h, h->all->env, config, &h->instance);
	if (r < 0) {
		request_capabilities(h->all, 0);
		return r;
	}
	h->source = source;
	read_priority_boost(h, config);
	return 0;
}

static const char *name_of_source(const Pb__DataSourceConfig *config)
{
	return config->name ? config->name : "";
}

/* Returns true if there may be one more handle, created or not. */
static bool has_room_for_handle(const struct instance_table *s, uint32_t uid)
{
	return s->n_handles < DS_INSTANCES_MAX &&
	       (uid == 0 || s->n_of_others < (int)DS_INSTANCES_OF_OTHERS_MAX);
}

/* Adds a handle and creates its instance. Returns 0 or the error that was reported. If only the
 * instance could not be created, the handle stays and stores the error. */
static int instance_table_add(struct instance_table *s, uint64_t id,
			      const Pb__DataSourceConfig *config)
{
	uint32_t uid = choose_consumer_uid(s->env, config);
	bool is_full = !has_room_for_handle(s, uid);
	struct ds_handle *h = is_full ? NULL : calloc(1, sizeof(*h));
	int r = is_full ? -E2BIG : -ENOMEM;

	if (h) {
		h->all = s;
		h->id = id;
		instance_table_read_config(h, config);
		TAILQ_INSERT_TAIL(&s->handles, h, link);
		s->n_handles++;
		count_instances_for_consumer(s, uid, 1);
		r = h->error = instance_table_create(h, config);
		if (r < 0)
			h->failed_name = strdup(name_of_source(config));
	}
	if (r < 0)
		s->ops->failed(s->ctx, name_of_source(config), r);
	return r;
}

static const Pb__DataSourceConfig empty_config = PB__DATA_SOURCE_CONFIG__INIT;

void instance_table_setup(struct instance_table *s, uint64_t id, const Pb__DataSourceConfig *config)
{
	if (!instance_table_find(s, id))
		instance_table_add(s, id, config ? config : &empty_config);
}

void instance_table_start(struct instance_table *s, uint64_t id, const Pb__DataSourceConfig *config)
{
	struct ds_handle *h = instance_table_find(s, id);
	int r = 0;

	if (!config)
		config = &empty_config;
	if (!h) {
		/* Some services start a data source without having set it up. */
		r = instance_table_add(s, id, config);
		h = instance_table_find(s, id);
	}
	if (!h) {
		report_idle_instance(s, (uint16_t)config->target_buffer, name_of_source(config), r);
		s->ops->started(s->ctx, id);
		return;
	}
	if (h->state != DS_SET_UP)
		return;
	h->state = DS_RUNNING;
	if (h->source) {
		h->source->start(h->instance);
	} else {
		report_idle_instance(s, h->target_buffer, h->failed_name, h->error);
		ds_started(h);
	}
}

void ds_started(struct ds_handle *h)
{
	assert(h->state != DS_SET_UP);
	if (h->all->closing || h->reported_started)
		return;
	h->reported_started = true;
	h->all->ops->started(h->all->ctx, h->id);
}

void ds_activate_triggers(struct ds_handle *h, const char *const *names, size_t n)
{
	if (n && !h->all->closing && h->all->ops->triggered)
		h->all->ops->triggered(h->all->ctx, names, n);
}

void instance_table_clear(struct instance_table *s, const uint64_t *ids, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct ds_handle *h = instance_table_find(s, ids[i]);

		if (h && h->source && h->state == DS_RUNNING && h->source->clear)
			h->source->clear(h->instance);
	}
}

/* ---- stop ---- */

static void destroy_instance(struct ds_handle *h)
{
	struct instance_table *s = h->all;

	if (h->source)
		h->source->destroy(h->instance);
	TAILQ_REMOVE(&s->handles, h, link);
	s->n_handles--;
	if (s->n_handles == 0)
		process_uuids_clear();
	count_instances_for_consumer(s, h->consumer_uid, -1);
	free(h->failed_name);
	free(h);
	report_strongest_boost(s);
	request_capabilities(s, 0);
}

/* Destroys ended instances, reports them, and answers the flushes that waited for them. */
static void destroy_ended_instances(evutil_socket_t fd, short what, void *ctx)
{
	struct instance_table *s = ctx;
	struct ds_handle *h, *next;
	struct flush *f;

	for (h = TAILQ_FIRST(&s->handles); h; h = next) {
		uint64_t id = h->id;

		next = TAILQ_NEXT(h, link);
		if (h->state != DS_ENDED)
			continue;
		destroy_instance(h);
		s->ops->stopped(s->ctx, id);
		TAILQ_FOREACH (f, &s->flushes, link)
			mark_flush_answered(f, id);
	}
	answer_finished_flushes(s);
}

/* Stops an instance. A running source must answer; one that never ran has ended at once. */
static void stop_instance(struct ds_handle *h)
{
	bool running = h->state == DS_RUNNING && h->source;

	h->state = running ? DS_STOPPING : DS_ENDED;
	if (running)
		h->source->stop(h->instance);
}

void instance_table_stop(struct instance_table *s, uint64_t id)
{
	struct ds_handle *h = instance_table_find(s, id);

	if (!h) {
		s->ops->stopped(s->ctx, id);
		return;
	}
	if (h->state >= DS_STOPPING)
		return;
	stop_instance(h);
	if (h->state == DS_ENDED)
		destroy_ended_instances(-1, 0, s);
}

void ds_stopped(struct ds_handle *h)
{
	if (h->all->closing || h->state != DS_STOPPING)
		return;
	h->state = DS_ENDED;
	event_timer_us(h->all->reap, 0);
}

void instance_table_free(struct instance_table *s)
{
	struct ds_handle *h;
	struct flush *f;

	if (!s)
		return;
	s->closing = true;
	/* Stop all sources before the first is destroyed: they may still publish metadata to each
	 * other. */
	TAILQ_FOREACH_REVERSE(h, &s->handles, handle_list, link)
	if (h->state < DS_STOPPING)
		stop_instance(h);
	while ((h = TAILQ_LAST(&s->handles, handle_list)))
		destroy_instance(h);
	while ((f = TAILQ_FIRST(&s->flushes))) {
		TAILQ_REMOVE(&s->flushes, f, link);
		free(f);
	}
	event_freep(&s->reap);
	event_freep(&s->timeout);
	free(s);
}

/* ---- functions for data sources ---- */

uint64_t ds_session_id(const struct ds_handle *h)
{
	return h->session_id;
}

void ds_yield_to_root(const struct ds_handle *h, struct event *e)
{
	if (e && h->consumer_uid != 0)
		event_priority_set(e, event_base_get_npriorities(event_get_base(e)) - 1);
}

struct writer *ds_writer_new(struct ds_handle *h)
{
	struct writer *w = writer_new(h->all->env->arbiter, h->target_buffer, h->policy);

	if (w && h->consumer_uid != 0)
		writer_yield(w);
	return w;
}
