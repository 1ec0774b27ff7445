/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/report/data_losses.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/text/str.h"
#include "cli/report/config_sources.h"

static void loss_list_clear(struct loss *l)
{
	strbuf_deinit(&l->text);
	strbuf_deinit(&l->advice);
}

void losses_deinit(struct losses *l)
{
	for (size_t i = 0; i < l->n; i++)
		loss_list_clear(&l->list[i]);
	loss_list_clear(&l->spare);
	free(l->list);
	*l = (struct losses){0};
}

/* Appends a loss and returns it (never NULL) for the caller to write text and advice. Valid until
 * the next call. unit is borrowed as long as l. */
static struct loss *losses_add(struct losses *l, const char *place, uint64_t count,
			       const char *unit)
{
	struct loss *new = &l->spare;

	if (array_reserve(&l->list, &l->cap, l->n + 1, sizeof(*l->list)) == 0)
		new = &l->list[l->n++];
	else
		loss_list_clear(new);
	*new = (struct loss){.count = count, .unit = unit};
	snprintf(new->place, sizeof(new->place), "%s", place);
	return new;
}

void losses_write(const struct losses *l, struct strbuf *lines)
{
	for (size_t i = 0; i < l->n; i++) {
		const struct loss *one = &l->list[i];

		strbuf_printf(lines, "%s%s%s%s%s\n", one->place, one->place[0] ? ": " : "",
			      one->text.s ? one->text.s : "no memory for the details",
			      one->advice.len ? "; " : "", one->advice.len ? one->advice.s : "");
	}
}

#define CPUS_NAMED 8 /* a line names those with most losses; the others are summed */
#define PROBES_NAMED 4 /* a line names the probes with most misses */

