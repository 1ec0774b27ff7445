/* SPDX-License-Identifier: Apache-2.0 */
/* Each declaration that kernels use, against each type that messages use. */

#include "ftrace/format/field_type.h"
#include "unit/ftrace/formats.h"
#include "unit/test.h"

#define NONE (-1)

static int typed(const char *line, enum proto_type type)
{
	struct tep_handle *tep;
	const struct tep_event *e = format_event("g", "e", line, &tep);
	struct field_plan plan;
	bool ok = field_plan_typed(e->format.fields, type, &plan);

	tep_free(tep);
	return ok ? (int)plan.type : NONE;
}

static int generic(const char *line, bool addresses_only)
{
	struct tep_handle *tep;
	const struct tep_event *e = format_event("g", "e", line, &tep);
	struct field_plan plan;
	bool ok = field_plan_generic(e->format.fields, addresses_only, &plan);

	tep_free(tep);
	return ok ? (int)plan.type : NONE;
}

TEST(numbers_into_any_integer)
{
	static const enum proto_type types[] = {PROTO_INT32, PROTO_INT64, PROTO_UINT32,
						PROTO_UINT64};
	static const struct {
		const char *line;
		enum field_type kind;
	} rows[] = {
		{FIELD("u8 a", 8, 1, 0), FIELD_U8},
		{FIELD("bool a", 8, 1, 0), FIELD_U8},
		{FIELD("char a", 8, 1, 1), FIELD_S8},
		{FIELD("unsigned short a", 8, 2, 0), FIELD_U16},
		{FIELD("short a", 8, 2, 1), FIELD_S16},
		{FIELD("unsigned int a", 8, 4, 0), FIELD_U32},
		{FIELD("enum skb_drop_reason a", 8, 4, 0), FIELD_U32},
		{FIELD("unsigned long a", 8, 8, 0), FIELD_U64},
		{FIELD("ino_t a", 8, 8, 0), FIELD_U64},
		{FIELD("long a", 8, 8, 1), FIELD_S64},
		{FIELD("pid_t a", 8, 4, 1), FIELD_PID},
		{FIELD("dev_t a", 8, 4, 0), FIELD_DEV32},
		{FIELD("dev_t a", 8, 8, 0), FIELD_DEV64},
		{FIELD("void * a", 8, 8, 0), FIELD_SYM64},
		{FIELD("void * a", 8, 4, 0), FIELD_SYM32},
		{FIELD("const struct ring_page * a", 8, 8, 0), FIELD_U64},
		{FIELD("__u8 a[4]", 8, 4, 0), FIELD_U32}, /* an IPv4 address */
	};

	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++)
		for (unsigned t = 0; t < ARRAY_SIZE(types); t++)
			assert_int_equal(typed(rows[i].line, types[t]), rows[i].kind);
	assert_int_equal(typed(FIELD("int a", 8, 4, 1), PROTO_INT32), FIELD_S32);
	assert_int_equal(typed(FIELD("int a", 8, 4, 1), PROTO_UINT64), FIELD_S32);
	assert_int_equal(typed(FIELD("int a", 8, 4, 1), PROTO_UINT32), FIELD_U32);
}

TEST(strings)
{
	static const struct {
		const char *line;
		enum field_type kind;
	} rows[] = {
		{FIELD("char a[16]", 8, 16, 0), FIELD_COMM},
		{FIELD("char a[TASK_COMM_LEN]", 8, 16, 0), FIELD_COMM},
		{FIELD("unsigned char a[6]", 8, 6, 0), FIELD_FIXED_STR},
		{FIELD("char a[10]", 8, 10, 1), FIELD_FIXED_STR},
		{FIELD("char a[]", 8, 0, 0), FIELD_TAIL_STR},
		{FIELD("char a", 8, 0, 0), FIELD_TAIL_STR},
		{FIELD("__data_loc char[] a", 8, 4, 0), FIELD_LOC_STR},
		{FIELD("__rel_loc char[] a", 8, 4, 0), FIELD_REL_STR},
		{FIELD("const char * a", 8, 8, 0), FIELD_PTR64_STR},
		{FIELD("char * a", 8, 4, 0), FIELD_PTR32_STR},
	};

	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(typed(rows[i].line, PROTO_STRING), rows[i].kind);
		assert_true(field_is_str(rows[i].kind));
	}
}

TEST(bytes)
{
	assert_int_equal(typed(FIELD("__data_loc u8[] a", 8, 4, 0), PROTO_BYTES), FIELD_LOC_BYTES);
	assert_int_equal(typed(FIELD("__data_loc u64[] a", 8, 4, 0), PROTO_BYTES), FIELD_LOC_BYTES);
	assert_int_equal(typed(FIELD("__rel_loc u8[] a", 8, 4, 0), PROTO_BYTES), FIELD_REL_BYTES);
	assert_int_equal(typed(FIELD("u8 a[16]", 8, 16, 0), PROTO_BYTES), FIELD_FIXED_BYTES);
	assert_int_equal(typed(FIELD("u8 a[]", 8, 0, 0), PROTO_BYTES), FIELD_TAIL_BYTES);
}

