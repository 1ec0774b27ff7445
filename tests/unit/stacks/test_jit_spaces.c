/* SPDX-License-Identifier: Apache-2.0 */
/* Who a process with compiled code is, and when its names are requested again. */
#include "base/core/clock.h"
#include "stacks/frames/jit_spaces.h"
#include "unit/test.h"

#define STAT "17 (a) b) S 1 17 17 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 250 1234 5"
#define S NS_PER_S

static bool parse(const char *status, const char *stat, struct file_reader_process *ret)
{
	*ret = (struct file_reader_process){0};
	return jit_space_parse(status, stat, 1000 * S, 100 * S, ret);
}

TEST(a_process_has_a_user_an_id_inside_and_a_start)
{
	struct file_reader_process p;

	assert_true(parse("Name:\ta\nUid:\t1000\t33\t1000\t1000\nNSpid:\t4711\t25\t7\nx:\t1\n",
			  STAT, &p));
	assert_int_equal(p.uid, 33);
	assert_int_equal(p.pid_inside, 7);
	assert_int_equal(p.started, 900 * S + 250 * (S / (uint64_t)sysconf(_SC_CLK_TCK)));
}

TEST(a_name_cannot_pretend_to_be_another_line)
{
	struct file_reader_process p;

	assert_true(parse("Name:\tUid:\t0\\nUid:\t0\t0\nUid:\t5\t5\t5\t5\nNSpid:\t9\n", STAT, &p));
	assert_int_equal(p.uid, 5);
	assert_int_equal(p.pid_inside, 9);
}

TEST(what_is_missing_is_no_process)
{
	struct file_reader_process p;

	assert_false(parse("Name:\ta\nUid:\t5\t5\t5\t5\n", STAT, &p));
	assert_false(parse("Name:\ta\nNSpid:\t9\n", STAT, &p));
	assert_false(parse("Name:\ta\nUid:\t5\t5\t5\t5\nNSpid:\t\n", STAT, &p));
	assert_false(parse("Name:\ta\nUid:\t5\t5\t5\t5\nNSpid:\t9\n", "17 (a) S 1 2", &p));
	assert_false(parse("Name:\ta\nUid:\t5\t5\t5\t5\nNSpid:\t9\n", "", &p));
}

TEST(names_are_requested_while_they_are_used_ever_less_often_up_to_once_a_second)
{
	struct jit_space s = {.pid = 1};

	assert_false(jit_space_is_request_due(&s, true));
	s.is_used = true;
	assert_true(jit_space_is_request_due(&s, false));
	jit_space_set_requested(&s);
	assert_false(jit_space_is_request_due(&s, true));
	s.is_used = true;
	assert_int_equal(s.pause, JIT_SPACE_FIRST_NS);
	s.pause = 100 * S;
	assert_false(jit_space_is_request_due(&s, false));
	assert_true(jit_space_is_request_due(&s, true));
	s.requested -= 100 * S;
	s.pause = JIT_SPACE_FIRST_NS;
	assert_true(jit_space_is_request_due(&s, false));
	for (int i = 0; i < 10; i++)
		jit_space_set_requested(&s);
	assert_int_equal(s.pause, JIT_SPACE_REQUEST_NS);
}

TEST(names_are_requested_once_more_when_the_process_has_ended)
{
	struct jit_space s = {.pid = getpid()};

	assert_true(jit_space_read_process(&s, "/proc"));
	jit_space_set_requested(&s);
	jit_space_end(&s);
	assert_true(jit_space_is_request_due(&s, false));
	assert_true(jit_space_read_process(&s, "/nowhere"));
	assert_true(s.process.has_ended && s.process.pid == getpid());
	s = (struct jit_space){.pid = getpid()};
	jit_space_end(&s); /* the process with this pid is another one now */
	assert_false(jit_space_read_process(&s, "/proc"));
}

TEST(new_names_make_a_version_and_names_that_moved_another)
{
	struct jit_space s = {.pid = 1};
	struct file_answer a = {.file = 7, .n = 10};

	jit_space_handle_answer(&s, &a);
	assert_int_equal(s.version, 1);
	assert_int_equal(s.reader_file, 7);
	jit_space_handle_answer(&s, &a);
	assert_int_equal(s.version, 1);
	assert_int_equal(s.moved, 0);
	a.has_moved = 1;
	jit_space_handle_answer(&s, &a);
	assert_int_equal(s.version, 2);
	assert_int_equal(s.moved, 2);
	a.result = -ENOENT;
	jit_space_handle_answer(&s, &a);
	assert_int_equal(s.version, 2);
}