static uint64_t ring_bytes_per_cpu(const struct ftrace_scan *s)
{
	return (uint64_t)s->pages_per_cpu * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Returns, in MiB, the smallest power of two that is at least four times the bytes, but at most
 * 1024. */
static unsigned suggested_buffer_mb(uint64_t bytes)
{
	unsigned mb = 1;

	while (((uint64_t)mb << 20) < bytes * 4 && mb < 1024)
		mb *= 2;
	return mb;
}

void ring_losses_advise(const struct record_facts *f, uint64_t bytes, struct strbuf *b)
{
	unsigned mb = suggested_buffer_mb(bytes);

	if (f->from_words)
		strbuf_printf(b, "try -B %umb or fewer events", mb);
	else if (f->origin_unknown)
		strbuf_printf(b, "try -B %umb (buffer_size_kb: %u) or fewer events", mb, mb * 1024);
	else
		strbuf_printf(b, "try buffer_size_kb: %u in ftrace_config, or fewer events",
			      mb * 1024);
}

static int compare_cpu_losses(const void *a, const void *b)
{
	const struct cpu_loss *x = a, *y = b;

	if (x->events != y->events)
		return x->events < y->events ? 1 : -1;
	return x->cpu < y->cpu ? -1 : x->cpu > y->cpu;
}

static void put_losses_of_cpus(struct cpu_loss *l, size_t n, struct strbuf *b)
{
	char number[32];
	uint64_t rest = 0;
	size_t i;

	qsort(l, n, sizeof(*l), compare_cpu_losses);
	for (i = 0; i < n && i < CPUS_NAMED; i++)
		strbuf_printf(b, "%scpu%u %s", i ? ", " : "", l[i].cpu,
			      str_thousands(l[i].events, number));
	for (; i < n; i++)
		rest += l[i].events;
	if (rest)
		strbuf_printf(b, ", %zu other CPUs %s", n - CPUS_NAMED,
			      str_thousands(rest, number));
}

static void add_exact_ring_losses(const struct record_facts *f, struct losses *ret)
{
	char count[STR_COUNT_SIZE];
	const struct ftrace_scan *s = &f->scan->ftrace;
	_cleanup_(freep) struct cpu_loss *losses = NULL;
	struct loss *loss;
	char number[32];
	uint64_t sum = 0;
	size_t n;

	if (ftrace_scan_losses(s, &losses, &n) || !n)
		return;
	for (size_t i = 0; i < n; i++)
		sum += losses[i].events;
	loss = losses_add(ret, "kernel rings", sum, "events");
	strbuf_printf(&loss->text, "%s (", str_count(sum, "event", count));
	put_losses_of_cpus(losses, n, &loss->text);
	if (s->pages_per_cpu)
		strbuf_printf(&loss->text, "; ring %s a CPU",
			      str_bytes(ring_bytes_per_cpu(s), number));
	strbuf_putc(&loss->text, ')');
	ring_losses_advise(f, ring_bytes_per_cpu(s), &loss->advice);
}

/* Reports what the rings lost, by their final counters. If the trace lacks these, the bundles give
 * a lower limit: earlier counters lack later losses, and include those of earlier files of a
 * rotation. */
static void add_ring_losses(const struct record_facts *f, struct losses *ret)
{
	char count[STR_COUNT_SIZE], places[STR_COUNT_SIZE];
	const struct ftrace_scan *s = &f->scan->ftrace;
	uint64_t least = MAX(MAX(s->counted_losses, s->holes.counted), s->bundles_after_loss);
	struct ring_overwrites overwrites;
	struct loss *loss;

	if (ftrace_scan_has_rings(s) && !record_is_end_missing(f)) {
		add_exact_ring_losses(f, ret);
		return;
	}
	if (!s->bundles_after_loss || ftrace_scan_overwrites(s, &overwrites))
		return;
	loss = losses_add(ret, "kernel rings", least, "events");
	strbuf_printf(&loss->text, "at least %s, in %s", str_count(least, "event", count),
		      str_count(s->bundles_after_loss, "place", places));
	ring_losses_advise(f, ring_bytes_per_cpu(s), &loss->advice);
}

/* Appends why sub-buffers could not be parsed, with the number of each reason if it is known. */
static void put_parse_errors(const struct ftrace_scan *s, struct strbuf *b)
{
	const char *separator = ": ";
	char number[32];

	for (unsigned i = 0; i <= FTRACE_STATUSES; i++) {
		if (i == FTRACE_STATUS_OK || (!s->statuses[i] && !(s->reported_statuses & 1u << i)))
			continue;
		strbuf_printf(b, "%s%s", separator, ftrace_status_words(i));
		if (s->statuses[i])
			strbuf_printf(b, " (%s)", str_thousands(s->statuses[i], number));
		separator = ", ";
	}
}

static void add_bad_pages(const struct record_facts *f, struct losses *ret)
{
	const struct ftrace_scan *s = &f->scan->ftrace;
	struct loss *loss;
	char number[32];

	if (!s->bad_pages && !(s->reported_statuses & ~(1u << FTRACE_STATUS_OK)))
		return;
	loss = losses_add(ret, "kernel rings", s->bad_pages, "pages");
	if (s->bad_pages)
		strbuf_printf(&loss->text, "%s ", str_thousands(s->bad_pages, number));
	strbuf_puts(&loss->text, "sub-buffers that could not be parsed completely");
	put_parse_errors(s, &loss->text);
}

static int compare_probe_misses(const void *a, const void *b)
{
	const struct probe_counts *x = a, *y = b;

	if (x->misses != y->misses)
		return x->misses < y->misses ? 1 : -1;
	return strcmp(x->name, y->name);
}

static void put_missed_probes(const struct ftrace_scan *s, struct strbuf *b)
{
	_cleanup_(freep) struct probe_counts *l = malloc((s->n_probes + 1) * sizeof(*l));
	char number[32];
	size_t n = 0;

	for (size_t i = 0; l && i < s->n_probes; i++)
		if (s->probes[i].misses)
			l[n++] = s->probes[i];
	if (!n)
		return;
	qsort(l, n, sizeof(*l), compare_probe_misses);
	for (size_t i = 0; i < n && i < PROBES_NAMED; i++)
		strbuf_printf(b, "%s%s %s", i ? ", " : " (", l[i].name,
			      str_thousands(l[i].misses, number));
	if (n > PROBES_NAMED)
		strbuf_printf(b, ", and %zu other%s", n - PROBES_NAMED,
			      n == PROBES_NAMED + 1 ? "" : "s");
	strbuf_putc(b, ')');
}

static void add_probe_misses(const struct record_facts *f, struct losses *ret)
{
	char count[STR_COUNT_SIZE];
	const struct ftrace_scan *s = &f->scan->ftrace;
	struct loss *loss;
	uint64_t sum = 0;

	for (size_t i = 0; i < s->n_probes; i++)
		sum += s->probes[i].misses;
	sum = MAX(sum, s->kprobe_misses);
	if (!sum)
		return;
	loss = losses_add(ret, "probes", sum, "hits");
	strbuf_printf(&loss->text, "hit %s without recording an event",
		      str_count(sum, "time", count));
	put_missed_probes(s, &loss->text);
	strbuf_puts(&loss->text, ": the kernel disables probes in some contexts");
}

/* Adds a loss for each change that another process made. The number of events is unknown. */
static void add_foreign_changes(const struct record_facts *f, struct losses *ret)
{
	const struct name_list *l = &f->scan->ftrace.foreign;

	for (size_t i = 0; i < l->n; i++)
		strbuf_printf(
			&losses_add(ret, "kernel rings", 0, NULL)->text,
			"another process interfered with the recording (%s): events are missing",
			l->names[i]);
}

/* Adds the times in which nothing was recorded because the recorder restarted. */
static void add_session_gaps(const struct record_facts *f, struct losses *ret)
{
	const struct trace_scan *s = f->scan;
	char count[STR_COUNT_SIZE];

	if (s->session_gaps)
		strbuf_printf(&losses_add(ret, "recorder", s->session_gaps, "restarts")->text,
			      "%s, nothing recorded for %.3f s",
			      str_count(s->session_gaps, "restart", count),
			      (double)s->session_gaps_ns / 1e9);
}

/* Collects what the kernel lost: events that a ring overwrote or had no room for, sub-buffers that
 * could not be parsed, probes that were hit without recording. */
static void ring_losses_collect(const struct record_facts *f, struct losses *ret)
{
	add_ring_losses(f, ret);
	add_bad_pages(f, ret);
	add_probe_misses(f, ret);
	add_foreign_changes(f, ret);
	add_session_gaps(f, ret);
}

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
	static const char tracks[] = "counter tracks", dropped[] = "dropped: too many tracks";

	add_counted_loss(ret, "journal", s->journal_dropped, "lines",
			 "dropped: they arrived faster than they were recorded");
	add_counted_loss(ret, "journal", s->journal_failed, "lines", "could not be read");
	for (size_t i = 0; i < s->n_refused; i++)
		add_counted_loss(ret, s->refused[i].source, s->refused[i].tracks, tracks, dropped);
	add_counted_loss(ret, "processes", s->refused_tracks, tracks, dropped);
	for (size_t i = 0; i < s->n_counted; i++) {
		if (s->counted[i].is_limit) /* a note of the summary */
			continue;
		strbuf_printf(
			&losses_add(ret, s->counted[i].family, s->counted[i].n, "counts")->text,
			"%s %s", str_thousands(s->counted[i].n, number), s->counted[i].what);
	}
}

