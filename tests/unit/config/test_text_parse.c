/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/data/textconfig/ok/X.txt is a TraceConfig, and X.expect the same as text_print writes it.
 * tests/data/textconfig/bad/X.txt is none, and X.err what there is to say about it.
 * tests/data/textconfig/values.txt has single values.
 */

#include "base/system/fs.h"
#include "common/data_source_descriptor.pb-c.h"
#include "config/sys_stats/sys_stats_config.pb-c.h"
#include "config/test_config.pb-c.h"
#include "config/text.h"
#include "config/trace_config.pb-c.h"
#include "unit/config/handmade.h"
#include "unit/test.h"

#define OK_DIR "tests/data/textconfig/ok"
#define BAD_DIR "tests/data/textconfig/bad"
#define MAX_FILE (1 << 20)

static void read_file(const char *dir, const char *base, const char *suffix, struct strbuf *out)
{
	char path[300];

	snprintf(path, sizeof(path), "%s/%s%s", dir, base, suffix);
	strbuf_clear(out);
	if (fs_read_file(path, MAX_FILE, out) < 0)
		fail_msg("%s cannot be read", path);
	strbuf_add(out, "", 0);
}

/* Gives the error text of a TraceConfig that must not be read, or prints one that must. */
static int parse_config(const char *name, const char *text, size_t len, struct strbuf *out)
{
	struct strbuf errors = {0};
	ProtobufCMessage *m = NULL;
	int r = text_parse(&pb__trace_config__descriptor, name, text, len, &errors, &m);

	strbuf_clear(out);
	strbuf_add(out, "", 0);
	if (r == 0) {
		assert_int_equal(errors.len, 0);
		assert_true(protobuf_c_message_check(m));
		text_print(m, out);
		protobuf_c_message_free_unpacked(m, NULL);
	} else {
		assert_int_equal(r, -EINVAL);
		assert_null(m);
		strbuf_add(out, errors.s, errors.len);
	}
	strbuf_deinit(&errors);
	return r;
}

struct corpus {
	const char *dir, *expected_suffix;
	int expected_result, n;
};

static int check_file(void *ctx, const char *name, unsigned char d_type)
{
	struct strbuf text = {0}, expected = {0}, seen = {0};
	struct corpus *c = ctx;
	char base[256];
	int r;

	if (!str_ends(name, ".txt"))
		return 0;
	snprintf(base, sizeof(base), "%.*s", (int)strlen(name) - 4, name);
	read_file(c->dir, base, ".txt", &text);
	read_file(c->dir, base, c->expected_suffix, &expected);
	r = parse_config(name, text.s, text.len, &seen);
	if (r != c->expected_result)
		print_error("%s:\n%s", name, seen.s);
	assert_int_equal(r, c->expected_result);
	assert_string_equal(seen.s, expected.s);
	strbuf_deinit(&text);
	strbuf_deinit(&expected);
	strbuf_deinit(&seen);
	c->n++;
	return 0;
}

TEST(every_good_file_says_what_is_expected)
{
	struct corpus c = {OK_DIR, ".expect", 0, 0};

	assert_int_equal(fs_each(c.dir, check_file, &c), 0);
	assert_in_range(c.n, 10, 1000);
}

TEST(every_bad_file_has_its_errors)
{
	struct corpus c = {BAD_DIR, ".err", -EINVAL, 0};

	assert_int_equal(fs_each(c.dir, check_file, &c), 0);
	assert_in_range(c.n, 15, 1000);
}

/* The descriptor of the message that has the field; TraceConfig for unknown ones. */
static const ProtobufCMessageDescriptor *message_of(const char *field)
{
	static const ProtobufCMessageDescriptor *const types[] = {
		&pb__test_config__dummy_fields__descriptor,
		&pb__trace_config__buffer_config__descriptor, &pb__sys_stats_config__descriptor};

	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		if (protobuf_c_message_descriptor_get_field_by_name(types[i], field))
			return types[i];
	return &pb__trace_config__descriptor;
}

