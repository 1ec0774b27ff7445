/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/socket.h>
#include <sys/un.h>

#include "unit/test.h"
#include "service/listen_sockets.c"

#define FIRST 3 /* where systemd's descriptors begin */

/*
 * Descriptors have numbers of their own here, so each case is a process of its own. Conditions of
 * the cases are of this macro, as cmocka cannot count those of a child.
 */
#define MUST(condition)                                                                            \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			print_message("%s:%d: %s\n", __FILE__, __LINE__, #condition);              \
			_exit(1);                                                                  \
		}                                                                                  \
	} while (0)

static void run_alone(void (*run)(void))
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		run();
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

/* A bound socket as descriptor `as`. */
static void put_socket(int as, const char *abstract_name)
{
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	struct sockaddr_un a = {.sun_family = AF_UNIX};

	snprintf(a.sun_path + 1, sizeof(a.sun_path) - 1, "%s-%d", abstract_name, (int)getpid());
	MUST(bind(fd, (struct sockaddr *)&a,
		  (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
			      strlen(a.sun_path + 1))) == 0);
	if (fd != as) {
		MUST(dup2(fd, as) == as);
		close(fd);
	}
}

static void put_number(const char *variable, long n)
{
	char text[32];

	snprintf(text, sizeof(text), "%ld", n);
	setenv(variable, text, 1);
}

static void pass(int n, const char *names)
{
	for (int i = 0; i < n; i++) {
		char name[32];

		snprintf(name, sizeof(name), "sonda-inherited-%d", i);
		put_socket(FIRST + i, name);
	}
	put_number("LISTEN_PID", getpid());
	put_number("LISTEN_FDS", n);
	if (names)
		setenv("LISTEN_FDNAMES", names, 1);
}

static bool is_ready(int fd)
{
	int listens = 0;
	socklen_t len = sizeof(listens);

	return getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &len) == 0 && listens &&
	       fcntl(fd, F_GETFD) & FD_CLOEXEC && fcntl(fd, F_GETFL) & O_NONBLOCK;
}

static void nothing(void)
{
	struct inherited s = {.n = 9};
	struct err_text e;

	MUST(inherited_find(&s, &e) == 0 && s.n == 0);
	put_number("LISTEN_PID", getpid() + 1);
	put_number("LISTEN_FDS", 2);
	MUST(inherited_find(&s, &e) == 0 && s.n == 0);
	MUST(!getenv("LISTEN_PID") && !getenv("LISTEN_FDS"));
}

static void the_last_one(void)
{
	struct inherited s;
	struct err_text e;

	pass(3, NULL);
	MUST(inherited_find(&s, &e) == 0 && s.n == 3);
	MUST(s.fds[0] == 3 && s.fds[1] == 4 && s.fds[2] == 5);
	MUST(is_ready(3) && is_ready(4) && is_ready(5));
	MUST(!getenv("LISTEN_PID") && !getenv("LISTEN_FDS"));
}

static void the_named_one(void)
{
	struct inherited s;
	struct err_text e;

	pass(3, "consumer:producer:producer");
	MUST(inherited_find(&s, &e) == 0 && s.n == 3 && s.fds[2] == 3);
	MUST(!getenv("LISTEN_FDNAMES"));
}

static void the_one_with_the_address(void)
{
	char address[64];
	struct inherited s;
	struct err_text e;

	snprintf(address, sizeof(address), "@sonda-inherited-1-%d", (int)getpid());
	setenv("PERFETTO_CONSUMER_SOCK_NAME", address, 1);
	pass(3, "sondad.socket:sondad.socket:sondad.socket");
	MUST(inherited_find(&s, &e) == 0 && s.n == 3 && s.fds[2] == 4);
}

static void of_android(void)
{
	struct inherited s;
	struct err_text e;

	put_socket(20, "sonda-p");
	put_socket(21, "sonda-c");
	put_number("ANDROID_SOCKET_traced_producer", 21);
	MUST(inherited_find(&s, &e) == -EINVAL);
	MUST(strstr(e.text, "ANDROID_SOCKET_traced_consumer is not"));
	put_number("ANDROID_SOCKET_traced_consumer", 20);
	MUST(inherited_find(&s, &e) == 0 && s.n == 2 && s.fds[0] == 21 && s.fds[1] == 20);
	MUST(is_ready(20) && is_ready(21));
	setenv("ANDROID_SOCKET_traced_consumer", "x", 1);
	MUST(inherited_find(&s, &e) == -EINVAL);
}

static void useless_ones(void)
{
	struct inherited s;
	struct err_text e;

	pass(1, NULL);
	MUST(inherited_find(&s, &e) == -EINVAL && strstr(e.text, "LISTEN_FDS=1"));
	put_number("LISTEN_FDS", INHERITED_MAX + 1);
	MUST(inherited_find(&s, &e) == -EINVAL);
	put_number("LISTEN_FDS", 2);
	MUST(dup2(socket(AF_INET, SOCK_STREAM, 0), 4) == 4);
	MUST(inherited_find(&s, &e) == -ENOTSOCK && strstr(e.text, "descriptor 4"));
	MUST(dup2(socket(AF_UNIX, SOCK_DGRAM, 0), 4) == 4);
	MUST(inherited_find(&s, &e) == -ENOTSOCK);
	close(4);
	MUST(inherited_find(&s, &e) == -ENOTSOCK);
}

TEST(none_are_found_where_none_are_ours)
{
	run_alone(nothing);
}

TEST(systemd_passes_them_from_3_on)
{
	run_alone(the_last_one);
}

TEST(the_consumers_may_be_named)
{
	run_alone(the_named_one);
}

TEST(or_known_by_its_address)
{
	run_alone(the_one_with_the_address);
}

TEST(android_names_two)
{
	run_alone(of_android);
}

TEST(what_is_no_socket_is_refused)
{
	run_alone(useless_ones);
}
