/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/open/trace_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "tests/unit/test.h"

static void name_is(const char *path, const char *expected)
{
	char buf[32];

	trace_server_make_name(path, buf, sizeof(buf));
	assert_string_equal(buf, expected);
}

TEST(a_name_has_only_letters_that_mean_nothing_in_a_url)
{
	name_is("trace.pftrace", "trace.pftrace");
	name_is("/a/b/trace-1_2.gz", "trace-1_2.gz");
	name_is("a/x y%2f&z#?", "x_y_2f_z__");
	name_is("\xc3\xa4\n", "___");
	name_is("a_name_that_is_longer_than_the_buffer", "a_name_that_is_longer_than_the_");
}

static struct sockaddr_in address_of(int fd, bool peer)
{
	struct sockaddr_in a;
	socklen_t len = sizeof(a);

	assert_return_code(peer ? getpeername(fd, (struct sockaddr *)&a, &len)
				: getsockname(fd, (struct sockaddr *)&a, &len),
			   errno);
	return a;
}

TEST(the_kernel_names_the_user_of_a_connection)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	_cleanup_(closep) int listener = socket(AF_INET, SOCK_STREAM, 0);
	_cleanup_(closep) int client = socket(AF_INET, SOCK_STREAM, 0);
	_cleanup_(closep) int server = -1;
	struct sockaddr_in local, peer;
	uid_t uid = 4242;

	assert_return_code(bind(listener, (struct sockaddr *)&a, sizeof(a)), errno);
	assert_return_code(listen(listener, 1), errno);
	a = address_of(listener, false);
	assert_return_code(connect(client, (struct sockaddr *)&a, sizeof(a)), errno);
	server = accept(listener, NULL, NULL);
	assert_true(server >= 0);
	local = address_of(server, false);
	peer = address_of(server, true);
	assert_int_equal(trace_server_find_user(&local, &peer, &uid), 0);
	assert_int_equal(uid, geteuid());
	/* The kernel shows root as the user of a socket without a process. */
	close(TAKE_FD(client));
	assert_int_equal(trace_server_find_user(&local, &peer, &uid), -ENOENT);
	/* Both ends have to fit. */
	peer.sin_port = htons((uint16_t)(ntohs(peer.sin_port) ^ 1));
	assert_int_equal(trace_server_find_user(&local, &peer, &uid), -ENOENT);
}
