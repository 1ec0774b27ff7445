/* SPDX-License-Identifier: Apache-2.0 */
#include <malloc.h>
#include <sys/resource.h>

#include "unit/procfs/writer_rig.h"
#include "procfs/process/process_scan.h"

static struct process_queue queue;
static struct process_poll poll_;

SETUP
{
	queue = (struct process_queue){0};
	poll_ = (struct process_poll){.options.full_every = 1};
	writer_rig_begin();
}

TEARDOWN
{
	process_poll_deinit(&poll_);
	process_queue_deinit(&queue);
	writer_rig_end();
}

static void put_process(int pid, unsigned rss)
{
	char more[64];

	snprintf(more, sizeof(more), "VmSize:\t100 kB\nVmRSS:\t%u kB\n", rss);
	proc_put_task((struct proc_task){.pid = pid, .name = "x", .more = more});
}

static bool one_slice(void)
{
	struct time_slice slice = time_slice_start(stepping);
	bool more = process_poll_run(&poll_, &writer, &queue, &slice);

	process_packet_end(&packet);
	return more;
}

static unsigned one_pass(void)
{
	unsigned slices = 1;

	assert_int_equal(process_poll_begin(&poll_, &writer), 0);
	while (one_slice())
		slices++;
	assert_false(process_poll_is_active(&poll_));
	return slices;
}

struct sum {
	unsigned rows;
	unsigned sizes;
	unsigned rsss;
};

/* What the packets from the first on have of all processes. */
static struct sum sum_of(size_t first)
{
	struct sum s = {0};
	struct pb_field stats, row;

	for (size_t i = first; i < fake.n; i++) {
		const struct fake_packet *p = &fake.packets[i];

		if (!fake_field(p->data, p->len, PB_TRACE_PACKET_PROCESS_STATS, 0, &stats))
			continue;
		for (unsigned n = 0;
		     fake_field(stats.data, stats.len, PB_PROCESS_STATS_PROCESSES, n, &row); n++) {
			s.rows++;
			s.sizes += fake_has(row, PB_PROCESS_STATS_PROCESS_VM_SIZE_KB);
			s.rsss += fake_has(row, PB_PROCESS_STATS_PROCESS_VM_RSS_KB);
		}
	}
	return s;
}

FIXTURE_TEST(every_pass_has_every_process)
{
	size_t first;

	for (int pid = 1; pid <= 10; pid++)
		put_process(pid, 5);
	for (unsigned pass = 0; pass < 3; pass++) {
		first = fake.n;
		one_pass();
		assert_int_equal(sum_of(first).rows, 10);
		assert_int_equal(sum_of(first).sizes, 10);
		assert_int_equal(sum_of(first).rsss, 10);
	}
}

FIXTURE_TEST(only_changes_between_full_passes)
{
	size_t first;

	poll_.options.full_every = 3;
	for (int pid = 1; pid <= 10; pid++)
		put_process(pid, 5);
	one_pass();
	for (unsigned round = 0; round < 2; round++) {
		first = fake.n;
		one_pass();
		assert_int_equal(fake.n, first); /* nothing, so no packet */
		put_process(7, 6 + round);
		put_process(11, 1); /* a new one */
		one_pass();
		assert_int_equal(sum_of(first).rows, round ? 1 : 2);
		assert_int_equal(sum_of(first).sizes, round ? 0 : 1);
		assert_int_equal(sum_of(first).rsss, round ? 1 : 2);
		first = fake.n;
		one_pass();
		assert_int_equal(sum_of(first).sizes, 11);
	}
}

static void put_stat(int pid, unsigned start)
{
	char text[128];
	int n = snprintf(text, sizeof(text),
			 "%d (x) S 1 1 1 0 -1 4194304 0 0 0 0 7 8 0 0 20 0 1 0 %u 0 0 0\n", pid,
			 start);

	proc_put(text, (size_t)n, "%d/stat", pid);
}

