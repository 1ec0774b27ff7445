/* SPDX-License-Identifier: Apache-2.0 */
#include "service/trace/service_packets.h"

#include <stdlib.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/system/log.h"
#include "common/builtin_clock.pb-c.h"
#include "gen/fields.h"
#include "service/buffer/trace_buffer.h"
#include "service/filter/packet_sink.h"
#include "service/filter/trace_filter.h"
#include "service/ipc/remote_machines.h"
#include "service/trace/extensions.h"
#include "service/trace/trace.h"
#include "service/trace/trace_internal.h"
#include "wire/pb_enc.h"
#include "wire/system_info.h"

static bool has_remote_sources(const Pb__TraceConfig *c)
{
	if (c->trace_all_machines)
		return true;
	for (size_t i = 0; i < c->n_data_sources; i++)
		if (c->data_sources[i]->n_machine_name_filter > 0)
			return true;
	return false;
}

static void begin_remote_packet(const struct trace *t, const struct remote_machine *m,
				struct pb_mem *p)
{
	pb_mem_reset(p);
	pb_enc_i64(&p->enc, PB_TRACE_PACKET_TRUSTED_UID, (int32_t)t->env->uid);
	pb_enc_u64(&p->enc, PB_TRACE_PACKET_MACHINE_ID, m->id);
}

static void end_remote_packet(struct trace *t, struct packet_sink *sink, const struct pb_mem *p)
{
	if (p->failed) {
		quota_log(t->owner.account->quota, t->owner.account->user, LOG_LEVEL_ERROR,
			  "out of memory: a service packet was dropped from a trace");
		return;
	}
	trace_filter_pass_service_packet(t->filter, sink, p->buf, pb_mem_len(p));
}

static void put_remote_info(struct pb_enc *e, const struct remote_machine *m)
{
	pb_enc_open(e, PB_TRACE_PACKET_SYSTEM_INFO);
	pb_enc_raw(e, m->system_info, m->system_info_len);
	/* The name that machine_name_filter compares. The last value of a field counts, so it
	 * replaces a name in the relay's fields. */
	if (m->name)
		pb_enc_str(e, PB_SYSTEM_INFO_MACHINE_NAME, m->name);
	pb_enc_close(e);
}

static void put_clock(struct pb_enc *e, uint32_t id, uint64_t value)
{
	pb_enc_open(e, PB_CLOCK_SNAPSHOT_CLOCKS);
	pb_enc_u64(e, PB_CLOCK_SNAPSHOT_CLOCK_CLOCK_ID, id);
	pb_enc_u64(e, PB_CLOCK_SNAPSHOT_CLOCK_TIMESTAMP, value);
	pb_enc_close(e);
}

/* Writes a pair of readings, with later_ns added to each of them. */
static void put_sync(struct pb_enc *e, const struct clock_sync *s, uint64_t later_ns)
{
	pb_enc_open(e, PB_REMOTE_CLOCK_SYNC_SYNCED_CLOCKS);
	pb_enc_open(e, PB_REMOTE_CLOCK_SYNC_SYNCED_CLOCKS_CLIENT_CLOCKS);
	for (size_t i = 0; i < s->n_client; i++)
		put_clock(e, s->client[i].id, s->client[i].value + later_ns);
	pb_enc_close(e);
	pb_enc_open(e, PB_REMOTE_CLOCK_SYNC_SYNCED_CLOCKS_HOST_CLOCKS);
	for (size_t i = 0; i < clock_snapshot_n_clocks(); i++)
		if (clock_snapshot_clock_id(i) != PB__BUILTIN_CLOCK__BUILTIN_CLOCK_TSC)
			put_clock(e, clock_snapshot_clock_id(i), s->host.value[i] + later_ns);
	pb_enc_close(e);
	pb_enc_close(e);
}

/* Readers expect the readings of a round trip: client, host, client, host. They take the middle of
 * two readings of one machine as the moment of the other machine's reading between them. This is
 * the round trip of the fastest message there and the fastest one back. */
