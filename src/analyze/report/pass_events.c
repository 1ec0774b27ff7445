/* SPDX-License-Identifier: Apache-2.0 */
/*
 * events_by: kernel events with the same values of some of their arguments, counted, and with the
 * addresses of their connection.
 */
#include "analyze/report/pass.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/report/connections.h"
#include "analyze/store/arg_sets.h"
#include "analyze/store/event_args.h"
#include "analyze/store/strings.h"

#define EVENTS_MAX 4
#define KEYS_MAX 3
#define SUM KEYS_MAX
#define FIELDS_MAX 4 /* keys, and the field that is summed */

/* The events and arguments of one value of the argument "by". */
struct subject {
	const char *name;
	const char *events[EVENTS_MAX];
	const char *keys[KEYS_MAX];
	const char *sum; /* NULL: none */
	bool of_threads; /* of the chosen threads only; a group for each thread */
	bool of_connections; /* a group for each connection */
};

static const struct subject subjects[] = {
	{.name = "packets",
	 .events = {"net_dev_xmit", "netif_receive_skb"},
	 .keys = {"name", "rc"},
	 .sum = "len",
	 .of_threads = true},
	{.name = "drops",
	 .events = {"kfree_skb"},
	 .keys = {"location", "protocol", "reason"},
	 .of_connections = true},
	{.name = "tcp",
	 .events = {"tcp_retransmit_skb", "tcp_retransmit_synack", "tcp_send_reset",
		    "tcp_receive_reset"},
	 .keys = {"state", "reason", "err"},
	 .of_connections = true},
	{.name = "traffic",
	 .events = {"sock_send_length", "sock_recv_length"},
	 .keys = {"family", "protocol", "flags"},
	 .sum = "ret",
	 .of_threads = true,
	 .of_connections = true},
	{.name = "pages",
	 .events = {"mm_filemap_add_to_page_cache", "mm_filemap_delete_from_page_cache"},
	 .keys = {"s_dev", "i_ino", "order"},
	 .of_threads = true},
	{.name = "writeback",
	 .events = {"writeback_single_inode"},
	 .keys = {"cgroup_ino"},
	 .sum = "wrote"},
	{.name = "sockets", .events = {"inet_sock_set_state"}, .keys = {"protocol", "newstate"}},
	{.name = "polls", .events = {"napi_poll"}, .keys = {"dev_name", "work", "budget"}},
};

/* What is known of a kind of event (FTRACE_KIND). */
struct kind {
	bool known, counts;
	bool shows_socket; /* see connections.h */
	bool listed; /* its arguments cannot be read by number */
	uint8_t event; /* of subject.events */
	struct field {
		uint32_t number; /* 0: the event has none */
		bool is_text;
	} fields[FIELDS_MAX];
};

/* An argument of an event. */
struct field_value {
	enum { NONE, INT, TEXT } type;
	int64_t i;
	const char *s;
	size_t len;
};

/* Gives each value of a key a number; equal values have the same one. */
struct numbering {
	struct groups ints;
	struct budget budget;
	struct strings texts;
	struct {
		struct field_value value; /* its text is borrowed from the trace */
		uint32_t number;
	} last[EVENTS_MAX]; /* of each event: the next one often has the same value */
};

struct events {
	const struct pass_input *in;
	const struct subject *subject;
	const char *names[FIELDS_MAX];
	struct kind *kinds; /* owned; by FTRACE_KIND */
	struct arg_list list; /* owned */
	struct numbering numberings[KEYS_MAX];
	/* pairs, triples: groups by keys; threads: by triple and thread; peers: by these and
	 * connection. */
	struct groups pairs, triples, threads, peers;
	struct connections connections;
	struct groups g;
	struct event_group {
		uint32_t first; /* row of ftrace_event */
		uint64_t n;
		int64_t first_ts, last_ts;
		uint64_t n_sum, sum; /* of the values of subject.sum that are not negative */
		uint64_t failed; /* how many were negative */
		uint32_t connection; /* NULL_U32: not known */
	} * groups; /* owned; by number in g */
	size_t cap;
	struct {
		uint32_t numbers[KEYS_MAX], utid, connection;
		size_t group; /* its number + 1; 0: none */
	} last[EVENTS_MAX]; /* of each event */
	bool failed;
};

