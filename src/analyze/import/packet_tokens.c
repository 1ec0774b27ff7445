/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a packet in the file's order: updates the state of its sequence, converts its time, and
 * queues it. Packets that later packets depend on are read at once: clock snapshots, statistics,
 * descriptions of the machine.
 */
#include <errno.h>
#include <stdlib.h>

#include "analyze/import/cpus.h"
#include "analyze/import/import_steps.h"
#include "analyze/import/track_event.h"
#include "base/core/mem.h"
#include "gen/fields.h"

struct deferred_packet {
	const uint8_t *data;
	size_t len;
};

#define MAX_PACKET_BYTES UINT32_MAX

static bool is_tokenized_payload(uint32_t field)
{
	switch (field) {
	case PB_TRACE_PACKET_FTRACE_EVENTS:
	case PB_TRACE_PACKET_FTRACE_STATS:
	case PB_TRACE_PACKET_PROCESS_TREE:
	case PB_TRACE_PACKET_PROCESS_STATS:
	case PB_TRACE_PACKET_SYS_STATS:
	case PB_TRACE_PACKET_CLOCK_SNAPSHOT:
	case PB_TRACE_PACKET_REMOTE_CLOCK_SYNC:
	case PB_TRACE_PACKET_TRACE_CONFIG:
	case PB_TRACE_PACKET_TRACE_STATS:
	case PB_TRACE_PACKET_TRACE_ATTRIBUTES:
	case PB_TRACE_PACKET_TRACE_UUID:
	case PB_TRACE_PACKET_SYSTEM_INFO:
	case PB_TRACE_PACKET_CPU_INFO:
	case PB_TRACE_PACKET_SERVICE_EVENT:
	case PB_TRACE_PACKET_TRACK_EVENT:
	case PB_TRACE_PACKET_TRACK_DESCRIPTOR:
	case PB_TRACE_PACKET_THREAD_DESCRIPTOR:
	case PB_TRACE_PACKET_PROCESS_DESCRIPTOR:
	case PB_TRACE_PACKET_EXTENSION_DESCRIPTOR:
	case PB_TRACE_PACKET_BATTERY:
	case PB_TRACE_PACKET_PERF_SAMPLE:
	case PB_TRACE_PACKET_STACK_SAMPLE:
	case PB_TRACE_PACKET_UNWIND_STATS:
	case PB_TRACE_PACKET_LATE_SUBJECT:
	case PB_TRACE_PACKET_WAITS_STATS:
	case PB_TRACE_PACKET_CGROUP_TREE:
	case PB_TRACE_PACKET_CGROUP_MEMBERS:
	case PB_TRACE_PACKET_CGROUP_WAITS:
	case PB_TRACE_PACKET_EVENT_HISTOGRAM:
	case PB_TRACE_PACKET_SYSCALLS_STATS:
	case PB_TRACE_PACKET_MODULE_SYMBOLS:
	case PB_TRACE_PACKET_SMAPS_PACKET:
	case PB_TRACE_PACKET_TRIGGER:
	case PB_TRACE_PACKET_CLONE_SNAPSHOT_TRIGGER:
	case PB_TRACE_PACKET_CONCURRENT_SESSION_EVENT:
	case PB_TRACE_PACKET_COMPRESSED_PACKETS:
	case PB_TRACE_PACKET_ZSTD_COMPRESSED_PACKETS:
		return true;
	}
	return false;
}

struct machine *import_get_machine(struct import *im, uint32_t raw_id)
{
	struct table *t = import_table(im, TABLE_MACHINE);
	struct machine *m;

	for (size_t i = 0; i < im->n_machines; i++)
		if (im->machines[i]->raw_id == raw_id)
			return im->machines[i];
	if (im->n_machines == MAX_MACHINES)
		return NULL;
	m = calloc(1, sizeof(*m));
	if (!m) {
		im->store->budget.error = -ENOMEM;
		return NULL;
	}
	m->raw_id = raw_id;
	m->row = table_append(t);
	m->latest = INT64_MIN;
	m->tracing_started = m->first_data = m->last_event = INT64_MIN;
	m->page_size = 4096;
	for (unsigned c = MACHINE_SYSNAME; c <= MACHINE_ARCH; c++)
		table_set_u32(t, c, m->row, NULL_U32);
	table_set_u32(t, MACHINE_RAW_ID, m->row, raw_id);
	table_set_u32(t, MACHINE_CPUS, m->row, NULL_U32);
	table_set_i64(t, MACHINE_RAM_BYTES, m->row, NULL_I64);
	table_set_u32(t, MACHINE_RAM_GB, m->row, NULL_U32);
	clocks_init(&m->clocks, im->store);
	if (im->n_machines) {
		m->clocks.trace = im->machines[0]->clocks.trace;
		m->clocks.is_default = im->machines[0]->clocks.is_default;
	}
	sequences_init(&m->sequences, im->store);
	tasks_init(&m->tasks, im->store, &im->infos, m->row);
	for (unsigned kind = 0; kind <= QUEUE_TRACK_EVENTS; kind++)
		im->packet_queues[m->row][kind] =
			event_queues_add_queue(&im->queues, kind, m->row, 0);
	im->machines[im->n_machines++] = m;
	return m;
}

