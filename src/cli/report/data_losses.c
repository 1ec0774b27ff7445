/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/report/data_losses.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "cli/report/config_sources.h"
#include "cli/report/ring_losses.h"

/*
 *	kernel ring  --------->  shared memory  --------->  central buffer  --------->  file
 *	FtraceStats, bundles     writer_packet_loss,        bytes_overwritten,
 *	                         gaps with a reason         chunks_discarded, ...
 */

#define SAME_MOMENT_NS (50 * NS_PER_MS) /* departures of a producer this close are one departure */
#define LARGEST_CHUNK 65536u /* largest page of shared memory that producers may use */

/* ---- polled data ---- */

static void add_counted_loss(struct losses *ret, const char *place, uint64_t n, const char *unit,
			     const char *why)
{
	char number[32];

	if (n)
		strbuf_printf(&losses_add(ret, place, n, unit)->text, "%s %s %s",
			      str_thousands(n, number), unit, why);
}

static void add_polled_losses(const struct record_facts *f, struct losses *ret)
{
	const struct source_scan *s = &f->scan->sources;
	char number[32];
	static const char tracks[] = "counter tracks", no_room[] = "dropped: no room";

	add_counted_loss(ret, "journal", s->journal_dropped, "lines",
			 "dropped: they arrived faster than they were recorded");
	add_counted_loss(ret, "journal", s->journal_failed, "lines", "could not be read");
	for (size_t i = 0; i < s->n_refused; i++)
		add_counted_loss(ret, s->refused[i].source, s->refused[i].tracks, tracks, no_room);
	add_counted_loss(ret, "processes", s->refused_tracks, tracks, no_room);
	for (size_t i = 0; i < s->n_counted; i++)
		strbuf_printf(
			&losses_add(ret, s->counted[i].family, s->counted[i].n, "counts")->text,
			"%s %s", str_thousands(s->counted[i].n, number), s->counted[i].what);
}

static void add_perf_losses(const struct record_facts *f, struct losses *ret)
{
	uint64_t n = f->scan->sources.perf_dropped;
	const Pb__PerfEventConfig *c = config_source_perf(f->config);
	uint64_t hz = c && c->timebase ? c->timebase->frequency : 0;
	struct loss *loss;
	char number[32];

	if (!n)
		return;
	loss = losses_add(ret, "rings of call stacks", n, "records");
	strbuf_printf(&loss->text, "%s records dropped: they were full", str_thousands(n, number));
	if (f->from_words && hz > 1)
		strbuf_printf(&loss->advice, "try --cpu-stacks=%llu", (unsigned long long)hz / 2);
	else
		strbuf_printf(&loss->advice, "try ring_buffer_pages: %u in perf_event_config%s",
			      4 * (c && c->ring_buffer_pages ? c->ring_buffer_pages : 256),
			      hz ? ", or a lower frequency" : "");
}

/* ---- shared memory, and gaps in general ---- */

struct gaps {
	uint64_t packets; /* that writers have dropped: no free chunk */
	bool some_uncounted; /* some writers do not say how many they dropped */
	uint64_t corrupt; /* invalid chunks */
	uint64_t overwritten; /* reported by the service: the central buffer wrapped */
	uint64_t other; /* reason unknown, or also in the counters of the buffer */
	int32_t pid; /* of the last writer with a loss */
};

static void sum_gaps(void *ctx, const struct sequence *s)
{
	struct gaps *g = ctx;
	uint64_t writer = MAX(s->by_reason[GAP_WRITER_ABORT], s->by_reason[GAP_SMB_FULL]);
	uint64_t corrupt = s->by_reason[GAP_CHUNK_CORRUPTED];
	uint64_t counted = MIN(writer, s->counted_gaps);

	g->packets += MIN(s->dropped + (writer - counted), UINT64_MAX - g->packets);
	g->some_uncounted |= writer > counted;
	g->corrupt += corrupt;
	g->overwritten += s->by_reason[GAP_OVERWRITE];
	g->other += s->gaps - MIN(s->gaps, writer + corrupt);
	if (writer)
		g->pid = s->pid;
}

/* Adds the packets that writers dropped. aborted: packets of which the service has found the
 * beginning only. */
