/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/test.h"
#define STAGE_SCRAPING true
#include "unit/service/rig.h"

STAGE_TEST(both_ports_are_bound_by_their_names)
{
	static const struct {
		const char *name;
		unsigned n;
	} ports[] = {{"ProducerPort", 12}, {"ConsumerPort", 15}};
	struct peer *peers[] = {g->prod, g->cons};

	for (int i = 0; i < 2; i++) {
		size_t pos = 0, len;
		const char *name;
		uint32_t id, n = 0;

		peer_bind(peers[i], ports[i].name);
		assert_true(peer_next(peers[i]));
		assert_true(peers[i]->f.success);
		while (frame_next_method(&peers[i]->f, &pos, &id, &name, &len))
			assert_int_equal(id, ++n);
		assert_int_equal(n, ports[i].n);
		peer_bind(peers[i], ports[!i].name);
		assert_true(peer_next(peers[i]));
		assert_false(peers[i]->f.success);
	}
}

STAGE_TEST(producer_ids_wrap_past_those_in_use)
{
	struct producers *p = g->rig.producers;

	assert_int_equal(producers_new_id(p), 2);
	p->last_id = UINT16_MAX;
	assert_int_equal(producers_new_id(p), 3); /* 0 is no id, 1 and 2 are in use */
	producers_free_id(p, 2);
	p->last_id = UINT16_MAX;
	assert_int_equal(producers_new_id(p), 2);
	producers_free_id(p, 2);
	producers_free_id(p, 3);
}

STAGE_TEST(machine_has_a_name)
{
	struct event_base *loop = event_base_new();
	struct service *v;

	unsetenv("PERFETTO_MACHINE_NAME");
	assert_int_equal(service_new(loop, NULL, &v), 0);
	assert_string_equal(service_sessions(v)->machine_name, "Linux");
	service_free(v);
	setenv("PERFETTO_MACHINE_NAME", "guest", 1);
	assert_int_equal(service_new(loop, NULL, &v), 0);
	assert_string_equal(service_sessions(v)->machine_name, "guest");
	service_free(v);
	unsetenv("PERFETTO_MACHINE_NAME");
	event_base_free(loop);
}

/* With everything in flight: a session, a pending flush, a read that waits for its reader. */
STAGE_TEST(service_ends_in_the_middle_of_anything)
{
	const char *text = stage_text('x', 3500);

	stage_start(g, "buffers { size_kb: 4096 } data_sources { config { name: 'src' } } "
		       "flush_period_ms: 1 duration_ms: 5000");
	for (uint32_t i = 0; i < 300; i++) {
		const char *t = text;

		peer_write_chunk(&g->s.smb, i % 64, 1, i, &t, 1, true);
		peer_commit(g->prod, i % 64, 0, g->s.buffer, 0);
		rig_until(&g->rig, smb_load_word(&g->s.smb, i % 64) == 0);
	}
	peer_call(g->cons, C_READ, NULL, 0);
	peer_call(g->cons, C_FLUSH, NULL, 0);
	for (int i = 0; i < 20; i++)
		rig_pump(&g->rig);
	assert_true(rig_session(&g->rig)->n_flushes > 0);
	service_free(g->rig.service);
	assert_int_equal(event_base_get_num_events(g->rig.loop, EVENT_BASE_COUNT_ADDED), 0);
	rig_start_service(&g->rig);
}

STAGE_TEST(consumer_leaves_in_the_middle_of_anything)
{
	stage_start(g, STAGE_CONFIG " flush_period_ms: 1 duration_ms: 10");
	peer_call(g->cons, C_FLUSH, NULL, 0);
	peer_call(g->cons, C_READ, NULL, 0);
	peer_call(g->cons, C_DISABLE, NULL, 0);
	rig_hang_up(&g->rig, g->cons);
	g->cons = NULL;
	assert_int_equal(sessions_count(g->rig.sessions), 0);
	assert_int_equal(event_base_get_num_events(g->rig.loop, EVENT_BASE_COUNT_ADDED), 1);
}
