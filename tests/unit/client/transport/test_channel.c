/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/client/fake_host.h"
#include "unit/test.h"

#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/utsname.h>

#include "base/event_loop/event_free.h"
#include "base/event_loop/sock.h"
#include "client/loop/event_base_loop.h"
#include "client/transport/channel.h"
#include "ipc/wire_protocol.pb-c.h"

static const struct frame_method methods[] = {{1, "First"}, {2, "Second"}, {7, "Seventh"}};

/* A client and its host, and what the client received. */
struct pair {
	struct event_base *loop;
	struct io_loop *io;
	struct host host;
	struct channel *c;
	bool bound;
	int lost; /* how often */
	int lost_error;
	bool free_when_bound, free_when_lost;
	/* replies, in their order */
	struct {
		intptr_t call;
		int error;
		bool has_more;
		char data[32];
	} replies[64];
	size_t n;
	int fd; /* taken in the last reply */
	bool free_in_reply;
	bool call_in_reply;
	int call_result;
};

static struct pair *the_pair; /* replies carry the call's number instead */

static void on_bound(void *ctx)
{
	struct pair *p = ctx;

	p->bound = true;
	if (p->free_when_bound)
		channel_close(TAKE_PTR(p->c));
}

static void on_lost(void *ctx, int error)
{
	struct pair *p = ctx;

	p->lost++;
	p->lost_error = error;
	if (p->free_when_lost)
		channel_close(TAKE_PTR(p->c));
}

static const struct channel_ops ops = {.on_bound = on_bound, .on_lost = on_lost};

static void note_reply(void *ctx, const struct channel_reply *reply)
{
	struct pair *p = the_pair;

	assert_true(p->n < ARRAY_SIZE(p->replies));
	p->replies[p->n].call = (intptr_t)ctx;
	p->replies[p->n].error = reply->error;
	p->replies[p->n].has_more = reply->has_more;
	snprintf(p->replies[p->n].data, sizeof(p->replies[p->n].data), "%.*s", (int)reply->len,
		 reply->data ? (const char *)reply->data : "");
	p->n++;
	if (p->call_in_reply)
		p->call_result = channel_call(p->c, "First", NULL, 0, -1, note_reply, NULL);
	else if (reply->error == 0)
		p->fd = channel_take_fd(p->c);
	if (p->free_in_reply)
		channel_close(TAKE_PTR(p->c));
}

static void call(struct pair *p, const char *method, intptr_t number)
{
	assert_int_equal(channel_call(p->c, method, "args", 4, -1, note_reply, (void *)number), 0);
}

static void pair_loops(struct pair *p)
{
	memset(p, 0, sizeof(*p));
	the_pair = p;
	p->fd = -1;
	p->loop = p->host.loop = event_base_new();
	p->io = event_base_loop_new(p->loop);
	assert_non_null(p->io);
}

static int connect_by_hook(void *ctx, enum channel_port port)
{
	assert_int_equal(port, CHANNEL_PRODUCER);
	return *(int *)ctx;
}

/* Returns the other end, for a host that writes its bytes itself. */
static int pair_init_raw(struct pair *p)
{
	int fds[2];
	const struct channel_target target = {.connect = connect_by_hook, .ctx = &fds[0]};

	pair_loops(p);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds),
			 0);
	assert_int_equal(channel_open(p->io, &target, CHANNEL_PRODUCER, &ops, p, &p->c), 0);
	return fds[1];
}

static void pair_init(struct pair *p)
{
	int fd = pair_init_raw(p);

	host_take(&p->host, fd);
}

static void pair_bind(struct pair *p)
{
	const struct frame *f = host_expect(&p->host, FRAME_BIND_SERVICE);

	assert_int_equal(f->request_id, 1);
	assert_int_equal(f->text_len, 12);
	assert_memory_equal(f->text, "ProducerPort", 12);
	host_send_bind_reply(&p->host, f->request_id, true, methods, ARRAY_SIZE(methods));
	spin_until(p->loop, p->bound);
}

