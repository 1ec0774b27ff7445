/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/cut/cut_reader.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "analyze/cut/cut_differences.h"
#include "analyze/store/table_defs.h"
#include "base/core/mem.h"
#include "gen/fields.h"

#define PROTOVMS                                                                                   \
	125 /* TracePacket.protovms: programs (ProtoVM) with a state, which later packets patch */

void cut_reader_init(struct cut_reader *r)
{
	*r = (struct cut_reader){0};
	store_init(&r->store, UINT64_C(1) << 30);
}

void cut_reader_deinit(struct cut_reader *r)
{
	struct cut_sequence *s, *next;

	HASH_ITER (hh, r->sequences, s, next) {
		HASH_DEL(r->sequences, s);
		strbuf_deinit(&s->defaults);
		strbuf_deinit(&s->interned);
		strbuf_deinit(&s->thread);
		cut_sums_clear(&s->sums);
		free(s);
	}
	for (size_t i = 0; i < r->n_machines; i++) {
		clocks_deinit(&r->machines[i]->clocks);
		cut_counters_deinit(&r->machines[i]->counters);
		free(r->machines[i]->cpus);
		free(r->machines[i]);
	}
	strbuf_deinit(&r->unpacked);
	store_deinit(&r->store);
}

/* ---- machines and sequences ---- */

struct cut_machine *cut_reader_machine(struct cut_reader *r, uint32_t id)
{
	struct cut_machine *m;

	for (size_t i = 0; i < r->n_machines; i++)
		if (r->machines[i]->id == id)
			return r->machines[i];
	if (r->n_machines == CUT_MACHINES_MAX)
		return NULL;
	m = calloc(1, sizeof(*m));
	if (!m)
		return NULL;
	m->id = id;
	m->latest = INT64_MIN;
	clocks_init(&m->clocks, &r->store);
	for (size_t i = 0; i < r->n_machines; i++)
		if (!r->machines[i]->id) {
			m->clocks.trace = r->machines[i]->clocks.trace;
			m->clocks.is_default = r->machines[i]->clocks.is_default;
		}
	return r->machines[r->n_machines++] = m;
}

struct cut_cpu *cut_machine_cpu(struct cut_machine *m, uint64_t cpu)
{
	if (cpu >= CUT_CPUS_MAX)
		return NULL;
	if (cpu >= m->n_cpus) {
		if (array_reserve(&m->cpus, &m->cap_cpus, (size_t)cpu + 1, sizeof(*m->cpus))) {
			m->clocks.store->budget.error = -ENOMEM;
			return NULL;
		}
		memset(m->cpus + m->n_cpus, 0, ((size_t)cpu + 1 - m->n_cpus) * sizeof(*m->cpus));
		m->n_cpus = (size_t)cpu + 1;
	}
	return &m->cpus[cpu];
}

static struct cut_sequence *get_sequence(struct cut_reader *r, uint32_t machine, uint32_t id)
{
	uint64_t key = (uint64_t)machine << 32 | id;
	struct cut_sequence *s;

	HASH_FIND(hh, r->sequences, &key, sizeof(key), s);
	if (s || HASH_COUNT(r->sequences) >= CUT_SEQUENCES_MAX)
		return s;
	s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	s->key = key;
	s->number = HASH_COUNT(r->sequences);
	HASH_ADD(hh, r->sequences, key, sizeof(s->key), s);
	if (s->hh.tbl)
		return s;
	free(s);
	return NULL;
}

/* ---- the state of a sequence ---- */

static void clear_sequence_state(struct cut_sequence *s)
{
	s->generation++;
	s->defaults_version++;
	s->valid = true;
	s->default_clock = 0;
	strbuf_clear(&s->defaults);
	strbuf_clear(&s->interned);
	strbuf_clear(&s->thread);
	cut_sums_clear(&s->sums);
	s->times = (struct cut_times){.known = false};
}

static void set_sequence_defaults(struct cut_sequence *s, const struct pb_field *defaults)
{
	strbuf_clear(&s->defaults);
	strbuf_add(&s->defaults, defaults->data, defaults->len);
	s->defaults_version++;
	s->default_clock = 0;
	pb_read(defaults, PB_TO(PB_TRACE_PACKET_DEFAULTS_TIMESTAMP_CLOCK_ID, &s->default_clock));
}

/* Remembers the thread that a descriptor describes: later track events of the old form in this
 * sequence belong to it. */
static void set_thread_of_sequence(struct cut_sequence *s, const struct pb_field *payload)
{
	bool is_thread = payload->id == PB_TRACE_PACKET_THREAD_DESCRIPTOR;
	struct pb_field f;
	struct pb_dec d;

	pb_dec_init(&d, payload->data, payload->len);
	while (payload->id == PB_TRACE_PACKET_TRACK_DESCRIPTOR && pb_dec_next(&d, &f))
		is_thread |= f.id == PB_TRACK_DESCRIPTOR_THREAD && f.data;
	if (!is_thread)
		return;
	if (payload->id == PB_TRACE_PACKET_THREAD_DESCRIPTOR && s->valid)
		cut_times_read_descriptor(&s->times, payload);
	strbuf_clear(&s->thread);
	cut_put_bytes(&s->thread, payload->id, payload->data, payload->len);
}

