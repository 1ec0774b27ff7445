/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: generic_events TRACEFS DIR SECONDS GROUP[/NAME]...
 *
 * Records events that have no message of their own for so long, from an instance of its own, and
 * writes the same records as
 *
 *	DIR/dense     a trace with descriptors
 *	DIR/legacy    a trace with GenericFtraceEvent
 *	DIR/values    what libtraceevent has of them: lines "TIME EVENT FIELD VALUE", numbers as
 *			 SQLite has them, signed
 *	DIR/bytes     the same for fields of bytes, as hexadecimal digits
 *
 * but for addresses of the kernel, which no trace tells.
 */
#include <dirent.h>
#include <signal.h>

#include "ftrace/events/event_table.h"
#include "ftrace/events/page_encode.h"
#include "ftrace/format/proto_events.h"
#include "unit/../root/ring_record.h"
#include "unit/../unit/ftrace/fake_writer.h"

#define N_PAGES 200

static struct tep_handle *tep;
static struct printk_formats strings;

static void on_signal(int number)
{
	(void)number;
	exit(1);
}

/* ---- events ---- */

static char *format_of(const char *tracefs, const struct tep_event *e)
{
	return ring_text("%s/events/%s/%s/format", tracefs, e->system, e->name);
}

/* "GROUP/NAME" or "GROUP"; those that the kernel has not are left out. */
static void enable(const char *tracefs, const char *event)
{
	char path[512], *format;
	DIR *d;

	snprintf(path, sizeof(path), "events/%s/enable", event);
	if (ring_set(path, "1"))
		return;
	format = ring_text("%s/events/%s/format", tracefs, event);
	if (format) {
		char group[128];

		snprintf(group, sizeof(group), "%.*s", (int)strcspn(event, "/"), event);
		tep_parse_event(tep, format, strlen(format), group);
		free(format);
		return;
	}
	snprintf(path, sizeof(path), "%s/events/%s", tracefs, event);
	d = opendir(path);
	for (struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d)) {
		format = ring_text("%s/events/%s/%s/format", tracefs, event, e->d_name);
		if (format)
			tep_parse_event(tep, format, strlen(format), event);
		free(format);
	}
	if (d)
		closedir(d);
}

static bool is_generic(const struct tep_event *e)
{
	struct proto_event message;

	return !proto_events_find(e->system, e->name, &message);
}

/* ---- values ---- */

static bool is_address(const struct tep_format_field *f)
{
	return strcmp(f->event->system, "syscalls") && strchr(f->type, '*') &&
	       !strstr(f->type, "char");
}

static void print_text(FILE *out, const char *s, size_t len)
{
	fprintf(out, "%.*s\n", (int)strnlen(s, len), s);
}

static void print_bytes(FILE *out, const uint8_t *data, int len)
{
	for (int i = 0; i < len; i++)
		fprintf(out, "%02x", data[i]);
	fputc('\n', out);
}

static void print_value(FILE *values, FILE *bytes, struct tep_format_field *f, struct tep_record *r,
			unsigned long long time)
{
	bool text = strstr(f->type, "char") && !strstr(f->type, "unsigned char");
	bool array = f->flags & TEP_FIELD_IS_ARRAY;
	FILE *out = array && !text ? bytes : values;
	const struct printk_format *e;
	unsigned long long n = 0;
	uint64_t address;
	char *raw;
	int len;

	fprintf(out, "%llu %s %s ", time, f->event->name, f->name);
	if (array) {
		raw = tep_get_field_raw(NULL, f->event, f->name, r, &len, 0);
		if (text)
			print_text(out, raw, (size_t)len);
		else
			print_bytes(out, (uint8_t *)raw, len);
	} else if (strstr(f->type, "char *") && strcmp(f->event->system, "syscalls")) {
		memcpy(&address, (uint8_t *)r->data + f->offset, sizeof(address));
		e = printk_formats_find(&strings, address);
		print_text(out, e ? strings.text + e->at : "", e ? e->len : 0);
	} else {
		tep_read_number_field(f, r->data, &n);
		if (!strcmp(f->type, "dev_t"))
			n = (n >> 20) << 8 | (n & 0xff) | (n & 0xfff00) << 12;
		if ((f->flags & TEP_FIELD_IS_SIGNED) && f->size < 8)
			n = (unsigned long long)((long long)(n << (64 - 8 * f->size)) >>
						 (64 - 8 * f->size));
		fprintf(out, "%lld\n", (long long)n);
	}
}