static int pair_setup(void **state)
{
	static struct pair p;

	pair_init(&p);
	*state = &p;
	return 0;
}

static int bound_setup(void **state)
{
	pair_setup(state);
	pair_bind(*state);
	return 0;
}

static void pair_deinit(struct pair *p)
{
	channel_close(p->c);
	host_reset(&p->host);
	event_base_loop_free(p->io);
	event_base_freep(&p->loop);
}

static int pair_teardown(void **state)
{
	pair_deinit(*state);
	return 0;
}

#define PAIR_TEST(name) TEST_STATE(name, pair_setup, pair_teardown, struct pair *p)
#define BOUND_TEST(name) TEST_STATE(name, bound_setup, pair_teardown, struct pair *p)

PAIR_TEST(methods_are_known_by_name_once_bound)
{
	assert_false(channel_has_method(p->c, "First"));
	assert_int_equal(channel_call(p->c, "First", NULL, 0, -1, note_reply, NULL), -ENOSYS);
	pair_bind(p);
	assert_true(channel_has_method(p->c, "First"));
	assert_true(channel_has_method(p->c, "Seventh"));
	assert_false(channel_has_method(p->c, "Third"));
	assert_false(channel_has_method(p->c, ""));
	assert_int_equal(channel_call(p->c, "Third", NULL, 0, -1, note_reply, NULL), -ENOSYS);
	spin_idle(p->loop);
	assert_int_equal(p->host.n, 1);
	assert_int_equal(p->n, 0);
}

BOUND_TEST(calls_carry_ids_arguments_and_the_wish_for_a_reply)
{
	const struct frame *f;

	call(p, "Seventh", 1);
	assert_int_equal(channel_send(p->c, "First", NULL, 0), 0);
	f = host_expect(&p->host, FRAME_INVOKE_METHOD);
	assert_int_equal(f->request_id, 2);
	assert_int_equal(f->service_id, 1);
	assert_int_equal(f->method_id, 7);
	assert_false(f->drop_reply);
	assert_int_equal(f->payload_len, 4);
	assert_memory_equal(f->payload, "args", 4);
	f = host_expect(&p->host, FRAME_INVOKE_METHOD);
	assert_int_equal(f->request_id, 3);
	assert_int_equal(f->method_id, 1);
	assert_true(f->drop_reply);
	assert_int_equal(f->payload_len, 0);
}

BOUND_TEST(replies_find_their_calls_in_any_order)
{
	for (intptr_t i = 1; i <= 3; i++)
		call(p, "First", i); /* request ids 2, 3, 4 */
	host_reply(&p->host, 4, true, false, "c", 1);
	host_reply(&p->host, 99, true, false, "x", 1);
	host_reply(&p->host, 4, true, false, "again", 5);
	host_reply(&p->host, 2, true, false, "", 0);
	host_reply(&p->host, 3, false, false, "", 0);
	spin_until(p->loop, p->n == 3);
	spin_idle(p->loop);
	assert_int_equal(p->n, 3);
	assert_int_equal(p->replies[0].call, 3);
	assert_string_equal(p->replies[0].data, "c");
	assert_int_equal(p->replies[1].call, 1);
	assert_int_equal(p->replies[1].error, 0);
	assert_int_equal(p->replies[2].call, 2);
	assert_int_equal(p->replies[2].error, -EPROTO);
}

BOUND_TEST(streams_stay_open_until_their_last_reply)
{
	call(p, "First", 1);
	call(p, "First", 2);
	host_reply(&p->host, 2, true, true, "a", 1);
	host_reply(&p->host, 3, true, true, "b", 1);
	host_reply(&p->host, 2, true, true, "c", 1);
	host_reply(&p->host, 2, true, false, "d", 1);
	host_reply(&p->host, 2, true, true, "too late", 8);
	host_reply(&p->host, 3, false, true, "", 0); /* a failure ends it, whatever it says */
	host_reply(&p->host, 3, true, false, "too late", 8);
	spin_until(p->loop, p->n == 5);
	spin_idle(p->loop);
	assert_int_equal(p->n, 5);
	assert_true(p->replies[0].has_more && p->replies[1].has_more && p->replies[2].has_more);
	assert_false(p->replies[3].has_more || p->replies[4].has_more);
	assert_string_equal(p->replies[3].data, "d");
	assert_int_equal(p->replies[4].call, 2);
	assert_int_equal(p->replies[4].error, -EPROTO);
}

