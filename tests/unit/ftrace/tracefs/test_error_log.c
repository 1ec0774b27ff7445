/* SPDX-License-Identifier: Apache-2.0 */
#include "ftrace/tracefs/error_log.h"
#include "unit/ftrace/fake_tracefs.h"

/* As Linux 6.18 writes it. */
static const char log_text[] =
	"[12825.182488] trace_uprobe: error: Invalid register name\n"
	"  Command: p:g/bad /tmp/t:4409 a=%nosuch:s32\n"
	"                                  ^\n"
	"[12825.183575] trace_uprobe: error: Failed to find the given file\n"
	"  Command: p:g/bad2 /tmp/nosuch:4409 a=%di:s32\n"
	"                    ^\n"
	"[12826.000000] hist:sched:sched_switch: error: Couldn't find field\n"
	"  Command: keys=nope\n"
	"                ^\n"
	"[12827.000000] trace_kprobe: error: Invalid probed address or symbol\n"
	"  Command: p:g/bad2 /tmp/nosuch:4409 a=%di:s32\n"
	"           ^\n";

TEST(the_last_error_of_a_command)
{
	static const char bad[] = "p:g/bad /tmp/t:4409 a=%nosuch:s32";
	struct error_log_entry e;

	assert_true(error_log_find(log_text, bad, &e));
	assert_string_equal(e.what, "Invalid register name");
	assert_string_equal(bad + e.at, "nosuch:s32");
	assert_true(error_log_find(log_text, "keys=nope", &e));
	assert_string_equal(e.what, "Couldn't find field");
	assert_int_equal(e.at, 5);
	/* Twice in the log. */
	assert_true(error_log_find(log_text, "p:g/bad2 /tmp/nosuch:4409 a=%di:s32", &e));
	assert_string_equal(e.what, "Invalid probed address or symbol");
	assert_int_equal(e.at, 0);
}

TEST(commands_that_are_not_there)
{
	struct error_log_entry e;

	assert_false(error_log_find(log_text, "p:g/bad", &e));
	assert_false(error_log_find(log_text, "p:g/bad /tmp/t:4409 a=%nosuch:s32 ", &e));
	assert_false(error_log_find(log_text, "", &e));
	assert_false(error_log_find("", "x", &e));
	/* Cut in the middle, or not such a log. */
	assert_false(error_log_find("[1.0] a: error: b\n  Command: x", "x", &e));
	assert_false(error_log_find("\n  Command: x\n  ^\n", "x", &e));
	assert_true(error_log_find("error: b\n  Command: x\n", "x", &e));
	assert_int_equal(e.at, 0);
	assert_true(error_log_find("error: b\n  Command: x\n                        ^\n", "x", &e));
	assert_int_equal(e.at, 1);
	assert_true(error_log_find("error: b\n  Command: x\n ^\n", "x", &e));
	assert_int_equal(e.at, 0);
}

DIR_TEST(the_log_of_a_dir)
{
	struct error_log_entry e;

	assert_false(error_log_read(fake_root, "keys=nope", &e));
	fake_text("error_log", "");
	assert_false(error_log_read(fake_root, "keys=nope", &e));
	fake_text("error_log", log_text);
	assert_true(error_log_read(fake_root, "keys=nope", &e));
}

TEST(a_sentence)
{
	char text[1001];
	struct err_text e;

	assert_int_equal(error_log_format(&e, -7, "Invalid register name", "p:x a=%nope", 6), -7);
	assert_string_equal(e.text, "Invalid register name at character 7: p:x a=^%nope");
	error_log_format(&e, -7, "Missing", "ab", 9);
	assert_string_equal(e.text, "Missing at character 3: ab^");
	memset(text, 'x', 1000);
	text[1000] = '\0';
	text[500] = 'y';
	error_log_format(&e, -7, "Bad", text, 500);
	assert_true(strlen(e.text) < 300);
	assert_non_null(strstr(e.text, "Bad at character 501: ...xxx"));
	assert_non_null(strstr(e.text, "x^yx"));
	assert_string_equal(e.text + strlen(e.text) - 4, "x...");
}
