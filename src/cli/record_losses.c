// SPDX-License-Identifier: Apache-2.0
/*
 *	kernel ring  --------->  shared memory  --------->  central buffer  --------->  file
 *	FtraceStats, bundles     writer_packet_loss,        bytes_overwritten,
 *	                         gaps with a reason         chunks_discarded, ...
 */

#include "cli/record_losses.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "cli/trigger_text.h"

#define CPUS_NAMED 8 /* in a line, the worst; the others are summed up */
#define PROBES_NAMED 4 /* likewise */
#define LARGEST_CHUNK 65536u /* a page of shared memory, of the largest that producers may have */

/* ---- kernel rings ---- */

static uint64_t ring_bytes(const struct ftrace_scan *s)
{
	return (uint64_t)s->pages_per_cpu * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* The next power of two above four times as much, in MiB. */
static unsigned larger_mb(uint64_t bytes)
{
	unsigned mb = 1;

	while (((uint64_t)mb << 20) < bytes * 4 && mb < 1024)
		mb *= 2;
	return mb;
}

static void advise_ring(const struct record_facts *f, struct strbuf *b)
{
	unsigned mb = larger_mb(ring_bytes(&f->scan->ftrace));

	if (f->from_words)
		strbuf_printf(b, "; try -B %umb or fewer events\n", mb);
	else
		strbuf_printf(b, "; try buffer_size_kb: %u in ftrace_config, or fewer events\n",
			      mb * 1024);
}

static int worst_first(const void *a, const void *b)
{
	const struct cpu_loss *x = a, *y = b;

	if (x->events != y->events)
		return x->events < y->events ? 1 : -1;
	return x->cpu < y->cpu ? -1 : x->cpu > y->cpu;
}

static void tell_cpus(struct cpu_loss *l, size_t n, struct strbuf *b)
{
	char number[32];
	uint64_t rest = 0;
	size_t i;

	qsort(l, n, sizeof(*l), worst_first);
	for (i = 0; i < n && i < CPUS_NAMED; i++)
		strbuf_printf(b, "%scpu%u %s", i ? ", " : "", l[i].cpu,
			      str_thousands(l[i].events, number));
	for (; i < n; i++)
		rest += l[i].events;
	if (rest)
		strbuf_printf(b, ", %zu other CPUs %s", n - CPUS_NAMED,
			      str_thousands(rest, number));
}

static size_t exact_ring_losses(const struct record_facts *f, struct strbuf *b)
{
	const struct ftrace_scan *s = &f->scan->ftrace;
	_cleanup_(freep) struct cpu_loss *losses = NULL;
	char number[32];
	uint64_t sum = 0;
	size_t n;

	if (ftrace_scan_losses(s, &losses, &n) || !n)
		return 0;
	for (size_t i = 0; i < n; i++)
		sum += losses[i].events;
	strbuf_printf(b, "kernel rings: %s events (", str_thousands(sum, number));
	tell_cpus(losses, n, b);
	if (s->pages_per_cpu)
		strbuf_printf(b, "; ring %s a CPU", str_bytes(ring_bytes(s), number));
	strbuf_putc(b, ')');
	advise_ring(f, b);
	return 1;
}

/* Without the counters of the end, the bundles say where something is missing. */
static size_t ring_losses(const struct record_facts *f, struct strbuf *b)
{
	const struct ftrace_scan *s = &f->scan->ftrace;
	char number[32];

	if (ftrace_scan_has_rings(s))
		return exact_ring_losses(f, b);
	if (!s->bundles_after_loss)
		return 0;
	strbuf_printf(b, "kernel rings: at least %s events, in %llu places",
		      str_thousands(MAX(s->counted_losses, s->bundles_after_loss), number),
		      (unsigned long long)s->bundles_after_loss);
	advise_ring(f, b);
	return 1;
}

/* The reasons, each with its number where that is known. */
static void tell_statuses(const struct ftrace_scan *s, struct strbuf *b)
{
	const char *separator = ": ";
	char number[32];

	for (unsigned i = 0; i <= FTRACE_STATUSES; i++) {
		if (i == FTRACE_STATUS_OK || (!s->statuses[i] && !(s->told_statuses & 1u << i)))
			continue;
		strbuf_printf(b, "%s%s", separator, ftrace_status_words(i));
		if (s->statuses[i])
			strbuf_printf(b, " (%s)", str_thousands(s->statuses[i], number));
		separator = ", ";
	}
}

static size_t bad_pages(const struct record_facts *f, struct strbuf *b)
{
	const struct ftrace_scan *s = &f->scan->ftrace;
	char number[32];

	if (!s->bad_pages && !(s->told_statuses & ~(1u << FTRACE_STATUS_OK)))
		return 0;
	strbuf_puts(b, "kernel rings: ");
	if (s->bad_pages)
		strbuf_printf(b, "%s ", str_thousands(s->bad_pages, number));
	strbuf_puts(b, "pages that could not be read to their end");
	tell_statuses(s, b);
	strbuf_putc(b, '\n');
	return 1;
}

static int more_misses_first(const void *a, const void *b)
{
	const struct probe_loss *x = a, *y = b;

	if (x->misses != y->misses)
		return x->misses < y->misses ? 1 : -1;
	return strcmp(x->name, y->name);
}

static void tell_probes(const struct ftrace_scan *s, struct strbuf *b)
{
	_cleanup_(freep) struct probe_loss *l = malloc((s->n_probes + 1) * sizeof(*l));
	char number[32];

	if (!l || !s->n_probes)
		return;
	memcpy(l, s->probes, s->n_probes * sizeof(*l));
	qsort(l, s->n_probes, sizeof(*l), more_misses_first);
	for (size_t i = 0; i < s->n_probes && i < PROBES_NAMED; i++)
		strbuf_printf(b, "%s%s %s", i ? ", " : " (", l[i].name,
			      str_thousands(l[i].misses, number));
	if (s->n_probes > PROBES_NAMED)
		strbuf_printf(b, ", and %zu others", s->n_probes - PROBES_NAMED);
	strbuf_putc(b, ')');
}

static size_t probe_misses(const struct record_facts *f, struct strbuf *b)
{
	const struct ftrace_scan *s = &f->scan->ftrace;
	uint64_t sum = 0;
	char number[32];

	for (size_t i = 0; i < s->n_probes; i++)
		sum += s->probes[i].misses;
	sum = MAX(sum, s->kprobe_misses);
	if (!sum)
		return 0;
	strbuf_printf(b, "probes: passed %s times without an event", str_thousands(sum, number));
	tell_probes(s, b);
	strbuf_puts(b, ": they were hit where they may not be used\n");
	return 1;
}

/* ---- what is polled ---- */

static size_t journal_lines(const struct record_facts *f, struct strbuf *b)
{
	char number[32];

	if (!f->scan->sources.journal_dropped)
		return 0;
	strbuf_printf(b, "journal: %s lines, which came faster than they are recorded\n",
		      str_thousands(f->scan->sources.journal_dropped, number));
	return 1;
}

static size_t refused_tracks(const struct record_facts *f, struct strbuf *b)
{
	char number[32];

	if (!f->scan->sources.refused_tracks)
		return 0;
	strbuf_printf(b, "processes: %s counter tracks, which there was no room for\n",
		      str_thousands(f->scan->sources.refused_tracks, number));
	return 1;
}

static size_t refused_counters(const struct record_facts *f, struct strbuf *b)
{
	const struct source_scan *s = &f->scan->sources;
	char number[32];

	for (size_t i = 0; i < s->n_refused; i++)
		strbuf_printf(b, "%s: %s counter tracks, which there was no room for\n",
			      s->refused[i].source, str_thousands(s->refused[i].tracks, number));
	return s->n_refused;
}

/* ---- shared memory, and gaps in general ---- */

struct gaps {
	uint64_t writer; /* told by the writer: it found no room */
	uint64_t corrupt; /* chunks that made no sense */
	uint64_t overwritten; /* told by the service: the central buffer went round */
	uint64_t other; /* reason unknown, or told by the buffer's counters as well */
	int32_t pid; /* of the writer with the last one */
};

static void sum_gaps(void *ctx, const struct sequence *s)
{
	struct gaps *g = ctx;
	uint64_t writer = MAX(s->by_reason[GAP_WRITER_ABORT], s->by_reason[GAP_SMB_FULL]);
	uint64_t corrupt = s->by_reason[GAP_CHUNK_CORRUPTED];

	g->writer += writer;
	g->corrupt += corrupt;
	g->overwritten += s->by_reason[GAP_OVERWRITE];
	g->other += s->gaps - MIN(s->gaps, writer + corrupt);
	if (writer)
		g->pid = s->pid;
}

static size_t shared_memory(const struct gaps *g, uint64_t packets, struct strbuf *b)
{
	char number[32];

	if (!packets && !g->writer)
		return 0;
	strbuf_printf(b, "shared memory: %s packets found no room",
		      str_thousands(MAX(packets, g->writer), number));
	if (g->pid)
		strbuf_printf(b, " (written by pid %d)", g->pid);
	strbuf_puts(b,
		    "; try a config with producers { producer_name: \"...\" shm_size_kb: ... }\n");
	return 1;
}

/* ---- the central buffer ---- */

/* How late the trace begins, for what was overwritten was the oldest. */
static double seconds_late(const struct trace_scan *s)
{
	if (!s->started_ns || s->ftrace.first_ns <= s->started_ns)
		return 0;
	return (double)(s->ftrace.first_ns - s->started_ns) / 1e9;
}

static void name_buffer(const struct record_facts *f, size_t i, uint64_t size, struct strbuf *b)
{
	const char *name = i < f->config->n_buffers ? f->config->buffers[i]->name : NULL;
	char number[32];

	strbuf_puts(b, "central buffer");
	if (name && *name)
		strbuf_printf(b, " '%s'", name);
	else if (f->config->n_buffers > 1)
		strbuf_printf(b, " %zu", i);
	strbuf_printf(b, " (%s): ", str_bytes(size, number));
}

static void advise_buffer(const struct record_facts *f, uint64_t needed, struct strbuf *b)
{
	unsigned mb = 1;

	while (((uint64_t)mb << 20) < needed && mb < 2048)
		mb *= 2;
	if (f->from_words)
		strbuf_printf(b, "; try -b %umb\n", mb);
	else
		strbuf_printf(b, "; try size_kb: %u\n", mb * 1024);
}

static size_t one_buffer(const struct record_facts *f, size_t i, const struct buffer_stats *s,
			 struct strbuf *b)
{
	char number[32];
	size_t n = 0;

	if (s->bytes_overwritten && !triggers_end_a_ring(f->config)) {
		name_buffer(f, i, s->size, b);
		strbuf_printf(b, "the oldest %s were overwritten",
			      str_bytes(s->bytes_overwritten, number));
		if (seconds_late(f->scan) >= 0.1)
			strbuf_printf(b, ", the events begin %.1f s late", seconds_late(f->scan));
		advise_buffer(f, s->bytes_written, b);
		n++;
	}
	if (s->chunks_discarded) {
		name_buffer(f, i, s->size, b);
		strbuf_printf(b, "full, the newest %s chunks were discarded",
			      str_thousands(s->chunks_discarded, number));
		advise_buffer(f, s->size * 2, b);
		n++;
	}
	if (s->abi_violations && s->size < LARGEST_CHUNK) {
		name_buffer(f, i, s->size, b);
		strbuf_printf(b, "too small for %s chunks",
			      str_thousands(s->abi_violations, number));
		advise_buffer(f, LARGEST_CHUNK, b);
		n++;
	} else if (s->patches_failed || s->abi_violations) {
		name_buffer(f, i, s->size, b);
		strbuf_printf(b, "packets that broke the rules of the protocol: %s\n",
			      str_thousands(s->patches_failed + s->abi_violations, number));
		n++;
	}
	return n;
}

/* Counters of the whole service: what they grew by may be another session's. */
static size_t refused_by_service(const struct record_facts *f, const struct service_stats *s,
				 struct strbuf *b)
{
	uint64_t chunks, patches;

	if (!f->before)
		return 0;
	chunks = s->chunks_discarded - MIN(s->chunks_discarded, f->before->chunks_discarded);
	patches = s->patches_discarded - MIN(s->patches_discarded, f->before->patches_discarded);
	if (!chunks && !patches)
		return 0;
	strbuf_printf(b,
		      "service: refused meanwhile, of this or another session: %llu chunks, %llu "
		      "patches\n",
		      (unsigned long long)chunks, (unsigned long long)patches);
	return 1;
}

/* ---- all ---- */

/* Ours is given up when the time is over meanwhile, and the service makes one of its own. */
static bool flush_failed(const struct record_facts *f, const struct service_stats *s)
{
	if (s && (s->final_flush_failed || s->final_flush_succeeded))
		return s->final_flush_failed;
	return f->flush_failed;
}

static size_t others(const struct record_facts *f, const struct service_stats *s,
		     const struct gaps *g, bool explained, struct strbuf *b)
{
	size_t n = 0;

	if (g->corrupt) {
		strbuf_printf(b, "shared memory: chunks that made no sense: %llu\n",
			      (unsigned long long)g->corrupt);
		n++;
	}
	if (s && s->invalid_packets) {
		strbuf_printf(b, "service: packets that were not valid: %llu\n",
			      (unsigned long long)s->invalid_packets);
		n++;
	}
	if (s && s->filter_errors) {
		strbuf_printf(b, "service: packets that the trace filter could not read: %llu\n",
			      (unsigned long long)s->filter_errors);
		n++;
	}
	if (g->other && !explained) {
		strbuf_printf(b,
			      "gaps between packets, for no reason that the service tells: %llu\n",
			      (unsigned long long)g->other);
		n++;
	}
	for (size_t i = 0; f->gone && i < f->gone->n; i++, n++)
		strbuf_printf(b, "%s went away: what it had not handed over, and all after\n",
			      f->gone->names[i]);
	if (f->file_is_cut) {
		strbuf_puts(b, "file: the rest of the trace, which found no room\n");
		n++;
	}
	if (flush_failed(f, s)) {
		strbuf_puts(b,
			    "the final flush did not finish: the newest events may be missing\n");
		n++;
	}
	return n;
}

/* Did a ring go round that is there to do so? */
static bool went_round(const struct record_facts *f, const struct service_stats *s,
		       const struct gaps *g)
{
	bool overwritten = g->overwritten;

	for (size_t i = 0; s && i < s->n_buffers; i++)
		overwritten |= s->buffers[i].bytes_overwritten != 0;
	return overwritten && triggers_end_a_ring(f->config);
}

size_t record_losses(const struct record_facts *f, struct strbuf *lines)
{
	const struct service_stats *s = f->stats	     ? f->stats
					: f->scan->has_stats ? &f->scan->stats
							     : NULL;
	uint64_t packets = 0;
	struct gaps g = {0};
	size_t n, in_kernel;

	sequence_table_each(&f->scan->sequences, sum_gaps, &g);
	n = in_kernel = ring_losses(f, lines) + bad_pages(f, lines) + probe_misses(f, lines);
	for (size_t i = 0; s && i < s->n_buffers; i++)
		packets += s->buffers[i].writer_packet_loss;
	n += shared_memory(&g, packets, lines);
	for (size_t i = 0; s && i < s->n_buffers; i++)
		n += one_buffer(f, i, &s->buffers[i], lines);
	if (s) {
		n += refused_by_service(f, s, lines);
	} else if (g.overwritten && !triggers_end_a_ring(f->config)) {
		strbuf_puts(lines, "central buffer: the oldest data was overwritten\n");
		n++;
	}
	n += others(f, s, &g, n > in_kernel || went_round(f, s, &g), lines);
	n += journal_lines(f, lines);
	n += refused_counters(f, lines);
	return n + refused_tracks(f, lines);
}
