/* SPDX-License-Identifier: Apache-2.0 */
#include "service/ipc/ipc_peer.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/vm_sockets.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/core/siphash.h"
#include "base/event_loop/sock.h"
#include "base/text/str.h"
#include "gen/fields.h"
#include "service/ipc/request_decode.h"

#define VSOCK_PREFIX "vsock://"

/* ---- addresses ---- */

static void set_ipv4(struct remote_address *a, const void *ip)
{
	a->family = AF_INET;
	memcpy(a->ip, ip, 4);
}

static void set_ipv6(struct remote_address *a, const struct in6_addr *ip)
{
	if (IN6_IS_ADDR_V4MAPPED(ip)) {
		set_ipv4(a, &ip->s6_addr[12]);
		return;
	}
	a->family = AF_INET6;
	memcpy(a->ip, ip, sizeof(a->ip));
}

/* Sets *ret to the address, without the port, of a connected socket's peer. Returns 0 or -errno. */
static int read_address_of_peer(int fd, struct remote_address *ret)
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
		set_ipv4(ret, &s.in.sin_addr);
	} else if (s.sa.sa_family == AF_INET6) {
		set_ipv6(ret, &s.in6.sin6_addr);
	} else if (s.sa.sa_family == AF_VSOCK) {
		ret->family = AF_VSOCK;
		ret->cid = s.vm.svm_cid;
	}
	return 0;
}

static void format_remote_address(const struct remote_address *a,
				  char ret_text[static REMOTE_ADDRESS_TEXT])
{
	if (a->family == AF_VSOCK)
		snprintf(ret_text, REMOTE_ADDRESS_TEXT, VSOCK_PREFIX "%u", a->cid);
	else if (a->family == AF_UNIX)
		snprintf(ret_text, REMOTE_ADDRESS_TEXT, "relay of uid %u", a->cid);
	else if (!inet_ntop(a->family, a->ip, ret_text, REMOTE_ADDRESS_TEXT))
		snprintf(ret_text, REMOTE_ADDRESS_TEXT, "unknown");
}

static bool remote_address_is_loopback(const struct remote_address *a)
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

static bool first_bits_are_equal(const uint8_t *a, const uint8_t *b, unsigned bits)
{
	unsigned whole = bits / 8, rest = bits % 8;

	if (memcmp(a, b, whole) != 0)
		return false;
	return rest == 0 || (a[whole] ^ b[whole]) >> (8 - rest) == 0;
}

static bool remote_allow_has(const struct remote_allow *a, const struct remote_address *peer)
{
	for (size_t i = 0; i < a->n; i++) {
		const struct remote_address *rule = &a->rules[i].address;

		if (rule->family != peer->family || rule->family == AF_UNSPEC)
			continue;
		if (rule->family == AF_VSOCK
			    ? rule->cid == peer->cid
			    : first_bits_are_equal(rule->ip, peer->ip, a->rules[i].bits))
			return true;
	}
	return false;
}

static int refuse_address_rule(struct err_text *e, const char *rule)
{
	return err_set(e, -EINVAL,
		       "'%s' is not an address; use 10.0.0.1, 10.0.0.0/8, ::1, fd00::/8 or "
		       "vsock://3",
		       rule);
}

/* Parses an address with an optional prefix length; *ret_bits is all bits without one. Modifies
 * rule. Returns 0 or -EINVAL. */
