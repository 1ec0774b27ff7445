/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each group of the user gets a group of our own in tracefs, so that two sessions with the same
 * probe do not collide:
 *
 *	config                          tracefs                              trace
 *	p:mine/a vfs_read               p:sonda_812_51423_0/a vfs_read       mine/a
 *	p:mine/b vfs_write              p:sonda_812_51423_0/b vfs_write      mine/b
 *	s:mine/c vfs_fsync              p:sonda_812_51423_3/c vfs_fsync      kprobe_event BEGIN
 *	                                r1024:sonda_812_51423_4/c vfs_fsync  kprobe_event END
 *	probe: "vfs_read" type: BOTH    p:sonda_812_51423_1/vfs_read ...     kprobe_event BEGIN
 *	                                r1024:sonda_812_51423_2/vfs_read     kprobe_event END
 */
#include "ftrace/options/probes.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/event_loop/coroutine.h"
#include "base/system/fs.h"
#include "base/text/str.h"
#include "ftrace/options/probe_spec.h"
#include "ftrace/tracefs/error_log.h"
#include "ftrace/tracefs/owner_tag.h"

/* ---- names of functions ---- */

/* The names of functions that can be probed: available_filter_functions of tracefs. Generating the
 * list takes the kernel about 100 ms, so it is read once, when the first wrong name is found.
 * Initialize to zero. */
struct function_names {
	struct strbuf text; /* names, each terminated by NUL */
	bool is_read;
};

#define MAX_TEXT (32 << 20)

/* Reads the names of the kernel's functions, whose lines are "vfs_read" or "xfs_iget [xfs]". */
static void read_names(struct function_names *f, const char *root)
{
	char path[4096];

	f->is_read = true;
	if (fs_join(path, sizeof(path), root, "available_filter_functions") ||
	    fs_read_file(path, MAX_TEXT, &f->text))
		strbuf_clear(&f->text);
	for (size_t i = 0; i < f->text.len; i++)
		if (f->text.s[i] == '\n' || f->text.s[i] == ' ' || f->text.s[i] == '\t')
			f->text.s[i] = '\0';
}

/* Returns the name closest to `name`, borrowed until deinit, or NULL if none is close or the list
 * is unavailable. */
static const char *find_nearest_function_name(struct function_names *f, const char *root,
					      const char *name)
{
	struct str_nearest nearest;

	if (!f->is_read)
		read_names(f, root);
	str_nearest_init(&nearest, name);
	for (size_t i = 0; i < f->text.len; i += strlen(f->text.s + i) + 1)
		/* Names of modules are in brackets. */
		if (f->text.s[i] != '[')
			str_nearest_try(&nearest, f->text.s + i);
	return str_nearest_get(&nearest);
}

/* ---- probes ---- */

#define KPROBE_TYPE(name) PB__FTRACE_CONFIG__KPROBE_EVENT__KPROBE_TYPE__KPROBE_TYPE_##name

#define SYMBOL_SIZE 256

/* Events of the same group, type and representation share a group in tracefs. Others have groups
 * of their own, so that equal names do not collide. */
struct group {
	char *written; /* owned: the group in the config */
	enum dynevent_type type;
	enum event_represented_as as;
	char name[OWNER_NAME_SIZE]; /* in tracefs */
};

struct making {
	const struct setup *setup;
	struct dynevents *made;
	struct function_names functions; /* to suggest names */
	struct group groups[PROBES_MAX * 2];
	unsigned n_groups;
	unsigned n_probes;
};

static const char *probe_option_name(enum dynevent_type type)
{
	return type == DYNEVENT_KPROBE ? "kprobe_events" : "uprobe_events";
}

static const struct group *find_or_add_group(struct making *m, enum dynevent_type type,
					     const char *as_written, enum event_represented_as as)
{
	struct group *g = m->groups;

	for (unsigned i = 0; i < m->n_groups; i++, g++)
		if (g->type == type && g->as == as && !strcmp(g->written, as_written))
			return g;
	*g = (struct group){.written = strdup(as_written), .type = type, .as = as};
	if (!g->written)
		return NULL;
	owner_tag_new_name(g->name);
	m->n_groups++;
	return g;
}

/* ---- probes by definition ---- */

/* Copies SYMBOL of a location "[MODULE:]SYMBOL[+OFFSET][%return] ...". Returns false for an
 * address or a symbol that is too long. */
static bool copy_function_name(const char *location, char function[static SYMBOL_SIZE])
{
	size_t len = strcspn(location, " +%"), module = strcspn(location, ":");

	if (module < len) {
		location += module + 1;
		len -= module + 1;
	}
	if (isdigit((unsigned char)*location) || len >= SYMBOL_SIZE)
		return false;
	memcpy(function, location, len);
	function[len] = '\0';
	return true;
}

