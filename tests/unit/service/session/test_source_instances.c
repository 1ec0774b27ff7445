/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/test.h"
#define STAGE_FLAGS (DS_NOTIFY_START | DS_NOTIFY_STOP)
#include "service/ipc/limits.h"
#include "service/session/source_instances.h"
#include "unit/service/rig.h"

/* The producer promises to notify of both. */
static struct source_instance *instance(struct stage *g)
{
	return TAILQ_FIRST(&rig_session(&g->rig)->instances);
}

static bool notify(struct peer *p, uint32_t method, uint64_t id)
{
	return peer_accepted(p, peer_call_number(p, method, 1, id));
}

STAGE_TEST(states_follow_the_notifications)
{
	struct pb_field f;

	stage_start(g, STAGE_CONFIG);
	assert_int_equal(instance(g)->state, INSTANCE_STARTING);
	assert_true(notify(g->prod, P_STARTED, g->s.instance));
	assert_int_equal(instance(g)->state, INSTANCE_STARTED);
	assert_true(peer_accepted(g->cons, peer_call(g->cons, C_DISABLE, NULL, 0)));
	assert_true(peer_command(g->prod, g->stream, CMD(STOP_DATA_SOURCE), &f));
	assert_int_equal(peer_number(&f, CMD(STOP_DATA_SOURCE_INSTANCE_ID)), g->s.instance);
	assert_int_equal(instance(g)->state, INSTANCE_STOPPING);
	assert_true(peer_is_quiet(g->cons));
	assert_true(notify(g->prod, P_STOPPED, g->s.instance));
	assert_int_equal(instance(g)->state, INSTANCE_STOPPED);
	assert_true(peer_tracing_ended(g->cons, g->enable, NULL));
}

STAGE_TEST(notifications_out_of_place_are_ignored)
{
	stage_start(g, STAGE_CONFIG);
	assert_true(notify(g->prod, P_STOPPED, g->s.instance));
	assert_int_equal(instance(g)->state, INSTANCE_STARTING);
	assert_true(notify(g->prod, P_STARTED, g->s.instance));
	assert_true(notify(g->prod, P_STARTED, g->s.instance));
	assert_true(notify(g->prod, P_STARTED, 12345));
	assert_true(notify(g->prod, P_STOPPED, 0));
	assert_int_equal(instance(g)->state, INSTANCE_STARTED);
}

STAGE_TEST(configured_session_waits_to_start)
{
	struct pb_field f;

	stage_configure(g, STAGE_CONFIG " deferred_start: true");
	assert_true(peer_is_quiet(g->prod));
	assert_int_equal(instance(g)->state, INSTANCE_CONFIGURED);
	assert_true(notify(g->prod, P_STARTED, g->s.instance));
	assert_int_equal(instance(g)->state, INSTANCE_CONFIGURED);
	assert_true(peer_accepted(g->cons, peer_call(g->cons, C_START, NULL, 0)));
	assert_true(peer_command(g->prod, g->stream, CMD(START_DATA_SOURCE), &f));
	assert_true(peer_accepted(g->cons, peer_call(g->cons, C_START, NULL, 0)));
	assert_true(peer_is_quiet(g->prod));
}

STAGE_TEST(each_match_is_an_instance)
{
	struct peer *other = rig_producer(&g->rig);
	uint64_t stream = peer_become_producer(other, "other", "src", 0, false);
	struct peer_session s = {0};

	g->enable = peer_enable(g->cons, STAGE_CONFIG " data_sources { config { name: 'src' } "
						      "producer_name_filter: 'other' }"
						      "data_sources { config { name: 'none' } }");
	assert_true(peer_await_session(g->prod, g->stream, true, &g->s));
	assert_true(peer_await_session(other, stream, false, &s));
	assert_int_equal(rig_session(&g->rig)->n_instances, 3);
	peer_unmap(&s);
	rig_hang_up(&g->rig, other);
	assert_int_equal(rig_session(&g->rig)->n_instances, 1);
}

STAGE_TEST(late_source_is_waited_for_as_well)
{
	struct peer *late = rig_producer(&g->rig);
	struct peer_session s = {0};
	struct pb_field f;
	uint64_t stream;

	stage_start(g, STAGE_CONFIG);
	stream = peer_become_producer(late, "late", "src", DS_NOTIFY_STOP, false);
	assert_true(peer_await_session(late, stream, true, &s));
	assert_true(peer_accepted(g->cons, peer_call(g->cons, C_DISABLE, NULL, 0)));
	assert_true(peer_command(late, stream, CMD(STOP_DATA_SOURCE), &f));
	assert_true(peer_command(g->prod, g->stream, CMD(STOP_DATA_SOURCE), &f));
	assert_true(notify(g->prod, P_STOPPED, g->s.instance));
	assert_true(peer_is_quiet(g->cons));
	assert_true(notify(late, P_STOPPED, s.instance));
	assert_true(peer_tracing_ended(g->cons, g->enable, NULL));
	peer_unmap(&s);
	rig_hang_up(&g->rig, late);
}

STAGE_TEST(late_source_joins_no_ended_session)
{
	struct peer *late = rig_producer(&g->rig);

	stage_start(g, STAGE_CONFIG);
	session_disable(rig_session(&g->rig), true);
	peer_become_producer(late, "late", "src", 0, false);
	assert_true(peer_is_quiet(late));
	rig_hang_up(&g->rig, late);
}

static bool unregister(struct peer *p, const char *name)
{
	struct pb_mem m;

	assert_int_equal(pb_mem_init(&m), 0);
	pb_enc_str(&m.enc, PB_UNREGISTER_DATA_SOURCE_REQUEST_DATA_SOURCE_NAME, name);
	return peer_accepted(p, peer_call_mem(p, P_UNREGISTER_SOURCE, &m));
}

