/* SPDX-License-Identifier: Apache-2.0 */
/* The counters of processes and threads, from one poll to the next. */
#include <dirent.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "unit/client/read_tracks.h"
#include "unit/procfs/process_rig.h"

/* Writers of the data source, in the order in which it makes them. */
enum { NAMES_WRITER, PROCESS_TRACKS_WRITER, THREAD_TRACKS_WRITER };

#define SENTINEL 1 /* a process whose counter each pass writes */

static unsigned pass;

static void put_process(int pid, unsigned rss)
{
	char more[64];

	snprintf(more, sizeof(more), "VmSize:\t100 kB\nVmRSS:\t%u kB\n", rss);
	proc_put_task((struct proc_task){.pid = pid, .name = "x", .more = more});
}

static void put(int pid, const char *file, const char *text)
{
	proc_put(text, strlen(text), "%d/%s", pid, file);
}

/* Starts with the first pass. changes: only changed counters are written. */
static void start_polling(bool changes)
{
	stats.scan_all_processes_on_start = false;
	stats.proc_stats_poll_ms = 100;
	stats.proc_stats_cache_ttl_ms = changes ? 1000000 : 0;
	pass = 1;
	put_process(SENTINEL, pass);
	create_and_start();
	run_until_idle();
}

static void one_pass(void)
{
	struct pb_field row;

	put_process(SENTINEL, ++pass);
	do {
		event_base_loop(env.loop, EVLOOP_ONCE);
		row = (struct pb_field){0};
	} while (!stats_rows(SENTINEL, &row) ||
		 fake_u64(row, PB_PROCESS_STATS_PROCESS_VM_RSS_KB) != pass);
	run_until_idle();
}

/* On a busy machine there are more passes than one_pass() waits for. */
static unsigned n_passes(void)
{
	return stats_rows(SENTINEL, NULL);
}

static void expect_counters(int32_t pid, unsigned times, const char *want, const char *file,
			    int line)
{
	struct pb_field row = {0};

	_assert_int_equal(stats_rows(pid, &row), times, file, line);
	_assert_string_equal(fake_fields(row, "ProcessStats.Process", PB_PROCESS_STATS_PROCESS_PID),
			     want, file, line);
}

/* The process has so many rows of counters, and the last one has exactly these. */
#define assert_counters(pid, times, want) expect_counters(pid, times, want, __FILE__, __LINE__)

/* ---- counters of ProcessStats ---- */

FIXTURE_TEST(every_pass_has_all_counters_of_each_process)
{
	put_process(7, 5);
	start_polling(false);
	one_pass();
	one_pass();
	assert_counters(7, n_passes(), "vm_size_kb 100 vm_rss_kb 5");
	/* The first packet begins the state. A process without a row is written, once. */
	assert_true(packet_is_cleared(0));
	assert_int_equal(process_rows(7), 1);
}

FIXTURE_TEST(only_changes_between_full_passes)
{
	put_process(7, 5);
	put_process(8, 5);
	start_polling(true);
	one_pass();
	assert_counters(7, 1, "vm_size_kb 100 vm_rss_kb 5");
	put_process(7, 6);
	put_process(11, 1);
	one_pass();
	assert_counters(7, 2, "vm_rss_kb 6");
	assert_counters(8, 1, "vm_size_kb 100 vm_rss_kb 5");
	assert_counters(11, 1, "vm_size_kb 100 vm_rss_kb 1");
	/* After a clear, and after lost packets, everything is written again. */
	source->clear(instance);
	one_pass();
	assert_counters(8, 2, "vm_size_kb 100 vm_rss_kb 5");
	assert_int_equal(process_rows(8), 2);
	fake.dropped = 3;
	one_pass();
	one_pass();
	assert_counters(8, 3, "vm_size_kb 100 vm_rss_kb 5");
	assert_int_equal(process_rows(8), 3);
}

FIXTURE_TEST(a_full_pass_by_the_time_to_live)
{
	put_process(7, 5);
	start_polling(true);
	destroy();
	fake_reset_packets();
	stats.proc_stats_cache_ttl_ms = 250; /* two periods */
	create_and_start();
	run_until_idle();
	one_pass();
	assert_int_equal(stats_rows(7, NULL), 1);
	one_pass();
	assert_int_equal(stats_rows(7, NULL), 2);
}

