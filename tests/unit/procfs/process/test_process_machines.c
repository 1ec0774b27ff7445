/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "unit/client/read_tracks.h"
#include "unit/procfs/process_rig.h"

/*
 * The files of processes on machines of other kinds, in tests/data/procfs: a small one of today, a
 * server of 128 processors whose numbers need 64 bits, a board with Android's additions and without
 * I/O accounting, and a kernel of 2018. Each value is checked.
 */

/* Of a process that has read and written nothing. */
#define NO_IO "rchar 0 wchar 0 syscr 0 syscw 0 read_bytes 0 write_bytes 0 cancelled_write_bytes 0"

struct want_process {
	int32_t pid;
	const char *tree, *counters, *io, *cgroup;
};

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

static const struct want_process small_processes[] = {
	{2, "ppid 0 cmdline kthreadd is_comm 1 uid 0 start 240000000 kthread 1", "user 0 kernel 0",
	 NO_IO, "/"},
	{412,
	 "ppid 26567 cmdline bash|-c|x=$(seq 20000); kill -STOP $$ uid 0 start "
	 "4848720000000 kthread 0",
	 "size 4544 rss 3396 anon 484 file 2912 shmem 0 swap 0 locked 0 hwm 3396 oom 0 "
	 "smaps: rss 3396 pss 593 pss_anon 484 pss_file 109 pss_shmem 0 user 0 kernel 0 "
	 "swap_pss 0",
	 "rchar 123678 wchar 108894 syscr 49 syscw 26 read_bytes 0 write_bytes 0 "
	 "cancelled_write_bytes 0",
	 "/machine/guest"},
	{0},
};
static const struct want_thread small_threads[] = {
	{2, 2, 7536374, 7312860, "kthreadd"},
	{412, 412, 3529162, 22111512, "bash"},
	{0},
};

static const struct want_process server_processes[] = {
	{1049, "ppid 2 cmdline kworker/127:1H-kblockd is_comm 1 uid 0 start 11300000000",
	 "user 0 kernel 902100000000", NO_IO, "/"},
	{3355443,
	 "ppid 3355400 cmdline /opt/java/bin/java|-Xmx4096g|-jar|/srv/app.jar uid -2 "
	 "nspid 4711|1 start 400000000120000000",
	 "size 6442450944 rss 4294967300 anon 4294000000 file 900000 shmem 67300 swap "
	 "17179869184 locked 2147483648 hwm 5368709120 oom 1000 smaps: rss 4294967300 pss "
	 "4294900001 pss_anon 4294000000 pss_file 832702 pss_shmem 67299 user "
	 "9876543210000000 kernel 1234567890000000 swap_pss 17179869183",
	 "rchar 9007199254740993 wchar 4503599627370497 syscr 99999999999 syscw "
	 "88888888888 read_bytes 123456789012345 write_bytes 543210987654321 "
	 "cancelled_write_bytes 1099511627776",
	 "/kubepods.slice/kubepods-burstable.slice/cri-containerd-0a1b2c.scope"},
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
	{47, "ppid 2 cmdline kswapd0 is_comm 1 uid 0 start 310000000", "user 0 kernel 1500000000",
	 "", "/"},
	{1432, "ppid 801 cmdline com.example.ui uid 10045 start 22100000000",
	 "size 14876540 rss 181332 anon 91220 file 88000 shmem 2112 swap 40960 locked 4 "
	 "hwm 210020 oom -800 smaps: rss 181332 pss 120017 pss_anon 90001 pss_file 29015 "
	 "pss_shmem 1001 user 51200000000 kernel 17300000000 swap_pss 40100 dmabuf 7168",
	 "", "/uid_10045/pid_1432"},
	{0},
};
static const struct want_thread board_threads[] = {
	{47, 47, 0, 0, "kswapd0"},
	{1432, 1432, 68500000123, 2900000456, "system\nui"},
	{0},
};

