/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/core/siphash.h"
#include "unit/ftrace/oracle_message.h"

/*
 * Is a FtraceEvent what its record says? Every field of the record, as libtraceevent reads it,
 * against the event's, both ways: nothing is missing, nothing is there that the record has not.
 *
 *	oracle_begin_bundle(o)
 *	oracle_describe(o, &descriptor, further)      those of the bundle
 *	oracle_check(o, event, &record, time, &bytes) each event of it; false: o->error says why
 *	oracle_check_symbols(o, &interned)            names that came with the bundle
 *
 * Where an event is deliberately not a copy of its record, its rule is checked:
 *	- ftrace/print has no ip
 *	- a kernel address is a number, the same for the same address, another for another one,
 *	  within a bundle, and 0 for none; NAME_symbol beside it is the name that kallsyms has for it
 *	- a pointer that is printed with %p is a hash of it
 *	- dev_t is that of user space
 *	- a stack is a line a frame: the name, or "#" and the number of the address
 *	- each string of an array is a field, NAME_0, NAME_1, ...
 *	- an int32 or a uint32, as the message has it
 */

/* One field of the event: by number, or by name in the older form. */
struct oracle_value {
	const struct oracle_field *field; /* NULL in the older form */
	struct pb_field name; /* in the older form */
	struct pb_field value;
	bool taken;
};

struct oracle_event {
	struct tep_event *tep;
	struct tep_record *record;
	struct oracle_message *message;
	bool legacy;
	struct oracle_value values[1024];
	unsigned n;
};

/* ---- the event's bytes ---- */

static inline bool oracle_take_legacy(struct oracle_event *e, const struct pb_field *field)
{
	struct oracle_value *v = &e->values[e->n++];
	struct pb_field f;
	struct pb_dec d;

	*v = (struct oracle_value){0};
	pb_dec_init(&d, field->data, field->len);
	while (pb_dec_next(&d, &f)) {
		bool text = f.id == PB_GENERIC_FTRACE_EVENT_FIELD_NAME ||
			    f.id == PB_GENERIC_FTRACE_EVENT_FIELD_STR_VALUE;

		if (f.wire_type != (text ? PB_WIRE_BYTES : PB_WIRE_VARINT))
			return false;
		if (f.id == PB_GENERIC_FTRACE_EVENT_FIELD_NAME)
			v->name = f;
		else
			v->value = f;
	}
	return pb_dec_ok(&d) && v->name.data;
}

static inline bool oracle_has_type(const struct pb_field *f, enum proto_type type)
{
	return f->wire_type ==
	       (type == PROTO_STRING || type == PROTO_BYTES ? PB_WIRE_BYTES : PB_WIRE_VARINT);
}

static inline bool oracle_take_fields(struct oracle *o, struct oracle_event *e,
				      const struct pb_field *message)
{
	struct pb_field f;
	struct pb_dec d;

	pb_dec_init(&d, message->data, message->len);
	while (pb_dec_next(&d, &f)) {
		if (e->n == sizeof(e->values) / sizeof(*e->values))
			return oracle_fail(o, "too many fields");
		if (e->legacy && f.id == PB_GENERIC_FTRACE_EVENT_EVENT_NAME) {
			if (f.wire_type != PB_WIRE_BYTES || !pb_field_is(&f, e->tep->name))
				return oracle_fail(o, "another event's name");
		} else if (e->legacy) {
			if (f.id != PB_GENERIC_FTRACE_EVENT_FIELD || !oracle_take_legacy(e, &f))
				return oracle_fail(o, "a field cannot be read");
		} else {
			e->values[e->n] = (struct oracle_value){.value = f};
			for (unsigned i = 0; i < e->message->n; i++)
				if (e->message->fields[i].number == f.id)
					e->values[e->n].field = &e->message->fields[i];
			if (!e->values[e->n].field ||
			    !oracle_has_type(&f, e->values[e->n].field->type))
				return oracle_fail(o, "field %u is not described so", f.id);
			e->n++;
		}
	}
	return pb_dec_ok(&d) || oracle_fail(o, "the message cannot be read");
}

