/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/eventfd.h>
#include <sys/resource.h>

#include "unit/test.h"
#define STAGE_SETUP stage_setup_with_dir
#include "service/session/admission.h"
#include "unit/service/output_dir.h"
#include "unit/service/rig.h"
#include "unit/service/trace_file_helper.h"

static const char *path_of(struct stage *g)
{
	return temp_dir_path(&g->dir, 0, "trace");
}

/* A config with a file at path_of, written often, and what else the test wants. */
static const char *config_of(struct stage *g, const char *more)
{
	static char text[1024];

	snprintf(text, sizeof(text),
		 STAGE_CONFIG " write_into_file: true output_path: '%s' "
			      "file_write_period_ms: 100 write_flush_mode: WRITE_FLUSH_DISABLED %s",
		 path_of(g), more);
	return text;
}

STAGE_TEST(file_fills_while_the_session_runs)
{
	struct stat st;

	stage_start(g, config_of(g, ""));
	assert_int_equal(stat(path_of(g), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	stage_write(g, 0, 1, 0, "first");
	rig_until(&g->rig, size_of_file(path_of(g)) > 0);
	assert_int_equal(count_in_file(path_of(g), "first"), 1);
	stage_write(g, 1, 1, 1, "second");
	stage_disable(g);
	g->got = packets_of_file(path_of(g));
	assert_int_equal(peer_count_text(&g->got, "first"), 1);
	assert_int_equal(peer_count_text(&g->got, "second"), 1);
	/* the trace begins with clocks, and ends with the figures of the whole session */
	assert_int_equal(peer_find_packet(&g->got, 0, PB_TRACE_PACKET_CLOCK_SNAPSHOT), 0);
	assert_true(peer_find_packet(&g->got, 0, PB_TRACE_PACKET_TRACE_CONFIG) > 0);
	assert_int_equal(peer_find_packet(&g->got, g->got.n - 1, PB_TRACE_PACKET_TRACE_STATS),
			 g->got.n - 1);
}

STAGE_TEST(passed_file_is_written)
{
	int fd = open(path_of(g), O_RDWR | O_CREAT, 0600);

	g->enable = peer_enable_into(g->cons, STAGE_CONFIG " write_into_file: true", fd);
	close(fd);
	assert_true(peer_await_session(g->prod, g->stream, true, &g->s));
	stage_write(g, 0, 1, 0, "text");
	stage_disable(g);
	assert_int_equal(count_in_file(path_of(g), "text"), 1);
}

STAGE_TEST(exactly_one_place_must_be_named)
{
	int fd = open("/dev/null", O_WRONLY), readable = open("/dev/null", O_RDONLY);
	uint64_t id;

	stage_refuses(g, "write_into_file: true", "requires output_path");
	id = peer_enable_into(g->cons, config_of(g, ""), fd);
	assert_true(peer_tracing_ended(g->cons, id, "both"));
	assert_int_equal(access(path_of(g), F_OK), -1);
	id = peer_enable_into(g->cons, "write_into_file: true", readable);
	assert_true(peer_tracing_ended(g->cons, id, "not open for writing"));
	close(readable);
	close(fd);
}

STAGE_TEST(what_is_no_file_and_no_pipe_is_refused)
{
	const int fds[] = {eventfd(0, 0),
			   open("/dev/ptmx", O_RDWR | O_NOCTTY),
			   open("/dev/zero", O_RDWR),
			   open("/", O_RDONLY | O_DIRECTORY),
			   socket(AF_UNIX, SOCK_DGRAM, 0),
			   socket(AF_UNIX, SOCK_STREAM, 0)};

	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		uint64_t id = peer_enable_into(g->cons, "write_into_file: true", fds[i]);

		assert_true(peer_tracing_ended(g->cons, id, "neither a regular file"));
		close(fds[i]);
	}
}

STAGE_TEST(session_that_is_refused_leaves_no_file)
{
	struct rlimit before, small;
	unsigned long pages = 0;
	FILE *statm = fopen("/proc/self/statm", "r");

	assert_non_null(statm);
	assert_int_equal(fscanf(statm, "%lu", &pages), 1);
	fclose(statm);
	assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
	small = before;
	small.rlim_cur = pages * (rlim_t)sysconf(_SC_PAGESIZE) + (256u << 20);
	/* the buffers come after the file, and there is no room for this one */
	assert_int_equal(setrlimit(RLIMIT_AS, &small), 0);
	stage_refuses(g, config_of(g, "buffers { size_kb: 4194303 }"), "cannot allocate buffer");
	assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
	assert_int_equal(access(path_of(g), F_OK), -1);
}

STAGE_TEST(reading_over_the_socket_gives_nothing)
{
	stage_start(g, config_of(g, ""));
	stage_write(g, 0, 1, 0, "for the file");
	stage_read(g);
	assert_int_equal(g->got.n, 0);
	assert_int_equal(g->got.n_replies, 1);
	stage_disable(g);
	assert_int_equal(count_in_file(path_of(g), "for the file"), 1);
}

STAGE_TEST(size_limit_ends_the_session_between_packets)
{
	const char *text = stage_text('x', 1000);
	uint32_t chunk = 0;

	stage_start(g, config_of(g, "max_file_size_bytes: 20000"));
	while (rig_session(&g->rig)->state != SESSION_DISABLED) {
		stage_write(g, chunk % 8, 1, chunk, text);
		chunk++;
		usleep(500);
	}
	assert_true(peer_tracing_ended(g->cons, g->enable, NULL));
	assert_in_range(size_of_file(path_of(g)), 18000, 20000);
	assert_true(count_in_file(path_of(g), text) >= 10);
}

/* No consumer is attached that could free the session, and its file is complete. */
STAGE_TEST(detached_session_goes_when_its_file_is_full)
{
	const char *text = stage_text('x', 1000);
	uint32_t chunk = 0;

	stage_start(g, config_of(g, "max_file_size_bytes: 20000"));
	assert_true(peer_accepted(g->cons, peer_detach(g->cons, "key")));
	while (!TAILQ_EMPTY(&g->rig.sessions->list)) {
		stage_write(g, chunk % 8, 1, chunk, text);
		chunk++;
		usleep(500);
	}
	assert_true(count_in_file(path_of(g), text) >= 10);
}

/* Its file may be slow: what is missing there is written from the loop, which goes on. */
STAGE_TEST(detached_session_that_gives_way_is_freed_when_its_file_is_whole)
{
	struct sessions *all = g->rig.sessions;
	Pb__TraceConfig *c = peer_parse_config("exclusive_prio: 7");

	stage_start(g, config_of(g, ""));
	stage_write_many(g, 12, 8, "text");
	assert_true(peer_accepted(g->cons, peer_detach(g->cons, "key")));
	admission_stop_others(all, c);
	assert_false(TAILQ_EMPTY(&all->list));
	while (!TAILQ_EMPTY(&all->list))
		event_base_loop(all->loop, EVLOOP_ONCE);
	assert_int_equal(count_in_file(path_of(g), "text"), 12);
	pb__trace_config__free_unpacked(c, NULL);
}

STAGE_TEST(full_disk_ends_a_running_session)
{
	int fd = open("/dev/full", O_WRONLY);
	struct pb_field f;

	g->enable = peer_enable_into(
		g->cons, STAGE_CONFIG " write_into_file: true file_write_period_ms: 100", fd);
	close(fd);
	assert_true(peer_await_session(g->prod, g->stream, true, &g->s));
	assert_true(peer_tracing_ended(g->cons, g->enable, "No space left"));
	/* A write asks for a flush first, so the producer may find one before the stop. */
	if (!peer_command(g->prod, g->stream, CMD(STOP_DATA_SOURCE), &f)) {
		assert_true(peer_field(g->prod, CMD(FLUSH), &f));
		assert_true(peer_command(g->prod, g->stream, CMD(STOP_DATA_SOURCE), &f));
	}
}

STAGE_TEST(removed_file_is_an_error)
{
	stage_start(g, config_of(g, ""));
	assert_int_equal(unlink(path_of(g)), 0);
	assert_true(peer_tracing_ended(g->cons, g->enable, "it was removed"));
}

STAGE_TEST(closed_pipe_is_an_error)
{
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	g->enable = peer_enable_into(g->cons, STAGE_CONFIG " write_into_file: true", fds[1]);
	close(fds[1]);
	close(fds[0]);
	assert_true(peer_await_session(g->prod, g->stream, true, &g->s));
	assert_true(peer_accepted(g->cons, peer_call(g->cons, C_DISABLE, NULL, 0)));
	assert_true(peer_tracing_ended(g->cons, g->enable, "Broken pipe"));
}

/* More than a pipe holds, so it comes in several turns; meanwhile others are served. */
STAGE_TEST(slow_pipe_gets_all_and_delays_no_other_peer)
{
	struct peer *other = rig_consumer(&g->rig);
	struct peer_packets t;
	const char *text = stage_text('x', 4000);
	uint8_t *data = malloc(4 << 20);
	size_t len = 0;
	ssize_t n;
	int fds[2];

	assert_non_null(data);
	assert_int_equal(pipe2(fds, O_NONBLOCK), 0);
	g->enable = peer_enable_into(g->cons,
				     "buffers { size_kb: 1024 } write_into_file: true "
				     "data_sources { config { name: 'src' } }",
				     fds[1]);
	close(fds[1]);
	assert_true(peer_await_session(g->prod, g->stream, true, &g->s));
	stage_write_many(g, 100, 8, text);
	assert_true(peer_accepted(g->cons, peer_call(g->cons, C_DISABLE, NULL, 0)));
	assert_true(peer_is_quiet(g->cons));
	assert_true(peer_accepted(other, peer_call(other, C_QUERY_CAPABILITIES, NULL, 0)));
	rig_hang_up(&g->rig, other);
	while ((n = read(fds[0], data + len, (4 << 20) - len)) != 0) {
		if (n > 0)
			len += (size_t)n;
		rig_pump(&g->rig);
	}
	assert_true(peer_tracing_ended(g->cons, g->enable, NULL));
	t = packets_of(data, len);
	assert_int_equal(peer_count_text(&t, text), 100);
	peer_packets_free(&t);
	close(fds[0]);
	free(data);
}

STAGE_TEST(consumer_that_hangs_up_leaves_a_whole_file)
{
	stage_start(g, config_of(g, ""));
	stage_write_many(g, 12, 8, "text");
	rig_hang_up(&g->rig, g->cons);
	g->cons = NULL;
	assert_int_equal(count_in_file(path_of(g), "text"), 12);
}

STAGE_TEST(session_that_never_starts_leaves_it_empty)
{
	stage_configure(g, config_of(g, "deferred_start: true"));
	stage_disable(g);
	assert_int_equal(size_of_file(path_of(g)), 0);
}

STAGE_TEST(producers_are_flushed_before_a_write)
{
	char text[1024];
	struct pb_field f;

	snprintf(text, sizeof(text),
		 STAGE_CONFIG " write_into_file: true output_path: '%s' "
			      "file_write_period_ms: 100 write_flush_mode: WRITE_FLUSH_ENABLED "
			      "fflush_post_write: FFLUSH_ENABLED",
		 path_of(g));
	stage_start(g, text);
	assert_true(peer_command(g->prod, g->stream, CMD(FLUSH), &f));
	assert_int_equal(peer_number(&f, CMD(FLUSH_FLAGS)),
			 FLUSH_REASON_PERIODIC | FLUSH_BY_SERVICE);
	assert_int_equal(size_of_file(path_of(g)), 0);
	stage_write(g, 0, 1, 0, "flushed");
	stage_ack_flush(g, &f);
	rig_until(&g->rig, size_of_file(path_of(g)) > 0);
	assert_int_equal(count_in_file(path_of(g), "flushed"), 1);
}

/* The packets after that do not need the first file. */
TEST(next_file_of_a_rotation_makes_producers_begin_anew)
{
	struct stage *g = stage_new(DS_CLEARS, false);
	bool cleared = false, flushed = false;
	struct pb_field f;
	char text[1024];
	uint64_t call;

	assert_int_equal(temp_dir_setup(&g->dir), 0);
	snprintf(text, sizeof(text),
		 STAGE_CONFIG " write_into_file: true output_path: '%s' rotate { "
			      "max_file_size_bytes: 65536 } write_flush_mode: WRITE_FLUSH_DISABLED",
		 path_of(g));
	stage_start(g, text);
	for (uint32_t i = 0; i < 100 && !(cleared && flushed); i++) {
		const char *packet = stage_text('x', 2000);

		peer_write_chunk(&g->s.smb, i % 8, 1, i, &packet, 1, true);
		call = peer_commit(g->prod, i % 8, 0, g->s.buffer, 0);
		while (!peer_accepted(g->prod, call)) {
			assert_true(g->prod->f.request_id == g->stream);
			cleared |= peer_field(g->prod, CMD(CLEAR_INCREMENTAL_STATE), &f);
			flushed |= peer_field(g->prod, CMD(FLUSH), &f);
		}
	}
	assert_true(cleared && flushed);
	stage_free(g);
}

/* 3.2 MB through a buffer of 64 KB, between two periods: it is read when it is half full, and
 * nothing is overwritten. */
STAGE_TEST(small_buffer_is_written_when_it_fills)
{
	char text[1024], packet[3200] = "";

	snprintf(text, sizeof(text),
		 "buffers { size_kb: 64 } data_sources { config { name: 'src' } } "
		 "write_into_file: true output_path: '%s' file_write_period_ms: 3600000 "
		 "write_flush_mode: WRITE_FLUSH_DISABLED",
		 path_of(g));
	memset(packet, 'p', sizeof(packet) - 1);
	stage_start(g, text);
	for (uint32_t i = 0; i < 1000; i++) {
		stage_write(g, i % 8, 1, i, packet);
		if (i == 500)
			assert_true(size_of_file(path_of(g)) > 400 * (off_t)sizeof(packet));
	}
	stage_disable(g);
	assert_int_equal(count_in_file(path_of(g), packet), 1000);
}

BEFORE_TESTS
{
	signal(SIGPIPE, SIG_IGN);
}

TEST_GROUP(output_dir_start, output_dir_end)