/* ---- arguments ---- */

/* Returns the kind of a row's event. Its properties are found at its first use. */
static struct kind *pass_events_get_kind(struct events *e, uint32_t row)
{
	uint16_t number = table_u16(&e->in->s->tables[TABLE_FTRACE], FTRACE_KIND, row);
	struct kind *k = &e->kinds[number];
	struct value name = {.kind = VALUE_NULL};

	if (k->known)
		return k;
	k->known = true;
	event_args_name(e->in->s, row, &name);
	for (uint8_t i = 0; i < EVENTS_MAX && name.kind == VALUE_TEXT; i++)
		if (e->subject->events[i] && strlen(e->subject->events[i]) == name.len &&
		    !memcmp(e->subject->events[i], name.s, name.len)) {
			k->counts = true;
			k->event = i;
		}
	k->shows_socket = e->subject->of_connections && name.kind == VALUE_TEXT &&
			  connections_has_event(name.s, name.len);
	k->listed = number >= GENERIC_KINDS;
	for (size_t i = 0; k->counts && i < FIELDS_MAX; i++)
		if (e->names[i] && !k->listed)
			k->listed =
				!event_args_find_field(number, e->names[i], &k->fields[i].number,
						       &k->fields[i].is_text) ||
				(!k->fields[i].number &&
				 event_args_has_description(e->in->s, number, e->names[i]));
	return k;
}

static void pass_events_read_message(const struct events *e, const struct kind *k, uint32_t row,
				     struct field_value values[static FIELDS_MAX])
{
	struct pb_dec d = event_args_message(e->in->s, row);
	struct pb_field f;

	while (pb_dec_next(&d, &f))
		for (size_t i = 0; i < FIELDS_MAX; i++)
			if (f.id == k->fields[i].number && k->fields[i].is_text == !!f.data)
				values[i] =
					(struct field_value){f.data ? TEXT : INT, (int64_t)f.u64,
							     (const char *)f.data, f.len};
}

static void pass_events_read_list(struct events *e, uint32_t row,
				  struct field_value values[static FIELDS_MAX])
{
	if (arg_sets_list(e->in->s, event_args_set_id(e->in->s, row), &e->list) < 0)
		e->failed = true;
	for (size_t n = 0; n < e->list.n; n++) {
		const struct arg *a = &e->list.args[n];

		for (size_t i = 0; i < FIELDS_MAX; i++)
			if (!e->names[i] || strlen(e->names[i]) != a->key_len ||
			    memcmp(e->names[i], a->key, a->key_len) != 0)
				continue;
			else if (a->type == ARG_STRING)
				values[i] = (struct field_value){TEXT, 0, a->s, a->len};
			else if (a->type == ARG_INT || a->type == ARG_UINT)
				values[i] = (struct field_value){INT, a->i, NULL, 0};
	}
}

static void read_field_values(struct events *e, const struct kind *k, uint32_t row,
			      struct field_value values[static FIELDS_MAX])
{
	uint64_t payload =
		(uint64_t)table_i64(&e->in->s->tables[TABLE_FTRACE], FTRACE_PAYLOAD, row);

	memset(values, 0, FIELDS_MAX * sizeof(*values));
	if (k->listed || (payload & PAYLOAD_KIND) != PAYLOAD_RAW)
		pass_events_read_list(e, row, values);
	else
		pass_events_read_message(e, k, row, values);
}

/* ---- groups ---- */

