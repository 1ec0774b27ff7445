/* SPDX-License-Identifier: Apache-2.0 */
#include "common/tracing_service_state.pb-c.h"
#include "service/ipc/msgsock.h"
#include "service/trace/service_packets.h"
#include "unit/service/rig.h"
#include "unit/test.h"

/* All replies appended, as clients do it. */
static Pb__TracingServiceState *query(struct stage *g, bool sessions_only, unsigned *ret_replies)
{
	uint64_t id = sessions_only ? peer_call_number(g->cons, C_QUERY_STATE, 1, 1)
				    : peer_call(g->cons, C_QUERY_STATE, NULL, 0);
	Pb__TracingServiceState *s;
	uint8_t *all = NULL;
	struct pb_field f;
	unsigned n = 0;
	size_t len = 0;

	do {
		assert_true(peer_reply(g->cons, id));
		assert_true(g->cons->f.success);
		assert_true(peer_field(g->cons, PB_QUERY_SERVICE_STATE_RESPONSE_SERVICE_STATE, &f));
		all = realloc(all, len + f.len + 1);
		memcpy(all + len, f.data, f.len);
		len += f.len;
		n++;
	} while (g->cons->f.has_more);
	s = pb__tracing_service_state__unpack(NULL, len, all);
	assert_non_null(s);
	free(all);
	if (ret_replies)
		*ret_replies = n;
	return s;
}

STAGE_TEST(producers_and_sources_are_listed)
{
	Pb__TracingServiceState *s = query(g, false, NULL);

	assert_int_equal(s->n_producers, 1);
	assert_int_equal(s->producers[0]->id, 1);
	assert_string_equal(s->producers[0]->name, "prod");
	assert_int_equal(s->producers[0]->uid, getuid());
	assert_int_equal(s->producers[0]->pid, getpid());
	assert_false(s->producers[0]->has_machine_id);
	assert_int_equal(s->n_data_sources, 1);
	assert_string_equal(s->data_sources[0]->ds_descriptor->name, "src");
	assert_int_equal(s->data_sources[0]->producer_id, 1);
	assert_true(s->supports_tracing_sessions);
	assert_string_equal(s->tracing_service_version, SERVICE_VERSION);
	pb__tracing_service_state__free_unpacked(s, NULL);
}

static void put_source(struct stage *g, uint32_t method, unsigned flags)
{
	struct pb_mem m;

	assert_int_equal(pb_mem_init(&m), 0);
	peer_put_descriptor(&m.enc, "updated", flags, 5);
	assert_true(peer_accepted(g->prod, peer_call_mem(g->prod, method, &m)));
}

STAGE_TEST(updated_source_is_reported_as_it_is_now)
{
	Pb__TracingServiceState *s;

	put_source(g, P_REGISTER_SOURCE, 0);
	for (unsigned update = 0; update < 2; update++) {
		if (update)
			put_source(g, P_UPDATE_SOURCE, DS_NOTIFY_STOP);
		s = query(g, false, NULL);
		assert_int_equal(s->n_data_sources, 2);
		assert_string_equal(s->data_sources[1]->ds_descriptor->name, "updated");
		assert_int_equal(s->data_sources[1]->ds_descriptor->id, 5);
		assert_int_equal(s->data_sources[1]->ds_descriptor->will_notify_on_stop, update);
		pb__tracing_service_state__free_unpacked(s, NULL);
	}
}

STAGE_TEST(sessions_are_described)
{
	struct peer *second = rig_consumer(&g->rig);
	Pb__TracingServiceState__TracingSession *t;
	Pb__TracingServiceState *s;

	stage_start(g,
		    STAGE_CONFIG " buffers { size_kb: 8 } unique_session_name: 'mine' "
				 "duration_ms: 60000 bugreport_score: 9 bugreport_filename: 'f'");
	peer_enable(second, "buffers { size_kb: 4 } deferred_start: true");
	assert_true(peer_is_quiet(second));
	s = query(g, true, NULL);
	assert_int_equal(s->num_sessions, 2);
	assert_int_equal(s->num_sessions_started, 1);
	assert_int_equal(s->n_tracing_sessions, 2);
	t = s->tracing_sessions[0];
	assert_int_equal(t->id, 1);
	assert_int_equal(t->consumer_uid, getuid());
	assert_string_equal(t->state, "STARTED");
	assert_string_equal(t->unique_session_name, "mine");
	assert_int_equal(t->n_buffer_size_kb, 2);
	assert_int_equal(t->buffer_size_kb[1], 8);
	assert_int_equal(t->duration_ms, 60000);
	assert_int_equal(t->num_data_sources, 1);
	assert_true(t->start_realtime_ns > 0);
	assert_int_equal(t->bugreport_score, 9);
	assert_string_equal(t->bugreport_filename, "f");
	assert_true(t->is_started);
	assert_string_equal(s->tracing_sessions[1]->state, "CONFIGURED");
	assert_false(s->tracing_sessions[1]->has_start_realtime_ns);
	assert_false(s->tracing_sessions[1]->is_started);
	assert_int_equal(s->n_producers + s->n_data_sources, 0);
	pb__tracing_service_state__free_unpacked(s, NULL);
	rig_hang_up(&g->rig, second);
}

