/* SPDX-License-Identifier: Apache-2.0 */
/*
 *	synthetic_events                    sonda_812_51423_0 unsigned int mm_id; ... long size
 *	                                    |
 *	INSTANCE/events/kmem/rss_stat/trigger
 *	    hist:keys=mm_id,member:bucket=size/0x80000
 *	        :onchange($bucket).sonda_812_51423_0(mm_id,curr,member,size)
 *
 * The fields must have the types of the source event, because the kernel compares them.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/event_loop/coroutine.h"
#include "base/system/fs.h"
#include "base/text/str.h"
#include "ftrace/options/synthetic_events.h"
#include "ftrace/tracefs/error_log.h"
#include "ftrace/tracefs/owner_tag.h"

#define MAX_FIELDS 4
#define MAX_TRIGGERS (1 << 20) /* bytes of a file */

struct recipe {
	const char *name; /* in the trace, in group synthetic */
	const char *group, *event; /* the source event */
	const char *fields[MAX_FIELDS + 1]; /* copied fields, terminated by NULL */
	const char *before, *behind; /* parts of the trigger before and after the event's name */
};

static const struct recipe rss_stat = {
	"rss_stat_throttled",
	"kmem",
	"rss_stat",
	{"mm_id", "curr", "member", "size"},
	"hist:keys=mm_id,member:bucket=size/0x80000:onchange($bucket).",
	"(mm_id,curr,member,size)",
};

static const struct recipe suspend_resume = {
	"suspend_resume_minimal",
	"power",
	"suspend_resume",
	{"start"},
	"hist:keys=start:size=128:onmatch(power.suspend_resume).",
	"(start) if (action == \"syscore_resume\") || (action == \"timekeeping_freeze\")",
};

/* Returns true if the request is "synthetic/NAME" or "synthetic:NAME" with the name of the
 * recipe. */
static bool is_request_for_recipe(const char *request, const struct recipe *r)
{
	static const char group[] = "synthetic";
	size_t len = strlen(group);

	return str_starts(request, group) && (request[len] == '/' || request[len] == ':') &&
	       !strcmp(request + len + 1, r->name);
}

bool synthetic_event_can_make(const char *request)
{
	return is_request_for_recipe(request, &rss_stat) ||
	       is_request_for_recipe(request, &suspend_resume);
}

static bool recipe_is_requested(const struct setup *s, const struct recipe *r)
{
	for (size_t i = 0; i < s->config->n_ftrace_events; i++)
		if (is_request_for_recipe(s->config->ftrace_events[i], r))
			return true;
	return false;
}

/* ---- the commands ---- */

/* Writes "TYPE NAME" as in the format. Returns false if the field is missing. */
static bool synthetic_events_put_field(const char *format, const char *name, struct strbuf *b)
{
	static const char head[] = "\tfield:";
	size_t name_len = strlen(name);

	for (const char *at = format; (at = strstr(at, head));) {
		const char *end = strchr(at += strlen(head), ';');

		if (!end)
			return false;
		if ((size_t)(end - at) <= name_len || end[-(long)name_len - 1] != ' ' ||
		    strncmp(end - name_len, name, name_len))
			continue;
		strbuf_add(b, at, (size_t)(end - at));
		return true;
	}
	return false;
}

/* Writes the definition of the event. Returns 0, -ENOMEM, or -ENOENT with e. */
static int put_definition(const struct setup *s, const struct recipe *r, const char *name,
			  struct strbuf *b, struct err_text *e)
{
	_cleanup_(freep) char *format = NULL;
	char file[128];

	snprintf(file, sizeof(file), "events/%s/%s/format", r->group, r->event);
	format = instance_read(s->instance, file);
	if (!format)
		return err_set(e, -ENOENT, "the kernel has no event %s/%s", r->group, r->event);
	strbuf_puts(b, name);
	for (const char *const *field = r->fields; *field; field++) {
		strbuf_puts(b, field == r->fields ? " " : "; ");
		if (!synthetic_events_put_field(format, *field, b))
			return err_set(e, -ENOENT, "the kernel's event %s/%s has no field '%s'",
				       r->group, r->event, *field);
	}
	return b->failed ? -ENOMEM : 0;
}

/* Formats the kernel's reason for a refused trigger. */
static int synthetic_events_explain(const struct setup *s, const char *trigger, int error,
				    struct err_text *e)
{
	_cleanup_(freep) char *log = instance_read(s->instance, "error_log");
	const char *command = trigger + strlen("hist:");
	struct error_log_entry k;

	/* The log has the command without its first word. */
	if (log && (error_log_find(log, command, &k) || error_log_find(log, trigger, &k)))
		return err_set(e, error, "the kernel rejected the histogram: %s", k.what);
	return err_set(e, error, "the kernel rejected the histogram: %s", strerror(-error));
}

static int set_trigger(const struct setup *s, const struct recipe *r, const char *name,
		       struct err_text *e)
{
	char file[128], *trigger;
	int error;

