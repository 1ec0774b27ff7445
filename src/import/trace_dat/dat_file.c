/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Version 7, each box a section:
 *
 *	| head | formats | kallsyms | ... | options | pages of CPU 0, CPU 1 ... | options |
 *	    |        ^                        ^   |                ^               ^
 *	    |        +---- FTRACE_EVENTS ... -|   +-- DONE ---------|--------------+
 *	    +---------------------------------+                    +---- BUFFER ---+
 */
#include "import/trace_dat/dat_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/text/number_read.h"
#include "base/text/str.h"
#include "import/trace_dat/decompress.h"

/* Numbers of options. Those from 16 on, but not BUFFER_TEXT, name sections. */
enum {
	OPTION_DONE = 0,
	OPTION_DATE = 1,
	OPTION_CPUSTAT = 2,
	OPTION_BUFFER = 3,
	OPTION_TRACECLOCK = 4,
	OPTION_UNAME = 5,
	OPTION_OFFSET = 7,
	OPTION_CPUCOUNT = 8,
	OPTION_VERSION = 9,
	OPTION_TIME_SHIFT = 12,
	OPTION_GUEST = 13,
	OPTION_TSC2NSEC = 14,
	OPTION_HEADER_INFO = 16,
	OPTION_FTRACE_EVENTS = 17,
	OPTION_EVENT_FORMATS = 18,
	OPTION_KALLSYMS = 19,
	OPTION_PRINTK = 20,
	OPTION_CMDLINES = 21,
	OPTION_BUFFER_TEXT = 22,
};

#define SECTION_COMPRESSED 1
#define OPTION_SECTIONS_MAX 1024 /* in the chain */
#define OPTION_TEXT_MAX 4096 /* bytes of an option that is a text; longer ones are cut */

/* ---- options ---- */

static void copy_option_text(const uint8_t *data, size_t len, char ret[static OPTION_TEXT_MAX])
{
	len = MIN(len, (size_t)OPTION_TEXT_MAX - 1);
	memcpy(ret, data, len);
	ret[len] = '\0';
}

/* Copies the name of the clock that was used: the one in brackets in "local global [mono] boot". */
static void copy_clock(const char *text, char *ret, size_t size)
{
	const char *begin = strchr(text, '['), *end = begin ? strchr(begin, ']') : NULL;
	char name[32];

	if (end && (size_t)(end - begin) <= sizeof(name)) {
		memcpy(name, begin + 1, (size_t)(end - begin) - 1);
		name[end - begin - 1] = '\0';
		text = name;
	}
	import_copy_text(ret, size, text);
}

static struct dat_buffer *find_or_add_buffer(struct dat_file *f, const char *name)
{
	struct dat_buffer *b;

	for (size_t i = 0; i < f->n_buffers; i++)
		if (!strcmp(f->buffers[i].name, name))
			return &f->buffers[i];
	if (f->n_buffers == DAT_BUFFERS_MAX ||
	    array_reserve(&f->buffers, &f->buffers_cap, f->n_buffers + 1, sizeof(*f->buffers)))
		return NULL;
	b = &f->buffers[f->n_buffers++];
	*b = (struct dat_buffer){.page_size = f->head.page_size};
	import_copy_text(b->name, sizeof(b->name), name);
	return b;
}

/* Reads the counters of one CPU, with the CPU in the first line. "Buffer: NAME" begins those of
 * another buffer; the buffers themselves may be in later options, so the name creates the
 * buffer. */
static void read_cpustat(struct dat_file *f, const char *text, size_t *current)
{
	static const char buffer_head[] = "\nBuffer: ", cpu_head[] = "CPU: ";
	struct ring_stats stats = {0};
	struct dat_buffer *b;
	char name[128];

	if (str_starts(text, buffer_head)) {
		size_t n = strcspn(text + strlen(buffer_head), "\n");

		n = MIN(n, sizeof(name) - 1);
		memcpy(name, text + strlen(buffer_head), n);
		name[n] = '\0';
		b = find_or_add_buffer(f, name);
		*current = b ? (size_t)(b - f->buffers) : *current;
		return;
	}
	b = &f->buffers[*current];
	if (!str_starts(text, cpu_head) || b->stats.n == DAT_CPUS_MAX ||
	    ring_stats_parse(text, &stats) ||
	    array_reserve(&b->stats.rings, &b->stats_cap, b->stats.n + 1, sizeof(stats)))
		return;
	stats.cpu = (uint32_t)str_leading_u64(text + strlen(cpu_head), 10);
	b->stats.rings[b->stats.n++] = stats;
}