STAGE_TEST(unregistered_source_is_stopped_and_forgotten)
{
	struct pb_field f;

	stage_start(g, STAGE_CONFIG);
	assert_true(unregister(g->prod, "other"));
	assert_int_equal(rig_session(&g->rig)->n_instances, 1);
	assert_true(unregister(g->prod, "src"));
	assert_true(peer_command(g->prod, g->stream, CMD(STOP_DATA_SOURCE), &f));
	assert_int_equal(rig_session(&g->rig)->n_instances, 0);
	assert_true(unregister(g->prod, "src"));
	assert_true(peer_is_quiet(g->prod));
	assert_int_equal(rig_session(&g->rig)->state, SESSION_STARTED);
}

STAGE_TEST(session_does_not_wait_for_one_that_left)
{
	stage_start(g, STAGE_CONFIG);
	assert_true(peer_accepted(g->cons, peer_call(g->cons, C_DISABLE, NULL, 0)));
	assert_true(peer_is_quiet(g->cons));
	stage_hang_up_producer(g);
	assert_true(peer_tracing_ended(g->cons, g->enable, NULL));
}

TEST(source_instances_of_a_session_have_a_limit)
{
	struct stage *g = stage_new(0, false);
	char *config = malloc(1 << 20);
	char *end;

	assert_non_null(config);
	for (int i = 1; i < 8; i++)
		assert_true(peer_accepted(g->prod, peer_register(g->prod, "src", 0)));
	end = config + sprintf(config, "buffers { size_kb: 4 }");
	for (int i = 0; i < MAX_INSTANCES / 8 + 10; i++)
		end += sprintf(end, "data_sources { config { name: 'src' } }");
	peer_enable(g->cons, config);
	free(config);
	assert_true(peer_accepted(g->cons, peer_call(g->cons, C_DISABLE, NULL, 0)));
	assert_int_equal(rig_session(&g->rig)->n_instances, MAX_INSTANCES);
	assert_int_equal(g->rig.quota->refused[REFUSED_INSTANCES], 10 * 8);
	stage_free(g);
}

/* Expressions that take long: what they leave no time for is left out, and that is counted. */
TEST(finding_the_producers_has_an_end)
{
	struct stage *g = stage_new(0, false);
	struct peer *p = rig_producer(&g->rig);
	char name[MAX_NAME_BYTES + 1], config[8192];
	int n = sprintf(config, "buffers { size_kb: 4 } ");

	memset(name, 'a', MAX_NAME_BYTES);
	name[MAX_NAME_BYTES] = '\0';
	peer_become_producer(p, name, "src", 0, false);
	for (int i = 0; i < 20; i++)
		n += sprintf(config + n,
			     "data_sources { config { name: 'src' } producer_name_regex_filter: "
			     "'(.*){%d}b' } ",
			     110 - i);
	sprintf(config + n, "data_sources { config { name: 'src' } } ");
	peer_enable(g->cons, config);
	assert_true(peer_accepted(g->cons, peer_call(g->cons, C_DISABLE, NULL, 0)));
	assert_int_equal(rig_session(&g->rig)->n_instances, 0);
	assert_int_equal(g->rig.quota->refused[REFUSED_INSTANCES], 1);
	rig_hang_up(&g->rig, p);
	stage_free(g);
}

/* Descriptions are written again before a ring overwrites them, and not more often. */
TEST(clearing_comes_when_half_of_a_ring_is_written)
{
	struct stage *g = stage_new(DS_CLEARS, false);
	struct pb_field f;
	uint32_t chunk = 0;

	stage_start(g, STAGE_CONFIG " incremental_state_config { clear_period_ms: 1000000 }");
	for (int round = 1; round <= 2; round++) {
		for (uint64_t at = chunk + 7; chunk < at; chunk++)
			stage_write(g, chunk % 4, 1, chunk, stage_text('x', 2000));
		source_instances_clear_state_before_overwrite(rig_session(&g->rig));
		assert_true(peer_is_quiet(g->prod));
		for (uint64_t at = chunk + 20; chunk < at; chunk++)
			stage_write(g, chunk % 4, 1, chunk, stage_text('x', 2000));
		if (round == 1)
			source_instances_clear_state_before_overwrite(rig_session(&g->rig));
		/* In the second round the session's own timer does it. */
		assert_true(peer_command(g->prod, g->stream, CMD(CLEAR_INCREMENTAL_STATE), &f));
		assert_int_equal(peer_number(&f, CMD(CLEAR_INCREMENTAL_STATE_DATA_SOURCE_IDS)),
				 g->s.instance);
	}
	stage_free(g);
}

TEST(clearing_goes_to_those_that_can)
{
	struct stage *g = stage_new(DS_CLEARS, false);
	struct peer *cannot = rig_producer(&g->rig);
	uint64_t stream = peer_become_producer(cannot, "cannot", "src", 0, false);
	struct peer_session s = {0};
	struct pb_field f;

	stage_start(g, STAGE_CONFIG " incremental_state_config { clear_period_ms: 20 }");
	assert_true(peer_await_session(cannot, stream, true, &s));
	for (int i = 0; i < 2; i++) {
		assert_true(peer_command(g->prod, g->stream, CMD(CLEAR_INCREMENTAL_STATE), &f));
		assert_int_equal(peer_number(&f, CMD(CLEAR_INCREMENTAL_STATE_DATA_SOURCE_IDS)),
				 g->s.instance);
	}
	assert_true(peer_is_quiet(cannot));
	peer_unmap(&s);
	rig_hang_up(&g->rig, cannot);
	stage_free(g);
}
