/* SPDX-License-Identifier: Apache-2.0 */
#include "ftrace/encode/event_compile.h"
#include "ftrace/encode/event_encode.h"
#include "gen/fields.h"
#include "unit/ftrace/event_text.h"
#include "unit/test.h"
#include "wire/pb_dec.h"

static const char sched_switch[] = FIELD("char prev_comm[16]", 8, 16, 0)
	FIELD("pid_t prev_pid", 24, 4, 1) FIELD("int prev_prio", 28, 4, 1)
		FIELD("long prev_state", 32, 8, 1) FIELD("char next_comm[16]", 40, 16, 0)
			FIELD("pid_t next_pid", 56, 4, 1) FIELD("int next_prio", 60, 4, 1);
static const char sched_waking[] = FIELD("char comm[16]", 8, 16, 0) FIELD("pid_t pid", 24, 4, 1)
	FIELD("int prio", 28, 4, 1) FIELD("int target_cpu", 32, 4, 1);

static struct compiled_event *known(const char *group, const char *name, const char *fields)
{
	struct compiled_event *ev = NULL;
	struct tep_handle *tep;

	assert_int_equal(event_compile_known(format_event(group, name, fields, &tep),
					     &(struct compile_context){.max_text = 100, .index = 7},
					     &ev),
			 0);
	tep_free(tep);
	return ev;
}

TEST(test_a_compiled_event)
{
	struct compiled_event *ev = known("sched", "sched_switch", sched_switch);

	assert_string_equal(ev->group, "sched");
	assert_string_equal(ev->name, "sched_switch");
	assert_int_equal(ev->id, 100);
	assert_int_equal(ev->kind, COMPILED_FIELDS);
	assert_int_equal(ev->n_ops, 7);
	assert_int_equal(ev->n_var, 0);
	assert_int_equal(ev->min_len, 64);
	assert_int_equal(ev->pid_offset, 4);
	assert_int_equal(ev->event_tag, PB_FTRACE_EVENT_SCHED_SWITCH << 3 | 2);
	assert_int_equal(ev->event_tag_len, 1);
	assert_int_equal(ev->generic_index, COMPILED_NOT_GENERIC);
	assert_int_equal(ev->ops[3].offset, 32);
	assert_int_equal(ev->ops[3].type, FIELD_S64);
	assert_int_equal(ev->ops[3].tag, 4 << 3);
	assert_string_equal(ev->field_names[6], "next_prio");
	free(ev);
}

