/* SPDX-License-Identifier: Apache-2.0 */

#include "client/producer/metadata_bus.h"
#include "unit/test.h"

static const struct metadata_batch batch;

struct ear {
	struct metadata_bus *bus;
	uint64_t session_id;
	int heard;
	int leaves; /* unlistens itself when it hears */
};

static void on_news(void *ctx, const struct metadata_batch *n)
{
	struct ear *e = ctx;

	assert_ptr_equal(n, &batch);
	e->heard++;
	if (e->leaves)
		metadata_bus_unsubscribe(e->bus, e->session_id, e);
}

TEST(listeners_hear_their_own_session_only)
{
	struct metadata_bus *f = metadata_bus_new();
	struct ear a = {0}, b = {0}, c = {0};

	assert_false(metadata_bus_has_subscriber(f, 1));
	metadata_bus_publish(f, 1, &batch);
	assert_int_equal(metadata_bus_subscribe(f, 1, on_news, &a), 0);
	assert_int_equal(metadata_bus_subscribe(f, 1, on_news, &b), 0);
	assert_int_equal(metadata_bus_subscribe(f, 2, on_news, &c), 0);
	assert_true(metadata_bus_has_subscriber(f, 1));
	assert_true(metadata_bus_has_subscriber(f, 2));
	assert_false(metadata_bus_has_subscriber(f, 3));
	metadata_bus_publish(f, 1, &batch);
	assert_int_equal(a.heard + b.heard * 10 + c.heard * 100, 11);
	metadata_bus_publish(f, 2, &batch);
	metadata_bus_publish(f, 3, &batch);
	assert_int_equal(a.heard + b.heard * 10 + c.heard * 100, 111);
	metadata_bus_unsubscribe(f, 1, &a);
	metadata_bus_unsubscribe(f, 1, &a);
	metadata_bus_unsubscribe(f, 2, &b); /* not there */
	metadata_bus_publish(f, 1, &batch);
	assert_int_equal(a.heard + b.heard * 10 + c.heard * 100, 121);
	metadata_bus_unsubscribe(f, 1, &b);
	metadata_bus_unsubscribe(f, 2, &c);
	assert_false(metadata_bus_has_subscriber(f, 1));
	assert_null(metadata_bus_free(f));
	assert_null(metadata_bus_free(NULL));
}

TEST(one_listener_may_follow_several_sessions)
{
	struct metadata_bus *f = metadata_bus_new();
	struct ear a = {0};

	assert_int_equal(metadata_bus_subscribe(f, 1, on_news, &a), 0);
	assert_int_equal(metadata_bus_subscribe(f, 1, on_news, &a), -EEXIST);
	assert_int_equal(metadata_bus_subscribe(f, 2, on_news, &a), 0);
	metadata_bus_publish(f, 1, &batch);
	metadata_bus_publish(f, 2, &batch);
	assert_int_equal(a.heard, 2);
	metadata_bus_unsubscribe(f, 1, &a);
	metadata_bus_publish(f, 1, &batch);
	metadata_bus_publish(f, 2, &batch);
	assert_int_equal(a.heard, 3);
	metadata_bus_unsubscribe(f, 2, &a);
	metadata_bus_free(f);
}

TEST(a_listener_may_leave_while_it_hears)
{
	struct metadata_bus *f = metadata_bus_new();
	struct ear ears[3] = {{f, 1, 0, 1}, {f, 1, 0, 0}, {f, 1, 0, 1}};

	for (int i = 0; i < 3; i++)
		assert_int_equal(metadata_bus_subscribe(f, 1, on_news, &ears[i]), 0);
	metadata_bus_publish(f, 1, &batch);
	metadata_bus_publish(f, 1, &batch);
	assert_int_equal(ears[0].heard, 1);
	assert_int_equal(ears[1].heard, 2);
	assert_int_equal(ears[2].heard, 1);
	metadata_bus_unsubscribe(f, 1, &ears[1]);
	metadata_bus_free(f);
}

static void count_calls(void *ctx, const struct metadata_batch *n)
{
	assert_int_equal(n->n_tasks + n->n_tids, 0);
	++*(int *)ctx;
}

TEST(publishers_say_for_how_long)
{
	struct metadata_bus *f = metadata_bus_new();
	int publisher, other, calls = 0;

	assert_int_equal(metadata_bus_subscribe(f, 1, count_calls, &calls), 0);
	assert_false(metadata_bus_has_publisher(f, 1));
	metadata_bus_unregister(f, 1, &publisher); /* not there */
	metadata_bus_set_busy(f, 1, &publisher, true);
	assert_false(metadata_bus_is_busy(f, 1));
	assert_int_equal(metadata_bus_register(f, 1, &publisher), 0);
	assert_int_equal(metadata_bus_register(f, 1, &publisher), -EEXIST);
	assert_int_equal(metadata_bus_register(f, 1, &other), 0);
	assert_true(metadata_bus_has_publisher(f, 1));
	assert_false(metadata_bus_has_publisher(f, 2));
	metadata_bus_set_complete(f, 2, &publisher, true); /* not there */
	assert_false(metadata_bus_is_complete(f, 1) || metadata_bus_is_complete(f, 2));
	metadata_bus_set_complete(f, 1, &other, true);
	assert_true(metadata_bus_is_complete(f, 1));
	assert_false(metadata_bus_is_complete(f, 2));
	assert_int_equal(calls, 1);
	metadata_bus_set_complete(f, 1, &other, true); /* no change */
	assert_int_equal(calls, 1);
	calls = 0;
	/* What the other one has published lacks some. */
	metadata_bus_set_published_until(f, 1, &publisher, 200);
	assert_int_equal(metadata_bus_published_until(f, 1, true), 0);
	metadata_bus_set_published_until(f, 1, &other, 100);
	metadata_bus_set_published_until(f, 2, &other, 300); /* not there */
	assert_int_equal(metadata_bus_published_until(f, 1, true), 100);
	assert_int_equal(metadata_bus_published_until(f, 2, true), 0);
	assert_int_equal(calls, 0);

	metadata_bus_set_busy(f, 1, &publisher, true);
	metadata_bus_set_busy(f, 1, &publisher, true);
	metadata_bus_set_busy(f, 1, &other, true);
	assert_true(metadata_bus_is_busy(f, 1));
	assert_false(metadata_bus_is_busy(f, 2));
	assert_int_equal(calls, 0);
	metadata_bus_set_busy(f, 1, &publisher, false);
	metadata_bus_set_busy(f, 1, &publisher, false);
	assert_int_equal(calls, 1);
	assert_true(metadata_bus_is_busy(f, 1));
	metadata_bus_unregister(f, 1, &other);
	assert_int_equal(calls, 2);
	assert_false(metadata_bus_is_complete(f, 1));
	assert_false(metadata_bus_is_busy(f, 1));
	assert_true(metadata_bus_has_publisher(f, 1));
	metadata_bus_unregister(f, 1, &publisher);
	assert_int_equal(calls, 3);
	assert_false(metadata_bus_has_publisher(f, 1));
	metadata_bus_unsubscribe(f, 1, &calls);
	metadata_bus_free(f);
}
