/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/name_list.h"
#include "cli/list/list.h"
#include "config/text.h"

struct pass {
	struct list *l;
	const char *pattern;
	struct err_text *e;
};

static void list_presets_add_name(struct name_list *l, const char *name)
{
	name_list_add(l, (const uint8_t *)name, strlen(name));
}

/* Adds the events of this kernel that match a request of a preset to found. If none does, adds the
 * request itself: to found if it means an existing event (a name without a group, an event that
 * available_events lacks) or if the kernel's list is unknown, else to missing. */
static void find_requested_events(const struct tracefs_events *events, const char *request,
				  struct name_list *found, struct name_list *missing)
{
	bool has_match = false;

	for (size_t i = 0; i < events->n; i++) {
		if (!str_glob(request, events->names[i]))
			continue;
		list_presets_add_name(found, events->names[i]);
		has_match = true;
	}
	if (has_match)
		return;
	list_presets_add_name(!events->n || tracefs_events_has(events, request) ? found : missing,
			      request);
}

static void list_presets_put_events(struct list *l, const struct preset *s)
{
	struct name_list found = {0}, missing = {0};
	struct err_text e;

	list_load_events(l, &e);
	for (size_t i = 0; i < s->config->n_data_sources; i++) {
		const Pb__FtraceConfig *f = s->config->data_sources[i]->config->ftrace_config;

		for (size_t k = 0; f && k < f->n_ftrace_events; k++)
			find_requested_events(&l->events, f->ftrace_events[k], &found, &missing);
	}
	list_out_add_values(&l->out, "events", (const char *const *)found.names, found.n);
	list_out_add_values(&l->out, "missing", (const char *const *)missing.names, missing.n);
	name_list_deinit(&found);
	name_list_deinit(&missing);
}

/* Appends "linux.sys_stats sys_stats_config { meminfo_period_ms: 1000 }": the config on one
 * line. */
static void print_source(Pb__DataSourceConfig *c, struct strbuf *line)
{
	struct strbuf text = {0};
	char *name = c->name;

	c->name = NULL;
	text_print(&c->base, &text);
	c->name = name;
	strbuf_puts(line, name);
	for (const char *p = text.s, *end; p && *p; p = end + strspn(end, " \n")) {
		end = p + strcspn(p, "\n");
		strbuf_printf(line, " %.*s", (int)(end - p), p);
	}
	strbuf_deinit(&text);
}

static void put_sources(struct list *l, const struct preset *s)
{
	struct name_list lines = {0};

	for (size_t i = 0; i < s->config->n_data_sources; i++) {
		Pb__DataSourceConfig *c = s->config->data_sources[i]->config;
		size_t n = c->ftrace_config ? c->ftrace_config->n_ftrace_events : 0;
		struct strbuf line = {0};

		if (n)
			c->ftrace_config->n_ftrace_events = 0;
		if (!n || pb__ftrace_config__get_packed_size(c->ftrace_config))
			print_source(c, &line);
		if (n)
			c->ftrace_config->n_ftrace_events = n;
		if (line.s)
			name_list_add_text(&lines, (const uint8_t *)line.s, line.len);
		strbuf_deinit(&line);
	}
	list_out_add_lines(&l->out, "source", (const char *const *)lines.names, lines.n);
	name_list_deinit(&lines);
}

/* Writes how the preset is made, and the words for each part of it: "events, eBPF (lock-events,
 * lock-ebpf)". */
static void put_preset_parts(struct list *l, const struct preset *s)
{
	static const char *const texts[PRESET_PARTS] = {"events", "counters", "eBPF",
							"call stacks"};
	struct strbuf line = {0}, words = {0};
	bool has[PRESET_PARTS] = {false};

	for (size_t i = 0; i < s->config->n_data_sources; i++)
		has[find_preset_part(s->config->data_sources[i]->config->name)] = true;
	for (int part = 0; part < PRESET_PARTS; part++) {
		if (!has[part])
			continue;
		strbuf_printf(&line, "%s%s", line.len ? ", " : "", texts[part]);
		if (part != PRESET_SAMPLES)
			strbuf_printf(&words, "%s%s-%s", words.len ? ", " : "", s->name,
				      preset_part_names[part]);
	}
	if (words.s && strchr(words.s, ','))
		strbuf_printf(&line, " (separately: %s)", words.s);
	list_out_add_value(&l->out, "made of", line.s);
	strbuf_deinit(&line);
	strbuf_deinit(&words);
}

static int put_preset(void *pass, const char *name)
{
	struct pass *p = pass;
	struct list *l = p->l;
	const struct preset *s;
	struct strbuf example = {0};
	struct err_text e;
	int r;

	if (!list_matches_pattern(l, p->pattern, name))
		return 0;
	r = presets_find(l->presets, name, strlen(name), &s, &e);
	if (r == -ENOMEM)
		return r;
	list_out_begin_item(&l->out, "preset", name, r ? e.text : s->title);
	if (r || l->detail == LIST_NAMES)
		return 0;
	put_preset_parts(l, s);
	list_out_add_value(&l->out, "cost", s->cost);
	if (!p->pattern && !l->out.json)
		return 0;
	list_presets_put_events(l, s);
	put_sources(l, s);
	list_out_add_value(&l->out, "file", s->path ? s->path : "(in the program)");
	strbuf_printf(&example, "sonda record -t 10s %s", name);
	if (l->exact)
		list_out_add_value(&l->out, "example", example.s);
	strbuf_deinit(&example);
	return 0;
}

int list_presets(struct list *l, const char *pattern, struct err_text *e)
{
	struct pass p = {l, pattern, e};
	char name[PRESET_MAX_NAME];
	size_t before = l->out.n;
	int r;

	/* In a typed name '_' stands for '-'. */
	if (pattern && strlen(pattern) < sizeof(name)) {
		strcpy(name, pattern);
		for (char *c = name; *c; c++)
			*c = *c == '_' ? '-' : *c;
		p.pattern = name;
	}
	r = presets_for_each(l->presets, put_preset, &p);
	/* A part of a preset is found by its whole name only. */
	if (!r && pattern && l->out.n == before &&
	    presets_has(l->presets, p.pattern, strlen(p.pattern)))
		r = put_preset(&p, p.pattern);
	return r ? err_set(e, -ENOMEM, "out of memory") : 0;
}