/* Like strsep(), with a separator of several characters. */
static char *cut(char **at, const char *separator)
{
	char *begin = *at, *end = begin ? strstr(begin, separator) : NULL;

	*at = end ? end + strlen(separator) : NULL;
	if (end)
		*end = '\0';
	return begin;
}

static void check_error(const char *text, const char *errors, char *parts)
{
	const char *first = strstr(errors, "error: ");

	if (!first || strstr(first + 1, "error: "))
		fail_msg("%s: not one error: %s", text, errors);
	for (char *part; (part = cut(&parts, " & "));) {
		if (str_ends(part, "$"))
			part[strlen(part) - 1] = '\n';
		if (!strstr(errors, part))
			fail_msg("expected: %s\n%s", part, errors);
	}
}

static void check_value(const char *field, const char *value, char *expected)
{
	struct strbuf text = {0}, out = {0}, want = {0};
	ProtobufCMessage *m;

	strbuf_printf(&text, "%s: %s", field, value);
	if (text_parse(message_of(field), "f", text.s, text.len, &out, &m) < 0) {
		if (expected[0] != '!')
			fail_msg("%s", out.s);
		check_error(text.s, out.s, expected + 1);
	} else {
		if (strstr(expected, ": "))
			strbuf_printf(&want, "%s\n", expected);
		else
			strbuf_printf(&want, "%s: %s\n", field, expected);
		text_print(m, &out);
		assert_string_equal(out.s, want.s);
		protobuf_c_message_free_unpacked(m, NULL);
	}
	strbuf_deinit(&text);
	strbuf_deinit(&out);
	strbuf_deinit(&want);
}

TEST(single_values_are_read_and_printed)
{
	struct strbuf file = {0};
	char *at, *row, *field, *value;
	unsigned n = 0;

	assert_int_equal(fs_read_file("tests/data/textconfig/values.txt", MAX_FILE, &file), 0);
	for (at = file.s; (row = cut(&at, "\n"));) {
		field = cut(&row, " | ");
		value = cut(&row, " | ");
		if (!row)
			continue;
		check_value(field, value, row);
		n++;
	}
	assert_in_range(n, 200, 1000);
	strbuf_deinit(&file);
}

static void good(const char *text)
{
	struct strbuf out = {0};

	if (parse_config("f", text, strlen(text), &out) != 0)
		fail_msg("%s", out.s);
	strbuf_deinit(&out);
}

static void bad(const char *text, const char *error)
{
	struct strbuf out = {0};

	assert_int_equal(parse_config("f", text, strlen(text), &out), -EINVAL);
	if (!strstr(out.s, error))
		fail_msg("expected: %s\n%s", error, out.s);
	strbuf_deinit(&out);
}

/* Every beginning of a good file is good or has an error; none ends worse. */
static int check_prefixes(void *ctx, const char *name, unsigned char d_type)
{
	struct strbuf text = {0}, out = {0};
	char base[256];

	if (!str_ends(name, ".txt"))
		return 0;
	snprintf(base, sizeof(base), "%.*s", (int)strlen(name) - 4, name);
	read_file(ctx, base, ".txt", &text);
	for (size_t len = 0; len <= text.len; len++) {
		char *copy = malloc(len + 1); /* its own, so that a byte too far is seen */

		memcpy(copy, text.s, len);
		parse_config("f", copy, len, &out);
		free(copy);
	}
	strbuf_deinit(&text);
	strbuf_deinit(&out);
	return 0;
}

TEST(every_beginning_of_a_file_ends_in_an_answer)
{
	char ok_dir[] = OK_DIR, bad_dir[] = BAD_DIR;

	fs_each(ok_dir, check_prefixes, ok_dir);
	fs_each(bad_dir, check_prefixes, bad_dir);
}

TEST(an_empty_text_is_an_empty_message)
{
	struct strbuf out = {0};

	assert_int_equal(parse_config("f", NULL, 0, &out), 0);
	assert_int_equal(out.len, 0);
	good("# only a comment");
	strbuf_deinit(&out);
}

