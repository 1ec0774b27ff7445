/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <sys/resource.h>

#include "base/system/fs.h"
#include "cli/trace/trace_file.h"
#include "gen/fields.h"
#include "unit/test.h"
#include "wire/pb_dec.h"

#define STRANGER 4242

/* A directory for each test; a path in it. */
static char dir[64], path[96];
static struct err_text e;

static int setup(void **state)
{
	strcpy(dir, "/tmp/test-trace-file-XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/x.pftrace", dir);
	return 0;
}

static int teardown(void **state)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command);
}

static unsigned files_in_dir(void)
{
	DIR *d = opendir(dir);
	unsigned n = 0;

	while (readdir(d))
		n++;
	closedir(d);
	return n - 2;
}

/* Whole packets in a file; fails when the file does not end with one. */
static unsigned packets_in(const char *file)
{
	struct strbuf b = {0};
	struct pb_field f;
	struct pb_dec d;
	unsigned n = 0;

	assert_int_equal(fs_read_file(file, 64u << 20, &b), 0);
	pb_dec_init(&d, b.s, b.len);
	while (pb_dec_next(&d, &f)) {
		assert_int_equal(f.id, PB_TRACE_PACKET);
		n++;
	}
	assert_true(pb_dec_ok(&d));
	strbuf_deinit(&b);
	return n;
}

static struct trace_file *open_good(const char *name)
{
	struct trace_file *f;

	if (trace_file_open(name, &e, &f))
		fail_msg("%s", e.text);
	return f;
}

static int put(struct trace_file *f, size_t len)
{
	static uint8_t data[1 << 20];

	memset(data, 0xaa, len);
	return trace_file_add_packet(f, data, len);
}

/* Saves and frees it. */
static void save(struct trace_file *f)
{
	assert_int_equal(trace_file_save(f, &e), 0);
	trace_file_free(f);
}

#define FIXTURE_TEST(name) TEST_WITH(name, setup, teardown)

FIXTURE_TEST(test_bytes_of_the_records)
{
	static const uint8_t expected[] = {0x0a, 0x03, 'a', 'b', 'c', 0x0a, 0x00, 0x0a, 0x80, 0x01};
	struct trace_file *f = open_good(path);
	struct strbuf b = {0};

	assert_int_equal(trace_file_add_packet(f, (const uint8_t *)"abc", 3), 0);
	assert_int_equal(trace_file_add_packet(f, NULL, 0), 0);
	assert_int_equal(put(f, 128), 0);
	assert_int_equal(trace_file_bytes(f), 10 + 128);
	assert_int_equal(trace_file_save(f, &e), 0);
	assert_int_equal(trace_file_bytes(f), 10 + 128);
	trace_file_free(f);
	assert_int_equal(fs_read_file(path, 1000, &b), 0);
	assert_int_equal(b.len, 10 + 128);
	assert_memory_equal(b.s, expected, sizeof(expected));
	strbuf_deinit(&b);
}

/* Smaller than the buffer, exactly as large, larger, and small ones around them. */
FIXTURE_TEST(test_packets_of_every_size_come_whole)
{
	static const size_t sizes[] = {1,	262133, 262134, 262144, 262143, 300000, 5,
				       1 << 20, 200000, 62130,	10,	0,	262000, 130};
	struct trace_file *f = open_good(path);
	uint64_t bytes = 0;
	struct stat st;

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		assert_int_equal(put(f, sizes[i]), 0);
		bytes += sizes[i] + (sizes[i] < 128 ? 2 : sizes[i] < 16384 ? 3 : 4);
		assert_int_equal(trace_file_bytes(f), bytes);
	}
	save(f);
	assert_int_equal(packets_in(path), ARRAY_SIZE(sizes));
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_size, bytes);
}

/* A hidden file may be another process's that saves the same trace at this moment. */
FIXTURE_TEST(test_files_of_others_stay)
{
	char other[128];
	struct trace_file *f = open_good(path);

	snprintf(other, sizeof(other), "%s/.x.pftrace.%06u", dir, (unsigned)getpid() % 1000000);
	close(open(other, O_CREAT | O_WRONLY, 0600));
	assert_int_equal(put(f, 10), 0);
	save(f);
	assert_int_equal(files_in_dir(), 2);
	assert_int_equal(access(other, F_OK), 0);
}