/* Unpacks a compressed packet and reads the packets in it. The store keeps the unpacked bytes. */
static void unpack_packets(struct import *im, const struct pb_field *f)
{
	struct strbuf b = {0};
	struct trace_bytes bytes;
	struct pb_field packet;
	struct pb_dec d;
	int r = im->compressed ? -EBADMSG : packets_unpack(f->id, f->data, f->len, &b), error;

	if (r < 0) {
		if (r == -ENOMEM)
			im->store->budget.error = r;
		else
			im->not_unpacked++;
		strbuf_deinit(&b);
		return;
	}
	bytes = (struct trace_bytes){.len = b.len,
				     .packed_field = f->id,
				     .packed_at = store_find_place(im->store, f->data),
				     .packed_len = f->len};
	bytes.data = (uint8_t *)strbuf_take(&b);
	if (!bytes.data)
		return;
	/* Frees the unused capacity of the strbuf: the store keeps the bytes until it is freed. */
	bytes.data = realloc(bytes.data, bytes.len + 1) ?: bytes.data;
	error = store_keep_bytes(im->store, bytes);
	if (error < 0) {
		im->store->budget.error = error;
		return;
	}
	im->compressed = true;
	pb_dec_init(&d, bytes.data, bytes.len);
	while (pb_dec_next(&d, &packet) && !im->store->budget.error)
		if (packet.id == PB_TRACE_PACKET && packet.data)
			tokenize_packet(im, packet.data, packet.len);
	im->compressed = false;
	im->not_unpacked += r > 0 || !pb_dec_ok(&d);
}

/* ---- the state of the sequence ---- */

static void count_missing_sequence(struct import *im, const struct packet *p)
{
	struct store *s = im->store;

	stats_add(s, STAT_INCREMENTAL_STATE_CLEARED_MISSING_SEQUENCE_ID, STAT_NO_INDEX,
		  !!(p->flags & PACKET_STATE_CLEARED));
	stats_add(s, STAT_PREVIOUS_PACKET_DROPPED_MISSING_SEQUENCE_ID, STAT_NO_INDEX,
		  p->dropped && !(p->flags & PACKET_STATE_CLEARED));
	stats_add(s, STAT_TRACE_PACKET_DEFAULTS_MISSING_SEQUENCE_ID, STAT_NO_INDEX,
		  !!p->defaults.id);
	stats_add(s, STAT_INTERNED_DATA_MISSING_SEQUENCE_ID, STAT_NO_INDEX, !!p->interned.id);
}

/* Applies a packet to the state of its sequence: gap, clear, defaults, interned data. Returns
 * false, and counts it, if the packet needs the state, but packets are missing since its last
 * clear. */
static bool update_sequence(struct import *im, struct machine *m, const struct packet *p,
			    struct packet_sequence_info *seq)
{
	if (p->dropped && seq->seen)
		seq->drops++;
	seq->dropped += p->n_dropped;
	seq->seen = true;
	seq->has_first_packet |= p->first;
	if (p->flags & PACKET_STATE_CLEARED)
		sequences_clear(&m->sequences, seq);
	else if (p->dropped)
		seq->valid = false;
	if (p->defaults.data)
		sequences_set_defaults(&m->sequences, seq, &p->defaults);
	if (p->interned.data && seq->valid)
		sequences_intern(&m->sequences, seq, &p->interned);
	else if (p->interned.data)
		stats_add(im->store, STAT_INTERNED_DATA_SKIPPED_INCREMENTAL_STATE_INVALID,
			  STAT_NO_INDEX, 1);
	if (!(p->flags & PACKET_NEEDS_STATE))
		return true;
	seq->flagged++;
	if (seq->valid)
		return true;
	seq->skipped++;
	stats_add(im->store, STAT_PACKET_SKIPPED_SEQ_NEEDS_INCREMENTAL_STATE_INVALID, STAT_NO_INDEX,
		  1);
	return false;
}

/* ---- the time ---- */

