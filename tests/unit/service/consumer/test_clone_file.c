/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/resource.h>

#include "unit/test.h"
#include "ipc/consumer_port.pb-c.h"
#include "unit/service/rig.h"
#include "service/consumer/consumer_port.h"
#include "service/output/file_writer.c" /* its struct is private */
#include "unit/service/output_dir.h"
#include "unit/temp_dir.h"
#include "unit/service/trace_file_helper.h"

/* Clones of sessions that write into a file; other clones are in test_clone.c. */

struct fixture {
	struct stage *stage;
	struct peer *cloner;
	void *dir;
};

static int setup(void **state)
{
	struct fixture *x = calloc(1, sizeof(*x));

	if (!x || temp_dir_setup(&x->dir) < 0)
		return -1;
	x->stage = stage_new(0, false);
	x->cloner = rig_consumer(&x->stage->rig);
	*state = x;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *x = *state;

	if (x->cloner)
		rig_hang_up(&x->stage->rig, x->cloner);
	stage_free(x->stage);
	temp_dir_teardown(&x->dir);
	free(x);
	return 0;
}

static const char *path_of(struct fixture *x, unsigned slot)
{
	static const char *const names[] = {"trace", "clone"};

	return temp_dir_path(&x->dir, slot, names[slot]);
}

/* A session that writes every 100 ms into path_of(0). */
static void start(struct fixture *x, const char *more)
{
	char text[1024];

	snprintf(text, sizeof(text),
		 STAGE_CONFIG " write_into_file: true output_path: '%s' "
			      "file_write_period_ms: 100 write_flush_mode: WRITE_FLUSH_DISABLED %s",
		 path_of(x, 0), more);
	stage_start(x->stage, text);
}

static int open_clone(struct fixture *x)
{
	int fd = open(path_of(x, 1), O_RDWR | O_CREAT, 0600);

	assert_true(fd >= 0);
	return fd;
}

static uint64_t ask(struct fixture *x, int fd)
{
	const uint8_t args[] = {PB_CLONE_SESSION_REQUEST_SESSION_ID << 3, 1};

	return peer_call_as(x->cloner, 1, C_CLONE, false, args, sizeof(args), fd);
}

static void ack_flush(struct stage *g)
{
	struct pb_field f;

	assert_true(peer_command(g->prod, g->stream, CMD(FLUSH), &f));
	assert_true(peer_accepted(g->prod,
				  peer_ack_flush(g->prod, peer_number(&f, CMD(FLUSH_REQUEST_ID)))));
}

static void assert_cloned(struct fixture *x, uint64_t id)
{
	struct pb_field f;

	assert_true(peer_accepted(x->cloner, id));
	if (peer_field(x->cloner, PB_CLONE_SESSION_RESPONSE_ERROR, &f))
		fail_msg("not cloned: %.*s", (int)f.len, (const char *)f.data);
	assert_true(peer_field(x->cloner, PB_CLONE_SESSION_RESPONSE_WAS_WRITE_INTO_FILE, &f));
	assert_int_equal(f.u64, 1);
}

static void assert_not_cloned(struct fixture *x, uint64_t id, const char *why)
{
	struct pb_field f;

	assert_true(peer_accepted(x->cloner, id));
	assert_true(peer_field(x->cloner, PB_CLONE_SESSION_RESPONSE_ERROR, &f));
	if (!memmem(f.data, f.len, why, strlen(why)))
		fail_msg("\"%.*s\" does not say \"%s\"", (int)f.len, (const char *)f.data, why);
	assert_true(TAILQ_NEXT(TAILQ_FIRST(&x->stage->rig.service->sessions.list), link) == NULL);
}

static unsigned count_in_file(const char *path, const char *text)
{
	struct peer_packets t = packets_of_file(path);
	unsigned n = peer_count_text(&t, text);

	peer_packets_free(&t);
	return n;
}

static void disable_source(struct stage *g)
{
	assert_true(peer_accepted(g->cons, peer_call(g->cons, C_DISABLE, NULL, 0)));
	assert_true(peer_tracing_ended(g->cons, g->enable, NULL));
}