FIXTURE_TEST(test_the_name_appears_when_it_is_saved)
{
	struct trace_file *f = open_good(path);
	struct stat st;

	assert_int_equal(put(f, 400000), 0);
	/* Until then there is nothing that a kill could leave behind. */
	assert_int_equal(files_in_dir(), 0);
	assert_int_equal(trace_file_save(f, &e), 0);
	assert_int_equal(files_in_dir(), 1);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	trace_file_free(f);
	assert_int_equal(files_in_dir(), 1);
}

FIXTURE_TEST(test_the_longest_name_can_be_saved)
{
	char name[PATH_MAX];
	size_t n = (size_t)snprintf(name, sizeof(name), "%s/", dir);

	memset(name + n, 'n', NAME_MAX);
	name[n + NAME_MAX] = '\0';
	save(open_good(name));
	assert_int_equal(files_in_dir(), 1);
	assert_int_equal(unlink(name), 0);
}

FIXTURE_TEST(test_an_older_file_stays_until_then)
{
	struct trace_file *f;

	f = open_good(path);
	put(f, 1);
	save(f);

	f = open_good(path);
	put(f, 1);
	put(f, 1);
	assert_int_equal(packets_in(path), 1);
	trace_file_free(f); /* not saved */
	assert_int_equal(packets_in(path), 1);

	f = open_good(path);
	put(f, 1);
	put(f, 1);
	save(f);
	assert_int_equal(packets_in(path), 2);
}

FIXTURE_TEST(test_a_symbolic_link_stays_one)
{
	struct trace_file *f;
	char link[96];
	struct stat st;

	snprintf(link, sizeof(link), "%s/link", dir);
	assert_int_equal(fs_write_file(path, "", false), -ENOENT);
	close(open(path, O_CREAT | O_WRONLY, 0600));
	assert_int_equal(symlink("x.pftrace", link), 0);
	f = open_good(link);
	put(f, 1);
	save(f);
	assert_int_equal(lstat(link, &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	assert_int_equal(packets_in(path), 1);
}

/* In a directory like /tmp a stranger plants a link (or a pipe) with the name of our output. */
FIXTURE_TEST(test_a_strangers_link_in_an_open_dir_is_not_followed)
{
	char link[96], own[96];
	struct trace_file *f = NULL;

	if (geteuid() != 0)
		skip();
	snprintf(link, sizeof(link), "%s/planted", dir);
	snprintf(own, sizeof(own), "%s/own", dir);
	f = open_good(path);
	put(f, 1);
	save(f);
	f = NULL;
	assert_int_equal(symlink("x.pftrace", link) | lchown(link, STRANGER, STRANGER), 0);
	assert_int_equal(symlink("planted", own), 0);
	assert_int_equal(chmod(dir, 01777), 0);
	assert_int_equal(trace_file_open(link, &e, &f), -EACCES);
	assert_non_null(strstr(e.text, "symbolic link owned by uid 4242"));
	assert_int_equal(trace_file_open(own, &e, &f), -EACCES); /* it leads to the other one */
	assert_int_equal(unlink(link) | mkfifo(link, 0666) | lchown(link, STRANGER, STRANGER), 0);
	assert_int_equal(trace_file_open(link, &e, &f), -EACCES);
	assert_non_null(strstr(e.text, "special file owned by uid 4242"));
	/* The directory's owner has nothing to gain. */
	assert_int_equal(unlink(link) | chown(dir, STRANGER, STRANGER), 0);
	assert_int_equal(symlink("x.pftrace", link) | lchown(link, STRANGER, STRANGER), 0);
	f = open_good(link);
	trace_file_free(f);
	assert_int_equal(chown(dir, 0, 0) | chmod(dir, 0700), 0);
	assert_int_equal(packets_in(path), 1);
	unlink(own);
	unlink(link);
}

FIXTURE_TEST(test_a_name_without_a_dir_is_in_this_one)
{
	char here[512];
	struct trace_file *f;

	assert_non_null(getcwd(here, sizeof(here)));
	assert_int_equal(chdir(dir), 0);
	f = open_good("x.pftrace");
	put(f, 1);
	save(f);
	assert_int_equal(chdir(here), 0);
	assert_int_equal(packets_in(path), 1);
}

FIXTURE_TEST(test_places_where_nothing_can_be_written)
{
	static const char *const names[] = {"/nonexistent/x.pftrace", "/tmp", "/tmp/",
					    "/proc/x.pftrace"};
	struct trace_file *f = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		assert_true(trace_file_open(names[i], &e, &f) < 0);
		assert_non_null(strstr(e.text, names[i]));
		assert_null(f);
	}
}

FIXTURE_TEST(test_a_device_is_written_directly)
{
	struct trace_file *f = open_good("/dev/null");
	struct stat st;

	assert_int_equal(put(f, 400000), 0);
	save(f);
	assert_int_equal(stat("/dev/null", &st), 0);
	assert_true(S_ISCHR(st.st_mode));
}

/* ---- no room ---- */

FIXTURE_TEST(test_a_full_device_is_reported_each_time)
{
	struct trace_file *f = open_good("/dev/full");

	assert_int_equal(put(f, 10), 0); /* pending */
	assert_int_equal(put(f, 300000), -ENOSPC);
	assert_int_equal(put(f, 1), -ENOSPC);
	assert_int_equal(trace_file_save(f, &e), -ENOSPC);
	assert_non_null(strstr(e.text, "No space left"));
	trace_file_free(f);
}

/* In a child, since the limit cannot be lifted again. Gives what trace_file_save gave. */
static int write_with_limit(rlim_t limit, size_t packet, unsigned n)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		struct rlimit r = {limit, limit};
		struct trace_file *f = open_good(path);
		int error;

		signal(SIGXFSZ, SIG_IGN);
		setrlimit(RLIMIT_FSIZE, &r);
		while (n--)
			if (put(f, packet))
				break;
		error = trace_file_save(f, &e);
		trace_file_free(f);
		_exit(-error);
	}
	waitpid(pid, &status, 0);
	assert_true(WIFEXITED(status));
	return -WEXITSTATUS(status);
}