/* Adds a note with the name of the guest, whose events are in a file of its own. */
static void add_note_about_guest(const uint8_t *data, size_t len, struct import_result *result)
{
	struct byte_reader r = byte_reader_make(data, len);
	char name[128];

	byte_reader_string(&r, name, sizeof(name));
	import_add_note(
		result,
		"the events of guest %s are in a separate file, which sonda import can also read",
		name);
}

static void read_tsc(struct dat_file *f, const uint8_t *data, size_t len)
{
	struct byte_reader r = byte_reader_make(data, len);
	struct dat_tsc tsc = {.is_known = true};

	tsc.multiplier = byte_reader_u32(&r);
	tsc.shift = byte_reader_u32(&r);
	tsc.offset = byte_reader_u64(&r);
	if (!r.failed && tsc.shift < 64)
		f->tsc = tsc;
}

static void read_option(struct dat_file *f, uint16_t id, const uint8_t *data, size_t len,
			size_t *current, struct import_result *result)
{
	char text[OPTION_TEXT_MAX];

	copy_option_text(data, len, text);
	switch (id) {
	case OPTION_DATE: /* in microseconds */
		f->date_ns = (int64_t)((uint64_t)str_leading_i64(text, 0) * 1000);
		f->has_date = true;
		break;
	case OPTION_CPUSTAT:
		read_cpustat(f, text, current);
		break;
	case OPTION_TRACECLOCK:
		copy_clock(text, f->clock, sizeof(f->clock));
		break;
	case OPTION_UNAME:
		import_copy_text(f->machine, sizeof(f->machine), text);
		break;
	case OPTION_OFFSET:
		f->shift_ns = str_leading_i64(text, 0);
		break;
	case OPTION_VERSION:
		import_copy_text(f->recorder, sizeof(f->recorder), text);
		break;
	case OPTION_TIME_SHIFT:
		import_add_note(result,
				"timestamps are in the guest's clock: the offset to the host's "
				"clock is not imported");
		break;
	case OPTION_GUEST:
		add_note_about_guest(data, len, result);
		break;
	case OPTION_TSC2NSEC:
		read_tsc(f, data, len);
		break;
	default:
		break;
	}
}

/* ---- version 6 ---- */

/* Reads offset and size of the pages of n CPUs. */
static int read_cpus(struct byte_reader *r, uint32_t n, bool has_numbers, struct dat_buffer *b)
{
	struct dat_cpu *cpus;

	if (n > DAT_CPUS_MAX || b->cpus)
		return -EBADMSG;
	cpus = calloc(n + 1, sizeof(*cpus));
	if (!cpus)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		cpus[i].cpu = has_numbers ? byte_reader_u32(r) : i;
		cpus[i].offset = byte_reader_u64(r);
		cpus[i].size = byte_reader_u64(r);
	}
	b->cpus = cpus;
	b->n_cpus = n;
	return r->failed ? -EBADMSG : 0;
}

struct v6_buffer {
	char name[128];
	uint64_t offset; /* of its options */
};

/* The buffers that options name, which are read afterwards. */
struct v6_buffers {
	struct v6_buffer *of; /* owned */
	size_t n, cap;
};

static int v6_add_buffer(struct v6_buffers *buffers, const uint8_t *data, size_t len)
{
	struct byte_reader r = byte_reader_make(data, len);
	struct v6_buffer b;

	if (buffers->n == DAT_BUFFERS_MAX)
		return -EBADMSG;
	if (array_reserve(&buffers->of, &buffers->cap, buffers->n + 1, sizeof(*buffers->of)))
		return -ENOMEM;
	b.offset = byte_reader_u64(&r);
	byte_reader_string(&r, b.name, sizeof(b.name));
	buffers->of[buffers->n++] = b;
	return 0;
}

