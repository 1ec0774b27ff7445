/* SPDX-License-Identifier: Apache-2.0 */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/event_loop/sock.h"
#include "base/text/str.h"
#include "unit/temp_dir.h"
#include "unit/test.h"

TEST(families)
{
	assert_int_equal(sock_family_of("@x"), SOCK_FAMILY_UNIX_ABSTRACT);
	assert_int_equal(sock_family_of("@x:1"), SOCK_FAMILY_UNIX_ABSTRACT);
	assert_int_equal(sock_family_of("vsock://2:1234"), SOCK_FAMILY_VSOCK);
	assert_int_equal(sock_family_of("127.0.0.1:32278"), SOCK_FAMILY_TCP);
	assert_int_equal(sock_family_of("localhost:1"), SOCK_FAMILY_TCP);
	assert_int_equal(sock_family_of("[::1]:80"), SOCK_FAMILY_TCP);
	assert_int_equal(sock_family_of(":80"), SOCK_FAMILY_TCP);
	assert_int_equal(sock_family_of("/run/perfetto/traced-producer.sock"),
			 SOCK_FAMILY_UNIX_PATH);
	assert_int_equal(sock_family_of("relative"), SOCK_FAMILY_UNIX_PATH);
	assert_int_equal(sock_family_of("host:"), SOCK_FAMILY_UNIX_PATH);
	assert_int_equal(sock_family_of("host:http"), SOCK_FAMILY_UNIX_PATH);
	assert_int_equal(sock_family_of("host:-1"), SOCK_FAMILY_UNIX_PATH);
	assert_int_equal(sock_family_of("/tmp/file:1"), SOCK_FAMILY_UNIX_PATH);
	assert_int_equal(sock_family_of(""), SOCK_FAMILY_UNIX_PATH);
}

static void expect_flags(int fd)
{
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	assert_true(fcntl(fd, F_GETFL) & O_NONBLOCK);
}

static void wait_for(int fd, short events)
{
	struct pollfd p = {.fd = fd, .events = events};

	assert_int_equal(poll(&p, 1, 10000), 1);
}

static void expect_bytes(int from, int to)
{
	char buf[8] = "";

	wait_for(from, POLLOUT);
	assert_int_equal(write(from, "hello", 5), 5);
	wait_for(to, POLLIN);
	assert_int_equal(read(to, buf, sizeof(buf)), 5);
	assert_string_equal(buf, "hello");
}

/* Connects to a listening socket, and lets each side say something. */
static void expect_service(int listening, const char *address)
{
	_cleanup_(closep) int client = -1, server = -1;

	assert_int_equal(sock_accept(listening, &server), -EAGAIN);
	assert_int_equal(sock_connect(address, &client), 0);
	wait_for(listening, POLLIN);
	assert_int_equal(sock_accept(listening, &server), 0);
	expect_flags(listening);
	expect_flags(client);
	expect_flags(server);
	expect_bytes(client, server);
	expect_bytes(server, client);
}

static void expect_peer(int listening, const char *address)
{
	_cleanup_(closep) int client = -1, server = -1;
	uid_t uid = (uid_t)-1;
	pid_t pid = -1;

	assert_int_equal(sock_connect(address, &client), 0);
	assert_int_equal(sock_accept(listening, &server), 0);
	assert_int_equal(sock_peer(server, &uid, &pid), 0);
	assert_int_equal(uid, geteuid());
	assert_int_equal(pid, getpid());
	/* and the client may ask too */
	assert_int_equal(sock_peer(client, &uid, &pid), 0);
	assert_int_equal(pid, getpid());
	/* It is known still when the peer has gone. */
	closep(&client);
	client = pid = -1;
	assert_int_equal(sock_peer(server, &uid, &pid), 0);
	assert_int_equal(pid, getpid());
}

#define IN_DIR(name) TEST_WITH(name, temp_dir_setup, temp_dir_teardown)

IN_DIR(path_sockets)
{
	const char *path = temp_dir_path(state, 0, "sock");
	_cleanup_(closep) int fd = -1;

	assert_int_equal(sock_listen(path, &fd, NULL), 0);
	expect_service(fd, path);
	expect_peer(fd, path);
}

