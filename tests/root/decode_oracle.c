/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: decode_oracle TRACEFS EVENTS SECONDS TRACE
 *
 * Records EVENTS events of every kind that the running kernel can switch on (or what comes in
 * SECONDS), decodes the same sub-buffers with our translator and with libtraceevent, and compares
 * every field of every event (tests/unit/ftrace/oracle.h). Four times:
 *
 *	symbols   each event by itself, with names for the kernel's functions; written to TRACE
 *	plain     the same without names
 *	columns   sched_switch and sched_waking in columns
 *	legacy    events without a message spelled out
 *
 * Prints what was compared. 0: all equal. 1: not, and the first difference is on stderr. 77: there
 * is no way to record here. Another program makes the load (mixed_load).
 */
#include <dirent.h>
#include <signal.h>
#include <stdlib.h>

#include "ftrace/events/page_encode.h"
#include "ring_record.h"
#include "symbols/symbol_table.h"
#include "unit/../unit/ftrace/fake_writer.h"
#include "unit/../unit/ftrace/oracle_columns.h"

#define STACK_EVENTS 20000 /* recorded with stacks, or as many as without them */
#define BATCH 32 /* pages that are decoded at a time */

static struct {
	struct tep_handle *tep;
	struct oracle_symbols symbols; /* as kallsyms says */
	struct symbol_table table; /* as we do */
	struct printk_formats strings;
	uint64_t ids[UINT16_MAX + 1]; /* records of each */
	/* A switch from another thread than the one before went to: the kernel keeps no record of a
	 * switch while it is at another record. */
	uint64_t broken_switches;
} all;

static void on_signal(int number)
{
	(void)number;
	exit(1);
}

/* In one go, and into the rings alone; the last ones with stacks. */
static void record(uint64_t events, unsigned seconds)
{
	time_t until = time(NULL) + seconds;

	if (ring_set("events/enable", "1"))
		ring_give_up("events/enable");
	ring_set("tracing_on", "1");
	ring_wait(events, until);
	ring_set("options/stacktrace", "1");
	ring_set("options/userstacktrace", "1");
	ring_wait(events + MIN(events, STACK_EVENTS), until + 1);
	ring_set("tracing_on", "0");
	ring_read();
}

static void count_broken_switches(void)
{
	struct tep_event *e = tep_find_event_by_name(all.tep, "sched", "sched_switch");
	struct tep_format_field *prev = e ? tep_find_field(e, "prev_pid") : NULL;
	struct tep_format_field *next = e ? tep_find_field(e, "next_pid") : NULL;
	unsigned long long time, was, is;
	struct tep_record r = {0};

	for (unsigned cpu = 0; prev && next && cpu < ring.n_cpus; cpu++) {
		struct ring_records in = ring_records(cpu);

		for (was = UINT64_MAX; ring_next(&in, &r, &time);) {
			if (tep_data_type(all.tep, &r) != e->id)
				continue;
			tep_read_number_field(prev, r.data, &is);
			all.broken_switches += was != UINT64_MAX && was != is;
			tep_read_number_field(next, r.data, &was);
		}
		kbuffer_free(in.k);
	}
}

/* ---- what the kernel says of its events ---- */

static void load_event(const char *tracefs, const char *group, const char *name,
		       const struct event_table_options *options, struct event_table *table)
{
	char *format = ring_text("%s/events/%s/%s/format", tracefs, group, name);
	uint16_t id;

	if (!format)
		return;
	if (event_table_add(table, group, name, format, options, &id)) {
		fprintf(stderr, "%s/%s: no row\n", group, name);
		exit(1);
	}
	/* event_table_add has cut its print fmt, which is not ours to compare. */
	if (!tep_find_event(all.tep, id) && tep_parse_event(all.tep, format, strlen(format), group))
		fprintf(stderr, "%s/%s: libtraceevent cannot read it\n", group, name);
	free(format);
}

static void load_events(const char *tracefs, const struct event_table_options *options,
			struct event_table *table)
{
	char path[1024];
	struct dirent *g, *e;
	DIR *groups, *events;

