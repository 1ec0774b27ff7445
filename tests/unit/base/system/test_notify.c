/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/socket.h>
#include <sys/un.h>

#include "base/system/notify.h"
#include "unit/temp_dir.h"
#include "unit/test.h"

#define VARIABLE "SONDA_TEST_NOTIFY_FD"

/* Receives what NOTIFY_SOCKET's owner would; the path is put into the environment. */
static int listen_at(const char *path)
{
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	size_t len = strlen(path);

	assert_true(fd >= 0 && len < sizeof(a.sun_path));
	memcpy(a.sun_path, path, len);
	if (path[0] == '@')
		a.sun_path[0] = '\0';
	assert_int_equal(bind(fd, (struct sockaddr *)&a,
			      (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len)),
			 0);
	setenv("NOTIFY_SOCKET", path, 1);
	return fd;
}

static void expect_message(int fd, const char *status)
{
	char text[300] = "", want[300];

	assert_true(recv(fd, text, sizeof(text) - 1, 0) > 0);
	snprintf(want, sizeof(want), "READY=1\nMAINPID=%d\nSTATUS=%s\n", (int)getpid(), status);
	assert_string_equal(text, want);
}

static void expect_ready(int fd)
{
	char text[4];

	expect_message(fd, "");
	assert_true(recv(fd, text, sizeof(text), 0) < 0 && errno == EAGAIN);
	close(fd);
}

static int forget(void **state)
{
	unsetenv("NOTIFY_SOCKET");
	unsetenv(VARIABLE);
	return temp_dir_teardown(state);
}

#define DIR_TEST(name) TEST_WITH(name, temp_dir_setup, forget)

DIR_TEST(without_the_variable_nothing_is_notified)
{
	struct notify n;
	struct err_text e;

	assert_int_equal(notify_open(&n, VARIABLE, &e), 0);
	assert_int_equal(notify_ready(&n, &e), 0);
	notify_close(&n);
}

DIR_TEST(a_descriptor_gets_a_1_and_is_closed)
{
	struct notify n;
	struct err_text e;
	char text[16];
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	snprintf(text, sizeof(text), "%d", fds[1]);
	setenv(VARIABLE, text, 1);
	assert_int_equal(notify_open(&n, VARIABLE, &e), 0);
	assert_true(fcntl(fds[1], F_GETFD) & FD_CLOEXEC);
	assert_int_equal(notify_ready(&n, &e), 0);
	assert_int_equal(notify_ready(&n, &e), 0);
	notify_close(&n);
	assert_int_equal(read(fds[0], text, sizeof(text)), 1);
	assert_int_equal(text[0], '1');
	assert_int_equal(read(fds[0], text, sizeof(text)), 0);
	close(fds[0]);
}

DIR_TEST(systemd_is_notified)
{
	const char *paths[] = {temp_dir_path(state, 0, "notify"), "@sonda-test-notify"};
	struct notify n;
	struct err_text e;

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		int fd = listen_at(paths[i]);

		assert_int_equal(notify_open(&n, VARIABLE, &e), 0);
		assert_int_equal(notify_ready(&n, &e), 0);
		expect_ready(fd);
	}
}

DIR_TEST(a_process_that_waits_tells_systemd_only)
{
	int fd = listen_at(temp_dir_path(state, 0, "notify")), fds[2];
	struct notify n;
	struct err_text e;
	char text[16];

	assert_int_equal(pipe2(fds, O_NONBLOCK), 0);
	snprintf(text, sizeof(text), "%d", fds[1]);
	setenv(VARIABLE, text, 1);
	assert_int_equal(notify_open(&n, VARIABLE, &e), 0);
	assert_int_equal(notify_systemd(&n, "waiting for x", &e), 0);
	expect_message(fd, "waiting for x");
	assert_true(read(fds[0], text, sizeof(text)) < 0);
	assert_int_equal(notify_ready(&n, &e), 0);
	expect_ready(fd);
	assert_int_equal(read(fds[0], text, sizeof(text)), 1);
	assert_int_equal(notify_systemd(&n, "ready already", &e), 0);
	close(fds[0]);
}

DIR_TEST(descriptors_and_paths_that_cannot_be_used_are_errors)
{
	static const char *const bad_fds[] = {"x", "-1", "99999999999", "1023"};
	static const char *const bad_sockets[] = {"relative", "/no/such/socket"};
	struct notify n;
	struct err_text e;
	int fd;

	for (size_t i = 0; i < ARRAY_SIZE(bad_fds); i++) {
		setenv(VARIABLE, bad_fds[i], 1);
		assert_int_equal(notify_open(&n, VARIABLE, &e), -EBADF);
		assert_non_null(strstr(e.text, VARIABLE));
		notify_close(&n);
	}
	/* the other one is notified nevertheless */
	fd = listen_at(temp_dir_path(state, 0, "notify"));
	assert_int_equal(notify_open(&n, VARIABLE, &e), -EBADF);
	assert_int_equal(notify_ready(&n, &e), 0);
	expect_ready(fd);
	unsetenv(VARIABLE);
	for (size_t i = 0; i < ARRAY_SIZE(bad_sockets); i++) {
		setenv("NOTIFY_SOCKET", bad_sockets[i], 1);
		assert_true(notify_open(&n, VARIABLE, &e) < 0);
		assert_non_null(strstr(e.text, bad_sockets[i]));
		notify_close(&n);
	}
}
