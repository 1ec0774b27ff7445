/* SPDX-License-Identifier: Apache-2.0 */
#include "ftrace/options/event_filters.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/event_loop/coroutine.h"
#include "base/system/syscall_names.h"
#include "base/text/str.h"
#include "ftrace/tracefs/filter_file.h"

#define GROUP "raw_syscalls"
static const char *const names[] = {"sys_enter", "sys_exit"};

/* ---- the filter of system calls ---- */

static void append_id_range(struct strbuf *text, uint32_t first, uint32_t last)
{
	const char * or = text->len ? " || " : "";

	if (last - first >= 2)
		strbuf_printf(text, "%s(id >= %u && id <= %u)", or, first, last);
	else if (last > first)
		strbuf_printf(text, "%sid == %u || id == %u", or, first, last);
	else
		strbuf_printf(text, "%sid == %u", or, first);
}

/* Returns the filter for sorted, unique numbers: "id == 0 || (id >= 3 && id <= 7)". Ranges keep
 * any list of one architecture below the kernel's limit of a page. The caller frees it. Returns
 * NULL if out of memory. */
static char *make_syscall_filter(const uint32_t *numbers, size_t n)
{
	struct strbuf text = {0};
	size_t first = 0;

	for (size_t i = 1; i <= n; i++) {
		if (i < n && numbers[i] == numbers[i - 1] + 1)
			continue;
		append_id_range(&text, numbers[first], numbers[i - 1]);
		first = i;
	}
	return strbuf_take(&text);
}

/* ---- numbers of system calls ---- */