static inline bool oracle_take_event(struct oracle *o, struct oracle_event *e, uint64_t time,
				     const struct pb_field *bytes)
{
	bool has_time = false, has_pid = false, has_message = false;
	struct pb_field f;
	struct pb_dec d;

	pb_dec_init(&d, bytes->data, bytes->len);
	while (pb_dec_next(&d, &f)) {
		bool head = f.id == PB_FTRACE_EVENT_TIMESTAMP || f.id == PB_FTRACE_EVENT_PID;

		if (f.wire_type != (head ? PB_WIRE_VARINT : PB_WIRE_BYTES))
			return oracle_fail(o, "field %u of the event", f.id);
		if (f.id == PB_FTRACE_EVENT_TIMESTAMP) {
			has_time = true;
			if (f.u64 != time)
				return oracle_fail(o, "time %llu, not %llu",
						   (unsigned long long)f.u64,
						   (unsigned long long)time);
		} else if (f.id == PB_FTRACE_EVENT_PID) {
			has_pid = true;
			if ((int)f.u64 != tep_data_pid(o->tep, e->record))
				return oracle_fail(o, "pid %d", (int)f.u64);
		} else {
			if (has_message)
				return oracle_fail(o, "two messages");
			has_message = true;
			e->legacy = f.id == PB_FTRACE_EVENT_GENERIC;
			e->message = oracle_message_of(o, e->tep, f.id);
			if (!e->message)
				return oracle_fail(o, "event number %u", f.id);
			if (!oracle_take_fields(o, e, &f))
				return false;
		}
	}
	return (pb_dec_ok(&d) && has_time && has_pid && has_message) ||
	       oracle_fail(o, "no time, no pid, or no message");
}

/* The next value of a field, in order; NULL: no more. */
static inline const struct oracle_value *oracle_value(struct oracle_event *e, const char *name)
{
	for (unsigned i = 0; i < e->n; i++) {
		struct oracle_value *v = &e->values[i];

		if (v->taken ||
		    !(v->field ? !strcmp(v->field->name, name) : pb_field_is(&v->name, name)))
			continue;
		v->taken = true;
		return v;
	}
	return NULL;
}

/* ---- values ---- */

static inline bool oracle_check_address(struct oracle *o, uint64_t number, uint64_t address)
{
	if (!address)
		return !number || oracle_fail(o, "a number for no address");
	if (!number || number >= ORACLE_ADDRESSES)
		return oracle_fail(o, "address number %llu", (unsigned long long)number);
	if (o->addresses[number])
		return o->addresses[number] == address ||
		       oracle_fail(o, "one number for two addresses");
	for (unsigned i = 1; i < ORACLE_ADDRESSES && o->addresses[i]; i++)
		if (o->addresses[i] == address)
			return oracle_fail(o, "two numbers for one address");
	if (number > 1 && !o->addresses[number - 1])
		return oracle_fail(o, "address number %llu out of turn",
				   (unsigned long long)number);
	o->addresses[number] = address;
	return true;
}

static inline uint64_t oracle_load(const struct tep_format_field *f, const struct tep_record *r)
{
	uint64_t v = 0;

	memcpy(&v, (const uint8_t *)r->data + f->offset, (size_t)f->size);
	return v;
}

/* Addresses of the kernel: by the type, and where the group "ftrace" calls them something else. */
static inline bool oracle_is_address(const struct tep_format_field *f)
{
	if (f->flags & TEP_FIELD_IS_ARRAY)
		return false;
	if (!strcmp(f->event->system, "ftrace"))
		return !strcmp(f->name, "ip") || !strcmp(f->name, "parent_ip") ||
		       !strcmp(f->name, "func") || !strcmp(f->name, "retaddr");
	return strcmp(f->event->system, "syscalls") &&
	       (!strcmp(f->type, "void *") || !strcmp(f->type, "void*"));
}

/* Whether the value is the hash of an address, as of pointers that the kernel prints with %p. */
static inline bool oracle_is_hashed(const struct tep_format_field *f, const struct tep_record *r,
				    uint64_t value)
{
	uint64_t raw = strchr(f->type, '*') ? oracle_load(f, r) : 0;

	return raw && value == siphash_keyed(&raw, sizeof(raw)) >> 29;
}

