/* SPDX-License-Identifier: Apache-2.0 */
/* Sets stats from TraceStats and FtraceStats. The rows of the tables map fields to stats. */
#include <errno.h>
#include <string.h>

#include "analyze/import/import_steps.h"
#include "base/core/mem.h"
#include "gen/fields.h"

struct stat_field {
	uint32_t field;
	enum stat_number stat;
};

static const struct stat_field buffer_fields[] = {
	{PB_TRACE_STATS_BUFFER_STATS_BUFFER_SIZE, STAT_TRACED_BUF_BUFFER_SIZE},
	{PB_TRACE_STATS_BUFFER_STATS_BYTES_WRITTEN, STAT_TRACED_BUF_BYTES_WRITTEN},
	{PB_TRACE_STATS_BUFFER_STATS_BYTES_READ, STAT_TRACED_BUF_BYTES_READ},
	{PB_TRACE_STATS_BUFFER_STATS_BYTES_OVERWRITTEN, STAT_TRACED_BUF_BYTES_OVERWRITTEN},
	{PB_TRACE_STATS_BUFFER_STATS_CHUNKS_WRITTEN, STAT_TRACED_BUF_CHUNKS_WRITTEN},
	{PB_TRACE_STATS_BUFFER_STATS_CHUNKS_READ, STAT_TRACED_BUF_CHUNKS_READ},
	{PB_TRACE_STATS_BUFFER_STATS_CHUNKS_DISCARDED, STAT_TRACED_BUF_CHUNKS_DISCARDED},
	{PB_TRACE_STATS_BUFFER_STATS_CHUNKS_OVERWRITTEN, STAT_TRACED_BUF_CHUNKS_OVERWRITTEN},
	{PB_TRACE_STATS_BUFFER_STATS_CHUNKS_REWRITTEN, STAT_TRACED_BUF_CHUNKS_REWRITTEN},
	{PB_TRACE_STATS_BUFFER_STATS_CHUNKS_COMMITTED_OUT_OF_ORDER,
	 STAT_TRACED_BUF_CHUNKS_COMMITTED_OUT_OF_ORDER},
	{PB_TRACE_STATS_BUFFER_STATS_PADDING_BYTES_WRITTEN, STAT_TRACED_BUF_PADDING_BYTES_WRITTEN},
	{PB_TRACE_STATS_BUFFER_STATS_PADDING_BYTES_CLEARED, STAT_TRACED_BUF_PADDING_BYTES_CLEARED},
	{PB_TRACE_STATS_BUFFER_STATS_PATCHES_SUCCEEDED, STAT_TRACED_BUF_PATCHES_SUCCEEDED},
	{PB_TRACE_STATS_BUFFER_STATS_READAHEADS_SUCCEEDED, STAT_TRACED_BUF_READAHEADS_SUCCEEDED},
	{PB_TRACE_STATS_BUFFER_STATS_READAHEADS_FAILED, STAT_TRACED_BUF_READAHEADS_FAILED},
	{PB_TRACE_STATS_BUFFER_STATS_WRITE_WRAP_COUNT, STAT_TRACED_BUF_WRITE_WRAP_COUNT},
	{PB_TRACE_STATS_BUFFER_STATS_PATCHES_FAILED, STAT_TRACED_BUF_PATCHES_FAILED},
	{PB_TRACE_STATS_BUFFER_STATS_TRACE_WRITER_PACKET_LOSS,
	 STAT_TRACED_BUF_TRACE_WRITER_PACKET_LOSS},
	{PB_TRACE_STATS_BUFFER_STATS_ABI_VIOLATIONS, STAT_TRACED_BUF_ABI_VIOLATIONS},
};

static const struct stat_field trace_fields[] = {
	{PB_TRACE_STATS_CHUNKS_DISCARDED, STAT_TRACED_CHUNKS_DISCARDED},
	{PB_TRACE_STATS_PATCHES_DISCARDED, STAT_TRACED_PATCHES_DISCARDED},
	{PB_TRACE_STATS_PRODUCERS_CONNECTED, STAT_TRACED_PRODUCERS_CONNECTED},
	{PB_TRACE_STATS_PRODUCERS_SEEN, STAT_TRACED_PRODUCERS_SEEN},
	{PB_TRACE_STATS_DATA_SOURCES_REGISTERED, STAT_TRACED_DATA_SOURCES_REGISTERED},
	{PB_TRACE_STATS_DATA_SOURCES_SEEN, STAT_TRACED_DATA_SOURCES_SEEN},
	{PB_TRACE_STATS_TRACING_SESSIONS, STAT_TRACED_TRACING_SESSIONS},
	{PB_TRACE_STATS_TOTAL_BUFFERS, STAT_TRACED_TOTAL_BUFFERS},
	{PB_TRACE_STATS_FLUSHES_REQUESTED, STAT_TRACED_FLUSHES_REQUESTED},
	{PB_TRACE_STATS_FLUSHES_SUCCEEDED, STAT_TRACED_FLUSHES_SUCCEEDED},
	{PB_TRACE_STATS_FLUSHES_FAILED, STAT_TRACED_FLUSHES_FAILED},
};

