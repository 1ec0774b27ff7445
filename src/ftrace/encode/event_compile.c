/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An event is compiled to a draft on the stack, which is then packed into one allocation:
 *
 *	| struct compiled_event | ops | pointers to field names | descriptors | names |
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <event-parse.h>

#include "base/core/mem.h"
#include "base/text/str.h"
#include "common/descriptor.pb-c.h"
#include "ftrace/encode/event_compile.h"
#include "ftrace/encode/event_legacy.h"
#include "ftrace/encode/pb_unchecked.h"
#include "ftrace/encode/text_fields.h"
#include "ftrace/format/compiled_event.h"
#include "ftrace/format/event_format.h"
#include "ftrace/format/field_type.h"
#include "gen/fields.h"
#include "wire/pb_enc.h"

#define MAX_OPS 255 /* fields of an event; the largest of the kernel has less than 40 */
#define EVENT_OVERHEAD                                                                             \
	64 /* time, pid, tags and lengths of both messages, and bytes that stores may touch */
#define FIELD_OVERHEAD (2 + UNCHECKED_LEN_MAX + 10) /* tag, length and a number */

struct draft {
	const struct tep_event *event;
	const char *print_fmt; /* borrowed; NULL: not needed */
	unsigned n_ops;
	struct field_op ops[MAX_OPS];
	struct described_field fields[MAX_OPS]; /* one for each op; names borrowed from event */
	unsigned n_further; /* fields for which the message has none */
	uint16_t n_left_out; /* fields beyond MAX_OPS */
	uint16_t pid_offset;
	uint16_t min_len;
	char elements[FIELD_STRINGS_MAX][4]; /* suffixes "_0", "_1", ... */
};

static const struct tep_format_field *event_compile_find_field(const struct tep_format_field *f,
							       const char *name)
{
	for (; f; f = f->next)
		if (!strcmp(f->name, name))
			return f;
	return NULL;
}

static void require_record_length(struct draft *d, int end)
{
	if (end > d->min_len)
		d->min_len = (uint16_t)end;
}

/* Begins a draft. Returns -EPROTO unless each record of the event begins with its id (2 bytes) and
 * has a common_pid (4 bytes). */
static int draft_init(struct draft *d, const struct tep_event *event)
{
	const struct tep_format_field *type, *pid;

	type = event_compile_find_field(event->format.common_fields, "common_type");
	pid = event_compile_find_field(event->format.common_fields, "common_pid");
	if (!type || type->offset != 0 || type->size != 2 || !pid || pid->size != 4 ||
	    pid->offset < 0 || pid->offset > UINT16_MAX - 4 || event->id < 0 ||
	    event->id > UINT16_MAX)
		return -EPROTO;
	d->event = event;
	d->print_fmt = NULL;
	d->n_ops = 0;
	d->n_further = 0;
	d->n_left_out = 0;
	d->min_len = sizeof(uint16_t);
	d->pid_offset = (uint16_t)pid->offset;
	require_record_length(d, pid->offset + 4);
	return 0;
}

static bool field_fits_record(const struct tep_format_field *f)
{
	return f->offset >= 0 && f->size >= 0 && f->offset + f->size <= UINT16_MAX;
}

static void draft_add(struct draft *d, const struct tep_format_field *f, uint32_t number,
		      const struct field_plan *plan, const char *suffix)
{
	struct field_op *op = &d->ops[d->n_ops];
	bool is_varint = field_is_int(plan->type) || field_is_array(plan->type);
	uint32_t tag;

	if (d->n_ops == MAX_OPS) {
		d->n_left_out++;
		return;
	}
	op->tag_len = unchecked_tag(number, is_varint ? PB_WIRE_VARINT : PB_WIRE_BYTES, &tag);
	op->tag = (uint16_t)tag;
	op->offset = (uint16_t)f->offset;
	op->size = plan->size;
	op->type = (uint8_t)plan->type;
	d->fields[d->n_ops++] =
		(struct described_field){f->name, suffix, (uint16_t)number, op->type,
					 is_varint && str_starts(f->type, "enum ")};
	if (!plan->may_lack)
		require_record_length(d, f->offset + plan->min_len);
}

/* Plans the function name of an address. Returns false if the kernel would not print the field as a
 * function, or if the session has no symbols. */