static inline bool oracle_check_number(struct oracle *o, struct tep_format_field *f,
				       const struct tep_record *r, const struct oracle_value *v)
{
	unsigned long long want;

	o->numbers++;
	if (v->field && v->field->described &&
	    (v->field->type == PROTO_INT64) != !!(f->flags & TEP_FIELD_IS_SIGNED))
		return oracle_fail(o, "described with the other sign");
	if (!v->field && v->value.id != (f->flags & TEP_FIELD_IS_SIGNED
						 ? PB_GENERIC_FTRACE_EVENT_FIELD_INT_VALUE
						 : PB_GENERIC_FTRACE_EVENT_FIELD_UINT_VALUE))
		return oracle_fail(o, "the other kind of number");
	if (oracle_is_hashed(f, r, v->value.u64))
		return true;
	if (oracle_is_address(f))
		return oracle_check_address(o, v->value.u64, oracle_load(f, r));
	if (tep_read_number_field(f, r->data, &want))
		return oracle_fail(o, "libtraceevent has no number");
	if (f->flags & TEP_FIELD_IS_SIGNED)
		want = f->size == 1   ? (uint64_t)(int8_t)want
		       : f->size == 2 ? (uint64_t)(int16_t)want
		       : f->size == 4 ? (uint64_t)(int32_t)want
				      : want;
	if (!strcmp(f->type, "dev_t"))
		want = makedev(want >> 20, want & 0xfffff);
	if (v->field && v->field->type == PROTO_UINT32 && f->size == 4)
		want = (uint32_t)want;
	return v->value.u64 == want ||
	       oracle_fail(o, "%llu, not %llu", (unsigned long long)v->value.u64, want);
}

static inline bool oracle_same(struct oracle *o, const struct oracle_value *v, const void *want,
			       size_t len)
{
	if (!v->field && v->value.id != PB_GENERIC_FTRACE_EVENT_FIELD_STR_VALUE)
		return oracle_fail(o, "no text");
	return (v->value.len == len && !memcmp(v->value.data, want, len)) ||
	       oracle_fail(o, "\"%.*s\", not \"%.*s\"", (int)v->value.len,
			   (const char *)v->value.data, (int)len, (const char *)want);
}

/* Where the field's bytes are, as libtraceevent has it, which has no length for those of a tail. */
static inline const char *oracle_raw(struct tep_format_field *f, struct tep_record *r, size_t *len)
{
	const char *raw;
	int n = 0;

	if (f->size == 0) {
		*len = r->size > f->offset ? (size_t)(r->size - f->offset) : 0;
		return (const char *)r->data + f->offset;
	}
	raw = tep_get_field_raw(NULL, f->event, f->name, r, &n, 0);
	*len = (size_t)n;
	return raw;
}

static inline bool oracle_check_text(struct oracle *o, struct tep_format_field *f,
				     struct tep_record *r, const struct oracle_value *v)
{
	const struct printk_format *e;
	const char *raw;
	size_t len;

	o->texts++;
	if (strstr(f->type, "char *")) {
		e = printk_formats_find(o->strings, oracle_load(f, r));
		return e ? oracle_same(o, v, o->strings->text + e->at, e->len)
			 : oracle_same(o, v, "", 0);
	}
	raw = oracle_raw(f, r, &len);
	return raw ? oracle_same(o, v, raw, strnlen(raw, len)) : oracle_fail(o, "no text");
}

static inline bool oracle_check_bytes(struct oracle *o, struct tep_format_field *f,
				      struct tep_record *r, const struct oracle_value *v)
{
	char hex[2 * 65536 + 1];
	const char *raw;
	size_t len;

	o->bytes++;
	raw = oracle_raw(f, r, &len);
	if (!raw)
		return oracle_fail(o, "no bytes");
	if (v->field)
		return oracle_same(o, v, raw, len);
	for (size_t i = 0; i < len; i++)
		sprintf(hex + 2 * i, "%02x", (uint8_t)raw[i]);
	return oracle_same(o, v, hex, 2 * len);
}

/* A repeated number: as many values as there are elements, of which this is the first. */
static inline bool oracle_check_array(struct oracle *o, struct oracle_event *e,
				      struct tep_format_field *f, const struct oracle_value *v)
{
	const uint8_t *at = (const uint8_t *)e->record->data + f->offset;

	o->arrays++;
	for (int i = 0; i < f->size; i += 8, v = oracle_value(e, f->name))
		if (!v || memcmp(&v->value.u64, at + i, 8))
			return oracle_fail(o, "element %d", i / 8);
	return !v || oracle_fail(o, "too many elements");
}

static inline bool oracle_is_strings(const struct tep_format_field *f)
{
	return f->size > 4 && !strncmp(f->type, "__data_loc char", strlen("__data_loc char"));
}

/* libtraceevent knows single ones: one of the array, which is a field of its own to readers. */
static inline bool oracle_check_string(struct oracle *o, struct oracle_event *e,
				       struct tep_format_field *f, unsigned n)
{
	const struct tep_format_field whole = *f;
	const struct oracle_value *v;
	char name[300];
	bool ok;