/* Sets e to the kernel's reason for a refused command, in terms of the user's definition. */
static void explain_refused_command(struct making *m, enum dynevent_type type,
				    const struct probe_spec *line, const char *group,
				    const char *command, int error, struct err_text *e)
{
	char function[SYMBOL_SIZE],
		what[sizeof(((struct error_log_entry *)NULL)->what) + SYMBOL_SIZE];
	const char *nearest = NULL;
	struct error_log_entry k;

	if (!error_log_read(m->setup->root, command, &k)) {
		err_set(e, error, "%s: %.200s", strerror(-error), line->written);
		return;
	}
	if (type == DYNEVENT_KPROBE && strstr(k.what, "symbol") &&
	    copy_function_name(line->rest, function))
		nearest = find_nearest_function_name(&m->functions, m->setup->root, function);
	if (nearest && !strcmp(nearest, function))
		nearest = NULL;
	snprintf(what, sizeof(what), "%s%s%.64s%s", k.what, nearest ? "; did you mean " : "",
		 nearest ? nearest : "", nearest ? "?" : "");
	error_log_format(e, error, what, line->written,
			 probe_spec_find_written_offset(line, group, k.at));
}

/* Returns 0, -ENOMEM, or another -errno with e. */
static int make_probe(struct making *m, enum dynevent_type type, const struct probe_spec *line,
		      const char *shown_name, enum event_represented_as as, struct err_text *e)
{
	const struct group *group = find_or_add_group(m, type, line->group, as);
	struct strbuf command = {0};
	int r = -ENOMEM;

	if (group)
		probe_spec_write_command(line, group->name, &command);
	if (group && !command.failed) {
		r = dynevents_create(m->made, m->setup->root,
				     &(struct dynevent){
					     .type = type,
					     .group = (char *)group->name,
					     .name = line->name,
					     .repr = {line->group, shown_name, as},
				     },
				     command.s);
		if (r && r != -ENOMEM)
			explain_refused_command(m, type, line, group->name, command.s, r, e);
	}
	strbuf_deinit(&command);
	return r;
}

/* Makes one probe of a definition, if the consumer may define it. */
static int make_allowed(struct making *m, enum dynevent_type type, const struct probe_spec *line,
			enum event_represented_as as, struct err_text *e)
{
	int r = 0;

	if (!m->setup->for_root)
		r = probe_spec_check_plain(line,
					   type == DYNEVENT_KPROBE ? PROBE_KERNEL : PROBE_USER, e);
	return r ? r : make_probe(m, type, line, line->name, as, e);
}

/* Makes the probes of the call and of the return, or none: half of a pair would look like a call
 * that never returns. */
static int make_span(struct making *m, enum dynevent_type type, const struct probe_spec *call,
		     const struct probe_spec *ret, struct err_text *e)
{
	int r = make_allowed(m, type, call, EVENT_AS_PROBE_BEGIN, e);
	size_t before = m->made->n;

	if (r)
		return r;
	r = make_allowed(m, type, ret, EVENT_AS_PROBE_END, e);
	if (r && before == m->made->n)
		dynevents_destroy_last(m->made);
	return r;
}

static int make_from_definition(struct making *m, enum dynevent_type type, const char *text,
				struct err_text *e)
{
	enum probe_kind kind = type == DYNEVENT_KPROBE ? PROBE_KERNEL : PROBE_USER;
	struct probe_spec line, call, ret;
	struct err_text why;
	int r = probe_spec_parse(text, kind, &line, &why);

	if (r == -EINVAL)
		return err_set(e, r, "%s%s%.200s", why.text, *text ? ": " : "", text);
	if (r)
		return r;
	if (!probe_spec_is_span(&line)) {
		r = make_allowed(m, type, &line, EVENT_AS_FIELDS, e);
	} else {
		r = probe_spec_split(&line, kind, &call, &ret);
		if (!r) {
			r = make_span(m, type, &call, &ret, e);
			probe_spec_deinit(&call);
			probe_spec_deinit(&ret);
		}
	}
	probe_spec_deinit(&line);
	return r;
}

/* Counts a probe of the config. Returns false above PROBES_MAX, and reports that once. */
static bool count_probe(struct making *m, enum dynevent_type type, size_t n_requested)
{
	if (m->n_probes < PROBES_MAX) {
		m->n_probes++;
		return true;
	}
	if (m->n_probes++ == PROBES_MAX)
		setup_error_add(m->setup->errors,
				"option:%s (only the first %u of %zu probes are used)",
				probe_option_name(type), PROBES_MAX, n_requested);
	return false;
}

/* Reports r, the result of a probe, if it is an error. Returns 0, or -ENOMEM if r is that. */
static int probes_report(const struct making *m, enum dynevent_type type, int r,
			 const struct err_text *e)
{
	if (r == -ENOMEM)
		return r;
	if (r)
		setup_error_add(m->setup->errors, "option:%s (%s)", probe_option_name(type),
				e->text);
	return 0;
}

