/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/system/file_watch.h"
#include "unit/temp_dir.h"
#include "unit/test.h"

static struct file_watch w;

static int setup(void **state)
{
	w = (struct file_watch){.fd = -1};
	return temp_dir_setup(state);
}

static int teardown(void **state)
{
	file_watch_close(&w);
	return temp_dir_teardown(state);
}

#define WATCH_TEST(name) TEST_WITH(name, setup, teardown)

static void touch(const char *path)
{
	int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	close(fd);
}

WATCH_TEST(its_own_name_differs_from_others)
{
	const char *path = temp_dir_path(state, 0, "sock"),
		   *other = temp_dir_path(state, 1, "sock2");

	assert_int_equal(file_watch_open(&w, path), 0);
	assert_int_equal(file_watch_read(&w), FILE_WATCH_QUIET);
	touch(other);
	assert_int_equal(file_watch_read(&w), FILE_WATCH_OTHERS);
	touch(path);
	touch(other);
	chmod(other, 0666);
	assert_int_equal(file_watch_read(&w), FILE_WATCH_OURS);
	chmod(path, 0666);
	assert_int_equal(file_watch_read(&w), FILE_WATCH_OURS);
	assert_int_equal(rename(other, path), 0);
	assert_int_equal(file_watch_read(&w), FILE_WATCH_OURS);
	assert_int_equal(file_watch_read(&w), FILE_WATCH_QUIET);
}

WATCH_TEST(pauses_grow_while_the_dir_changes_all_the_time)
{
	const char *path = temp_dir_path(state, 0, "sock");
	unsigned expected = FILE_WATCH_PAUSE_MIN_MS;

	assert_int_equal(file_watch_open(&w, path), 0);
	for (int i = 0; i < 10; i++) {
		touch(path);
		assert_int_equal(file_watch_read(&w), FILE_WATCH_OURS);
		assert_int_equal(w.pause_ms, expected);
		expected = MIN(expected * 2, FILE_WATCH_PAUSE_MAX_MS);
		unlink(path);
	}
	/* A new descriptor for the same directory does not begin with a short pause. */
	file_watch_close(&w);
	assert_int_equal(file_watch_open(&w, path), 0);
	assert_int_equal(w.pause_ms, FILE_WATCH_PAUSE_MAX_MS);
	assert_int_equal(file_watch_read(&w), FILE_WATCH_QUIET);
	assert_int_equal(w.pause_ms, 0);
}

WATCH_TEST(events_that_the_kernel_has_dropped_may_be_of_its_name)
{
	const char *path = temp_dir_path(state, 0, "sock"),
		   *other = temp_dir_path(state, 1, "sock2"),
		   *third = temp_dir_path(state, 2, "sock3");

	assert_int_equal(file_watch_open(&w, path), 0);
	touch(other);
	touch(third);
	/* Equal events in a row are one. The kernel keeps max_queued_events: by default 16384. */
	for (int i = 0; i < 40000 / 2; i++) {
		chmod(other, 0600);
		chmod(third, 0600);
	}
	assert_int_equal(file_watch_read(&w), FILE_WATCH_OURS);
	assert_int_equal(file_watch_read(&w), FILE_WATCH_QUIET);
}

WATCH_TEST(relative_and_root_paths)
{
	char cwd[4096];

	assert_non_null(getcwd(cwd, sizeof(cwd)));
	assert_int_equal(chdir(*state), 0);
	assert_int_equal(file_watch_open(&w, "sock"), 0);
	touch("sock");
	assert_int_equal(file_watch_read(&w), FILE_WATCH_OURS);
	assert_int_equal(chdir(cwd), 0);
	file_watch_close(&w);
	assert_int_equal(file_watch_open(&w, "/perfetto-sock"), 0);
}

WATCH_TEST(paths_that_cannot_be_watched)
{
	const char *file = temp_dir_path(state, 0, "file");
	char path[400];

	touch(file);
	snprintf(path, sizeof(path), "%s/missing/sock", (const char *)*state);
	assert_int_equal(file_watch_open(&w, path), -ENOENT);
	snprintf(path, sizeof(path), "%s/sock", file);
	assert_int_equal(file_watch_open(&w, path), -ENOTDIR);
	snprintf(path, sizeof(path), "%s/", (const char *)*state);
	assert_int_equal(file_watch_open(&w, path), -EINVAL);
	snprintf(path, sizeof(path), "%s/%0300d", (const char *)*state, 0);
	assert_int_equal(file_watch_open(&w, path), -ENAMETOOLONG);
	assert_int_equal(w.fd, -1);
}
