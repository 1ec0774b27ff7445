/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/service/rig.h"
#include "unit/test.h"

STAGE_TEST(session_is_three_commands)
{
	struct pb_field f, config, v;

	peer_enable(g->cons,
		    "buffers { size_kb: 64 } duration_ms: 60000 data_sources { config { "
		    "name: 'src' legacy_config: 'mine' } } data_source_stop_timeout_ms: 77");
	assert_true(peer_command(g->prod, g->stream, CMD(SETUP_TRACING), &f));
	assert_int_equal(peer_number(&f, CMD(SETUP_TRACING_SHARED_BUFFER_PAGE_SIZE_KB)), 4);
	assert_true(peer_map(g->prod, &f, &g->s));
	for (int i = 0; i < 2; i++) {
		assert_true(peer_command(g->prod, g->stream,
					 i ? CMD(START_DATA_SOURCE) : CMD(SETUP_DATA_SOURCE), &f));
		assert_int_equal(peer_number(&f, CMD(SETUP_DATA_SOURCE_NEW_INSTANCE_ID)), 1);
		assert_true(peer_subfield(&f, CMD(SETUP_DATA_SOURCE_CONFIG), &config));
		assert_int_equal(peer_number(&config, PB_DATA_SOURCE_CONFIG_TARGET_BUFFER), 1);
		assert_int_equal(peer_number(&config, PB_DATA_SOURCE_CONFIG_TRACE_DURATION_MS),
				 60000);
		assert_int_equal(peer_number(&config, PB_DATA_SOURCE_CONFIG_TRACING_SESSION_ID), 1);
		assert_int_equal(peer_number(&config, PB_DATA_SOURCE_CONFIG_STOP_TIMEOUT_MS), 77);
		assert_true(peer_subfield(&config, PB_DATA_SOURCE_CONFIG_LEGACY_CONFIG, &v));
		assert_memory_equal(v.data, "mine", 4);
		assert_false(peer_subfield(
			&config, PB_DATA_SOURCE_CONFIG_PREFER_SUSPEND_CLOCK_FOR_DURATION, &v));
	}
	assert_true(peer_is_quiet(g->prod));
}

/* The trace may last longer than the wait for its trigger: no producer is to stop by itself. */
STAGE_TEST(trigger_leaves_the_duration_open)
{
	struct pb_field f, config;

	peer_enable(g->cons, "buffers { size_kb: 64 } data_sources { config { name: 'src' } } "
			     "trigger_config { trigger_mode: STOP_TRACING trigger_timeout_ms: 9000 "
			     "triggers { name: 't' stop_delay_ms: 60000 } }");
	assert_true(peer_command(g->prod, g->stream, CMD(SETUP_TRACING), &f));
	assert_true(peer_command(g->prod, g->stream, CMD(SETUP_DATA_SOURCE), &f));
	assert_true(peer_subfield(&f, CMD(SETUP_DATA_SOURCE_CONFIG), &config));
	assert_int_equal(peer_number(&config, PB_DATA_SOURCE_CONFIG_TRACE_DURATION_MS), 0);
}

STAGE_TEST(unknown_fields_reach_the_producer)
{
	struct pb_field f, config, v;
	struct pb_mem m;

	assert_int_equal(pb_mem_init(&m), 0);
	pb_enc_open(&m.enc, PB_ENABLE_TRACING_REQUEST_TRACE_CONFIG);
	pb_enc_raw(&m.enc, "\x0a\x02\x08\x40", 4); /* buffers { size_kb: 64 } */
	pb_enc_open(&m.enc, PB_TRACE_CONFIG_DATA_SOURCES);
	pb_enc_open(&m.enc, PB_TRACE_CONFIG_DATA_SOURCE_CONFIG);
	pb_enc_str(&m.enc, PB_DATA_SOURCE_CONFIG_NAME, "src");
	pb_enc_str(&m.enc, 29999, "from the future");
	pb_enc_close(&m.enc);
	pb_enc_close(&m.enc);
	pb_enc_close(&m.enc);
	peer_call_mem(g->cons, C_ENABLE, &m);
	assert_true(peer_command(g->prod, g->stream, CMD(SETUP_TRACING), &f));
	assert_true(peer_command(g->prod, g->stream, CMD(SETUP_DATA_SOURCE), &f));
	assert_true(peer_subfield(&f, CMD(SETUP_DATA_SOURCE_CONFIG), &config));
	assert_true(peer_subfield(&config, 29999, &v));
	assert_memory_equal(v.data, "from the future", v.len);
}

/* EnableTracing with a config that says whose it is. */
static void enable_as_somebody(struct peer *cons, uint32_t uid)
{
	char text[160];

	snprintf(text, sizeof(text),
		 "buffers { size_kb: 64 } data_sources { config { name: 'src' consumer_uid: %u } }",
		 uid);
	peer_enable(cons, text);
}

static bool next_uid(struct peer *p, uint64_t stream, uint32_t command, struct pb_field *ret)
{
	struct pb_field f, config;

	return peer_command(p, stream, command, &f) &&
	       peer_subfield(&f, CMD(SETUP_DATA_SOURCE_CONFIG), &config) &&
	       peer_subfield(&config, PB_DATA_SOURCE_CONFIG_CONSUMER_UID, ret);
}

