/* SPDX-License-Identifier: Apache-2.0 */
#include "service/session/session_life.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/system/log.h"
#include "config/limits.h"
#include "config/trace_config.h"
#include "service/ipc/limits.h"
#include "service/output/file_writer.h"
#include "service/session/flush.h"
#include "service/session/session_config.h"
#include "service/session/session_state.h"
#include "service/session/source_instances.h"

struct priority_boost session_boost_of_config(const struct sessions *s,
					      const Pb__TraceConfig *config)
{
	struct priority_boost b = {s->is_timely ? PRIORITY_BOOST_BUDGETED : PRIORITY_BOOST_NONE, 0};

	if (config->priority_boost)
		(void)priority_boost_read(config->priority_boost, &b); /* was checked */
	return b;
}

static struct priority_boost stronger_boost(struct priority_boost a, struct priority_boost b)
{
	return priority_boost_is_stronger(b, a) ? b : a;
}

static struct priority_boost strongest_boost(const struct sessions *s, const Pb__TraceConfig *also)
{
	struct priority_boost b = {PRIORITY_BOOST_NONE, 0};
	const struct session *session;

	if (also)
		b = stronger_boost(b, session_boost_of_config(s, also));
	TAILQ_FOREACH (session, &s->list, link)
		if (session->state != SESSION_CLONED)
			b = stronger_boost(b, session->boost);
	return b;
}

int priority_apply(struct sessions *s, const Pb__TraceConfig *also)
{
	struct priority_boost b = strongest_boost(s, also);
	int r = priority_boost_apply(&s->boost, b);
	struct session *session;

	if (r == 0 || b.policy != PRIORITY_BOOST_BUDGETED)
		return r;
	/* No config requests this priority, so the sessions go on without it. More data is then
	 * lost on a busy machine, which the summary reports. */
	log_info("cannot raise the priority while sessions record: %s (docs/reference/security.md)",
		 strerror(-r));
	s->is_timely = false;
	TAILQ_FOREACH (session, &s->list, link)
		session->boost = session_boost_of_config(s, session->config);
	return priority_apply(s, also);
}

/* How often the buffers of a session are checked for incremental state that they will overwrite. */
#define RING_TICK_MS 250

/* ---- timers ---- */

static void on_snapshot_tick(void *ctx)
{
	struct session *s = ctx;

	trace_mark_due(s->trace, TRACE_DUE_STATS | TRACE_DUE_SYNC_MARKER);
	trace_snapshot_clocks(s->trace);
}

static void on_flush_tick(void *ctx)
{
	session_flush(ctx,
		      &(struct flush_request){.flags = FLUSH_REASON_PERIODIC | FLUSH_BY_SERVICE});
}

static void on_clear_tick(void *ctx)
{
	source_instances_clear_incremental_state(ctx);
}

static void on_ring_tick(void *ctx)
{
	source_instances_clear_state_before_overwrite(ctx);
}

static void on_final_flush(void *ctx, const struct ipc_call *call, bool success)
{
	struct session *s = ctx;

	s->final_flush = success ? FINAL_FLUSH_SUCCEEDED : FINAL_FLUSH_FAILED;
	/* session_free() calls this too, in the state DISABLED. A session with a file is freed when
	 * all data is in the file. */
	if (!session_is_detached(s) || s->file || s->state == SESSION_DISABLED)
		session_disable(s, false);
	else
		session_free(s);
}

void session_flush_and_end(struct session *s)
{
	struct flush_request request = {
		.flags = FLUSH_REASON_STOP | FLUSH_BY_SERVICE, .done = on_final_flush, .ctx = s};

	if (session_flush(s, &request) < 0)
		on_final_flush(s, NULL, false);
}

static void on_duration(void *ctx)
{
	struct session *s = ctx;
	enum trigger_mode mode = session_config_trigger_mode(s->config);

	session_set_end_reason(s, mode == TRIGGER_STOP || mode == TRIGGER_CLONE
					  ? "trigger_timeout_ms elapsed"
					  : "duration reached");
	session_flush_and_end(s);
}

static bool has_not_started(const struct source_instance *i, const void *ctx)
{
	return i->state != INSTANCE_STARTED;
}

