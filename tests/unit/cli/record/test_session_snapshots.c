/* SPDX-License-Identifier: Apache-2.0 */
/* Which of them are made, wait or are left out, and what they are called. */

#include "base/system/fs.h"
#include "base/system/log.h"
#include "cli/record/snapshots.h"
#include "cli/terminal/console.h"
#include "unit/cli/fake_session.h"
#include "unit/temp_dir.h"
#include "unit/test.h"

struct fixture {
	struct event_base *loop;
	struct fake_session service;
	void *dir;
	Pb__TraceConfig config;
	Pb__ObservableEvents__CloneTriggerHit hit;
	struct console console;
	struct snapshot_log log;
	struct snapshots *snapshots;
	unsigned idle;
};

static void on_idle(void *ctx)
{
	((struct fixture *)ctx)->idle++;
}

static void begin(struct fixture *x, const char *path)
{
	const struct snapshots_setup s = {
		.loop = x->loop,
		.address = x->service.port.address,
		.path = path,
		.config = &x->config,
		.console = &x->console,
		.log = &x->log,
		.on_idle = on_idle,
		.ctx = x,
	};

	x->snapshots = snapshots_new(&s);
	assert_non_null(x->snapshots);
}

static int setup(void **state)
{
	struct fixture *x = calloc(1, sizeof(*x));

	if (!x || temp_dir_setup(&x->dir))
		return -1;
	x->loop = event_base_new();
	fake_session_open(&x->service, x->loop);
	x->service.is_cloned = true;
	pb__trace_config__init(&x->config);
	pb__observable_events__clone_trigger_hit__init(&x->hit);
	x->hit.trigger_name = (char *)"late";
	x->console.quiet = true;
	*state = x;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *x = *state;

	snapshots_free(x->snapshots);
	snapshot_log_deinit(&x->log);
	fake_port_close(&x->service.port);
	event_base_free(x->loop);
	temp_dir_teardown(&x->dir);
	free(x);
	return 0;
}

/* Both ends are on this loop and nothing waits for a clock: so many turns are enough for all. */
static void run(struct fixture *x)
{
	for (int turn = 0; turn < 200; turn++)
		event_base_loop(x->loop, EVLOOP_NONBLOCK);
}

static off_t size_of(struct fixture *x, const char *name)
{
	struct stat st;

	return stat(temp_dir_path(&x->dir, 1, name), &st) ? -1 : st.st_size;
}

#define FIXTURE_TEST(name) TEST_STATE(name, setup, teardown, struct fixture *x)

FIXTURE_TEST(each_has_a_free_number)
{
	close(open(temp_dir_path(&x->dir, 1, "x.1.pf"), O_CREAT | O_WRONLY, 0600));
	begin(x, temp_dir_path(&x->dir, 0, "x.pf"));
	for (unsigned i = 0; i < 3; i++) {
		assert_true(snapshots_take(x->snapshots, &x->hit));
		assert_int_equal(x->idle, i);
		run(x);
		assert_int_equal(x->idle, i + 1);
	}
	assert_int_equal(x->log.saved, 3);
	assert_int_equal(size_of(x, "x.0.pf"), 10);
	assert_int_equal(size_of(x, "x.1.pf"), 0); /* of another program */
	assert_int_equal(size_of(x, "x.2.pf"), 10);
	assert_int_equal(size_of(x, "x.3.pf"), 10);
	assert_int_equal(size_of(x, "x.pf"), -1);
}

FIXTURE_TEST(one_that_fails_does_not_end_the_others)
{
	begin(x, temp_dir_path(&x->dir, 0, "x"));
	x->service.is_cloned = false;
	assert_true(snapshots_take(x->snapshots, &x->hit));
	run(x);
	assert_int_equal(x->log.failed, 1);
	assert_int_equal(x->idle, 1);
	x->service.is_cloned = true;
	assert_true(snapshots_take(x->snapshots, &x->hit));
	run(x);
	assert_int_equal(x->log.saved, 1);
	assert_int_equal(size_of(x, "x.0"), 10); /* its number was not used */
}

/* Of a session that writes into a file: the service writes the clone, too. */
FIXTURE_TEST(a_snapshot_that_the_service_writes)
{
	static const uint8_t packets[] = {0x12, 0x07, 0x0a, 0x03, 't', 'w', 'o', 0x10, 0x01};

	begin(x, temp_dir_path(&x->dir, 0, "x"));
	x->service.clone_is_written = true;
	x->service.slices = packets;
	x->service.slices_len = sizeof(packets);
	x->hit.has_tracing_session_id = true;
	x->hit.tracing_session_id = 7;
	assert_true(snapshots_take(x->snapshots, &x->hit));
	run(x);
	assert_string_equal(x->service.cloned, "7 late");
	assert_string_equal(x->service.port.calls, "CloneSession ");
	assert_int_equal(x->log.saved, 1);
	assert_int_equal(size_of(x, "x.0"), 2 + 3);
	assert_int_equal(x->log.newest.packets, 1);
}