/* What readers learn of fields: a descriptor of the event, or of what its message lacks. */
TEST(test_descriptors)
{
	static const struct {
		const char *group, *name, *fields, *print_fmt;
		bool known; /* by a message */
		const char *want;
	} rows[] = {
		/* The type of each kind of field, as in google.protobuf.FieldDescriptorProto. */
		{"rcu", "rcu_utilization",
		 FIELD("int a", 8, 4, 1) FIELD("pid_t b", 12, 4, 1) FIELD("u8 c", 16, 1, 0)
			 FIELD("dev_t d", 20, 4, 0) FIELD("void * e", 24, 8, 0) FIELD(
				 "const char * g", 32, 8, 0) FIELD("__data_loc u8[] h", 40, 4, 0)
				 FIELD("char i[16]", 44, 16, 0),
		 "\"%ps\", REC->e", false,
		 "65536 rcu/rcu_utilization a=1:3 b=2:3 c=3:4 d=4:4 e=5:4 e_symbol=6:9 g=7:9 "
		 "h=8:12 "
		 "i=9:9"},
		/* A new field, one of a type that does not fit the message, and one that is gone. */
		{"sched", "sched_switch",
		 FIELD("char prev_comm[16]", 8, 16, 0) FIELD("int novelty", 24, 4, 1)
			 FIELD("char prev_pid[16]", 28, 16, 0) FIELD("int prev_prio", 44, 4, 1),
		 NULL, true, "4 sched/sched_switch novelty=1000:3 prev_pid=1001:9"},
		/* What the kernel prints as a function has a name; of an event with a message only
		 * what it lacks: kmalloc's call_site has the trace's own table. */
		{"kmem", "kmalloc",
		 FIELD("void * f", 8, 8, 0) FIELD("int n", 16, 4, 1)
			 FIELD("unsigned long ip", 24, 8, 0) FIELD("void * work", 32, 8, 0),
		 " \"%ps %d %pS %p\", REC->f, REC->n, (void *)REC->ip, REC->work", false,
		 "65536 kmem/kmalloc f=1:4 f_symbol=2:9 n=3:3 ip=4:4 ip_symbol=5:9 work=6:4"},
		{"kmem", "kmalloc",
		 FIELD("void * f", 8, 8, 0) FIELD("int n", 16, 4, 1)
			 FIELD("unsigned long ip", 24, 8, 0) FIELD("void * work", 32, 8, 0),
		 " \"%ps %d %pS %p\", REC->f, REC->n, (void *)REC->ip, REC->work", true,
		 "299 kmem/kmalloc f=1000:4 n=1001:3 ip=1002:4 ip_symbol=1003:9 work=1004:4"},
		/* An array of strings is one field each. */
		{"kmem", "kmalloc",
		 FIELD("__data_loc char[] a", 8, 8, 1) FIELD("int n", 16, 4, 1)
			 FIELD("__data_loc char[] b", 20, 12, 1),
		 NULL, false, "65536 kmem/kmalloc a_0=1:9 a_1=2:9 n=3:3 b_0=4:9 b_1=5:9 b_2=6:9"},
		{"kmem", "kmalloc",
		 FIELD("__data_loc char[] a", 8, 8, 1) FIELD("int n", 16, 4, 1)
			 FIELD("__data_loc char[] b", 20, 12, 1),
		 NULL, true,
		 "299 kmem/kmalloc a_0=1000:9 a_1=1001:9 n=1002:3 b_0=1003:9 b_1=1004:9 "
		 "b_2=1005:9"},
	};

	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct compile_context ctx = {
			.print_fmt = rows[i].print_fmt, .max_text = 100, .index = 7};
		struct compiled_event *ev;
		struct tep_handle *tep;
		const struct tep_event *e =
			format_event(rows[i].group, rows[i].name, rows[i].fields, &tep);
		const char *have;

		assert_int_equal(rows[i].known ? event_compile_known(e, &ctx, &ev)
					       : event_compile_generic(e, &ctx, 65536, false, &ev),
				 0);
		assert_int_equal(ev->generic_index, 7);
		assert_int_equal(ev->descriptor_len != 0, !rows[i].known);
		have = rows[i].known ? event_text_descriptor(ev->further, ev->further_len)
				     : event_text_descriptor(ev->descriptor, ev->descriptor_len);
		if (strcmp(have, rows[i].want) != 0)
			fail_msg("row %u: %s", i, have);
		free(ev);
		tep_free(tep);
	}
}

TEST(test_print_keeps_its_address_to_itself)
{
	struct compiled_event *ev =
		known("ftrace", "print",
		      FIELD("unsigned long ip", 8, 8, 0) FIELD("char buf[]", 16, 0, 0));

	assert_int_equal(ev->n_ops, 1);
	assert_string_equal(ev->field_names[0], "buf");
	assert_int_equal(ev->n_var, 1);
	assert_int_equal(ev->min_len, 16);
	free(ev);
}

TEST(test_events_for_the_metadata_bus_alone)
{
	static const char fields[] =
		FIELD("pid_t pid", 8, 4, 1) FIELD("char newcomm[16]", 28, 16, 0);
	struct tep_handle *tep;
	const struct tep_event *event = format_event("task", "task_rename", fields, &tep);
	struct compiled_event *ev;

	assert_int_equal(event_compile_metadata(event, &ev), 0);
	assert_int_equal(ev->kind, COMPILED_METADATA);
	assert_int_equal(ev->metadata.kind, METADATA_RENAMED);
	assert_int_equal(ev->n_ops, 0);
	assert_int_equal(ev->min_len, 44);
	assert_int_equal(ev->pid_offset, 4);
	free(ev);
	tep_free(tep);
	event = format_event("sched", "sched_waking", fields, &tep);
	assert_int_equal(event_compile_metadata(event, &ev), -EPROTO);
	tep_free(tep);
}

