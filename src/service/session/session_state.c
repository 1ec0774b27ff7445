/* SPDX-License-Identifier: Apache-2.0 */
#include "service/session/session_state.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "common/trace_stats.pb-c.h"
#include "gen/fields.h"
#include "service/producer/producer_port.h"
#include "service/session/session_config.h"
#include "service/trace/trace.h"
#include "service/trace/trace_events.h"
#include "wire/pb_enc.h"

/* ---- properties ---- */

uint64_t session_id(const struct session *s)
{
	return s->id;
}

uid_t session_uid(const struct session *s)
{
	return s->uid;
}

enum session_state session_state(const struct session *s)
{
	return s->state;
}

const Pb__TraceConfig *session_config(const struct session *s)
{
	return s->config;
}

const char *session_error(const struct session *s)
{
	return s->error;
}

bool session_have_all_started(const struct session *s)
{
	return s->all_started_reported;
}

struct trace *session_trace(const struct session *s)
{
	return s->trace;
}

struct file_writer *session_file(const struct session *s)
{
	return s->file;
}

/* Returns true if the session waits for a trigger or is only for clones. */
static bool is_data_withheld(const struct session *s)
{
	enum trigger_mode mode = session_config_trigger_mode(s->config);

	if (s->state == SESSION_CLONED)
		return false;
	return mode == TRIGGER_CLONE || (mode != TRIGGER_NONE && !s->triggers.hit);
}

/* The consumer cannot read packets that are written into a file. After the file of a clone is
 * written, the consumer can read the events that the service recorded since. */
bool session_is_readable(const struct session *s)
{
	if (is_data_withheld(s))
		return false;
	return !s->file || (s->state == SESSION_CLONED && file_writer_is_closed(s->file));
}

bool session_has_ended(const struct session *s)
{
	return (s->state == SESSION_DISABLED || s->state == SESSION_CLONED) &&
	       (!s->file || file_writer_is_closed(s->file));
}

bool session_writes_file(const struct session *s)
{
	return s->file && s->state != SESSION_CLONED && s->state != SESSION_CONFIGURED &&
	       !file_writer_is_closed(s->file);
}

void session_set_error(struct session *s, const char *text)
{
	if (!s->error)
		s->error = strdup(text);
	session_set_end_reason(s, text);
}

void session_set_end_reason(struct session *s, const char *reason)
{
	if (!s->end_reason)
		s->end_reason = strdup(reason);
}

const char *session_end_reason(const struct session *s)
{
	/* The reason of a trigger is set before the session ends. */
	bool runs = s->state == SESSION_CONFIGURED || s->state == SESSION_STARTED;

	return runs ? NULL : s->end_reason;
}

const char *session_state_name(enum session_state state)
{
	static const char *const names[] = {
		[SESSION_DISABLED] = "DISABLED",       [SESSION_CONFIGURED] = "CONFIGURED",
		[SESSION_STARTED] = "STARTED",	       [SESSION_STOPPING] = "STOP_WAIT",
		[SESSION_CLONED] = "CLONED_READ_ONLY",
	};

	return names[state];
}

size_t session_n_instances(const struct session *s)
{
	return s->n_instances;
}

void session_each_instance(const struct session *s,
			   void (*fn)(void *ctx, const struct source_instance *i), void *ctx)
{
	const struct source_instance *i;

	TAILQ_FOREACH (i, &s->instances, link)
		fn(ctx, i);
}

/* ---- all sessions ---- */

void sessions_init(struct sessions *ss, struct event_base *loop, struct quota *quota,
		   struct producers *producers, const struct trace_env *env)
{
	*ss = (struct sessions){
		.loop = loop, .quota = quota, .producers = producers, .trace_env = *env};
	TAILQ_INIT(&ss->list);
}

static bool buffer_id_is_used(const struct sessions *ss, uint16_t buffer_id)
{
	const struct session *s;

	TAILQ_FOREACH (s, &ss->list, link)
		if (trace_find_buffer(s->trace, buffer_id) >= 0)
			return true;
	return false;
}

uint16_t sessions_new_buffer_id(struct sessions *ss)
{
	for (unsigned tries = 0; tries <= UINT16_MAX; tries++) {
		ss->last_buffer_id++;
		if (ss->last_buffer_id != 0 && !buffer_id_is_used(ss, ss->last_buffer_id))
			return ss->last_buffer_id;
	}
	return 0;
}