/* nested_instructions of a program that stands in a descriptor, n levels of them. */
static int parse_nested(unsigned n, struct strbuf *errors)
{
	struct strbuf text = {0};
	ProtobufCMessage *m;
	int r;

	strbuf_puts(&text, "protovm_program { ");
	for (unsigned i = 1; i < n; i++)
		strbuf_puts(&text, i == 1 ? "instructions {" : "nested_instructions {");
	for (unsigned i = 0; i < n; i++)
		strbuf_puts(&text, "}");
	r = text_parse(&pb__data_source_descriptor__descriptor, "f", text.s, text.len, errors, &m);
	if (r == 0)
		protobuf_c_message_free_unpacked(m, NULL);
	strbuf_deinit(&text);
	return r;
}

TEST(nesting_has_a_limit)
{
	struct strbuf errors = {0};

	assert_int_equal(parse_nested(TEXT_MAX_DEPTH, &errors), 0);
	assert_int_equal(errors.len, 0);
	assert_int_equal(parse_nested(TEXT_MAX_DEPTH + 1, &errors), -EINVAL);
	assert_non_null(strstr(errors.s, "messages are nested more than 100 deep"));
	assert_null(strstr(errors.s, "not closed")); /* and what is deeper was passed over whole */
	strbuf_clear(&errors);
	assert_int_equal(parse_nested(100000, &errors), -EINVAL);
	strbuf_deinit(&errors);
}

TEST(brackets_of_a_million_are_read_over)
{
	size_t n = 1 << 20;
	char *text = malloc(n + 3);
	struct strbuf out = {0};

	text[0] = 'x';
	for (size_t i = 1; i < n; i++)
		text[i] = "{<["[i % 3];
	text[n] = '\0';
	assert_int_equal(parse_config("f", text, n, &out), -EINVAL);
	free(text);
	strbuf_deinit(&out);
}

TEST(what_comes_after_an_error_is_still_checked)
{
	bad("duration_ms: { x } flush_period_ms: x", "f:1:37:");
	bad("buffers { size_kb: x fill_policy: y }", "f:1:35:");
	bad("x { buffers: 1 } flush_period_ms: x", "f:1:35:");
	bad("buffers: linux.ftrace flush_period_ms: x", "f:1:40:");
	bad("= = = flush_period_ms: x", "f:1:24:");
	bad("[a/b] { } flush_period_ms: x", "f:1:28:");
	bad("activate_triggers: [a, b flush_period_ms: x", "f:1:21:");
	bad("buffers { ] flush_period_ms: x }", "f:1:11:");
}

TEST(nothing_between_fields_is_read_over)
{
	static const char *const stray[] = {"%",   "$", "[",  "]",  "{",    "}",  "<",
					    ">",   ":", "=",  "-",  "\"\"", "''", "5",
					    "1.5", "/", "()", ";;", ",;",   "*"};
	char text[200];

	for (size_t i = 0; i < sizeof(stray) / sizeof(*stray); i++) {
		snprintf(text, sizeof(text), "duration_ms: 1 %s flush_period_ms: 2", stray[i]);
		bad(text, "f:1:1");
		snprintf(text, sizeof(text), "%s duration_ms: 1", stray[i]);
		bad(text, "f:1:1");
		snprintf(text, sizeof(text), "duration_ms: 1 %s", stray[i]);
		bad(text, "f:1:1");
		snprintf(text, sizeof(text), "buffers { size_kb: 1 %s name: 'a' }", stray[i]);
		bad(text, "f:1:");
	}
}

TEST(a_value_may_follow_in_the_next_line)
{
	good("duration_ms\n:\n5\nbuffers\n{\n}\nlockdown_mode\nLOCKDOWN_SET");
	good("activate_triggers\n:\n[\n'a'\n'b'\n,\n'c'\n]\n;");
	bad("duration_ms\nflush_period_ms: 5", "f:1:1: error: field \"duration_ms\" has no value");
}

