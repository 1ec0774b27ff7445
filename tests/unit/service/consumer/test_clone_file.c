/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/resource.h>

#include "ipc/consumer_port.pb-c.h"
#include "service/output/file_writer.c" /* its struct is private */
#include "unit/service/clone_rig.h"
#include "unit/service/output_dir.h"
#include "unit/service/trace_file_helper.h"
#include "unit/test.h"

/* Clones of sessions that write into a file; other clones are in test_clone.c. */

static const char *path_of(struct stage *g, unsigned slot)
{
	static const char *const names[] = {"trace", "clone"};

	return temp_dir_path(&g->dir, slot, names[slot]);
}

/* A session that writes every 100 ms into path_of(0). */
static void start(struct stage *g, const char *more)
{
	char text[1024];

	snprintf(text, sizeof(text),
		 STAGE_CONFIG " write_into_file: true output_path: '%s' "
			      "file_write_period_ms: 100 write_flush_mode: WRITE_FLUSH_DISABLED %s",
		 path_of(g, 0), more);
	stage_start(g, text);
}

static int open_clone(struct stage *g)
{
	int fd = open(path_of(g, 1), O_RDWR | O_CREAT, 0600);

	assert_true(fd >= 0);
	return fd;
}

static uint64_t ask_into(int fd)
{
	const uint8_t args[] = {PB_CLONE_SESSION_REQUEST_SESSION_ID << 3, 1};

	return peer_call_as(cloner, 1, C_CLONE, false, args, sizeof(args), fd);
}

static void assert_file_cloned(uint64_t id)
{
	struct pb_field f;

	assert_cloned(cloner, id);
	assert_true(peer_field(cloner, PB_CLONE_SESSION_RESPONSE_WAS_WRITE_INTO_FILE, &f) && f.u64);
}

/* No session is left but the source. */
static void assert_file_not_cloned(struct stage *g, uint64_t id, const char *why)
{
	assert_not_cloned(cloner, id, why);
	assert_null(TAILQ_NEXT(TAILQ_FIRST(&g->rig.sessions->list), link));
}

/* "written" is in the source's file, "buffered" in its buffer when the clone is made. */
static void make_clone(struct stage *g, int fd)
{
	uint64_t id;

	stage_write(g, 0, 1, 0, "written");
	rig_until(&g->rig, count_in_file(path_of(g, 0), "written") == 1);
	stage_write(g, 1, 1, 1, "buffered");
	id = ask_into(fd);
	await_flush(g, CLONE_FLAGS);
	assert_file_cloned(id);
}

STAGE_TEST(has_what_is_in_the_file_and_in_the_buffers)
{
	int fd = open_clone(g), stats;

	start(g, "");
	make_clone(g, fd);
	close(fd);
	g->got = packets_of_file(path_of(g, 1));
	assert_int_equal(peer_count_text(&g->got, "written"), 1);
	assert_int_equal(peer_count_text(&g->got, "buffered"), 1);
	assert_int_equal(peer_find_packet(&g->got, 0, PB_TRACE_PACKET_CLOCK_SNAPSHOT), 0);
	stats = peer_find_packet(&g->got, g->got.n - 1, PB_TRACE_PACKET_TRACE_STATS);
	assert_int_equal(stats, g->got.n - 1);
	/* The source goes on, and has the same and more. */
	stage_write(g, 2, 1, 2, "later");
	stage_disable(g);
	assert_int_equal(count_in_file(path_of(g, 0), "written"), 1);
	assert_int_equal(count_in_file(path_of(g, 0), "buffered"), 1);
	assert_int_equal(count_in_file(path_of(g, 0), "later"), 1);
	assert_int_equal(count_in_file(path_of(g, 1), "later"), 0);
}

