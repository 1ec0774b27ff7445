/* SPDX-License-Identifier: Apache-2.0 */
/*
 *	file     head | ids | attributes | records | features
 *	stream   short head | records; attributes and features are records, too
 *
 *	record   a sample of a tracepoint   -> encoder of kernel events, in the order of the file
 *	         COMPRESSED                 -> zstd -> records
 *	         other samples, mappings, tasks -> record_queue.h -> sample_packets.h, in the order
 *	                                       of time
 */
#include "import/perf_data/perf_import.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/core/mem.h"
#include "base/text/str.h"
#include "ftrace/events/page_encode.h"
#include "ftrace/format/unaligned.h"
#include "import/file/trace_facts.h"
#include "import/perf_data/record_queue.h"
#include "import/perf_data/sample_packets.h"

/* Types of records that perf itself writes. */
enum {
	RECORD_ATTR = 64,
	RECORD_TRACING_DATA = 66,
	RECORD_BUILD_ID = 67,
	RECORD_FINISHED_ROUND = 68,
	RECORD_AUXTRACE = 71,
	RECORD_FEATURE = 80,
	RECORD_COMPRESSED = 81,
	RECORD_COMPRESSED2 = 83,
};

#define CLOCK_REALTIME_ID 1 /* of BuiltinClock */
#define RECORD_HEAD sizeof(struct perf_event_header)
#define STREAM_HEAD 16 /* magic, size */
#define FILE_HEAD 104
#define PERF_CPUS_MAX 4096
#define RAW_MAX 65536 /* bytes of a sample's record */
#define SEQUENCE_FACTS 1
#define SEQUENCE_EVENTS 2
#define SEQUENCE_SAMPLES 3

struct perf_importer {
	struct trace_output *out;
	struct import_result *result;
	struct perf_attrs attrs;
	struct perf_facts facts;
	struct record_queue queue;
	struct sample_packets samples;
	/* kernel events */
	struct event_table table;
	struct symbol_table symbols;
	struct page_encoder *encoder; /* owned; NULL until the first sample of a tracepoint */
	struct trace_sequence events;
	struct cpu_stream *cpus; /* owned: PERF_CPUS_MAX */
	struct cpu_stream *open; /* has the open bundle; NULL: none */
	/* compressed records */
	ZSTD_DStream *zstd; /* owned */
	uint8_t *unpacked; /* owned: records that are not complete yet */
	size_t n_unpacked, unpacked_cap;
	bool has_clocks; /* the first packet was written: see write_clocks() */
	uint64_t n_other; /* records of kinds that are not imported */
	int error; /* 0, -EBADMSG: the rest cannot be read, or -ENOMEM */
};

/* ---- clocks ---- */

/* Returns true if the file has the kernel's own events of this name. */
static bool records_event(const struct perf_attrs *a, const char *name)
{
	for (size_t i = 0; i < a->n_events; i++)
		if (!strcmp(a->events[i].name, name))
			return true;
	return false;
}

/* Writes the first packet, unless it is written already or the time `first` is 0. The times are
 * those of perf's clock, which counts as boot time. */
static void write_clocks(struct perf_importer *im, uint64_t first)
{
	struct trace_sequence s = {im->out, SEQUENCE_FACTS};

	if (im->has_clocks || !first)
		return;
	im->has_clocks = true;
	im->samples.first_ns = first;
	im->samples.has_newtask = records_event(&im->attrs, "task:task_newtask");
	im->samples.has_switches = records_event(&im->attrs, "sched:sched_switch");
	if (im->facts.has_clocks)
		trace_facts_put_clocks(&s, im->facts.clock_ns, CLOCK_REALTIME_ID,
				       im->facts.realtime_ns);
	else
		trace_facts_put_clocks(&s, first, 0, 0);
}

static void set_clock_name(struct perf_importer *im)
{
	static const struct {
		int32_t id;
		const char *name;
	} clocks[] = {{0, "realtime"}, {1, "mono"}, {4, "mono_raw"}, {7, "boot"}, {11, "tai"}};
	const struct perf_event_attr *a;
	const char *name = "perf";

	if (!im->attrs.n_events)
		return;
	a = &im->attrs.events->attr;
	for (unsigned i = 0; a->use_clockid && i < ARRAY_SIZE(clocks); i++)
		if (clocks[i].id == a->clockid)
			name = clocks[i].name;
	import_copy_text(im->result->clock, sizeof(im->result->clock), name);
}