	snprintf(path, sizeof(path), "%s/events", tracefs);
	groups = opendir(path);
	while (groups && (g = readdir(groups))) {
		snprintf(path, sizeof(path), "%s/events/%s", tracefs, g->d_name);
		events = g->d_name[0] == '.' || g->d_type != DT_DIR ? NULL : opendir(path);
		while (events && (e = readdir(events)))
			if (e->d_name[0] != '.' && e->d_type == DT_DIR)
				load_event(tracefs, g->d_name, e->d_name, options, table);
		if (events)
			closedir(events);
	}
	if (groups)
		closedir(groups);
}

static bool has_field(const struct compiled_event *ev, const char *field)
{
	for (unsigned i = 0; i < ev->n_ops; i++)
		if (!strcmp(ev->field_names[i], field))
			return true;
	return false;
}

/* Of an array of strings, each. */
static bool is_written(const struct compiled_event *ev, const struct tep_format_field *f)
{
	char name[300];

	for (int i = 0; oracle_is_strings(f) && i < f->size / 4; i++) {
		snprintf(name, sizeof(name), "%s_%d", f->name, i);
		if (!has_field(ev, name))
			return false;
	}
	return oracle_is_strings(f) || has_field(ev, f->name);
}

/* Of all events that there are, not only of those that came. */
static void print_unwritten(const struct event_table *table)
{
	unsigned n = 0;

	for (size_t i = 0; i < table->n_events; i++) {
		struct tep_event *e = tep_find_event(all.tep, table->events[i]->id);

		for (struct tep_format_field *f = e ? e->format.fields : NULL; f; f = f->next, n++)
			if (!is_written(table->events[i], f))
				printf("not written: %s/%s.%s\n", e->system, e->name, f->name);
	}
	printf("formats: %zu events, %u fields\n", table->n_events, n);
}

static void load_symbols(void)
{
	char *text = ring_text("/proc/kallsyms");
	struct symbol_table_build *b;

	oracle_symbols_load(&all.symbols, "/proc/kallsyms");
	if (!text || symbol_table_build_new(&b) || symbol_table_build_feed(b, text, strlen(text)))
		ring_give_up("/proc/kallsyms");
	while (symbol_table_build_step(b))
		;
	all.table = symbol_table_build_finish(b);
	free(text);
}

/* ---- one bundle against them ---- */

/* The next event of the bundle itself, not in columns. */
static bool next_event(struct pb_dec *bundle, struct pb_field *ret)
{
	while (pb_dec_next(bundle, ret))
		if (ret->id == PB_FTRACE_EVENT_BUNDLE_EVENT)
			return true;
	return false;
}

static bool read_bundle(struct oracle *o, const struct pb_field *bundle, struct oracle_columns *c,
			uint64_t *ret_events)
{
	struct pb_field f;
	struct pb_dec d;

	c->left = 0;
	*ret_events = 0;
	pb_dec_init(&d, bundle->data, bundle->len);
	while (pb_dec_next(&d, &f)) {
		bool further = f.id == PB_FTRACE_EVENT_BUNDLE_FURTHER_FIELD_DESCRIPTORS;

		if (f.id == PB_FTRACE_EVENT_BUNDLE_EVENT)
			++*ret_events;
		else if (f.id == PB_FTRACE_EVENT_BUNDLE_COMPACT_SCHED)
			oracle_open_columns(c, &f);
		else if (f.id == PB_FTRACE_EVENT_BUNDLE_ERROR)
			return oracle_fail(o, "a page could not be read");
		if (further || f.id == PB_FTRACE_EVENT_BUNDLE_GENERIC_EVENT_DESCRIPTORS)
			if (!oracle_describe(o, &f, further))
				return false;
	}
	return pb_dec_ok(&d) || oracle_fail(o, "a bundle cannot be read");
}

