/* SPDX-License-Identifier: Apache-2.0 */
#include "service/session/session_clone.h"
#include "service/session/session_state.h"
#include "service/session/triggers.h"
#include "unit/service/rig.h"
#include "unit/test.h"

/* What a clone takes over from its source; how it comes to be is in test_clone.c. */

static struct session *clone_of(struct session *source)
{
	struct session_clone c;
	struct err_text e;
	struct session *s;

	assert_int_equal(session_clone_init(&c, source, 1, &e), 0);
	for (size_t i = 0; i < source->trace->n_buffers; i++)
		assert_int_equal(
			trace_buffer_new_like(source->trace->buffers[i].buffer, &c.buffers[i]), 0);
	assert_int_equal(session_clone_finish(&c, source, source->owner, &s), 0);
	session_clone_deinit(&c);
	s->owner = (struct session_owner){0};
	return s;
}

STAGE_TEST(what_it_takes_over)
{
	const struct trace_buffer_writer writer = {.producer_id = 9, .writer_id = 9};
	const struct quota *q = &g->rig.service->quota;
	struct session *source, *s;
	uint32_t id, id_of_clone;

	stage_start(g, STAGE_CONFIG " buffers { size_kb: 8 } unique_session_name: 'n'");
	stage_write(g, 0, 3, 0, "data");
	source = rig_session(&g->rig);
	source->trace->invalid_packets = 5;
	source->flushes_failed = 6;
	source->final_flush = FINAL_FLUSH_SUCCEEDED;
	assert_int_equal(sequence_ids_get_or_add(&source->trace->sequences, q, &writer, &id), 0);
	s = clone_of(source);
	assert_int_equal(s->state, SESSION_CLONED);
	assert_string_equal(session_state_name(s->state), "CLONED_READ_ONLY");
	assert_string_equal(s->config->unique_session_name, "n");
	assert_ptr_not_equal(s->config, source->config);
	assert_int_equal(s->trace->uuid_lsb, source->trace->uuid_lsb);
	assert_int_not_equal(s->trace->uuid_msb, source->trace->uuid_msb);
	assert_int_equal(s->trace->uuid_msb >> 12 & 0xf, 4);
	assert_int_equal(s->trace->invalid_packets, 5);
	assert_int_equal(s->flushes_failed, 6);
	assert_int_equal(s->final_flush, FINAL_FLUSH_SUCCEEDED);
	assert_int_equal(sequence_ids_get_or_add(&s->trace->sequences, q, &writer, &id_of_clone),
			 0);
	assert_int_equal(id_of_clone, id);
	assert_int_equal(s->trace->n_buffers, 2);
	for (size_t i = 0; i < 2; i++) {
		assert_int_not_equal(s->trace->buffers[i].id, source->trace->buffers[i].id);
		assert_ptr_not_equal(s->trace->buffers[i].buffer, source->trace->buffers[i].buffer);
	}
	assert_int_equal(s->n_instances, 0);
	session_free(s);
}

/* Nothing that is done to a session does anything to it. */
STAGE_TEST(it_is_there_to_be_read)
{
	struct session *s;

	stage_start(g, STAGE_CONFIG);
	s = clone_of(rig_session(&g->rig));
	session_start(s);
	session_disable(s, false);
	session_disable(s, true);
	assert_int_equal(s->state, SESSION_CLONED);
	assert_int_equal(session_flush(s, &(struct flush_request){0}), -EINVAL);
	assert_true(session_is_readable(s));
	assert_true(s->trace->stats_due && s->trace->sync_marker_due);
	session_free(s);
	assert_true(peer_is_quiet(g->prod));
}

/* A source that was read has no clocks left; a trace without any cannot be drawn. */
STAGE_TEST(clocks_are_there_though_the_source_was_read)
{
	struct session *s;

	stage_start(g, STAGE_CONFIG);
	clock_snapshots_clear(&rig_session(&g->rig)->trace->clocks);
	s = clone_of(rig_session(&g->rig));
	assert_int_equal(s->trace->clocks.n, 1);
	session_free(s);
}
