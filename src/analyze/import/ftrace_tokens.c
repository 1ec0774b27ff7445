/* SPDX-License-Identifier: Apache-2.0 */
/* Puts the events of a bundle, which are of one CPU, into the queues of that CPU. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/import/cpus.h"
#include "analyze/import/generic_events.h"
#include "analyze/import/import_steps.h"
#include "base/core/mem.h"
#include "gen/fields.h"

/* Returns the queue of a CPU. Makes the queues of lower CPUs first, so that queues are in the order
 * of the CPUs. */
static uint32_t queue_of(struct import *im, struct machine *m, uint32_t cpu, enum queue_kind kind)
{
	for (size_t i = m->n_queues[kind]; i <= cpu; i++) {
		m->cpus[i].queues[kind] = event_queues_new(&im->queues, kind, m->row, (uint32_t)i);
		m->n_queues[kind] = i + 1;
	}
	return m->cpus[cpu].queues[kind];
}

/* One bundle. */
struct bundle {
	struct import *im;
	struct machine *m;
	struct cpu_state *state;
	uint32_t cpu, sequence_state; /* state: NULL_U32 without a sequence */
	clock_key clock; /* of its events' times */
};

static bool event_time(const struct bundle *b, int64_t ts, int64_t *ret)
{
	if (b->clock != b->m->clocks.trace || ts < 0)
		return clocks_to_trace_time(&b->m->clocks, b->clock, ts, ret);
	*ret = clocks_trace_time(&b->m->clocks, ts);
	return true;
}

/* Queues an event, or drops and counts it if its time is negative: the event happened on another
 * machine, before the service's machine was started. */
static void queue_event(const struct bundle *b, uint32_t queue, const struct queued_event *e)
{
	if (e->ts >= 0) {
		event_queues_add(&b->im->queues, queue, e);
		return;
	}
	b->m->negative_ftrace = true;
	stats_add(b->im->store, STAT_TRACE_SORTER_NEGATIVE_TIMESTAMP_DROPPED, STAT_NO_INDEX, 1);
}

/* ---- events ---- */

/* Reads the timestamp of a FtraceEvent: usually, but not always, the first field. */
static bool timestamp_of(const uint8_t *data, size_t len, uint64_t *ret)
{
	struct pb_field found = {0};

	if (len && data[0] == (PB_FTRACE_EVENT_TIMESTAMP << 3) &&
	    pb_get_varint(data + 1, data + len, ret))
		return true;
	pb_read(PB_BYTES(data, len), PB_TO_ANY(PB_FTRACE_EVENT_TIMESTAMP, &found));
	*ret = found.u64;
	return found.id && !found.data;
}

static void ftrace_tokens_add_event(const struct bundle *b, uint32_t queue,
				    const struct pb_field *f)
{
	struct queued_event e = {.data = f->data, .a = (uint32_t)f->len, .b = b->sequence_state};
	uint64_t ts;

	if (!timestamp_of(f->data, f->len, &ts)) {
		stats_add(b->im->store, STAT_FTRACE_BUNDLE_TOKENIZER_ERRORS, STAT_NO_INDEX, 1);
		return;
	}
	if (event_time(b, (int64_t)ts, &e.ts))
		queue_event(b, queue, &e);
}

/* ---- compact sched ---- */

#define COMMS_MAX 4096u

struct compact {
	struct pb_field switch_ts, switch_state, switch_pid, switch_prio, switch_comm;
	struct pb_field waking_ts, waking_pid, waking_cpu, waking_prio, waking_comm, waking_flags;
	uint32_t comms[COMMS_MAX]; /* strings */
	size_t n_comms;
};