static void add_shared_memory_loss(const struct gaps *g, uint64_t aborted, struct losses *ret)
{
	uint64_t n = MAX(aborted, g->packets);
	bool or_more = g->some_uncounted || aborted > g->packets;
	struct loss *loss;
	char number[32];

	if (!n)
		return;
	loss = losses_add(ret, "shared memory", n, "packets");
	strbuf_printf(&loss->text, "%s packets%s dropped: no room", str_thousands(n, number),
		      or_more ? " or more" : "");
	if (g->pid)
		strbuf_printf(&loss->text, " (written by pid %d)", g->pid);
	strbuf_puts(&loss->advice,
		    "try a config with producers { producer_name: \"...\" shm_size_kb: ... }");
}

/* ---- the central buffer ---- */

#define SHORT_S 0.1 /* without events at the start or the end: not mentioned */

/* Returns true if the kernel events are in this buffer, as far as the config tells. */
static bool has_events(const struct record_facts *f, size_t buffer)
{
	const Pb__TraceConfig *c = f->config;
	const Pb__DataSourceConfig *source = NULL;

	for (size_t i = 0; i < c->n_data_sources && !source; i++)
		if (config_source_ftrace(c->data_sources[i]))
			source = c->data_sources[i]->config;
	if (!source || c->n_buffers < 2)
		return true;
	if (!source->target_buffer_name || !*source->target_buffer_name)
		return source->target_buffer == buffer;
	return buffer < c->n_buffers && c->buffers[buffer]->name &&
	       !strcmp(c->buffers[buffer]->name, source->target_buffer_name);
}

/* Appends when the events begin, for a buffer whose oldest data was overwritten. The set-up of the
 * data sources is no loss. */
static void put_late_begin(const struct record_facts *f, size_t buffer, struct strbuf *b)
{
	const struct trace_scan *s = f->scan;
	double begin = record_seconds_at(s, s->ftrace.first_ns);

	if (s->started_ns && has_events(f, buffer) && begin - record_set_up_seconds(s) >= SHORT_S)
		strbuf_printf(b, "; the events begin %.1f s after the start", begin);
}

/* Appends when the events end, for a buffer that discarded the newest data. */
static void put_early_end(const struct record_facts *f, size_t buffer, struct strbuf *b)
{
	const struct trace_scan *s = f->scan;
	double last = record_seconds_at(s, s->ftrace.last_ns);

	if (s->started_ns && s->ftrace.last_ns && has_events(f, buffer) &&
	    record_tracing_seconds(f) - last >= SHORT_S)
		strbuf_printf(b, "; the events end %.1f s after the start", last);
}

static struct loss *add_loss_of_buffer(const struct record_facts *f, size_t i, uint64_t size,
				       uint64_t count, const char *unit, struct losses *ret)
{
	const char *name = i < f->config->n_buffers ? f->config->buffers[i]->name : NULL;
	char place[sizeof(((struct loss *)0)->place)], number[32];

	str_bytes(size, number);
	if (name && *name)
		snprintf(place, sizeof(place), "central buffer '%.40s' (%s)", name, number);
	else if (f->config->n_buffers > 1)
		snprintf(place, sizeof(place), "central buffer %zu (%s)", i, number);
	else
		snprintf(place, sizeof(place), "central buffer (%s)", number);
	return losses_add(ret, place, count, unit);
}

static void advise_buffer(const struct record_facts *f, uint64_t needed, struct strbuf *b)
{
	unsigned mb = 1;

	while (((uint64_t)mb << 20) < needed && mb < 2048)
		mb *= 2;
	if (f->from_words)
		strbuf_printf(b, "try -b %umb", mb);
	else if (f->origin_unknown)
		strbuf_printf(b, "try -b %umb (size_kb: %u)", mb, mb * 1024);
	else
		strbuf_printf(b, "try size_kb: %u", mb * 1024);
}

static void add_overwritten(const struct record_facts *f, size_t i, const struct buffer_stats *s,
			    struct losses *ret)
{
	struct loss *loss = add_loss_of_buffer(f, i, s->size, s->bytes_overwritten, "bytes", ret);
	char number[32];

	strbuf_printf(&loss->text, "the oldest %s were overwritten",
		      str_bytes(s->bytes_overwritten, number));
	put_late_begin(f, i, &loss->text);
	advise_buffer(f, s->bytes_written, &loss->advice);
}

/* Returns the size that would have held the discarded chunks as well, if they were like the
 * others. */
