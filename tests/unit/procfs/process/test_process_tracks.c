/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/client/read_tracks.h"
#include "unit/procfs/fake_proc.h"
#include "procfs/process/process_tracks.h"

static struct proc_files files;
static struct writer *writer;
static struct process_tracks tracks;
static struct process_tracks_row rows[100];

static int setup(void **state)
{
	fake_reset();
	proc_new();
	memset(rows, 0, sizeof(rows));
	writer = writer_new(NULL, 1, WRITER_STALL);
	tracks = (struct process_tracks){.options = {true, true, true}};
	return process_tracks_init(&tracks, writer, NULL) < 0 ? -1
							      : proc_files_init(&files, proc_root);
}

static int teardown(void **state)
{
	process_tracks_deinit(&tracks);
	proc_files_deinit(&files);
	writer_free(writer);
	fake_reset();
	proc_remove_all();
	return 0;
}

static void put(int pid, int tid, const char *file, const char *fmt, unsigned v)
{
	char text[128];
	int n = snprintf(text, sizeof(text), fmt, v);

	if (tid)
		proc_put(text, (size_t)n, "%d/task/%d/%s", pid, tid, file);
	else
		proc_put(text, (size_t)n, "%d/%s", pid, file);
}

static void one_pass(int pid)
{
	int32_t tid;

	process_tracks_begin(&tracks);
	if (pid) {
		process_tracks_read(&tracks, &files, pid, false, &rows[pid]);
		while (process_tracks_thread(&tracks, &files, &tid))
			;
	}
	while (process_tracks_drop_exited(&tracks))
		;
	process_tracks_end(&tracks);
	read_tracks();
}

#define FIXTURE_TEST(name) TEST_WITH(name, setup, teardown)

FIXTURE_TEST(io_of_a_process)
{
	put(7, 0, "io", "rchar: 1\nwchar: 2\nsyscr: 3\nsyscw: 4\nread_bytes: %u\n", 50);
	one_pass(7);
	one_pass(7);
	put(7, 0, "io", "rchar: 1\nwchar: 2\nsyscr: 3\nsyscw: 4\nread_bytes: %u\n", 60);
	one_pass(7);
	assert_int_equal(read_last("process 7/io.rchar"), 1);
	assert_int_equal(read_last("process 7/io.wchar"), 2);
	assert_int_equal(read_last("process 7/io.syscr"), 3);
	assert_int_equal(read_last("process 7/io.syscw"), 4);
	assert_int_equal(read_nth("process 7/io.read_bytes", 0)->i, 50);
	assert_int_equal(read_last("process 7/io.read_bytes"), 60);
	assert_int_equal(read_count("process 7/io.read_bytes"), 2); /* only changes */
	assert_int_equal(read_count("process 7/io.rchar"), 1);
	/* What the file does not have is no track. */
	assert_null(read_find("process 7/io.write_bytes"));
}

FIXTURE_TEST(time_of_threads)
{
	put(7, 7, "schedstat", "1000 %u 3\n", 20);
	put(7, 8, "schedstat", "500 %u 3\n", 0);
	put(7, 9, "schedstat", "%u", 0); /* cut off */
	one_pass(7);
	put(7, 8, "schedstat", "800 %u 3\n", 0);
	one_pass(7);
	assert_int_equal(read_last("thread 7/7/sched.run_ns"), 1000);
	assert_int_equal(read_last("thread 7/7/sched.wait_ns"), 20);
	assert_int_equal(read_nth("thread 7/8/sched.run_ns", 0)->i, 500);
	assert_int_equal(read_last("thread 7/8/sched.run_ns"), 800);
	assert_int_equal(read_last("thread 7/8/sched.wait_ns"), 0);
	assert_null(read_find("thread 7/9/sched.run_ns"));
	assert_int_equal(files.errors[PROC_FILE_SCHEDSTAT].count, 2);
}

/* How often an instant of that name was written. */
static unsigned instants(const char *name)
{
	const struct read_track *k = read_find("process 7/cgroup");
	unsigned n = 0;

	for (size_t i = 0; k && i < fake.n; i++) {
		struct pb_field p = fake_packet_field(i), event;

		if (fake_field(p.data, p.len, PB_TRACE_PACKET_TRACK_EVENT, 0, &event) &&
		    fake_u64(event, PB_TRACK_EVENT_TYPE) == 3 &&
		    fake_u64(event, PB_TRACK_EVENT_TRACK_UUID) == k->uuid)
			n += fake_str_is(event, PB_TRACK_EVENT_NAME, 0, name);
	}
	return n;
}

FIXTURE_TEST(the_cgroup_of_a_process)
{
	put(7, 0, "cgroup", "0::/a\n", 0);
	one_pass(7);
	one_pass(7);
	assert_int_equal(instants("/a"), 1);
	put(7, 0, "cgroup", "0::/b\n", 0);
	one_pass(7);
	put(7, 0, "cgroup", "0::/a\n", 0);
	one_pass(7);
	assert_int_equal(instants("/a"), 2);
	assert_int_equal(instants("/b"), 1);
	/* After a clear once more, with its track. */
	process_tracks_clear(&tracks);
	one_pass(7);
	assert_int_equal(rd.states, 2);
	assert_int_equal(read_find("process 7/cgroup")->state, 2);
	assert_int_equal(instants("/a"), 3);
}

