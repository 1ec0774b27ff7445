/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "base/system/fs.h"
#include "unit/temp_dir.h"
#include "unit/test.h"

static void make_file(const char *path, const void *data, size_t len)
{
	_cleanup_(closep) int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(fs_write_all(fd, data, len), 0);
}

#define IN_DIR(name) TEST_WITH(name, temp_dir_setup, temp_dir_teardown)

IN_DIR(reads_files_of_any_length_whole)
{
	static const size_t lengths[] = {0, 1, 4094, 4095, 4096, 4097, 8191, 8192, 100000};
	const char *path = temp_dir_path(state, 0, "file");
	static char data[100000];

	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (char)(i * 7 / 3);
	for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
		_cleanup_(strbuf_deinit) struct strbuf b = {0};

		make_file(path, data, lengths[i]);
		assert_int_equal(fs_read_file(path, 1 << 20, &b), 0);
		assert_int_equal(b.len, lengths[i]);
		assert_memory_equal(b.s, data, lengths[i]);
		assert_int_equal(b.s[b.len], '\0');
	}
}

IN_DIR(reads_an_open_file_again_and_again)
{
	static const size_t lengths[] = {40000, 0, 1, 32767, 32768, 100000, 3};
	const char *path = temp_dir_path(state, 0, "file");
	_cleanup_(strbuf_deinit) struct strbuf b = {0};
	_cleanup_(closep) int fd = -1;
	static char data[100000];

	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (char)(i * 7 / 3);
	make_file(path, "", 0);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	for (unsigned i = 0; i < 2 * ARRAY_SIZE(lengths); i++) {
		size_t n = lengths[i / 2];

		make_file(path, data, n);
		assert_int_equal(fs_reread(fd, i % 2, n, &b), 0);
		assert_int_equal(b.len, n);
		assert_memory_equal(b.s, data, n);
		assert_int_equal(b.s[n], '\0');
		if (n)
			assert_int_equal(fs_reread(fd, i % 2, n - 1, &b), -EFBIG);
	}
	assert_int_equal(fs_reread(-1, true, 1, &b), -EBADF);
}

IN_DIR(appends_to_what_is_there)
{
	_cleanup_(strbuf_deinit) struct strbuf b = {0};
	const char *path = temp_dir_path(state, 0, "file");

	make_file(path, "two", 3);
	strbuf_puts(&b, "one ");
	assert_int_equal(fs_read_file(path, 3, &b), 0);
	assert_string_equal(b.s, "one two");
}

IN_DIR(too_long_a_file_is_refused_and_leaves_the_buffer)
{
	static const size_t limits[] = {0, 1, 4095, 4096, 4097, 9999};
	const char *path = temp_dir_path(state, 0, "file");
	static char data[10001];

	for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
		_cleanup_(strbuf_deinit) struct strbuf b = {0};

		strbuf_puts(&b, "before");
		make_file(path, data, limits[i] + 1);
		assert_int_equal(fs_read_file(path, limits[i], &b), -EFBIG);
		assert_string_equal(b.s, "before");
		assert_int_equal(b.len, 6);
		make_file(path, data, limits[i]);
		assert_int_equal(fs_read_file(path, limits[i], &b), 0);
		assert_int_equal(b.len, 6 + limits[i]);
	}
}

IN_DIR(missing_and_unreadable_files)
{
	_cleanup_(strbuf_deinit) struct strbuf b = {0};

	strbuf_puts(&b, "x");
	assert_int_equal(fs_read_file(temp_dir_path(state, 0, "none"), 10, &b), -ENOENT);
	assert_int_equal(fs_read_file(temp_dir_path(state, 0, "no/ne"), 10, &b), -ENOENT);
	assert_int_equal(fs_read_file(*state, 10, &b), -EISDIR);
	assert_int_equal(fs_read_fd(-1, 10, &b), -EBADF);
	assert_string_equal(b.s, "x");
}

/* /proc says size 0; seq files come in pieces. */
TEST(reads_proc)
{
	_cleanup_(strbuf_deinit) struct strbuf b = {0};

	assert_int_equal(fs_read_file("/proc/self/status", 1 << 16, &b), 0);
	assert_true(str_starts(b.s, "Name:"));
	assert_int_equal(b.s[b.len - 1], '\n');
	assert_int_equal(strlen(b.s), b.len);
}