static void on_slow_start(void *ctx)
{
	source_instances_record_slow(ctx, SERVICE_EVENT_SLOW_STARTING, has_not_started, NULL);
}

/* ---- triggers ---- */

static void arm_trigger_delay(struct session *s)
{
	const struct session_triggers *t = &s->triggers;
	uint64_t now = clock_mono_ns(), next = UINT64_MAX;

	for (size_t i = 0; i < t->n_due; i++)
		next = MIN(next, t->due[i].mono_ns);
	if (t->n_due > 0)
		loop_timer_once(&s->timers[TIMER_TRIGGER_DELAY],
				next > now ? (uint32_t)((next - now + NS_PER_MS - 1) / NS_PER_MS)
					   : 0,
				false);
}

static void notify_due_clones(struct session *s)
{
	struct session_triggers *t = &s->triggers;
	uint64_t now = clock_mono_ns();
	size_t left = 0;

	for (size_t i = 0; i < t->n_due; i++) {
		if (t->due[i].mono_ns > now) {
			t->due[left++] = t->due[i];
			continue;
		}
		if (!session_is_detached(s))
			s->owner.ops->clone_due(s->owner.ctx, &t->due[i].trigger);
		received_trigger_deinit(&t->due[i].trigger);
	}
	t->n_due = left;
	arm_trigger_delay(s);
}

/* Schedules the clone for the time when the delay of the trigger is over. If that is impossible,
 * logs it and ignores the trigger. */
static void delay_clone(struct session *s, const struct received_trigger *trigger)
{
	struct session_triggers *t = &s->triggers;
	struct due_trigger due = {.mono_ns = clock_mono_ns() + trigger->delay_ms * NS_PER_MS};

	if (t->n_due >= MAX_DUE_TRIGGERS) {
		s->account.quota->refused[REFUSED_DUE_TRIGGERS]++;
		quota_log(s->account.quota, s->account.user, LOG_LEVEL_WARN,
			  "session %llu: %u delayed clones are pending; trigger "
			  "%s is ignored",
			  (unsigned long long)s->id, MAX_DUE_TRIGGERS, trigger->name);
		return;
	}
	if (array_reserve(&t->due, &t->cap_due, t->n_due + 1, sizeof(t->due[0])) < 0 ||
	    received_trigger_copy(trigger, &due.trigger) < 0) {
		quota_log(s->account.quota, s->account.user, LOG_LEVEL_ERROR,
			  "out of memory: trigger %s is ignored", trigger->name);
		return;
	}
	t->due[t->n_due++] = due;
	arm_trigger_delay(s);
}

static void on_trigger_delay(void *ctx)
{
	struct session *s = ctx;

	if (session_config_trigger_mode(s->config) == TRIGGER_CLONE)
		notify_due_clones(s);
	else
		session_flush_and_end(s);
}

static void on_trigger_timeout(void *ctx)
{
	struct session *s = ctx;

	if (s->state != SESSION_CONFIGURED)
		return;
	session_set_end_reason(s, "no trigger arrived within trigger_timeout_ms");
	if (session_is_detached(s))
		session_free(s);
	else
		session_disable(s, false);
}

static void complete_disable(struct session *s);

static void on_stop_timeout(void *ctx)
{
	complete_disable(ctx);
}

/* Frees a detached session whose file is complete. */
static void free_if_detached(void *ctx)
{
	struct session *s = ctx;

	if (session_is_detached(s))
		session_free(s);
}

