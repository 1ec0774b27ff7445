/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: track_lines TRACE
 *
 * The values of all counter tracks, one a line, in the order of the trace:
 *
 *	TIME VALUE PATH		9012345678 4096 cgroups/system.slice/memory.current
 *
 * with the names on the way from the root, that of a process being "process 71 dd". Values that
 * lack their track are an error.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/system/fs.h"
#include "base/text/str.h"
#include "gen/fields.h"
#include "wire/pb_dec.h"
#include "wire/pb_varint.h"

struct track {
	uint64_t uuid, parent;
	struct pb_field name, process;
};

static struct track *tracks;
static size_t n_tracks, cap;
static unsigned bad;

static const struct track *find(uint64_t uuid)
{
	for (size_t i = 0; i < n_tracks; i++)
		if (tracks[i].uuid == uuid)
			return &tracks[i];
	return NULL;
}

static void on_descriptor(struct pb_field m)
{
	struct track t = {0};
	struct pb_field f;
	struct pb_dec d;

	pb_dec_init(&d, m.data, m.len);
	while (pb_dec_next(&d, &f)) {
		if (f.id == PB_TRACK_DESCRIPTOR_UUID)
			t.uuid = f.u64;
		else if (f.id == PB_TRACK_DESCRIPTOR_PARENT_UUID)
			t.parent = f.u64;
		else if (f.id == PB_TRACK_DESCRIPTOR_NAME)
			t.name = f;
		else if (f.id == PB_TRACK_DESCRIPTOR_PROCESS)
			t.process = f;
	}
	if (find(t.uuid))
		return;
	if (array_reserve(&tracks, &cap, n_tracks + 1, sizeof(t)) < 0)
		abort();
	tracks[n_tracks++] = t;
}

static void print_process(struct pb_field m)
{
	struct pb_field f, name = {0};
	struct pb_dec d;

	pb_dec_init(&d, m.data, m.len);
	while (pb_dec_next(&d, &f)) {
		if (f.id == PB_PROCESS_DESCRIPTOR_PID)
			printf("process %llu", (unsigned long long)f.u64);
		else if (f.id == PB_PROCESS_DESCRIPTOR_PROCESS_NAME)
			name = f;
	}
	if (name.len)
		printf(" %.*s", (int)name.len, (const char *)name.data);
}

static void print_path(uint64_t uuid)
{
	const struct track *t = find(uuid);

	if (!t) {
		bad++;
		return;
	}
	if (t->parent) {
		print_path(t->parent);
		putchar('/');
	}
	if (t->process.id)
		print_process(t->process);
	else
		printf("%.*s", (int)t->name.len, (const char *)t->name.data);
}

static void print_value(uint64_t ns, uint64_t uuid, const struct pb_field *v)
{
	double d;

	printf("%llu ", (unsigned long long)ns);
	memcpy(&d, &v->u64, sizeof(d));
	if (v->wire_type == PB_WIRE_VARINT)
		printf("%lld ", (long long)v->u64);
	else
		printf("%g ", d);
	print_path(uuid);
	putchar('\n');
}

/* The n-th extra track and the n-th extra value of one kind. */
static void print_extra(struct pb_field m, uint64_t ns, uint32_t uuids, uint32_t values)
{
	struct pb_field f, v;
	struct pb_dec a, b;

	pb_dec_init(&a, m.data, m.len);
	pb_dec_init(&b, m.data, m.len);
	while (pb_dec_next(&a, &f)) {
		if (f.id != uuids)
			continue;
		do
			if (!pb_dec_next(&b, &v)) {
				bad++;
				return;
			}
		while (v.id != values);
		print_value(ns, f.u64, &v);
	}
}

static void on_event(struct pb_field m, uint64_t ns)
{
	struct pb_field f, v = {0};
	uint64_t uuid = 0;
	struct pb_dec d;

	pb_dec_init(&d, m.data, m.len);
	while (pb_dec_next(&d, &f)) {
		if (f.id == PB_TRACK_EVENT_TRACK_UUID)
			uuid = f.u64;
		else if (f.id == PB_TRACK_EVENT_COUNTER_VALUE ||
			 f.id == PB_TRACK_EVENT_DOUBLE_COUNTER_VALUE)
			v = f;
	}
	if (!v.id)
		return;
	print_value(ns, uuid, &v);
	print_extra(m, ns, PB_TRACK_EVENT_EXTRA_COUNTER_TRACK_UUIDS,
		    PB_TRACK_EVENT_EXTRA_COUNTER_VALUES);
	print_extra(m, ns, PB_TRACK_EVENT_EXTRA_DOUBLE_COUNTER_TRACK_UUIDS,
		    PB_TRACK_EVENT_EXTRA_DOUBLE_COUNTER_VALUES);
}

static void on_packet(struct pb_field packet)
{
	struct pb_field f;
	uint64_t ns = 0;
	struct pb_dec d;

	pb_dec_init(&d, packet.data, packet.len);
	while (pb_dec_next(&d, &f)) {
		if (f.id == PB_TRACE_PACKET_TIMESTAMP)
			ns = f.u64;
		else if (f.id == PB_TRACE_PACKET_TRACK_DESCRIPTOR)
			on_descriptor(f);
		else if (f.id == PB_TRACE_PACKET_TRACK_EVENT)
			on_event(f, ns);
	}
}

int main(int argc, char **argv)
{
	struct strbuf b = {0};
	struct pb_field f;
	struct pb_dec d;

	if (argc != 2 || fs_read_file(argv[1], 1 << 30, &b) < 0)
		return 2;
	pb_dec_init(&d, b.s, b.len);
	while (pb_dec_next(&d, &f))
		on_packet(f);
	strbuf_deinit(&b);
	free(tracks);
	return bad || !pb_dec_ok(&d);
}