static uint64_t size_for_all(const struct buffer_stats *s)
{
	uint64_t chunk = s->chunks_written ? s->bytes_written / s->chunks_written : 0;
	uint64_t discarded = MIN(s->chunks_discarded, UINT32_MAX);

	return MAX(s->size * 2, s->size + discarded * MIN(chunk, LARGEST_CHUNK));
}

static void add_buffer_losses(const struct record_facts *f, size_t i, const struct buffer_stats *s,
			      struct losses *ret)
{
	/* The chunk of a patch may have been overwritten; that loss is reported separately. */
	bool had_no_room = s->bytes_overwritten || s->chunks_discarded;
	uint64_t violations = s->abi_violations + (had_no_room ? 0 : s->patches_failed);
	struct loss *loss;
	char number[32];

	if (s->bytes_overwritten && !config_triggers_end_ring(f->config))
		add_overwritten(f, i, s, ret);
	if (s->chunks_discarded) {
		loss = add_loss_of_buffer(f, i, s->size, s->chunks_discarded, "chunks", ret);
		strbuf_printf(&loss->text, "full, the newest %s chunks were discarded",
			      str_thousands(s->chunks_discarded, number));
		put_early_end(f, i, &loss->text);
		advise_buffer(f, size_for_all(s), &loss->advice);
	}
	if (s->patches_failed && s->chunks_discarded) {
		loss = add_loss_of_buffer(f, i, s->size, s->patches_failed, "packets", ret);
		strbuf_printf(&loss->text, "%s packets lack chunks that had no room",
			      str_thousands(s->patches_failed, number));
	}
	if (s->abi_violations && s->size < LARGEST_CHUNK) {
		loss = add_loss_of_buffer(f, i, s->size, s->abi_violations, "chunks", ret);
		strbuf_printf(&loss->text, "too small for %s chunks",
			      str_thousands(s->abi_violations, number));
		advise_buffer(f, LARGEST_CHUNK, &loss->advice);
	} else if (violations) {
		loss = add_loss_of_buffer(f, i, s->size, violations, "packets", ret);
		strbuf_printf(&loss->text, "packets that violated the protocol: %s",
			      str_thousands(violations, number));
	}
}

/* Reports counters of the whole service. Their growth may belong to another session. */
static void add_refused_by_service(const struct record_facts *f, const struct service_stats *s,
				   struct losses *ret)
{
	uint64_t chunks, patches;
	struct loss *loss;

	if (!f->before)
		return;
	chunks = s->chunks_discarded - MIN(s->chunks_discarded, f->before->chunks_discarded);
	patches = s->patches_discarded - MIN(s->patches_discarded, f->before->patches_discarded);
	if (!chunks && !patches)
		return;
	loss = losses_add(ret, "service", chunks, "chunks");
	strbuf_printf(&loss->text,
		      "refused during the recording, from this or another session: %llu chunks, "
		      "%llu patches",
		      (unsigned long long)chunks, (unsigned long long)patches);
}

/* ---- producers ---- */

/* Returns true if the departure is a loss. Programs that trace themselves disconnect normally; a
 * daemon does not. */
static bool is_loss(const struct departure_stats *d)
{
	return str_starts(d->source, "linux.");
}

static bool same_departure(const struct departure_stats *a, const struct departure_stats *b)
{
	return is_loss(a) && is_loss(b) && a->pid == b->pid && !strcmp(a->producer, b->producer) &&
	       (a->gone_ns > b->gone_ns ? a->gone_ns - b->gone_ns : b->gone_ns - a->gone_ns) <
		       SAME_MOMENT_NS;
}

static bool is_first(const struct service_stats *s, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (same_departure(&s->departures[k], &s->departures[i]))
			return false;
	return is_loss(&s->departures[i]);
}

static void put_departure(const struct record_facts *f, const struct service_stats *s, size_t i,
			  struct losses *ret)
{
	const struct departure_stats *d = &s->departures[i];
	struct strbuf *b = &losses_add(ret, "", d->times, "producers")->text;
	const char *separator = " of ";

