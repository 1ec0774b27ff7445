/* SPDX-License-Identifier: Apache-2.0 */

#include "service/ipc/limits.h"
#include "unit/service/rig.h"
#include "unit/test.h"

/* A producer that has connected; a test may hang up. */
static struct peer *p;

static int setup(void **state)
{
	struct rig *r = calloc(1, sizeof(*r));

	assert_non_null(r);
	rig_init(r);
	p = rig_producer(r);
	*state = r;
	return 0;
}

static int teardown(void **state)
{
	if (p)
		rig_hang_up(*state, p);
	rig_deinit(*state);
	free(*state);
	return 0;
}

static int introduced_setup(void **state)
{
	setup(state);
	assert_true(peer_accepted(p, peer_initialize(p, "p", false)));
	return 0;
}

#define PORT_TEST(name) TEST_STATE(name, setup, teardown, struct rig *r)
#define INTRODUCED_TEST(name) TEST_STATE(name, introduced_setup, teardown, struct rig *r)

PORT_TEST(initialize_says_what_the_service_can)
{
	struct producer_port *port;
	struct pb_field f;

	assert_true(peer_accepted(p, peer_initialize(p, "me", true)));
	assert_true(peer_field(
		p, PB_INITIALIZE_CONNECTION_RESPONSE_USING_SHMEM_PROVIDED_BY_PRODUCER, &f));
	assert_int_equal(f.u64, 0);
	assert_true(
		peer_field(p, PB_INITIALIZE_CONNECTION_RESPONSE_DIRECT_SMB_PATCHING_SUPPORTED, &f));
	assert_int_equal(f.u64, 1);
	assert_true(peer_field(p, PB_INITIALIZE_CONNECTION_RESPONSE_USE_SHMEM_EMULATION, &f));
	assert_int_equal(f.u64, 0);
	port = rig_producer_port(r);
	assert_string_equal(port->name, "me");
	assert_int_equal(port->id, 1);
	assert_int_equal(port->peer->uid, getuid());
	assert_int_equal(port->peer->pid, getpid());
	assert_true(port->wants_scraping);
	rig_hang_up(r, TAKE_PTR(p));
	assert_true(TAILQ_EMPTY(&r->producers->list));
}

/* What is logged while fn runs. */
static void capture_log(void (*fn)(void), char *ret, size_t size)
{
	FILE *file = tmpfile();
	int saved = dup(STDERR_FILENO);
	ssize_t n;

	assert_non_null(file);
	assert_true(saved >= 0 && dup2(fileno(file), STDERR_FILENO) >= 0);
	fn();
	dup2(saved, STDERR_FILENO);
	close(saved);
	n = pread(fileno(file), ret, size - 1, 0);
	ret[n > 0 ? n : 0] = '\0';
	fclose(file);
}

static void register_and_update_malformed(void)
{
	static const uint8_t sound[] = {0x0a, 5, 0x0a, 1, 'a', 0x38, 7};
	/* Field 5 of the descriptor is a message; this one breaks off. */
	static const uint8_t broken[] = {0x0a, 8, 0x0a, 1, 'a', 0x38, 7, 0x2a, 1, 0x0a};

	assert_true(peer_accepted(p, peer_call(p, P_REGISTER_SOURCE, sound, sizeof(sound))));
	assert_true(peer_rejected(p, peer_call(p, P_REGISTER_SOURCE, broken, sizeof(broken))));
	assert_true(peer_rejected(p, peer_call(p, P_UPDATE_SOURCE, broken, sizeof(broken))));
}

PORT_TEST(refused_descriptors_are_logged)
{
	char log[4096];

	assert_true(peer_accepted(p, peer_initialize(p, "broken", false)));
	capture_log(register_and_update_malformed, log, sizeof(log));
	assert_non_null(strstr(log,
			       "producer broken: a data source is refused: a descriptor of 8 bytes "
			       "is malformed"));
	assert_non_null(strstr(log, "producer broken: the update of a data source is refused: a "
				    "descriptor of 8 bytes is malformed"));
}

PORT_TEST(only_initialize_is_accepted_before_initialize)
{
	for (uint32_t method = P_REGISTER_SOURCE; method <= P_UPDATE_SOURCE; method++)
		assert_true(peer_rejected(p, peer_call(p, method, NULL, 0)));
	assert_int_equal(r->producers->n, 0);
	assert_true(peer_accepted(p, peer_initialize(p, "p", false)));
	assert_true(peer_accepted(p, peer_call(p, P_SYNC, NULL, 0)));
}

PORT_TEST(bad_initialize_is_rejected)
{
	char name[MAX_NAME_BYTES + 2];

	memset(name, 'n', sizeof(name));
	name[MAX_NAME_BYTES + 1] = '\0';
	assert_true(peer_rejected(p, peer_call(p, P_INITIALIZE, "\x1a\x05x", 3)));
	assert_true(peer_rejected(p, peer_initialize(p, name, false)));
	assert_true(peer_rejected(p, peer_call(p, P_INITIALIZE,
					       "\x1a\x03"
					       "a\0b",
					       5)));
	assert_int_equal(r->producers->n, 0);
}

PORT_TEST(numbers_are_not_given_twice)
{
	struct peer *a = rig_producer(r), *b = rig_producer(r);

	assert_true(peer_accepted(a, peer_initialize(a, "a", false)));
	assert_int_equal(rig_producer_port(r)->id, 1);
	r->producers->last_id = UINT16_MAX;
	assert_true(peer_accepted(b, peer_initialize(b, "b", false)));
	assert_int_equal(rig_producer_port(r)->id, 2); /* neither 0 nor a live one */
	rig_hang_up(r, a);
	rig_hang_up(r, b);
}