TEST(abstract_sockets)
{
	_cleanup_(closep) int fd = -1, none = -1;
	char name[64];

	snprintf(name, sizeof(name), "@sonda-test-%d", getpid());
	assert_int_equal(sock_connect(name, &none), -ECONNREFUSED);
	assert_int_equal(sock_listen(name, &fd, NULL), 0);
	expect_service(fd, name);
	expect_peer(fd, name);
	assert_int_equal(sock_listen(name, &none, NULL), -EADDRINUSE);
	assert_int_equal(none, -1);
	/* the name ends where it ends: no NUL is part of it */
	name[strlen(name) - 1] = '\0';
	assert_int_equal(sock_connect(name, &none), -ECONNREFUSED);
}

static uint16_t port_of(int fd)
{
	struct sockaddr_storage ss;
	socklen_t len = sizeof(ss);

	assert_int_equal(getsockname(fd, (struct sockaddr *)&ss, &len), 0);
	return ntohs(ss.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&ss)->sin6_port
					      : ((struct sockaddr_in *)&ss)->sin_port);
}

TEST(tcp_sockets)
{
	static const char *const hosts[] = {"127.0.0.1", "localhost", "[::1]"};

	for (size_t i = 0; i < ARRAY_SIZE(hosts); i++) {
		_cleanup_(closep) int fd = -1, client = -1;
		char address[64];
		uid_t uid = 77;
		pid_t pid = 78;
		int r;

		snprintf(address, sizeof(address), "%s:0", hosts[i]);
		r = sock_listen(address, &fd, NULL);
		if (r == -EAFNOSUPPORT || r == -EADDRNOTAVAIL)
			continue; /* a machine without IPv6 */
		assert_int_equal(r, 0);
		snprintf(address, sizeof(address), "%s:%u", hosts[i], port_of(fd));
		expect_service(fd, address);
		assert_int_equal(sock_connect(address, &client), 0);
		assert_int_equal(sock_peer(client, &uid, &pid), -EOPNOTSUPP);
		assert_int_equal(uid, 77);
		assert_int_equal(pid, 78);
	}
}

static int option(int fd, int level, int name)
{
	socklen_t len = sizeof(int);
	int value = -1;

	assert_int_equal(getsockopt(fd, level, name, &value, &len), 0);
	return value;
}

TEST(tcp_connections_ask_after_their_peer)
{
	_cleanup_(closep) int listening = -1, client = -1, server = -1;
	char address[64];
	const int *ends[] = {&client, &server};

	assert_int_equal(sock_listen("127.0.0.1:0", &listening, NULL), 0);
	snprintf(address, sizeof(address), "127.0.0.1:%u", port_of(listening));
	assert_int_equal(sock_connect(address, &client), 0);
	wait_for(listening, POLLIN);
	assert_int_equal(sock_accept(listening, &server), 0);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(option(*ends[i], IPPROTO_TCP, TCP_NODELAY), 1);
		assert_int_equal(option(*ends[i], SOL_SOCKET, SO_KEEPALIVE), 1);
		assert_int_equal(option(*ends[i], IPPROTO_TCP, TCP_KEEPIDLE), 30);
		assert_int_equal(option(*ends[i], IPPROTO_TCP, TCP_USER_TIMEOUT), 60000);
	}
}

/* Nothing listens: connect() or the first read fails. */
TEST(names_become_numbers)
{
	static const char *const addresses[][2] = {
		{"127.0.0.1:80", "127.0.0.1:80"},
		{"[::1]:65535", "[::1]:65535"},
		{"[fe80::1%1]:7", "[fe80::1%1]:7"},
		{"vsock://2:20001", "vsock://2:20001"},
		{"@name", "@name"},
		{"/run/socket", "/run/socket"},
	};
	char text[SOCK_RESOLVED_TEXT];

	for (size_t i = 0; i < ARRAY_SIZE(addresses); i++) {
		assert_int_equal(sock_resolve(addresses[i][0], text), 0);
		assert_string_equal(text, addresses[i][1]);
	}
	assert_int_equal(sock_resolve("localhost:80", text), 0);
	assert_true(!strcmp(text, "127.0.0.1:80") || !strcmp(text, "[::1]:80"));
	assert_true(sock_resolve("no.such.host.invalid:80", text) < 0);
}

