/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each packet goes to the part of its time, with the incremental state that this part lacks: a part
 * that has not seen the sequence since its last clear gets all defaults and interned data since
 * then in the same packet; a part that has seen some of them gets the rest.
 *
 *	sequence 7:   clear a  |  b      c  |  d         a, b, c, d: packets with interned data
 *	part 1:       clear a  |
 *	part 2:                   clear a b    c
 *	part 3:                                   clear a b c d
 */
#include "analyze/cut/cut_parts.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/cut/cut_bundle.h"
#include "analyze/cut/cut_differences.h"
#include "analyze/cut/cut_overview.h"
#include "analyze/cut/cut_part.h"
#include "analyze/cut/cut_reader.h"
#include "base/core/hash_table.h"
#include "base/core/mem.h"
#include "base/text/str.h"
#include "gen/fields.h"

/* ---- what each part gets ---- */

/*
 * Messages that each part of a trace gets, in the order of the file: packets, and descriptions of
 * kernel events. For each part the caller remembers how many of them are written.
 */

#define CUT_STATE_MAX ((size_t)512 << 20) /* bytes */

struct cut_state_entry;

/* Zero-initialise; cut_state_deinit frees. */
struct cut_state {
	struct cut_state_entry *by_key; /* hash of entries */
	struct cut_state_entry **entries; /* owned, by number, in the order of the file */
	size_t n, cap, bytes;
};

struct cut_state_entry {
	UT_hash_handle hh;
	int64_t ts;
	size_t key_len, len;
	uint8_t bytes[]; /* the key, then the data */
};

static void cut_state_deinit(struct cut_state *s)
{
	HASH_CLEAR(hh, s->by_key);
	for (size_t i = 0; i < s->n; i++)
		free(s->entries[i]);
	free(s->entries);
	*s = (struct cut_state){0};
}

/* Adds a copy of data, unless an entry with this key has the same or an earlier time. An entry with
 * a later time stays. Returns 1 if data was added, 0 if it was not, -EFBIG (past CUT_STATE_MAX) or
 * -ENOMEM. */
static int cut_state_add(struct cut_state *s, int64_t ts, const void *key, size_t key_len,
			 const void *data, size_t len)
{
	struct cut_state_entry *e, *old;

	HASH_FIND(hh, s->by_key, key, key_len, old);
	if (old && old->ts <= ts)
		return 0;
	if (key_len + len > CUT_STATE_MAX - s->bytes)
		return -EFBIG;
	e = malloc(sizeof(*e) + key_len + len);
	if (!e || array_reserve(&s->entries, &s->cap, s->n + 1, sizeof(*s->entries))) {
		free(e);
		return -ENOMEM;
	}
	e->ts = ts;
	e->key_len = key_len;
	e->len = len;
	memcpy(e->bytes, key, key_len);
	memcpy(e->bytes + key_len, data, len);
	if (old)
		HASH_DEL(s->by_key, old);
	HASH_ADD_KEYPTR(hh, s->by_key, e->bytes, key_len, e);
	if (!e->hh.tbl) {
		free(e);
		return -ENOMEM;
	}
	s->entries[s->n++] = e;
	s->bytes += key_len + len;
	return 1;
}

/* Returns the data of entry i, which is below n; borrowed. */
static const void *cut_state_get(const struct cut_state *s, size_t i, size_t *ret_len)
{
	*ret_len = s->entries[i]->len;
	return s->entries[i]->bytes + s->entries[i]->key_len;
}

/* ---- a packet of a part ---- */

/* How a packet of a part differs from the packet of the trace. */
struct cut_changes {
	uint32_t payload_field; /* replaced by payload; 0: it is not */
	const struct strbuf *payload;
	bool follows; /* leaves out marks of a gap: another packet, or another part, has them */
	bool stateless; /* leaves out the incremental state, which the payload does not need */
	bool strips_state; /* replaces the fields of the incremental state by the next four: */
	bool clears; /* PACKET_STATE_CLEARED */
	const struct strbuf *defaults; /* NULL: none */
	const struct cut_sequence *interned; /* its interned data; NULL: none */
	size_t interned_from; /* the first byte of it */
	bool adds_gap; /* adds previous_packet_dropped */
};