BOUND_TEST(a_request_error_is_a_refusal)
{
	call(p, "First", 1);
	host_send_error(&p->host, 2);
	spin_until(p->loop, p->n == 1);
	assert_int_equal(p->replies[0].error, -EPROTO);
}

BOUND_TEST(descriptors_go_both_ways)
{
	struct stat mine, theirs;
	int fd = memfd_create("test", MFD_CLOEXEC), got;

	assert_int_equal(channel_call(p->c, "First", NULL, 0, fd, note_reply, (void *)1), 0);
	host_expect(&p->host, FRAME_INVOKE_METHOD);
	got = msgsock_pop_fd(p->host.sock);
	assert_true(got >= 0);
	fstat(fd, &mine);
	fstat(got, &theirs);
	assert_int_equal(mine.st_ino, theirs.st_ino);
	host_reply_fd(&p->host, 2, true, true, "x", 1, got);
	spin_until(p->loop, p->n == 1);
	assert_true(p->fd >= 0);
	fstat(p->fd, &theirs);
	assert_int_equal(mine.st_ino, theirs.st_ino);
	close(p->fd);
	/* taken is taken */
	host_reply(&p->host, 2, true, true, "x", 1);
	spin_until(p->loop, p->n == 2);
	assert_int_equal(p->fd, -1);
	close(got);
	close(fd);
}

BOUND_TEST(a_loss_answers_every_call_once_and_in_order)
{
	for (intptr_t i = 1; i <= 5; i++)
		call(p, "First", i);
	host_reply(&p->host, 3, true, true, "open", 4);
	host_reply(&p->host, 4, true, false, "done", 4);
	spin_until(p->loop, p->n == 2);
	host_drop(&p->host);
	spin_until(p->loop, p->lost);
	spin_idle(p->loop);
	assert_int_equal(p->lost, 1);
	assert_int_equal(p->lost_error, 0);
	assert_int_equal(p->n, 6);
	for (size_t i = 2; i < 6; i++)
		assert_int_equal(p->replies[i].error, -EPIPE);
	assert_int_equal(p->replies[2].call, 1);
	assert_int_equal(p->replies[3].call, 2);
	assert_int_equal(p->replies[4].call, 4);
	assert_int_equal(p->replies[5].call, 5);
	assert_int_equal(channel_call(p->c, "First", NULL, 0, -1, note_reply, NULL), -EPIPE);
	assert_int_equal(channel_drain(p->c, 10), -EPIPE);
	assert_int_equal(channel_take_fd(p->c), -1);
}

/* One message of the stream of a host. */
static size_t put_message(uint8_t *at, const void *head, size_t head_len, const char *payload)
{
	uint32_t len = (uint32_t)(head_len + strlen(payload));

	memcpy(at, &len, 4);
	memcpy(at + 4, head, head_len);
	memcpy(at + 4 + head_len, payload, strlen(payload));
	return 4 + len;
}

static size_t put_reply(uint8_t *at, uint64_t request_id, bool has_more, const char *payload)
{
	uint8_t head[FRAME_MAX_HEAD];
	size_t len = frame_put_reply(head, request_id, true, has_more, strlen(payload));

	return put_message(at, head, len, payload);
}

/* All that a host sends, of which the client receives the first bytes only. */
struct stream {
	uint8_t bytes[512];
	size_t len, bind_len;
};