TEST(arrays_of_long)
{
	assert_int_equal(typed(FIELD("unsigned long a[6]", 8, 48, 0), PROTO_REPEATED_UINT64),
			 FIELD_ULONG64_ARRAY);
	assert_int_equal(typed(FIELD("unsigned long a[6]", 8, 24, 0), PROTO_REPEATED_UINT64),
			 FIELD_ULONG32_ARRAY);
	assert_int_equal(typed(FIELD("unsigned long a[6]", 8, 25, 0), PROTO_REPEATED_UINT64), NONE);
	assert_int_equal(typed(FIELD("unsigned long a", 8, 8, 0), PROTO_REPEATED_UINT64), NONE);
}

/* libtraceevent gets them without their number, which follows from the size. */
TEST(arrays_of_strings)
{
	static const struct {
		const char *line;
		unsigned count; /* 0: it is none */
	} rows[] = {
		{FIELD("__data_loc char[] a", 8, 12, 1), 3},
		{FIELD("__data_loc char[] a", 8, 256, 1), 64},
		{FIELD("__data_loc char[] a", 8, 260, 1), 0},
		{FIELD("__data_loc char[] a", 8, 6, 1), 0},
		{FIELD("__data_loc u8[] a", 8, 12, 0), 0},
	};

	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		struct tep_handle *tep;
		const struct tep_event *e = format_event("g", "e", rows[i].line, &tep);
		struct field_plan plan;

		assert_int_equal(field_plan_generic(e->format.fields, false, &plan),
				 rows[i].count > 0);
		if (rows[i].count) {
			assert_int_equal(plan.type, FIELD_LOC_STR);
			assert_int_equal(plan.count, rows[i].count);
			assert_int_equal(plan.size, 4);
		}
		tep_free(tep);
		assert_int_equal(typed(rows[i].line, PROTO_STRING), NONE);
		assert_int_equal(typed(rows[i].line, PROTO_BYTES), NONE);
	}
	assert_int_equal(generic(FIELD("__data_loc char[] a", 8, 4, 1), false), FIELD_LOC_STR);
}

TEST(what_has_nothing_in_common)
{
	assert_int_equal(typed(FIELD("int a", 8, 4, 1), PROTO_STRING), NONE);
	assert_int_equal(typed(FIELD("int a", 8, 4, 1), PROTO_BYTES), NONE);
	assert_int_equal(typed(FIELD("char a[16]", 8, 16, 0), PROTO_UINT64), NONE);
	assert_int_equal(typed(FIELD("char a[]", 8, 0, 0), PROTO_INT32), NONE);
	assert_int_equal(typed(FIELD("const char * a", 8, 8, 0), PROTO_UINT64), NONE);
	assert_int_equal(typed(FIELD("__data_loc u64[] a", 8, 4, 0), PROTO_STRING), NONE);
	assert_int_equal(typed(FIELD("__data_loc char[] a", 8, 4, 0), PROTO_UINT32), NONE);
	assert_int_equal(typed(FIELD("__data_loc char[] a", 8, 8, 0), PROTO_STRING), NONE);
	assert_int_equal(typed(FIELD("u8 a[16]", 8, 16, 0), PROTO_UINT64), NONE);
}

TEST(without_a_message)
{
	assert_int_equal(generic(FIELD("int a", 8, 4, 1), false), FIELD_S32);
	assert_int_equal(generic(FIELD("pid_t a", 8, 4, 1), false), FIELD_PID);
	assert_int_equal(generic(FIELD("char a[16]", 8, 16, 0), false), FIELD_COMM);
	assert_int_equal(generic(FIELD("__data_loc char[] a", 8, 4, 0), false), FIELD_LOC_STR);
	/* No text, whatever the letters of the type. */
	assert_int_equal(generic(FIELD("unsigned char a[6]", 8, 6, 0), false), FIELD_FIXED_BYTES);
	assert_int_equal(generic(FIELD("__u8 a[4]", 8, 4, 0), false), FIELD_FIXED_BYTES);
	assert_int_equal(generic(FIELD("u8 a[16]", 8, 16, 0), false), FIELD_FIXED_BYTES);
	assert_int_equal(generic(FIELD("struct in6_addr a", 8, 16, 0), false), FIELD_FIXED_BYTES);
	assert_int_equal(generic(FIELD("struct pair a", 8, 4, 0), false), FIELD_FIXED_BYTES);
	assert_int_equal(generic(FIELD("union pair a", 8, 8, 0), false), FIELD_FIXED_BYTES);
	assert_int_equal(generic(FIELD("struct pair * a", 8, 8, 0), false), FIELD_U64);
	assert_int_equal(generic(FIELD("unsigned long a[8]", 8, 64, 0), false), FIELD_FIXED_BYTES);
	assert_int_equal(generic(FIELD("unsigned long a[]", 8, 0, 0), false), FIELD_TAIL_BYTES);
	assert_int_equal(generic(FIELD("__data_loc cpumask_t a", 8, 4, 0), false), FIELD_LOC_BYTES);
	assert_int_equal(generic(FIELD("__rel_loc u8[] a", 8, 4, 0), false), FIELD_REL_BYTES);
	/* A string of the kernel, or an address of a process. */
	assert_int_equal(generic(FIELD("const char * a", 8, 8, 0), false), FIELD_PTR64_STR);
	assert_int_equal(generic(FIELD("const char * a", 8, 8, 0), true), FIELD_U64);
	assert_int_equal(generic(FIELD("void * a", 8, 8, 0), false), FIELD_SYM64);
	assert_int_equal(generic(FIELD("void * a", 8, 8, 0), true), FIELD_U64);
	assert_int_equal(generic(FIELD("const char *const * a", 8, 8, 0), true), FIELD_U64);
	assert_int_equal(generic(FIELD("struct iovec * a", 8, 4, 0), true), FIELD_U32);
	assert_int_equal(generic(FIELD("__data_loc char[] a", 8, 4, 0), true), FIELD_LOC_STR);
}