static int v6_read_options(struct dat_file *f, struct byte_reader *r, uint32_t *n_cpus,
			   struct v6_buffers *buffers, struct import_result *result)
{
	size_t current = 0;
	int error = 0;

	while (!error) {
		uint16_t id = byte_reader_u16(r);
		uint32_t len = id ? byte_reader_u32(r) : 0;
		const uint8_t *data = byte_reader_read(r, len);

		if (r->failed)
			return -EBADMSG;
		if (!id)
			return 0;
		if (id == OPTION_CPUCOUNT && len == sizeof(*n_cpus))
			memcpy(n_cpus, data, sizeof(*n_cpus));
		else if (id == OPTION_BUFFER && buffers)
			error = v6_add_buffer(buffers, data, len);
		else
			read_option(f, id, data, len, &current, result);
	}
	return error;
}

#define V6_WORD 10 /* "options  ", "flyrecord" or "latency  ", with the NUL */

/* Reads the options and the CPUs of buffer number i. */
static int v6_read_buffer(struct dat_file *f, struct byte_reader *r, uint32_t n_cpus, size_t i,
			  struct v6_buffers *buffers, struct import_result *result)
{
	const uint8_t *word = byte_reader_read(r, V6_WORD);
	int error;

	if (word && !memcmp(word, "options  ", V6_WORD)) {
		error = v6_read_options(f, r, &n_cpus, buffers, result);
		if (error)
			return error;
		word = byte_reader_read(r, V6_WORD);
	}
	if (word && !memcmp(word, "latency  ", V6_WORD)) {
		import_add_note(
			result,
			"part of the file is text from a latency tracer, which is not imported");
		return 0;
	}
	if (!word || memcmp(word, "flyrecord", V6_WORD) != 0)
		return -EBADMSG;
	return read_cpus(r, n_cpus, false, &f->buffers[i]);
}

static int v6_read_other_buffers(struct dat_file *f, uint32_t n_cpus,
				 const struct v6_buffers *buffers, struct import_result *result)
{
	int error = 0;

	for (size_t i = 0; !error && i < buffers->n; i++) {
		struct dat_buffer *b = find_or_add_buffer(f, buffers->of[i].name);
		struct byte_reader r;

		if (!b)
			return -ENOMEM;
		if (buffers->of[i].offset > f->len)
			return -EBADMSG;
		r = byte_reader_make(f->data + buffers->of[i].offset,
				     f->len - buffers->of[i].offset);
		error = v6_read_buffer(f, &r, n_cpus, (size_t)(b - f->buffers), NULL, result);
	}
	return error;
}

static int v6_read(struct dat_file *f, struct byte_reader *r, struct import_result *result)
{
	struct v6_buffers buffers = {0};
	int error = tracing_data_read_header(&f->described, r);
	uint32_t n_cpus;

	error = error ?: tracing_data_read_ftrace_formats(&f->described, r);
	error = error ?: tracing_data_read_formats(&f->described, r);
	error = error ?: tracing_data_read_kallsyms(&f->described, r);
	error = error ?: tracing_data_read_printk(&f->described, r);
	error = error ?: tracing_data_read_cmdlines(&f->described, r);
	if (error)
		return error;
	n_cpus = byte_reader_u32(r);
	error = v6_read_buffer(f, r, n_cpus, 0, &buffers, result);
	error = error ?: v6_read_other_buffers(f, n_cpus, &buffers, result);
	free(buffers.of);
	return error;
}

/* ---- version 7 ---- */

struct section {
	uint16_t id;
	bool is_compressed;
	uint8_t *owned; /* decompressed data; NULL: data is a part of the file */
	const uint8_t *data;
	size_t len;
};

static void section_deinit(struct section *s)
{
	free(s->owned);
	s->owned = NULL;
}

/* Reads the head of the section at offset. ret->data is the part of the file, which may be
 * compressed. Returns 0 or -EBADMSG. */
