// SPDX-License-Identifier: Apache-2.0
/* What the kernel itself does with filters is in tests/root/test_filters.sh. */

#include "ftrace/tracefs/filter_file.c"
#include "unit/ftrace/setups.h"

static struct err_text e;

SETUP
{
	fake_root_new();
	fake_event("sched/sched_switch");
	setup_begin("");
}

static const char *explain(const char *left, const char *filter)
{
	char *copy = left ? strdup(left) : NULL;

	assert_int_equal(filter_file_explain(copy, filter, -EINVAL, &e), -EINVAL);
	free(copy);
	return e.text;
}

TEST(test_the_kernels_words)
{
	assert_string_equal(explain("prev_pid == 1 && nopid == 5\n"
				    "                       ^\n"
				    "parse_error: Field not found\n",
				    "prev_pid == 1 && nopid == 5"),
			    "Field not found at character 24: prev_pid == 1 && nopid ^== 5");
	assert_string_equal(explain("bad\n^\nparse_error: Invalid operator\n", "bad"),
			    "Invalid operator at character 1: ^bad");
	/* Behind the end, where something is missing. */
	assert_string_equal(explain("a ==\n    ^\nparse_error: Invalid value\n", "a =="),
			    "Invalid value at character 5: a ==^");
	/* The words of the expression are not the kernel's. */
	assert_string_equal(explain("c == \"parse_error: x ^\"\n  ^\nparse_error: No\n",
				    "c == \"parse_error: x ^\""),
			    "No at character 3: c ^== \"parse_error: x ^\"");
}

TEST(test_without_words)
{
	static const char *const texts[] = {
		NULL, "", "\0", "none\n", "a == 1\n", "parse_error", "parse_error:\n"};

	for (unsigned i = 0; i < ARRAY_SIZE(texts); i++)
		assert_string_equal(explain(texts[i], "a == 1"), "Invalid argument: a == 1");
}

TEST(test_an_error_that_the_kernel_has_no_words_for)
{
	assert_string_equal(explain("a ~ \"x\" &&& 1\nError: (0)\n", "a ~ \"x\" &&& 1"),
			    "the kernel cannot parse it and gives no reason: a ~ \"x\" &&& 1");
}

TEST(test_words_of_a_form_never_seen)
{
	assert_string_equal(explain("parse_error: x", "a"), "x at character 1: ^a");
	assert_string_equal(explain("    ^\nparse_error: x\n", "a"), "x at character 2: a^");
	assert_string_equal(explain("\nparse_error: ", "a"), " at character 1: ^a");
	assert_string_equal(explain("a ^ b\nparse_error: x\n", "a"), "x at character 1: ^a");
}

TEARDOWN
{
	setup_remove();
}

FIXTURE_TEST(test_writing)
{
	assert_int_equal(filter_file_write(&instance, "sched", "sched_switch", "a == 1", &e), 0);
	assert_string_equal(fake_written("events/sched/sched_switch/filter"), "a == 1");
	filter_file_clear(&instance, "sched", "sched_switch");
	assert_string_equal(fake_written("events/sched/sched_switch/filter"), "0");

	assert_int_equal(filter_file_write(&instance, "sched", "nope", "a == 1", &e), -ENOENT);
	assert_string_equal(e.text, "the kernel cannot filter this event");
	fake_refusal("events/sched/sched_switch/filter");
	assert_int_equal(filter_file_write(&instance, "sched", "sched_switch", "a == 1", &e),
			 -EISDIR);
	assert_string_equal(e.text, "Is a directory: a == 1");
}

FIXTURE_TEST(test_longer_than_the_kernel_takes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *filter = malloc(page + 1);

	memset(filter, 'a', page);
	filter[page] = '\0';
	assert_int_equal(filter_file_write(&instance, "sched", "sched_switch", filter, &e), -E2BIG);
	assert_non_null(strstr(e.text, "the kernel's limit is"));
	assert_string_equal(fake_written("events/sched/sched_switch/filter"), "");
	filter[page - 1] = '\0';
	assert_int_equal(filter_file_write(&instance, "sched", "sched_switch", filter, &e), 0);
	free(filter);

	filter = malloc(600);
	memset(filter, 'g', 599);
	filter[599] = '\0';
	assert_true(filter_file_write(&instance, filter, filter, "a", &e) < 0);
	free(filter);
}

static void assert_clean(const char *filter, const char *clean)
{
	char *text = filter_clean(filter);

	assert_string_equal(text, clean);
	free(text);
}

TEST(test_one_line_without_blanks_around)
{
	assert_clean("a == 1", "a == 1");
	assert_clean(" \n\ta == 1 &&\n\tb == 2\r\n", "a == 1 &&  b == 2");
	assert_clean(" \n", "");
	assert_clean("", "");
}

TEST(test_what_passes_both)
{
	char *one = filter_both(NULL, "a || b"), *two = filter_both(one, "c");
	char *three = filter_both(two, "d");

	assert_string_equal(one, "a || b");
	assert_string_equal(two, "(a || b) && (c)");
	assert_string_equal(three, "((a || b) && (c)) && (d)");
	free(one);
	free(two);
	free(three);
}