/* ---- kernel events ---- */

static struct pb_enc *begin_event_packet(void *ctx)
{
	return trace_sequence_begin(ctx);
}

static void end_event_packet(void *ctx)
{
	trace_sequence_end(ctx);
}

/* Ends the open bundle, if there is one: no packet of another sequence may be written before. */
static void end_bundle(struct perf_importer *im)
{
	if (im->open)
		page_encode_end(im->encoder, im->open);
	im->open = NULL;
}

static int prepare_encoder(struct perf_importer *im)
{
	const struct bundle_output output = {begin_event_packet, end_event_packet, &im->events};
	/* Only the size is used: records do not come from pages. */
	const struct ring_page_layout layout = {.size = RAW_MAX};
	int r;

	if (im->encoder)
		return 0;
	r = tracing_data_compile(&im->facts.tracing, &im->table, &im->symbols, im->result);
	im->cpus = r ? NULL : calloc(PERF_CPUS_MAX, sizeof(*im->cpus));
	if (!r && !im->cpus)
		r = -ENOMEM;
	for (uint32_t i = 0; !r && i < PERF_CPUS_MAX; i++)
		im->cpus[i].cpu = i;
	return r ? r : page_encoder_new_with_output(&im->table, &layout, &output, &im->encoder);
}

/* Returns true if the sample can be a kernel event. */
static bool is_kernel_event(const struct perf_importer *im, const struct perf_sample *s)
{
	return im->facts.has_tracing && s->event->attr.type == PERF_TYPE_TRACEPOINT && s->raw &&
	       s->raw_len >= sizeof(uint16_t) && s->cpu < PERF_CPUS_MAX;
}

static void encode_kernel_event(struct perf_importer *im, const struct perf_sample *s)
{
	const struct ring_record r = {.time = s->time, .payload = s->raw, .len = s->raw_len};
	struct cpu_stream *cpu;

	im->error = prepare_encoder(im);
	if (im->error)
		return;
	write_clocks(im, s->time);
	cpu = &im->cpus[s->cpu];
	if (im->open != cpu)
		end_bundle(im);
	im->open = cpu;
	page_encode_record(im->encoder, cpu, &r);
}

/* ---- records ---- */

static void import_queued_record(void *ctx, uint64_t time, const uint8_t *record, size_t len)
{
	struct perf_importer *im = ctx;
	int r;

	if (time)
		write_clocks(im, time);
	r = im->error ? 0 : sample_packets_handle_record(&im->samples, time, record, len);
	if (r)
		im->error = r;
}

static void queue_record(struct perf_importer *im, uint64_t time, const uint8_t *record, size_t len)
{
	int r;

	end_bundle(im);
	r = record_queue_add(&im->queue, time, record, len);
	if (r < 0)
		im->error = r;
	else if (r > 0)
		import_add_note(
			im->result,
			"rounds in the file are too long to sort: some records are out of order");
}

/* Delivers the records of the rounds that are complete, or with is_last all records. Writes the
 * clocks first, at the first time in the queue, because records without a time (those that perf
 * itself made) come first and need to know when the recording began. */
static void end_round(struct perf_importer *im, bool is_last)
{
	end_bundle(im);
	for (size_t i = 0; !im->has_clocks && i < im->queue.n; i++)
		write_clocks(im, im->queue.records[i].time);
	if (is_last)
		record_queue_end(&im->queue);
	else
		record_queue_end_round(&im->queue);
}

static void import_sample(struct perf_importer *im, const uint8_t *record, size_t len)
{
	struct perf_sample s;
	bool is_event;

	if (!perf_sample_read(&im->attrs, record, len, &s)) {
		im->result->n_unread++;
		return;
	}
	s.event->n_samples++;
	is_event = is_kernel_event(im, &s);
	if (is_event)
		encode_kernel_event(im, &s);
	if (!is_event || s.callchain)
		queue_record(im, s.time, record, len);
}

