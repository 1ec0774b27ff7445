/* SPDX-License-Identifier: Apache-2.0 */

#include "common/trace_stats.pb-c.h"
#include "config/limits.h"
#include "unit/test.h"
#define STAGE_SETUP setup
#define STAGE_TEARDOWN teardown
#include "service/ipc/limits.h"
#include "unit/service/rig.h"

/* ---- by itself ---- */

#define KIND QUOTA_BUFFERS

static int quota_setup(void **state)
{
	static struct quota q;

	quota_init(&q);
	q.own_user = 0;
	*state = &q;
	return 0;
}

static int quota_teardown(void **state)
{
	quota_deinit(*state);
	return 0;
}

#define QUOTA_TEST(name) TEST_STATE(name, quota_setup, quota_teardown, struct quota *q)

QUOTA_TEST(users_and_all_have_limits)
{
	struct quota_account a, b, c;
	struct err_text e;

	q->limits[KIND] = (struct quota_limit){.all = 40, .per_user = 10, .of_root = 20};
	quota_open(&a, q, 1000);
	quota_open(&b, q, 1000);
	quota_open(&c, q, 1001);
	assert_int_equal(quota_charge(&a, KIND, 6, &e), 0);
	assert_int_equal(quota_charge(&b, KIND, 4, &e), 0);
	assert_int_equal(quota_charge(&b, KIND, 1, &e), -EDQUOT);
	assert_non_null(strstr(e.text,
			       "the user already has 10 buffers and requests 1 more; the limit "
			       "per user is 10: request fewer, or stop other sessions"));
	quota_charge_unchecked(&b, KIND, 12);
	assert_int_equal(quota_charge(&c, KIND, 6, &e), -EDQUOT);
	assert_non_null(strstr(
		e.text, "not enough buffers: this user has 0 and requests 6 more, but its share is "
			"now 4 (limit for all users: 40, in use: 22): request fewer"));
	assert_int_equal(quota_charge(&c, KIND, UINT64_MAX, NULL), -EDQUOT);
	assert_int_equal(q->refused[KIND], 3);
	quota_release(&b, KIND, 12);
	assert_int_equal(quota_charge(&c, KIND, 5, &e), 0);
	assert_int_equal(quota_used_by_user(q, 1000, KIND), 10);
	assert_int_equal(quota_used_by_user(q, 1001, KIND), 5);
	assert_int_equal(quota_used_by_user(q, 1002, KIND), 0);
	quota_release(&a, KIND, 100); /* no more than it has */
	assert_int_equal(q->held[KIND], 9);
	assert_int_equal(quota_check(&b, KIND, 6, &e), 0);
	quota_close(&a);
	quota_close(&b);
	quota_close(&c);
	quota_close(&c);
	assert_int_equal(q->held[KIND], 0);
}

#define USERS 200

/* As much as the user gets, one by one. */
static uint64_t take_all(struct quota_account *a)
{
	uint64_t n = 0;

	while (quota_charge(a, KIND, 1, NULL) == 0)
		n++;
	return n;
}

QUOTA_TEST(flood_of_one_leaves_others_and_root_a_quarter)
{
	struct quota_account a[USERS], root;

	quota_open(&root, q, 0);
	for (uint64_t i = 0; i < USERS; i++)
		quota_open(&a[i], q, 1000 + i);
	assert_int_equal(take_all(&a[0]), MAX_BUFFERS / 4);
	assert_int_equal(take_all(&a[1]), MAX_BUFFERS / 4);
	quota_close(&a[1]);
	quota_open(&a[1], q, 1001);
	/* Each further one has a part of what is left, root always has its quarter. */
	for (size_t i = 1; i < USERS; i++)
		take_all(&a[i]);
	assert_int_equal(q->held[KIND], MAX_BUFFERS - MAX_BUFFERS / 4);
	assert_int_equal(take_all(&root), MAX_BUFFERS / 4);
	for (size_t i = 0; i < USERS; i++)
		quota_close(&a[i]);
	assert_int_equal(q->held_by_users[KIND], 0);
	quota_close(&root);
}

/* Connections, sessions, data sources, memory of each sort: whatever one user takes all of that it
 * gets. */