INTRODUCED_TEST(undecodable_requests_are_rejected)
{
	static const uint32_t methods[] = {
		P_REGISTER_SOURCE, P_UNREGISTER_SOURCE, P_REGISTER_WRITER, P_UNREGISTER_WRITER,
		P_STARTED,	   P_STOPPED,		P_TRIGGERS,	   P_UPDATE_SOURCE};

	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++)
		assert_true(
			peer_rejected(p, peer_call_as(p, 1, methods[i], true, "\x0a\xff", 2, -1)));
}

INTRODUCED_TEST(refused_data_source_is_told_why)
{
	struct pb_field f;

	assert_true(peer_accepted(p, peer_register(p, "good", 0)));
	assert_false(peer_field(p, PB_REGISTER_DATA_SOURCE_RESPONSE_ERROR, &f));
	assert_true(peer_accepted(p, peer_register(p, "", 0)));
	assert_true(peer_field(p, PB_REGISTER_DATA_SOURCE_RESPONSE_ERROR, &f));
	assert_non_null(memmem(f.data, f.len, "name", 4));
	assert_int_equal(r->producers->registry.n, 1);
}

INTRODUCED_TEST(update_needs_a_known_source)
{
	struct pb_mem m;

	assert_int_equal(pb_mem_init(&m), 0);
	peer_put_descriptor(&m.enc, "a", 0, 5);
	assert_true(peer_rejected(p, peer_call(p, P_UPDATE_SOURCE, m.buf, pb_mem_len(&m))));
	assert_true(peer_accepted(p, peer_call(p, P_REGISTER_SOURCE, m.buf, pb_mem_len(&m))));
	assert_true(peer_accepted(p, peer_call_mem(p, P_UPDATE_SOURCE, &m)));
}

INTRODUCED_TEST(writers_have_their_buffer)
{
	struct producer_port *port;

	port = rig_producer_port(r);
	assert_true(peer_accepted(p, peer_register_writer(p, 1, 7)));
	assert_true(peer_accepted(p, peer_register_writer(p, 32767, 65535)));
	assert_int_equal(producer_buffers_registered_id(port, 1), 7);
	assert_int_equal(producer_buffers_registered_id(port, 32767), 65535);
	assert_int_equal(producer_buffers_registered_id(port, 2), 0);
	assert_int_equal(producer_buffers_registered_id(port, 65535), 0);
	assert_true(peer_rejected(p, peer_register_writer(p, 0, 7)));
	assert_true(peer_rejected(p, peer_register_writer(p, 32768, 7)));
	assert_true(peer_rejected(p, peer_register_writer(p, UINT32_MAX, 7)));
	assert_true(peer_rejected(p, peer_register_writer(p, 3, 65536)));
	assert_true(peer_accepted(p, peer_call_number(p, P_UNREGISTER_WRITER, 1, 1)));
	assert_int_equal(producer_buffers_registered_id(port, 1), 0);
	assert_true(peer_accepted(p, peer_call_number(p, P_UNREGISTER_WRITER, 1, 99999)));
}

#define CONFIG "buffers { size_kb: 64 } "

static void begin_session(struct rig *r, struct peer *c, const char *config)
{
	uint64_t enable = peer_enable(c, config);

	rig_until(r, !TAILQ_EMPTY(&r->sessions->list));
	assert_true(peer_accepted(c, peer_call(c, C_FREE, NULL, 0)));
	assert_true(peer_tracing_ended(c, enable, NULL));
}

/* lockdown_mode: set by the config of a session that begins, it stays. A config that is refused
 * changes nothing. */
PORT_TEST(lockdown_keeps_other_users_out)
{
	const struct ipc_peer other = {.uid = 4242}, root = {.uid = 0};
	struct peer *c = rig_consumer(r);

	assert_true(peer_tracing_ended(c, peer_enable(c, "lockdown_mode: LOCKDOWN_SET buffers {}"),
				       "size_kb"));
	assert_false(r->producers->lockdown);
	assert_true(producers_is_admitted(r->producers, &other));
	begin_session(r, c, CONFIG "lockdown_mode: LOCKDOWN_SET");
	assert_false(producers_is_admitted(r->producers, &other));
	assert_true(producers_is_admitted(r->producers, &root));
	assert_true(peer_accepted(p, peer_initialize(p, "p", false)));
	begin_session(r, c, CONFIG);
	assert_true(r->producers->lockdown);
	peer_tracing_ended(c, peer_enable(c, "lockdown_mode: LOCKDOWN_CLEAR buffers {}"),
			   "size_kb");
	assert_true(r->producers->lockdown);
	begin_session(r, c, CONFIG "lockdown_mode: LOCKDOWN_CLEAR");
	assert_false(r->producers->lockdown);
	rig_hang_up(r, c);
}

INTRODUCED_TEST(second_command_stream_ends_the_first)
{
	uint64_t first;

	first = peer_call(p, P_GET_ASYNC, NULL, 0);
	assert_true(peer_is_quiet(p));
	peer_call(p, P_GET_ASYNC, NULL, 0);
	assert_true(peer_rejected(p, first));
	assert_true(peer_is_quiet(p));
}
