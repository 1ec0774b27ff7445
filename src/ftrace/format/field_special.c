// SPDX-License-Identifier: Apache-2.0
/*
 * Source: kernel/trace/trace_entries.h, and what the kernel's own printing makes of these fields
 * (kernel/trace/trace_output.c).
 */
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include <event-parse.h>

#include "base/core/mem.h"
#include "ftrace/format/field_special.h"

struct special {
	const char *event; /* NULL: any */
	const char *field;
	int type_size; /* of what is declared; 0: any */
	enum field_kind kind;
};

static const struct special specials[] = {
	/* Of as many entries as the record is long, not of 8. */
	{"kernel_stack", "caller", 4, FIELD_STACK32},
	{"kernel_stack", "caller", 8, FIELD_STACK64},
	{"user_stack", "caller", 4, FIELD_USER_STACK32},
	{"user_stack", "caller", 8, FIELD_USER_STACK64},
	/* What was written to trace_marker_raw. */
	{"raw_data", "buf", 0, FIELD_TAIL_BYTES},
	{"bprint", "buf", 0, FIELD_BPRINT},
	/* Only there with the option func-args; a record without them ends before their place. */
	{NULL, "args", 0, FIELD_REST_BYTES},
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

/* Bytes of a long where there are some. */
static int long_size(const struct tep_format_field *f)
{
	if (!is_long(f))
		return 0;
	return f->arraylen ? f->size / (int)f->arraylen : f->size;
}

/* Until Linux 6.14 short and char take what they need, since then they are ints. */
static unsigned least_int(void)
{
	unsigned major = 0, minor = 0;
	struct utsname u;

	if (uname(&u) || sscanf(u.release, "%u.%u", &major, &minor) != 2)
		return 4;
	return major > 6 || (major == 6 && minor >= 14) ? 4 : 1;
}

/* The format's address has to lie right before the arguments. */
static bool plan_bprint(const struct tep_format_field *f, struct field_plan *ret)
{
	const struct tep_format_field *fmt = f->event->format.fields;

	while (fmt && strcmp(fmt->name, "fmt"))
		fmt = fmt->next;
	if (!fmt || (fmt->size != 4 && fmt->size != 8) || fmt->offset + fmt->size != f->offset)
		return false;
	ret->size = FIELD_BPRINT_SIZE(fmt->size, least_int());
	return true;
}

static bool plan(const struct special *s, const struct tep_format_field *f, struct field_plan *ret)
{
	*ret = (struct field_plan){.kind = s->kind, .size = (uint16_t)f->size};
	if (field_is_int(s->kind))
		ret->min_len = (uint16_t)f->size;
	ret->may_lack = s->kind >= FIELD_FIRST_TEXT;
	return s->kind != FIELD_BPRINT || plan_bprint(f, ret);
}

bool field_plan_special(const struct tep_format_field *f, struct field_plan *ret)
{
	int size = long_size(f);

	if (strcmp(f->event->system, "ftrace"))
		return false;
	for (unsigned i = 0; i < ARRAY_SIZE(specials); i++) {
		const struct special *s = &specials[i];

		if (strcmp(f->name, s->field) || (s->event && strcmp(f->event->name, s->event)) ||
		    (s->type_size && s->type_size != size))
			continue;
		if (field_is_int(s->kind) && (f->flags & TEP_FIELD_IS_ARRAY))
			continue;
		return plan(s, f, ret);
	}
	return false;
}