static void read_compact(struct store *s, const struct pb_field *f, struct compact *c)
{
	struct pb_field *const fields[] = {
		[PB_FTRACE_EVENT_BUNDLE_COMPACT_SCHED_SWITCH_TIMESTAMP] = &c->switch_ts,
		[PB_FTRACE_EVENT_BUNDLE_COMPACT_SCHED_SWITCH_PREV_STATE] = &c->switch_state,
		[PB_FTRACE_EVENT_BUNDLE_COMPACT_SCHED_SWITCH_NEXT_PID] = &c->switch_pid,
		[PB_FTRACE_EVENT_BUNDLE_COMPACT_SCHED_SWITCH_NEXT_PRIO] = &c->switch_prio,
		[PB_FTRACE_EVENT_BUNDLE_COMPACT_SCHED_SWITCH_NEXT_COMM_INDEX] = &c->switch_comm,
		[PB_FTRACE_EVENT_BUNDLE_COMPACT_SCHED_WAKING_TIMESTAMP] = &c->waking_ts,
		[PB_FTRACE_EVENT_BUNDLE_COMPACT_SCHED_WAKING_PID] = &c->waking_pid,
		[PB_FTRACE_EVENT_BUNDLE_COMPACT_SCHED_WAKING_TARGET_CPU] = &c->waking_cpu,
		[PB_FTRACE_EVENT_BUNDLE_COMPACT_SCHED_WAKING_PRIO] = &c->waking_prio,
		[PB_FTRACE_EVENT_BUNDLE_COMPACT_SCHED_WAKING_COMM_INDEX] = &c->waking_comm,
		[PB_FTRACE_EVENT_BUNDLE_COMPACT_SCHED_WAKING_COMMON_FLAGS] = &c->waking_flags,
	};
	struct pb_field part;
	struct pb_dec d;

	pb_dec_init(&d, f->data, f->len);
	while (pb_dec_next(&d, &part)) {
		if (part.id == PB_FTRACE_EVENT_BUNDLE_COMPACT_SCHED_INTERN_TABLE && part.data) {
			if (c->n_comms < COMMS_MAX)
				c->comms[c->n_comms++] =
					strings_intern(&s->strings, part.data, part.len);
		} else if (part.id < ARRAY_SIZE(fields) && fields[part.id]) {
			*fields[part.id] = part;
		}
	}
}

static void compact_error(const struct bundle *b)
{
	stats_add(b->im->store, STAT_COMPACT_SCHED_HAS_PARSE_ERRORS, STAT_NO_INDEX, 1);
}

static void add_switches(const struct bundle *b, const struct compact *c)
{
	struct pb_packed ts = pb_packed_of(&c->switch_ts), state = pb_packed_of(&c->switch_state),
			 pid = pb_packed_of(&c->switch_pid), prio = pb_packed_of(&c->switch_prio),
			 comm = pb_packed_of(&c->switch_comm);
	uint64_t now = 0, delta, v_state, v_pid, v_prio, v_comm;
	uint32_t queue;

	if (!c->switch_ts.id)
		return;
	queue = queue_of(b->im, b->m, b->cpu, QUEUE_SWITCH);
	while (pb_packed_next(&ts, &delta)) {
		struct queued_event e;

		now += delta;
		if (!pb_packed_next(&state, &v_state) || !pb_packed_next(&pid, &v_pid) ||
		    !pb_packed_next(&prio, &v_prio) || !pb_packed_next(&comm, &v_comm) ||
		    v_comm >= c->n_comms)
			return compact_error(b);
		if (!event_time(b, (int64_t)now, &e.ts))
			return;
		e.comm = c->comms[v_comm];
		e.tid = (int32_t)v_pid;
		e.a = (uint32_t)v_prio;
		e.b = (uint32_t)v_state;
		queue_event(b, queue, &e);
	}
}

static void add_wakings(const struct bundle *b, const struct compact *c)
{
	struct pb_packed ts = pb_packed_of(&c->waking_ts), pid = pb_packed_of(&c->waking_pid),
			 cpu = pb_packed_of(&c->waking_cpu), prio = pb_packed_of(&c->waking_prio),
			 comm = pb_packed_of(&c->waking_comm),
			 flags = pb_packed_of(&c->waking_flags);
	uint64_t now = 0, delta, v_pid, v_cpu, v_prio, v_comm, v_flags;
	uint32_t queue;

	if (!c->waking_ts.id)
		return;
	queue = queue_of(b->im, b->m, b->cpu, QUEUE_WAKING);
	while (pb_packed_next(&ts, &delta)) {
		struct queued_event e;

		now += delta;
		v_flags = 0;
		if (!pb_packed_next(&pid, &v_pid) || !pb_packed_next(&cpu, &v_cpu) ||
		    !pb_packed_next(&prio, &v_prio) || !pb_packed_next(&comm, &v_comm) ||
		    v_comm >= c->n_comms ||
		    (c->waking_flags.id && !pb_packed_next(&flags, &v_flags)))
			return compact_error(b);
		if (!event_time(b, (int64_t)now, &e.ts))
			return;
		e.comm = c->comms[v_comm];
		e.tid = (int32_t)v_pid;
		e.a = (uint32_t)v_prio;
		e.b = (uint32_t)(v_cpu & 0xffff) | (uint32_t)(v_flags & 0xffff) << 16;
		queue_event(b, queue, &e);
	}
}