/* Returns the number of a key: keys are numbered from 0 in the order of their first use. */
static uint32_t pass_events_number_key(struct events *e, struct groups *g, uint64_t key)
{
	const struct group *found = groups_add(g, &(struct group_sample){.key = key});

	e->failed |= !found;
	return found ? (uint32_t)(found - g->list) : 0;
}

static bool field_values_are_equal(const struct field_value *a, const struct field_value *b)
{
	return a->type == b->type && a->i == b->i && a->len == b->len &&
	       (a->type != TEXT || !a->len || !memcmp(a->s, b->s, a->len));
}

/* Returns the number of a value: equal values have the same one; 0: no value. */
static uint32_t number_field_value(struct events *e, struct numbering *n, uint8_t event,
				   const struct field_value *v)
{
	uint32_t number = 0;

	if (field_values_are_equal(v, &n->last[event].value))
		return n->last[event].number;
	if (v->type == INT)
		number = 2 * pass_events_number_key(e, &n->ints, (uint64_t)v->i) + 1;
	else if (v->type == TEXT)
		number = 2 * strings_intern(&n->texts, v->s, v->len) + 2;
	e->failed |= n->budget.error != 0;
	n->last[event].value = *v;
	n->last[event].number = number;
	return number;
}

/* Returns the group of an event, created if needed; NULL if out of memory. */
static struct event_group *pass_events_find_or_add_group(struct events *e, uint8_t event,
							 const uint32_t numbers[static KEYS_MAX],
							 uint32_t utid, uint32_t connection)
{
	size_t group = e->last[event].group;
	uint32_t n;

	if (group && !memcmp(e->last[event].numbers, numbers, sizeof(e->last[event].numbers)) &&
	    e->last[event].utid == utid && e->last[event].connection == connection)
		return &e->groups[group - 1];
	n = pass_events_number_key(e, &e->pairs, (uint64_t)numbers[0] << 32 | numbers[1]);
	n = pass_events_number_key(e, &e->triples, (uint64_t)n << 32 | numbers[2]);
	if (e->subject->of_threads)
		n = pass_events_number_key(e, &e->threads, (uint64_t)n << 32 | utid);
	if (e->subject->of_connections)
		n = pass_events_number_key(e, &e->peers, (uint64_t)n << 32 | connection);
	n = pass_events_number_key(e, &e->g, (uint64_t)n << 8 | event);
	if (array_reserve(&e->groups, &e->cap, (size_t)n + 1, sizeof(*e->groups)))
		e->failed = true;
	if (e->failed)
		return NULL;
	memcpy(e->last[event].numbers, numbers, sizeof(e->last[event].numbers));
	e->last[event].utid = utid;
	e->last[event].connection = connection;
	e->last[event].group = (size_t)n + 1;
	if (e->g.list[n].n == 1)
		e->groups[n] = (struct event_group){.n = 0};
	return &e->groups[n];
}

static void pass_events_add_event(struct events *e, const struct kind *k, uint32_t row, int64_t ts,
				  uint32_t utid, uint32_t connection)
{
	struct field_value values[FIELDS_MAX];
	uint32_t numbers[KEYS_MAX];
	struct event_group *g;

	read_field_values(e, k, row, values);
	for (size_t i = 0; i < KEYS_MAX; i++)
		numbers[i] = number_field_value(e, &e->numberings[i], k->event, &values[i]);
	g = pass_events_find_or_add_group(e, k->event, numbers, utid, connection);
	if (!g)
		return;
	if (!g->n++)
		*g = (struct event_group){.first = row,
					  .n = 1,
					  .first_ts = ts,
					  .last_ts = ts,
					  .connection = connection};
	g->first_ts = MIN(g->first_ts, ts);
	g->last_ts = MAX(g->last_ts, ts);
	if (values[SUM].type == INT && values[SUM].i < 0)
		g->failed++;
	else if (values[SUM].type == INT) {
		g->n_sum++;
		g->sum += (uint64_t)values[SUM].i;
	}
}

