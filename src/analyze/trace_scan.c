/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/trace_scan.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/contents.h"
#include "analyze/packets.h"
#include "base/core/hash_table.h"
#include "base/core/mem.h"
#include "base/text/str.h"
#include "gen/fields.h"
#include "wire/pb_read.h"

struct sequence_node {
	struct sequence s;
	UT_hash_handle hh;
};

static void sequence_table_deinit(struct sequence_table *t)
{
	HASH_FREE(t->by_id);
	t->left_out = 0;
}

static struct sequence_node *trace_scan_get_sequence(struct sequence_table *t, uint32_t id)
{
	struct sequence_node *n;

	HASH_FIND(hh, t->by_id, &id, sizeof(id), n);
	if (n)
		return n;
	if (HASH_COUNT(t->by_id) >= SEQUENCE_TABLE_MAX)
		return NULL;
	n = calloc(1, sizeof(*n));
	if (!n)
		return NULL;
	n->s.id = id;
	HASH_ADD(hh, t->by_id, s.id, sizeof(n->s.id), n);
	if (!n->hh.tbl) { /* out of memory: uthash has removed it again */
		free(n);
		return NULL;
	}
	return n;
}

static void count_gap(struct sequence *s, uint32_t dropped)
{
	unsigned i;

	s->gaps++;
	if (dropped == 1 || dropped >> GAP_REASONS)
		s->by_reason[GAP_PRESENT]++;
	for (i = GAP_PRESENT + 1; i < GAP_REASONS; i++)
		s->by_reason[i] += dropped >> i & 1;
}

/* Adds one packet to its sequence. first: the packet has first_packet_on_sequence. A mark without a
 * reason (dropped is 1) on the first packet of a sequence is ignored: one kind of central buffer
 * marks each first packet, and its own counters have the overwritten data. */
static void sequence_table_add_packet(struct sequence_table *t, uint32_t id, int32_t pid,
				      uint32_t dropped, bool first)
{
	struct sequence_node *n = trace_scan_get_sequence(t, id);

	if (!n) {
		t->left_out++;
		return;
	}
	if (pid)
		n->s.pid = pid;
	if (dropped > 1 || (dropped == 1 && !first && n->s.packets))
		count_gap(&n->s, dropped);
	n->s.packets++;
}

/* Adds the number of packets that, according to the writer, are missing before a packet. Call
 * sequence_table_add_packet() for the packet first. */
static void sequence_table_add_dropped(struct sequence_table *t, uint32_t id, uint64_t packets)
{
	struct sequence_node *n = trace_scan_get_sequence(t, id);

	if (!n)
		return;
	n->s.counted_gaps++;
	n->s.dropped += MIN(packets, INT64_MAX - n->s.dropped);
}

void sequence_table_each(const struct sequence_table *t,
			 void (*fn)(void *ctx, const struct sequence *s), void *ctx)
{
	const struct sequence_node *n;

	for (n = t->by_id; n; n = n->hh.next)
		fn(ctx, &n->s);
}

#define TRACK_EVENT_COUNTER 4 /* TrackEvent.Type */

static int trace_scan_kind_of(uint32_t packet_field)
{
	switch (packet_field) {
	case PB_TRACE_PACKET_SYS_STATS:
		return SAMPLES_SYS_STATS;
	case PB_TRACE_PACKET_PROCESS_STATS:
		return SAMPLES_PROCESS_STATS;
	case PB_TRACE_PACKET_BATTERY:
		return SAMPLES_BATTERY;
	case PB_TRACE_PACKET_JOURNALD_EVENT:
		return SAMPLES_JOURNAL;
	case PB_TRACE_PACKET_TRACK_EVENT:
		return SAMPLES_SLICES;
	case PB_TRACE_PACKET_PERF_SAMPLE:
		return SAMPLES_STACKS;
	case PB_TRACE_PACKET_EBPF_PROCESS_ROWS:
		return SAMPLES_PROCESS_ROWS;
	case PB_TRACE_PACKET_EVENT_HISTOGRAM:
		return SAMPLES_HISTOGRAMS;
	}
	return -1;
}

