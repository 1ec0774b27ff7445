/* SPDX-License-Identifier: Apache-2.0 */
/* Configs and states of the service, both as text. */

#include "cli/report/recording_sources.c"
#include "unit/proto_text.h"
#include "unit/test.h"

static struct name_list skipped;
static struct err_text why;

static int check(const char *config_text, const char *state_text)
{
	Pb__TraceConfig *config = (void *)proto_parse(&pb__trace_config__descriptor, config_text);
	Pb__TracingServiceState *state =
		(void *)proto_parse(&pb__tracing_service_state__descriptor, state_text);
	int r;

	name_list_deinit(&skipped);
	why.text[0] = '\0';
	r = own_fields_check(config, state, &skipped, &why);
	pb__trace_config__free_unpacked(config, NULL);
	pb__tracing_service_state__free_unpacked(state, NULL);
	return r;
}

static int teardown(void **state)
{
	name_list_deinit(&skipped);
	return 0;
}

#define FTRACE(fields)                                                                             \
	"data_sources { config { name: 'linux.ftrace' ftrace_config { " fields " } } }"
#define OURS                                                                                       \
	"producers { id: 1 name: 'perfetto.traced_probes' pid: 11 } data_sources { producer_id: 1" \
	" ds_descriptor { name: 'linux.ftrace' ftrace_descriptor { knows_own_fields: true } } }"
#define THEIRS                                                                                     \
	"producers { id: 2 name: 'perfetto.traced_probes' pid: 12 sdk_version: 'Perfetto v56' }"   \
	" data_sources { producer_id: 2 ds_descriptor { name: 'linux.ftrace'"                      \
	" ftrace_descriptor { atrace_categories { name: 'x' } } } }"

TEST(test_our_producer_knows_them)
{
	assert_int_equal(check(FTRACE("event_filters { event: 'a' } uprobe_events: 'p'"), OURS), 0);
	assert_int_equal(skipped.n, 0);
}

TEST(test_a_config_without_them_is_everybodys)
{
	assert_int_equal(check(FTRACE("ftrace_events: 'sched/*' ftrace_events: 'a/b' "
				      "tids_to_trace: 1 kprobe_events { probe: 'x' } "
				      "subbuf_size_kb: 0 follow_children: false"),
			       THEIRS),
			 0);
	assert_int_equal(skipped.n, 0);
	assert_int_equal(
		check("data_sources { config { name: 'other' } } data_sources { }", THEIRS), 0);
	assert_int_equal(check(FTRACE("event_filters { }"), ""), 0);
}

TEST(test_a_filter_that_is_skipped_would_record_too_much)
{
	assert_int_equal(check(FTRACE("event_filters { event: 'a' }"), THEIRS), -EOPNOTSUPP);
	assert_string_equal(why.text, "event_filters (--filter) needs sonda-probes; here "
				      "linux.ftrace is offered by perfetto.traced_probes (pid 12, "
				      "Perfetto v56), which would record more than requested");
	assert_int_equal(check(FTRACE("pids_to_trace: 5"), THEIRS), -EOPNOTSUPP);
	/* It knows these threads. */
	assert_int_equal(check(FTRACE("pids_to_trace: 5 tids_to_trace: 5"), THEIRS), 0);
	assert_int_equal(skipped.n, 0);
	/* Both are there, and both would get it. */
	assert_int_equal(check(FTRACE("event_filters { event: 'a' }"), OURS " " THEIRS),
			 -EOPNOTSUPP);
}

TEST(test_the_others_are_told)
{
	static const struct {
		const char *config, *name;
	} cases[] = {
		{FTRACE("event_triggers { }"), "event_triggers (--trigger) needs"},
		{FTRACE("follow_children: true"), "follow_children (children of -p and COMMAND)"},
		{FTRACE("uprobe_events: 'p'"), "uprobe_events (--uprobe) needs"},
		{FTRACE("kprobe_events { definition: 'p' }"), "kprobe_events.definition (--kprobe"},
		{FTRACE("subbuf_size_kb: 8"), "subbuf_size_kb (--subbuf) needs"},
		{FTRACE("ftrace_events: '*irq*'"), "patterns in ftrace_events ('*irq*') needs"},
		{FTRACE("ftrace_events: 'a/b*'"), "patterns in ftrace_events"},
		{FTRACE("ftrace_events: 'a/?'"), "patterns in ftrace_events"},
		{FTRACE("ftrace_events: '*/*'"), "patterns in ftrace_events"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(check(cases[i].config, THEIRS), 0);
		assert_int_equal(skipped.n, 1);
		assert_non_null(strstr(skipped.names[0], cases[i].name));
		assert_non_null(strstr(skipped.names[0], "it is ignored by perfetto.traced_probes "
							 "(pid 12, Perfetto v56)"));
	}
	assert_int_equal(check(FTRACE("subbuf_size_kb: 8 follow_children: true"), THEIRS), 0);
	assert_int_equal(skipped.n, 2);
}

/* A producer that the config's own filters leave out does no harm. */
TEST(test_who_does_not_get_it_does_not_count)
{
	assert_int_equal(
		check("data_sources { producer_name_filter: 'other' config { name: 'linux.ftrace'"
		      " ftrace_config { event_filters { } } } }",
		      THEIRS),
		0);
	assert_int_equal(check(FTRACE("event_filters { }"),
			       "producers { id: 2 name: 'x' machine_id: 9 } data_sources {"
			       " producer_id: 2 ds_descriptor { name: 'linux.ftrace' } }"),
			 0);
}

TEST(test_states_with_holes)
{
	assert_int_equal(check(FTRACE("event_filters { }"), "data_sources { }"), 0);
	assert_int_equal(check(FTRACE("event_filters { }"),
			       "data_sources { producer_id: 5 ds_descriptor { name: 'linux.ftrace' "
			       "} }"),
			 0);
	assert_int_equal(check(FTRACE("event_filters { }"),
			       "producers { id: 5 } data_sources { producer_id: 5 ds_descriptor { "
			       "name: 'linux.ftrace' } }"),
			 -EOPNOTSUPP);
}

TEST_GROUP(NULL, teardown)