STAGE_TEST(sessions_of_others_are_only_counted)
{
	Pb__TracingServiceState *s;
	struct session *session;

	stage_start(g, STAGE_CONFIG);
	session = rig_session(&g->rig);
	session->uid = rig_consumer_port(session)->uid + 1;
	s = query(g, true, NULL);
	assert_int_equal(s->n_tracing_sessions, getuid() == 0 ? 1 : 0);
	pb__tracing_service_state__free_unpacked(s, NULL);
	/* As if another user than root had connected. */
	rig_consumer_port(session)->uid = 4711;
	s = query(g, true, NULL);
	assert_int_equal(s->num_sessions, 1);
	assert_int_equal(s->n_tracing_sessions, 0);
	pb__tracing_service_state__free_unpacked(s, NULL);
}

STAGE_TEST(long_answer_comes_in_pieces)
{
	static uint8_t filler[100 << 10];
	Pb__TracingServiceState *s;
	unsigned replies;
	struct pb_mem m;

	for (int i = 0; i < 5; i++) {
		assert_int_equal(pb_mem_init(&m), 0);
		pb_enc_open(&m.enc, PB_REGISTER_DATA_SOURCE_REQUEST_DATA_SOURCE_DESCRIPTOR);
		pb_enc_str(&m.enc, PB_DATA_SOURCE_DESCRIPTOR_NAME, "big");
		pb_enc_bytes(&m.enc, 5000, filler, sizeof(filler) - 50);
		pb_enc_close(&m.enc);
		assert_true(peer_accepted(g->prod, peer_call_mem(g->prod, P_REGISTER_SOURCE, &m)));
	}
	s = query(g, false, &replies);
	assert_int_equal(s->n_data_sources, 6);
	assert_int_equal(s->n_producers, 1);
	assert_in_range(replies, 5, 6);
	pb__tracing_service_state__free_unpacked(s, NULL);
}

static void register_large(struct stage *g, const char *name, size_t bytes)
{
	static uint8_t filler[MSGSOCK_MAX_MESSAGE];
	struct pb_mem m;

	assert_int_equal(pb_mem_init(&m), 0);
	pb_enc_open(&m.enc, PB_REGISTER_DATA_SOURCE_REQUEST_DATA_SOURCE_DESCRIPTOR);
	pb_enc_str(&m.enc, PB_DATA_SOURCE_DESCRIPTOR_NAME, name);
	pb_enc_bytes(&m.enc, 5000, filler, bytes);
	pb_enc_close(&m.enc);
	assert_true(peer_accepted(g->prod, peer_call_mem(g->prod, P_REGISTER_SOURCE, &m)));
}

STAGE_TEST(a_descriptor_of_a_whole_frame_is_taken)
{
	Pb__TracingServiceState *s;

	register_large(g, "b", MSGSOCK_MAX_MESSAGE - 200);
	register_large(g, "c", MSGSOCK_MAX_MESSAGE - 60);
	assert_int_equal(g->rig.producers->registry.n, 3);
	s = query(g, false, NULL);
	assert_int_equal(s->n_data_sources, 3);
	assert_string_equal(s->data_sources[1]->ds_descriptor->name, "b");
	assert_int_equal(s->data_sources[1]->ds_descriptor->base.n_unknown_fields, 1);
	/* Nothing but its name fits the answer, which has more around it. */
	assert_string_equal(s->data_sources[2]->ds_descriptor->name, "c");
	assert_int_equal(s->data_sources[2]->ds_descriptor->base.n_unknown_fields, 0);
	pb__tracing_service_state__free_unpacked(s, NULL);
}

STAGE_TEST(capabilities_are_what_is_built)
{
	struct pb_field caps;

	assert_true(peer_accepted(g->cons, peer_call(g->cons, C_QUERY_CAPABILITIES, NULL, 0)));
	assert_true(peer_field(g->cons, PB_QUERY_CAPABILITIES_RESPONSE_CAPABILITIES, &caps));
	assert_int_equal(peer_number(&caps, PB_TRACING_SERVICE_CAPABILITIES_HAS_QUERY_CAPABILITIES),
			 1);
	assert_int_equal(peer_number(&caps, PB_TRACING_SERVICE_CAPABILITIES_HAS_CLONE_SESSION), 1);
	assert_int_equal(
		peer_number(&caps, PB_TRACING_SERVICE_CAPABILITIES_HAS_TRACE_CONFIG_OUTPUT_PATH),
		1);
	/* the last one of the list */
	assert_int_equal(peer_number(&caps, PB_TRACING_SERVICE_CAPABILITIES_OBSERVABLE_EVENTS), 4);
}