static void *write_slowly(void *arg)
{
	for (int i = 0; i < 50; i++)
		fs_write_all(*(int *)arg, "0123456789", 10);
	close(*(int *)arg);
	return NULL;
}

TEST(reads_a_pipe_to_its_end)
{
	_cleanup_(strbuf_deinit) struct strbuf b = {0};
	pthread_t thread;
	int p[2];

	assert_int_equal(pipe2(p, O_CLOEXEC), 0);
	assert_int_equal(pthread_create(&thread, NULL, write_slowly, &p[1]), 0);
	assert_int_equal(fs_read_fd(p[0], 500, &b), 0);
	pthread_join(thread, NULL);
	close(p[0]);
	assert_int_equal(b.len, 500);
	for (size_t i = 0; i < b.len; i++)
		assert_int_equal(b.s[i], '0' + (int)(i % 10));
}

static void expect_file(const char *path, const char *want)
{
	_cleanup_(strbuf_deinit) struct strbuf b = {0};

	assert_int_equal(fs_read_file(path, 1000, &b), 0);
	assert_string_equal(b.s, want);
}

IN_DIR(writes_truncates_and_appends)
{
	const char *path = temp_dir_path(state, 0, "file");

	make_file(path, "abcdef", 6);
	assert_int_equal(fs_write_file(path, "XY", false), 0);
	expect_file(path, "XYcdef");
	assert_int_equal(fs_append_file(path, "!"), 0);
	expect_file(path, "XYcdef!");
	assert_int_equal(fs_write_file(path, "new", true), 0);
	expect_file(path, "new");
	assert_int_equal(fs_write_file(path, "", true), 0);
	expect_file(path, "");
}

IN_DIR(writing_makes_no_file)
{
	const char *path = temp_dir_path(state, 0, "none");

	assert_int_equal(fs_write_file(path, "x", true), -ENOENT);
	assert_int_equal(fs_append_file(path, "x"), -ENOENT);
	assert_false(fs_exists(path));
	assert_int_equal(fs_write_file("/dev/full", "x", false), -ENOSPC);
}

TEST(write_all_returns_the_error)
{
	_cleanup_(closep) int full = open("/dev/full", O_WRONLY | O_CLOEXEC);

	assert_int_equal(fs_write_all(full, "x", 1), -ENOSPC);
	assert_int_equal(fs_write_all(full, "x", 0), 0);
	assert_int_equal(fs_write_all(-1, "x", 1), -EBADF);
}

TEST(join_never_cuts)
{
	char buf[8];

	assert_int_equal(fs_join(buf, sizeof(buf), "/a", "b"), 0);
	assert_string_equal(buf, "/a/b");
	assert_int_equal(fs_join(buf, sizeof(buf), "/abc", "de"), 0);
	assert_string_equal(buf, "/abc/de");
	assert_int_equal(fs_join(buf, sizeof(buf), "/abc", "def"), -ENAMETOOLONG);
}

TEST(reasons_are_for_people)
{
	assert_string_equal(fs_error_text(ENOENT), strerror(ENOENT));
	assert_string_equal(fs_error_text(ENODATA), "the file is empty");
	assert_string_not_equal(fs_error_text(EBADMSG), strerror(EBADMSG));
}

IN_DIR(exists)
{
	const char *path = temp_dir_path(state, 0, "file");

	assert_false(fs_exists(path));
	make_file(path, "", 0);
	assert_true(fs_exists(path));
	assert_true(fs_exists(*state));
}

struct seen {
	unsigned n, dirs, stop_at;
};

static int note(void *ctx, const char *name, unsigned char d_type)
{
	struct seen *s = ctx;

	assert_string_not_equal(name, ".");
	assert_string_not_equal(name, "..");
	assert_int_equal(strlen(name), 2);
	s->dirs += d_type == DT_DIR;
	return ++s->n == s->stop_at ? 42 : 0;
}