FIXTURE_TEST(test_where_the_disk_is_full_whole_packets_stay)
{
	static const struct {
		rlim_t limit;
		size_t packet;
		unsigned n;
		unsigned kept;
	} cases[] = {
		{100000, 1000, 1000, 99}, /* in the middle of the first buffer: 1003 each */
		{300000, 1000, 1000, 299}, /* in the second */
		{1003 * 50, 1000, 1000, 50}, /* at the end of a packet */
		{1003 * 50 + 1, 1000, 1000, 50}, /* after the tag of the next */
		{1003 * 50 + 3, 1000, 1000, 50}, /* after its head */
		{700000, 300000, 10, 2}, /* packets larger than the buffer: 300004 each */
		{300004 * 2, 300000, 10, 2}, /* at the end of one */
		{500, 300000, 10, 0}, /* nothing fits */
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(write_with_limit(cases[i].limit, cases[i].packet, cases[i].n),
				 -EFBIG);
		assert_int_equal(packets_in(path), cases[i].kept);
		assert_int_equal(files_in_dir(), 1);
		unlink(path);
	}
	assert_int_equal(write_with_limit(100000, 1000, 99), 0);
	assert_int_equal(packets_in(path), 99);
}

FIXTURE_TEST(test_a_dir_that_is_removed_is_reported)
{
	struct trace_file *f = open_good(path);

	put(f, 1);
	teardown(state);
	assert_int_equal(trace_file_save(f, &e), -ENOENT);
	assert_non_null(strstr(e.text, "cannot create"));
	trace_file_free(f);
	assert_int_equal(mkdir(dir, 0700), 0);
}

/* ---- standard output ---- */

FIXTURE_TEST(test_standard_output)
{
	struct trace_file *f;
	int saved, fd;

	fflush(stdout);
	saved = dup(STDOUT_FILENO);
	fd = open(path, O_CREAT | O_WRONLY, 0600);
	dup2(fd, STDOUT_FILENO);
	f = open_good("-");
	put(f, 400000);
	put(f, 3);
	save(f);
	assert_int_equal(fcntl(STDOUT_FILENO, F_GETFD), 0); /* still open */
	dup2(saved, STDOUT_FILENO);
	close(saved);
	close(fd);
	assert_int_equal(packets_in(path), 2);
}