/* Counts lost records. They are of the ring of a CPU, with all events that use it. */
static void count_lost_records(struct perf_importer *im, const uint8_t *record, size_t len,
			       size_t at)
{
	struct perf_record_end end = perf_record_end_read(&im->attrs, record, len);
	uint64_t n;

	if (len < at + sizeof(n))
		return;
	n = load64(record + at);
	im->result->n_lost += n;
	write_clocks(im, end.time);
	if (im->encoder && end.cpu < PERF_CPUS_MAX) {
		end_bundle(im);
		im->open = &im->cpus[end.cpu];
		page_encode_add_lost(im->encoder, im->open, n);
	} else {
		end_bundle(im);
		sample_packets_put_lost(&im->samples, &end, end.time, n);
	}
}

static void read_attr_record(struct perf_importer *im, const uint8_t *record, size_t len)
{
	struct perf_event_attr attr;
	struct byte_reader ids;
	size_t size;

	if (!perf_attr_read(record + RECORD_HEAD, len - RECORD_HEAD, &attr)) {
		im->error = -EBADMSG;
		return;
	}
	size = RECORD_HEAD + attr.size;
	ids = byte_reader_make(record + size, len - size);
	im->error = perf_attrs_add(&im->attrs, &attr, &ids, (len - size) / sizeof(uint64_t));
}

static void read_feature_record(struct perf_importer *im, const uint8_t *record, size_t len)
{
	uint64_t feature;

	if (len < RECORD_HEAD + sizeof(feature))
		return;
	feature = load64(record + RECORD_HEAD);
	if (feature >= PERF_FEATURES || feature == PERF_FEATURE_TRACING_DATA)
		return;
	if (perf_facts_read(&im->facts, &im->attrs, (unsigned)feature,
			    record + RECORD_HEAD + sizeof(feature),
			    len - RECORD_HEAD - sizeof(feature), im->result) == -ENOMEM)
		im->error = -ENOMEM;
}

/* Imports a record without the data that may follow it (import_trailing_data()). */
static void import_record(struct perf_importer *im, const uint8_t *record, size_t len)
{
	struct perf_event_header h;

	memcpy(&h, record, sizeof(h));
	switch (h.type) {
	case PERF_RECORD_SAMPLE:
		import_sample(im, record, len);
		break;
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
	case PERF_RECORD_COMM:
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
	case PERF_RECORD_SWITCH_CPU_WIDE:
		queue_record(im, perf_record_end_read(&im->attrs, record, len).time, record, len);
		break;
	case PERF_RECORD_LOST: /* u64 id, u64 lost */
		count_lost_records(im, record, len, RECORD_HEAD + sizeof(uint64_t));
		break;
	case PERF_RECORD_LOST_SAMPLES: /* u64 lost */
		count_lost_records(im, record, len, RECORD_HEAD);
		break;
	case PERF_RECORD_SWITCH:
		im->result->n_unread++;
		import_add_note(im->result,
				"context switches of single threads (--switch-events "
				"without -a) are not imported: they lack the next thread");
		break;
	case PERF_RECORD_THROTTLE:
		import_add_note(im->result, "the kernel throttled an event: samples are missing");
		break;
	case RECORD_FINISHED_ROUND:
		end_round(im, false);
		break;
	case RECORD_ATTR:
		read_attr_record(im, record, len);
		break;
	case RECORD_FEATURE:
		read_feature_record(im, record, len);
		break;
	case RECORD_BUILD_ID:
		if (perf_facts_read_build_id(&im->facts, record, len) == -ENOMEM)
			im->error = -ENOMEM;
		break;
	default:
		break;
	}
}

/* Imports the complete records at the beginning of the data. Returns their size in bytes. */
static size_t import_records(struct perf_importer *im, const uint8_t *data, size_t len,
			     bool is_unpacked);

/* ---- compressed records ---- */

