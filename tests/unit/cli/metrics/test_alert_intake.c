/* SPDX-License-Identifier: Apache-2.0 */
/* Requests of the webhook, and a recorder that answers as the test wants. */
#include "cli/metrics/alert_intake.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/event_loop/event_free.h"
#include "base/event_loop/sock.h"
#include "base/system/fs.h"
#include "base/text/str.h"
#include "unit/temp_dir.h"
#include "unit/test.h"

static struct event_base *loop;
static struct alert_intake *intake;
static unsigned results[ALERT_RESULTS], saved, not_saved;
static char address[512], service[512];
static char *trigger; /* "GLOB=NAME"; NULL: none */
static int recorder = -1;

static void on_alert(void *ctx, enum alert_result result)
{
	results[result]++;
}

static void on_snapshot(void *ctx, const char *result)
{
	if (!strcmp(result, "saved"))
		saved++;
	else
		not_saved++;
}

static void begin(const char *dir, uint32_t limit, bool with_recorder)
{
	const struct alert_intake_setup setup = {
		.loop = loop = event_base_new(),
		.token = "the-token",
		.recorder = trigger && !with_recorder ? NULL : address,
		.service = service,
		.triggers = {trigger},
		.n_triggers = trigger != NULL,
		.matches = {"instance=web*"},
		.n_matches = 1,
		.limit = limit,
		.on_alert = on_alert,
		.on_snapshot = on_snapshot,
	};

	memset(results, 0, sizeof(results));
	saved = not_saved = 0;
	fs_join(address, sizeof(address), dir, "alerts");
	fs_join(service, sizeof(service), dir, "producer");
	if (with_recorder)
		assert_int_equal(sock_listen(address, &recorder, NULL), 0);
	intake = alert_intake_new(&setup);
	assert_non_null(intake);
}

static void end(void)
{
	alert_intake_free(intake);
	event_base_freep(&loop);
	closep(&recorder);
	recorder = -1;
	unlink(address);
}

static unsigned post_with(const char *authorization, const char *type, const char *body)
{
	struct http_request r = {.method = HTTP_POST, .length = strlen(body)};

	snprintf(r.authorization, sizeof(r.authorization), "%s", authorization);
	snprintf(r.content_type, sizeof(r.content_type), "%s", type);
	return alert_intake_handle_request(intake, &r, body);
}

/* Posts n alerts that fire, with fingerprints from first on. */
static unsigned post(unsigned first, unsigned n, const char *instance)
{
	struct strbuf b = {0};
	unsigned status;

	strbuf_puts(&b, "{\"version\":\"4\",\"alerts\":[");
	for (unsigned i = 0; i < n; i++)
		strbuf_printf(
			&b,
			"%s{\"status\":\"firing\",\"fingerprint\":\"%x\",\"startsAt\":\"now\","
			"\"labels\":{\"alertname\":\"Slow=1\",\"instance\":\"%s\"}}",
			i ? "," : "", first + i, instance);
	strbuf_puts(&b, "]}");
	status = post_with("Bearer the-token", "application/json", b.s);
	strbuf_deinit(&b);
	return status;
}

/* Accepts a call of the recorder, and answers. */
static void answer(const char *text)
{
	char line[4096];
	int fd;

	assert_int_equal(sock_accept(recorder, &fd), 0);
	assert_true(recv(fd, line, sizeof(line), 0) > 0);
	assert_int_equal(send(fd, text, strlen(text), 0), strlen(text));
	close(fd);
	event_base_loop(loop, EVLOOP_ONCE);
}

#define DIR_TEST(name) TEST_STATE(name, temp_dir_setup, temp_dir_teardown, char *dir)

DIR_TEST(an_alert_is_passed_on_once)
{
	begin(dir, 12, true);
	assert_int_equal(post(1, 1, "web1"), 200);
	answer("saved\n");
	assert_int_equal(saved, 1);
	assert_int_equal(post(1, 1, "web1"), 200);
	assert_int_equal(results[ALERT_FIRED], 1);
	assert_int_equal(results[ALERT_DUPLICATE], 1);
	end();
}

