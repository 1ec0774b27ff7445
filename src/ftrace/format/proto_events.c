/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks events and fields up in the generated tables: binary search over the events, linear search
 * over the fields of one. Used during setup only, never for a record.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ftrace/format/proto_events.h"

struct key {
	const char *group;
	const char *name;
};

static int proto_events_compare(const void *a, const void *b)
{
	const struct key *key = a;
	const struct proto_event_row *row = b;
	int c = strcmp(key->group, proto_names + row->group);

	return c ? c : strcmp(key->name, proto_names + row->name);
}

static const struct proto_event_row *find_row(const char *group, const char *name)
{
	struct key key = {group, name};

	return bsearch(&key, proto_event_rows, proto_event_row_count, sizeof(*proto_event_rows),
		       proto_events_compare);
}

bool proto_events_find(const char *group, const char *event, struct proto_event *ret)
{
	const struct proto_event_row *row = find_row(group, event);
	char prefixed[256];
	int n;

	if (!row) {
		n = snprintf(prefixed, sizeof(prefixed), "%s_%s", group, event);
		if (n < 0 || (size_t)n >= sizeof(prefixed))
			return false;
		row = find_row(group, prefixed);
	}
	if (!row)
		return false;
	ret->number = row->number;
	ret->first_field = row->first_field;
	ret->n_fields = row->n_fields;
	return true;
}

bool proto_events_find_field(const struct proto_event *event, const char *name,
			     struct proto_field *ret)
{
	const struct proto_field_row *row = proto_field_rows + event->first_field;

	for (unsigned i = 0; i < event->n_fields; i++, row++)
		if (!strcmp(proto_names + row->name, name)) {
			ret->number = row->number;
			ret->type = row->type;
			return true;
		}
	return false;
}