static void stream_fill(struct stream *s)
{
	struct pb_mem m;

	assert_int_equal(pb_mem_init(&m), 0);
	frame_put_bind_reply(&m.enc, 1, true, 1, methods, ARRAY_SIZE(methods));
	s->len = s->bind_len = put_message(s->bytes, m.buf, pb_mem_len(&m), "");
	pb_mem_deinit(&m);
	s->len += put_reply(s->bytes + s->len, 2, true, "part");
	s->len += put_reply(s->bytes + s->len, 3, false, "other");
	s->len += put_reply(s->bytes + s->len, 2, false, "rest");
}

/* Each call has had its last answer, and had it once. */
static void assert_all_answered(const struct pair *p, intptr_t n_calls)
{
	for (intptr_t call = 1; call <= n_calls; call++) {
		unsigned last = 0;

		for (size_t i = 0; i < p->n; i++)
			if (p->replies[i].call == call) {
				assert_int_equal(last, 0);
				last += p->replies[i].error != 0 || !p->replies[i].has_more;
			}
		assert_int_equal(last, 1);
	}
}

static void lose_after(const struct stream *s, size_t cut, bool reset)
{
	static struct pair p;
	int fd = pair_init_raw(&p);
	size_t first = MIN(cut, s->bind_len);
	char ignored[1024];

	assert_int_equal(write(fd, s->bytes, first), first);
	spin_idle(p.loop);
	assert_int_equal(p.bound, cut >= s->bind_len);
	if (p.bound) {
		call(&p, "First", 1);
		call(&p, "Second", 2);
		assert_int_equal(write(fd, s->bytes + first, cut - first), cut - first);
	}
	/* What was not read resets the connection. */
	while (!reset && read(fd, ignored, sizeof(ignored)) > 0)
		;
	close(fd);
	spin_until(p.loop, p.lost);
	spin_idle(p.loop);
	assert_int_equal(p.lost, 1);
	assert_all_answered(&p, p.bound ? 2 : 0);
	assert_int_equal(channel_call(p.c, "First", NULL, 0, -1, note_reply, NULL), -EPIPE);
	pair_deinit(&p);
}

/* Before, inside and after each frame. */
TEST(the_host_may_be_lost_at_any_byte)
{
	struct stream s;

	stream_fill(&s);
	for (size_t cut = 0; cut <= s.len; cut++)
		for (int reset = 0; reset < 2; reset++)
			lose_after(&s, cut, reset);
}

BOUND_TEST(calls_made_while_it_is_lost_are_refused)
{
	call(p, "First", 1);
	call(p, "First", 2);
	p->call_in_reply = true;
	host_drop(&p->host);
	spin_until(p->loop, p->lost);
	assert_int_equal(p->call_result, -EPIPE);
	assert_int_equal(p->n, 2);
}

TEST(it_can_be_freed_in_any_callback)
{
	static struct pair p;

	pair_init(&p); /* in on_bound */
	p.free_when_bound = true;
	host_send_bind_reply(&p.host, 1, true, methods, ARRAY_SIZE(methods));
	host_reply(&p.host, 2, true, false, "x", 1);
	spin_until(p.loop, p.host.closed);
	pair_deinit(&p);

	pair_init(&p); /* in a reply, with more replies in the socket */
	pair_bind(&p);
	call(&p, "First", 1);
	call(&p, "First", 2);
	p.free_in_reply = true;
	host_reply(&p.host, 2, true, true, "x", 1);
	host_reply(&p.host, 3, true, false, "x", 1);
	spin_until(p.loop, p.host.closed);
	assert_int_equal(p.n, 1);
	assert_int_equal(p.lost, 0);
	pair_deinit(&p);

	pair_init(&p); /* in the first answer of a loss */
	pair_bind(&p);
	call(&p, "First", 1);
	call(&p, "First", 2);
	p.free_in_reply = true;
	host_drop(&p.host);
	spin_until(p.loop, p.n);
	spin_idle(p.loop);
	assert_int_equal(p.n, 1);
	assert_int_equal(p.lost, 0);
	pair_deinit(&p);

	pair_init(&p); /* in on_lost */
	pair_bind(&p);
	call(&p, "First", 1);
	p.free_when_lost = true;
	host_drop(&p.host);
	spin_until(p.loop, p.lost);
	assert_int_equal(p.n, 1);
	pair_deinit(&p);
}

