/* SPDX-License-Identifier: Apache-2.0 */
#include "gen/fields.h"
#include "unit/client/consumer_rig.h"
#include "unit/test.h"

static void on_enabled(void *ctx, int error, const char *text)
{
	hear(ctx, "ended(%d,%s) ", error, text);
}

static void on_slices(void *ctx, int error, const void *slices, size_t len, bool last)
{
	struct consumer_slice slice;
	struct fixture *x = ctx;
	struct pb_dec d;

	pb_dec_init(&d, slices, len);
	while (x->consumer && consumer_next_slice(&d, &slice) > 0)
		hear(x, "[%.*s%s] ", (int)slice.len, slice.data ? (const char *)slice.data : "",
		     slice.ends ? "|" : "");
	if (last)
		hear(x, "[$%d] ", error);
}

/* ---- connecting ---- */

TEST_UNCONNECTED(address_without_a_listener)
{
	assert_int_equal(client_connect(x, "/nonexistent/socket"), -ENOENT);
	assert_null(x->consumer);
}

TEST_UNCONNECTED(a_service_that_is_none)
{
	x->port.refuse_bind = true;
	assert_int_equal(client_connect(x, x->port.address), 0);
	run(x);
	assert_string_equal(x->heard, "connected(-71) ");
}

TEST_UNCONNECTED(calls_before_the_connection_are_refused)
{
	assert_int_equal(client_connect(x, x->port.address), 0);
	assert_int_equal(consumer_disable(x->consumer, on_done, x), -ENOSYS);
	run(x);
	assert_string_equal(x->heard, "connected(0) ");
}

TEST_UNCONNECTED(a_method_that_the_service_lacks)
{
	x->port.n_methods = 1;
	assert_int_equal(client_connect(x, x->port.address), 0);
	run(x);
	assert_int_equal(consumer_disable(x->consumer, on_done, x), -ENOSYS);
	run(x);
	assert_string_equal(x->heard, "connected(0) ");
}

/* ---- bare requests ---- */

static void answer_yes_but_refuse_flush(struct fixture *x, const char *method, uint64_t id,
					const uint8_t *args, size_t len)
{
	if (!strcmp(method, "Flush"))
		fake_refuse(&x->port, id);
	else
		fake_reply(&x->port, id, false, NULL, 0);
}

FIXTURE_TEST(bare_requests_answer_once_each)
{
	x->answer = answer_yes_but_refuse_flush;
	assert_int_equal(consumer_start(x->consumer, on_done, x), 0);
	assert_int_equal(consumer_flush(x->consumer, 0, 0, on_done, x), 0);
	assert_int_equal(consumer_disable(x->consumer, on_done, x), 0);
	assert_int_equal(consumer_free_buffers(x->consumer, on_done, x), 0);
	run(x);
	assert_string_equal(x->port.calls, "StartTracing Flush DisableTracing FreeBuffers ");
	assert_string_equal(x->heard, "done(0) done(-71) done(0) done(0) ");
}

static void answer_with_flush_arguments(struct fixture *x, const char *method, uint64_t id,
					const uint8_t *args, size_t len)
{
	Pb__FlushRequest *r = pb__flush_request__unpack(NULL, len, args);

	assert_non_null(r);
	hear(x, "flush(%d:%u,%d:%#llx) ", r->has_timeout_ms, r->timeout_ms, r->has_flags,
	     (unsigned long long)r->flags);
	pb__flush_request__free_unpacked(r, NULL);
	fake_reply(&x->port, id, false, NULL, 0);
}

FIXTURE_TEST(flush_says_what_was_given_only)
{
	x->answer = answer_with_flush_arguments;
	consumer_flush(x->consumer, 0, 0x22, on_done, x);
	consumer_flush(x->consumer, 700, 0, on_done, x);
	run(x);
	assert_string_equal(x->heard, "flush(0:0,1:0x22) flush(1:700,0:0) done(0) done(0) ");
}

/* ---- enable ---- */