static const struct stat_field filter_fields[] = {
	{PB_TRACE_STATS_FILTER_STATS_INPUT_PACKETS, STAT_FILTER_INPUT_PACKETS},
	{PB_TRACE_STATS_FILTER_STATS_INPUT_BYTES, STAT_FILTER_INPUT_BYTES},
	{PB_TRACE_STATS_FILTER_STATS_OUTPUT_BYTES, STAT_FILTER_OUTPUT_BYTES},
	{PB_TRACE_STATS_FILTER_STATS_ERRORS, STAT_FILTER_ERRORS},
	{PB_TRACE_STATS_FILTER_STATS_TIME_TAKEN_NS, STAT_FILTER_TIME_TAKEN_NS},
};

#define FINAL_FLUSH_SUCCEEDED 1 /* TraceStats.FinalFlushOutcome */
#define FINAL_FLUSH_FAILED 2
#define MAX_BUFFERS 1024

/* Sets the stat of each element of fields; 0 if the message lacks the field. */
static void set_stats_of_fields(struct store *s, const struct stat_field *fields, size_t n,
				int64_t index, const uint8_t *data, size_t len)
{
	struct pb_field f;
	struct pb_dec d;

	for (size_t i = 0; i < n; i++)
		stats_set(s, fields[i].stat, index, 0);
	pb_dec_init(&d, data, len);
	while (pb_dec_next(&d, &f))
		for (size_t i = 0; i < n; i++)
			if (fields[i].field == f.id && !f.data)
				stats_set(s, fields[i].stat, index, (int64_t)f.u64);
}

/* Adds the losses of a sequence to those of the buffer that it wrote into. */
static void add_sequence_losses(struct import *im, struct machine *m, const struct pb_field *writer)
{
	const struct packet_sequence_info *seq;
	uint64_t id = 0, buffer = 0;

	pb_read(writer, PB_TO(PB_TRACE_STATS_WRITER_STATS_SEQUENCE_ID, &id),
		PB_TO(PB_TRACE_STATS_WRITER_STATS_BUFFER, &buffer));
	if (buffer >= MAX_BUFFERS || id > UINT32_MAX)
		return;
	seq = sequences_find(&m->sequences, (uint32_t)id);
	stats_add(im->store, STAT_TRACED_BUF_SEQUENCE_PACKET_LOSS, (int64_t)buffer,
		  seq ? (int64_t)seq->drops : 0);
	stats_add(im->store, STAT_TRACED_BUF_INCREMENTAL_SEQUENCES_DROPPED, (int64_t)buffer,
		  seq && seq->flagged && seq->flagged == seq->skipped);
}

static void set_filter_stats(struct store *s, const struct pb_field *filter)
{
	int64_t buffer = 0;
	struct pb_field f;
	struct pb_dec d;

	set_stats_of_fields(s, filter_fields, ARRAY_SIZE(filter_fields), STAT_NO_INDEX,
			    filter->data, filter->len);
	pb_dec_init(&d, filter->data, filter->len);
	while (pb_dec_next(&d, &f) && buffer < MAX_BUFFERS)
		if (f.id == PB_TRACE_STATS_FILTER_STATS_BYTES_DISCARDED_PER_BUFFER && !f.data)
			stats_set(s, STAT_TRACED_BUF_BYTES_FILTERED_OUT, buffer++, (int64_t)f.u64);
}

void tokenize_waits_stats(struct import *im, const struct pb_field *message)
{
	uint64_t left_out = 0, ring_full = 0, no_begin = 0, no_end = 0, no_total = 0, stackless = 0;
	struct store *s = im->store;

	pb_read(message, PB_TO(PB_WAITS_STATS_LEFT_OUT, &left_out),
		PB_TO(PB_WAITS_STATS_RING_FULL, &ring_full),
		PB_TO(PB_WAITS_STATS_NO_BEGIN, &no_begin), PB_TO(PB_WAITS_STATS_NO_END, &no_end),
		PB_TO(PB_WAITS_STATS_NO_TOTAL, &no_total),
		PB_TO(PB_WAITS_STATS_USER_STACKS_REFUSED, &stackless));
	stats_add(s, STAT_SONDA_WAITS_LEFT_OUT, STAT_NO_INDEX, (int64_t)left_out);
	stats_add(s, STAT_SONDA_WAITS_RING_FULL, STAT_NO_INDEX, (int64_t)ring_full);
	stats_add(s, STAT_SONDA_WAITS_MISSING, STAT_NO_INDEX,
		  (int64_t)(no_begin + no_end + no_total));
	stats_add(s, STAT_SONDA_WAITS_WITHOUT_STACK, STAT_NO_INDEX, (int64_t)stackless);
}

