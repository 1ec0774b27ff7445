/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/record/waits_option.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/text/str.h"

static const struct {
	const char *word;
	Pb__WaitsConfig__State state;
} states[] = {
	{"S", PB__WAITS_CONFIG__STATE__INTERRUPTIBLE},
	{"D", PB__WAITS_CONFIG__STATE__UNINTERRUPTIBLE},
	{"T", PB__WAITS_CONFIG__STATE__STOPPED},
	{"P", PB__WAITS_CONFIG__STATE__PARKED},
	{"I", PB__WAITS_CONFIG__STATE__IDLE},
	{"R", PB__WAITS_CONFIG__STATE__THROTTLED},
};

Pb__WaitsConfig *waits_option_config(Pb__DataSourceConfig *source)
{
	if (!source->waits_config) {
		source->waits_config = malloc(sizeof(*source->waits_config));
		if (source->waits_config)
			pb__waits_config__init(source->waits_config);
	}
	return source->waits_config;
}

static int parse_waits_min(const char *value, Pb__WaitsConfig *c, struct err_text *e)
{
	int64_t ns;

	if (str_to_time_ns(value, &ns) < 0 || ns < 1000 || ns / 1000 > UINT32_MAX)
		return err_set(
			e, -EINVAL,
			"--waits min=%.80s: not a time of 1 us or more; examples: 100us, 10ms",
			value);
	c->has_min_us = true;
	c->min_us = (uint32_t)(ns / 1000);
	return 0;
}

static int parse_waits_rate(const char *value, Pb__WaitsConfig *c, struct err_text *e)
{
	if (str_to_u32(value, &c->max_per_second) < 0 || !c->max_per_second)
		return err_set(e, -EINVAL,
			       "--waits rate=%.80s: not a number of waits per second on each CPU",
			       value);
	c->has_max_per_second = true;
	return 0;
}

static int parse_waits_stacks(const char *value, Pb__WaitsConfig *c, struct err_text *e)
{
	if (str_to_u32(value, &c->user_stacks_per_second) < 0 || !c->user_stacks_per_second)
		return err_set(
			e, -EINVAL,
			"--waits stacks=%.80s: not a number of stacks per second on each CPU",
			value);
	c->has_user_stacks_per_second = true;
	return 0;
}

static int parse_wait_state(const char *value, Pb__WaitsConfig *c, struct err_text *e)
{
	Pb__WaitsConfig__State *longer;

	for (size_t i = 0; i < ARRAY_SIZE(states); i++) {
		if (strcmp(states[i].word, value) != 0)
			continue;
		longer = realloc(c->states, (c->n_states + 1) * sizeof(*longer));
		if (!longer)
			return -ENOMEM;
		c->states = longer;
		c->states[c->n_states++] = states[i].state;
		return 0;
	}
	return err_set(e, -EINVAL,
		       "--waits state=%.80s: unknown state; use S (asleep), D (uninterruptible), T "
		       "(stopped), R (throttled), P (parked) or I (idle)",
		       value);
}

static int parse_waits_program(const char *value, Pb__WaitsConfig *c, struct err_text *e)
{
	char **longer = realloc(c->programs, (c->n_programs + 1) * sizeof(*longer));

	if (!longer)
		return -ENOMEM;
	c->programs = longer;
	if (!*value || strlen(value) > 15)
		return err_set(e, -EINVAL,
			       "--waits program=%.80s: a process name must be 1 to 15 bytes long",
			       value);
	c->programs[c->n_programs] = strdup(value);
	return c->programs[c->n_programs] ? (c->n_programs++, 0) : -ENOMEM;
}

static int parse_wait_word(const char *word, Pb__WaitsConfig *c, struct err_text *e)
{
	static const struct {
		const char *key;
		int (*take)(const char *value, Pb__WaitsConfig *c, struct err_text *e);
	} keys[] = {{"min=", parse_waits_min},
		    {"rate=", parse_waits_rate},
		    {"stacks=", parse_waits_stacks},
		    {"state=", parse_wait_state},
		    {"program=", parse_waits_program}};

	if (strcmp(word, "kernel") == 0) {
		c->has_kernel_threads = c->kernel_threads = true;
		return 0;
	}
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (strncmp(word, keys[i].key, strlen(keys[i].key)) == 0)
			return keys[i].take(word + strlen(keys[i].key), c, e);
	return err_set(e, -EINVAL,
		       "--waits %.80s: use min=TIME, rate=N, stacks=N, state=S, program=NAME or "
		       "kernel",
		       word);
}

static int parse_wait_words(const char *text, Pb__WaitsConfig *c, struct err_text *e)
{
	_cleanup_(freep) char *copy = strdup(text);
	char *rest = copy, *word;
	int r = copy ? 0 : -ENOMEM;

	while (r == 0 && (word = strsep(&rest, ",")))
		r = parse_wait_word(word, c, e);
	return r;
}

int waits_option_put(const char *text, Pb__TraceConfig *config, struct err_text *e)
{
	bool has_source = false;
	int r = 0;

	for (size_t i = 0; i < config->n_data_sources && r == 0; i++) {
		Pb__DataSourceConfig *source = config->data_sources[i]->config;

		if (!waits_option_is_source(source))
			continue;
		has_source = true;
		r = waits_option_config(source) ? parse_wait_words(text, source->waits_config, e)
						: -ENOMEM;
	}
	return has_source || r ? r
			       : err_set(e, -EINVAL,
					 "--waits applies only to waits, and none are recorded; "
					 "add the preset waits or off-cpu");
}
