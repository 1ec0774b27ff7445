/* SPDX-License-Identifier: Apache-2.0 */
#include "ftrace/encode/event_compile.h"
#include "ftrace/encode/event_encode.h"
#include "gen/fields.h"
#include "unit/ftrace/event_text.h"
#include "unit/test.h"
#include "wire/pb_dec.h"

#define WHOLE_SWITCH                                                                               \
	FIELD("char prev_comm[16]", 8, 16, 0)                                                      \
	FIELD("pid_t prev_pid", 24, 4, 1)                                                          \
	FIELD("int prev_prio", 28, 4, 1)                                                           \
	FIELD("long prev_state", 32, 8, 1)                                                         \
	FIELD("char next_comm[16]", 40, 16, 0)                                                     \
	FIELD("pid_t next_pid", 56, 4, 1) FIELD("int next_prio", 60, 4, 1)

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

/* What readers learn of fields: a descriptor of the event, or of what its message lacks. */
TEST(descriptors)
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
		/* Values of enums have the names that the kernel prints, in either kind of event.
		 * What is no number has none, nor has an int. */
		{"skb", "kfree_skb",
		 FIELD("int family", 8, 4, 1) FIELD("enum skb_drop_reason reason", 12, 4, 0),
		 "\"%s\", __print_symbolic(REC->family, { 2, \"INET\" }), "
		 "__print_symbolic(REC->reason, { 2, \"A, {b}\" }, {C, \"no\" }, { 0x1f,\"D\" })",
		 true, "367 skb/kfree_skb family=1000:3 reason=1001:4 reason:2=A, {b} reason:31=D"},
		{"tcp", "tcp_send_reset", FIELD("enum sk_rst_reason reason", 8, 4, 0),
		 "\"%d %s\", REC->reason ? 1 : 0, __print_symbolic(REC->reason, { -1, \"A\" })",
		 false, "65536 tcp/tcp_send_reset reason=1:4 reason:-1=A"},
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
		const struct compile_context ctx = {.print_fmt = rows[i].print_fmt,
						    .symbols = true,
						    .max_text = 100,
						    .index = 7};
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

TEST(events_for_the_metadata_bus_alone)
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

TEST(formats_without_an_id_or_a_thread)
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
		char *text = format_text("sched_switch", 5, commons[i], WHOLE_SWITCH);
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

TEST(fields_beyond_any_record)
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

/* Readers take up to 31 fields by descriptor; an event of more is spelled out, of up to 255. */
TEST(many_fields_are_spelled_out_and_more_are_left_out)
{
	static const struct {
		unsigned n;
		const char *field; /* of a size */
		unsigned size;
		enum compiled_kind kind;
		unsigned n_ops;
	} rows[] = {
		{31, "u8", 1, COMPILED_FIELDS, 31},
		{32, "u8", 1, COMPILED_LEGACY, 32},
		{300, "u8", 1, COMPILED_LEGACY, 255},
		{255, "__data_loc char[]", 4, COMPILED_LEGACY, 255},
	};
	static char fields[32000];

	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		struct compiled_event *ev;
		struct tep_handle *tep;
		size_t at = 0;

		for (unsigned k = 0; k < rows[i].n; k++)
			at += (size_t)sprintf(fields + at,
					      "\tfield:%s f%u;\toffset:%u;\tsize:%u;\tsigned:0;\n",
					      rows[i].field, k, 8 + k * rows[i].size, rows[i].size);
		assert_int_equal(event_compile_generic(format_event("g", "e", fields, &tep),
						       &(struct compile_context){0}, 65536, false,
						       &ev),
				 0);
		if (ev->kind != rows[i].kind || ev->n_ops != rows[i].n_ops ||
		    ev->n_left_out != rows[i].n - rows[i].n_ops)
			fail_msg("%u of %s: kind %d, %u fields", rows[i].n, rows[i].field, ev->kind,
				 ev->n_ops);
		assert_int_equal(ev->generic_index,
				 rows[i].kind == COMPILED_FIELDS ? 0 : COMPILED_NOT_GENERIC);
		/* Each string may be as long as the record, and its bytes become two characters. */
		if (rows[i].size == 4)
			assert_true(event_encode_max_bytes(ev, 1000) > 255 * 1000 * 2);
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

TEST(columns_need_exact_formats)
{
#define NEARLY_SWITCH(state, comm, size, pid, pid_is_signed)                                       \
	FIELD(state, 8, 4, 1)                                                                      \
	FIELD(comm, 12, size, 0) FIELD(pid, 44, 4, pid_is_signed) FIELD("int next_prio", 48, 4, 1)
	static const struct {
		const char *fields;
		enum compiled_kind kind;
		int want;
	} rows[] = {
		{WHOLE_SWITCH, COMPILED_COMPACT_SWITCH, 0},
		{WAKING_FIELDS, COMPILED_COMPACT_WAKING, 0},
		{WAKING_FIELDS, COMPILED_COMPACT_SWITCH, -EPROTO},
		{WHOLE_SWITCH, COMPILED_COMPACT_WAKING, -EPROTO},
		/* prev_state of 32 bits is good, a longer name or an unsigned thread is not. */
		{NEARLY_SWITCH("int prev_state", "char next_comm[16]", 16, "pid_t next_pid", 1),
		 COMPILED_COMPACT_SWITCH, 0},
		{NEARLY_SWITCH("int prev_state", "char next_comm[32]", 32, "pid_t next_pid", 1),
		 COMPILED_COMPACT_SWITCH, -EPROTO},
		{NEARLY_SWITCH("int prev_state", "char next_comm[16]", 16, "u32 next_pid", 0),
		 COMPILED_COMPACT_SWITCH, -EPROTO},
	};

	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++)
		if (compact(rows[i].fields, rows[i].kind) != rows[i].want)
			fail_msg("row %u: %s", i, rows[i].fields);
}
