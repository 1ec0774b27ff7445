/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/contents.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/bundle_walk.h"
#include "analyze/event_counts.h"
#include "analyze/packets.h"
#include "base/core/hash_table.h"
#include "base/core/mem.h"
#include "base/text/str.h"
#include "gen/fields.h"
#include "wire/pb_read.h"

struct content_node {
	struct content_row row;
	uint32_t number; /* in by_number */
	UT_hash_handle hh;
};

static void free_node_table(struct content_node **table)
{
	HASH_FREE(*table);
}

void contents_deinit(struct contents *c)
{
	free_node_table(&c->by_name);
	free_node_table(&c->by_number);
	*c = (struct contents){.n_machines = 0};
}

/* ---- rows ---- */

static struct content_row *contents_find_or_add_row(struct contents *c, const char *name)
{
	size_t len = strnlen(name, CONTENTS_MAX_NAME - 1);
	struct content_node *n;

	HASH_FIND(hh, c->by_name, name, len, n);
	if (n)
		return &n->row;
	if (HASH_COUNT(c->by_name) >= CONTENTS_MAX_KINDS)
		return &c->other;
	n = calloc(1, sizeof(*n));
	if (!n)
		return &c->other;
	memcpy(n->row.name, name, len);
	HASH_ADD(hh, c->by_name, row.name, len, n);
	if (n->hh.tbl)
		return &n->row;
	free(n);
	return &c->other;
}

static void contents_add(struct contents *c, const char *name, uint64_t count, uint64_t bytes)
{
	struct content_row *r = contents_find_or_add_row(c, name);

	r->count += count;
	r->bytes += bytes;
}

/* Events without a message are counted by number: their description may come after them. */
#define NUMBERED "kernel event "

static void set_described_name(const struct contents *c, struct content_row *row)
{
	const struct content_node *n;
	uint32_t number;

	if (!str_starts(row->name, NUMBERED) ||
	    str_to_u32(row->name + strlen(NUMBERED), &number) < 0)
		return;
	HASH_FIND(hh, c->by_number, &number, sizeof(number), n);
	if (n && n->row.name[0])
		memcpy(row->name, n->row.name, sizeof(row->name));
}

static int compare_rows_by_bytes(const void *a, const void *b)
{
	const struct content_row *x = a, *y = b;

	return x->bytes != y->bytes ? (x->bytes < y->bytes ? 1 : -1) : strcmp(x->name, y->name);
}

int contents_list_rows(const struct contents *c, struct content_row **ret, size_t *ret_n)
{
	size_t n = 0;
	struct content_row *rows = calloc(HASH_COUNT(c->by_name) + 1, sizeof(*rows));

	if (!rows)
		return -ENOMEM;
	for (const struct content_node *node = c->by_name; node; node = node->hh.next)
		rows[n++] = node->row;
	for (size_t i = 0; i < n; i++)
		set_described_name(c, &rows[i]);
	if (c->other.count) {
		rows[n] = c->other;
		snprintf(rows[n++].name, sizeof(rows->name), "other");
	}
	qsort(rows, n, sizeof(*rows), compare_rows_by_bytes);
	*ret = rows;
	*ret_n = n;
	return 0;
}

/* ---- kernel events ---- */

/* Stores the name of an event that has no message type of its own, under its field number. */
static void contents_read_descriptor(struct contents *c, const struct pb_field *descriptor)
{
	struct pb_field message = {.id = 0}, name = {.id = 0};
	struct content_node *n;
	uint32_t number = 0;

	pb_read(descriptor,
		PB_TO(PB_FTRACE_EVENT_BUNDLE_GENERIC_EVENT_DESCRIPTOR_FIELD_ID, &number),
		PB_TO(PB_FTRACE_EVENT_BUNDLE_GENERIC_EVENT_DESCRIPTOR_EVENT_DESCRIPTOR, &message));
	HASH_FIND(hh, c->by_number, &number, sizeof(number), n);
	if (n || HASH_COUNT(c->by_number) >= CONTENTS_MAX_KINDS)
		return;
	n = calloc(1, sizeof(*n));
	if (!n)
		return;
	n->number = number;
	pb_read(&message, PB_TO(1, &name)); /* DescriptorProto.name */
	packet_copy_text(&name, n->row.name, sizeof(n->row.name));
	HASH_ADD(hh, c->by_number, number, sizeof(n->number), n);
	if (!n->hh.tbl)
		free(n);
}

static struct content_row *get_row_of_event(struct contents *c, uint32_t id)
{
	const struct event_name *known;
	struct content_row *row;
	char number[32];

