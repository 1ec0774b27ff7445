/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/test.h"
#include "unit/client/read_tracks.h"
#include "procfs/process/process_scan.h"
#include "unit/procfs/process_rows.h"

/*
 * The files of processes on machines of other kinds, in tests/data/procfs: a small one of today, a
 * server of 128 processors whose numbers need 64 bits, a board with Android's additions and without
 * I/O accounting, and a kernel of 2018. Each value is checked.
 */

#define NONE UINT64_MAX
#define TICK 10000000ull

struct want_process {
	int32_t pid;
	const char *cmdline; /* the first word; or the name, where comm says so */
	bool is_comm;
	int32_t ppid;
	int64_t uid;
	unsigned n_nspid;
	unsigned threads; /* rows of the tree */
	uint64_t start_ticks;
	uint64_t counters[PROCESS_COUNTERS]; /* in the order of enum process_counter */
	const char *cgroup;
	uint64_t io[PROC_IO_KEYS];
};

/* Counters of a kernel thread: nothing but its time. */
#define KTHREAD_COUNTERS(user, kernel)                                                             \
	{                                                                                          \
		NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE,      \
			NONE, (user)*TICK, (kernel)*TICK, NONE, NONE                               \
	}
#define NO_IO                                                                                      \
	{                                                                                          \
		NONE, NONE, NONE, NONE, NONE, NONE, NONE                                           \
	}

struct want_thread {
	int32_t pid;
	int32_t tid;
	int64_t run_ns;
	int64_t wait_ns;
	const char *name;
};

struct machine {
	const char *root;
	const struct want_process *processes; /* up to pid 0 */
	const struct want_thread *threads; /* up to tid 0 */
};

/* size, rss, anon, file, shmem, swap, locked, hwm, oom, smaps: rss, pss, anon, file, shmem; user,
 * kernel, swap pss, dmabuf */
static const struct want_process small_processes[] = {
	{2, "kthreadd", true, 0, 0, 0, 1, 24, KTHREAD_COUNTERS(0, 0), "/", {0}},
	{412,
	 "bash",
	 false,
	 26567,
	 0,
	 0,
	 1,
	 484872,
	 {4544, 3396, 484, 2912, 0, 0, 0, 3396, 0, 3396, 593, 484, 109, 0, 0, 0, 0, NONE},
	 "/machine/guest",
	 {123678, 108894, 49, 26, 0, 0, 0}},
	{0},
};
static const struct want_thread small_threads[] = {
	{2, 2, 7536374, 7312860, "kthreadd"},
	{412, 412, 3529162, 22111512, "bash"},
	{0},
};

static const struct want_process server_processes[] = {
	{1049,
	 "kworker/127:1H-kblockd",
	 true,
	 2,
	 0,
	 0,
	 1,
	 1130,
	 KTHREAD_COUNTERS(0, 90210),
	 "/",
	 {0}},
	{3355443,
	 "/opt/java/bin/java",
	 false,
	 3355400,
	 -2, /* 4294967294: the field is signed */
	 2,
	 3,
	 40000000012,
	 {6442450944, 4294967300, 4294000000, 900000, 67300, 17179869184, 2147483648, 5368709120,
	  1000, 4294967300, 4294900001, 4294000000, 832702, 67299, 987654321 * TICK,
	  123456789 * TICK, 17179869183, NONE},
	 "/kubepods.slice/kubepods-burstable.slice/cri-containerd-0a1b2c.scope",
	 {9007199254740993, 4503599627370497, 99999999999, 88888888888, 123456789012345,
	  543210987654321, 1099511627776}},
	{0},
};
static const struct want_thread server_threads[] = {
	{1049, 1049, 902100000000, 71000000000, "kworker/127:1H-kblockd"},
	{3355443, 3355443, 1, 2, "java) R 1 (x"},
	{3355443, 3355444, INT64_MAX, 3, "GC Thread#0"},
	{3355443, 3355500, 88800000000001, 44400000000002, "C2 CompilerThre"},
	{0},
};

static const struct want_process board_processes[] = {
	{47, "kswapd0", true, 2, 0, 0, 1, 31, KTHREAD_COUNTERS(0, 150), "/", NO_IO},
	{1432,
	 "com.example.ui",
	 false,
	 801,
	 10045,
	 0,
	 1,
	 2210,
	 {14876540, 181332, 91220, 88000, 2112, 40960, 4, 210020, (uint64_t)-800, 181332, 120017,
	  90001, 29015, 1001, 5120 * TICK, 1730 * TICK, 40100, 7168},
	 "/uid_10045/pid_1432",
	 NO_IO},
	{0},
};
static const struct want_thread board_threads[] = {
	{47, 47, 0, 0, "kswapd0"},
	{1432, 1432, 68500000123, 2900000456, "system\nui"},
	{0},
};