TEST(of_each_kind_others_and_root_have_a_quarter)
{
	for (unsigned k = QUOTA_PRODUCERS; k < N_QUOTAS; k++) {
		enum quota_kind kind = (enum quota_kind)k;
		struct quota_account flood, other, more[USERS], root;
		struct quota q;
		uint64_t all, step;

		quota_init(&q);
		q.own_user = 0;
		all = q.limits[kind].all;
		step = all / 1024 ? all / 1024 : 1;
		quota_open(&flood, &q, 4242);
		quota_open(&other, &q, 4243);
		quota_open(&root, &q, 0);
		while (quota_charge(&flood, kind, step, NULL) == 0)
			;
		assert_int_equal(quota_charge(&other, kind, all / 4, NULL), 0);
		for (unsigned i = 0; i < USERS; i++) {
			quota_open(&more[i], &q, 5000 + i);
			while (quota_charge(&more[i], kind, step, NULL) == 0)
				;
		}
		assert_int_equal(quota_charge(&root, kind, all / 4, NULL), 0);
		for (unsigned i = 0; i < USERS; i++)
			quota_close(&more[i]);
		quota_close(&flood);
		quota_close(&other);
		quota_close(&root);
		quota_deinit(&q);
	}
}

static const struct log_limit *lines_of(const struct quota *q, uint64_t user)
{
	for (size_t i = 0; i < QUOTA_LOG_USERS; i++)
		if (q->log.users[i].user == user && q->log.users[i].limit.written > 0)
			return &q->log.users[i].limit;
	return NULL;
}

QUOTA_TEST(log_lines_of_one_user_leave_others_and_root_theirs)
{
	for (int i = 0; i < 100; i++)
		quota_log(q, 4242, LOG_LEVEL_WARN, "a flood");
	quota_log(q, 4243, LOG_LEVEL_WARN, "of another user");
	quota_log(q, 0, LOG_LEVEL_WARN, "of root");
	assert_true(lines_of(q, 4242)->dropped > 0);
	assert_int_equal(lines_of(q, 4243)->written, 1);
	assert_int_equal(lines_of(q, 4243)->dropped, 0);
	assert_int_equal(lines_of(q, 0)->written, 1);
}

QUOTA_TEST(what_must_be_is_held_past_the_limit)
{
	struct quota_account a, b;

	q->limits[KIND] = (struct quota_limit){1, 1, 1};
	quota_open(&a, q, 1);
	quota_open(&b, q, 2);
	quota_charge_unchecked(&a, KIND, 3);
	assert_int_equal(q->held[KIND], 3);
	assert_int_equal(quota_charge(&a, KIND, 1, NULL), -EDQUOT);
	quota_move_charges(&a, &b);
	assert_int_equal(quota_used_by_user(q, 1, KIND), 0);
	assert_int_equal(quota_used_by_user(q, 2, KIND), 3);
	quota_close(&b);
}

/* ---- in the service, each past its limit ---- */

static int setup(void **state)
{
	*state = stage_new(0, false);
	return 0;
}

static int teardown(void **state)
{
	struct stage *g = *state;
	struct quota *q = g->rig.quota;

	/* A second session of the test may still have a consumer: it goes with the service. */
	rig_hang_up(&g->rig, g->prod);
	rig_hang_up(&g->rig, g->cons);
	g->prod = g->cons = NULL;
	for (unsigned i = 0; i < N_QUOTAS; i++)
		assert_int_equal(q->held[i], 0);
	assert_null(q->users);
	stage_free(g);
	return 0;
}

static struct quota *quota_of(struct stage *g)
{
	return g->rig.quota;
}

static void leave_room_for(struct stage *g, enum quota_kind kind, uint64_t more)
{
	struct quota_limit *l = &quota_of(g)->limits[kind];

	l->per_user = l->of_root = quota_of(g)->held[kind] + more;
}

/* The stats of the session say that something was refused. */
static void assert_reported(struct stage *g, enum quota_kind kind, uint64_t times)
{
	uint64_t reported = 0;
	Pb__TraceStats *t;
	struct pb_mem m;

	assert_int_equal(pb_mem_init(&m), 0);
	session_put_stats(rig_session(&g->rig), &m.enc, SIZE_MAX);
	t = pb__trace_stats__unpack(NULL, pb_mem_len(&m), m.buf);
	assert_non_null(t);
	for (size_t i = 0; i < t->n_limits; i++)
		if (t->limits[i]->kind == (Pb__TraceStats__Limit__Kind)kind) {
			reported = t->limits[i]->refused;
			assert_int_equal(t->limits[i]->held, quota_of(g)->held[kind]);
			assert_int_equal(t->limits[i]->held_by_user, quota_of(g)->held[kind]);
			assert_int_equal(t->limits[i]->max_of_user,
					 quota_of(g)->limits[kind].per_user);
			assert_int_equal(t->limits[i]->max, quota_of(g)->limits[kind].all);
		}
	assert_int_equal(reported, times);
	pb__trace_stats__free_unpacked(t, NULL);
	pb_mem_deinit(&m);
}

