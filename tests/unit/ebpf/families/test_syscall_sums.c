/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/syscall.h>

#include "unit/fixture.h"
#include "unit/client/read_tracks.h"
#include "ebpf/families/syscalls.c"

static struct writer *w;
static struct tracks *tracks;
static struct top_n *top;
static struct syscall_sums sums;
static uint64_t now;

static const struct track_spec columns[] = {
	{.name = "syscalls", .unit = TRACK_UNIT_COUNT, .total = true},
};

SETUP
{
	fake_reset();
	now = 0;
	sums = (struct syscall_sums){0};
	w = writer_new(NULL, 1, WRITER_DROP);
	assert_int_equal(tracks_new("test", w, &tracks), 0);
	assert_int_equal(top_n_new(tracks, columns, 1, 1, "/nowhere", &top), 0);
}

TEARDOWN
{
	syscall_sums_deinit(&sums);
	top_n_free(top);
	tracks_free(tracks);
	writer_free(w);
	fake_reset();
}

struct call {
	uint32_t pid, cpu, what;
	uint64_t count, errors;
};

static void period(const struct call *c, size_t n)
{
	tracks_begin(tracks, ++now);
	top_n_begin(top);
	syscall_sums_begin(&sums);
	for (size_t i = 0; i < n; i++) {
		top_n_add(top, &(struct top_process){c[i].pid, 0, c[i].count, &c[i].count});
		syscall_sums_add(&sums, c[i].pid, c[i].what,
				 &(struct syscalls){c[i].count, 10 * c[i].count, c[i].errors});
	}
	top_n_end(top);
	syscall_sums_end(&sums, tracks, top);
	tracks_end(tracks);
	read_tracks();
}
#define PERIOD(...)                                                                                \
	period((const struct call[]){__VA_ARGS__},                                                 \
	       sizeof((struct call[]){__VA_ARGS__}) / sizeof(struct call))
#define TRACK(name) "process 7/syscalls by name/" name

FIXTURE_TEST(calls_have_names_and_elements_add_up)
{
	PERIOD({7, 0, SYS_read, 3, 0}, {7, 1, SYS_read, 4, 1}, {7, 0, 5000, 9, 0},
	       {7, 0, SYSCALLS_NONE, 1, 0});
	assert_int_equal(read_last(TRACK("read")), 7);
	assert_int_equal(read_last(TRACK("read time")), 70);
	assert_int_equal(read_last(TRACK("read errors")), 1);
	assert_int_equal(read_last(TRACK("call 5000")), 9);
	assert_null(read_find(TRACK("call 5000 errors")));
	assert_int_equal(read_last(TRACK("no call")), 1);
}

#ifdef __x86_64__
FIXTURE_TEST(calls_of_the_compat_table_are_distinguished)
{
	PERIOD({7, 0, 3, 5, 0}, {7, 0, 3 | SYSCALLS_COMPAT, 6, 0});
	assert_int_equal(read_last(TRACK("close")), 5);
	assert_int_equal(read_last(TRACK("read (32-bit)")), 6);
}
#endif

FIXTURE_TEST(the_five_that_are_made_most)
{
	PERIOD({7, 0, 5001, 1, 0}, {7, 0, 5002, 2, 0}, {7, 0, 5003, 3, 0}, {7, 0, 5004, 4, 0},
	       {7, 0, 5005, 5, 0}, {7, 0, 5006, 6, 0});
	assert_null(read_find(TRACK("call 5001")));
	assert_int_equal(read_last(TRACK("call 5002")), 2);
	PERIOD({7, 0, 5001, 9, 0}, {7, 0, 5002, 2, 0}, {7, 0, 5003, 3, 0}, {7, 0, 5004, 4, 0},
	       {7, 0, 5005, 5, 0}, {7, 0, 5006, 6, 0});
	assert_int_equal(read_last(TRACK("call 5001")), 9);
	assert_int_equal(read_last(TRACK("call 5002")), 2);
	/* The process, one of its own, the group, five calls of two each. */
	assert_int_equal(tracks_counts(tracks).tracks, 3 + 10);
}

FIXTURE_TEST(only_of_processes_that_have_tracks)
{
	PERIOD({7, 0, 5001, 10, 1}, {8, 0, 5001, 1, 1});
	assert_non_null(read_find(TRACK("call 5001")));
	assert_null(read_find("process 8/syscalls by name/call 5001"));
	PERIOD({7, 0, 5001, 10, 1}, {8, 0, 5001, 9, 1});
	assert_int_equal(read_last("process 8/syscalls by name/call 5001"), 9);
	assert_int_equal(tracks_counts(tracks).tracks, 3 + 3);
	PERIOD({7, 0, 5001, 11, 1});
	assert_int_equal(read_last(TRACK("call 5001")), 11);
	tracks_begin(tracks, ++now);
	syscall_sums_hide(&sums, tracks);
	top_n_hide(top);
	assert_int_equal(tracks_counts(tracks).tracks, 0);
	tracks_end(tracks);
}
