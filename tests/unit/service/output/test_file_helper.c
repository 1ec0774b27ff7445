/* SPDX-License-Identifier: Apache-2.0 */

#include <sys/wait.h>

#include "base/system/sanitizer.h"
#include "service/output/file_helper.h"
#include "unit/temp_dir.h"
#include "unit/test.h"

static void start(const struct file_helper_options *o)
{
	struct err_text e = {""};

	if (file_helper_start(o, &e) < 0)
		fail_msg("%s", e.text);
}

static int create(const char *path, struct err_text *e)
{
	int fd, r = file_helper_create(path, geteuid(), e, &fd);

	if (r == 0)
		close(fd);
	return r;
}

#define DIR_TEST(name) TEST_WITH(name, temp_dir_setup, temp_dir_teardown)

DIR_TEST(without_a_dir_the_option_is_named)
{
	struct err_text e;

	start(&(struct file_helper_options){.output_dir = NULL});
	assert_int_equal(create(temp_dir_path(state, 0, "x"), &e), -EPERM);
	assert_non_null(strstr(e.text, "started without --output-dir"));
	file_helper_end();
	assert_int_equal(create(temp_dir_path(state, 0, "x"), &e), -EPERM);
	assert_non_null(strstr(e.text, "started without --output-dir"));
	assert_int_equal(access(temp_dir_path(state, 0, "x"), F_OK), -1);
}

DIR_TEST(a_file_is_made_below_the_dir_and_removed)
{
	const char *path = temp_dir_path(state, 0, "x");
	struct output_file file;
	struct err_text e = {""};
	struct stat st;
	int fd;

	start(&(struct file_helper_options){.output_dir = *state});
	if (file_helper_create(path, geteuid(), &e, &fd) < 0)
		fail_msg("%s", e.text);
	assert_int_equal(write(fd, "ab", 2), 2);
	assert_int_equal(ftruncate(fd, 1), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_size, 1);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(create(path, &e), -EEXIST);
	assert_non_null(strstr(e.text, "/x: File exists"));
	file = output_file_of(fd);
	close(fd);
	file.ino++;
	file_helper_remove(path, geteuid(), &file);
	assert_int_equal(access(path, F_OK), 0);
	file.ino--;
	file_helper_remove(path, geteuid(), &file);
	assert_int_equal(access(path, F_OK), -1);
	file_helper_end();
}

/* A packet of n bytes, of which the file has `written` with the head of three bytes. */
static void write_packet(int fd, size_t n, size_t written)
{
	static uint8_t packet[200004];

	packet[0] = 0x0a;
	packet[1] = (uint8_t)(n | 0x80);
	packet[2] = (uint8_t)(n >> 7 | 0x80);
	packet[3] = (uint8_t)(n >> 14);
	if (write(fd, packet, written) != (ssize_t)written)
		_exit(1);
}

/* A service of its own, which is killed in the middle of a write. */
static void be_killed_during_a_write(const char *dir, char *const paths[4])
{
	int fd;

	start(&(struct file_helper_options){.output_dir = dir});
	for (size_t i = 0; i < 4; i++) {
		if (file_helper_create(paths[i], geteuid(), NULL, &fd) < 0)
			_exit(1);
		if (i == 3)
			break; /* an empty file */
		write_packet(fd, 200000, 200004);
		for (unsigned n = 0; n < 1000; n++)
			write_packet(fd, 300, 304);
		if (i == 1)
			write_packet(fd, 200000, 150000);
		if (i == 2)
			write_packet(fd, 300, 2);
	}
	kill(getpid(), SIGKILL);
}

/* The child keeps the service's standard error open, which is a pipe here. */
DIR_TEST(files_of_a_killed_service_end_with_whole_packets)
{
	char *paths[4];
	struct stat st;
	int p[2], status;
	pid_t service;
	char byte;

	for (unsigned i = 0; i < 4; i++) {
		const char name[] = {(char)('a' + i), '\0'};

		paths[i] = strdup(temp_dir_path(state, 0, name));
	}
	assert_int_equal(pipe(p), 0);
	service = fork();
	if (service == 0) {
		dup2(p[1], STDERR_FILENO);
		close(p[1]);
		be_killed_during_a_write(*state, paths);
	}
	close(p[1]);
	assert_int_equal(waitpid(service, &status, 0), service);
	assert_true(WIFSIGNALED(status));
	while (read(p[0], &byte, 1) > 0)
		;
	close(p[0]);
	for (unsigned i = 0; i < 4; i++) {
		assert_int_equal(stat(paths[i], &st), 0);
		assert_int_equal(st.st_size, i == 3 ? 0 : 200004 + 1000 * 304);
		free(paths[i]);
	}
}