static const struct want_process old_processes[] = {
	{2, "ppid 0 cmdline kthreadd is_comm 1 uid 0 start 70000000", "user 0 kernel 40000000",
	 NO_IO, "/"},
	{9, "ppid 2 cmdline rcu_sched is_comm 1 uid 0 start 90000000", "user 0 kernel 3110000000",
	 NO_IO, "/"},
	{612, "ppid 1 cmdline /usr/sbin/rsyslogd|-n|-iNONE uid 0 start 11900000000",
	 "size 263920 rss 4180 anon 1460 file 2720 shmem 0 swap 96 locked 0 hwm 5204 oom "
	 "-900 smaps: rss 4180 pss 2204 user 410000000 kernel 630000000 swap_pss 95",
	 "rchar 8400123 wchar 99001 syscr 1201 syscw 340 read_bytes 4120576 write_bytes "
	 "102400 cancelled_write_bytes 4096",
	 "/system.slice/rsyslog.service"},
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

/* Writers of the data source, in the order in which it makes them. */
enum { NAMES_WRITER, PROCESS_TRACKS_WRITER, THREAD_TRACKS_WRITER };

static void record(const char *root)
{
	env.proc_root = root;
	stats.record_process_age = true;
	stats.proc_stats_poll_ms = UINT32_MAX; /* one pass, at the start */
	stats.record_process_runtime = true;
	stats.scan_smaps_rollup = true;
	stats.record_process_dmabuf_rss = true;
	stats.record_process_io = true;
	stats.record_thread_sched = true;
	stats.record_process_cgroup = true;
	create_and_start();
	run_until_idle();
	flush_and_run();
}

/* ---- what is in the trace ---- */

static const struct fake_word counter_words[] = {
	FAKE_WORD(PB_PROCESS_STATS_PROCESS_VM_SIZE_KB, "size"),
	FAKE_WORD(PB_PROCESS_STATS_PROCESS_VM_RSS_KB, "rss"),
	FAKE_WORD(PB_PROCESS_STATS_PROCESS_RSS_ANON_KB, "anon"),
	FAKE_WORD(PB_PROCESS_STATS_PROCESS_RSS_FILE_KB, "file"),
	FAKE_WORD(PB_PROCESS_STATS_PROCESS_RSS_SHMEM_KB, "shmem"),
	FAKE_WORD(PB_PROCESS_STATS_PROCESS_VM_SWAP_KB, "swap"),
	FAKE_WORD(PB_PROCESS_STATS_PROCESS_VM_LOCKED_KB, "locked"),
	FAKE_WORD(PB_PROCESS_STATS_PROCESS_VM_HWM_KB, "hwm"),
	FAKE_WORD(PB_PROCESS_STATS_PROCESS_OOM_SCORE_ADJ, "oom"),
	FAKE_WORD(PB_PROCESS_STATS_PROCESS_SMR_RSS_KB, "smaps: rss"),
	FAKE_WORD(PB_PROCESS_STATS_PROCESS_SMR_PSS_KB, "pss"),
	FAKE_WORD(PB_PROCESS_STATS_PROCESS_SMR_PSS_ANON_KB, "pss_anon"),
	FAKE_WORD(PB_PROCESS_STATS_PROCESS_SMR_PSS_FILE_KB, "pss_file"),
	FAKE_WORD(PB_PROCESS_STATS_PROCESS_SMR_PSS_SHMEM_KB, "pss_shmem"),
	FAKE_WORD(PB_PROCESS_STATS_PROCESS_SMR_SWAP_PSS_KB, "swap_pss"),
	FAKE_WORD(PB_PROCESS_STATS_PROCESS_RUNTIME_USER_MODE, "user"),
	FAKE_WORD(PB_PROCESS_STATS_PROCESS_RUNTIME_KERNEL_MODE, "kernel"),
	FAKE_WORD(PB_PROCESS_STATS_PROCESS_DMABUF_RSS_KB, "dmabuf"),
	{0},
};

static struct pb_field stats_of(int32_t pid)
{
	struct pb_field row = {0};

	assert_int_equal(stats_rows(pid, &row), 1);
	return row;
}

static const char *io_of(int32_t pid)
{
	static const char *const keys[] = {
		"rchar",
		"wchar",
		"syscr",
		"syscw",
		"read_bytes",
		"write_bytes",
		"cancelled_write_bytes",
	};
	static char text[256];
	char path[64];
	size_t at = 0;

	text[0] = '\0';
	for (unsigned i = 0; i < ARRAY_SIZE(keys); i++) {
		snprintf(path, sizeof(path), "process %d/io.%s", pid, keys[i]);
		if (read_count(path))
			at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%s %" PRId64,
					       at ? " " : "", keys[i], read_last(path));
	}
	return text;
}