static int decompress_next(struct perf_importer *im, ZSTD_inBuffer *in)
{
	ZSTD_outBuffer out;
	size_t r;

	if (array_reserve(&im->unpacked, &im->unpacked_cap, im->n_unpacked + ZSTD_DStreamOutSize(),
			  1))
		return -ENOMEM;
	out = (ZSTD_outBuffer){.dst = im->unpacked + im->n_unpacked,
			       .size = im->unpacked_cap - im->n_unpacked};
	r = ZSTD_decompressStream(im->zstd, &out, in);
	im->n_unpacked += out.pos;
	return ZSTD_isError(r) ? -EBADMSG : out.pos == out.size;
}

/* All compressed records form one stream: a record may end in the next one. */
static void import_compressed_records(struct perf_importer *im, const uint8_t *data, size_t len)
{
	ZSTD_inBuffer in = {.src = data, .size = len};
	size_t used;
	int r = 0;

	if (!im->zstd) {
		im->zstd = ZSTD_createDStream();
		if (!im->zstd || ZSTD_isError(ZSTD_initDStream(im->zstd))) {
			im->error = -ENOMEM;
			return;
		}
	}
	while (!im->error && r >= 0 && (in.pos < in.size || r > 0)) {
		r = decompress_next(im, &in);
		used = import_records(im, im->unpacked, im->n_unpacked, true);
		im->n_unpacked -= used;
		memmove(im->unpacked, im->unpacked + used, im->n_unpacked);
	}
	if (r < 0)
		im->error = r;
}

/* ---- the data ---- */

/* Imports the data that follows some records and that their size does not count. Returns its
 * length, 0 if there is none; SIZE_MAX: it is not all there. */
static size_t import_trailing_data(struct perf_importer *im, const struct perf_event_header *h,
				   const uint8_t *record, size_t left)
{
	uint64_t len = 0;

	if (h->type == RECORD_AUXTRACE && h->size >= RECORD_HEAD + sizeof(len)) {
		len = load64(record + RECORD_HEAD);
		import_add_note(im->result, "hardware traces in AUX buffers are not imported");
	} else if (h->type == RECORD_TRACING_DATA && h->size >= RECORD_HEAD + sizeof(uint32_t)) {
		len = load32(record + RECORD_HEAD);
		if (len <= left - h->size &&
		    perf_facts_read_tracing(&im->facts, record + h->size, len, im->result))
			im->error = -EBADMSG;
		len = (len + 7) & ~7ull;
	}
	return len <= left - h->size ? (size_t)len : SIZE_MAX;
}

static size_t import_records(struct perf_importer *im, const uint8_t *data, size_t len,
			     bool is_unpacked)
{
	static uint8_t copy[UINT16_MAX];
	struct perf_event_header h;
	size_t at = 0, more;

	while (!im->error && !im->out->error && len - at >= RECORD_HEAD) {
		memcpy(&h, data + at, sizeof(h));
		if (h.size < RECORD_HEAD) {
			im->error = -EBADMSG;
			break;
		}
		if (h.size > len - at)
			break;
		more = is_unpacked ? 0 : import_trailing_data(im, &h, data + at, len - at);
		if (more == SIZE_MAX)
			break;
		if (h.type == RECORD_COMPRESSED && !is_unpacked) {
			import_compressed_records(im, data + at + RECORD_HEAD,
						  h.size - RECORD_HEAD);
		} else if (h.type == RECORD_COMPRESSED2 && !is_unpacked &&
			   h.size >= RECORD_HEAD + sizeof(uint64_t)) {
			uint64_t n = load64(data + at + RECORD_HEAD);

			import_compressed_records(im, data + at + RECORD_HEAD + sizeof(n),
						  MIN(n, h.size - RECORD_HEAD - sizeof(n)));
		} else if (is_unpacked) {
			import_record(im, data + at, h.size);
		} else {
			memcpy(copy, data + at, h.size);
			memcpy(copy, &h, sizeof(h));
			import_record(im, copy, h.size);
		}
		at += h.size + more;
	}
	return at;
}

/* ---- the head of a file ---- */

struct file_section {
	uint64_t offset, size;
};

static struct file_section read_section(struct byte_reader *r)
{
	struct file_section s = {.offset = byte_reader_u64(r)};

	s.size = byte_reader_u64(r);
	return s;
}

static bool is_section_in_file(const struct file_section *s, size_t len)
{
	return s->offset <= len && s->size <= len - s->offset;
}

