/* SPDX-License-Identifier: Apache-2.0 */
/* What becomes of the records. With a kernel: tests/root/test_compat.sh. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "formats.h"
#include "ftrace/compat_calls.h"
#include "ftrace/load.h"
#include "ftrace/syscall_names.h"
#include "page_maker.h"
#include "setups.h"

#define ENTER 443
#define EXIT 442
#define NATIVE 100
#define COMPAT 200

static struct event_selection events;
static struct event_table table;
static struct event_table_options options;
static struct compat_calls *calls;

static void put_event(const char *root, const char *name, unsigned id, const char *fields)
{
	char path[128];

	snprintf(path, sizeof(path), "raw_syscalls/%s", name);
	fake_event(root, path);
	snprintf(path, sizeof(path), "instances/x/events/raw_syscalls/%s/format", name);
	fake_text(root, path, format_text(name, id, FORMAT_COMMON, fields));
}

static int setup_folder(void **state)
{
	if (temp_dir_setup(state))
		return -1;
	put_event(*state, "sys_enter", ENTER,
		  FIELD("long id", 8, 8, 1) FIELD("unsigned long args[6]", 16, 48, 0));
	put_event(*state, "sys_exit", EXIT, FIELD("long id", 8, 8, 1) FIELD("long ret", 16, 8, 1));
	fake_file(*state, "100/auxv", (const uint64_t[]){33, 0x7fff12345000}, 16);
	fake_file(*state, "200/auxv", (const uint32_t[]){32, 0xf7f00000, 33, 0xf7f01000}, 16);
	fake_text(*state, "sys/abi/vsyscall32", "1");
	options = (struct event_table_options){0};
	return 0;
}

static int teardown(void **state)
{
	calls = compat_calls_free(calls);
	event_table_deinit(&table);
	event_selection_deinit(&events);
	return setup_teardown(state);
}

/* As a session that records these events; /proc is the same folder. */
static void begin(void **state, const char *config)
{
	setup_begin(*state, config);
	assert_int_equal(event_select(*state, setup_config->ftrace_events,
				      setup_config->n_ftrace_events, &events, &reports),
			 0);
	for (size_t i = 0; i < events.n; i++)
		events.events[i].id = strcmp(events.events[i].name, "sys_enter") ? EXIT : ENTER;
	setup.events = &events;
	setup.proc_root = *state;
	assert_int_equal(compat_calls_new(&setup, &options, &table, &calls), 0);
}

static void begin_both(void **state)
{
	begin(state, "ftrace_events: 'raw_syscalls/*'");
	if (!calls)
		skip(); /* a machine whose kernel has no other table */
}

static void put_enter(struct page_maker *m, int32_t tid, int64_t nr, uint64_t arg)
{
	uint64_t record[8] = {
		(uint64_t)(uint32_t)tid << 32 | ENTER, (uint64_t)nr, arg, 1, 2, 3, 4, 5};

	page_record(m, 10, record, sizeof(record));
}

static void put_exit(struct page_maker *m, int32_t tid, int64_t nr, int64_t ret)
{
	uint64_t record[3] = {(uint64_t)(uint32_t)tid << 32 | EXIT, (uint64_t)nr, (uint64_t)ret};

	page_record(m, 10, record, sizeof(record));
}

static void end_page(struct page_maker *m)
{
	uint64_t commit = m->at - page_maker_layout.data_offset;

	memcpy(m->bytes + 8, &commit, sizeof(commit));
}

static const uint8_t *record_at(struct page_maker *m, unsigned n)
{
	struct page_record r = {0};
	struct page page;

	assert_int_equal(page_open(&page, &page_maker_layout, m->bytes, PAGE_MAKER_SIZE), PAGE_OK);
	for (unsigned i = 0; i <= n; i++)
		assert_int_equal(page_next(&page, &r), PAGE_OK);
	return r.payload;
}

