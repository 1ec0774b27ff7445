/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "service/listen_sockets.h"
#include "unit/temp_dir.h"
#include "unit/test.h"

/* ---- sockets of addresses ---- */

static void use(const char *producers, const char *consumers)
{
	setenv("PERFETTO_PRODUCER_SOCK_NAME", producers, 1);
	setenv("PERFETTO_CONSUMER_SOCK_NAME", consumers, 1);
}

static void expect_refusal(const struct socket_options *o, int error, const char *why)
{
	struct err_text e = {""};
	struct sockets s;

	assert_int_equal(sockets_open(&s, o, &e), error);
	assert_non_null(strstr(e.text, why));
	sockets_close(&s);
}

#define DIR_TEST(name) TEST_WITH(name, temp_dir_setup, temp_dir_teardown)

DIR_TEST(files_of_sockets_come_and_go)
{
	const struct socket_options o = {.n_relay_on = 0};
	const char *p = temp_dir_path(state, 0, "p"), *c = temp_dir_path(state, 1, "c");
	char list[600];
	struct err_text e;
	struct sockets s;

	snprintf(list, sizeof(list), "%s,@sonda-test-sockets-%d", p, (int)getpid());
	use(list, c);
	assert_int_equal(sockets_open(&s, &o, &e), 0);
	assert_int_equal(s.n, 3);
	assert_int_equal(s.n_producers, 2);
	assert_true(access(p, F_OK) == 0 && access(c, F_OK) == 0);
	sockets_close(&s);
	assert_true(access(p, F_OK) < 0 && access(c, F_OK) < 0);
}

DIR_TEST(file_of_another_process_stays)
{
	const struct socket_options o = {.n_relay_on = 0};
	const char *p = temp_dir_path(state, 0, "p"), *c = temp_dir_path(state, 1, "c");
	struct err_text e;
	struct sockets s;

	use(p, c);
	assert_int_equal(sockets_open(&s, &o, &e), 0);
	assert_int_equal(rename(p, temp_dir_path(state, 2, "moved")), 0);
	close(open(p, O_CREAT | O_WRONLY, 0600));
	sockets_close(&s);
	assert_int_equal(access(p, F_OK), 0);
	assert_true(access(c, F_OK) < 0);
}

DIR_TEST(permissions_are_set_before_the_first_client)
{
	struct socket_options o = {.has_permissions = true};
	const char *p = temp_dir_path(state, 0, "p"), *c = temp_dir_path(state, 1, "c");
	mode_t before = umask(0);
	struct err_text e;
	struct sockets s;
	struct stat st;

	gid_t group = geteuid() == 0 ? 12345 : getegid();

	o.permissions[SOCKET_OF_PRODUCERS] = (struct sock_permissions){group, 0666};
	o.permissions[SOCKET_OF_CONSUMERS] = (struct sock_permissions){getegid(), 0600};
	use(p, c);
	assert_int_equal(sockets_open(&s, &o, &e), 0);
	assert_int_equal(umask(before), 0);
	assert_int_equal(stat(p, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0666);
	assert_int_equal(st.st_gid, group);
	assert_int_equal(st.st_uid, geteuid());
	assert_int_equal(stat(c, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	sockets_close(&s);
	use("@sonda-test-sockets", c);
	expect_refusal(&o, -EINVAL, "abstract");
}

DIR_TEST(unsafe_addresses_are_refused)
{
	struct socket_options o = {.n_relay_on = 0};
	const char *p = temp_dir_path(state, 0, "p"), *c = temp_dir_path(state, 1, "c");

	use("127.0.0.1:0", c);
	expect_refusal(&o, -EPERM, "--allow-remote");
	use(p, "127.0.0.1:0");
	expect_refusal(&o, -EAFNOSUPPORT, "must be a unix socket");
	assert_true(access(p, F_OK) < 0);
	use(p, c);
	o.relay_on[o.n_relay_on++] = "/other";
	expect_refusal(&o, -EINVAL, "/other: not a producer socket");
}

DIR_TEST(number_of_sockets_is_limited)
{
	const struct socket_options o = {.n_relay_on = 0};
	char list[2000] = "";

	for (int i = 0; i < MAX_SOCKETS + 1; i++)
		snprintf(list + strlen(list), sizeof(list) - strlen(list), "@sonda-many-%d-%d,",
			 (int)getpid(), i);
	use(list, temp_dir_path(state, 0, "c"));
	expect_refusal(&o, -E2BIG, "too many sockets; the limit is 16");
}

/* ---- --set-socket-permissions ---- */

TEST(permissions_are_parsed)
{
	struct sock_permissions p[2];
	struct err_text e;

	assert_int_equal(socket_permissions_parse("root:0666:4294967294:1760", p, &e), 0);
	assert_int_equal(p[SOCKET_OF_PRODUCERS].group, 0);
	assert_int_equal(p[SOCKET_OF_PRODUCERS].mode, 0666);
	assert_true(p[SOCKET_OF_CONSUMERS].group == 4294967294u);
	assert_int_equal(p[SOCKET_OF_CONSUMERS].mode, 01760);
}

TEST(other_permissions_are_refused)
{
	static const struct {
		const char *text, *why;
	} bad[] = {
		{"", "expected PGROUP:"},
		{"root", "expected PGROUP:"},
		{"root:0666:root", "expected PGROUP:"},
		{"root:0666::0660", "expected PGROUP:"},
		{"root:0666:root:", "expected PGROUP:"},
		{"root:0666:root:0660:", "expected PGROUP:"},
		{"root:0666:root:0660:x", "expected PGROUP:"},
		{"root:666:root:0660", "\"666\" is not a mode"},
		{"root:0668:root:0660", "not a mode"},
		{"root:00666:root:0660", "not a mode"},
		{"no-such-group:0666:root:0660", "group \"no-such-group\" does not exist"},
		{"root:0666:-1:0660", "does not exist"},
		{"root:0666:4294967296:0660", "does not exist"},
	};
	struct sock_permissions p[2] = {{.group = 7}};
	struct err_text e;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		assert_true(socket_permissions_parse(bad[i].text, p, &e) < 0);
		assert_non_null(strstr(e.text, bad[i].why));
		assert_int_equal(p[0].group, 7);
	}
}

/* ---- sockets that another process passed ---- */

/* Descriptors have fixed numbers here, so each case runs in a process of its own, and checks with
 * this macro, as cmocka cannot count the failures of a child. */
#define MUST(condition)                                                                            \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			print_message("%s:%d: %s\n", __FILE__, __LINE__, #condition);              \
			_exit(1);                                                                  \
		}                                                                                  \
	} while (0)

