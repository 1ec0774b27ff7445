/* SPDX-License-Identifier: Apache-2.0 */
/* What becomes of the records. With a kernel: tests/root/test_compat.sh. */
#include "unit/ftrace/fake_tracefs.h"
#include "unit/ftrace/formats.h"
#include "ftrace/events/compat_syscalls.h"
#include "ftrace/format/unaligned.h"
#include "base/system/syscall_names.h"

#define ENTER 443
#define EXIT 442
#define NATIVE 100
#define COMPAT 200

static struct event_table table;
static struct event_table_options options;
static struct compat_syscalls *calls;
static uint64_t now;

static void add(const char *name, unsigned id, const char *fields)
{
	uint16_t added;

	assert_int_equal(event_table_add(&table, "raw_syscalls", name,
					 format_text(name, id, FORMAT_COMMON, fields), &options,
					 &added),
			 0);
}

static void add_enter(void)
{
	add("sys_enter", ENTER,
	    FIELD("long id", 8, 8, 1) FIELD("unsigned long args[6]", 16, 48, 0));
}

static void add_exit(void)
{
	add("sys_exit", EXIT, FIELD("long id", 8, 8, 1) FIELD("long ret", 16, 8, 1));
}

/* It is /proc. */
SETUP
{
	fake_root_new();
	fake_file("100/auxv", (const uint64_t[]){33, 0x7fff12345000}, 16);
	fake_file("200/auxv", (const uint32_t[]){32, 0xf7f00000, 33, 0xf7f01000}, 16);
	fake_text("sys/abi/vsyscall32", "1");
	options = (struct event_table_options){0};
}

TEARDOWN
{
	calls = compat_syscalls_free(calls);
	event_table_deinit(&table);
	fake_root_remove();
}

static void begin(void)
{
	assert_int_equal(compat_syscalls_new(fake_root, &options, &table, &calls), 0);
}

static void begin_both(void)
{
	add_enter();
	add_exit();
	begin();
	if (!calls)
		skip(); /* a machine whose kernel has no other table */
}

/* What becomes of a record, and its row. */
static const struct compiled_event *look(const void *record, size_t len, struct ring_record *ret)
{
	static _Alignas(8) uint8_t bytes[64];

	memcpy(bytes, record, len);
	*ret = (struct ring_record){.time = now += 10, .payload = bytes, .len = (uint32_t)len};
	ret->payload = compat_syscalls_check(calls, ret);
	return event_table_get(&table, load16(ret->payload));
}

static const struct compiled_event *enter(int32_t tid, int64_t nr, uint64_t arg,
					  struct ring_record *ret)
{
	const uint64_t record[8] = {
		(uint64_t)(uint32_t)tid << 32 | ENTER, (uint64_t)nr, arg, 1, 2, 3, 4, 5};
	const struct compiled_event *ev = look(record, sizeof(record), ret);

	if (load16(ret->payload) == ENTER)
		assert_memory_equal(ret->payload, record, sizeof(record));
	return ev;
}

static const struct compiled_event *leave(int32_t tid, int64_t nr, int64_t value,
					  struct ring_record *ret)
{
	const uint64_t record[3] = {(uint64_t)(uint32_t)tid << 32 | EXIT, (uint64_t)nr,
				    (uint64_t)value};

	return look(record, sizeof(record), ret);
}

FIXTURE_TEST(test_calls_of_32_bit_programs_are_named)
{
	int nr = syscall_number("openat", true);
	struct ring_record r;

	begin_both();
	assert_string_equal(enter(NATIVE, 295, 77, &r)->name, "sys_enter");
	assert_string_equal(enter(COMPAT, nr, 0xffffff9c, &r)->name, "compat_sys_enter");
	assert_int_equal(load32(r.payload + 4), COMPAT);
	assert_int_equal(load32(r.payload + 8), nr);
	assert_string_equal((const char *)r.payload + 12, "openat");
	assert_int_equal(load32(r.payload + 40), 0xffffff9c);
	for (uint32_t i = 1; i < 6; i++)
		assert_int_equal(load32(r.payload + 40 + 4 * i), i);
	assert_string_equal(leave(NATIVE, 295, 5, &r)->name, "sys_exit");
	assert_int_equal(load64(r.payload + 8), 295);
	assert_int_equal(load64(r.payload + 16), 5);
	assert_string_equal(leave(COMPAT, nr, -2, &r)->name, "compat_sys_exit");
	assert_int_equal(load32(r.payload + 4), COMPAT);
	assert_int_equal(load32(r.payload + 8), nr);
	assert_int_equal((int32_t)load32(r.payload + 12), -2);
}

FIXTURE_TEST(test_numbers_without_a_name)
{
	struct ring_record r;

	begin_both();
	for (int i = 0; i < 2; i++) {
		enter(COMPAT, i ? -1 : 100000, 0, &r);
		assert_int_equal((int32_t)load32(r.payload + 8), i ? -1 : 100000);
		assert_int_equal(r.payload[12], 0);
	}
}

FIXTURE_TEST(test_an_exec_ends_as_it_began)
{
	int native = syscall_number("execve", false), compat = syscall_number("execve", true);
	struct ring_record r;

	begin_both();
	enter(NATIVE, native, 0x7fff00000000, &r);
	assert_string_equal(leave(NATIVE, compat, 0, &r)->name, "sys_exit");
#ifdef __x86_64__
	assert_int_equal(load64(r.payload + 8), native);
	assert_int_equal(load64(r.payload + 16), 0);
	assert_int_equal(load32(r.payload + 4), NATIVE);
#endif
}

FIXTURE_TEST(test_only_where_calls_are_recorded_in_a_form_that_is_known)
{
	begin();
	assert_null(calls);
	add("sys_enter", ENTER, FIELD("long nr", 8, 4, 1));
	add("sys_exit", EXIT, FIELD("long id", 8, 8, 1) FIELD("int ret", 16, 4, 1));
	begin();
	assert_null(calls);
	assert_int_equal(table.n_events, 2);
	event_table_deinit(&table);
	add_enter();
	options.no_generic = true;
	begin();
	assert_null(calls);
	assert_int_equal(table.n_events, 1);
}

FIXTURE_TEST(test_short_records_and_other_events)
{
	static const uint16_t other[32] = {7, ENTER, EXIT};
	struct ring_record r;

	begin_both();
	for (size_t len = 8; len < 64; len += 4) {
		assert_string_equal(look((const uint16_t[32]){ENTER}, len, &r)->name, "sys_enter");
		assert_int_equal(calls->threads.n, 0);
	}
	for (size_t len = 8; len < 24; len += 4)
		assert_string_equal(look((const uint16_t[32]){EXIT}, len, &r)->name, "sys_exit");
	look(other, sizeof(other), &r);
	assert_memory_equal(r.payload, other, sizeof(other));
	assert_int_equal(calls->threads.n, 0);
}

FIXTURE_TEST(test_only_one_of_the_events)
{
	struct ring_record r;

	add_exit();
	begin();
	if (!calls)
		skip();
	assert_int_equal(table.n_events, 2);
	assert_string_equal(leave(COMPAT, 1, 5, &r)->name, "compat_sys_exit");
}
