/* SPDX-License-Identifier: Apache-2.0 */
#include "service/session/triggers.h"

#include <errno.h>
#include <string.h>
#include <stdlib.h>
#include <sys/random.h>

#include "config/limits.h"
#include "service/ipc/quota.h"
#include "service/ipc/limits.h"
#include "service/session/name_regex.h"
#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/core/siphash.h"
#include "base/system/log.h"
#include "service/session/session_internal.h"
#include "service/session/trigger_config.h"
#include "service/ipc/config_limits.h"

/*
 * A trigger is accepted if the session declares its name, and producer_name_regex,
 * skip_probability and max_per_24_h allow it. It is then recorded in the trace with a snapshot of
 * the clocks. Delayed clones are in a list, with one timer for the next of them.
 */

typedef Pb__TraceConfig__TriggerConfig__Trigger trigger_spec;

struct due_trigger {
	uint64_t mono_ns;
	struct received_trigger trigger;
};

/* ---- delayed clones ---- */

static void arm_delay(struct session_triggers *t)
{
	uint64_t now = clock_mono_ns(), next = UINT64_MAX;

	for (size_t i = 0; i < t->n_due; i++)
		next = MIN(next, t->due[i].mono_ns);
	if (t->n_due > 0)
		loop_timer_once(&t->delay,
				next > now ? (uint32_t)((next - now + NS_PER_MS - 1) / NS_PER_MS)
					   : 0,
				false);
}

static void notify_due(struct session *s)
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
	arm_delay(t);
}

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
	arm_delay(t);
}

/* ---- timers ---- */

static void on_delay(void *ctx)
{
	struct session *s = ctx;

	if (trigger_mode(s->config) == TRIGGER_CLONE)
		notify_due(s);
	else
		session_flush_and_end(s);
}

static void on_timeout(void *ctx)
{
	struct session *s = ctx;

	if (s->state != SESSION_CONFIGURED)
		return;
	session_set_end(s, "no trigger came within trigger_timeout_ms");
	if (session_is_detached(s))
		session_free(s);
	else
		session_disable(s, false);
}

/* ---- accepted triggers ---- */

static void record(struct session *s, const struct received_trigger *trigger)
{
	s->triggers.hit = true;
	trace_snapshot_clocks(s->trace);
	trace_add_trigger(s->trace, trigger);
}

static void act(struct session *s, const struct received_trigger *trigger, bool is_first)
{
	struct err_text why;

	switch (trigger_mode(s->config)) {
	case TRIGGER_START:
		if (s->state != SESSION_CONFIGURED)
			return;
		loop_timer_stop(&s->triggers.timeout);
		s->config->has_duration_ms = true;
		s->config->duration_ms = (uint32_t)trigger->delay_ms;
		session_start(s);
		return;
	case TRIGGER_STOP:
		if (!is_first)
			return;
		loop_timer_stop(&s->duration); /* the time to wait for a trigger */
		err_set(&why, 0, "trigger '%.100s' of %.100s", trigger->name, trigger->producer);
		session_set_end(s, why.text);
		loop_timer_once(&s->triggers.delay, (uint32_t)trigger->delay_ms, false);
		return;
	case TRIGGER_CLONE:
		delay_clone(s, trigger);
		return;
	case TRIGGER_NONE:
		return;
	}
}

/* ---- the conditions ---- */

static bool accepts_triggers(const struct session *s)
{
	switch (trigger_mode(s->config)) {
	case TRIGGER_NONE:
		return false;
	case TRIGGER_START:
		return s->state == SESSION_CONFIGURED || s->state == SESSION_STARTED;
	default:
		return s->state == SESSION_STARTED;
	}
}

/* Returns 0 <= r < 1. */
static double random_fraction(void)
{
	uint64_t r = 0;

	if (getrandom(&r, sizeof(r), 0) != sizeof(r))
		r = clock_mono_ns() * 0x9e3779b97f4a7c15u;
	return (double)(r >> 11) / (double)(1ull << 53);
}

static bool is_accepted(const trigger_spec *t, const char *producer, size_t hits_before,
			uint64_t *budget)
{
	const char *regex = t->producer_name_regex;

	if (regex && regex[0] && !name_regex_matches(regex, producer, budget))
		return false;
	if (t->skip_probability > 0 && random_fraction() < t->skip_probability)
		return false;
	return !t->max_per_24_h || hits_before < t->max_per_24_h;
}

void triggers_activate(struct sessions *v, const char *producer, uid_t uid, const char *name,
		       uint64_t *budget)
{
	struct received_trigger trigger = {.boot_ns = clock_boot_ns(),
					   .name = (char *)name,
					   .producer = (char *)producer,
					   .uid = uid};
	size_t before = trigger_history_count(&v->trigger_history, name, trigger.boot_ns);
	bool any = false;
	struct session *s;

	TAILQ_FOREACH (s, &v->list, link) {
		const trigger_spec *t = accepts_triggers(s) ? trigger_find(s->config, name) : NULL;
		bool is_first = !s->triggers.hit;

		if (!t || !is_accepted(t, producer, before, budget))
			continue;
		any = true;
		trigger.delay_ms = t->stop_delay_ms;
		record(s, &trigger);
		act(s, &trigger, is_first);
	}
	if (any)
		v->quota->refused[REFUSED_TRIGGER_HITS] +=
			trigger_history_add(&v->trigger_history, name, trigger.boot_ns);
}

/* ---- the session ---- */

bool triggers_begin(struct session *s)
{
	const Pb__TraceConfig__TriggerConfig *t = s->config->trigger_config;

	if (trigger_mode(s->config) != TRIGGER_START)
		return true;
	loop_timer_once(&s->triggers.timeout, t->trigger_timeout_ms, false);
	return false;
}

void triggers_end(struct session *s)
{
	struct session_triggers *t = &s->triggers;

	loop_timer_stop(&t->timeout);
	loop_timer_stop(&t->delay);
	for (size_t i = 0; i < t->n_due; i++)
		received_trigger_deinit(&t->due[i].trigger);
	t->n_due = 0;
}

bool triggers_withhold_data(const struct session *s)
{
	enum trigger_mode mode = trigger_mode(s->config);

	if (s->state == SESSION_CLONED)
		return false;
	return mode == TRIGGER_CLONE || (mode != TRIGGER_NONE && !s->triggers.hit);
}

int triggers_init(struct session *s)
{
	int r = loop_timer_init(&s->triggers.timeout, s->sessions->loop, on_timeout, s);

	return r < 0 ? r : loop_timer_init(&s->triggers.delay, s->sessions->loop, on_delay, s);
}

void triggers_deinit(struct session_triggers *t)
{
	for (size_t i = 0; i < t->n_due; i++)
		received_trigger_deinit(&t->due[i].trigger);
	loop_timer_deinit(&t->timeout);
	loop_timer_deinit(&t->delay);
	free(t->due);
}
