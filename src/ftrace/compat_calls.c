// SPDX-License-Identifier: Apache-2.0
/*
 *	bytes              8        16                                       64
 *	sys_enter          [ id    ][ args, 8 bytes each                     ]
 *	compat_sys_enter   [id ][ name                   ][ args, 4 bytes each]
 *	                   8   12                        40                  64
 *	sys_exit           [ id    ][ ret    ]
 *	compat_sys_exit    [id ][ret ]
 */
#include "ftrace/compat_calls.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "ftrace/compat_threads.h"
#include "ftrace/load.h"
#include "ftrace/syscall_names.h"

#define GROUP "raw_syscalls"
#define NUMBERS 512u /* above the last one of every 32-bit table */
#define NAME_LEN 28
#define N_ARGS 6

/* Numbers of records that only the tracer mmiotrace writes, which the kernel has at top level and
 * nowhere else: kernel/trace/trace.h, enum trace_type. */
#define ENTER_ID 7
#define EXIT_ID 8

#define COMMON                                                                                     \
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"                     \
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"                     \
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"             \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
#define ARG(n, at) "\tfield:unsigned int arg" #n ";\toffset:" #at ";\tsize:4;\tsigned:0;\n"

static const char enter_format[] =
	"name: compat_sys_enter\nID: 7\nformat:\n" COMMON
	"\tfield:int id;\toffset:8;\tsize:4;\tsigned:1;\n"
	"\tfield:char name[28];\toffset:12;\tsize:28;\tsigned:0;\n" ARG(0, 40) ARG(1, 44) ARG(2, 48)
		ARG(3, 52) ARG(4, 56) ARG(5, 60) "\nprint fmt: \"\"\n";
static const char exit_format[] = "name: compat_sys_exit\nID: 8\nformat:\n" COMMON
				  "\tfield:int id;\toffset:8;\tsize:4;\tsigned:1;\n"
				  "\tfield:int ret;\toffset:12;\tsize:4;\tsigned:1;\n"
				  "\nprint fmt: \"\"\n";

/* How the kernel's own have to look. */
static const char *const enter_fields[] = {
	"\tfield:int common_pid;\toffset:4;\tsize:4;",
	"\tfield:long id;\toffset:8;\tsize:8;",
	"\tfield:unsigned long args[6];\toffset:16;\tsize:48;",
};
static const char *const exit_fields[] = {
	"\tfield:int common_pid;\toffset:4;\tsize:4;",
	"\tfield:long id;\toffset:8;\tsize:8;",
	"\tfield:long ret;\toffset:16;\tsize:8;",
};
#define ENTER_LEN 64u
#define EXIT_LEN 24u

struct compat_calls {
	struct compat_threads threads;
	uint32_t enter_id, exit_id; /* the kernel's; UINT32_MAX: not recorded */
	char names[NUMBERS][NAME_LEN]; /* without a NUL where it is as long */
};

/* ---- setting up ---- */

static bool has_fields(const char *format, const char *const *fields, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strstr(format, fields[i]))
			return false;
	return true;
}

/* Does the session record it, in the form that is known? */
static uint32_t id_of(const struct setup *s, const char *name, const char *const *fields, size_t n)
{
	const struct event_name *e = event_selection_find(s->events, GROUP, name);
	_cleanup_(freep) char *format = NULL;
	char file[64];

	if (!e || e->id == EVENT_NO_ID)
		return UINT32_MAX;
	snprintf(file, sizeof(file), "events/" GROUP "/%s/format", name);
	format = instance_read(s->instance, file);
	return format && has_fields(format, fields, n) ? (uint32_t)e->id : UINT32_MAX;
}

static int add_row(struct event_table *table, const char *name, const char *text,
		   const struct event_table_options *options)
{
	_cleanup_(freep) char *format = strdup(text);
	uint16_t id;

	if (!format)
		return -ENOMEM;
	return event_table_add(table, GROUP, name, format, options, &id);
}