static void test_calls_of_32_bit_programs_are_named(void **state)
{
	int nr = syscall_number("openat", true);
	static struct page_maker m, before;
	const uint8_t *r;

	begin_both(state);
	page_begin(&m, 1000);
	put_enter(&m, NATIVE, 295, 77);
	put_enter(&m, COMPAT, nr, 0xffffff9c);
	put_exit(&m, NATIVE, 295, 5);
	put_exit(&m, COMPAT, nr, -2);
	end_page(&m);
	before = m;
	compat_calls_edit(calls, &page_maker_layout, m.bytes, PAGE_MAKER_SIZE);

	assert_memory_equal(record_at(&m, 0), record_at(&before, 0), 64);
	assert_memory_equal(record_at(&m, 2), record_at(&before, 2), 24);
	r = record_at(&m, 1);
	assert_string_equal(event_table_row(&table, load16(r))->name, "compat_sys_enter");
	assert_int_equal(load32(r + 4), COMPAT);
	assert_int_equal(load32(r + 8), nr);
	assert_string_equal((const char *)r + 12, "openat");
	assert_int_equal(load32(r + 40), 0xffffff9c);
	for (uint32_t i = 1; i < 6; i++)
		assert_int_equal(load32(r + 40 + 4 * i), i);
	r = record_at(&m, 3);
	assert_string_equal(event_table_row(&table, load16(r))->name, "compat_sys_exit");
	assert_int_equal(load32(r + 4), COMPAT);
	assert_int_equal(load32(r + 8), nr);
	assert_int_equal((int32_t)load32(r + 12), -2);
}

static void test_numbers_without_a_name(void **state)
{
	static struct page_maker m;

	begin_both(state);
	page_begin(&m, 1000);
	put_enter(&m, COMPAT, 100000, 0);
	put_enter(&m, COMPAT, -1, 0);
	end_page(&m);
	compat_calls_edit(calls, &page_maker_layout, m.bytes, PAGE_MAKER_SIZE);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal((int32_t)load32(record_at(&m, i) + 8), i ? -1 : 100000);
		assert_int_equal(record_at(&m, i)[12], 0);
	}
}

static void test_an_exec_ends_as_it_began(void **state)
{
	int native = syscall_number("execve", false), compat = syscall_number("execve", true);
	static struct page_maker m;

	begin_both(state);
	page_begin(&m, 1000);
	put_enter(&m, NATIVE, native, 0x7fff00000000);
	put_exit(&m, NATIVE, compat, 0);
	end_page(&m);
	compat_calls_edit(calls, &page_maker_layout, m.bytes, PAGE_MAKER_SIZE);
	assert_int_equal(load16(record_at(&m, 1)), EXIT);
#ifdef __x86_64__
	assert_int_equal(load64(record_at(&m, 1) + 8), native);
#endif
}

static void test_pages_of_garbage(void **state)
{
	static struct page_maker m;

	begin_both(state);
	compat_calls_edit(calls, &page_maker_layout, m.bytes, 4);
	memset(&m, 0xff, sizeof(m));
	compat_calls_edit(calls, &page_maker_layout, m.bytes, PAGE_MAKER_SIZE);
	/* Short records. */
	page_begin(&m, 1);
	page_record(&m, 1, (const uint16_t[]){ENTER, 0}, 4);
	page_record(&m, 1, (const uint16_t[]){EXIT, 0}, 4);
	end_page(&m);
	compat_calls_edit(calls, &page_maker_layout, m.bytes, PAGE_MAKER_SIZE);
	assert_int_equal(load16(record_at(&m, 0)), ENTER);
	assert_int_equal(load16(record_at(&m, 1)), EXIT);
}

static void test_only_where_calls_are_recorded_in_a_form_that_is_known(void **state)
{
	begin(state, "");
	assert_null(calls);
	options.no_generic = true;
	begin(state, "ftrace_events: 'raw_syscalls/*'");
	assert_null(calls);
	options.no_generic = false;
	put_event(*state, "sys_enter", ENTER, FIELD("long nr", 8, 8, 1));
	put_event(*state, "sys_exit", EXIT, FIELD("long id", 8, 8, 1) FIELD("int ret", 16, 4, 1));
	begin(state, "ftrace_events: 'raw_syscalls/*'");
	assert_null(calls);
	assert_int_equal(table.n_rows, 0);
}

static void test_only_one_of_the_events(void **state)
{
	static struct page_maker m;

	begin(state, "ftrace_events: 'raw_syscalls/sys_exit'");
	if (!calls)
		skip();
	assert_int_equal(table.n_rows, 1);
	page_begin(&m, 1000);
	put_exit(&m, COMPAT, 1, 5);
	end_page(&m);
	compat_calls_edit(calls, &page_maker_layout, m.bytes, PAGE_MAKER_SIZE);
	assert_string_equal(event_table_row(&table, load16(record_at(&m, 0)))->name,
			    "compat_sys_exit");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup_folder, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_calls_of_32_bit_programs_are_named),
		TEST(test_numbers_without_a_name),
		TEST(test_an_exec_ends_as_it_began),
		TEST(test_pages_of_garbage),
		TEST(test_only_where_calls_are_recorded_in_a_form_that_is_known),
		TEST(test_only_one_of_the_events),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