STAGE_TEST(reading_a_file_clone_tells_that_its_buffers_were_read)
{
	struct pb_field event, f;
	int fd = open_clone(g), i;

	start(g, "");
	make_clone(g, fd);
	close(fd);
	assert_true(peer_read(cloner, &g->got));
	assert_int_equal(peer_count_text(&g->got, "written"), 0);
	assert_int_equal(peer_count_text(&g->got, "buffered"), 0);
	i = peer_find_packet(&g->got, 0, PB_TRACE_PACKET_SERVICE_EVENT);
	assert_true(i >= 0);
	assert_true(peer_packet_field(&g->got, (size_t)i, PB_TRACE_PACKET_SERVICE_EVENT, &event));
	assert_true(
		peer_subfield(&event, PB_TRACING_SERVICE_EVENT_READ_TRACING_BUFFERS_COMPLETED, &f));
	assert_int_equal(g->got.n, 1);
}

/* Groups of both, one after the other. */
STAGE_TEST(compressed_file_goes_on_compressed)
{
	int fd = open_clone(g);
	uint64_t id;

	start(g, "compression { zstd {} }");
	stage_write(g, 0, 1, 0, "written");
	rig_until(&g->rig, size_of_file(path_of(g, 0)) > 0);
	id = ask_into(fd);
	await_flush(g, CLONE_FLAGS);
	assert_file_cloned(id);
	close(fd);
	g->got = packets_of_file(path_of(g, 1));
	assert_true(g->got.n >= 2);
	for (size_t i = 0; i < g->got.n; i++)
		assert_int_equal(
			peer_find_packet(&g->got, i, PB_TRACE_PACKET_ZSTD_COMPRESSED_PACKETS), i);
}

/* Two flushes, and all buffers of one moment. */
STAGE_TEST(moved_buffers_too)
{
	int fd = open_clone(g);
	uint64_t id;

	char text[1024];

	snprintf(text, sizeof(text),
		 "buffers { size_kb: 64 transfer_on_clone: true } data_sources { config { name: "
		 "'src' } } "
		 "write_into_file: true output_path: '%s' file_write_period_ms: 10000",
		 path_of(g, 0));
	stage_start(g, text);
	stage_write(g, 0, 1, 0, "moved");
	id = ask_into(fd);
	await_flush(g, CLONE_FLAGS);
	assert_file_cloned(id);
	close(fd);
	assert_int_equal(count_in_file(path_of(g, 1), "moved"), 1);
	stage_disable(g);
	assert_int_equal(count_in_file(path_of(g, 0), "moved"), 0);
}

/* The clone begins where the consumer's file ends, and what others wrote into the source's file in
 * front of the trace is not cloned. */
STAGE_TEST(only_the_trace_is_cloned)
{
	int source = open(path_of(g, 0), O_RDWR | O_CREAT, 0600), fd = open_clone(g);
	uint64_t id;

	assert_int_equal(write(source, "head", 4), 4);
	g->enable = peer_enable_into(
		g->cons, STAGE_CONFIG " write_into_file: true file_write_period_ms: 10000", source);
	close(source);
	assert_true(peer_await_session(g->prod, g->stream, true, &g->s));
	stage_write(g, 0, 1, 0, "text");
	id = ask_into(fd);
	await_flush(g, CLONE_FLAGS);
	assert_file_cloned(id);
	close(fd);
	assert_int_equal(count_in_file(path_of(g, 1), "text"), 1);
}

/* The newest file is cloned, and the clone is one file, whatever its config says. */
STAGE_TEST(rotated_file_is_cloned_as_one)
{
	int fd = open_clone(g);
	char text[1024];
	uint64_t id;

	snprintf(text, sizeof(text),
		 STAGE_CONFIG " write_into_file: true output_path: '%s' file_write_period_ms: 100 "
			      "rotate { max_file_size_bytes: 65536 }",
		 path_of(g, 0));
	stage_start(g, text);
	stage_write(g, 0, 1, 0, "written");
	rig_until(&g->rig, size_of_file(temp_dir_path(&g->dir, 2, "trace.000001")) > 0);
	stage_write(g, 1, 1, 1, "buffered");
	id = ask_into(fd);
	await_flush(g, CLONE_FLAGS);
	assert_file_cloned(id);
	close(fd);
	assert_int_equal(count_in_file(path_of(g, 1), "written"), 1);
	assert_int_equal(count_in_file(path_of(g, 1), "buffered"), 1);
	assert_int_equal(access(temp_dir_path(&g->dir, 2, "trace.000002"), F_OK), -1);
}