/* 0; -ENOMEM; or positive: no place is left in the table for them. */
static int add_rows(const struct compat_calls *c, struct event_table *table,
		    const struct event_table_options *options)
{
	int r = 0;

	if (c->enter_id != UINT32_MAX)
		r = add_row(table, "compat_sys_enter", enter_format, options);
	if (!r && c->exit_id != UINT32_MAX)
		r = add_row(table, "compat_sys_exit", exit_format, options);
	if (r) {
		event_table_remove(table, ENTER_ID);
		event_table_remove(table, EXIT_ID);
	}
	return r;
}

int compat_calls_new(const struct setup *s, const struct event_table_options *options,
		     struct event_table *table, struct compat_calls **ret)
{
	uint32_t enter_id = id_of(s, "sys_enter", enter_fields, ARRAY_SIZE(enter_fields));
	uint32_t exit_id = id_of(s, "sys_exit", exit_fields, ARRAY_SIZE(exit_fields));
	struct compat_calls *c;
	int r;

	if ((enter_id == UINT32_MAX && exit_id == UINT32_MAX) || options->no_generic ||
	    !instance_is_own(s->instance))
		return 0;
	c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	c->enter_id = enter_id;
	c->exit_id = exit_id;
	r = compat_threads_init(&c->threads, s->proc_root);
	if (!r)
		r = add_rows(c, table, options);
	if (r) {
		compat_calls_free(c);
		return r == -ENOMEM ? r : 0;
	}
	for (uint32_t nr = 0; nr < NUMBERS; nr++)
		syscall_compat_name(nr, c->names[nr], NAME_LEN);
	*ret = c;
	return 0;
}

struct compat_calls *compat_calls_free(struct compat_calls *c)
{
	if (c)
		compat_threads_deinit(&c->threads);
	free(c);
	return NULL;
}

/* ---- records ---- */

static void store32(uint8_t *at, uint32_t v)
{
	memcpy(at, &v, sizeof(v));
}

static void edit_enter(struct compat_calls *c, uint64_t time, uint8_t *record)
{
	struct compat_call call = {
		.time = time,
		.tid = load32(record + 4),
		.nr = (int64_t)load64(record + 8),
	};
	uint64_t args[N_ARGS], all = 0;

	memcpy(args, record + 16, sizeof(args));
	for (unsigned i = 0; i < N_ARGS; i++)
		all |= args[i];
	call.wide = all >> 32;
	if (!compat_threads_enter(&c->threads, &call))
		return;
	memcpy(record, &(uint16_t){ENTER_ID}, 2);
	store32(record + 8, (uint32_t)call.nr);
	memset(record + 12, 0, NAME_LEN);
	if (call.nr >= 0 && call.nr < NUMBERS)
		memcpy(record + 12, c->names[call.nr], NAME_LEN);
	for (unsigned i = 0; i < N_ARGS; i++)
		store32(record + 40 + 4 * i, (uint32_t)args[i]);
}

static void edit_exit(struct compat_calls *c, uint64_t time, uint8_t *record)
{
	struct compat_call call = {
		.time = time,
		.tid = load32(record + 4),
		.nr = (int64_t)load64(record + 8),
		.ret = (int64_t)load64(record + 16),
	};

	if (!compat_threads_exit(&c->threads, &call)) {
		memcpy(record + 8, &call.nr, sizeof(call.nr));
		return;
	}
	memcpy(record, &(uint16_t){EXIT_ID}, 2);
	store32(record + 8, (uint32_t)call.nr);
	store32(record + 12, (uint32_t)call.ret);
}

void compat_calls_edit(void *ctx, const struct page_layout *layout, uint8_t *bytes, size_t len)
{
	struct compat_calls *c = ctx;
	struct page_record r;
	struct page page;

	if (page_open(&page, layout, bytes, len) != PAGE_OK)
		return;
	while (page_next(&page, &r) == PAGE_OK) {
		uint8_t *record = bytes + (r.payload - bytes);
		uint16_t id = load16(record);

		if (id == c->enter_id && r.len >= ENTER_LEN)
			edit_enter(c, r.time, record);
		else if (id == c->exit_id && r.len >= EXIT_LEN)
			edit_exit(c, r.time, record);
	}
}
