/* SPDX-License-Identifier: Apache-2.0 */
/* Unwind rows in the answers of the process that parses files, which may have been taken over. */
#include <event2/event.h>
#include <sys/socket.h>

#include "base/system/helper_process.h"
#include "stacks/files/file_reader.h"
#include "unit/test.h"

static int parser = -1; /* the other end of the reader's socket */

int helper_process_start(const char *name, void (*run)(int fd, void *ctx), void *ctx, int keep_fd,
			 struct helper_process *ret)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) < 0)
		return -errno;
	*ret = (struct helper_process){.fd = pair[0]};
	if (strcmp(name, "sonda-elf") == 0)
		parser = pair[1];
	else
		close(pair[1]);
	return 0;
}

static struct event_base *loop;
static struct file_reader_user user;
static unsigned n_answers;
static bool has_given_up;

static void on_answer(void *ctx, const struct file_answer *a)
{
	has_given_up |= a->kind == FILE_REQUEST_FORGET;
	n_answers += a->kind == FILE_REQUEST_ROWS;
}

static int setup(void **state)
{
	loop = event_base_new();
	n_answers = 0;
	has_given_up = false;
	user = (struct file_reader_user){.answered = on_answer};
	return file_reader_start() < 0 || file_reader_join(&user, loop) < 0 ? -1 : 0;
}

static int teardown(void **state)
{
	file_reader_leave(&user);
	event_base_free(loop);
	closep(&parser);
	return 0;
}

/* The answers to a request for rows: two rules, and five rows in two answers. */
struct answers {
	struct file_answer rules, rows[2];
};

static struct answers *good_answers(void)
{
	static struct answers a;

	memset(&a, 0, sizeof(a));
	a.rules = (struct file_answer){
		.kind = FILE_REQUEST_ROWS, .user = user.number, .id = 9, .has_more = 1, .n = 2};
	a.rules.rules.head.n_rows = 5;
	a.rows[0] = a.rows[1] = a.rules;
	a.rows[0].n = 3;
	a.rows[1].n = 2;
	a.rows[1].has_more = 0;
	memset(a.rows[0].body, 0, sizeof(a.rows[0].body));
	memset(a.rows[1].body, 0, sizeof(a.rows[1].body));
	for (uint32_t i = 0; i < 5; i++)
		a.rows[i >= 3].rows[i >= 3 ? i - 3 : i] = (struct unwind_row){
			.address = i, .rule = (uint16_t)(UNWIND_RULES_FIRST + i % 2)};
	return &a;
}

static void give(struct file_answer *a, size_t n_bytes)
{
	a->n_bytes = (uint32_t)n_bytes;
	(void)!send(parser, a, FILE_ANSWER_HEAD + n_bytes, MSG_NOSIGNAL);
	event_base_loop(loop, EVLOOP_NONBLOCK);
}

static void give_all(struct answers *a)
{
	give(&a->rules, sizeof(struct file_rows) + a->rules.n * sizeof(struct unwind_rule));
	for (int i = 0; i < 2 && !has_given_up; i++)
		give(&a->rows[i], a->rows[i].n * sizeof(struct unwind_row));
}

TEST_WITH(rows_are_passed_on_in_parts, setup, teardown)
{
	give_all(good_answers());
	give_all(good_answers());
	assert_int_equal(n_answers, 6);
	assert_false(has_given_up);
}

TEST_WITH(a_file_without_rows_and_one_that_cannot_be_read_have_one_answer, setup, teardown)
{
	struct answers *a = good_answers();

	a->rules.has_more = a->rules.n = 0;
	a->rules.rules.head.n_rows = 0;
	give(&a->rules, sizeof(struct file_rows));
	a->rules.result = -ENOENT;
	give(&a->rules, 0);
	assert_int_equal(n_answers, 2);
	assert_false(has_given_up);
}

/* After the change the reader must give up, before the last answer has come. */
#define REFUSED(name, ...)                                                                         \
	TEST_WITH(name, setup, teardown)                                                           \
	{                                                                                          \
		struct answers *a = good_answers();                                                \
                                                                                                   \
		__VA_ARGS__;                                                                       \
		give_all(a);                                                                       \
		assert_true(has_given_up);                                                         \
		assert_true(n_answers < 3);                                                        \
	}

REFUSED(a_rule_that_does_not_exist_is_refused, a->rows[0].rows[1].rule = UNWIND_RULES_FIRST + 2)
REFUSED(an_unknown_base_is_refused, a->rules.rules.rules[1].base = UNWIND_BASE_PLT + 1)
REFUSED(an_unknown_place_of_the_frame_pointer_is_refused, a->rules.rules.rules[1].fp = 7)
REFUSED(addresses_that_repeat_are_refused, a->rows[0].rows[2].address = 1)
REFUSED(addresses_that_go_back_in_the_next_part_are_refused, a->rows[1].rows[0].address = 2)
REFUSED(too_many_rows_are_refused, a->rules.rules.head.n_rows = 4)
REFUSED(rows_above_the_limit_are_refused, a->rules.rules.head.n_rows = EH_ROWS_MAX + 1)
REFUSED(too_few_rows_are_refused, a->rules.rules.head.n_rows = 6)
REFUSED(an_end_too_early_is_refused, a->rows[0].has_more = 0)
REFUSED(an_empty_part_is_refused, a->rows[0].n = 0)
REFUSED(an_error_between_the_parts_is_refused, a->rows[1].result = -EIO)
REFUSED(a_part_for_another_request_is_refused, a->rows[1].id = 10)
REFUSED(another_answer_between_the_parts_is_refused, a->rows[1].kind = FILE_REQUEST_NAMES)
REFUSED(parts_without_rows_are_refused, a->rules.rules.head.n_rows = 0)
