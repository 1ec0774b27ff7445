/* SPDX-License-Identifier: Apache-2.0 */
/* Puts the events of a bundle, which are of one CPU, into the queues of that CPU. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/bundle_walk.h"
#include "analyze/import/bundles.h"
#include "analyze/import/cpus.h"
#include "analyze/import/ftrace_rows.h"
#include "analyze/import/import_steps.h"
#include "analyze/store/event_args.h"
#include "base/core/mem.h"
#include "base/text/str.h"
#include "gen/fields.h"

#define VALUE_KEY_MAX 100 /* bytes of a field's name in the key of the names of its values */

/* Returns the queue of a CPU. Makes the queues of lower CPUs first, so that queues are in the order
 * of the CPUs. */
static uint32_t get_cpu_queue(struct import *im, struct machine *m, uint32_t cpu,
			      enum queue_kind kind)
{
	for (size_t i = m->n_queues[kind]; i <= cpu; i++) {
		m->cpus[i].queues[kind] =
			event_queues_add_queue(&im->queues, kind, m->row, (uint32_t)i);
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

static bool convert_event_time(const struct bundle *b, int64_t ts, int64_t *ret)
{
	if (b->clock != b->m->clocks.trace || ts < 0)
		return clocks_to_trace_time(&b->m->clocks, b->clock, ts, ret);
	*ret = clocks_to_service_time(&b->m->clocks, ts);
	return true;
}

/* Queues an event, or drops and counts it if its time is negative: the event happened on another
 * machine, before the service's machine was started. */
static void queue_event(const struct bundle *b, uint32_t queue, const struct queued_event *e)
{
	if (e->ts >= 0) {
		event_queues_add_event(&b->im->queues, queue, e);
		return;
	}
	b->m->negative_ftrace = true;
	stats_add(b->im->store, STAT_TRACE_SORTER_NEGATIVE_TIMESTAMP_DROPPED, STAT_NO_INDEX, 1);
}

/* ---- events ---- */

static void ftrace_tokens_read_event(const struct bundle *b, uint32_t queue,
				     const struct bundle_field *event)
{
	struct queued_event e = {
		.data = event->raw.f.data, .a = (uint32_t)event->raw.f.len, .b = b->sequence_state};

	if (!event->has_time) {
		stats_add(b->im->store, STAT_FTRACE_BUNDLE_TOKENIZER_ERRORS, STAT_NO_INDEX, 1);
		return;
	}
	if (convert_event_time(b, (int64_t)event->ns, &e.ts))
		queue_event(b, queue, &e);
}

/* ---- compact sched ---- */

#define COMMS_MAX 4096u

/* The names of the threads in columns. */
struct compact_names {
	uint32_t of[COMMS_MAX]; /* strings */
	size_t n;
};

static void count_compact_error(const struct bundle *b)
{
	stats_add(b->im->store, STAT_COMPACT_SCHED_HAS_PARSE_ERRORS, STAT_NO_INDEX, 1);
}

/* Puts an event of a row into a queue. Returns false, and counts it, if the row has no name, or if
 * no clock snapshot has its clock. */
static bool queue_compact_row(const struct bundle *b, uint32_t queue, const struct compact_rows *r,
			      const struct compact_names *names, struct queued_event *e)
{
	uint64_t name = r->row[COMPACT_COMM];

	if (name >= names->n) {
		count_compact_error(b);
		return false;
	}
	if (!convert_event_time(b, (int64_t)r->row[COMPACT_TIME], &e->ts))
		return false;
	e->comm = names->of[name];
	queue_event(b, queue, e);
	return true;
}

static void queue_compact_rows(const struct bundle *b, const struct pb_field *columns)
{
	struct compact_names names = {.n = 0};
	struct compact_rows r;
	uint32_t queue;
	int more = 0;

	pb_for_each (f, columns)
		if (f.id == PB_FTRACE_EVENT_BUNDLE_COMPACT_SCHED_INTERN_TABLE && f.data &&
		    names.n < COMMS_MAX)
			names.of[names.n++] = import_intern_text(b->im, &f);
	compact_begin_switches(columns, &r);
	queue = r.has_rows ? get_cpu_queue(b->im, b->m, b->cpu, QUEUE_SWITCH) : 0;
	while ((more = compact_next(&r)) > 0) {
		struct queued_event e = {.tid = (int32_t)r.row[COMPACT_NEXT_PID],
					 .a = (uint32_t)r.row[COMPACT_NEXT_PRIO],
					 .b = (uint32_t)r.row[COMPACT_PREV_STATE]};

		if (!queue_compact_row(b, queue, &r, &names, &e))
			break;
	}
	if (more < 0)
		count_compact_error(b);
	compact_begin_wakings(columns, &r);
	queue = r.has_rows ? get_cpu_queue(b->im, b->m, b->cpu, QUEUE_WAKING) : 0;
	while ((more = compact_next(&r)) > 0) {
		struct queued_event e = {.tid = (int32_t)r.row[COMPACT_PID],
					 .a = (uint32_t)r.row[COMPACT_PRIO],
					 .b = (uint32_t)(r.row[COMPACT_TARGET_CPU] & 0xffff) |
					      (uint32_t)(r.row[COMPACT_FLAGS] & 0xffff) << 16};

		if (!queue_compact_row(b, queue, &r, &names, &e))
			break;
	}
	if (more < 0)
		count_compact_error(b);
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
	if (!budget_charge(&s->budget, sizeof(*g->fields)))
		return;
	if (array_reserve(&g->fields, &g->cap_fields, g->n_fields + 1, sizeof(*g->fields))) {
		s->budget.error = -ENOMEM;
		return;
	}
	g->fields[g->n_fields++] = new;
}

static void add_value(struct store *s, struct generic_event *g, const struct generic_value *new)
{
	if (g->n_values >= GENERIC_VALUES_MAX || !budget_charge(&s->budget, sizeof(*new)))
		return;
	if (array_reserve(&g->values, &g->cap_values, g->n_values + 1, sizeof(*new))) {
		s->budget.error = -ENOMEM;
		return;
	}
	g->values[g->n_values++] = *new;
}

/* Reads the names of the values of a field: EnumDescriptorProto.name, value. */
static void read_value_names(struct store *s, struct generic_event *g, const struct pb_field *names)
{
	_cleanup_(strbuf_deinit) struct strbuf key = {0};
	struct generic_value new;
	struct pb_field field = {0};

	pb_read(names, PB_TO(1, &field));
	strbuf_printf(&key, "%.*s_name", (int)MIN(field.len, (size_t)VALUE_KEY_MAX),
		      field.data ? (const char *)field.data : "");
	if (key.failed)
		budget_fail(&s->budget);
	if (!field.data || key.failed)
		return;
	new.field = strings_intern(&s->strings, field.data, field.len);
	new.key = strings_intern(&s->strings, key.s, key.len);
	pb_for_each (value, names) {
		struct pb_field name = {0};
		int64_t number = 0;

		if (value.id != 2 || !value.data)
			continue;
		/* EnumValueDescriptorProto.name, number */
		pb_read(&value, PB_TO(1, &name), PB_TO(2, &number));
		new.name = strings_intern(&s->strings, name.data, name.len);
		new.value = number;
		add_value(s, g, &new);
	}
}

/* Adds the description of an event without a message or, with `further`, of further fields of an
 * event with a message. Only the first description of each event counts. */
static void add_field_descriptions(const struct bundle *b, const struct pb_field *f, bool further)
{
	struct pb_field descriptor = {.id = 0};
	struct generic_event g = {.name = 0};
	uint64_t number = 0;

	pb_read(f, PB_TO(PB_FTRACE_EVENT_BUNDLE_GENERIC_EVENT_DESCRIPTOR_FIELD_ID, &number),
		PB_TO(PB_FTRACE_EVENT_BUNDLE_GENERIC_EVENT_DESCRIPTOR_EVENT_DESCRIPTOR,
		      &descriptor));
	if (number > PB_MAX_FIELD_ID || !descriptor.data)
		return;
	if (further ? event_args_find_description(b->im->store, b->m->row, (uint32_t)number) != NULL
		    : generic_find(b->im, b->m, (uint32_t)number) != NULL_U32)
		return;
	pb_for_each (part, &descriptor) {
		if (part.id == 1 && part.data) /* DescriptorProto.name, field, enum_type */
			g.name = strings_intern(&b->im->store->strings, part.data, part.len);
		else if (part.id == 2 && part.data)
			read_field_descriptor(b->im->store, &g, &part);
		else if (part.id == 4 && part.data)
			read_value_names(b->im->store, &g, &part);
	}
	if (further)
		generic_add_further(b->im, b->m, (uint32_t)number, &g);
	else
		generic_add(b->im, b->m, (uint32_t)number, &g);
}

/* ---- the bundle ---- */

/* Raises the machine's first_data to the time from which the trace has this CPU's data. The trace
 * may lack older events: those before the end of the bundle that was written just before the CPU's
 * first bundle in the trace. */
static void store_first_bundle(struct bundle *b, const struct bundle_head *h)
{
	int64_t ts;

	if (b->state->has_first_bundle)
		return;
	b->state->has_first_bundle = true;
	if (h->previous_end.id &&
	    clocks_to_trace_time(&b->m->clocks, b->clock, (int64_t)h->previous_end.u64, &ts))
		b->m->first_data = MAX(b->m->first_data, ts);
}

void tokenize_bundle(struct import *im, struct machine *m, const struct packet *p,
		     const struct packet_sequence_info *seq)
{
	struct bundle b = {.im = im, .m = m, .sequence_state = seq ? seq->state : NULL_U32};
	struct bundle_head h;
	struct bundle_field field;
	struct pb_dec d = pb_dec_of(&p->payload);
	uint32_t queue = NULL_U32;

	bundle_head_read(&p->payload, &h);
	b.cpu = (uint32_t)MIN(h.cpu.u64, (uint64_t)MAX_CPUS);
	b.state = h.cpu.id ? import_get_cpu(im, m, b.cpu) : NULL;
	if (!b.state) {
		stats_add(im->store, STAT_FTRACE_BUNDLE_TOKENIZER_ERRORS, STAT_NO_INDEX, 1);
		return;
	}
	/* It is no loss what a ring, if it is only read on request, overwrote before its first
	 * read. */
	if (h.lost && !(im->rings_overwrite && !h.previous_end.u64))
		stats_set(im->store, STAT_FTRACE_CPU_HAS_DATA_LOSS, b.cpu, 1);
	b.clock = bundle_sync_clock(&h, p->sequence, &m->clocks);
	store_first_bundle(&b, &h);
	/* Compact sched comes first, as that makes its queues first: of events of equal times,
	 * those of the queue that was made first come first. */
	pb_for_each (f, h.columns.id ? &p->payload : PB_BYTES(NULL, 0))
		if (f.id == PB_FTRACE_EVENT_BUNDLE_COMPACT_SCHED && f.data)
			queue_compact_rows(&b, &f);
	while (bundle_next(&d, &field)) {
		const struct pb_field *f = &field.raw.f;

		if (f->id == PB_FTRACE_EVENT_BUNDLE_EVENT && queue == NULL_U32)
			queue = get_cpu_queue(im, m, b.cpu, QUEUE_FTRACE);
		if (f->id == PB_FTRACE_EVENT_BUNDLE_EVENT && f->data && f->len <= UINT32_MAX)
			ftrace_tokens_read_event(&b, queue, &field);
		else if (f->id == PB_FTRACE_EVENT_BUNDLE_GENERIC_EVENT_DESCRIPTORS && f->data)
			add_field_descriptions(&b, f, false);
		else if (f->id == PB_FTRACE_EVENT_BUNDLE_FURTHER_FIELD_DESCRIPTORS && f->data)
			add_field_descriptions(&b, f, true);
	}
	im->undecodable += !pb_dec_ok_of(&d, &p->payload);
}
