/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: print_events TRACE
 *
 * Prints the events of a trace, one a line, in its order, with the values of those that describe
 * themselves:
 *
 *	mine/my_read pid 812 __probe_ip=18446744071 count=64 name="x"
 *	kprobe_event pid 812 name="vfs_read" type=3
 *	event 42 pid 812
 *
 * (the last one by its number in FtraceEvent, as all others that have a message of their own),
 * then how often probes were passed, as the last FtraceStats say it:
 *
 *	probe mine/my_read hits 17 misses 0
 *
 * and "number N means A and B" for a number of FtraceEvent that stands for two events, which makes
 * the exit code 1. Bytes are printed as hexadecimal digits.
 */
#include <assert.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "gen/fields.h"
#include "unit/message_fields.h"

#define NUMBERS 65536
#define FIRST 65536

#define TYPE_INT64 3
#define TYPE_STRING 9

static struct pb_field descriptors[NUMBERS]; /* of each number, the last one */
static struct pb_field groups[NUMBERS];
static int conflicts;

/* The first field with an id; none: an empty one. */
static struct pb_field get(const struct pb_field *message, uint32_t id)
{
	for_each_valid_field (f, message)
		if (f.id == id)
			return f;
	return (struct pb_field){.data = (const uint8_t *)""};
}

static bool same(const struct pb_field *a, const struct pb_field *b)
{
	return a->len == b->len && !memcmp(a->data, b->data, a->len);
}

static void take_descriptor(const struct pb_field *f)
{
	uint64_t n = get(f, PB_FTRACE_EVENT_BUNDLE_GENERIC_EVENT_DESCRIPTOR_FIELD_ID).u64 - FIRST;
	struct pb_field d =
		get(f, PB_FTRACE_EVENT_BUNDLE_GENERIC_EVENT_DESCRIPTOR_EVENT_DESCRIPTOR);
	struct pb_field g = get(f, PB_FTRACE_EVENT_BUNDLE_GENERIC_EVENT_DESCRIPTOR_GROUP_NAME);

	if (n >= NUMBERS)
		return; /* further fields of an event with a message */
	if (descriptors[n].data && (!same(&d, &descriptors[n]) || !same(&g, &groups[n]))) {
		struct pb_field a = get(&descriptors[n], PB_DESCRIPTOR_PROTO_NAME);
		struct pb_field b = get(&d, PB_DESCRIPTOR_PROTO_NAME);

		printf("number %" PRIu64 " means %.*s/%.*s and %.*s/%.*s\n", n + FIRST,
		       (int)groups[n].len, groups[n].data, (int)a.len, a.data, (int)g.len, g.data,
		       (int)b.len, b.data);
		conflicts = 1;
	}
	descriptors[n] = d;
	groups[n] = g;
}

static void print_value(const struct pb_field *v, uint64_t type)
{
	if (!v->data && type == TYPE_INT64)
		printf("%" PRId64, (int64_t)v->u64);
	else if (!v->data)
		printf("%" PRIu64, v->u64);
	else if (type == TYPE_STRING)
		printf("\"%.*s\"", (int)v->len, v->data);
	for (size_t i = 0; v->data && type != TYPE_STRING && i < v->len; i++)
		printf("%02x", v->data[i]);
}

static void print_field(const struct pb_field *descriptor, const struct pb_field *v)
{
	struct pb_field name;

	pb_for_each (f, descriptor) {
		if (f.id != PB_DESCRIPTOR_PROTO_FIELD ||
		    get(&f, PB_FIELD_DESCRIPTOR_PROTO_NUMBER).u64 != v->id)
			continue;
		name = get(&f, PB_FIELD_DESCRIPTOR_PROTO_NAME);
		printf(" %.*s=", (int)name.len, name.data);
		print_value(v, get(&f, PB_FIELD_DESCRIPTOR_PROTO_TYPE).u64);
		return;
	}
	printf(" %u=?", v->id);
}