static unsigned instants(void)
{
	struct pb_field event;
	unsigned n = 0;

	for (size_t i = 0; i < fake.n; i++) {
		const struct fake_packet *p = &fake.packets[i];

		if (fake_field(p->data, p->len, PB_TRACE_PACKET_TRACK_EVENT, 0, &event))
			n += fake_u64(event, PB_TRACK_EVENT_TYPE) == 3;
	}
	return n;
}

/* Unlike the counters, which every pass writes here. */
FIXTURE_TEST(a_cgroup_is_written_when_it_changes)
{
	struct writer *w = writer_new(NULL, 1, WRITER_STALL);

	poll_.tracks.options.cgroup = true;
	assert_int_equal(process_tracks_init(&poll_.tracks, w, NULL), 0);
	put_process(7, 5);
	proc_put("0::/a\n", 6, "7/cgroup");
	for (unsigned i = 0; i < 3; i++)
		one_pass();
	assert_int_equal(sum_of(0).rows, 3);
	assert_int_equal(instants(), 1);
	process_poll_clear(&poll_);
	one_pass();
	assert_int_equal(instants(), 2);
	process_tracks_deinit(&poll_.tracks);
	writer_free(w);
}

/* As where no more files may stay open. */
static void without_kept_files(struct rlimit *ret_old)
{
	struct rlimit few;

	getrlimit(RLIMIT_NOFILE, ret_old);
	few = *ret_old;
	/* What is open stays open; three are left for the folder, the walk and one file. */
	few.rlim_cur = (rlim_t)dup(0) + 3;
	close((int)few.rlim_cur - 3);
	setrlimit(RLIMIT_NOFILE, &few);
}

FIXTURE_TEST(kernel_threads_have_no_counters)
{
	proc_put_task((struct proc_task){.pid = 2, .name = "kthreadd", .more = "Kthread:\t1\n"});
	proc_put("0\n", 2, "2/oom_score_adj");
	put_process(3, 5);
	for (unsigned i = 0; i < 3; i++)
		one_pass();
	assert_int_equal(sum_of(0).rows, 3);
}

/* The time at which it began tells it where no file is kept. */
FIXTURE_TEST(a_reused_pid_is_another_process)
{
	struct process_counter_files *source;
	size_t first;

	poll_.options.full_every = 1000;
	poll_.options.counters.runtime = true;
	put_process(7, 5);
	put_process(8, 5);
	put_stat(7, 100);
	one_pass();
	process_writer_write_task(&writer, 7);
	assert_true(pid_set_has(&writer.seen, 7));
	first = fake.n;
	one_pass();
	assert_int_equal(sum_of(first).rows, 0);

	put_stat(7, 200);
	first = fake.n;
	one_pass();
	/* The same values, but not of the same process. */
	assert_int_equal(sum_of(first).rows, 1);
	assert_int_equal(sum_of(first).sizes, 1);
	source = &poll_.table.last.rows[0].source;
	assert_int_equal(source->pid, 7);
	assert_int_equal(source->start, 200);
	/* And it has no name yet. */
	assert_false(pid_set_has(&writer.seen, 7));
	assert_int_equal(queue.tids[queue.n - 1], 7);
}

FIXTURE_TEST(a_process_that_has_ended_is_forgotten)
{
	size_t first;

	poll_.options.full_every = 1000;
	put_process(7, 5);
	put_process(8, 5);
	one_pass();
	process_writer_write_task(&writer, 7);
	process_writer_write_task(&writer, 8);
	proc_remove("7");
	one_pass();
	assert_int_equal(poll_.table.last.n, 1);
	assert_false(pid_set_has(&writer.seen, 7));
	assert_true(pid_set_has(&writer.seen, 8));
	/* Where the kernel's events tell who comes they know better. */
	poll_.knows_starts = true;
	proc_remove("8");
	one_pass();
	assert_true(pid_set_has(&writer.seen, 8));
	first = fake.n;
	put_process(7, 5);
	one_pass();
	assert_int_equal(sum_of(first).sizes, 1);
}

