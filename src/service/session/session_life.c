/* SPDX-License-Identifier: Apache-2.0 */
#include "service/session/session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "config/limits.h"
#include "service/buffer/trace_buffer.h"
#include "service/ipc/quota.h"
#include "service/producer/producer_port.h"
#include "service/session/admission.h"
#include "service/session/session_config.h"
#include "service/session/session_internal.h"
#include "service/session/source_instances.h"
#include "service/session/trigger_config.h"
#include "service/session/triggers.h"
#include "service/trace/trace_events.h"
#include "service/ipc/config_limits.h"

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

bool session_all_started(const struct session *s)
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

void session_put_departures(const struct session *s, uint32_t field, struct pb_enc *e)
{
	departures_put(s, field, e);
}

/* The consumer cannot read packets that go into a file. It can read a clone after its file is
 * written: the events that the service has recorded meanwhile. */
bool session_is_readable(const struct session *s)
{
	if (triggers_withhold_data(s))
		return false;
	return !s->file || (s->state == SESSION_CLONED && file_writer_is_closed(s->file));
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

/* ---- other sessions: enable_concurrent_session_events ---- */

static bool wants_events(const struct session *s)
{
	const Pb__TraceConfig__BuiltinDataSource *b = s->config->builtin_data_sources;

	return b && b->enable_concurrent_session_events &&
	       (s->state == SESSION_CONFIGURED || s->state == SESSION_STARTED ||
		s->state == SESSION_STOPPING);
}

/* The name of the other session is only for root and its own user. */
static void record_other(struct session *s, const struct session *other)
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

	trace_add_concurrent(s->trace, &event);
}

/* Records the states of all other sessions in the trace, if the config requests it. */
static void session_record_others(struct session *s)
{
	const struct session *other;

	if (!wants_events(s))
		return;
	TAILQ_FOREACH (other, &s->sessions->list, link)
		if (other != s)
			record_other(s, other);
}