TEST(test_formats_without_an_id_or_a_thread)
{
	static const char *const commons[] = {
		"",
		FIELD("int common_pid", 4, 4, 1),
		FIELD("unsigned short common_type", 0, 2, 0),
		FIELD("unsigned short common_type", 2, 2, 0) FIELD("int common_pid", 4, 4, 1),
		FIELD("unsigned int common_type", 0, 4, 0) FIELD("int common_pid", 4, 4, 1),
		FIELD("unsigned short common_type", 0, 2, 0) FIELD("long common_pid", 8, 8, 1),
		FIELD("unsigned short common_type", 0, 2, 0) FIELD("int common_pid", 65534, 4, 1)};

	for (unsigned i = 0; i < ARRAY_SIZE(commons); i++) {
		char *text = format_text("sched_switch", 5, commons[i], sched_switch);
		struct tep_handle *tep = tep_alloc();
		struct compiled_event *ev = NULL;

		tep_set_loglevel(TEP_LOG_NONE);
		if (!tep_parse_event(tep, text, strlen(text), "sched"))
			assert_int_equal(event_compile_known(tep_get_first_event(tep),
							     &(struct compile_context){0}, &ev),
					 -EPROTO);
		assert_null(ev);
		tep_free(tep);
	}
}

TEST(test_fields_beyond_any_record)
{
	struct compiled_event *ev =
		known("sched", "sched_switch",
		      FIELD("pid_t prev_pid", 65532, 4, 1) FIELD("int prev_prio", 65531, 4, 1)
			      FIELD("pid_t next_pid", 99999, 4, 1)
				      FIELD("char next_comm[16]", 8, 70000, 0));

	assert_int_equal(ev->n_ops, 1);
	assert_int_equal(ev->min_len, 65535);
	free(ev);
}

TEST(test_generic_events_and_their_numbers)
{
	const struct compile_context ctx = {.index = 300};
	struct tep_handle *tep;
	const struct tep_event *e = format_event("sched", "sched_new", sched_waking, &tep);
	struct compiled_event *ev;
	uint64_t number;

	assert_int_equal(event_compile_generic(e, &ctx, 65536 + 300, false, &ev), 0);
	assert_int_equal(ev->generic_index, 300);
	assert_int_equal(ev->event_tag_len, 3);
	number = (ev->event_tag & 0x7f) | (ev->event_tag >> 8 & 0x7f) << 7 |
		 (ev->event_tag >> 16 & 0x7f) << 14;
	assert_int_equal(number, (65536 + 300) << 3 | 2);
	assert_true(ev->descriptor_len > 20);
	for (unsigned i = 0; i < ev->n_ops; i++)
		assert_int_equal(ev->ops[i].tag >> 3, i + 1);
	free(ev);

	assert_int_equal(event_compile_generic(e, &ctx, 0, true, &ev), 0);
	assert_int_equal(ev->kind, COMPILED_LEGACY);
	assert_int_equal(ev->generic_index, COMPILED_NOT_GENERIC);
	assert_int_equal(ev->descriptor_len, 0);
	free(ev);
	tep_free(tep);
}

TEST(test_more_fields_than_a_row_has)
{
	static char fields[16000];
	const struct compile_context ctx = {0};
	struct compiled_event *ev;
	struct tep_handle *tep;
	size_t at = 0;

	for (unsigned i = 0; i < 300; i++)
		at += (size_t)snprintf(fields + at, sizeof(fields) - at,
				       "\tfield:u8 f%u;\toffset:%u;\tsize:1;\tsigned:0;\n", i,
				       8 + i);
	assert_int_equal(event_compile_generic(format_event("g", "e", fields, &tep), &ctx, 65536,
					       false, &ev),
			 0);
	assert_int_equal(ev->n_ops, 255);
	assert_int_equal(ev->n_left_out, 45);
	assert_int_equal(ev->kind, COMPILED_LEGACY);
	free(ev);
	tep_free(tep);
}

