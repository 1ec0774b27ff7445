// SPDX-License-Identifier: Apache-2.0
/*
 * A row is built in a draft on the stack, then packed into one allocation:
 *
 *	| struct event_row | ops | field names' addresses | descriptor | names |
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <event-parse.h>

#include "base/mem.h"
#include "ftrace/event_compile.h"
#include "ftrace/event_descriptor.h"
#include "ftrace/event_legacy.h"
#include "ftrace/field_kind.h"
#include "ftrace/msg_bytes.h"
#include "gen/fields.h"
#include "wire/pb_mem.h"

#define MAX_OPS 255 /* fields of an event; the kernel's largest has under 40 */
#define EVENT_OVERHEAD                                                                             \
	64 /* time, pid, tags and lengths of both messages, and what stores overrun */
#define FIELD_OVERHEAD (2 + MSG_LEN_MAX + 10) /* tag, length and a number */

struct draft {
	const struct tep_event *event;
	unsigned n_ops;
	struct field_op ops[MAX_OPS];
	const char *names[MAX_OPS]; /* borrowed from event */
	uint16_t pid_offset;
	uint16_t min_len;
};

static const struct tep_format_field *find_field(const struct tep_format_field *f, const char *name)
{
	for (; f; f = f->next)
		if (!strcmp(f->name, name))
			return f;
	return NULL;
}

static void require_len(struct draft *d, int end)
{
	if (end > d->min_len)
		d->min_len = (uint16_t)end;
}

/* Every record must tell its id, at its start, and its thread. */
static int draft_init(struct draft *d, const struct tep_event *event)
{
	const struct tep_format_field *type, *pid;

	type = find_field(event->format.common_fields, "common_type");
	pid = find_field(event->format.common_fields, "common_pid");
	if (!type || type->offset != 0 || type->size != 2 || !pid || pid->size != 4 ||
	    pid->offset < 0 || pid->offset > UINT16_MAX - 4 || event->id < 0 ||
	    event->id > UINT16_MAX)
		return -EPROTO;
	d->event = event;
	d->n_ops = 0;
	d->min_len = sizeof(uint16_t);
	d->pid_offset = (uint16_t)pid->offset;
	require_len(d, pid->offset + 4);
	return 0;
}

static bool fits_record(const struct tep_format_field *f)
{
	return f->offset >= 0 && f->size >= 0 && f->offset + f->size <= UINT16_MAX;
}

static void draft_add(struct draft *d, const struct tep_format_field *f, uint32_t number,
		      const struct field_plan *plan)
{
	struct field_op *op = &d->ops[d->n_ops];
	bool is_varint = field_is_int(plan->kind) || plan->kind >= FIELD_ULONG32_ARRAY;
	uint32_t tag;

	if (d->n_ops == MAX_OPS)
		return;
	op->tag_len = msg_tag(number, is_varint ? PB_WIRE_VARINT : PB_WIRE_BYTES, &tag);
	op->tag = (uint16_t)tag;
	op->offset = (uint16_t)f->offset;
	op->size = plan->size;
	op->kind = (uint8_t)plan->kind;
	d->names[d->n_ops++] = f->name;
	require_len(d, f->offset + plan->min_len);
}

static bool is_var(enum field_kind kind)
{
	return kind == FIELD_TAIL_STR || kind == FIELD_LOC_STR || kind == FIELD_REL_STR ||
	       kind == FIELD_TAIL_BYTES || kind == FIELD_LOC_BYTES || kind == FIELD_REL_BYTES;
}

/* Bytes that one field takes at most, but for those that its record says. */
static size_t op_bound(const struct field_op *op, size_t max_text)
{
	if (op->kind == FIELD_ULONG32_ARRAY || op->kind == FIELD_ULONG64_ARRAY)
		return (op->size / 4u + 1) * FIELD_OVERHEAD;
	if (op->kind == FIELD_PTR32_STR || op->kind == FIELD_PTR64_STR)
		return FIELD_OVERHEAD + max_text;
	return FIELD_OVERHEAD + op->size;
}

static void set_bounds(struct event_row *row, size_t max_text)
{
	size_t bound = EVENT_OVERHEAD;

	for (unsigned i = 0; i < row->n_ops; i++) {
		bound += op_bound(&row->ops[i], max_text);
		row->n_var += is_var(row->ops[i].kind);
	}
	if (row->kind == ROW_LEGACY) {
		bound += event_legacy_bound(row);
		row->n_var *= 2; /* hexadecimal */
	}
	row->fixed_bound = (uint32_t)bound;
}

static char *copy_name(char **at, const char *name)
{
	char *copy = *at;

	*at = stpcpy(copy, name) + 1;
	return copy;
}

static struct event_row *draft_pack(const struct draft *d, const struct pb_mem *descriptor)
{
	const struct tep_event *event = d->event;
	size_t ops_len = d->n_ops * sizeof(*d->ops), names_len = d->n_ops * sizeof(*d->names);
	size_t descriptor_len = descriptor ? pb_mem_len(descriptor) : 0;
	size_t text_len = strlen(event->system) + strlen(event->name) + 2;
	const char **names;
	struct event_row *row;
	uint8_t *at;
	char *text;

	for (unsigned i = 0; i < d->n_ops; i++)
		text_len += strlen(d->names[i]) + 1;
	row = calloc(1, sizeof(*row) + ops_len + names_len + descriptor_len + text_len);
	if (!row)
		return NULL;
	at = (uint8_t *)(row + 1);
	row->ops = memcpy(at, d->ops, ops_len);
	names = (const char **)(at + ops_len);
	row->field_names = names;
	at += ops_len + names_len;
	if (descriptor_len)
		row->descriptor = memcpy(at, descriptor->buf, descriptor_len);
	row->descriptor_len = (uint32_t)descriptor_len;
	text = (char *)at + descriptor_len;
	row->group = copy_name(&text, event->system);
	row->name = copy_name(&text, event->name);
	for (unsigned i = 0; i < d->n_ops; i++)
		names[i] = copy_name(&text, d->names[i]);