static bool is_field_replaced(const struct cut_changes *w, const struct cut_packet *c,
			      uint32_t field)
{
	switch (field) {
	case PB_TRACE_PACKET_INTERNED_DATA:
	case PB_TRACE_PACKET_TRACE_PACKET_DEFAULTS:
	case PB_TRACE_PACKET_SEQUENCE_FLAGS:
	case PB_TRACE_PACKET_INCREMENTAL_STATE_CLEARED:
		return w->strips_state || w->stateless;
	case PB_TRACE_PACKET_PREVIOUS_PACKET_DROPPED:
	case PB_TRACE_PACKET_PACKETS_DROPPED:
	case PB_TRACE_PACKET_FIRST_PACKET_ON_SEQUENCE:
		return w->follows;
	case PB_TRACE_PACKET_TIMESTAMP:
	case PB_TRACE_PACKET_TIMESTAMP_CLOCK_ID:
		return c->converted;
	}
	return field == w->payload_field;
}

/* Appends the fields of the incremental state, and of a gap that w adds. */
static void cut_changes_add_state(struct strbuf *out, const struct cut_packet *c,
				  const struct cut_changes *w)
{
	uint32_t flags = (w->clears ? PACKET_STATE_CLEARED : 0) |
			 (c->p.flags & ~(uint32_t)PACKET_STATE_CLEARED);

	if (flags)
		cut_put_number(out, PB_TRACE_PACKET_SEQUENCE_FLAGS, flags);
	if (w->defaults && w->defaults->len)
		cut_put_bytes(out, PB_TRACE_PACKET_TRACE_PACKET_DEFAULTS, w->defaults->s,
			      w->defaults->len);
	if (w->interned && w->interned->interned.len > w->interned_from)
		cut_put_bytes(out, PB_TRACE_PACKET_INTERNED_DATA,
			      w->interned->interned.s + w->interned_from,
			      w->interned->interned.len - w->interned_from);
	if (w->adds_gap)
		cut_put_number(out, PB_TRACE_PACKET_PREVIOUS_PACKET_DROPPED, 1);
}

/* Writes the changed packet to out, which is cleared first. Returns 0 or -ENOMEM. */
static int cut_changes_build(const struct cut_packet *c, const struct cut_changes *w,
			     struct strbuf *out)
{
	strbuf_clear(out);
	pb_for_each_raw (r, PB_BYTES(c->data, c->len))
		if (!is_field_replaced(w, c, r.f.id))
			strbuf_add(out, r.data, r.len);
	if (c->converted) {
		cut_put_number(out, PB_TRACE_PACKET_TIMESTAMP, (uint64_t)c->own_ts);
		cut_put_number(out, PB_TRACE_PACKET_TIMESTAMP_CLOCK_ID, c->m->clocks.trace);
	}
	if (w->strips_state || w->adds_gap)
		cut_changes_add_state(out, c, w);
	if (w->payload_field)
		cut_put_bytes(out, w->payload_field, w->payload->s, w->payload->len);
	return out->failed ? -ENOMEM : 0;
}

struct parts {
	struct cut_reader reader;
	struct cut_overview *overview;
	const struct cut_parts_config *config;
	struct cut_part_list all; /* owned, and each of them */
	struct cut_part_list touched; /* owned: those that have an event of a bundle */
	int touch_error;
	struct cut_state state; /* packets that all parts get */
	struct cut_state descriptors[CUT_MACHINES_MAX]; /* fields of bundles */
	struct strbuf last_snapshot; /* a packet; empty: none */
	struct strbuf out, payload; /* scratch */
};

static int write_bytes(struct parts *p, const struct cut_part *part, const struct strbuf *packet)
{
	return p->config->write(p->config->ctx, part->number, (const uint8_t *)packet->s,
				packet->len);
}