struct session *sessions_next(const struct sessions *ss, const struct session *s)
{
	return s ? TAILQ_NEXT(s, link) : TAILQ_FIRST(&ss->list);
}

size_t sessions_count(const struct sessions *ss)
{
	const struct session *s;
	size_t n = 0;

	TAILQ_FOREACH (s, &ss->list, link)
		n++;
	return n;
}

/* ---- other sessions: enable_concurrent_session_events ---- */

static bool are_concurrent_session_events_enabled(const struct session *s)
{
	const Pb__TraceConfig__BuiltinDataSource *b = s->config->builtin_data_sources;

	return b && b->enable_concurrent_session_events &&
	       (s->state == SESSION_CONFIGURED || s->state == SESSION_STARTED ||
		s->state == SESSION_STOPPING);
}

/* Records the state of `other` in the trace of s. Only root and the user of `other` see its
 * name. */
static void record_state_of_session(struct session *s, const struct session *other)
{
	char *name = other->config->unique_session_name;
	bool may_see = s->uid == 0 || s->uid == other->uid;
	struct concurrent_event event = {
		.boot_ns = other->state_boot_ns,
		.session_id = other->id,
		/* ConcurrentSessionEvent.State has the states in the same order, from 1 on. */
		.state = (uint32_t)other->state + 1,
		.uid = other->uid,
		.n_sources = (uint32_t)other->n_instances,
		.name = name && name[0] && may_see ? name : NULL,
	};

	trace_add_concurrent_event(s->trace, &event);
}

void session_record_states_of_others(struct session *s)
{
	const struct session *other;

	if (!are_concurrent_session_events_enabled(s))
		return;
	TAILQ_FOREACH (other, &s->sessions->list, link)
		if (other != s)
			record_state_of_session(s, other);
}

void session_set_state(struct session *s, enum session_state state)
{
	struct session *other;

	s->state = state;
	s->state_boot_ns = clock_boot_ns();
	TAILQ_FOREACH (other, &s->sessions->list, link)
		if (other != s && are_concurrent_session_events_enabled(other))
			record_state_of_session(other, s);
}

/* ---- owners and watches ---- */

struct session *session_find_detached(struct sessions *v, uid_t uid, const char *key)
{
	struct session *s;

	TAILQ_FOREACH (s, &v->list, link)
		if (session_is_detached(s) && s->uid == uid && s->detach_key &&
		    !strcmp(s->detach_key, key))
			return s;
	return NULL;
}

int session_detach(struct session *s, const char *key)
{
	char *copy = NULL;

	if (key && session_find_detached(s->sessions, s->uid, key))
		return -EEXIST;
	if (key) {
		copy = strdup(key);
		if (!copy)
			return -ENOMEM;
	}
	s->detach_key = copy;
	s->owner = (struct session_owner){0};
	return 0;
}

void session_attach(struct session *s, struct session_owner owner)
{
	free(TAKE_PTR(s->detach_key));
	s->owner = owner;
}

void session_watch(struct session *s, struct session_watch *w)
{
	TAILQ_INSERT_TAIL(&s->watches, w, link);
}

void session_unwatch(struct session *s, struct session_watch *w)
{
	TAILQ_REMOVE(&s->watches, w, link);
}

/* ---- producers ---- */

static bool is_own_buffer(void *trace, uint16_t buffer_id)
{
	return trace_find_buffer(trace, buffer_id) >= 0;
}

void session_scrape(struct session *s)
{
	const struct producer_port *p;

	TAILQ_FOREACH (p, &s->sessions->producers->list, link)
		producer_commit_scrape(p, is_own_buffer, s->trace);
}

uint32_t session_flush_timeout_ms(const struct session *s)
{
	return s->config->flush_timeout_ms ? s->config->flush_timeout_ms : DEFAULT_FLUSH_TIMEOUT_MS;
}

uint32_t session_stop_timeout_ms(const struct session *s)
{
	return s->config->data_source_stop_timeout_ms ? s->config->data_source_stop_timeout_ms
						      : DEFAULT_STOP_TIMEOUT_MS;
}

/* ---- departures ---- */

struct departure {
	uint32_t times; /* 0: no producer of this data source has disconnected */
	int32_t pid;
	char producer[128]; /* truncated */
	uint64_t gone_boot_ns;
	uint64_t back_boot_ns; /* 0: not replaced yet */
};

