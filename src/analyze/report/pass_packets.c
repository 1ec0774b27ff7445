/* SPDX-License-Identifier: Apache-2.0 */
/*
 * packet_waits: from the packet to its reader.
 *
 *	netif_receive_skb       skbaddr         the network stack gets the packet
 *	skb_copy_datagram_iovec skbaddr         a thread copies from it, the first time
 *	sock_recv_length        family          the same thread's call ends
 *
 * Sockets of other families (AF_UNIX) also copy from packets, which no device received, and the
 * kernel reuses the memory of packets. So a copy counts only if the call was on an IP socket.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "analyze/report/event_reader.h"
#include "analyze/report/pass.h"
#include "base/core/hash_table.h"

enum packet_event { PACKET_OTHER, PACKET_RECEIVED, PACKET_COPIED, PACKET_CALL_ENDED };

static const char *const packet_event_names[] = {"netif_receive_skb", "skb_copy_datagram_iovec",
						 "sock_recv_length"};

/* A packet that no thread has read from. */
struct waiting_packet {
	uint64_t key; /* the hash of its address */
	int64_t ts;
	UT_hash_handle hh;
};

struct packet_copy {
	uint32_t utid;
	uint32_t previous; /* of the thread: index + 1, 0: none */
	int64_t ts, ns; /* ts: when the packet was received */
	bool counts;
};

struct packets {
	const struct pass_input *in;
	struct waiting_packet *waiting; /* owned hash */
	struct packet_copy *copies; /* owned */
	size_t n, cap;
	uint32_t *last; /* owned; by utid: its last copy since its last call ended, as previous */
	struct arg_list list; /* owned */
	bool failed;
};

static void handle_packet_received(struct packets *p, uint64_t key, int64_t ts)
{
	struct waiting_packet *w;

	HASH_FIND(hh, p->waiting, &key, sizeof(key), w);
	if (!w) {
		w = calloc(1, sizeof(*w));
		if (!w) {
			p->failed = true;
			return;
		}
		w->key = key;
		HASH_ADD(hh, p->waiting, key, sizeof(w->key), w);
		if (!w->hh.tbl) {
			free(w);
			p->failed = true;
			return;
		}
	}
	w->ts = ts;
}

static void handle_packet_copied(struct packets *p, uint64_t key, int64_t ts, uint32_t utid)
{
	struct waiting_packet *w;

	HASH_FIND(hh, p->waiting, &key, sizeof(key), w);
	if (!w)
		return;
	if (array_reserve(&p->copies, &p->cap, p->n + 1, sizeof(*p->copies))) {
		p->failed = true;
		return;
	}
	p->copies[p->n++] = (struct packet_copy){
		.utid = utid, .previous = p->last[utid], .ts = w->ts, .ns = ts - w->ts};
	p->last[utid] = (uint32_t)p->n;
	HASH_DEL(p->waiting, w);
	free(w);
}

static void store_end_of_receive(struct packets *p, int64_t family, uint32_t utid)
{
	bool counts = family == AF_INET || family == AF_INET6;

	for (uint32_t i = p->last[utid]; i; i = p->copies[i - 1].previous)
		p->copies[i - 1].counts = counts;
	p->last[utid] = 0;
}

static void read_packets(struct packets *p, const uint8_t *kinds)
{
	const struct store *s = p->in->s;
	const struct table *t = &s->tables[TABLE_FTRACE];
	uint32_t threads = s->tables[TABLE_THREAD].rows;
	size_t at = 0;

	for (uint32_t row = 0; row < t->rows && !p->failed; row++) {
		uint8_t event = kinds[table_u16(t, FTRACE_KIND, row)];
		uint32_t utid = table_u32(t, FTRACE_UTID, row);
		int64_t ts;

		if (event == PACKET_OTHER || utid >= threads ||
		    !pass_cpu_counts(p->in, table_u32(t, FTRACE_CPU, row)))
			continue;
		ts = table_next_ts(t, FTRACE_TS, row, &at);
		if (!event_reader_args(s, row, &p->list))
			p->failed = true;
		else if (event == PACKET_RECEIVED)
			handle_packet_received(p, (uint64_t)event_reader_int(&p->list, "skbaddr"),
					       ts);
		else if (event == PACKET_COPIED)
			handle_packet_copied(p, (uint64_t)event_reader_int(&p->list, "skbaddr"), ts,
					     utid);
		else
			store_end_of_receive(p, event_reader_int(&p->list, "family"), utid);
	}
}

static void add_packet_waits(const struct packets *p, const struct pass_who *who, struct groups *g)
{
	const struct pass_input *in = p->in;

	for (size_t i = 0; i < p->n; i++) {
		const struct packet_copy *c = &p->copies[i];
		int64_t end = c->ts + c->ns;

		if (c->counts && in->chosen[c->utid] && end >= in->from && end <= in->to)
			groups_add(g, &(struct group_sample){
					      .key = pass_find_who_at(who, c->utid, end),
					      .ns = c->ns,
					      .ts = c->ts});
	}
}

void pass_fill_packet_waits(const struct pass_input *in, struct pass_rows *ret)
{
	struct packets p = {.in = in};
	uint8_t *kinds =
		event_reader_kinds(in->s, packet_event_names, ARRAY_SIZE(packet_event_names));
	struct groups g = {.n = 0};
	struct pass_who who;
	bool good = pass_who_init(&who, in) && kinds;

	p.last = calloc((size_t)in->s->tables[TABLE_THREAD].rows + 1, sizeof(*p.last));
	good &= p.last != NULL;
	ret->texts = who.kind == WHO_PROGRAM ? 1 : 0;
	if (good)
		read_packets(&p, kinds);
	if (good)
		add_packet_waits(&p, &who, &g);
	if (good && groups_begin_fill(&g))
		add_packet_waits(&p, &who, &g);
	for (size_t i = 0; i < g.n && good; i++) {
		const struct group *e = &g.list[i];

		PASS_ROW(ret, pass_who_value(&who, (uint32_t)e->key), (int64_t)e->n,
			 (int64_t)e->total, groups_p50(&g, e), groups_p99(&g, e), e->longest,
			 e->longest_ts);
	}
	ret->failed |= !good || p.failed || g.failed;
	HASH_FREE(p.waiting);
	groups_deinit(&g);
	pass_who_deinit(&who);
	free(p.copies);
	free(p.last);
	free(p.list.args);
	free(kinds);
}