FIXTURE_TEST(only_requested_counters_are_read)
{
	tracks.options = (struct process_tracks_options){.cgroup = true};
	put(7, 0, "io", "rchar: %u\n", 5);
	put(7, 0, "cgroup", "0::/a\n", 0);
	put(7, 7, "schedstat", "1000 %u 3\n", 20);
	one_pass(7);
	assert_int_equal(rd.n_values, 0);
	assert_int_equal(instants("/a"), 1);
	assert_int_equal(rd.n_tracks, 2);
}

FIXTURE_TEST(the_last_values_at_a_flush)
{
	put(7, 0, "io", "rchar: %u\n", 5);
	one_pass(7);
	one_pass(7);
	while (process_tracks_flush(&tracks))
		;
	read_tracks();
	assert_int_equal(fake.flushes, 1);
	assert_int_equal(read_count("process 7/io.rchar"), 2);
	assert_int_equal(read_last("process 7/io.rchar"), 5);
}

static unsigned count_tracks(const char *name)
{
	unsigned n = 0;

	for (size_t i = 0; i < rd.n_tracks; i++)
		n += strcmp(rd.tracks[i].name, name) == 0;
	return n;
}

/* A number that is used again is another track. */
FIXTURE_TEST(a_reused_pid_has_new_tracks)
{
	put(7, 0, "io", "rchar: %u\n", 5);
	put(7, 8, "schedstat", "1000 %u 3\n", 20);
	one_pass(7);
	assert_int_equal(tracks_counts(tracks.tracks).tracks, 5);
	process_tracks_gone(&tracks, 7, &rows[7]);
	one_pass(0);
	assert_int_equal(tracks_counts(tracks.tracks).tracks, 0);
	assert_null(tracks.by_tid);
	one_pass(7);
	assert_int_equal(count_tracks("process 7"), 2);
	assert_int_equal(count_tracks("thread 7/8"), 2);
	/* A thread that has done less than before is another one; so is that of another process. */
	put(7, 8, "schedstat", "10 %u 3\n", 20);
	one_pass(7);
	assert_int_equal(count_tracks("thread 7/8"), 3);
	proc_remove("7/task/8");
	put(9, 8, "schedstat", "10 %u 3\n", 20);
	one_pass(9);
	assert_int_equal(count_tracks("thread 9/8"), 1);
}

FIXTURE_TEST(a_process_exits_meanwhile)
{
	int32_t tid;

	put(7, 8, "schedstat", "1000 %u 3\n", 20);
	process_tracks_begin(&tracks);
	process_tracks_read(&tracks, &files, 7, false, &rows[7]);
	proc_remove("7");
	while (process_tracks_thread(&tracks, &files, &tid))
		;
	while (process_tracks_drop_exited(&tracks))
		;
	process_tracks_end(&tracks);
	read_tracks();
	assert_int_equal(rd.n_values, 0);
	assert_int_equal(files.errors[PROC_FILE_IO].count, 0);
	assert_int_equal(files.errors[PROC_FILE_SCHEDSTAT].count, 0);
}

FIXTURE_TEST(many_threads_end_piece_by_piece)
{
	const unsigned many = 3 * PROCESS_TRACKS_PIECE;
	unsigned pieces = 0;
	uint32_t left;

	tracks.options = (struct process_tracks_options){.sched = true};
	for (unsigned tid = 1; tid <= many; tid++)
		put(1, (int)tid, "schedstat", "1000 %u 3\n", tid);
	one_pass(1);
	assert_int_equal(tracks_counts(tracks.tracks).tracks, 3 * many);
	proc_remove("1/task");
	put(1, 1, "schedstat", "1000 %u 3\n", 1);
	process_tracks_begin(&tracks);
	process_tracks_read(&tracks, &files, 1, false, &rows[1]);
	while (process_tracks_thread(&tracks, &files, &(int32_t){0}))
		;
	do {
		left = tracks_counts(tracks.tracks).tracks;
		pieces++;
		if (!process_tracks_drop_exited(&tracks))
			break;
		assert_true(left - tracks_counts(tracks.tracks).tracks <= 3 * PROCESS_TRACKS_PIECE);
	} while (pieces < many);
	assert_int_equal(pieces, 3);
	assert_int_equal(tracks_counts(tracks.tracks).tracks, 3);
	/* The next pass goes on from there. */
	put(1, 1, "schedstat", "2000 %u 3\n", 1);
	one_pass(1);
	assert_int_equal(read_last("thread 1/1/sched.run_ns"), 2000);
	assert_int_equal(tracks_counts(tracks.tracks).tracks, 3);
}
