/* SPDX-License-Identifier: Apache-2.0 */

#include "base/system/fs.h"
#include "config/limits.h"
#include "config/text.h"
#include "config/trace_config.h"
#include "config/unpack.h"
#include "unit/test.h"

#define MAX_CONFIG (1 << 20)

static struct strbuf errors;

static bool is_out_of_memory;

int unpack_untrusted(const ProtobufCMessageDescriptor *type, const void *data, size_t len,
		     ProtobufCMessage **ret_message)
{
	size_t bytes;

	return is_out_of_memory ? -ENOMEM
				: unpack_limited(type, data, len, SIZE_MAX, ret_message, &bytes);
}

static int clear_errors(void **state)
{
	strbuf_deinit(&errors);
	return 0;
}

static Pb__TraceConfig *load(const void *data, size_t len, enum trace_config_form form)
{
	Pb__TraceConfig *c = NULL;

	if (trace_config_load("f", data, len, form, &errors, &c) != 0)
		fail_msg("%s", errors.s);
	assert_int_equal(errors.len, 0);
	return c;
}

static void refused(const void *data, size_t len, enum trace_config_form form, const char *error)
{
	Pb__TraceConfig *c = NULL;

	strbuf_clear(&errors);
	assert_int_equal(trace_config_load("f", data, len, form, &errors, &c), -EINVAL);
	assert_null(c);
	if (!strstr(errors.s, error))
		fail_msg("expected: %s\n%s", error, errors.s);
	assert_int_equal(errors.s[errors.len - 1], '\n');
}

#define FIXTURE_TEST(name) TEST_WITH(name, NULL, clear_errors)

FIXTURE_TEST(text_is_recognised)
{
	Pb__TraceConfig *c = load("duration_ms: 5", 14, TRACE_CONFIG_DETECT);

	assert_int_equal(c->duration_ms, 5);
	pb__trace_config__free_unpacked(c, NULL);
}

FIXTURE_TEST(bytes_are_recognised)
{
	static const uint8_t bytes[] = {0x0a, 0x02, 0x08, 0x40, 0x18, 0x05, 0x98, 0xe2, 0x09, 0x01};
	Pb__TraceConfig *c = load(bytes, sizeof(bytes), TRACE_CONFIG_DETECT);

	assert_int_equal(c->n_buffers, 1);
	assert_int_equal(c->duration_ms, 5);
	assert_int_equal(c->base.n_unknown_fields, 1);
	pb__trace_config__free_unpacked(c, NULL);
}

FIXTURE_TEST(lack_of_memory_is_not_an_error_of_the_config)
{
	static const uint8_t bytes[] = {0x0a, 0x02, 0x08, 0x40};
	Pb__TraceConfig *c = NULL;

	is_out_of_memory = true;
	assert_int_equal(
		trace_config_load("f", bytes, sizeof(bytes), TRACE_CONFIG_DETECT, &errors, &c),
		-ENOMEM);
	is_out_of_memory = false;
	assert_null(c);
	assert_int_equal(errors.len, 0);
}

FIXTURE_TEST(what_is_not_text_can_be_read_as_text_all_the_same)
{
	static const char text[] = "duration_ms: 5 # caf\xe9"; /* Latin 1 */
	Pb__TraceConfig *c = load(text, strlen(text), TRACE_CONFIG_TEXT);

	assert_int_equal(c->duration_ms, 5);
	pb__trace_config__free_unpacked(c, NULL);
	refused(text, strlen(text), TRACE_CONFIG_DETECT,
		"neither a serialized trace config nor text");
}

FIXTURE_TEST(an_empty_config_is_an_error)
{
	refused("", 0, TRACE_CONFIG_DETECT, "f: error: the config is empty\n");
	refused(NULL, 0, TRACE_CONFIG_TEXT, "f: error: the config is empty\n");
	refused(" # nothing\n", 11, TRACE_CONFIG_DETECT, "f: error: the config is empty\n");
}

FIXTURE_TEST(errors_have_their_place)
{
	refused("duration_ms: x", 14, TRACE_CONFIG_DETECT,
		"f:1:14: error: field \"duration_ms\" takes");
	refused("\x0a\x05\x08", 3, TRACE_CONFIG_DETECT, "f: error: neither");
	refused("\x0a\x05\x08", 3, TRACE_CONFIG_TEXT, "f:2:1: error: control character 0x05");
}

FIXTURE_TEST(whole_numbers_of_the_largest_size_reach_the_config)
{
	char text[100];
	Pb__TraceConfig *c;

	snprintf(text, sizeof(text), "duration_ms: %u buffers { size_kb: %u }", LIMIT_DURATION_MS,
		 LIMIT_BUFFER_SIZE_KB);
	c = load(text, strlen(text), TRACE_CONFIG_DETECT);
	assert_int_equal(c->duration_ms, LIMIT_DURATION_MS);
	assert_int_equal(c->buffers[0]->size_kb, LIMIT_BUFFER_SIZE_KB);
	pb__trace_config__free_unpacked(c, NULL);
}

