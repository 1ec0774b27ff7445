/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/procfs/writer_rig.h"

#include <signal.h>
#include <sys/wait.h>

#include "base/core/clock.h"
#include "base/system/outside_reads.h"
#include "procfs/process/process_queue.h"

static struct process_fds fds;

SETUP
{
	writer_rig_begin();
	fds = (struct process_fds){0};
	pid_relations_put_process(&writer.relations, 70, 1);
	pid_relations_put_thread(&writer.relations, 71, 70);
}

TEARDOWN
{
	process_fds_deinit(&fds);
	writer_rig_end();
}

static void lead(int tid, int fd, const char *to)
{
	char path[256];

	proc_put("", 0, "%d/fd/make", tid); /* the folder */
	snprintf(path, sizeof(path), "%s/%d/fd/%d", proc_root, tid, fd);
	unlink(path);
	if (to && symlink(to, path) < 0)
		abort();
}

static bool one_slice(void)
{
	struct time_slice slice = time_slice_start(stepping);
	bool more = process_fds_run(&fds, &writer, &slice);

	process_packet_end(&packet);
	return more;
}

static void see(int32_t tid, int32_t fd)
{
	process_fds_add(&fds, &(struct metadata_fd){tid, fd});
}

/* How many rows of that process say that the descriptor leads there. */
static unsigned told(int32_t pid, uint64_t fd, const char *path)
{
	struct pb_field stats, row, f;
	unsigned n = 0;

	for (size_t i = 0; i < fake.n; i++) {
		struct pb_field p = fake_packet_field(i);

		if (!fake_field(p.data, p.len, PB_TRACE_PACKET_PROCESS_STATS, 0, &stats))
			continue;
		for (unsigned r = 0;
		     fake_field(stats.data, stats.len, PB_PROCESS_STATS_PROCESSES, r, &row); r++) {
			assert_true(
				fake_field(row.data, row.len, PB_PROCESS_STATS_PROCESS_FDS, 0, &f));
			n += (int32_t)fake_u64(row, PB_PROCESS_STATS_PROCESS_PID) == pid &&
			     fake_u64(f, PB_PROCESS_STATS_FD_INFO_FD) == fd &&
			     fake_str_is(f, PB_PROCESS_STATS_FD_INFO_PATH, 0, path);
		}
	}
	return n;
}

FIXTURE_TEST(the_target_of_a_descriptor)
{
	lead(70, 3, "/etc/passwd");
	lead(71, 4, "socket:[1]");
	see(70, 3);
	see(71, 4); /* a thread's: its process */
	see(70, 3);
	assert_false(one_slice());
	assert_int_equal(told(70, 3, "/etc/passwd"), 1);
	assert_int_equal(told(70, 4, "socket:[1]"), 1);
	assert_int_equal(fake.n, 1);
}

FIXTURE_TEST(once_for_as_long_as_it_leads_there)
{
	lead(70, 3, "/a");
	for (int i = 0; i < 3; i++) {
		see(70, 3);
		assert_false(one_slice());
	}
	assert_int_equal(told(70, 3, "/a"), 1);
	lead(70, 3, "/b");
	see(70, 3);
	see(71, 3);
	assert_false(one_slice());
	assert_int_equal(told(70, 3, "/b"), 1);
	process_fds_clear(&fds);
	see(70, 3);
	assert_false(one_slice());
	assert_int_equal(told(70, 3, "/b"), 2);
}

FIXTURE_TEST(another_process_or_program)
{
	lead(70, 3, "/a");
	for (unsigned round = 1; round <= 3; round++) {
		see(70, 3);
		see(71, 3);
		assert_false(one_slice());
		assert_int_equal(told(70, 3, "/a"), round);
		process_fds_renew(&fds, 71); /* not its number */
		process_fds_renew(&fds, 70);
	}
	assert_int_equal(fds.n_entries, 1);
}

FIXTURE_TEST(closed_descriptors_and_exited_processes)
{
	lead(70, 3, NULL);
	see(70, 3);
	see(99, 3); /* nobody knows whose it is */
	lead(99, 3, "/a");
	see(71, 3);
	assert_false(one_slice());
	assert_int_equal(fake.n, 0);
}

FIXTURE_TEST(a_long_path)
{
	char path[4000];

	memset(path, 'x', sizeof(path));
	path[sizeof(path) - 1] = '\0';
	lead(70, 3, path);
	see(70, 3);
	assert_false(one_slice());
	assert_int_equal(told(70, 3, path), 1);
}

FIXTURE_TEST(many_of_them)
{
	for (int i = 0; i < 3000; i++)
		lead(70, i, "/a");
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < 3000; i++)
			see(70, i);
		step_ns = TIME_SLICE_NS / 1000;
		assert_true(one_slice());
		while (one_slice())
			;
	}
	for (int i = 0; i < 3000; i += 100)
		assert_int_equal(told(70, (uint64_t)i, "/a"), 1);
	assert_int_equal(fds.n_entries, 3000);
	assert_true(fds.table_cap >= 2 * fds.n_entries);
}

FIXTURE_TEST(a_target_that_cannot_be_read_in_time_is_read_again)
{
	struct time_slice slice = time_slice_start(clock_mono_ns);
	int status;

	lead(70, 3, "/a");
	assert_int_equal(outside_reads_start(), 0);
	assert_int_equal(kill(outside_reads_pid(), SIGSTOP), 0);
	waitpid(outside_reads_pid(), &status, WUNTRACED);
	for (unsigned i = 0; i < PROCESS_FDS_UNREAD_MAX; i++)
		see(70, 3);
	see(71, 3);
	while (one_slice())
		;
	assert_int_equal(fds.n_unread, PROCESS_FDS_UNREAD_MAX);
	assert_int_equal(fds.dropped, 1);
	process_fds_read_again(&fds, &writer, &slice);
	assert_int_equal(fds.n_unread, PROCESS_FDS_UNREAD_MAX);
	assert_int_equal(fake.n, 0);
	assert_int_equal(kill(outside_reads_pid(), SIGCONT), 0);
	while (fds.n_unread > 0) {
		slice = time_slice_start(clock_mono_ns);
		process_fds_read_again(&fds, &writer, &slice);
	}
	process_packet_end(&packet);
	assert_int_equal(told(70, 3, "/a"), 1);
}

FIXTURE_TEST(more_than_may_wait)
{
	for (int32_t i = 0; i < (int32_t)PROCESS_FDS_MAX + 10; i++)
		see(70, i);
	assert_int_equal(fds.dropped, 10);
	assert_int_equal(fds.n - fds.next, PROCESS_FDS_MAX);
	assert_false(one_slice());
	assert_true(process_fds_is_empty(&fds));
}