static void print_generic(const struct pb_field *message, uint64_t pid)
{
	const struct pb_field *descriptor = &descriptors[message->id - FIRST];
	struct pb_field name;

	if (!descriptor->data) {
		printf("number %u is not described\n", message->id);
		conflicts = 1;
		return;
	}
	name = get(descriptor, PB_DESCRIPTOR_PROTO_NAME);
	printf("%.*s/%.*s pid %" PRIu64, (int)groups[message->id - FIRST].len,
	       groups[message->id - FIRST].data, (int)name.len, name.data, pid);
	for_each_valid_field (v, message)
		print_field(descriptor, &v);
	printf("\n");
}

static void print_event(const struct pb_field *event)
{
	uint64_t pid = get(event, PB_FTRACE_EVENT_PID).u64;
	struct pb_field name;

	for_each_valid_field (f, event) {
		if (f.id >= FIRST && f.id - FIRST < NUMBERS)
			print_generic(&f, pid);
		else if (f.data && f.id != PB_FTRACE_EVENT_KPROBE_EVENT)
			printf("event %u pid %" PRIu64 "\n", f.id, pid);
		if (f.id != PB_FTRACE_EVENT_KPROBE_EVENT)
			continue;
		name = get(&f, PB_KPROBE_EVENT_NAME);
		printf("kprobe_event pid %" PRIu64 " name=\"%.*s\" type=%" PRIu64 "\n", pid,
		       (int)name.len, name.data, get(&f, PB_KPROBE_EVENT_TYPE).u64);
	}
}

static void each_field(const struct pb_field *message, uint32_t id,
		       void (*fn)(const struct pb_field *f))
{
	for_each_valid_field (f, message)
		if (f.id == id)
			fn(&f);
}

static void take_descriptors_of(const struct pb_field *bundle)
{
	each_field(bundle, PB_FTRACE_EVENT_BUNDLE_GENERIC_EVENT_DESCRIPTORS, take_descriptor);
}

static void print_events_of(const struct pb_field *bundle)
{
	each_field(bundle, PB_FTRACE_EVENT_BUNDLE_EVENT, print_event);
}

static void take_descriptors(const struct pb_field *packet)
{
	each_field(packet, PB_TRACE_PACKET_FTRACE_EVENTS, take_descriptors_of);
}

static void print_events(const struct pb_field *packet)
{
	each_field(packet, PB_TRACE_PACKET_FTRACE_EVENTS, print_events_of);
}

static struct pb_field last_stats;

static void take_stats(const struct pb_field *f)
{
	last_stats = *f;
}

static void find_stats(const struct pb_field *packet)
{
	each_field(packet, PB_TRACE_PACKET_FTRACE_STATS, take_stats);
}

static void print_probes(void)
{
	struct pb_field group, name;

	for_each_valid_field (f, &last_stats) {
		if (f.id != PB_FTRACE_STATS_PROBE_STATS)
			continue;
		group = get(&f, PB_FTRACE_PROBE_STATS_GROUP);
		name = get(&f, PB_FTRACE_PROBE_STATS_NAME);
		printf("probe %.*s/%.*s hits %" PRIu64 " misses %" PRIu64 "\n", (int)group.len,
		       group.data, (int)name.len, name.data,
		       get(&f, PB_FTRACE_PROBE_STATS_HITS).u64,
		       get(&f, PB_FTRACE_PROBE_STATS_MISSES).u64);
	}
}

int main(int argc, char **argv)
{
	struct pb_field trace = {.data = (const uint8_t *)""};
	int fd = argc == 2 ? open(argv[1], O_RDONLY) : -1;
	struct stat st;

	if (fd < 0 || fstat(fd, &st)) {
		fprintf(stderr, "usage: %s TRACE\n", argv[0]);
		return 2;
	}
	trace.len = (size_t)st.st_size;
	if (trace.len)
		trace.data = mmap(NULL, trace.len, PROT_READ, MAP_PRIVATE, fd, 0);
	assert(trace.data != MAP_FAILED);
	each_field(&trace, PB_TRACE_PACKET, take_descriptors);
	each_field(&trace, PB_TRACE_PACKET, print_events);
	each_field(&trace, PB_TRACE_PACKET, find_stats);
	print_probes();
	return conflicts;
}
