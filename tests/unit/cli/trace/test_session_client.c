/* SPDX-License-Identifier: Apache-2.0 */

#include "analyze/trace_scan.h"
#include "base/event_loop/sock.h"
#include "base/text/str.h"
#include "cli/trace/service_help.h"
#include "cli/trace/session_client.h"
#include "cli/trace/trace_file.h"
#include "unit/cli/fake_session.h"
#include "unit/temp_dir.h"
#include "unit/test.h"

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

TEST(no_service_listens)
{
	struct session_client *c;
	struct err_text e;

	assert_int_equal(session_client_open("/nonexistent/socket", &c, &e), -ENOENT);
	assert_string_equal(e.text, "no tracing service listens on /nonexistent/socket; check the "
				    "address");
	/* The commands start a service on the default address. */
	service_explain(sock_default_consumer(), -ENOENT, &e);
	assert_non_null(strstr(e.text, "; run: sudo "));
	assert_non_null(strstr(e.text, "sonda-probes")); /* a service alone records nothing */
	service_explain("1.2.3.4:99999", -EINVAL, &e);
	assert_non_null(strstr(e.text, "is not a valid socket address; examples: "));
	service_explain("no.such.host:1", -EADDRNOTAVAIL, &e);
	assert_non_null(strstr(e.text, "the host in 'no.such.host:1' is unknown"));
	service_explain("here", -EACCES, &e);
	assert_non_null(strstr(e.text, "here: permission denied"));
}

#define FIXTURE_TEST(name) TEST_STATE(name, setup, teardown, struct fixture *x)

/* Whom the socket lets in is in its mode. */
FIXTURE_TEST(group_of_the_socket_is_named)
{
	const char *address = x->service.port.address;
	struct err_text e;

	if (geteuid() != 0)
		skip();
	assert_int_equal(chown(address, 0, 1), 0);
	assert_int_equal(chmod(address, 0660), 0);
	service_explain(address, -EACCES, &e);
	assert_non_null(strstr(e.text, "or membership in group daemon is required; run: "
				       "sudo usermod -aG daemon "));
	assert_int_equal(chmod(address, 0600), 0);
	service_explain(address, -EACCES, &e);
	assert_true(
		str_ends(e.text, "permission denied; root is required; run: sudo -E sonda ..."));
}

FIXTURE_TEST(answers_come_when_calls_return)
{
	Pb__TracingServiceState *s;
	struct err_text e;

	begin(x);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(session_client_query(x->client, i, &s, &e), 0);
		assert_int_equal(s->num_sessions, 3);
		pb__tracing_service_state__free_unpacked(s, NULL);
	}
}

FIXTURE_TEST(session_is_taken_over_ended_and_read)
{
	const char *path = temp_dir_path(&x->dir, 0, "x");
	Pb__TraceConfig *config;
	struct trace_scan scan = {0};
	struct session_end end;
	struct trace_file *f;
	struct err_text e;
	struct stat st;

	begin(x);
	assert_int_equal(session_client_attach(x->client, "key", &config, &e), 0);
	assert_int_equal(session_client_end(x->client, config, true, &end, &e), 0);
	assert_int_equal(trace_file_open(path, &e, &f), 0);
	assert_int_equal(session_client_save(x->client, f, &scan, &e), 0);
	trace_file_free(f);
	pb__trace_config__free_unpacked(config, NULL);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_size, 2 + 3 + 2 + 3); /* "one" and "two" */
	assert_int_equal(scan.packets, 2);
	trace_scan_deinit(&scan);
}

FIXTURE_TEST(end_is_waited_for)
{
	Pb__TraceConfig config = PB__TRACE_CONFIG__INIT;
	struct session_end end;
	struct err_text e;

	x->service.end_at_once = true;
	x->service.enable_error = "it was too much";
	begin(x);
	/* What it has recorded until then can be read. */
	assert_int_equal(session_client_end(x->client, &config, false, &end, &e), 0);
	assert_string_equal(end.aborted.text, "it was too much");
	assert_false(end.by_signal);
}