/* ---- probes by function name ---- */

static bool is_function(const char *name)
{
	size_t len = strlen(name);

	for (size_t i = 0; i < len; i++)
		if (!isalnum((unsigned char)name[i]) && name[i] != '_')
			return false;
	return len && len <= 128;
}

/* Makes a probe of a function. type: as in a definition, "p" or "r". */
static int make_function(struct making *m, const char *type, const char *function,
			 enum event_represented_as as, struct err_text *e)
{
	struct probe_spec line;
	char text[256];
	int r;

	snprintf(text, sizeof(text), "%s:%.63s %s", type, function, function);
	r = probe_spec_parse(text, PROBE_KERNEL, &line, e);
	if (r)
		return r;
	r = make_probe(m, DYNEVENT_KPROBE, &line, function, as, e);
	probe_spec_deinit(&line);
	return r;
}

/* Makes a probe of the call and a probe of the return of a function, or neither. */
static int make_pair(struct making *m, const char *function, struct err_text *e)
{
	int r = make_function(m, "p", function, EVENT_AS_PROBE_BEGIN, e);
	size_t before = m->made->n;

	if (r)
		return r;
	r = make_function(m, "r", function, EVENT_AS_PROBE_END, e);
	if (r && before == m->made->n)
		dynevents_destroy_last(m->made);
	return r;
}

static int make_probe_of_function(struct making *m, const Pb__FtraceConfig__KprobeEvent *k,
				  struct err_text *e)
{
	if (!is_function(k->probe))
		return err_set(e, -EINVAL, "'%.128s' is not a function name", k->probe);
	switch (k->type) {
	case KPROBE_TYPE(KPROBE):
		return make_function(m, "p", k->probe, EVENT_AS_PROBE_INSTANT, e);
	case KPROBE_TYPE(KRETPROBE):
		return make_function(m, "r", k->probe, EVENT_AS_PROBE_INSTANT, e);
	case KPROBE_TYPE(BOTH):
		return make_pair(m, k->probe, e);
	default:
		return err_set(e, -EINVAL, "'%s': type is not set", k->probe);
	}
}

static int make_kprobe(struct making *m, const Pb__FtraceConfig__KprobeEvent *k, struct err_text *e)
{
	bool probe = k->probe && *k->probe, definition = k->definition && *k->definition;

	if (probe == definition)
		return err_set(e, -EINVAL,
			       probe ? "'%.128s': set either probe or definition, not both"
				     : "set probe or definition",
			       k->probe);
	if (definition)
		return make_from_definition(m, DYNEVENT_KPROBE, k->definition, e);
	return make_probe_of_function(m, k, e);
}

/* ---- all probes of the config ---- */

/* Returns true if such probes are requested and the kernel supports them. Reports if it does
 * not. */
static bool check_supported(const struct making *m, enum dynevent_type type, size_t n_requested)
{
	if (!n_requested || dynevent_supported(m->setup->root, type))
		return n_requested;
	setup_error_add(m->setup->errors, "option:%s (the kernel has no %s)",
			probe_option_name(type), dynevent_file_name(type));
	return false;
}

static int make_requested_probes(struct making *m)
{
	const Pb__FtraceConfig *c = m->setup->config;
	size_t n_requested = c->n_kprobe_events + c->n_uprobe_events;
	struct err_text e = {""};
	int r = 0;

	if (check_supported(m, DYNEVENT_KPROBE, c->n_kprobe_events))
		for (size_t i = 0; !r && i < c->n_kprobe_events; i++)
			if (!(r = coroutine_yield()) &&
			    count_probe(m, DYNEVENT_KPROBE, n_requested))
				r = probes_report(m, DYNEVENT_KPROBE,
						  make_kprobe(m, c->kprobe_events[i], &e), &e);
	if (check_supported(m, DYNEVENT_UPROBE, c->n_uprobe_events))
		for (size_t i = 0; !r && i < c->n_uprobe_events; i++)
			if (!(r = coroutine_yield()) &&
			    count_probe(m, DYNEVENT_UPROBE, n_requested))
				r = probes_report(m, DYNEVENT_UPROBE,
						  make_from_definition(m, DYNEVENT_UPROBE,
								       c->uprobe_events[i], &e),
						  &e);
	return r;
}

int probes_make(const struct setup *s, struct dynevents *made)
{
	struct making *m;
	int r;

	if (!s->config->n_kprobe_events && !s->config->n_uprobe_events)
		return 0;
	m = calloc(1, sizeof(*m));
	if (!m)
		return -ENOMEM;
	m->setup = s;
	m->made = made;
	r = make_requested_probes(m);
	for (unsigned i = 0; i < m->n_groups; i++)
		free(m->groups[i].written);
	strbuf_deinit(&m->functions.text);
	free(m);
	return r;
}
