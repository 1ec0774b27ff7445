/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/fixture.h"
#include "unit/procfs/fake_proc.h"
#include "unit/procfs/fake_producer.h"
#include "procfs/process/process_counters.h"
#include "procfs/process/process_packet.h"
#include "unit/procfs/sleeper.h"

#define RECORDED "tests/data/procfs/recorded"

static struct proc_files files;
static struct process_packet packet;
static const struct process_counters_options all = {true, true, true}, none;

SETUP
{
	fake_reset();
	proc_new();
	packet = (struct process_packet){.w = writer_new(NULL, 1, WRITER_STALL)};
	assert_int_equal(proc_files_init(&files, proc_root), 0);
}

TEARDOWN
{
	proc_files_deinit(&files);
	writer_free(packet.w);
	fake_reset();
	proc_remove_all();
}

static struct process_counters read_one(struct proc_files *f, int32_t pid,
					const struct process_counters_options *o, bool *ret_kthread)
{
	struct process_counter_files s = PROCESS_COUNTER_FILES(pid);
	struct process_counters c;

	assert_int_equal(process_counters_read(f, &s, o, &c), 0);
	*ret_kthread = s.kthread > 0;
	process_counter_files_deinit(&s);
	return c;
}

FIXTURE_TEST(every_counter)
{
	static const char vm[] = "VmSize:\t1 kB\nVmLck:\t7 kB\nVmHWM:\t8 kB\nVmRSS:\t2 kB\n"
				 "RssAnon:\t3 kB\nRssFile:\t4 kB\nRssShmem:\t5 kB\nVmSwap:\t6 kB\n";
	static const char smaps[] = "Rss: 10 kB\nPss: 11 kB\nPss_Anon: 12 kB\nPss_File: 13 kB\n"
				    "Pss_Shmem: 14 kB\nSwapPss: 15 kB\n";
	static const struct {
		uint32_t field;
		uint64_t v;
	} want[] = {
		{PB_PROCESS_STATS_PROCESS_PID, 70},
		{PB_PROCESS_STATS_PROCESS_VM_SIZE_KB, 1},
		{PB_PROCESS_STATS_PROCESS_VM_RSS_KB, 2},
		{PB_PROCESS_STATS_PROCESS_RSS_ANON_KB, 3},
		{PB_PROCESS_STATS_PROCESS_RSS_FILE_KB, 4},
		{PB_PROCESS_STATS_PROCESS_RSS_SHMEM_KB, 5},
		{PB_PROCESS_STATS_PROCESS_VM_SWAP_KB, 6},
		{PB_PROCESS_STATS_PROCESS_VM_LOCKED_KB, 7},
		{PB_PROCESS_STATS_PROCESS_VM_HWM_KB, 8},
		{PB_PROCESS_STATS_PROCESS_OOM_SCORE_ADJ, (uint64_t)-900},
		{PB_PROCESS_STATS_PROCESS_SMR_RSS_KB, 10},
		{PB_PROCESS_STATS_PROCESS_SMR_PSS_KB, 11},
		{PB_PROCESS_STATS_PROCESS_SMR_PSS_ANON_KB, 12},
		{PB_PROCESS_STATS_PROCESS_SMR_PSS_FILE_KB, 13},
		{PB_PROCESS_STATS_PROCESS_SMR_PSS_SHMEM_KB, 14},
		{PB_PROCESS_STATS_PROCESS_SMR_SWAP_PSS_KB, 15},
		{PB_PROCESS_STATS_PROCESS_DMABUF_RSS_KB, 3},
	};
	const uint64_t tick = 1000000000u / (uint64_t)sysconf(_SC_CLK_TCK);
	struct process_counters c;
	struct pb_field p, stats, row;
	bool kthread;

	proc_put_task((struct proc_task){.pid = 70, .name = "a) 1 (", .more = vm});
	proc_put(smaps, sizeof(smaps) - 1, "70/smaps_rollup");
	proc_put("-900\n", 5, "70/oom_score_adj");
	proc_put("4095\n", 5, "70/dmabuf_rss");
	c = read_one(&files, 70, &all, &kthread);
	assert_false(kthread);
	assert_int_equal(c.has, (1u << PROCESS_COUNTERS) - 1);

	process_packet_next(&packet);
	process_counters_write(&packet, 70, c.v, c.has);
	process_packet_end(&packet);
	p = fake_packet_field(0);
	assert_true(fake_field(p.data, p.len, PB_TRACE_PACKET_PROCESS_STATS, 0, &stats));
	assert_true(fake_field(stats.data, stats.len, PB_PROCESS_STATS_PROCESSES, 0, &row));
	for (size_t i = 0; i < ARRAY_SIZE(want); i++)
		assert_true(fake_u64(row, want[i].field) == want[i].v);
	assert_true(fake_u64(row, PB_PROCESS_STATS_PROCESS_RUNTIME_USER_MODE) == 7 * tick);
	assert_true(fake_u64(row, PB_PROCESS_STATS_PROCESS_RUNTIME_KERNEL_MODE) == 8 * tick);
}

