/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/store/event_args.h"

#include <errno.h>
#include <string.h>

#include "base/core/mem.h"
#include "gen/fields.h"
#include "wire/pb_read.h"

struct event_field {
	uint16_t number;
	char type; /* a letter of tools/ftrace_fields.awk */
	const char *name;
};

struct event_row {
	const char *name;
	uint16_t first, n; /* fields */
};

static const struct event_field fields[] = {
#include "gen/ftrace_event_fields.h"
};

static const struct event_row events[] = {
#include "gen/ftrace_event_rows.h"
};
_Static_assert(ARRAY_SIZE(events) <= GENERIC_KINDS, "numbers of known events are below");

const char *event_args_known_name(uint32_t number)
{
	return number < ARRAY_SIZE(events) ? events[number].name : NULL;
}

void event_args_name(const struct store *s, uint32_t row, struct value *ret)
{
	uint32_t kind = table_u16(&s->tables[TABLE_FTRACE], FTRACE_KIND, row);
	const char *name = kind < GENERIC_KINDS ? event_args_known_name(kind)
			   : kind - GENERIC_KINDS < s->n_generic
				   ? strings_get(&s->strings, s->generic[kind - GENERIC_KINDS].name)
				   : NULL;

	if (name)
		*ret = (struct value){.kind = VALUE_TEXT, .s = name, .len = strlen(name)};
}

/* Returns a decoder of the message at a place of the trace; of none if it cannot be read. */
static struct pb_dec decode_message_at(const struct store *s, uint64_t place)
{
	size_t left;
	const uint8_t *p = store_bytes_at(s, place, &left), *end = p + left;
	uint64_t len = 0;
	struct pb_dec d;

	if (p)
		p = pb_get_varint(p, end, &len);
	pb_dec_init(&d, p, p ? (size_t)MIN(len, (uint64_t)(end - p)) : 0);
	return d;
}

struct pb_dec event_args_message(const struct store *s, uint32_t row)
{
	uint64_t payload = (uint64_t)table_i64(&s->tables[TABLE_FTRACE], FTRACE_PAYLOAD, row);
	struct pb_dec none;

	if ((payload & PAYLOAD_KIND) == PAYLOAD_RAW)
		return decode_message_at(s, payload >> PAYLOAD_BITS);
	pb_dec_init(&none, NULL, 0);
	return none;
}

int64_t event_args_set_id(const struct store *s, uint32_t row)
{
	uint64_t payload = (uint64_t)table_i64(&s->tables[TABLE_FTRACE], FTRACE_PAYLOAD, row);
	uint64_t value = payload >> PAYLOAD_BITS;

	if ((payload & PAYLOAD_KIND) == PAYLOAD_STORED)
		return value == PAYLOAD_NONE ? -1 : (int64_t)value;
	return FTRACE_ARGS_BASE + (int64_t)row * FTRACE_ARGS_STRIDE;
}

/* ---- lists ---- */

static struct arg *event_args_add(struct arg_list *l, const char *key, size_t key_len)
{
	struct arg *a;

	for (size_t i = 0; i < l->n; i++)
		if (l->args[i].key_len == key_len && !memcmp(l->args[i].key, key, key_len))
			return &l->args[i];
	if (l->n >= FTRACE_ARGS_STRIDE)
		return NULL;
	if (array_reserve(&l->args, &l->cap, l->n + 1, sizeof(*l->args))) {
		l->failed = true;
		return NULL;
	}
	a = &l->args[l->n++];
	*a = (struct arg){.key = key, .key_len = (uint32_t)key_len};
	return a;
}

static void add_int(struct arg_list *l, const char *key, int64_t v)
{
	struct arg *a = event_args_add(l, key, strlen(key));

	if (!a)
		return;
	a->type = ARG_INT;
	a->i = v;
}

static void add_string(const struct store *s, struct arg_list *l, const char *key, uint32_t id)
{
	struct arg *a = event_args_add(l, key, strlen(key));

	if (!a)
		return;
	a->type = id < s->strings.n ? ARG_STRING : ARG_NULL;
	a->s = strings_get(&s->strings, id);
	a->len = id < s->strings.n ? s->strings.of[id].len : 0;
}

static int64_t get_tid(const struct store *s, uint32_t utid)
{
	const struct table *t = &s->tables[TABLE_THREAD];

	return utid < t->rows ? table_i64(t, THREAD_TID, utid) : 0;
}

