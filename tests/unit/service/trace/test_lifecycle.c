/* SPDX-License-Identifier: Apache-2.0 */

#include "service/trace/trace_events.h"
#include "unit/test.h"

TEST(newest_of_a_kind_is_kept)
{
	struct service_events l = {0};

	service_events_add(&l, SERVICE_EVENT_ALL_STARTED, 10);
	service_events_add(&l, SERVICE_EVENT_TRACING_STARTED, 20);
	service_events_add(&l, SERVICE_EVENT_ALL_STARTED, 30);
	assert_int_equal(l.n, 2);
	assert_int_equal(l.events[0].kind, SERVICE_EVENT_TRACING_STARTED);
	assert_int_equal(l.events[1].kind, SERVICE_EVENT_ALL_STARTED);
	assert_int_equal(l.events[1].boot_ns, 30);
}

TEST(flushes_keep_64_of_each)
{
	struct service_events l = {0};

	for (uint64_t i = 0; i < 200; i++) {
		service_events_add(&l, SERVICE_EVENT_FLUSH_STARTED, 2 * i);
		service_events_add(&l, SERVICE_EVENT_ALL_FLUSHED, 2 * i + 1);
	}
	assert_int_equal(l.n, 128);
	for (size_t i = 0; i < l.n; i++)
		assert_int_equal(l.events[i].boot_ns, 272 + i);
}

TEST(all_kinds_at_their_most_fit)
{
	static const enum service_event_kind kinds[] = {
		SERVICE_EVENT_ALL_STARTED,	SERVICE_EVENT_TRACING_STARTED,
		SERVICE_EVENT_ALL_FLUSHED,	SERVICE_EVENT_READ_COMPLETED,
		SERVICE_EVENT_TRACING_DISABLED, SERVICE_EVENT_FLUSH_STARTED,
		SERVICE_EVENT_CLONE_STARTED,	SERVICE_EVENT_BUFFER_CLONED,
	};
	struct service_events l = {0};

	for (uint64_t i = 0; i < 1000; i++) {
		for (size_t k = 0; k < ARRAY_SIZE(kinds); k++)
			service_events_add(&l, kinds[k], i);
		service_events_add_sources(&l, SERVICE_EVENT_SLOW_STARTING, i, "a", 1);
		service_events_add_sources(&l, SERVICE_EVENT_SLOW_FLUSH, i, "b", 1);
	}
	assert_int_equal(l.n, SERVICE_EVENT_MAX);
	service_events_deinit(&l);
}

TEST(slow_sources_are_replaced)
{
	const struct slow_sources *s;
	struct service_events l = {0};

	service_events_add_sources(&l, SERVICE_EVENT_SLOW_FLUSH, 1, "first", 5);
	service_events_add_sources(&l, SERVICE_EVENT_SLOW_FLUSH, 2, "2nd", 3);
	service_events_add_sources(&l, SERVICE_EVENT_SLOW_STARTING, 3, "other", 5);
	assert_int_equal(l.n, 2);
	s = service_events_get_sources(&l, SERVICE_EVENT_SLOW_FLUSH);
	assert_int_equal(s->len, 3);
	assert_memory_equal(s->bytes, "2nd", 3);
	assert_null(service_events_get_sources(&l, SERVICE_EVENT_FLUSH_STARTED));
	service_events_deinit(&l);
}

TEST(removed_kind_is_gone_with_its_sources)
{
	struct service_events l = {0};

	service_events_add(&l, SERVICE_EVENT_FLUSH_STARTED, 1);
	service_events_add_sources(&l, SERVICE_EVENT_SLOW_FLUSH, 2, "x", 1);
	service_events_add(&l, SERVICE_EVENT_FLUSH_STARTED, 3);
	service_events_remove(&l, SERVICE_EVENT_SLOW_FLUSH);
	assert_int_equal(l.n, 2);
	assert_null(service_events_get_sources(&l, SERVICE_EVENT_SLOW_FLUSH)->bytes);
	service_events_remove(&l, SERVICE_EVENT_FLUSH_STARTED);
	assert_int_equal(l.n, 0);
	service_events_remove(&l, SERVICE_EVENT_FLUSH_STARTED);
}

TEST(late_event_goes_to_its_place)
{
	struct service_events l = {0};

	service_events_add(&l, SERVICE_EVENT_TRACING_STARTED, 10);
	service_events_add(&l, SERVICE_EVENT_ALL_STARTED, 30);
	service_events_add_value(&l, SERVICE_EVENT_BUFFER_CLONED, 20, 7);
	service_events_add_value(&l, SERVICE_EVENT_BUFFER_CLONED, 20, 8);
	assert_int_equal(l.n, 4);
	assert_int_equal(l.events[1].value, 7);
	assert_int_equal(l.events[2].value, 8);
	assert_int_equal(l.events[3].kind, SERVICE_EVENT_ALL_STARTED);
	assert_int_equal(l.events[3].value, 1);
}

TEST(copy_is_its_own)
{
	struct service_events l = {0}, copy = {0};

	service_events_add(&l, SERVICE_EVENT_TRACING_STARTED, 10);
	service_events_add_sources(&l, SERVICE_EVENT_SLOW_FLUSH, 20, "abc", 3);
	assert_int_equal(service_events_copy(&l, &copy), 0);
	service_events_deinit(&l);
	assert_int_equal(copy.n, 2);
	assert_int_equal(copy.events[1].boot_ns, 20);
	assert_memory_equal(service_events_get_sources(&copy, SERVICE_EVENT_SLOW_FLUSH)->bytes,
			    "abc", 3);
	assert_null(service_events_get_sources(&copy, SERVICE_EVENT_SLOW_STARTING)->bytes);
	service_events_deinit(&copy);
}