static const struct want_process old_processes[] = {
	{2, "kthreadd", true, 0, 0, 0, 1, 7, KTHREAD_COUNTERS(0, 4), "/", {0}},
	{9, "rcu_sched", true, 2, 0, 0, 1, 9, KTHREAD_COUNTERS(0, 311), "/", {0}},
	{612,
	 "/usr/sbin/rsyslogd",
	 false,
	 1,
	 0,
	 0,
	 2,
	 1190,
	 {263920, 4180, 1460, 2720, 0, 96, 0, 5204, (uint64_t)-900, 4180, 2204, NONE, NONE, NONE,
	  41 * TICK, 63 * TICK, 95, NONE},
	 "/system.slice/rsyslog.service",
	 {8400123, 99001, 1201, 340, 4120576, 102400, 4096}},
	{0},
};
static const struct want_thread old_threads[] = {
	{2, 2, 41000000, 270000, "kthreadd"},
	{9, 9, 3110000000, 99000000, "rcu_sched"},
	{612, 612, 520000000, 81000000, "rsyslogd"},
	{612, 640, 530000000, 82000000, "in:imuxsock"},
	{0},
};

static const struct machine machines[] = {
	{"tests/data/procfs/linux-6.18", small_processes, small_threads},
	{"tests/data/procfs/server-128", server_processes, server_threads},
	{"tests/data/procfs/arm64-board", board_processes, board_threads},
	{"tests/data/procfs/linux-4.19", old_processes, old_threads},
};

/* ---- one recording of each ---- */

static struct proc_files files;
static struct process_packet packet;
static struct process_writer writer;
static struct process_queue queue;
static struct process_poll poll_;
static struct writer *usage_writer;

static uint64_t never(void)
{
	return 0;
}

static void record(const char *root)
{
	struct process_scan scan = {0};
	struct time_slice slice = time_slice_start(never);

	fake_reset();
	assert_int_equal(proc_files_init(&files, root), 0);
	files.ns_per_tick = TICK;
	packet = (struct process_packet){.w = writer_new(NULL, 1, WRITER_STALL)};
	writer = (struct process_writer){
		.options = {.thread_names = true, .age = true},
		.files = &files,
		.packet = &packet,
	};
	queue = (struct process_queue){0};
	usage_writer = writer_new(NULL, 1, WRITER_STALL);
	poll_ = (struct process_poll){
		.options = {.counters = {true, true, true}, .full_every = 1},
		.tracks.options = {true, true, true},
	};
	assert_int_equal(process_tracks_init(&poll_.tracks, usage_writer, NULL), 0);
	assert_int_equal(process_scan_begin(&scan, &writer), 0);
	assert_false(process_scan_run(&scan, &writer, &slice));
	process_packet_end(&packet);
	assert_int_equal(process_poll_begin(&poll_, &writer), 0);
	assert_false(process_poll_run(&poll_, &writer, &queue, &slice));
	process_packet_end(&packet);
	read_tracks();
}

static void forget(void)
{
	process_poll_deinit(&poll_);
	process_queue_deinit(&queue);
	process_writer_deinit(&writer);
	proc_files_deinit(&files);
	writer_free(packet.w);
	writer_free(usage_writer);
	fake_reset();
}

/* ---- what is in the trace ---- */

static void check_names(const struct want_process *w)
{
	struct pb_field row;

	assert_int_equal(fake_process(w->pid, &row), 1);
	assert_true(fake_str_is(row, PB_PROCESS_TREE_PROCESS_CMDLINE, 0, w->cmdline));
	assert_int_equal(fake_has(row, PB_PROCESS_TREE_PROCESS_CMDLINE_IS_COMM), w->is_comm);
	assert_int_equal((int64_t)fake_u64(row, PB_PROCESS_TREE_PROCESS_PPID), w->ppid);
	assert_int_equal((int64_t)fake_u64(row, PB_PROCESS_TREE_PROCESS_UID), w->uid);
	assert_int_equal(fake_count(row.data, row.len, PB_PROCESS_TREE_PROCESS_NSPID), w->n_nspid);
	assert_true(fake_u64(row, PB_PROCESS_TREE_PROCESS_PROCESS_START_FROM_BOOT) ==
		    w->start_ticks * TICK);
}

static void find_stats(int32_t pid, struct pb_field *ret_row)
{
	struct pb_field stats, row;

	for (size_t i = 0; i < fake.n; i++) {
		struct pb_field p = fake_packet_field(i);

		if (!fake_field(p.data, p.len, PB_TRACE_PACKET_PROCESS_STATS, 0, &stats))
			continue;
		for (unsigned n = 0;
		     fake_field(stats.data, stats.len, PB_PROCESS_STATS_PROCESSES, n, &row); n++)
			if ((int32_t)fake_u64(row, PB_PROCESS_STATS_PROCESS_PID) == pid)
				*ret_row = row;
	}
}

