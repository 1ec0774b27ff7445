/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events and groups of tracefs. The format file of an event has its fields and how the kernel
 * prints it:
 *
 *	field:pid_t prev_pid;	offset:24;	size:4;	signed:1;
 *	print fmt: "prev_pid=%d", REC->prev_pid
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/name_list.h"
#include "base/core/mem.h"
#include "base/system/fs.h"
#include "cli/list/list.h"
#include "cli/trace/event_categories.h"

#define FORMAT_MAX_BYTES (1u << 20)

/* Returns true if the event matches. A pattern with a group has the form "group:name" or
 * "group/name". A pattern without a group matches names of events; in sonda list the name of a
 * group selects all of its events. */
static bool list_events_matches(const struct list *l, const char *pattern, const char *event)
{
	char copy[TRACEFS_EVENTS_MAX_NAME], group[TRACEFS_EVENTS_MAX_NAME];
	const char *slash = strchr(event, '/');

	if (!pattern)
		return true;
	snprintf(copy, sizeof(copy), "%s", pattern);
	if (strchr(copy, ':') && !strchr(copy, '/'))
		*strchr(copy, ':') = '/';
	if (strchr(copy, '/'))
		return list_matches_pattern(l, copy, event);
	snprintf(group, sizeof(group), "%.*s", (int)(slash - event), event);
	return list_matches_pattern(l, copy, slash + 1) || (!l->exact && !strcmp(copy, group));
}

/* ---- the format of an event ---- */

/* Puts one field: "char prev_comm[16];..." is prev_comm[16] of type char. */
static void list_events_put_field(struct list_out *out, char *declaration)
{
	char *end = strchr(declaration, ';'), *name;

	if (!end)
		return;
	*end = '\0';
	name = strrchr(declaration, ' ');
	if (!name || str_starts(name + 1, "common_"))
		return;
	*name = '\0';
	list_out_add_field(out, name + 1, declaration, NULL);
}

static void put_fields_of_format(struct list_out *out, char *text)
{
	char *line, *next, *print = NULL;

	list_out_begin_fields(out, "fields");
	for (line = text; line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		if (str_starts(line, "\tfield:"))
			list_events_put_field(out, line + strlen("\tfield:"));
		else if (str_starts(line, "print fmt: "))
			print = line + strlen("print fmt: ");
	}
	list_out_end_fields(out);
	list_out_add_value(out, "print", print);
}

static void put_details_of_event(struct list *l, const char *event)
{
	struct strbuf text = {0};
	char path[512];
	int n = snprintf(path, sizeof(path), "%s/events/%s/format", l->events.root, event);

	if (n > 0 && (size_t)n < sizeof(path) && !fs_read_file(path, FORMAT_MAX_BYTES, &text) &&
	    text.s)
		put_fields_of_format(&l->out, text.s);
	strbuf_deinit(&text);
}

/* ---- lists ---- */

static void put_event(struct list *l, const char *event)
{
	char name[TRACEFS_EVENTS_MAX_NAME], example[TRACEFS_EVENTS_MAX_NAME + 32];
	char *slash;

	snprintf(name, sizeof(name), "%s", event);
	slash = strchr(name, '/');
	if (slash)
		*slash = ':';
	list_out_begin_item(&l->out, "event", name, NULL);
	if (l->detail == LIST_ALL)
		put_details_of_event(l, event);
	snprintf(example, sizeof(example), "sonda record %s", name);
	if (l->exact)
		list_out_add_value(&l->out, "example", example);
}

int list_events(struct list *l, const char *pattern, struct err_text *e)
{
	int r = list_load_events(l, e);

	for (size_t i = 0; i < l->events.n && !r; i++)
		if (list_events_matches(l, pattern, l->events.names[i]))
			put_event(l, l->events.names[i]);
	return r;
}

static size_t group_name_len(const char *event)
{
	return (size_t)(strchr(event, '/') - event);
}

static void put_group(struct list *l, const char *name, size_t first, size_t n)
{
	_cleanup_(freep) const char **names = calloc(n, sizeof(*names));
	char title[64], example[TRACEFS_EVENTS_MAX_NAME + 32];

	snprintf(title, sizeof(title), "%zu event%s", n, n == 1 ? "" : "s");
	list_out_begin_item(&l->out, "group", name, title);
	if (!names || l->detail != LIST_ALL)
		return;
	for (size_t i = 0; i < n; i++)
		names[i] = strchr(l->events.names[first + i], '/') + 1;
	list_out_add_values(&l->out, "events", names, n);
	snprintf(example, sizeof(example), "sonda record '%s:*'", name);
	list_out_add_value(&l->out, "example", example);
}

/* Lists the groups of events with their numbers of events. The events of a group are adjacent. */
int list_groups(struct list *l, const char *pattern, struct err_text *e)
{
	char group[TRACEFS_EVENTS_MAX_NAME];
	int r = list_load_events(l, e);
	size_t n;

	for (size_t i = 0; i < l->events.n && !r; i += n) {
		const char *first = l->events.names[i];
		size_t len = group_name_len(first);

		for (n = 1; i + n < l->events.n; n++)
			if (strncmp(l->events.names[i + n], first, len + 1) != 0)
				break;
		snprintf(group, sizeof(group), "%.*s", (int)len, first);
		if (list_matches_pattern(l, pattern, group))
			put_group(l, group, i, n);
	}
	return r;
}

/* Categories of track events, as the programs that run describe them to the service. */

/* Puts the programs of n rows, which have the same category. */
static void put_programs(struct list *l, const struct event_category *rows, size_t n)
{
	struct name_list names = {0};
	char text[300];

	for (size_t i = 0; i < n; i++) {
		snprintf(text, sizeof(text), "%s (pid %d)", event_category_program(&rows[i]),
			 rows[i].producer ? rows[i].producer->pid : 0);
		name_list_add(&names, (const uint8_t *)text, strlen(text));
	}
	list_out_add_values(&l->out, "programs", (const char *const *)names.names, names.n);
	name_list_deinit(&names);
}

