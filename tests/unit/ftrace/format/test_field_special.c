// SPDX-License-Identifier: Apache-2.0
#include "unit/test.h"
#include "unit/ftrace/formats.h"
#include "ftrace/format/field_type.c"

#define NONE (-1)

/* The kind of one field of an event that may have others before it. */
static int kind(const char *group, const char *event, const char *fields, const char *field,
		struct field_plan *ret)
{
	struct tep_handle *tep;
	const struct tep_event *e = format_event(group, event, fields, &tep);
	const struct tep_format_field *f = e->format.fields;
	bool ok;

	while (strcmp(f->name, field))
		f = f->next;
	ok = field_plan_special(f, ret);
	tep_free(tep);
	return ok ? (int)ret->type : NONE;
}

TEST(test_the_group_ftrace)
{
	static const struct {
		const char *event, *line, *field;
		int kind;
		bool may_lack;
	} rows[] = {
		{"kernel_stack", FIELD("unsigned long caller[8]", 16, 64, 0), "caller",
		 FIELD_STACK64, true},
		{"kernel_stack", FIELD("unsigned long caller[8]", 12, 32, 0), "caller",
		 FIELD_STACK32, true},
		{"user_stack", FIELD("unsigned long caller[8]", 16, 64, 0), "caller",
		 FIELD_USER_STACK64, true},
		{"raw_data", FIELD("char buf[]", 12, 0, 0), "buf", FIELD_TAIL_BYTES, false},
		{"funcgraph_entry", FIELD("unsigned long func", 8, 8, 0), "func", FIELD_SYM64,
		 false},
		{"funcgraph_entry", FIELD("unsigned long args[]", 24, 0, 0), "args",
		 FIELD_REST_BYTES, true},
		{"function", FIELD("unsigned long parent_ip", 12, 4, 0), "parent_ip", FIELD_SYM32,
		 false},
		{"fgraph_retaddr_entry", FIELD("unsigned long retaddr", 24, 8, 0), "retaddr",
		 FIELD_SYM64, false},
		{"bputs", FIELD("unsigned long ip", 8, 8, 0), "ip", FIELD_SYM64, false},
		/* The same names for something else. */
		{"branch", FIELD("char func[31]", 12, 31, 0), "func", NONE, false},
		{"print", FIELD("char buf[]", 16, 0, 0), "buf", NONE, false},
		{"kernel_stack", FIELD("int size", 8, 4, 1), "size", NONE, false},
		{"user_stack", FIELD("int caller[8]", 16, 32, 1), "caller", NONE, false},
	};
	struct field_plan plan;

	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(kind("ftrace", rows[i].event, rows[i].line, rows[i].field, &plan),
				 rows[i].kind);
		if (rows[i].kind != NONE)
			assert_int_equal(plan.may_lack, rows[i].may_lack);
		assert_int_equal(kind("other", rows[i].event, rows[i].line, rows[i].field, &plan),
				 NONE);
	}
}

TEST(test_arguments_behind_their_format)
{
	static const char fine[] = FIELD("unsigned long ip", 8, 8, 0)
		FIELD("const char * fmt", 16, 8, 0) FIELD("u32 buf[]", 24, 0, 0);
	static const char narrow[] =
		FIELD("const char * fmt", 12, 4, 0) FIELD("u32 buf[]", 16, 0, 0);
	static const char apart[] =
		FIELD("const char * fmt", 12, 4, 0) FIELD("u32 buf[]", 24, 0, 0);
	struct field_plan plan;

	assert_int_equal(kind("ftrace", "bprint", fine, "buf", &plan), FIELD_BPRINT);
	assert_int_equal(FIELD_BPRINT_LONG(plan.size), 8);
	assert_true(FIELD_BPRINT_MIN_INT(plan.size) == 1 || FIELD_BPRINT_MIN_INT(plan.size) == 4);
	assert_int_equal(kind("ftrace", "bprint", narrow, "buf", &plan), FIELD_BPRINT);
	assert_int_equal(FIELD_BPRINT_LONG(plan.size), 4);
	assert_int_equal(kind("ftrace", "bprint", apart, "buf", &plan), NONE);
	assert_int_equal(kind("ftrace", "bprint", FIELD("u32 buf[]", 24, 0, 0), "buf", &plan),
			 NONE);
}