static int write_changed_packet(struct parts *p, const struct cut_part *part,
				const struct cut_packet *c, const struct cut_changes *w)
{
	int r = cut_changes_build(c, w, &p->out);

	return r < 0 ? r : write_bytes(p, part, &p->out);
}

/* ---- parts ---- */

/* Writes the packets that all parts get and this part lacks, then the last clock snapshot. All of
 * them precede the part's first packet. */
static int write_state(struct parts *p, struct cut_part *part)
{
	int r = 0;

	for (; r == 0 && part->n_state < p->state.n; part->n_state++) {
		size_t len;
		const void *packet = cut_state_get(&p->state, part->n_state, &len);

		r = p->config->write(p->config->ctx, part->number, packet, len);
	}
	return r == 0 && p->last_snapshot.len ? write_bytes(p, part, &p->last_snapshot) : r;
}

/* Sets *ret to the part that covers a time, and begins it if necessary; to NULL if no part covers
 * that time. Returns 0, -ENOMEM, or the error of a callback. */
static int cut_parts_find_or_begin_part(struct parts *p, int64_t ts, struct cut_part **ret)
{
	struct cut_part *part = cut_part_find(&p->all, ts);
	struct cut_range range;
	uint64_t number;
	int r;

	*ret = part;
	if (part || !p->config->range_of(p->config->ctx, ts, &range, &number))
		return 0;
	part = cut_part_new(&range, p->all.n);
	if (!part || cut_part_add(&p->all, part) < 0) {
		cut_part_free(part);
		return -ENOMEM;
	}
	*ret = part;
	r = p->config->open(p->config->ctx, number);
	return r < 0 ? r : write_state(p, part);
}

static size_t index_of_machine(const struct parts *p, const struct cut_machine *m)
{
	size_t i = 0;

	while (p->reader.machines[i] != m)
		i++;
	return i;
}

/* Makes w add the incremental state that the part lacks, and records that the part has it. Returns
 * 0 or -ENOMEM. */
static int add_missing_state(struct cut_part *part, const struct cut_packet *c,
			     struct cut_changes *w)
{
	struct cut_sequence *s = c->seq;
	struct cut_view *v = cut_part_view(part, s);

	if (!v)
		return -ENOMEM;
	if (!s->valid) {
		/* The packet with the mark of the gap is in another part, or in none. */
		w->adds_gap = v->valid && (w->follows || !c->p.dropped);
		v->valid = false;
		return 0;
	}
	w->strips_state = true;
	w->clears = !v->valid || v->generation != s->generation;
	if (w->clears || v->defaults_version != s->defaults_version)
		w->defaults = &s->defaults;
	w->interned = s;
	w->interned_from = w->clears ? 0 : v->interned;
	if (w->clears)
		cut_sums_clear(&v->sums);
	v->generation = s->generation;
	v->defaults_version = s->defaults_version;
	v->interned = s->interned.len;
	v->valid = true;
	return 0;
}

/* Readers forget the thread of a sequence at a clear. So the clear is written in a packet of its
 * own, followed by one with the thread descriptor. w then adds no more state. */
static int write_clear_and_thread(struct parts *p, struct cut_part *part,
				  const struct cut_packet *c, struct cut_changes *w)
{
	const struct cut_sequence *s = c->seq;
	struct strbuf *out = &p->out;
	int r;

	for (int packet = 0; packet < 2; packet++) {
		strbuf_clear(out);
		cut_put_number(out, PB_TRACE_PACKET_TRUSTED_PACKET_SEQUENCE_ID, c->p.sequence);
		if (c->p.machine)
			cut_put_number(out, PB_TRACE_PACKET_MACHINE_ID, c->p.machine);
		if (packet == 0)
			cut_changes_add_state(out, &(struct cut_packet){.seq = c->seq}, w);
		else
			strbuf_add(out, s->thread.s, s->thread.len);
		if (out->failed)
			return -ENOMEM;
		r = write_bytes(p, part, out);
		if (r < 0)
			return r;
	}
	w->clears = false;
	w->defaults = NULL;
	w->interned_from = s->interned.len;
	return 0;
}