static void check_counters(const struct want_process *w)
{
	static const uint32_t fields[PROCESS_COUNTERS] = {
		PB_PROCESS_STATS_PROCESS_VM_SIZE_KB,
		PB_PROCESS_STATS_PROCESS_VM_RSS_KB,
		PB_PROCESS_STATS_PROCESS_RSS_ANON_KB,
		PB_PROCESS_STATS_PROCESS_RSS_FILE_KB,
		PB_PROCESS_STATS_PROCESS_RSS_SHMEM_KB,
		PB_PROCESS_STATS_PROCESS_VM_SWAP_KB,
		PB_PROCESS_STATS_PROCESS_VM_LOCKED_KB,
		PB_PROCESS_STATS_PROCESS_VM_HWM_KB,
		PB_PROCESS_STATS_PROCESS_OOM_SCORE_ADJ,
		PB_PROCESS_STATS_PROCESS_SMR_RSS_KB,
		PB_PROCESS_STATS_PROCESS_SMR_PSS_KB,
		PB_PROCESS_STATS_PROCESS_SMR_PSS_ANON_KB,
		PB_PROCESS_STATS_PROCESS_SMR_PSS_FILE_KB,
		PB_PROCESS_STATS_PROCESS_SMR_PSS_SHMEM_KB,
		PB_PROCESS_STATS_PROCESS_RUNTIME_USER_MODE,
		PB_PROCESS_STATS_PROCESS_RUNTIME_KERNEL_MODE,
		PB_PROCESS_STATS_PROCESS_SMR_SWAP_PSS_KB,
		PB_PROCESS_STATS_PROCESS_DMABUF_RSS_KB,
	};
	struct pb_field row = {0};

	find_stats(w->pid, &row);
	assert_non_null(row.data);
	for (unsigned i = 0; i < PROCESS_COUNTERS; i++) {
		assert_int_equal(fake_has(row, fields[i]), w->counters[i] != NONE);
		if (w->counters[i] != NONE)
			assert_true(fake_u64(row, fields[i]) == w->counters[i]);
	}
}

static const char *const io_tracks[PROC_IO_KEYS] = {
	"rchar", "wchar", "syscr", "syscw", "read_bytes", "write_bytes", "cancelled_write_bytes",
};

static void check_usage(const struct want_process *w)
{
	const struct read_track *k;
	bool told = false;
	char path[64];

	for (unsigned i = 0; i < PROC_IO_KEYS; i++) {
		snprintf(path, sizeof(path), "process %d/io.%s", w->pid, io_tracks[i]);
		assert_int_equal(read_count(path), w->io[i] != NONE);
		if (w->io[i] != NONE)
			assert_true((uint64_t)read_last(path) == w->io[i]);
	}
	snprintf(path, sizeof(path), "process %d/cgroup", w->pid);
	k = read_find(path);
	assert_non_null(k);
	for (size_t i = 0; i < fake.n; i++) {
		struct pb_field p = fake_packet_field(i), event;

		if (fake_field(p.data, p.len, PB_TRACE_PACKET_TRACK_EVENT, 0, &event) &&
		    fake_u64(event, PB_TRACK_EVENT_TRACK_UUID) == k->uuid)
			told |= fake_str_is(event, PB_TRACK_EVENT_NAME, 0, w->cgroup);
	}
	assert_true(told);
}

static void check_thread(const struct want_thread *w)
{
	struct pb_field row;
	char path[64];

	assert_int_equal(fake_thread(w->tid, &row), 1);
	assert_int_equal(fake_u64(row, PB_PROCESS_TREE_THREAD_TGID), w->pid);
	assert_true(fake_str_is(row, PB_PROCESS_TREE_THREAD_NAME, 0, w->name));
	snprintf(path, sizeof(path), "thread %d/%d/sched.run_ns", w->pid, w->tid);
	assert_true(read_last(path) == w->run_ns);
	snprintf(path, sizeof(path), "thread %d/%d/sched.wait_ns", w->pid, w->tid);
	assert_true(read_last(path) == w->wait_ns);
}

static void check(const struct machine *m)
{
	unsigned n_processes = 0, n_threads = 0, rows = 0;

	record(m->root);
	for (const struct want_process *w = m->processes; w->pid; w++, n_processes++) {
		check_names(w);
		check_counters(w);
		check_usage(w);
		rows += w->threads;
	}
	for (const struct want_thread *w = m->threads; w->tid; w++, n_threads++)
		check_thread(w);
	assert_int_equal(fake_rows(PB_PROCESS_TREE_PROCESSES, NULL, NULL), n_processes);
	assert_int_equal(fake_rows(PB_PROCESS_TREE_THREADS, NULL, NULL), n_threads);
	assert_int_equal(rows, n_threads);
	forget();
}

TEST(a_small_machine)
{
	check(&machines[0]);
}

TEST(a_server_of_128_processors)
{
	check(&machines[1]);
}

TEST(an_arm64_board)
{
	check(&machines[2]);
}

TEST(an_old_kernel)
{
	check(&machines[3]);
}

/* What a kernel does not have is no trouble with the others. */
TEST(files_that_the_kernel_lacks)
{
	record(machines[2].root);
	for (unsigned i = 0; i < PROC_FILES; i++) {
		assert_int_equal(files.errors[i].count, 0);
		assert_int_equal(files.errors[i].absent, i == PROC_FILE_IO);
	}
	forget();
	record(machines[3].root);
	for (unsigned i = 0; i < PROC_FILES; i++) {
		assert_int_equal(files.errors[i].count, 0);
		assert_int_equal(files.errors[i].absent, i == PROC_FILE_DMABUF_RSS);
	}
	forget();
}
