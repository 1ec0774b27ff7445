/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: trace_lines TRACE
 *
 * The ftrace events of a trace, a line each, in the order of the file, and what FtraceStats say at
 * the start:
 *
 *	event sched_switch cpu 0 time 1234 pid 56 1=bash 2=56 3=120 ...      fields by their numbers; text in one word
 *	switch cpu 0 time 1234 pid 56                                        of columns: who comes next
 *	waking cpu 0 time 1234 pid 56                                        and who is woken
 *	clock 2                                                              of a bundle, where it is not the boot clock
 *	unknown NAME    failed TEXT    problem TEXT
 */
#include <ctype.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyze/event_counts.h"
#include "gen/fields.h"
#include "wire/pb_read.h"

#define MAX_DESCRIBED 65536 /* as many as there can be */
#define FIRST_DESCRIBED 65536u

static char described[MAX_DESCRIBED][64];

/* A word: what would end it becomes '_'. */
static void print_text(const struct pb_field *f)
{
	for (size_t i = 0; i < f->len; i++)
		putchar(isgraph(f->data[i]) ? f->data[i] : '_');
}

static void print_fields(const struct pb_field *message)
{
	pb_for_each (f, message) {
		printf(" %" PRIu32 "=", f.id);
		if (f.data)
			print_text(&f);
		else
			printf("%" PRId64, (int64_t)f.u64);
	}
	putchar('\n');
}

static const char *name_of(uint32_t field)
{
	const struct event_name *e = event_message_name(field);

	if (e)
		return e->name;
	if (field >= FIRST_DESCRIBED && field - FIRST_DESCRIBED < MAX_DESCRIBED)
		return described[field - FIRST_DESCRIBED];
	return "?";
}

static void print_event(const struct pb_field *event, uint64_t cpu)
{
	uint64_t time = 0, pid = 0;

	pb_for_each (f, event) {
		if (f.id == PB_FTRACE_EVENT_TIMESTAMP) {
			time = f.u64;
		} else if (f.id == PB_FTRACE_EVENT_PID) {
			pid = f.u64;
		} else if (f.data) {
			printf("event %s cpu %" PRIu64 " time %" PRIu64 " pid %" PRIu64,
			       name_of(f.id), cpu, time, pid);
			print_fields(&f);
		}
	}
}

/* One kind of columns; times are differences after the first. */
static void print_columns(const char *name, const struct pb_field *times,
			  const struct pb_field *pids, uint64_t cpu)
{
	struct pb_packed t = pb_packed_of(times), p = pb_packed_of(pids);
	uint64_t time = 0, delta, pid;

	while (times->data && pb_packed_next(&t, &delta) && pb_packed_next(&p, &pid)) {
		time += delta;
		printf("%s cpu %" PRIu64 " time %" PRIu64 " pid %" PRId64 "\n", name, cpu, time,
		       (int64_t)pid);
	}
}

static void print_compact(const struct pb_field *compact, uint64_t cpu)
{
	struct pb_field columns[16] = {{0}};

	pb_for_each (f, compact)
		if (f.id < 16)
			columns[f.id] = f;
	print_columns("switch", &columns[PB_FTRACE_EVENT_BUNDLE_COMPACT_SCHED_SWITCH_TIMESTAMP],
		      &columns[PB_FTRACE_EVENT_BUNDLE_COMPACT_SCHED_SWITCH_NEXT_PID], cpu);
	print_columns("waking", &columns[PB_FTRACE_EVENT_BUNDLE_COMPACT_SCHED_WAKING_TIMESTAMP],
		      &columns[PB_FTRACE_EVENT_BUNDLE_COMPACT_SCHED_WAKING_PID], cpu);
}

/* GenericEventDescriptor { field_id, event_descriptor { name = 1 } } */
static void describe(const struct pb_field *descriptor)
{
	struct pb_dec inner;
	struct pb_field g;
	uint64_t field = 0;

	pb_for_each (f, descriptor) {
		if (!f.data) {
			field = f.u64;
			continue;
		}
		if (field < FIRST_DESCRIBED || field - FIRST_DESCRIBED >= MAX_DESCRIBED)
			return;
		pb_dec_init(&inner, f.data, f.len);
		if (f.id == PB_FTRACE_EVENT_BUNDLE_GENERIC_EVENT_DESCRIPTOR_EVENT_DESCRIPTOR &&
		    pb_dec_next(&inner, &g) && g.data)
			snprintf(described[field - FIRST_DESCRIBED], 64, "%.*s", (int)g.len,
				 (const char *)g.data);
	}
}

static void print_bundle(const struct pb_field *bundle)
{
	uint64_t cpu = 0;

	/* Descriptors stand behind the events that need them. */
	pb_for_each (f, bundle) {
		if (f.id == PB_FTRACE_EVENT_BUNDLE_CPU)
			cpu = f.u64;
		if (f.id == PB_FTRACE_EVENT_BUNDLE_FTRACE_CLOCK)
			printf("clock %" PRIu64 "\n", f.u64);
		if (f.id == PB_FTRACE_EVENT_BUNDLE_GENERIC_EVENT_DESCRIPTORS)
			describe(&f);
	}
	pb_for_each (f, bundle) {
		if (f.id == PB_FTRACE_EVENT_BUNDLE_EVENT)
			print_event(&f, cpu);
		if (f.id == PB_FTRACE_EVENT_BUNDLE_COMPACT_SCHED)
			print_compact(&f, cpu);
	}
}

static void print_stats(const struct pb_field *stats)
{
	pb_for_each (f, stats) {
		const char *what = f.id == PB_FTRACE_STATS_UNKNOWN_FTRACE_EVENTS  ? "unknown"
				   : f.id == PB_FTRACE_STATS_FAILED_FTRACE_EVENTS ? "failed"
				   : f.id == PB_FTRACE_STATS_ATRACE_ERRORS	  ? "problem"
										  : NULL;

		if (what && f.data)
			printf("%s %.*s\n", what, (int)f.len, (const char *)f.data);
	}
}

static void print_trace(const uint8_t *data, size_t len)
{
	pb_for_each (packet, PB_BYTES(data, len)) {
		pb_for_each (f, &packet) {
			if (f.id == PB_TRACE_PACKET_FTRACE_EVENTS)
				print_bundle(&f);
			if (f.id == PB_TRACE_PACKET_FTRACE_STATS)
				print_stats(&f);
		}
	}
}

int main(int argc, char **argv)
{
	struct stat st;
	void *data;
	int fd = argc == 2 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1;

	if (fd < 0 || fstat(fd, &st)) {
		fprintf(stderr, "usage: trace_lines TRACE\n");
		return 2;
	}
	if (!st.st_size)
		return 1;
	data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (data == MAP_FAILED)
		return 1;
	print_trace(data, (size_t)st.st_size);
	return 0;
}
