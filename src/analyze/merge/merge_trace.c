/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/merge/merge_trace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/cut/cut_reader.h"
#include "base/core/mem.h"
#include "gen/fields.h"
#include "wire/pb_enc.h"
#include "wire/pb_read.h"

#define CLOCK_BOOTTIME_NUMBER 6
#define NS 1000000000ll
/* How much CLOCK_REALTIME may be set between two recordings of one boot. */
#define REBOOT_NS (1 * NS)

/* ---- the first pass ---- */

static void read_snapshot_clocks(struct merge_input *in, const struct pb_field *snapshot)
{
	struct pb_dec d = pb_dec_of(snapshot);
	uint64_t boot = 0, real = 0;
	struct pb_field f;

	while (pb_dec_next(&d, &f)) {
		uint64_t id = 0, time = 0;

		if (f.id == PB_CLOCK_SNAPSHOT_PRIMARY_TRACE_CLOCK)
			in->trace_clock = (uint32_t)f.u64;
		if (f.id != PB_CLOCK_SNAPSHOT_CLOCKS || !f.data)
			continue;
		pb_read(&f, PB_TO(PB_CLOCK_SNAPSHOT_CLOCK_CLOCK_ID, &id),
			PB_TO(PB_CLOCK_SNAPSHOT_CLOCK_TIMESTAMP, &time));
		if (id == CLOCK_BOOTTIME_NUMBER)
			boot = time;
		else if (id == CLOCK_REALTIME_ID)
			real = time;
	}
	if (!boot || !real || boot > INT64_MAX || real > INT64_MAX)
		return;
	in->last = (struct merge_clocks){(int64_t)boot, (int64_t)real};
	if (!in->has_clocks)
		in->first = in->last;
	in->has_clocks = true;
}

static int read_input_packet(void *ctx, const struct cut_packet *c)
{
	struct merge_input *in = ctx;

	in->max_sequence = MAX(in->max_sequence, c->p.sequence);
	in->has_machines |= c->p.machine != 0;
	if (c->p.payload.id == PB_TRACE_PACKET_CLOCK_SNAPSHOT && !c->p.machine)
		read_snapshot_clocks(in, &c->p.payload);
	return 0;
}

int merge_input_read(struct merge_input *in)
{
	struct cut_reader r;
	int result;

	cut_reader_init(&r);
	in->trace_clock = CLOCK_BOOTTIME_NUMBER;
	r.on_packet = read_input_packet;
	r.ctx = in;
	result = cut_reader_run(&r, in->data, in->len, in->is_mapped);
	in->cut_off = r.cut_off;
	in->has_programs = r.programs;
	in->packets = r.packets;
	in->undecodable = r.undecodable;
	in->not_unpacked = r.not_unpacked;
	cut_reader_deinit(&r);
	return result;
}

/* ---- the plan ---- */

/* Returns CLOCK_REALTIME of the moment when the machine booted. */
static int64_t boot_time(const struct merge_input *in)
{
	return in->first.real - in->first.boot;
}

static enum merge_refusal refuse_input(const struct merge_input *in)
{
	if (!in->has_clocks)
		return MERGE_NO_CLOCKS;
	if (in->trace_clock != CLOCK_BOOTTIME_NUMBER)
		return MERGE_OTHER_CLOCK;
	return in->has_programs ? MERGE_PROGRAMS : MERGE_POSSIBLE;
}

enum merge_refusal merge_trace_plan(struct merge_input *inputs, size_t n, size_t *ret_of,
				    size_t *ret_with)
{
	uint64_t sequences = 0;
	uint32_t machines = 1;
	size_t host = 0, i, k;

	for (i = 0; i < n; i++) {
		enum merge_refusal why = refuse_input(&inputs[i]);

		*ret_of = i;
		if (why)
			return why;
		if (boot_time(&inputs[i]) < boot_time(&inputs[host]))
			host = i;
	}
	for (i = 0; i < n; i++) {
		struct merge_input *in = &inputs[i];

		*ret_of = i;
		for (k = 0; k < i && strcmp(inputs[k].machine, in->machine) != 0; k++)
			;
		*ret_with = k < i ? k : host;
		if (k < i && llabs(boot_time(in) - boot_time(&inputs[k])) > REBOOT_NS)
			return MERGE_REBOOT;
		if (!strcmp(in->machine, inputs[host].machine))
			in->number = 0;
		else
			in->number = k < i ? inputs[k].number : machines++;
		if (in->has_machines && in->number)
			return MERGE_MACHINES;
		in->first_sequence = (uint32_t)sequences;
		sequences += (uint64_t)in->max_sequence + 1;
		if (sequences > UINT32_MAX)
			return MERGE_SEQUENCES;
	}
	return MERGE_POSSIBLE;
}

