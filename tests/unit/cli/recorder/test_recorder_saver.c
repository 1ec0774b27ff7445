/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits of the snapshots that triggers save. Instead of sonda, the process that writes one is this program
 * again, which has no test of the name "snapshot" and ends: what counts here is which triggers may save.
 */
#include <limits.h>

#include <event2/event.h>

#include "base/event_loop/event_free.h"
#include "base/system/fs.h"
#include "cli/recorder/recorder_saver.h"
#include "unit/temp_dir.h"
#include "unit/test.h"

static struct event_base *loop;
static struct recorder_saver *saver;
static unsigned done;

static void on_done(void *ctx)
{
	done++;
}

static void begin(const char *dir, uint32_t pause_ms)
{
	const struct recorder_saver_setup setup = {
		.loop = loop = event_base_new(),
		.dir = dir,
		.last_s = 60,
		.pause_ms = pause_ms,
		.max_files = 3,
		.max_bytes = 1000,
		.on_done = on_done,
	};

	done = 0;
	saver = recorder_saver_new(&setup);
	assert_non_null(saver);
}

static void end(void)
{
	recorder_saver_free(saver);
	event_base_freep(&loop);
}

static uint64_t ended(void)
{
	struct recorder_saver_counts c = recorder_saver_counts(saver);

	return c.saved + c.failed;
}

static void await(uint64_t n)
{
	while (ended() < n)
		event_base_loop(loop, EVLOOP_ONCE);
}

#define DIR_TEST(name) TEST_STATE(name, temp_dir_setup, temp_dir_teardown, char *dir)

DIR_TEST(a_trigger_waits_for_its_pause)
{
	begin(dir, 60000);
	recorder_saver_handle_trigger(saver, "a", "first");
	recorder_saver_handle_trigger(saver, "a", "too soon");
	assert_int_equal(recorder_saver_counts(saver).skipped, 1);
	recorder_saver_handle_trigger(saver, "b", "another waits for the first");
	recorder_saver_handle_trigger(saver, "c", "a third has no place");
	assert_int_equal(recorder_saver_counts(saver).skipped, 2);
	await(2);
	recorder_saver_handle_trigger(saver, "c", "now");
	await(3);
	assert_int_equal(recorder_saver_counts(saver).skipped, 2);
	end();
}

/* Handles a trigger. Returns what was logged, until the next call. */
static const char *trigger_and_read_log(const char *dir, const char *trigger)
{
	static char text[1024];
	char path[PATH_MAX];
	int saved = dup(STDERR_FILENO), fd;
	ssize_t n;

	snprintf(path, sizeof(path), "%s/log", dir);
	fd = open(path, O_CREAT | O_TRUNC | O_RDWR | O_CLOEXEC, 0600);
	assert_true(fd >= 0 && saved >= 0);
	dup2(fd, STDERR_FILENO);
	recorder_saver_handle_trigger(saver, trigger, "why");
	dup2(saved, STDERR_FILENO);
	n = pread(fd, text, sizeof(text) - 1, 0);
	assert_true(n >= 0);
	text[n] = '\0';
	close(saved);
	close(fd);
	return text;
}

DIR_TEST(the_log_says_why_a_snapshot_was_skipped)
{
	begin(dir, 60000);
	recorder_saver_handle_trigger(saver, "a", "first");
	assert_non_null(strstr(trigger_and_read_log(dir, "a"), "less than --pause ago"));
	recorder_saver_handle_trigger(saver, "b", "another waits for the first");
	assert_non_null(strstr(trigger_and_read_log(dir, "c"), "another one is waiting"));
	await(2);
	end();
}

DIR_TEST(names_of_triggers_are_no_paths)
{
	begin(dir, 0);
	recorder_saver_handle_trigger(saver, "../../etc/x", "\033[1mhostile\n");
	await(1);
	assert_true(fs_exists(temp_dir_path((void *[]){dir}, 0, "snapshots")));
	end();
}

static int count_one(void *ctx, const char *name, unsigned char d_type)
{
	++*(unsigned *)ctx;
	return 0;
}

DIR_TEST(the_oldest_of_the_most_frequent_trigger_is_removed)
{
	static const char *const files[] = {"20260101T000000-rare", "20260101T000001-often",
					    "20260101T000002-often", "20260101T000003-often",
					    "20260101T000004-often"};
	char path[PATH_MAX];
	unsigned n = 0;

	snprintf(path, sizeof(path), "%s/snapshots", dir);
	assert_int_equal(mkdir(path, 0700), 0);
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		snprintf(path, sizeof(path), "%s/snapshots/%s.pftrace", dir, files[i]);
		fclose(fopen(path, "w"));
		snprintf(path, sizeof(path), "%s/snapshots/%s.pftrace.json", dir, files[i]);
		fclose(fopen(path, "w"));
	}
	begin(dir, 0);
	recorder_saver_handle_trigger(saver, "x", "x");
	await(1);
	assert_true(fs_exists(
		temp_dir_path((void *[]){dir}, 0, "snapshots/20260101T000000-rare.pftrace")));
	assert_false(fs_exists(
		temp_dir_path((void *[]){dir}, 0, "snapshots/20260101T000001-often.pftrace")));
	assert_false(fs_exists(
		temp_dir_path((void *[]){dir}, 0, "snapshots/20260101T000001-often.pftrace.json")));
	snprintf(path, sizeof(path), "%s/snapshots", dir);
	assert_int_equal(fs_each(path, count_one, &n), 0);
	assert_true(n <= 8);
	end();
}
