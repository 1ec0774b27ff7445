/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "cli/session_client.h"
#include "cli/trace_file.h"
#include "fake_session.h"
#include "temp_dir.h"

/* The service runs in a child: each request of the client blocks. */
struct fixture {
	struct fake_session service;
	struct event_base *loop;
	pid_t child;
	void *dir;
	struct session_client *client;
};

static int setup(void **state)
{
	struct fixture *x = calloc(1, sizeof(*x));

	if (!x || temp_dir_setup(&x->dir) < 0)
		return -1;
	x->loop = event_base_new();
	fake_session_open(&x->service, x->loop);
	*state = x;
	return 0;
}

/* What the service does is set before. */
static void begin(struct fixture *x)
{
	struct err_text e;

	x->child = fork();
	assert_true(x->child >= 0);
	if (x->child == 0) {
		event_reinit(x->loop);
		event_base_dispatch(x->loop);
		_exit(0);
	}
	assert_int_equal(session_client_open(x->service.port.address, &x->client, &e), 0);
}

static int teardown(void **state)
{
	struct fixture *x = *state;

	session_client_free(x->client);
	if (x->child > 0) {
		kill(x->child, SIGKILL);
		waitpid(x->child, NULL, 0);
	}
	fake_port_close(&x->service.port);
	event_base_free(x->loop);
	temp_dir_teardown(&x->dir);
	free(x);
	return 0;
}

static void nobody_listens(void **state)
{
	struct session_client *c;
	struct err_text e;

	(void)state;
	assert_int_equal(session_client_open("/nonexistent/socket", &c, &e), -ENOENT);
	assert_string_equal(e.text,
			    "no tracing service on /nonexistent/socket: No such file or directory");
	session_client_explain("here", -EACCES, &e);
	assert_non_null(strstr(e.text, "here: permission denied"));
}

static void answers_come_when_calls_return(void **state)
{
	struct fixture *x = *state;
	Pb__TracingServiceState *s;
	struct err_text e;

	begin(x);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(session_client_query(x->client, i, &s, &e), 0);
		assert_int_equal(s->num_sessions, 3);
		pb__tracing_service_state__free_unpacked(s, NULL);
	}
}

static void session_is_taken_over_ended_and_read(void **state)
{
	struct fixture *x = *state;
	const char *path = temp_dir_path(&x->dir, 0, "x");
	Pb__TraceConfig *config;
	struct trace_file *f;
	struct err_text e;
	struct stat st;

	begin(x);
	assert_int_equal(session_client_attach(x->client, "key", &config, &e), 0);
	assert_int_equal(session_client_end(x->client, config, true, &e), 0);
	assert_int_equal(trace_file_open(path, &e, &f), 0);
	assert_int_equal(session_client_read(x->client, f, &e), 0);
	assert_int_equal(trace_file_save(f, &e), 0);
	trace_file_free(f);
	pb__trace_config__free_unpacked(config, NULL);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_size, 2 + 3 + 2 + 3); /* "one" and "two" */
}

static void end_is_waited_for(void **state)
{
	struct fixture *x = *state;
	Pb__TraceConfig config = PB__TRACE_CONFIG__INIT;
	struct err_text e;

	x->service.end_at_once = true;
	x->service.enable_error = "it was too much";
	begin(x);
	assert_int_equal(session_client_end(x->client, &config, false, &e), -EPROTO);
	assert_string_equal(e.text, "the tracing service says: it was too much");
}

/* A flush that is refused loses a little, and is no reason to lose the rest. */
static void refused_flush_ends_it_nevertheless(void **state)
{
	struct fixture *x = *state;
	Pb__TraceConfig config = PB__TRACE_CONFIG__INIT;
	struct err_text e;

	x->service.refuse = "Flush";
	begin(x);
	assert_int_equal(session_client_end(x->client, &config, true, &e), 0);
}

static void refusals_are_told(void **state)
{
	const struct consumer_clone_request request = {.session_id = 1};
	struct fixture *x = *state;
	Pb__TraceConfig *config;
	struct err_text e;
	bool written;

	x->service.refuse = "Attach";
	begin(x);
	assert_int_equal(session_client_attach(x->client, "key", &config, &e), -EPROTO);
	assert_string_equal(e.text, "no session of this user is detached under the name 'key'");
	assert_int_equal(session_client_clone(x->client, &request, -1, &written, &e), -EPROTO);
	assert_string_equal(e.text, "the tracing service says: no reason given");
}

static void service_that_goes_away_is_told(void **state)
{
	struct fixture *x = *state;
	Pb__TracingServiceState *s;
	struct err_text e;

	x->service.leave = "QueryServiceState";
	begin(x);
	assert_int_equal(session_client_query(x->client, true, &s, &e), -EPIPE);
	assert_non_null(strstr(e.text, "went away"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nobody_listens),	    TEST(answers_come_when_calls_return),
		TEST(session_is_taken_over_ended_and_read), TEST(end_is_waited_for),
		TEST(refused_flush_ends_it_nevertheless),   TEST(refusals_are_told),
		TEST(service_that_goes_away_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