TEST(tcp_refusal)
{
	_cleanup_(closep) int listening = -1, fd = -1;
	char address[64], byte;
	int r;

	assert_int_equal(sock_listen("127.0.0.1:0", &listening, NULL), 0);
	snprintf(address, sizeof(address), "127.0.0.1:%u", port_of(listening));
	close(TAKE_FD(listening));
	r = sock_connect(address, &fd);
	if (r == 0) {
		wait_for(fd, POLLIN);
		r = read(fd, &byte, 1) < 0 ? -errno : 0;
	}
	assert_int_equal(r, -ECONNREFUSED);
}

TEST(addresses_that_are_none)
{
	static const struct {
		const char *address;
		int error;
	} bad[] = {
		{"", -EINVAL},
		{"@", -EINVAL},
		{"vsock://", -EINVAL},
		{"vsock://2", -EINVAL},
		{"vsock://2:", -EINVAL},
		{"vsock://:5", -EINVAL},
		{"vsock://x:5", -EINVAL},
		{"vsock://2:x", -EINVAL},
		{"vsock://-2:5", -EINVAL},
		{"vsock://4294967296:5", -EINVAL},
		{"vsock://2:4294967296", -EINVAL},
		{"vsock://11111111111111111111:5", -EINVAL},
		{"127.0.0.1:65536", -EINVAL},
		{"[::1:80", -EADDRNOTAVAIL},
		{"1.2.3.4.5:80", -EADDRNOTAVAIL},
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct err_text e = {""};
		int fd = 77, r;

		r = sock_listen(bad[i].address, &fd, &e);
		/* looking up a name without a resolver gives another error */
		if (r != bad[i].error && !(str_ends(bad[i].address, ":80") && r < 0))
			fail_msg("\"%s\": %d", bad[i].address, r);
		assert_true(sock_connect(bad[i].address, &fd) < 0);
		assert_int_equal(sock_check(bad[i].address), bad[i].error == -EINVAL ? -EINVAL : 0);
		assert_int_equal(fd, 77);
		assert_non_null(strstr(e.text, bad[i].address));
	}
}

TEST(addresses_of_a_good_form)
{
	static const char *const good[] = {"@x",       "/a/b:1",	 "a",
					   "[::1]:80", "no.such.host:1", "vsock://2:20002"};

	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		assert_int_equal(sock_check(good[i]), 0);
}

IN_DIR(long_names)
{
	char name[300] = "";
	size_t max = sizeof(((struct sockaddr_un *)0)->sun_path);

	for (int abstract = 0; abstract < 2; abstract++) {
		_cleanup_(closep) int fd = -1, none = -1;
		struct err_text e = {""};

		if (abstract)
			snprintf(name, sizeof(name), "@sonda-test-%d-", getpid());
		else
			snprintf(name, sizeof(name), "%s/", (const char *)*state);
		memset(name + strlen(name), 'x', max + 10 - strlen(name));
		/* a path needs a byte for its NUL, an abstract name has one in place of its '@' */
		name[abstract ? max + 1 : max] = '\0';
		assert_int_equal(sock_listen(name, &none, &e), -ENAMETOOLONG);
		assert_non_null(strstr(e.text, "at most 107 bytes"));
		assert_int_equal(sock_connect(name, &none), -ENAMETOOLONG);
		name[strlen(name) - 1] = '\0';
		assert_int_equal(sock_listen(name, &fd, &e), 0);
		expect_service(fd, name);
	}
	memset(name, 'h', 280);
	memcpy(name + 280, ":80", 4);
	assert_int_equal(sock_connect(name, &(int){-1}), -ENAMETOOLONG);
}

IN_DIR(no_listener)
{
	const char *path = temp_dir_path(state, 0, "sock");
	int fd = 77;

	assert_int_equal(sock_connect(path, &fd), -ENOENT);
	assert_int_equal(sock_listen(path, &fd, NULL), 0);
	close(fd);
	fd = 77;
	assert_true(access(path, F_OK) == 0);
	assert_int_equal(sock_connect(path, &fd), -ECONNREFUSED);
	assert_int_equal(fd, 77);
}