static int compare_syscall_numbers(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static size_t sort_and_deduplicate(uint32_t *numbers, size_t n)
{
	size_t kept = 0;

	qsort(numbers, n, sizeof(*numbers), compare_syscall_numbers);
	for (size_t i = 0; i < n; i++)
		if (!kept || numbers[kept - 1] != numbers[i])
			numbers[kept++] = numbers[i];
	return kept;
}

static void report_unknown_name(const struct setup *s, const char *name, const char *nearest)
{
	if (*nearest)
		setup_error_add(s->errors,
				"option:syscall_events (%s: no such system call; did you mean %s?)",
				name, nearest);
	else
		setup_error_add(s->errors, "option:syscall_events (%s: no such system call)", name);
}

/* Writes the numbers of the known names to `numbers`, sorted and without duplicates. Reports
 * unknown names. Returns the count of numbers. */
static size_t event_filters_resolve(const struct setup *s, uint32_t *numbers)
{
	const Pb__FtraceConfig *c = s->config;
	char nearest[SYSCALL_NAME_MAX];
	size_t n = 0;

	for (size_t i = 0; i < c->n_syscall_events; i++) {
		if (syscall_name_resolve(c->syscall_events[i], &numbers[n], nearest))
			report_unknown_name(s, c->syscall_events[i], nearest);
		else
			n++;
	}
	return sort_and_deduplicate(numbers, n);
}

/* ---- filters of events ---- */

static void refuse_unknown_syscalls(struct event_selection *events, const struct setup *s)
{
	for (unsigned i = 0; i < ARRAY_SIZE(names); i++) {
		struct event_name *e = event_selection_find(events, GROUP, names[i]);

		if (!e)
			continue;
		setup_error_add(s->errors, "%s/%s (none of syscall_events is a system call)", GROUP,
				names[i]);
		event_selection_remove(events, e);
	}
}

/*
 * Each filter is written alone first, so that the kernel's error refers to the user's text and not
 * to the combined one:
 *
 *	filters of an event       a            b                        c
 *	written                   a            b, (a) && (b)            c, ((a) && (b)) && (c)
 */

/* Writes the filter, combined with the event's filter, if it has one. Ignores "0", the kernel's
 * text for "no filter". */
static int write_filter(struct event_name *e, const char *filter, const struct setup *s,
			struct err_text *why)
{
	char *both;
	int r;

	if (!*filter)
		return err_set(why, -EINVAL, "the filter is empty");
	if (!strcmp(filter, "0"))
		return 0;
	r = filter_file_write(s->instance, e->group, e->name, filter, why);
	if (r)
		return r;
	both = filter_make_conjunction(e->filter, filter);
	if (!both)
		return -ENOMEM;
	if (e->filter)
		r = filter_file_write(s->instance, e->group, e->name, both, why);
	free(e->filter);
	e->filter = both;
	return r;
}

int event_filter_add(struct event_selection *events, struct event_name *e, const char *filter,
		     const struct setup *s)
{
	_cleanup_(freep) char *clean = filter_normalize(filter);
	struct err_text why;
	int r;

	if (!clean)
		return -ENOMEM;
	r = write_filter(e, clean, s, &why);
	if (r && r != -ENOMEM) {
		setup_error_add(s->errors, "%s/%s (filter refused: %s)", event_name_group(e),
				event_name_name(e), why.text);
		filter_file_clear(s->instance, e->group, e->name);
		event_selection_remove(events, e);
	}
	return r;
}

int syscall_events_apply(struct event_selection *events, const struct setup *s)
{
	_cleanup_(freep) uint32_t *numbers = NULL;
	_cleanup_(freep) char *filter = NULL;
	size_t n = s->config->n_syscall_events;

	if (!n)
		return 0;
	numbers = calloc(n, sizeof(*numbers));
	if (!numbers)
		return -ENOMEM;
	n = event_filters_resolve(s, numbers);
	if (!n) {
		refuse_unknown_syscalls(events, s);
		return 0;
	}
	filter = make_syscall_filter(numbers, n);
	if (!filter)
		return -ENOMEM;
	for (unsigned i = 0; i < ARRAY_SIZE(names); i++) {
		if (event_selection_add(events, GROUP, names[i]))
			return -ENOMEM;
		if (event_filter_add(events, event_selection_find(events, GROUP, names[i]), filter,
				     s) == -ENOMEM)
			return -ENOMEM;
	}
	return 0;
}

/* Adds the filter to each event that matches; an event whose filter is refused is dropped, so the
 * loop runs backwards. Returns the number of matching events, -ENOMEM or -ECANCELED. */
static int apply_filter(const char *request, const char *filter, struct event_selection *events,
			const struct setup *s)
{
	int n = 0, r;

	for (size_t i = events->n; i-- > 0;) {
		struct event_name *e = &events->events[i];

		if (!event_matches_request(request, e))
			continue;
		n++;
		if (event_filter_add(events, e, filter, s) == -ENOMEM)
			return -ENOMEM;
		r = coroutine_yield();
		if (r)
			return r;
	}
	return n;
}

/* Reports a filter without effect: an unknown event, or events that are not selected. */
static int report_unused_filter(const char *request, const struct setup *s)
{
	struct event_selection there = {0};
	int r = event_select(s->root, (char *[]){(char *)request}, 1, &there, s->errors);

	if (!r && there.n)
		setup_error_add(s->errors, "option:event_filters (%s: the event is not recorded)",
				request);
	event_selection_deinit(&there);
	return r;
}

int event_filters_apply(struct event_selection *events, const struct setup *s)
{
	const Pb__FtraceConfig *c = s->config;
	int r;

	if (c->n_event_filters > EVENT_FILTERS_MAX) {
		setup_error_set_fatal(s->errors,
				      "nothing is recorded: the config contains %zu event_filters; "
				      "the limit is %u",
				      c->n_event_filters, EVENT_FILTERS_MAX);
		return -E2BIG;
	}
	for (size_t i = 0; i < c->n_event_filters; i++) {
		const Pb__FtraceConfig__EventFilter *f = c->event_filters[i];

		if (!f->event || !*f->event) {
			setup_error_add(s->errors, "option:event_filters (no event is set for %s)",
					f->filter ? f->filter : "an empty filter");
			continue;
		}
		r = apply_filter(f->event, f->filter ? f->filter : "", events, s);
		if (!r)
			r = report_unused_filter(f->event, s);
		if (r < 0)
			return r;
	}
	return 0;
}
