/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernel itself does with filters is in tests/root/test_filters.sh. */

#include <sys/syscall.h>

#include "ftrace/tracefs/filter_file.h"
#include "unit/ftrace/setups.h"

static struct err_text e;

/* Takes the place of write(2): refuses filters, and puts these words into the file as the kernel
 * does. */
static const char *refusal;

ssize_t write(int fd, const void *data, size_t len)
{
	if (!refusal)
		return syscall(SYS_write, fd, data, len);
	(void)syscall(SYS_write, fd, refusal, strlen(refusal));
	errno = EINVAL;
	return -1;
}

SETUP
{
	fake_root_new();
	fake_event("sched/sched_switch");
	setup_begin("");
}

TEARDOWN
{
	setup_remove();
}

FIXTURE_TEST(the_reasons_of_the_kernel)
{
	static const struct {
		const char *filter, *left, *want;
	} rows[] = {
		{"prev_pid == 1 && nopid == 5",
		 "prev_pid == 1 && nopid == 5\n                       ^\n"
		 "parse_error: Field not found\n",
		 "Field not found at character 24: prev_pid == 1 && nopid ^== 5"},
		{"bad", "bad\n^\nparse_error: Invalid operator\n",
		 "Invalid operator at character 1: ^bad"},
		/* Behind the end, where something is missing. */
		{"a ==", "a ==\n    ^\nparse_error: Invalid value\n",
		 "Invalid value at character 5: a ==^"},
		/* The expression may have the same words. */
		{"c == \"parse_error: x ^\"", "c == \"parse_error: x ^\"\n  ^\nparse_error: No\n",
		 "No at character 3: c ^== \"parse_error: x ^\""},
		{"a ~ \"x\" &&& 1", "a ~ \"x\" &&& 1\nError: (0)\n",
		 "the kernel rejected the filter without giving a reason: a ~ \"x\" &&& 1"},
		/* No reason. */
		{"a == 1", "", "Invalid argument: a == 1"},
		{"a == 1", "none\n", "Invalid argument: a == 1"},
		{"a == 1", "a == 1\n", "Invalid argument: a == 1"},
		{"a == 1", "parse_error", "Invalid argument: a == 1"},
		{"a == 1", "parse_error:\n", "Invalid argument: a == 1"},
		/* Forms that no kernel has. */
		{"a", "parse_error: x", "x at character 1: ^a"},
		{"a", "    ^\nparse_error: x\n", "x at character 2: a^"},
		{"a", "\nparse_error: ", " at character 1: ^a"},
		{"a", "a ^ b\nparse_error: x\n", "x at character 1: ^a"},
	};

	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		refusal = rows[i].left;
		assert_int_equal(
			filter_file_write(&instance, "sched", "sched_switch", rows[i].filter, &e),
			-EINVAL);
		refusal = NULL;
		assert_string_equal(e.text, rows[i].want);
	}
}

FIXTURE_TEST(writing)
{
	assert_int_equal(filter_file_write(&instance, "sched", "sched_switch", "a == 1", &e), 0);
	assert_string_equal(fake_written("events/sched/sched_switch/filter"), "a == 1");
	filter_file_clear(&instance, "sched", "sched_switch");
	assert_string_equal(fake_written("events/sched/sched_switch/filter"), "0");

	assert_int_equal(filter_file_write(&instance, "sched", "nope", "a == 1", &e), -ENOENT);
	assert_string_equal(e.text, "this event cannot be filtered");
	fake_refusal("events/sched/sched_switch/filter");
	assert_int_equal(filter_file_write(&instance, "sched", "sched_switch", "a == 1", &e),
			 -EISDIR);
	assert_string_equal(e.text, "Is a directory: a == 1");
}

FIXTURE_TEST(longer_than_the_kernel_takes)
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
	char *text = filter_normalize(filter);

	assert_string_equal(text, clean);
	free(text);
}

TEST(one_line_without_blanks_around)
{
	assert_clean("a == 1", "a == 1");
	assert_clean(" \n\ta == 1 &&\n\tb == 2\r\n", "a == 1 &&  b == 2");
	assert_clean(" \n", "");
	assert_clean("", "");
}

TEST(what_passes_both)
{
	char *one = filter_make_conjunction(NULL, "a || b"),
	     *two = filter_make_conjunction(one, "c");
	char *three = filter_make_conjunction(two, "d");

	assert_string_equal(one, "a || b");
	assert_string_equal(two, "(a || b) && (c)");
	assert_string_equal(three, "((a || b) && (c)) && (d)");
	free(one);
	free(two);
	free(three);
}