static bool may_connect(struct stage *g, int (*adopt)(struct service *s, int fd))
{
	int fds[2], r;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
	r = adopt(g->rig.service, fds[0]);
	close(fds[1]);
	for (int i = 0; i < 4; i++)
		rig_pump(&g->rig);
	return r == 0;
}

STAGE_TEST(connections)
{
	stage_begin(g, "buffers { size_kb: 4 }");
	leave_room_for(g, QUOTA_PRODUCERS, 0);
	assert_false(may_connect(g, service_adopt_producer));
	assert_true(may_connect(g, service_adopt_consumer));
	leave_room_for(g, QUOTA_CONSUMERS, 0);
	assert_false(may_connect(g, service_adopt_consumer));
	assert_reported(g, QUOTA_PRODUCERS, 1);
	assert_reported(g, QUOTA_CONSUMERS, 1);
	leave_room_for(g, QUOTA_CONSUMERS, 1);
	assert_true(may_connect(g, service_adopt_consumer));
}

static void refused_with(struct stage *g, const char *config, const char *why)
{
	struct peer *c = rig_consumer(&g->rig);

	assert_true(peer_tracing_ended(c, peer_enable(c, config), why));
	rig_hang_up(&g->rig, c);
}

STAGE_TEST(sessions_and_their_buffers)
{
	stage_begin(g, "buffers { size_kb: 4 }");
	assert_int_equal(quota_of(g)->held[QUOTA_BUFFER_BYTES], 4096);
	leave_room_for(g, QUOTA_BUFFERS, 1);
	refused_with(g, "buffers { size_kb: 4 } buffers { size_kb: 4 }", "already has 1 buffers");
	leave_room_for(g, QUOTA_BUFFER_BYTES, 8191);
	refused_with(g, "buffers { size_kb: 8 }",
		     "already has 4096 bytes of buffers and requests 8192 more");
	leave_room_for(g, QUOTA_SESSIONS, 0);
	refused_with(g, "buffers { size_kb: 4 }", "already has 1 tracing sessions");
	assert_reported(g, QUOTA_BUFFERS, 1);
	assert_reported(g, QUOTA_BUFFER_BYTES, 1);
	assert_reported(g, QUOTA_SESSIONS, 1);
	assert_int_equal(quota_of(g)->held[QUOTA_BUFFER_BYTES], 4096);
}

static bool clones(struct peer *p)
{
	uint64_t id = peer_call_number(p, C_CLONE, PB_CLONE_SESSION_REQUEST_SESSION_ID, 1);
	struct pb_field f;

	assert_true(peer_accepted(p, id));
	peer_field(p, PB_CLONE_SESSION_RESPONSE_SUCCESS, &f);
	return f.u64 != 0;
}

STAGE_TEST(clones_and_their_buffers)
{
	struct peer *c = rig_consumer(&g->rig), *d = rig_consumer(&g->rig);

	stage_begin(g, "buffers { size_kb: 4 }");
	leave_room_for(g, QUOTA_BUFFER_BYTES, 4095);
	assert_false(clones(c));
	leave_room_for(g, QUOTA_BUFFER_BYTES, 8192);
	leave_room_for(g, QUOTA_CLONES, 1);
	assert_true(clones(c));
	assert_int_equal(quota_of(g)->held[QUOTA_BUFFER_BYTES], 4096 + 4096);
	assert_int_equal(quota_of(g)->held[QUOTA_SESSIONS], 2);
	assert_false(clones(d));
	assert_reported(g, QUOTA_CLONES, 1);
	assert_reported(g, QUOTA_BUFFER_BYTES, 1);
	rig_hang_up(&g->rig, c);
	assert_int_equal(quota_of(g)->held[QUOTA_BUFFER_BYTES], 4096);
	assert_true(clones(d));
	rig_hang_up(&g->rig, d);
}

STAGE_TEST(writers)
{
	stage_start(g, STAGE_CONFIG);
	leave_room_for(g, QUOTA_WRITERS, 64);
	assert_true(peer_accepted(g->prod, peer_register_writer(g->prod, 63, g->s.buffer)));
	assert_true(peer_rejected(g->prod, peer_register_writer(g->prod, 64, g->s.buffer)));
	assert_true(peer_accepted(g->prod, peer_register_writer(g->prod, 62, g->s.buffer)));
	assert_reported(g, QUOTA_WRITERS, 1);
}

