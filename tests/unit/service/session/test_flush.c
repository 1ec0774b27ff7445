/* SPDX-License-Identifier: Apache-2.0 */
#include "config/limits.h"
#include "service/session/flush.h"
#include "service/session/session_state.h"
#include "unit/service/rig.h"
#include "unit/test.h"

/* The next command is a flush; gives its id. */
static uint64_t await_flush(struct peer *p, uint64_t stream, uint64_t flags)
{
	struct pb_field f;

	assert_true(peer_command(p, stream, CMD(FLUSH), &f));
	assert_int_equal(peer_number(&f, CMD(FLUSH_FLAGS)), flags);
	return peer_number(&f, CMD(FLUSH_REQUEST_ID));
}

static uint64_t ask_flush(struct stage *g, uint32_t timeout_ms, uint64_t flags)
{
	struct pb_mem m;

	assert_int_equal(pb_mem_init(&m), 0);
	pb_enc_u64(&m.enc, PB_FLUSH_REQUEST_TIMEOUT_MS, timeout_ms);
	pb_enc_u64(&m.enc, PB_FLUSH_REQUEST_FLAGS, flags);
	return peer_call_mem(g->cons, C_FLUSH, &m);
}

STAGE_TEST(acked_flush_succeeds)
{
	uint64_t call, id;

	stage_start(g, STAGE_CONFIG);
	call = ask_flush(g, 5000, 0x24);
	id = await_flush(g->prod, g->stream, 0x24);
	assert_true(peer_is_quiet(g->cons));
	assert_true(peer_accepted(g->prod, peer_ack_flush(g->prod, id)));
	assert_true(peer_accepted(g->cons, call));
	assert_int_equal(rig_session(&g->rig)->flushes_requested, 1);
	assert_int_equal(rig_session(&g->rig)->flushes_succeeded, 1);
}

STAGE_TEST(silence_is_a_failure_after_the_timeout)
{
	uint64_t call, begin;

	stage_start(g, STAGE_CONFIG " flush_timeout_ms: 30");
	begin = clock_mono_ns();
	call = ask_flush(g, 60, 0);
	assert_true(peer_rejected(g->cons, call));
	assert_true(clock_mono_ns() - begin >= 60 * NS_PER_MS);
	call = ask_flush(g, 0, 0); /* the config's */
	assert_true(peer_rejected(g->cons, call));
	assert_int_equal(rig_session(&g->rig)->flushes_failed, 2);
	assert_int_equal(rig_session(&g->rig)->flushes_succeeded, 0);
}

STAGE_TEST(late_ack_does_nothing)
{
	uint64_t call, id;

	stage_start(g, STAGE_CONFIG);
	call = ask_flush(g, 20, 0);
	id = await_flush(g->prod, g->stream, 0);
	assert_true(peer_rejected(g->cons, call));
	assert_true(peer_accepted(g->prod, peer_ack_flush(g->prod, id)));
	assert_int_equal(rig_session(&g->rig)->flushes_succeeded, 0);
}

STAGE_TEST(ack_covers_all_flushes_before)
{
	uint64_t calls[3], id = 0;

	stage_start(g, STAGE_CONFIG);
	for (int i = 0; i < 3; i++) {
		calls[i] = ask_flush(g, 0, 0);
		id = await_flush(g->prod, g->stream, 0);
	}
	assert_true(peer_accepted(g->prod, peer_ack_flush(g->prod, id - 1)));
	assert_true(peer_accepted(g->cons, calls[0]));
	assert_true(peer_accepted(g->cons, calls[1]));
	assert_true(peer_is_quiet(g->cons));
	assert_true(peer_accepted(g->prod, peer_ack_flush(g->prod, id)));
	assert_true(peer_accepted(g->cons, calls[2]));
}

STAGE_TEST(ack_is_for_oneself)
{
	struct peer *other = rig_producer(&g->rig);
	uint64_t stream = peer_become_producer(other, "other", "src", 0, false), call, id;
	struct peer_session s = {0};

	stage_start(g, STAGE_CONFIG);
	assert_true(peer_await_session(other, stream, true, &s));
	call = ask_flush(g, 0, 0);
	id = await_flush(g->prod, g->stream, 0);
	assert_int_equal(await_flush(other, stream, 0), id);
	assert_true(peer_accepted(other, peer_ack_flush(other, UINT64_MAX)));
	assert_true(peer_is_quiet(g->cons));
	assert_true(peer_accepted(g->prod, peer_ack_flush(g->prod, id)));
	assert_true(peer_accepted(g->cons, call));
	peer_unmap(&s);
	rig_hang_up(&g->rig, other);
}

STAGE_TEST(flush_without_producers_succeeds_at_once)
{
	g->enable = peer_enable(g->cons, "buffers { size_kb: 4 }");
	assert_true(peer_accepted(g->cons, ask_flush(g, 0, 0)));
}

TEST(sources_with_no_flush_get_no_flush)
{
	struct stage *g = stage_new(DS_NO_FLUSH, false);

	stage_start(g, STAGE_CONFIG);
	assert_true(peer_accepted(g->cons, ask_flush(g, 0, 0)));
	assert_true(peer_is_quiet(g->prod));
	stage_free(g);
}

