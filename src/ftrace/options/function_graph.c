/* SPDX-License-Identifier: Apache-2.0 */
/*
 *	set_ftrace_filter     of the instance      function_filters        )
 *	set_graph_function    of the whole kernel  function_graph_roots    ) before the tracer,
 *	max_graph_depth       of the whole kernel  ..._max_depth           ) which starts at once
 *	current_tracer        of the instance
 *
 * The kernel parses lists word by word and validates a word when the following space arrives.
 */
#include "ftrace/options/function_graph.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/system/fs.h"
#include "base/text/str.h"
#include "ftrace/options/pid_filter.h"
#include "ftrace/tracefs/override.h"
#include "ftrace/tracefs/setting_file.h"

#define TRACER "function_graph"
#define MAX_FUNCTIONS 1024u /* in a list of the config */
#define MAX_NAME 256u /* above the kernel's limit for names */

static const char *const event_names[] = {"funcgraph_entry", "funcgraph_exit",
					  "fgraph_retaddr_entry"};

/* ---- selecting events ---- */

bool event_is_funcgraph(const struct event_name *e)
{
	for (unsigned i = 0; i < ARRAY_SIZE(event_names); i++)
		if (!strcmp(e->group, "ftrace") && !strcmp(e->name, event_names[i]))
			return true;
	return false;
}

/* Returns the first line of a file, which the caller frees, or NULL if it cannot be read. */
static char *function_graph_read_line(const char *root, const char *file)
{
	char path[4096];
	char *text = fs_join(path, sizeof(path), root, file) ? NULL : setting_read(path);

	if (text)
		text[strcspn(text, "\n")] = '\0';
	return text;
}

static bool line_has_word(const char *line, const char *word)
{
	size_t len = strlen(word);

	for (; line && *line; line += strcspn(line, " "), line += *line == ' ')
		if (!strncmp(line, word, len) && (line[len] == ' ' || !line[len]))
			return true;
	return false;
}

static bool function_graph_is_requested(const struct setup *s)
{
	const Pb__FtraceConfig *c = s->config;
	const struct {
		const char *name;
		bool is_set;
	} refinements[] = {
		{"function_filters", c->n_function_filters},
		{"function_graph_roots", c->n_function_graph_roots},
		{"function_graph_max_depth", c->function_graph_max_depth},
	};

	for (unsigned i = 0; !c->enable_function_graph && i < ARRAY_SIZE(refinements); i++)
		if (refinements[i].is_set)
			setup_error_add(s->errors, "option:%s (enable_function_graph is not set)",
					refinements[i].name);
	return c->enable_function_graph;
}

int function_graph_select(struct event_selection *events, const struct setup *s)
{
	_cleanup_(freep) char *tracers = NULL;
	char file[64], path[4096];
	int r = 0;

	if (!function_graph_is_requested(s))
		return 0;
	tracers = function_graph_read_line(s->root, "available_tracers");
	if (!line_has_word(tracers, TRACER)) {
		setup_error_add(
			s->errors,
			"option:enable_function_graph (the kernel has no such tracer; it has: "
			"%s)",
			tracers ? tracers : "none");
		return 0;
	}
	for (unsigned i = 0; !r && i < ARRAY_SIZE(event_names); i++) {
		snprintf(file, sizeof(file), "events/ftrace/%s/format", event_names[i]);
		if (!fs_join(path, sizeof(path), s->root, file) && fs_exists(path))
			r = event_selection_add(events, "ftrace", event_names[i]);
	}
	return r;
}

void function_graph_deselect(struct event_selection *events)
{
	for (size_t i = events->n; i-- > 0;)
		if (event_is_funcgraph(&events->events[i]))
			event_selection_remove(events, &events->events[i]);
}

/* ---- lists of functions ---- */

/* Returns what is wrong with a name, or NULL. A colon starts a command ("schedule:traceoff"); an
 * exclamation mark removes an entry. */
static const char *function_name_problem(const char *name)
{
	if (!*name || strlen(name) > MAX_NAME)
		return "not a function name";
	if (strchr(name, ':'))
		return "a colon would make it a command";
	for (const char *p = name; *p; p++)
		if (*p <= ' ' || *p > '~' || *p == '!' || *p == '#')
			return "not a function name";
	return NULL;
}

static void refuse_name(const struct setup *s, const char *option, const char *name,
			const char *why)
{
	setup_error_add(s->errors, "option:%s (%.60s: %s)", option, name, why);
}