/* Returns the departure of the instance's data source; allocates the list of all departures first
 * if there is none. NULL: no memory. */
static struct departure *find_or_add_departure(struct session *s, const struct source_instance *i)
{
	const Pb__TraceConfig *c = s->config;

	if (!s->departures.list) {
		s->departures.list = calloc(c->n_data_sources + 1, sizeof(struct departure));
		s->departures.n = s->departures.list ? c->n_data_sources : 0;
	}
	return s->departures.list ? &s->departures.list[i->config_index] : NULL;
}

void session_record_departure(struct session *s, const struct source_instance *i)
{
	struct departure *d;

	if (i->state == INSTANCE_CONFIGURED || i->state == INSTANCE_STOPPED)
		return;
	d = find_or_add_departure(s, i);
	if (!d)
		return;
	d->times++;
	d->pid = i->producer->peer->pid;
	snprintf(d->producer, sizeof(d->producer), "%s", i->producer->name);
	d->gone_boot_ns = clock_boot_ns();
	d->back_boot_ns = 0;
}

void session_end_departure(struct session *s, const struct source_instance *i)
{
	struct departure *d = s->departures.list ? find_or_add_departure(s, i) : NULL;

	if (d && d->times && !d->back_boot_ns)
		d->back_boot_ns = clock_boot_ns();
}

void session_put_departures(const struct session *s, uint32_t field, struct pb_enc *e)
{
	for (size_t i = 0; i < s->departures.n; i++) {
		const struct departure *d = &s->departures.list[i];

		if (!d->times)
			continue;
		pb_enc_open(e, field);
		pb_enc_str(e, PB_SOURCE_DEPARTURE_DATA_SOURCE_NAME,
			   s->config->data_sources[i]->config->name);
		pb_enc_str(e, PB_SOURCE_DEPARTURE_PRODUCER_NAME, d->producer);
		pb_enc_i64(e, PB_SOURCE_DEPARTURE_PRODUCER_PID, d->pid);
		pb_enc_u64(e, PB_SOURCE_DEPARTURE_GONE_BOOT_NS, d->gone_boot_ns);
		if (d->back_boot_ns)
			pb_enc_u64(e, PB_SOURCE_DEPARTURE_BACK_BOOT_NS, d->back_boot_ns);
		pb_enc_u64(e, PB_SOURCE_DEPARTURE_TIMES, d->times);
		pb_enc_close(e);
	}
}

int session_copy_departures(const struct session *from, struct session *to)
{
	const struct departures *f = &from->departures;

	if (!f->n)
		return 0;
	to->departures.list = calloc(f->n, sizeof(struct departure));
	if (!to->departures.list)
		return -ENOMEM;
	memcpy(to->departures.list, f->list, f->n * sizeof(struct departure));
	to->departures.n = f->n;
	return 0;
}

/* ---- TraceStats: the counters of the service, of the session and of its trace ---- */

static void put_service_stats(const struct sessions *ss, struct pb_enc *e)
{
	uint64_t n_sessions = 0, n_buffers = 0;
	const struct session *s;

	pb_enc_u64(e, PB_TRACE_STATS_PRODUCERS_CONNECTED, ss->producers->n);
	pb_enc_u64(e, PB_TRACE_STATS_PRODUCERS_SEEN, ss->producers->last_id);
	pb_enc_u64(e, PB_TRACE_STATS_DATA_SOURCES_REGISTERED, ss->producers->registry.n);
	pb_enc_u64(e, PB_TRACE_STATS_DATA_SOURCES_SEEN, ss->last_instance_id);
	TAILQ_FOREACH (s, &ss->list, link) {
		n_sessions++;
		n_buffers += trace_n_buffers(s->trace);
	}
	pb_enc_u64(e, PB_TRACE_STATS_TRACING_SESSIONS, n_sessions);
	pb_enc_u64(e, PB_TRACE_STATS_TOTAL_BUFFERS, n_buffers);
	pb_enc_u64(e, PB_TRACE_STATS_CHUNKS_DISCARDED, ss->producers->chunks_discarded);
	pb_enc_u64(e, PB_TRACE_STATS_PATCHES_DISCARDED, ss->producers->patches_discarded);
}

