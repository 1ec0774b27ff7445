/* SPDX-License-Identifier: Apache-2.0 */
/*
 *	dat_file_read          where everything is
 *	tracing_data_compile   formats -> event table
 *	for each buffer        a sequence, an encoder, and for each CPU a dat_pages
 *	    the CPU whose next page is the earliest -> page_encode_for_targets -> bundle
 *	the rest               names of threads, counters of the rings, the machine
 */
#include "import/trace_dat/dat_import.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/text/str.h"
#include "ftrace/events/page_encode.h"
#include "ftrace/format/unaligned.h"
#include "ftrace/session/ftrace_stats.h"
#include "import/file/trace_facts.h"
#include "import/formats/thread_names.h"
#include "import/trace_dat/dat_file.h"
#include "import/trace_dat/dat_pages.h"

#define CLOCK_REALTIME_ID 1 /* of BuiltinClock */

struct dat_stream {
	struct cpu_stream cpu;
	struct dat_pages pages;
	bool has_page;
	uint64_t time; /* of the page's first record */
};

struct dat_importer {
	const struct dat_file *file;
	const char *buffer; /* NULL: all */
	struct event_table table;
	struct symbol_table symbols;
	struct ring_page_layout layout;
	struct metadata_events metadata; /* threads that started */
	struct pid_set started;
	struct trace_output *out;
	struct import_result *result;
	uint64_t first_ns; /* of the first page, in the trace; 0: there are no pages */
};

static struct pb_enc *begin_packet(void *ctx)
{
	return trace_sequence_begin(ctx);
}

static void end_packet(void *ctx)
{
	trace_sequence_end(ctx);
}

/* ---- threads that started ---- */

static void add_started_tasks(struct dat_importer *im)
{
	const struct clock_sync sync = {.clock = FTRACE_CLOCK_BOOT};
	struct metadata_batch batch;

	if (!metadata_take_batch(&im->metadata, &sync, UINT64_MAX, &batch))
		return;
	for (size_t i = 0; i < batch.n_tasks; i++)
		if (batch.tasks[i].kind == METADATA_TASK_NEW)
			pid_set_insert(&im->started, batch.tasks[i].tid);
	metadata_free_batch(&im->metadata);
}

/* ---- pages ---- */

static void read_page(struct dat_importer *im, struct dat_stream *s)
{
	int r = dat_pages_next(&s->pages);

	s->has_page = r > 0;
	if (s->has_page)
		s->time = load64(s->pages.page + im->layout.time_offset);
	else if (r == -EBADMSG)
		import_add_note(im->result, "the pages of CPU %u are damaged: skipped the rest",
				s->cpu.cpu);
	else if (r < 0)
		import_set_error(im->result, r, "out of memory");
}

/* Converts a time of the clock x86-tsc, in cycles, to ns. */
static uint64_t tsc_to_ns(const struct dat_tsc *tsc, uint64_t cycles)
{
	return (uint64_t)((unsigned __int128)cycles * tsc->multiplier >> tsc->shift) + tsc->offset;
}

/* Encodes a page record by record, with converted times. */
static void encode_tsc_page(struct dat_importer *im, struct page_encoder *t, struct dat_stream *s)
{
	enum ring_page_status status;
	struct ring_page page;
	struct ring_record r;

	status = ring_page_open(&page, &im->layout, s->pages.page, s->pages.page_size);
	if (page.lost)
		page_encode_add_lost(t, &s->cpu, page.lost_count);
	while (status == RING_PAGE_OK) {
		status = ring_page_next(&page, &r);
		if (status != RING_PAGE_OK)
			break;
		r.time = tsc_to_ns(&im->file->tsc, r.time);
		page_encode_record(t, &s->cpu, &r);
	}
	t->status_counts[status] += status != RING_PAGE_END;
}

/* Encodes pages of one CPU, until the bundle is full or another CPU's page is older. */
static void encode_pages_in_order(struct dat_importer *im, struct page_encoder *t,
				  struct dat_stream *s, bool is_tsc)
{
	uint64_t bytes = 0;

	while (s->has_page && bytes < BUNDLE_MAX_BYTES) {
		if (is_tsc)
			encode_tsc_page(im, t, s);
		else
			page_encode(t, &s->cpu, s->pages.page, s->pages.page_size);
		bytes += s->pages.page_size;
		read_page(im, s);
	}
	page_encode_end(t, &s->cpu);
	if (metadata_is_urgent(&im->metadata))
		add_started_tasks(im);
}