/* Returns true if packets with this payload count as samples. */
static bool is_sample_payload(uint32_t packet_field)
{
	return trace_scan_kind_of(packet_field) >= 0;
}

/* Returns the number of values in a track event of type counter, else 0. */
static uint64_t count_counter_values(const struct pb_field *event)
{
	bool is_counter = false;
	uint64_t n = 1, value;

	pb_for_each (f, event)
		switch (f.id) {
		case PB_TRACK_EVENT_TYPE:
			is_counter = f.u64 == TRACK_EVENT_COUNTER;
			break;
		case PB_TRACK_EVENT_EXTRA_COUNTER_VALUES:
			for (struct pb_packed p = pb_packed_of(&f); pb_packed_next(&p, &value);)
				n++;
			break;
		case PB_TRACK_EVENT_EXTRA_DOUBLE_COUNTER_VALUES:
			n += f.data ? f.len / sizeof(double) : 1;
			break;
		}
	return is_counter ? n : 0;
}

/* Returns false for a JournaldEvent or PerfSample that only reports a loss. */
static bool is_sample(int kind, const struct pb_field *payload)
{
	if (kind != SAMPLES_JOURNAL && kind != SAMPLES_STACKS)
		return true;
	pb_for_each (f, payload)
		if (kind == SAMPLES_JOURNAL ? f.id < PB_SYSTEMD_JOURNALD_EVENT_NUM_TOTAL
					    : f.id == PB_PERF_SAMPLE_CALLSTACK_IID ||
						      f.id == PB_PERF_SAMPLE_TIMEBASE_COUNT)
			return true;
	return false;
}

static void sample_counts_add(struct sample_counts *c, const struct pb_field *payload)
{
	int kind = trace_scan_kind_of(payload->id);
	uint64_t values = kind == SAMPLES_SLICES ? count_counter_values(payload) : 0;

	if (kind < 0 || !is_sample(kind, payload))
		return;
	if (values)
		c->of[SAMPLES_COUNTERS] += values;
	else
		c->of[kind]++;
}

uint64_t sample_counts_total(const struct sample_counts *c)
{
	uint64_t sum = 0;

	for (int i = 0; i < SAMPLES_KINDS; i++)
		sum += c->of[i];
	return sum;
}

const char *sample_counts_name(enum sample_kind kind)
{
	static const char *const names[SAMPLES_KINDS] = {
		[SAMPLES_SYS_STATS] = "sys_stats",   [SAMPLES_PROCESS_STATS] = "process_stats",
		[SAMPLES_BATTERY] = "battery",	     [SAMPLES_JOURNAL] = "journal",
		[SAMPLES_COUNTERS] = "counters",     [SAMPLES_SLICES] = "slices",
		[SAMPLES_STACKS] = "stacks",	     [SAMPLES_PROCESS_ROWS] = "process_rows",
		[SAMPLES_HISTOGRAMS] = "histograms",
	};

	return names[kind];
}

/*
 * The service appends its own fields (sequence, pid, gap) after the producer's. So a packet is
 * first scanned for its parts, then its payload is read.
 */

/* The kernel assigns no pid above this (PID_MAX_LIMIT). */
#define MAX_PID (1u << 22)

void trace_scan_deinit(struct trace_scan *s)
{
	ftrace_scan_deinit(&s->ftrace);
	source_scan_deinit(&s->sources);
	sequence_table_deinit(&s->sequences);
	free(s->pids_seen);
	strbuf_deinit(&s->config);
	strbuf_deinit(&s->unpacked);
	*s = (struct trace_scan){0};
}

/* ---- processes ---- */