static int section_find(const struct dat_file *f, uint64_t offset, struct section *ret)
{
	struct byte_reader r;
	uint64_t len;
	uint16_t flags;

	if (offset > f->len)
		return -EBADMSG;
	r = byte_reader_make(f->data + offset, f->len - offset);
	*ret = (struct section){.id = byte_reader_u16(&r)};
	flags = byte_reader_u16(&r);
	(void)byte_reader_u32(&r); /* description */
	len = byte_reader_u64(&r);
	ret->is_compressed = flags & SECTION_COMPRESSED;
	ret->data = byte_reader_read(&r, len);
	ret->len = len;
	return ret->data ? 0 : -EBADMSG;
}

/* Reads a section that is not one of pages, and decompresses it. The caller calls section_deinit()
 * after success. Returns 0, -EBADMSG or -ENOMEM. */
static int section_load(const struct dat_file *f, uint64_t offset, struct section *ret)
{
	uint32_t packed, whole;
	const uint8_t *data;
	struct byte_reader r;
	int error = section_find(f, offset, ret);

	if (error || !ret->is_compressed)
		return error;
	r = byte_reader_make(ret->data, ret->len);
	packed = byte_reader_u32(&r);
	whole = byte_reader_u32(&r);
	data = byte_reader_read(&r, packed);
	if (!data || whole > DECOMPRESS_MAX)
		return -EBADMSG;
	ret->owned = malloc((size_t)whole + 1);
	if (!ret->owned)
		return -ENOMEM;
	ret->data = ret->owned;
	ret->len = whole;
	error = decompress_block(f->compression, data, packed, ret->owned, whole);
	if (error)
		section_deinit(ret);
	return error;
}

static int v7_read_buffer(struct dat_file *f, const uint8_t *data, size_t len)
{
	struct byte_reader r = byte_reader_make(data, len);
	uint64_t offset = byte_reader_u64(&r);
	struct section section;
	struct dat_buffer *b;
	char text[128];
	int error = section_find(f, offset, &section);

	byte_reader_string(&r, text, sizeof(text));
	b = find_or_add_buffer(f, text);
	if (error || !b)
		return error ? error : -ENOMEM;
	byte_reader_string(&r, text, sizeof(text));
	copy_clock(text, b->clock, sizeof(b->clock));
	b->page_size = byte_reader_u32(&r);
	b->is_compressed = section.is_compressed;
	return read_cpus(&r, byte_reader_u32(&r), true, b);
}

/* Reads the section that an option names. */
static int v7_read_section(struct dat_file *f, uint16_t option, const uint8_t *data, size_t len)
{
	static int (*const readers[])(struct tracing_data * d, struct byte_reader * r) = {
		[OPTION_HEADER_INFO] = tracing_data_read_header,
		[OPTION_FTRACE_EVENTS] = tracing_data_read_ftrace_formats,
		[OPTION_EVENT_FORMATS] = tracing_data_read_formats,
		[OPTION_KALLSYMS] = tracing_data_read_kallsyms,
		[OPTION_PRINTK] = tracing_data_read_printk,
		[OPTION_CMDLINES] = tracing_data_read_cmdlines,
	};
	struct byte_reader r = byte_reader_make(data, len);
	struct section section = {0};
	int error = section_load(f, byte_reader_u64(&r), &section);

	if (error)
		return error;
	r = byte_reader_make(section.data, section.len);
	error = readers[option](&f->described, &r);
	section_deinit(&section);
	return error;
}

/* Reads one section of options. *ret_next: offset of the next one, 0: none. */
static int v7_read_options(struct dat_file *f, const struct section *s, size_t *current,
			   uint64_t *ret_next, struct import_result *result)
{
	struct byte_reader r = byte_reader_make(s->data, s->len), done;
	int error = 0;

	*ret_next = 0;
	while (!error && byte_reader_left(&r)) {
		uint16_t id = byte_reader_u16(&r);
		uint32_t len = byte_reader_u32(&r);
		const uint8_t *data = byte_reader_read(&r, len);

		if (!data)
			return -EBADMSG;
		if (id == OPTION_DONE) {
			done = byte_reader_make(data, len);
			*ret_next = byte_reader_u64(&done);
			return 0;
		}
		if (id == OPTION_BUFFER)
			error = v7_read_buffer(f, data, len);
		else if (id >= OPTION_HEADER_INFO && id <= OPTION_CMDLINES)
			error = v7_read_section(f, id, data, len);
		else if (id == OPTION_BUFFER_TEXT)
			import_add_note(result,
					"part of the file is text from a latency tracer, which "
					"is not imported");
		else
			read_option(f, id, data, len, current, result);
	}
	return error;
}

