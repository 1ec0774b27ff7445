// SPDX-License-Identifier: Apache-2.0
/*
 * A row is built in a draft on the stack, then packed into one allocation:
 *
 *	| struct event_row | ops | field names' addresses | descriptors | names |
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <event-parse.h>

#include "base/core/mem.h"
#include "ftrace/encode/event_compile.h"
#include "ftrace/format/compiled_event.h"
#include "ftrace/encode/event_legacy.h"
#include "ftrace/encode/text_fields.h"
#include "ftrace/format/field_type.h"
#include "ftrace/encode/msg_bytes.h"
#include "ftrace/format/event_format.h"
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
	struct described_field fields[MAX_OPS]; /* one each op; names borrowed from event */
	unsigned n_further; /* of them, those without a place in the message */
	uint16_t pid_offset;
	uint16_t min_len;
	char elements[FIELD_STRINGS_MAX][4]; /* "_0", "_1", ...: suffixes */
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
	d->n_further = 0;
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
		      const struct field_plan *plan, const char *suffix)
{
	struct field_op *op = &d->ops[d->n_ops];
	bool is_varint = field_is_int(plan->kind) || field_is_array(plan->kind);
	uint32_t tag;

	if (d->n_ops == MAX_OPS)
		return;
	op->tag_len = msg_tag(number, is_varint ? PB_WIRE_VARINT : PB_WIRE_BYTES, &tag);
	op->tag = (uint16_t)tag;
	op->offset = (uint16_t)f->offset;
	op->size = plan->size;
	op->kind = (uint8_t)plan->kind;
	d->fields[d->n_ops++] =
		(struct described_field){f->name, suffix, (uint16_t)number, op->kind};
	if (!plan->may_lack)
		require_len(d, f->offset + plan->min_len);
}

/* What the kernel would print for an address, where that is the name of a function. */
static bool plan_symbol(const struct tep_format_field *f, const struct compile_context *ctx,
			struct field_plan *ret)
{
	if (!ctx->print_fmt || (f->size != 4 && f->size != 8) ||
	    (f->flags & (TEP_FIELD_IS_ARRAY | TEP_FIELD_IS_SIGNED)) ||
	    !print_symbols_has(ctx->print_fmt, f->name))
		return false;
	*ret = (struct field_plan){
		.kind = f->size == 8 ? FIELD_SYMBOL64 : FIELD_SYMBOL32,
		.size = (uint16_t)f->size,
		.min_len = (uint16_t)f->size,
	};
	return true;
}

static bool is_var(enum field_kind kind)
{
	return kind == FIELD_TAIL_STR || kind == FIELD_LOC_STR || kind == FIELD_REL_STR ||
	       kind == FIELD_TAIL_BYTES || kind == FIELD_LOC_BYTES || kind == FIELD_REL_BYTES ||
	       kind == FIELD_REST_BYTES;
}

