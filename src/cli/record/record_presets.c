/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/record/record_presets.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/text/str.h"
#include "config/source_merge.h"

static int record_presets_refuse(const char *name, size_t len, struct presets *presets,
				 struct err_text *e)
{
	char word[PRESET_MAX_NAME], nearest[STR_NEAREST_SIZE];

	snprintf(word, sizeof(word), "%.*s", (int)len, name);
	if (presets_nearest(presets, word, nearest))
		return err_set(e, -EINVAL, "there is no preset '%s'; did you mean %s?", word,
			       nearest);
	return err_set(e, -EINVAL, "there is no preset '%s'; see sonda list presets", word);
}

int record_presets_check(const struct record_options *o, struct presets *presets,
			 struct err_text *e)
{
	const char *rest, *part;
	size_t len, n;
	int r = 0;

	for (size_t i = 0; i < o->presets.n && !r; i++) {
		rest = o->presets.args[i];
		for (n = 0; !r && (part = event_pattern_next(&rest, &len)); n++)
			r = presets_has(presets, part, len)
				    ? 0
				    : record_presets_refuse(part, len, presets, e);
		if (!r && !n)
			r = err_set(e, -EINVAL, "-P needs the name of a preset");
	}
	return r;
}

/* The presets that the words name, without those that a later word with '!' takes back. */
struct chosen {
	const struct preset **list; /* owned array; borrowed from presets */
	size_t n;
	size_t cap;
};

static bool unchoose(struct chosen *c, const struct preset *preset)
{
	for (size_t i = 0; i < c->n; i++) {
		if (c->list[i] != preset)
			continue;
		memmove(&c->list[i], &c->list[i + 1], (--c->n - i) * sizeof(*c->list));
		return true;
	}
	return false;
}

static int record_presets_choose(struct chosen *c, const struct preset *preset)
{
	unchoose(c, preset);
	if (array_reserve(&c->list, &c->cap, c->n + 1, sizeof(*c->list)))
		return -ENOMEM;
	c->list[c->n++] = preset;
	return 0;
}

/* Removes from idle a word that has excluded a preset, though no event. */
static void forget_idle(struct event_requests *idle, const char *word)
{
	for (size_t i = 0; i < idle->n; i++)
		if (!strcmp(idle->names[i], word)) {
			free(idle->names[i]);
			idle->names[i] = idle->names[--idle->n];
			return;
		}
}

static int choose_presets_of_word(const char *word, struct presets *presets, struct chosen *c,
				  struct event_requests *idle, struct err_text *e)
{
	bool negative = event_pattern_is_negative(word);
	const char *rest = word + negative, *part;
	const struct preset *preset;
	size_t len;
	int r = 0;

	while (!r && (part = event_pattern_next(&rest, &len))) {
		r = presets_find(presets, part, len, &preset, e);
		if (r == -ENOENT)
			r = 0;
		else if (!r && !negative)
			r = record_presets_choose(c, preset);
		else if (!r && unchoose(c, preset))
			forget_idle(idle, word);
	}
	return r;
}

/* Adds the data sources of a preset. Its events were selected with the other words. */
static int record_presets_add_preset(Pb__TraceConfig *config, const struct preset *preset,
				     uint32_t buffer)
{
	int r = 0;

	for (size_t i = 0; i < preset->config->n_data_sources && !r; i++) {
		Pb__DataSourceConfig *c = preset->config->data_sources[i]->config;
		Pb__FtraceConfig *f = c->ftrace_config;
		size_t n = f ? f->n_ftrace_events : 0;

		if (f)
			f->n_ftrace_events = 0;
		if (!f || pb__ftrace_config__get_packed_size(f))
			r = config_add_source(config, c, buffer);
		if (f)
			f->n_ftrace_events = n;
	}
	return r;
}

int record_presets_put(const struct record_options *o, struct presets *presets,
		       struct event_requests *idle, uint32_t buffer, Pb__TraceConfig *config,
		       struct err_text *e)
{
	struct chosen c = {0};
	int r = 0;

	for (size_t i = 0; i < o->words.n && presets && !r; i++)
		r = choose_presets_of_word(o->words.args[i], presets, &c, idle, e);
	for (size_t i = 0; i < c.n && !r; i++)
		r = record_presets_add_preset(config, c.list[i], buffer);
	free(c.list);
	return r;
}