	if (id < ARRAY_SIZE(c->by_event) && c->by_event[id])
		return c->by_event[id];
	known = event_message_name(id);
	snprintf(number, sizeof(number), NUMBERED "%u", id);
	row = contents_find_or_add_row(c, known ? known->name : number);
	if (id < ARRAY_SIZE(c->by_event) && row != &c->other)
		c->by_event[id] = row;
	return row;
}

static void contents_add_event(struct contents *c, const struct bundle_field *event)
{
	struct content_row *row = get_row_of_event(c, event->event);

	row->count++;
	row->bytes += event->raw.len;
}

static void contents_add_sum(struct contents *c, const char *name, const struct compact_sum *sum)
{
	if (sum->bytes)
		contents_add(c, name, sum->n, sum->bytes);
}

/* Returns how many bytes were added to rows. */
static size_t contents_add_columns(struct contents *c, const struct pb_field *columns)
{
	struct compact_sums sums;

	compact_sum_up(columns, &sums);
	contents_add_sum(c, "thread names in compact sched", &sums.names);
	contents_add_sum(c, "sched_switch", &sums.switches);
	contents_add_sum(c, "sched_waking", &sums.wakings);
	return sums.names.bytes + sums.switches.bytes + sums.wakings.bytes;
}

/* Adds the events and columns of a bundle to the rows. Returns how many bytes of the bundle they
 * are. */
static size_t add_rows_of_bundle(struct contents *c, const struct pb_field *bundle)
{
	struct pb_dec d = pb_dec_of(bundle);
	struct bundle_field field;
	size_t added = 0;

	while (bundle_next(&d, &field)) {
		const struct pb_field *f = &field.raw.f;

		if (!f->data)
			continue;
		if (f->id == PB_FTRACE_EVENT_BUNDLE_GENERIC_EVENT_DESCRIPTORS)
			contents_read_descriptor(c, f);
		if (f->id == PB_FTRACE_EVENT_BUNDLE_EVENT) {
			contents_add_event(c, &field);
			added += field.raw.len;
		} else if (f->id == PB_FTRACE_EVENT_BUNDLE_COMPACT_SCHED) {
			added += contents_add_columns(c, f);
		}
	}
	return added;
}

/* ---- packets ---- */