static int update_state(struct cut_sequence *s, const struct packet *p)
{
	s->packets++;
	if (p->flags & PACKET_STATE_CLEARED)
		clear_sequence_state(s);
	else if (p->dropped)
		s->valid = false;
	if (p->defaults.data)
		set_sequence_defaults(s, &p->defaults);
	if (p->interned.data && s->valid) {
		if (s->interned.len + p->interned.len > CUT_INTERNED_MAX)
			return -EFBIG;
		strbuf_add(&s->interned, p->interned.data, p->interned.len);
	}
	set_thread_of_sequence(s, &p->payload);
	return s->interned.failed || s->defaults.failed || s->thread.failed ? -ENOMEM : 0;
}

/* ---- time ---- */

static void read_snapshot(struct cut_machine *m, struct cut_packet *c)
{
	struct clock_reading r[32];
	uint64_t primary = 0;
	size_t n = 0;

	pb_for_each (f, &c->p.payload) {
		if (f.id == PB_CLOCK_SNAPSHOT_CLOCKS && f.data && n < ARRAY_SIZE(r))
			r[n++] = clock_reading_read(&f, c->p.sequence);
		else if (f.id == PB_CLOCK_SNAPSHOT_PRIMARY_TRACE_CLOCK)
			primary = f.u64;
	}
	if (!m->has_snapshot && !m->clocks.has_trace && primary && primary < CLOCK_SEQUENCE_FIRST)
		m->clocks.trace = primary;
	m->clocks.is_default |= primary != 0;
	m->has_snapshot = true;
	clocks_add_snapshot(&m->clocks, r, n);
	for (size_t i = 0; i < n; i++)
		if (r[i].clock == m->clocks.trace)
			c->ts = clocks_to_service_time(&m->clocks, r[i].value);
}

bool cut_reader_convert(struct cut_reader *r, struct cut_machine *m, clock_key clock, int64_t ts,
			int64_t *ret)
{
	struct cut_machine *known;

	if (clocks_convert(&m->clocks, clock, ts, ret) == CLOCK_CONVERTED)
		return true;
	if (!r->whole)
		return false;
	known = cut_reader_machine(r->whole, m->id);
	return known && clocks_convert(&known->clocks, clock, ts, ret) == CLOCK_CONVERTED;
}

static int64_t find_latest_time(const struct cut_reader *r)
{
	int64_t latest = INT64_MIN;

	for (size_t i = 0; i < r->n_machines; i++)
		latest = MAX(latest, r->machines[i]->latest);
	return latest == INT64_MIN ? 0 : latest;
}

static bool has_clock_snapshot(const struct cut_machine *m)
{
	return m->has_snapshot || m->clocks.n_snapshots;
}

/* Sets c->ts, and from the packet's timestamp also c->own_ts, c->converted and the latest time of
 * the machine. A packet without a time, or with the time of an unknown clock, gets the latest time
 * of the packets before it. */
static void set_packet_time(struct cut_reader *r, struct cut_packet *c)
{
	const struct packet *p = &c->p;
	uint32_t clock = p->has_clock ? p->clock : c->seq ? c->seq->default_clock : 0;

	c->ts = find_latest_time(r);
	if (c->differences.has_time) {
		int64_t ns;

		if (!__builtin_mul_overflow(c->differences.us, 1000, &ns) &&
		    cut_reader_convert(r, c->m, CLOCK_MONOTONIC_ID, ns, &ns))
			c->ts = clocks_to_service_time(&c->m->clocks, ns);
		return;
	}
	if (!p->has_timestamp)
		return;
	c->own_ts = (int64_t)p->timestamp;
	if (clock && clock != c->m->clocks.trace) {
		c->converted = cut_reader_convert(r, c->m, clock_make_key(clock, p->sequence),
						  (int64_t)p->timestamp, &c->own_ts) &&
			       has_clock_snapshot(c->m);
		if (!c->converted)
			return;
	}
	c->ts = clock || c->m->clocks.is_default ? clocks_to_service_time(&c->m->clocks, c->own_ts)
						 : c->own_ts;
	if (p->payload.id != PB_TRACE_PACKET_FTRACE_EVENTS)
		c->m->latest = MAX(c->m->latest, c->ts);
}

/* ---- packets ---- */

/* Reads the counter of a track descriptor, or the differences in a track event. Skips an event if
 * the state that it needs is missing, because readers drop such events. Returns 0 or -ENOMEM. */