IN_DIR(each_gives_every_name_once)
{
	struct seen all = {0}, some = {.stop_at = 3};

	for (int i = 0; i < 9; i++) {
		char name[3] = {'f', (char)('0' + i), '\0'};

		make_file(temp_dir_path(state, 0, name), "", 0);
	}
	assert_int_equal(mkdir(temp_dir_path(state, 0, "..d" + 1), 0700), 0);
	assert_int_equal(fs_each(*state, note, &all), 0);
	assert_int_equal(all.n, 10);
	assert_int_equal(all.dirs, 1);
	assert_int_equal(fs_each(*state, note, &some), 42);
	assert_int_equal(some.n, 3);
}

IN_DIR(each_of_no_dir)
{
	struct seen s = {0};
	const char *file = temp_dir_path(state, 1, "file");

	make_file(file, "", 0);
	assert_int_equal(fs_each(temp_dir_path(state, 0, "none"), note, &s), -ENOENT);
	assert_int_equal(fs_each(file, note, &s), -ENOTDIR);
	assert_int_equal(s.n, 0);
}

IN_DIR(the_nearest_name_of_a_dir)
{
	char best[STR_NEAREST_SIZE];

	assert_null(fs_find_nearest(*state, "foreground", best));
	make_file(temp_dir_path(state, 0, "foregruond"), "", 0);
	make_file(temp_dir_path(state, 0, "background"), "", 0);
	make_file(temp_dir_path(state, 0, "else"), "", 0);
	assert_string_equal(fs_find_nearest(*state, "foreground", best), "foregruond");
	assert_null(fs_find_nearest(*state, "sched_switch", best));
	assert_null(fs_find_nearest(temp_dir_path(state, 0, "none"), "else", best));
}

TEST(raises_the_file_limit_as_far_as_it_goes)
{
	struct rlimit before, l;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	l = (struct rlimit){.rlim_cur = 64, .rlim_max = before.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &l), 0);
	fs_raise_file_limit(80);
	getrlimit(RLIMIT_NOFILE, &l);
	assert_int_equal(l.rlim_cur, 80);
	fs_raise_file_limit(70); /* never lower */
	getrlimit(RLIMIT_NOFILE, &l);
	assert_int_equal(l.rlim_cur, 80);
	fs_raise_file_limit(UINT32_MAX);
	getrlimit(RLIMIT_NOFILE, &l);
	assert_true(l.rlim_cur == MIN(before.rlim_max, UINT32_MAX));
	setrlimit(RLIMIT_NOFILE, &before);
}

/* In a child, which has no output of its own to lose. Returns its exit code. */
static int take_descriptors_of_child(unsigned closed)
{
	pid_t pid = fork();
	int code, next;

	if (pid == 0) {
		for (int fd = 0; fd <= STDERR_FILENO; fd++)
			if (closed & 1u << fd)
				close(fd);
		fs_occupy_standard_descriptors();
		next = open("/dev/zero", O_RDONLY);
		for (int fd = 0; fd <= STDERR_FILENO; fd++)
			if ((closed & 1u << fd) &&
			    (fd ? write(fd, "", 1) : read(fd, &code, 1)) >= 0)
				_exit(100);
		_exit(next);
	}
	assert_int_equal(waitpid(pid, &code, 0), pid);
	assert_true(WIFEXITED(code));
	return WEXITSTATUS(code);
}

TEST(closed_standard_descriptors_stay_unusable_and_their_numbers_are_taken)
{
	for (unsigned closed = 0; closed < 8; closed++)
		assert_in_range(take_descriptors_of_child(closed), STDERR_FILENO + 1, 99);
}

TEST(number_goes_before_the_extension)
{
	static const struct {
		const char *path, *numbered;
		int digits;
	} rows[] = {
		{"a/trace.pftrace", "a/trace.7.pftrace", 1},
		{"trace.x.pf", "trace.x.7.pf", 1},
		{"trace.pftrace", "trace.000007.pftrace", 6},
		{"a.b/trace", "a.b/trace.7", 1},
		{"a/.hidden", "a/.hidden.7", 1},
		{"..", "..7.", 1},
	};
	char buf[32];

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(
			fs_make_numbered_path(buf, sizeof(buf), rows[i].path, 7, rows[i].digits),
			0);
		assert_string_equal(buf, rows[i].numbered);
	}
	assert_int_equal(fs_make_numbered_path(buf, 9, "trace", 10, 1), 0);
	assert_int_equal(fs_make_numbered_path(buf, 9, "trace", 100, 1), -ENAMETOOLONG);
}