FIXTURE_TEST(only_requested_counters_are_read)
{
	put_process(7, 5);
	put(7, "smaps_rollup", "Rss: 10 kB\n");
	put(7, "dmabuf_rss", "4095\n");
	put(7, "oom_score_adj", "-900\n");
	put(7, "io", "rchar: 5\n");
	start_polling(false);
	assert_counters(7, n_passes(), "vm_size_kb 100 vm_rss_kb 5 oom_score_adj -900");
	assert_int_equal(fake.live, 1);
	destroy();
	fake_reset_packets();
	stats.scan_smaps_rollup = true;
	stats.record_process_dmabuf_rss = true;
	stats.record_process_runtime = true;
	start_polling(false);
	assert_counters(7, n_passes(),
			"vm_size_kb 100 vm_rss_kb 5 oom_score_adj -900 smr_rss_kb 10 "
			"runtime_user_mode 70000000 runtime_kernel_mode 80000000 dmabuf_rss_kb 3");
}

FIXTURE_TEST(kernel_threads_have_no_counters)
{
	proc_put_task((struct proc_task){.pid = 2, .name = "kthreadd", .more = "Kthread:\t1\n"});
	put(2, "oom_score_adj", "0\n");
	/* Before Linux 6.4: by its parent. */
	put(9, "status", "Name:\tx\nTgid:\t9\nPid:\t9\nPPid:\t2\n");
	proc_put_task((struct proc_task){.pid = 70, .name = "zombie"});
	start_polling(false);
	one_pass();
	assert_int_equal(stats_rows(2, NULL) + stats_rows(9, NULL) + stats_rows(70, NULL), 0);
	/* One may execute a program: its status is read again after some passes. */
	put_process(9, 5);
	for (unsigned i = 0; i < 20 && !stats_rows(9, NULL); i++)
		one_pass();
	assert_counters(9, stats_rows(9, NULL), "vm_size_kb 100 vm_rss_kb 5");
}

/* Only the counters of the file that cannot be read are missing. */
FIXTURE_TEST(files_that_cannot_be_read)
{
	put_process(7, 5);
	put(7, "oom_score_adj", "12x");
	put(7, "stat", "");
	put_process(8, 5);
	proc_remove("8/status");
	put(8, "oom_score_adj", "5\n");
	stats.record_process_runtime = true;
	start_polling(false);
	one_pass();
	flush_and_run();
	assert_counters(7, n_passes(), "vm_size_kb 100 vm_rss_kb 5");
	assert_int_equal(
		find_rows(PB_TRACE_PACKET_PROCESS_STATS, PB_PROCESS_STATS_UNREAD_FILES, 0, 0, NULL),
		n_passes());
}

FIXTURE_TEST(a_reused_pid_is_another_process)
{
	stats.record_process_runtime = true;
	put_process(7, 5);
	put(7, "stat", "7 (x) S 1 1 1 0 -1 4194304 0 0 0 0 7 8 0 0 20 0 1 0 100 0 0 0\n");
	start_polling(true);
	one_pass();
	assert_int_equal(stats_rows(7, NULL), 1);
	put(7, "stat", "7 (x) S 1 1 1 0 -1 4194304 0 0 0 0 7 8 0 0 20 0 1 0 200 0 0 0\n");
	one_pass();
	/* The same values, but of another process, which has no name yet. */
	assert_counters(7, 2,
			"vm_size_kb 100 vm_rss_kb 5 runtime_user_mode 70000000 runtime_kernel_mode "
			"80000000");
	assert_int_equal(process_rows(7), 2);
}

FIXTURE_TEST(the_id_of_a_thread_reused_by_a_process)
{
	put_threads(7, 2);
	start_polling(true);
	publish_tid(8);
	proc_put("0 0 0\n", 6, "9/schedstat");
	one_pass();
	proc_remove("7/task/8");
	put_process(8, 5);
	/* A process that has not run yet would be written with a time before its start. */
	put_process(9, 5);
	one_pass();
	assert_int_equal(process_rows(8), 1);
	assert_int_equal(stats_rows(9, NULL), 0);
	put(9, "schedstat", "1 0 1\n");
	one_pass();
	assert_int_equal(stats_rows(9, NULL), 1);
}