/* ---- the second pass ---- */

struct merge_run {
	const struct merge_output *out; /* borrowed */
	const struct merge_input *in; /* borrowed: the current one */
	struct merge_clocks host; /* of machine 0 */
	struct pb_mem packet; /* owned */
	bool is_first; /* `in` is the first trace of all */
	/* TraceStats: its numbers, summed up, and the statistics of buffers, one after the
	 * other. */
	struct strbuf buffers;
	struct strbuf stats; /* of the current trace: its last packet */
	uint64_t sums[PB_TRACE_STATS_FLUSHES_FAILED + 1];
	bool has_stats;
};

static int write_packet(struct merge_run *m)
{
	if (m->packet.failed)
		return -ENOMEM;
	return m->out->write(m->out->ctx, m->packet.buf, pb_mem_len(&m->packet));
}

/* Returns true for packets of the services that are not copied. The config and the identity of the
 * first trace are copied; the statistics are written once, at the end. Markers (flushed, read) are
 * left out: readers sort events only up to a marker, so that events of the next trace would come
 * too late. */
static bool is_left_out(const struct merge_run *m, const struct cut_packet *c)
{
	struct pb_dec d;
	struct pb_field f;

	switch (c->p.payload.id) {
	case PB_TRACE_PACKET_TRACE_STATS:
		return true;
	case PB_TRACE_PACKET_TRACE_CONFIG:
	case PB_TRACE_PACKET_TRACE_UUID:
		return !m->is_first;
	case PB_TRACE_PACKET_SERVICE_EVENT:
		break;
	default:
		return false;
	}
	d = pb_dec_of(&c->p.payload);
	while (pb_dec_next(&d, &f))
		if (f.id == PB_TRACING_SERVICE_EVENT_ALL_DATA_SOURCES_FLUSHED ||
		    f.id == PB_TRACING_SERVICE_EVENT_READ_TRACING_BUFFERS_COMPLETED)
			return true;
	return false;
}

static void put_system_info(struct merge_run *m, const struct pb_field *info)
{
	struct pb_enc *e = &m->packet.enc;

	pb_enc_open(e, PB_TRACE_PACKET_SYSTEM_INFO);
	pb_enc_raw(e, info->data, info->len);
	pb_enc_str(e, PB_SYSTEM_INFO_MACHINE_NAME, m->in->machine); /* the last one counts */
	pb_enc_close(e);
}

/* Writes a packet with its sequence and its machine in the merged trace, unless is_left_out().
 * Keeps TraceStats for add_stats(). Returns 0, -ENOMEM, or what `write` returned. */
static int merge_packet(void *ctx, const struct cut_packet *c)
{
	struct merge_run *m = ctx;
	struct pb_enc *e = &m->packet.enc;
	const uint8_t *from;
	struct pb_dec d;
	struct pb_field f;

	if (c->p.payload.id == PB_TRACE_PACKET_TRACE_STATS) {
		strbuf_clear(&m->stats);
		strbuf_add(&m->stats, c->p.payload.data, c->p.payload.len);
	}
	if (is_left_out(m, c))
		return m->stats.failed ? -ENOMEM : 0;
	pb_mem_reset(&m->packet);
	pb_dec_init(&d, c->data, c->len);
	for (from = d.cur; pb_dec_next(&d, &f); from = d.cur) {
		if (f.id == PB_TRACE_PACKET_SYSTEM_INFO && f.data && !c->p.machine)
			put_system_info(m, &f);
		else if (f.id != PB_TRACE_PACKET_TRUSTED_PACKET_SEQUENCE_ID &&
			 (f.id != PB_TRACE_PACKET_MACHINE_ID || c->p.machine))
			pb_enc_raw(e, from, (size_t)(d.cur - from));
	}
	if (c->p.sequence)
		pb_enc_u64(e, PB_TRACE_PACKET_TRUSTED_PACKET_SEQUENCE_ID,
			   c->p.sequence + m->in->first_sequence);
	if (m->in->number)
		pb_enc_u64(e, PB_TRACE_PACKET_MACHINE_ID, m->in->number);
	return write_packet(m);
}

static void put_clocks(struct pb_enc *e, uint32_t field, int64_t boot, int64_t real)
{
	pb_enc_open(e, field);
	pb_enc_open(e, PB_CLOCK_SNAPSHOT_CLOCKS);
	pb_enc_u64(e, PB_CLOCK_SNAPSHOT_CLOCK_CLOCK_ID, CLOCK_BOOTTIME_NUMBER);
	pb_enc_i64(e, PB_CLOCK_SNAPSHOT_CLOCK_TIMESTAMP, boot);
	pb_enc_close(e);
	pb_enc_open(e, PB_CLOCK_SNAPSHOT_CLOCKS);
	pb_enc_u64(e, PB_CLOCK_SNAPSHOT_CLOCK_CLOCK_ID, CLOCK_REALTIME_ID);
	pb_enc_i64(e, PB_CLOCK_SNAPSHOT_CLOCK_TIMESTAMP, real);
	pb_enc_close(e);
	pb_enc_close(e);
}