static void put_round_trip(struct pb_enc *e, const struct remote_machine *m)
{
	pb_enc_open(e, PB_TRACE_PACKET_REMOTE_CLOCK_SYNC);
	put_sync(e, &m->sync, 0);
	put_sync(e, &m->sync, m->round_trip_ns);
	pb_enc_close(e);
}

static void service_packets_put_machine(struct trace *t, const struct remote_machine *m,
					struct packet_sink *sink, struct pb_mem *p)
{
	const Pb__TraceConfig__BuiltinDataSource *b = t->owner.config->builtin_data_sources;

	if (m->info_at > t->remote_written && !(b && b->disable_system_info)) {
		begin_remote_packet(t, m, p);
		put_remote_info(&p->enc, m);
		end_remote_packet(t, sink, p);
	}
	if (m->synced_at > t->remote_written && !(b && b->disable_clock_snapshotting)) {
		begin_remote_packet(t, m, p);
		put_round_trip(&p->enc, m);
		end_remote_packet(t, sink, p);
	}
}

/* Writes the SystemInfo and the clock offsets of each remote machine, each once, as soon as they
 * are known. No-op for a session of this machine only. */
static void put_remote_packets(struct trace *t, struct packet_sink *sink)
{
	const struct remote_machines *ms = t->env->machines;
	const struct remote_machine *m;
	_cleanup_(pb_mem_deinit) struct pb_mem p = {0};

	if (t->remote_written == ms->last || !has_remote_sources(t->owner.config) ||
	    pb_mem_init(&p) < 0)
		return;
	TAILQ_FOREACH (m, &ms->list, link)
		service_packets_put_machine(t, m, sink, &p);
	t->remote_written = ms->last;
}

/* A reader of a damaged trace searches for these bytes. */
static const uint8_t sync_marker[16] = {0x82, 0x47, 0x7a, 0x76, 0xb2, 0x8d, 0x42, 0xba,
					0x81, 0xdc, 0x33, 0x32, 0x6d, 0x57, 0xa0, 0x79};

/* Packets are encoded in mem, one after another, and passed to the sink. */
struct writer_state {
	struct trace *trace;
	struct packet_sink *sink;
	struct pb_mem mem;
};

static const Pb__TraceConfig__BuiltinDataSource *builtin_config(const struct trace *t)
{
	static const Pb__TraceConfig__BuiltinDataSource none =
		PB__TRACE_CONFIG__BUILTIN_DATA_SOURCE__INIT;

	return t->owner.config->builtin_data_sources ? t->owner.config->builtin_data_sources
						     : &none;
}

static struct pb_enc *begin_packet_with_trusted_fields(struct writer_state *w)
{
	struct pb_enc *e = &w->mem.enc;

	pb_mem_reset(&w->mem);
	pb_enc_i64(e, PB_TRACE_PACKET_TRUSTED_UID, (int32_t)w->trace->env->uid);
	pb_enc_u64(e, PB_TRACE_PACKET_TRUSTED_PACKET_SEQUENCE_ID, SEQUENCE_ID_SERVICE);
	return e;
}

static struct pb_enc *begin_packet(struct writer_state *w)
{
	struct pb_enc *e = begin_packet_with_trusted_fields(w);

	pb_enc_u64(e, PB_TRACE_PACKET_TIMESTAMP_CLOCK_ID,
		   PB__BUILTIN_CLOCK__BUILTIN_CLOCK_BOOTTIME);
	return e;
}

static struct pb_enc *begin_packet_at(struct writer_state *w, uint64_t boot_ns)
{
	struct pb_enc *e = begin_packet(w);

	pb_enc_u64(e, PB_TRACE_PACKET_TIMESTAMP, boot_ns);
	return e;
}

static void end_packet_through_filter(struct writer_state *w, struct trace_filter *filter)
{
	if (w->mem.failed) {
		quota_log(w->trace->owner.account->quota, w->trace->owner.account->user,
			  LOG_LEVEL_ERROR,
			  "out of memory: a service packet was dropped from a trace");
		return;
	}
	trace_filter_pass_service_packet(filter, w->sink, w->mem.buf, pb_mem_len(&w->mem));
}