static int v7_read(struct dat_file *f, struct byte_reader *r, struct import_result *result)
{
	struct section section;
	char version[32];
	size_t current = 0;
	uint64_t next;
	int error = 0;

	byte_reader_string(r, f->compression, sizeof(f->compression));
	byte_reader_string(r, version, sizeof(version));
	next = byte_reader_u64(r);
	if (strcmp(f->compression, "none") != 0 && strcmp(f->compression, "zstd") != 0 &&
	    strcmp(f->compression, "zlib") != 0)
		return import_set_error(
			result, -EPROTONOSUPPORT,
			"the file is compressed with %s, which sonda cannot decompress",
			f->compression);
	for (unsigned n = 0; !error && next; n++) {
		if (n == OPTION_SECTIONS_MAX)
			return -EBADMSG;
		error = section_load(f, next, &section);
		if (error)
			break;
		error = v7_read_options(f, &section, &current, &next, result);
		section_deinit(&section);
	}
	return error ? error : r->failed ? -EBADMSG : 0;
}

/* ---- both ---- */

/* Returns 0 if sonda can read this file; otherwise -EBADMSG, or -EPROTONOSUPPORT, which is in
 * result. */
static int check_head(const struct tracing_head *head, struct import_result *result)
{
	if (head->is_big_endian)
		return import_set_error(result, -EPROTONOSUPPORT,
					"the file was recorded on a big-endian machine");
	if (strcmp(head->version, "6") != 0 && strcmp(head->version, "7") != 0)
		return import_set_error(
			result, -EPROTONOSUPPORT,
			"trace.dat version %s is not supported; sonda reads versions 6 and 7",
			head->version);
	if (head->page_size < 256 || head->page_size > DAT_PAGE_MAX)
		return -EBADMSG;
	return 0;
}

/* Cuts the pages of each CPU to what is in the file, whose end may be missing. Returns 0, or
 * -EBADMSG for an impossible page size. */
static int cut_buffers_to_file(struct dat_file *f, struct import_result *result)
{
	for (size_t i = 0; i < f->n_buffers; i++) {
		struct dat_buffer *b = &f->buffers[i];

		if (b->page_size < 256 || b->page_size > DAT_PAGE_MAX)
			return -EBADMSG;
		for (size_t k = 0; k < b->n_cpus; k++) {
			struct dat_cpu *c = &b->cpus[k];

			if (!c->size || (c->offset <= f->len && c->size <= f->len - c->offset))
				continue;
			c->size = c->offset <= f->len ? f->len - c->offset : 0;
			import_add_note(result, "the end of the file is missing");
		}
	}
	return 0;
}

int dat_file_read(const uint8_t *data, size_t len, struct dat_file *ret,
		  struct import_result *result)
{
	struct byte_reader r = byte_reader_make(data, len);
	int error;

	*ret = (struct dat_file){.data = data, .len = len};
	error = tracing_head_read(&r, &ret->head);
	error = error ?: check_head(&ret->head, result);
	if (!error && !find_or_add_buffer(ret, ""))
		error = -ENOMEM;
	if (!error)
		error = strcmp(ret->head.version, "6") ? v7_read(ret, &r, result)
						       : v6_read(ret, &r, result);
	error = error ?: cut_buffers_to_file(ret, result);
	if (!error && !ret->described.header_page)
		error = -EBADMSG;
	return error == -EBADMSG ? import_set_error(result, error,
						    "the file is damaged: cannot read the header")
				 : error;
}

void dat_file_deinit(struct dat_file *f)
{
	for (size_t i = 0; i < f->n_buffers; i++) {
		free(f->buffers[i].cpus);
		ring_stats_deinit(&f->buffers[i].stats);
	}
	free(f->buffers);
	tracing_data_deinit(&f->described);
	*f = (struct dat_file){0};
}