STAGE_TEST(without_a_file_it_is_refused)
{
	start(g, "");
	assert_file_not_cloned(g, ask_into(-1), "must write to one, too");
}

STAGE_TEST(file_that_cannot_be_used_is_refused)
{
	int readable = open("/dev/null", O_RDONLY), itself;

	start(g, "");
	for (int i = 0; i < 2; i++) {
		uint64_t id;

		itself = open(path_of(g, 0), O_WRONLY);
		id = ask_into(i == 0 ? readable : itself);
		assert_file_not_cloned(g, id, i == 0 ? "not open for writing" : "into itself");
		close(itself);
	}
	close(readable);
}

STAGE_TEST(pipe_has_nothing_to_clone)
{
	int fd = open_clone(g), pipes[2];
	uint64_t id;

	assert_int_equal(pipe(pipes), 0);
	g->enable = peer_enable_into(g->cons, STAGE_CONFIG " write_into_file: true", pipes[1]);
	close(pipes[1]);
	assert_true(peer_await_session(g->prod, g->stream, true, &g->s));
	id = ask_into(fd);
	assert_file_not_cloned(g, id, "cannot be read back");
	close(fd);
	close(pipes[0]);
}

STAGE_TEST(session_that_has_ended_has_its_file)
{
	int fd = open_clone(g);

	start(g, "");
	stage_disable(g);
	assert_file_not_cloned(g, ask_into(fd), "has ended");
	close(fd);
}

STAGE_TEST(end_of_the_source_meanwhile_is_an_error)
{
	int fd = open_clone(g);
	struct pb_field f;
	uint64_t id;

	start(g, "");
	id = ask_into(fd);
	close(fd);
	assert_true(peer_command(g->prod, g->stream, CMD(FLUSH), &f));
	stage_disable(g);
	peer_ack_flush(g->prod, peer_number(&f, CMD(FLUSH_REQUEST_ID)));
	assert_file_not_cloned(g, id, "Original session ended");
}