	snprintf(name, sizeof(name), "%s_%u", f->name, n);
	v = oracle_value(e, name);
	if (!v || (v->field && v->field->type != PROTO_STRING))
		return oracle_fail(o, "no string %u", n);
	f->offset += 4 * (int)n;
	f->size = 4;
	ok = oracle_check_text(o, f, e->record, v);
	*f = whole;
	return ok;
}

/* ---- names ---- */

static inline bool oracle_check_frame(struct oracle *o, uint64_t address, const char *line,
				      size_t len, bool user)
{
	const char *name =
		o->known_symbols && !user ? oracle_symbols_name(o->known_symbols, address) : NULL;
	char want[600], number[24];

	if (address == 0x7fffffff && !user)
		name = "[FTRACE TRAMPOLINE]";
	if (!name && !user && len && *line == '#') {
		snprintf(number, sizeof(number), "%.*s", (int)len - 1, line + 1);
		return oracle_check_address(o, strtoull(number, NULL, 10), address);
	}
	snprintf(want, sizeof(want), "0x%llx", (unsigned long long)address);
	name = user ? want : name;
	return (name && strlen(name) == len && !memcmp(name, line, len)) ||
	       oracle_fail(o, "frame \"%.*s\", not \"%s\"", (int)len, line, name ? name : "#");
}

static inline bool oracle_check_stack(struct oracle *o, struct tep_format_field *f,
				      const struct tep_record *r, const struct oracle_value *v)
{
	const char *line = (const char *)v->value.data, *end = line + v->value.len, *eol;
	bool user = !strcmp(f->event->name, "user_stack");
	uint64_t address;

	o->texts++;
	for (int at = f->offset; at + 8 <= r->size; at += 8) {
		memcpy(&address, (const uint8_t *)r->data + at, 8);
		if (!address || address == UINT64_MAX)
			break;
		if (line == end)
			return oracle_fail(o, "a frame is missing");
		eol = memchr(line, '\n', (size_t)(end - line));
		eol = eol ? eol : end;
		if (!oracle_check_frame(o, address, line, (size_t)(eol - line), user))
			return false;
		line = eol < end ? eol + 1 : end;
	}
	return line == end || oracle_fail(o, "a frame too many");
}

/* NAME_symbol is there where the session has names, the kernel would print one, and one is
 * known. */
static inline bool oracle_check_symbol(struct oracle *o, struct oracle_event *e,
				       struct tep_format_field *f)
{
	const struct oracle_value *v;
	char field[300];
	const char *name;

	snprintf(field, sizeof(field), "%s_symbol", f->name);
	v = oracle_value(e, field);
	if (!v && (e->legacy || !oracle_field(e->message, field)))
		return true;
	o->symbols++;
	name = o->known_symbols ? oracle_symbols_name(o->known_symbols, oracle_load(f, e->record))
				: NULL;
	if (!name || !v)
		return (!name && !v) ||
		       oracle_fail(o, "%s is \"%.*s\", not \"%s\"", field,
				   v ? (int)v->value.len : 0, v ? (const char *)v->value.data : "",
				   name ? name : "");
	return oracle_same(o, v, name, strlen(name));
}

/* The names of the bundle's addresses: each that has one, and no other. */
static inline bool oracle_check_symbols(struct oracle *o, const struct pb_field *interned)
{
	struct pb_field f, g, str;
	unsigned want = 0, got = 0;
	const char *name;
	struct pb_dec d, inner;
	uint64_t number;

	for (unsigned i = 1; i < ORACLE_ADDRESSES && o->addresses[i] && o->known_symbols; i++)
		want += oracle_symbols_name(o->known_symbols, o->addresses[i]) != NULL;
	pb_dec_init(&d, interned->data, interned->len);
	for (; interned->data && pb_dec_next(&d, &f); got++) {
		if (f.id != PB_INTERNED_DATA_KERNEL_SYMBOLS)
			return oracle_fail(o, "interned data %u", f.id);
		number = 0;
		str = (struct pb_field){0};
		pb_dec_init(&inner, f.data, f.len);
		while (pb_dec_next(&inner, &g))
			if (g.id == PB_INTERNED_STRING_IID)
				number = g.u64;
			else
				str = g;
		name = number && number < ORACLE_ADDRESSES && o->known_symbols
			       ? oracle_symbols_name(o->known_symbols, o->addresses[number])
			       : NULL;
		if (!name || !pb_field_is(&str, name))
			return oracle_fail(o, "address number %llu is \"%.*s\", not \"%s\"",
					   (unsigned long long)number, (int)str.len,
					   (const char *)str.data, name ? name : "");
	}
	return want == got || oracle_fail(o, "%u names of %u", got, want);
}