/* Read before it, /proc may have another parent, and readers would take it for two processes. */
FIXTURE_TEST(the_report_of_a_start_comes_before_the_row)
{
	int32_t seen;

	poll_.knows_starts = true;
	put_process(7, 5);
	one_pass();
	seen = pid_map_get(&poll_.unknown, 7);
	assert_true(seen > 0);
	/* However long it takes until the kernel's rings are read. */
	assert_int_equal(pid_map_set(&poll_.unknown, 7, seen - 100), 0);
	poll_.reported_until = (uint64_t)(seen - 98) * NS_PER_S - 1;
	one_pass();
	assert_true(process_queue_is_empty(&queue));
	/* All reports of that time have come, and none of it. */
	poll_.reported_until++;
	one_pass();
	assert_int_equal(queue.tids[queue.n - 1], 7);
	process_writer_write_task(&writer, 7);
	one_pass();
	assert_int_equal(pid_map_get(&poll_.unknown, 7), 0);
}

/* Else the next task of the same number would not wait for its report. */
FIXTURE_TEST(a_report_ends_the_wait_of_its_number)
{
	poll_.knows_starts = true;
	put_process(7, 5);
	one_pass();
	assert_int_equal(pid_map_set(&poll_.unknown, 7, 1), 0);
	process_poll_task_reported(&poll_, 7);
	poll_.reported_until = 10 * NS_PER_S;
	one_pass();
	assert_true(process_queue_is_empty(&queue));
}

FIXTURE_TEST(many_exits_take_several_slices)
{
	struct writer *w = writer_new(NULL, 1, WRITER_STALL);
	unsigned before, slices;

	poll_.tracks.options.sched = true;
	assert_int_equal(process_tracks_init(&poll_.tracks, w, NULL), 0);
	for (int pid = 1; pid <= 300; pid++) {
		put_process(pid, 5);
		proc_put("10 20 30\n", 9, "%d/task/%d/schedstat", pid, pid);
	}
	one_pass();
	step_ns = TIME_SLICE_NS; /* a step is a time slice */
	for (int pid = 2; pid <= 300; pid++)
		proc_remove("%d", pid);
	before = tracks_counts(poll_.tracks.tracks).tracks;
	assert_int_equal(before, 3 * 300);
	assert_int_equal(process_poll_begin(&poll_, &writer), 0);
	for (slices = 0; one_slice(); slices++) {
		unsigned now = tracks_counts(poll_.tracks.tracks).tracks;

		assert_true(process_poll_is_active(&poll_));
		assert_true(before - now <= 3 * PROCESS_TRACKS_PIECE);
		before = now;
	}
	assert_true(slices > 299 / PROCESS_TABLE_PIECE + 299 / PROCESS_TRACKS_PIECE);
	assert_int_equal(tracks_counts(poll_.tracks.tracks).tracks, 3);
	assert_int_equal(poll_.table.last.n, 1);
	process_tracks_deinit(&poll_.tracks);
	writer_free(w);
}

FIXTURE_TEST(a_thread_id_reused_by_a_process)
{
	put_process(7, 5);
	process_writer_write_task(&writer, 7);
	process_writer_write_named_thread(&writer, 7, 9, NULL);
	one_pass();
	assert_true(pid_set_has(&writer.seen, 9));
	put_process(9, 5);
	one_pass();
	assert_false(pid_set_has(&writer.seen, 9));
	assert_int_equal(pid_relations_tgid(&writer.relations, 9), 0);
	assert_int_equal(queue.n - queue.next, 1);
	assert_int_equal(queue.tids[queue.next], 9);
}

FIXTURE_TEST(a_process_exits_between_two_files)
{
	struct rlimit old;

	put_process(7, 5);
	put_process(8, 5);
	proc_remove("7/status");
	proc_put("5\n", 2, "7/oom_score_adj");
	without_kept_files(&old);
	one_pass();
	one_pass();
	setrlimit(RLIMIT_NOFILE, &old);
	assert_int_equal(sum_of(0).rows, 2);
	assert_int_equal(files.errors[PROC_FILE_STATUS].count, 0);
}

