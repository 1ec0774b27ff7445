/* SPDX-License-Identifier: Apache-2.0 */
/*
 * System calls of 32-bit programs: records of raw_syscalls in, the same or other records out. A
 * directory stands in for /proc. With a kernel: tests/root/test_compat.sh.
 */
#include "base/system/syscall_names.h"
#include "ftrace/events/compat_syscalls.h"
#include "ftrace/format/unaligned.h"
#include "unit/ftrace/fake_tracefs.h"
#include "unit/ftrace/formats.h"

#define ENTER_ID 443
#define EXIT_ID 442
/* Threads in /proc at first. */
#define NATIVE 100u
#define COMPAT 200u
#define GONE 300u

/* Whether the exit of an execve has the number of the new program's table. */
#ifdef __x86_64__
#define EXEC_SHOWS_SIZE true
#else
#define EXEC_SHOWS_SIZE false
#endif

static struct event_table table;
static struct event_table_options options;
static struct compat_syscalls *calls;
static uint64_t now; /* time of the next record */
static int getppid64, getppid32, execve64, execve32;

static void add_event(const char *name, unsigned id, const char *fields)
{
	uint16_t added;

	assert_int_equal(event_table_add(&table, "raw_syscalls", name,
					 format_text(name, id, FORMAT_COMMON, fields), &options,
					 &added),
			 0);
}

#define ENTER_FIELDS FIELD("long id", 8, 8, 1) FIELD("unsigned long args[6]", 16, 48, 0)
#define EXIT_FIELDS FIELD("long id", 8, 8, 1) FIELD("long ret", 16, 8, 1)

static void put_native(uint32_t tid)
{
	char file[64];

	snprintf(file, sizeof(file), "%u/auxv", tid);
	fake_file(file, (const uint64_t[]){33, 0x7fff12345000}, 16);
}

static void put_compat(uint32_t tid)
{
	char file[64];

	snprintf(file, sizeof(file), "%u/auxv", tid);
	fake_file(file, (const uint32_t[]){32, 0xf7f00000, 33, 0xf7f01000}, 16);
}

SETUP
{
	fake_root_new();
	put_native(NATIVE);
	put_compat(COMPAT);
	fake_text("sys/abi/vsyscall32", "1");
	options = (struct event_table_options){0};
	now = 0;
	getppid64 = syscall_number("getppid", false);
	getppid32 = syscall_number("getppid", true);
	execve64 = syscall_number("execve", false);
	execve32 = syscall_number("execve", true);
}

TEARDOWN
{
	calls = compat_syscalls_free(calls);
	event_table_deinit(&table);
	fake_root_remove();
}

static void begin_for(const char *proc_root)
{
	assert_int_equal(compat_syscalls_new(proc_root, &options, &table, &calls), 0);
}

static void begin(void)
{
	add_event("sys_enter", ENTER_ID, ENTER_FIELDS);
	add_event("sys_exit", EXIT_ID, EXIT_FIELDS);
	begin_for(fake_root);
	if (!calls)
		skip(); /* a machine whose kernel has no other table */
}

/* The record that is encoded instead of this one, valid until the next call. */
static struct ring_record look(const void *record, size_t len)
{
	static _Alignas(8) uint8_t bytes[64];
	struct ring_record r = {.time = ++now, .payload = bytes, .len = (uint32_t)len};

	memcpy(bytes, record, len);
	r.payload = compat_syscalls_check(calls, &r);
	return r;
}

static const char *name_of(const struct ring_record *r)
{
	return event_table_get(&table, load16(r->payload))->name;
}

static struct ring_record enter_with(uint32_t tid, int64_t nr, uint64_t arg)
{
	const uint64_t record[8] = {
		(uint64_t)tid << 32 | ENTER_ID, (uint64_t)nr, arg, 1, 2, 3, 4, 5};
	struct ring_record r = look(record, sizeof(record));

	if (load16(r.payload) == ENTER_ID)
		assert_memory_equal(r.payload, record, sizeof(record));
	return r;
}

/* Returns true if the call is taken for one of a 32-bit program. */
static bool enter(uint32_t tid, int nr)
{
	struct ring_record r = enter_with(tid, nr, 0);

	return load16(r.payload) != ENTER_ID;
}

static struct ring_record leave_with(uint32_t tid, int64_t nr, int64_t value)
{
	return look(
		(const uint64_t[]){(uint64_t)tid << 32 | EXIT_ID, (uint64_t)nr, (uint64_t)value},
		24);
}

/* Returns the number of the call then; negative: of the 32-bit table. */
static int64_t leave(uint32_t tid, int nr, int64_t ret)
{
	struct ring_record r = leave_with(tid, nr, ret);

	return load16(r.payload) == EXIT_ID ? (int64_t)load64(r.payload + 8)
					    : -(int64_t)load32(r.payload + 8);
}