/* Writes what the clock of machine 0 was at a snapshot of this machine. Writes it twice, as readers
 * take the mean of two rounds. */
static int write_clock_sync(struct merge_run *m)
{
	const struct merge_clocks *c = &m->in->first;
	int64_t host = m->host.boot + (c->real - m->host.real);
	struct pb_enc *e = &m->packet.enc;

	pb_mem_reset(&m->packet);
	pb_enc_u64(e, PB_TRACE_PACKET_MACHINE_ID, m->in->number);
	pb_enc_open(e, PB_TRACE_PACKET_REMOTE_CLOCK_SYNC);
	for (int i = 0; i < 2; i++) {
		pb_enc_open(e, PB_REMOTE_CLOCK_SYNC_SYNCED_CLOCKS);
		put_clocks(e, PB_REMOTE_CLOCK_SYNC_SYNCED_CLOCKS_CLIENT_CLOCKS, c->boot, c->real);
		put_clocks(e, PB_REMOTE_CLOCK_SYNC_SYNCED_CLOCKS_HOST_CLOCKS, host, c->real);
		pb_enc_close(e);
	}
	pb_enc_close(e);
	return write_packet(m);
}

/* Adds the last statistics of a trace to those of all. The statistics of writers, which name
 * sequences and buffers by their old numbers, are left out. */
static void add_stats(struct merge_run *m)
{
	struct pb_dec d;
	struct pb_field f;
	const uint8_t *from;

	if (!m->stats.len)
		return;
	m->has_stats = true;
	pb_dec_init(&d, m->stats.s, m->stats.len);
	for (from = d.cur; pb_dec_next(&d, &f); from = d.cur)
		if (f.id == PB_TRACE_STATS_BUFFER_STATS)
			strbuf_add(&m->buffers, (const char *)from, (size_t)(d.cur - from));
		else if (f.id < ARRAY_SIZE(m->sums) && !f.data)
			m->sums[f.id] += f.u64;
	strbuf_clear(&m->stats);
}

static int write_stats(struct merge_run *m)
{
	struct pb_enc *e = &m->packet.enc;

	if (!m->has_stats)
		return 0;
	if (m->buffers.failed)
		return -ENOMEM;
	pb_mem_reset(&m->packet);
	pb_enc_open(e, PB_TRACE_PACKET_TRACE_STATS);
	pb_enc_raw(e, m->buffers.s, m->buffers.len);
	for (uint32_t i = 0; i < ARRAY_SIZE(m->sums); i++)
		if (m->sums[i])
			pb_enc_u64(e, i, m->sums[i]);
	pb_enc_close(e);
	return write_packet(m);
}

static int merge_input(struct merge_run *m, const struct merge_input *in, bool is_first_of_machine)
{
	struct cut_reader r;
	int result = 0;

	m->in = in;
	if (in->number && is_first_of_machine)
		result = write_clock_sync(m);
	cut_reader_init(&r);
	r.on_packet = merge_packet;
	r.ctx = m;
	if (result == 0)
		result = cut_reader_run(&r, in->data, in->len, in->is_mapped);
	cut_reader_deinit(&r);
	add_stats(m);
	m->is_first = false;
	return result;
}

static bool is_first_of_machine(const struct merge_input *inputs, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (inputs[k].number == inputs[i].number)
			return false;
	return true;
}

int merge_trace_write(const struct merge_input *inputs, size_t n, const struct merge_output *out)
{
	struct merge_run m = {.out = out, .is_first = true};
	int r = pb_mem_init(&m.packet);

	if (r < 0)
		return r;
	/* Machine 0 comes first: its clock is that of the merged trace. */
	for (size_t i = 0; i < n; i++)
		if (!inputs[i].number && is_first_of_machine(inputs, i))
			m.host = inputs[i].first;
	for (size_t i = 0; r == 0 && i < n; i++)
		if (!inputs[i].number)
			r = merge_input(&m, &inputs[i], is_first_of_machine(inputs, i));
	for (size_t i = 0; r == 0 && i < n; i++)
		if (inputs[i].number)
			r = merge_input(&m, &inputs[i], is_first_of_machine(inputs, i));
	if (r == 0)
		r = write_stats(&m);
	pb_mem_deinit(&m.packet);
	strbuf_deinit(&m.buffers);
	strbuf_deinit(&m.stats);
	return r;
}
