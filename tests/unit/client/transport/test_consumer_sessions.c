/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/client/consumer_rig.h"
#include "unit/test.h"

/* Appends what the service got. */
static void note(struct fixture *x, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void note(struct fixture *x, const char *fmt, ...)
{
	size_t n = strlen(x->got);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(x->got + n, sizeof(x->got) - n, fmt, ap);
	va_end(ap);
}

static void answer_clone(struct fixture *x, uint64_t id, const uint8_t *args, size_t len)
{
	Pb__CloneSessionRequest *m = pb__clone_session_request__unpack(NULL, len, args);
	Pb__CloneSessionResponse answer = PB__CLONE_SESSION_RESPONSE__INIT;

	assert_non_null(m);
	if (m->selector_case == PB__CLONE_SESSION_REQUEST__SELECTOR_UNIQUE_SESSION_NAME)
		note(x, "name %s ", m->unique_session_name);
	else
		note(x, "id %llu ", (unsigned long long)m->session_id);
	if (m->clone_trigger_name)
		note(x, "for %s of %s %d at %llu after %llu ", m->clone_trigger_name,
		     m->clone_trigger_producer_name, m->clone_trigger_trusted_producer_uid,
		     (unsigned long long)m->clone_trigger_boot_time_ns,
		     (unsigned long long)m->clone_trigger_delay_ms);
	answer.has_success = true;
	answer.success =
		m->selector_case != PB__CLONE_SESSION_REQUEST__SELECTOR_UNIQUE_SESSION_NAME;
	if (!answer.success)
		answer.error = (char *)"not found";
	answer.has_was_write_into_file = answer.was_write_into_file = true;
	fake_reply_msg(&x->port, id, false, &answer.base);
	pb__clone_session_request__free_unpacked(m, NULL);
}

static void answer_attach(struct fixture *x, uint64_t id, const uint8_t *args, size_t len)
{
	Pb__AttachRequest *m = pb__attach_request__unpack(NULL, len, args);
	Pb__AttachResponse answer = PB__ATTACH_RESPONSE__INIT;
	Pb__TraceConfig config = PB__TRACE_CONFIG__INIT;

	assert_non_null(m);
	config.unique_session_name = m->key;
	answer.trace_config = &config;
	if (strcmp(m->key, "empty") != 0)
		fake_reply_msg(&x->port, id, false, &answer.base);
	else
		fake_reply(&x->port, id, false, NULL, 0);
	pb__attach_request__free_unpacked(m, NULL);
}

static void answer_enable(struct fixture *x, uint64_t id, const uint8_t *args, size_t len)
{
	Pb__EnableTracingRequest *m = pb__enable_tracing_request__unpack(NULL, len, args);
	Pb__EnableTracingResponse answer = PB__ENABLE_TRACING_RESPONSE__INIT;

	assert_non_null(m);
	assert_true(m->attach_notification_only);
	assert_null(m->trace_config);
	answer.state_case = PB__ENABLE_TRACING_RESPONSE__STATE_DISABLED;
	answer.disabled = true;
	answer.error = (char *)"why";
	fake_reply_msg(&x->port, id, false, &answer.base);
	pb__enable_tracing_request__free_unpacked(m, NULL);
}

static void answer_by_method(struct fixture *x, const char *method, uint64_t id,
			     const uint8_t *args, size_t len)
{
	if (!strcmp(method, "CloneSession"))
		answer_clone(x, id, args, len);
	else if (!strcmp(method, "Attach"))
		answer_attach(x, id, args, len);
	else if (!strcmp(method, "EnableTracing"))
		answer_enable(x, id, args, len);
	else
		fake_refuse(&x->port, id);
}

static void on_cloned(void *ctx, int error, const struct consumer_clone_answer *answer)
{
	if (answer)
		assert_true(answer->was_written);
	hear(ctx, "cloned(%d,%d,%s) ", error, answer && answer->success,
	     answer ? answer->error : "");
}

static void on_attached(void *ctx, int error, const void *data, size_t len)
{
	Pb__TraceConfig *config = client_unpack(&pb__trace_config__descriptor, error, data, len);

	hear(ctx, "attached(%d,%s) ", error,
	     config && config->unique_session_name ? config->unique_session_name : "");
	pb__trace_config__free_unpacked(config, NULL);
}

static void on_ended(void *ctx, int error, const char *text)
{
	hear(ctx, "ended(%d,%s) ", error, text);
}

static int answering_setup(void **state)
{
	struct fixture *x;

	setup(state);
	x = *state;
	x->answer = answer_by_method;
	return 0;
}

#define ANSWERING_TEST(name) TEST_STATE(name, answering_setup, teardown, struct fixture *x)

ANSWERING_TEST(clones_are_asked_for_by_number_or_by_name)
{
	const struct consumer_clone_request number = {.session_id = 7}, name = {.name = "n"},
					    best = {.session_id = CONSUMER_CLONE_FOR_BUGREPORT};

	assert_int_equal(consumer_clone(x->consumer, &number, -1, on_cloned, x), 0);
	assert_int_equal(consumer_clone(x->consumer, &name, STDIN_FILENO, on_cloned, x), 0);
	assert_int_equal(consumer_clone(x->consumer, &best, -1, on_cloned, x), 0);
	run(x);
	assert_string_equal(x->got, "id 7 name n id 18446744073709551615 ");
	assert_string_equal(x->heard, "cloned(0,1,) cloned(0,0,not found) cloned(0,1,) ");
}

ANSWERING_TEST(clone_says_which_trigger_it_is_for)
{
	const struct consumer_clone_trigger trigger = {.name = "late",
						       .producer_name = "app",
						       .has_producer_uid = true,
						       .producer_uid = 1000,
						       .boot_time_ns = 1234567890123,
						       .delay_ms = 500};
	const struct consumer_clone_request request = {.session_id = 7, .trigger = &trigger};

	assert_int_equal(consumer_clone(x->consumer, &request, -1, on_cloned, x), 0);
	run(x);
	assert_string_equal(x->got, "id 7 for late of app 1000 at 1234567890123 after 500 ");
}

ANSWERING_TEST(attaching_gives_the_config)
{
	assert_int_equal(consumer_attach(x->consumer, "key", on_attached, x), 0);
	assert_int_equal(consumer_attach(x->consumer, "empty", on_attached, x), 0);
	run(x);
	assert_string_equal(x->heard, "attached(0,key) attached(0,) ");
}

ANSWERING_TEST(detaching_can_be_refused)
{
	assert_int_equal(consumer_detach(x->consumer, "key", on_done, x), 0);
	run(x);
	assert_string_equal(x->heard, "done(-71) ");
}

ANSWERING_TEST(end_of_a_session_is_awaited)
{
	assert_int_equal(consumer_await_end(x->consumer, on_ended, x), 0);
	run(x);
	assert_string_equal(x->heard, "ended(0,why) ");
}

ANSWERING_TEST(service_that_goes_away_answers_all)
{
	const struct consumer_clone_request number = {.session_id = 7};

	assert_int_equal(consumer_clone(x->consumer, &number, -1, on_cloned, x), 0);
	assert_int_equal(consumer_attach(x->consumer, "key", on_attached, x), 0);
	fake_hang_up(&x->port);
	run(x);
	assert_string_equal(x->heard, "cloned(-32,0,) attached(-32,) disconnected ");
}