void session_set_state(struct session *s, enum session_state state)
{
	struct session *other;

	s->state = state;
	s->state_boot_ns = clock_boot_ns();
	TAILQ_FOREACH (other, &s->sessions->list, link)
		if (other != s && wants_events(other))
			record_other(other, s);
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

void session_watch_end(struct session *s, struct session_watch *w)
{
	TAILQ_INSERT_TAIL(&s->watches, w, link);
}

void session_unwatch(struct session *s, struct session_watch *w)
{
	TAILQ_REMOVE(&s->watches, w, link);
}

/* ---- helpers of the other files ---- */

static bool is_own_buffer(void *trace, uint16_t buffer_id)
{
	return trace_find_buffer(trace, buffer_id) >= 0;
}

void session_scrape(struct session *s)
{
	const struct producer_port *p;

	TAILQ_FOREACH (p, &s->sessions->producers->list, link)
		producer_port_scrape(p, is_own_buffer, s->trace);
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

/* ---- life ---- */

static void free_trace(struct session *s)
{
	struct producer_port *p;

	for (size_t i = 0; s->trace && i < trace_n_buffers(s->trace); i++)
		TAILQ_FOREACH (p, &s->sessions->producers->list, link)
			producer_port_revoke(p, trace_get_buffer_id(s->trace, i));
	trace_free(TAKE_PTR(s->trace));
}

/* Frees everything except the links to other objects, which session_free() removes. */
static void session_destroy(struct session *s)
{
	file_writer_free(s->file);
	free_trace(s);
	quota_close(&s->account);
	session_deinit_timers(s);
	triggers_deinit(&s->triggers);
	free(s->detach_key);
	free(s->error);
	free(s->end_reason);
	departures_deinit(&s->departures);
	source_configs_deinit(&s->source_configs);
	if (s->config)
		pb__trace_config__free_unpacked(s->config, NULL);
	free(s);
}

void session_destroyp(struct session **s)
{
	if (*s)
		session_destroy(*s);
}

void session_free(struct session *s)
{
	struct session_watch *w;

	if (!s)
		return;
	while ((w = TAILQ_FIRST(&s->watches)))
		w->session_ends(w);
	session_set_end(s, "its consumer disconnected");
	session_disable(s, true);
	flush_cancel_all(s);
	if (s->file && s->state != SESSION_CLONED)
		file_writer_finish_now(s->file);
	source_instances_deinit(s);
	TAILQ_REMOVE(&s->sessions->list, s, link);
	(void)priority_apply(s->sessions, NULL);
	session_destroy(s);
}

/* exclusive_prio ends the other sessions, so their charges do not count. */
static int charge_buffers(struct session *s, const Pb__TraceConfig *c, struct err_text *e)
{
	uint64_t bytes = 0;
	int r = 0;

	for (size_t i = 0; i < c->n_buffers; i++)
		bytes += (uint64_t)c->buffers[i]->size_kb * 1024;
	if (!c->exclusive_prio)
		r = quota_check(&s->account, QUOTA_BUFFERS, c->n_buffers, e);
	if (r == 0 && !c->exclusive_prio)
		r = quota_check(&s->account, QUOTA_BUFFER_BYTES, bytes, e);
	if (r < 0)
		return r;
	quota_charge_unchecked(&s->account, QUOTA_BUFFERS, c->n_buffers);
	quota_charge_unchecked(&s->account, QUOTA_BUFFER_BYTES, bytes);
	return 0;
}

static int allocate_buffers(struct session *s, const Pb__TraceConfig *c, struct err_text *e)
{
	int error = charge_buffers(s, c, e);

	if (error < 0)
		return error;
	for (size_t i = 0; i < c->n_buffers; i++) {
		const Pb__TraceConfig__BufferConfig *b = c->buffers[i];
		bool discard =
			b->fill_policy == PB__TRACE_CONFIG__BUFFER_CONFIG__FILL_POLICY__DISCARD;
		uint16_t id = sessions_new_buffer_id(s->sessions);
		struct trace_buffer *buffer = NULL;
		int r = -ENOSPC;

		if (id)
			r = trace_buffer_new((size_t)b->size_kb * 1024,
					     discard ? TRACE_BUFFER_DISCARD : TRACE_BUFFER_RING,
					     &buffer);
		if (r == 0)
			r = trace_add_buffer(s->trace, id, buffer);
		if (r < 0) {
			trace_buffer_free(buffer);
			return err_set(e, r, "cannot allocate buffer %zu of %u KiB: %s", i,
				       b->size_kb, strerror(-r));
		}
	}
	return 0;
}

int session_alloc(struct sessions *sessions, struct session_owner owner, uid_t uid,
		  struct session **ret)
{
	_cleanup_(session_destroyp) struct session *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->sessions = sessions;
	s->owner = owner;
	s->uid = uid;
	quota_open(&s->account, sessions->quota, uid);
	TAILQ_INIT(&s->instances);
	TAILQ_INIT(&s->flushes);
	TAILQ_INIT(&s->watches);
	if (session_init_timers(s) < 0)
		return -ENOMEM;
	*ret = TAKE_PTR(s);
	return 0;
}

static int make_file(struct session *s, const Pb__TraceConfig *config, struct passed_file file,
		     struct err_text *e)
{
	struct file_owner owner = session_file_owner(s);

	owner.config = config; /* not the session's yet */
	return file_writer_new(&owner, file, e, &s->file);
}

static int check_config_bytes(struct sessions *sessions, const struct session_request *request,
			      struct err_text *e)
{
	struct quota_account account;

	quota_open(&account, sessions->quota, request->uid);
	return quota_check(&account, QUOTA_CONFIG_BYTES, request->config_bytes, e);
}

int session_new(struct sessions *sessions, const struct session_request *request,
		struct err_text *e, struct session **ret)
{
	Pb__TraceConfig *config = request->config;
	_cleanup_(passed_file_closep) struct passed_file file = request->file;
	_cleanup_(session_destroyp) struct session *s = NULL;
	int r = check_config_bytes(sessions, request, e);

	if (r < 0)
		return r;

	r = session_config_check(config, e);
	if (r < 0)
		sessions->quota->refused[config_limit_counter(config)]++;
	else
		r = admission_check(sessions, config, request->uid, e);
	if (r < 0)
		return r;
	if (session_alloc(sessions, request->owner, request->uid, &s) < 0)
		return err_set(e, -ENOMEM, "out of memory");
	r = source_configs_init(&s->source_configs, request->packed, request->packed_len);
	if (r < 0)
		return err_set(e, r, "the configs of the data sources: %s", strerror(-r));
	r = trace_new(&sessions->trace_env,
		      &(struct trace_owner){config, &s->account, session_put_stats, s}, e,
		      &s->trace);
	if (r < 0) {
		sessions->quota->refused[config_limit_counter(config)]++;
		return r;
	}
	s->boost = priority_of(sessions, config);
	if (config->write_into_file)
		r = make_file(s, config, passed_file_release(&file), e);
	if (r == 0)
		r = allocate_buffers(s, config, e);
	if (r < 0) {
		file_writer_discard(TAKE_PTR(s->file));
		return r;
	}
	s->id = ++sessions->last_session_id;
	s->config = config;
	if (trigger_mode(config) == TRIGGER_STOP || trigger_mode(config) == TRIGGER_CLONE) {
		config->has_duration_ms = true;
		config->duration_ms = config->trigger_config->trigger_timeout_ms;
	}
	r = priority_apply(sessions, config);
	if (r < 0) {
		s->config = NULL; /* the caller's still */
		file_writer_discard(TAKE_PTR(s->file));
		return err_set(e, r, "priority_boost: %s%s", strerror(-r),
			       r == -EPERM || r == -EACCES
				       ? " (raise RLIMIT_NICE and RLIMIT_RTPRIO of the service; "
					 "see docs/security.md)"
				       : "");
	}
	admission_stop_others(sessions, config);
	admission_remember(sessions, config, request->uid);
	TAILQ_INSERT_TAIL(&sessions->list, s, link);
	/* The end of other sessions may have ended the priority boost, so it is applied again. */
	(void)priority_apply(sessions, NULL);
	quota_charge_unchecked(&s->account, QUOTA_SESSIONS, 1);
	quota_charge_unchecked(&s->account, QUOTA_CONFIG_BYTES, request->config_bytes);
	session_set_state(s, SESSION_CONFIGURED);
	session_record_others(s);
	*ret = TAKE_PTR(s);
	return 0;
}