/* ---- which threads run 32-bit programs ---- */

FIXTURE_TEST(a_thread_is_looked_at)
{
	begin();
	assert_false(enter(NATIVE, getppid64));
	assert_int_equal(leave(NATIVE, getppid64, 1), getppid64);
	assert_true(enter(COMPAT, getppid32));
	assert_int_equal(leave(COMPAT, getppid32, 1), -getppid32);
	assert_false(enter(GONE, getppid64));
	/* Once, */
	put_compat(NATIVE);
	assert_false(enter(NATIVE, getppid64));
	/* until it ends. */
	assert_false(enter(NATIVE, syscall_number("exit_group", false)));
	assert_true(enter(NATIVE, getppid32));
	put_native(COMPAT);
	assert_true(enter(COMPAT, syscall_number("exit", true)));
	assert_false(enter(COMPAT, getppid64));
}

FIXTURE_TEST(an_exec_leads_to_the_other_table)
{
	int to32, to64;

	begin();
	to32 = EXEC_SHOWS_SIZE ? execve32 : execve64;
	to64 = EXEC_SHOWS_SIZE ? execve64 : execve32;
	assert_false(enter(NATIVE, execve64));
	put_compat(NATIVE);
	/* It ends in the one that it began in. */
	assert_int_equal(leave(NATIVE, to32, 0), execve64);
	assert_true(enter(NATIVE, getppid32));
	assert_true(enter(NATIVE, syscall_number("execveat", true)));
	put_native(NATIVE);
	if (EXEC_SHOWS_SIZE)
		assert_int_equal(leave(NATIVE, to64, 0), -syscall_number("execveat", true));
	else
		assert_int_equal(leave(NATIVE, to64, 0), -to64);
	assert_false(enter(NATIVE, getppid64));
}

FIXTURE_TEST(an_exec_of_a_program_that_is_gone)
{
	begin();
	if (!EXEC_SHOWS_SIZE)
		skip();
	assert_false(enter(GONE, execve64));
	assert_int_equal(leave(GONE, execve32, 0), execve64);
	assert_true(enter(GONE, getppid32));
	assert_true(enter(GONE, execve32));
	assert_int_equal(leave(GONE, execve64, 0), -execve32);
	assert_false(enter(GONE, getppid64));
}

/* Of another CPU's ring, which is read later. */
FIXTURE_TEST(what_was_before_an_exec_comes_later)
{
	begin();
	if (!EXEC_SHOWS_SIZE)
		skip();
	now = 1000;
	assert_int_equal(leave(GONE, execve32, 0), execve64);
	assert_true(enter(GONE, getppid32));
	assert_true(enter(GONE, syscall_number("exit", true)));
	now = 500;
	assert_false(enter(GONE, getppid64));
	assert_int_equal(leave(GONE, getppid64, 1), getppid64);
	assert_false(enter(GONE, execve64));
	now = 1001;
	assert_true(enter(GONE, getppid32)); /* still before its end */
	now = 2000;
	assert_false(enter(GONE, getppid64)); /* another thread */
	/* One that is there: it is what it has become. */
	now = 3000;
	assert_int_equal(leave(COMPAT, execve32, 0), execve64);
	assert_true(enter(COMPAT, getppid32));
	now = 2900;
	assert_false(enter(COMPAT, getppid64));
}

FIXTURE_TEST(a_munmap_is_no_exec)
{
	begin();
	if (!EXEC_SHOWS_SIZE)
		skip();
	assert_false(enter(NATIVE, execve32));
	assert_int_equal(leave(NATIVE, execve32, 0), execve32);
	assert_false(enter(NATIVE, getppid64));
	/* Its begin was before the recording. */
	put_native(NATIVE + 1);
	assert_int_equal(leave(NATIVE + 1, execve32, 0), execve32);
	assert_false(enter(NATIVE + 1, getppid64));
}

FIXTURE_TEST(an_exec_that_fails_or_stays)
{
	begin();
	assert_true(enter(COMPAT, execve32));
	assert_int_equal(leave(COMPAT, execve32, -ENOENT), -execve32);
	assert_true(enter(COMPAT, getppid32));
	assert_false(enter(NATIVE, syscall_number("execveat", false)));
	assert_int_equal(leave(NATIVE, execve64, 0), execve64);
	assert_false(enter(NATIVE, getppid64));
	/* The end of another call comes in between, out of another ring. */
	assert_false(enter(NATIVE, execve64));
	assert_int_equal(leave(NATIVE, getppid64, 1), getppid64);
	if (EXEC_SHOWS_SIZE) {
		leave(NATIVE, execve32, 0);
		assert_true(enter(NATIVE, getppid32));
		enter(NATIVE, syscall_number("exit", true));
	}
	/* The end of one is missing. */
	assert_false(enter(NATIVE, execve64));
	put_compat(NATIVE);
	assert_true(enter(NATIVE, getppid32));
}