/* Reads the attributes: each entry is an attribute, and where its ids are. Returns 0, -EBADMSG or
 * -ENOMEM. */
static int read_attrs(struct perf_importer *im, const uint8_t *data, size_t len,
		      const struct file_section *section, uint64_t entry_size)
{
	struct perf_event_attr attr;
	int r = 0;

	if (!is_section_in_file(section, len) || entry_size < PERF_ATTR_SIZE_VER0 + 16 ||
	    entry_size > 4096)
		return -EBADMSG;
	for (uint64_t at = 0; !r && section->size - at >= entry_size; at += entry_size) {
		const uint8_t *entry = data + section->offset + at;
		struct byte_reader r_ids = byte_reader_make(entry + entry_size - 16, 16);
		struct file_section ids = read_section(&r_ids);

		if (!is_section_in_file(&ids, len) ||
		    !perf_attr_read(entry, entry_size - 16, &attr))
			return -EBADMSG;
		r_ids = byte_reader_make(data + ids.offset, ids.size);
		r = perf_attrs_add(&im->attrs, &attr, &r_ids, ids.size / sizeof(uint64_t));
	}
	return r;
}

/* Reads the features, which follow the data: first where each of them is, in the order of the
 * bits. */
static int read_features(struct perf_importer *im, const uint8_t *data, size_t len, uint64_t after,
			 const uint64_t bits[static PERF_FEATURES / 64])
{
	struct byte_reader r = byte_reader_make(data + after, len - after);
	int error = 0;

	for (unsigned i = 0; error != -ENOMEM && !im->result->error && i < PERF_FEATURES; i++) {
		struct file_section s;

		if (!(bits[i / 64] >> i % 64 & 1))
			continue;
		s = read_section(&r);
		if (r.failed || !is_section_in_file(&s, len)) {
			import_add_note(im->result, "the end of the file is missing");
			return 0;
		}
		error = perf_facts_read(&im->facts, &im->attrs, i, data + s.offset, s.size,
					im->result);
		if (error == -EBADMSG)
			import_add_note(im->result, "feature %u of the file is damaged", i);
	}
	return error == -ENOMEM ? error : im->result->error;
}

/* Reads a file, which begins with: magic, size, size of an attribute's entry, sections of
 * attributes, data and event types, bits. */
static int read_file(struct perf_importer *im, const uint8_t *data, size_t len)
{
	struct byte_reader r = byte_reader_make(data, len);
	struct file_section attrs, records;
	uint64_t bits[PERF_FEATURES / 64], entry_size;
	int error;

	byte_reader_read(&r, STREAM_HEAD);
	entry_size = byte_reader_u64(&r);
	attrs = read_section(&r);
	records = read_section(&r);
	read_section(&r);
	for (unsigned i = 0; i < ARRAY_SIZE(bits); i++)
		bits[i] = byte_reader_u64(&r);
	if (r.failed || records.offset > len)
		return -EBADMSG;
	error = read_attrs(im, data, len, &attrs, entry_size);
	if (error)
		return error;
	if (!records.size || records.size > len - records.offset) {
		import_add_note(im->result,
				"perf did not finish writing the file: the end is missing");
		records.size = len - records.offset;
	} else {
		error = read_features(im, data, len, records.offset + records.size, bits);
	}
	if (error)
		return error;
	if (import_records(im, data + records.offset, records.size, false) < records.size &&
	    !im->error)
		import_add_note(im->result, "the end of the file is missing");
	return 0;
}

static int read_stream(struct perf_importer *im, const uint8_t *data, size_t len)
{
	if (import_records(im, data + STREAM_HEAD, len - STREAM_HEAD, false) < len - STREAM_HEAD &&
	    !im->error)
		import_add_note(im->result, "the end of the file is missing");
	return 0;
}

/* ---- the whole ---- */