STAGE_TEST(user_of_the_consumer_is_told_to_a_producer_that_reads_it)
{
	struct peer *p = rig_producer(&g->rig);
	struct pb_field f;
	uint64_t stream;
	struct pb_mem m;

	assert_int_equal(pb_mem_init(&m), 0);
	pb_enc_bool(&m.enc, PB_INITIALIZE_CONNECTION_REQUEST_READS_CONSUMER_UID, true);
	assert_true(peer_accepted(p, peer_call_mem(p, P_INITIALIZE, &m)));
	assert_true(peer_field(p, PB_INITIALIZE_CONNECTION_RESPONSE_SETS_CONSUMER_UID, &f));
	assert_int_equal(f.u64, 1);
	stream = peer_call(p, P_GET_ASYNC, NULL, 0);
	assert_true(peer_accepted(p, peer_register(p, "src", 0)));
	enable_as_somebody(g->cons, 77);
	assert_true(peer_command(p, stream, CMD(SETUP_TRACING), &f));
	assert_true(next_uid(p, stream, CMD(SETUP_DATA_SOURCE), &f));
	assert_int_equal(f.u64, getuid());
	assert_true(next_uid(p, stream, CMD(START_DATA_SOURCE), &f));
	assert_int_equal(f.u64, getuid());
	rig_hang_up(&g->rig, p);
}

/* It gets what the consumer wrote, and nothing says that it may believe that. */
STAGE_TEST(other_producers_get_the_config_of_the_consumer)
{
	struct peer *p = rig_producer(&g->rig);
	struct pb_field f;
	uint64_t stream;

	assert_true(peer_accepted(p, peer_initialize(p, "other", false)));
	assert_false(peer_field(p, PB_INITIALIZE_CONNECTION_RESPONSE_SETS_CONSUMER_UID, &f));
	stream = peer_call(p, P_GET_ASYNC, NULL, 0);
	assert_true(peer_accepted(p, peer_register(p, "src", 0)));
	enable_as_somebody(g->cons, 77);
	assert_true(peer_command(p, stream, CMD(SETUP_TRACING), &f));
	assert_true(next_uid(p, stream, CMD(SETUP_DATA_SOURCE), &f));
	assert_int_equal(f.u64, 77);
	peer_call(g->cons, C_FREE, NULL, 0);
	assert_true(peer_command(p, stream, CMD(START_DATA_SOURCE), &f));
	assert_true(peer_command(p, stream, CMD(STOP_DATA_SOURCE), &f));
	peer_enable(g->cons, STAGE_CONFIG);
	assert_false(next_uid(p, stream, CMD(SETUP_DATA_SOURCE), &f));
	rig_hang_up(&g->rig, p);
}

STAGE_TEST(without_a_stream_commands_are_lost_but_for_the_memory)
{
	struct peer *mute = rig_producer(&g->rig);
	uint64_t stream;
	struct pb_field f;

	assert_true(peer_accepted(mute, peer_initialize(mute, "mute", false)));
	assert_true(peer_accepted(mute, peer_register(mute, "mute.src", 0)));
	peer_enable(g->cons, "buffers { size_kb: 4 } data_sources { config { name: 'mute.src' } }");
	assert_true(peer_is_quiet(mute));
	stream = peer_call(mute, P_GET_ASYNC, NULL, 0);
	assert_true(peer_command(mute, stream, CMD(SETUP_TRACING), &f));
	assert_true(mute->got_fd >= 0);
	assert_true(peer_is_quiet(mute));
	peer_call(g->cons, C_FREE, NULL, 0);
	assert_true(peer_command(mute, stream, CMD(STOP_DATA_SOURCE), &f));
	rig_hang_up(&g->rig, mute);
}

STAGE_TEST(ids_are_not_packed)
{
	static const uint64_t ids[] = {5, 300, UINT64_MAX};
	struct pb_field f, v;
	struct pb_dec d;
	size_t n = 0;

	producer_port_send_flush(rig_producer_port(&g->rig), ids, 3, 9, 0x12);
	assert_true(peer_command(g->prod, g->stream, CMD(FLUSH), &f));
	assert_int_equal(peer_number(&f, CMD(FLUSH_REQUEST_ID)), 9);
	assert_int_equal(peer_number(&f, CMD(FLUSH_FLAGS)), 0x12);
	pb_dec_init(&d, f.data, f.len);
	while (pb_dec_next(&d, &v))
		if (v.id == CMD(FLUSH_DATA_SOURCE_IDS)) {
			assert_int_equal(v.wire_type, PB_WIRE_VARINT);
			assert_int_equal(v.u64, ids[n++]);
		}
	assert_int_equal(n, 3);
	producer_port_send_clear_incremental_state(rig_producer_port(&g->rig), ids, 2);
	assert_true(peer_command(g->prod, g->stream, CMD(CLEAR_INCREMENTAL_STATE), &f));
	assert_int_equal(peer_number(&f, CMD(CLEAR_INCREMENTAL_STATE_DATA_SOURCE_IDS)), 300);
}

STAGE_TEST(answer_comes_before_what_follows_from_it)
{
	uint64_t id;

	peer_enable(g->cons, "buffers { size_kb: 4 } data_sources { config { name: 'later' } }");
	assert_true(peer_is_quiet(g->cons));
	id = peer_register(g->prod, "later", 0);
	assert_true(peer_accepted(g->prod, id));
	assert_true(peer_await_session(g->prod, g->stream, true, &g->s));
}