static bool plan_symbol(const struct tep_format_field *f, const struct compile_context *ctx,
			struct field_plan *ret)
{
	if (!ctx->symbols || (f->size != 4 && f->size != 8) ||
	    (f->flags & (TEP_FIELD_IS_ARRAY | TEP_FIELD_IS_SIGNED)) ||
	    !event_format_prints_symbols(ctx->print_fmt, f->name))
		return false;
	*ret = (struct field_plan){
		.type = f->size == 8 ? FIELD_SYMBOL64 : FIELD_SYMBOL32,
		.size = (uint16_t)f->size,
		.min_len = (uint16_t)f->size,
	};
	return true;
}

static bool has_only_address_pointers(const struct tep_event *event)
{
	return !strcmp(event->system, "syscalls");
}

/* Plans the address of an object as its hash, as the kernel prints it (%p). Excludes pointers that
 * it prints as names of functions, those of the group ftrace, and pointers into processes. */
static void plan_address(const struct tep_format_field *f, const struct compile_context *ctx,
			 struct field_plan *plan)
{
	bool is_long = plan->type == FIELD_U64 || plan->type == FIELD_SYM64;

	if (ctx->print_fmt && (is_long || plan->type == FIELD_U32 || plan->type == FIELD_SYM32) &&
	    strchr(f->type, '*') && strcmp(f->event->system, "ftrace") &&
	    !has_only_address_pointers(f->event) &&
	    !event_format_prints_symbols(ctx->print_fmt, f->name))
		plan->type = is_long ? FIELD_HASHED64 : FIELD_HASHED32;
}

static bool has_variable_length(enum field_type kind)
{
	return kind == FIELD_TAIL_STR || kind == FIELD_LOC_STR || kind == FIELD_REL_STR ||
	       kind == FIELD_TAIL_BYTES || kind == FIELD_LOC_BYTES || kind == FIELD_REL_BYTES ||
	       kind == FIELD_REMAINING_BYTES;
}

/* Returns the maximum number of bytes that a field takes, without variable lengths. */
static size_t max_bytes_of_op(const struct field_op *op, size_t max_text)
{
	if (field_is_text(op->type))
		return FIELD_OVERHEAD + EVENT_TEXT_MAX;
	if (field_is_array(op->type))
		return (op->size / 4u + 1) * FIELD_OVERHEAD;
	if (op->type == FIELD_PTR32_STR || op->type == FIELD_PTR64_STR)
		return FIELD_OVERHEAD + max_text;
	return FIELD_OVERHEAD + op->size;
}

static void set_max_bytes(struct compiled_event *ev, size_t max_text)
{
	size_t bound = EVENT_OVERHEAD;

	for (unsigned i = 0; i < ev->n_ops; i++) {
		bound += max_bytes_of_op(&ev->ops[i], max_text);
		ev->n_var += has_variable_length(ev->ops[i].type);
	}
	if (ev->kind == COMPILED_LEGACY || ev->kind == COMPILED_PROBE) {
		bound += event_legacy_max_size(ev);
		ev->n_var *= 2; /* hexadecimal */
	}
	ev->fixed_bound = (uint32_t)bound;
}

/* ---- packing ---- */

static char *copy_field_name(char **at, const char *name, const char *suffix)
{
	char *copy = *at;

	*at = stpcpy(stpcpy(copy, name), suffix) + 1;
	return copy;
}

static size_t total_name_length(const struct draft *d)
{
	size_t len = strlen(d->event->system) + strlen(d->event->name) + 2;

	for (unsigned i = 0; i < d->n_ops; i++)
		len += strlen(d->fields[i].name) + strlen(d->fields[i].suffix) + 1;
	return len;
}