static void put_flush_stats(const struct session *s, struct pb_enc *e)
{
	pb_enc_u64(e, PB_TRACE_STATS_FLUSHES_REQUESTED, s->flushes_requested);
	pb_enc_u64(e, PB_TRACE_STATS_FLUSHES_SUCCEEDED, s->flushes_succeeded);
	pb_enc_u64(e, PB_TRACE_STATS_FLUSHES_FAILED, s->flushes_failed);
	if (s->final_flush != FINAL_FLUSH_NONE)
		pb_enc_u64(e, PB_TRACE_STATS_FINAL_FLUSH_OUTCOME, s->final_flush);
}

static void put_quota_stats(const struct session *s, struct pb_enc *e)
{
	const struct quota *q = s->account.quota;

	for (unsigned i = QUOTA_PRODUCERS; i < N_QUOTAS; i++) {
		if (!q->held[i] && !q->refused[i])
			continue;
		pb_enc_open(e, PB_TRACE_STATS_LIMITS);
		pb_enc_u64(e, PB_TRACE_STATS_LIMIT_KIND, i);
		pb_enc_u64(e, PB_TRACE_STATS_LIMIT_HELD, q->held[i]);
		pb_enc_u64(e, PB_TRACE_STATS_LIMIT_HELD_BY_USER,
			   quota_used_by_user(q, s->uid, (enum quota_kind)i));
		pb_enc_u64(e, PB_TRACE_STATS_LIMIT_MAX, q->limits[i].all);
		pb_enc_u64(e, PB_TRACE_STATS_LIMIT_MAX_OF_USER,
			   quota_max_of_user(q, s->account.user, (enum quota_kind)i));
		pb_enc_u64(e, PB_TRACE_STATS_LIMIT_REFUSED, q->refused[i]);
		pb_enc_close(e);
	}
	for (unsigned i = N_QUOTAS; i < N_REFUSED; i++) {
		if (!q->refused[i])
			continue;
		pb_enc_open(e, PB_TRACE_STATS_LIMITS);
		pb_enc_u64(e, PB_TRACE_STATS_LIMIT_KIND, i);
		pb_enc_u64(e, PB_TRACE_STATS_LIMIT_REFUSED, q->refused[i]);
		pb_enc_close(e);
	}
}

void session_put_stats(void *session, struct pb_enc *e, size_t max_bytes)
{
	struct session *s = session;
	uint64_t begin = pb_enc_pos(e);

	trace_put_buffer_stats(s->trace, e);
	put_service_stats(s->sessions, e);
	trace_put_read_stats(s->trace, e);
	put_flush_stats(s, e);
	pb_enc_u64(e, PB_TRACE_STATS_TRACING_SESSION_ID, s->id);
	put_quota_stats(s, e);
	session_put_departures(s, PB_TRACE_STATS_DEPARTURES, e);
	if (s->file)
		pb_enc_u64(e, PB_TRACE_STATS_FILE_STALLED_MS, file_writer_stalled_ms(s->file));
	if (session_end_reason(s))
		pb_enc_str(e, PB_TRACE_STATS_END_REASON, session_end_reason(s));
	trace_put_writer_stats(s->trace, e,
			       max_bytes > UINT64_MAX - begin ? UINT64_MAX : begin + max_bytes);
}

/* ---- the end ---- */

static void free_trace(struct session *s)
{
	struct producer_port *p;

	for (size_t i = 0; s->trace && i < trace_n_buffers(s->trace); i++)
		TAILQ_FOREACH (p, &s->sessions->producers->list, link)
			producer_buffers_revoke(p, trace_get_buffer_id(s->trace, i));
	trace_free(TAKE_PTR(s->trace));
}

void session_destroyp(struct session **session)
{
	struct session *s = *session;

	if (!s)
		return;
	file_writer_free(s->file);
	free_trace(s);
	quota_close(&s->account);
	for (size_t i = 0; i < ARRAY_SIZE(s->timers); i++)
		loop_timer_deinit(&s->timers[i]);
	for (size_t i = 0; i < s->triggers.n_due; i++)
		received_trigger_deinit(&s->triggers.due[i].trigger);
	free(s->triggers.due);
	free(s->detach_key);
	free(s->error);
	free(s->end_reason);
	free(s->departures.list);
	source_configs_deinit(&s->source_configs);
	if (s->config)
		pb__trace_config__free_unpacked(s->config, NULL);
	free(s);
}
