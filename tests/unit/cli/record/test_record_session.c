// SPDX-License-Identifier: Apache-2.0
/* A session up to the end of tracing. */
#include "unit/test.h"
#include "unit/cli/record_session_fixture.h"

/* For another session. */
static void forget(struct fixture *x)
{
	record_session_free(TAKE_PTR(x->session));
	x->heard[0] = '\0';
	x->ended = false;
}

#define FIXTURE_TEST(name) TEST_STATE(name, setup, teardown, struct fixture *x)

FIXTURE_TEST(test_a_recording_whose_time_is_over)
{
	x->service.end_at_once = true;
	start(x);
	assert_string_equal(x->heard, BEGIN "stopped(0) " END);
	assert_string_equal(x->service.port.calls, "QueryServiceState EnableTracing GetTraceStats "
						   "ReadBuffers GetTraceStats QueryServiceState "
						   "FreeBuffers ");
	assert_false(record_session_is_recording(x->session));
}

FIXTURE_TEST(test_a_recording_that_is_stopped)
{
	start(x);
	assert_string_equal(x->heard, BEGIN "stats(0,5) ");
	assert_true(record_session_is_recording(x->session));
	record_session_stop(x->session);
	record_session_stop(x->session); /* changes nothing */
	run(x);
	assert_string_equal(x->heard, BEGIN "stats(0,5) stopped(0) " END);
	assert_string_equal(x->service.port.calls,
			    "QueryServiceState EnableTracing GetTraceStats Flush DisableTracing "
			    "ReadBuffers GetTraceStats QueryServiceState FreeBuffers ");
}

FIXTURE_TEST(test_a_flush_that_is_refused_costs_only_the_newest)
{
	x->service.refuse = "Flush";
	start(x);
	record_session_stop(x->session);
	run(x);
	assert_string_equal(x->heard, BEGIN "stats(0,5) stopped(-71) " END);
}

/* The time is over while the flush of the stop is on its way. */
FIXTURE_TEST(test_an_end_that_crosses_a_stop)
{
	x->service.silent = "Flush";
	start(x);
	record_session_stop(x->session);
	fake_end_tracing(&x->service);
	run(x);
	assert_string_equal(x->heard, BEGIN "stats(0,5) stopped(0) " END);
}

FIXTURE_TEST(test_stats_are_asked_for_once_at_a_time)
{
	start(x);
	record_session_ask_stats(x->session);
	record_session_ask_stats(x->session);
	run(x);
	assert_string_equal(x->heard, BEGIN "stats(0,5) stats(0,5) ");
	x->service.silent = "GetTraceStats";
	record_session_ask_stats(x->session);
	run(x);
	record_session_ask_stats(x->session);
	run(x);
	assert_string_equal(x->service.port.calls, "QueryServiceState EnableTracing GetTraceStats "
						   "GetTraceStats GetTraceStats ");
}

FIXTURE_TEST(test_a_deferred_session_is_started)
{
	x->config.has_deferred_start = x->config.deferred_start = true;
	start(x);
	assert_string_equal(x->service.port.calls,
			    "QueryServiceState EnableTracing StartTracing GetTraceStats ");
}

/* An old service: fewer methods, less to tell, the same recording. */
FIXTURE_TEST(test_a_service_without_questions_will_do)
{
	static const struct frame_method old[] = {
		{1, "EnableTracing"}, {2, "DisableTracing"}, {3, "ReadBuffers"},
		{4, "FreeBuffers"},   {5, "Flush"},
	};

	x->service.port.methods = old;
	x->service.port.n_methods = ARRAY_SIZE(old);
	start(x);
	record_session_stop(x->session);
	run(x);
	assert_string_equal(x->heard, "recording stopped(0) one two end(0,) ");
}

TEST_WITH(test_refused_questions_will_do_as_well, setup, teardown)
{
	struct fixture *x = *state;

	x->service.refuse = "QueryServiceState";
	x->service.end_at_once = true;
	start(x);
	assert_string_equal(x->heard, "recording stopped(0) one two stats(1,5) end(0,) ");
	forget(x);
	x->service.refuse = "GetTraceStats";
	start(x);
	assert_string_equal(x->heard, BEGIN "stopped(0) one two state(1,3) end(0,) ");
}

/* ---- the start, for those who wait for it ---- */

FIXTURE_TEST(test_the_start_of_all_sources_is_told_once)
{
	x->ops = &ops_that_await_the_start;
	start(x);
	assert_string_equal(x->heard, BEGIN "stats(0,5) started ");
	fake_tell_started(&x->service, x->service.observe_id);
	run(x);
	assert_string_equal(x->heard, BEGIN "stats(0,5) started ");
	record_session_stop(x->session);
	run(x);
	assert_string_equal(x->heard, BEGIN "stats(0,5) started stopped(0) " END);
}

FIXTURE_TEST(test_a_start_that_does_not_come_is_not_told)
{
	x->ops = &ops_that_await_the_start;
	x->service.never_started = true;
	start(x);
	assert_string_equal(x->heard, BEGIN "stats(0,5) ");
	/* Nor is one that comes when it is too late. */
	x->service.silent = "Flush";
	record_session_stop(x->session);
	run(x);
	x->service.never_started = false;
	fake_tell_started(&x->service, x->service.observe_id);
	run(x);
	assert_string_equal(x->heard, BEGIN "stats(0,5) ");
}

FIXTURE_TEST(test_a_refused_session_has_no_start)
{
	x->ops = &ops_that_await_the_start;
	x->service.end_at_once = true;
	x->service.enable_error = "no";
	start(x);
	assert_string_equal(x->heard, BEGIN "end(-71,the tracing service says: no) ");
}