/* A flush that is refused loses a little, and is no reason to lose the rest. */
FIXTURE_TEST(refused_flush_ends_it_nevertheless)
{
	Pb__TraceConfig config = PB__TRACE_CONFIG__INIT;
	struct session_end end;
	struct err_text e;

	x->service.refuse = "Flush";
	begin(x);
	assert_int_equal(session_client_end(x->client, &config, true, &end, &e), 0);
	assert_true(end.flush_failed);
}

FIXTURE_TEST(full_disk_keeps_what_found_room)
{
	struct trace_scan scan = {0};
	struct trace_file *f;
	struct err_text e;

	begin(x);
	assert_int_equal(trace_file_open("/dev/full", &e, &f), 0);
	assert_int_equal(session_client_save(x->client, f, &scan, &e), -ENOSPC);
	assert_non_null(strstr(e.text, "No space left"));
	trace_scan_deinit(&scan);
	trace_file_free(f);
}

FIXTURE_TEST(empty_trace_is_reported)
{
	static const uint8_t nothing[1];
	struct trace_scan scan = {0};
	struct trace_file *f;
	struct err_text e;

	x->service.slices = nothing;
	begin(x);
	assert_int_equal(trace_file_open(temp_dir_path(&x->dir, 0, "x"), &e, &f), 0);
	assert_int_equal(session_client_save(x->client, f, &scan, &e), -ENODATA);
	assert_string_equal(e.text, "the trace is empty");
	trace_scan_deinit(&scan);
	trace_file_free(f);
}

FIXTURE_TEST(session_may_be_left_again)
{
	Pb__TraceConfig *config;
	struct err_text e;

	begin(x);
	assert_int_equal(session_client_attach(x->client, "key", &config, &e), 0);
	assert_int_equal(session_client_detach(x->client, "key", &e), 0);
	pb__trace_config__free_unpacked(config, NULL);
}

FIXTURE_TEST(refusals_are_reported)
{
	const struct consumer_clone_request request = {.session_id = 1};
	Pb__TraceConfig *config;
	struct err_text e;
	bool written;

	x->service.refuse = "Attach";
	begin(x);
	assert_int_equal(session_client_attach(x->client, "key", &config, &e), -EPROTO);
	assert_string_equal(e.text, "this user has no detached session named 'key'; if the session "
				    "has ended, read the file that it wrote: sonda info FILE");
	assert_int_equal(session_client_clone(x->client, &request, -1, &written, &e), -EPROTO);
	assert_string_equal(e.text, "the tracing service refused the snapshot: no reason given");
}

/* Such a service will not report the start, so nothing is waited for. */
FIXTURE_TEST(refused_subscription_ends_the_wait_for_the_start)
{
	Pb__TraceConfig config = PB__TRACE_CONFIG__INIT;
	struct err_text e;

	x->service.refuse = "ObserveEvents";
	begin(x);
	assert_int_equal(session_client_watch_start(x->client, &e), 0);
	assert_int_equal(session_client_enable(x->client, &config, -1, &e), 0);
	assert_int_equal(session_client_await_start(x->client, 60000, &e), 0);
}

FIXTURE_TEST(service_that_disconnects_is_reported)
{
	Pb__TracingServiceState *s;
	struct err_text e;

	x->service.leave = "QueryServiceState";
	begin(x);
	assert_int_equal(session_client_query(x->client, true, &s, &e), -EPIPE);
	assert_non_null(strstr(e.text, "disconnected"));
}

/* A service that is stopped gives its reason, and its counters with the producers that went
 * away. */
FIXTURE_TEST(counters_are_read)
{
	struct service_stats stats;
	struct err_text e;

	begin(x);
	assert_int_equal(session_client_query_stats(x->client, &stats, &e), 0);
	assert_int_equal(stats.buffers[0].bytes_written, 21400000);
}

/* What accepts a connection and never answers is given up. */
FIXTURE_TEST(mute_socket_is_given_up)
{
	struct session_client *c;
	struct err_text e;

	/* The kernel takes the connection; no answer comes, because the loop does not run. */
	assert_int_equal(session_client_open(x->service.port.address, &c, &e), -ETIMEDOUT);
	assert_non_null(strstr(e.text, "does not reply; it is hung, or is not a tracing service"));
}
