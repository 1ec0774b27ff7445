/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>

#include "client/producer/session_feed.h"

static const struct feed_news news;

struct ear {
	struct session_feed *feed;
	uint64_t session_id;
	int heard;
	int leaves; /* unlistens itself when it hears */
};

static void on_news(void *ctx, const struct feed_news *n)
{
	struct ear *e = ctx;

	assert_ptr_equal(n, &news);
	e->heard++;
	if (e->leaves)
		session_feed_unlisten(e->feed, e->session_id, e);
}

static void listeners_hear_their_own_session_only(void **state)
{
	struct session_feed *f = session_feed_new();
	struct ear a = {0}, b = {0}, c = {0};

	(void)state;
	assert_false(session_feed_wanted(f, 1));
	session_feed_tell(f, 1, &news);
	assert_int_equal(session_feed_listen(f, 1, FEED_TASKS, on_news, &a), 0);
	assert_int_equal(session_feed_listen(f, 1, FEED_TASKS, on_news, &b), 0);
	assert_int_equal(session_feed_listen(f, 2, FEED_TASKS, on_news, &c), 0);
	assert_true(session_feed_wanted(f, 1));
	assert_true(session_feed_wanted(f, 2));
	assert_false(session_feed_wanted(f, 3));
	session_feed_tell(f, 1, &news);
	assert_int_equal(a.heard + b.heard * 10 + c.heard * 100, 11);
	session_feed_tell(f, 2, &news);
	session_feed_tell(f, 3, &news);
	assert_int_equal(a.heard + b.heard * 10 + c.heard * 100, 111);
	session_feed_unlisten(f, 1, &a);
	session_feed_unlisten(f, 1, &a);
	session_feed_unlisten(f, 2, &b); /* not there */
	session_feed_tell(f, 1, &news);
	assert_int_equal(a.heard + b.heard * 10 + c.heard * 100, 121);
	session_feed_unlisten(f, 1, &b);
	session_feed_unlisten(f, 2, &c);
	assert_false(session_feed_wanted(f, 1));
	assert_null(session_feed_free(f));
	assert_null(session_feed_free(NULL));
}

static void one_listener_may_follow_several_sessions(void **state)
{
	struct session_feed *f = session_feed_new();
	struct ear a = {0};

	(void)state;
	assert_int_equal(session_feed_listen(f, 1, FEED_TASKS, on_news, &a), 0);
	assert_int_equal(session_feed_listen(f, 1, FEED_TASKS, on_news, &a), -EEXIST);
	assert_int_equal(session_feed_listen(f, 2, FEED_TASKS, on_news, &a), 0);
	session_feed_tell(f, 1, &news);
	session_feed_tell(f, 2, &news);
	assert_int_equal(a.heard, 2);
	session_feed_unlisten(f, 1, &a);
	session_feed_tell(f, 1, &news);
	session_feed_tell(f, 2, &news);
	assert_int_equal(a.heard, 3);
	session_feed_unlisten(f, 2, &a);
	session_feed_free(f);
}

static void a_listener_may_leave_while_it_hears(void **state)
{
	struct session_feed *f = session_feed_new();
	struct ear ears[3] = {{f, 1, 0, 1}, {f, 1, 0, 0}, {f, 1, 0, 1}};

	(void)state;
	for (int i = 0; i < 3; i++)
		assert_int_equal(session_feed_listen(f, 1, FEED_TASKS, on_news, &ears[i]), 0);
	session_feed_tell(f, 1, &news);
	session_feed_tell(f, 1, &news);
	assert_int_equal(ears[0].heard, 1);
	assert_int_equal(ears[1].heard, 2);
	assert_int_equal(ears[2].heard, 1);
	session_feed_unlisten(f, 1, &ears[1]);
	session_feed_free(f);
}

static void what_listeners_want(void **state)
{
	struct session_feed *f = session_feed_new();
	struct ear a = {0}, b = {0};

	(void)state;
	assert_int_equal(session_feed_wanted(f, 1), 0);
	assert_int_equal(session_feed_listen(f, 1, FEED_TASKS, on_news, &a), 0);
	assert_int_equal(session_feed_wanted(f, 1), FEED_TASKS);
	assert_int_equal(session_feed_listen(f, 1, FEED_FDS, on_news, &b), 0);
	assert_int_equal(session_feed_wanted(f, 1), FEED_TASKS | FEED_FDS);
	assert_int_equal(session_feed_wanted(f, 2), 0);
	session_feed_unlisten(f, 1, &a);
	assert_int_equal(session_feed_wanted(f, 1), FEED_FDS);
	session_feed_unlisten(f, 1, &b);
	session_feed_free(f);
}

static void count_calls(void *ctx, const struct feed_news *n)
{
	assert_int_equal(n->n_tasks + n->n_tids + n->n_fds, 0);
	++*(int *)ctx;
}

static void tellers_say_for_how_long(void **state)
{
	struct session_feed *f = session_feed_new();
	int teller, other, calls = 0;

	(void)state;
	assert_int_equal(session_feed_listen(f, 1, FEED_TASKS, count_calls, &calls), 0);
	assert_false(session_feed_has_teller(f, 1));
	session_feed_leave(f, 1, &teller); /* not there */
	session_feed_owe(f, 1, &teller, true);
	assert_false(session_feed_is_owed(f, 1));
	assert_int_equal(session_feed_join(f, 1, &teller), 0);
	assert_int_equal(session_feed_join(f, 1, &teller), -EEXIST);
	assert_int_equal(session_feed_join(f, 1, &other), 0);
	assert_true(session_feed_has_teller(f, 1));
	assert_false(session_feed_has_teller(f, 2));
	session_feed_promise(f, 2, &teller, FEED_TASKS); /* not there */
	assert_int_equal(session_feed_promised(f, 1) | session_feed_promised(f, 2), 0);
	session_feed_promise(f, 1, &other, FEED_TASKS);
	assert_int_equal(session_feed_promised(f, 1), FEED_TASKS);
	assert_int_equal(session_feed_promised(f, 2), 0);
	assert_int_equal(calls, 0);

	session_feed_owe(f, 1, &teller, true);
	session_feed_owe(f, 1, &teller, true);
	session_feed_owe(f, 1, &other, true);
	assert_true(session_feed_is_owed(f, 1));
	assert_false(session_feed_is_owed(f, 2));
	assert_int_equal(calls, 0);
	session_feed_owe(f, 1, &teller, false);
	session_feed_owe(f, 1, &teller, false);
	assert_int_equal(calls, 1);
	assert_true(session_feed_is_owed(f, 1));
	session_feed_leave(f, 1, &other);
	assert_int_equal(calls, 2);
	assert_int_equal(session_feed_promised(f, 1), 0);
	assert_false(session_feed_is_owed(f, 1));
	assert_true(session_feed_has_teller(f, 1));
	session_feed_leave(f, 1, &teller);
	assert_int_equal(calls, 3);
	assert_false(session_feed_has_teller(f, 1));
	session_feed_unlisten(f, 1, &calls);
	session_feed_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(listeners_hear_their_own_session_only),
		cmocka_unit_test(one_listener_may_follow_several_sessions),
		cmocka_unit_test(a_listener_may_leave_while_it_hears),
		cmocka_unit_test(what_listeners_want),
		cmocka_unit_test(tellers_say_for_how_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