static void service_packets_end_packet(struct writer_state *w)
{
	end_packet_through_filter(w, w->trace->filter);
}

/* ---- clocks ---- */

static void put_clock_snapshot(struct writer_state *w, const struct clock_snapshot *c)
{
	uint32_t primary = builtin_config(w->trace)->primary_trace_clock;
	struct pb_enc *e = begin_packet(w);

	pb_enc_open(e, PB_TRACE_PACKET_CLOCK_SNAPSHOT);
	for (size_t i = 0; i < clock_snapshot_n_clocks(); i++) {
		pb_enc_open(e, PB_CLOCK_SNAPSHOT_CLOCKS);
		pb_enc_u64(e, PB_CLOCK_SNAPSHOT_CLOCK_CLOCK_ID, clock_snapshot_clock_id(i));
		pb_enc_u64(e, PB_CLOCK_SNAPSHOT_CLOCK_TIMESTAMP, c->value[i]);
		pb_enc_close(e);
	}
	pb_enc_u64(e, PB_CLOCK_SNAPSHOT_PRIMARY_TRACE_CLOCK,
		   primary ? primary : PB__BUILTIN_CLOCK__BUILTIN_CLOCK_BOOTTIME);
	pb_enc_close(e);
	service_packets_end_packet(w);
}

static void put_clock_snapshots(struct writer_state *w)
{
	struct clock_snapshots *c = &w->trace->clocks;

	if (c->has_initial)
		put_clock_snapshot(w, &c->initial);
	for (size_t i = 0; i < c->n; i++)
		put_clock_snapshot(w, &c->ring[i]);
	clock_snapshots_clear(c);
}

/* The marker is the last field, so that the packet always ends with the same bytes. */
static void put_sync_marker(struct writer_state *w)
{
	struct pb_enc *e = begin_packet_with_trusted_fields(w);

	pb_enc_bytes(e, PB_TRACE_PACKET_SYNCHRONIZATION_MARKER, sync_marker, sizeof(sync_marker));
	service_packets_end_packet(w);
}

/* ---- packets that are written once ---- */

static void put_trace_config(struct writer_state *w)
{
	const Pb__TraceConfig *c = w->trace->owner.config;
	size_t len = pb__trace_config__get_packed_size(c);
	_cleanup_(freep) uint8_t *packed = malloc(len ? len : 1);
	struct pb_enc *e = begin_packet(w);

	if (!packed) {
		w->mem.failed = true;
		service_packets_end_packet(w);
		return;
	}
	pb__trace_config__pack(c, packed);
	pb_enc_bytes(e, PB_TRACE_PACKET_TRACE_CONFIG, packed, len);
	service_packets_end_packet(w);
}

static void put_extensions(struct writer_state *w)
{
	const struct extensions *x = w->trace->env->extensions;

	for (size_t i = 0; x && i < x->n; i++) {
		const struct extension_descriptor *d = &x->list[i];
		struct pb_enc *e = begin_packet(w);

		pb_enc_open(e, PB_TRACE_PACKET_EXTENSION_DESCRIPTOR);
		pb_enc_bytes(e,
			     d->gzip ? PB_EXTENSION_DESCRIPTOR_EXTENSION_SET_GZIP
				     : PB_EXTENSION_DESCRIPTOR_EXTENSION_SET,
			     d->data, d->len);
		pb_enc_close(e);
		service_packets_end_packet(w);
	}
}

static void put_uuid(struct writer_state *w)
{
	struct pb_enc *e = begin_packet(w);

	pb_enc_open(e, PB_TRACE_PACKET_TRACE_UUID);
	pb_enc_i64(e, PB_TRACE_UUID_MSB, w->trace->uuid_msb);
	pb_enc_i64(e, PB_TRACE_UUID_LSB, w->trace->uuid_lsb);
	pb_enc_close(e);
	service_packets_end_packet(w);
}