/* As many records as the bundle has events, each equal to its own. */
static bool check_bundle(struct oracle *o, const struct pb_field *bundle, bool compact,
			 struct ring_records *in)
{
	struct tep_event *event;
	unsigned long long time;
	static struct oracle_columns c;
	struct tep_record r = {0};
	struct pb_field f;
	struct pb_dec d;
	uint64_t events;
	int id;

	oracle_begin_bundle(o);
	if (!read_bundle(o, bundle, &c, &events))
		return false;
	pb_dec_init(&d, bundle->data, bundle->len);
	while (events || c.left) {
		if (!ring_next(in, &r, &time))
			return oracle_fail(o, "more events than records");
		id = tep_data_type(all.tep, &r);
		event = tep_find_event(all.tep, id);
		if (!event)
			return oracle_fail(o, "record of an unknown event %d", id);
		all.ids[id]++;
		if (compact && !strcmp(event->system, "sched") &&
		    (!strcmp(event->name, "sched_switch") ||
		     !strcmp(event->name, "sched_waking"))) {
			if (!c.left || !oracle_check_columns(o, &c, event, &r, time))
				return false;
			continue;
		}
		if (!next_event(&d, &f))
			return oracle_fail(o, "%s/%s is missing", event->system, event->name);
		events--;
		if (!oracle_check(o, event, &r, time, &f))
			return false;
	}
	return true;
}

/* ---- packets ---- */

static bool check_packet(struct oracle *o, const struct pb_field *packet, bool compact,
			 struct ring_records *in)
{
	struct pb_field f, interned = {0};
	uint64_t flags = 0;
	struct pb_dec d;

	pb_dec_init(&d, packet->data, packet->len);
	while (pb_dec_next(&d, &f))
		if (f.id == PB_TRACE_PACKET_FTRACE_EVENTS && !check_bundle(o, &f, compact, in))
			return false;
		else if (f.id == PB_TRACE_PACKET_INTERNED_DATA)
			interned = f;
		else if (f.id == PB_TRACE_PACKET_SEQUENCE_FLAGS)
			flags = f.u64;
	if (o->known_symbols && o->addresses[1] && flags != 1)
		return oracle_fail(o, "numbers of addresses without a clean state");
	return oracle_check_symbols(o, &interned);
}

static bool check_packets(struct oracle *o, const struct writer *w, bool compact,
			  struct ring_records *in)
{
	unsigned long long time;
	struct pb_field packet;
	struct tep_record r;
	struct pb_dec d;

	pb_dec_init(&d, w->begin, fake_writer_len(w));
	while (pb_dec_next(&d, &packet))
		if (!check_packet(o, &packet, compact, in))
			return false;
	return !ring_next(in, &r, &time) || oracle_fail(o, "fewer events than records");
}

/* ---- one way of decoding ---- */

struct way {
	const char *name;
	struct event_table_options options;
};

static bool check_cpu(struct oracle *o, struct page_encoder *t, struct writer *w, unsigned cpu,
		      const struct way *way, FILE *out, uint64_t *ret_events)
{
	struct cpu_stream stream = {.cpu = cpu};
	struct ring_records in = ring_records(cpu);
	bool ok = true;

	for (size_t at = 0, n; ok && at < ring.cpus[cpu].n; at += n) {
		const uint8_t *pages = ring.cpus[cpu].pages + at * ring.layout.size;

		n = MIN(ring.cpus[cpu].n - at, (size_t)BATCH);
		for (size_t i = 0; i < n; i++)
			page_encode(t, &stream, pages + i * ring.layout.size, ring.layout.size);
		page_encode_end(t, &stream);
		in.page = pages;
		in.n_pages = n;
		in.in_page = false;
		ok = check_packets(o, w, way->options.compact, &in);
		if (out)
			fake_writer_save(w, out);
		fake_writer_clear(w);
	}
	kbuffer_free(in.k);
	*ret_events += stream.events;
	return ok;
}

