/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/ftrace_scan.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/bundle_walk.h"
#include "analyze/event_counts.h"
#include "base/core/fnv.h"
#include "base/core/mem.h"
#include "base/text/str.h"
#include "gen/fields.h"
#include "wire/pb_read.h"

/* In the order of protos/trace/ftrace/ftrace_stats.proto. */
static const char *const words[FTRACE_STATUSES] = {
	[0] = "no reason given",
	[FTRACE_STATUS_OK] = "nothing is wrong",
	[2] = "reading failed",
	[3] = "a page is incomplete",
	[4] = "a malformed page header",
	[5] = "an event header that is cut off",
	[6] = "padding without a length",
	[7] = "padding whose length is cut off",
	[8] = "padding of an impossible length",
	[9] = "a time extension that is cut off",
	[10] = "a time stamp that is cut off",
	[11] = "an event whose length is cut off",
	[12] = "an event of length 0",
	[13] = "an event of an impossible length",
	[14] = "an event too short for its id",
	[15] = "an event longer than its page",
	[16] = "a scheduler event too short for its fields",
	[17] = "an event that does not match its format",
};

const char *ftrace_status_words(uint64_t status)
{
	return status < FTRACE_STATUSES ? words[status] : "a reason unknown to this version";
}

/*
 *	FtraceStats         phase START or END | cpu_stats ... | unknown and failed events
 *
 * Events are counted without being decoded: the number of their message is enough.
 */

#define PHASE_START 1 /* FtraceStats.Phase */
#define PHASE_END 2

void ftrace_scan_deinit(struct ftrace_scan *s)
{
	event_counts_deinit(&s->counts);
	holes_deinit(&s->holes);
	name_list_deinit(&s->unknown);
	name_list_deinit(&s->failed);
	name_list_deinit(&s->foreign);
	name_list_deinit(&s->problems);
	free(s->rings);
	free(s->probes);
	*s = (struct ftrace_scan){0};
}

static void update_event_span(struct ftrace_scan *s, uint64_t ns)
{
	if (!ns)
		return;
	if (!s->span.first_ns || ns < s->span.first_ns)
		s->span.first_ns = ns;
	if (ns > s->span.last_ns)
		s->span.last_ns = ns;
}

/* ---- events ---- */

static void scan_plain_events(struct ftrace_scan *s, struct pb_dec *d)
{
	uint64_t first, last;

	bundle_count_plain_events(d, &s->counts, &first, &last);
	update_event_span(s, first);
	update_event_span(s, last);
}

static bool scan_event(struct ftrace_scan *s, const struct bundle_field *event)
{
	struct pb_field generic, name;

	if (event->has_time)
		update_event_span(s, event->ns);
	if (event->event != PB_FTRACE_EVENT_GENERIC) {
		if (event->event)
			event_counts_add(&s->counts, event->event, 1);
		return event->valid;
	}
	s->counts.total++;
	s->counts.unnamed++; /* belongs to no group */
	generic = pb_inner_field(&event->raw.f, PB_FTRACE_EVENT_GENERIC);
	return pb_read(&generic, PB_TO(PB_GENERIC_FTRACE_EVENT_EVENT_NAME, &name)) && event->valid;
}

static void scan_compact_sum(struct ftrace_scan *s, uint32_t event, const struct compact_sum *sum)
{
	update_event_span(s, sum->first_ns);
	update_event_span(s, sum->last_ns);
	if (sum->n)
		event_counts_add(&s->counts, event, sum->n);
}

static bool scan_compact(struct ftrace_scan *s, const struct pb_field *columns)
{
	struct compact_sums sums;
	bool ok = compact_sum_up(columns, &sums);

	scan_compact_sum(s, PB_FTRACE_EVENT_SCHED_SWITCH, &sums.switches);
	scan_compact_sum(s, PB_FTRACE_EVENT_SCHED_WAKING, &sums.wakings);
	return ok;
}

