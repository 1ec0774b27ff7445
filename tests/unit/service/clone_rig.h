/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A stage with one more consumer, which clones the session of the first. */

#define STAGE_SETUP clone_setup
#define STAGE_TEARDOWN clone_teardown
#include "unit/service/rig.h"

/* g->cons owns the source; this one clones. */
static struct peer *cloner;

static inline int clone_setup(void **state)
{
	struct stage *g;

	stage_setup_with_dir(state);
	g = *state;
	cloner = rig_consumer(&g->rig);
	return 0;
}

static inline int clone_teardown(void **state)
{
	struct stage *g = *state;

	if (cloner)
		rig_hang_up(&g->rig, cloner);
	stage_free(g);
	return 0;
}

/* Answers the next flush of the producer, which is for these reasons. */
static inline void await_flush(struct stage *g, uint64_t flags)
{
	struct pb_field f;

	assert_true(peer_command(g->prod, g->stream, CMD(FLUSH), &f));
	assert_int_equal(peer_number(&f, CMD(FLUSH_FLAGS)), flags);
	stage_ack_flush(g, &f);
}

#define CLONE_FLAGS (FLUSH_REASON_CLONE | FLUSH_BY_SERVICE)

static inline void assert_cloned(struct peer *p, uint64_t id)
{
	struct pb_field f;

	assert_true(peer_accepted(p, id));
	if (peer_field(p, PB_CLONE_SESSION_RESPONSE_ERROR, &f))
		fail_msg("not cloned: %.*s", (int)f.len, (const char *)f.data);
	assert_true(peer_field(p, PB_CLONE_SESSION_RESPONSE_SUCCESS, &f) && f.u64);
	assert_true(peer_field(p, PB_CLONE_SESSION_RESPONSE_UUID_MSB, &f) && f.u64);
	assert_true(peer_field(p, PB_CLONE_SESSION_RESPONSE_UUID_LSB, &f) && f.u64);
}

static inline void assert_not_cloned(struct peer *p, uint64_t id, const char *why)
{
	struct pb_field f;

	assert_true(peer_accepted(p, id));
	peer_field(p, PB_CLONE_SESSION_RESPONSE_SUCCESS, &f);
	assert_int_equal(f.u64, 0);
	assert_true(peer_field(p, PB_CLONE_SESSION_RESPONSE_ERROR, &f));
	if (!memmem(f.data, f.len, why, strlen(why)))
		fail_msg("\"%.*s\" does not say \"%s\"", (int)f.len, (const char *)f.data, why);
}