/* Bytes that one field takes at most, but for those that its record says. */
static size_t op_bound(const struct field_op *op, size_t max_text)
{
	if (field_is_text(op->kind))
		return FIELD_OVERHEAD + EVENT_TEXT_MAX;
	if (field_is_array(op->kind))
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

/* ---- packing ---- */

static char *copy_name(char **at, const char *name, const char *suffix)
{
	char *copy = *at;

	*at = stpcpy(stpcpy(copy, name), suffix) + 1;
	return copy;
}

static size_t names_len(const struct draft *d)
{
	size_t len = strlen(d->event->system) + strlen(d->event->name) + 2;

	for (unsigned i = 0; i < d->n_ops; i++)
		len += strlen(d->fields[i].name) + strlen(d->fields[i].suffix) + 1;
	return len;
}

/* descriptor, further: NULL or empty where there is nothing to describe. */
static struct event_row *draft_pack(const struct draft *d, const struct pb_mem *descriptor,
				    const struct pb_mem *further)
{
	size_t ops_len = d->n_ops * sizeof(*d->ops), addresses_len = d->n_ops * sizeof(char *);
	size_t descriptor_len = descriptor ? pb_mem_len(descriptor) : 0;
	size_t further_len = further ? pb_mem_len(further) : 0;
	const char **names;
	struct event_row *row;
	uint8_t *at;
	char *text;

	row = calloc(1, sizeof(*row) + ops_len + addresses_len + descriptor_len + further_len +
				names_len(d));
	if (!row)
		return NULL;
	at = (uint8_t *)(row + 1);
	row->ops = memcpy(at, d->ops, ops_len);
	names = (const char **)(at + ops_len);
	row->field_names = names;
	at += ops_len + addresses_len;
	if (descriptor_len)
		row->descriptor = memcpy(at, descriptor->buf, descriptor_len);
	row->descriptor_len = (uint32_t)descriptor_len;
	at += descriptor_len;
	if (further_len)
		row->further = memcpy(at, further->buf, further_len);
	row->further_len = (uint32_t)further_len;
	text = (char *)at + further_len;
	row->group = copy_name(&text, d->event->system, "");
	row->name = copy_name(&text, d->event->name, "");
	for (unsigned i = 0; i < d->n_ops; i++)
		names[i] = copy_name(&text, d->fields[i].name, d->fields[i].suffix);

	row->n_ops = (uint8_t)d->n_ops;
	row->min_len = d->min_len;
	row->pid_offset = d->pid_offset;
	row->generic_index = ROW_NOT_GENERIC;
	row->id = (uint16_t)d->event->id;
	return row;
}

/* The row with a description of some of its fields, as it is or as those further ones. */
static struct event_row *pack_described(const struct draft *d, uint32_t number,
					const struct described_field *fields, unsigned n_fields,
					bool is_further)
{
	struct event_row *row = NULL;
	struct pb_mem m;

	if (pb_mem_init(&m))
		return NULL;
	event_descriptor_write(&m.enc, number, d->event->system, d->event->name, fields, n_fields);
	if (!m.failed)
		row = draft_pack(d, is_further ? NULL : &m, is_further ? &m : NULL);
	pb_mem_deinit(&m);
	return row;
}

/* ---- events with and without a message ---- */

/* print's ip is the same address in every record, and tells where the kernel lies. */
static bool is_left_out(const struct tep_event *event, const struct tep_format_field *f)
{
	return !strcmp(event->system, "ftrace") && !strcmp(event->name, "print") &&
	       !strcmp(f->name, "ip");
}

/* A record has to be long enough for its news, too. */
static void add_news(struct event_row *row, const struct tep_event *event)
{
	uint16_t min_len = 0;

	row->news = news_plan_make(event, &min_len);
	row->min_len = MAX(row->min_len, min_len);
}

static bool addresses_only(const struct tep_event *event)
{
	return !strcmp(event->system, "syscalls");
}

typedef void add_fn(struct draft *d, const struct tep_format_field *f,
		    const struct field_plan *plan, const char *suffix);

static void add_further(struct draft *d, const struct tep_format_field *f,
			const struct field_plan *plan, const char *suffix)
{
	draft_add(d, f, COMPILE_FURTHER + d->n_further, plan, suffix);
	d->n_further++;
}

static void add_described(struct draft *d, const struct tep_format_field *f,
			  const struct field_plan *plan, const char *suffix)
{
	draft_add(d, f, d->n_ops + 1, plan, suffix);
}

/* Readers show one value of a field of an event, so each string of an array is a field: NAME_0, ... */
static void add_strings(struct draft *d, const struct tep_format_field *f,
			const struct field_plan *plan, add_fn *add)
{
	struct tep_format_field string = *f;

	for (unsigned i = 0; i < plan->count; i++, string.offset += plan->size) {
		snprintf(d->elements[i], sizeof(d->elements[i]), "_%u", i % 100);
		add(d, &string, plan, d->elements[i]);
	}
}

static void add_planned(struct draft *d, const struct tep_format_field *f,
			const struct field_plan *plan, add_fn *add)
{
	if (plan->count)
		add_strings(d, f, plan, add);
	else
		add(d, f, plan, "");
}

static void add_known(struct draft *d, const struct tep_format_field *f,
		      const struct proto_event *message, const struct compile_context *ctx)
{
	struct proto_field field;
	struct field_plan plan;

	if (proto_table_field(message, f->name, &field) && field_plan_typed(f, field.type, &plan))
		draft_add(d, f, field.number, &plan, "");
	else if (field_plan_generic(f, addresses_only(d->event), &plan))
		add_planned(d, f, &plan, add_further);
	else
		return;
	/* A number of an address is told in the trace's own table of symbols. */
	if (plan.kind != FIELD_SYM32 && plan.kind != FIELD_SYM64 && plan_symbol(f, ctx, &plan))
		add_further(d, f, &plan, "_symbol");
}

static struct event_row *pack_known(const struct draft *d, uint32_t number, uint16_t index)
{
	struct described_field further[MAX_OPS];
	struct event_row *row;
	unsigned n = 0;

	for (unsigned i = 0; i < d->n_ops; i++)
		if (d->fields[i].number >= COMPILE_FURTHER)
			further[n++] = d->fields[i];
	if (!n)
		return draft_pack(d, NULL, NULL);
	row = pack_described(d, number, further, n, true);
	if (row)
		row->generic_index = index;
	return row;
}

int event_compile_known(const struct tep_event *event, const struct compile_context *ctx,
			struct event_row **ret)
{
	struct proto_event message;
	struct event_row *row;
	struct draft d;
	int r;

	if (!proto_table_event(event->system, event->name, &message))
		return -EPROTO;
	r = draft_init(&d, event);
	if (r)
		return r;
	for (const struct tep_format_field *f = event->format.fields; f; f = f->next)
		if (fits_record(f) && !is_left_out(event, f))
			add_known(&d, f, &message, ctx);
	row = pack_known(&d, message.number, ctx->index);
	if (!row)
		return -ENOMEM;
	row->kind = ROW_FIELDS;
	row->event_tag_len = msg_tag(message.number, PB_WIRE_BYTES, &row->event_tag);
	add_news(row, event);
	set_bounds(row, ctx->max_text);
	*ret = row;
	return 0;
}

static void add_generic(struct draft *d, const struct tep_format_field *f,
			const struct compile_context *ctx)
{
	struct field_plan plan;

	if (!field_plan_generic(f, addresses_only(d->event), &plan))
		return;
	add_planned(d, f, &plan, add_described);
	if (field_is_int(plan.kind) && plan_symbol(f, ctx, &plan))
		add_described(d, f, &plan, "_symbol");
}

int event_compile_generic(const struct tep_event *event, const struct compile_context *ctx,
			  uint32_t number, bool legacy, struct event_row **ret)
{
	struct event_row *row;
	struct draft d;
	int r;

	r = draft_init(&d, event);
	if (r)
		return r;
	for (const struct tep_format_field *f = event->format.fields; f; f = f->next)
		if (fits_record(f))
			add_generic(&d, f, ctx);
	legacy = legacy || d.n_ops > EVENT_DESCRIPTOR_MAX_FIELDS;
	row = legacy ? draft_pack(&d, NULL, NULL)
		     : pack_described(&d, number, d.fields, d.n_ops, false);
	if (!row)
		return -ENOMEM;
	row->kind = legacy ? ROW_LEGACY : ROW_FIELDS;
	if (!legacy)
		row->generic_index = ctx->index;
	row->event_tag_len =
		msg_tag(legacy ? PB_FTRACE_EVENT_GENERIC : number, PB_WIRE_BYTES, &row->event_tag);
	set_bounds(row, ctx->max_text);
	*ret = row;
	return 0;
}

int event_compile_feed(const struct tep_event *event, struct event_row **ret)
{
	struct event_row *row;
	struct draft d;
	int r;

	r = draft_init(&d, event);
	if (r)
		return r;
	row = draft_pack(&d, NULL, NULL);
	if (!row)
		return -ENOMEM;
	row->kind = ROW_FEED;
	add_news(row, event);
	if (row->news.kind == NEWS_NONE) {
		free(row);
		return -EPROTO;
	}
	*ret = row;
	return 0;
}

/* KprobeEvent is told what is known beforehand; nothing of the record goes in. */
int event_compile_probe(const struct tep_event *event, unsigned type, struct event_row **ret)
{
	struct event_row *row;
	struct pb_mem message;
	struct draft d;
	int r;

	r = draft_init(&d, event);
	if (!r)
		r = pb_mem_init(&message);
	if (r)
		return r;
	pb_enc_str(&message.enc, PB_KPROBE_EVENT_NAME, event->name);
	pb_enc_u64(&message.enc, PB_KPROBE_EVENT_TYPE, type);
	row = message.failed ? NULL : draft_pack(&d, &message, NULL);
	pb_mem_deinit(&message);
	if (!row)
		return -ENOMEM;
	row->kind = ROW_CONSTANT;
	row->event_tag_len = msg_tag(PB_FTRACE_EVENT_KPROBE_EVENT, PB_WIRE_BYTES, &row->event_tag);
	set_bounds(row, 0);
	row->fixed_bound += row->descriptor_len;
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
		draft_add(&d, f, i + 1, &plan, "");
	}
	row = draft_pack(&d, NULL, NULL);
	if (!row)
		return -ENOMEM;
	row->kind = (uint8_t)kind;
	*ret = row;
	return 0;
}
