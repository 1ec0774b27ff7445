/* SPDX-License-Identifier: Apache-2.0 */
/* A table of events, and of what their fields must be. */
#include "ftrace/format/news_plan.h"

#include <stdbool.h>
#include <string.h>

#include <event-parse.h>

#include "base/core/mem.h"

struct wanted {
	const char *name; /* NULL: no such field is needed */
	uint16_t size; /* 0: that of a long, or 64 bits */
	bool optional; /* where it is missing its offset is 0 */
};

static const struct news_event {
	const char *group;
	const char *name;
	enum news_kind kind;
	struct wanted subject, text, more;
} events[] = {
	{
		.group = "task",
		.name = "task_newtask",
		.kind = NEWS_NEW,
		.subject = {.name = "pid", .size = 4},
		.text = {.name = "comm", .size = 16},
		.more = {.name = "clone_flags"},
	},
	{
		.group = "task",
		.name = "task_rename",
		.kind = NEWS_RENAMED,
		/* Linux 6.14 does not say whose name it is. */
		.subject = {.name = "pid", .size = 4, .optional = true},
		.text = {.name = "newcomm", .size = 16},
	},
	{
		.group = "sched",
		.name = "sched_process_exec",
		.kind = NEWS_EXEC,
		.subject = {.name = "pid", .size = 4},
		.text = {.name = "filename", .size = 4},
		.more = {.name = "old_pid", .size = 4},
	},
	{
		.group = "sched",
		.name = "sched_process_exit",
		.kind = NEWS_ENDED,
		.subject = {.name = "pid", .size = 4},
	},
	{
		.group = "raw_syscalls",
		.name = "sys_exit",
		.kind = NEWS_SYS_EXIT,
		.subject = {.name = "id"},
		.more = {.name = "ret"},
	},
};

static const struct news_event *find(const struct tep_event *event)
{
	for (size_t i = 0; i < ARRAY_SIZE(events); i++)
		if (!strcmp(event->name, events[i].name) && !strcmp(event->system, events[i].group))
			return &events[i];
	return NULL;
}

/* False: there is no such field. */
static bool place(const struct tep_event *event, const struct wanted *w, uint16_t *ret_offset,
		  uint8_t *wide, uint16_t *min_len)
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

static bool is_inode(const struct tep_format_field *f)
{
	return (!strcmp(f->type, "ino_t") || !strcmp(f->name, "i_ino")) &&
	       (f->size == 4 || f->size == 8);
}

/* A device, and the first two inodes of one size: the file, and its folder. */
static struct news_plan plan_inode(const struct tep_event *event, uint16_t *ret_min_len)
{
	struct news_plan p = {.kind = NEWS_INODE};
	uint16_t min_len = 0;

	for (const struct tep_format_field *f = event->format.fields; f; f = f->next) {
		if (f->offset <= 0 || f->offset > UINT16_MAX - 16)
			continue;
		if (!p.subject && !strcmp(f->type, "dev_t") && f->size == 4)
			p.subject = (uint16_t)f->offset;
		else if (!p.more && is_inode(f))
			p.more = (uint16_t)f->offset;
		else if (!p.text && is_inode(f) && p.wide == (f->size == 8))
			p.text = (uint16_t)f->offset;
		else
			continue;
		if (p.more == f->offset)
			p.wide = f->size == 8;
		min_len = MAX(min_len, (uint16_t)(f->offset + f->size));
	}
	if (!p.subject || !p.more)
		return (struct news_plan){0};
	*ret_min_len = min_len;
	return p;
}

struct news_plan news_plan_make(const struct tep_event *event, uint16_t *ret_min_len)
{
	const struct news_event *e = find(event);
	struct news_plan p = {0};
	uint16_t min_len = 0;

	if (!e)
		return plan_inode(event, ret_min_len);
	if (!place(event, &e->subject, &p.subject, &p.wide, &min_len) ||
	    !place(event, &e->text, &p.text, &p.wide, &min_len) ||
	    !place(event, &e->more, &p.more, &p.wide, &min_len))
		return (struct news_plan){0};
	p.kind = (uint8_t)e->kind;
	*ret_min_len = min_len;
	return p;
}
