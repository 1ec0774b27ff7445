/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/report/connections.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/store/arg_sets.h"
#include "analyze/store/event_args.h"
#include "base/core/hash_table.h"
#include "base/core/mem.h"

struct connection_socket {
	uint64_t key; /* the hash of its address in the kernel */
	uint32_t text;
	bool has_port;
	UT_hash_handle hh;
};

static const struct {
	const char *name;
	/* Its addresses are those of the socket in skaddr. The addresses in other events belong to
	 * a packet, or to a request to a listening socket. */
	bool of_socket;
} connection_events[] = {
	{"inet_sock_set_state", true},
	{"tcp_retransmit_skb", true},
	{"tcp_receive_reset", true},
	{"tcp_destroy_sock", true},
	{"tcp_rcv_space_adjust", true},
	{"tcp_probe", true},
	{"tcp_retransmit_synack", false},
	{"tcp_send_reset", false},
	{"sock_send_length", false},
	{"sock_recv_length", false},
	{"kfree_skb", false},
};

/* The addresses and state of the socket in an event. */
struct endpoints {
	uint64_t socket;
	const struct arg *saddr, *daddr, *saddr_v6, *daddr_v6;
	int64_t sport, dport;
};

void connections_init(struct connections *c)
{
	*c = (struct connections){.budget.limit = UINT64_MAX};
	strings_init(&c->texts, &c->budget);
}

void connections_deinit(struct connections *c)
{
	HASH_FREE(c->sockets);
	strings_deinit(&c->texts);
	free(c->list.args);
}

static size_t find_connection_event(const char *name, size_t len)
{
	for (size_t i = 0; i < ARRAY_SIZE(connection_events); i++)
		if (strlen(connection_events[i].name) == len &&
		    !memcmp(connection_events[i].name, name, len))
			return i;
	return ARRAY_SIZE(connection_events);
}

bool connections_has_event(const char *name, size_t len)
{
	return find_connection_event(name, len) < ARRAY_SIZE(connection_events);
}

static bool arg_has_key(const struct arg *a, const char *key)
{
	return a->key_len == strlen(key) && !memcmp(a->key, key, a->key_len);
}

static void read_endpoints(const struct arg_list *l, struct endpoints *ret)
{
	*ret = (struct endpoints){.socket = 0};
	for (size_t i = 0; i < l->n; i++) {
		const struct arg *a = &l->args[i];

		if (arg_has_key(a, "skaddr") || arg_has_key(a, "sk") || arg_has_key(a, "rx_sk"))
			ret->socket = (uint64_t)a->i;
		else if (arg_has_key(a, "saddr"))
			ret->saddr = a;
		else if (arg_has_key(a, "daddr"))
			ret->daddr = a;
		else if (arg_has_key(a, "saddr_v6"))
			ret->saddr_v6 = a;
		else if (arg_has_key(a, "daddr_v6"))
			ret->daddr_v6 = a;
		else if (arg_has_key(a, "sport"))
			ret->sport = a->i;
		else if (arg_has_key(a, "dport"))
			ret->dport = a->i;
	}
}

static size_t print_v4(const void *bytes, unsigned port, char *to, size_t size)
{
	char text[INET_ADDRSTRLEN];

	return (size_t)snprintf(to, size, "%s:%u", inet_ntop(AF_INET, bytes, text, sizeof(text)),
				port & 0xffff);
}

static size_t print_v6(const uint8_t *bytes, unsigned port, char *to, size_t size)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
	char text[INET6_ADDRSTRLEN];

	if (!memcmp(bytes, mapped, sizeof(mapped)))
		return print_v4(bytes + sizeof(mapped), port, to, size);
	return (size_t)snprintf(to, size, "[%s]:%u", inet_ntop(AF_INET6, bytes, text, sizeof(text)),
				port & 0xffff);
}

