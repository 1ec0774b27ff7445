/* SPDX-License-Identifier: Apache-2.0 */
#include "ftrace/encode/event_encode.h"
#include "ftrace/events/event_table.h"
#include "unit/ftrace/rows.h"
#include "wire/pb_dec.h"

#define one_int FIELD("int a", 8, 4, 1)
static struct event_table t;

static int add(const char *group, const char *name, unsigned id,
	       const struct event_table_options *options)
{
	return try_row(&t, group, name, id, one_int, *options);
}

static int teardown(void **state)
{
	event_table_deinit(&t);
	return 0;
}

#define FIXTURE_TEST(name) TEST_WITH(name, NULL, teardown)

FIXTURE_TEST(rows_by_id)
{
	const struct event_table_options o = {0};

	assert_null(event_table_get(&t, 0));
	assert_int_equal(add("irq", "irq_handler_exit", 65535, &o), 0);
	assert_int_equal(add("sched", "sched_process_wait", 3, &o), 0);
	assert_string_equal(event_table_get(&t, 3)->name, "sched_process_wait");
	assert_string_equal(event_table_get(&t, 65535)->name, "irq_handler_exit");
	assert_ptr_equal(event_table_find_named(&t, "sched", "sched_process_wait"),
			 event_table_get(&t, 3));
	assert_null(event_table_find_named(&t, "irq", "sched_process_wait"));
	assert_int_equal(add("user_events_multi", "mine.0", 7, &o), 0);
	assert_string_equal(event_table_get(&t, 7)->name, "mine.0");
	event_table_remove(&t, 7);
	event_table_drop_removed(&t);
	assert_null(event_table_get(&t, 4));
	assert_null(event_table_get(&t, 65534));
	/* Once more is the same. */
	assert_int_equal(add("sched", "sched_process_wait", 3, &o), 0);
	assert_int_equal(t.n_events, 2);
	event_table_remove(&t, 3);
	assert_null(event_table_get(&t, 3));
	assert_null(event_table_find_named(&t, "sched", "sched_process_wait"));
	event_table_remove(&t, 4);
	event_table_remove(&t, 5000);
	event_table_drop_removed(&t);
	assert_int_equal(t.n_events, 1);
	assert_string_equal(event_table_get(&t, 65535)->name, "irq_handler_exit");
}

static uint32_t number_of(uint16_t id)
{
	const struct compiled_event *ev = event_table_get(&t, id);
	struct pb_field f;
	struct pb_dec d;

	assert_non_null(ev);
	pb_dec_init(&d, ev->descriptor, ev->descriptor_len);
	assert_true(pb_dec_next(&d, &f));
	return (uint32_t)f.u64;
}

FIXTURE_TEST(an_id_that_means_another_event_now)
{
	const struct event_table_options o = {0};
	const struct compiled_event *old;
	uint32_t first, second;

	assert_int_equal(add("g", "a", 10, &o), 0);
	assert_int_equal(add("g", "b", 11, &o), 0);
	old = event_table_get(&t, 10);
	first = number_of(10);
	second = number_of(11);
	/* Another event with the id. */
	assert_int_equal(add("g", "c", 10, &o), 0);
	assert_string_equal(event_table_get(&t, 10)->name, "c");
	assert_string_equal(old->name, "a"); /* an open bundle may still have it */
	assert_int_not_equal(number_of(10), first);
	assert_int_not_equal(event_table_get(&t, 10)->generic_index, old->generic_index);
	assert_int_equal(t.n_generic, 3);
	event_table_drop_removed(&t);
	assert_int_equal(t.n_events, 2);

	/* The same event with other fields: other numbers, and indices that no other event has. */
	first = number_of(10);
	add_row(&t, "g", "c", 10, FIELD("int a", 8, 4, 1) FIELD("int b", 12, 4, 1), o);
	assert_int_equal(event_table_get(&t, 10)->n_ops, 2);
	assert_int_not_equal(number_of(10), first);
	assert_int_equal(number_of(11), second);
	for (unsigned i = 0; i < 1000; i++) {
		event_table_drop_removed(&t);
		assert_int_equal(add("g", i % 2 ? "d" : "e", 10, &o), 0);
		assert_int_not_equal(event_table_get(&t, 10)->generic_index,
				     event_table_get(&t, 11)->generic_index);
	}
	assert_int_equal(t.n_generic, 3);
	assert_int_equal(t.n_events, 3);
	assert_int_equal(t.n_numbers, 6); /* a, b, two of c, d and e */
}