/* "written" is in the source's file, "buffered" in its buffer when the clone is made. */
static void make_clone(struct fixture *x, int fd)
{
	struct stage *g = x->stage;
	uint64_t id;

	stage_write(g, 0, 1, 0, "written");
	rig_until(&g->rig, count_in_file(path_of(x, 0), "written") == 1);
	stage_write(g, 1, 1, 1, "buffered");
	id = ask(x, fd);
	ack_flush(g);
	assert_cloned(x, id);
}

#define FILE_TEST(name) TEST_STATE(name, setup, teardown, struct fixture *x)

FILE_TEST(has_what_is_in_the_file_and_in_the_buffers)
{
	struct stage *g = x->stage;
	int fd = open_clone(x), stats;
	struct peer_packets t;

	start(x, "");
	make_clone(x, fd);
	close(fd);
	t = packets_of_file(path_of(x, 1));
	assert_int_equal(peer_count_text(&t, "written"), 1);
	assert_int_equal(peer_count_text(&t, "buffered"), 1);
	assert_int_equal(peer_find_packet(&t, 0, PB_TRACE_PACKET_CLOCK_SNAPSHOT), 0);
	stats = peer_find_packet(&t, t.n - 1, PB_TRACE_PACKET_TRACE_STATS);
	assert_int_equal(stats, t.n - 1);
	peer_packets_free(&t);
	/* The source goes on, and has the same and more. */
	stage_write(g, 2, 1, 2, "later");
	disable_source(g);
	assert_int_equal(count_in_file(path_of(x, 0), "written"), 1);
	assert_int_equal(count_in_file(path_of(x, 0), "buffered"), 1);
	assert_int_equal(count_in_file(path_of(x, 0), "later"), 1);
	assert_int_equal(count_in_file(path_of(x, 1), "later"), 0);
}

FILE_TEST(reading_a_file_clone_tells_that_its_buffers_were_read)
{
	struct pb_field event, f;
	struct peer_packets t;
	int fd = open_clone(x), i;

	start(x, "");
	make_clone(x, fd);
	close(fd);
	assert_true(peer_read(x->cloner, &t));
	assert_int_equal(peer_count_text(&t, "written"), 0);
	assert_int_equal(peer_count_text(&t, "buffered"), 0);
	i = peer_find_packet(&t, 0, PB_TRACE_PACKET_SERVICE_EVENT);
	assert_true(i >= 0);
	assert_true(peer_packet_field(&t, (size_t)i, PB_TRACE_PACKET_SERVICE_EVENT, &event));
	assert_true(
		peer_subfield(&event, PB_TRACING_SERVICE_EVENT_READ_TRACING_BUFFERS_COMPLETED, &f));
	assert_int_equal(t.n, 1);
	peer_packets_free(&t);
}

/* Groups of both, one after the other. */
FILE_TEST(compressed_file_goes_on_compressed)
{
	int fd = open_clone(x);
	struct stage *g = x->stage;
	struct peer_packets t;
	uint64_t id;

	start(x, "compression { zstd {} }");
	stage_write(g, 0, 1, 0, "written");
	rig_until(&g->rig, size_of_file(path_of(x, 0)) > 0);
	id = ask(x, fd);
	ack_flush(g);
	assert_cloned(x, id);
	close(fd);
	t = packets_of_file(path_of(x, 1));
	assert_true(t.n >= 2);
	for (size_t i = 0; i < t.n; i++)
		assert_int_equal(peer_find_packet(&t, i, PB_TRACE_PACKET_ZSTD_COMPRESSED_PACKETS),
				 i);
	peer_packets_free(&t);
}

