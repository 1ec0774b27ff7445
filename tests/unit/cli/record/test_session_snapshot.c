// SPDX-License-Identifier: Apache-2.0
/* A snapshot from a service that follows a script. */

#include "unit/test.h"
#include "cli/trace/trace_file.h"
#include "unit/cli/fake_session.h"
#include "unit/temp_dir.h"
#include "cli/record/snapshots.c"

struct fixture {
	struct event_base *loop;
	struct fake_session service;
	void *dir;
	Pb__ObservableEvents__CloneTriggerHit hit;
	struct session_snapshot *snapshot;
	char heard[256];
	uint64_t bytes, packets;
};

static void on_snapshot_end(void *ctx, struct session_snapshot *s, int error, const char *why)
{
	struct fixture *x = ctx;

	assert_ptr_equal(s, x->snapshot);
	assert_int_equal(x->heard[0], '\0'); /* it comes once */
	snprintf(x->heard, sizeof(x->heard), "end(%d,%s)", error, why);
	x->bytes = trace_file_bytes(session_snapshot_file(s));
	x->packets = session_snapshot_scan(s)->packets;
	session_snapshot_free(s); /* as its owner does */
	x->snapshot = NULL;
}

static int setup(void **state)
{
	struct fixture *x = calloc(1, sizeof(*x));

	if (!x || temp_dir_setup(&x->dir))
		return -1;
	x->loop = event_base_new();
	fake_session_open(&x->service, x->loop);
	x->service.is_cloned = true;
	pb__observable_events__clone_trigger_hit__init(&x->hit);
	x->hit.has_tracing_session_id = true;
	x->hit.tracing_session_id = 7;
	x->hit.trigger_name = (char *)"late";
	*state = x;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *x = *state;

	session_snapshot_free(x->snapshot);
	fake_port_close(&x->service.port);
	event_base_free(x->loop);
	temp_dir_teardown(&x->dir);
	free(x);
	return 0;
}

/* Both ends are on this loop and nothing waits for a clock: so many turns are enough for all. */
static void run(struct fixture *x)
{
	struct err_text e;

	if (session_snapshot_start(x->loop, x->service.port.address, &x->hit,
				   temp_dir_path(&x->dir, 0, "x"), on_snapshot_end, x, &e,
				   &x->snapshot))
		fail_msg("%s", e.text);
	for (int turn = 0; turn < 200; turn++)
		event_base_loop(x->loop, EVLOOP_NONBLOCK);
}

#define FIXTURE_TEST(name) TEST_STATE(name, setup, teardown, struct fixture *x)

FIXTURE_TEST(session_is_cloned_and_read)
{
	run(x);
	assert_string_equal(x->heard, "end(0,)");
	assert_string_equal(x->service.cloned, "7 late");
	assert_string_equal(x->service.port.calls, "CloneSession ReadBuffers ");
	assert_int_equal(x->packets, 2);
	assert_int_equal(x->bytes, 2 + 3 + 2 + 3); /* "one" and "two" */
}

/* Of a session that writes into a file: there is nothing to read. */
FIXTURE_TEST(service_may_write_it)
{
	static const uint8_t packets[] = {0x12, 0x07, 0x0a, 0x03, 't', 'w', 'o', 0x10, 0x01};

	x->service.clone_is_written = true;
	x->service.slices = packets;
	x->service.slices_len = sizeof(packets);
	run(x);
	assert_string_equal(x->heard, "end(0,)");
	assert_string_equal(x->service.port.calls, "CloneSession ");
	assert_int_equal(x->bytes, 2 + 3);
	assert_int_equal(x->packets, 1);
}

FIXTURE_TEST(service_says_why_not)
{
	x->service.is_cloned = false;
	x->service.clone_error = "Original session ended";
	run(x);
	assert_string_equal(x->heard, "end(-71,the tracing service says: Original session ended)");
}

FIXTURE_TEST(refusals_and_ends_are_told)
{
	static const uint8_t half[] = {0x12, 0x06, 0x0a, 0x02, 'o', 'n', 0x10, 0x00};
	static const struct {
		const char *refuse, *leave, *said;
		bool is_half, is_empty;
	} rows[] = {
		{"CloneSession", NULL,
		 "end(-71,the tracing service refused while making the snapshot)", 0, 0},
		{NULL, "CloneSession",
		 "end(-32,the tracing service disconnected while making the snapshot)", 0, 0},
		{NULL, "ReadBuffers", "end(-32,the tracing service disconnected while reading it)",
		 0, 0},
		{NULL, NULL, "end(-71,the tracing service refused while reading it)", true, 0},
		{NULL, NULL, "end(-61,it is empty)", 0, true},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		x->service.refuse = rows[i].refuse;
		x->service.leave = rows[i].leave;
		x->service.slices = rows[i].is_half || rows[i].is_empty ? half : NULL;
		x->service.slices_len = rows[i].is_half ? sizeof(half) : 0;
		x->heard[0] = '\0';
		run(x);
		assert_string_equal(x->heard, rows[i].said);
		assert_null(x->snapshot);
	}
}

FIXTURE_TEST(without_a_service_or_a_folder_nothing_begins)
{
	struct err_text e;

	assert_int_equal(session_snapshot_start(x->loop, "/nonexistent/socket", &x->hit,
						temp_dir_path(&x->dir, 0, "x"), on_snapshot_end, x,
						&e, &x->snapshot),
			 -ENOENT);
	assert_non_null(strstr(e.text, "no tracing service listens on /nonexistent/socket"));
	assert_int_equal(session_snapshot_start(x->loop, x->service.port.address, &x->hit,
						"/nonexistent/x", on_snapshot_end, x, &e,
						&x->snapshot),
			 -ENOENT);
	assert_non_null(strstr(e.text, "cannot write /nonexistent/x"));
	assert_null(x->snapshot);
}

FIXTURE_TEST(one_that_is_dropped_tells_nobody)
{
	x->service.silent = "CloneSession";
	run(x);
	session_snapshot_free(x->snapshot);
	x->snapshot = NULL;
	for (int turn = 0; turn < 50; turn++)
		event_base_loop(x->loop, EVLOOP_NONBLOCK);
	assert_string_equal(x->heard, "");
	assert_true(x->service.port.hung_up);
}