struct functions {
	const char *option; /* name of the option in the config */
	const char *file; /* file of tracefs */
	char *const *names;
	size_t n;
};

/* Joins the valid names, one per line. */
static void join_valid_names(const struct functions *f, const struct setup *s, struct strbuf *b)
{
	const char *why;

	if (f->n > MAX_FUNCTIONS)
		setup_error_add(s->errors, "option:%s (the limit is %u, the config has %zu)",
				f->option, MAX_FUNCTIONS, f->n);
	for (size_t i = 0; i < f->n && i < MAX_FUNCTIONS; i++) {
		why = function_name_problem(f->names[i]);
		if (why)
			refuse_name(s, f->option, f->names[i], why);
		else
			strbuf_printf(b, "%s\n", f->names[i]);
	}
}

static const char *refusal_reason(int error)
{
	switch (error) {
	case -EINVAL:
		return "the kernel has no traceable function of this name";
	case -ENOSPC:
		return "the kernel's list is full";
	}
	return strerror(-error);
}

/* Adds the names one by one to find those that the kernel refuses. Returns the number accepted. */
static unsigned add_functions_one_by_one(const struct functions *f, const struct instance *i,
					 const struct setup *s, char *lines)
{
	char *save = NULL, name[MAX_NAME + 2];
	unsigned taken = 0;
	int r;

	for (char *at = strtok_r(lines, "\n", &save); at; at = strtok_r(NULL, "\n", &save)) {
		snprintf(name, sizeof(name), "%s\n", at);
		r = instance_append(i, f->file, name);
		if (r)
			refuse_name(s, f->option, at, refusal_reason(r));
		taken += !r;
	}
	return taken;
}

/* Returns true if another process has set the file of an attached instance. idle: the value of a
 * file that no process has set. */
static bool is_set_by_others(const struct instance *i, const char *file, const char *idle)
{
	_cleanup_(freep) char *now = instance_read(i, file);

	return !instance_is_own(i) && !instance_is_held_by_others(i, file) && now &&
	       !setting_matches_write(file, now, idle);
}

static int report_option_failure(const struct setup *s, const char *option, int error,
				 const char *why)
{
	setup_error_add(s->errors, "option:%s (%s)", option, why);
	return error;
}

/* Writes the functions of an option. Returns 0 if the kernel took at least one; else -errno, which
 * was reported unless it is -ENOMEM. */
static int function_graph_write_list(const struct functions *f, const struct instance *i,
				     const struct setup *s)
{
	struct strbuf lines = {0};
	unsigned taken = 0;
	int r;

	if (is_set_by_others(i, f->file, ""))
		return report_option_failure(s, f->option, -EBUSY,
					     "another tool has already set functions");
	join_valid_names(f, s, &lines);
	if (lines.failed) {
		strbuf_deinit(&lines);
		return -ENOMEM;
	}
	r = lines.s ? instance_write(i, f->file, lines.s) : -EINVAL;
	if (r == -EBUSY || r == -ENOENT) {
		strbuf_deinit(&lines);
		return report_option_failure(s, f->option, r,
					     r == -EBUSY
						     ? "another recording traces other functions"
						     : "not supported by this kernel");
	}
	if (r && lines.s && !instance_write(i, f->file, ""))
		taken = add_functions_one_by_one(f, i, s, lines.s);
	strbuf_deinit(&lines);
	return r && !taken ? report_option_failure(s, f->option, -EINVAL,
						   "none of the names is a traceable function, and "
						   "an empty list would trace all functions")
			   : 0;
}

/* ---- global settings of the kernel ---- */

static int attach_globals(struct function_graph *g, const struct setup *s)
{
	const struct override_target target = {
		.root = s->root,
		.subdir = "",
		.state = s->state_root,
		.reads_nothing = true,
	};
	struct err_text e;
	int r = instance_attach(&g->globals, &target, &e);

	return r ? report_option_failure(s, "enable_function_graph", r, e.text) : 0;
}

/* Reports a kernel-wide limit that another tool has set, because it applies to this session,
 * too. */
static void report_limit(const struct setup *s, const char *file)
{
	setup_error_add(s->errors,
			"option:enable_function_graph (limited by %s, which another tool has set "
			"kernel-wide)",
			file);
}