/* Packs the draft into one allocation. descriptor, further: NULL or empty if not needed. */
static struct compiled_event *draft_pack(const struct draft *d, const struct pb_mem *descriptor,
					 const struct pb_mem *further)
{
	size_t ops_len = d->n_ops * sizeof(*d->ops), addresses_len = d->n_ops * sizeof(char *);
	size_t descriptor_len = descriptor ? pb_mem_len(descriptor) : 0;
	size_t further_len = further ? pb_mem_len(further) : 0;
	const char **names;
	struct compiled_event *ev;
	uint8_t *at;
	char *text;

	ev = calloc(1, sizeof(*ev) + ops_len + addresses_len + descriptor_len + further_len +
			       total_name_length(d));
	if (!ev)
		return NULL;
	at = (uint8_t *)(ev + 1);
	ev->ops = memcpy(at, d->ops, ops_len);
	names = (const char **)(at + ops_len);
	ev->field_names = names;
	at += ops_len + addresses_len;
	if (descriptor_len)
		ev->descriptor = memcpy(at, descriptor->buf, descriptor_len);
	ev->descriptor_len = (uint32_t)descriptor_len;
	at += descriptor_len;
	if (further_len)
		ev->further = memcpy(at, further->buf, further_len);
	ev->further_len = (uint32_t)further_len;
	text = (char *)at + further_len;
	ev->group = copy_field_name(&text, d->event->system, "");
	ev->name = copy_field_name(&text, d->event->name, "");
	for (unsigned i = 0; i < d->n_ops; i++)
		names[i] = copy_field_name(&text, d->fields[i].name, d->fields[i].suffix);

	ev->n_ops = (uint8_t)d->n_ops;
	ev->n_left_out = d->n_left_out;
	ev->min_len = d->min_len;
	ev->pid_offset = d->pid_offset;
	ev->generic_index = COMPILED_NOT_GENERIC;
	ev->id = (uint16_t)d->event->id;
	return ev;
}

/* ---- descriptors ---- */

/* With a descriptor, readers without a message for the event can show its fields by name. */

static unsigned descriptor_type(enum field_type type)
{
	if (field_is_str(type) || field_is_text(type))
		return PB__FIELD_DESCRIPTOR_PROTO__TYPE__TYPE_STRING;
	if (!field_is_int(type))
		return PB__FIELD_DESCRIPTOR_PROTO__TYPE__TYPE_BYTES;
	return field_type_is_signed(type) ? PB__FIELD_DESCRIPTOR_PROTO__TYPE__TYPE_INT64
					  : PB__FIELD_DESCRIPTOR_PROTO__TYPE__TYPE_UINT64;
}

static void write_descriptor_field(struct pb_enc *e, const struct described_field *f)
{
	size_t len = strlen(f->name), suffix_len = strlen(f->suffix);

	pb_enc_open(e, PB_DESCRIPTOR_PROTO_FIELD);
	pb_enc_header(e, PB_FIELD_DESCRIPTOR_PROTO_NAME, len + suffix_len);
	pb_enc_raw(e, f->name, len);
	pb_enc_raw(e, f->suffix, suffix_len);
	pb_enc_u64(e, PB_FIELD_DESCRIPTOR_PROTO_NUMBER, f->number);
	pb_enc_u64(e, PB_FIELD_DESCRIPTOR_PROTO_TYPE, descriptor_type(f->type));
	pb_enc_close(e);
}

/* Writes the names that the kernel prints for the values of a field. */
static void write_value_names(struct pb_enc *e, const struct described_field *f,
			      const char *print_fmt)
{
	struct event_format_names n = {.at = NULL};
	bool open = false;

	while (print_fmt && event_format_next_name(print_fmt, f->name, &n)) {
		if (!open) {
			pb_enc_open(e, PB_DESCRIPTOR_PROTO_ENUM_TYPE);
			pb_enc_str(e, PB_ENUM_DESCRIPTOR_PROTO_NAME, f->name);
			open = true;
		}
		pb_enc_open(e, PB_ENUM_DESCRIPTOR_PROTO_VALUE);
		pb_enc_bytes(e, PB_ENUM_VALUE_DESCRIPTOR_PROTO_NAME, n.name, n.len);
		pb_enc_u64(e, PB_ENUM_VALUE_DESCRIPTOR_PROTO_NUMBER, (uint64_t)n.value);
		pb_enc_close(e);
	}
	if (open)
		pb_enc_close(e);
}

/* Writes the content of a GenericEventDescriptor: the number of the event's field in FtraceEvent,
 * its message as a DescriptorProto, and its group. */
