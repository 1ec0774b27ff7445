/* SPDX-License-Identifier: Apache-2.0 */
/* The directory of a recorder: names of parts, what is removed, the lock, and the state. */
#include <sys/time.h>

#include "base/core/clock.h"
#include "cli/recorder/recorder_dir.h"
#include "cli/recorder/recorder_state.h"
#include "unit/temp_dir.h"
#include "unit/test.h"

#define DIR_TEST(name) TEST_STATE(name, temp_dir_setup, temp_dir_teardown, char *dir)

static struct recorder_parts parts;

static void put_file(const char *dir, const char *name, size_t bytes)
{
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)bytes), 0);
	close(fd);
}

static void put_part(const char *dir, unsigned session, unsigned number, size_t bytes, time_t end)
{
	const struct timeval times[2] = {{.tv_sec = end}, {.tv_sec = end}};
	struct recorder_part part = {.session = session, .number = number, .boot = "00c0ffee"};
	char path[PATH_MAX];

	assert_int_equal(recorder_part_path(dir, &part, path), 0);
	put_file(dir, strrchr(path, '/') + 1, bytes);
	assert_int_equal(utimes(path, times), 0);
}

DIR_TEST(parts_are_in_the_order_of_sessions_and_numbers)
{
	put_part(dir, 10, 1, 1, 50);
	put_part(dir, 2, 11, 2, 900); /* the clock was set back later */
	put_part(dir, 2, 2, 4, 800);
	put_file(dir, "state", 100);
	put_file(dir, "part-2-00c0ffee.000003.pftrace", 100); /* not as we write them */
	put_file(dir, "part-000002-00c0ffee.000003.pftrace.tmp", 100);
	put_file(dir, "part- 00002-00c0ffee.000003.pftrace", 100);
	put_file(dir, "part-000002-nonsense.000003.pftrace", 100);
	assert_int_equal(
		mkdir(temp_dir_path((void *[]){dir}, 0, "part-000001-00c0ffee.000001.pftrace"),
		      0700),
		0);
	assert_int_equal(
		symlink("/etc/passwd",
			temp_dir_path((void *[]){dir}, 0, "part-000001-00c0ffee.000002.pftrace")),
		0);
	assert_int_equal(recorder_parts_read(dir, &parts), 0);
	assert_int_equal(parts.n, 3);
	assert_int_equal(parts.bytes, 7);
	assert_int_equal(parts.of[0].number, 2);
	assert_int_equal(parts.of[1].number, 11);
	assert_int_equal(parts.of[2].session, 10);
	assert_string_equal(parts.of[2].boot, "00c0ffee");
	recorder_parts_deinit(&parts);
}

DIR_TEST(the_path_of_a_session_is_that_of_its_parts)
{
	struct recorder_part part = {.session = 7, .number = 1, .boot = "01234567"};
	char series[PATH_MAX], path[PATH_MAX];

	assert_int_equal(recorder_part_series(dir, 7, "01234567", series), 0);
	assert_int_equal(recorder_part_path(dir, &part, path), 0);
	*strrchr(series, '.') = '\0';
	assert_int_equal(strncmp(series, path, strlen(series)), 0);
	assert_string_equal(path + strlen(series), ".000001.pftrace");
}

DIR_TEST(the_oldest_parts_are_removed_by_size)
{
	for (unsigned i = 1; i <= 5; i++)
		put_part(dir, 1, i, 100, 1000 + i);
	assert_int_equal(recorder_parts_read(dir, &parts), 0);
	assert_int_equal(recorder_parts_prune(dir, &parts, 500, 0), 0);
	assert_int_equal(recorder_parts_prune(dir, &parts, 299, 0), 3);
	assert_int_equal(parts.n, 2);
	assert_int_equal(parts.bytes, 200);
	assert_int_equal(recorder_parts_read(dir, &parts), 0);
	assert_int_equal(parts.n, 2);
	assert_int_equal(parts.of[0].number, 4);
	/* The newest one is being written. */
	assert_int_equal(recorder_parts_prune(dir, &parts, 0, INT64_MAX), 1);
	assert_int_equal(recorder_parts_prune(dir, &parts, 0, INT64_MAX), 0);
	assert_int_equal(parts.of[0].number, 5);
	recorder_parts_deinit(&parts);
}

