/* SPDX-License-Identifier: Apache-2.0 */
#include "base/calls/call_memory.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/calls/call_table.h"
#include "base/calls/call_values.h"
#include "base/core/mem.h"

/* Appends an octal escape: three digits before a digit, otherwise as few as possible. */
static void call_put_octal(unsigned char c, bool before_digit, struct strbuf *b)
{
	strbuf_printf(b, before_digit ? "\\%03o" : "\\%o", c);
}

void call_string_put(const void *bytes, size_t len, struct strbuf *b)
{
	static const char escaped[] = "\"\\\n\t\r\v\f", letters[] = "\"\\ntrvf";
	const unsigned char *s = bytes;

	for (size_t i = 0; i < len; i++) {
		const char *at = s[i] ? strchr(escaped, s[i]) : NULL;

		if (at) {
			strbuf_putc(b, '\\');
			strbuf_putc(b, letters[at - escaped]);
		} else if (s[i] >= ' ' && s[i] < 0x7f) {
			strbuf_putc(b, (char)s[i]);
		} else {
			call_put_octal(s[i], i + 1 < len && s[i + 1] >= '0' && s[i + 1] <= '9', b);
		}
	}
}

static void call_put_quoted(const void *bytes, size_t len, struct strbuf *b)
{
	strbuf_putc(b, '"');
	call_string_put(bytes, len, b);
	strbuf_putc(b, '"');
}

/* Copies as much of a struct as there is; the rest stays 0. Returns true if it is whole. */
static bool call_copy(void *to, size_t size, const void *bytes, size_t len)
{
	memset(to, 0, size);
	memcpy(to, bytes, MIN(len, size));
	return len >= size;
}

/* Appends the address of a unix socket. A path ends at its NUL or at the length; an abstract name
 * begins with a NUL and uses all bytes. */
static void call_put_unix(const char *path, size_t len, struct strbuf *b)
{
	if (!len)
		return;
	strbuf_puts(b, ", sun_path=");
	if (*path) {
		call_put_quoted(path, strnlen(path, len), b);
		return;
	}
	strbuf_putc(b, '@');
	call_put_quoted(path + 1, len - 1, b);
}

static void call_put_inet(const void *bytes, size_t len, struct strbuf *b)
{
	char text[INET_ADDRSTRLEN] = "";
	struct sockaddr_in in;

	call_copy(&in, sizeof(in), bytes, len);
	inet_ntop(AF_INET, &in.sin_addr, text, sizeof(text));
	strbuf_printf(b, ", sin_port=htons(%u), sin_addr=inet_addr(\"%s\")", ntohs(in.sin_port),
		      text);
}

static void call_put_inet6(const void *bytes, size_t len, struct strbuf *b)
{
	char text[INET6_ADDRSTRLEN] = "";
	struct sockaddr_in6 in;

	call_copy(&in, sizeof(in), bytes, len);
	inet_ntop(AF_INET6, &in.sin6_addr, text, sizeof(text));
	strbuf_printf(b,
		      ", sin6_port=htons(%u), sin6_flowinfo=htonl(%" PRIu32
		      "), inet_pton(AF_INET6, \"%s\", &sin6_addr), sin6_scope_id=%" PRIu32,
		      ntohs(in.sin6_port), ntohl(in.sin6_flowinfo), text, in.sin6_scope_id);
}

static void call_put_netlink(const void *bytes, size_t len, struct strbuf *b)
{
	struct sockaddr_nl nl;

	call_copy(&nl, sizeof(nl), bytes, len);
	strbuf_printf(b, ", nl_pid=%" PRIu32 ", nl_groups=%#08" PRIx32, nl.nl_pid, nl.nl_groups);
}

bool call_address_put(const void *bytes, size_t len, struct strbuf *b)
{
	const size_t head = offsetof(struct sockaddr, sa_data);
	sa_family_t family;

	if (!call_copy(&family, sizeof(family), bytes, len))
		return false;
	strbuf_puts(b, "{sa_family=");
	call_address_family_put(family, b);
	if (family == AF_UNIX) {
		call_put_unix((const char *)bytes + head, len - head, b);
	} else if (family == AF_INET && len >= sizeof(struct sockaddr_in)) {
		call_put_inet(bytes, len, b);
	} else if (family == AF_INET6 && len >= 24 /* without the scope */) {
		call_put_inet6(bytes, len, b);
	} else if (family == AF_NETLINK && len >= sizeof(struct sockaddr_nl)) {
		call_put_netlink(bytes, len, b);
	} else if (len > head) {
		strbuf_puts(b, ", sa_data=");
		call_put_quoted((const char *)bytes + head, len - head, b);
	}
	strbuf_putc(b, '}');
	return true;
}

static bool call_put_open_how(const void *bytes, size_t len, struct strbuf *b)
{
	static const char *const names[] = {"RESOLVE_NO_XDEV",	   "RESOLVE_NO_MAGICLINKS",
					    "RESOLVE_NO_SYMLINKS", "RESOLVE_BENEATH",
					    "RESOLVE_IN_ROOT",	   "RESOLVE_CACHED"};
	uint64_t how[3], rest; /* flags, mode, resolve */
	const char *separator = "";

	if (!call_copy(how, sizeof(how), bytes, len))
		return false;
	strbuf_puts(b, "{flags=");
	call_flags_put(CALL_OPEN_FLAGS, how[0], b);
	if (how[1])
		strbuf_printf(b, ", mode=%#03" PRIo64, how[1]);
	strbuf_puts(b, ", resolve=");
	rest = how[2];
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (rest >> i & 1) {
			strbuf_printf(b, "%s%s", separator, names[i]);
			separator = "|";
			rest &= ~(1ull << i);
		}
	if (rest || !how[2])
		strbuf_printf(b, rest ? "%s%#" PRIx64 : "%s%" PRIx64, separator, rest);
	strbuf_putc(b, '}');
	return true;
}

/* Appends the first fields of struct clone_args. Returns false if it is too short. */
static bool call_put_clone3(const void *bytes, size_t len, struct strbuf *b)
{
	uint64_t c[5]; /* flags, pidfd, child_tid, parent_tid, exit_signal */

	if (!call_copy(c, sizeof(c), bytes, len))
		return false;
	strbuf_puts(b, "{flags=");
	call_flags_put(CALL_CLONE_FLAGS, c[0], b);
	strbuf_puts(b, ", exit_signal=");
	if (c[4])
		call_value_put(&(struct call_row){.args = "n"},
			       (const uint64_t[CALL_ARGS_MAX]){c[4]}, 0, b);
	else
		strbuf_putc(b, '0');
	strbuf_puts(b, ", ...}");
	return true;
}

bool call_struct_put(char letter, const void *bytes, size_t len, struct strbuf *b)
{
	int64_t time[2];
	int32_t fds[2];

	switch (letter) {
	case CALL_HOW:
		return call_put_open_how(bytes, len, b);
	case CALL_CLONE3:
		return call_put_clone3(bytes, len, b);
	case CALL_TIME:
		if (!call_copy(time, sizeof(time), bytes, len))
			return false;
		strbuf_printf(b, "{tv_sec=%" PRId64 ", tv_nsec=%" PRId64 "}", time[0], time[1]);
		return true;
	case CALL_FD_PAIR:
		if (!call_copy(fds, sizeof(fds), bytes, len))
			return false;
		strbuf_printf(b, "[%" PRId32 ", %" PRId32 "]", fds[0], fds[1]);
		return true;
	}
	return false;
}
