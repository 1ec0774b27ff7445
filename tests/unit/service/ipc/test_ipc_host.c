/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/resource.h>

#include "base/system/background_close.h"
#include "service/ipc/ipc_host.h"
#include "service/ipc/limits.h"
#include "unit/service/rig.h"
#include "unit/test.h"

/* A service of three methods, that notes what happens to it. */

struct notes {
	unsigned opened, closed, calls, drained;
	struct ipc_conn *conn;
	struct ipc_call kept;
	size_t last_len;
};

static int do_echo(void *endpoint, const struct ipc_call *call, const uint8_t *args, size_t len)
{
	struct notes *n = endpoint;

	n->calls++;
	n->last_len = len;
	ipc_reply(n->conn, call, false, args, len, -1);
	return 0;
}

static int do_keep(void *endpoint, const struct ipc_call *call, const uint8_t *args, size_t len)
{
	struct notes *n = endpoint;

	n->kept = *call;
	return 0;
}

/* The first byte of the arguments is the errno to fail with. */
static int do_fail(void *endpoint, const struct ipc_call *call, const uint8_t *args, size_t len)
{
	return -args[0];
}

static int do_open(void *ctx, struct ipc_conn *conn, void **ret)
{
	struct notes *n = ctx;

	n->opened++;
	n->conn = conn;
	*ret = n;
	return 0;
}

static void do_close(void *endpoint)
{
	((struct notes *)endpoint)->closed++;
}

static void do_drained(void *endpoint)
{
	((struct notes *)endpoint)->drained++;
}

static const struct ipc_method echo_methods[] = {
	{"Echo", do_echo}, {"Keep", do_keep}, {"Fail", do_fail}, {"Later", NULL}};
enum { ECHO = 1, KEEP, FAIL, LATER };

static const struct ipc_service echo_service = {
	.name = "EchoPort",
	.methods = echo_methods,
	.n_methods = 4,
	.open = do_open,
	.close = do_close,
	.on_drained = do_drained,
	.send_limit = 1 << 20,
	.hold_limit = 100000,
	.connections = QUOTA_CONSUMERS,
	.max_remote_conns = 2,
	.max_conns_per_address = 1,
};

static const struct ipc_service more_service = {
	.name = "MorePort",
	.methods = echo_methods,
	.n_methods = 1,
	.open = do_open,
	.close = do_close,
};
static struct ipc_entrance more_entrance = {.extra = &more_service};

struct fixture {
	struct rig rig; /* only its loop */
	struct ipc_host *host;
	struct quota quota;
	struct notes notes;
	struct peer *p;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	int fd;

	assert_non_null(f);
	f->rig.loop = event_base_new();
	quota_init(&f->quota);
	f->quota.limits[QUOTA_CONSUMERS] = (struct quota_limit){3, 3, 3};
	assert_int_equal(ipc_host_new(f->rig.loop, &echo_service, &f->notes, &f->quota, &f->host),
			 0);
	f->p = rig_peer(&f->rig, &fd);
	assert_int_equal(ipc_host_adopt(f->host, fd, NULL), 0);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	ipc_host_free(f->host);
	peer_close(f->p);
	free(f->p);
	event_base_free(f->rig.loop);
	free(f);
	return 0;
}

#define FIXTURE_TEST(name) TEST_STATE(name, setup, teardown, struct fixture *f)

FIXTURE_TEST(bind_lists_methods_by_place)
{
	size_t pos = 0, len;
	const char *name;
	uint32_t id;

	peer_bind(f->p, "EchoPort");
	assert_true(peer_next(f->p));
	assert_int_equal(f->p->f.kind, FRAME_BIND_SERVICE_REPLY);
	assert_int_equal(f->p->f.request_id, 1);
	assert_true(f->p->f.success);
	assert_int_equal(f->p->f.service_id, 1);
	for (uint32_t i = 0; i < 4; i++) {
		assert_true(frame_next_method(&f->p->f, &pos, &id, &name, &len));
		assert_int_equal(id, i + 1);
		assert_int_equal(len, strlen(echo_methods[i].name));
		assert_memory_equal(name, echo_methods[i].name, len);
	}
	assert_false(frame_next_method(&f->p->f, &pos, &id, &name, &len));
	assert_int_equal(f->notes.opened, 0);
}

FIXTURE_TEST(bind_of_an_unknown_name_fails)
{
	static const char *const names[] = {"", "EchoPor", "EchoPortX", "RelayPort"};

	for (size_t i = 0; i < 4; i++) {
		peer_bind(f->p, names[i]);
		assert_true(peer_next(f->p));
		assert_int_equal(f->p->f.kind, FRAME_BIND_SERVICE_REPLY);
		assert_false(f->p->f.success);
		assert_int_equal(f->p->f.service_id, 0);
	}
}