/* Sets the roots of the graph. Without roots in the config, makes sure that there are none, and
 * reports if another tool has set some. Returns 0, or -errno, reported unless it is -ENOMEM. */
static int set_root_functions(struct function_graph *g, const struct setup *s)
{
	const struct functions roots = {
		.option = "function_graph_roots",
		.file = "set_graph_function",
		.names = s->config->function_graph_roots,
		.n = s->config->n_function_graph_roots,
	};

	if (roots.n)
		return function_graph_write_list(&roots, &g->globals, s);
	if (is_set_by_others(&g->globals, roots.file, "") ||
	    instance_write(&g->globals, roots.file, "") == -EBUSY)
		report_limit(s, roots.file);
	return 0;
}

/* Sets the depth of the graph, like set_root_functions(); 0: no limit. */
static int set_depth(struct function_graph *g, const struct setup *s)
{
	static const char file[] = "max_graph_depth";
	uint32_t depth = s->config->function_graph_max_depth;
	bool is_set = is_set_by_others(&g->globals, file, "0");
	char text[16];
	int r;

	snprintf(text, sizeof(text), "%u", depth);
	r = is_set ? -EBUSY : instance_write(&g->globals, file, text);
	if (r && depth)
		return report_option_failure(
			s, "function_graph_max_depth", r,
			r == -EBUSY ? "the setting is kernel-wide, and another tool uses it"
				    : strerror(-r));
	if (r == -EBUSY)
		report_limit(s, file);
	return 0;
}

/* ---- the tracer ---- */

/* Sets the function filters. Without filters in the config there must be none. Returns 0, or
 * -errno, reported unless it is -ENOMEM. */
static int set_filters(const struct setup *s)
{
	const struct functions filters = {
		.option = "function_filters",
		.file = "set_ftrace_filter",
		.names = s->config->function_filters,
		.n = s->config->n_function_filters,
	};

	if (filters.n)
		return function_graph_write_list(&filters, s->instance, s);
	if (is_set_by_others(s->instance, filters.file, ""))
		return report_option_failure(s, "enable_function_graph", -EBUSY,
					     "another tool has already set functions");
	/* An own instance has no filter. An attached one must have none while we use it. */
	if (instance_write(s->instance, filters.file, "") == -EBUSY)
		return report_option_failure(s, "enable_function_graph", -EBUSY,
					     "another recording is using function_filters");
	return 0;
}

/* Makes the kernel trace the functions of all threads, unless the config restricts the threads;
 * then pid_filter.c has set them. */
static int function_graph_set_threads(const struct setup *s)
{
	static const char file[] = "set_ftrace_pid";

	if (pid_filter_is_requested(s->config) || instance_is_own(s->instance))
		return 0;
	if (is_set_by_others(s->instance, file, ""))
		return report_option_failure(s, "enable_function_graph", -EBUSY,
					     "another tool has already set threads");
	if (instance_write(s->instance, file, "") == -EBUSY)
		return report_option_failure(s, "enable_function_graph", -EBUSY,
					     "another recording is using tids_to_trace");
	return 0;
}

/* Sets the tracer, which clears the rings. Returns 0, or -errno after reporting it. */
static int set_tracer(const struct setup *s)
{
	_cleanup_(freep) char *now = function_graph_read_line(s->instance->path, "current_tracer");
	int r;

	if (now && strcmp(now, TRACER) && (strcmp(now, "nop") || s->instance->keeps_ring))
		return report_option_failure(s, "enable_function_graph", -EBUSY,
					     strcmp(now, "nop")
						     ? "another tool has already set a tracer"
						     : "setting the tracer would clear the rings");
	r = instance_write(s->instance, "current_tracer", TRACER);
	if (!r)
		return 0;
	return report_option_failure(
		s, "enable_function_graph", r,
		r == -EBUSY ? "another process is reading the rings, so the tracer cannot be set"
			    : strerror(-r));
}

int function_graph_set(struct function_graph *g, const struct setup *s)
{
	int r = attach_globals(g, s);

	if (!r)
		r = function_graph_set_threads(s);
	if (!r)
		r = set_filters(s);
	if (!r)
		r = set_root_functions(g, s);
	if (!r)
		r = set_depth(g, s);
	if (!r)
		r = set_tracer(s);
	if (r)
		function_graph_end(g);
	return r;
}

void function_graph_end(struct function_graph *g)
{
	instance_remove(&g->globals);
}