/* Each of them may be as long as the record, and its bytes become two characters. */
TEST(test_room_for_many_long_fields)
{
	static char fields[32000];
	const struct compile_context ctx = {0};
	struct compiled_event *ev;
	struct tep_handle *tep;
	size_t at = 0;

	for (unsigned i = 0; i < 255; i++)
		at += (size_t)snprintf(
			fields + at, sizeof(fields) - at,
			"\tfield:__data_loc char[] f%u;\toffset:%u;\tsize:4;\tsigned:1;\n", i,
			8 + 4 * i);
	assert_int_equal(event_compile_generic(format_event("g", "e", fields, &tep), &ctx, 65536,
					       false, &ev),
			 0);
	assert_int_equal(ev->n_ops, 255);
	assert_int_equal(ev->kind, COMPILED_LEGACY);
	assert_true(event_encode_bound(ev, 1000) > 255 * 1000 * 2);
	free(ev);
	tep_free(tep);
}

/* Readers take up to 31 fields by descriptor; an event of more is spelled out. */
TEST(test_as_many_fields_as_a_descriptor_has)
{
	const struct compile_context ctx = {0};
	char fields[4000];
	struct compiled_event *ev;
	struct tep_handle *tep;

	for (unsigned n = 31; n <= 32; n++) {
		size_t at = 0;

		for (unsigned i = 0; i < n; i++)
			at += (size_t)sprintf(fields + at,
					      "\tfield:u8 f%u;\toffset:%u;\tsize:1;\tsigned:0;\n",
					      i, 8 + i);
		assert_int_equal(event_compile_generic(format_event("g", "e", fields, &tep), &ctx,
						       65536, false, &ev),
				 0);
		assert_int_equal(ev->kind, n == 31 ? COMPILED_FIELDS : COMPILED_LEGACY);
		assert_int_equal(ev->generic_index, n == 31 ? 0 : COMPILED_NOT_GENERIC);
		assert_int_equal(ev->n_ops, n);
		free(ev);
		tep_free(tep);
	}
}

static int compact(const char *fields, enum compiled_kind kind)
{
	struct compiled_event *ev = NULL;
	struct tep_handle *tep;
	int r = event_compile_compact(format_event("sched", "x", fields, &tep), kind, &ev);

	if (!r) {
		assert_int_equal(ev->kind, kind);
		assert_int_equal(ev->n_ops, kind == COMPILED_COMPACT_SWITCH ? 4 : 5);
	}
	free(ev);
	tep_free(tep);
	return r;
}

TEST(test_columns_need_exact_formats)
{
	assert_int_equal(compact(sched_switch, COMPILED_COMPACT_SWITCH), 0);
	assert_int_equal(compact(sched_waking, COMPILED_COMPACT_WAKING), 0);
	assert_int_equal(compact(sched_waking, COMPILED_COMPACT_SWITCH), -EPROTO);
	assert_int_equal(compact(sched_switch, COMPILED_COMPACT_WAKING), -EPROTO);
	/* prev_state of 32 bits is fine, a longer name or an unsigned thread is not. */
	assert_int_equal(
		compact(FIELD("int prev_state", 8, 4, 1) FIELD("char next_comm[16]", 12, 16, 0)
				FIELD("pid_t next_pid", 28, 4, 1) FIELD("int next_prio", 32, 4, 1),
			COMPILED_COMPACT_SWITCH),
		0);
	assert_int_equal(
		compact(FIELD("int prev_state", 8, 4, 1) FIELD("char next_comm[32]", 12, 32, 0)
				FIELD("pid_t next_pid", 44, 4, 1) FIELD("int next_prio", 48, 4, 1),
			COMPILED_COMPACT_SWITCH),
		-EPROTO);
	assert_int_equal(
		compact(FIELD("int prev_state", 8, 4, 1) FIELD("char next_comm[16]", 12, 16, 0)
				FIELD("u32 next_pid", 28, 4, 0) FIELD("int next_prio", 32, 4, 1),
			COMPILED_COMPACT_SWITCH),
		-EPROTO);
}
