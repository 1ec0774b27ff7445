/* SPDX-License-Identifier: Apache-2.0 */
#include "service/session/triggers.h"

#include <string.h>
#include <sys/random.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "service/session/name_regex.h"
#include "service/session/session_config.h"
#include "service/session/session_life.h"
#include "service/session/session_state.h"

typedef Pb__TraceConfig__TriggerConfig__Trigger trigger_spec;

static bool accepts_triggers(const struct session *s)
{
	switch (session_config_trigger_mode(s->config)) {
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

/* Returns true if the trigger is accepted: by the name of the producer, at random if it has a
 * skip_probability, and by its hits within 24 hours. */
static bool trigger_accept(const trigger_spec *t, const char *producer, size_t hits_before,
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
		const trigger_spec *t =
			accepts_triggers(s) ? session_config_find_trigger(s->config, name) : NULL;

		if (!t || !trigger_accept(t, producer, before, budget))
			continue;
		any = true;
		trigger.delay_ms = t->stop_delay_ms;
		session_apply_trigger(s, &trigger);
	}
	if (any)
		v->quota->refused[REFUSED_TRIGGER_HITS] +=
			trigger_history_add(&v->trigger_history, name, trigger.boot_ns);
}