/* Without reports of starts, an id that is met again may be that of another process. */
FIXTURE_TEST(an_exited_process_is_forgotten)
{
	int publisher;

	assert_int_equal(metadata_bus_register(env.bus, FAKE_SESSION, &publisher), 0);
	for (unsigned is_complete = 0; is_complete <= 1; is_complete++) {
		metadata_bus_set_complete(env.bus, FAKE_SESSION, &publisher, is_complete);
		start_polling(true);
		proc_put_task((struct proc_task){.pid = 70, .name = "x"});
		publish_tid(70);
		assert_int_equal(process_rows(70), 1);
		one_pass();
		proc_remove("70");
		one_pass();
		put_process(70, 5);
		one_pass();
		assert_int_equal(process_rows(70), is_complete ? 1 : 2);
		assert_int_equal(stats_rows(70, NULL), 1);
		destroy();
		proc_remove("70");
		fake_reset_packets();
	}
	metadata_bus_unregister(env.bus, FAKE_SESSION, &publisher);
}

/* Read before it, /proc may have another parent, and readers would take it for two processes. */
FIXTURE_TEST(the_report_of_a_start_comes_before_the_row)
{
	const struct metadata_task start = {
		.kind = METADATA_TASK_NEW, .tid = 7, .other = 5, .time_ns = 10, .name = "x"};
	int publisher;

	assert_int_equal(metadata_bus_register(env.bus, FAKE_SESSION, &publisher), 0);
	metadata_bus_set_complete(env.bus, FAKE_SESSION, &publisher, true);
	put_process(7, 5);
	put_process(8, 5);
	start_polling(true);
	one_pass();
	assert_int_equal(process_rows(7), 0);
	assert_int_equal(stats_rows(7, NULL), 1);
	publish(&start, 1, NULL, 0);
	assert_process(7, 1, "ppid 5 cmdline x|arg uid 1000");
	/* All reports of that time have come, and there is none of this one. */
	metadata_bus_set_published_until(env.bus, FAKE_SESSION, &publisher,
					 clock_boot_ns() + 10 * NS_PER_S);
	one_pass();
	assert_process(8, 1, "ppid 1 cmdline x|arg uid 1000");
	metadata_bus_unregister(env.bus, FAKE_SESSION, &publisher);
}

/* ---- real processes: files that stay open, memory that is not read again ---- */

#define WORK_BYTES (256u << 10)

/* Starts a process that sleeps, and touches memory at each byte in the socket. */
static pid_t start_sleeper(int *ret_socket)
{
	int fds[2];
	pid_t pid;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	pid = fork();
	if (pid == 0) {
		char c;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(fds[0]);
		while (read(fds[1], &c, 1) == 1 &&
		       mmap(NULL, WORK_BYTES, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0) != MAP_FAILED &&
		       write(fds[1], &c, 1) == 1)
			;
		_exit(0);
	}
	close(fds[1]);
	*ret_socket = fds[0];
	return pid;
}

static void work(int fd)
{
	char c = '.';

	assert_true(write(fd, &c, 1) == 1 && read(fd, &c, 1) == 1);
}

FIXTURE_TEST(a_sleeping_process_that_works_and_exits)
{
	uint64_t before, rss;
	struct pb_field row;
	unsigned rows;
	pid_t pid;
	int fd;

	if (access("/proc/self/status", R_OK) != 0)
		skip();
	pid = start_sleeper(&fd);
	env.proc_root = "/proc";
	stats.scan_all_processes_on_start = false;
	stats.proc_stats_poll_ms = 100;
	stats.proc_stats_cache_ttl_ms = 1000000;
	create_and_start();
	while (!stats_rows(pid, &row))
		event_base_loop(env.loop, EVLOOP_ONCE);
	run_until_idle();
	before = fake_u64(row, PB_PROCESS_STATS_PROCESS_VM_RSS_KB);
	assert_int_equal(process_rows(pid), 1);
	/* Asleep: the values hold, pass after pass (more often than status is skipped in a row). */
	for (unsigned i = 0; i < 20; i++) {
		event_base_loop(env.loop, EVLOOP_ONCE);
		run_until_idle();
	}
	rows = stats_rows(pid, NULL);
	assert_in_range(rows, 1, 2);
	work(fd);
	while (stats_rows(pid, &row) == rows)
		event_base_loop(env.loop, EVLOOP_ONCE);
	rss = fake_u64(row, PB_PROCESS_STATS_PROCESS_VM_RSS_KB);
	assert_true(rss >= before + WORK_BYTES / 1024);
	close(fd);
	waitpid(pid, NULL, 0);
	rows = stats_rows(pid, NULL);
	for (unsigned i = 0; i < 3; i++) {
		event_base_loop(env.loop, EVLOOP_ONCE);
		run_until_idle();
	}
	assert_int_equal(stats_rows(pid, NULL), rows);
}

