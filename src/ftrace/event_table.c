// SPDX-License-Identifier: Apache-2.0
/*
 * libtraceevent reads each format in a handle of its own, which is gone when its row is made.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <event-parse.h>

#include "base/mem.h"
#include "ftrace/event_compile.h"
#include "ftrace/event_encode.h"
#include "ftrace/event_table.h"
#include "ftrace/proto_table.h"

/* How a record is printed is not our concern, and takes the longest to parse. */
static void cut_print_fmt(char *format)
{
	static const char head[] = "print fmt:", empty[] = "print fmt: \"\"\n";
	char *at = strstr(format, head);

	if (at && strlen(at) >= strlen(empty))
		memcpy(at, empty, sizeof(empty));
}

static struct tep_event *parse(struct tep_handle *tep, const char *group, char *format)
{
	tep_set_loglevel(TEP_LOG_NONE);
	cut_print_fmt(format);
	if (tep_parse_event(tep, format, strlen(format), group))
		return NULL;
	return tep_get_first_event(tep);
}

static void tep_freep(struct tep_handle **tep)
{
	tep_free(*tep);
}

static enum row_kind compact_kind(const char *group, const char *name)
{
	if (strcmp(group, "sched"))
		return ROW_FIELDS;
	if (!strcmp(name, "sched_switch"))
		return ROW_COMPACT_SWITCH;
	return strcmp(name, "sched_waking") ? ROW_FIELDS : ROW_COMPACT_WAKING;
}

static int compile(struct event_table *t, const struct tep_event *event,
		   const struct event_table_options *o, struct event_row **ret)
{
	enum row_kind kind = compact_kind(event->system, event->name);
	struct compile_generic generic = {
		.number = EVENT_TABLE_GENERIC_FIRST + (uint32_t)t->n_generic,
		.index = (uint16_t)t->n_generic,
		.legacy = o->legacy_generic,
	};
	struct proto_event message;

	if (o->compact && kind != ROW_FIELDS)
		return event_compile_compact(event, kind, ret);
	if (proto_table_event(event->system, event->name, &message))
		return event_compile_known(event, t->strings.max_len, ret);
	if (o->no_generic || t->n_generic == EVENT_TABLE_GENERIC_MAX)
		return EVENT_TABLE_GENERIC_REFUSED;
	return event_compile_generic(event, &generic, t->strings.max_len, ret);
}

/* Makes by_id reach up to id. */
static int reserve_id(struct event_table *t, uint32_t id)
{
	if (array_reserve(&t->by_id, &t->ids_cap, (size_t)id + 1, sizeof(*t->by_id)))
		return -ENOMEM;
	while (t->n_ids <= id)
		t->by_id[t->n_ids++] = NULL;
	return 0;
}

int event_table_add(struct event_table *t, const char *group, const char *name, char *format,
		    const struct event_table_options *options, uint16_t *ret_id)
{
	_cleanup_(tep_freep) struct tep_handle *tep = tep_alloc();
	_cleanup_(freep) struct event_row *row = NULL;
	const struct tep_event *event;
	int r;

	if (!tep)
		return -ENOMEM;
	event = parse(tep, group, format);
	if (!event || strcmp(event->name, name))
		return EVENT_TABLE_BAD_FORMAT;
	if (event->id >= 0 && event->id <= UINT16_MAX && event_table_row(t, (uint16_t)event->id)) {
		*ret_id = (uint16_t)event->id;
		return 0;
	}
	r = compile(t, event, options, &row);
	if (r)
		return r == -EPROTO ? EVENT_TABLE_BAD_FORMAT : r;
	if (reserve_id(t, row->id) ||
	    array_reserve(&t->rows, &t->rows_cap, t->n_rows + 1, sizeof(*t->rows)))
		return -ENOMEM;
	t->n_generic += row->generic_index != ROW_NOT_GENERIC;
	*ret_id = row->id;
	t->by_id[row->id] = row;
	t->rows[t->n_rows++] = TAKE_PTR(row);
	return 0;
}

void event_table_remove(struct event_table *t, uint16_t id)
{
	if (id < t->n_ids)
		t->by_id[id] = NULL;
}

bool event_table_can_compact(const char *group, const char *name, char *format)
{
	_cleanup_(tep_freep) struct tep_handle *tep = tep_alloc();
	_cleanup_(freep) struct event_row *row = NULL;
	enum row_kind kind = compact_kind(group, name);
	const struct tep_event *event;

	if (!tep || kind == ROW_FIELDS)
		return false;
	event = parse(tep, group, format);
	return event && !event_compile_compact(event, kind, &row);
}

size_t event_table_bound(const struct event_table *t, uint32_t len)
{
	size_t bound = 1, n;

	for (size_t i = 0; i < t->n_rows; i++) {
		n = event_encode_bound(t->rows[i], len);
		bound = MAX(bound, n);
	}
	return bound;
}

void event_table_deinit(struct event_table *t)
{
	for (size_t i = 0; i < t->n_rows; i++)
		free(t->rows[i]);
	free(t->rows);
	free(t->by_id);
	string_map_deinit(&t->strings);
	*t = (struct event_table){0};
}