/* An enum value may be named as a field is. */
TEST(a_name_of_a_field_can_be_a_value)
{
	bad("lockdown_mode: buffers duration_ms: 1", "no value named \"buffers\"");
	bad("lockdown_mode: buffers { }", "field \"lockdown_mode\" has no value");
	bad("lockdown_mode: duration_ms: 1", "field \"lockdown_mode\" has no value");
}

TEST(a_word_longer_than_any_name_is_none)
{
	char text[1000] = "duration_ms";

	memset(text + strlen(text), 'x', 600);
	bad(text, "no field named");
}

/* Fields and values that a message cannot begin or continue with. */
TEST(what_is_no_value_is_left_to_the_caller)
{
	bad("duration_ms: }", "f:1:");
	bad("duration_ms: :", "f:1:");
	bad("duration_ms: , 5", "f:1:");
	bad("duration_ms:", "has no value");
}

static int parse_handmade(const char *text, struct strbuf *errors, struct handmade **ret)
{
	return text_parse(&handmade_type, "f", text, strlen(text), errors,
			  (ProtobufCMessage **)ret);
}

TEST(required_fields_must_be_there)
{
	struct strbuf errors = {0};
	struct handmade *m;

	assert_int_equal(parse_handmade("must: 0 name: ''", &errors, &m), 0);
	assert_int_equal(m->must, 0);
	assert_string_equal(m->name, "");
	assert_ptr_equal(m->word, handmade_preset);
	protobuf_c_message_free_unpacked(&m->base, NULL);
	assert_int_equal(parse_handmade("plain: 1", &errors, &m), -EINVAL);
	assert_non_null(strstr(errors.s, "Handmade lacks the required field \"must\""));
	assert_non_null(strstr(errors.s, "Handmade lacks the required field \"name\""));
	strbuf_clear(&errors);
	assert_int_equal(parse_handmade("must: 1 name: 'a' sub { name: 'b' }", &errors, &m),
			 -EINVAL);
	assert_non_null(strstr(errors.s, "f:1:23: error: Handmade lacks the required field"));
	strbuf_deinit(&errors);
}

TEST(second_values_are_seen_without_a_has_flag)
{
	static const char *const texts[] = {"must: 0 must: 0", "plain: 0 plain: 0",
					    "line: '' line: ''", "name: 'a' name: 'a'"};
	struct strbuf errors = {0};
	struct handmade *m;

	for (int i = 0; i < 4; i++) {
		strbuf_clear(&errors);
		assert_int_equal(parse_handmade(texts[i], &errors, &m), -EINVAL);
		assert_non_null(strstr(errors.s, "second value"));
	}
	strbuf_deinit(&errors);
}

TEST(members_of_a_oneof_exclude_each_other)
{
	struct strbuf errors = {0};
	struct handmade *m;

	assert_int_equal(parse_handmade("must: 1 name: ''\ntext: ''\nnumber: 1", &errors, &m),
			 -EINVAL);
	assert_non_null(
		strstr(errors.s, "f:3:1: error: field \"number\" excludes \"text\" on line 2"));
	strbuf_clear(&errors);
	assert_int_equal(
		parse_handmade("must: 1 name: '' sub {must: 2 name: ''} text: 'x'", &errors, &m),
		-EINVAL);
	assert_non_null(strstr(errors.s, "field \"text\" excludes \"sub\""));
	strbuf_clear(&errors);
	assert_int_equal(parse_handmade("must: 1 name: '' number: 0", &errors, &m), 0);
	assert_int_equal(m->one_case, 7);
	protobuf_c_message_free_unpacked(&m->base, NULL);
	strbuf_deinit(&errors);
}