static void add_compact(const struct bundle *b, const struct pb_field *f)
{
	struct compact c = {.n_comms = 0};

	read_compact(b->im->store, f, &c);
	add_switches(b, &c);
	add_wakings(b, &c);
}

/* ---- descriptions of events without a message ---- */

static void read_field_descriptor(struct store *s, struct generic_event *g,
				  const struct pb_field *field)
{
	struct generic_field new = {.number = 0};
	uint64_t number = 0, type = 0;
	struct pb_field name = {0};

	/* FieldDescriptorProto.name, number, type */
	pb_read(field, PB_TO(1, &name), PB_TO(3, &number), PB_TO(5, &type));
	new.name = strings_intern(&s->strings, name.data, name.len);
	new.number = number <= PB_MAX_FIELD_ID ? (uint32_t)number : 0;
	new.type = type < UINT8_MAX ? (uint8_t)type : 0;
	if (!budget_take(&s->budget, sizeof(*g->fields)))
		return;
	if (array_reserve(&g->fields, &g->cap_fields, g->n_fields + 1, sizeof(*g->fields))) {
		s->budget.error = -ENOMEM;
		return;
	}
	g->fields[g->n_fields++] = new;
}

static void add_description(const struct bundle *b, const struct pb_field *f)
{
	struct pb_field descriptor = {.id = 0};
	struct generic_event g = {.name = 0};
	uint64_t number = 0;

	pb_read(f, PB_TO(PB_FTRACE_EVENT_BUNDLE_GENERIC_EVENT_DESCRIPTOR_FIELD_ID, &number),
		PB_TO(PB_FTRACE_EVENT_BUNDLE_GENERIC_EVENT_DESCRIPTOR_EVENT_DESCRIPTOR,
		      &descriptor));
	if (number > PB_MAX_FIELD_ID || !descriptor.data ||
	    generic_find(b->im, b->m, (uint32_t)number) != NULL_U32)
		return;
	pb_for_each (part, &descriptor) {
		if (part.id == 1 && part.data) /* DescriptorProto.name, field */
			g.name = strings_intern(&b->im->store->strings, part.data, part.len);
		else if (part.id == 2 && part.data)
			read_field_descriptor(b->im->store, &g, &part);
	}
	generic_add(b->im, b->m, (uint32_t)number, &g);
}

/* ---- the bundle ---- */

#define CLOCK_UNSPECIFIED 0 /* FtraceClock */
#define CLOCK_GLOBAL 2
#define CLOCK_LOCAL 3
#define CLOCK_MONO_RAW 4

struct bundle_head {
	uint64_t clock, ftrace_ns, boot_ns;
	struct pb_field cpu, previous_end, compact; /* id 0: none */
	bool lost;
};

static void ftrace_tokens_read_head(const struct pb_field *payload, struct bundle_head *h)
{
	pb_read(payload, PB_TO_ANY(PB_FTRACE_EVENT_BUNDLE_CPU, &h->cpu),
		PB_TO(PB_FTRACE_EVENT_BUNDLE_LOST_EVENTS, &h->lost),
		PB_TO(PB_FTRACE_EVENT_BUNDLE_FTRACE_CLOCK, &h->clock),
		PB_TO(PB_FTRACE_EVENT_BUNDLE_FTRACE_TIMESTAMP, &h->ftrace_ns),
		PB_TO(PB_FTRACE_EVENT_BUNDLE_BOOT_TIMESTAMP, &h->boot_ns),
		PB_TO_ANY(PB_FTRACE_EVENT_BUNDLE_LAST_READ_EVENT_TIMESTAMP, &h->previous_end),
		PB_TO_ANY(PB_FTRACE_EVENT_BUNDLE_PREVIOUS_BUNDLE_END_TIMESTAMP, &h->previous_end),
		PB_TO_ANY(PB_FTRACE_EVENT_BUNDLE_COMPACT_SCHED, &h->compact));
}