static struct sockets passed;
static struct err_text passed_e;

static int open_passed(void)
{
	static const struct socket_options o = {.n_relay_on = 0};

	return sockets_open(&passed, &o, &passed_e);
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
		put_socket(3 + i, name);
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

static bool has_fds(const int *fds, size_t n)
{
	if (passed.n != n || passed.n_producers != n - 1)
		return false;
	for (size_t i = 0; i < n; i++)
		if (passed.list[i].fd != fds[i] || !is_ready(fds[i]))
			return false;
	return true;
}

/* Names: of LISTEN_FDNAMES; address: the consumers'. The consumer socket is the last of the list. */
static void systemd_passes(const char *names, const char *address, int consumers)
{
	const int fds[][3] = {{5, 4, 3}, {3, 5, 4}, {3, 4, 5}};

	if (address)
		setenv("PERFETTO_CONSUMER_SOCK_NAME", address, 1);
	pass(3, names);
	MUST(open_passed() == 0 && has_fds(fds[consumers - 3], 3));
	MUST(!getenv("LISTEN_PID") && !getenv("LISTEN_FDS") && !getenv("LISTEN_FDNAMES"));
}

static void last_is_for_consumers(void)
{
	systemd_passes(NULL, NULL, 5);
}

static void named_is_for_consumers(void)
{
	systemd_passes("consumer:producer:producer", NULL, 3);
}

static void address_is_of_consumers(void)
{
	char address[64];

	snprintf(address, sizeof(address), "@sonda-inherited-1-%d", (int)getpid());
	systemd_passes("sondad.socket:sondad.socket:sondad.socket", address, 4);
}

static void variables_are_for_another_process(void)
{
	char address[64], consumers[64];

	snprintf(address, sizeof(address), "@sonda-own-%d", (int)getpid());
	snprintf(consumers, sizeof(consumers), "@sonda-own-%d-c", (int)getpid());
	use(address, consumers);
	put_number("LISTEN_PID", getpid() + 1);
	put_number("LISTEN_FDS", 2);
	MUST(open_passed() == 0 && passed.list[0].address);
	MUST(!getenv("LISTEN_PID") && !getenv("LISTEN_FDS"));
}

static void android_passes(void)
{
	put_socket(20, "sonda-p");
	put_socket(21, "sonda-c");
	put_number("ANDROID_SOCKET_traced_producer", 21);
	MUST(open_passed() == -EINVAL);
	MUST(strstr(passed_e.text, "ANDROID_SOCKET_traced_consumer is not"));
	put_number("ANDROID_SOCKET_traced_consumer", 20);
	MUST(open_passed() == 0 && has_fds((const int[]){21, 20}, 2));
	setenv("ANDROID_SOCKET_traced_consumer", "x", 1);
	MUST(open_passed() == -EINVAL);
}

static void one_is_too_few(void)
{
	pass(1, NULL);
	MUST(open_passed() == -EINVAL && strstr(passed_e.text, "LISTEN_FDS=1"));
}

static void seventeen_are_too_many(void)
{
	pass(2, NULL);
	put_number("LISTEN_FDS", 17);
	MUST(open_passed() == -EINVAL);
}

static void tcp_is_no_unix_socket(void)
{
	pass(2, NULL);
	MUST(dup2(socket(AF_INET, SOCK_STREAM, 0), 4) == 4);
	MUST(open_passed() == -ENOTSOCK && strstr(passed_e.text, "descriptor 4"));
}

static void datagrams_are_no_stream(void)
{
	pass(2, NULL);
	MUST(dup2(socket(AF_UNIX, SOCK_DGRAM, 0), 4) == 4);
	MUST(open_passed() == -ENOTSOCK);
}

static void closed_is_no_socket(void)
{
	pass(2, NULL);
	close(4);
	MUST(open_passed() == -EBADF && strstr(passed_e.text, "descriptor 4"));
}

TEST(passed_sockets_are_taken_or_refused)
{
	static void (*const cases[])(void) = {
		last_is_for_consumers,	 named_is_for_consumers,
		address_is_of_consumers, variables_are_for_another_process,
		android_passes,		 one_is_too_few,
		seventeen_are_too_many,	 tcp_is_no_unix_socket,
		datagrams_are_no_stream, closed_is_no_socket,
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		pid_t child;
		int status;

		fflush(NULL);
		child = fork();
		if (child == 0) {
			unsetenv("PERFETTO_CONSUMER_SOCK_NAME");
			cases[i]();
			exit(0); /* gcov counts what the child has executed */
		}
		assert_int_equal(waitpid(child, &status, 0), child);
		if (status != 0)
			fail_msg("case %zu", i);
	}
}