void tokenize_syscalls_stats(struct import *im, const struct pb_field *message)
{
	uint64_t ring_full = 0, no_begin = 0, lost = 0, absent = 0;
	struct store *s = im->store;

	pb_read(message, PB_TO(PB_SYSCALLS_STATS_RING_FULL, &ring_full),
		PB_TO(PB_SYSCALLS_STATS_NO_BEGIN, &no_begin),
		PB_TO(PB_SYSCALLS_STATS_TEXTS_LOST, &lost),
		PB_TO(PB_SYSCALLS_STATS_TEXTS_ABSENT, &absent));
	stats_add(s, STAT_SONDA_SYSCALLS_MISSING, STAT_NO_INDEX, (int64_t)(ring_full + no_begin));
	stats_add(s, STAT_SONDA_SYSCALLS_TEXTS_LOST, STAT_NO_INDEX, (int64_t)lost);
	stats_add(s, STAT_SONDA_SYSCALLS_TEXTS_ABSENT, STAT_NO_INDEX, (int64_t)absent);
}

/* Sets the number of programs that data sources missed while they awaited their subject. Sources
 * that awaited the same subject usually missed the same programs, so the largest number counts. */
void tokenize_late_subject(struct import *im, const struct pb_field *message)
{
	uint64_t missed = 0;

	pb_read(message, PB_TO(PB_LATE_SUBJECT_MISSED_PROGRAMS, &missed));
	if ((int64_t)missed >
	    stats_get(im->store, STAT_SONDA_SUBJECT_PROGRAMS_MISSED, STAT_NO_INDEX))
		stats_set(im->store, STAT_SONDA_SUBJECT_PROGRAMS_MISSED, STAT_NO_INDEX,
			  (int64_t)missed);
}

/* Sets the stats of the unwind tables. Two data sources use the same tables, so the counts of the
 * last one cover both. */
void tokenize_unwind_stats(struct import *im, const struct pb_field *message)
{
	static const struct stat_field fields[] = {
		{PB_UNWIND_STATS_FILES, STAT_SONDA_UNWIND_FILES},
		{PB_UNWIND_STATS_ROWS, STAT_SONDA_UNWIND_ROWS},
		{PB_UNWIND_STATS_EVICTED, STAT_SONDA_UNWIND_EVICTED},
		{PB_UNWIND_STATS_REFUSED, STAT_SONDA_UNWIND_REFUSED},
		{PB_UNWIND_STATS_UNREADABLE, STAT_SONDA_UNWIND_UNREADABLE},
		{PB_UNWIND_STATS_FILES_LEFT_OUT, STAT_SONDA_UNWIND_FILES_LEFT_OUT},
		{PB_UNWIND_STATS_FILES_CUT, STAT_SONDA_UNWIND_FILES_CUT},
	};

	set_stats_of_fields(im->store, fields, ARRAY_SIZE(fields), STAT_NO_INDEX, message->data,
			    message->len);
}

void tokenize_trace_stats(struct import *im, struct machine *m, const struct pb_field *stats)
{
	struct store *s = im->store;
	int64_t buffer = 0;

	set_stats_of_fields(s, trace_fields, ARRAY_SIZE(trace_fields), STAT_NO_INDEX, stats->data,
			    stats->len);
	for (int64_t i = 0; i < MAX_BUFFERS && i < im->n_buffers; i++) {
		stats_set(s, STAT_TRACED_BUF_SEQUENCE_PACKET_LOSS, i, 0);
		stats_set(s, STAT_TRACED_BUF_INCREMENTAL_SEQUENCES_DROPPED, i, 0);
	}
	pb_for_each (f, stats) {
		if (f.id == PB_TRACE_STATS_BUFFER_STATS && f.data && buffer < MAX_BUFFERS)
			set_stats_of_fields(s, buffer_fields, ARRAY_SIZE(buffer_fields), buffer++,
					    f.data, f.len);
		else if (f.id == PB_TRACE_STATS_WRITER_STATS && f.data)
			add_sequence_losses(im, m, &f);
		else if (f.id == PB_TRACE_STATS_FILTER_STATS && f.data)
			set_filter_stats(s, &f);
		else if (f.id == PB_TRACE_STATS_FINAL_FLUSH_OUTCOME &&
			 f.u64 == FINAL_FLUSH_SUCCEEDED)
			stats_add(s, STAT_TRACED_FINAL_FLUSH_SUCCEEDED, STAT_NO_INDEX, 1);
		else if (f.id == PB_TRACE_STATS_FINAL_FLUSH_OUTCOME && f.u64 == FINAL_FLUSH_FAILED)
			stats_add(s, STAT_TRACED_FINAL_FLUSH_FAILED, STAT_NO_INDEX, 1);
	}
	im->n_buffers = MAX(im->n_buffers, buffer);
}