static void put_provenance_sequence(void *ctx, const struct trace_buffer_writer *writer,
				    const struct trace_buffer_histogram *histogram)
{
	struct writer_state *w = ctx;
	struct pb_enc *e = &w->mem.enc;
	uint32_t id;

	if (sequence_ids_get_or_add(&w->trace->sequences, w->trace->owner.account->quota, writer,
				    &id) < 0)
		return;
	pb_enc_open(e, PB_TRACE_PROVENANCE_BUFFER_SEQUENCES);
	pb_enc_u64(e, PB_TRACE_PROVENANCE_SEQUENCE_ID, id);
	pb_enc_i64(e, PB_TRACE_PROVENANCE_SEQUENCE_PRODUCER_ID, writer->producer_id);
	pb_enc_close(e);
}

static void put_provenance(struct writer_state *w)
{
	const struct trace *t = w->trace;
	struct pb_enc *e = begin_packet_at(w, clock_boot_ns());

	pb_enc_open(e, PB_TRACE_PACKET_TRACE_PROVENANCE);
	for (size_t i = 0; i < t->n_buffers; i++) {
		pb_enc_open(e, PB_TRACE_PROVENANCE_BUFFERS);
		trace_buffer_each_writer(t->buffers[i].buffer, put_provenance_sequence, w);
		pb_enc_close(e);
	}
	pb_enc_close(e);
	service_packets_end_packet(w);
}

static void put_system_info(struct writer_state *w)
{
	struct pb_enc *e = begin_packet(w);

	pb_enc_open(e, PB_TRACE_PACKET_SYSTEM_INFO);
	system_info_put(e);
	pb_enc_str(e, PB_SYSTEM_INFO_TRACING_SERVICE_VERSION, SERVICE_VERSION);
	pb_enc_close(e);
	service_packets_end_packet(w);
}

/* ---- triggers ---- */

static void service_packets_put_trigger(struct writer_state *w, uint32_t field,
					const struct received_trigger *t)
{
	struct pb_enc *e = begin_packet_at(w, t->boot_ns);

	pb_enc_open(e, field);
	pb_enc_str(e, PB_TRIGGER_TRIGGER_NAME, t->name);
	pb_enc_str(e, PB_TRIGGER_PRODUCER_NAME, t->producer);
	pb_enc_i64(e, PB_TRIGGER_TRUSTED_PRODUCER_UID, (int32_t)t->uid);
	pb_enc_u64(e, PB_TRIGGER_STOP_DELAY_MS, t->delay_ms);
	pb_enc_close(e);
	service_packets_end_packet(w);
}

static void put_triggers(struct writer_state *w)
{
	struct trace *t = w->trace;

	for (size_t i = 0; i < t->n_received; i++) {
		service_packets_put_trigger(w, PB_TRACE_PACKET_TRIGGER, &t->received[i]);
		received_trigger_deinit(&t->received[i]);
	}
	t->n_received = 0;
}

/* ---- events and statistics ---- */

static void put_service_event(struct writer_state *w, const struct service_event *event)
{
	const struct slow_sources *slow =
		service_events_get_sources(&w->trace->service_events, event->kind);
	struct pb_enc *e = begin_packet_at(w, event->boot_ns);

	pb_enc_open(e, PB_TRACE_PACKET_SERVICE_EVENT);
	if (slow)
		pb_enc_bytes(e, event->kind, slow->bytes, slow->len);
	else
		pb_enc_u64(e, event->kind, event->value);
	pb_enc_close(e);
	service_packets_end_packet(w);
}

static void put_service_events(struct writer_state *w)
{
	struct service_events *l = &w->trace->service_events;

	for (size_t i = 0; i < l->n; i++)
		put_service_event(w, &l->events[i]);
	service_events_clear(l);
}