static bool check_way(const char *tracefs, const struct way *way, const char *trace)
{
	FILE *out = trace && way->options.symbols ? fopen(trace, "w") : NULL;
	struct oracle *o = calloc(1, sizeof(*o));
	struct writer *w = fake_writer_new(32760);
	struct event_table table = {.strings = all.strings};
	struct page_encoder *t;
	uint64_t events = 0;
	bool ok = true;

	memset(all.ids, 0, sizeof(all.ids));
	load_events(tracefs, &way->options, &table);
	if (way->options.symbols)
		print_unwritten(&table);
	o->tep = all.tep;
	o->strings = &all.strings;
	if (page_encoder_new(&table, &ring.layout, w, &t))
		exit(1);
	if (way->options.symbols) {
		o->known_symbols = &all.symbols;
		page_encoder_set_symbols(t, &all.table);
	}
	for (unsigned cpu = 0; ok && cpu < ring.n_cpus; cpu++)
		ok = check_cpu(o, t, w, cpu, way, out, &events);
	for (unsigned i = 0; ok && i < RING_PAGE_STATUS_COUNT; i++)
		if (t->status_counts[i])
			ok = oracle_fail(o, "status %u, %llu times", i,
					 (unsigned long long)t->status_counts[i]);
	if (ok && t->unknown)
		ok = oracle_fail(o, "%llu records without a row", (unsigned long long)t->unknown);
	printf("%s: %llu events, %llu numbers, %llu texts, %llu bytes, %llu arrays, %llu names\n",
	       way->name, (unsigned long long)events, (unsigned long long)o->numbers,
	       (unsigned long long)o->texts, (unsigned long long)o->bytes,
	       (unsigned long long)o->arrays, (unsigned long long)o->symbols);
	if (!ok)
		fprintf(stderr, "%s: %s\n", way->name, o->error);
	page_encoder_free(t);
	writer_free(w);
	oracle_free(o);
	memset(&table.strings, 0, sizeof(table.strings)); /* it stays for the next way */
	event_table_deinit(&table);
	if (out)
		fclose(out);
	return ok;
}

static void print_kinds(void)
{
	const char *group = "";
	unsigned events = 0, groups = 0;
	char seen[8192] = " ", word[256];

	for (int id = 0; id <= UINT16_MAX; id++) {
		struct tep_event *e = all.ids[id] ? tep_find_event(all.tep, id) : NULL;

		if (!e)
			continue;
		events++;
		group = e->system;
		snprintf(word, sizeof(word), " %s ", group);
		if (strstr(seen, word) || strlen(seen) + strlen(word) >= sizeof(seen))
			continue;
		groups++;
		strcat(seen, word + 1);
	}
	printf("kinds: %u events of %u groups:%s\n", events, groups, seen);
	count_broken_switches();
	printf("broken switches: %llu\n", (unsigned long long)all.broken_switches);
}

int main(int argc, char **argv)
{
	static const struct way ways[] = {
		{"symbols", {.symbols = true}},
		{"plain", {0}},
		{"columns", {.compact = true}},
		{"legacy", {.legacy_generic = true}},
	};
	bool ok = true;
	char *text;

	if (argc != 5) {
		fprintf(stderr, "usage: %s TRACEFS EVENTS SECONDS TRACE\n", argv[0]);
		return 2;
	}
	atexit(ring_leave);
	signal(SIGINT, on_signal);
	signal(SIGTERM, on_signal);
	setvbuf(stdout, NULL, _IOLBF, 0);
	all.tep = tep_alloc();
	tep_set_loglevel(TEP_LOG_NONE);
	tep_set_long_size(all.tep, 8);
	ring_make(argv[1]);
	record(strtoull(argv[2], NULL, 10), (unsigned)strtoul(argv[3], NULL, 10));
	text = ring_text("%s/printk_formats", argv[1]);
	if (text)
		printk_formats_parse(&all.strings, text);
	free(text);
	load_symbols();
	for (unsigned i = 0; i < ARRAY_SIZE(ways); i++) {
		ok = check_way(argv[1], &ways[i], argv[4]) && ok;
		if (i == 0)
			print_kinds();
	}
	return !ok;
}
