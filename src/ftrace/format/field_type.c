/* SPDX-License-Identifier: Apache-2.0 */
#include "ftrace/format/field_type.h"

#include <event-parse.h>
#include <stdbool.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/core/mem.h"
#include "base/text/str.h"

/*
 * The kernel's declaration of a field, as parsed by libtraceevent:
 *
 *	pid_t pid; size:4            type "pid_t"
 *	char comm[16]; size:16       type "char[16]", an array
 *	char buf[]; size:0           type "char[]", to the end of the record
 *	__data_loc char[] msg;       type "__data_loc char[]", size 4
 *	__data_loc char[][3] words;  type "__data_loc char[]", size 12 (event_format.h)
 *	const char * name; size:8    type "const char *"
 *
 * First find_field_shape() determines the form and the element type; then they are matched with the
 * protobuf type.
 */

enum form {
	FORM_NUMBER,
	FORM_FIXED, /* an array or structure of known size */
	FORM_TAIL,
	FORM_LOC,
	FORM_LOCS, /* several FORM_LOC, adjacent */
	FORM_REL,
	FORM_STRING_POINTER,
	FORM_NONE,
};

enum element { ELEMENT_CHAR, ELEMENT_BYTE, ELEMENT_LONG, ELEMENT_OTHER };

struct shape {
	enum form form;
	enum element element;
};

static enum element parse_element_type(const char *type)
{
	static const char *const bytes[] = {"unsigned char", "signed char", "u8",   "__u8",
					    "uint8_t",	     "s8",	    "__s8", "int8_t"};
	size_t len = strcspn(type, "[");

	while (len && type[len - 1] == ' ')
		len--;
	if (str_starts(type, "const ")) {
		type += 6;
		len -= 6;
	}
	if (len == 4 && !strncmp(type, "char", len))
		return ELEMENT_CHAR;
	if (len == 13 && !strncmp(type, "unsigned long", len))
		return ELEMENT_LONG;
	for (unsigned i = 0; i < ARRAY_SIZE(bytes); i++)
		if (strlen(bytes[i]) == len && !strncmp(type, bytes[i], len))
			return ELEMENT_BYTE;
	return ELEMENT_OTHER;
}

static bool is_number_size(int size)
{
	return size == 1 || size == 2 || size == 4 || size == 8;
}

static bool is_address_size(int size)
{
	return size == 4 || size == 8;
}

static bool is_pointer(const struct tep_format_field *f)
{
	return (f->flags & TEP_FIELD_IS_POINTER) || strchr(f->type, '*');
}

/* Returns true for a structure of any size. It is encoded as a number only if the message has a
 * number for it. */
static bool is_structure(const struct tep_format_field *f)
{
	return (str_starts(f->type, "struct ") || str_starts(f->type, "union ")) && !is_pointer(f);
}

static enum form choose_loc_form(int size)
{
	if (size == 4)
		return FORM_LOC;
	return size > 0 && size % 4 == 0 && size <= 4 * FIELD_STRINGS_MAX ? FORM_LOCS : FORM_NONE;
}

static struct shape find_field_shape(const struct tep_format_field *f)
{
	const char *type = f->type;

	if (str_starts(type, "__data_loc "))
		return (struct shape){choose_loc_form(f->size), parse_element_type(type + 11)};
	if (str_starts(type, "__rel_loc "))
		return (struct shape){f->size == 4 ? FORM_REL : FORM_NONE,
				      parse_element_type(type + 10)};
	if ((!strcmp(type, "char *") || !strcmp(type, "const char *")) && is_address_size(f->size))
		return (struct shape){FORM_STRING_POINTER, ELEMENT_CHAR};
	if (f->size == 0)
		return (struct shape){FORM_TAIL, parse_element_type(type)};
	if ((f->flags & TEP_FIELD_IS_ARRAY) || !is_number_size(f->size) || is_structure(f))
		return (struct shape){FORM_FIXED, parse_element_type(type)};
	return (struct shape){FORM_NUMBER, ELEMENT_OTHER};
}

static enum field_type choose_number_kind(const struct tep_format_field *f)
{
	bool is_signed = f->flags & TEP_FIELD_IS_SIGNED;

	if (!strcmp(f->type, "pid_t") && f->size == 4)
		return FIELD_PID;
	if (!strcmp(f->type, "dev_t") && f->size >= 4)
		return f->size == 4 ? FIELD_DEV32 : FIELD_DEV64;
	if ((!strcmp(f->type, "void *") || !strcmp(f->type, "void*")) && f->size >= 4)
		return f->size == 4 ? FIELD_SYM32 : FIELD_SYM64;
	switch (f->size) {
	case 1:
		return is_signed ? FIELD_S8 : FIELD_U8;
	case 2:
		return is_signed ? FIELD_S16 : FIELD_U16;
	case 4:
		return is_signed ? FIELD_S32 : FIELD_U32;
	default:
		return is_signed ? FIELD_S64 : FIELD_U64;
	}
}

