/* SPDX-License-Identifier: Apache-2.0 */
#include <arpa/inet.h>
#include <linux/vm_sockets.h>

#include "unit/test.h"
#include "base/event_loop/sock.h"
#include "service/ipc/ipc_peer.c"

static struct remote_address address(const char *text)
{
	struct remote_address a = {.family = AF_VSOCK};

	if (sscanf(text, "vsock://%u", &a.cid) == 1)
		return a;
	a.family = strchr(text, ':') ? AF_INET6 : AF_INET;
	assert_int_equal(inet_pton(a.family, text, a.ip), 1);
	return a;
}

static bool has(const char *rules, const char *peer)
{
	struct remote_allow a = {0};
	struct remote_address p = address(peer);

	assert_int_equal(remote_allow_add(&a, rules, NULL), 0);
	return remote_allow_has(&a, &p);
}

TEST(addresses_are_compared_by_their_first_bits)
{
	assert_true(has("127.0.0.1", "127.0.0.1"));
	assert_false(has("127.0.0.1", "127.0.0.2"));
	assert_true(has("10.0.0.0/8", "10.255.1.2"));
	assert_false(has("10.0.0.0/8", "11.0.0.0"));
	assert_true(has("192.168.4.0/23", "192.168.5.255"));
	assert_false(has("192.168.4.0/23", "192.168.6.0"));
	assert_true(has("0.0.0.0/0", "8.8.8.8"));
	assert_true(has("fd00::/8", "fdff::1"));
	assert_false(has("fd00::/8", "fe00::1"));
	assert_true(has("::1", "::1"));
	assert_false(has("::1", "::2"));
	assert_true(has("fe80::/127", "fe80::1"));
	assert_false(has("fe80::/127", "fe80::2"));
}

TEST(families_do_not_mix)
{
	assert_false(has("0.0.0.0/0", "::1"));
	assert_false(has("::/0", "1.2.3.4"));
	assert_false(has("0.0.0.0/0,::/0", "vsock://3"));
	assert_true(has("vsock://3", "vsock://3"));
	assert_false(has("vsock://3", "vsock://4"));
	assert_false(has("vsock://3", "0.0.0.3"));
}

TEST(every_rule_of_a_list_counts)
{
	const char *list = "127.0.0.1,vsock://7,::1";

	assert_true(has(list, "127.0.0.1"));
	assert_true(has(list, "vsock://7"));
	assert_true(has(list, "::1"));
	assert_false(has(list, "127.0.0.3"));
}

TEST(no_rules_let_nobody_in)
{
	static const struct remote_allow none;
	struct remote_address p = address("127.0.0.1"), unknown = {.family = AF_UNSPEC};

	assert_false(remote_allow_has(&none, &p));
	assert_false(remote_allow_has(&none, &unknown));
}

TEST(what_is_no_address_is_refused_with_its_text)
{
	static const char *const bad[] = {
		"",	    "localhost",  "127.0.0.1:80", "10.0.0.0/33", "10.0.0.0/-1",
		"10.0.0/8", "::1/129",	  "10.0.0.0/",	  "[::1]",	 "::ffff:10.0.0.1",
		"vsock://", "vsock://-1", "vsock://x",	  "127.0.0.1,",	 "127.0.0.1, ::1",
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct remote_allow a = {0};
		struct err_text e = {""};

		assert_int_equal(remote_allow_add(&a, bad[i], &e), -EINVAL);
		assert_non_null(strstr(e.text, "is not an address"));
	}
}

TEST(rules_have_a_limit)
{
	struct remote_allow a = {0};
	struct err_text e = {""};

	for (int i = 0; i < REMOTE_ALLOW_MAX; i++)
		assert_int_equal(remote_allow_add(&a, "10.0.0.1", &e), 0);
	assert_int_equal(remote_allow_add(&a, "10.0.0.1", &e), -E2BIG);
	assert_int_equal(a.n, REMOTE_ALLOW_MAX);
}

TEST(text_is_that_of_a_rule)
{
	static const char *const texts[] = {"10.1.2.3", "fd00::1", "vsock://4294967295"};
	char text[REMOTE_ADDRESS_TEXT];

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct remote_address a = address(texts[i]);

		remote_address_text(&a, text);
		assert_string_equal(text, texts[i]);
		assert_true(remote_address_same(&a, &a));
	}
}

/* The address of a client of a listener on host, as the server sees it. */
static void peer_of(const char *host, int family, struct remote_address *ret)
{
	int listening, client, server;
	struct sockaddr_in6 at = {.sin6_family = AF_INET6, .sin6_addr = in6addr_any};
	socklen_t len = sizeof(at);
	char target[64];

	listening = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_true(listening >= 0);
	if (family == AF_INET)
		memset(&at, 0, sizeof(at)), at.sin6_family = AF_INET;
	assert_int_equal(bind(listening, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(listening, 1), 0);
	assert_int_equal(getsockname(listening, (struct sockaddr *)&at, &len), 0);
	snprintf(target, sizeof(target), "%s:%u", host, ntohs(at.sin6_port));
	assert_int_equal(sock_connect(target, &client), 0);
	server = accept(listening, NULL, NULL);
	assert_true(server >= 0);
	assert_int_equal(remote_address_of_peer(server, ret), 0);
	close(server);
	close(client);
	close(listening);
}

TEST(peers_of_real_sockets_are_known)
{
	struct remote_address a, loopback = address("127.0.0.1");

	peer_of("127.0.0.1", AF_INET, &a);
	assert_true(remote_address_same(&a, &loopback));
	assert_int_equal(remote_address_of_peer(-1, &a), -EBADF);
}

/* An IPv6 socket takes IPv4 too, and wraps its addresses. */
TEST(ipv4_peer_of_an_ipv6_socket_is_an_ipv4_address)
{
	struct remote_address a, four = address("127.0.0.1"), six = address("::1");
	int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		skip(); /* no IPv6 here */
	close(fd);
	peer_of("127.0.0.1", AF_INET6, &a);
	assert_true(remote_address_same(&a, &four));
	peer_of("[::1]", AF_INET6, &a);
	assert_true(remote_address_same(&a, &six));
}