static void pass_events_add_events(struct events *e)
{
	const struct pass_input *in = e->in;
	const struct table *t = &in->s->tables[TABLE_FTRACE];
	uint32_t threads = in->s->tables[TABLE_THREAD].rows;
	size_t at = 0;

	for (uint32_t row = 0; row < t->rows && !e->failed; row++) {
		const struct kind *k = pass_events_get_kind(e, row);
		uint32_t utid = table_u32(t, FTRACE_UTID, row), connection = NULL_U32;
		int64_t ts;

		if (k->shows_socket)
			connection = connections_read(&e->connections, in->s, row);
		if (!k->counts || !pass_cpu_counts(in, table_u32(t, FTRACE_CPU, row)))
			continue;
		if (e->subject->of_threads && in->some && !(utid < threads && in->chosen[utid]))
			continue;
		ts = table_next_ts(t, FTRACE_TS, row, &at);
		if (ts >= in->from && ts <= in->to)
			pass_events_add_event(e, k, row, ts, utid, connection);
	}
	e->failed |= e->connections.failed;
}

/* ---- the pass ---- */

static bool events_init(struct events *e)
{
	for (size_t i = 0; i < ARRAY_SIZE(subjects); i++)
		if (!strcmp(subjects[i].name, e->in->by))
			e->subject = &subjects[i];
	if (!e->subject)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(e->numberings); i++) {
		e->names[i] = e->subject->keys[i];
		e->numberings[i].budget.limit = UINT64_MAX;
		strings_init(&e->numberings[i].texts, &e->numberings[i].budget);
	}
	e->names[SUM] = e->subject->sum;
	connections_init(&e->connections);
	e->kinds = calloc(UINT16_MAX + 1, sizeof(*e->kinds));
	e->failed = !e->kinds;
	return true;
}

static void events_deinit(struct events *e)
{
	for (size_t i = 0; i < ARRAY_SIZE(e->numberings); i++) {
		groups_deinit(&e->numberings[i].ints);
		strings_deinit(&e->numberings[i].texts);
	}
	groups_deinit(&e->pairs);
	groups_deinit(&e->triples);
	groups_deinit(&e->threads);
	groups_deinit(&e->peers);
	connections_deinit(&e->connections);
	groups_deinit(&e->g);
	free(e->groups);
	free(e->list.args);
	free(e->kinds);
}

/* Adds the peer's or the local address of a connection to ret's texts. Returns its cell; without a
 * connection NULL_I64. */
static int64_t put_address_cell(struct pass_rows *ret, const struct connections *c,
				uint32_t connection, bool of_peer)
{
	const char *text = strings_get(&c->texts, connection), *space;
	int64_t cell;

	if (connection == NULL_U32)
		return NULL_I64;
	space = strchr(text, ' ');
	cell = pass_text_id(ret);
	if (of_peer)
		strbuf_puts(&ret->own_texts, space + 1);
	else
		strbuf_add(&ret->own_texts, text, (size_t)(space - text));
	return cell;
}

void pass_fill_events(const struct pass_input *in, struct pass_rows *ret)
{
	struct events e = {.in = in};

	if (!events_init(&e))
		return;
	pass_events_add_events(&e);
	e.failed |= e.g.failed;
	for (size_t i = 0; i < e.g.n && !e.failed; i++) {
		const struct event_group *g = &e.groups[i];
		uint32_t utid = table_u32(&in->s->tables[TABLE_FTRACE], FTRACE_UTID, g->first);

		PASS_ROW(ret, g->first, e.subject->of_threads ? pass_id_value(utid) : NULL_I64,
			 (int64_t)g->n, g->n_sum ? (int64_t)g->sum : NULL_I64, g->first_ts,
			 g->last_ts, (int64_t)g->failed,
			 put_address_cell(ret, &e.connections, g->connection, false),
			 put_address_cell(ret, &e.connections, g->connection, true));
	}
	ret->failed |= e.failed;
	events_deinit(&e);
}