/* What the source has no room for stays in its buffers until it is in the clone. */
STAGE_TEST(full_disk_of_the_source_meanwhile_does_no_harm)
{
	int fd = open_clone(g);
	struct rlimit old, small;
	struct pb_field f;
	uint64_t id, end;

	start(g, "");
	stage_write(g, 0, 1, 0, "written");
	rig_until(&g->rig, count_in_file(path_of(g, 0), "written") == 1);
	id = ask_into(fd);
	close(fd);
	assert_true(peer_command(g->prod, g->stream, CMD(FLUSH), &f));
	getrlimit(RLIMIT_FSIZE, &old);
	small = (struct rlimit){(rlim_t)size_of_file(path_of(g, 0)), old.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	stage_write(g, 1, 1, 1, "buffered");
	end = clock_mono_ns() + 250000000; /* two periods */
	rig_until(&g->rig, clock_mono_ns() > end);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	stage_ack_flush(g, &f);
	assert_file_cloned(id);
	assert_int_equal(count_in_file(path_of(g, 1), "written"), 1);
	assert_int_equal(count_in_file(path_of(g, 1), "buffered"), 1);
}

/* What is refused has neither moved nor cleared a buffer. */
STAGE_TEST(refused_clone_takes_nothing)
{
	int fd = open_clone(g), readable = open("/dev/null", O_RDONLY);
	char text[1024];

	snprintf(text, sizeof(text),
		 "buffers { size_kb: 64 transfer_on_clone: true clear_before_clone: true } "
		 "data_sources { config { name: 'src' } } "
		 "write_into_file: true output_path: '%s' file_write_period_ms: 10000",
		 path_of(g, 0));
	stage_start(g, text);
	stage_write(g, 0, 1, 0, "kept");
	assert_file_not_cloned(g, ask_into(readable), "not open for writing");
	close(readable);
	close(fd);
	stage_disable(g);
	assert_int_equal(count_in_file(path_of(g, 0), "kept"), 1);
}

/* The writer truncates the file after the reply. */
static void await_size(struct stage *g, off_t size)
{
	for (int ms = 0; size_of_file(path_of(g, 1)) != size && ms < PEER_TIMEOUT_MS; ms++)
		usleep(1000);
	assert_int_equal(size_of_file(path_of(g, 1)), size);
}

STAGE_TEST(full_disk_leaves_nothing)
{
	struct rlimit old, small = {.rlim_cur = 2000, .rlim_max = RLIM_INFINITY};
	const char *text = stage_text('x', 2000);
	int fd = open_clone(g);
	uint64_t id;

	start(g, "");
	stage_write(g, 0, 1, 0, text);
	rig_until(&g->rig, count_in_file(path_of(g, 0), text) == 1);
	getrlimit(RLIMIT_FSIZE, &old);
	small.rlim_max = old.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	id = ask_into(fd);
	await_flush(g, CLONE_FLAGS);
	assert_file_not_cloned(g, id, "File too large");
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	close(fd);
	await_size(g, 0);
}

/* Asks for a clone into a pipe that is not read, of more than it holds. ret_reader is the other
 * end. */
static uint64_t ask_for_a_long_one(struct stage *g, int *ret_reader)
{
	char text[4001] = "";
	uint64_t id;
	int pipes[2];

	memset(text, 'x', 4000);
	start(g, "");
	for (uint32_t i = 0; i < 36; i++) {
		stage_write(g, i % 8, 1, i, text);
		if (i % 12 == 11)
			rig_until(&g->rig, count_in_file(path_of(g, 0), text) == i + 1);
	}
	assert_int_equal(pipe2(pipes, O_NONBLOCK), 0);
	id = ask_into(pipes[1]);
	close(pipes[1]);
	await_flush(g, CLONE_FLAGS);
	assert_true(peer_is_quiet(cloner));
	assert_int_equal(rig_session(&g->rig)->state, SESSION_CLONED);
	*ret_reader = pipes[0];
	return id;
}

static void assert_only_the_source_is_left(struct stage *g)
{
	assert_int_equal(rig_session(&g->rig)->id, 1);
	assert_int_equal(rig_session(&g->rig)->state, SESSION_STARTED);
}

STAGE_TEST(reader_of_a_pipe_gets_it_as_it_reads)
{
	int reader;
	uint64_t id = ask_for_a_long_one(g, &reader);
	uint8_t *data = malloc(1 << 20);
	size_t len = 0;
	ssize_t n;

	assert_non_null(data);
	while ((n = read(reader, data + len, (1 << 20) - len)) != 0) {
		if (n > 0)
			len += (size_t)n;
		rig_pump(&g->rig);
	}
	assert_file_cloned(id);
	g->got = packets_of(data, len);
	assert_true(g->got.n > 36);
	free(data);
	close(reader);
}

/* The pump of a peer that does not wait for the thread of the file, as rig_pump() does. */
static void turn(void *ctx)
{
	struct rig *r = ctx;

	event_base_loop(r->loop, EVLOOP_NONBLOCK);
}

/* Asks for a clone of a file whose thread does not send its range: it writes into a pipe that
 * is not read, which stands in for a file system that hangs. */
static uint64_t ask_while_the_source_hangs(struct stage *g, int *ret_reader)
{
	int fd = open_clone(g), pipes[2];
	uint8_t *data = calloc(1, 1 << 20);
	struct file_writer *source;
	struct pb_field f;
	uint64_t id;

	assert_non_null(data);
	assert_int_equal(write(fd, "head", 4), 4);
	start(g, "");
	stage_write(g, 0, 1, 0, "written");
	rig_until(&g->rig, size_of_file(path_of(g, 0)) > 0);
	assert_int_equal(pipe(pipes), 0);
	source = rig_session(&g->rig)->file;
	assert_int_equal(
		write_thread_write(source->parts.writer, 99, pipes[1], data, 1 << 20, 1 << 20), 0);
	write_thread_close(source->parts.writer, pipes[1]);
	*ret_reader = pipes[0];
	id = ask_into(fd);
	close(fd);
	g->prod->pump = turn;
	assert_true(peer_command(g->prod, g->stream, CMD(FLUSH), &f));
	peer_ack_flush(g->prod, peer_number(&f, CMD(FLUSH_REQUEST_ID)));
	while (rig_session(&g->rig)->state != SESSION_CLONED)
		event_base_loop(g->rig.loop, EVLOOP_ONCE);
	return id;
}

static void let_the_source_go_on(int reader)
{
	static char buf[65536];

	while (read(reader, buf, sizeof(buf)) > 0)
		;
	close(reader);
}

STAGE_TEST(source_that_hangs_delays_no_other_peer_and_is_cloned_later)
{
	int reader;
	uint64_t id = ask_while_the_source_hangs(g, &reader);
	struct peer *other = rig_consumer(&g->rig);

	other->pump = turn;
	assert_true(peer_accepted(other, peer_call(other, C_QUERY_CAPABILITIES, NULL, 0)));
	assert_int_equal(size_of_file(path_of(g, 1)), 4);
	let_the_source_go_on(reader);
	assert_file_cloned(id);
	rig_hang_up(&g->rig, other);
}

/* The ten seconds are read from the timer, which then fires at once. */
STAGE_TEST(source_that_hangs_for_ten_seconds_is_not_cloned)
{
	struct file_writer *clone;
	int reader;
	uint64_t begin = clock_mono_ns(), id = ask_while_the_source_hangs(g, &reader), due;

	clone = rig_session(&g->rig)->file;
	assert_true(clone->is_clone);
	for (int i = 0; i < 1000 && !clone->stalled; i++)
		turn(&g->rig);
	assert_true(clone->stalled);
	due = clone->stall.due_ns;
	assert_in_range(due, begin + 10 * NS_PER_S, clock_mono_ns() + 10 * NS_PER_S);
	cloner->pump = turn;
	turn(&g->rig);
	assert_int_equal(clone->stall.due_ns, due); /* as long as nothing is written */
	loop_timer_once(&clone->stall, 0, false);
	assert_file_not_cloned(g, id, "its file system accepted no data for 10 s");
	let_the_source_go_on(reader);
	assert_only_the_source_is_left(g);
	await_size(g, 4);
}

STAGE_TEST(cloner_may_hang_up_while_it_is_written)
{
	int reader;

	ask_while_the_source_hangs(g, &reader);
	peer_close(cloner);
	while (rig_session(&g->rig)->state == SESSION_CLONED)
		event_base_loop(g->rig.loop, EVLOOP_ONCE);
	free(TAKE_PTR(cloner));
	let_the_source_go_on(reader);
	assert_only_the_source_is_left(g);
	await_size(g, 4);
}

STAGE_TEST(free_buffers_ends_it_while_it_is_written)
{
	int reader;
	uint64_t id = ask_while_the_source_hangs(g, &reader);

	cloner->pump = turn;
	peer_call(cloner, C_FREE, NULL, 0);
	assert_true(peer_next(cloner)); /* of FreeBuffers */
	assert_true(peer_rejected(cloner, id));
	let_the_source_go_on(reader);
	assert_only_the_source_is_left(g);
	await_size(g, 4);
}

/* As sondad ignores them. */
BEFORE_TESTS
{
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
}

TEST_GROUP(output_dir_start, output_dir_end)