static void defer_packet(struct import *im, const uint8_t *data, size_t len)
{
	if (!budget_charge(&im->store->budget, sizeof(*im->deferred)))
		return;
	if (array_reserve(&im->deferred, &im->cap_deferred, im->n_deferred + 1,
			  sizeof(*im->deferred))) {
		im->store->budget.error = -ENOMEM;
		return;
	}
	im->deferred[im->n_deferred++] = (struct deferred_packet){.data = data, .len = len};
}

/* Returns false, and counts it, for a time before 0. */
static bool check_time_is_positive(struct import *im, int64_t ts)
{
	if (ts < 0)
		stats_add(im->store, STAT_TRACE_SORTER_NEGATIVE_TIMESTAMP_DROPPED, STAT_NO_INDEX,
			  1);
	return ts >= 0;
}

/* Converts the packet's time. Returns false if it deferred the packet until more clocks are known,
 * or dropped it. */
static bool convert_packet_time(struct import *im, struct machine *m, const struct packet *p,
				struct packet_sequence_info *seq, const uint8_t *data, size_t len,
				int64_t *ret)
{
	int older = p->payload.id == PB_TRACE_PACKET_TRACK_EVENT
			    ? tokenize_track_event_time(im, m, p, seq, ret)
			    : 0;
	uint32_t clock = p->has_clock ? p->clock
			 : seq	      ? sequences_state(&m->sequences, seq->state)->default_clock
				      : 0;
	enum clock_result r;

	if (older < 0)
		return false;
	if (older)
		return check_time_is_positive(im, *ret);
	if (!p->has_timestamp) {
		*ret = MAX(m->latest, im->queues.latest);
		if (*ret == INT64_MIN)
			*ret = 0;
		if (p->payload.id != PB_TRACE_PACKET_TRACK_EVENT)
			return true;
		stats_add(im->store, STAT_TRACK_EVENT_MISSING_TIMESTAMP, STAT_NO_INDEX, 1);
		return false;
	}
	*ret = (int64_t)p->timestamp;
	if (clock) {
		r = clocks_convert(&m->clocks, clock_make_key(clock, p->sequence),
				   (int64_t)p->timestamp, ret);
		if (r != CLOCK_CONVERTED && !im->at_end) {
			defer_packet(im, data, len);
			return false;
		}
		if (r != CLOCK_CONVERTED) {
			clocks_count_failure(&m->clocks, r);
			stats_add(im->store, STAT_CLOCK_SYNC_FAILURE_UNDEFERRABLE_PACKET_LOSS,
				  STAT_NO_INDEX, 1);
			return false;
		}
	}
	if (clock || m->clocks.is_default)
		*ret = clocks_to_service_time(&m->clocks, *ret);
	if (!check_time_is_positive(im, *ret))
		return false;
	m->latest = MAX(m->latest, *ret);
	return true;
}

/* ---- into a queue ---- */

static void queue_packet(struct import *im, struct machine *m, const struct packet *p,
			 struct packet_sequence_info *seq, const uint8_t *data, size_t len)
{
	enum queue_kind kind =
		p->payload.id == PB_TRACE_PACKET_TRACK_EVENT ? QUEUE_TRACK_EVENTS : QUEUE_PACKETS;
	struct queued_event e = {
		.data = data, .a = (uint32_t)len, .b = seq ? seq->state : NULL_U32};

	if (kind == QUEUE_TRACK_EVENTS && !seq) {
		stats_add(im->store, STAT_TRACK_EVENT_MISSING_SEQUENCE_ID, STAT_NO_INDEX, 1);
		return;
	}
	if (len > MAX_PACKET_BYTES || !convert_packet_time(im, m, p, seq, data, len, &e.ts))
		return;
	if (kind == QUEUE_TRACK_EVENTS && !tokenize_track_event(im, m, p, seq, data))
		return;
	/* Queued samples keep the defaults that they were written with. */
	if (seq && (p->payload.id == PB_TRACE_PACKET_PERF_SAMPLE ||
		    p->payload.id == PB_TRACE_PACKET_STACK_SAMPLE))
		sequences_state(&m->sequences, seq->state)->queued = true;
	if (p->payload.id == PB_TRACE_PACKET_TRIGGER ||
	    p->payload.id == PB_TRACE_PACKET_CLONE_SNAPSHOT_TRIGGER)
		tokenize_trigger(im, e.ts, &p->payload);
	event_queues_add_event(&im->queues, im->packet_queues[m->row][kind], &e);
}

/* Reads packets, or parts of them, that are needed before events are sorted. Returns false if the
 * packet must also be queued. */