static struct dat_stream *find_oldest_stream(struct dat_stream *streams, size_t n)
{
	struct dat_stream *oldest = NULL;

	for (size_t i = 0; i < n; i++)
		if (streams[i].has_page && (!oldest || streams[i].time < oldest->time))
			oldest = &streams[i];
	return oldest;
}

static void add_bad_pages(struct dat_importer *im, const struct page_encoder *t)
{
	char count[STR_COUNT_SIZE];
	uint64_t n = 0;

	for (unsigned i = 0; i < RING_PAGE_STATUS_COUNT; i++)
		n += t->status_counts[i];
	if (n)
		import_add_note(im->result, "skipped damaged records in %s",
				str_count(n, "page", count));
	if (t->unknown)
		import_add_note(im->result, "skipped %s of events that the file does not describe",
				str_count(t->unknown, "record", count));
	im->result->n_unread += t->unknown + n;
}

/* Encodes the pages of all streams in the order of time. Each stream has read its first page.
 * Returns the error of the result. */
static int encode_streams(struct dat_importer *im, struct page_encoder *t,
			  struct dat_stream *streams, size_t n, bool is_tsc)
{
	struct dat_stream *s;

	while (!im->result->error && !im->out->error && (s = find_oldest_stream(streams, n)))
		encode_pages_in_order(im, t, s, is_tsc);
	for (size_t i = 0; i < n; i++) {
		im->result->n_events += streams[i].cpu.events;
		im->result->n_lost += streams[i].cpu.lost;
	}
	add_bad_pages(im, t);
	return im->result->error;
}

/* ---- buffers ---- */

/* Returns a moment on both clocks, by which trace readers relate the clocks GLOBAL and LOCAL to
 * boot time. The file has none, so the times stay as they are: boot time is set equal to the
 * recorded clock. */
static struct clock_sync make_clock_sync(const struct dat_file *f, const char *clock,
					 uint64_t first)
{
	struct clock_sync sync = {.clock = FTRACE_CLOCK_GLOBAL, .ftrace_ns = MAX(first, 1ull)};

	if (!strcmp(clock, "boot") && !f->shift_ns)
		return (struct clock_sync){.clock = FTRACE_CLOCK_BOOT};
	if (!strcmp(clock, "local"))
		sync.clock = FTRACE_CLOCK_LOCAL;
	sync.boot_ns = sync.ftrace_ns + (uint64_t)f->shift_ns;
	return sync;
}

static const char *get_buffer_clock(const struct dat_file *f, const struct dat_buffer *b)
{
	return *b->clock ? b->clock : f->clock;
}

static bool has_tsc_times(const struct dat_file *f, const struct dat_buffer *b)
{
	return !strcmp(get_buffer_clock(f, b), "x86-tsc") && f->tsc.is_known;
}

/* Returns the time of the first page that one of the streams has, on the buffer's clock in ns; 0:
 * there is none. */
static uint64_t find_first_page_time(const struct dat_file *f, const struct dat_buffer *b,
				     const struct dat_stream *streams)
{
	uint64_t first = UINT64_MAX;

	for (size_t i = 0; i < b->n_cpus; i++)
		if (streams[i].has_page)
			first = MIN(first, streams[i].time);
	if (first == UINT64_MAX)
		return 0;
	return has_tsc_times(f, b) ? tsc_to_ns(&f->tsc, first) : first;
}

/* Stores the clock of the first buffer in the result. Adds a note if a further buffer has another
 * clock, or if the clock does not count ns. */
static void store_buffer_clock(struct dat_importer *im, const struct dat_buffer *b)
{
	const char *clock = get_buffer_clock(im->file, b);

	if (*im->result->clock && strcmp(im->result->clock, clock) != 0)
		import_add_note(im->result, "buffer %s uses the clock %s",
				*b->name ? b->name : "top", clock);
	else
		import_copy_text(im->result->clock, sizeof(im->result->clock), clock);
	if (!strcmp(clock, "counter") || (!strcmp(clock, "x86-tsc") && !has_tsc_times(im->file, b)))
		import_add_note(
			im->result, "the timestamps are not in ns: the clock %s counts %s", clock,
			*clock == 'c' ? "events"
				      : "cycles, and the file does not contain their frequency");
}