static const char *contents_payload_name(uint32_t payload, char buf[static 32])
{
	static const struct {
		uint32_t field;
		const char *name;
	} names[] = {
		{PB_TRACE_PACKET_FTRACE_EVENTS, "bundle overhead"},
		{PB_TRACE_PACKET_PROCESS_TREE, "process_tree"},
		{PB_TRACE_PACKET_INODE_FILE_MAP, "inode_file_map"},
		{PB_TRACE_PACKET_CLOCK_SNAPSHOT, "clock_snapshot"},
		{PB_TRACE_PACKET_SYS_STATS, "sys_stats"},
		{PB_TRACE_PACKET_PROCESS_STATS, "process_stats"},
		{PB_TRACE_PACKET_TRACK_EVENT, "track_event"},
		{PB_TRACE_PACKET_TRACE_CONFIG, "trace_config"},
		{PB_TRACE_PACKET_FTRACE_STATS, "ftrace_stats"},
		{PB_TRACE_PACKET_TRACE_STATS, "trace_stats"},
		{PB_TRACE_PACKET_SYNCHRONIZATION_MARKER, "synchronization_marker"},
		{PB_TRACE_PACKET_BATTERY, "battery"},
		{PB_TRACE_PACKET_PROCESS_DESCRIPTOR, "process_descriptor"},
		{PB_TRACE_PACKET_THREAD_DESCRIPTOR, "thread_descriptor"},
		{PB_TRACE_PACKET_SYSTEM_INFO, "system_info"},
		{PB_TRACE_PACKET_TRIGGER, "trigger"},
		{PB_TRACE_PACKET_TRACK_DESCRIPTOR, "track_descriptor"},
		{PB_TRACE_PACKET_PERF_SAMPLE, "perf_sample"},
		{PB_TRACE_PACKET_CPU_INFO, "cpu_info"},
		{PB_TRACE_PACKET_SERVICE_EVENT, "service_event"},
		{PB_TRACE_PACKET_EXTENSION_DESCRIPTOR, "extension_descriptor"},
		{PB_TRACE_PACKET_TRACE_UUID, "trace_uuid"},
		{PB_TRACE_PACKET_REMOTE_CLOCK_SYNC, "remote_clock_sync"},
		{PB_TRACE_PACKET_TRACE_PROVENANCE, "trace_provenance"},
		{PB_TRACE_PACKET_INTERRUPT_INFO, "interrupt_info"},
		{PB_TRACE_PACKET_JOURNALD_EVENT, "journald_event"},
		{PB_TRACE_PACKET_STACK_SAMPLE, "stack_sample"},
		{PB_TRACE_PACKET_TRACE_ATTRIBUTES, "trace_attributes"},
		{PB_TRACE_PACKET_EBPF_COUNTERS_STATS, "ebpf_counters_stats"},
		{PB_TRACE_PACKET_POLLED_COUNTERS_STATS, "polled_counters_stats"},
		{PB_TRACE_PACKET_EBPF_PROCESS_ROWS, "ebpf_process_rows"},
		{PB_TRACE_PACKET_EVENT_HISTOGRAM, "event_histogram"},
		{PB_TRACE_PACKET_EBPF_HISTOGRAM_ROWS, "ebpf_histogram_rows"},
		{PB_TRACE_PACKET_WAITS_STATS, "waits_stats"},
		{PB_TRACE_PACKET_SYSCALLS_STATS, "syscalls_stats"},
		{PB_TRACE_PACKET_UNWIND_STATS, "unwind_stats"},
		{PB_TRACE_PACKET_LATE_SUBJECT, "late_subject"},
		{PB_TRACE_PACKET_IMPORTED_RECORDING, "imported_recording"},
		{0, "interned data only"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (names[i].field == payload)
			return names[i].name;
	snprintf(buf, 32, "packets of field %u", payload);
	return buf;
}

static struct content_machine *get_content_machine(struct contents *c, uint32_t id)
{
	for (size_t i = 0; i < c->n_machines; i++)
		if (c->machines[i].id == id)
			return &c->machines[i];
	if (c->n_machines == CONTENTS_MAX_MACHINES)
		return NULL;
	c->machines[c->n_machines] = (struct content_machine){.id = id};
	return &c->machines[c->n_machines++];
}

static void read_system(struct content_machine *m, const struct pb_field *info)
{
	struct pb_field utsname = {0}, name = {0}, system = {0}, release = {0}, arch = {0};

	pb_read(info, PB_TO(PB_SYSTEM_INFO_NUM_CPUS, &m->cpus),
		PB_TO(PB_SYSTEM_INFO_UTSNAME, &utsname), PB_TO(PB_SYSTEM_INFO_MACHINE_NAME, &name));
	packet_copy_text(&name, m->name, sizeof(m->name));
	if (!pb_read(&utsname, PB_TO(PB_UTSNAME_SYSNAME, &system),
		     PB_TO(PB_UTSNAME_RELEASE, &release), PB_TO(PB_UTSNAME_MACHINE, &arch)) ||
	    !utsname.id)
		return;
	packet_copy_text(&system, m->system, sizeof(m->system));
	packet_copy_text(&release, m->release, sizeof(m->release));
	packet_copy_text(&arch, m->arch, sizeof(m->arch));
}

static void read_import(struct content_import *c, const struct pb_field *message)
{
	struct pb_field format = {0}, recorder = {0}, clock = {0};

	pb_read(message, PB_TO(PB_IMPORTED_RECORDING_FORMAT, &format),
		PB_TO(PB_IMPORTED_RECORDING_RECORDER, &recorder),
		PB_TO(PB_IMPORTED_RECORDING_CLOCK, &clock));
	packet_copy_text(&format, c->format, sizeof(c->format));
	packet_copy_text(&recorder, c->recorder, sizeof(c->recorder));
	packet_copy_text(&clock, c->clock, sizeof(c->clock));
	c->n_notes = 0;
	pb_for_each (f, message) {
		if (f.id == PB_IMPORTED_RECORDING_NOTES && c->n_notes < CONTENTS_MAX_NOTES) {
			packet_copy_text(&f, c->notes[c->n_notes], sizeof(c->notes[0]));
			c->n_notes++;
		}
	}
}

void contents_add_packet(struct contents *c, const uint8_t *data, size_t len)
{
	struct pb_field f, payload = {.id = 0};
	struct content_machine *m;
	uint32_t machine = 0;
	size_t added = 0;
	char buf[32];
	struct pb_dec d;

	pb_dec_init(&d, data, len);
	while (pb_dec_next(&d, &f))
		if (f.id == PB_TRACE_PACKET_MACHINE_ID)
			machine = (uint32_t)f.u64;
		else if (f.data && f.id != PB_TRACE_PACKET_INTERNED_DATA &&
			 f.id != PB_TRACE_PACKET_TRACE_PACKET_DEFAULTS)
			payload = f;
	m = get_content_machine(c, machine);
	if (m && payload.id == PB_TRACE_PACKET_SYSTEM_INFO)
		read_system(m, &payload);
	if (payload.id == PB_TRACE_PACKET_IMPORTED_RECORDING)
		read_import(&c->imported, &payload);
	if (payload.id == PB_TRACE_PACKET_FTRACE_EVENTS)
		added = add_rows_of_bundle(c, &payload);
	contents_add(c, contents_payload_name(payload.id, buf), 1, len - MIN(added, len));
	c->bytes += len;
}