static void put_category(struct list *l, const struct event_category *rows, size_t n)
{
	const Pb__TrackEventCategory *c = rows->category;
	struct strbuf example = {0};

	list_out_begin_item(&l->out, "category", c->name, c->description);
	if (l->detail == LIST_NAMES)
		return;
	list_out_add_values(&l->out, "tags", (const char *const *)c->tags, c->n_tags);
	put_programs(l, rows, n);
	strbuf_puts(&example, "sonda record -t 10s --app ");
	strbuf_put_word(&example, c->name);
	if (l->exact)
		list_out_add_value(&l->out, "example", example.s);
	strbuf_deinit(&example);
}

int list_categories(struct list *l, const char *pattern, struct err_text *e)
{
	_cleanup_(freep) struct event_category *rows = NULL;
	const Pb__TracingServiceState *state = list_service_state(l);
	size_t n = 0;

	if (!state)
		return err_set(e, -ENOTCONN, "%s", l->no_service.text);
	if (event_categories_list(state, &rows, &n) < 0)
		return err_set(e, -ENOMEM, "out of memory");
	for (size_t i = 0, next; i < n; i = next) {
		for (next = i + 1;
		     next < n && !strcmp(rows[i].category->name, rows[next].category->name);)
			next++;
		if (list_matches_pattern(l, pattern, rows[i].category->name))
			put_category(l, &rows[i], next - i);
	}
	return 0;
}

/*
 * Functions of the kernel that a probe or the function graph can be attached to: those of tracefs,
 * or, where these cannot be read, the functions of /proc/kallsyms, of which the kernel may refuse
 * some.
 */

#define FUNCTIONS_MAX_BYTES (64u << 20)

static bool tracefs_has_file(const char *root, const char *file)
{
	char path[512];

	return root && !fs_join(path, sizeof(path), root, file) && fs_exists(path);
}

static void put_function(struct list *l, const char *root, const char *name, const char *module)
{
	struct strbuf graph = {0}, probe = {0};
	const char *examples[2];
	size_t n = 0;

	list_out_begin_item(&l->out, "function", name, NULL);
	list_out_add_value(&l->out, "module", module);
	strbuf_printf(&graph, "sonda record --function-graph=%s", name);
	strbuf_printf(&probe, "sonda record --kprobe %s --kretprobe %s", name, name);
	if (tracefs_has_file(root, "max_graph_depth") && graph.s)
		examples[n++] = graph.s;
	if (tracefs_has_file(root, "kprobe_events") && probe.s)
		examples[n++] = probe.s;
	if (l->exact)
		list_out_add_lines(&l->out, "example", examples, n);
	if (l->exact && n < 2 && root)
		list_out_add_value(
			&l->out, "note",
			n && examples[0] == graph.s ? "this kernel has no kprobes"
			: n			    ? "this kernel has no function graph tracer"
			    : "this kernel has neither kprobes nor the function graph tracer");
	strbuf_deinit(&graph);
	strbuf_deinit(&probe);
}

/* ---- the kernel's lists ---- */

/* Splits "name [module]" or, in kallsyms, "address type name [module]". Returns the name, NULL if
 * the line is not a function. */
static char *parse_function_line(char *line, bool is_kallsyms, char **ret_module)
{
	char *name = line, *end;

	if (is_kallsyms) {
		name = strchr(line, ' ');
		if (!name || !name[1] || !strchr("tT", name[1]) || name[2] != ' ')
			return NULL;
		name += 3;
	}
	end = name + strcspn(name, " \t");
	*ret_module = *end ? end + 1 + strspn(end + 1, " \t[") : NULL;
	*end = '\0';
	if (*ret_module)
		(*ret_module)[strcspn(*ret_module, "]")] = '\0';
	/* NAME.cold and NAME.isra.0 are parts and copies of functions that the compiler makes;
	 * __pfx_NAME is the padding before a function. */
	return strchr(name, '.') || str_starts(name, "__pfx_") ? NULL : name;
}

static int read_function_list(const char *root, struct strbuf *text, bool *ret_is_kallsyms)
{
	char path[512];
	int r = -ENOENT;

	*ret_is_kallsyms = false;
	if (root && !fs_join(path, sizeof(path), root, "available_filter_functions"))
		r = fs_read_file(path, FUNCTIONS_MAX_BYTES, text);
	if (!r && text->len)
		return 0;
	*ret_is_kallsyms = true;
	strbuf_clear(text);
	return fs_read_file("/proc/kallsyms", FUNCTIONS_MAX_BYTES, text);
}

int list_functions(struct list *l, const char *pattern, struct err_text *e)
{
	struct strbuf text = {0};
	char *line, *next, *name, *module;
	const char *root;
	bool is_kallsyms;
	int r;

	if (!l->out.with_kind && list_is_program_pattern(pattern))
		return list_program_functions(l, pattern, e);
	root = list_load_events(l, e) ? NULL : l->events.root;
	r = read_function_list(root, &text, &is_kallsyms);
	for (line = text.s; line && *line && !r; line = next) {
		next = line + strcspn(line, "\n");
		if (*next)
			*next++ = '\0';
		name = parse_function_line(line, is_kallsyms, &module);
		if (name && list_matches_pattern(l, pattern, name))
			put_function(l, root, name, module);
	}
	strbuf_deinit(&text);
	return r ? err_set(e, r, "cannot read the kernel's functions (/proc/kallsyms): %s",
			   strerror(-r))
		 : 0;
}