static void count_events(struct perf_importer *im)
{
	char count[STR_COUNT_SIZE];
	uint64_t n_bad = 0;

	for (unsigned i = 0; im->cpus && i < PERF_CPUS_MAX; i++) {
		im->result->n_events += im->cpus[i].events;
		if (im->cpus[i].events)
			im->result->n_cpus = MAX(im->result->n_cpus, i + 1);
	}
	for (unsigned i = 0; im->encoder && i < RING_PAGE_STATUS_COUNT; i++)
		n_bad += im->encoder->status_counts[i];
	if (n_bad)
		import_add_note(im->result, "skipped %s",
				str_count(n_bad, "damaged record", count));
	if (im->encoder && im->encoder->unknown)
		import_add_note(im->result, "skipped %s of events that the file does not describe",
				str_count(im->encoder->unknown, "record", count));
	im->result->n_unread += n_bad + (im->encoder ? im->encoder->unknown : 0);
	im->result->n_events += im->samples.n_switches;
	if (im->samples.n_switches)
		import_add_note(
			im->result,
			"context switches contain neither priorities nor sleep states: S may be D");
	if (im->facts.machine.n_cpus)
		im->result->n_cpus = im->facts.machine.n_cpus;
	if (im->samples.n_cut)
		import_add_note(im->result, "truncated %s to %u frames",
				str_count(im->samples.n_cut, "stack", count), SAMPLE_FRAMES_MAX);
	if (im->result->n_samples && im->samples.has_names && !im->samples.names.is_usable)
		import_add_note(im->result,
				"kernel functions have no names; pass a copy of the "
				"recorded kernel's /proc/kallsyms with --kallsyms FILE");
}

static void finish_import(struct perf_importer *im)
{
	struct trace_sequence s = {im->out, SEQUENCE_FACTS};

	if (im->error == -EBADMSG) {
		import_add_note(im->result, "skipped the rest of the file, which is damaged");
		im->error = 0;
	}
	end_round(im, true);
	set_clock_name(im);
	count_events(im);
	if (*im->facts.machine.release) {
		memcpy(im->facts.machine.sysname, "Linux", sizeof("Linux"));
		trace_facts_put_machine(&s, &im->facts.machine);
	}
	if (*im->facts.version)
		snprintf(im->result->recorder, sizeof(im->result->recorder), "perf %s",
			 im->facts.version);
	if (!im->result->n_events && !im->result->n_samples)
		import_add_note(im->result, "the file contains no samples");
	trace_facts_put_result(&s, im->result);
}

static int import_data(struct perf_importer *im, const uint8_t *data, size_t len)
{
	bool is_stream = load64(data + sizeof(uint64_t)) == STREAM_HEAD;
	int r = sample_packets_init(&im->samples, im->out, SEQUENCE_SAMPLES);

	if (!r)
		r = is_stream ? read_stream(im, data, len) : read_file(im, data, len);
	snprintf(im->result->format, sizeof(im->result->format), "perf.data%s",
		 is_stream ? ", a stream" : "");
	if (!r)
		finish_import(im);
	if (im->result->error)
		return im->result->error;
	if (r == -EBADMSG)
		return import_set_error(im->result, r,
					"the file is damaged: cannot read the header");
	return r || im->error ? import_set_error(im->result, -ENOMEM, "out of memory") : 0;
}

int perf_import(const uint8_t *data, size_t len, const struct kernel_names_source *source,
		struct trace_output *out, struct import_result *result)
{
	struct perf_importer im = {.out = out, .result = result};
	int r;

	if (len < STREAM_HEAD)
		return import_set_error(result, -EBADMSG,
					"the file is damaged: cannot read the header");
	im.events = (struct trace_sequence){out, SEQUENCE_EVENTS};
	im.queue.take = import_queued_record;
	im.queue.ctx = &im;
	im.samples.attrs = &im.attrs;
	im.samples.facts = &im.facts;
	im.samples.result = result;
	im.samples.source = source;
	r = import_data(&im, data, len);
	end_bundle(&im);
	page_encoder_free(im.encoder);
	event_table_deinit(&im.table);
	symbol_table_deinit(&im.symbols);
	free(im.cpus);
	ZSTD_freeDStream(im.zstd);
	free(im.unpacked);
	sample_packets_deinit(&im.samples);
	record_queue_deinit(&im.queue);
	perf_facts_deinit(&im.facts);
	perf_attrs_deinit(&im.attrs);
	return r;
}