static void add_perf_losses(const struct record_facts *f, struct losses *ret)
{
	char count[STR_COUNT_SIZE];
	uint64_t n = f->scan->sources.perf_dropped;
	const Pb__PerfEventConfig *c = config_source_perf(f->config);
	uint64_t hz = c && c->timebase ? c->timebase->frequency : 0;
	struct loss *loss;

	if (!n)
		return;
	loss = losses_add(ret, "rings of call stacks", n, "records");
	strbuf_printf(&loss->text, "%s dropped: the ring was full", str_count(n, "record", count));
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
	bool some_uncounted; /* some writers do not report how many they dropped */
	uint64_t corrupt; /* invalid chunks */
	uint64_t overwritten; /* reported by the service: the central buffer wrapped */
	uint64_t other; /* reason unknown, or also in the counters of the buffer */
	int32_t pid; /* pid of the last writer with a loss */
};

static void add_gaps_of_sequence(void *ctx, const struct sequence *s)
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
	char count[STR_COUNT_SIZE];
	uint64_t n = MAX(aborted, g->packets);
	bool or_more = g->some_uncounted || aborted > g->packets;
	struct loss *loss;

	if (!n)
		return;
	loss = losses_add(ret, "shared memory", n, "packets");
	strbuf_printf(&loss->text, "%s%s dropped: the buffer was full",
		      str_count(n, "packet", count), or_more ? " or more" : "");
	if (g->pid)
		strbuf_printf(&loss->text, " (written by pid %d)", g->pid);
	strbuf_puts(&loss->advice,
		    "try a config with producers { producer_name: \"...\" shm_size_kb: ... }");
}

