/* SPDX-License-Identifier: Apache-2.0 */
/* TraceStats: the counters of the service, of the session and of its trace, in one message. */
#include "common/trace_stats.pb-c.h"
#include "gen/fields.h"
#include "service/session/session_internal.h"
#include "service/trace/trace_stats.h"
#include "wire/pb_enc.h"

static void put_service(const struct sessions *ss, struct pb_enc *e)
{
	pb_enc_u64(e, PB_TRACE_STATS_PRODUCERS_CONNECTED, ss->producers->n);
	pb_enc_u64(e, PB_TRACE_STATS_PRODUCERS_SEEN, ss->producers->last_id);
	pb_enc_u64(e, PB_TRACE_STATS_DATA_SOURCES_REGISTERED, ss->producers->registry.n);
	pb_enc_u64(e, PB_TRACE_STATS_DATA_SOURCES_SEEN, ss->last_instance_id);
	pb_enc_u64(e, PB_TRACE_STATS_TRACING_SESSIONS, sessions_count(ss));
	pb_enc_u64(e, PB_TRACE_STATS_TOTAL_BUFFERS, sessions_count_buffers(ss));
	pb_enc_u64(e, PB_TRACE_STATS_CHUNKS_DISCARDED, ss->producers->chunks_discarded);
	pb_enc_u64(e, PB_TRACE_STATS_PATCHES_DISCARDED, ss->producers->patches_discarded);
}

static void put_flushes(const struct session *s, struct pb_enc *e)
{
	pb_enc_u64(e, PB_TRACE_STATS_FLUSHES_REQUESTED, s->flushes_requested);
	pb_enc_u64(e, PB_TRACE_STATS_FLUSHES_SUCCEEDED, s->flushes_succeeded);
	pb_enc_u64(e, PB_TRACE_STATS_FLUSHES_FAILED, s->flushes_failed);
	if (s->final_flush != FINAL_FLUSH_NONE)
		pb_enc_u64(e, PB_TRACE_STATS_FINAL_FLUSH_OUTCOME, s->final_flush);
}

static void put_limits(const struct session *s, struct pb_enc *e)
{
	const struct quota *q = s->account.quota;

	for (unsigned i = QUOTA_PRODUCERS; i < N_QUOTAS; i++) {
		if (!q->held[i] && !q->refused[i])
			continue;
		pb_enc_open(e, PB_TRACE_STATS_LIMITS);
		pb_enc_u64(e, PB_TRACE_STATS_LIMIT_KIND, i);
		pb_enc_u64(e, PB_TRACE_STATS_LIMIT_HELD, q->held[i]);
		pb_enc_u64(e, PB_TRACE_STATS_LIMIT_HELD_BY_USER,
			   quota_of_user(q, s->uid, (enum quota_kind)i));
		pb_enc_u64(e, PB_TRACE_STATS_LIMIT_MAX, q->limits[i].all);
		pb_enc_u64(e, PB_TRACE_STATS_LIMIT_MAX_OF_USER,
			   quota_max_of_user(q, s->account.user, (enum quota_kind)i));
		pb_enc_u64(e, PB_TRACE_STATS_LIMIT_REFUSED, q->refused[i]);
		pb_enc_close(e);
	}
	for (unsigned i = N_QUOTAS; i < N_REFUSED; i++) {
		if (!q->refused[i])
			continue;
		pb_enc_open(e, PB_TRACE_STATS_LIMITS);
		pb_enc_u64(e, PB_TRACE_STATS_LIMIT_KIND, i);
		pb_enc_u64(e, PB_TRACE_STATS_LIMIT_REFUSED, q->refused[i]);
		pb_enc_close(e);
	}
}

void session_put_stats(void *session, struct pb_enc *e, size_t max_bytes)
{
	struct session *s = session;
	uint64_t begin = pb_enc_pos(e);

	trace_put_buffer_stats(s->trace, e);
	put_service(s->sessions, e);
	trace_put_read_stats(s->trace, e);
	put_flushes(s, e);
	pb_enc_u64(e, PB_TRACE_STATS_TRACING_SESSION_ID, s->id);
	put_limits(s, e);
	departures_put(s, PB_TRACE_STATS_DEPARTURES, e);
	if (s->file)
		pb_enc_u64(e, PB_TRACE_STATS_FILE_STALLED_MS, file_writer_stalled_ms(s->file));
	if (session_end_reason(s))
		pb_enc_str(e, PB_TRACE_STATS_END_REASON, session_end_reason(s));
	trace_put_writer_stats(s->trace, e,
			       max_bytes > UINT64_MAX - begin ? UINT64_MAX : begin + max_bytes);
}