static int session_init_timers(struct session *s)
{
	static void (*const fire[])(void *session) = {
		[TIMER_DURATION] = on_duration,
		[TIMER_FLUSH] = on_flush_tick,
		[TIMER_CLEAR] = on_clear_tick,
		[TIMER_RING] = on_ring_tick,
		[TIMER_SNAPSHOT] = on_snapshot_tick,
		[TIMER_SLOW_START] = on_slow_start,
		[TIMER_TRIGGER_TIMEOUT] = on_trigger_timeout,
		[TIMER_TRIGGER_DELAY] = on_trigger_delay,
		[TIMER_STOP_TIMEOUT] = on_stop_timeout,
		[TIMER_ABANDONED] = free_if_detached,
	};
	int r = 0;

	for (size_t i = 0; i < N_SESSION_TIMERS && r == 0; i++)
		r = loop_timer_init(&s->timers[i], s->sessions->loop, fire[i], s);
	return r;
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

static void stop_timers_and_triggers(struct session *s)
{
	struct session_triggers *t = &s->triggers;

	for (size_t i = 0; i < N_TIMERS_UNTIL_STOP; i++)
		loop_timer_stop(&s->timers[i]);
	for (size_t i = 0; i < t->n_due; i++)
		received_trigger_deinit(&t->due[i].trigger);
	t->n_due = 0;
}

/* Starts the duration timer. wait_ms is added for data sources that have not started yet. */
static void start_duration(struct session *s, uint32_t wait_ms)
{
	const Pb__TraceConfig *c = s->config;

	if (c->duration_ms)
		loop_timer_once(&s->timers[TIMER_DURATION], c->duration_ms + wait_ms,
				c->prefer_suspend_clock_for_duration);
}

/* Starts a timer of the config; a period of 0 is none. Each tick is work for the service and for
 * all producers of the session, so only root may choose an arbitrarily short period. */
static void start_tick(struct session *s, struct loop_timer *tick, uint32_t period_ms,
		       bool in_suspend)
{
	if (!quota_is_root(s->account.quota, s->uid))
		period_ms = period_ms ? MAX(period_ms, MIN_PERIOD_MS) : 0;
	if (period_ms)
		loop_timer_every(tick, period_ms, in_suspend);
}

static void start_timers(struct session *s)
{
	const Pb__TraceConfig *c = s->config;
	const Pb__TraceConfig__BuiltinDataSource *b = c->builtin_data_sources;
	uint32_t interval = b && b->snapshot_interval_ms ? b->snapshot_interval_ms
							 : DEFAULT_SNAPSHOT_INTERVAL_MS;

	start_duration(s,
		       session_config_trigger_mode(c) == TRIGGER_NONE ? DURATION_START_WAIT_MS : 0);
	start_tick(s, &s->timers[TIMER_FLUSH], file_writer_flush_period_ms(c), false);
	if (c->incremental_state_config && c->incremental_state_config->clear_period_ms) {
		start_tick(s, &s->timers[TIMER_CLEAR], c->incremental_state_config->clear_period_ms,
			   false);
		if (!s->file)
			loop_timer_every(&s->timers[TIMER_RING], RING_TICK_MS, false);
	}
	start_tick(s, &s->timers[TIMER_SNAPSHOT], interval,
		   b && b->prefer_suspend_clock_for_snapshot);
	on_snapshot_tick(s);
	loop_timer_once(&s->timers[TIMER_SLOW_START], ALL_STARTED_TIMEOUT_MS, false);
}

/* ---- start ---- */

void session_check_all_started(struct session *s)
{
	if (s->state != SESSION_STARTED || s->all_started_reported ||
	    !source_instances_are_all_in(s, INSTANCE_STARTED))
		return;
	s->all_started_reported = true;
	loop_timer_stop(&s->timers[TIMER_SLOW_START]);
	if (session_config_trigger_mode(s->config) == TRIGGER_NONE && !s->end_reason)
		start_duration(s, 0);
	trace_record_event(s->trace, SERVICE_EVENT_ALL_STARTED);
	trace_snapshot_clocks(s->trace);
	if (!session_is_detached(s))
		s->owner.ops->all_started(s->owner.ctx);
}

void session_start(struct session *s)
{
	if (s->state != SESSION_CONFIGURED)
		return;
	session_set_state(s, SESSION_STARTED);
	trace_start(s->trace);
	trace_record_event(s->trace, SERVICE_EVENT_TRACING_STARTED);
	start_timers(s);
	if (s->file)
		file_writer_start(s->file);
	source_instances_start_all(s);
	session_check_all_started(s);
}

void session_setup_and_start(struct session *s)
{
	source_instances_setup_all(s);
	if (session_config_trigger_mode(s->config) == TRIGGER_START)
		loop_timer_once(&s->timers[TIMER_TRIGGER_TIMEOUT],
				s->config->trigger_config->trigger_timeout_ms, false);
	else if (!s->config->deferred_start)
		session_start(s);
}

/* ---- an accepted trigger ---- */

void session_apply_trigger(struct session *s, const struct received_trigger *trigger)
{
	bool is_first = !s->triggers.hit;
	struct err_text why;

	s->triggers.hit = true;
	trace_snapshot_clocks(s->trace);
	trace_add_trigger(s->trace, trigger);

	switch (session_config_trigger_mode(s->config)) {
	case TRIGGER_START:
		if (s->state != SESSION_CONFIGURED)
			return;
		loop_timer_stop(&s->timers[TIMER_TRIGGER_TIMEOUT]);
		s->config->has_duration_ms = true;
		s->config->duration_ms = (uint32_t)trigger->delay_ms;
		session_start(s);
		return;
	case TRIGGER_STOP:
		if (!is_first)
			return;
		loop_timer_stop(&s->timers[TIMER_DURATION]); /* the time to wait for a trigger */
		err_set(&why, 0, "trigger '%.100s' of %.100s", trigger->name, trigger->producer);
		session_set_end_reason(s, why.text);
		loop_timer_once(&s->timers[TIMER_TRIGGER_DELAY], (uint32_t)trigger->delay_ms,
				false);
		return;
	case TRIGGER_CLONE:
		delay_clone(s, trigger);
		return;
	case TRIGGER_NONE:
		return;
	}
}

/* ---- stop ---- */

void session_report_end(struct session *s)
{
	if (!session_is_detached(s))
		s->owner.ops->ended(s->owner.ctx, s->error);
	else if (s->file)
		loop_timer_once(&s->timers[TIMER_ABANDONED], 0, false);
}

/* The last step to DISABLED. Scrapes the data that was not committed. */
static void complete_disable(struct session *s)
{
	loop_timer_stop(&s->timers[TIMER_STOP_TIMEOUT]);
	trace_mark_due(s->trace, TRACE_DUE_STATS);
	source_instances_stop_all(s, true);
	session_set_state(s, SESSION_DISABLED);
	session_scrape(s);
	trace_record_event(s->trace, SERVICE_EVENT_TRACING_DISABLED);
	trace_snapshot_clocks(s->trace);
	if (s->file)
		file_writer_finish(s->file);
	else
		session_report_end(s);
}

void session_check_all_stopped(struct session *s)
{
	if (s->state == SESSION_STOPPING && source_instances_are_all_in(s, INSTANCE_STOPPED))
		complete_disable(s);
}

void session_disable(struct session *s, bool at_once)
{
	switch (s->state) {
	case SESSION_DISABLED:
	case SESSION_CLONED:
		return;
	case SESSION_STOPPING:
		if (at_once)
			complete_disable(s);
		return;
	case SESSION_CONFIGURED:
		at_once = true; /* no data source was started, so none has to stop */
		break;
	case SESSION_STARTED:
		break;
	}
	stop_timers_and_triggers(s);
	/* session_set_state() would report STOPPING to other sessions, which is done only if the
	 * session stays in that state. */
	s->state = SESSION_STOPPING;
	source_instances_stop_all(s, at_once);
	if (source_instances_are_all_in(s, INSTANCE_STOPPED)) {
		complete_disable(s);
		return;
	}
	session_set_state(s, SESSION_STOPPING);
	loop_timer_once(&s->timers[TIMER_STOP_TIMEOUT], session_stop_timeout_ms(s), false);
}

void session_free(struct session *s)
{
	struct session_watch *w;

	if (!s)
		return;
	while ((w = TAILQ_FIRST(&s->watches)))
		w->session_ends(w);
	session_set_end_reason(s, "the consumer disconnected");
	session_disable(s, true);
	flush_cancel_all(s);
	if (s->file && s->state != SESSION_CLONED)
		file_writer_finish_now(s->file);
	source_instances_deinit(s);
	TAILQ_REMOVE(&s->sessions->list, s, link);
	(void)priority_apply(s->sessions, NULL);
	session_destroyp(&s);
}
