// SPDX-License-Identifier: Apache-2.0
/*
 * The service appends its own fields (sequence, pid, gap) behind the producer's, so a packet is
 * walked once to find its parts, and then the part that it carries is read.
 */

#include "analyze/trace_scan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/unpack_packets.h"
#include "gen/fields.h"
#include "wire/pb_dec.h"

/* Linux gives no pid above this (PID_MAX_LIMIT). */
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

/* False when the pid was seen before, or cannot be one. */
static bool first_time(struct trace_scan *s, uint64_t pid)
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

static bool scan_process(struct trace_scan *s, const uint8_t *data, size_t len)
{
	struct pb_field f;
	struct pb_dec d;

	pb_dec_init(&d, data, len);
	while (pb_dec_next(&d, &f))
		if (f.id == PB_PROCESS_TREE_PROCESS_PID)
			s->processes += first_time(s, f.u64);
	return pb_dec_ok(&d);
}

static bool scan_process_tree(struct trace_scan *s, const uint8_t *data, size_t len)
{
	struct pb_field f;
	struct pb_dec d;
	bool ok = true;

	pb_dec_init(&d, data, len);
	while (pb_dec_next(&d, &f))
		if (f.id == PB_PROCESS_TREE_PROCESSES)
			ok = f.data && scan_process(s, f.data, f.len) && ok;
	return ok && pb_dec_ok(&d);
}

/* ---- the service's events ---- */

static bool scan_service_event(struct trace_scan *s, uint64_t ns, const uint8_t *data, size_t len)
{
	struct pb_field f;
	struct pb_dec d;

	pb_dec_init(&d, data, len);
	while (pb_dec_next(&d, &f)) {
		if (f.id == PB_TRACING_SERVICE_EVENT_TRACING_STARTED)
			s->started_ns = ns;
		else if (f.id == PB_TRACING_SERVICE_EVENT_TRACING_DISABLED)
			s->disabled_ns = ns;
	}
	return pb_dec_ok(&d);
}

static bool scan_uuid(struct trace_scan *s, const uint8_t *data, size_t len)
{
	struct pb_field f;
	struct pb_dec d;

	s->has_uuid = true;
	pb_dec_init(&d, data, len);
	while (pb_dec_next(&d, &f))
		if (f.id == PB_TRACE_UUID_LSB)
			s->uuid_lsb = f.u64;
	return pb_dec_ok(&d);
}

/* ---- packets ---- */

/* What one packet is made of. */
struct parts {
	struct pb_field payload; /* the one field that we read; id 0 for none */
	uint64_t timestamp;
	uint32_t sequence;
	uint32_t dropped;
	int32_t pid;
	bool first;
};

static void note_part(struct parts *p, const struct pb_field *f)
{
	switch (f->id) {
	case PB_TRACE_PACKET_TIMESTAMP:
		p->timestamp = f->u64;
		break;
	case PB_TRACE_PACKET_TRUSTED_PACKET_SEQUENCE_ID:
		p->sequence = (uint32_t)f->u64;
		break;
	case PB_TRACE_PACKET_TRUSTED_PID:
		p->pid = (int32_t)f->u64;
		break;
	case PB_TRACE_PACKET_PREVIOUS_PACKET_DROPPED:
		p->dropped = (uint32_t)f->u64;
		break;
	case PB_TRACE_PACKET_FIRST_PACKET_ON_SEQUENCE:
		p->first = f->u64 != 0;
		break;
	case PB_TRACE_PACKET_FTRACE_EVENTS:
	case PB_TRACE_PACKET_FTRACE_STATS:
	case PB_TRACE_PACKET_TRACE_CONFIG:
	case PB_TRACE_PACKET_TRACE_STATS:
	case PB_TRACE_PACKET_TRACE_UUID:
	case PB_TRACE_PACKET_PROCESS_TREE:
	case PB_TRACE_PACKET_SERVICE_EVENT:
	case PB_TRACE_PACKET_COMPRESSED_PACKETS:
	case PB_TRACE_PACKET_ZSTD_COMPRESSED_PACKETS:
		if (f->data)
			p->payload = *f;
		break;
	default:
		if (f->data && (source_scan_reads(f->id) || sample_counts_reads(f->id)))
			p->payload = *f;
		break;
	}
}

/* The packets inside count, and the one around them does not. */
static bool scan_compressed(struct trace_scan *s, const struct pb_field *f, size_t packet_len)
{
	int r = s->is_unpacking ? -EFBIG : unpack_packets(f->id, f->data, f->len, &s->unpacked);

	if (r < 0) {
		s->compressed_packets += r != -EBADMSG;
		return r != -EBADMSG;
	}
	s->packets--;
	s->bytes -= packet_len;
	s->is_unpacking = true;
	r = trace_scan_file(s, (const uint8_t *)s->unpacked.s, s->unpacked.len);
	s->is_unpacking = false;
	return r == 0;
}

static bool scan_payload(struct trace_scan *s, const struct parts *p, size_t packet_len)
{
	const struct pb_field *f = &p->payload;

	sample_counts_add(&s->samples, f->id, f->data, f->len);
	switch (f->id) {
	case PB_TRACE_PACKET_FTRACE_EVENTS:
		s->ftrace.sequence = p->sequence;
		return ftrace_scan_bundle(&s->ftrace, f->data, f->len);
	case PB_TRACE_PACKET_TRACE_CONFIG:
		if (!s->config.len)
			strbuf_add(&s->config, f->data, f->len);
		return true;
	case PB_TRACE_PACKET_FTRACE_STATS:
		return ftrace_scan_stats(&s->ftrace, p->sequence, f->data, f->len);
	case PB_TRACE_PACKET_TRACE_STATS:
		s->has_stats = true;
		return service_stats_decode(f->data, f->len, &s->stats);
	case PB_TRACE_PACKET_TRACE_UUID:
		return scan_uuid(s, f->data, f->len);
	case PB_TRACE_PACKET_PROCESS_TREE:
		return scan_process_tree(s, f->data, f->len);
	case PB_TRACE_PACKET_SERVICE_EVENT:
		return scan_service_event(s, p->timestamp, f->data, f->len);
	case PB_TRACE_PACKET_COMPRESSED_PACKETS:
	case PB_TRACE_PACKET_ZSTD_COMPRESSED_PACKETS:
		return scan_compressed(s, f, packet_len);
	}
	return source_scan_payload(&s->sources, f->id, f->data, f->len);
}

void trace_scan_packet(struct trace_scan *s, const uint8_t *data, size_t len)
{
	struct parts p = {0};
	struct pb_field f;
	struct pb_dec d;

	s->packets++;
	s->bytes += len;
	pb_dec_init(&d, data, len);
	while (pb_dec_next(&d, &f))
		note_part(&p, &f);
	if (p.sequence && p.dropped)
		holes_gap(&s->ftrace.holes, p.sequence);
	if (p.sequence)
		sequence_table_packet(&s->sequences, p.sequence, p.pid, p.dropped, p.first);
	if (!scan_payload(s, &p, len) || !pb_dec_ok(&d))
		s->bad_packets++;
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