static void write_event_descriptor(struct pb_enc *e, uint32_t number, const struct draft *d,
				   const struct described_field *fields, unsigned n_fields)
{
	pb_enc_u64(e, PB_FTRACE_EVENT_BUNDLE_GENERIC_EVENT_DESCRIPTOR_FIELD_ID, number);
	pb_enc_open(e, PB_FTRACE_EVENT_BUNDLE_GENERIC_EVENT_DESCRIPTOR_EVENT_DESCRIPTOR);
	pb_enc_str(e, PB_DESCRIPTOR_PROTO_NAME, d->event->name);
	for (unsigned i = 0; i < n_fields; i++)
		write_descriptor_field(e, &fields[i]);
	for (unsigned i = 0; i < n_fields; i++)
		if (fields[i].is_enum)
			write_value_names(e, &fields[i], d->print_fmt);
	pb_enc_close(e);
	pb_enc_str(e, PB_FTRACE_EVENT_BUNDLE_GENERIC_EVENT_DESCRIPTOR_GROUP_NAME, d->event->system);
}

/* Packs the event with a descriptor of its fields, or of its further fields. */
static struct compiled_event *pack_described(const struct draft *d, uint32_t number,
					     const struct described_field *fields,
					     unsigned n_fields, bool is_further)
{
	struct compiled_event *ev = NULL;
	struct pb_mem m;

	if (pb_mem_init(&m))
		return NULL;
	write_event_descriptor(&m.enc, number, d, fields, n_fields);
	if (!m.failed)
		ev = draft_pack(d, is_further ? NULL : &m, is_further ? &m : NULL);
	pb_mem_deinit(&m);
	return ev;
}

/* ---- events with and without a message ---- */

/* Returns true for the field ip of print, which is the same in every record and would reveal where
 * the kernel is loaded. */
static bool field_is_left_out(const struct tep_event *event, const struct tep_format_field *f)
{
	return !strcmp(event->system, "ftrace") && !strcmp(event->name, "print") &&
	       !strcmp(f->name, "ip");
}

/* Sets the event's metadata fields. Its records must be long enough for them, too. */
static void set_metadata_fields(struct compiled_event *ev, const struct tep_event *event)
{
	uint16_t min_len = 0;

	ev->metadata = metadata_fields_find(event, &min_len);
	ev->min_len = MAX(ev->min_len, min_len);
}

typedef void add_fn(struct draft *d, const struct tep_format_field *f,
		    const struct field_plan *plan, const char *suffix);

static void add_further_string(struct draft *d, const struct tep_format_field *f,
			       const struct field_plan *plan, const char *suffix)
{
	draft_add(d, f, COMPILE_FURTHER + d->n_further, plan, suffix);
	d->n_further++;
}

static void add_described_field(struct draft *d, const struct tep_format_field *f,
				const struct field_plan *plan, const char *suffix)
{
	draft_add(d, f, d->n_ops + 1, plan, suffix);
}

/* Readers show one value per field, so each string of an array becomes a field: NAME_0, ... */
static void add_strings(struct draft *d, const struct tep_format_field *f,
			const struct field_plan *plan, add_fn *add)
{
	struct tep_format_field string = *f;

	for (unsigned i = 0; i < plan->count; i++, string.offset += plan->size) {
		snprintf(d->elements[i], sizeof(d->elements[i]), "_%u", i % 100);
		add(d, &string, plan, d->elements[i]);
	}
}

static void add_planned_field(struct draft *d, const struct tep_format_field *f,
			      const struct field_plan *plan, add_fn *add)
{
	if (plan->count)
		add_strings(d, f, plan, add);
	else
		add(d, f, plan, "");
}

static void add_field_of_message(struct draft *d, const struct tep_format_field *f,
				 const struct proto_event *message,
				 const struct compile_context *ctx)
{
	struct proto_field field;
	struct field_plan plan;
	bool known = proto_events_find_field(message, f->name, &field) &&
		     field_plan_typed(f, field.type, &plan);

	if (!known && !field_plan_generic(f, has_only_address_pointers(d->event), &plan))
		return;
	plan_address(f, ctx, &plan);
	if (known)
		draft_add(d, f, field.number, &plan, "");
	else
		add_planned_field(d, f, &plan, add_further_string);
	/* Indexed addresses get their names from the bundle's symbols instead. */
	if (plan.type != FIELD_SYM32 && plan.type != FIELD_SYM64 && plan_symbol(f, ctx, &plan))
		add_further_string(d, f, &plan, "_symbol");
}