FIXTURE_TEST(the_log_has_the_reason_of_a_failure)
{
	static const uint8_t half[] = {0x12, 0x06, 0x0a, 0x02, 'o', 'n', 0x10, 0x00};
	static const struct {
		const char *refuse, *leave, *clone_error, *why;
		bool is_half, is_empty;
	} rows[] = {
		{"CloneSession", NULL, NULL,
		 "the tracing service reported an error while making the snapshot", 0, 0},
		{NULL, "CloneSession", NULL,
		 "the tracing service disconnected while making the snapshot", 0, 0},
		{NULL, NULL, "Original session ended",
		 "the tracing service refused the snapshot: Original session ended", 0, 0},
		{NULL, "ReadBuffers", NULL,
		 "the tracing service disconnected while reading the snapshot", 0, 0},
		{NULL, NULL, NULL,
		 "the tracing service reported an error while reading the snapshot", true, 0},
		{NULL, NULL, NULL, "it is empty", 0, true},
	};

	begin(x, temp_dir_path(&x->dir, 0, "x"));
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		x->service.refuse = rows[i].refuse;
		x->service.leave = rows[i].leave;
		x->service.clone_error = rows[i].clone_error;
		x->service.is_cloned = !rows[i].clone_error;
		x->service.slices = rows[i].is_half || rows[i].is_empty ? half : NULL;
		x->service.slices_len = rows[i].is_half ? sizeof(half) : 0;
		assert_true(snapshots_take(x->snapshots, &x->hit));
		run(x);
		assert_int_equal(x->log.failed, i + 1);
		if (!strstr(x->log.lines[i], rows[i].why))
			fail_msg("%s", x->log.lines[i]);
	}
	assert_int_equal(x->idle, ARRAY_SIZE(rows));
}

FIXTURE_TEST(some_wait_and_those_past_that_are_not_made)
{
	begin(x, temp_dir_path(&x->dir, 0, "x"));
	x->service.silent = "CloneSession";
	for (unsigned i = 0; i < SNAPSHOTS_AT_ONCE + SNAPSHOTS_WAITING; i++)
		assert_true(snapshots_take(x->snapshots, &x->hit));
	assert_int_equal(x->log.failed, 0);
	assert_false(snapshots_take(x->snapshots, &x->hit));
	assert_int_equal(x->log.failed, 1);
	run(x); /* the service knows one client at a time, and hangs up on all others */
	assert_in_range(x->log.failed, SNAPSHOTS_WAITING, SNAPSHOTS_AT_ONCE + SNAPSHOTS_WAITING);
	assert_int_equal(x->idle, 0);
	/* Those that are left are logged, too. */
	snapshots_free(x->snapshots);
	x->snapshots = NULL;
	assert_int_equal(x->log.failed, SNAPSHOTS_AT_ONCE + SNAPSHOTS_WAITING + 1);
	assert_int_equal(x->log.saved, 0);
}

FIXTURE_TEST(those_that_waited_are_made)
{
	begin(x, temp_dir_path(&x->dir, 0, "x"));
	for (unsigned i = 0; i < SNAPSHOTS_AT_ONCE + 5; i++)
		assert_true(snapshots_take(x->snapshots, &x->hit));
	for (int i = 0; i < 20 && !x->idle; i++)
		run(x);
	assert_int_equal(x->idle, 1);
	assert_int_equal(x->log.saved + x->log.failed, SNAPSHOTS_AT_ONCE + 5);
}

FIXTURE_TEST(without_a_service)
{
	begin(x, temp_dir_path(&x->dir, 0, "x"));
	unlink(x->service.port.address);
	assert_false(snapshots_take(x->snapshots, &x->hit));
	assert_int_equal(x->log.failed, 1);
	assert_int_equal(x->idle, 0);
}

FIXTURE_TEST(a_path_that_is_too_long)
{
	static char path[5000];

	memset(path, 'x', sizeof(path) - 1);
	begin(x, path);
	assert_false(snapshots_take(x->snapshots, &x->hit));
	assert_non_null(strstr(x->log.lines[0], "the snapshot's file name is too long"));
}

FIXTURE_TEST(only_a_file_has_files_beside_it)
{
	const char *path = temp_dir_path(&x->dir, 0, "x");
	struct err_text e;

	assert_int_equal(snapshots_check_path(path, &e), 0);
	assert_int_equal(size_of(x, "x"), -1);
	close(open(path, O_CREAT | O_WRONLY, 0600));
	assert_int_equal(snapshots_check_path(path, &e), 0);
	assert_int_equal(snapshots_check_path("-", &e), -EINVAL);
	assert_non_null(strstr(e.text, "standard output"));
	assert_int_equal(snapshots_check_path("/dev/null", &e), -EINVAL);
	assert_int_equal(snapshots_check_path(x->dir, &e), -EINVAL);
	assert_non_null(strstr(e.text, "is not a regular file"));
	assert_int_equal(snapshots_check_path("/nonexistent/x", &e), -ENOENT);
}

BEFORE_TESTS
{
	log_init("test");
}