/* ---- the central buffer ---- */

#define SHORT_S 0.1 /* a shorter time without events at the start or the end is not mentioned */

/* Returns true if the kernel events are in this buffer, as far as the config shows. */
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

/* Appends when the events begin, for a buffer whose oldest data was overwritten. The set-up time of
 * the data sources is not a loss. */
static void put_late_begin_of_data(const struct record_facts *f, size_t buffer, struct strbuf *b)
{
	const struct trace_scan *s = f->scan;
	double begin = record_seconds_at(s, s->ftrace.first_ns);

	if (s->started_ns && has_events(f, buffer) && begin - record_set_up_seconds(s) >= SHORT_S)
		strbuf_printf(b, "; the events begin %.1f s after the start", begin);
}

/* Appends when the events end, for a buffer that discarded the newest data. */
static void put_early_end_of_data(const struct record_facts *f, size_t buffer, struct strbuf *b)
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

static void append_buffer_size_advice(const struct record_facts *f, uint64_t needed,
				      struct strbuf *b)
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
	put_late_begin_of_data(f, i, &loss->text);
	append_buffer_size_advice(f, s->bytes_written, &loss->advice);
}

/* Returns the size that would have held the discarded chunks as well, if they were like the
 * others. */
static uint64_t sufficient_buffer_size(const struct buffer_stats *s)
{
	uint64_t chunk = s->chunks_written ? s->bytes_written / s->chunks_written : 0;
	uint64_t discarded = MIN(s->chunks_discarded, UINT32_MAX);

	return MAX(s->size * 2, s->size + discarded * MIN(chunk, LARGEST_CHUNK));
}

static void add_buffer_losses(const struct record_facts *f, size_t i, const struct buffer_stats *s,
			      struct losses *ret)
{
	char count[STR_COUNT_SIZE];

	/* The chunk of a patch may have been overwritten; that loss is reported separately. */
	bool had_no_room = s->bytes_overwritten || s->chunks_discarded;
	uint64_t violations = s->abi_violations + (had_no_room ? 0 : s->patches_failed);
	struct loss *loss;
	char number[32];

	if (s->bytes_overwritten && !config_triggers_end_ring(f->config))
		add_overwritten(f, i, s, ret);
	if (s->chunks_discarded) {
		loss = add_loss_of_buffer(f, i, s->size, s->chunks_discarded, "chunks", ret);
		strbuf_printf(&loss->text, "full: discarded the newest %s",
			      str_count(s->chunks_discarded, "chunk", count));
		put_early_end_of_data(f, i, &loss->text);
		append_buffer_size_advice(f, sufficient_buffer_size(s), &loss->advice);
	}
	if (s->patches_failed && s->chunks_discarded) {
		loss = add_loss_of_buffer(f, i, s->size, s->patches_failed, "packets", ret);
		strbuf_printf(&loss->text, "%s incomplete because chunks were discarded",
			      str_count(s->patches_failed, "packet", count));
	}
	if (s->abi_violations && s->size < LARGEST_CHUNK) {
		loss = add_loss_of_buffer(f, i, s->size, s->abi_violations, "chunks", ret);
		strbuf_printf(&loss->text, "too small for %s",
			      str_count(s->abi_violations, "chunk", count));
		append_buffer_size_advice(f, LARGEST_CHUNK, &loss->advice);
	} else if (violations) {
		loss = add_loss_of_buffer(f, i, s->size, violations, "packets", ret);
		strbuf_printf(&loss->text, "packets that violated the protocol: %s",
			      str_thousands(violations, number));
	}
}