/* Adds a common field if the event's message has a field of that name. Only sched_waking has one:
 * common_flags. */
static void add_common_field(struct draft *d, const struct tep_format_field *f,
			     const struct proto_event *message)
{
	struct proto_field field;
	struct field_plan plan;

	if (proto_events_find_field(message, f->name, &field) &&
	    field_plan_typed(f, field.type, &plan))
		draft_add(d, f, field.number, &plan, "");
}

static struct compiled_event *pack_known(const struct draft *d, uint32_t number, uint16_t index)
{
	struct described_field further[MAX_OPS];
	struct compiled_event *ev;
	unsigned n = 0;

	for (unsigned i = 0; i < d->n_ops; i++)
		if (d->fields[i].number >= COMPILE_FURTHER &&
		    d->fields[i].number < COMPILE_EXTENSIONS)
			further[n++] = d->fields[i];
	if (!n)
		return draft_pack(d, NULL, NULL);
	ev = pack_described(d, number, further, n, true);
	if (ev)
		ev->generic_index = index;
	return ev;
}

int event_compile_known(const struct tep_event *event, const struct compile_context *ctx,
			struct compiled_event **ret)
{
	struct proto_event message;
	struct compiled_event *ev;
	struct draft d;
	int r;

	if (!proto_events_find(event->system, event->name, &message))
		return -EPROTO;
	r = draft_init(&d, event);
	if (r)
		return r;
	d.print_fmt = ctx->print_fmt;
	for (const struct tep_format_field *f = event->format.fields; f; f = f->next)
		if (field_fits_record(f) && !field_is_left_out(event, f))
			add_field_of_message(&d, f, &message, ctx);
	for (const struct tep_format_field *f = event->format.common_fields; f; f = f->next)
		if (field_fits_record(f))
			add_common_field(&d, f, &message);
	ev = pack_known(&d, message.number, ctx->index);
	if (!ev)
		return -ENOMEM;
	ev->kind = COMPILED_FIELDS;
	ev->event_tag_len = unchecked_tag(message.number, PB_WIRE_BYTES, &ev->event_tag);
	set_metadata_fields(ev, event);
	set_max_bytes(ev, ctx->max_text);
	*ret = ev;
	return 0;
}

static void add_generic(struct draft *d, const struct tep_format_field *f,
			const struct compile_context *ctx)
{
	struct field_plan plan;

	if (!field_plan_generic(f, has_only_address_pointers(d->event), &plan))
		return;
	plan_address(f, ctx, &plan);
	add_planned_field(d, f, &plan, add_described_field);
	if (field_is_int(plan.type) && plan_symbol(f, ctx, &plan))
		add_described_field(d, f, &plan, "_symbol");
}

int event_compile_generic(const struct tep_event *event, const struct compile_context *ctx,
			  uint32_t number, bool legacy, struct compiled_event **ret)
{
	struct compiled_event *ev;
	struct draft d;
	int r;

	r = draft_init(&d, event);
	if (r)
		return r;
	d.print_fmt = ctx->print_fmt;
	for (const struct tep_format_field *f = event->format.fields; f; f = f->next)
		if (field_fits_record(f))
			add_generic(&d, f, ctx);
	legacy = legacy || d.n_ops > EVENT_DESCRIPTOR_MAX_FIELDS;
	ev = legacy ? draft_pack(&d, NULL, NULL)
		    : pack_described(&d, number, d.fields, d.n_ops, false);
	if (!ev)
		return -ENOMEM;
	ev->kind = legacy ? COMPILED_LEGACY : COMPILED_FIELDS;
	if (!legacy)
		ev->generic_index = ctx->index;
	ev->event_tag_len = unchecked_tag(legacy ? PB_FTRACE_EVENT_GENERIC : number, PB_WIRE_BYTES,
					  &ev->event_tag);
	set_max_bytes(ev, ctx->max_text);
	*ret = ev;
	return 0;
}

