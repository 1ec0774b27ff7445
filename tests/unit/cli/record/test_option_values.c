// SPDX-License-Identifier: Apache-2.0
#include "unit/test.h"
#include "cli/record/option_values.h"

static struct err_text why;

TEST(test_times)
{
	uint32_t ms = 7;

	assert_int_equal(option_time("-t", "2m", &ms, &why), 0);
	assert_int_equal(ms, 120000);
	assert_int_equal(option_time("-t", "168h", &ms, &why), 0);
	assert_int_equal(option_time("--time", "169h", &ms, &why), -EINVAL);
	assert_string_equal(why.text, "--time 169h: a recording may last 7 days at most");
	assert_int_equal(option_time("-t", "0s", &ms, &why), -EINVAL);
	assert_string_equal(
		why.text,
		"-t 0s: the duration must not be 0; without -t the recording lasts until Ctrl-C");
	assert_int_equal(option_time("-t", "5x", &ms, &why), -EINVAL);
	assert_string_equal(why.text, "-t 5x: not a duration; examples: 10, 10s, 500ms, 2m");
	assert_int_equal(ms, 604800000);
}

TEST(test_sizes)
{
	uint32_t kb = 7;

	assert_int_equal(option_size("-b", "1.5mb", &kb, &why), 0);
	assert_int_equal(kb, 1536);
	assert_int_equal(option_size("-b", "4194304", &kb, &why), -EINVAL);
	assert_string_equal(why.text, "-b 4194304: a buffer must be smaller than 4 GiB");
	assert_int_equal(option_size("--subbuf", "0", &kb, &why), -EINVAL);
	assert_string_equal(why.text, "--subbuf 0: the size of a buffer must not be 0");
	assert_int_equal(option_size("-b", "ten", &kb, &why), -EINVAL);
	assert_int_equal(kb, 1536);
}

TEST(test_numbers)
{
	uint32_t n = 7;

	assert_int_equal(option_number("-n", "4294967295", &n, &why), 0);
	assert_int_equal(n, UINT32_MAX);
	assert_int_equal(option_number("-n", "0", &n, &why), -EINVAL);
	assert_int_equal(option_number("-n", "-1", &n, &why), -EINVAL);
	assert_int_equal(option_number("-n", "4294967296", &n, &why), -EINVAL);
	assert_int_equal(option_number("-n", "", &n, &why), -EINVAL);
	assert_string_equal(why.text, "-n : not a number greater than 0");
}

TEST(test_processes)
{
	struct pid_list l = {0};

	assert_int_equal(option_pids("-p", "12,34,12", &l, &why), 0);
	assert_int_equal(option_pids("-p", "2147483647,34", &l, &why), 0);
	assert_int_equal(l.n, 3);
	assert_int_equal(l.pids[0], 12);
	assert_int_equal(l.pids[1], 34);
	assert_int_equal(l.pids[2], INT32_MAX);
	free(l.pids);
}

TEST(test_what_is_no_process)
{
	static const char *const bad[] = {
		"",    ",",   "1,",   ",1",  "0",	   "-1",
		"1 2", "1,x", "1,,2", "0x1", "2147483648", "99999999999999999999999999999999"};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct pid_list l = {0};

		if (option_pids("-p", bad[i], &l, &why) != -EINVAL)
			fail_msg("'%s' was accepted", bad[i]);
		assert_non_null(strstr(why.text, "is not a process id"));
		free(l.pids);
	}
}

TEST(test_a_number_out_of_range_is_named)
{
	static const char *const numbers[] = {"0", "2147483648", "1234567890123456",
					      "0000000000000012345"};
	char expected[128];

	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		struct pid_list l = {0};

		assert_int_equal(option_pids("-p", numbers[i], &l, &why), -EINVAL);
		snprintf(expected, sizeof(expected),
			 "-p: '%s' is not a process id; the range is 1 to 2147483647", numbers[i]);
		assert_string_equal(why.text, expected);
		free(l.pids);
	}
}

TEST(test_processes_have_a_limit)
{
	struct pid_list l = {0};
	char number[16];

	for (int i = 1; i <= PID_LIST_MAX; i++) {
		snprintf(number, sizeof(number), "%d", i);
		assert_int_equal(option_pids("-p", number, &l, &why), 0);
	}
	assert_int_equal(option_pids("-p", "4096", &l, &why), 0); /* is there */
	assert_int_equal(option_pids("-p", "4097", &l, &why), -EINVAL);
	assert_string_equal(why.text, "-p: more than 4096 processes");
	free(l.pids);
}

#define ACTION(name) PB__FTRACE_CONFIG__EVENT_TRIGGER__ACTION__ACTION_##name

TEST(test_triggers)
{
	static const struct {
		const char *text;
		struct trigger trigger;
	} cases[] = {
		{"stacktrace", {ACTION(STACKTRACE), 0, NULL}},
		{"traceon", {ACTION(TRACEON), 0, NULL}},
		{"traceoff:1", {ACTION(TRACEOFF), 1, NULL}},
		{"stacktrace if x == 1", {ACTION(STACKTRACE), 0, "x == 1"}},
		{"traceoff:12  if  x ~ \"a b\"", {ACTION(TRACEOFF), 12, "x ~ \"a b\""}},
		{"traceoff ", {ACTION(TRACEOFF), 0, NULL}},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct trigger t;

		if (option_trigger("--trigger", cases[i].text, &t, &why))
			fail_msg("'%s' was refused: %s", cases[i].text, why.text);
		assert_int_equal(t.action, cases[i].trigger.action);
		assert_int_equal(t.count, cases[i].trigger.count);
		if (cases[i].trigger.filter)
			assert_string_equal(t.filter, cases[i].trigger.filter);
		else
			assert_null(t.filter);
	}
}

TEST(test_what_is_no_trigger)
{
	static const struct {
		const char *text, *word;
	} cases[] = {
		{"", "unknown action ''; the actions are stacktrace, traceon, traceoff"},
		{"hist:keys=pid", "unknown action 'hist'"},
		{"traceof", "did you mean traceoff?"},
		{"Stacktrace:1", "did you mean stacktrace?"},
		{"traceoff:", "'' is not a count"},
		{"traceoff:0", "'0' is not a count greater than 0"},
		{"traceoff:x if a", "'x' is not a count greater than 0"},
		{"traceoff:1:2", "'1:2' is not a count greater than 0"},
		{"traceoff when a", "'when a' is not a condition"},
		{"traceoff if", "'if' is not a condition"},
		{"traceoff if  ", "'if  ' is not a condition"},
		{"traceoff:1if a", "'1if' is not a count greater than 0"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct trigger t;

		if (option_trigger("--trigger", cases[i].text, &t, &why) != -EINVAL)
			fail_msg("'%s' was accepted", cases[i].text);
		if (!strstr(why.text, cases[i].word))
			fail_msg("'%s': %s", cases[i].text, why.text);
	}
}