static bool can_copy_packet(const struct cut_packet *c, const struct cut_changes *w)
{
	return !c->converted && !w->payload_field && !w->follows && !w->adds_gap &&
	       (!w->strips_state || (!w->clears && !w->defaults && !c->p.defaults.data &&
				     !c->p.interned.data && !(c->p.flags & PACKET_STATE_CLEARED) &&
				     w->interned->interned.len == w->interned_from));
}

/* Makes w replace the event if some of its values are differences from events that the part
 * lacks. */
static int add_absolute_values(struct parts *p, struct cut_part *part, const struct cut_packet *c,
			       struct cut_changes *w)
{
	struct cut_view *v = cut_part_view(part, c->seq);
	int r = v ? 0 : -ENOMEM;

	strbuf_clear(&p->payload);
	if (v)
		r = cut_differences_build(&c->p.payload, &c->differences, &v->sums, &p->payload);
	if (r > 0) {
		w->payload_field = PB_TRACE_PACKET_TRACK_EVENT;
		w->payload = &p->payload;
	}
	return MIN(r, 0);
}

static int cut_parts_write_event(struct parts *p, struct cut_part *part, const struct cut_packet *c,
				 struct cut_changes *w)
{
	int r = c->seq ? add_missing_state(part, c, w) : 0;

	if (r == 0 && w->clears && c->seq->thread.len)
		r = write_clear_and_thread(p, part, c, w);
	if (r == 0 && c->seq && c->differences.any)
		r = add_absolute_values(p, part, c, w);
	if (r < 0)
		return r;
	if (can_copy_packet(c, w))
		return p->config->write(p->config->ctx, part->number, c->data, c->len);
	return write_changed_packet(p, part, c, w);
}

/* ---- what all parts have ---- */

/* Packets with the same machine, sequence and payload (and time, cut_has_own_time()) are equal. */
static int make_key_of_state_packet(const struct cut_packet *c, const struct pb_field *payload,
				    struct strbuf *ret)
{
	uint64_t head[] = {c->p.machine, c->p.sequence, payload->id,
			   cut_has_own_time(c->p.payload.id) ? c->p.timestamp : 0};

	strbuf_clear(ret);
	strbuf_add(ret, head, sizeof(head));
	strbuf_add(ret, payload->data, payload->len);
	return ret->failed ? -ENOMEM : 0;
}

/* Adds a packet to the state and, if it is new there, to the parts so far that end at `from` or
 * later. */
static int add_state_to_parts(struct parts *p, const struct cut_packet *c,
			      const struct pb_field *key_of, const struct cut_changes *w,
			      int64_t from)
{
	struct strbuf key = {0};
	int r = make_key_of_state_packet(c, key_of, &key);

	if (r == 0)
		r = cut_changes_build(c, w, &p->out);
	if (r == 0)
		r = cut_state_add(&p->state, c->ts, key.s, key.len, p->out.s, p->out.len);
	strbuf_deinit(&key);
	for (size_t i = cut_part_list_find_first(&p->all, from); r > 0 && i < p->all.n; i++) {
		int written = write_bytes(p, p->all.of[i], &p->out);

		if (written < 0)
			r = written;
	}
	return MIN(r, 0);
}

static int cut_parts_on_state(struct parts *p, const struct cut_packet *c)
{
	const struct cut_changes w = {.stateless = true, .follows = true};

	return add_state_to_parts(p, c, &c->p.payload, &w, INT64_MIN);
}

/* linux.process_stats reads /proc a while after the first event of a process. */
#define NAMES_COME_LATE_NS INT64_C(10000000000)

/* Each process and thread is an entry of its own, as a later tree may repeat some of them. The
 * parts after the tree get such an entry, and so do those that end less than NAMES_COME_LATE_NS
 * before the tree. */
