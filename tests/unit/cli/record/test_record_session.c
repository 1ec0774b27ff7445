/* SPDX-License-Identifier: Apache-2.0 */
/* A session against a service that follows a script; the callbacks of its owner become words. */
#include "unit/test.h"

#include "base/text/str.h"
#include "cli/record/record_session.h"
#include "unit/cli/fake_session.h"

struct fixture {
	struct event_base *loop;
	struct fake_session service;
	struct record_session *session;
	struct record_session_ops ops;
	Pb__TraceConfig config;
	char words[1024];
	bool ended;
	int packet_error; /* result of on_packet */
	int refusal; /* and of before_recording */
};

static void note(struct fixture *x, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void note(struct fixture *x, const char *fmt, ...)
{
	size_t n = strlen(x->words);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(x->words + n, sizeof(x->words) - n, fmt, ap);
	va_end(ap);
}

static void on_state(void *ctx, bool at_end, const Pb__TracingServiceState *s)
{
	note(ctx, "state(%d,%d) ", at_end, s->num_sessions);
}

static int before_recording(void *ctx, struct err_text *why)
{
	struct fixture *x = ctx;

	return err_set(why, x->refusal, "not so");
}

static void on_started(void *ctx)
{
	note(ctx, "started ");
}

static void on_recording(void *ctx)
{
	note(ctx, "recording ");
}

static void on_stats(void *ctx, bool at_end, const Pb__TraceStats *s)
{
	note(ctx, "stats(%d,%u) ", at_end, s->tracing_sessions);
}

static void on_stopped(void *ctx, int flush_error)
{
	note(ctx, "stopped(%d) ", flush_error);
}

static int on_packet(void *ctx, const uint8_t *data, size_t len)
{
	struct fixture *x = ctx;

	note(x, "%.*s ", (int)len, (const char *)data);
	return x->packet_error;
}

static void on_end(void *ctx, int error, const char *why)
{
	struct fixture *x = ctx;

	assert_false(x->ended);
	x->ended = true;
	note(x, "end(%d,%s) ", error, why);
}

static void on_clone_trigger(void *ctx, const Pb__ObservableEvents__CloneTriggerHit *hit)
{
	note(ctx, "trigger(%s) ", hit->trigger_name);
}

/* Both ends are on this loop and nothing waits for a clock: so many turns are enough for all. */
static void run(struct fixture *x)
{
	for (int turn = 0; turn < 500; turn++)
		event_base_loop(x->loop, EVLOOP_NONBLOCK);
}

static int setup(void **state)
{
	struct fixture *x = calloc(1, sizeof(*x));

	*state = x;
	x->ops = (struct record_session_ops){
		.on_state = on_state,
		.before_recording = before_recording,
		.on_recording = on_recording,
		.on_stats = on_stats,
		.on_stopped = on_stopped,
		.on_packet = on_packet,
		.on_end = on_end,
	};
	x->loop = event_base_new();
	pb__trace_config__init(&x->config);
	fake_session_open(&x->service, x->loop);
	return 0;
}

static int teardown(void **state)
{
	struct fixture *x = *state;

	record_session_free(x->session);
	fake_port_close(&x->service.port);
	event_base_free(x->loop);
	free(x);
	return 0;
}

static void start(struct fixture *x)
{
	struct err_text e;

	if (record_session_start(x->loop, x->service.port.address, &x->config, &x->ops, x, &e,
				 &x->session))
		fail_msg("%s", e.text);
	run(x);
}

#define FIXTURE_TEST(name) TEST_STATE(name, setup, teardown, struct fixture *x)

#define BEGIN "state(0,3) recording "
#define END "one two stats(1,5) state(1,3) end(0,) "
#define SAYS(what) "end(-71,the tracing service aborted the session: " what ") "
#define LEFT(during) "end(-32,the tracing service disconnected while " during ") "

TEST(sessions_and_services)
{
	static const uint8_t half_packet[] = {0x12, 0x04, 0x0a, 0x02, 'o', 'n'};
	/* Of old services: the first ones only. */
	static const struct frame_method methods[] = {
		{1, "EnableTracing"}, {2, "DisableTracing"}, {3, "ReadBuffers"},
		{4, "FreeBuffers"},   {5, "Flush"},	     {6, "GetTraceStats"},
	};
	static const struct {
		const char *words; /* with '*' in front: their end */
		const char *calls; /* NULL: any */
		const char *refuse, *silent, *leave, *leave_after_reading, *error;
		bool end_at_once, end, stop, never_started;
		bool awaits_start, takes_snapshots, deferred, half;
		size_t n_methods; /* 0: all */
		int refusal, packet_error;
	} rows[] = {
		/* Its time is over, or it is stopped. */
		{BEGIN "stopped(0) " END,
		 "QueryServiceState EnableTracing GetTraceStats ReadBuffers GetTraceStats "
		 "QueryServiceState FreeBuffers ",
		 .end_at_once = true},
		{BEGIN "stats(0,5) stopped(0) " END,
		 "QueryServiceState EnableTracing GetTraceStats Flush DisableTracing ReadBuffers "
		 "GetTraceStats QueryServiceState FreeBuffers ",
		 .stop = true},
		{BEGIN "stats(0,5) ", "QueryServiceState EnableTracing StartTracing GetTraceStats ",
		 .deferred = true},
		/* A flush that is refused costs only the newest data. */
		{BEGIN "stats(0,5) stopped(-71) " END, .refuse = "Flush", .stop = true},
		/* The time is over during the flush of the stop. */
		{BEGIN "stats(0,5) stopped(0) " END, .silent = "Flush", .stop = true, .end = true},
		/* Old services do without the state and the counters. */
		{"recording stopped(0) one two end(0,) ", .n_methods = 5, .stop = true},
		{"recording stopped(0) one two stats(1,5) end(0,) ", .refuse = "QueryServiceState",
		 .end_at_once = true},
		{BEGIN "stopped(0) one two state(1,3) end(0,) ", .refuse = "GetTraceStats",
		 .end_at_once = true},
		/* The start of all data sources, which old services do not report. */
		{BEGIN "stats(0,5) started stopped(0) " END, .awaits_start = true, .stop = true},
		{BEGIN "stats(0,5) ", .awaits_start = true, .never_started = true},
		{BEGIN SAYS("no"), .awaits_start = true, .end_at_once = true, .error = "no"},
		{BEGIN "stats(0,5) started ", .awaits_start = true, .refuse = "ObserveEvents"},
		{"recording stats(0,5) started ", .awaits_start = true, .n_methods = 6},
		{"recording started ", .awaits_start = true, .n_methods = 5},
		{"recording " SAYS("no"), .awaits_start = true, .n_methods = 6, .end_at_once = true,
		 .error = "no"},
		{"*end(-71,the tracing service is too old for CLONE_SNAPSHOT: it does not report "
		 "when a snapshot is due) ",
		 .takes_snapshots = true, .refuse = "ObserveEvents"},
		/* The owner or the service refuses. */
		{"state(0,3) end(-95,not so) ", "QueryServiceState ", .refusal = -EOPNOTSUPP},
		{BEGIN SAYS("Invalid buffer sizes"), .end_at_once = true,
		 .error = "Invalid buffer sizes"},
		{BEGIN "stopped(0) end(-71,the tracing service reported an error while reading the "
		       "trace) ",
		 .end_at_once = true, .refuse = "ReadBuffers"},
		{"recording stopped(0) end(-38,the tracing service is too old: it does not support "
		 "reading the trace) ",
		 .end_at_once = true, .n_methods = 1},
		{"end(-125,interrupted before the recording started) ",
		 .silent = "QueryServiceState", .stop = true},
		/* The service ends the session: its data is read. */
		{BEGIN "stats(0,5) stopped(0) one two stats(1,5) state(1,3) end(-103,the tracing "
		       "service aborted the session: enough) ",
		 .end = true, .error = "enough"},
		{BEGIN "stats(0,5) stopped(0) " SAYS("enough"), .end = true, .error = "enough",
		 .refuse = "ReadBuffers"},
		/* The service disconnects. After the last packet this changes nothing. */
		{"*" LEFT("querying its data sources"), .leave = "QueryServiceState"},
		{"*" LEFT("recording"), .leave = "EnableTracing"},
		{"*" LEFT("flushing the data"), .leave = "Flush", .stop = true},
		{"*" LEFT("stopping"), .leave = "DisableTracing", .stop = true},
		{"*" LEFT("reading the trace"), .leave = "ReadBuffers", .stop = true},
		{"*end(0,) ", .leave_after_reading = "GetTraceStats", .stop = true},
		{"*end(0,) ", .leave_after_reading = "QueryServiceState", .stop = true},
		{"*end(0,) ", .leave_after_reading = "FreeBuffers", .stop = true},
		/* The packets. */
		{BEGIN "stopped(0) one end(-28,reading the trace failed: No space left on device) ",
		 .end_at_once = true, .packet_error = -ENOSPC},
		{BEGIN "stopped(0) end(-71,the tracing service reported an error while reading the "
		       "trace) ",
		 .end_at_once = true, .half = true},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct fixture *x;
		void *fixture;

		setup(&fixture);
		x = fixture;
		x->ops.on_started = rows[i].awaits_start ? on_started : NULL;
		x->ops.on_clone_trigger = rows[i].takes_snapshots ? on_clone_trigger : NULL;
		x->config.has_deferred_start = x->config.deferred_start = rows[i].deferred;
		x->refusal = rows[i].refusal;
		x->packet_error = rows[i].packet_error;
		x->service.refuse = rows[i].refuse;
		x->service.silent = rows[i].silent;
		x->service.leave = rows[i].leave;
		x->service.leave_after_reading = rows[i].leave_after_reading;
		x->service.enable_error = rows[i].error;
		x->service.end_at_once = rows[i].end_at_once;
		x->service.never_started = rows[i].never_started;
		if (rows[i].half) {
			x->service.slices = half_packet;
			x->service.slices_len = sizeof(half_packet);
		}
		if (rows[i].n_methods) {
			x->service.port.methods = methods;
			x->service.port.n_methods = rows[i].n_methods;
		}
		start(x);
		if (rows[i].stop && !x->ended) {
			record_session_stop(x->session);
			record_session_stop(x->session); /* changes nothing */
		}
		if (rows[i].end)
			fake_end_tracing(&x->service);
		run(x);
		if (rows[i].words[0] == '*' ? !str_ends(x->words, rows[i].words + 1)
					    : strcmp(x->words, rows[i].words) != 0)
			fail_msg("%s\n%s", x->words, rows[i].words);
		if (rows[i].leave_after_reading)
			assert_non_null(strstr(x->words, "one two "));
		if (rows[i].calls)
			assert_string_equal(x->service.port.calls, rows[i].calls);
		assert_int_equal(record_session_is_recording(x->session),
				 !x->ended && !rows[i].stop);
		teardown(&fixture);
	}
}

FIXTURE_TEST(one_query_of_the_counters_is_pending_at_a_time)
{
	start(x);
	record_session_request_stats(x->session);
	record_session_request_stats(x->session);
	run(x);
	assert_string_equal(x->words, BEGIN "stats(0,5) stats(0,5) ");
	x->service.silent = "GetTraceStats";
	record_session_request_stats(x->session);
	run(x);
	record_session_request_stats(x->session);
	run(x);
	assert_string_equal(x->service.port.calls, "QueryServiceState EnableTracing GetTraceStats "
						   "GetTraceStats GetTraceStats ");
}

FIXTURE_TEST(the_start_is_reported_once_and_not_after_a_stop)
{
	x->ops.on_started = on_started;
	start(x);
	fake_report_started(&x->service, x->service.observe_id);
	run(x);
	assert_string_equal(x->words, BEGIN "stats(0,5) started ");
	record_session_free(TAKE_PTR(x->session));
	x->words[0] = '\0';
	x->service.never_started = true;
	x->service.silent = "Flush";
	start(x);
	record_session_stop(x->session);
	run(x);
	x->service.never_started = false;
	fake_report_started(&x->service, x->service.observe_id);
	run(x);
	assert_string_equal(x->words, BEGIN "stats(0,5) ");
}

FIXTURE_TEST(a_session_with_snapshots_is_held_until_they_are_made)
{
	x->ops.on_clone_trigger = on_clone_trigger;
	start(x);
	fake_trigger(&x->service, "a");
	run(x);
	record_session_set_hold(x->session, true);
	record_session_stop(x->session);
	run(x);
	/* A snapshot that was due before the end is reported even now. */
	fake_trigger(&x->service, "late");
	run(x);
	assert_null(strstr(x->service.port.calls, "FreeBuffers"));
	assert_false(x->ended);
	record_session_set_hold(x->session, false);
	run(x);
	assert_non_null(strstr(x->service.port.calls, "FreeBuffers"));
	assert_null(strstr(x->service.port.calls, "ReadBuffers"));
	assert_string_equal(x->words, BEGIN "stats(0,5) trigger(a) stopped(0) stats(1,5) "
					    "state(1,3) trigger(late) end(0,) ");
}

FIXTURE_TEST(a_service_that_disconnects_from_a_held_session)
{
	x->ops.on_clone_trigger = on_clone_trigger;
	start(x);
	record_session_set_hold(x->session, true);
	record_session_stop(x->session);
	run(x);
	fake_hang_up(&x->service.port);
	run(x);
	assert_true(str_ends(x->words, LEFT("saving the last snapshots")));
}

FIXTURE_TEST(a_config_larger_than_a_frame)
{
	char *name = malloc(200000);

	memset(name, 'x', 199999);
	name[199999] = '\0';
	x->config.unique_session_name = name;
	start(x);
	assert_string_equal(
		x->words,
		"state(0,3) end(-90,the config is too large: the limit is 128 KiB, serialized) ");
	free(name);
}

FIXTURE_TEST(without_a_service)
{
	struct err_text e;

	assert_int_equal(record_session_start(x->loop, "/nonexistent/socket", &x->config, &x->ops,
					      x, &e, &x->session),
			 -ENOENT);
	assert_true(str_starts(
		e.text, "no tracing service listens on /nonexistent/socket; check the address"));
	assert_null(x->session);
	/* Another program listens. */
	x->service.port.refuse_bind = true;
	start(x);
	assert_true(str_starts(x->words, "end(-71,the listener on /tmp/fake-port-"));
}

FIXTURE_TEST(free_in_any_state_calls_nothing)
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
		memcpy(before, x->words, sizeof(before));
		record_session_free(TAKE_PTR(x->session));
		run(x);
		assert_string_equal(x->words, before);
		assert_true(x->service.port.hung_up);
		assert_false(x->ended);
	}
}
