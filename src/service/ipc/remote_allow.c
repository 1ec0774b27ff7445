/* SPDX-License-Identifier: Apache-2.0 */
#include "service/ipc/remote_allow.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/vm_sockets.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/text/str.h"

#define VSOCK_PREFIX "vsock://"

/* ---- addresses ---- */

static void take_ipv4(struct remote_address *a, const void *ip)
{
	a->family = AF_INET;
	memcpy(a->ip, ip, 4);
}

static void take_ipv6(struct remote_address *a, const struct in6_addr *ip)
{
	if (IN6_IS_ADDR_V4MAPPED(ip)) {
		take_ipv4(a, &ip->s6_addr[12]);
		return;
	}
	a->family = AF_INET6;
	memcpy(a->ip, ip, sizeof(a->ip));
}

int remote_address_of_peer(int fd, struct remote_address *ret)
{
	union {
		struct sockaddr sa;
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
		struct sockaddr_vm vm;
		struct sockaddr_storage storage;
	} s = {.sa.sa_family = AF_UNSPEC};
	socklen_t len = sizeof(s);

	if (getpeername(fd, &s.sa, &len) < 0)
		return -errno;
	*ret = (struct remote_address){.family = AF_UNSPEC};
	if (s.sa.sa_family == AF_INET) {
		take_ipv4(ret, &s.in.sin_addr);
	} else if (s.sa.sa_family == AF_INET6) {
		take_ipv6(ret, &s.in6.sin6_addr);
	} else if (s.sa.sa_family == AF_VSOCK) {
		ret->family = AF_VSOCK;
		ret->cid = s.vm.svm_cid;
	}
	return 0;
}

void remote_address_text(const struct remote_address *a, char ret_text[static REMOTE_ADDRESS_TEXT])
{
	if (a->family == AF_VSOCK)
		snprintf(ret_text, REMOTE_ADDRESS_TEXT, VSOCK_PREFIX "%u", a->cid);
	else if (!inet_ntop(a->family, a->ip, ret_text, REMOTE_ADDRESS_TEXT))
		snprintf(ret_text, REMOTE_ADDRESS_TEXT, "unknown");
}

bool remote_address_is_loopback(const struct remote_address *a)
{
	if (a->family == AF_INET)
		return a->ip[0] == 127;
	return a->family == AF_INET6 && !memcmp(a->ip, &in6addr_loopback, sizeof(a->ip));
}

bool remote_address_same(const struct remote_address *a, const struct remote_address *b)
{
	return a->family == b->family && a->cid == b->cid && !memcmp(a->ip, b->ip, sizeof(a->ip));
}

/* ---- rules ---- */

static bool same_bits(const uint8_t *a, const uint8_t *b, unsigned bits)
{
	unsigned whole = bits / 8, rest = bits % 8;

	if (memcmp(a, b, whole) != 0)
		return false;
	return rest == 0 || (a[whole] ^ b[whole]) >> (8 - rest) == 0;
}

bool remote_allow_has(const struct remote_allow *a, const struct remote_address *peer)
{
	for (size_t i = 0; i < a->n; i++) {
		const struct remote_address *rule = &a->rules[i].address;

		if (rule->family != peer->family || rule->family == AF_UNSPEC)
			continue;
		if (rule->family == AF_VSOCK ? rule->cid == peer->cid
					     : same_bits(rule->ip, peer->ip, a->rules[i].bits))
			return true;
	}
	return false;
}

static int bad_rule(struct err_text *e, const char *rule)
{
	return err_set(e, -EINVAL,
		       "%s is no address of a peer: say 10.0.0.1, 10.0.0.0/8, ::1, fd00::/8 or "
		       "vsock://3",
		       rule);
}

/* Cuts rule at its '/'. */
static int parse_ip(char *rule, struct remote_address *ret, unsigned *ret_bits)
{
	char *slash = strchr(rule, '/');
	struct in6_addr ip6;
	uint32_t bits, max;
	uint8_t ip[4];

	if (slash)
		*slash = '\0';
	if (inet_pton(AF_INET, rule, ip) == 1) {
		take_ipv4(ret, ip);
		max = 32;
	} else if (inet_pton(AF_INET6, rule, &ip6) == 1 && !IN6_IS_ADDR_V4MAPPED(&ip6)) {
		take_ipv6(ret, &ip6);
		max = 128;
	} else {
		return -EINVAL;
	}
	bits = max;
	if (slash && (str_to_u32(slash + 1, &bits) < 0 || bits > max))
		return -EINVAL;
	*ret_bits = bits;
	return 0;
}

static int add_rule(struct remote_allow *a, const char *text, struct err_text *e)
{
	_cleanup_(freep) char *rule = strdup(text);
	struct remote_address address = {.family = AF_VSOCK};
	unsigned bits = 0;
	int r;

	if (!rule)
		return -ENOMEM;
	if (a->n == REMOTE_ALLOW_MAX)
		return err_set(e, -E2BIG, "more than %d addresses", REMOTE_ALLOW_MAX);
	if (str_starts(rule, VSOCK_PREFIX))
		r = str_to_u32(rule + strlen(VSOCK_PREFIX), &address.cid);
	else
		r = parse_ip(rule, &address, &bits);
	if (r < 0)
		return bad_rule(e, text);
	a->rules[a->n].address = address;
	a->rules[a->n++].bits = bits;
	return 0;
}

int remote_allow_add(struct remote_allow *a, const char *list, struct err_text *e)
{
	_cleanup_(freep) char *copy = strdup(list);
	char *rest = copy, *rule;
	int r = copy ? 0 : -ENOMEM;

	while (r == 0 && (rule = strsep(&rest, ",")))
		r = add_rule(a, rule, e);
	return r;
}