static FILE *open_in(const char *dir, const char *name)
{
	char path[512];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "w");
	if (!f)
		ring_give_up(path);
	return f;
}

static void print_values(const char *dir)
{
	FILE *values = open_in(dir, "values"), *bytes = open_in(dir, "bytes");
	unsigned long long time;
	struct tep_record r = {0};

	for (unsigned cpu = 0; cpu < ring.n_cpus; cpu++) {
		struct ring_records in = ring_records(cpu);

		while (ring_next(&in, &r, &time)) {
			struct tep_event *e = tep_find_event(tep, tep_data_type(tep, &r));

			if (!e || !is_generic(e))
				continue;
			for (struct tep_format_field *f = e->format.fields; f; f = f->next)
				if (!is_address(f))
					print_value(values, bytes, f, &r, time);
		}
		kbuffer_free(in.k);
	}
	fclose(values);
	fclose(bytes);
}

/* ---- traces ---- */

static void write_trace(const char *tracefs, const char *dir, bool legacy)
{
	const struct event_table_options o = {.legacy_generic = legacy};
	FILE *out = open_in(dir, legacy ? "legacy" : "dense");
	struct event_table table = {.strings = strings};
	struct writer *w = fake_writer_new(32760);
	struct tep_event **events = tep_list_events(tep, TEP_EVENT_SORT_ID);
	struct page_encoder *t;
	uint16_t id;

	for (; *events; events++) {
		char *format = is_generic(*events) ? format_of(tracefs, *events) : NULL;

		if (format &&
		    event_table_add(&table, (*events)->system, (*events)->name, format, &o, &id))
			exit(1);
		free(format);
	}
	if (page_encoder_new(&table, &ring.layout, w, &t))
		exit(1);
	for (unsigned cpu = 0; cpu < ring.n_cpus; cpu++) {
		struct cpu_stream stream = {.cpu = cpu};

		for (size_t i = 0; i < ring.cpus[cpu].n; i++)
			page_encode(t, &stream, ring.cpus[cpu].pages + i * ring.layout.size,
				    ring.layout.size);
		page_encode_end(t, &stream);
	}
	fake_writer_save(w, out);
	page_encoder_free(t);
	writer_free(w);
	memset(&table.strings, 0, sizeof(table.strings));
	event_table_deinit(&table);
	fclose(out);
}

/* Keeps so many pages of each ring, from all of it: trace_processor is slow with more. */
static void thin_out(size_t n_pages)
{
	for (unsigned cpu = 0; cpu < ring.n_cpus; cpu++) {
		size_t n = ring.cpus[cpu].n;

		if (n <= n_pages)
			continue;
		for (size_t i = 0; i < n_pages; i++)
			memmove(ring.cpus[cpu].pages + i * ring.layout.size,
				ring.cpus[cpu].pages + i * n / n_pages * ring.layout.size,
				ring.layout.size);
		ring.cpus[cpu].n = n_pages;
	}
}

int main(int argc, char **argv)
{
	if (argc < 5) {
		fprintf(stderr, "usage: %s TRACEFS DIR SECONDS GROUP[/NAME]...\n", argv[0]);
		return 2;
	}
	atexit(ring_leave);
	signal(SIGINT, on_signal);
	signal(SIGTERM, on_signal);
	tep = tep_alloc();
	tep_set_loglevel(TEP_LOG_NONE);
	tep_set_long_size(tep, 8);
	ring_make(argv[1]);
	for (int i = 4; i < argc; i++)
		enable(argv[1], argv[i]);
	if (printk_formats_read(&strings, argv[1]))
		return 1;
	ring_set("tracing_on", "1");
	sleep((unsigned)atoi(argv[3]));
	ring_set("tracing_on", "0");
	ring_read();
	thin_out(N_PAGES);
	print_values(argv[2]);
	write_trace(argv[1], argv[2], false);
	write_trace(argv[1], argv[2], true);
	printk_formats_deinit(&strings);
	return 0;
}