static void list_switch(const struct store *s, uint32_t row, uint32_t at, struct arg_list *l)
{
	const struct table *t = &s->tables[TABLE_COMPACT_SWITCH];

	add_string(s, l, "prev_comm", table_u32(t, SWITCH_PREV_COMM, at));
	add_int(l, "prev_pid", get_tid(s, table_u32(&s->tables[TABLE_FTRACE], FTRACE_UTID, row)));
	add_int(l, "prev_prio", table_i32(t, SWITCH_PREV_PRIO, at));
	add_int(l, "prev_state", table_i32(t, SWITCH_PREV_STATE, at));
	add_string(s, l, "next_comm", table_u32(t, SWITCH_NEXT_COMM, at));
	add_int(l, "next_pid", get_tid(s, table_u32(t, SWITCH_NEXT_UTID, at)));
	add_int(l, "next_prio", table_i32(t, SWITCH_NEXT_PRIO, at));
}

static void list_waking(const struct store *s, uint32_t at, struct arg_list *l)
{
	const struct table *t = &s->tables[TABLE_COMPACT_WAKING];

	add_string(s, l, "comm", table_u32(t, WAKING_COMM, at));
	add_int(l, "pid", table_i32(t, WAKING_TID, at));
	add_int(l, "prio", table_i32(t, WAKING_PRIO, at));
	add_int(l, "target_cpu", table_i32(t, WAKING_CPU, at));
}

/* ---- messages ---- */

static void event_args_set_value(struct arg *a, const struct pb_field *f, char type)
{
	uint32_t bits = (uint32_t)f->u64;
	float real;

	a->i = (int64_t)f->u64;
	switch (type) {
	case 's':
		a->type = f->data ? ARG_STRING : ARG_NULL;
		a->s = (const char *)f->data;
		a->len = (uint32_t)f->len;
		return;
	case 'u':
		a->type = ARG_UINT;
		return;
	case 'r':
		a->type = ARG_REAL;
		memcpy(&a->real, &f->u64, sizeof(a->real));
		return;
	case 'f':
		a->type = ARG_REAL;
		memcpy(&real, &bits, sizeof(real));
		a->real = (double)real;
		return;
	default:
		a->type = ARG_INT;
		return;
	}
}

static const struct event_field *event_args_field_by_number(const struct event_row *e,
							    uint32_t number)
{
	for (unsigned i = 0; i < e->n; i++)
		if (fields[e->first + i].number == number)
			return &fields[e->first + i];
	return NULL;
}

bool event_args_find_field(uint32_t number, const char *name, uint32_t *ret_number,
			   bool *ret_is_text)
{
	const struct event_row *e = number < ARRAY_SIZE(events) ? &events[number] : NULL;

	if (number == PB_FTRACE_EVENT_SCHED_SWITCH)
		return false;
	*ret_number = 0;
	*ret_is_text = false;
	for (unsigned i = 0; e && i < e->n; i++) {
		const struct event_field *f = &fields[e->first + i];

		if (strcmp(f->name, name) != 0)
			continue;
		if (f->type == 'r' || f->type == 'f')
			return false;
		*ret_number = f->number;
		*ret_is_text = f->type == 's';
	}
	return true;
}

/* Returns the letter of a FieldDescriptorProto.Type, 0 for types without arguments. */
static char descriptor_type_letter(uint8_t type)
{
	static const char of[] = {0, 'r', 'f', 'i', 'u', 'i', 'u', 'u', 'i', 's',
				  0, 0,	  's', 'u', 'i', 'i', 'i', 'i', 'i'};

	return type < sizeof(of) ? of[type] : 0;
}

/* Adds the name of a field's value, if it has one. */
static void add_value_name(const struct store *s, const struct generic_event *g, uint32_t field,
			   int64_t value, struct arg_list *l)
{
	for (size_t i = 0; i < g->n_values; i++)
		if (g->values[i].field == field && g->values[i].value == value) {
			add_string(s, l, strings_get(&s->strings, g->values[i].key),
				   g->values[i].name);
			return;
		}
}

static void decode_described_field(const struct store *s, const struct generic_event *g,
				   const struct pb_field *f, struct arg_list *l)
{
	for (size_t i = 0; i < g->n_fields; i++) {
		const char *name = strings_get(&s->strings, g->fields[i].name);
		char type = descriptor_type_letter(g->fields[i].type);
		struct arg *a;

		if (g->fields[i].number != f->id || !type || (type == 's') != !!f->data)
			continue;
		a = event_args_add(l, name, strlen(name));
		if (a)
			event_args_set_value(a, f, type);
		if (!f->data)
			add_value_name(s, g, g->fields[i].name, (int64_t)f->u64, l);
	}
}

static void decode_described(const struct store *s, const struct generic_event *g, struct pb_dec *d,
			     struct arg_list *l)
{
	struct pb_field f;

	while (pb_dec_next(d, &f))
		decode_described_field(s, g, &f, l);
}

