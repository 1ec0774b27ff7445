/* SPDX-License-Identifier: Apache-2.0 */
#include <arpa/inet.h>
#include <netinet/in.h>

#include "base/core/err.h"
#include "service/ipc/ipc_peer.h"
#include "unit/test.h"

/* Addresses that may connect. Any address of 127.0.0.0/8 can be the source of a connection. */

/* Connects from an address of this machine to a listener of the family, and has the peer checked.
 * Returns 0 or -errno. 1: the machine lacks IPv6. */
static int connect_from(const char *rules, const char *source, int listener_family,
			struct ipc_peer *ret)
{
	struct sockaddr_in6 any = {.sin6_family = AF_INET6, .sin6_addr = in6addr_any}, at6 = any;
	struct sockaddr_in at4 = {.sin_family = AF_INET}, from4 = at4;
	bool is_six = strchr(source, ':');
	int listening = socket(listener_family, SOCK_STREAM | SOCK_CLOEXEC, 0), client, server, r;
	socklen_t len = sizeof(any);
	struct remote_allow allow = {0};

	if (rules)
		assert_int_equal(remote_allow_add(&allow, rules, NULL), 0);
	if (listening < 0)
		return 1;
	if (listener_family == AF_INET)
		memcpy(&any, &at4, sizeof(at4));
	if (bind(listening, (struct sockaddr *)&any, sizeof(any)) < 0) {
		close(listening);
		return 1;
	}
	assert_int_equal(listen(listening, 1), 0);
	assert_int_equal(getsockname(listening, (struct sockaddr *)&any, &len), 0);
	at4.sin_port = at6.sin6_port = any.sin6_port;
	at4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	at6.sin6_addr = in6addr_loopback;
	client = socket(is_six ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_true(client >= 0);
	if (!is_six) {
		assert_int_equal(inet_pton(AF_INET, source, &from4.sin_addr), 1);
		assert_int_equal(bind(client, (struct sockaddr *)&from4, sizeof(from4)), 0);
	}
	r = is_six ? connect(client, (struct sockaddr *)&at6, sizeof(at6))
		   : connect(client, (struct sockaddr *)&at4, sizeof(at4));
	assert_int_equal(r, 0);
	server = accept(listening, NULL, NULL);
	assert_true(server >= 0);
	r = ipc_peer_identify(server, &allow, ret);
	close(server);
	close(client);
	close(listening);
	return r;
}

TEST(rules_are_compared_by_their_first_bits)
{
	static const struct {
		const char *rules, *source;
		bool allowed;
	} rows[] = {
		{"127.0.0.1", "127.0.0.1", true},
		{"127.0.0.1", "127.0.0.2", false},
		{"127.0.0.0/8", "127.255.1.2", true},
		{"126.0.0.0/8", "127.0.0.1", false},
		{"127.168.4.0/23", "127.168.5.255", true},
		{"127.168.4.0/23", "127.168.6.0", false},
		{"0.0.0.0/0", "127.8.8.8", true},
		{"::1", "::1", true},
		{"::2", "::1", false},
		{"::/127", "::1", true},
		{"::2/127", "::1", false},
		{"::/8", "::1", true},
		{"fd00::/8", "::1", false},
		/* families do not mix */
		{"0.0.0.0/0", "::1", false},
		{"::/0", "127.0.0.1", false},
		{"vsock://3", "127.0.0.1", false},
		/* each rule of a list counts */
		{"127.0.0.9,vsock://7,127.0.0.4,::1", "127.0.0.4", true},
		{"127.0.0.9,vsock://7,127.0.0.4,::1", "::1", true},
		{"127.0.0.9,vsock://7,127.0.0.4,::1", "127.0.0.3", false},
		/* no rules */
		{NULL, "127.0.0.1", false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		/* An IPv6 socket accepts IPv4 too, and wraps its addresses. */
		for (unsigned six = strchr(rows[i].source, ':') != NULL; six < 2; six++) {
			struct ipc_peer peer;
			int r = connect_from(rows[i].rules, rows[i].source,
					     six ? AF_INET6 : AF_INET, &peer);

			if (r != 1 && r != (rows[i].allowed ? 0 : -EACCES))
				fail_msg("%s, %s: %d", rows[i].rules, rows[i].source, r);
			assert_true(r || peer.is_remote);
			/* Nothing is known of it until it says who it is. */
			assert_true(r || (peer.uid == UID_UNKNOWN && peer.pid == 0 &&
					  peer.machine_id == 0));
		}
}

TEST(bad_addresses_are_refused_with_their_text)
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

TEST(same_addresses)
{
	static const struct remote_address v4 = {.family = AF_INET, .ip = {10, 1, 2, 3}},
					   other = {.family = AF_INET, .ip = {10, 1, 2, 4}},
					   v6 = {.family = AF_INET6, .ip = {10, 1, 2, 3}},
					   vm = {.family = AF_VSOCK, .cid = 3},
					   vm4 = {.family = AF_VSOCK, .cid = 4};

	assert_true(remote_address_same(&v4, &v4) && remote_address_same(&vm, &vm));
	assert_false(remote_address_same(&v4, &other) || remote_address_same(&v4, &v6) ||
		     remote_address_same(&vm, &vm4));
}

TEST(text_of_a_remote_peer_is_its_address)
{
	static const struct {
		struct remote_address address;
		const char *text;
	} rows[] = {
		{{.family = AF_INET, .ip = {10, 1, 2, 3}}, "10.1.2.3"},
		{{.family = AF_INET6, .ip = {0xfd, [15] = 1}}, "fd00::1"},
		{{.family = AF_VSOCK, .cid = UINT32_MAX}, "vsock://4294967295"},
		{{.family = AF_UNSPEC}, "unknown"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct ipc_peer p = {.is_remote = true, .address = rows[i].address};
		char text[IPC_PEER_TEXT];

		ipc_peer_text(&p, text);
		assert_string_equal(text, rows[i].text);
	}
}