DIR_TEST(the_oldest_parts_are_removed_by_age)
{
	for (unsigned i = 1; i <= 4; i++)
		put_part(dir, 1, i, 100, 1000 + i);
	assert_int_equal(recorder_parts_read(dir, &parts), 0);
	assert_int_equal(recorder_parts_prune(dir, &parts, UINT64_MAX, 1003 * (int64_t)NS_PER_S),
			 2);
	assert_int_equal(parts.of[0].number, 3);
	recorder_parts_deinit(&parts);
}

DIR_TEST(one_recorder_at_a_time)
{
	char nested[PATH_MAX];
	struct err_text e;
	int fd, second;

	snprintf(nested, sizeof(nested), "%s/a/b", dir);
	assert_false(recorder_dir_is_locked(nested));
	assert_int_equal(recorder_dir_lock(nested, &fd, &e), 0);
	assert_true(recorder_dir_is_locked(nested));
	assert_int_equal(recorder_dir_lock(nested, &second, &e), -EBUSY);
	close(fd);
	assert_false(recorder_dir_is_locked(nested));
	assert_int_equal(recorder_dir_lock(nested, &fd, &e), 0);
	close(fd);
}

DIR_TEST(a_dir_that_others_can_write_is_refused)
{
	struct err_text e;
	int fd;

	assert_int_equal(chmod(dir, 0777), 0);
	assert_int_equal(recorder_dir_lock(dir, &fd, &e), -EPERM);
	assert_non_null(strstr(e.text, "must be owned by this user"));
}

/* ---- the state ---- */

DIR_TEST(a_state_is_read_as_it_was_written)
{
	struct recorder_state s = {
		.what = "waiting",
		.why = "the file system is\nnearly full",
		.words = "recorder sched",
		.consumer = "/run/x/consumer",
		.pid = 77,
		.since_s = 1795787777,
		.max_bytes = 1ull << 40,
		.keep_s = 3600,
		.restarts = 2,
	};
	struct recorder_state read;

	assert_int_equal(recorder_state_read(dir, &read), -ENOENT);
	assert_int_equal(recorder_state_write(dir, &s), 0);
	s.restarts = 3;
	assert_int_equal(recorder_state_write(dir, &s), 0);
	assert_int_equal(recorder_state_read(dir, &read), 0);
	assert_string_equal(read.why, "the file system is?nearly full"); /* one line */
	strcpy(s.why, read.why);
	assert_memory_equal(&read, &s, sizeof(s));
}

DIR_TEST(a_damaged_state_is_no_state)
{
	static const char *const texts[] = {
		"pid 7", /* no end */
		"pid\n", "pid seven\n", "max_bytes 99999999999999999999999\n", "\n",
	};
	struct recorder_state read;

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		FILE *f = fopen(temp_dir_path((void *[]){dir}, 0, "state"), "w");

		fputs(texts[i], f);
		fclose(f);
		assert_int_equal(recorder_state_read(dir, &read), -EBADMSG);
	}
	put_file(dir, "state", 5000);
	assert_int_equal(recorder_state_read(dir, &read), -EFBIG);
}

DIR_TEST(long_values_and_unknown_keys_of_a_state_are_cut_and_skipped)
{
	struct recorder_state read;
	FILE *f = fopen(temp_dir_path((void *[]){dir}, 0, "state"), "w");

	fprintf(f, "what %0100d\nfuture 1 2 3\npid 4\n", 0);
	fclose(f);
	assert_int_equal(recorder_state_read(dir, &read), 0);
	assert_int_equal(strlen(read.what), sizeof(read.what) - 1);
	assert_int_equal(read.pid, 4);
}