static bool scan_descriptor(struct ftrace_scan *s, const struct pb_field *message)
{
	uint64_t id = UINT64_MAX;
	struct pb_field group = {0};
	bool ok = pb_read(
		message, PB_TO(PB_FTRACE_EVENT_BUNDLE_GENERIC_EVENT_DESCRIPTOR_FIELD_ID, &id),
		PB_TO(PB_FTRACE_EVENT_BUNDLE_GENERIC_EVENT_DESCRIPTOR_GROUP_NAME, &group));

	if (ok && id <= UINT32_MAX)
		event_counts_set_group(&s->counts, (uint32_t)id, &group);
	return ok;
}

static bool scan_error(struct ftrace_scan *s, const struct pb_field *error)
{
	uint64_t status = 0;
	bool ok = pb_read(error, PB_TO(PB_FTRACE_EVENT_BUNDLE_FTRACE_ERROR_STATUS, &status));

	s->bad_pages++;
	s->statuses[MIN(status, (uint64_t)FTRACE_STATUSES)]++;
	return ok;
}

bool ftrace_scan_bundle(struct ftrace_scan *s, const struct pb_field *bundle)
{
	struct pb_dec d = pb_dec_of(bundle);
	struct bundle_field field;
	uint64_t clock_ns = 0;
	bool ok = true;

	s->bundles++;
	s->span = (struct bundle_span){0};
	while (scan_plain_events(s, &d), bundle_next(&d, &field)) {
		struct pb_field f = field.raw.f;

		switch (f.id) {
		case PB_FTRACE_EVENT_BUNDLE_CPU:
			s->span.cpu = (uint32_t)f.u64; /* the first field */
			break;
		case PB_FTRACE_EVENT_BUNDLE_LOST_RANGES:
			s->span.has_ranges = true;
			ok &= f.data && holes_add_range(&s->holes, s->sequence, s->span.cpu, &f);
			break;
		case PB_FTRACE_EVENT_BUNDLE_EVENT:
			ok &= scan_event(s, &field);
			break;
		case PB_FTRACE_EVENT_BUNDLE_COMPACT_SCHED:
			ok &= f.data && scan_compact(s, &f);
			break;
		case PB_FTRACE_EVENT_BUNDLE_GENERIC_EVENT_DESCRIPTORS:
			ok &= f.data && scan_descriptor(s, &f);
			break;
		case PB_FTRACE_EVENT_BUNDLE_LOST_EVENTS:
			s->bundles_after_loss += f.u64 != 0;
			s->span.lost = f.u64 != 0;
			break;
		case PB_FTRACE_EVENT_BUNDLE_LOST_EVENT_COUNT:
			s->counted_losses += f.u64;
			s->span.lost_count = f.u64;
			break;
		case PB_FTRACE_EVENT_BUNDLE_LAST_READ_EVENT_TIMESTAMP:
		case PB_FTRACE_EVENT_BUNDLE_PREVIOUS_BUNDLE_END_TIMESTAMP:
			s->span.previous_end_ns = f.u64;
			break;
		case PB_FTRACE_EVENT_BUNDLE_FTRACE_TIMESTAMP:
			clock_ns = f.u64;
			break;
		case PB_FTRACE_EVENT_BUNDLE_BOOT_TIMESTAMP:
			s->to_boot_ns = (int64_t)(f.u64 - clock_ns);
			break;
		case PB_FTRACE_EVENT_BUNDLE_ERROR:
			ok &= f.data && scan_error(s, &f);
			break;
		}
	}
	holes_add_bundle(&s->holes, s->sequence, &s->span);
	if (s->machine == 0 && s->span.first_ns && (!s->first_ns || s->span.first_ns < s->first_ns))
		s->first_ns = s->span.first_ns;
	if (s->machine == 0)
		s->last_ns = MAX(s->last_ns, s->span.last_ns);
	return ok && pb_dec_ok(&d);
}

/* ---- FtraceStats ---- */

static struct ring *get_ring(struct ftrace_scan *s, uint32_t sequence, uint32_t cpu)
{
	struct ring *r;
	size_t i;

