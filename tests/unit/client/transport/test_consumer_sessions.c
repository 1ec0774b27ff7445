// SPDX-License-Identifier: Apache-2.0
#include "unit/test.h"
#include "client/transport/consumer.h"
#include "unit/fake_port.h"
#include "ipc/consumer_port.pb-c.h"

/* What the client heard, as text, and what the service got. */
struct fixture {
	struct event_base *loop;
	struct fake_port port;
	struct consumer *consumer;
	char heard[512], got[512];
};

static void add(char *text, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void add(char *text, const char *fmt, ...)
{
	size_t n = strlen(text);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text + n, 512 - n, fmt, ap);
	va_end(ap);
}

static void answer_clone(struct fixture *x, uint64_t id, const uint8_t *args, size_t len)
{
	Pb__CloneSessionRequest *m = pb__clone_session_request__unpack(NULL, len, args);
	Pb__CloneSessionResponse answer = PB__CLONE_SESSION_RESPONSE__INIT;

	assert_non_null(m);
	if (m->selector_case == PB__CLONE_SESSION_REQUEST__SELECTOR_UNIQUE_SESSION_NAME)
		add(x->got, "name %s ", m->unique_session_name);
	else
		add(x->got, "id %llu ", (unsigned long long)m->session_id);
	if (m->clone_trigger_name)
		add(x->got, "for %s of %s %d at %llu after %llu ", m->clone_trigger_name,
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

static void on_call(struct fake_port *p, const char *method, uint64_t id, const uint8_t *args,
		    size_t len)
{
	struct fixture *x = p->ctx;

	if (!strcmp(method, "CloneSession"))
		answer_clone(x, id, args, len);
	else if (!strcmp(method, "Attach"))
		answer_attach(x, id, args, len);
	else if (!strcmp(method, "EnableTracing"))
		answer_enable(x, id, args, len);
	else
		fake_refuse(p, id);
}

static void on_connected(void *ctx, int error)
{
	add(((struct fixture *)ctx)->heard, "connected(%d) ", error);
}

static void on_disconnected(void *ctx)
{
	add(((struct fixture *)ctx)->heard, "disconnected ");
}

static const struct consumer_ops ops = {on_connected, on_disconnected};

/* Both ends are on this loop and nothing waits for a clock: so many turns are enough for all. */
static void run(struct fixture *x)
{
	for (int turn = 0; turn < 200; turn++)
		event_base_loop(x->loop, EVLOOP_NONBLOCK);
}

static int setup(void **state)
{
	struct fixture *x = calloc(1, sizeof(*x));

	*state = x;
	x->loop = event_base_new();
	x->port.methods = fake_consumer_methods;
	x->port.n_methods = ARRAY_SIZE(fake_consumer_methods);
	x->port.on_call = on_call;
	x->port.ctx = x;
	fake_port_open(&x->port, x->loop);
	assert_int_equal(consumer_connect(x->loop, x->port.address, &ops, x, &x->consumer), 0);
	run(x);
	x->heard[0] = '\0';
	return 0;
}

static int teardown(void **state)
{
	struct fixture *x = *state;

	consumer_free(x->consumer);
	fake_port_close(&x->port);
	event_base_free(x->loop);
	free(x);
	return 0;
}

static void on_cloned(void *ctx, int error, const Pb__CloneSessionResponse *answer)
{
	add(((struct fixture *)ctx)->heard, "cloned(%d,%d,%s) ", error, answer && answer->success,
	    answer && answer->error ? answer->error : "");
}

static void on_attached(void *ctx, int error, const Pb__TraceConfig *config)
{
	add(((struct fixture *)ctx)->heard, "attached(%d,%s) ", error,
	    config && config->unique_session_name ? config->unique_session_name : "");
}

static void on_done(void *ctx, int error)
{
	add(((struct fixture *)ctx)->heard, "done(%d) ", error);
}

static void on_ended(void *ctx, int error, const char *text)
{
	add(((struct fixture *)ctx)->heard, "ended(%d,%s) ", error, text);
}

#define FIXTURE_TEST(name) TEST_STATE(name, setup, teardown, struct fixture *x)

FIXTURE_TEST(clones_are_asked_for_by_number_or_by_name)
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

FIXTURE_TEST(clone_says_which_trigger_it_is_for)
{
	Pb__ObservableEvents__CloneTriggerHit hit = PB__OBSERVABLE_EVENTS__CLONE_TRIGGER_HIT__INIT;
	const struct consumer_clone_request request = {.session_id = 7, .trigger = &hit};

	hit.trigger_name = (char *)"late";
	hit.producer_name = (char *)"app";
	hit.has_producer_uid = hit.has_boot_time_ns = hit.has_trigger_delay_ms = true;
	hit.producer_uid = 1000;
	hit.boot_time_ns = 1234567890123;
	hit.trigger_delay_ms = 500;
	assert_int_equal(consumer_clone(x->consumer, &request, -1, on_cloned, x), 0);
	run(x);
	assert_string_equal(x->got, "id 7 for late of app 1000 at 1234567890123 after 500 ");
}

FIXTURE_TEST(attaching_gives_the_config)
{
	assert_int_equal(consumer_attach(x->consumer, "key", on_attached, x), 0);
	assert_int_equal(consumer_attach(x->consumer, "empty", on_attached, x), 0);
	run(x);
	assert_string_equal(x->heard, "attached(0,key) attached(0,) ");
}

FIXTURE_TEST(detaching_can_be_refused)
{
	assert_int_equal(consumer_detach(x->consumer, "key", on_done, x), 0);
	run(x);
	assert_string_equal(x->heard, "done(-71) ");
}

FIXTURE_TEST(end_of_a_session_is_awaited)
{
	assert_int_equal(consumer_await_end(x->consumer, on_ended, x), 0);
	run(x);
	assert_string_equal(x->heard, "ended(0,why) ");
}

FIXTURE_TEST(service_that_goes_away_answers_all)
{
	const struct consumer_clone_request number = {.session_id = 7};

	assert_int_equal(consumer_clone(x->consumer, &number, -1, on_cloned, x), 0);
	assert_int_equal(consumer_attach(x->consumer, "key", on_attached, x), 0);
	fake_hang_up(&x->port);
	run(x);
	assert_string_equal(x->heard, "cloned(-32,0,) attached(-32,) disconnected ");
}