FIXTURE_TEST(call_opens_once_and_is_answered)
{
	for (int i = 0; i < 3; i++) {
		assert_true(peer_accepted(f->p, peer_call(f->p, ECHO, "abc", 3)));
		assert_int_equal(f->p->f.payload_len, 3);
		assert_memory_equal(f->p->f.payload, "abc", 3);
	}
	assert_int_equal(f->notes.opened, 1);
	assert_int_equal(f->notes.calls, 3);
}

FIXTURE_TEST(dropped_reply_is_not_sent)
{
	peer_call_as(f->p, 1, ECHO, true, "x", 1, -1);
	assert_true(peer_is_quiet(f->p));
	assert_int_equal(f->notes.calls, 1);
}

FIXTURE_TEST(unknown_service_or_method_is_rejected_even_unasked)
{
	assert_true(peer_rejected(f->p, peer_call_as(f->p, 2, ECHO, false, NULL, 0, -1)));
	assert_true(peer_rejected(f->p, peer_call_as(f->p, 0, ECHO, true, NULL, 0, -1)));
	assert_true(peer_rejected(f->p, peer_call_as(f->p, 1, 0, true, NULL, 0, -1)));
	assert_true(peer_rejected(f->p, peer_call_as(f->p, 1, 5, true, NULL, 0, -1)));
	assert_true(peer_rejected(f->p, peer_call_as(f->p, 1, UINT32_MAX, false, NULL, 0, -1)));
	assert_int_equal(f->notes.opened, 0);
}

FIXTURE_TEST(failing_method_rejects)
{
	uint8_t error = EPERM;

	assert_true(peer_rejected(f->p, peer_call(f->p, FAIL, &error, 1)));
	peer_call_as(f->p, 1, FAIL, true, &error, 1, -1);
	assert_true(peer_is_quiet(f->p));
	/* Arguments that do not parse are rejected in any case. */
	error = EBADMSG;
	assert_true(peer_rejected(f->p, peer_call_as(f->p, 1, FAIL, true, &error, 1, -1)));
}

FIXTURE_TEST(method_without_a_function_is_rejected)
{
	assert_true(peer_rejected(f->p, peer_call(f->p, LATER, NULL, 0)));
	peer_call_as(f->p, 1, LATER, true, NULL, 0, -1);
	assert_true(peer_is_quiet(f->p));
}

FIXTURE_TEST(kept_call_is_a_stream)
{
	uint64_t kept = peer_call(f->p, KEEP, NULL, 0), other;

	other = peer_call(f->p, ECHO, "x", 1);
	assert_true(peer_accepted(f->p, other));
	ipc_reply(f->notes.conn, &f->notes.kept, true, "one", 3, -1);
	assert_true(peer_reply(f->p, kept));
	assert_true(f->p->f.success && f->p->f.has_more);
	assert_memory_equal(f->p->f.payload, "one", 3);
	ipc_reject(f->notes.conn, &f->notes.kept);
	assert_true(peer_rejected(f->p, kept));
}

FIXTURE_TEST(descriptor_of_a_call_is_taken_once)
{
	int fds[2], got;

	assert_int_equal(pipe(fds), 0);
	peer_call_as(f->p, 1, ECHO, false, "x", 1, fds[1]);
	assert_true(peer_next(f->p));
	got = ipc_conn_pop_fd(f->notes.conn);
	assert_true(got >= 0);
	assert_int_equal(ipc_conn_pop_fd(f->notes.conn), -1);
	close(got);
	close(fds[0]);
	close(fds[1]);
}

FIXTURE_TEST(reply_larger_than_a_frame_is_refused)
{
	static uint8_t big[131069];
	uint64_t kept = peer_call(f->p, KEEP, NULL, 0);

	assert_true(peer_is_quiet(f->p));
	assert_int_equal(ipc_reply(f->notes.conn, &f->notes.kept, true, big, sizeof(big), -1),
			 -EMSGSIZE);
	ipc_reply_empty(f->notes.conn, &f->notes.kept);
	assert_true(peer_accepted(f->p, kept));
}

FIXTURE_TEST(garbage_is_passed_over)
{
	peer_send_frame(f->p, NULL, 0, -1);
	peer_send_frame(f->p, "\xff\xff\xff\xff", 4, -1);
	peer_send_frame(f->p, "\x1a\x7f", 2, -1);
	assert_true(peer_accepted(f->p, peer_call(f->p, ECHO, "x", 1)));
}