/* Sets the plan of a field that is stored in one piece. Returns true. */
static bool set_plan(struct field_plan *ret, enum field_type kind, const struct tep_format_field *f)
{
	*ret = (struct field_plan){
		.type = kind,
		.size = (uint16_t)f->size,
		.min_len = (uint16_t)f->size,
	};
	return true;
}

static bool plan_string(struct field_plan *ret, struct shape s, const struct tep_format_field *f)
{
	switch (s.form) {
	case FORM_FIXED:
		return set_plan(ret, f->size == 16 ? FIELD_COMM : FIELD_FIXED_STR, f);
	case FORM_TAIL:
		return set_plan(ret, FIELD_TAIL_STR, f);
	case FORM_LOC:
		return set_plan(ret, FIELD_LOC_STR, f);
	case FORM_REL:
		return set_plan(ret, FIELD_REL_STR, f);
	case FORM_STRING_POINTER:
		return set_plan(ret, f->size == 8 ? FIELD_PTR64_STR : FIELD_PTR32_STR, f);
	default:
		return false;
	}
}

static bool plan_strings(struct field_plan *ret, const struct tep_format_field *f)
{
	*ret = (struct field_plan){
		.type = FIELD_LOC_STR,
		.size = 4,
		.min_len = 4,
		.count = (uint8_t)(f->size / 4),
	};
	return true;
}

static bool plan_bytes(struct field_plan *ret, struct shape s, const struct tep_format_field *f)
{
	switch (s.form) {
	case FORM_FIXED:
		return set_plan(ret, FIELD_FIXED_BYTES, f);
	case FORM_TAIL:
		return set_plan(ret, FIELD_TAIL_BYTES, f);
	case FORM_LOC:
		return set_plan(ret, FIELD_LOC_BYTES, f);
	case FORM_REL:
		return set_plan(ret, FIELD_REL_BYTES, f);
	default:
		return false;
	}
}

static bool plan_number(struct field_plan *ret, enum proto_type type, struct shape s,
			const struct tep_format_field *f)
{
	enum field_type kind;

	/* An IPv4 address is four bytes in the kernel and a number in the message. */
	if (s.form != FORM_NUMBER && !(s.form == FORM_FIXED && is_number_size(f->size)))
		return false;
	kind = choose_number_kind(f);
	/* Same value in 5 bytes instead of 10. */
	if (kind == FIELD_S32 && type == PROTO_UINT32)
		kind = FIELD_U32;
	return set_plan(ret, kind, f);
}

/* ---- fields of the group ftrace ---- */

/* Source: kernel/trace/trace_entries.h, and how kernel/trace/trace_output.c prints these fields. */

struct special {
	const char *event; /* NULL: any */
	const char *field;
	int type_size; /* bytes of the declared unsigned long; 0: any declaration */
	enum field_type type;
};

static const struct special specials[] = {
	/* The record has as many entries as its length allows, not 8. */
	{"kernel_stack", "caller", 4, FIELD_STACK32},
	{"kernel_stack", "caller", 8, FIELD_STACK64},
	{"user_stack", "caller", 4, FIELD_USER_STACK32},
	{"user_stack", "caller", 8, FIELD_USER_STACK64},
	/* Bytes written to trace_marker_raw. */
	{"raw_data", "buf", 0, FIELD_TAIL_BYTES},
	{"bprint", "buf", 0, FIELD_BPRINT},
	/* Only with the option func-args; other records end before this offset. */
	{NULL, "args", 0, FIELD_REMAINING_BYTES},
	{NULL, "ip", 4, FIELD_SYM32},
	{NULL, "ip", 8, FIELD_SYM64},
	{NULL, "parent_ip", 4, FIELD_SYM32},
	{NULL, "parent_ip", 8, FIELD_SYM64},
	{NULL, "retaddr", 4, FIELD_SYM32},
	{NULL, "retaddr", 8, FIELD_SYM64},
	{NULL, "func", 4, FIELD_SYM32},
	{NULL, "func", 8, FIELD_SYM64},
};

static bool is_long(const struct tep_format_field *f)
{
	return !strncmp(f->type, "unsigned long", strlen("unsigned long"));
}