FIXTURE_TEST(numbers_are_for_the_whole_process)
{
	const struct event_table_options o = {0};
	struct event_table other = {0};
	uint32_t a, b;

	assert_int_equal(add("g", "a", 10, &o), 0);
	assert_int_equal(add("g", "b", 11, &o), 0);
	a = number_of(10);
	b = number_of(11);
	/* Another session, the other way round. */
	add_row(&other, "g", "b", 11, one_int, o);
	add_row(&other, "h", "a", 10, one_int, o);
	event_table_deinit(&t);
	t = other;
	assert_int_equal(number_of(11), b);
	assert_int_not_equal(number_of(10), a);
	assert_int_not_equal(number_of(10), b);
}

/* The numbers of events without a message are those of the process; a session has a limit, too. */
FIXTURE_TEST(numbers_and_events_run_out)
{
	const struct event_table_options o = {0};
	struct event_table other = {0};
	char name[16];
	unsigned n = 0;
	int r = 0;

	for (; !r && n < 70000; n++) {
		snprintf(name, sizeof(name), "e%u", n);
		r = try_row(&t, "g", name, n % 60000 + 1, one_int, o);
	}
	assert_int_equal(r, EVENT_TABLE_FULL);
	assert_int_equal(n, EVENT_TABLE_GENERIC_MAX + 1);
	r = 0;
	for (n = 0; !r && n < 2000; n++) {
		snprintf(name, sizeof(name), "f%u", n);
		r = try_row(&other, "g", name, n + 1, one_int, o);
	}
	assert_int_equal(r, EVENT_TABLE_FULL);
	assert_in_range(EVENT_TABLE_GENERIC_MAX + n, 65536, 65537);
	/* A number that is given back is free for another event. */
	event_table_deinit(&t);
	add_row(&other, "g", "last", 3000, one_int, o);
	event_table_deinit(&other);
}

static const struct compiled_event *add_as(struct event_representation repr, unsigned id)
{
	const struct event_table_options o = {.compact = true};
	uint16_t got;

	assert_int_equal(event_table_add_as(&t, "sonda_1_2_3", "x", &repr,
					    format_text("x", id, FORMAT_COMMON, one_int), &o, &got),
			 0);
	return event_table_get(&t, got);
}

/* The event of that group and representation, by the format with the id 10. */
static const struct compiled_event *find_as(const char *group,
					    const struct event_representation *repr)
{
	return event_table_find(&t, group, "x", repr, format_text("x", 10, FORMAT_COMMON, one_int));
}