static void answer_with_config(struct fixture *x, const char *method, uint64_t id,
			       const uint8_t *args, size_t len)
{
	hear(x, "config(%.*s) ", (int)len - 2, (const char *)args + 2);
	fake_reply_text(&x->port, id, false, &pb__enable_tracing_response__descriptor, "%s",
			args[2] == '!' ? "disabled: true error: 'no such luck'" : "disabled: true");
}

/* The config goes through as bytes, whatever is in them. */
FIXTURE_TEST(enable_ends_with_or_without_a_reason)
{
	x->answer = answer_with_config;
	assert_int_equal(consumer_enable(x->consumer, "anything", 8, -1, on_enabled, x), 0);
	assert_int_equal(consumer_enable(x->consumer, "!refuse", 7, -1, on_enabled, x), 0);
	run(x);
	assert_string_equal(x->heard, "config(anything) config(!refuse) ended(0,) "
				      "ended(0,no such luck) ");
}

FIXTURE_TEST(a_config_larger_than_a_frame)
{
	char *big = calloc(1, 200000);

	assert_int_equal(consumer_enable(x->consumer, big, 200000, -1, on_enabled, x), -EMSGSIZE);
	run(x);
	assert_string_equal(x->heard, "");
	free(big);
}

/* ---- reading ---- */

static void put_slice(struct pb_mem *m, const char *data, bool ends)
{
	pb_enc_open(&m->enc, PB_READ_BUFFERS_RESPONSE_SLICES);
	pb_enc_str(&m->enc, PB_READ_BUFFERS_RESPONSE_SLICE_DATA, data);
	if (ends)
		pb_enc_bool(&m->enc, PB_READ_BUFFERS_RESPONSE_SLICE_LAST_SLICE_FOR_PACKET, true);
	pb_enc_close(&m->enc);
}

static void answer_with_slices(struct fixture *x, const char *method, uint64_t id,
			       const uint8_t *args, size_t len)
{
	struct pb_mem m;

	assert_int_equal(pb_mem_init(&m), 0);
	put_slice(&m, "one", true);
	put_slice(&m, "tw", false);
	fake_reply(&x->port, id, true, m.buf, pb_mem_len(&m));
	pb_mem_reset(&m);
	fake_reply(&x->port, id, true, NULL, 0);
	put_slice(&m, "o", true);
	pb_enc_open(&m.enc, PB_READ_BUFFERS_RESPONSE_SLICES); /* only an end */
	pb_enc_bool(&m.enc, PB_READ_BUFFERS_RESPONSE_SLICE_LAST_SLICE_FOR_PACKET, true);
	pb_enc_close(&m.enc);
	fake_reply(&x->port, id, false, m.buf, pb_mem_len(&m));
	pb_mem_deinit(&m);
}

FIXTURE_TEST(slices_come_in_order_and_end_once)
{
	x->answer = answer_with_slices;
	assert_int_equal(consumer_read(x->consumer, on_slices, x), 0);
	run(x);
	assert_string_equal(x->heard, "[one|] [tw] [o|] [|] [$0] ");
}

FIXTURE_TEST(callback_may_free_the_consumer_at_any_slice)
{
	int after;

	x->answer = answer_with_slices;
	for (after = 1; after <= 5; after++) {
		x->free_after = 0;
		if (!x->consumer) {
			assert_int_equal(client_connect(x, x->port.address), 0);
			run(x);
		}
		x->free_after = after;
		assert_int_equal(consumer_read(x->consumer, on_slices, x), 0);
		run(x);
		assert_null(x->consumer);
	}
}

static void answer_with_broken_slices(struct fixture *x, const char *method, uint64_t id,
				      const uint8_t *args, size_t len)
{
	static const uint8_t cut_short[] = {0x12, 0x09, 0x0a};
	static const uint8_t no_slice[] = {0x10, 0x01}; /* slices as a number */
	static const uint8_t bad_slice[] = {0x12, 0x02, 0x0a, 0x05};

	fake_reply(&x->port, id, true, cut_short, sizeof(cut_short));
	fake_reply(&x->port, id, true, no_slice, sizeof(no_slice));
	fake_reply(&x->port, id, false, bad_slice, sizeof(bad_slice));
}

