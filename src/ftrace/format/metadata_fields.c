/* SPDX-License-Identifier: Apache-2.0 */
#include "ftrace/format/metadata_fields.h"

#include <stdbool.h>
#include <string.h>
#include <event-parse.h>
#include <stddef.h>
#include <stdio.h>

#include "base/core/mem.h"
#include "base/system/syscall_names.h"

/* The events with metadata of tasks and descriptors, and the required form of their fields. */

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
	{
		.group = "raw_syscalls",
		.name = "sys_exit",
		.kind = METADATA_SYS_EXIT,
		.subject = {.name = "id"},
		.more = {.name = "ret"},
	},
};

static const struct metadata_event *find(const struct tep_event *event)
{
	for (size_t i = 0; i < ARRAY_SIZE(events); i++)
		if (!strcmp(event->name, events[i].name) && !strcmp(event->system, events[i].group))
			return &events[i];
	return NULL;
}

/* Returns false if the field is missing or has another form. */
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

/* Finds the first device and the first two inodes of equal size: the file and its directory. */
static struct metadata_fields plan_inode(const struct tep_event *event, uint16_t *ret_min_len)
{
	struct metadata_fields p = {.kind = METADATA_INODE};
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
		return (struct metadata_fields){0};
	*ret_min_len = min_len;
	return p;
}

struct metadata_fields metadata_fields_find(const struct tep_event *event, uint16_t *ret_min_len)
{
	const struct metadata_event *e = find(event);
	struct metadata_fields p = {0};
	uint16_t min_len = 0;

	if (!e)
		return plan_inode(event, ret_min_len);
	if (!place(event, &e->subject, &p.subject, &p.wide, &min_len) ||
	    !place(event, &e->text, &p.text, &p.wide, &min_len) ||
	    !place(event, &e->more, &p.more, &p.wide, &min_len))
		return (struct metadata_fields){0};
	p.kind = (uint8_t)e->kind;
	*ret_min_len = min_len;
	return p;
}

/*
 * `fds` has a bitmap of the system calls that return a descriptor, and a kernel filter for them. It
 * is filled on first use. The filter consists of ranges, because the kernel evaluates each term at
 * the end of every system call.
 */

#define NUMBERS 1024u /* above the highest number of Linux */

/* Newer architectures lack some of these system calls. */
static const char *const names[] = {
	"open",		"openat",	"openat2",	 "open_by_handle_at",
	"creat",	"socket",	"accept",	 "accept4",
	"dup",		"dup2",		"dup3",		 "eventfd",
	"eventfd2",	"epoll_create", "epoll_create1", "signalfd",
	"signalfd4",	"inotify_init", "inotify_init1", "timerfd_create",
	"memfd_create", "pidfd_open",
};

static struct {
	bool filled;
	uint64_t bits[NUMBERS / 64];
	char filter[1024];
} fds;

static bool has(uint64_t nr)
{
	return nr < NUMBERS && fds.bits[nr / 64] >> nr % 64 & 1;
}

static void write_filter(void)
{
	size_t at = (size_t)snprintf(fds.filter, sizeof(fds.filter), "ret >= 0 && (");
	const char * or = "";

	for (unsigned nr = 0, last; nr < NUMBERS; nr++) {
		if (!has(nr))
			continue;
		for (last = nr; has(last + 1);)
			last++;
		at += (size_t)snprintf(fds.filter + at, sizeof(fds.filter) - at,
				       last > nr ? "%s(id >= %u && id <= %u)" : "%sid == %u", or,
				       nr, last);
		or = " || ";
		nr = last;
	}
	snprintf(fds.filter + at, sizeof(fds.filter) - at, ")");
}

static void fill(void)
{
	char nearest[SYSCALL_NAME_MAX];
	uint32_t nr;

	if (fds.filled)
		return;
	fds.filled = true;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!syscall_name_resolve(names[i], &nr, nearest) && nr < NUMBERS)
			fds.bits[nr / 64] |= 1ull << nr % 64;
	write_filter();
}

bool fd_syscalls_has(uint64_t nr)
{
	fill();
	return has(nr);
}

const char *fd_syscalls_filter(void)
{
	fill();
	return fds.filter;
}