/* ---- what the group ftrace has of its own ---- */

/* The type of the last field of an event without a message. */
static int kind(const char *group, const char *event, const char *fields, struct field_plan *ret)
{
	struct tep_handle *tep;
	const struct tep_event *e = format_event(group, event, fields, &tep);
	const struct tep_format_field *f = e->format.fields;
	bool ok;

	while (f->next)
		f = f->next;
	ok = field_plan_generic(f, false, ret);
	tep_free(tep);
	return ok ? (int)ret->type : NONE;
}

TEST(the_group_ftrace)
{
	static const struct {
		const char *event, *line;
		int kind;
		bool may_lack;
	} rows[] = {
		{"kernel_stack", FIELD("unsigned long caller[8]", 16, 64, 0), FIELD_STACK64, true},
		{"kernel_stack", FIELD("unsigned long caller[8]", 12, 32, 0), FIELD_STACK32, true},
		{"user_stack", FIELD("unsigned long caller[8]", 16, 64, 0), FIELD_USER_STACK64,
		 true},
		{"raw_data", FIELD("char buf[]", 12, 0, 0), FIELD_TAIL_BYTES, false},
		{"funcgraph_entry", FIELD("unsigned long func", 8, 8, 0), FIELD_SYM64, false},
		{"funcgraph_entry", FIELD("unsigned long args[]", 24, 0, 0), FIELD_REMAINING_BYTES,
		 true},
		{"function", FIELD("unsigned long parent_ip", 12, 4, 0), FIELD_SYM32, false},
		{"fgraph_retaddr_entry", FIELD("unsigned long retaddr", 24, 8, 0), FIELD_SYM64,
		 false},
		{"bputs", FIELD("unsigned long ip", 8, 8, 0), FIELD_SYM64, false},
		/* The same names for something else. */
		{"branch", FIELD("char func[31]", 12, 31, 0), NONE, false},
		{"print", FIELD("char buf[]", 16, 0, 0), NONE, false},
		{"kernel_stack", FIELD("int size", 8, 4, 1), NONE, false},
		{"user_stack", FIELD("int caller[8]", 16, 32, 1), NONE, false},
	};
	struct field_plan plan;

	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		int other = kind("other", rows[i].event, rows[i].line, &plan);
		int have = kind("ftrace", rows[i].event, rows[i].line, &plan);

		if (rows[i].kind == NONE) {
			assert_int_equal(have, other);
			continue;
		}
		assert_int_equal(have, rows[i].kind);
		assert_int_not_equal(other, have);
		assert_int_equal(plan.may_lack, rows[i].may_lack);
	}
}

TEST(arguments_behind_their_format)
{
	static const char fine[] = BPRINT_FIELDS;
	static const char narrow[] =
		FIELD("const char * fmt", 12, 4, 0) FIELD("u32 buf[]", 16, 0, 0);
	static const char apart[] =
		FIELD("const char * fmt", 12, 4, 0) FIELD("u32 buf[]", 24, 0, 0);
	struct field_plan plan;

	assert_int_equal(kind("ftrace", "bprint", fine, &plan), FIELD_BPRINT);
	assert_int_equal(FIELD_BPRINT_LONG(plan.size), 8);
	assert_true(FIELD_BPRINT_MIN_INT(plan.size) == 1 || FIELD_BPRINT_MIN_INT(plan.size) == 4);
	assert_int_equal(kind("ftrace", "bprint", narrow, &plan), FIELD_BPRINT);
	assert_int_equal(FIELD_BPRINT_LONG(plan.size), 4);
	assert_int_equal(kind("ftrace", "bprint", apart, &plan), FIELD_TAIL_BYTES);
	assert_int_equal(kind("ftrace", "bprint", FIELD("u32 buf[]", 24, 0, 0), &plan),
			 FIELD_TAIL_BYTES);
}