static int write_process_tree(struct parts *p, const struct cut_packet *c)
{
	const uint8_t *at = c->p.payload.data;
	struct pb_field f;
	struct pb_dec d;
	int64_t from;
	int r = 0;

	if (__builtin_sub_overflow(c->ts, NAMES_COME_LATE_NS, &from))
		from = INT64_MIN;
	pb_dec_init(&d, c->p.payload.data, c->p.payload.len);
	while (r == 0 && pb_dec_next(&d, &f)) {
		struct strbuf entry = {0};
		const struct cut_changes w = {
			.stateless = true,
			.follows = true,
			.payload_field = PB_TRACE_PACKET_PROCESS_TREE,
			.payload = &entry,
		};

		strbuf_add(&entry, at, (size_t)(d.cur - at));
		at = d.cur;
		if (f.data)
			r = entry.failed ? -ENOMEM : add_state_to_parts(p, c, &f, &w, from);
		strbuf_deinit(&entry);
	}
	return r;
}

/* Writes a snapshot of the clocks into the part of its time. The first snapshot goes to all parts
 * instead: it decides which clock is the trace's. */
static int write_snapshot(struct parts *p, const struct cut_packet *c)
{
	const struct cut_changes w = {.stateless = true, .follows = true};
	struct cut_part *part = NULL;
	int r;

	if (!p->last_snapshot.len)
		r = cut_parts_on_state(p, c);
	else
		r = cut_parts_find_or_begin_part(p, c->ts, &part);
	if (r == 0 && part)
		r = write_changed_packet(p, part, c, &w);
	if (r == 0)
		r = cut_changes_build(c, &w, &p->last_snapshot);
	return r;
}

/* ---- kernel events ---- */

static int store_descriptor(void *ctx, const uint8_t *field, size_t len)
{
	return cut_state_add(ctx, 0, field, len, field, len);
}

static int add_descriptors(struct parts *p, struct cut_part *part, const struct cut_machine *m,
			   struct strbuf *payload)
{
	size_t i = index_of_machine(p, m), len;

	for (; part->n_descriptors[i] < p->descriptors[i].n; part->n_descriptors[i]++) {
		const void *field = cut_state_get(&p->descriptors[i], part->n_descriptors[i], &len);

		strbuf_add(payload, field, len);
	}
	return payload->failed ? -ENOMEM : 0;
}

/* Returns the previous_bundle_end_timestamp of a piece. The first bundle of a CPU in a part has the
 * time from which all CPUs of the trace have data; a later one has the end of the previous
 * bundle. */
static uint64_t find_previous_bundle_end(const struct parts *p, const struct cut_bundle *b,
					 const struct cut_cpu_view *cpu, bool leads)
{
	const struct cut_machine *known =
		cut_reader_machine(&p->overview->reader, b->packet->m->id);

	if (!cpu->had_bundle)
		return known && !b->rewrites ? known->first_data : 0;
	if (leads && b->has_previous_end && !b->rewrites)
		return (uint64_t)b->previous_end;
	return cpu->last;
}

/* Writes a piece into a part, and updates what the part has of the CPU. Returns 0, -ENOMEM, or the
 * error of a callback. */
static int write_piece(struct parts *p, const struct cut_bundle *b, struct cut_part *part,
		       struct cut_piece *piece)
{
	struct cut_cpu_view *cpu = cut_part_cpu(part, index_of_machine(p, b->packet->m), b->cpu);
	struct cut_changes w = {
		.payload_field = PB_TRACE_PACKET_FTRACE_EVENTS,
		.payload = &p->payload,
		.follows = !piece->leads,
	};
	int r;

	if (!cpu)
		return -ENOMEM;
	piece->seeded = cpu->had_columns;
	piece->previous_end = find_previous_bundle_end(p, b, cpu, piece->leads);
	strbuf_clear(&p->payload);
	r = cut_bundle_write_piece(b, piece, &p->payload);
	if (r == 0)
		r = add_descriptors(p, part, b->packet->m, &p->payload);
	if (r == 0)
		r = cut_parts_write_event(p, part, b->packet, &w);
	cpu->had_bundle = true;
	cpu->had_columns |= piece->has_columns;
	cpu->last = MAX(cpu->last, piece->written_last);
	return r;
}