/* Lists the arguments of an event that this version knows. further: the description of its other
 * fields; NULL if the trace has none. */
static void decode_known(const struct store *s, const struct event_row *e,
			 const struct generic_event *further, struct pb_dec *d, struct arg_list *l)
{
	struct pb_field f;
	struct arg *a;

	while (pb_dec_next(d, &f)) {
		const struct event_field *field = event_args_field_by_number(e, f.id);

		if (!field && further)
			decode_described_field(s, further, &f, l);
		a = field && (field->type == 's') == !!f.data
			    ? event_args_add(l, field->name, strlen(field->name))
			    : NULL;
		if (a)
			event_args_set_value(a, &f, field->type);
	}
}

/* Lists the arguments of an event that names its own fields: each is a GenericFtraceEvent.Field, in
 * a field of this number. */
static void decode_self_described(struct pb_dec *d, uint32_t number, struct arg_list *l)
{
	struct pb_field f;

	while (pb_dec_next(d, &f)) {
		struct pb_field name = {.data = NULL}, value = {.id = 0};
		struct arg *a;

		if (f.id != number || !f.data)
			continue;
		pb_for_each (part, &f) {
			if (part.id == PB_GENERIC_FTRACE_EVENT_FIELD_NAME)
				name = part;
			else
				value = part;
		}
		a = name.data && value.id ? event_args_add(l, (const char *)name.data, name.len)
					  : NULL;
		if (a)
			event_args_set_value(a, &value, value.data ? 's' : 'i');
	}
}

const struct generic_event *event_args_find_description(const struct store *s, uint32_t machine,
							uint32_t number)
{
	uint64_t at = (uint64_t)machine * GENERIC_KINDS + number;

	return number < GENERIC_KINDS && at < s->n_further && s->further[at]
		       ? &s->generic[s->further[at] - 1]
		       : NULL;
}

bool event_args_has_description(const struct store *s, uint32_t number, const char *name)
{
	for (uint32_t machine = 0; machine < s->n_further / GENERIC_KINDS; machine++) {
		const struct generic_event *g = event_args_find_description(s, machine, number);

		for (size_t i = 0; g && i < g->n_fields; i++)
			if (!strcmp(strings_get(&s->strings, g->fields[i].name), name))
				return true;
	}
	return false;
}

int event_args_decode(const struct store *s, uint32_t number, const struct generic_event *described,
		      const uint8_t *data, size_t len, struct arg_list *ret)
{
	struct pb_dec d;

	ret->n = 0;
	ret->failed = false;
	pb_dec_init(&d, data, len);
	if (number == PB_FTRACE_EVENT_GENERIC)
		decode_self_described(&d, PB_GENERIC_FTRACE_EVENT_FIELD, ret);
	else if (event_args_known_name(number))
		decode_known(s, &events[number], described, &d, ret);
	else if (described)
		decode_described(s, described, &d, ret);
	if (number == PB_FTRACE_EVENT_KPROBE_EVENT) {
		pb_dec_init(&d, data, len);
		decode_self_described(&d, PB_KPROBE_EVENT_ARGUMENT, ret);
	}
	return ret->failed ? -ENOMEM : 0;
}

/* Lists all arguments of a sched_switch in the kernel's order, including those with value 0. */
static void list_full_switch(struct pb_dec d, struct arg_list *l)
{
	const struct event_row *e = &events[PB_FTRACE_EVENT_SCHED_SWITCH];

	for (unsigned i = 0; i < e->n && i < 7; i++) {
		const struct event_field *field = &fields[e->first + i];
		struct arg *a = event_args_add(l, field->name, strlen(field->name));

		if (!a)
			return;
		a->type = field->type == 's' ? ARG_STRING : ARG_INT;
		a->s = "";
	}
	decode_known(NULL, e, NULL, &d, l);
	l->n = MIN(l->n, (size_t)7);
}