/* Marks a pid as seen. Returns false if it was seen before or is invalid, or if memory runs out. */
static bool add_new_pid(struct trace_scan *s, uint64_t pid)
{
	uint8_t *grown;
	size_t need;

	if (pid > MAX_PID)
		return false;
	need = (size_t)pid / 8 + 1;
	if (need > s->pids_cap) {
		need = (need + 4095) & ~(size_t)4095;
		grown = realloc(s->pids_seen, need);
		if (!grown)
			return false;
		memset(grown + s->pids_cap, 0, need - s->pids_cap);
		s->pids_seen = grown;
		s->pids_cap = need;
	}
	if (s->pids_seen[pid / 8] & 1u << pid % 8)
		return false;
	s->pids_seen[pid / 8] |= (uint8_t)(1u << pid % 8);
	return true;
}

static bool scan_process_tree(struct trace_scan *s, const struct pb_field *tree)
{
	bool ok = true;

	pb_for_each_checked (f, tree, ok) {
		uint64_t pid = UINT64_MAX;

		if (f.id != PB_PROCESS_TREE_PROCESSES)
			continue;
		ok &= pb_read(&f, PB_TO(PB_PROCESS_TREE_PROCESS_PID, &pid));
		s->processes += add_new_pid(s, pid);
	}
	return ok;
}

/* ---- the service's events ---- */

/* Counts the session that began at ns (CLOCK_BOOTTIME), and the time before it in which nothing was
 * recorded. */
static void scan_next_session(struct trace_scan *s, uint64_t ns)
{
	uint64_t end = s->newest_ns;

	if (s->ftrace.last_ns)
		end = MAX(end, s->ftrace.last_ns + (uint64_t)s->ftrace.to_boot_ns);
	s->session_gaps++;
	s->session_gaps_ns += ns > end ? ns - end : 0;
	holes_begin_session(&s->ftrace.holes);
}

static bool scan_service_event(struct trace_scan *s, uint64_t ns, const struct pb_field *event)
{
	bool ok = true;

	pb_for_each_checked (f, event, ok) {
		if (f.id == PB_TRACING_SERVICE_EVENT_TRACING_STARTED)
			s->started_ns = ns;
		else if (f.id == PB_TRACING_SERVICE_EVENT_ALL_DATA_SOURCES_STARTED)
			s->all_started_ns = ns;
		else if (f.id == PB_TRACING_SERVICE_EVENT_TRACING_DISABLED)
			s->disabled_ns = ns;
		else if (f.id == PB_TRACING_SERVICE_EVENT_NEXT_SESSION_STARTED)
			scan_next_session(s, ns);
	}
	return ok;
}

/* ---- packets ---- */

static bool scan_reads_payload(uint32_t field)
{
	switch (field) {
	case PB_TRACE_PACKET_FTRACE_EVENTS:
	case PB_TRACE_PACKET_FTRACE_STATS:
	case PB_TRACE_PACKET_TRACE_CONFIG:
	case PB_TRACE_PACKET_TRACE_STATS:
	case PB_TRACE_PACKET_TRACE_UUID:
	case PB_TRACE_PACKET_PROCESS_TREE:
	case PB_TRACE_PACKET_SERVICE_EVENT:
	case PB_TRACE_PACKET_COMPRESSED_PACKETS:
	case PB_TRACE_PACKET_ZSTD_COMPRESSED_PACKETS:
		return true;
	}
	return source_scan_reads(field) || is_sample_payload(field);
}

/* Scans the packets in a compressed packet, which are counted instead of it. Returns false if the
 * packet or its end is invalid. A packet that is nested, too large, or for which memory runs out is
 * only counted. */
static bool scan_compressed(struct trace_scan *s, const struct pb_field *f, size_t packet_len)
{
	int r = s->is_unpacking ? -EFBIG : packets_unpack(f->id, f->data, f->len, &s->unpacked);
	bool whole;

	if (r < 0) {
		s->compressed_packets += r != -EBADMSG;
		return r != -EBADMSG;
	}
	s->packets--;
	s->bytes -= packet_len;
	s->is_unpacking = true;
	whole = trace_scan_file(s, (const uint8_t *)s->unpacked.s, s->unpacked.len) == 0;
	s->is_unpacking = false;
	return whole && r == 0;
}