TEST(an_unknown_service_is_a_loss)
{
	static struct pair p;

	pair_init(&p);
	host_send_bind_reply(&p.host, 1, false, NULL, 0);
	spin_until(p.loop, p.lost);
	assert_int_equal(p.lost_error, -EPROTO);
	assert_false(p.bound);
	pair_deinit(&p);

	pair_init(&p);
	host_send_error(&p.host, 1);
	spin_until(p.loop, p.lost);
	assert_int_equal(p.lost_error, -EPROTO);
	pair_deinit(&p);

	pair_init(&p); /* it goes before it answers */
	host_drop(&p.host);
	spin_until(p.loop, p.lost);
	assert_false(p.bound);
	pair_deinit(&p);
}

PAIR_TEST(odd_method_lists_are_accepted)
{
	static char names[200][8];
	static const char long_name[] =
		"AMethodWithANameThatIsMuchLongerThanAnyThatTheProtocolHasOrIsEverGoingToHave";
	struct frame_method many[200] = {{1, long_name}, {0, "Zero"}, {3, ""}, {4, "Good"}};

	for (unsigned i = 4; i < ARRAY_SIZE(many); i++) {
		snprintf(names[i], sizeof(names[i]), "M%u", i);
		many[i] = (struct frame_method){i, names[i]};
	}
	host_send_bind_reply(&p->host, 1, true, many, ARRAY_SIZE(many));
	spin_until(p->loop, p->bound);
	assert_false(channel_has_method(p->c, long_name));
	assert_false(channel_has_method(p->c, "Zero"));
	assert_false(channel_has_method(p->c, ""));
	assert_true(channel_has_method(p->c, "Good"));
	assert_true(channel_has_method(p->c, "M20"));
	assert_false(channel_has_method(p->c, "M199")); /* the first 64 are kept */
	/* a second bind reply changes nothing */
	host_send_bind_reply(&p->host, 1, false, NULL, 0);
	spin_idle(p->loop);
	assert_int_equal(p->lost, 0);
	assert_true(channel_has_method(p->c, "Good"));
}

PAIR_TEST(frames_that_make_no_sense_are_skipped)
{
	struct pb_mem m;

	host_reply(&p->host, 1, true, false, "not a bind reply", 16);
	host_send_bind_reply(&p->host, 77, false, NULL, 0);
	spin_idle(p->loop);
	pair_bind(p);
	call(p, "First", 1);
	host_send(&p->host, "\xff\xff\xff\xff", 4);
	host_send(&p->host, "", 0);
	assert_int_equal(pb_mem_init(&m), 0);
	frame_put_bind(&m.enc, 2, "ProducerPort");
	host_send(&p->host, m.buf, pb_mem_len(&m));
	pb_mem_deinit(&m);
	host_reply(&p->host, 2, true, false, "good", 4);
	spin_until(p->loop, p->n == 1);
	assert_string_equal(p->replies[0].data, "good");
	assert_int_equal(p->lost, 0);
}

BOUND_TEST(arguments_larger_than_a_frame_are_refused_here)
{
	static uint8_t big[CHANNEL_MAX_FRAME + 1];
	const struct frame *f;

	assert_int_equal(channel_call(p->c, "First", big, sizeof(big), -1, note_reply, NULL),
			 -EMSGSIZE);
	assert_int_equal(channel_call(p->c, "First", big, sizeof(big) - 5, -1, note_reply, NULL),
			 -EMSGSIZE); /* with its envelope */
	assert_int_equal(channel_call(p->c, "First", big, 131072 - 512, -1, note_reply, NULL), 0);
	f = host_expect(&p->host, FRAME_INVOKE_METHOD);
	assert_int_equal(f->payload_len, 131072 - 512);
	host_reply(&p->host, f->request_id, true, false, "", 0);
	spin_until(p->loop, p->n == 1);
	assert_int_equal(p->replies[0].error, 0);
}

