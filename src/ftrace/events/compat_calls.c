// SPDX-License-Identifier: Apache-2.0
/*
 *	bytes              8        16                                       64
 *	sys_enter          [ id    ][ args, 8 bytes each                     ]
 *	compat_sys_enter   [id ][ name                   ][ args, 4 bytes each]
 *	                   8   12                        40                  64
 *	sys_exit           [ id    ][ ret    ]
 *	compat_sys_exit    [id ][ret ]
 */
#include "ftrace/events/compat_calls.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/system/syscall_names.h"

#define GROUP "raw_syscalls"
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

#define NO_ID UINT32_MAX

/* ---- setting up ---- */

/* Does it look as above? */
static bool is_known(const struct event_row *row, enum field_kind second, uint16_t len)
{
	const struct field_op *ops = row->ops;

	return row->kind == ROW_FIELDS && row->pid_offset == 4 && row->n_ops == 2 &&
	       ops[0].kind == FIELD_S64 && ops[0].offset == 8 && ops[1].kind == second &&
	       ops[1].offset == 16 && row->min_len == len;
}

static uint32_t id_of(const struct event_table *table, const char *name, enum field_kind second,
		      uint16_t len)
{
	const struct event_row *row = event_table_named(table, GROUP, name);

	return row && is_known(row, second, len) ? row->id : NO_ID;
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

	if (c->enter_id != NO_ID)
		r = add_row(table, "compat_sys_enter", enter_format, options);
	if (!r && c->exit_id != NO_ID)
		r = add_row(table, "compat_sys_exit", exit_format, options);
	if (r) {
		event_table_remove(table, ENTER_ID);
		event_table_remove(table, EXIT_ID);
	}
	return r;
}

int compat_calls_new(const char *proc_root, const struct event_table_options *options,
		     struct event_table *table, struct compat_calls **ret)
{
	uint32_t enter_id = id_of(table, "sys_enter", FIELD_ULONG64_ARRAY, COMPAT_ENTER_LEN);
	uint32_t exit_id = id_of(table, "sys_exit", FIELD_S64, COMPAT_EXIT_LEN);
	struct compat_calls *c;
	int r;

	if ((enter_id == NO_ID && exit_id == NO_ID) || options->no_generic)
		return 0;
	c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	c->enter_id = enter_id;
	c->exit_id = exit_id;
	r = compat_threads_init(&c->threads, proc_root);
	if (!r)
		r = add_rows(c, table, options);
	if (r) {
		compat_calls_free(c);
		return r == -ENOMEM ? r : 0;
	}
	for (uint32_t nr = 0; nr < COMPAT_NUMBERS; nr++)
		syscall_compat_name(nr, c->names[nr], COMPAT_NAME_LEN);
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

static void store64(uint8_t *at, uint64_t v)
{
	memcpy(at, &v, sizeof(v));
}

/* The common fields are the other's. */
static const uint8_t *finish_record(struct compat_calls *c, const uint8_t *other, uint16_t id)
{
	memcpy(c->record, other, 8);
	memcpy(c->record, &id, sizeof(id));
	return c->record;
}

const uint8_t *compat_calls_enter(struct compat_calls *c, uint64_t time, const uint8_t *record)
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
		return record;
	store32(c->record + 8, (uint32_t)call.nr);
	memset(c->record + 12, 0, COMPAT_NAME_LEN);
	if (call.nr >= 0 && call.nr < COMPAT_NUMBERS)
		memcpy(c->record + 12, c->names[call.nr], COMPAT_NAME_LEN);
	for (unsigned i = 0; i < N_ARGS; i++)
		store32(c->record + 40 + 4 * i, (uint32_t)args[i]);
	return finish_record(c, record, ENTER_ID);
}

const uint8_t *compat_calls_leave(struct compat_calls *c, uint64_t time, const uint8_t *record)
{
	struct compat_call call = {
		.time = time,
		.tid = load32(record + 4),
		.nr = (int64_t)load64(record + 8),
		.ret = (int64_t)load64(record + 16),
	};
	const int64_t told = call.nr;

	if (compat_threads_exit(&c->threads, &call)) {
		store32(c->record + 8, (uint32_t)call.nr);
		store32(c->record + 12, (uint32_t)call.ret);
		return finish_record(c, record, EXIT_ID);
	}
	if (call.nr == told)
		return record;
	store64(c->record + 8, (uint64_t)call.nr);
	store64(c->record + 16, (uint64_t)call.ret);
	return finish_record(c, record, (uint16_t)c->exit_id);
}