static unsigned n_open_files(void)
{
	DIR *d = opendir("/proc/self/fd");
	unsigned n = 0;

	while (d && readdir(d))
		n++;
	closedir(d);
	return n;
}

/* Files of processes stay open, but take no more than a quarter of what the process may open. */
FIXTURE_TEST(limits_of_open_files)
{
	static const rlim_t limits[] = {4096, 128};
	unsigned before = n_open_files();
	struct rlimit old, few;

	getrlimit(RLIMIT_NOFILE, &old);
	for (int pid = 2; pid < 80; pid++) {
		put_process(pid, 5);
		put(pid, "oom_score_adj", "5\n");
	}
	for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
		few = old;
		few.rlim_cur = MIN(limits[i], old.rlim_max);
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
		start_polling(false);
		one_pass();
		for (int pid = 2; pid < 80; pid++)
			assert_counters(pid, n_passes(),
					"vm_size_kb 100 vm_rss_kb 5 oom_score_adj 5");
		assert_true(n_open_files() - before >= limits[i] / 4 || i == 0);
		assert_true(n_open_files() - before <= limits[i] / 4 + 8);
		source->stop(instance);
		run_loop();
		assert_true(n_open_files() - before <= 8);
		destroy();
		fake_reset_packets();
	}
	setrlimit(RLIMIT_NOFILE, &old);
}

/* ---- counters as tracks ---- */

static unsigned n_tracks(const char *name)
{
	unsigned n = 0;

	for (size_t i = 0; i < rd.n_tracks; i++)
		n += strcmp(rd.tracks[i].name, name) == 0;
	return n;
}

FIXTURE_TEST(io_of_a_process)
{
	stats.record_process_io = true;
	put_process(7, 5);
	put(7, "io", "rchar: 1\nwchar: 2\nsyscr: 3\nsyscw: 4\nread_bytes: 50\n");
	start_polling(true);
	one_pass();
	put(7, "io", "rchar: 1\nwchar: 2\nsyscr: 3\nsyscw: 4\nread_bytes: 60\n");
	one_pass();
	read_tracks_of(PROCESS_TRACKS_WRITER);
	assert_int_equal(read_last("process 7/io.rchar"), 1);
	assert_int_equal(read_last("process 7/io.wchar"), 2);
	assert_int_equal(read_last("process 7/io.syscr"), 3);
	assert_int_equal(read_last("process 7/io.syscw"), 4);
	assert_int_equal(read_nth("process 7/io.read_bytes", 0)->i, 50);
	assert_int_equal(read_last("process 7/io.read_bytes"), 60);
	assert_int_equal(read_count("process 7/io.read_bytes"), 2); /* changes only */
	assert_int_equal(read_count("process 7/io.rchar"), 1);
	assert_null(read_find("process 7/io.write_bytes")); /* not in the file */
	/* A flush writes the last values. */
	flush_and_run();
	read_tracks_of(PROCESS_TRACKS_WRITER);
	assert_int_equal(read_count("process 7/io.rchar"), 2);
	/* The next process with the id has tracks of its own. */
	proc_remove("7");
	one_pass();
	put_process(7, 5);
	put(7, "io", "rchar: 9\n");
	one_pass();
	read_tracks_of(PROCESS_TRACKS_WRITER);
	assert_int_equal(n_tracks("process 7"), 2);
}

