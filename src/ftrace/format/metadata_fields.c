/* SPDX-License-Identifier: Apache-2.0 */
#include "ftrace/format/metadata_fields.h"

#include <event-parse.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/core/mem.h"

/* The events with metadata of tasks, and the required form of their fields. */

struct wanted {
	const char *name; /* NULL: not needed */
	uint16_t size; /* bytes; 0: 4 or 8 */
	bool optional; /* if missing, its offset is 0 */
};

static const struct metadata_event {
	const char *group;
	const char *name;
	enum metadata_kind kind;
	struct wanted subject, text, more;
} events[] = {
	{
		.group = "task",
		.name = "task_newtask",
		.kind = METADATA_NEW,
		.subject = {.name = "pid", .size = 4},
		.text = {.name = "comm", .size = 16},
		.more = {.name = "clone_flags"},
	},
	{
		.group = "task",
		.name = "task_rename",
		.kind = METADATA_RENAMED,
		/* Linux 6.14 does not store the renamed thread. */
		.subject = {.name = "pid", .size = 4, .optional = true},
		.text = {.name = "newcomm", .size = 16},
	},
	{
		.group = "sched",
		.name = "sched_process_exec",
		.kind = METADATA_EXEC,
		.subject = {.name = "pid", .size = 4},
		.text = {.name = "filename", .size = 4},
		.more = {.name = "old_pid", .size = 4},
	},
	{
		.group = "sched",
		.name = "sched_process_exit",
		.kind = METADATA_ENDED,
		.subject = {.name = "pid", .size = 4},
	},
};

static const struct metadata_event *find_metadata_event(const struct tep_event *event)
{
	for (size_t i = 0; i < ARRAY_SIZE(events); i++)
		if (!strcmp(event->name, events[i].name) && !strcmp(event->system, events[i].group))
			return &events[i];
	return NULL;
}

/* Returns false if a required field is missing, or if a field has another form. A missing optional
 * field leaves the output unchanged. */
static bool locate_field(const struct tep_event *event, const struct wanted *w,
			 uint16_t *ret_offset, uint8_t *wide, uint16_t *min_len)
{
	const struct tep_format_field *f = event->format.fields;

	if (!w->name)
		return true;
	while (f && strcmp(f->name, w->name))
		f = f->next;
	if (!f && w->optional)
		return true;
	if (!f || f->offset < 0 || f->offset > UINT16_MAX - 16)
		return false;
	if (w->size ? f->size != w->size : f->size != 4 && f->size != 8)
		return false;
	if (!w->size)
		*wide = f->size == 8;
	*ret_offset = (uint16_t)f->offset;
	*min_len = MAX(*min_len, (uint16_t)(f->offset + f->size));
	return true;
}

struct metadata_fields metadata_fields_find(const struct tep_event *event, uint16_t *ret_min_len)
{
	const struct metadata_event *e = find_metadata_event(event);
	struct metadata_fields p = {0};
	uint16_t min_len = 0;

	if (!e || !locate_field(event, &e->subject, &p.subject, &p.wide, &min_len) ||
	    !locate_field(event, &e->text, &p.text, &p.wide, &min_len) ||
	    !locate_field(event, &e->more, &p.more, &p.wide, &min_len))
		return (struct metadata_fields){0};
	p.kind = (uint8_t)e->kind;
	*ret_min_len = min_len;
	return p;
}