FIXTURE_TEST(wide_arguments_are_those_of_a_64_bit_program)
{
	struct ring_record r;

	begin();
	assert_true(enter(COMPAT, getppid32));
	r = enter_with(COMPAT, getppid64, 0x7fff00000000);
	assert_string_equal(name_of(&r), "sys_enter");
	assert_false(enter(COMPAT, getppid64));
}

FIXTURE_TEST(thread_ids_are_reused)
{
	begin();
	assert_false(enter(NATIVE, getppid64));
	put_compat(NATIVE);
	assert_false(enter(NATIVE, getppid64));
	now += COMPAT_THREADS_NS;
	assert_true(enter(NATIVE, getppid64));
}

FIXTURE_TEST(more_threads_than_places)
{
	begin();
	for (uint32_t tid = 1000; tid < 1000 + 3 * COMPAT_THREADS_MAX; tid++)
		assert_false(enter(tid, getppid64));
	assert_true(enter(COMPAT, getppid32));
}

FIXTURE_TEST(a_kernel_without_32_bit_programs)
{
	unlink(fake_path("sys/abi/vsyscall32"));
	add_event("sys_enter", ENTER_ID, ENTER_FIELDS);
	begin_for(NULL);
	assert_null(calls);
	begin_for(fake_root);
	if (calls)
		skip(); /* the kernel of this architecture does not show it */
}

/* ---- the records ---- */

FIXTURE_TEST(calls_of_32_bit_programs_have_names)
{
	int nr = syscall_number("openat", true);
	struct ring_record r;

	begin();
	assert_false(enter(NATIVE, 295));
	r = enter_with(COMPAT, nr, 0xffffff9c);
	assert_string_equal(name_of(&r), "compat_sys_enter");
	assert_int_equal(load32(r.payload + 4), COMPAT);
	assert_int_equal(load32(r.payload + 8), nr);
	assert_string_equal((const char *)r.payload + 12, "openat");
	assert_int_equal(load32(r.payload + 40), 0xffffff9c);
	for (uint32_t i = 1; i < 6; i++)
		assert_int_equal(load32(r.payload + 40 + 4 * i), i);
	r = leave_with(NATIVE, 295, 5);
	assert_int_equal(load64(r.payload + 8), 295);
	assert_int_equal(load64(r.payload + 16), 5);
	r = leave_with(COMPAT, nr, -2);
	assert_string_equal(name_of(&r), "compat_sys_exit");
	assert_int_equal(load32(r.payload + 4), COMPAT);
	assert_int_equal(load32(r.payload + 8), nr);
	assert_int_equal((int32_t)load32(r.payload + 12), -2);
	/* Numbers that no call has. */
	for (int i = 0; i < 2; i++) {
		r = enter_with(COMPAT, i ? -1 : 100000, 0);
		assert_int_equal((int32_t)load32(r.payload + 8), i ? -1 : 100000);
		assert_int_equal(r.payload[12], 0);
	}
}

FIXTURE_TEST(records_of_other_forms_stay_as_they_are)
{
	static const uint16_t other[32] = {7, ENTER_ID, EXIT_ID};
	struct ring_record r;

	begin();
	for (size_t len = 8; len < 64; len += 4) {
		r = look((const uint16_t[32]){ENTER_ID}, len);
		assert_string_equal(name_of(&r), "sys_enter");
	}
	for (size_t len = 8; len < 24; len += 4) {
		r = look((const uint16_t[32]){EXIT_ID}, len);
		assert_string_equal(name_of(&r), "sys_exit");
	}
	r = look(other, sizeof(other));
	assert_memory_equal(r.payload, other, sizeof(other));
}

FIXTURE_TEST(events_of_other_forms_are_not_looked_at)
{
	begin_for(fake_root); /* no event at all */
	assert_null(calls);
	add_event("sys_enter", ENTER_ID, FIELD("long nr", 8, 4, 1));
	add_event("sys_exit", EXIT_ID, FIELD("long id", 8, 8, 1) FIELD("int ret", 16, 4, 1));
	begin_for(fake_root);
	assert_null(calls);
	assert_int_equal(table.n_events, 2);
	event_table_deinit(&table);
	add_event("sys_enter", ENTER_ID, ENTER_FIELDS);
	options.no_generic = true;
	begin_for(fake_root);
	assert_null(calls);
	assert_int_equal(table.n_events, 1);
	/* One of them is enough. */
	options.no_generic = false;
	event_table_deinit(&table);
	add_event("sys_exit", EXIT_ID, EXIT_FIELDS);
	begin_for(fake_root);
	if (calls)
		assert_int_equal(leave(COMPAT, 1, 5), -1);
}
