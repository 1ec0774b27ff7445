// SPDX-License-Identifier: Apache-2.0
#include "unit/ftrace/fake_tracefs.h"
#include "ftrace/ring/cpu_reader.c"

static struct cpu_presence p;

static void put(const char *list)
{
	fake_text("devices/system/cpu/present", list);
}

FOLDER_TEST(test_lists)
{
	static const struct {
		const char *list;
		uint32_t in[4], out[4];
	} lists[] = {
		{"0-1\n", {0, 1, 1, 1}, {2, 3, 10, UINT32_MAX}},
		{"0\n", {0, 0, 0, 0}, {1, 2, 3, 10}},
		{"0-3,8,10-8191\n", {3, 8, 10, 8191}, {4, 7, 9, 8192}},
		{"1,3", {1, 3, 3, 3}, {0, 2, 4, 13}},
		{"5-2,7\n", {7, 7, 7, 7}, {2, 3, 5, 0}}, /* never seen */
		{"nonsense\n", {0, 0, 0, 0}, {0, 1, 2, 3}},
		{",", {0, 0, 0, 0}, {0, 1, 2, 3}},
	};

	for (unsigned i = 0; i < ARRAY_SIZE(lists); i++) {
		put(lists[i].list);
		assert_true(cpu_presence_read(&p, fake_root));
		for (unsigned n = 0; n < 4; n++) {
			if (i < 5)
				assert_true(cpu_presence_has(&p, lists[i].in[n]));
			assert_false(cpu_presence_has(&p, lists[i].out[n]));
		}
	}
}

FOLDER_TEST(test_changes)
{
	p = (struct cpu_presence){0};
	put("0-1\n");
	assert_true(cpu_presence_read(&p, fake_root));
	assert_false(cpu_presence_read(&p, fake_root));
	put("0-2\n");
	assert_true(cpu_presence_read(&p, fake_root));
	assert_true(cpu_presence_has(&p, 2));
	assert_false(cpu_presence_read(&p, fake_root));
}

FOLDER_TEST(test_a_system_that_does_not_tell)
{
	p = (struct cpu_presence){0};
	assert_false(cpu_presence_read(&p, "/nowhere"));
	assert_true(cpu_presence_has(&p, 0));
	assert_true(cpu_presence_has(&p, 8000));
}

FOLDER_TEST(test_a_list_longer_than_a_page)
{
	char text[8192];
	size_t n = 0;

	for (unsigned i = 0; n < sizeof(text) - 10; i += 2)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%u,", i);
	put(text);
	assert_true(cpu_presence_read(&p, fake_root));
	assert_true(cpu_presence_has(&p, 100));
	assert_false(cpu_presence_has(&p, 101));
	assert_false(cpu_presence_has(&p, 100000));
}