static bool read_before_sort(struct import *im, struct machine *m, const struct packet *p,
			     struct packet_sequence_info *seq)
{
	const struct pb_field *f = &p->payload;

	switch (f->id) {
	case PB_TRACE_PACKET_FTRACE_EVENTS:
		tokenize_bundle(im, m, p, seq);
		return true;
	case PB_TRACE_PACKET_FTRACE_STATS:
		tokenize_ftrace_stats(im, m, p, seq);
		return true;
	case PB_TRACE_PACKET_SERVICE_EVENT:
		return tokenize_service_event(im, m, p);
	case PB_TRACE_PACKET_SYSTEM_INFO:
		tokenize_system_info(im, m, f);
		return true;
	case PB_TRACE_PACKET_CPU_INFO:
		tokenize_cpu_info(im, m, f);
		return true;
	case PB_TRACE_PACKET_REMOTE_CLOCK_SYNC:
		if (m->row)
			stats_add(im->store, STAT_INVALID_CLOCK_SNAPSHOTS, STAT_NO_INDEX,
				  clocks_read_remote_sync(&m->clocks, f));
		return true;
	case PB_TRACE_PACKET_TRACE_CONFIG:
		tokenize_trace_config(im, f);
		return true;
	case PB_TRACE_PACKET_TRACE_ATTRIBUTES:
		tokenize_trace_attributes(im, m, f);
		return true;
	case PB_TRACE_PACKET_TRACE_UUID:
		tokenize_trace_uuid(im, f);
		return true;
	case PB_TRACE_PACKET_MODULE_SYMBOLS:
		tokenize_module_symbols(im, f);
		return true;
	case PB_TRACE_PACKET_UNWIND_STATS:
		tokenize_unwind_stats(im, f);
		return true;
	case PB_TRACE_PACKET_LATE_SUBJECT:
		tokenize_late_subject(im, f);
		return true;
	case PB_TRACE_PACKET_WAITS_STATS:
		tokenize_waits_stats(im, f);
		return true;
	case PB_TRACE_PACKET_SYSCALLS_STATS:
		tokenize_syscalls_stats(im, f);
		return true;
	case PB_TRACE_PACKET_TRACE_STATS:
		tokenize_trace_stats(im, m, f);
		return true;
	case PB_TRACE_PACKET_EXTENSION_DESCRIPTOR:
		tokenize_extension_descriptor(im, f);
		return true;
	case PB_TRACE_PACKET_TRACK_DESCRIPTOR:
		tokenize_track_descriptor(im, m, p, seq);
		return false;
	case PB_TRACE_PACKET_PROCESS_TREE:
		tokenize_process_tree(im, m, f);
		return false;
	case PB_TRACE_PACKET_THREAD_DESCRIPTOR:
		return !tokenize_thread_descriptor(im, m, p, seq);
	case 0:
		return true;
	}
	return false;
}

void tokenize_packet(struct import *im, const uint8_t *data, size_t len)
{
	struct packet_sequence_info *seq = NULL;
	struct machine *m;
	struct packet p;

	if (!packet_read(&p, data, len, is_tokenized_payload))
		im->undecodable++;
	if (p.payload.id == PB_TRACE_PACKET_COMPRESSED_PACKETS ||
	    p.payload.id == PB_TRACE_PACKET_ZSTD_COMPRESSED_PACKETS) {
		unpack_packets(im, &p.payload);
		return;
	}
	m = import_get_machine(im, p.machine);
	if (!m)
		return;
	if (p.has_sequence)
		seq = sequences_get(&m->sequences, p.sequence);
	else
		count_missing_sequence(im, &p);
	if (seq && !update_sequence(im, m, &p, seq))
		return;
	if (p.payload.id == PB_TRACE_PACKET_CLOCK_SNAPSHOT)
		tokenize_clock_snapshot(im, m, &p);
	else if (!read_before_sort(im, m, &p, seq))
		queue_packet(im, m, &p, seq, data, len);
}

void tokenize_deferred(struct import *im)
{
	size_t n = im->n_deferred;

	im->at_end = true;
	for (size_t i = 0; i < n && !im->store->budget.error; i++) {
		const struct deferred_packet *f = &im->deferred[i];
		struct packet_sequence_info *seq;
		struct machine *m;
		struct packet p;

		packet_read(&p, f->data, f->len, is_tokenized_payload);
		m = import_get_machine(im, p.machine);
		if (!m)
			continue;
		seq = p.has_sequence ? sequences_find(&m->sequences, p.sequence) : NULL;
		queue_packet(im, m, &p, seq, f->data, f->len);
	}
}