/* Returns the size of the field's longs, or 0 if it has another type. */
static int long_size(const struct tep_format_field *f)
{
	if (!is_long(f))
		return 0;
	return f->arraylen ? f->size / (int)f->arraylen : f->size;
}

/* Returns the smallest size of an integer argument: before Linux 6.14 short and char have their
 * natural size, since then they are stored as int. */
static unsigned bprint_min_int_size(void)
{
	struct utsname u;

	return uname(&u) || str_is_release_from(u.release, 6, 14) ? 4 : 1;
}

/* Plans how to read the arguments of bprint. Returns false unless the format's address directly
 * precedes them. */
static bool plan_bprint(const struct tep_format_field *f, struct field_plan *ret)
{
	const struct tep_format_field *fmt = f->event->format.fields;

	while (fmt && strcmp(fmt->name, "fmt"))
		fmt = fmt->next;
	if (!fmt || (fmt->size != 4 && fmt->size != 8) || fmt->offset + fmt->size != f->offset)
		return false;
	ret->size = FIELD_BPRINT_SIZE(fmt->size, bprint_min_int_size());
	return true;
}

static bool plan_special_entry(const struct special *s, const struct tep_format_field *f,
			       struct field_plan *ret)
{
	*ret = (struct field_plan){.type = s->type, .size = (uint16_t)f->size};
	if (field_is_int(s->type))
		ret->min_len = (uint16_t)f->size;
	ret->may_lack = s->type >= FIELD_FIRST_TEXT;
	return s->type != FIELD_BPRINT || plan_bprint(f, ret);
}

/* Plans fields of the kernel's group "ftrace" whose declarations are incomplete: code addresses in
 * an unsigned long, arrays longer than declared, bytes declared as char. Returns false if the
 * declaration is sufficient. */
static bool field_plan_special(const struct tep_format_field *f, struct field_plan *ret)
{
	int size = long_size(f);

	if (strcmp(f->event->system, "ftrace"))
		return false;
	for (unsigned i = 0; i < ARRAY_SIZE(specials); i++) {
		const struct special *s = &specials[i];

		if (strcmp(f->name, s->field) || (s->event && strcmp(f->event->name, s->event)) ||
		    (s->type_size && s->type_size != size))
			continue;
		if (field_is_int(s->type) && (f->flags & TEP_FIELD_IS_ARRAY))
			continue;
		return plan_special_entry(s, f, ret);
	}
	return false;
}

/* ---- fields of events with and without a message ---- */

static bool kind_fits_proto_type(enum field_type kind, enum proto_type type)
{
	if (field_is_int(kind))
		return type <= PROTO_UINT64;
	return type == (field_is_str(kind) || field_is_text(kind) ? PROTO_STRING : PROTO_BYTES);
}

bool field_plan_typed(const struct tep_format_field *f, enum proto_type type,
		      struct field_plan *ret)
{
	struct shape s = find_field_shape(f);

	_Static_assert(PROTO_UINT64 + 1 == PROTO_STRING, "numbers come first");
	if (field_plan_special(f, ret))
		return kind_fits_proto_type(ret->type, type);
	switch (type) {
	case PROTO_INT32:
	case PROTO_INT64:
	case PROTO_UINT32:
	case PROTO_UINT64:
		return plan_number(ret, type, s, f);
	case PROTO_STRING:
		return s.element <= ELEMENT_BYTE && plan_string(ret, s, f);
	case PROTO_BYTES:
		return plan_bytes(ret, s, f);
	case PROTO_REPEATED_UINT64:
		if (s.form != FORM_FIXED || s.element != ELEMENT_LONG)
			return false;
		if (f->size == 8 * (int)f->arraylen)
			return set_plan(ret, FIELD_ULONG64_ARRAY, f);
		return f->size == 4 * (int)f->arraylen && set_plan(ret, FIELD_ULONG32_ARRAY, f);
	}
	return false;
}

bool field_plan_generic(const struct tep_format_field *f, bool addresses_only,
			struct field_plan *ret)
{
	struct shape s = find_field_shape(f);

	if (field_plan_special(f, ret))
		return true;
	if (addresses_only && is_pointer(f) && is_address_size(f->size))
		return set_plan(ret, f->size == 8 ? FIELD_U64 : FIELD_U32, f);
	if (s.form == FORM_NUMBER)
		return set_plan(ret, choose_number_kind(f), f);
	if (s.form == FORM_LOCS)
		return s.element == ELEMENT_CHAR && plan_strings(ret, f);
	if (s.element == ELEMENT_CHAR || s.form == FORM_STRING_POINTER)
		return plan_string(ret, s, f);
	return plan_bytes(ret, s, f);
}
