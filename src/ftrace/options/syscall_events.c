// SPDX-License-Identifier: Apache-2.0
#include "ftrace/options/syscall_events.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/text/str.h"
#include "ftrace/options/event_filters.h"
#include "base/system/syscall_names.h"

#define GROUP "raw_syscalls"
static const char *const names[] = {"sys_enter", "sys_exit"};

/* ---- the filter ---- */

static void put_run(struct strbuf *text, uint32_t first, uint32_t last)
{
	const char * or = text->len ? " || " : "";

	if (last - first >= 2)
		strbuf_printf(text, "%s(id >= %u && id <= %u)", or, first, last);
	else if (last > first)
		strbuf_printf(text, "%sid == %u || id == %u", or, first, last);
	else
		strbuf_printf(text, "%sid == %u", or, first);
}

char *syscall_filter(const uint32_t *numbers, size_t n)
{
	struct strbuf text = {0};
	size_t first = 0;

	for (size_t i = 1; i <= n; i++) {
		if (i < n && numbers[i] == numbers[i - 1] + 1)
			continue;
		put_run(&text, numbers[first], numbers[i - 1]);
		first = i;
	}
	return strbuf_take(&text);
}

/* ---- the numbers ---- */

static int by_number(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static size_t sort_and_deduplicate(uint32_t *numbers, size_t n)
{
	size_t kept = 0;

	qsort(numbers, n, sizeof(*numbers), by_number);
	for (size_t i = 0; i < n; i++)
		if (!kept || numbers[kept - 1] != numbers[i])
			numbers[kept++] = numbers[i];
	return kept;
}

static void report_unknown_name(const struct setup *s, const char *name, const char *nearest)
{
	if (*nearest)
		report_failed(s->reports,
			      "option:syscall_events (%s: no such system call; did you mean %s?)",
			      name, nearest);
	else
		report_failed(s->reports, "option:syscall_events (%s: no such system call)", name);
}

/* Those of the names that are known. */
static size_t resolve(const struct setup *s, uint32_t *numbers)
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

/* ---- the events ---- */

static void drop_both(struct event_selection *events, const struct setup *s)
{
	for (unsigned i = 0; i < ARRAY_SIZE(names); i++) {
		struct event_name *e = event_selection_find(events, GROUP, names[i]);

		if (!e)
			continue;
		report_failed(s->reports, "%s/%s (none of syscall_events is a system call)", GROUP,
			      names[i]);
		event_selection_drop(events, e);
	}
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
	n = resolve(s, numbers);
	if (!n) {
		drop_both(events, s);
		return 0;
	}
	filter = syscall_filter(numbers, n);
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
