/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/procfs/machine_lines.h"
#include "unit/procfs/process_rig.h"

/*
 * The files of processes on machines of other kinds, in tests/data/procfs: a small one of today, a
 * server of 128 processors whose numbers need 64 bits, a board with Android's additions and without
 * I/O accounting, and a kernel of 2018, which lacks a file too. Each value is checked.
 */

/* Writers of the data source, in the order in which it makes them. */
enum { NAMES_WRITER, PROCESS_TRACKS_WRITER, THREAD_TRACKS_WRITER };

static FILE *out;

/* A line for each message in a field of a message in a field of the packets. */
static void put_messages(uint32_t message, uint32_t field, const char *name)
{
	struct pb_field m, row;

	for (size_t i = 0; i < fake.n; i++) {
		struct pb_field p = fake_packet_field(i);

		if (!fake_field(p.data, p.len, message, 0, &m))
			continue;
		for (unsigned k = 0; fake_field(m.data, m.len, field, k, &row); k++) {
			fprintf(out, "%s: ", name);
			for (const char *c = fake_fields(row, name, 0); *c; c++)
				fputs(*c == '\n' ? "\\n" : (char[]){*c, '\0'}, out);
			fputc('\n', out);
		}
	}
}

/* Values of the tracks of a writer, and the names of its slices: the control groups. */
static void put_tracks(unsigned writer)
{
	struct pb_field event, name;

	read_tracks_of(writer);
	machine_put_values(out);
	for (size_t i = 0; i < fake.n; i++) {
		struct pb_field p = fake_packet_field(i);

		if (fake.packets[i].writer != writer ||
		    !fake_field(p.data, p.len, PB_TRACE_PACKET_TRACK_EVENT, 0, &event) ||
		    !fake_field(event.data, event.len, PB_TRACK_EVENT_NAME, 0, &name))
			continue;
		machine_put_path(out, read_by_uuid(fake_u64(event, PB_TRACK_EVENT_TRACK_UUID)));
		fprintf(out, " %.*s\n", (int)name.len, (const char *)name.data);
	}
}

static void check(const char *machine)
{
	char root[64], *all;
	size_t len;

	snprintf(root, sizeof(root), "tests/data/procfs/%s", machine);
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
	out = open_memstream(&all, &len);
	put_messages(PB_TRACE_PACKET_PROCESS_TREE, PB_PROCESS_TREE_PROCESSES,
		     "ProcessTree.Process");
	put_messages(PB_TRACE_PACKET_PROCESS_TREE, PB_PROCESS_TREE_THREADS, "ProcessTree.Thread");
	put_messages(PB_TRACE_PACKET_PROCESS_STATS, PB_PROCESS_STATS_PROCESSES,
		     "ProcessStats.Process");
	put_messages(PB_TRACE_PACKET_PROCESS_STATS, PB_PROCESS_STATS_UNREAD_FILES,
		     "ProcessStats.UnreadFile");
	put_tracks(PROCESS_TRACKS_WRITER);
	put_tracks(THREAD_TRACKS_WRITER);
	fclose(out);
	machine_check(all, machine, "expected.processes", "\n", 10);
	free(all);
}

FIXTURE_TEST(a_small_machine)
{
	check("linux-6.18");
}

FIXTURE_TEST(a_server_of_128_processors)
{
	check("server-128");
}

FIXTURE_TEST(an_arm64_board_without_io_accounting)
{
	check("arm64-board");
}

FIXTURE_TEST(an_old_kernel_without_dmabuf_counters)
{
	check("linux-4.19");
}