/* Prints a struct sockaddr_in or sockaddr_in6. Returns 0 for anything else. */
static size_t print_sockaddr(const struct arg *a, char *to, size_t size)
{
	struct sockaddr_in6 in6 = {.sin6_family = AF_UNSPEC};
	struct sockaddr_in in;

	memcpy(&in6, a->s, MIN((size_t)a->len, sizeof(in6)));
	memcpy(&in, &in6, sizeof(in));
	if (in6.sin6_family == AF_INET)
		return print_v4(&in.sin_addr, ntohs(in.sin_port), to, size);
	if (in6.sin6_family == AF_INET6 && a->len >= sizeof(in6))
		return print_v6(in6.sin6_addr.s6_addr, ntohs(in6.sin6_port), to, size);
	return 0;
}

/* Prints an address in one of the forms of the kernel's events. Returns 0 if there is none. */
static size_t print_address(const struct arg *v4, const struct arg *v6, int64_t port, char *to,
			    size_t size)
{
	uint32_t number;

	if (v6 && v6->type == ARG_STRING && v6->len == 16)
		return print_v6((const uint8_t *)v6->s, (unsigned)port, to, size);
	if (v4 && v4->type == ARG_STRING && v4->len >= sizeof(struct sockaddr_in))
		return print_sockaddr(v4, to, size);
	if (v4 && v4->type == ARG_STRING && v4->len == 4)
		return print_v4(v4->s, (unsigned)port, to, size);
	if (!v4 || v4->type == ARG_STRING)
		return port ? (size_t)snprintf(to, size, "?:%u", (unsigned)port & 0xffff) : 0;
	number = (uint32_t)v4->i; /* its bytes are in the order of the network */
	return print_v4(&number, (unsigned)port, to, size);
}

/* Returns the id of the text of both addresses, or NULL_U32 if the event lacks one. */
static uint32_t intern_endpoints(struct connections *c, const struct endpoints *e)
{
	char text[2 * (INET6_ADDRSTRLEN + 10)];
	size_t len = print_address(e->saddr, e->saddr_v6, e->sport, text, sizeof(text) / 2), more;

	if (!len)
		return NULL_U32;
	text[len++] = ' ';
	more = print_address(e->daddr, e->daddr_v6, e->dport, text + len, sizeof(text) / 2);
	return more ? strings_intern(&c->texts, text, len + more) : NULL_U32;
}

static struct connection_socket *get_connection_of_socket(struct connections *c, uint64_t key)
{
	struct connection_socket *found;

	HASH_FIND(hh, c->sockets, &key, sizeof(key), found);
	if (found)
		return found;
	found = budget_alloc(&c->budget, sizeof(*found));
	if (!found)
		return NULL;
	found->key = key;
	found->text = NULL_U32;
	return BUDGET_HASH_ADD(&c->budget, c->sockets, key, found);
}

uint32_t connections_read(struct connections *c, const struct store *s, uint32_t row)
{
	struct value name = {.kind = VALUE_NULL};
	struct connection_socket *socket;
	struct endpoints e;
	uint32_t text;
	size_t at;

	event_args_name(s, row, &name);
	at = name.kind == VALUE_TEXT ? find_connection_event(name.s, name.len)
				     : ARRAY_SIZE(connection_events);
	if (at == ARRAY_SIZE(connection_events))
		return NULL_U32;
	if (arg_sets_list(s, event_args_set_id(s, row), &c->list) < 0) {
		c->failed = true;
		return NULL_U32;
	}
	read_endpoints(&c->list, &e);
	text = intern_endpoints(c, &e);
	if (connection_events[at].of_socket && text != NULL_U32 && e.socket) {
		socket = get_connection_of_socket(c, e.socket);
		/* Without a port, the socket is not bound yet, or no longer bound. */
		if (socket && (e.sport || !socket->has_port)) {
			socket->text = text;
			socket->has_port = e.sport != 0;
		}
	} else if (text == NULL_U32 && e.socket) {
		HASH_FIND(hh, c->sockets, &e.socket, sizeof(e.socket), socket);
		text = socket ? socket->text : NULL_U32;
	}
	c->failed |= c->budget.error != 0;
	return text;
}
