/* SPDX-License-Identifier: Apache-2.0 */
#include "ftrace/session/ftrace_stats.h"

#include <stdio.h>

#include "ftrace/format/ring_page.h"
#include "gen/fields.h"

static void write_ring(struct pb_enc *e, const struct ring_stats *s)
{
	pb_enc_open(e, PB_FTRACE_STATS_CPU_STATS);
	pb_enc_u64(e, PB_FTRACE_CPU_STATS_CPU, s->cpu);
	pb_enc_u64(e, PB_FTRACE_CPU_STATS_ENTRIES, s->entries);
	pb_enc_u64(e, PB_FTRACE_CPU_STATS_OVERRUN, s->overrun);
	pb_enc_u64(e, PB_FTRACE_CPU_STATS_COMMIT_OVERRUN, s->commit_overrun);
	pb_enc_u64(e, PB_FTRACE_CPU_STATS_BYTES_READ, s->bytes);
	pb_enc_double(e, PB_FTRACE_CPU_STATS_OLDEST_EVENT_TS, s->oldest_event_ts);
	pb_enc_double(e, PB_FTRACE_CPU_STATS_NOW_TS, s->now_ts);
	pb_enc_u64(e, PB_FTRACE_CPU_STATS_DROPPED_EVENTS, s->dropped_events);
	pb_enc_u64(e, PB_FTRACE_CPU_STATS_READ_EVENTS, s->read_events);
	pb_enc_close(e);
}

/* Writes a list, and as its last line the number of entries that are not in it. */
static void ftrace_stats_write_list(struct pb_enc *e, uint32_t field, char *const *lines,
				    uint64_t more)
{
	char last[48];

	for (; lines && *lines; lines++)
		pb_enc_str(e, field, *lines);
	if (!more)
		return;
	snprintf(last, sizeof(last), "and %llu more", (unsigned long long)more);
	pb_enc_str(e, field, last);
}

static void write_setup_errors(struct pb_enc *e, const struct setup_errors *r)
{
	const char *words = r->fatal ? r->fatal : r->notice;

	if (words)
		pb_enc_str(e, PB_FTRACE_STATS_ATRACE_ERRORS, words);
	ftrace_stats_write_list(e, PB_FTRACE_STATS_UNKNOWN_FTRACE_EVENTS, r->unknown,
				r->unknown_more);
	ftrace_stats_write_list(e, PB_FTRACE_STATS_FAILED_FTRACE_EVENTS, r->failed, r->failed_more);
}

static void write_probes(struct pb_enc *e, const struct dynevents *m)
{
	for (size_t i = 0; i < m->n; i++) {
		const struct dynevent *p = m->events[i];

		if (p->type == DYNEVENT_SYNTHETIC)
			continue;
		pb_enc_open(e, PB_FTRACE_STATS_PROBE_STATS);
		pb_enc_str(e, PB_FTRACE_PROBE_STATS_GROUP, p->repr.group);
		pb_enc_str(e, PB_FTRACE_PROBE_STATS_NAME, p->repr.name);
		pb_enc_u64(e, PB_FTRACE_PROBE_STATS_HITS, p->hits);
		pb_enc_u64(e, PB_FTRACE_PROBE_STATS_MISSES, p->misses);
		pb_enc_close(e);
	}
}

static void write_stats_extra(struct pb_enc *e, const struct ftrace_stats_extra *m)
{
	if (m->ksyms_parsed) {
		pb_enc_u64(e, PB_FTRACE_STATS_KERNEL_SYMBOLS_PARSED, m->ksyms_parsed);
		pb_enc_u64(e, PB_FTRACE_STATS_KERNEL_SYMBOLS_MEM_KB, m->ksyms_kb);
	}
	if (m->preserved)
		pb_enc_bool(e, PB_FTRACE_STATS_PRESERVE_FTRACE_BUFFER, true);
	if (m->kprobe_hits || m->kprobe_misses) {
		pb_enc_open(e, PB_FTRACE_STATS_KPROBE_STATS);
		pb_enc_i64(e, PB_FTRACE_KPROBE_STATS_HITS, m->kprobe_hits);
		pb_enc_i64(e, PB_FTRACE_KPROBE_STATS_MISSES, m->kprobe_misses);
		pb_enc_close(e);
	}
	if (m->probes)
		write_probes(e, m->probes);
	ftrace_stats_write_list(e, PB_FTRACE_STATS_FOREIGN_CHANGES, m->foreign_changes, 0);
	if (m->overwrites)
		pb_enc_bool(e, PB_FTRACE_STATS_OVERWRITES, true);
}

void ftrace_stats_write(const struct ftrace_stats_packet *p, struct pb_enc *e)
{
	pb_enc_open(e, PB_TRACE_PACKET_FTRACE_STATS);
	pb_enc_u64(e, PB_FTRACE_STATS_PHASE, p->phase);
	for (size_t i = 0; p->all && i < p->all->n; i++)
		write_ring(e, &p->all->rings[i]);
	if (p->errors)
		write_setup_errors(e, p->errors);
	if (p->more)
		write_stats_extra(e, p->more);
	for (unsigned i = 0; p->status_counts && i < RING_PAGE_STATUS_COUNT; i++)
		if (p->status_counts[i])
			pb_enc_u64(e, PB_FTRACE_STATS_FTRACE_PARSE_ERRORS, i);
	if (p->buffer_pages)
		pb_enc_u64(e, PB_FTRACE_STATS_CPU_BUFFER_SIZE_PAGES, p->buffer_pages);
	if (p->requested_pages)
		pb_enc_u64(e, PB_FTRACE_STATS_CACHED_CPU_BUFFER_SIZE_PAGES, p->requested_pages);
	if (p->instance)
		pb_enc_str(e, PB_FTRACE_STATS_INSTANCE, p->instance);
	pb_enc_close(e);
}