/* Extends the time span by a packet whose kind is always stamped with CLOCK_BOOTTIME. */
static void set_boot_time(struct trace_scan *s, const struct packet *p)
{
	switch (p->payload.id) {
	case PB_TRACE_PACKET_PROCESS_TREE:
	case PB_TRACE_PACKET_PROCESS_STATS:
	case PB_TRACE_PACKET_SYS_STATS:
	case PB_TRACE_PACKET_SERVICE_EVENT:
		if (p->has_clock || !p->timestamp)
			return;
		if (!s->oldest_ns || p->timestamp < s->oldest_ns)
			s->oldest_ns = p->timestamp;
		s->newest_ns = MAX(s->newest_ns, p->timestamp);
	}
}

static bool scan_payload(struct trace_scan *s, const struct packet *p, size_t packet_len)
{
	const struct pb_field *f = &p->payload;

	sample_counts_add(&s->samples, f);
	s->ftrace.machine = p->machine;
	switch (f->id) {
	case PB_TRACE_PACKET_FTRACE_EVENTS:
		s->ftrace.sequence = p->sequence;
		return ftrace_scan_bundle(&s->ftrace, f);
	case PB_TRACE_PACKET_TRACE_CONFIG:
		if (!s->config.len)
			strbuf_add(&s->config, f->data, f->len);
		return true;
	case PB_TRACE_PACKET_FTRACE_STATS:
		return ftrace_scan_stats(&s->ftrace, p->sequence, f);
	case PB_TRACE_PACKET_TRACE_STATS:
		s->has_stats = true;
		return buffer_stats_decode(f->data, f->len, &s->stats);
	case PB_TRACE_PACKET_TRACE_UUID:
		s->has_uuid = true;
		return pb_read(f, PB_TO(PB_TRACE_UUID_LSB, &s->uuid_lsb));
	case PB_TRACE_PACKET_PROCESS_TREE:
		return scan_process_tree(s, f);
	case PB_TRACE_PACKET_SERVICE_EVENT:
		return scan_service_event(s, p->timestamp, f);
	case PB_TRACE_PACKET_COMPRESSED_PACKETS:
	case PB_TRACE_PACKET_ZSTD_COMPRESSED_PACKETS:
		return scan_compressed(s, f, packet_len);
	}
	return source_scan_payload(&s->sources, f);
}

void trace_scan_packet(struct trace_scan *s, const uint8_t *data, size_t len)
{
	struct packet p;
	bool ok = packet_read(&p, data, len, scan_reads_payload);

	s->packets++;
	s->bytes += len;
	if (p.sequence && p.dropped)
		holes_add_gap(&s->ftrace.holes, p.sequence);
	if (p.sequence)
		sequence_table_add_packet(&s->sequences, p.sequence, p.pid, p.dropped, p.first);
	if (p.dropped > 1 && p.n_dropped)
		sequence_table_add_dropped(&s->sequences, p.sequence, p.n_dropped);
	if (s->contents && p.payload.id != PB_TRACE_PACKET_COMPRESSED_PACKETS &&
	    p.payload.id != PB_TRACE_PACKET_ZSTD_COMPRESSED_PACKETS)
		contents_add_packet(s->contents, data, len);
	if (!scan_payload(s, &p, len) || !ok)
		s->bad_packets++;
	set_boot_time(s, &p);
}

int trace_scan_file(struct trace_scan *s, const uint8_t *data, size_t len)
{
	struct pb_field f;
	struct pb_dec d;

	pb_dec_init(&d, data, len);
	while (pb_dec_next(&d, &f)) {
		if (f.id != PB_TRACE_PACKET || !f.data)
			return -EBADMSG;
		trace_scan_packet(s, f.data, f.len);
	}
	return pb_dec_ok(&d) ? 0 : -EBADMSG;
}