FIXTURE_TEST(a_broken_answer_ends_the_stream_once)
{
	x->answer = answer_with_broken_slices;
	consumer_read(x->consumer, on_slices, x);
	run(x);
	assert_string_equal(x->heard, "[$-71] ");
	/* The connection is as good as before. */
	x->answer = answer_with_slices;
	x->heard[0] = '\0';
	consumer_read(x->consumer, on_slices, x);
	run(x);
	assert_string_equal(x->heard, "[one|] [tw] [o|] [|] [$0] ");
}

/* ---- stats and state ---- */

static void on_stats(void *ctx, int error, const void *data, size_t len)
{
	Pb__TraceStats *stats = client_unpack(&pb__trace_stats__descriptor, error, data, len);
	size_t n = stats ? stats->n_buffer_stats : 99;

	pb__trace_stats__free_unpacked(stats, NULL);
	hear(ctx, "stats(%d,%zu) ", error, n);
}

static void on_state(void *ctx, int error, const void *data, size_t len)
{
	Pb__TracingServiceState *s =
		client_unpack(&pb__tracing_service_state__descriptor, error, data, len);

	hear(ctx, "state(%d", error);
	for (size_t i = 0; s && i < s->n_producers; i++)
		hear(ctx, " %s", s->producers[i]->name);
	for (size_t i = 0; s && i < s->n_data_sources; i++)
		hear(ctx, " %s", s->data_sources[i]->ds_descriptor->name);
	pb__tracing_service_state__free_unpacked(s, NULL);
	hear(ctx, ") ");
}

static void answer_questions(struct fixture *x, const char *method, uint64_t id,
			     const uint8_t *args, size_t len)
{
	static const char sources[] =
		"service_state { data_sources { ds_descriptor { name: 'linux.ftrace' } } }";

	if (!strcmp(method, "GetTraceStats")) {
		fake_reply_text(&x->port, id, false, &pb__get_trace_stats_response__descriptor,
				"trace_stats { buffer_stats { } }");
	} else if (!strcmp(method, "QueryServiceState")) {
		hear(x, "asked(%zu) ", len);
		fake_reply_text(&x->port, id, true, &pb__query_service_state_response__descriptor,
				"service_state { producers { name: 'probes' } }");
		fake_reply_text(&x->port, id, true, &pb__query_service_state_response__descriptor,
				"%s", sources);
		fake_reply_text(&x->port, id, false, &pb__query_service_state_response__descriptor,
				"%s", sources);
	} else {
		fake_reply(&x->port, id, false, NULL, 0);
	}
}

TEST_WITH(questions_are_answered, setup, teardown)
{
	struct fixture *x = *state;

	x->answer = answer_questions;
	consumer_stats(x->consumer, on_stats, x);
	consumer_query_state(x->consumer, false, on_state, x);
	consumer_query_state(x->consumer, true, on_state, x);
	run(x);
	assert_string_equal(x->heard, "asked(0) asked(2) stats(0,1) "
				      "state(0 probes linux.ftrace linux.ftrace) "
				      "state(0 probes linux.ftrace linux.ftrace) ");
}

static void answer_garbage(struct fixture *x, const char *method, uint64_t id, const uint8_t *args,
			   size_t len)
{
	fake_reply(&x->port, id, false, "\x0a\xff\xff", 3);
}

TEST_WITH(answers_that_are_none, setup, teardown)
{
	struct fixture *x = *state;

	x->answer = answer_garbage;
	consumer_stats(x->consumer, on_stats, x);
	consumer_query_state(x->consumer, false, on_state, x);
	consumer_enable(x->consumer, "x", 1, -1, on_enabled, x);
	run(x);
	assert_string_equal(x->heard, "stats(-71,99) state(-71) ended(-71,) ");
}