/* An hour at the fastest. */
FIXTURE_TEST(memory_does_not_grow_with_the_passes)
{
	struct mallinfo2 first;
	size_t used;

	poll_.options.full_every = 1000000;
	for (int pid = 1; pid <= 3; pid++)
		put_process(pid, 5);
	for (unsigned i = 0; i < 36000; i++) {
		/* A new one each time, with a number of its own. */
		if (i % 100 == 0) {
			proc_remove("%u", 1000 + i / 100 - 1);
			put_process(1000 + (int)i / 100, 5);
		}
		one_pass();
		fake_reset_packets();
		queue.next = queue.n = 0;
		pid_set_clear(&queue.waiting);
		if (i == 200)
			first = mallinfo2();
	}
	used = mallinfo2().uordblks;
	assert_true(used <= first.uordblks + 4096);
	assert_int_equal(poll_.table.last.n, 4);
}

FIXTURE_TEST(a_clear_writes_all_again)
{
	size_t first;

	poll_.options.full_every = 1000;
	put_process(1, 5);
	put_process(2, 5);
	one_pass();
	process_poll_clear(&poll_);
	first = fake.n;
	one_pass();
	assert_int_equal(sum_of(first).rows, 2);
}

FIXTURE_TEST(processes_without_a_name_are_queued)
{
	put_process(1, 5);
	put_process(2, 5);
	process_writer_write_task(&writer, 1);
	one_pass();
	assert_int_equal(queue.n - queue.next, 1);
	assert_int_equal(queue.tids[queue.next], 2);
}

/* Those that have a track. */
FIXTURE_TEST(threads_without_a_name_are_queued)
{
	struct writer *w = writer_new(NULL, 1, WRITER_STALL);

	poll_.tracks.options.sched = true;
	assert_int_equal(process_tracks_init(&poll_.tracks, w, NULL), 0);
	put_process(7, 5);
	for (int tid = 7; tid < 10; tid++)
		proc_put("1 2 3\n", 6, "7/task/%d/schedstat", tid);
	process_writer_write_task(&writer, 7);
	process_writer_write_named_thread(&writer, 7, 8, NULL);
	one_pass();
	assert_int_equal(queue.n - queue.next, 1);
	assert_int_equal(queue.tids[queue.next], 9);
	process_tracks_deinit(&poll_.tracks);
	writer_free(w);
}

FIXTURE_TEST(a_slice_ends_in_time)
{
	enum { PROCESSES = 1000, A_TURN = 10 };

	for (int pid = 1; pid <= PROCESSES; pid++)
		put_process(pid, 5);
	step_ns = TIME_SLICE_NS / A_TURN;
	assert_in_range(one_pass(), PROCESSES / A_TURN, PROCESSES / (A_TURN - 2));
	assert_int_equal(sum_of(0).rows, PROCESSES);
	assert_true(fake.n >= PROCESSES / A_TURN);
}

/* A process of thousands of threads does not keep the loop. */
FIXTURE_TEST(threads_are_read_in_slices)
{
	enum { THREADS = 3000, A_TURN = 10 };
	struct writer *w = writer_new(NULL, 1, WRITER_STALL);

	poll_.tracks.options.sched = true;
	assert_int_equal(process_tracks_init(&poll_.tracks, w, NULL), 0);
	put_process(7, 5);
	for (int tid = 7; tid < 7 + THREADS; tid++)
		proc_put("1 2 3\n", 6, "7/task/%d/schedstat", tid);
	step_ns = TIME_SLICE_NS / A_TURN;
	assert_in_range(one_pass(), THREADS / A_TURN, THREADS / (A_TURN - 2));
	assert_int_equal(tracks_counts(poll_.tracks.tracks).tracks, 3 * THREADS);
	assert_int_equal(tracks_counts(poll_.tracks.tracks).values, 2 * THREADS);
	/* It has ended: so have its threads. */
	proc_remove("7");
	one_pass();
	assert_int_equal(tracks_counts(poll_.tracks.tracks).tracks, 0);
	process_tracks_deinit(&poll_.tracks);
	writer_free(w);
}