int event_compile_metadata(const struct tep_event *event, struct compiled_event **ret)
{
	struct compiled_event *ev;
	struct draft d;
	int r;

	r = draft_init(&d, event);
	if (r)
		return r;
	ev = draft_pack(&d, NULL, NULL);
	if (!ev)
		return -ENOMEM;
	ev->kind = COMPILED_METADATA;
	set_metadata_fields(ev, event);
	if (ev->metadata.kind == METADATA_NONE) {
		free(ev);
		return -EPROTO;
	}
	*ret = ev;
	return 0;
}

/* Returns true for a field that the kernel adds with the place of the probe, which is the same in
 * all records or of no use. */
static bool is_probe_address_field(const struct tep_format_field *f)
{
	return !strncmp(f->name, "__probe_", strlen("__probe_"));
}

int event_compile_probe(const struct tep_event *event, unsigned type, struct compiled_event **ret)
{
	struct compiled_event *ev;
	struct field_plan plan;
	struct pb_mem message;
	struct draft d;
	int r;

	r = draft_init(&d, event);
	if (!r)
		r = pb_mem_init(&message);
	if (r)
		return r;
	for (const struct tep_format_field *f = event->format.fields; f; f = f->next)
		if (field_fits_record(f) && !is_probe_address_field(f) &&
		    field_plan_generic(f, has_only_address_pointers(event), &plan))
			add_planned_field(&d, f, &plan, add_described_field);
	pb_enc_str(&message.enc, PB_KPROBE_EVENT_NAME, event->name);
	pb_enc_u64(&message.enc, PB_KPROBE_EVENT_TYPE, type);
	ev = message.failed ? NULL : draft_pack(&d, &message, NULL);
	pb_mem_deinit(&message);
	if (!ev)
		return -ENOMEM;
	ev->kind = COMPILED_PROBE;
	ev->event_tag_len =
		unchecked_tag(PB_FTRACE_EVENT_KPROBE_EVENT, PB_WIRE_BYTES, &ev->event_tag);
	set_max_bytes(ev, 0);
	ev->fixed_bound += ev->descriptor_len;
	*ret = ev;
	return 0;
}

/* ---- compact sched ---- */

struct column {
	const char *name;
	enum field_type kinds[2];
};

static const struct column switch_columns[] = {
	{"prev_state", {FIELD_S64, FIELD_S32}}, {"next_pid", {FIELD_PID, FIELD_PID}},
	{"next_prio", {FIELD_S32, FIELD_S32}},	{"next_comm", {FIELD_COMM, FIELD_COMM}},
	{"prev_pid", {FIELD_PID, FIELD_PID}}, /* no column: of COMPILED_SUBJECT_SWITCH only */
};

static const struct column waking_columns[] = {
	{"pid", {FIELD_PID, FIELD_PID}},	{"target_cpu", {FIELD_S32, FIELD_S32}},
	{"prio", {FIELD_S32, FIELD_S32}},	{"comm", {FIELD_COMM, FIELD_COMM}},
	{"common_flags", {FIELD_U8, FIELD_U8}},
};

int event_compile_compact(const struct tep_event *event, enum compiled_kind kind,
			  struct compiled_event **ret)
{
	bool is_switch = kind == COMPILED_COMPACT_SWITCH || kind == COMPILED_SUBJECT_SWITCH;
	const struct column *columns = is_switch ? switch_columns : waking_columns;
	unsigned n = is_switch ? ARRAY_SIZE(switch_columns) - (kind == COMPILED_COMPACT_SWITCH)
			       : ARRAY_SIZE(waking_columns);
	const struct tep_format_field *f;
	struct field_plan plan;
	struct compiled_event *ev;
	struct draft d;
	int r;

	r = draft_init(&d, event);
	if (r)
		return r;
	for (unsigned i = 0; i < n; i++) {
		f = event_compile_find_field(event->format.fields, columns[i].name);
		if (!f)
			f = event_compile_find_field(event->format.common_fields, columns[i].name);
		if (!f || !field_fits_record(f) || !field_plan_generic(f, false, &plan) ||
		    (plan.type != columns[i].kinds[0] && plan.type != columns[i].kinds[1]))
			return -EPROTO;
		draft_add(&d, f, i + 1, &plan, "");
	}
	ev = draft_pack(&d, NULL, NULL);
	if (!ev)
		return -ENOMEM;
	ev->kind = (uint8_t)kind;
	*ret = ev;
	return 0;
}