	for (i = s->n_rings; i-- > 0;)
		if (s->rings[i].sequence == sequence && s->rings[i].cpu == cpu)
			return &s->rings[i];
	if (s->n_rings >= FTRACE_SCAN_MAX_RINGS ||
	    array_reserve(&s->rings, &s->cap_rings, s->n_rings + 1, sizeof(*s->rings)))
		return NULL;
	r = &s->rings[s->n_rings++];
	*r = (struct ring){.sequence = sequence, .cpu = cpu, .machine = s->machine};
	return r;
}

/* Fields that are read first, as they may come after the rings of the message. */
struct stats_head {
	uint32_t sequence;
	uint64_t phase;
	uint64_t instance;
	bool overwrites;
};

static bool scan_cpu_stats(struct ftrace_scan *s, const struct stats_head *head,
			   const struct pb_field *stats)
{
	struct ring_counters c = {0};
	struct ring *r;
	uint64_t cpu = 0;
	bool ok = pb_read(stats, PB_TO(PB_FTRACE_CPU_STATS_CPU, &cpu),
			  PB_TO(PB_FTRACE_CPU_STATS_OVERRUN, &c.overrun),
			  PB_TO(PB_FTRACE_CPU_STATS_COMMIT_OVERRUN, &c.commit_overrun),
			  PB_TO(PB_FTRACE_CPU_STATS_DROPPED_EVENTS, &c.dropped));

	r = cpu <= UINT32_MAX ? get_ring(s, head->sequence, (uint32_t)cpu) : NULL;
	if (r) {
		r->instance = head->instance;
		r->overwrites |= head->overwrites;
	}
	if (r && head->phase == PHASE_START && !r->has_start) {
		r->has_start = true;
		r->start = c;
	} else if (r && head->phase == PHASE_END) {
		r->has_end = true;
		r->end = c;
	}
	return ok;
}

/* Returns a hash that distinguishes instances (FNV-1a), never 0. */
static uint64_t hash_instance_name(const struct pb_field *name)
{
	uint64_t hash = fnv1a(FNV1A_START, name->data, name->data ? name->len : 0);

	return hash ? hash : 1;
}

/* Returns the growth of a counter. Counters start at 0 when a ring is created or cleared; a counter
 * that decreased was cleared meanwhile. */
static uint64_t counter_growth(uint64_t start, uint64_t end)
{
	return end >= start ? end - start : end;
}

/* As with the per-CPU counters, misses before the recording do not count. */
static bool scan_kprobe_stats(struct ftrace_scan *s, uint64_t phase, const struct pb_field *stats)
{
	uint64_t misses = 0;
	bool ok = pb_read(stats, PB_TO(PB_FTRACE_KPROBE_STATS_MISSES, &misses));

	if (phase == PHASE_START)
		s->start_misses = misses;
	else if (phase == PHASE_END)
		s->kprobe_misses = MAX(s->kprobe_misses, counter_growth(s->start_misses, misses));
	return ok;
}

static struct probe_counts *find_probe(struct ftrace_scan *s, const char *name)
{
	for (size_t i = 0; i < s->n_probes; i++)
		if (!strcmp(s->probes[i].name, name))
			return &s->probes[i];
	return NULL;
}

/* Stores the hits and misses of a probe. Each flush reports them again; the numbers only grow. */
static void set_probe_counts(struct ftrace_scan *s, const char *name, uint64_t hits,
			     uint64_t misses)
{
	struct probe_counts *p = find_probe(s, name);

	if (!p && s->n_probes < FTRACE_SCAN_MAX_PROBES &&
	    !array_reserve(&s->probes, &s->cap_probes, s->n_probes + 1, sizeof(*s->probes))) {
		p = &s->probes[s->n_probes++];
		*p = (struct probe_counts){.misses = 0};
		snprintf(p->name, sizeof(p->name), "%s", name);
	}
	if (p) {
		p->hits = MAX(p->hits, hits);
		p->misses = MAX(p->misses, misses);
	}
}