/* The kernel grants a lease for writing only if no other process has the file open. */
static bool is_open_elsewhere(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC), r;

	assert_true(fd >= 0);
	r = fcntl(fd, F_SETLEASE, F_WRLCK);
	close(fd);
	return r < 0 && errno == EAGAIN;
}

DIR_TEST(a_closed_file_is_closed_in_the_child_too)
{
	const char *path = temp_dir_path(state, 0, "x");
	struct err_text e = {""};
	struct output_file file;
	int fd;

	start(&(struct file_helper_options){.output_dir = *state});
	if (file_helper_create(path, geteuid(), &e, &fd) < 0)
		fail_msg("%s", e.text);
	file = output_file_of(fd);
	close(fd);
	assert_true(is_open_elsewhere(path));
	file_helper_report_closed(&file);
	/* Requests are served one after the other. */
	assert_int_equal(create(temp_dir_path(state, 1, "y"), &e), 0);
	assert_false(is_open_elsewhere(path));
	file_helper_end();
}

DIR_TEST(elsewhere_none_is_made)
{
	char path[300];
	struct err_text e;

	assert_int_equal(mkdir(temp_dir_path(state, 0, "in"), 0755), 0);
	start(&(struct file_helper_options){.output_dir = temp_dir_path(state, 0, "in")});
	assert_int_equal(create(temp_dir_path(state, 1, "out"), &e), -EPERM);
	assert_non_null(strstr(e.text, "--output-dir"));
	assert_int_equal(create(temp_dir_path(state, 1, "inside"), &e), -EPERM);
	assert_int_equal(create(temp_dir_path(state, 1, "in/../out"), &e), -EINVAL);
	snprintf(path, sizeof(path), "%s//in/x", (const char *)*state);
	assert_int_equal(create(path, &e), -EPERM);
	assert_int_equal(create(temp_dir_path(state, 1, "in/x"), &e), 0);
	file_helper_end();
}

DIR_TEST(a_dir_that_is_none_is_an_error)
{
	struct file_helper_options o = {.output_dir = temp_dir_path(state, 0, "none")};
	struct err_text e;

	assert_int_equal(file_helper_start(&o, &e), -ENOENT);
	assert_non_null(strstr(e.text, "none: No such file"));
	o.output_dir = "relative";
	assert_int_equal(file_helper_start(&o, &e), -EINVAL);
	assert_non_null(strstr(e.text, "is not an absolute path"));
}

/* Also for root, which keeps no capability that would let it. */
DIR_TEST(a_dir_that_may_not_be_written_is_an_error)
{
	const char *path = temp_dir_path(state, 0, "theirs");
	struct err_text e;

	if (BUILT_WITH_SANITIZER)
		skip();
	assert_int_equal(mkdir(path, 0555), 0);
	assert_int_equal(file_helper_start(&(struct file_helper_options){.output_dir = path}, &e),
			 -EACCES);
	assert_non_null(strstr(e.text, "may not create files there"));
	file_helper_end();
}

static int touch(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);

	assert_true(fd >= 0);
	return fd;
}

DIR_TEST(its_list_is_removed_at_the_end)
{
	struct file_helper_options o = {.n_remove = 2};
	int fds[2];

	for (unsigned i = 0; i < 2; i++) {
		o.remove[i].path = temp_dir_path(state, i, i ? "other" : "own");
		fds[i] = touch(o.remove[i].path);
		o.remove[i].file = output_file_of(fds[i]);
	}
	o.remove[1].file.ino++;
	start(&o);
	assert_int_equal(access(o.remove[0].path, F_OK), 0);
	file_helper_end();
	assert_int_equal(access(o.remove[0].path, F_OK), -1);
	assert_int_equal(access(o.remove[1].path, F_OK), 0);
	close(fds[0]);
	close(fds[1]);
}

/* Returns the child, the only one of this process. */
static pid_t pid_of_child(void)
{
	FILE *f = fopen("/proc/thread-self/children", "r");
	int pid = 0;

	assert_non_null(f);
	assert_int_equal(fscanf(f, "%d", &pid), 1);
	fclose(f);
	return pid;
}

/* A terminal sends its signals to the whole process group, and systemd to all processes of a
 * unit. */
DIR_TEST(signals_do_not_end_it)
{
	struct err_text e;
	pid_t child;

	start(&(struct file_helper_options){.output_dir = *state});
	child = pid_of_child();
	kill(child, SIGTERM);
	kill(child, SIGINT);
	assert_int_equal(create(temp_dir_path(state, 0, "x"), &e), 0);
	kill(child, SIGKILL);
	assert_int_equal(create(temp_dir_path(state, 0, "y"), &e), -EPIPE);
	assert_non_null(strstr(e.text, "has exited"));
	file_helper_end();
}
