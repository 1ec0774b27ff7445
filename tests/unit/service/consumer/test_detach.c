/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/test.h"
#define STAGE_SETUP setup
#define STAGE_TEARDOWN teardown
#include "service/session/session_state.h"
#include "unit/service/rig.h"

static int setup(void **state)
{
	*state = stage_new(0, false);
	return 0;
}

static int teardown(void **state)
{
	struct stage *g = *state;
	struct session *s = rig_session(&g->rig);

	if (s && session_is_detached(s))
		session_free(s);
	stage_free(g);
	return 0;
}

static void hang_up_consumer(struct stage *g)
{
	rig_hang_up(&g->rig, g->cons);
	g->cons = rig_consumer(&g->rig);
}

static void detach_and_leave(struct stage *g, const char *key)
{
	assert_true(peer_accepted(g->cons, peer_detach(g->cons, key)));
	hang_up_consumer(g);
}

STAGE_TEST(session_that_has_ended_says_so_at_once)
{
	stage_start(g, STAGE_CONFIG);
	stage_disable(g);
	detach_and_leave(g, "key");
	assert_true(peer_accepted(g->cons, peer_attach(g->cons, "key")));
	assert_true(peer_tracing_ended(g->cons, peer_await_end(g->cons), NULL));
}

/* An attached session has no key, so an empty one would find it. */
STAGE_TEST(empty_key_takes_no_session_away)
{
	struct peer *thief = rig_consumer(&g->rig);

	stage_start(g, STAGE_CONFIG);
	assert_true(peer_rejected(thief, peer_attach(thief, "")));
	assert_true(peer_rejected(thief, peer_call(thief, C_ATTACH, NULL, 0)));
	assert_true(peer_rejected(g->cons, peer_detach(g->cons, "")));
	assert_true(peer_accepted(g->cons, peer_detach(g->cons, "key")));
	assert_true(peer_rejected(thief, peer_attach(thief, "")));
	assert_true(peer_accepted(thief, peer_attach(thief, "key")));
	rig_hang_up(&g->rig, thief);
}

STAGE_TEST(attached_session_cannot_be_attached_to)
{
	struct peer *other = rig_consumer(&g->rig);

	stage_start(g, STAGE_CONFIG);
	assert_true(peer_accepted(g->cons, peer_detach(g->cons, "key")));
	assert_true(peer_accepted(g->cons, peer_attach(g->cons, "key")));
	assert_true(peer_rejected(other, peer_attach(other, "key")));
	rig_hang_up(&g->rig, other);
}

STAGE_TEST(key_must_be_right_and_new)
{
	struct peer *other = rig_consumer(&g->rig);

	assert_true(peer_rejected(g->cons, peer_detach(g->cons, "key"))); /* no session */
	stage_start(g, STAGE_CONFIG);
	assert_true(peer_accepted(g->cons, peer_detach(g->cons, "key")));
	assert_true(peer_rejected(g->cons, peer_detach(g->cons, "key"))); /* not its any more */
	assert_true(peer_rejected(other, peer_attach(other, "ke")));
	peer_enable(other, "buffers { size_kb: 4 }");
	assert_true(peer_rejected(other, peer_attach(other, "key"))); /* has one */
	assert_true(peer_rejected(other, peer_detach(other, "key"))); /* the key is taken */
	rig_hang_up(&g->rig, other);
}

/* No consumer is attached that could read the trace. */
STAGE_TEST(ends_without_trace_when_its_time_is_over)
{
	struct pb_field f;

	stage_start(g, STAGE_CONFIG " duration_ms: 100");
	assert_true(peer_accepted(g->prod, peer_call_number(g->prod, P_STARTED, 1, g->s.instance)));
	detach_and_leave(g, "key");
	assert_true(peer_command(g->prod, g->stream, CMD(FLUSH), &f));
	stage_ack_flush(g, &f);
	assert_true(peer_command(g->prod, g->stream, CMD(STOP_DATA_SOURCE), &f));
	rig_until(&g->rig, TAILQ_EMPTY(&g->rig.sessions->list));
	assert_true(peer_rejected(g->cons, peer_attach(g->cons, "key")));
}

/* Its answer would go to whoever attaches next. */
STAGE_TEST(flush_that_waits_is_rejected)
{
	uint64_t flush, detach, id;
	struct pb_field f;

	stage_start(g, STAGE_CONFIG);
	flush = peer_call_number(g->cons, C_FLUSH, PB_FLUSH_REQUEST_TIMEOUT_MS, 60000);
	assert_true(peer_command(g->prod, g->stream, CMD(FLUSH), &f));
	id = peer_number(&f, CMD(FLUSH_REQUEST_ID));
	detach = peer_detach(g->cons, "key");
	assert_true(peer_rejected(g->cons, flush));
	assert_true(peer_accepted(g->cons, detach));
	assert_true(peer_accepted(g->prod, peer_ack_flush(g->prod, id)));
	rig_until(&g->rig, rig_session(&g->rig)->n_flushes == 0);
	assert_int_equal(rig_session(&g->rig)->flushes_succeeded, 1);
	assert_true(peer_is_quiet(g->cons));
}

/* The service ends with detached sessions in it. */
TEST(service_frees_detached_sessions)
{
	struct rig r;
	struct peer *c;

	rig_init(&r);
	c = rig_consumer(&r);
	peer_enable(c, "buffers { size_kb: 4 }");
	assert_true(peer_accepted(c, peer_detach(c, "key")));
	rig_hang_up(&r, c);
	assert_false(TAILQ_EMPTY(&r.sessions->list));
	rig_deinit(&r);
}