IN_DIR(stale_path_is_taken_over)
{
	const char *path = temp_dir_path(state, 0, "sock");
	_cleanup_(closep) int fd = -1;
	int gone = -1;

	assert_int_equal(sock_listen(path, &gone, NULL), 0);
	close(gone);
	assert_int_equal(sock_listen(path, &fd, NULL), 0);
	expect_service(fd, path);
}

IN_DIR(live_server_keeps_its_path)
{
	const char *path = temp_dir_path(state, 0, "sock");
	_cleanup_(closep) int fd = -1, second = -1, probe = -1;
	struct err_text e = {""};

	assert_int_equal(sock_listen(path, &fd, NULL), 0);
	assert_int_equal(sock_listen(path, &second, &e), -EADDRINUSE);
	assert_int_equal(second, -1);
	assert_non_null(strstr(e.text, path));
	assert_non_null(strstr(e.text, "another server"));
	/* what asked is gone again; the server sees an empty connection */
	assert_int_equal(sock_accept(fd, &probe), 0);
	expect_service(fd, path);
}

/* A server that does not accept is alive all the same. */
IN_DIR(server_with_a_full_backlog_keeps_its_path)
{
	const char *path = temp_dir_path(state, 0, "sock");
	_cleanup_(closep) int busy = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	_cleanup_(closep) int a = -1, b = -1, fd = -1;
	struct sockaddr_un un = {.sun_family = AF_UNIX};

	strcpy(un.sun_path, path);
	assert_int_equal(bind(busy, (struct sockaddr *)&un, sizeof(un)), 0);
	assert_int_equal(listen(busy, 0), 0);
	assert_int_equal(sock_connect(path, &a), 0);
	assert_int_equal(sock_connect(path, &b), -EAGAIN);
	assert_int_equal(sock_listen(path, &fd, NULL), -EADDRINUSE);
	assert_int_equal(access(path, F_OK), 0);
}

IN_DIR(few_connections_wait_to_be_accepted)
{
	const char *path = temp_dir_path(state, 0, "sock");
	int listening, n = 0, r = 0, peers[SOCK_BACKLOG + 10];

	assert_int_equal(sock_listen(path, &listening, NULL), 0);
	while (n < SOCK_BACKLOG + 10 && (r = sock_connect(path, &peers[n])) == 0)
		n++;
	assert_int_equal(r, -EAGAIN);
	assert_in_range(n, SOCK_BACKLOG, SOCK_BACKLOG + 1);
	while (n > 0)
		close(peers[--n]);
	close(listening);
}

/* Accepts connections once the parent sleeps, which it does in connect(2) only. */
static pid_t accept_when_parent_waits(int listening)
{
	char path[64], state = 0;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid > 0)
		return pid;
	alarm(60);
	snprintf(path, sizeof(path), "/proc/%d/stat", getppid());
	while (state != 'S') {
		FILE *f = fopen(path, "re");

		if (!f || fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
			_exit(1);
		fclose(f);
	}
	while (accept(listening, NULL, NULL) >= 0)
		;
	_exit(1);
}