static void ftrace_tokens_set_clock(struct bundle *b, const struct bundle_head *h,
				    uint32_t sequence)
{
	struct clock_reading pair[2];

	b->clock = h->clock == CLOCK_MONO_RAW	   ? CLOCK_MONOTONIC_RAW_ID
		   : h->clock == CLOCK_UNSPECIFIED ? CLOCK_BOOTTIME_ID
						   : clock_of(CLOCK_SEQUENCE_FIRST, sequence);
	if (!h->ftrace_ns || !h->boot_ns || b->clock == CLOCK_BOOTTIME_ID)
		return;
	pair[0] = (struct clock_reading){
		.clock = b->clock, .value = (int64_t)h->ftrace_ns, .unit = 1};
	pair[1] = (struct clock_reading){
		.clock = CLOCK_BOOTTIME_ID, .value = (int64_t)h->boot_ns, .unit = 1};
	clocks_snapshot(&b->m->clocks, pair, 2);
}

/* The trace may lack older events of this CPU: those before the end of the bundle that was written
 * just before the CPU's first bundle in the trace. */
static void note_first_bundle(struct bundle *b, const struct bundle_head *h)
{
	int64_t ts;

	if (b->state->has_first_bundle)
		return;
	b->state->has_first_bundle = true;
	if (h->previous_end.id &&
	    clocks_to_trace_time(&b->m->clocks, b->clock, (int64_t)h->previous_end.u64, &ts))
		b->m->first_data = MAX(b->m->first_data, ts);
}

void tokens_bundle(struct import *im, struct machine *m, const struct packet *p,
		   const struct packet_sequence_info *seq)
{
	struct bundle b = {.im = im, .m = m, .sequence_state = seq ? seq->state : NULL_U32};
	struct bundle_head h = {.clock = 0};
	uint32_t queue = NULL_U32;
	bool ok = true;

	ftrace_tokens_read_head(&p->payload, &h);
	b.cpu = (uint32_t)MIN(h.cpu.u64, (uint64_t)MAX_CPUS);
	b.state = h.cpu.id ? import_cpu(im, m, b.cpu) : NULL;
	if (!b.state) {
		stats_add(im->store, STAT_FTRACE_BUNDLE_TOKENIZER_ERRORS, STAT_NO_INDEX, 1);
		return;
	}
	if (h.lost)
		stats_set(im->store, STAT_FTRACE_CPU_HAS_DATA_LOSS, b.cpu, 1);
	ftrace_tokens_set_clock(&b, &h, p->sequence);
	note_first_bundle(&b, &h);
	/* Compact sched comes first, as that makes its queues first: of events of equal times,
	 * those of the queue that was made first come first. */
	pb_for_each (f, h.compact.id ? &p->payload : PB_BYTES(NULL, 0))
		if (f.id == PB_FTRACE_EVENT_BUNDLE_COMPACT_SCHED && f.data)
			add_compact(&b, &f);
	pb_for_each_checked (f, &p->payload, ok) {
		if (f.id == PB_FTRACE_EVENT_BUNDLE_EVENT && queue == NULL_U32)
			queue = queue_of(im, m, b.cpu, QUEUE_FTRACE);
		if (f.id == PB_FTRACE_EVENT_BUNDLE_EVENT && f.data && f.len <= UINT32_MAX)
			ftrace_tokens_add_event(&b, queue, &f);
		else if (f.id == PB_FTRACE_EVENT_BUNDLE_GENERIC_EVENT_DESCRIPTORS && f.data)
			add_description(&b, &f);
	}
	im->undecodable += !ok;
}