FIXTURE_TEST(events_with_another_representation)
{
	const struct event_representation read = {"mine", "read", EVENT_AS_FIELDS},
					  read_message = {"mine", "read", EVENT_AS_MESSAGE};
	const struct compiled_event *ev = add_as(read, 10);
	struct pb_field f;
	struct pb_dec d;

	assert_string_equal(ev->group, "mine");
	assert_string_equal(ev->name, "read");
	assert_int_equal(ev->n_ops, 1);
	/* A user's word for a probe does not make it the kernel's event. */
	ev = add_as((struct event_representation){"sched", "sched_switch", EVENT_AS_FIELDS}, 11);
	assert_int_not_equal(ev->generic_index, COMPILED_NOT_GENERIC);
	ev = add_as((struct event_representation){"synthetic", "suspend_resume_minimal",
						  EVENT_AS_MESSAGE},
		    12);
	assert_int_equal(ev->descriptor_len, 0);

	ev = add_as((struct event_representation){"k", "vfs_read", EVENT_AS_PROBE_END}, 13);
	assert_int_equal(ev->kind, COMPILED_PROBE);
	pb_dec_init(&d, ev->descriptor, ev->descriptor_len);
	assert_true(pb_dec_next(&d, &f) && f.id == 1 && pb_field_is(&f, "vfs_read"));
	assert_true(pb_dec_next(&d, &f) && f.id == 2 && f.u64 == 2);
	assert_false(pb_dec_next(&d, &f));

	/* Only the same names and representation are the same event. */
	assert_non_null(find_as("sonda_9_9_9", &read));
	assert_null(find_as("sonda_1_2_3", NULL));
	assert_null(find_as("sonda_1_2_3", &read_message));
	assert_null(event_table_find(&t, "g", "x", NULL, ""));
	assert_null(event_table_find(&t, "g", "x", NULL, "\nID: 99999999999999999999\n"));
}

FIXTURE_TEST(generic_events_are_numbered_in_order)
{
	struct event_table_options o = {0};

	assert_int_equal(add("g", "first", 10, &o), 0);
	assert_int_equal(add("sched", "sched_switch", 11, &o), 0);
	assert_int_equal(add("g", "second", 12, &o), 0);
	assert_int_equal(event_table_get(&t, 10)->generic_index, 0);
	/* It has a message, but not for this field. */
	assert_int_equal(event_table_get(&t, 11)->generic_index, 1);
	assert_int_equal(event_table_get(&t, 11)->descriptor_len, 0);
	assert_true(event_table_get(&t, 11)->further_len > 0);
	assert_int_equal(event_table_get(&t, 12)->generic_index, 2);
	assert_int_equal(t.n_generic, 3);
	assert_int_equal(number_of(12), number_of(10) + 1);

	o.no_generic = true;
	assert_int_equal(add("g", "third", 13, &o), EVENT_TABLE_GENERIC_REFUSED);
	assert_null(event_table_get(&t, 13));
	assert_int_equal(add("irq", "irq_handler_exit", 14, &o), 0);
	o = (struct event_table_options){.legacy_generic = true};
	assert_int_equal(add("g", "fourth", 15, &o), 0);
	assert_int_equal(event_table_get(&t, 15)->kind, COMPILED_LEGACY);
	assert_int_equal(t.n_generic, 4);
}

FIXTURE_TEST(texts_that_are_no_format)
{
	const struct event_table_options o = {0};
	char nothing[] = "", noise[] = "name: x\nID: banana\n\x01\x02", cut[] = "name: x\nID: 5\n";
	uint16_t id;

	assert_int_equal(event_table_add(&t, "g", "x", nothing, &o, &id), EVENT_TABLE_BAD_FORMAT);
	assert_int_equal(event_table_add(&t, "g", "x", noise, &o, &id), EVENT_TABLE_BAD_FORMAT);
	assert_int_equal(event_table_add(&t, "g", "x", cut, &o, &id), EVENT_TABLE_BAD_FORMAT);
	/* Of another event than was asked for. */
	assert_int_equal(
		event_table_add(&t, "g", "x", format_text("y", 5, FORMAT_COMMON, one_int), &o, &id),
		EVENT_TABLE_BAD_FORMAT);
	/* An id that no record can hold. */
	assert_int_equal(try_row(&t, "g", "x", 65536, one_int, o), EVENT_TABLE_BAD_FORMAT);
	assert_int_equal(t.n_events, 0);
}

