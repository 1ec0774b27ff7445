// SPDX-License-Identifier: Apache-2.0
/* A session after tracing: what is read of it, and what may happen then. */
#include "unit/test.h"
#include "unit/cli/record_session_fixture.h"

TEST_WITH(test_triggers_are_told_and_nothing_is_read, setup, teardown)
{
	struct fixture *x = *state;

	x->ops = &ops_with_snapshots;
	start(x);
	fake_trigger(&x->service, "a");
	run(x);
	fake_trigger(&x->service, "b");
	run(x);
	record_session_stop(x->session);
	run(x);
	assert_string_equal(x->heard, BEGIN "stats(0,5) trigger(a) trigger(b) stopped(0) "
					    "stats(1,5) state(1,3) end(0,) ");
	assert_null(strstr(x->service.port.calls, "ReadBuffers"));
}

#define FIXTURE_TEST(name) TEST_STATE(name, setup, teardown, struct fixture *x)

FIXTURE_TEST(test_a_session_that_is_held_is_there_until_it_is_let_go)
{
	x->ops = &ops_with_snapshots;
	start(x);
	record_session_hold(x->session, true);
	record_session_stop(x->session);
	run(x);
	assert_null(strstr(x->service.port.calls, "FreeBuffers"));
	assert_false(x->ended);
	/* What was due before the end is told even now. */
	fake_trigger(&x->service, "late");
	run(x);
	assert_non_null(strstr(x->heard, "trigger(late)"));
	record_session_hold(x->session, false);
	run(x);
	assert_non_null(strstr(x->service.port.calls, "FreeBuffers"));
	assert_true(x->ended);
}

FIXTURE_TEST(test_a_service_that_goes_away_from_one_that_is_held)
{
	x->ops = &ops_with_snapshots;
	start(x);
	record_session_hold(x->session, true);
	record_session_stop(x->session);
	run(x);
	fake_hang_up(&x->service.port);
	run(x);
	assert_non_null(strstr(
		x->heard, "end(-32,the tracing service disconnected during the last snapshots)"));
}

TEST_WITH(test_a_session_that_the_service_ends, setup, teardown)
{
	struct fixture *x = *state;

	start(x);
	x->service.enable_error = "enough";
	fake_end_tracing(&x->service);
	run(x);
	assert_string_equal(x->heard, BEGIN "stats(0,5) stopped(0) one two stats(1,5) state(1,3) "
					    "end(-103,the tracing service says: enough) ");
}

FIXTURE_TEST(test_a_session_that_the_service_ends_and_does_not_give)
{
	start(x);
	x->service.enable_error = "enough";
	x->service.refuse = "ReadBuffers";
	fake_end_tracing(&x->service);
	run(x);
	assert_string_equal(x->heard, BEGIN "stats(0,5) stopped(0) "
					    "end(-71,the tracing service says: enough) ");
}

FIXTURE_TEST(test_a_service_that_dies_after_the_last_packet)
{
	static const char *const at[] = {"GetTraceStats", "QueryServiceState", "FreeBuffers"};

	for (size_t i = 0; i < ARRAY_SIZE(at); i++) {
		x->service.leave = NULL;
		x->service.leave_after_reading = at[i];
		start(x);
		record_session_stop(x->session);
		run(x);
		assert_non_null(strstr(x->heard, "one two "));
		assert_non_null(strstr(x->heard, "end(0,)"));
		record_session_free(TAKE_PTR(x->session));
		x->heard[0] = '\0';
		x->ended = false;
	}
}

FIXTURE_TEST(test_an_error_of_the_output_ends_it)
{
	x->service.end_at_once = true;
	x->packet_error = -ENOSPC;
	start(x);
	assert_string_equal(
		x->heard,
		BEGIN "stopped(0) one end(-28,reading the trace failed: No space left on device) ");
}

static void send_half_a_packet(struct fake_port *p, const char *method, uint64_t id,
			       const uint8_t *args, size_t len)
{
	static const uint8_t half[] = {0x12, 0x04, 0x0a, 0x02, 'o', 'n'};

	if (!strcmp(method, "ReadBuffers"))
		fake_reply(p, id, false, half, sizeof(half));
	else
		fake_session_call(p, method, id, args, len);
}

FIXTURE_TEST(test_a_trace_that_ends_inside_a_packet)
{
	x->service.end_at_once = true;
	x->service.port.on_call = send_half_a_packet;
	start(x);
	assert_string_equal(x->heard, BEGIN
			    "stopped(0) end(-71,the tracing service refused reading the trace) ");
}