/* ---- FtraceStats ---- */

#define ZERO_DATA_LENGTH 12 /* FtraceParseStatus */
#define PHASE_START 1
#define PHASE_END 2

/* Counters of a CPU's ring. Each has three stats: at the start, at the end, and the difference;
 * STATS: no difference. */
static const struct ring_stat {
	uint32_t field;
	enum stat_number begin, end, delta;
	bool seconds; /* the field is a double in seconds, the stat is in ns */
} ring_stats[] = {
	{PB_FTRACE_CPU_STATS_ENTRIES, STAT_FTRACE_CPU_ENTRIES_BEGIN, STAT_FTRACE_CPU_ENTRIES_END,
	 STAT_FTRACE_CPU_ENTRIES_DELTA, false},
	{PB_FTRACE_CPU_STATS_OVERRUN, STAT_FTRACE_CPU_OVERRUN_BEGIN, STAT_FTRACE_CPU_OVERRUN_END,
	 STAT_FTRACE_CPU_OVERRUN_DELTA, false},
	{PB_FTRACE_CPU_STATS_COMMIT_OVERRUN, STAT_FTRACE_CPU_COMMIT_OVERRUN_BEGIN,
	 STAT_FTRACE_CPU_COMMIT_OVERRUN_END, STAT_FTRACE_CPU_COMMIT_OVERRUN_DELTA, false},
	{PB_FTRACE_CPU_STATS_BYTES_READ, STAT_FTRACE_CPU_BYTES_BEGIN, STAT_FTRACE_CPU_BYTES_END,
	 STAT_FTRACE_CPU_BYTES_DELTA, false},
	{PB_FTRACE_CPU_STATS_DROPPED_EVENTS, STAT_FTRACE_CPU_DROPPED_EVENTS_BEGIN,
	 STAT_FTRACE_CPU_DROPPED_EVENTS_END, STAT_FTRACE_CPU_DROPPED_EVENTS_DELTA, false},
	{PB_FTRACE_CPU_STATS_READ_EVENTS, STAT_FTRACE_CPU_READ_EVENTS_BEGIN,
	 STAT_FTRACE_CPU_READ_EVENTS_END, STAT_FTRACE_CPU_READ_EVENTS_DELTA, false},
	{PB_FTRACE_CPU_STATS_NOW_TS, STAT_FTRACE_CPU_NOW_TS_BEGIN, STAT_FTRACE_CPU_NOW_TS_END,
	 STATS, true},
	{PB_FTRACE_CPU_STATS_OLDEST_EVENT_TS, STAT_FTRACE_CPU_OLDEST_EVENT_TS_BEGIN,
	 STAT_FTRACE_CPU_OLDEST_EVENT_TS_END, STATS, true},
};

static int64_t seconds_to_ns(uint64_t bits)
{
	double s;

	memcpy(&s, &bits, sizeof(s));
	s *= 1e9;
	if (!(s > -9.2e18))
		return 0;
	return s < 9.2e18 ? (int64_t)s : INT64_MAX;
}

static void set_ring_stats(struct import *im, uint64_t phase, const struct pb_field *cpu)
{
	uint64_t values[ARRAY_SIZE(ring_stats)] = {0}, index = 0;
	struct store *s = im->store;

	pb_for_each (f, cpu) {
		if (f.id == PB_FTRACE_CPU_STATS_CPU)
			index = f.u64;
		for (size_t i = 0; i < ARRAY_SIZE(ring_stats); i++)
			if (f.id == ring_stats[i].field && !f.data)
				values[i] = ring_stats[i].seconds ? (uint64_t)seconds_to_ns(f.u64)
								  : f.u64;
	}
	if (index >= MAX_CPUS)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(ring_stats); i++) {
		const struct ring_stat *r = &ring_stats[i];

		stats_set(s, phase == PHASE_END ? r->end : r->begin, (int64_t)index,
			  (int64_t)values[i]);
		if (phase == PHASE_END && r->delta != STATS && im->has_ring_begin)
			stats_set(s, r->delta, (int64_t)index,
				  (int64_t)(values[i] -
					    (uint64_t)stats_get(s, r->begin, (int64_t)index)));
	}
}