/* Adds the part that contains the time of an event to p->touched. */
static void add_touched_part(void *ctx, int64_t ts)
{
	struct parts *p = ctx;
	struct cut_part *part;

	if (p->touch_error || cut_part_find(&p->touched, ts))
		return;
	p->touch_error = cut_parts_find_or_begin_part(p, ts, &part);
	if (!p->touch_error && part)
		p->touch_error = cut_part_add(&p->touched, part);
}

/* Writes a piece of the bundle to each part that has an event of it. */
static int write_pieces(struct parts *p, const struct cut_bundle *b)
{
	bool leads;
	int r;

	p->touched.n = 0;
	p->touch_error = 0;
	cut_bundle_each_time(b, add_touched_part, p);
	r = p->touch_error;
	/* If the bundle begins outside of the parts, so do the losses before it. */
	leads = p->touched.n && b->first >= p->touched.of[0]->range.first;
	for (size_t i = 0; r == 0 && i < p->touched.n; i++) {
		const struct cut_range *range = &p->touched.of[i]->range;
		struct cut_piece piece = {
			.first = range->first,
			.last = range->last,
			.lost_first = i	      ? p->touched.of[i - 1]->range.last + 1
				      : leads ? INT64_MIN
					      : range->first,
			.lost_last = b->last <= range->last ? INT64_MAX : range->last,
			.leads = leads && i == 0,
		};

		r = write_piece(p, b, p->touched.of[i], &piece);
	}
	return r;
}

/* Writes a bundle that has no events (only marks of losses) or no CPU to one part: that of its
 * first event, or else of its packet's time. */
static int write_bundle_whole(struct parts *p, const struct cut_bundle *b)
{
	struct cut_piece piece = {
		.first = INT64_MIN,
		.last = INT64_MAX,
		.lost_first = INT64_MIN,
		.lost_last = INT64_MAX,
		.leads = true,
	};
	struct cut_part *part;
	int r = cut_parts_find_or_begin_part(p, b->any ? b->first : b->packet->ts, &part);

	if (r < 0 || !part)
		return r;
	return b->state ? write_piece(p, b, part, &piece)
			: cut_parts_write_event(p, part, b->packet, &(struct cut_changes){0});
}

/* Writes a bundle to the parts of its events. Events outside of all parts are dropped. */
static int write_bundle(struct parts *p, const struct cut_packet *c)
{
	struct cut_bundle b;
	int r = 0;

	cut_bundle_read(&p->reader, c, &b);
	if (b.any)
		c->m->latest = MAX(c->m->latest, b.first);
	if (b.has_descriptors)
		r = cut_bundle_each_descriptor(&b, store_descriptor,
					       &p->descriptors[index_of_machine(p, c->m)]);
	if (r < 0)
		return r;
	r = b.any && b.state ? write_pieces(p, &b) : write_bundle_whole(p, &b);
	cut_bundle_keep_last_switch(&b);
	return r;
}

/* ---- all packets ---- */

/* Appends the machine, sequence and time of a packet of the sequence of c. ts: in the service's
 * trace clock. Returns false if c has no time, or one of a clock that cannot be converted. */
static bool cut_parts_put_head(const struct cut_packet *c, int64_t ts, struct strbuf *out)
{
	uint32_t clock = c->p.has_clock ? c->p.clock : c->seq->default_clock;

	if (!c->p.has_timestamp || (clock && clock != c->m->clocks.trace && !c->converted))
		return false;
	if (c->p.machine)
		cut_put_number(out, PB_TRACE_PACKET_MACHINE_ID, c->p.machine);
	cut_put_number(out, PB_TRACE_PACKET_TRUSTED_PACKET_SEQUENCE_ID, c->p.sequence);
	cut_put_number(out, PB_TRACE_PACKET_TIMESTAMP, (uint64_t)(c->own_ts - (c->ts - ts)));
	if (clock)
		cut_put_number(out, PB_TRACE_PACKET_TIMESTAMP_CLOCK_ID, c->m->clocks.trace);
	return true;
}