TEST(queued_bytes_can_be_drained_without_the_loop)
{
	static uint8_t big[100000];
	static struct pair p;
	ssize_t n, total = 0;
	int fd = pair_init_raw(&p);

	host_take(&p.host, fd);
	pair_bind(&p);
	for (int i = 0; i < 20; i++)
		assert_int_equal(channel_send(p.c, "First", big, sizeof(big)), 0);
	assert_int_equal(channel_drain(p.c, 0), -EAGAIN);
	assert_true(channel_queued(p.c) > 0);
	for (int i = 0; i < 1000 && total < 2000000; i++) {
		while ((n = recv(fd, big, sizeof(big), MSG_DONTWAIT)) > 0)
			total += n;
		channel_drain(p.c, 1);
	}
	assert_true(total > 2000000);
	assert_int_equal(channel_drain(p.c, 0), 0);
	assert_int_equal(channel_queued(p.c), 0);
	pair_deinit(&p);
}

TEST(drain_gives_up_in_time_and_finds_that_the_peer_has_gone)
{
	static uint8_t big[100000];
	static struct pair p;
	uint64_t start;
	int fd = pair_init_raw(&p);

	host_take(&p.host, fd);
	pair_bind(&p);
	assert_int_equal(channel_drain(p.c, 0), 0);
	for (int i = 0; i < 20; i++)
		channel_send(p.c, "First", big, sizeof(big));
	start = clock_mono_ns();
	assert_int_equal(channel_drain(p.c, 30), -EAGAIN);
	assert_true(clock_mono_ns() - start >= 30 * NS_PER_MS);
	host_drop(&p.host);
	assert_int_equal(channel_drain(p.c, 1000), -EPIPE);
	assert_int_equal(p.lost, 0); /* the loop reports it */
	spin_until(p.loop, p.lost);
	pair_deinit(&p);

	/* A writer that waits for the service has nothing to send, and must not wait for a dead
	 * one. */
	fd = pair_init_raw(&p);
	host_take(&p.host, fd);
	pair_bind(&p);
	host_drop(&p.host);
	assert_int_equal(channel_drain(p.c, 0), -EPIPE);
	pair_deinit(&p);
}

/* The bytes that the socket does not accept are sent by the loop, whole and in their order. */
TEST(queued_frames_are_sent_by_the_loop)
{
	static uint8_t big[100000];
	static struct pair p;

	pair_init(&p);
	pair_bind(&p);
	for (unsigned i = 0; i < 20; i++) {
		memset(big, (int)i, sizeof(big));
		assert_int_equal(channel_send(p.c, "First", big, sizeof(big)), 0);
	}
	for (unsigned i = 0; i < 20; i++) {
		const struct frame *f = host_expect(&p.host, FRAME_INVOKE_METHOD);

		assert_int_equal(f->payload_len, sizeof(big));
		assert_int_equal(f->payload[0], i);
		assert_int_equal(f->payload[sizeof(big) - 1], i);
	}
	assert_int_equal(p.lost, 0);
	pair_deinit(&p);
}

TEST(a_full_queue_ends_the_connection)
{
	static uint8_t big[100000];
	static struct pair p;
	int fd = pair_init_raw(&p), r = 0;

	host_take(&p.host, fd);
	pair_bind(&p);
	for (int i = 0; i < 60 && r == 0; i++)
		r = channel_send(p.c, "First", big, sizeof(big));
	assert_int_equal(r, -EPIPE);
	assert_true(channel_queued(p.c) <= CHANNEL_SEND_LIMIT);
	spin_until(p.loop, p.lost);
	pair_deinit(&p);
}

BOUND_TEST(a_paused_channel_reads_no_replies)
{
	call(p, "First", 1);
	channel_pause(p->c, true);
	host_reply(&p->host, 2, true, false, "later", 5);
	spin_idle(p->loop);
	assert_int_equal(p->n, 0);
	channel_pause(p->c, false);
	spin_until(p->loop, p->n == 1);
	assert_string_equal(p->replies[0].data, "later");
}