FIXTURE_TEST(compact_is_for_two_events)
{
	static const struct {
		const char *group, *name, *fields;
		bool can;
	} rows[] = {
		{"sched", "sched_switch", SWITCH_FIELDS, true},
		{"sched", "sched_switch", one_int, false},
		{"sched", "sched_waking", SWITCH_FIELDS, false},
		{"irq", "sched_switch", SWITCH_FIELDS, false},
	};
	const struct event_table_options o = {.compact = true};

	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++)
		if (event_table_can_compact(
			    rows[i].group, rows[i].name,
			    format_text(rows[i].name, 5, FORMAT_COMMON, rows[i].fields),
			    &o) != rows[i].can)
			fail_msg("%s/%s: %s", rows[i].group, rows[i].name, rows[i].fields);
	add_row(&t, "sched", "sched_switch", 5, SWITCH_FIELDS, o);
	assert_int_equal(event_table_get(&t, 5)->kind, COMPILED_COMPACT_SWITCH);
	assert_int_equal(add("sched", "sched_wakeup", 6, &o), 0);
	assert_int_equal(event_table_get(&t, 6)->kind, COMPILED_FIELDS);
}

FIXTURE_TEST(the_bound_is_that_of_the_largest)
{
	const struct event_table_options o = {0};

	assert_true(event_table_max_size(&t, 4096) > 0);
	assert_int_equal(add("g", "small", 10, &o), 0);
	add_row(&t, "g", "large", 11, FIELD("char a[]", 8, 0, 0), o);
	assert_int_equal(event_table_max_size(&t, 4096),
			 event_encode_max_bytes(event_table_get(&t, 11), 4096));
	assert_true(event_table_max_size(&t, 4096) > 4096);
}

FIXTURE_TEST(prints_have_a_text_to_ask_about)
{
	Pb__FtraceConfig__PrintFilter__Rule rule = PB__FTRACE_CONFIG__PRINT_FILTER__RULE__INIT;
	Pb__FtraceConfig__PrintFilter filter = PB__FTRACE_CONFIG__PRINT_FILTER__INIT;
	Pb__FtraceConfig config = PB__FTRACE_CONFIG__INIT;
	const struct event_table_options o = {0};

	filter.rules = (Pb__FtraceConfig__PrintFilter__Rule *[]){&rule};
	filter.n_rules = 1;
	config.print_filter = &filter;
	assert_int_equal(print_filter_new(&config, false, &t.prints), 0);
	add_row(&t, "ftrace", "print", 5, PRINT_FIELDS, o);
	assert_int_equal(event_table_get(&t, 5)->kind, COMPILED_PRINT);
	assert_int_equal(add("ftrace", "print", 6, &o), EVENT_TABLE_BAD_FORMAT);
	assert_int_equal(add("sched", "sched_process_wait", 7, &o), 0);
	assert_int_equal(event_table_get(&t, 7)->kind, COMPILED_FIELDS);
}

/* With threads in the config, other markers are filtered as well. */
FIXTURE_TEST(markers_are_filtered_by_thread)
{
	static const char *const names[] = {"raw_data", "bprint", "bputs"};
	uint32_t tid = 7;
	Pb__FtraceConfig config = PB__FTRACE_CONFIG__INIT;
	const struct event_table_options o = {0}, legacy = {.legacy_generic = true};

	config.tids_to_trace = &tid;
	config.n_tids_to_trace = 1;
	assert_int_equal(print_filter_new(&config, false, &t.prints), 0);
	for (uint16_t i = 0; i < ARRAY_SIZE(names); i++) {
		assert_int_equal(add("ftrace", names[i], i, &o), 0);
		assert_int_equal(event_table_get(&t, i)->kind, COMPILED_OF_THREADS);
		assert_int_equal(add("ftrace", names[i], 10 + i, &legacy), 0);
		assert_int_equal(event_table_get(&t, 10 + i)->kind, COMPILED_LEGACY_OF_THREADS);
	}
	assert_int_equal(add("ftrace", "kernel_stack", 20, &o), 0);
	assert_int_equal(event_table_get(&t, 20)->kind, COMPILED_FIELDS);
	assert_int_equal(add("other", "bputs", 21, &o), 0);
	assert_int_equal(event_table_get(&t, 21)->kind, COMPILED_FIELDS);
}