/* It does not tell, so the session itself has to do. */
FIXTURE_TEST(test_the_start_with_an_old_service)
{
	static const struct frame_method no_observe[] = {
		{1, "EnableTracing"}, {2, "DisableTracing"}, {3, "ReadBuffers"},
		{4, "FreeBuffers"},   {5, "Flush"},	     {6, "GetTraceStats"},
	};

	x->ops = &ops_that_await_the_start;
	x->service.port.methods = no_observe;
	x->service.port.n_methods = ARRAY_SIZE(no_observe);
	start(x);
	assert_string_equal(x->heard, "recording stats(0,5) started ");
	forget(x);
	x->service.enable_error = "no";
	x->service.end_at_once = true;
	start(x);
	assert_string_equal(x->heard, "recording end(-71,the tracing service says: no) ");
	forget(x);
	x->service.end_at_once = false;
	x->service.port.n_methods = 5;
	start(x);
	assert_string_equal(x->heard, "recording started ");
}

FIXTURE_TEST(test_a_refused_question_for_the_start)
{
	x->ops = &ops_that_await_the_start;
	x->service.refuse = "ObserveEvents";
	start(x);
	assert_string_equal(x->heard, BEGIN "stats(0,5) started ");
}

/* ---- what goes wrong ---- */

FIXTURE_TEST(test_a_service_that_does_not_tell_of_triggers)
{
	x->ops = &ops_with_snapshots;
	x->service.refuse = "ObserveEvents";
	start(x);
	assert_non_null(strstr(x->heard,
			       "end(-71,the tracing service is too old for CLONE_SNAPSHOT: it "
			       "does not report when a snapshot is due)"));
}

TEST_WITH(test_the_owner_may_refuse_what_it_learned, setup, teardown)
{
	struct fixture *x = *state;

	x->refusal = -EOPNOTSUPP;
	start(x);
	assert_string_equal(x->heard, "state(0,3) end(-95,not so) ");
	assert_string_equal(x->service.port.calls, "QueryServiceState ");
}

FIXTURE_TEST(test_a_config_that_the_service_refuses)
{
	x->service.end_at_once = true;
	x->service.enable_error = "Invalid buffer sizes";
	start(x);
	assert_string_equal(x->heard,
			    BEGIN "end(-71,the tracing service says: Invalid buffer sizes) ");
}

/* Another one has priority, the disk is full: what there is until then is read. */
FIXTURE_TEST(test_a_method_that_is_refused_or_missing)
{
	static const struct frame_method few[] = {{1, "EnableTracing"}};

	x->service.end_at_once = true;
	x->service.refuse = "ReadBuffers";
	start(x);
	assert_string_equal(x->heard, BEGIN
			    "stopped(0) end(-71,the tracing service refused reading the trace) ");
	forget(x);
	x->service.port.methods = few;
	x->service.port.n_methods = 1;
	start(x);
	assert_string_equal(x->heard,
			    "recording stopped(0) end(-38,the tracing service is too old: "
			    "it does not support reading the trace) ");
}

FIXTURE_TEST(test_a_service_that_dies)
{
	static const struct {
		const char *at;
		const char *heard;
	} cases[] = {
		{"QueryServiceState", "querying its data sources"},
		{"EnableTracing", "recording"},
		{"Flush", "the final flush"},
		{"DisableTracing", "stopping"},
		{"ReadBuffers", "reading the trace"},
	};
	char expected[128];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		x->service.leave = cases[i].at;
		start(x);
		if (!x->ended) {
			record_session_stop(x->session);
			run(x);
		}
		snprintf(expected, sizeof(expected),
			 "end(-32,the tracing service disconnected during %s) ", cases[i].heard);
		assert_true(x->ended);
		assert_non_null(strstr(x->heard, expected));
		forget(x);
	}
}

/* All packets are here: a service that dies now changes nothing. */
FIXTURE_TEST(test_nobody_listens)
{
	struct err_text e;

	assert_int_equal(record_session_start(x->loop, "/nonexistent/socket", &x->config, &ops, x,
					      &e, &x->session),
			 -ENOENT);
	assert_true(str_starts(
		e.text, "no tracing service listens on /nonexistent/socket; check the address"));
	assert_null(x->session);
}

FIXTURE_TEST(test_something_else_listens)
{
	x->service.port.refuse_bind = true;
	start(x);
	assert_true(str_starts(x->heard, "end(-71,the listener on /tmp/fake-port-"));
}

FIXTURE_TEST(test_stop_before_it_began)
{
	x->service.silent = "QueryServiceState";
	start(x);
	record_session_stop(x->session);
	assert_string_equal(x->heard, "end(-125,interrupted before the recording started) ");
}

TEST_WITH(test_a_config_larger_than_a_frame, setup, teardown)
{
	struct fixture *x = *state;
	char *name = malloc(200000);

	memset(name, 'x', 199999);
	name[199999] = '\0';
	x->config.unique_session_name = name;
	start(x);
	assert_string_equal(
		x->heard,
		"state(0,3) end(-90,the config is too large: the limit is 128 KiB, serialized) ");
	free(name);
}

FIXTURE_TEST(test_free_in_any_state_tells_nobody)
{
	static const char *const silent[] = {"QueryServiceState", "EnableTracing", "Flush",
					     "DisableTracing",	  "ReadBuffers",   "FreeBuffers"};
	char before[1024];

	for (size_t i = 0; i < ARRAY_SIZE(silent); i++) {
		x->service.silent = silent[i];
		start(x);
		if (i > 1) {
			record_session_stop(x->session);
			run(x);
		}
		memcpy(before, x->heard, sizeof(before));
		record_session_free(TAKE_PTR(x->session));
		run(x);
		assert_string_equal(x->heard, before);
		assert_true(x->service.port.hung_up);
		assert_false(x->ended);
	}
}