int event_args_list(const struct store *s, int64_t set, struct arg_list *ret)
{
	const struct table *t = &s->tables[TABLE_FTRACE];
	uint64_t row = (uint64_t)(set - FTRACE_ARGS_BASE) / FTRACE_ARGS_STRIDE, payload, value;
	const struct generic_event *g = NULL;
	struct pb_dec d;
	uint32_t kind;

	ret->n = 0;
	ret->failed = false;
	if (row >= t->rows || set != event_args_set_id(s, (uint32_t)row))
		return 0;
	payload = (uint64_t)table_i64(t, FTRACE_PAYLOAD, (uint32_t)row);
	value = payload >> PAYLOAD_BITS;
	kind = table_u16(t, FTRACE_KIND, (uint32_t)row);
	if ((payload & PAYLOAD_KIND) == PAYLOAD_SWITCH) {
		list_switch(s, (uint32_t)row, (uint32_t)value, ret);
	} else if ((payload & PAYLOAD_KIND) == PAYLOAD_WAKING) {
		list_waking(s, (uint32_t)value, ret);
	} else {
		d = decode_message_at(s, value);
		if (kind == PB_FTRACE_EVENT_SCHED_SWITCH) {
			list_full_switch(d, ret);
			return ret->failed ? -ENOMEM : 0;
		}
		g = kind >= GENERIC_KINDS
			    ? &s->generic[kind - GENERIC_KINDS]
			    : event_args_find_description(s,
							  table_u32(t, FTRACE_CPU, (uint32_t)row) /
								  STORE_CPUS_OF_A_MACHINE,
							  kind);
		return event_args_decode(s, g && g->self_named ? PB_FTRACE_EVENT_GENERIC : kind, g,
					 d.cur, (size_t)(d.end - d.cur), ret);
	}
	return ret->failed ? -ENOMEM : 0;
}

#define CALL_ARGS_MAX 16u /* most arguments of sys_enter; more are left out */

static const char *const keys[CALL_ARGS_MAX] = {
	"args[0]",  "args[1]",	"args[2]",  "args[3]",	"args[4]",  "args[5]",
	"args[6]",  "args[7]",	"args[8]",  "args[9]",	"args[10]", "args[11]",
	"args[12]", "args[13]", "args[14]", "args[15]",
};

uint32_t call_args_add(struct store *s, uint32_t enter, uint32_t exit)
{
	struct table *t = &s->tables[TABLE_CALL];
	uint32_t row;

	if (t->rows >= NULL_U32 - CALL_SETS)
		return NULL_U32;
	row = table_append(t);
	table_set_u32(t, CALL_ENTER, row, enter);
	table_set_u32(t, CALL_EXIT, row, exit);
	return CALL_SETS + row;
}

/* Returns the row of TABLE_FTRACE that a column of the argument set refers to, or NULL_U32. */
static uint32_t get_event_row(const struct store *s, int64_t set, unsigned column)
{
	const struct table *t = &s->tables[TABLE_CALL];

	return call_args_is_set(set) && set - CALL_SETS < t->rows
		       ? table_u32(t, column, (uint32_t)(set - CALL_SETS))
		       : NULL_U32;
}

int64_t call_args_result_of_exit(const struct store *s, uint32_t exit)
{
	struct pb_dec d = event_args_message(s, exit);
	struct pb_field f;

	while (pb_dec_next(&d, &f))
		if (f.id == PB_SYS_EXIT_FTRACE_EVENT_RET)
			return (int64_t)f.u64;
	return 0;
}

int64_t call_args_result(const struct store *s, int64_t set)
{
	uint32_t exit = get_event_row(s, set, CALL_EXIT);

	return exit == NULL_U32 ? NULL_I64 : call_args_result_of_exit(s, exit);
}

static int add_arg(struct arg_list *l, const struct arg *a)
{
	int r = array_reserve(&l->args, &l->cap, l->n + 1, sizeof(*l->args));

	if (r == 0)
		l->args[l->n++] = *a;
	return r;
}

static int list_args_of_enter(const struct store *s, uint32_t row, struct arg_list *ret)
{
	struct pb_dec d = event_args_message(s, row);
	struct pb_field f;
	uint64_t v;
	int r = 0;

	while (pb_dec_next(&d, &f)) {
		if (f.id != PB_SYS_ENTER_FTRACE_EVENT_ARGS)
			continue;
		for (struct pb_packed p = pb_packed_of(&f);
		     r == 0 && ret->n < CALL_ARGS_MAX && pb_packed_next(&p, &v);)
			r = add_arg(ret, &(struct arg){.key = keys[ret->n],
						       .key_len = (uint32_t)strlen(keys[ret->n]),
						       .flat_key = "args",
						       .flat_key_len = 4,
						       .type = ARG_UINT,
						       .i = (int64_t)v});
	}
	return r;
}

int call_args_list(const struct store *s, int64_t set, struct arg_list *ret)
{
	uint32_t enter = get_event_row(s, set, CALL_ENTER), exit = get_event_row(s, set, CALL_EXIT);
	int r = 0;

	ret->n = 0;
	if (enter != NULL_U32)
		r = list_args_of_enter(s, enter, ret);
	if (r == 0 && exit != NULL_U32)
		r = add_arg(ret, &(struct arg){.key = "ret",
					       .key_len = 3,
					       .type = ARG_INT,
					       .i = call_args_result_of_exit(s, exit)});
	return r;
}
