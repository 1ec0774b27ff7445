/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "unit/test.h"
#include "base/core/mem.h"
#include "service/trace/trace_events.h"

TEST(events_keep_their_order)
{
	struct lifecycle l = {0};

	lifecycle_add(&l, LIFECYCLE_TRACING_STARTED, 10);
	lifecycle_add(&l, LIFECYCLE_FLUSH_STARTED, 20);
	lifecycle_add(&l, LIFECYCLE_ALL_STARTED, 30);
	assert_int_equal(l.n, 3);
	assert_int_equal(l.events[0].kind, LIFECYCLE_TRACING_STARTED);
	assert_int_equal(l.events[1].kind, LIFECYCLE_FLUSH_STARTED);
	assert_int_equal(l.events[2].boot_ns, 30);
}

TEST(newest_of_a_kind_is_kept)
{
	struct lifecycle l = {0};

	lifecycle_add(&l, LIFECYCLE_ALL_STARTED, 10);
	lifecycle_add(&l, LIFECYCLE_TRACING_STARTED, 20);
	lifecycle_add(&l, LIFECYCLE_ALL_STARTED, 30);
	assert_int_equal(l.n, 2);
	assert_int_equal(l.events[0].kind, LIFECYCLE_TRACING_STARTED);
	assert_int_equal(l.events[1].kind, LIFECYCLE_ALL_STARTED);
	assert_int_equal(l.events[1].boot_ns, 30);
}

TEST(flushes_keep_64_of_each)
{
	struct lifecycle l = {0};

	for (uint64_t i = 0; i < 200; i++) {
		lifecycle_add(&l, LIFECYCLE_FLUSH_STARTED, 2 * i);
		lifecycle_add(&l, LIFECYCLE_ALL_FLUSHED, 2 * i + 1);
	}
	assert_int_equal(l.n, 128);
	for (size_t i = 0; i < l.n; i++)
		assert_int_equal(l.events[i].boot_ns, 272 + i);
}

TEST(all_kinds_at_their_most_fit)
{
	static const enum lifecycle_kind kinds[] = {
		LIFECYCLE_ALL_STARTED,	  LIFECYCLE_TRACING_STARTED,  LIFECYCLE_ALL_FLUSHED,
		LIFECYCLE_READ_COMPLETED, LIFECYCLE_TRACING_DISABLED, LIFECYCLE_FLUSH_STARTED,
		LIFECYCLE_CLONE_STARTED,  LIFECYCLE_BUFFER_CLONED,
	};
	struct lifecycle l = {0};

	for (uint64_t i = 0; i < 1000; i++) {
		for (size_t k = 0; k < ARRAY_SIZE(kinds); k++)
			lifecycle_add(&l, kinds[k], i);
		lifecycle_add_sources(&l, LIFECYCLE_SLOW_STARTING, i, "a", 1);
		lifecycle_add_sources(&l, LIFECYCLE_SLOW_FLUSH, i, "b", 1);
	}
	assert_int_equal(l.n, LIFECYCLE_MAX);
	lifecycle_deinit(&l);
}

TEST(slow_sources_are_replaced)
{
	const struct slow_sources *s;
	struct lifecycle l = {0};

	lifecycle_add_sources(&l, LIFECYCLE_SLOW_FLUSH, 1, "first", 5);
	lifecycle_add_sources(&l, LIFECYCLE_SLOW_FLUSH, 2, "2nd", 3);
	lifecycle_add_sources(&l, LIFECYCLE_SLOW_STARTING, 3, "other", 5);
	assert_int_equal(l.n, 2);
	s = lifecycle_sources(&l, LIFECYCLE_SLOW_FLUSH);
	assert_int_equal(s->len, 3);
	assert_memory_equal(s->bytes, "2nd", 3);
	assert_null(lifecycle_sources(&l, LIFECYCLE_FLUSH_STARTED));
	lifecycle_deinit(&l);
}

TEST(removed_kind_is_gone_with_its_sources)
{
	struct lifecycle l = {0};

	lifecycle_add(&l, LIFECYCLE_FLUSH_STARTED, 1);
	lifecycle_add_sources(&l, LIFECYCLE_SLOW_FLUSH, 2, "x", 1);
	lifecycle_add(&l, LIFECYCLE_FLUSH_STARTED, 3);
	lifecycle_remove(&l, LIFECYCLE_SLOW_FLUSH);
	assert_int_equal(l.n, 2);
	assert_null(lifecycle_sources(&l, LIFECYCLE_SLOW_FLUSH)->bytes);
	lifecycle_remove(&l, LIFECYCLE_FLUSH_STARTED);
	assert_int_equal(l.n, 0);
	lifecycle_remove(&l, LIFECYCLE_FLUSH_STARTED);
}

TEST(clear_forgets_all)
{
	struct lifecycle l = {0};

	lifecycle_add(&l, LIFECYCLE_FLUSH_STARTED, 1);
	lifecycle_add_sources(&l, LIFECYCLE_SLOW_STARTING, 2, "x", 1);
	lifecycle_clear(&l);
	assert_int_equal(l.n, 0);
	assert_null(lifecycle_sources(&l, LIFECYCLE_SLOW_STARTING)->bytes);
}

TEST(late_event_goes_to_its_place)
{
	struct lifecycle l = {0};

	lifecycle_add(&l, LIFECYCLE_TRACING_STARTED, 10);
	lifecycle_add(&l, LIFECYCLE_ALL_STARTED, 30);
	lifecycle_add_value(&l, LIFECYCLE_BUFFER_CLONED, 20, 7);
	lifecycle_add_value(&l, LIFECYCLE_BUFFER_CLONED, 20, 8);
	assert_int_equal(l.n, 4);
	assert_int_equal(l.events[1].value, 7);
	assert_int_equal(l.events[2].value, 8);
	assert_int_equal(l.events[3].kind, LIFECYCLE_ALL_STARTED);
	assert_int_equal(l.events[3].value, 1);
}

TEST(copy_is_its_own)
{
	struct lifecycle l = {0}, copy = {0};

	lifecycle_add(&l, LIFECYCLE_TRACING_STARTED, 10);
	lifecycle_add_sources(&l, LIFECYCLE_SLOW_FLUSH, 20, "abc", 3);
	assert_int_equal(lifecycle_copy(&l, &copy), 0);
	lifecycle_deinit(&l);
	assert_int_equal(copy.n, 2);
	assert_int_equal(copy.events[1].boot_ns, 20);
	assert_memory_equal(lifecycle_sources(&copy, LIFECYCLE_SLOW_FLUSH)->bytes, "abc", 3);
	assert_null(lifecycle_sources(&copy, LIFECYCLE_SLOW_STARTING)->bytes);
	lifecycle_deinit(&copy);
}