static int read_differences(struct cut_packet *c)
{
	const struct packet *p = &c->p;
	struct cut_values_of of;

	c->differences.any = c->differences.has_time = false;
	if (p->payload.id == PB_TRACE_PACKET_TRACK_DESCRIPTOR)
		return cut_counters_read_descriptor(&c->m->counters, &p->payload);
	if (p->payload.id != PB_TRACE_PACKET_TRACK_EVENT || !c->seq ||
	    (p->flags & PACKET_NEEDS_STATE && !c->seq->valid))
		return 0;
	of = (struct cut_values_of){
		.counters = &c->m->counters,
		.defaults = &c->seq->defaults,
		.times = &c->seq->times,
		.sums = &c->seq->sums,
	};
	return cut_differences_read(&p->payload, &of, &c->differences);
}

static bool is_any_payload_selected(uint32_t field)
{
	return true;
}

static int cut_reader_read_all(struct cut_reader *r, const uint8_t *data, size_t len, bool mapped);

static int read_compressed(struct cut_reader *r, const struct pb_field *f)
{
	int result = r->unpacking ? -EBADMSG : packets_unpack(f->id, f->data, f->len, &r->unpacked);
	bool cut_off;

	if (result == -ENOMEM)
		return result;
	if (result < 0) {
		r->not_unpacked++;
		return 0;
	}
	cut_off = result > 0;
	r->unpacking = true;
	result = cut_reader_read_all(r, (const uint8_t *)r->unpacked.s, r->unpacked.len, false);
	r->unpacking = false;
	r->not_unpacked += cut_off || result == -EBADMSG;
	return result == -EBADMSG ? 0 : result;
}

static int read_packet(struct cut_reader *r, const uint8_t *data, size_t len)
{
	struct cut_packet c = {.data = data, .len = len};
	int result = 0;

	if (!packet_read(&c.p, data, len, is_any_payload_selected)) {
		r->undecodable++;
		return 0;
	}
	if (c.p.payload.id == PB_TRACE_PACKET_COMPRESSED_PACKETS ||
	    c.p.payload.id == PB_TRACE_PACKET_ZSTD_COMPRESSED_PACKETS)
		return read_compressed(r, &c.p.payload);
	c.m = cut_reader_machine(r, c.p.machine);
	if (c.m && c.p.sequence)
		c.seq = get_sequence(r, c.p.machine, c.p.sequence);
	if (!c.m || (c.p.sequence && !c.seq))
		return -EFBIG;
	if (c.seq)
		result = update_state(c.seq, &c.p);
	r->packets++;
	r->programs |= c.p.payload.id == PROTOVMS;
	if (result == 0)
		result = read_differences(&c);
	set_packet_time(r, &c);
	if (c.p.payload.id == PB_TRACE_PACKET_CLOCK_SNAPSHOT)
		read_snapshot(c.m, &c);
	else if (c.p.payload.id == PB_TRACE_PACKET_REMOTE_CLOCK_SYNC && c.m->id)
		clocks_read_remote_sync(&c.m->clocks, &c.p.payload);
	if (result == 0)
		result = r->store.budget.error;
	if (result == 0)
		result = r->on_packet(r->ctx, &c);
	return result < 0 ? result : r->store.budget.error;
}

#define GIVE_BACK_BYTES ((size_t)16 << 20)

/* Releases the whole pages from `from` on, which otherwise count as memory of the process. Returns
 * where the rest begins. */
static const uint8_t *release_pages(const uint8_t *from, const uint8_t *to)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t bytes = (size_t)(to - from) / page * page;

	madvise((void *)from, bytes, MADV_DONTNEED);
	return from + bytes;
}

static int cut_reader_read_all(struct cut_reader *r, const uint8_t *data, size_t len, bool mapped)
{
	const uint8_t *behind = data;
	struct pb_field f;
	struct pb_dec d;
	int result = 0;

	pb_dec_init(&d, data, len);
	while (result == 0 && pb_dec_next(&d, &f)) {
		if (f.id == PB_TRACE_PACKET && f.data)
			result = read_packet(r, f.data, f.len);
		else if (!r->unpacking && f.data == NULL && d.cur - data < 32)
			return -EBADMSG;
		if (mapped && (size_t)(d.cur - behind) >= GIVE_BACK_BYTES)
			behind = release_pages(behind, d.cur);
	}
	return result < 0 ? result : pb_dec_ok(&d) ? 0 : -EBADMSG;
}

int cut_reader_run(struct cut_reader *r, const uint8_t *data, size_t len, bool mapped)
{
	int result =
		len && data[0] == (PB_TRACE_PACKET << 3 | 2) && !packets_are_text(data, len, len)
			? cut_reader_read_all(r, data, len, mapped)
			: -EBADMSG;

	/* A truncated trace is valid up to its end. */
	if (result == -EBADMSG && r->packets) {
		r->cut_off = true;
		return 0;
	}
	return result;
}
