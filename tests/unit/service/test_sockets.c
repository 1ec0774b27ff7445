/* SPDX-License-Identifier: Apache-2.0 */

#include "unit/test.h"
#include "service/listen_sockets.h"
#include "unit/temp_dir.h"

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

DIR_TEST(their_files_come_and_go)
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

DIR_TEST(what_others_put_there_stays)
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

DIR_TEST(permissions_are_there_from_the_beginning)
{
	struct socket_options o = {.has_permissions = true};
	const char *p = temp_dir_path(state, 0, "p"), *c = temp_dir_path(state, 1, "c");
	mode_t before = umask(0);
	struct err_text e;
	struct sockets s;
	struct stat st;

	o.permissions[SOCKET_OF_PRODUCERS] = (struct socket_permissions){getegid(), 0666};
	o.permissions[SOCKET_OF_CONSUMERS] = (struct socket_permissions){getegid(), 0600};
	use(p, c);
	assert_int_equal(sockets_open(&s, &o, &e), 0);
	assert_int_equal(umask(before), 0);
	assert_int_equal(stat(p, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0666);
	assert_int_equal(stat(c, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	sockets_close(&s);
	use("@sonda-test-sockets", c);
	expect_refusal(&o, -EINVAL, "abstract");
}

DIR_TEST(what_is_not_safe_is_refused)
{
	struct socket_options o = {.n_relay_on = 0};
	const char *p = temp_dir_path(state, 0, "p"), *c = temp_dir_path(state, 1, "c");

	use("127.0.0.1:0", c);
	expect_refusal(&o, -EPERM, "--allow-remote");
	use(p, "127.0.0.1:0");
	expect_refusal(&o, -EAFNOSUPPORT, "need a unix socket");
	assert_true(access(p, F_OK) < 0);
	use(p, c);
	o.relay_on[o.n_relay_on++] = "/other";
	expect_refusal(&o, -EINVAL, "/other: not a producer socket");
}

DIR_TEST(there_are_only_so_many)
{
	const struct socket_options o = {.n_relay_on = 0};
	char list[2000] = "";

	for (int i = 0; i < MAX_SOCKETS + 1; i++)
		snprintf(list + strlen(list), sizeof(list) - strlen(list), "@sonda-many-%d-%d,",
			 (int)getpid(), i);
	use(list, temp_dir_path(state, 0, "c"));
	expect_refusal(&o, -E2BIG, "more than 16 sockets");
}