FIXTURE_TEST(only_requested_counters_are_read)
{
	struct process_counters c;
	struct pb_field p, stats, row;
	bool kthread;

	proc_put_task((struct proc_task){.pid = 70, .name = "x", .more = "VmSize:\t1 kB\n"});
	proc_put("Rss: 10 kB\n", 11, "70/smaps_rollup");
	proc_put("4095\n", 5, "70/dmabuf_rss");
	c = read_one(&files, 70, &none, &kthread);
	assert_int_equal(c.has, 1u << COUNTER_VM_SIZE);
	process_packet_next(&packet);
	process_counters_write(&packet, 70, c.v, 0);
	process_packet_end(&packet);
	assert_int_equal(fake.n, 0);
	c = read_one(&files, 70, &all, &kthread);
	process_counters_write(&packet, 70, c.v, 1u << COUNTER_SMR_RSS);
	process_packet_end(&packet);
	p = fake_packet_field(0);
	assert_true(fake_field(p.data, p.len, PB_TRACE_PACKET_PROCESS_STATS, 0, &stats));
	assert_true(fake_field(stats.data, stats.len, PB_PROCESS_STATS_PROCESSES, 0, &row));
	assert_int_equal(fake_u64(row, PB_PROCESS_STATS_PROCESS_SMR_RSS_KB), 10);
	assert_false(fake_has(row, PB_PROCESS_STATS_PROCESS_VM_SIZE_KB));
}

FIXTURE_TEST(kernel_threads_have_no_memory)
{
	static const struct process_counters_options runtime = {.runtime = true};
	struct process_counters c;
	struct proc_files recorded;
	bool kthread;

	assert_int_equal(proc_files_init(&recorded, RECORDED), 0);
	c = read_one(&recorded, 2, &runtime, &kthread);
	assert_true(kthread);
	assert_int_equal(c.has, 1u << COUNTER_RUNTIME_USER | 1u << COUNTER_RUNTIME_KERNEL);
	c = read_one(&recorded, 28864, &none, &kthread);
	assert_false(kthread);
	assert_int_equal(c.has & 0xff, 0xff);
	proc_files_deinit(&recorded);

	/* Before Linux 6.4: by its parent. */
	proc_put("Name:\tx\nTgid:\t9\nPid:\t9\nPPid:\t2\n", 32, "9/status");
	(void)read_one(&files, 9, &none, &kthread);
	assert_true(kthread);
	/* A zombie is none. */
	proc_put_task((struct proc_task){.pid = 70, .name = "x"});
	c = read_one(&files, 70, &none, &kthread);
	assert_false(kthread);
	assert_int_equal(c.has, 0);
}

FIXTURE_TEST(a_kernel_thread_that_runs_a_program_has_memory_then)
{
	struct process_counter_files s = PROCESS_COUNTER_FILES(9);
	struct process_counters c;
	unsigned reads = 0;

	proc_put("Name:\tx\nTgid:\t9\nPid:\t9\nPPid:\t2\n", 32, "9/status");
	assert_int_equal(process_counters_read(&files, &s, &none, &c), 0);
	assert_int_equal(c.has, 0);
	proc_put_task((struct proc_task){.pid = 9, .name = "x", .more = "VmSize:\t1 kB\n"});
	do
		assert_int_equal(process_counters_read(&files, &s, &none, &c), 0);
	while (!c.has && ++reads < 2 * PROCESS_KTHREAD_READS);
	assert_int_equal(reads, PROCESS_KTHREAD_READS); /* it costs one read less meanwhile */
	assert_int_equal(c.has, 1u << COUNTER_VM_SIZE);
	process_counter_files_deinit(&s);
}

FIXTURE_TEST(a_process_that_has_exited)
{
	struct process_counters c;
	bool kthread = true;

	c = read_one(&files, 70, &all, &kthread);
	assert_int_equal(c.has, 0);
	assert_false(kthread);
}

/* What status said is said again without reading it, until the process runs. */
FIXTURE_TEST(memory_of_a_sleeping_process_is_not_read_again)
{
	const uint32_t memory = 1u << COUNTER_VM_SIZE | 1u << COUNTER_VM_RSS | 1u << COUNTER_VM_HWM;
	struct process_counters c = {0}, first;
	struct process_counter_files s;
	struct sleeper sleeper = {0};
	struct proc_files real;

	assert_int_equal(proc_files_init(&real, "/proc"), 0);
	if (!real.own_numbers)
		skip();
	assert_int_equal(sleeper_start(&sleeper), 0);
	s = PROCESS_COUNTER_FILES(sleeper.pid);
	assert_int_equal(process_counters_read(&real, &s, &none, &first), 0);
	assert_int_equal(first.has & memory, memory);
	assert_int_equal(first.same, 0);
	for (unsigned i = 0; i < 1000000 && !c.same; i++)
		assert_int_equal(process_counters_read(&real, &s, &none, &c), 0);
	assert_int_equal(c.same & memory, memory);
	assert_int_equal(c.has, first.has);
	assert_int_equal(c.same & 1u << COUNTER_OOM_SCORE_ADJ, 0);
	assert_false(proc_cached_is_open(&s.status));

	assert_int_equal(sleeper_ask(&sleeper), 0);
	assert_int_equal(process_counters_read(&real, &s, &none, &c), 0);
	assert_int_equal(c.same, 0);
	assert_true(c.v[COUNTER_VM_RSS] >= first.v[COUNTER_VM_RSS] + SLEEPER_BYTES / 1024);
	sleeper_end(&sleeper);
	process_counter_files_deinit(&s);
	proc_files_deinit(&real);
}