STAGE_TEST(producer_that_leaves_is_not_waited_for)
{
	uint64_t call;

	stage_start(g, STAGE_CONFIG);
	call = ask_flush(g, 60000, 0);
	await_flush(g->prod, g->stream, 0);
	stage_hang_up_producer(g);
	assert_true(peer_accepted(g->cons, call));
}

STAGE_TEST(flush_needs_a_started_session)
{
	assert_true(peer_rejected(g->cons, ask_flush(g, 0, 0)));
	g->enable = peer_enable(g->cons, "buffers { size_kb: 4 } deferred_start: true");
	assert_true(peer_rejected(g->cons, ask_flush(g, 0, 0)));
	assert_true(peer_accepted(g->cons, peer_call(g->cons, C_START, NULL, 0)));
	assert_true(peer_accepted(g->cons, ask_flush(g, 0, 0)));
	session_disable(rig_session(&g->rig), true);
	assert_true(peer_tracing_ended(g->cons, g->enable, NULL));
	assert_true(peer_rejected(g->cons, ask_flush(g, 0, 0)));
}

STAGE_TEST(pending_flushes_have_a_limit)
{
	struct session *s;

	stage_start(g, STAGE_CONFIG);
	s = rig_session(&g->rig);
	for (int i = 0; i < LIMIT_PENDING_FLUSHES; i++) {
		assert_int_equal(session_flush(s, &(struct flush_request){.timeout_ms = 60000}), 0);
		await_flush(g->prod, g->stream, 0);
	}
	assert_true(peer_rejected(g->cons, ask_flush(g, 0, 0)));
	assert_int_equal(s->n_flushes, LIMIT_PENDING_FLUSHES);
	assert_int_equal(g->rig.quota->refused[REFUSED_FLUSHES], 1);
}

STAGE_TEST(pending_flushes_are_charged_to_the_user)
{
	struct quota *q = g->rig.quota;
	struct session *s;
	uint64_t before;
	int n = 0;

	stage_start(g, STAGE_CONFIG);
	s = rig_session(&g->rig);
	before = s->account.held[QUOTA_CONN_BYTES];
	assert_int_equal(session_flush(s, &(struct flush_request){.timeout_ms = 60000}), 0);
	await_flush(g->prod, g->stream, 0);
	assert_true(s->account.held[QUOTA_CONN_BYTES] > before);
	q->limits[QUOTA_CONN_BYTES].of_root = q->held[QUOTA_CONN_BYTES] + 10000;
	while (session_flush(s, &(struct flush_request){.timeout_ms = 60000}) == 0 && n < 900)
		n++;
	assert_in_range(n, 5, 200);
	flush_cancel_all(s);
	assert_int_equal(s->account.held[QUOTA_CONN_BYTES], before);
}

STAGE_TEST(end_of_the_session_rejects_what_waits)
{
	uint64_t call, end;

	stage_start(g, STAGE_CONFIG);
	call = ask_flush(g, 60000, 0);
	await_flush(g->prod, g->stream, 0);
	end = peer_call(g->cons, C_FREE, NULL, 0);
	assert_true(peer_accepted(g->cons, end));
	assert_true(peer_tracing_ended(g->cons, g->enable, NULL));
	assert_true(peer_rejected(g->cons, call));
}

STAGE_TEST(periodic_flush_does_not_wait_for_the_last)
{
	uint64_t first;

	stage_start(g, STAGE_CONFIG " flush_period_ms: 20");
	first = await_flush(g->prod, g->stream, 0x11);
	assert_int_equal(await_flush(g->prod, g->stream, 0x11), first + 1);
	assert_int_equal(await_flush(g->prod, g->stream, 0x11), first + 2);
	assert_true(peer_accepted(g->prod, peer_ack_flush(g->prod, first + 2)));
	rig_until(&g->rig, rig_session(&g->rig)->flushes_succeeded >= 3);
}

/* Reads the trace. Returns true if an event names the data source of a slow last flush. */
static bool lists_slow_flush(struct stage *g)
{
	struct pb_field event, slow;

	stage_read(g);
	for (size_t i = 0; i < g->got.n; i++)
		if (peer_packet_field(&g->got, i, PB_TRACE_PACKET_SERVICE_EVENT, &event) &&
		    peer_subfield(&event, PB_TRACING_SERVICE_EVENT_LAST_FLUSH_SLOW_DATA_SOURCES,
				  &slow))
			return memmem(slow.data, slow.len, "prod", 4) &&
			       memmem(slow.data, slow.len, "src", 3);
	return false;
}

STAGE_TEST(slow_sources_of_the_last_flush_are_named)
{
	stage_start(g, STAGE_CONFIG);
	assert_true(peer_rejected(g->cons, ask_flush(g, 10, 0x24))); /* explicit */
	await_flush(g->prod, g->stream, 0x24);
	assert_false(lists_slow_flush(g));
	for (int newer = 1; newer >= 0; newer--) {
		assert_true(peer_rejected(g->cons, ask_flush(g, 10, 0x22))); /* trace stop */
		await_flush(g->prod, g->stream, 0x22);
		if (newer) {
			assert_true(peer_rejected(g->cons, ask_flush(g, 10, 0x24)));
			await_flush(g->prod, g->stream, 0x24);
		}
		assert_int_equal(lists_slow_flush(g), !newer);
	}
}