/* Two flushes, and all buffers of one moment. */
FILE_TEST(moved_buffers_too)
{
	struct stage *g = x->stage;
	int fd = open_clone(x);
	uint64_t id;

	char text[1024];

	snprintf(text, sizeof(text),
		 "buffers { size_kb: 64 transfer_on_clone: true } data_sources { config { name: "
		 "'src' } } "
		 "write_into_file: true output_path: '%s' file_write_period_ms: 10000",
		 path_of(x, 0));
	stage_start(g, text);
	stage_write(g, 0, 1, 0, "moved");
	id = ask(x, fd);
	ack_flush(g);
	assert_cloned(x, id);
	close(fd);
	assert_int_equal(count_in_file(path_of(x, 1), "moved"), 1);
	disable_source(g);
	assert_int_equal(count_in_file(path_of(x, 0), "moved"), 0);
}

/* The clone begins where the consumer's file ends, and what others wrote into the source's file in
 * front of the trace is not cloned. */
FILE_TEST(only_the_trace_is_cloned)
{
	struct stage *g = x->stage;
	int source = open(path_of(x, 0), O_RDWR | O_CREAT, 0600), fd = open_clone(x);
	uint64_t id;

	assert_int_equal(write(source, "head", 4), 4);
	g->enable = peer_enable_into(
		g->cons, STAGE_CONFIG " write_into_file: true file_write_period_ms: 10000", source);
	close(source);
	assert_true(peer_await_session(g->prod, g->stream, true, &g->s));
	stage_write(g, 0, 1, 0, "text");
	id = ask(x, fd);
	ack_flush(g);
	assert_cloned(x, id);
	close(fd);
	assert_int_equal(count_in_file(path_of(x, 1), "text"), 1);
}

/* The newest file is cloned, and the clone is one file, whatever its config says. */
FILE_TEST(rotated_file_is_cloned_as_one)
{
	struct stage *g = x->stage;
	int fd = open_clone(x);
	char text[1024];
	uint64_t id;

	snprintf(text, sizeof(text),
		 STAGE_CONFIG " write_into_file: true output_path: '%s' file_write_period_ms: 100 "
			      "rotate { max_file_size_bytes: 65536 }",
		 path_of(x, 0));
	stage_start(g, text);
	stage_write(g, 0, 1, 0, "written");
	rig_until(&g->rig, size_of_file(temp_dir_path(&x->dir, 2, "trace.000001")) > 0);
	stage_write(g, 1, 1, 1, "buffered");
	id = ask(x, fd);
	ack_flush(g);
	assert_cloned(x, id);
	close(fd);
	assert_int_equal(count_in_file(path_of(x, 1), "written"), 1);
	assert_int_equal(count_in_file(path_of(x, 1), "buffered"), 1);
	assert_int_equal(access(temp_dir_path(&x->dir, 2, "trace.000002"), F_OK), -1);
}

FILE_TEST(without_a_file_it_is_refused)
{
	start(x, "");
	assert_not_cloned(x, ask(x, -1), "takes a file");
}

FILE_TEST(file_that_cannot_be_used_is_refused)
{
	int readable = open("/dev/null", O_RDONLY), itself;

	start(x, "");
	for (int i = 0; i < 2; i++) {
		uint64_t id;

		itself = open(path_of(x, 0), O_WRONLY);
		id = ask(x, i == 0 ? readable : itself);
		assert_not_cloned(x, id, i == 0 ? "not for writing" : "into itself");
		close(itself);
	}
	close(readable);
}

FILE_TEST(pipe_has_nothing_to_clone)
{
	struct stage *g = x->stage;
	int fd = open_clone(x), pipes[2];
	uint64_t id;

	assert_int_equal(pipe(pipes), 0);
	g->enable = peer_enable_into(g->cons, STAGE_CONFIG " write_into_file: true", pipes[1]);
	close(pipes[1]);
	assert_true(peer_await_session(g->prod, g->stream, true, &g->s));
	id = ask(x, fd);
	assert_not_cloned(x, id, "cannot be read back");
	close(fd);
	close(pipes[0]);
}

FILE_TEST(session_that_has_ended_has_its_file)
{
	int fd = open_clone(x);

	start(x, "");
	disable_source(x->stage);
	assert_not_cloned(x, ask(x, fd), "has ended");
	close(fd);
}