/* ---- all fields of an event ---- */

static inline bool oracle_is_text(const struct tep_format_field *f)
{
	if (strstr(f->type, "char *"))
		return strcmp(f->event->system, "syscalls") && strchr(f->type, '[') == NULL &&
		       strchr(strchr(f->type, '*') + 1, '*') == NULL;
	return (f->flags & TEP_FIELD_IS_ARRAY) && strstr(f->type, "char") &&
	       !strstr(f->type, "unsigned char") && !strstr(f->type, "signed char") &&
	       strcmp(f->event->name, "raw_data");
}

static inline bool oracle_is_structure(const struct tep_format_field *f)
{
	return (!strncmp(f->type, "struct ", 7) || !strncmp(f->type, "union ", 6)) &&
	       !strchr(f->type, '*');
}

static inline bool oracle_check_field(struct oracle *o, struct oracle_event *e,
				      struct tep_format_field *f)
{
	const struct oracle_value *v;
	bool is_ftrace = !strcmp(f->event->system, "ftrace");
	enum proto_type type;

	if (oracle_is_strings(f)) {
		for (int i = 0; i < f->size / 4; i++)
			if (!oracle_check_string(o, e, f, (unsigned)i))
				return false;
		return true;
	}
	v = oracle_value(e, f->name);
	if (is_ftrace && !strcmp(f->event->name, "print") && !strcmp(f->name, "ip"))
		return !v || oracle_fail(o, "it shows where the kernel is");
	/* With the option func-args alone. */
	if (is_ftrace && !strcmp(f->name, "args") && e->record->size <= f->offset) {
		o->absent++;
		return !v || oracle_fail(o, "more than the record");
	}
	if (!v)
		return oracle_fail(o, "missing");
	if (is_ftrace && !strcmp(f->name, "caller"))
		return oracle_check_stack(o, f, e->record, v);
	type = v->field		   ? v->field->type
	       : oracle_is_text(f) ? PROTO_STRING
	       : (f->flags & TEP_FIELD_IS_ARRAY) || f->size > 8 || oracle_is_structure(f)
		       ? PROTO_BYTES
		       : PROTO_UINT64;
	if (v->field && v->field->number >= 1000 && type == PROTO_STRING && !oracle_is_text(f))
		return oracle_fail(o, "described as text");
	switch (type) {
	case PROTO_STRING:
		return oracle_check_text(o, f, e->record, v);
	case PROTO_BYTES:
		return oracle_check_bytes(o, f, e->record, v);
	case PROTO_REPEATED_UINT64:
		return oracle_check_array(o, e, f, v);
	default:
		return oracle_check_number(o, f, e->record, v) && oracle_check_symbol(o, e, f);
	}
}

static inline bool oracle_check(struct oracle *o, struct tep_event *event, struct tep_record *r,
				uint64_t time, const struct pb_field *bytes)
{
	static struct oracle_event e;
	char why[sizeof(o->error)];
	const char *where = "";
	bool ok;

	e.tep = event;
	e.record = r;
	e.n = 0;
	ok = oracle_take_event(o, &e, time, bytes);
	for (struct tep_format_field *f = event->format.fields; ok && f; f = f->next) {
		where = f->name;
		ok = oracle_check_field(o, &e, f);
	}
	/* Of what all records have, the message has little: the flags of sched_waking. */
	for (struct tep_format_field *f = event->format.common_fields; ok && f; f = f->next) {
		where = f->name;
		ok = e.legacy || !oracle_field(e.message, f->name) || oracle_check_field(o, &e, f);
	}
	for (unsigned i = 0; ok && i < e.n; i++) {
		if (e.values[i].taken)
			continue;
		where = e.values[i].field ? e.values[i].field->name : "";
		ok = oracle_fail(o, "the record has no such field");
	}
	if (ok)
		return true;
	snprintf(why, sizeof(why), "%s", o->error);
	snprintf(o->error, sizeof(o->error), "%.80s/%.80s.%.80s: %.700s", event->system,
		 event->name, where, why);
	return false;
}
