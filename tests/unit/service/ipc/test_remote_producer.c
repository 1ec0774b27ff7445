/* SPDX-License-Identifier: Apache-2.0 */

#include "unit/service/remote_rig.h"
#include "unit/test.h"

/* A producer of another machine, whose chunks come in CommitData. */

#define CONFIG STAGE_CONFIG " trace_all_machines: true"

struct fixture {
	struct rig rig;
	struct peer *prod, *cons;
	uint64_t stream;
	struct peer_session s;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	remote_rig_init(&f->rig);
	f->prod = remote_rig_peer(&f->rig, 1);
	peer_identify(f->prod, 0, 4711, "a", "guest");
	f->stream = peer_become_producer(f->prod, "prod", "src", DS_NO_FLUSH, true);
	f->cons = rig_consumer(&f->rig);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	if (f->prod)
		rig_hang_up(&f->rig, f->prod);
	rig_hang_up(&f->rig, f->cons);
	assert_true(TAILQ_EMPTY(&f->rig.producers->list));
	assert_int_equal(f->rig.quota->held[QUOTA_SMB_BYTES], 0);
	remote_rig_deinit(&f->rig);
	free(f);
	return 0;
}

static void start(struct fixture *f, const char *config)
{
	peer_enable(f->cons, config);
	assert_true(peer_await_emulated(f->prod, f->stream, &f->s));
}

/* The packets with the text; *ret_packets (may be NULL) is then the caller's. */
static unsigned count(struct fixture *f, const char *text, struct peer_packets *ret_packets)
{
	struct peer_packets t;
	unsigned n;

	assert_true(peer_read(f->cons, &t));
	n = peer_count_text(&t, text);
	if (ret_packets)
		*ret_packets = t;
	else
		peer_packets_free(&t);
	return n;
}

#define FIXTURE_TEST(name) TEST_STATE(name, setup, teardown, struct fixture *f)

FIXTURE_TEST(initialize_offers_emulation_and_takes_no_memory)
{
	struct peer *p = remote_rig_peer(&f->rig, 2);
	struct pb_field v;
	struct pb_mem m;

	assert_int_equal(pb_mem_init(&m), 0);
	pb_enc_str(&m.enc, PB_INITIALIZE_CONNECTION_REQUEST_PRODUCER_NAME, "p");
	pb_enc_bool(&m.enc, PB_INITIALIZE_CONNECTION_REQUEST_PRODUCER_PROVIDED_SHMEM, true);
	assert_true(peer_accepted(p, peer_call_mem(p, P_INITIALIZE, &m)));
	assert_true(peer_field(p, PB_INITIALIZE_CONNECTION_RESPONSE_USE_SHMEM_EMULATION, &v));
	assert_int_equal(v.u64, 1);
	assert_true(peer_field(
		p, PB_INITIALIZE_CONNECTION_RESPONSE_USING_SHMEM_PROVIDED_BY_PRODUCER, &v));
	assert_int_equal(v.u64, 0);
	rig_hang_up(&f->rig, p);
}

FIXTURE_TEST(chunks_come_in_the_request)
{
	struct peer_packets t;
	struct pb_field v;
	size_t i;

	start(f, CONFIG);
	assert_int_equal(f->rig.quota->held[QUOTA_SMB_BYTES], 0);
	assert_true(peer_accepted(f->prod, peer_commit_text(f->prod, f->s.buffer, 1, 0, "far")));
	assert_int_equal(count(f, "far", &t), 1);
	i = (size_t)peer_find_packet(&t, 0, PEER_FIELD);
	assert_true(peer_packet_field(&t, i, PB_TRACE_PACKET_MACHINE_ID, &v));
	assert_int_equal(v.u64, remote_rig_machine_id(1, "a"));
	assert_true(peer_packet_field(&t, i, PB_TRACE_PACKET_TRUSTED_PID, &v));
	assert_int_equal(v.u64, 4711);
	/* It said that it is root. */
	assert_true(peer_packet_field(&t, i, PB_TRACE_PACKET_TRUSTED_UID, &v));
	assert_int_equal((int64_t)v.u64, -1);
	peer_packets_free(&t);
}

FIXTURE_TEST(chunks_before_any_session_are_rejected)
{
	assert_true(peer_rejected(f->prod, peer_commit_text(f->prod, 1, 1, 0, "early")));
	start(f, CONFIG);
	assert_int_equal(count(f, "early", NULL), 0);
}

FIXTURE_TEST(commands_of_a_flush_reach_who_scrapes_itself)
{
	struct pb_field flush, v;
	uint64_t flushed;

	start(f, CONFIG);
	flushed = peer_call(f->cons, C_FLUSH, NULL, 0);
	assert_true(peer_command(f->prod, f->stream, CMD(FLUSH), &flush));
	assert_false(peer_subfield(&flush, CMD(FLUSH_DATA_SOURCE_IDS), &v)); /* DS_NO_FLUSH */
	peer_ack_flush(f->prod, peer_number(&flush, CMD(FLUSH_REQUEST_ID)));
	assert_true(peer_accepted(f->cons, flushed));
}

FIXTURE_TEST(other_machines_are_not_asked_unless_the_config_says_so)
{
	peer_enable(f->cons, STAGE_CONFIG);
	assert_true(peer_is_quiet(f->prod));
	peer_call(f->cons, C_FREE, NULL, 0);
	assert_true(peer_next(f->cons));
	while (peer_next_in(f->cons, PEER_QUIET_MS))
		;
	start(f, "buffers { size_kb: 64 } data_sources { config { name: 'src' } "
		 "machine_name_filter: 'guest' }");
}

FIXTURE_TEST(lockdown_keeps_other_machines_out)
{
	struct peer *p;

	peer_enable(f->cons, CONFIG " lockdown_mode: LOCKDOWN_SET");
	assert_true(peer_is_quiet(f->prod));
	p = remote_rig_peer(&f->rig, 2);
	peer_identify(p, (int32_t)getuid(), 1, "b", "");
	assert_true(peer_rejected(p, peer_initialize(p, "p", false)));
	rig_hang_up(&f->rig, p);
}

FIXTURE_TEST(query_tells_the_machine)
{
	struct pb_field service_state, producer, v;

	assert_true(peer_accepted(f->cons, peer_call(f->cons, C_QUERY_STATE, NULL, 0)));
	assert_true(
		peer_field(f->cons, PB_QUERY_SERVICE_STATE_RESPONSE_SERVICE_STATE, &service_state));
	assert_true(peer_subfield(&service_state, PB_TRACING_SERVICE_STATE_PRODUCERS, &producer));
	assert_true(peer_subfield(&producer, PB_TRACING_SERVICE_STATE_PRODUCER_MACHINE_ID, &v));
	assert_int_equal(v.u64, remote_rig_machine_id(1, "a"));
	assert_true(peer_subfield(&producer, PB_TRACING_SERVICE_STATE_PRODUCER_MACHINE_NAME, &v));
	assert_memory_equal(v.data, "guest", 5);
	assert_true(peer_subfield(&producer, PB_TRACING_SERVICE_STATE_PRODUCER_UID, &v));
	assert_int_equal((int64_t)v.u64, -1);
}
