/* SPDX-License-Identifier: Apache-2.0 */
/* The expected texts are those that strace 6.1 prints. */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/calls/call_memory.h"
#include "base/calls/call_table.h"
#include "base/core/mem.h"
#include "unit/test.h"

static void assert_string_is(const char *bytes, size_t len, const char *text)
{
	struct strbuf b = {0};

	call_string_put(bytes, len, &b);
	strbuf_puts(&b, "");
	assert_string_equal(b.s ? b.s : "", text);
	strbuf_deinit(&b);
}

TEST(strings_are_escaped_as_in_c)
{
	assert_string_is("/etc/passwd", 11, "/etc/passwd");
	assert_string_is("", 0, "");
	assert_string_is("\"\\\n\t\r\v\f", 7, "\\\"\\\\\\n\\t\\r\\v\\f");
	assert_string_is("\33[31m", 5, "\\33[31m");
	assert_string_is("\1"
			 "2",
			 2, "\\0012"); /* the digit is no part of the escape */
	assert_string_is("\0\177\200\377", 4, "\\0\\177\\200\\377");
	assert_string_is("\1", 1, "\\1");
}

static void assert_address_is(const void *bytes, size_t len, const char *text)
{
	struct strbuf b = {0};

	assert_true(call_address_put(bytes, len, &b));
	assert_string_equal(b.s, text);
	strbuf_deinit(&b);
}

TEST(addresses_of_sockets)
{
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(80)};
	struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_port = htons(443)};
	struct sockaddr_un un = {.sun_family = AF_UNIX, .sun_path = "/run/x"};
	const unsigned char other[] = {0xff, 0x7f, 'a'};

	in.sin_addr.s_addr = htonl(0x7f000001);
	inet_pton(AF_INET6, "2001:db8::1", &in6.sin6_addr);
	assert_address_is(&in, sizeof(in),
			  "{sa_family=AF_INET, sin_port=htons(80), "
			  "sin_addr=inet_addr(\"127.0.0.1\")}");
	assert_address_is(&in6, sizeof(in6),
			  "{sa_family=AF_INET6, sin6_port=htons(443), sin6_flowinfo=htonl(0), "
			  "inet_pton(AF_INET6, \"2001:db8::1\", &sin6_addr), sin6_scope_id=0}");
	assert_address_is(&un, sizeof(un), "{sa_family=AF_UNIX, sun_path=\"/run/x\"}");
	assert_address_is(&un, 2, "{sa_family=AF_UNIX}");
	memcpy(un.sun_path, "\0ab\0", 4);
	assert_address_is(&un, 6, "{sa_family=AF_UNIX, sun_path=@\"ab\\0\"}");
	assert_address_is(other, sizeof(other), "{sa_family=0x7fff /* AF_??? */, sa_data=\"a\"}");
}

/* Each length of each family, in memory of exactly that length. */
TEST(addresses_that_are_cut_are_read_up_to_their_end)
{
	static const sa_family_t families[] = {AF_UNSPEC, AF_UNIX,    AF_INET,
					       AF_INET6,  AF_NETLINK, 0xffff};

	for (size_t f = 0; f < ARRAY_SIZE(families); f++)
		for (size_t len = 0; len <= 130; len++) {
			unsigned char *bytes = malloc(len + 1);
			struct strbuf b = {0};

			bytes = realloc(bytes, len ? len : 1);
			memset(bytes, 'x', len ? len : 1);
			if (len >= sizeof(families[f]))
				memcpy(bytes, &families[f], sizeof(families[f]));
			assert_int_equal(call_address_put(bytes, len, &b), len >= 2);
			strbuf_deinit(&b);
			free(bytes);
		}
}

static void assert_struct_is(char letter, const void *bytes, size_t len, const char *text)
{
	struct strbuf b = {0};

	assert_true(call_struct_put(letter, bytes, len, &b));
	assert_string_equal(b.s, text);
	strbuf_clear(&b);
	assert_false(call_struct_put(letter, bytes, 7, &b));
	assert_int_equal(b.len, 0);
	strbuf_deinit(&b);
}

TEST(structs)
{
	const uint64_t how[] = {0x80000, 0, 0x14}, time[] = {2, 500};
	const uint64_t clone[] = {0x100, 0, 0, 0, 17, 0, 0, 0};
	const int32_t fds[] = {3, 4};

	assert_struct_is(CALL_HOW, how, sizeof(how),
			 "{flags=O_RDONLY|O_CLOEXEC, "
			 "resolve=RESOLVE_NO_SYMLINKS|RESOLVE_IN_ROOT}");
	assert_struct_is(CALL_TIME, time, sizeof(time), "{tv_sec=2, tv_nsec=500}");
	assert_struct_is(CALL_FD_PAIR, fds, sizeof(fds), "[3, 4]");
	assert_struct_is(CALL_CLONE3, clone, sizeof(clone),
			 "{flags=CLONE_VM, exit_signal=SIGCHLD, ...}");
}
