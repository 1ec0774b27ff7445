/* SPDX-License-Identifier: Apache-2.0 */
#include "base/system/tcp_peer.h"

#include <arpa/inet.h>
#include <sys/socket.h>

#include "tests/unit/test.h"

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
	assert_int_equal(tcp_peer_find_user(&local, &peer, &uid), 0);
	assert_int_equal(uid, geteuid());
	/* The kernel shows root as the user of a socket without a process. */
	close(TAKE_FD(client));
	assert_int_equal(tcp_peer_find_user(&local, &peer, &uid), -ENOENT);
	/* Both ends have to fit. */
	peer.sin_port = htons((uint16_t)(ntohs(peer.sin_port) ^ 1));
	assert_int_equal(tcp_peer_find_user(&local, &peer, &uid), -ENOENT);
}