FIXTURE_TEST(time_of_threads)
{
	stats.record_thread_sched = true;
	put_threads(7, 3);
	put(7, "task/7/schedstat", "1000 20 3\n");
	put(7, "task/8/schedstat", "500 0 3\n");
	put(7, "task/9/schedstat", "0"); /* cut off */
	start_polling(true);
	put(7, "task/8/schedstat", "800 0 3\n");
	one_pass();
	read_tracks_of(THREAD_TRACKS_WRITER);
	assert_int_equal(read_last("thread 7/7/sched.run_ns"), 1000);
	assert_int_equal(read_last("thread 7/7/sched.wait_ns"), 20);
	assert_int_equal(read_nth("thread 7/8/sched.run_ns", 0)->i, 500);
	assert_int_equal(read_last("thread 7/8/sched.run_ns"), 800);
	assert_int_equal(read_last("thread 7/8/sched.wait_ns"), 0);
	assert_null(read_find("thread 7/9/sched.run_ns"));
	/* Threads with a track get a name. The files of tasks that the root lacks name none. */
	proc_put_task((struct proc_task){.pid = 7, .tid = 8, .name = "named", .threads = 3});
	one_pass();
	assert_thread(8, 1, "name named tgid 7");
	/* With less time than before it is another thread; so is one of another process. */
	put(7, "task/8/schedstat", "10 0 3\n");
	one_pass();
	read_tracks_of(THREAD_TRACKS_WRITER);
	assert_int_equal(n_tracks("thread 7/8"), 2);
	proc_remove("7/task/8");
	put_process(20, 5);
	put(20, "task/8/schedstat", "20 0 3\n");
	one_pass();
	read_tracks_of(THREAD_TRACKS_WRITER);
	assert_int_equal(n_tracks("thread 20/8"), 1);
}

static unsigned cgroup_instants(const char *name)
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

FIXTURE_TEST(the_cgroup_of_a_process_when_it_changes)
{
	stats.record_process_cgroup = true;
	put_process(7, 5);
	put(7, "cgroup", "0::/a\n");
	start_polling(false);
	one_pass();
	put(7, "cgroup", "0::/b\n");
	one_pass();
	put(7, "cgroup", "0::/a\n");
	one_pass();
	read_tracks_of(PROCESS_TRACKS_WRITER);
	assert_int_equal(cgroup_instants("/a"), 2);
	assert_int_equal(cgroup_instants("/b"), 1);
	/* After a clear once more, with its track. */
	source->clear(instance);
	one_pass();
	read_tracks_of(PROCESS_TRACKS_WRITER);
	assert_int_equal(rd.states, 2);
	assert_int_equal(read_find("process 7/cgroup")->state, 2);
	assert_int_equal(cgroup_instants("/a"), 3);
}

/* ---- many ---- */

/* Descriptors of tracks go into packets, which take time here. */
FIXTURE_TEST(a_pass_runs_in_slices)
{
	enum { THREADS = 600 };
	unsigned turns = 0;

	stats.record_thread_sched = true;
	put_process(7, 5);
	for (int tid = 7; tid < 7 + THREADS; tid++)
		proc_put("1 2 3\n", 6, "7/task/%d/schedstat", tid);
	fake.packet_ns = 100000;
	stats.scan_all_processes_on_start = false;
	stats.proc_stats_poll_ms = 100;
	create_and_start();
	for (; event_base_get_num_events(env.loop, EVENT_BASE_COUNT_ADDED) > 1; turns++)
		event_base_loop(env.loop, EVLOOP_ONCE);
	assert_true(turns >= 5);
	read_tracks_of(THREAD_TRACKS_WRITER);
	assert_int_equal(rd.n_tracks, 3 * THREADS + 1); /* and their process */
	assert_int_equal(rd.n_values, 2 * THREADS);
}

/* Exited processes and threads are dropped in pieces; what remains is polled on. */
FIXTURE_TEST(many_exits)
{
	enum { MANY = 300 };

	stats.record_thread_sched = true;
	for (int pid = 2; pid <= MANY; pid++) {
		put_process(pid, 5);
		proc_put("10 20 30\n", 9, "%d/task/%d/schedstat", pid, pid);
	}
	start_polling(true);
	for (int pid = 3; pid <= MANY; pid++)
		proc_remove("%d", pid);
	one_pass();
	put(2, "task/2/schedstat", "2000 20 30\n");
	one_pass();
	read_tracks_of(THREAD_TRACKS_WRITER);
	assert_int_equal(read_last("thread 2/2/sched.run_ns"), 2000);
	for (int pid = 3; pid <= MANY; pid++)
		assert_int_equal(stats_rows(pid, NULL), 1);
	put_process(MANY, 5);
	proc_put("10 20 30\n", 9, "%d/task/%d/schedstat", MANY, MANY);
	one_pass();
	assert_int_equal(stats_rows(MANY, NULL), 2);
	read_tracks_of(THREAD_TRACKS_WRITER);
	assert_int_equal(n_tracks("thread 300/300"), 2);
}