/* Reports counters of the whole service. Their growth may belong to another session. */
static void add_data_refused_by_service(const struct record_facts *f, const struct service_stats *s,
					struct losses *ret)
{
	char count[STR_COUNT_SIZE], more[STR_COUNT_SIZE];
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
		      "rejected during the recording, from this or another session: %s, %s",
		      str_count(chunks, "chunk", count), str_count(patches, "patch", more));
}

/* ---- producers ---- */

/* Returns true if the departure is a loss. Programs that trace themselves disconnect normally; a
 * daemon does not. */
static bool departure_is_loss(const struct departure_stats *d)
{
	return str_starts(d->source, "linux.");
}

static bool are_departures_at_once(const struct departure_stats *a, const struct departure_stats *b)
{
	return departure_is_loss(a) && departure_is_loss(b) && a->pid == b->pid &&
	       !strcmp(a->producer, b->producer) &&
	       (a->gone_ns > b->gone_ns ? a->gone_ns - b->gone_ns : b->gone_ns - a->gone_ns) <
		       SAME_MOMENT_NS;
}

static bool is_first_departure(const struct service_stats *s, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (are_departures_at_once(&s->departures[k], &s->departures[i]))
			return false;
	return departure_is_loss(&s->departures[i]);
}

static void put_departure(const struct record_facts *f, const struct service_stats *s, size_t i,
			  struct losses *ret)
{
	const struct departure_stats *d = &s->departures[i];
	struct strbuf *b = &losses_add(ret, "", d->times, "producers")->text;
	const char *separator = " from ";

	strbuf_printf(b, "%s (pid %d) disconnected", d->producer, d->pid);
	if (f->scan->started_ns && d->gone_ns > f->scan->started_ns)
		strbuf_printf(b, " %.1f s after the start",
			      (double)(d->gone_ns - f->scan->started_ns) / 1e9);
	if (d->times > 1)
		strbuf_printf(b, " (most recent of %u disconnections)", d->times);
	strbuf_puts(b, ": uncommitted data and ");
	if (d->back_ns > d->gone_ns)
		strbuf_printf(b, "the %.1f s until another producer replaced it are missing",
			      (double)(d->back_ns - d->gone_ns) / 1e9);
	else
		strbuf_puts(b, "everything later is missing");
	for (size_t k = i; k < s->n_departures; k++)
		if (are_departures_at_once(d, &s->departures[k])) {
			strbuf_printf(b, "%s%s", separator, s->departures[k].source);
			separator = ", ";
		}
}

static void add_departures(const struct record_facts *f, const struct service_stats *s,
			   struct losses *ret)
{
	for (size_t i = 0; s && i < s->n_departures; i++)
		if (is_first_departure(s, i))
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
		 "gaps between packets, for which the service reported no reason"},
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

/* Returns true if a ring buffer that is meant to wrap has wrapped. */
static bool has_ring_wrapped(const struct record_facts *f, const struct service_stats *s,
			     const struct gaps *g)
{
	bool overwritten = g->overwritten;

	for (size_t i = 0; s && i < s->n_buffers; i++)
		overwritten |= s->buffers[i].bytes_overwritten != 0;
	return overwritten && config_triggers_end_ring(f->config);
}

void losses_collect(const struct record_facts *f, struct losses *ret)
{
	const struct service_stats *s = record_find_stats(f);
	uint64_t packets = 0;
	struct gaps g = {0};
	size_t in_kernel;

	sequence_table_each(&f->scan->sequences, add_gaps_of_sequence, &g);
	ring_losses_collect(f, ret);
	in_kernel = ret->n;
	for (size_t i = 0; s && i < s->n_buffers; i++)
		packets += s->buffers[i].writer_packet_loss;
	add_shared_memory_loss(&g, packets, ret);
	for (size_t i = 0; s && i < s->n_buffers; i++)
		add_buffer_losses(f, i, &s->buffers[i], ret);
	if (s)
		add_data_refused_by_service(f, s, ret);
	else if (g.overwritten && !config_triggers_end_ring(f->config))
		strbuf_puts(&losses_add(ret, "central buffer", 0, NULL)->text,
			    "the oldest data was overwritten");
	add_other_losses(f, s, &g, ret->n > in_kernel || has_ring_wrapped(f, s, &g), ret);
	add_polled_losses(f, ret);
	add_perf_losses(f, ret);
}