static int parse_ip(char *rule, struct remote_address *ret, unsigned *ret_bits)
{
	char *slash = strchr(rule, '/');
	struct in6_addr ip6;
	uint32_t bits, max;
	uint8_t ip[4];

	if (slash)
		*slash = '\0';
	if (inet_pton(AF_INET, rule, ip) == 1) {
		set_ipv4(ret, ip);
		max = 32;
	} else if (inet_pton(AF_INET6, rule, &ip6) == 1 && !IN6_IS_ADDR_V4MAPPED(&ip6)) {
		set_ipv6(ret, &ip6);
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

static int ipc_peer_add_rule(struct remote_allow *a, const char *text, struct err_text *e)
{
	_cleanup_(freep) char *rule = strdup(text);
	struct remote_address address = {.family = AF_VSOCK};
	unsigned bits = 0;
	int r;

	if (!rule)
		return err_set(e, -ENOMEM, "out of memory");
	if (a->n == REMOTE_ALLOW_MAX)
		return err_set(e, -E2BIG, "too many addresses; the limit is %d", REMOTE_ALLOW_MAX);
	if (str_starts(rule, VSOCK_PREFIX))
		r = str_to_u32(rule + strlen(VSOCK_PREFIX), &address.cid);
	else
		r = parse_ip(rule, &address, &bits);
	if (r < 0)
		return refuse_address_rule(e, text);
	a->rules[a->n].address = address;
	a->rules[a->n++].bits = bits;
	return 0;
}

int remote_allow_add(struct remote_allow *a, const char *list, struct err_text *e)
{
	_cleanup_(freep) char *copy = strdup(list);
	char *rest = copy, *rule;
	int r = copy ? 0 : err_set(e, -ENOMEM, "out of memory");

	while (r == 0 && (rule = strsep(&rest, ",")))
		r = ipc_peer_add_rule(a, rule, e);
	return r;
}

/* An address as bytes, for hashes. */
struct address_key {
	uint8_t ip[16];
	uint32_t cid, family;
	uint64_t hint; /* hash of a machine's hint, or 0 */
};

static struct address_key address_key_of(const struct remote_address *a, uint64_t hint)
{
	struct address_key key = {.cid = a->cid, .family = a->family, .hint = hint};

	memcpy(key.ip, a->ip, sizeof(key.ip));
	return key;
}

/* Sets the id of the peer's machine: a hash of its address and its hint (len 0: none) with a random
 * key. So no other address can take the id of a machine, whatever hint it sends. */
static void set_machine_id(struct ipc_peer *p, const void *hint, size_t len)
{
	struct address_key key =
		address_key_of(&p->address, len > 0 ? siphash_keyed(hint, len) : 0);
	uint32_t id = (uint32_t)siphash_keyed(&key, sizeof(key));

	p->machine_id = id ? id : 1;
}

static void set_remote(struct ipc_peer *p)
{
	p->is_remote = true;
	p->uid = UID_UNKNOWN;
	/* A peer that connects from this machine, and reports no other machine, belongs to
	 * this machine. */
	if (!remote_address_is_loopback(&p->address))
		set_machine_id(p, NULL, 0);
}

int ipc_peer_identify(int fd, const struct remote_allow *allow, struct ipc_peer *ret)
{
	struct ipc_peer p = {0};
	int r = sock_peer(fd, &p.uid, &p.pid);

	if (r == -EOPNOTSUPP) {
		r = read_address_of_peer(fd, &p.address);
		if (r < 0)
			return r;
		set_remote(&p);
		r = allow && remote_allow_has(allow, &p.address) ? 0 : -EACCES;
	}
	if (r == 0 || r == -EACCES)
		*ret = p;
	return r;
}

#define REMOTE_USER (1ull << 63) /* above all uids */

uint64_t ipc_peer_user(const struct ipc_peer *p)
{
	struct address_key key = address_key_of(&p->address, 0);

	if (p->is_remote && p->address.family == AF_UNIX)
		return p->address.cid;
	return p->is_remote ? REMOTE_USER | siphash_keyed(&key, sizeof(key)) : p->uid;
}

void ipc_peer_deinit(struct ipc_peer *p)
{
	free(p->machine_name);
	p->machine_name = NULL;
}

void ipc_peer_set_relayed(struct ipc_peer *p)
{
	p->address = (struct remote_address){.family = AF_UNIX, .cid = p->uid};
	p->is_remote = true;
	p->uid = UID_UNKNOWN;
	p->pid = 0;
}

void ipc_peer_set_identity(struct ipc_peer *p, const uint8_t *identity, size_t len)
{
	int32_t uid = -1, pid = 0;
	struct pb_field f;
	struct pb_dec d;

	if (!p->is_remote || p->introduced)
		return;
	p->introduced = true;
	if (!p->machine_id)
		set_machine_id(p, NULL, 0);
	pb_dec_init(&d, identity, len);
	while (pb_dec_next(&d, &f))
		switch (FIELD_KEY(f)) {
		case KEY_VARINT(PB_IPC_FRAME_SET_PEER_IDENTITY_PID):
			pid = (int32_t)f.u64;
			break;
		case KEY_VARINT(PB_IPC_FRAME_SET_PEER_IDENTITY_UID):
			uid = (int32_t)f.u64;
			break;
		case KEY_BYTES(PB_IPC_FRAME_SET_PEER_IDENTITY_MACHINE_ID_HINT):
			if (f.len > 0)
				set_machine_id(p, f.data, f.len);
			break;
		case KEY_BYTES(PB_IPC_FRAME_SET_PEER_IDENTITY_MACHINE_NAME):
			/* A name that cannot be stored is ignored. */
			if (f.len > 0)
				(void)decode_string(&f, MAX_MACHINE_NAME, &p->machine_name);
			break;
		}
	p->uid = uid > 0 ? (uid_t)uid : UID_UNKNOWN;
	p->pid = pid > 0 ? pid : 0;
}

void ipc_peer_text(const struct ipc_peer *p, char ret_text[static IPC_PEER_TEXT])
{
	char address[REMOTE_ADDRESS_TEXT];

	if (!p->is_remote) {
		snprintf(ret_text, IPC_PEER_TEXT, "process %d of uid %u", (int)p->pid,
			 (unsigned)p->uid);
		return;
	}
	format_remote_address(&p->address, address);
	snprintf(ret_text, IPC_PEER_TEXT, "%s", address);
}