STAGE_TEST(shared_memory)
{
	leave_room_for(g, QUOTA_SMB_BYTES, DEFAULT_SMB_BYTES);
	stage_start(g, STAGE_CONFIG " producers { producer_name: 'prod' shm_size_kb: 1024 }");
	assert_int_equal(rig_producer_port(&g->rig)->smb_size, DEFAULT_SMB_BYTES);
	assert_reported(g, QUOTA_SMB_BYTES, 1);
}

STAGE_TEST(descriptors)
{
	struct pb_field f;

	stage_start(g, STAGE_CONFIG);
	leave_room_for(g, QUOTA_DESCRIPTOR_BYTES, 3);
	assert_true(peer_accepted(g->prod, peer_register(g->prod, "long", 0)));
	assert_true(peer_field(g->prod, PB_REGISTER_DATA_SOURCE_RESPONSE_ERROR, &f));
	assert_non_null(memmem(f.data, f.len, "bytes of data source descriptors", 32));
	assert_reported(g, QUOTA_DESCRIPTOR_BYTES, 1);
}

/* Two bytes each, of a structure of hundreds. */
STAGE_TEST(configs)
{
	static uint8_t args[4 + 120000];
	struct peer *c = rig_consumer(&g->rig);
	const uint32_t len = sizeof(args) - 4;
	uint64_t one;

	stage_begin(g, "buffers { size_kb: 4 }");
	one = quota_of(g)->held[QUOTA_CONFIG_BYTES];
	assert_true(one > 0);
	leave_room_for(g, QUOTA_CONFIG_BYTES, one - 1);
	refused_with(g, "buffers { size_kb: 4 }", " bytes of configs");
	leave_room_for(g, QUOTA_CONFIG_BYTES, one);
	peer_enable(c, "buffers { size_kb: 4 }");
	assert_true(peer_is_quiet(c));
	rig_hang_up(&g->rig, c);
	args[0] = 0x0a; /* EnableTracingRequest.trace_config, of four times as many bytes */
	args[1] = (uint8_t)(len | 0x80);
	args[2] = (uint8_t)(len >> 7 | 0x80);
	args[3] = (uint8_t)(len >> 14);
	for (size_t i = 4; i + 4 <= sizeof(args); i += 4)
		memcpy(args + i, "\x12\x02\x0a\x00", 4); /* data_sources { config {} } */
	c = rig_consumer(&g->rig);
	assert_true(peer_tracing_ended(c, peer_call(c, C_ENABLE, args, sizeof(args)), "8 MiB"));
	rig_hang_up(&g->rig, c);
	assert_reported(g, QUOTA_CONFIG_BYTES, 2);
}

/* The first half of a large frame. */
STAGE_TEST(frames_that_do_not_come_to_an_end)
{
	struct peer *p = rig_producer(&g->rig), *q = rig_producer(&g->rig);
	uint32_t len = 100000;
	static uint8_t half[50000];

	stage_begin(g, "buffers { size_kb: 4 }");
	leave_room_for(g, QUOTA_CONN_BYTES, 150000);
	peer_send_raw(p, &len, sizeof(len), -1);
	peer_send_raw(p, half, sizeof(half), -1);
	assert_true(peer_is_quiet(p));
	peer_send_raw(q, &len, sizeof(len), -1);
	peer_send_raw(q, half, sizeof(half), -1);
	assert_true(peer_is_hung_up(q));
	assert_reported(g, QUOTA_CONN_BYTES, 1);
	assert_false(p->eof);
	rig_hang_up(&g->rig, p);
	rig_hang_up(&g->rig, q);
}

/* Asks for the service's state, again and again, and reads none of it. */
STAGE_TEST(replies_that_nobody_reads)
{
	struct peer *p = rig_consumer(&g->rig);

	stage_begin(g, "buffers { size_kb: 4 }");
	leave_room_for(g, QUOTA_CONN_BYTES, 20000);
	for (int i = 0; i < 100000 && quota_of(g)->refused[QUOTA_CONN_BYTES] == 0; i++) {
		peer_call(p, C_QUERY_STATE, NULL, 0);
		rig_pump(&g->rig);
	}
	assert_reported(g, QUOTA_CONN_BYTES, 1);
	rig_hang_up(&g->rig, p);
}
