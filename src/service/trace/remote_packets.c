/* SPDX-License-Identifier: Apache-2.0 */
#include "service/trace/remote_packets.h"

#include "base/system/log.h"
#include "base/core/mem.h"
#include "gen/fields.h"
#include "service/ipc/remote_machines.h"
#include "service/trace/trace_internal.h"
#include "service/filter/trace_filter.h"
#include "wire/pb_mem.h"

static bool has_remote_sources(const Pb__TraceConfig *c)
{
	if (c->trace_all_machines)
		return true;
	for (size_t i = 0; i < c->n_data_sources; i++)
		if (c->data_sources[i]->n_machine_name_filter > 0)
			return true;
	return false;
}

static void begin_packet(const struct trace *t, const struct remote_machine *m, struct pb_mem *p)
{
	pb_mem_reset(p);
	pb_enc_i64(&p->enc, PB_TRACE_PACKET_TRUSTED_UID, (int32_t)t->env->uid);
	pb_enc_u64(&p->enc, PB_TRACE_PACKET_MACHINE_ID, m->id);
}

static void end_packet(struct trace *t, struct packet_sink *sink, const struct pb_mem *p)
{
	if (p->failed) {
		quota_log(t->owner.account->quota, t->owner.account->user, LOG_LEVEL_ERROR,
			  "out of memory: a packet of the service is missing in a trace");
		return;
	}
	trace_filter_put(t->filter, sink, p->buf, pb_mem_len(p));
}

static void put_system_info(struct pb_enc *e, const struct remote_machine *m)
{
	pb_enc_open(e, PB_TRACE_PACKET_SYSTEM_INFO);
	pb_enc_raw(e, m->system_info, m->system_info_len);
	/* Behind the relay's own words, so it holds: the name by which configs know the machine. */
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

static void put_sync(struct pb_enc *e, const struct clock_sync *s)
{
	pb_enc_open(e, PB_REMOTE_CLOCK_SYNC_SYNCED_CLOCKS);
	pb_enc_open(e, PB_REMOTE_CLOCK_SYNC_SYNCED_CLOCKS_CLIENT_CLOCKS);
	for (size_t i = 0; i < s->n_client; i++)
		put_clock(e, s->client[i].id, s->client[i].value);
	pb_enc_close(e);
	pb_enc_open(e, PB_REMOTE_CLOCK_SYNC_SYNCED_CLOCKS_HOST_CLOCKS);
	for (size_t i = 0; i < clock_snapshot_clocks(); i++)
		put_clock(e, clock_snapshot_id(i), s->host.value[i]);
	pb_enc_close(e);
	pb_enc_close(e);
}

static void put_clock_syncs(struct pb_enc *e, const struct remote_machine *m)
{
	pb_enc_open(e, PB_TRACE_PACKET_REMOTE_CLOCK_SYNC);
	for (size_t i = 0; i < m->n_syncs; i++)
		put_sync(e, &m->syncs[i]);
	pb_enc_close(e);
}

static void put_machine(struct trace *t, const struct remote_machine *m, struct packet_sink *sink,
			struct pb_mem *p)
{
	const Pb__TraceConfig__BuiltinDataSource *b = t->owner.config->builtin_data_sources;

	if (m->info_at > t->remote_written && !(b && b->disable_system_info)) {
		begin_packet(t, m, p);
		put_system_info(&p->enc, m);
		end_packet(t, sink, p);
	}
	if (m->synced_at > t->remote_written && !(b && b->disable_clock_snapshotting)) {
		begin_packet(t, m, p);
		put_clock_syncs(&p->enc, m);
		end_packet(t, sink, p);
	}
}

void remote_packets_put(struct trace *t, struct packet_sink *sink)
{
	const struct remote_machines *ms = t->env->machines;
	const struct remote_machine *m;
	_cleanup_(pb_mem_deinit) struct pb_mem p = {0};

	if (t->remote_written == ms->last || !has_remote_sources(t->owner.config) ||
	    pb_mem_init(&p) < 0)
		return;
	TAILQ_FOREACH (m, &ms->list, link)
		put_machine(t, m, sink, &p);
	t->remote_written = ms->last;
}