static void write_ring_stats(const struct dat_buffer *b, struct trace_sequence *s)
{
	struct ring_stats_all none = {.n = b->stats.n};
	struct ftrace_stats_packet p = {.all = &none, .instance = *b->name ? b->name : NULL};

	if (!b->stats.n)
		return;
	none.rings = calloc(b->stats.n, sizeof(*none.rings));
	if (!none.rings)
		return;
	for (size_t i = 0; i < b->stats.n; i++)
		none.rings[i].cpu = b->stats.rings[i].cpu;
	p.phase = FTRACE_STATS_START;
	ftrace_stats_write(&p, trace_sequence_begin(s));
	trace_sequence_end(s);
	p.phase = FTRACE_STATS_END;
	p.all = &b->stats;
	ftrace_stats_write(&p, trace_sequence_begin(s));
	trace_sequence_end(s);
	free(none.rings);
}

static int encode_buffer(struct dat_importer *im, const struct dat_buffer *b,
			 struct dat_stream *streams, struct trace_sequence *sequence)
{
	const struct bundle_output output = {begin_packet, end_packet, sequence};
	struct page_encoder *t;
	int r = page_encoder_new_with_output(&im->table, &im->layout, &output, &t);

	if (r)
		return import_set_error(im->result, r, "out of memory");
	t->sync = make_clock_sync(im->file, get_buffer_clock(im->file, b),
				  find_first_page_time(im->file, b, streams));
	if (im->symbols.n_functions)
		page_encoder_set_symbols(t, &im->symbols);
	t->ctx.metadata = &im->metadata;
	t->ctx.tids = &im->metadata.tids;
	r = encode_streams(im, t, streams, b->n_cpus, has_tsc_times(im->file, b));
	page_encoder_free(t);
	return r;
}

static void close_streams(const struct dat_buffer *b, struct dat_stream *streams)
{
	for (size_t i = 0; streams && i < b->n_cpus; i++)
		dat_pages_deinit(&streams[i].pages);
	free(streams);
}

/* Opens the pages of all CPUs, and reads the first page of each. Returns NULL after an error. */
static struct dat_stream *open_streams(struct dat_importer *im, const struct dat_buffer *b)
{
	struct dat_stream *streams = calloc(b->n_cpus + 1, sizeof(*streams));
	int r = streams ? 0 : -ENOMEM;

	im->layout.size = b->page_size;
	for (size_t i = 0; !r && i < b->n_cpus; i++) {
		streams[i].cpu.cpu = b->cpus[i].cpu;
		r = dat_pages_init(&streams[i].pages, im->file, b, &b->cpus[i]);
		if (!r)
			read_page(im, &streams[i]);
	}
	if (!r)
		return streams;
	import_set_error(im->result, r, "out of memory");
	close_streams(b, streams);
	return NULL;
}

static int import_buffer(struct dat_importer *im, const struct dat_buffer *b,
			 struct trace_sequence *sequence)
{
	struct dat_stream *streams = open_streams(im, b);
	int r;

	if (!streams)
		return im->result->error;
	if (find_first_page_time(im->file, b, streams))
		store_buffer_clock(im, b);
	r = encode_buffer(im, b, streams, sequence);
	write_ring_stats(b, sequence);
	close_streams(b, streams);
	return r;
}

static bool is_chosen_buffer(const struct dat_importer *im, const struct dat_buffer *b)
{
	return !im->buffer || !strcmp(im->buffer, *b->name ? b->name : "top");
}

static void find_first_time(struct dat_importer *im)
{
	for (size_t i = 0; i < im->file->n_buffers; i++) {
		const struct dat_buffer *b = &im->file->buffers[i];
		struct dat_stream *streams = is_chosen_buffer(im, b) ? open_streams(im, b) : NULL;
		uint64_t first = streams ? find_first_page_time(im->file, b, streams) : 0;

		if (first)
			first += (uint64_t)im->file->shift_ns;
		if (first && (!im->first_ns || first < im->first_ns))
			im->first_ns = first;
		close_streams(b, streams);
	}
}

/* ---- the whole ---- */

