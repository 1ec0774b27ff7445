/* SPDX-License-Identifier: Apache-2.0 */
#include "base/text/str.h"
#include "config/limits.h"
#include "ipc/consumer_port.pb-c.h"
#include "service/ipc/config_limits.h"
#include "service/ipc/limits.h"
#include "service/ipc/quota.h"
#include "unit/service/filter_words.h"
#include "unit/service/rig.h"
#include "unit/test.h"

/* Configs with so many of one thing. */
static const struct {
	enum config_limit limit;
	enum quota_kind counter;
	unsigned max;
	const char *begin, *each, *end; /* each is given its number */
} cases[] = {
	{CONFIG_BUFFERS, REFUSED_CONFIG_BUFFERS, LIMIT_BUFFERS, "", "buffers { size_kb: 4 } ", ""},
	{CONFIG_SOURCES, REFUSED_CONFIG_SOURCES, MAX_CONFIG_SOURCES, "buffers { size_kb: 4 } ",
	 "data_sources {} ", ""},
	/* The rest is the empty name, and the string's own head */
	{CONFIG_SOURCE_BYTES, REFUSED_SOURCE_BYTES, MAX_SOURCE_CONFIG_BYTES - 2 - 5,
	 "buffers { size_kb: 4 } data_sources { config { name: '' legacy_config: '", "x", "' } }"},
	{CONFIG_REGEXES, REFUSED_CONFIG_REGEXES, MAX_REGEX_FILTERS,
	 "buffers { size_kb: 4 } data_sources { config { name: 'a' } ",
	 "producer_name_regex_filter: 'p%u' ", "}"},
	{CONFIG_TRIGGERS, REFUSED_CONFIG_TRIGGERS, MAX_TRIGGERS,
	 "buffers { size_kb: 4 } trigger_config { trigger_mode: STOP_TRACING trigger_timeout_ms: "
	 "9999 ",
	 "triggers { name: 't%u' } ", "}"},
	{CONFIG_SEMAPHORES, REFUSED_CONFIG_SEMAPHORES, MAX_SEMAPHORES, "buffers { size_kb: 4 } ",
	 "session_semaphores { name: 's%u' } ", ""},
	/* %s is a bytecode, of any meaning. */
	{CONFIG_FILTER_RULES, REFUSED_FILTER_RULES, MAX_FILTER_RULES,
	 "buffers { size_kb: 4 } trace_filter { bytecode: '%s' string_filter_chain { ",
	 "rules { policy: SFP_MATCH_BREAK regex_pattern: 'r%u' } ", "} }"},
};

static void put_bytecode(struct strbuf *text)
{
	static const uint32_t words[] = {W_TRACE, W_FIELD(1u), W_END};
	struct filter_code code = filter_code_of(words, ARRAY_SIZE(words), 0);

	for (size_t i = 0; i < code.len; i++)
		strbuf_printf(text, "\\%03o", code.bytes[i]);
}

/* The text of a config with n of what cases[which] counts. */
static struct strbuf config_with(size_t which, unsigned n)
{
	const char *hole = strstr(cases[which].begin, "%s");
	struct strbuf text = {0};

	if (hole) {
		strbuf_printf(&text, "%.*s", (int)(hole - cases[which].begin), cases[which].begin);
		put_bytecode(&text);
		strbuf_printf(&text, "%s", hole + 2);
	} else {
		strbuf_printf(&text, "%s", cases[which].begin);
	}
	for (unsigned i = 0; i < n; i++) {
		const char *number = strstr(cases[which].each, "%u");

		if (number)
			strbuf_printf(&text, "%.*s%u%s", (int)(number - cases[which].each),
				      cases[which].each, i, number + 2);
		else
			strbuf_printf(&text, "%s", cases[which].each);
	}
	strbuf_printf(&text, "%s", cases[which].end);
	return text;
}

static int start(void **state)
{
	*state = stage_new(0, false);
	return 0;
}

static int end(void **state)
{
	stage_free(*state);
	return 0;
}

#define FIXTURE_TEST(name) TEST_STATE(name, start, end, struct stage *g)

FIXTURE_TEST(each_limit_has_a_counter)
{
	uint64_t *refused = g->rig.quota->refused;

	assert_int_equal(ARRAY_SIZE(cases), N_CONFIG_LIMITS);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(strbuf_deinit) struct strbuf fits = config_with(i, cases[i].max);
		_cleanup_(strbuf_deinit) struct strbuf past = config_with(i, cases[i].max + 1);
		struct peer *p = rig_consumer(&g->rig);

		assert_true(peer_tracing_ended(p, peer_enable(p, past.s), ""));
		assert_int_equal(refused[cases[i].counter], 1);
		peer_enable(p, fits.s);
		assert_true(peer_is_quiet(p));
		for (unsigned k = REFUSED_CONFIG_BUFFERS; k < N_REFUSED; k++)
			assert_int_equal(refused[k], k <= (unsigned)cases[i].counter);
		rig_hang_up(&g->rig, p);
	}
	assert_int_equal(refused[REFUSED_CONFIGS], 0);
}

FIXTURE_TEST(what_is_wrong_counts_elsewhere)
{
	uint64_t *refused = g->rig.quota->refused;

	stage_refuses(g, "buffers {}", "size_kb");
	assert_int_equal(refused[REFUSED_CONFIGS], 1);
	stage_refuses(g, "buffers { size_kb: 4 } trace_filter { bytecode: 'x' }", "bytecode");
	assert_int_equal(refused[REFUSED_CONFIGS], 2);
}

/* A change that is past a limit changes nothing, and counts. */
FIXTURE_TEST(changes_count_too)
{
	_cleanup_(strbuf_deinit) struct strbuf past =
		config_with(CONFIG_REGEXES, MAX_REGEX_FILTERS + 1);
	Pb__TraceConfig *c = peer_parse_config(past.s);
	Pb__ChangeTraceConfigRequest r = PB__CHANGE_TRACE_CONFIG_REQUEST__INIT;
	uint8_t bytes[4096];
	size_t len;

	r.trace_config = c;
	len = pb__change_trace_config_request__get_packed_size(&r);
	assert_true(len <= sizeof(bytes));
	pb__change_trace_config_request__pack(&r, bytes);
	pb__trace_config__free_unpacked(c, NULL);
	peer_enable(g->cons, "buffers { size_kb: 4 }");
	assert_true(peer_accepted(g->cons, peer_call(g->cons, C_CHANGE_CONFIG, bytes, len)));
	assert_int_equal(g->rig.quota->refused[REFUSED_CONFIG_REGEXES], 1);
}