TEST(addresses_without_a_listener_fail_at_once)
{
	char dir[] = "/tmp/test_conn.XXXXXX", path[64];
	const struct channel_target target = {.address = path, .of_program = true};
	static struct pair p;
	struct channel *c = NULL;
	int fd;

	pair_loops(&p);
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/sock", dir);
	assert_int_equal(channel_open(p.io, &target, CHANNEL_PRODUCER, &ops, &p, &c), -ENOENT);
	assert_int_equal(sock_listen(path, &fd, NULL), 0);
	assert_int_equal(channel_open(p.io, &target, CHANNEL_PRODUCER, &ops, &p, &c), 0);
	channel_close(c);
	close(fd);
	assert_int_equal(channel_open(p.io, &target, CHANNEL_PRODUCER, &ops, &p, &c),
			 -ECONNREFUSED);
	unlink(path);
	rmdir(dir);
	channel_close(NULL);
	pair_deinit(&p);
}

static size_t read_frames(int fd, uint8_t *buf, size_t size, struct frame *frames, size_t n)
{
	size_t len = 0, pos = 0, i = 0;

	while (i < n) {
		uint32_t word;
		ssize_t got = read(fd, buf + len, size - len);

		assert_true(got > 0);
		len += (size_t)got;
		while (i < n && len - pos >= 4) {
			memcpy(&word, buf + pos, 4);
			if (len - pos - 4 < word)
				break;
			assert_int_equal(frame_decode(buf + pos + 4, word, &frames[i++]), 0);
			pos += 4 + word;
		}
	}
	return i;
}

/* Connects over TCP, and sets the frames that arrive first. Their bytes are in buf. */
static void frames_over_tcp(bool of_program, uint8_t buf[1024], struct frame *frames, size_t n)
{
	static struct pair p;
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(at);
	char address[64];
	const struct channel_target target = {.address = address, .of_program = of_program};
	int listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), fd;

	pair_loops(&p);
	assert_int_equal(bind(listening, (struct sockaddr *)&at, len), 0);
	assert_int_equal(listen(listening, 1), 0);
	assert_int_equal(getsockname(listening, (struct sockaddr *)&at, &len), 0);
	snprintf(address, sizeof(address), "127.0.0.1:%u", ntohs(at.sin_port));
	assert_int_equal(channel_open(p.io, &target, CHANNEL_PRODUCER, &ops, &p, &p.c), 0);
	fd = accept(listening, NULL, NULL);
	assert_true(fd >= 0);
	spin_idle(p.loop);
	read_frames(fd, buf, 1024, frames, n);
	close(fd);
	close(listening);
	pair_deinit(&p);
}

/* There the kernel does not report who the client is. */
static void check_identity(const char *machine)
{
	Pb__IPCFrame__SetPeerIdentity *m;
	struct frame frames[2];
	uint8_t buf[1024];

	frames_over_tcp(true, buf, frames, 2);
	assert_int_equal(frames[0].kind, FRAME_SET_PEER_IDENTITY);
	m = (void *)protobuf_c_message_unpack(&pb__ipcframe__set_peer_identity__descriptor, NULL,
					      frames[0].payload_len, frames[0].payload);
	assert_non_null(m);
	assert_int_equal(m->pid, getpid());
	assert_int_equal(m->uid, geteuid());
	if (access("/proc/sys/kernel/random/boot_id", R_OK) == 0)
		assert_int_equal(strlen(m->machine_id_hint), 36); /* a UUID, and no newline */
	assert_string_equal(m->machine_name, machine);
	protobuf_c_message_free_unpacked(&m->base, NULL);
	assert_int_equal(frames[1].kind, FRAME_BIND_SERVICE);
	assert_int_equal(frames[1].request_id, 1);
}