TEST(defaults_are_replaced)
{
	struct strbuf errors = {0};
	struct handmade *m;

	assert_int_equal(parse_handmade("must: 1 name: 'n' word: 'preset' raw: '' "
					"blobs: ['', 'a' 'b', '\\0'] line: 'l'",
					&errors, &m),
			 0);
	assert_ptr_not_equal(m->word, handmade_preset);
	assert_string_equal(m->word, "preset");
	assert_true(m->has_raw);
	assert_int_equal(m->raw.len, 0);
	assert_int_equal(m->n_blobs, 3);
	assert_int_equal(m->blobs[1].len, 2);
	assert_string_equal(m->line, "l");
	protobuf_c_message_free_unpacked(&m->base, NULL);
	strbuf_deinit(&errors);
}

/* The text that text_parse_lossy() makes of a TraceConfig; NULL for an error. */
static bool lossy_gives(const char *text, const char *expected)
{
	struct strbuf errors = {0}, out = {0};
	ProtobufCMessage *m;
	bool same = false;

	if (text_parse_lossy(&pb__trace_config__descriptor, "f", text, strlen(text), &errors, &m) ==
	    0) {
		text_print(m, &out);
		protobuf_c_message_free_unpacked(m, NULL);
		same = errors.len == 0 && !strcmp(out.s ? out.s : "", expected);
	}
	if (!same)
		print_error("%s\n%s\n", errors.s ? errors.s : "", out.s ? out.s : "");
	strbuf_deinit(&errors);
	strbuf_deinit(&out);
	return same;
}

TEST(lossy_text_loses_only_what_is_not_known)
{
	assert_true(lossy_gives("nosuch { a: 1 b < c: 'x' > } duration_ms: 5", "duration_ms: 5\n"));
	assert_true(lossy_gives("nosuch: [1, 2] 4000: 3 nosuch 'a' 'b'\nduration_ms: 5",
				"duration_ms: 5\n"));
	assert_true(lossy_gives("[a.b] { c: 1 } [x.y/z] { } duration_ms: 5", "duration_ms: 5\n"));
	assert_true(lossy_gives("buffers { fill_policy: NO_SUCH size_kb: 64 }",
				"buffers {\n  size_kb: 64\n}\n"));
	assert_true(lossy_gives("buffers { fill_policy: 99 size_kb: 64 }",
				"buffers {\n  size_kb: 64\n}\n"));
	assert_false(lossy_gives("duration_ms: x nosuch: 1", ""));
	assert_false(lossy_gives("buffers { nosuch: 1", ""));
	bad("buffers { fill_policy: NO_SUCH }", "no value named");
}

/* The tokens are also those of tests/data/textconfig. */
TEST(words_symbols_and_comments_need_no_space)
{
	static const char nul[] = "duration_ms\0: 5";
	struct strbuf out = {0};

	good("buffers{size_kb:1}buffers<size_kb:0x2;>duration_ms:5#x\n\v\fflush_period_ms:007");
	good("duration_ms: 64# \x80\x01\n");
	good("activate_triggers:'# no comment'\"c'd\"'\\\\'");
	good("\xef\xbb\xbf"
	     "duration_ms: 1"); /* a byte order mark */
	bad("duration_ms: 1 \xef\xbb\xbf", "f:1:16: error: characters other than ASCII");
	bad("duration_ms: 1 \x7f", "control character 0x7f");
	bad("duration_ms: 0x1e+5", "f:1:18:");
	bad("activate_triggers: 'b c\nd", "the string that begins here is not closed");
	assert_int_equal(parse_config("f", nul, sizeof(nul) - 1, &out), -EINVAL);
	assert_non_null(strstr(out.s, "control character 0x00"));
	strbuf_deinit(&out);
}

TEST(errors_are_appended)
{
	struct strbuf errors = {0};
	ProtobufCMessage *m;

	strbuf_puts(&errors, "before\n");
	text_parse(&pb__trace_config__descriptor, "f", "x", 1, &errors, &m);
	assert_true(str_starts(errors.s, "before\nf:1:1: error: no field named \"x\""));
	strbuf_deinit(&errors);
}