FIXTURE_TEST(unknown_request_is_an_error_frame)
{
	peer_send_frame(f->p, "\x10\x2a", 2, -1); /* request_id 42, and nothing */
	assert_true(peer_next(f->p));
	assert_int_equal(f->p->f.kind, FRAME_REQUEST_ERROR);
	assert_int_equal(f->p->f.request_id, 42);
	assert_int_equal(f->p->f.text_len, strlen("unknown request"));
	assert_memory_equal(f->p->f.text, "unknown request", f->p->f.text_len);
}

FIXTURE_TEST(peer_that_does_not_read_is_closed)
{
	static uint8_t big[100000];
	int r = 0;

	peer_call(f->p, KEEP, NULL, 0);
	assert_true(peer_is_quiet(f->p));
	for (int i = 0; i < 100 && r == 0; i++)
		r = ipc_reply(f->notes.conn, &f->notes.kept, true, big, sizeof(big), -1);
	assert_int_equal(r, -EPIPE);
	assert_int_equal(f->notes.closed, 0); /* from the loop, never from inside a reply */
	rig_until(&f->rig, f->notes.closed == 1);
}

/* Instead of that of base: how many descriptors of the user wait to be closed. */
static unsigned n_closing;

unsigned background_close_count_waiting(uint64_t owner)
{
	return n_closing;
}

FIXTURE_TEST(user_whose_descriptors_close_slowly_passes_no_more)
{
	int fds[2];

	/* Without a descriptor nothing is closed. */
	n_closing = MAX_CLOSING + 1;
	assert_true(peer_accepted(f->p, peer_call(f->p, ECHO, "x", 1)));
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	assert_int_equal(ipc_host_adopt(f->host, fds[0], NULL), -EDQUOT);
	close(fds[1]);
	n_closing = MAX_CLOSING;
	for (int i = 0; i < 2; i++) { /* the second one closes the first */
		assert_true(peer_call_with_fd(f->p, ECHO, STDIN_FILENO));
		assert_true(peer_next(f->p));
	}
	n_closing++;
	assert_true(peer_call_with_fd(f->p, ECHO, STDIN_FILENO));
	assert_true(peer_is_hung_up(f->p));
	assert_int_equal(f->notes.closed, 1);
	n_closing = 0;
}