TEST(over_tcp_a_program_sends_its_identity_first)
{
	struct frame frames[1];
	uint8_t buf[1024];
	struct utsname u;

	unsetenv("PERFETTO_MACHINE_NAME");
	assert_int_equal(uname(&u), 0);
	check_identity(u.sysname);
	setenv("PERFETTO_MACHINE_NAME", "guest", 1);
	check_identity("guest");
	unsetenv("PERFETTO_MACHINE_NAME");
	frames_over_tcp(false, buf, frames, 1); /* a library does not */
	assert_int_equal(frames[0].kind, FRAME_BIND_SERVICE);
}

/* ---- whose service it is ---- */

#define STRANGER 4242

/* In a child: listens as the user, and reports how many bytes the first client sent. */
static void listen_as(uid_t uid, const char *path, int ready, int sent)
{
	char bytes[256];
	int fd, peer = -1;
	ssize_t n;

	if (setuid(uid) < 0 || sock_listen(path, &fd, NULL) < 0 || write(ready, "1", 1) != 1)
		_exit(1);
	while (sock_accept(fd, &peer) == -EAGAIN)
		usleep(1000);
	fcntl(peer, F_SETFL, 0);
	n = read(peer, bytes, sizeof(bytes));
	(void)!write(sent, &n, sizeof(n));
	_exit(0);
}

/* What channel_open() returns for a service of that user, and how much that service got to read. */
static int connect_to_service_of(uid_t uid, ssize_t *ret_sent)
{
	char path[] = "/tmp/sonda-test-XXXXXX", socket[64], byte;
	const struct channel_target target = {.address = socket, .of_program = true};
	static struct pair p;
	int ready[2], report[2], r, status;
	pid_t child;

	pair_loops(&p);
	assert_non_null(mkdtemp(path));
	assert_int_equal(chmod(path, 01777), 0);
	snprintf(socket, sizeof(socket), "%s/s", path);
	assert_int_equal(pipe(ready) | pipe(report), 0);
	child = fork();
	if (child == 0)
		listen_as(uid, socket, ready[1], report[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	r = channel_open(p.io, &target, CHANNEL_PRODUCER, &ops, &p, &p.c);
	if (r == 0)
		channel_drain(p.c, 1000);
	channel_close(TAKE_PTR(p.c));
	assert_int_equal(read(report[0], ret_sent, sizeof(*ret_sent)), sizeof(*ret_sent));
	assert_int_equal(waitpid(child, &status, 0), child);
	for (int i = 0; i < 2; i++) {
		close(ready[i]);
		close(report[i]);
	}
	unlink(socket);
	rmdir(path);
	pair_deinit(&p);
	return r;
}

TEST(a_service_of_another_user_gets_no_byte)
{
	ssize_t sent;

	if (geteuid() != 0)
		skip();
	unsetenv("SONDA_SERVICE_USER");
	assert_int_equal(connect_to_service_of(STRANGER, &sent), -EKEYREJECTED);
	assert_int_equal(sent, 0);
	setenv("SONDA_SERVICE_USER", "4241", 1);
	assert_int_equal(connect_to_service_of(STRANGER, &sent), -EKEYREJECTED);
	assert_int_equal(sent, 0);
	setenv("SONDA_SERVICE_USER", "no such user", 1);
	assert_int_equal(connect_to_service_of(STRANGER, &sent), -EKEYREJECTED);
	assert_int_equal(sent, 0);
	unsetenv("SONDA_SERVICE_USER");
}

TEST(a_service_of_root_of_this_user_or_of_a_named_user_is_trusted)
{
	ssize_t sent;

	unsetenv("SONDA_SERVICE_USER");
	assert_int_equal(connect_to_service_of(geteuid(), &sent), 0);
	assert_true(sent > 0);
	if (geteuid() != 0)
		skip();
	setenv("SONDA_SERVICE_USER", "4242", 1);
	assert_int_equal(connect_to_service_of(STRANGER, &sent), 0);
	assert_true(sent > 0);
	setenv("SONDA_SERVICE_USER", "nobody", 1);
	assert_int_equal(connect_to_service_of(65534, &sent), 0);
	assert_true(sent > 0);
	unsetenv("SONDA_SERVICE_USER");
}