FIXTURE_TEST(test_a_pipe_whose_reader_left)
{
	struct trace_file *f;
	int p[2], saved;

	signal(SIGPIPE, SIG_IGN);
	fflush(stdout);
	assert_int_equal(pipe(p), 0);
	saved = dup(STDOUT_FILENO);
	dup2(p[1], STDOUT_FILENO);
	close(p[0]);
	close(p[1]);
	f = open_good("-");
	assert_int_equal(put(f, 300000), -EPIPE);
	assert_int_equal(trace_file_save(f, &e), -EPIPE);
	trace_file_free(f);
	dup2(saved, STDOUT_FILENO);
	close(saved);
}

/* ---- a name before the end ---- */

FIXTURE_TEST(test_a_file_that_is_named_stays)
{
	struct trace_file *f = open_good(path);

	close(open(path, O_CREAT | O_WRONLY, 0600));
	assert_int_equal(fs_write_all(trace_file_fd(f), "\x0a\x01x", 3), 0);
	assert_false(trace_file_is_named(f));
	assert_int_equal(trace_file_assign_name(f, &e), 0);
	assert_int_equal(trace_file_assign_name(f, &e), 0); /* once */
	assert_true(trace_file_is_named(f));
	assert_int_equal(packets_in(path), 1);
	/* The writer continues. */
	assert_int_equal(fs_write_all(trace_file_fd(f), "\x0a\x01y", 3), 0);
	assert_int_equal(trace_file_update_size(f), 0);
	assert_int_equal(trace_file_bytes(f), 6);
	save(f);
	assert_int_equal(packets_in(path), 2);
	assert_int_equal(files_in_dir(), 1);

	f = open_good(path);
	assert_int_equal(trace_file_assign_name(f, &e), 0);
	trace_file_free(f); /* not saved, and yet there */
	assert_int_equal(packets_in(path), 0);
	assert_int_equal(files_in_dir(), 1);
}

/* ---- names that are not taken ---- */

FIXTURE_TEST(test_a_new_name_is_never_one_that_is_there)
{
	struct trace_file *f = open_good(path);
	char other[96];

	snprintf(other, sizeof(other), "%s/y.pftrace", dir);
	close(open(path, O_CREAT | O_WRONLY, 0600));
	put(f, 400000);
	assert_int_equal(trace_file_save_new(f, path, &e), -EEXIST);
	assert_int_equal(packets_in(path), 0);
	assert_int_equal(trace_file_save_new(f, other, &e), 0);
	trace_file_free(f);
	assert_int_equal(packets_in(other), 1);
	assert_int_equal(files_in_dir(), 2);
}

FIXTURE_TEST(test_a_new_name_for_what_found_room)
{
	pid_t pid;
	int code;

	for (int i = 0; i < 2; i++) {
		pid = fork();
		if (pid == 0) {
			struct rlimit r = {i ? 10 : 350000, i ? 10 : 350000};
			struct trace_file *f = open_good(path);

			signal(SIGXFSZ, SIG_IGN);
			setrlimit(RLIMIT_FSIZE, &r);
			while (put(f, 1000) == 0)
				;
			code = trace_file_save_new(f, path, &e);
			trace_file_free(f);
			_exit(strstr(e.text, "File too large") ? code & 0xff : 99);
		}
		waitpid(pid, &code, 0);
		assert_int_equal(WEXITSTATUS(code), i ? -EFBIG & 0xff : 1);
		assert_int_equal(files_in_dir(), !i);
		assert_true(i || packets_in(path) == 348);
		unlink(path);
	}
}

FIXTURE_TEST(test_under_sudo_the_file_is_the_callers)
{
	struct trace_file *f;
	struct stat st;

	if (geteuid() != 0)
		skip();
	setenv("SUDO_UID", "1234", 1);
	setenv("SUDO_GID", "2345", 1);
	f = open_good(path);
	put(f, 1);
	save(f);
	unsetenv("SUDO_UID");
	unsetenv("SUDO_GID");
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_uid, 1234);
	assert_int_equal(st.st_gid, 2345);
	assert_int_equal(st.st_mode & 0777, 0600);
}