	if (asprintf(&trigger, "%s%s%s", r->before, name, r->behind) < 0)
		return -ENOMEM;
	snprintf(file, sizeof(file), "events/%s/%s/trigger", r->group, r->event);
	error = instance_write(s->instance, file, trigger);
	if (error && error != -ENOMEM)
		synthetic_events_explain(s, trigger, error, e);
	free(trigger);
	return error;
}

/* ---- creating ---- */

/* Returns 0, -ENOMEM, or another -errno with e; after an error nothing exists. */
static int make_synthetic_event(const struct setup *s, const struct recipe *r,
				struct dynevents *made, struct err_text *e)
{
	struct dynevent event = {
		.type = DYNEVENT_SYNTHETIC,
		.group = "synthetic",
		.repr = {"synthetic", r->name, EVENT_AS_MESSAGE},
	};
	char name[OWNER_NAME_SIZE];
	struct strbuf command = {0};
	int error;

	if (!dynevent_supported(s->root, DYNEVENT_SYNTHETIC))
		return err_set(e, -EOPNOTSUPP, "the kernel does not support synthetic events");
	owner_tag_new_name(name);
	event.name = name;
	error = put_definition(s, r, name, &command, e);
	if (!error) {
		error = dynevents_create(made, s->root, &event, command.s);
		if (error && error != -ENOMEM)
			err_set(e, error, "%s: %s", strerror(-error), command.s);
	}
	strbuf_deinit(&command);
	if (error)
		return error;
	error = set_trigger(s, r, name, e);
	if (error)
		dynevents_destroy_last(made);
	return error;
}

/* Returns 1 if the event was created, 0 after reporting a failure, or -ENOMEM. consequence: the end
 * of that report. */
static int try_to_make(const struct setup *s, const struct recipe *r, struct dynevents *made,
		       const char *option, const char *consequence)
{
	struct err_text e;
	int error = make_synthetic_event(s, r, made, &e);

	if (error == -ENOMEM)
		return error;
	if (error)
		setup_error_add(s->errors, "%s (%s%s)", option, e.text, consequence);
	return !error;
}

int synthetic_events_make(struct event_selection *events, const struct setup *s,
			  struct dynevents *made)
{
	bool throttle =
		s->config->throttle_rss_stat && event_selection_has(events, "kmem", "rss_stat");
	size_t before = made->n;
	int r = 0;

	if (throttle)
		r = try_to_make(s, &rss_stat, made, "option:throttle_rss_stat",
				"; kmem/rss_stat is recorded unthrottled");
	else if (recipe_is_requested(s, &rss_stat))
		r = try_to_make(s, &rss_stat, made, "synthetic/rss_stat_throttled", "");
	if (r > 0 && throttle)
		event_selection_remove(events, event_selection_find(events, "kmem", "rss_stat"));
	if (r >= 0 && recipe_is_requested(s, &suspend_resume))
		r = try_to_make(s, &suspend_resume, made, "synthetic/suspend_resume_minimal", "");
	for (size_t i = before; r >= 0 && i < made->n; i++)
		r = event_selection_add_as(events, made->events[i]->group, made->events[i]->name,
					   &made->events[i]->repr);
	return r < 0 ? r : 0;
}

/* Removes the histograms of a trigger file, each by the line that the kernel shows for it. */
static void remove_histograms(const char *path)
{
	static const char state[] = " [active]";
	struct strbuf text = {0}, command = {0};
	char *line, *next;
	int r;

	/* The read waits for locks of tracefs. */
	coroutine_block_begin();
	r = fs_read_file(path, MAX_TRIGGERS, &text);
	coroutine_block_end();
	if (!r && text.s)
		for (line = text.s; *line; line = next) {
			next = strchrnul(line, '\n');
			if (*next)
				*next++ = '\0';
			if (!str_starts(line, "hist:") || !strstr(line, "sonda_"))
				continue;
			if (str_ends(line, state))
				line[strlen(line) - strlen(state)] = '\0';
			strbuf_clear(&command);
			strbuf_printf(&command, "!%s", line);
			if (!command.failed)
				fs_append_file(path, command.s);
		}
	strbuf_deinit(&text);
	strbuf_deinit(&command);
}

void synthetic_events_release(const char *instance_path)
{
	static const struct recipe *const recipes[] = {&rss_stat, &suspend_resume};
	char path[4096];
	int n;

	for (unsigned i = 0; i < ARRAY_SIZE(recipes); i++) {
		n = snprintf(path, sizeof(path), "%s/events/%s/%s/trigger", instance_path,
			     recipes[i]->group, recipes[i]->event);
		if (n > 0 && (size_t)n < sizeof(path))
			remove_histograms(path);
	}
}

bool synthetic_event_replaces(const struct dynevents *made, const struct setup *s,
			      const struct event_name *e)
{
	if (!s->config->throttle_rss_stat || strcmp(e->group, rss_stat.group) ||
	    strcmp(e->name, rss_stat.event))
		return false;
	for (size_t i = 0; i < made->n; i++)
		if (!strcmp(made->events[i]->repr.name, rss_stat.name))
			return true;
	return false;
}