static bool scan_probe_stats(struct ftrace_scan *s, const struct pb_field *stats)
{
	char full[sizeof(s->probes->name)];
	struct pb_field group = {0}, name = {0};
	uint64_t hits = 0, misses = 0;
	bool ok = pb_read(stats, PB_TO(PB_FTRACE_PROBE_STATS_GROUP, &group),
			  PB_TO(PB_FTRACE_PROBE_STATS_NAME, &name),
			  PB_TO(PB_FTRACE_PROBE_STATS_HITS, &hits),
			  PB_TO(PB_FTRACE_PROBE_STATS_MISSES, &misses));

	snprintf(full, sizeof(full), "%.*s/%.*s",
		 (int)MIN(group.len, (size_t)EVENT_COUNTS_MAX_NAME), (const char *)group.data,
		 (int)MIN(name.len, (size_t)EVENT_COUNTS_MAX_NAME), (const char *)name.data);
	str_make_plain(full, strlen(full), "");
	set_probe_counts(s, full, hits, misses);
	return ok;
}

/* Returns true for "and 57 more", the end of a list, and raises *more to that number. Each flush
 * reports the list again, and the number only grows. */
static bool parse_left_out_number(const struct pb_field *f, uint64_t *more)
{
	unsigned long long n;
	char text[48];
	int end = 0;

	if (!f->data || f->len >= sizeof(text))
		return false;
	memcpy(text, f->data, f->len);
	text[f->len] = '\0';
	if (sscanf(text, "and %llu more%n", &n, &end) != 1 || !end || (size_t)end != f->len)
		return false;
	*more = MAX(*more, (uint64_t)n);
	return true;
}

static void name_list_add_name_field(struct name_list *l, const struct pb_field *f)
{
	if (f->data && f->len)
		name_list_add(l, f->data, f->len);
}

/* Adds a text, which may have several lines. */
static void name_list_add_text_field(struct name_list *l, const struct pb_field *f)
{
	if (f->data && f->len)
		name_list_add_text(l, f->data, f->len);
}

bool ftrace_scan_stats(struct ftrace_scan *s, uint32_t sequence, const struct pb_field *stats)
{
	struct stats_head head = {.sequence = sequence};
	struct pb_field instance = {0};
	bool ok = pb_read(stats, PB_TO(PB_FTRACE_STATS_PHASE, &head.phase),
			  PB_TO(PB_FTRACE_STATS_INSTANCE, &instance),
			  PB_TO(PB_FTRACE_STATS_OVERWRITES, &head.overwrites));

	if (instance.id)
		head.instance = hash_instance_name(&instance);
	pb_for_each (f, stats)
		switch (f.id) {
		case PB_FTRACE_STATS_CPU_STATS:
			ok &= f.data && scan_cpu_stats(s, &head, &f);
			break;
		case PB_FTRACE_STATS_UNKNOWN_FTRACE_EVENTS:
			if (!parse_left_out_number(&f, &s->unknown_more))
				name_list_add_name_field(&s->unknown, &f);
			break;
		case PB_FTRACE_STATS_FOREIGN_CHANGES:
			name_list_add_text_field(&s->foreign, &f);
			break;
		case PB_FTRACE_STATS_FAILED_FTRACE_EVENTS:
			if (!parse_left_out_number(&f, &s->failed_more))
				name_list_add_text_field(&s->failed, &f);
			break;
		case PB_FTRACE_STATS_ATRACE_ERRORS:
		case PB_FTRACE_STATS_EXCLUSIVE_FEATURE_ERROR:
			name_list_add_text_field(&s->problems, &f);
			break;
		case PB_FTRACE_STATS_FTRACE_PARSE_ERRORS:
			if (!f.data)
				s->reported_statuses |= 1u << MIN(f.u64, (uint64_t)FTRACE_STATUSES);
			break;
		case PB_FTRACE_STATS_KPROBE_STATS:
			ok &= f.data && scan_kprobe_stats(s, head.phase, &f);
			break;
		case PB_FTRACE_STATS_PROBE_STATS:
			ok &= f.data && scan_probe_stats(s, &f);
			break;
		case PB_FTRACE_STATS_CPU_BUFFER_SIZE_PAGES:
			if (f.u64 <= UINT32_MAX)
				s->pages_per_cpu = (uint32_t)f.u64;
			break;
		}
	return ok;
}

