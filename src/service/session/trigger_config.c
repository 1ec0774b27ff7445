/* SPDX-License-Identifier: Apache-2.0 */
#include "service/session/trigger_config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/core/siphash.h"
#include "config/limits.h"
#include "service/ipc/config_limits.h"
#include "service/ipc/limits.h"
#include "service/session/name_regex.h"

#define MODE(name) PB__TRACE_CONFIG__TRIGGER_CONFIG__TRIGGER_MODE__##name

enum trigger_mode trigger_mode(const Pb__TraceConfig *config)
{
	const Pb__TraceConfig__TriggerConfig *t = config->trigger_config;

	if (!t)
		return TRIGGER_NONE;
	switch ((int)t->trigger_mode) {
	case MODE(START_TRACING):
		return TRIGGER_START;
	case MODE(STOP_TRACING):
		return t->use_clone_snapshot_if_available ? TRIGGER_CLONE : TRIGGER_STOP;
	case MODE(CLONE_SNAPSHOT):
		return TRIGGER_CLONE;
	default:
		return TRIGGER_NONE;
	}
}

static const char *trigger_config_name_of(const Pb__TraceConfig__TriggerConfig__Trigger *t)
{
	return t->name ? t->name : "";
}

const Pb__TraceConfig__TriggerConfig__Trigger *trigger_find(const Pb__TraceConfig *config,
							    const char *name)
{
	const Pb__TraceConfig__TriggerConfig *t = config->trigger_config;

	for (size_t i = 0; t && i < t->n_triggers; i++)
		if (!strcmp(trigger_config_name_of(t->triggers[i]), name))
			return t->triggers[i];
	return NULL;
}

static int check_mode(const Pb__TraceConfig__TriggerConfig *t, struct err_text *e)
{
	int mode = (int)t->trigger_mode;

	if (mode < MODE(UNSPECIFIED) || mode > MODE(CLONE_SNAPSHOT) || mode == 3)
		return err_set(e, -EINVAL, "trigger_mode %d is unknown", mode);
	if (t->use_clone_snapshot_if_available && mode != MODE(STOP_TRACING))
		return err_set(e, -EINVAL,
			       "use_clone_snapshot_if_available needs trigger_mode STOP_TRACING");
	return 0;
}

int trigger_config_check_times(const Pb__TraceConfig *config, struct err_text *e)
{
	uint32_t max = config->enable_extra_guardrails ? GUARDRAIL_DURATION_MS : LIMIT_DURATION_MS;
	const Pb__TraceConfig__TriggerConfig *t = config->trigger_config;
	int r;

	if (!t)
		return 0;
	if (t->trigger_mode != MODE(UNSPECIFIED) &&
	    (t->trigger_timeout_ms == 0 || t->trigger_timeout_ms > max))
		return err_set(e, -EINVAL, "trigger_timeout_ms is %u; it must be 1 to %u",
			       t->trigger_timeout_ms, max);
	r = check_mode(t, e);
	if (r == 0 && t->trigger_mode != MODE(UNSPECIFIED) && config->duration_ms)
		r = err_set(e, -EINVAL,
			    "duration_ms must be 0 with triggers; stop_delay_ms sets how long to "
			    "record");
	return r;
}

static int check_trigger(const Pb__TraceConfig__TriggerConfig *t, size_t i, struct err_text *e)
{
	const char *name = trigger_config_name_of(t->triggers[i]),
		   *regex = t->triggers[i]->producer_name_regex;
	struct err_text why;

	if (strlen(name) > MAX_NAME_BYTES)
		return err_set(e, -EINVAL, "a trigger's name is longer than %d bytes",
			       MAX_NAME_BYTES);
	for (size_t j = 0; j < i; j++)
		if (!strcmp(trigger_config_name_of(t->triggers[j]), name))
			return err_set(e, -EINVAL, "two triggers have the name \"%s\"", name);
	if (regex && regex[0] && name_regex_check(regex, &why) < 0)
		return err_set(e, -EINVAL, "trigger \"%s\": producer_name_regex %s", name,
			       why.text);
	return 0;
}

int trigger_config_check_triggers(const Pb__TraceConfig *config, struct err_text *e)
{
	const Pb__TraceConfig__TriggerConfig *t = config->trigger_config;
	enum trigger_mode mode = trigger_mode(config);
	int r;

	if (config->write_into_file && (mode == TRIGGER_STOP || mode == TRIGGER_CLONE))
		return err_set(e, -EINVAL,
			       "write_into_file is not possible with trigger_mode %s: data in a "
			       "file cannot be discarded",
			       mode == TRIGGER_STOP ? "STOP_TRACING" : "CLONE_SNAPSHOT");
	r = config_limit_check(config, CONFIG_TRIGGERS, e);
	for (size_t i = 0; t && i < t->n_triggers && r == 0; i++)
		r = check_trigger(t, i, e);
	return r;
}

#define WINDOW_NS (24 * 3600 * NS_PER_S)

struct trigger_hit {
	uint64_t boot_ns;
	uint64_t name; /* keyed hash: no producer can find another name with it */
};

static uint64_t trigger_config_hash(const char *name)
{
	return siphash_keyed(name, strlen(name));
}

static void remove_at(struct trigger_history *h, size_t i)
{
	h->n--;
	memmove(&h->hits[i], &h->hits[i + 1], (h->n - i) * sizeof(h->hits[0]));
}

static void forget_old(struct trigger_history *h, uint64_t now)
{
	size_t old = 0;

	while (old < h->n && now - h->hits[old].boot_ns >= WINDOW_NS)
		old++;
	h->n -= old;
	if (old > 0)
		memmove(h->hits, h->hits + old, h->n * sizeof(h->hits[0]));
}

/* Returns the hits of a trigger. Sets *ret_oldest to the index of the oldest, if there is one. */
static size_t trigger_config_count(const struct trigger_history *h, uint64_t name,
				   size_t *ret_oldest)
{
	size_t n = 0;

	for (size_t i = h->n; i-- > 0;)
		if (h->hits[i].name == name) {
			*ret_oldest = i;
			n++;
		}
	return n;
}

size_t trigger_history_count(struct trigger_history *h, const char *name, uint64_t boot_ns)
{
	size_t oldest;

	forget_old(h, boot_ns);
	return trigger_config_count(h, trigger_config_hash(name), &oldest);
}

bool trigger_history_add(struct trigger_history *h, const char *name, uint64_t boot_ns)
{
	struct trigger_hit hit = {.boot_ns = boot_ns, .name = trigger_config_hash(name)};
	size_t oldest = 0, n;

	forget_old(h, boot_ns);
	n = h->n;
	if (trigger_config_count(h, hit.name, &oldest) >= MAX_TRIGGER_HITS_PER_NAME)
		remove_at(h, oldest);
	else if (h->n >= MAX_TRIGGER_HITS)
		remove_at(h, 0);
	if (array_reserve(&h->hits, &h->cap, h->n + 1, sizeof(h->hits[0])) == 0)
		h->hits[h->n++] = hit;
	return h->n == n;
}

void trigger_history_deinit(struct trigger_history *h)
{
	free(h->hits);
	*h = (struct trigger_history){0};
}
