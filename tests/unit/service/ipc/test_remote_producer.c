/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/resource.h>

#include "service/ipc/limits.h"
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

/* Connects, and hangs up, which the service sees when it next looks. Returns 0 or -errno. */
static int connect_from(struct fixture *f, uint8_t address)
{
	struct peer *p;
	int fd, r;

	p = rig_peer(&f->rig, &fd);
	r = remote_rig_adopt(fd, address);
	peer_close(p);
	free(p);
	return r;
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

static uint64_t discarded(const struct fixture *f)
{
	return f->rig.producers->chunks_discarded;
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

FIXTURE_TEST(chunks_of_illegal_sizes_are_discarded)
{
	static const size_t sizes[] = {0, 1, 2, 3, 4, 5, 6, 7, 65536, 65537, 100000};
	static uint8_t bytes[100000];

	start(f, CONFIG);
	bytes[4] = 1; /* writer */
	bytes[6] = 1; /* packets */
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		assert_true(peer_accepted(
			f->prod, peer_commit_bytes(f->prod, f->s.buffer, bytes, sizes[i], false)));
		assert_int_equal(discarded(f), i + 1);
	}
	assert_int_equal(trace_buffer_stats(trace_get_buffer(rig_session(&f->rig)->trace, 0))
				 ->chunks_written,
			 0);
	/* The smallest and the largest are chunks, whatever is in them. */
	assert_true(
		peer_accepted(f->prod, peer_commit_bytes(f->prod, f->s.buffer, bytes, 8, false)));
	assert_true(peer_accepted(f->prod,
				  peer_commit_bytes(f->prod, f->s.buffer, bytes, 65535, false)));
	assert_int_equal(discarded(f), 11);
	assert_int_equal(count(f, "", NULL), 0);
}

FIXTURE_TEST(place_in_memory_is_none)
{
	start(f, CONFIG);
	assert_true(peer_accepted(f->prod, peer_commit(f->prod, 0, 0, f->s.buffer, 0)));
	assert_true(peer_accepted(f->prod, peer_commit(f->prod, UINT32_MAX, 13, f->s.buffer, 0)));
	assert_int_equal(discarded(f), 2);
}

FIXTURE_TEST(chunks_before_any_session_are_rejected)
{
	assert_true(peer_rejected(f->prod, peer_commit_text(f->prod, 1, 1, 0, "early")));
	start(f, CONFIG);
	assert_int_equal(count(f, "early", NULL), 0);
}

FIXTURE_TEST(buffers_of_others_and_bad_writers_are_out_of_reach)
{
	static const uint32_t targets[] = {0, 2, 65535, 65537, UINT32_MAX};
	struct peer *other = rig_consumer(&f->rig);

	start(f, CONFIG);
	peer_enable(other, "buffers { size_kb: 64 }"); /* buffer 2 */
	assert_true(peer_is_quiet(other));
	for (uint32_t i = 0; i < 5; i++)
		assert_true(
			peer_accepted(f->prod, peer_commit_text(f->prod, targets[i], 1, i, "spy")));
	assert_true(peer_accepted(f->prod, peer_commit_text(f->prod, f->s.buffer, 0, 0, "spy")));
	assert_true(
		peer_accepted(f->prod, peer_commit_text(f->prod, f->s.buffer, 32768, 0, "spy")));
	assert_int_equal(discarded(f), 7);
	assert_int_equal(count(f, "spy", NULL), 0);
	rig_hang_up(&f->rig, other);
}

FIXTURE_TEST(incomplete_chunk_grows)
{
	uint8_t chunk[256];
	size_t len = peer_make_chunk(chunk, 1, 0, "one");

	start(f, CONFIG);
	/* Two packets are begun, and of these the first counts. */
	chunk[6] = 2;
	assert_true(
		peer_accepted(f->prod, peer_commit_bytes(f->prod, f->s.buffer, chunk, len, true)));
	assert_int_equal(count(f, "one", NULL), 1);
	memcpy(chunk + len, "\x06\xa2\x38\x03two", 7);
	assert_true(peer_accepted(f->prod,
				  peer_commit_bytes(f->prod, f->s.buffer, chunk, len + 7, false)));
	assert_int_equal(count(f, "two", NULL), 1);
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

FIXTURE_TEST(producer_that_hangs_up_leaves_what_it_committed)
{
	start(f, CONFIG);
	assert_true(peer_accepted(f->prod, peer_commit_text(f->prod, f->s.buffer, 1, 0, "last")));
	rig_hang_up(&f->rig, f->prod);
	f->prod = NULL;
	assert_int_equal(count(f, "last", NULL), 1);
}

/* As many as there may be, of as few addresses as can have so many, of which none says a word. */
FIXTURE_TEST(connections_have_limits)
{
	const uint64_t *refused = f->rig.quota->refused;
	struct rlimit old, enough;
	unsigned n = 1; /* the fixture's */
	int r = 0;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	enough = old;
	enough.rlim_cur = MIN(old.rlim_max, 2 * MAX_REMOTE_PRODUCER_CONNECTIONS);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &enough), 0);
	for (uint8_t address = 1; address < 10; address++) {
		for (r = 0; r == 0; n += r == 0)
			r = connect_from(f, address);
		assert_int_equal(r, -EDQUOT);
		if (n == MAX_REMOTE_PRODUCER_CONNECTIONS)
			break;
		assert_int_equal(n, address * MAX_PRODUCER_CONNECTIONS_PER_ADDRESS);
		assert_int_equal(refused[REFUSED_PRODUCERS_OF_ADDRESS], address);
	}
	assert_int_equal(n, MAX_REMOTE_PRODUCER_CONNECTIONS);
	assert_int_equal(connect_from(f, 100), -EDQUOT);
	assert_int_equal(refused[REFUSED_REMOTE_PRODUCERS], 1);
	for (unsigned i = 0; i < n; i++)
		rig_pump(&f->rig); /* the others have hung up */
	assert_int_equal(connect_from(f, 1), 0);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
}