/* Writes, after the first value of a counter in a part, the value that the counter had when the
 * part begins. Readers sort both by time. */
static int write_counter_values_before(struct parts *p, const struct cut_part *part,
				       const struct cut_packet *c)
{
	const struct cut_differences *d = &c->differences;
	int64_t from = part->range.first;
	int r = 0;

	for (size_t k = 0; r == 0 && c->ts > from && k < d->n_values; k++) {
		strbuf_clear(&p->out);
		strbuf_clear(&p->payload);
		if (!cut_value_put_before(&d->values[k], from, &p->payload) ||
		    !cut_parts_put_head(c, from, &p->out))
			continue;
		cut_put_bytes(&p->out, PB_TRACE_PACKET_TRACK_EVENT, p->payload.s, p->payload.len);
		if (p->out.failed || p->payload.failed)
			return -ENOMEM;
		r = write_bytes(p, part, &p->out);
	}
	return r;
}

static int write_event_to_part(struct parts *p, const struct cut_packet *c)
{
	struct cut_part *part;
	int r = cut_parts_find_or_begin_part(p, c->ts, &part);

	if (r == 0 && part)
		r = cut_parts_write_event(p, part, c, &(struct cut_changes){0});
	if (r == 0 && part)
		r = write_counter_values_before(p, part, c);
	cut_differences_keep_last_values(&c->differences, c->ts);
	return r;
}

static int cut_parts_on_packet(void *ctx, const struct cut_packet *c)
{
	enum cut_kind kind = cut_classify_packet(c);
	struct parts *p = ctx;
	int r = 0;

	if (kind == CUT_BUNDLE)
		return write_bundle(p, c);
	/* Readers drop a packet that lacks the state of its sequence, so it need not be in all
	 * parts. */
	if (kind == CUT_EVENT || (c->p.flags & PACKET_NEEDS_STATE && (!c->seq || !c->seq->valid)))
		return write_event_to_part(p, c);
	if (kind == CUT_STATE)
		r = cut_parts_on_state(p, c);
	else if (kind == CUT_PROCESS_TREE)
		r = write_process_tree(p, c);
	else if (kind == CUT_SNAPSHOT)
		r = write_snapshot(p, c);
	/* The part of its time also gets the mark of a gap, which means nothing on a first
	 * packet. */
	return r == 0 && c->p.dropped && c->seq && c->seq->packets > 1 ? write_event_to_part(p, c)
								       : r;
}

static void parts_deinit(struct parts *p)
{
	for (size_t i = 0; i < p->all.n; i++)
		cut_part_free(p->all.of[i]);
	free(p->all.of);
	free(p->touched.of);
	cut_state_deinit(&p->state);
	for (size_t m = 0; m < CUT_MACHINES_MAX; m++)
		cut_state_deinit(&p->descriptors[m]);
	strbuf_deinit(&p->last_snapshot);
	strbuf_deinit(&p->out);
	strbuf_deinit(&p->payload);
	cut_reader_deinit(&p->reader);
}

int cut_parts_write(struct cut_overview *o, const uint8_t *data, size_t len, bool mapped,
		    const struct cut_parts_config *config, struct cut_result *ret)
{
	struct parts *p = calloc(1, sizeof(*p));
	int r;

	if (!p)
		return -ENOMEM;
	p->overview = o;
	p->config = config;
	cut_reader_init(&p->reader);
	p->reader.on_packet = cut_parts_on_packet;
	p->reader.ctx = p;
	p->reader.whole = &o->reader;
	r = cut_reader_run(&p->reader, data, len, mapped);
	*ret = (struct cut_result){
		.cut_off = p->reader.cut_off,
		.undecodable = p->reader.undecodable,
		.not_unpacked = p->reader.not_unpacked,
	};
	parts_deinit(p);
	free(p);
	return r;
}