/* Every sample names its buffers' sizes, a length, and data sources whose buffers exist. */
static int check_sample(void *ctx, const char *name, unsigned char d_type)
{
	struct strbuf text = {0};
	Pb__TraceConfig *c;
	char path[300];
	int *n = ctx;

	if (!str_ends(name, ".cfg"))
		return 0;
	snprintf(path, sizeof(path), "configs/%s", name);
	assert_int_equal(fs_read_file(path, MAX_CONFIG, &text), 0);
	if (trace_config_load(path, text.s, text.len, TRACE_CONFIG_DETECT, &errors, &c) < 0)
		fail_msg("%s", errors.s);
	/* Those end with Ctrl-C, or a trigger, too. */
	if (!c->write_into_file && !c->trigger_config)
		assert_in_range(c->duration_ms, 1, LIMIT_DURATION_MS);
	assert_in_range(c->n_buffers, 1, LIMIT_BUFFERS);
	for (size_t i = 0; i < c->n_buffers; i++)
		assert_in_range(c->buffers[i]->size_kb, 1, LIMIT_BUFFER_SIZE_KB);
	assert_in_range(c->n_data_sources, 1, 100);
	for (size_t i = 0; i < c->n_data_sources; i++) {
		assert_non_null(c->data_sources[i]->config);
		assert_non_null(c->data_sources[i]->config->name);
		assert_true(c->data_sources[i]->config->target_buffer < c->n_buffers);
	}
	pb__trace_config__free_unpacked(c, NULL);
	strbuf_deinit(&text);
	++*n;
	return 0;
}

FIXTURE_TEST(every_sample_config_is_good)
{
	int n = 0;

	assert_int_equal(fs_each("configs", check_sample, &n), 0);
	assert_in_range(n, 4, 1000);
}

TEST(text_is_distinguished_from_serialized_messages)
{
	static const struct {
		const char *data;
		size_t len;
		bool is_text;
	} rows[] = {
		{"", 0, true},
		{"buffers {\r\n\tsize_kb: 1 # \xc3\xa4\n}\n", 30, true},
		{"\x0a\x02\x08\x40", 4, false}, /* buffers { size_kb: 64 } */
		{"\x18\x7f", 2, false}, /* duration_ms: 127 */
		{"abc\0", 4, false},
		{"abc\xff", 4, false},
		{"abc\xc3", 4, false},
		{"\x1b[2J", 4, false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(text_looks_like(rows[i].data, rows[i].len), rows[i].is_text);
}

#define POLICY(name) PB__PRIORITY_BOOST_CONFIG__BOOST_POLICY__POLICY_SCHED_##name

TEST(priorities_that_a_config_may_ask_for)
{
	static const struct {
		int policy;
		uint32_t priority;
		enum priority_boost_policy read; /* NONE: refused */
	} rows[] = {
		{POLICY(OTHER), 0, PRIORITY_BOOST_OTHER},
		{POLICY(OTHER), 20, PRIORITY_BOOST_OTHER},
		{POLICY(OTHER), 21, PRIORITY_BOOST_NONE},
		{POLICY(OTHER), UINT32_MAX, PRIORITY_BOOST_NONE},
		{POLICY(FIFO), 0, PRIORITY_BOOST_NONE},
		{POLICY(FIFO), 1, PRIORITY_BOOST_FIFO},
		{POLICY(FIFO), 99, PRIORITY_BOOST_FIFO},
		{POLICY(FIFO), 100, PRIORITY_BOOST_NONE},
		{0, 1, PRIORITY_BOOST_NONE},
		{3, 1, PRIORITY_BOOST_NONE},
		{-1, 1, PRIORITY_BOOST_NONE},
	};
	struct priority_boost b;

	assert_int_equal(priority_boost_read(NULL, &b), 0);
	assert_int_equal(b.policy, PRIORITY_BOOST_NONE);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		bool good = rows[i].read != PRIORITY_BOOST_NONE;
		Pb__PriorityBoostConfig c = PB__PRIORITY_BOOST_CONFIG__INIT;

		c.has_policy = c.has_priority = true;
		c.policy = (Pb__PriorityBoostConfig__BoostPolicy)rows[i].policy;
		c.priority = rows[i].priority;
		assert_int_equal(priority_boost_read(&c, &b), good ? 0 : -EINVAL);
		assert_int_equal(b.policy, rows[i].read);
		assert_int_equal(b.priority, good ? rows[i].priority : 0);
	}
}

/* The policy counts first. */
TEST(the_order_of_priorities)
{
	static const struct priority_boost rising[] = {
		{PRIORITY_BOOST_NONE, 0},     {PRIORITY_BOOST_OTHER, 0}, {PRIORITY_BOOST_OTHER, 20},
		{PRIORITY_BOOST_BUDGETED, 0}, {PRIORITY_BOOST_FIFO, 1},	 {PRIORITY_BOOST_FIFO, 99},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rising); i++)
		for (size_t k = 0; k < ARRAY_SIZE(rising); k++)
			assert_int_equal(priority_boost_is_stronger(rising[i], rising[k]), i > k);
}