static void check_cgroup(int32_t pid, const char *cgroup)
{
	const struct read_track *k;
	bool found = false;
	char path[64];

	snprintf(path, sizeof(path), "process %d/cgroup", pid);
	k = read_find(path);
	assert_non_null(k);
	for (size_t i = 0; i < fake.n; i++) {
		struct pb_field p = fake_packet_field(i), event;

		if (fake_field(p.data, p.len, PB_TRACE_PACKET_TRACK_EVENT, 0, &event) &&
		    fake_u64(event, PB_TRACK_EVENT_TRACK_UUID) == k->uuid)
			found |= fake_str_is(event, PB_TRACK_EVENT_NAME, 0, cgroup);
	}
	assert_true(found);
}

static void check(const struct machine *m)
{
	unsigned processes = 0, threads = 0;
	struct pb_field row;
	char text[128];

	record(m->root);
	read_tracks_of(PROCESS_TRACKS_WRITER);
	for (const struct want_process *w = m->processes; w->pid; w++, processes++) {
		assert_process(w->pid, 1, w->tree);
		assert_string_equal(fake_words(stats_of(w->pid), counter_words), w->counters);
		assert_string_equal(io_of(w->pid), w->io);
		check_cgroup(w->pid, w->cgroup);
	}
	read_tracks_of(THREAD_TRACKS_WRITER);
	for (const struct want_thread *w = m->threads; w->tid; w++, threads++) {
		assert_int_equal(find_rows(PB_TRACE_PACKET_PROCESS_TREE, PB_PROCESS_TREE_THREADS,
					   PB_PROCESS_TREE_THREAD_TID, w->tid, &row),
				 1);
		assert_int_equal(fake_u64(row, PB_PROCESS_TREE_THREAD_TGID), w->pid);
		assert_true(fake_str_is(row, PB_PROCESS_TREE_THREAD_NAME, 0, w->name));
		snprintf(text, sizeof(text), "thread %d/%d/sched.run_ns", w->pid, w->tid);
		assert_true(read_last(text) == w->run_ns);
		snprintf(text, sizeof(text), "thread %d/%d/sched.wait_ns", w->pid, w->tid);
		assert_true(read_last(text) == w->wait_ns);
	}
	assert_int_equal(n_processes(), processes);
	assert_int_equal(n_threads(), threads);
}

FIXTURE_TEST(a_small_machine)
{
	check(&machines[0]);
}

FIXTURE_TEST(a_server_of_128_processors)
{
	check(&machines[1]);
}

FIXTURE_TEST(an_arm64_board)
{
	check(&machines[2]);
}

FIXTURE_TEST(an_old_kernel)
{
	check(&machines[3]);
}

/* The trace names the one file that the kernel lacks; the others have no errors. */
static void check_absent(const struct machine *m, const char *name)
{
	struct pb_field unread = {0};

	record(m->root);
	assert_int_equal(find_rows(PB_TRACE_PACKET_PROCESS_STATS, PB_PROCESS_STATS_UNREAD_FILES, 0,
				   0, &unread),
			 1);
	assert_true(fake_str_is(unread, PB_PROCESS_STATS_UNREAD_FILE_NAME, 0, name));
	assert_int_equal(fake_u64(unread, PB_PROCESS_STATS_UNREAD_FILE_ERROR), ENOENT);
	assert_int_equal(fake_u64(unread, PB_PROCESS_STATS_UNREAD_FILE_COUNT), 0);
}

FIXTURE_TEST(an_arm64_board_without_io_accounting)
{
	check_absent(&machines[2], "io");
}

FIXTURE_TEST(an_old_kernel_without_dmabuf_counters)
{
	check_absent(&machines[3], "dmabuf_rss");
}
