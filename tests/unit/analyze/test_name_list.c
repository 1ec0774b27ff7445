/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/name_list.h"
#include "unit/test.h"

static void add(struct name_list *l, const char *s)
{
	name_list_add(l, (const uint8_t *)s, strlen(s));
}

TEST(test_a_name_stands_once_in_the_order_it_came)
{
	struct name_list l = {0};

	add(&l, "b/2");
	add(&l, "a/1");
	add(&l, "b/2");
	assert_int_equal(l.n, 2);
	assert_string_equal(l.names[0], "b/2");
	assert_string_equal(l.names[1], "a/1");
	assert_true(name_list_has(&l, "a/1"));
	assert_false(name_list_has(&l, "a"));
	name_list_deinit(&l);
}

TEST(test_names_of_a_trace_cannot_talk_to_the_terminal)
{
	static const uint8_t hostile[] = {'a', 0, 0x1b, '[', '2', 'J', 0x7f, '\n', 0xc3, 0xa9};
	struct name_list l = {0};

	name_list_add(&l, hostile, sizeof(hostile));
	assert_string_equal(l.names[0], "a??[2J??\xc3\xa9");
	name_list_deinit(&l);
}

TEST(test_a_text_keeps_its_lines)
{
	static const char text[] = "no field\n  a == \t\033\n  ^";
	struct name_list l = {0};
	uint8_t big[NAME_LIST_MAX_TEXT + 10];

	name_list_add_text(&l, (const uint8_t *)text, strlen(text));
	assert_string_equal(l.names[0], "no field\n  a == \t?\n  ^");
	memset(big, 'x', sizeof(big));
	name_list_add_text(&l, big, sizeof(big));
	assert_int_equal(strlen(l.names[1]), NAME_LIST_MAX_TEXT);
	name_list_deinit(&l);
}

TEST(test_length_and_number_have_limits)
{
	struct name_list l = {0};
	uint8_t big[NAME_LIST_MAX_LEN + 10];
	char name[16];
	int i;

	memset(big, 'x', sizeof(big));
	name_list_add(&l, big, sizeof(big));
	name_list_add(&l, big, sizeof(big) - 1); /* the same when cut */
	assert_int_equal(l.n, 1);
	assert_int_equal(strlen(l.names[0]), NAME_LIST_MAX_LEN);
	for (i = 1; i < NAME_LIST_MAX + 3; i++) {
		snprintf(name, sizeof(name), "e%d", i);
		add(&l, name);
	}
	assert_int_equal(l.n, NAME_LIST_MAX);
	assert_int_equal(l.left_out, 3);
	name_list_deinit(&l);
	assert_int_equal(l.n, 0);
}