FILE_TEST(source_that_ends_meanwhile_is_told)
{
	int fd = open_clone(x);
	struct stage *g = x->stage;
	struct pb_field f;
	uint64_t id;

	start(x, "");
	id = ask(x, fd);
	close(fd);
	assert_true(peer_command(g->prod, g->stream, CMD(FLUSH), &f));
	disable_source(g);
	peer_ack_flush(g->prod, peer_number(&f, CMD(FLUSH_REQUEST_ID)));
	assert_not_cloned(x, id, "Original session ended");
}

/* What is refused has neither moved nor cleared a buffer. */
FILE_TEST(refused_clone_takes_nothing)
{
	struct stage *g = x->stage;
	int fd = open_clone(x), readable = open("/dev/null", O_RDONLY);
	char text[1024];

	snprintf(text, sizeof(text),
		 "buffers { size_kb: 64 transfer_on_clone: true clear_before_clone: true } "
		 "data_sources { config { name: 'src' } } "
		 "write_into_file: true output_path: '%s' file_write_period_ms: 10000",
		 path_of(x, 0));
	stage_start(g, text);
	stage_write(g, 0, 1, 0, "kept");
	assert_not_cloned(x, ask(x, readable), "not for writing");
	close(readable);
	close(fd);
	disable_source(g);
	assert_int_equal(count_in_file(path_of(x, 0), "kept"), 1);
}

/* The writer truncates the file after the reply. */
static void await_size(struct fixture *x, off_t size)
{
	for (int ms = 0; size_of_file(path_of(x, 1)) != size && ms < PEER_TIMEOUT_MS; ms++)
		usleep(1000);
	assert_int_equal(size_of_file(path_of(x, 1)), size);
}

FILE_TEST(full_disk_leaves_nothing)
{
	struct stage *g = x->stage;
	struct rlimit old, small = {.rlim_cur = 2000, .rlim_max = RLIM_INFINITY};
	char text[2001] = "";
	int fd = open_clone(x);
	uint64_t id;

	memset(text, 'x', 2000);
	start(x, "");
	stage_write(g, 0, 1, 0, text);
	rig_until(&g->rig, count_in_file(path_of(x, 0), text) == 1);
	getrlimit(RLIMIT_FSIZE, &old);
	small.rlim_max = old.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	id = ask(x, fd);
	ack_flush(g);
	assert_not_cloned(x, id, "File too large");
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	close(fd);
	await_size(x, 0);
}

/* Asks for a clone into a pipe that nobody reads, of more than it holds. ret_reader is the other end. */
static uint64_t ask_for_a_long_one(struct fixture *x, int *ret_reader)
{
	struct stage *g = x->stage;
	char text[4001] = "";
	uint64_t id;
	int pipes[2];

	memset(text, 'x', 4000);
	start(x, "");
	for (uint32_t i = 0; i < 36; i++) {
		stage_write(g, i % 8, 1, i, text);
		if (i % 12 == 11)
			rig_until(&g->rig, count_in_file(path_of(x, 0), text) == i + 1);
	}
	assert_int_equal(pipe2(pipes, O_NONBLOCK), 0);
	id = ask(x, pipes[1]);
	close(pipes[1]);
	ack_flush(g);
	assert_true(peer_is_quiet(x->cloner));
	assert_int_equal(rig_session(&g->rig)->state, SESSION_CLONED);
	*ret_reader = pipes[0];
	return id;
}

static void assert_only_the_source_is_left(struct fixture *x)
{
	assert_int_equal(rig_session(&x->stage->rig)->id, 1);
	assert_int_equal(rig_session(&x->stage->rig)->state, SESSION_STARTED);
}