/* Writes a description of the machine, from a text like "Linux host 6.12.1 x86_64". */
static void write_machine(struct dat_importer *im, struct trace_sequence *s)
{
	struct recorded_machine m = {.n_cpus = im->result->n_cpus};
	char host[64];

	if (sscanf(im->file->machine, "%31s %63s %127s %63s", m.sysname, host, m.release,
		   m.machine) == 4)
		trace_facts_put_machine(s, &m);
}

/* Writes the first packet, by which readers relate the clocks of the buffers to that of the trace.
 * It has CLOCK_REALTIME only if the recorder has measured it. */
static void write_clocks(struct dat_importer *im, struct trace_sequence *s)
{
	const struct dat_file *f = im->file;
	uint64_t first = im->first_ns;

	if (first && f->has_date)
		trace_facts_put_clocks(s, first, CLOCK_REALTIME_ID,
				       first - (uint64_t)f->shift_ns + (uint64_t)f->date_ns);
	else if (first)
		trace_facts_put_clocks(s, first, 0, 0);
}

static void write_facts(struct dat_importer *im, struct trace_sequence *s)
{
	write_machine(im, s);
	if (im->file->described.saved_cmdlines && im->first_ns)
		thread_names_write(im->file->described.saved_cmdlines, &im->started, im->first_ns,
				   s);
	trace_facts_put_result(s, im->result);
}

static int prepare_decoder(struct dat_importer *im, struct dat_file *f)
{
	int r = tracing_data_compile(&f->described, &im->table, &im->symbols, im->result);

	if (!r)
		r = ring_page_layout_parse(f->described.header_page, &im->layout);
	if (!r && (metadata_init(&im->metadata) || pid_set_reserve(&im->started)))
		r = -ENOMEM;
	if (r)
		return import_set_error(im->result, r,
					r == -ENOMEM ? "out of memory"
						     : "the file is damaged: unknown page layout");
	metadata_set_complete_before(&im->metadata, &(struct clock_sync){0}, UINT64_MAX);
	return 0;
}

static int import_buffers(struct dat_importer *im)
{
	size_t n_chosen = 0, n_with_events = 0;
	int r = im->result->error;

	for (size_t i = 0; !r && i < im->file->n_buffers; i++) {
		const struct dat_buffer *b = &im->file->buffers[i];
		struct trace_sequence sequence = {.out = im->out, .id = 2 + (uint32_t)i};
		uint64_t before = im->result->n_events;

		if (!is_chosen_buffer(im, b))
			continue;
		n_chosen++;
		im->result->n_cpus = MAX(im->result->n_cpus, (uint32_t)b->n_cpus);
		r = import_buffer(im, b, &sequence);
		add_started_tasks(im);
		n_with_events += im->result->n_events > before;
	}
	if (!r && !n_chosen)
		return import_set_error(im->result, -ENOENT,
					"the file contains no buffer named '%.80s'", im->buffer);
	if (n_with_events > 1)
		import_add_note(
			im->result,
			"%zu buffers contain events, and an event recorded in several of them "
			"appears several times; --buffer NAME imports only one",
			n_with_events);
	return r;
}

static int import_file(struct dat_importer *im, struct dat_file *f, const uint8_t *data, size_t len)
{
	struct trace_sequence sequence = {.out = im->out, .id = 1};
	struct import_result *result = im->result;
	int r = dat_file_read(data, len, f, result);

	if (r)
		return r == -ENOMEM ? import_set_error(result, r, "out of memory") : r;
	im->file = f;
	snprintf(result->format, sizeof(result->format), "trace.dat version %.7s", f->head.version);
	if (*f->recorder)
		snprintf(result->recorder, sizeof(result->recorder), "trace-cmd %.50s",
			 f->recorder);
	r = prepare_decoder(im, f);
	if (!r) {
		find_first_time(im);
		write_clocks(im, &sequence);
		r = import_buffers(im);
	}
	if (!r && !result->n_events)
		import_add_note(result, "the file contains no events");
	if (!r)
		write_facts(im, &sequence);
	return r;
}

int dat_import(const uint8_t *data, size_t len, const char *buffer, struct trace_output *out,
	       struct import_result *result)
{
	struct dat_importer im = {.buffer = buffer, .out = out, .result = result};
	struct dat_file f = {0};
	int r = import_file(&im, &f, data, len);

	metadata_deinit(&im.metadata);
	pid_set_clear(&im.started);
	event_table_deinit(&im.table);
	symbol_table_deinit(&im.symbols);
	dat_file_deinit(&f);
	return r;
}