static void set_kprobe_stats(struct import *im, uint64_t phase, const struct pb_field *k)
{
	int64_t hits = 0, misses = 0, begin;
	struct store *s = im->store;

	pb_read(k, PB_TO(PB_FTRACE_KPROBE_STATS_HITS, &hits),
		PB_TO(PB_FTRACE_KPROBE_STATS_MISSES, &misses));
	stats_set(s,
		  phase == PHASE_END ? STAT_FTRACE_KPROBE_HITS_END : STAT_FTRACE_KPROBE_HITS_BEGIN,
		  STAT_NO_INDEX, hits);
	stats_set(s,
		  phase == PHASE_END ? STAT_FTRACE_KPROBE_MISSES_END
				     : STAT_FTRACE_KPROBE_MISSES_BEGIN,
		  STAT_NO_INDEX, misses);
	if (phase != PHASE_END)
		return;
	begin = stats_get(s, STAT_FTRACE_KPROBE_HITS_BEGIN, STAT_NO_INDEX);
	if (begin)
		stats_set(s, STAT_FTRACE_KPROBE_HITS_DELTA, STAT_NO_INDEX,
			  (int64_t)((uint64_t)hits - (uint64_t)begin));
	begin = stats_get(s, STAT_FTRACE_KPROBE_MISSES_BEGIN, STAT_NO_INDEX);
	if (begin)
		stats_set(s, STAT_FTRACE_KPROBE_MISSES_DELTA, STAT_NO_INDEX,
			  (int64_t)((uint64_t)misses - (uint64_t)begin));
}

/* Counts the setup errors, and adds them to the metadata as one text with a line for each. A data
 * source reports its setup errors once, at its start. */
static void add_setup_errors(struct import *im, struct machine *m, const struct pb_field *stats)
{
	static const struct {
		uint32_t field;
		const char *text;
	} kinds[] = {
		{PB_FTRACE_STATS_FAILED_FTRACE_EVENTS, "Ftrace event failed: "},
		{PB_FTRACE_STATS_UNKNOWN_FTRACE_EVENTS, "Ftrace event unknown: "},
		{PB_FTRACE_STATS_ATRACE_ERRORS, "Atrace failures: "},
	};
	struct strbuf text = {0};

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		pb_for_each (f, stats) {
			if (f.id != kinds[i].field || !f.data)
				continue;
			strbuf_puts(&text, kinds[i].text);
			strbuf_add(&text, f.data, f.len);
			strbuf_putc(&text, '\n');
			stats_add(im->store, STAT_FTRACE_SETUP_ERRORS, STAT_NO_INDEX, 1);
		}
	}
	if (text.failed)
		im->store->budget.error = -ENOMEM;
	else if (text.len)
		metadata_set_string(im, SCOPE_BOTH, m, "ftrace_setup_errors", true, text.s,
				    text.len);
	strbuf_deinit(&text);
}

void tokenize_ftrace_stats(struct import *im, struct machine *m, const struct packet *p,
			   struct packet_sequence_info *seq)
{
	const struct pb_field *stats = &p->payload;
	uint64_t phase = 0;

	pb_read(stats, PB_TO(PB_FTRACE_STATS_PHASE, &phase));
	if (phase == PHASE_START && seq && !seq->told_setup_errors) {
		seq->told_setup_errors = true;
		add_setup_errors(im, m, stats);
	}
	pb_for_each (f, stats) {
		if (f.id == PB_FTRACE_STATS_CPU_STATS && f.data)
			set_ring_stats(im, phase, &f);
		else if (f.id == PB_FTRACE_STATS_KPROBE_STATS && f.data)
			set_kprobe_stats(im, phase, &f);
		else if (f.id == PB_FTRACE_STATS_FTRACE_PARSE_ERRORS && f.u64 == ZERO_DATA_LENGTH)
			stats_add(im->store, STAT_FTRACE_ABI_ERRORS_SKIPPED_ZERO_DATA_LENGTH,
				  STAT_NO_INDEX, 1);
		else if (f.id == PB_FTRACE_STATS_PRESERVE_FTRACE_BUFFER && phase == PHASE_START)
			m->preserve_ring |= f.u64 != 0;
	}
	im->has_ring_begin |= phase == PHASE_START;
}