DIR_TEST(an_alert_without_a_snapshot_may_come_again)
{
	begin(dir, 1, true);
	post(1, 1, "web1");
	answer("skipped\n");
	assert_int_equal(not_saved, 1);
	/* Nor does it count for the limit. */
	post(1, 1, "web1");
	answer("saved\n");
	assert_int_equal(saved, 1);
	assert_int_equal(results[ALERT_FIRED], 2);
	end();
}

DIR_TEST(alerts_above_the_limit_are_refused)
{
	begin(dir, 3, true);
	assert_int_equal(post(1, 1000, "web1"), 200);
	assert_int_equal(results[ALERT_FIRED], 3);
	assert_int_equal(results[ALERT_REFUSED], 997);
	end();
}

DIR_TEST(calls_that_have_no_answer_are_limited)
{
	begin(dir, 1000, true);
	assert_int_equal(post(1, 1000, "web1"), 200);
	assert_true(results[ALERT_FIRED] < 20);
	end();
}

DIR_TEST(alerts_of_other_machines_are_refused)
{
	begin(dir, 12, true);
	assert_int_equal(post(1, 1, "db1"), 200);
	assert_int_equal(results[ALERT_REFUSED], 1);
	end();
}

DIR_TEST(without_a_recorder_alertmanager_tries_again)
{
	begin(dir, 12, false);
	assert_int_equal(post(1, 5, "web1"), 503);
	assert_int_equal(results[ALERT_FIRED], 0);
	assert_int_equal(sock_listen(address, &recorder, NULL), 0);
	assert_int_equal(post(1, 1, "web1"), 200);
	assert_int_equal(results[ALERT_FIRED], 1);
	end();
}

DIR_TEST(an_alert_may_be_a_trigger)
{
	trigger = "Slow=*=slow";
	begin(dir, 12, true);
	assert_int_equal(post(1, 1, "db1"), 200);
	assert_int_equal(results[ALERT_REFUSED], 1);
	/* There is no service. */
	assert_int_equal(post(1, 1, "web1"), 503);
	assert_int_equal(results[ALERT_FIRED], 0);
	end();

	/* Only alerts without a trigger are for the recorder. */
	trigger = "Other=slow";
	begin(dir, 12, true);
	assert_int_equal(post(1, 1, "web1"), 200);
	answer("saved\n");
	assert_int_equal(saved, 1);
	end();

	begin(dir, 12, false);
	assert_int_equal(post(1, 1, "web1"), 200);
	assert_int_equal(results[ALERT_REFUSED], 1);
	end();
	trigger = NULL;
}

DIR_TEST(requests_are_checked)
{
	static const char good[] = "{\"version\":\"4\",\"alerts\":[]}";
	struct http_request get = {.method = HTTP_GET};

	begin(dir, 12, true);
	assert_int_equal(alert_intake_handle_request(intake, &get, ""), 405);
	assert_int_equal(post_with("", "application/json", good), 401);
	assert_int_equal(post_with("Bearer the-tokem", "application/json", good), 401);
	assert_int_equal(post_with("Bearer the-token2", "application/json", good), 401);
	assert_int_equal(post_with("Basic the-token", "application/json", good), 401);
	assert_int_equal(post_with("Bearer the-token", "text/plain", good), 400);
	assert_int_equal(post_with("Bearer the-token", "application/json", "{}"), 400);
	assert_int_equal(post_with("Bearer the-token", "application/json", good), 200);
	end();
}

DIR_TEST(a_token_is_the_first_line_of_a_file)
{
	char path[600], *token = NULL;
	struct err_text e;

	snprintf(path, sizeof(path), "%s/token", dir);
	assert_int_equal(alert_intake_read_token(path, &token, &e), -ENOENT);
	close(open(path, O_CREAT | O_WRONLY, 0600));
	assert_int_equal(alert_intake_read_token(path, &token, &e), -EINVAL);
	assert_int_equal(fs_write_file(path, "long-enough\nmore\n", false), 0);
	assert_int_equal(alert_intake_read_token(path, &token, &e), 0);
	assert_string_equal(token, "long-enough");
	free(token);
	unlink(path);
}