/* ---- losses ---- */

bool ftrace_scan_has_rings(const struct ftrace_scan *s)
{
	size_t i;

	for (i = 0; i < s->n_rings; i++)
		if (s->rings[i].has_end)
			return true;
	return false;
}

static uint64_t lost_records_of_ring(const struct ring *r)
{
	return (r->overwrites ? 0 : counter_growth(r->start.overrun, r->end.overrun)) +
	       counter_growth(r->start.commit_overrun, r->end.commit_overrun) +
	       counter_growth(r->start.dropped, r->end.dropped);
}

static bool sequence_overwrites(const struct ftrace_scan *s, uint32_t sequence)
{
	for (size_t i = 0; i < s->n_rings; i++)
		if (s->rings[i].sequence == sequence && s->rings[i].overwrites)
			return true;
	return false;
}

bool ftrace_scan_overwrites(const struct ftrace_scan *s, struct ring_overwrites *ret)
{
	bool any = false;

	*ret = (struct ring_overwrites){0};
	for (size_t i = 0; i < s->n_rings; i++) {
		const struct ring *r = &s->rings[i];

		if (!r->overwrites)
			continue;
		any = true;
		if (r->has_end)
			ret->events += counter_growth(r->start.overrun, r->end.overrun);
	}
	for (size_t i = 0; any && i < s->holes.n; i++) {
		const struct hole *h = &s->holes.list[i];

		if (!h->on_the_way && !h->between_sessions && sequence_overwrites(s, h->sequence))
			ret->complete_ns = MAX(ret->complete_ns, h->to_ns);
	}
	return any;
}

bool ftrace_scan_hole_is_before(const struct ftrace_scan *s, const struct hole *h)
{
	return !h->from_ns && sequence_overwrites(s, h->sequence);
}

static bool is_same_ring(const struct ring *x, const struct ring *y)
{
	return x->cpu == y->cpu && x->machine == y->machine && x->instance == y->instance;
}

#define COMPARE(x, y) ((x) < (y) ? -1 : (x) > (y))

/* Sorts by CPU; reports of one ring are neighbours, the one with most losses first. */
static int compare_rings_worst_first(const void *a, const void *b)
{
	const struct ring *x = *(const struct ring *const *)a, *y = *(const struct ring *const *)b;

	if (x->cpu != y->cpu)
		return COMPARE(x->cpu, y->cpu);
	if (x->machine != y->machine)
		return COMPARE(x->machine, y->machine);
	if (x->instance != y->instance)
		return COMPARE(x->instance, y->instance);
	return COMPARE(lost_records_of_ring(y), lost_records_of_ring(x));
}

int ftrace_scan_losses(const struct ftrace_scan *s, struct cpu_loss **ret, size_t *ret_n)
{
	_cleanup_(freep) const struct ring **rings = calloc(s->n_rings + 1, sizeof(*rings));
	_cleanup_(freep) struct cpu_loss *all = calloc(s->n_rings + 1, sizeof(*all));
	size_t i, n = 0, kept = 0;

	if (!rings || !all)
		return -ENOMEM;
	for (i = 0; i < s->n_rings; i++)
		if (s->rings[i].has_end && lost_records_of_ring(&s->rings[i]))
			rings[n++] = &s->rings[i];
	qsort(rings, n, sizeof(*rings), compare_rings_worst_first);
	for (i = 0; i < n; i++) {
		if (i && is_same_ring(rings[i - 1], rings[i]))
			continue;
		if (!kept || all[kept - 1].cpu != rings[i]->cpu)
			all[kept++] = (struct cpu_loss){.cpu = rings[i]->cpu};
		all[kept - 1].events += lost_records_of_ring(rings[i]);
	}
	*ret = TAKE_PTR(all);
	*ret_n = kept;
	return 0;
}