	strbuf_printf(b, "%s (pid %d) disconnected", d->producer, d->pid);
	if (f->scan->started_ns && d->gone_ns > f->scan->started_ns)
		strbuf_printf(b, " %.1f s after the start",
			      (double)(d->gone_ns - f->scan->started_ns) / 1e9);
	if (d->times > 1)
		strbuf_printf(b, ", the last of %u times", d->times);
	strbuf_puts(b, ": uncommitted data is missing, and ");
	if (d->back_ns > d->gone_ns)
		strbuf_printf(b, "%.1f s until another producer replaced it,",
			      (double)(d->back_ns - d->gone_ns) / 1e9);
	else
		strbuf_puts(b, "everything later,");
	for (size_t k = i; k < s->n_departures; k++)
		if (same_departure(d, &s->departures[k])) {
			strbuf_printf(b, "%s%s", separator, s->departures[k].source);
			separator = ", ";
		}
}

static void add_departures(const struct record_facts *f, const struct service_stats *s,
			   struct losses *ret)
{
	for (size_t i = 0; s && i < s->n_departures; i++)
		if (is_first(s, i))
			put_departure(f, s, i, ret);
	if (s && s->n_departures)
		return;
	/* Other services do not report the time of a departure. */
	for (size_t i = 0; f->gone && i < f->gone->n; i++)
		strbuf_printf(&losses_add(ret, "", 1, "producers")->text,
			      "%s disconnected: uncommitted data and everything later is missing",
			      f->gone->names[i]);
}

/* ---- all ---- */

/* Returns true if the last flush failed. If the duration ends during our flush, the flush is
 * cancelled and the service's own flush counts. */
static bool flush_failed(const struct record_facts *f, const struct service_stats *s)
{
	if (s && (s->final_flush_failed || s->final_flush_succeeded))
		return s->final_flush_failed;
	return f->flush_failed;
}

static void add_other_losses(const struct record_facts *f, const struct service_stats *s,
			     const struct gaps *g, bool explained, struct losses *ret)
{
	const struct {
		uint64_t n;
		const char *place, *what;
	} counts[] = {
		{g->corrupt, "shared memory", "invalid chunks"},
		{s ? s->invalid_packets : 0, "service", "invalid packets"},
		{s ? s->filter_errors : 0, "service",
		 "packets that the trace filter could not read"},
		{explained ? 0 : g->other, "",
		 "gaps between packets, without a reason from the service"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(counts); i++)
		if (counts[i].n)
			strbuf_printf(
				&losses_add(ret, counts[i].place, counts[i].n, "packets")->text,
				"%s: %llu", counts[i].what, (unsigned long long)counts[i].n);
	add_departures(f, s, ret);
	if (f->file_is_cut)
		strbuf_puts(&losses_add(ret, "file", 0, NULL)->text,
			    "the rest of the trace was not written");
	if (flush_failed(f, s))
		strbuf_puts(&losses_add(ret, "", 0, NULL)->text,
			    "the final flush did not finish: the newest events may be missing");
}

/* Returns true if a ring buffer wrapped that is meant to wrap. */
static bool ring_wrapped(const struct record_facts *f, const struct service_stats *s,
			 const struct gaps *g)
{
	bool overwritten = g->overwritten;

	for (size_t i = 0; s && i < s->n_buffers; i++)
		overwritten |= s->buffers[i].bytes_overwritten != 0;
	return overwritten && config_triggers_end_ring(f->config);
}

void losses_collect(const struct record_facts *f, struct losses *ret)
{
	const struct service_stats *s = record_stats(f);
	uint64_t packets = 0;
	struct gaps g = {0};
	size_t in_kernel;

	sequence_table_each(&f->scan->sequences, sum_gaps, &g);
	ring_losses_collect(f, ret);
	in_kernel = ret->n;
	for (size_t i = 0; s && i < s->n_buffers; i++)
		packets += s->buffers[i].writer_packet_loss;
	add_shared_memory_loss(&g, packets, ret);
	for (size_t i = 0; s && i < s->n_buffers; i++)
		add_buffer_losses(f, i, &s->buffers[i], ret);
	if (s)
		add_refused_by_service(f, s, ret);
	else if (g.overwritten && !config_triggers_end_ring(f->config))
		strbuf_puts(&losses_add(ret, "central buffer", 0, NULL)->text,
			    "the oldest data was overwritten");
	add_other_losses(f, s, &g, ret->n > in_kernel || ring_wrapped(f, s, &g), ret);
	add_polled_losses(f, ret);
	add_perf_losses(f, ret);
}