	row->n_ops = (uint8_t)d->n_ops;
	row->min_len = d->min_len;
	row->pid_offset = d->pid_offset;
	row->generic_index = ROW_NOT_GENERIC;
	row->id = (uint16_t)event->id;
	return row;
}

/* print's ip is the same address in every record, and tells where the kernel lies. */
static bool is_left_out(const struct tep_event *event, const struct tep_format_field *f)
{
	return !strcmp(event->system, "ftrace") && !strcmp(event->name, "print") &&
	       !strcmp(f->name, "ip");
}

/* A new name makes what the session knows of the thread out of date, and so does a new thread with
 * a number that was another one's before. */
static uint16_t renamed_offset(const struct tep_event *event)
{
	const struct tep_format_field *pid = find_field(event->format.fields, "pid");

	if (strcmp(event->system, "task") || !pid || pid->size != 4 ||
	    (strcmp(event->name, "task_rename") && strcmp(event->name, "task_newtask")))
		return 0;
	return (uint16_t)pid->offset;
}

int event_compile_known(const struct tep_event *event, size_t max_text, struct event_row **ret)
{
	const struct tep_format_field *f;
	struct proto_event message;
	struct proto_field field;
	struct field_plan plan;
	struct event_row *row;
	struct draft d;
	int r;

	if (!proto_table_event(event->system, event->name, &message))
		return -EPROTO;
	r = draft_init(&d, event);
	if (r)
		return r;
	for (f = event->format.fields; f; f = f->next)
		if (fits_record(f) && !is_left_out(event, f) &&
		    proto_table_field(&message, f->name, &field) &&
		    field_plan_typed(f, field.type, &plan))
			draft_add(&d, f, field.number, &plan);
	row = draft_pack(&d, NULL);
	if (!row)
		return -ENOMEM;
	row->kind = ROW_FIELDS;
	row->event_tag_len = msg_tag(message.number, PB_WIRE_BYTES, &row->event_tag);
	row->renamed_offset = renamed_offset(event);
	set_bounds(row, max_text);
	*ret = row;
	return 0;
}

int event_compile_generic(const struct tep_event *event, const struct compile_generic *generic,
			  size_t max_text, struct event_row **ret)
{
	bool addresses_only = !strcmp(event->system, "syscalls");
	const struct tep_format_field *f;
	struct field_plan plan;
	struct pb_mem descriptor;
	struct event_row *row;
	struct draft d;
	int r;

	r = draft_init(&d, event);
	if (r)
		return r;
	for (f = event->format.fields; f; f = f->next)
		if (fits_record(f) && field_plan_generic(f, addresses_only, &plan))
			draft_add(&d, f, d.n_ops + 1, &plan);
	r = pb_mem_init(&descriptor);
	if (r)
		return r;
	if (!generic->legacy)
		event_descriptor_write(&descriptor.enc, generic->number, event->system, event->name,
				       d.ops, d.names, d.n_ops);
	row = descriptor.failed ? NULL : draft_pack(&d, &descriptor);
	pb_mem_deinit(&descriptor);
	if (!row)
		return -ENOMEM;
	row->kind = generic->legacy ? ROW_LEGACY : ROW_FIELDS;
	if (!generic->legacy)
		row->generic_index = generic->index;
	row->event_tag_len = msg_tag(generic->legacy ? PB_FTRACE_EVENT_GENERIC : generic->number,
				     PB_WIRE_BYTES, &row->event_tag);
	set_bounds(row, max_text);
	*ret = row;
	return 0;
}

/* ---- compact ---- */

struct column {
	const char *name;
	enum field_kind kinds[2];
};

static const struct column switch_columns[] = {
	{"prev_state", {FIELD_S64, FIELD_S32}},
	{"next_pid", {FIELD_PID, FIELD_PID}},
	{"next_prio", {FIELD_S32, FIELD_S32}},
	{"next_comm", {FIELD_COMM, FIELD_COMM}},
};

static const struct column waking_columns[] = {
	{"pid", {FIELD_PID, FIELD_PID}},	{"target_cpu", {FIELD_S32, FIELD_S32}},
	{"prio", {FIELD_S32, FIELD_S32}},	{"comm", {FIELD_COMM, FIELD_COMM}},
	{"common_flags", {FIELD_U8, FIELD_U8}},
};

int event_compile_compact(const struct tep_event *event, enum row_kind kind, struct event_row **ret)
{
	bool is_switch = kind == ROW_COMPACT_SWITCH;
	const struct column *columns = is_switch ? switch_columns : waking_columns;
	unsigned n = is_switch ? ARRAY_SIZE(switch_columns) : ARRAY_SIZE(waking_columns);
	const struct tep_format_field *f;
	struct field_plan plan;
	struct event_row *row;
	struct draft d;
	int r;

	r = draft_init(&d, event);
	if (r)
		return r;
	for (unsigned i = 0; i < n; i++) {
		f = find_field(event->format.fields, columns[i].name);
		if (!f)
			f = find_field(event->format.common_fields, columns[i].name);
		if (!f || !fits_record(f) || !field_plan_generic(f, false, &plan) ||
		    (plan.kind != columns[i].kinds[0] && plan.kind != columns[i].kinds[1]))
			return -EPROTO;
		draft_add(&d, f, i + 1, &plan);
	}
	row = draft_pack(&d, NULL);
	if (!row)
		return -ENOMEM;
	row->kind = (uint8_t)kind;
	*ret = row;
	return 0;
}