static void put_events_of_other_sessions(struct writer_state *w)
{
	struct concurrent_events *c = &w->trace->concurrent;

	for (size_t i = 0; i < c->n; i++) {
		const struct concurrent_event *event = &c->list[i];
		struct pb_enc *e = begin_packet_at(w, event->boot_ns);

		pb_enc_open(e, PB_TRACE_PACKET_CONCURRENT_SESSION_EVENT);
		pb_enc_u64(e, PB_CONCURRENT_SESSION_EVENT_STATE, event->state);
		if (event->name)
			pb_enc_str(e, PB_CONCURRENT_SESSION_EVENT_SESSION_NAME, event->name);
		pb_enc_u64(e, PB_CONCURRENT_SESSION_EVENT_SESSION_ID, event->session_id);
		pb_enc_i64(e, PB_CONCURRENT_SESSION_EVENT_CONSUMER_UID, (int32_t)event->uid);
		pb_enc_u64(e, PB_CONCURRENT_SESSION_EVENT_NUM_DATA_SOURCES, event->n_sources);
		pb_enc_close(e);
		service_packets_end_packet(w);
	}
	concurrent_session_events_clear(c);
}

static size_t make_stats_packet(struct writer_state *w)
{
	struct pb_enc *e = begin_packet(w);

	pb_enc_open(e, PB_TRACE_PACKET_TRACE_STATS);
	w->trace->owner.put_stats(w->trace->owner.ctx, e, SIZE_MAX);
	pb_enc_close(e);
	return w->mem.failed ? 0 : pb_mem_len(&w->mem);
}

#define MAX_STATS_TRIES 4 /* the varint of a count may get a byte longer, once or twice */

static void put_trace_stats(struct writer_state *w)
{
	struct trace_filter *f = w->trace->filter;
	size_t counted = 0, len = make_stats_packet(w);

	/* The filter's statistics count this packet, too, which may change its size. Repeat until
	 * the size is stable. */
	for (int i = 0; f && len != counted && i < MAX_STATS_TRIES; i++) {
		trace_filter_count_unfiltered(f, (int64_t)len - (int64_t)counted);
		counted = len;
		len = make_stats_packet(w);
	}
	/* The filter must not remove the counts of lost packets. */
	end_packet_through_filter(w, NULL);
}

/* ---- head and tail ---- */

static void put_once_per_trace(struct writer_state *w)
{
	struct trace *t = w->trace;

	put_uuid(w);
	if (!builtin_config(t)->disable_extension_descriptors)
		put_extensions(w);
	put_provenance(w);
	if (!builtin_config(t)->disable_system_info)
		put_system_info(w);
}

void service_packets_put_head(struct trace *t, struct packet_sink *sink)
{
	struct writer_state w = {.trace = t, .sink = sink};

	if (pb_mem_init(&w.mem) < 0)
		return;
	put_clock_snapshots(&w);
	if (t->sync_marker_due)
		put_sync_marker(&w);
	t->sync_marker_due = false;
	if (!t->head_written && !builtin_config(t)->disable_trace_config)
		put_trace_config(&w);
	if (!t->head_written && t->clone_trigger.name && !builtin_config(t)->disable_trace_config)
		service_packets_put_trigger(&w, PB_TRACE_PACKET_CLONE_SNAPSHOT_TRIGGER,
					    &t->clone_trigger);
	if (!builtin_config(t)->disable_trace_config)
		put_triggers(&w);
	if (!t->head_written) {
		put_once_per_trace(&w);
		t->remote_written = 0;
	}
	t->head_written = true;
	if (!builtin_config(t)->disable_service_events)
		put_service_events(&w);
	put_events_of_other_sessions(&w);
	put_remote_packets(t, sink);
	pb_mem_deinit(&w.mem);
}

void service_packets_put_tail(struct trace *t, struct packet_sink *sink)
{
	struct writer_state w = {.trace = t, .sink = sink};

	if (pb_mem_init(&w.mem) < 0)
		return;
	if (!builtin_config(t)->disable_service_events) {
		trace_record_event(t, SERVICE_EVENT_READ_COMPLETED);
		put_service_events(&w);
	}
	if (t->stats_due)
		put_trace_stats(&w);
	t->stats_due = false;
	pb_mem_deinit(&w.mem);
}