/* ---- observing ---- */

static void on_event(void *ctx, int error, const void *data, size_t len, bool last)
{
	Pb__ObservableEvents *e =
		last ? NULL : client_unpack(&pb__observable_events__descriptor, error, data, len);
	int started = e ? e->all_data_sources_started : -1;

	pb__observable_events__free_unpacked(e, NULL);
	hear(ctx, "event(%d,%d%s) ", error, started, last ? ",$" : "");
}

static void answer_events(struct fixture *x, const char *method, uint64_t id, const uint8_t *args,
			  size_t len)
{
	Pb__ObserveEventsRequest *r = pb__observe_events_request__unpack(NULL, len, args);
	static const char started[] = "events { all_data_sources_started: true }";

	assert_int_equal(r->n_events_to_observe, 2);
	assert_int_equal(r->events_to_observe[0], 2);
	assert_int_equal(r->events_to_observe[1], 4);
	pb__observe_events_request__free_unpacked(r, NULL);
	fake_reply_text(&x->port, id, true, &pb__observe_events_response__descriptor, "%s",
			started);
	fake_reply(&x->port, id, true, NULL, 0); /* without events */
	fake_reply_text(&x->port, id, false, &pb__observe_events_response__descriptor, "%s",
			started);
}

FIXTURE_TEST(events_come_until_the_last)
{
	x->answer = answer_events;
	consumer_observe(x->consumer, 2 | 4, on_event, x);
	run(x);
	assert_string_equal(x->heard, "event(0,1) event(0,1) event(0,-1,$) ");
}

FIXTURE_TEST(the_observer_may_free_the_consumer)
{
	x->answer = answer_events;
	x->free_after = 1;
	consumer_observe(x->consumer, 2 | 4, on_event, x);
	run(x);
	assert_string_equal(x->heard, "event(0,1) ");
	assert_null(x->consumer);
}

/* ---- the connection ends ---- */

static void answer_by_leaving(struct fixture *x, const char *method, uint64_t id,
			      const uint8_t *args, size_t len)
{
	if (!strcmp(method, "ObserveEvents"))
		fake_hang_up(&x->port);
}

TEST_WITH(every_open_request_ends_when_the_service_dies, setup, teardown)
{
	struct fixture *x = *state;

	x->answer = answer_by_leaving;
	consumer_enable(x->consumer, "x", 1, -1, on_enabled, x);
	consumer_read(x->consumer, on_slices, x);
	consumer_stats(x->consumer, on_stats, x);
	consumer_query_state(x->consumer, false, on_state, x);
	consumer_flush(x->consumer, 0, 0, on_done, x);
	consumer_observe(x->consumer, 2 | 4, on_event, x);
	run(x);
	assert_string_equal(x->heard, "ended(-32,) [$-32] stats(-32,99) state(-32) done(-32) "
				      "event(-32,-1,$) disconnected ");
	assert_int_equal(consumer_stats(x->consumer, on_stats, x), -EPIPE);
}

FIXTURE_TEST(a_callback_may_free_while_others_wait)
{
	x->answer = answer_by_leaving;
	x->free_after = 2;
	consumer_enable(x->consumer, "x", 1, -1, on_enabled, x);
	consumer_stats(x->consumer, on_stats, x);
	consumer_flush(x->consumer, 0, 0, on_done, x);
	consumer_observe(x->consumer, 2 | 4, on_event, x);
	run(x);
	assert_string_equal(x->heard, "ended(-32,) stats(-32,99) ");
	assert_null(x->consumer);
}

FIXTURE_TEST(free_calls_nothing_and_the_service_sees_it)
{
	consumer_enable(x->consumer, "x", 1, -1, on_enabled, x);
	run(x);
	consumer_free(TAKE_PTR(x->consumer));
	run(x);
	assert_string_equal(x->heard, "");
	assert_true(x->port.hung_up);
	consumer_free(NULL);
}