FILE_TEST(reader_of_a_pipe_gets_it_as_it_reads)
{
	int reader;
	uint64_t id = ask_for_a_long_one(x, &reader);
	uint8_t *data = malloc(1 << 20);
	struct peer_packets t;
	size_t len = 0;
	ssize_t n;

	assert_non_null(data);
	while ((n = read(reader, data + len, (1 << 20) - len)) != 0) {
		if (n > 0)
			len += (size_t)n;
		rig_pump(&x->stage->rig);
	}
	assert_cloned(x, id);
	t = packets_of(data, len);
	assert_true(t.n > 36);
	peer_packets_free(&t);
	free(data);
	close(reader);
}

/*
 * Asks for a clone of a file whose thread does not come to its mark: it writes into a pipe that nobody reads,
 * which stands in for a file system that hangs.
 */
static uint64_t ask_while_the_source_hangs(struct fixture *x, int *ret_reader)
{
	struct stage *g = x->stage;
	int fd = open_clone(x), pipes[2];
	uint8_t *data = calloc(1, 1 << 20);
	struct file_writer *source;
	struct pb_field f;
	uint64_t id;

	assert_non_null(data);
	assert_int_equal(write(fd, "head", 4), 4);
	start(x, "");
	stage_write(g, 0, 1, 0, "written");
	rig_until(&g->rig, size_of_file(path_of(x, 0)) > 0);
	assert_int_equal(pipe(pipes), 0);
	source = rig_session(&g->rig)->file;
	assert_int_equal(
		write_thread_write(source->parts.writer, 99, pipes[1], data, 1 << 20, 1 << 20), 0);
	write_thread_close(source->parts.writer, pipes[1]);
	*ret_reader = pipes[0];
	id = ask(x, fd);
	close(fd);
	assert_true(peer_command(g->prod, g->stream, CMD(FLUSH), &f));
	peer_ack_flush(g->prod, peer_number(&f, CMD(FLUSH_REQUEST_ID)));
	/* One round of the loop at a time: rig_pump() would wait for the thread. */
	while (rig_session(&g->rig)->state != SESSION_CLONED)
		event_base_loop(g->rig.loop, EVLOOP_ONCE);
	return id;
}

static void turn(void *ctx)
{
	struct rig *r = ctx;

	event_base_loop(r->loop, EVLOOP_NONBLOCK);
}

static void let_the_source_go_on(int reader)
{
	static char buf[65536];

	while (read(reader, buf, sizeof(buf)) > 0)
		;
	close(reader);
}

FILE_TEST(source_that_hangs_holds_up_nobody_and_is_cloned_when_it_goes_on)
{
	int reader;
	uint64_t id = ask_while_the_source_hangs(x, &reader);
	struct peer *other = rig_consumer(&x->stage->rig);

	other->pump = turn;
	assert_true(peer_accepted(other, peer_call(other, C_QUERY_CAPABILITIES, NULL, 0)));
	assert_int_equal(size_of_file(path_of(x, 1)), 4);
	let_the_source_go_on(reader);
	assert_cloned(x, id);
	rig_hang_up(&x->stage->rig, other);
}

FILE_TEST(cloner_may_hang_up_while_it_is_written)
{
	int reader;

	ask_while_the_source_hangs(x, &reader);
	peer_close(x->cloner);
	while (rig_session(&x->stage->rig)->state == SESSION_CLONED)
		event_base_loop(x->stage->rig.loop, EVLOOP_ONCE);
	free(TAKE_PTR(x->cloner));
	let_the_source_go_on(reader);
	assert_only_the_source_is_left(x);
	await_size(x, 4);
}

FILE_TEST(free_buffers_ends_it_while_it_is_written)
{
	int reader;
	uint64_t id = ask_while_the_source_hangs(x, &reader);

	x->cloner->pump = turn;
	peer_call(x->cloner, C_FREE, NULL, 0);
	assert_true(peer_next(x->cloner)); /* of FreeBuffers */
	assert_true(peer_rejected(x->cloner, id));
	let_the_source_go_on(reader);
	assert_only_the_source_is_left(x);
	await_size(x, 4);
}

/* As sondad ignores them. */
BEFORE_TESTS
{
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
}

TEST_GROUP(output_dir_start, output_dir_end)
