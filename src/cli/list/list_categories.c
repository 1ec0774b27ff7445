/* SPDX-License-Identifier: Apache-2.0 */
/* Categories of track events, as the programs that run describe them to the service. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/name_list.h"
#include "base/core/mem.h"
#include "cli/list/list.h"
#include "cli/trace/event_categories.h"

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
	list_out_values(&l->out, "programs", (const char *const *)names.names, names.n);
	name_list_deinit(&names);
}

static void put_category(struct list *l, const struct event_category *rows, size_t n)
{
	const Pb__TrackEventCategory *c = rows->category;
	struct strbuf example = {0};

	list_out_item(&l->out, "category", c->name, c->description);
	if (l->detail == LIST_NAMES)
		return;
	list_out_values(&l->out, "tags", (const char *const *)c->tags, c->n_tags);
	put_programs(l, rows, n);
	strbuf_puts(&example, "sonda record -t 10s --app ");
	strbuf_put_word(&example, c->name);
	if (l->exact)
		list_out_value(&l->out, "example", example.s);
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
		return err_set(e, -ENOMEM, "no memory");
	for (size_t i = 0, next; i < n; i = next) {
		for (next = i + 1;
		     next < n && !strcmp(rows[i].category->name, rows[next].category->name);)
			next++;
		if (list_matches(l, pattern, rows[i].category->name))
			put_category(l, &rows[i], next - i);
	}
	return 0;
}