/* accept() fails while the peer waits, and the peer is not forgotten. */
FIXTURE_TEST(listener_waits_for_descriptors)
{
	struct rlimit old, none;
	struct peer *p = malloc(sizeof(*p));
	char address[64];
	int fd, free_fd;

	assert_non_null(p);
	snprintf(address, sizeof(address), "@sonda-test-ipc-host-full-%d", (int)getpid());
	assert_int_equal(sock_listen(address, &fd, NULL), 0);
	assert_int_equal(ipc_host_listen(f->host, fd, NULL), 0);
	peer_connect(p, address);
	p->pump = rig_pump;
	p->ctx = &f->rig;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	free_fd = dup(0);
	close(free_fd);
	none = (struct rlimit){.rlim_cur = (rlim_t)free_fd, .rlim_max = old.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	for (int i = 0; i < 3; i++)
		rig_pump(&f->rig);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	peer_call(p, ECHO, "x", 1);
	assert_true(peer_accepted(p, 1));
	rig_hang_up(&f->rig, p);
}

/* ---- an urgent host ---- */

static void note_refused(evutil_socket_t fd, short what, void *ctx)
{
	struct quota *q = ctx;

	/* Counts how many connections were handled before this event. */
	q->refused[QUOTA_SESSIONS] = q->refused[QUOTA_CONSUMERS];
}

/* As many connections as may wait, all but three of which are refused. */
TEST(urgent_connections_leave_time_for_others)
{
	enum { SOME = 100 };
	struct ipc_service service = echo_service;
	struct rig rig = {.loop = service_loop_new()};
	struct quota q;
	struct event *other = event_new(rig.loop, -1, 0, note_refused, &q);
	struct notes notes = {0};
	struct ipc_host *host;
	int fds[SOCK_BACKLOG + 1], fd;
	char address[64];
	size_t n = 0;

	service.is_urgent = true;
	quota_init(&q);
	q.limits[QUOTA_CONSUMERS] = (struct quota_limit){3, 3, 3};
	snprintf(address, sizeof(address), "@sonda-test-ipc-host-urgent-%d", (int)getpid());
	assert_int_equal(sock_listen(address, &fd, NULL), 0);
	assert_int_equal(ipc_host_new(rig.loop, &service, &notes, &q, &host), 0);
	assert_int_equal(ipc_host_listen(host, fd, NULL), 0);
	while (n < ARRAY_SIZE(fds) && sock_connect(address, &fds[n]) == 0)
		n++;
	assert_true(n > 2 * SOME);
	event_active(other, EV_READ, 0);
	while (q.refused[QUOTA_CONSUMERS] < n - 3)
		rig_pump(&rig);
	assert_true(q.refused[QUOTA_SESSIONS] < SOME);
	while (n > 0)
		close(fds[--n]);
	rig_pump(&rig);
	ipc_host_free(host);
	event_free(other);
	event_base_free(rig.loop);
}

static struct peer *remote_peer(struct fixture *f, uint8_t last_byte)
{
	struct ipc_peer who = {.is_remote = true,
			       .uid = UID_UNKNOWN,
			       .machine_id = 9,
			       .address = {.family = AF_INET, .ip = {10, 0, 0, last_byte}}};
	struct peer *p;
	int fd;

	p = rig_peer(&f->rig, &fd);
	more_entrance.extra_ctx = &f->notes;
	if (ipc_host_adopt_peer(f->host, fd, &more_entrance, &who) < 0) {
		peer_close(p);
		free(p);
		return NULL;
	}
	return p;
}

FIXTURE_TEST(remote_peers_have_limits_of_their_own)
{
	struct peer *a = remote_peer(f, 1), *b;

	assert_non_null(a);
	assert_null(remote_peer(f, 1)); /* one an address */
	b = remote_peer(f, 2);
	assert_non_null(b);
	assert_null(remote_peer(f, 3)); /* two in all, though there is room for three */
	assert_int_equal(f->quota.refused[REFUSED_PRODUCERS_OF_ADDRESS], 1);
	assert_int_equal(f->quota.refused[REFUSED_REMOTE_PRODUCERS], 1);
	assert_int_equal(f->quota.refused[QUOTA_CONSUMERS], 0);
	rig_hang_up(&f->rig, a);
	a = remote_peer(f, 3);
	assert_non_null(a);
	rig_hang_up(&f->rig, a);
	rig_hang_up(&f->rig, b);
}

FIXTURE_TEST(entrance_adds_a_service_of_number_2)
{
	struct peer *p = remote_peer(f, 1);

	peer_bind(p, "MorePort");
	assert_true(peer_next(p));
	assert_true(p->f.success);
	assert_int_equal(p->f.service_id, 2);
	peer_bind(p, "EchoPort");
	assert_true(peer_next(p));
	assert_int_equal(p->f.service_id, 1);
	assert_true(peer_accepted(p, peer_call_as(p, 2, ECHO, false, "x", 1, -1)));
	assert_true(peer_rejected(p, peer_call_as(p, 2, KEEP, false, "x", 1, -1)));
	assert_true(peer_rejected(p, peer_call_as(p, 3, ECHO, false, "x", 1, -1)));
	assert_int_equal(f->notes.opened, 1);
	assert_true(peer_accepted(p, peer_call(p, ECHO, "x", 1)));
	assert_int_equal(f->notes.opened, 2); /* each has an endpoint */
	rig_hang_up(&f->rig, p);
	assert_int_equal(f->notes.closed, 2);
	/* The fixture's own connection came through no such entrance. */
	assert_true(peer_rejected(f->p, peer_call_as(f->p, 2, ECHO, false, "x", 1, -1)));
}

FIXTURE_TEST(remote_peer_says_who_it_is_before_it_calls)
{
	struct peer *first = remote_peer(f, 1), *late = remote_peer(f, 2);
	static const char frame[] = "\x10\x01\x42\x04\x08\x01\x10\x4d"; /* pid: 1 uid: 77 */

	peer_send_frame(first, frame, 8, -1);
	assert_true(peer_accepted(first, peer_call(first, ECHO, "x", 1)));
	assert_int_equal(ipc_conn_peer(f->notes.conn)->uid, 77);
	assert_true(peer_accepted(late, peer_call(late, ECHO, "x", 1)));
	peer_send_frame(late, frame, 8, -1);
	assert_true(peer_accepted(late, peer_call(late, ECHO, "x", 1)));
	assert_int_equal(ipc_conn_peer(f->notes.conn)->uid, UID_UNKNOWN);
	assert_int_equal(ipc_conn_peer(f->notes.conn)->pid, 0);
	rig_hang_up(&f->rig, first);
	rig_hang_up(&f->rig, late);
}