IN_DIR(a_full_backlog_is_waited_for)
{
	const char *path = temp_dir_path(state, 0, "sock");
	_cleanup_(closep) int listening = -1, a = -1, b = -1;
	pid_t pid;

	assert_int_equal(sock_listen(path, &listening, NULL), 0);
	assert_int_equal(fcntl(listening, F_SETFL, 0), 0);
	assert_int_equal(listen(listening, 0), 0);
	assert_int_equal(sock_connect(path, &a), 0);
	assert_int_equal(sock_connect_within(path, 1, &b), -EAGAIN);
	pid = accept_when_parent_waits(listening);
	assert_int_equal(sock_connect_within(path, 60000, &b), 0);
	assert_true(fcntl(b, F_GETFL) & O_NONBLOCK);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

IN_DIR(other_files_are_never_removed)
{
	const char *file = temp_dir_path(state, 0, "file"), *dir = temp_dir_path(state, 1, "dir");
	const char *link = temp_dir_path(state, 2, "link");
	struct err_text e = {""};
	int fd = -1;

	fd = open(file, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(mkdir(dir, 0700), 0);
	assert_int_equal(symlink("sock", link), 0);
	assert_int_equal(sock_listen(file, &fd, &e), -EADDRINUSE);
	assert_non_null(strstr(e.text, "is not a socket"));
	assert_int_equal(sock_listen(dir, &fd, &e), -EADDRINUSE);
	assert_int_equal(sock_listen(link, &fd, &e), -EADDRINUSE);
	assert_int_equal(access(file, F_OK), 0);
	assert_int_equal(access(dir, F_OK), 0);
}

IN_DIR(dir_that_is_missing)
{
	struct err_text e = {""};
	int fd = 77;

	assert_int_equal(sock_listen(temp_dir_path(state, 0, "no/sock"), &fd, &e), -ENOENT);
	assert_non_null(strstr(e.text, "directory does not exist"));
	assert_int_equal(fd, 77);
}

/* Listens until the pipe is closed; ends with 0 when it got the path. */
static void be_a_server(const char *path, int result, int until)
{
	char c;
	int fd, r = sock_listen(path, &fd, NULL);

	_exit(write(result, r == 0 ? "1" : "0", 1) != 1 || read(until, &c, 1) < 0);
}

/* All at once, with the socket of one that was killed in the way. */
IN_DIR(one_of_many_gets_the_path)
{
	enum { N = 8, ROUNDS = 5 };
	const char *path = temp_dir_path(state, 0, "sock");

	for (int round = 0; round < ROUNDS; round++) {
		int results[2], until[2], winners = 0;
		char c;

		assert_int_equal(pipe(results), 0);
		assert_int_equal(pipe(until), 0);
		for (int i = 0; i < N; i++)
			if (fork() == 0) {
				close(until[1]);
				be_a_server(path, results[1], until[0]);
			}
		for (int i = 0; i < N; i++) {
			assert_int_equal(read(results[0], &c, 1), 1);
			winners += c == '1';
		}
		assert_int_equal(winners, 1);
		close(until[1]);
		for (int i = 0; i < N; i++)
			assert_true(wait(NULL) > 0);
		close(until[0]);
		close(results[0]);
		close(results[1]);
	}
}

TEST(sockets_that_are_none)
{
	_cleanup_(closep) int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	uid_t uid;
	pid_t pid;
	int fd;

	assert_int_equal(sock_accept(null, &fd), -ENOTSOCK);
	assert_int_equal(sock_peer(null, &uid, &pid), -ENOTSOCK);
	assert_int_equal(sock_peer(-1, &uid, &pid), -EBADF);
}

TEST(environment_names_the_sockets)
{
	setenv("PERFETTO_PRODUCER_SOCK_NAME", "@p,/tmp/p", 1);
	setenv("PERFETTO_CONSUMER_SOCK_NAME", "127.0.0.1:5", 1);
	assert_string_equal(sock_default_producer(), "@p,/tmp/p");
	assert_string_equal(sock_default_consumer(), "127.0.0.1:5");
}

/* Any user can be the first to listen in /tmp: root does not look there, whether /run/perfetto
 * exists or not. */
TEST(without_environment_root_uses_run_and_others_tmp_too)
{
	bool run = geteuid() == 0 || access("/run/perfetto/", X_OK) == 0;

	for (int empty = 0; empty < 2; empty++) {
		unsetenv("PERFETTO_PRODUCER_SOCK_NAME");
		unsetenv("PERFETTO_CONSUMER_SOCK_NAME");
		if (empty) {
			setenv("PERFETTO_PRODUCER_SOCK_NAME", "", 1);
			setenv("PERFETTO_CONSUMER_SOCK_NAME", "", 1);
		}
		assert_string_equal(sock_default_producer(),
				    run ? "/run/perfetto/traced-producer.sock"
					: "/tmp/perfetto-producer");
		assert_string_equal(sock_default_consumer(),
				    run ? "/run/perfetto/traced-consumer.sock"
					: "/tmp/perfetto-consumer");
	}
}
