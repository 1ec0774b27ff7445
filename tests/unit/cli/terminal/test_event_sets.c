// SPDX-License-Identifier: Apache-2.0
#include "unit/test.h"
#include "cli/terminal/event_patterns.c"

TEST(test_words)
{
	const char *const *sched = event_set_find("sched", 5);
	size_t n = 0;

	assert_non_null(sched);
	while (sched[n])
		n++;
	assert_int_equal(n, 9);
	assert_string_equal(sched[0], "sched/sched_switch");
	assert_string_equal(event_set_find("idle,irq", 4)[0], "power/cpu_idle");
	assert_null(event_set_find("idle,irq", 8));
	assert_null(event_set_find("sche", 4));
	assert_null(event_set_find("scheds", 6));
	assert_null(event_set_find("", 0));
}

/* Each is a request that a producer of any family takes. */
TEST(test_requests)
{
	static const char *const words[] = {"sched", "irq",   "freq",	    "idle",
					    "disk",  "workq", "memreclaim", "pagecache"};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		const char *const *r = event_set_find(words[i], strlen(words[i]));

		assert_non_null(r);
		assert_non_null(*r);
		for (; *r; r++) {
			const char *slash = strchr(*r, '/');

			assert_true(slash && slash > *r && slash[1]);
			assert_true(!strpbrk(*r, "*?[") || !strcmp(slash, "/*"));
		}
	}
}
