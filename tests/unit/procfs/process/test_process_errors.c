/* SPDX-License-Identifier: Apache-2.0 */

#include "unit/fixture.h"
#include "unit/procfs/fake_producer.h"
#include "procfs/process/process_packet.h"
#include "unit/procfs/told.h"

static struct process_packet packet;
static struct process_errors errors;
static struct proc_files files;

SETUP
{
	fake_reset();
	errors = (struct process_errors){0};
	files = (struct proc_files){0};
	packet = (struct process_packet){.w = writer_new(NULL, 1, WRITER_STALL)};
}

TEARDOWN
{
	writer_free(packet.w);
	fake_reset();
}

FIXTURE_TEST(nothing_is_not_written)
{
	process_errors_log(&errors, &files);
	process_errors_write(&errors, &files, &packet);
	assert_int_equal(fake.n, 0);
	assert_int_equal(errors.logged, 0);
}

FIXTURE_TEST(each_kind_of_file_is_logged_once)
{
	files.errors[PROC_FILE_IO] = (struct proc_errors){.count = 3, .error = -EACCES};
	process_errors_log(&errors, &files);
	assert_int_equal(errors.logged, 1u << PROC_FILE_IO);
	files.errors[PROC_FILE_DMABUF_RSS] = (struct proc_errors){.absent = true, .error = -ENOENT};
	process_errors_log(&errors, &files);
	assert_int_equal(errors.logged, 1u << PROC_FILE_IO | 1u << PROC_FILE_DMABUF_RSS);
}

FIXTURE_TEST(all_are_counted_in_the_trace)
{
	struct pb_field p, stats, row;

	files.errors[PROC_FILE_IO] = (struct proc_errors){.count = 3, .error = -EACCES};
	files.errors[PROC_FILE_DMABUF_RSS] = (struct proc_errors){.absent = true, .error = -ENOENT};
	process_errors_write(&errors, &files, &packet);
	process_errors_write(&errors, &files, &packet); /* nothing new */
	assert_int_equal(fake.n, 1);
	files.errors[PROC_FILE_IO].count = 4;
	process_errors_write(&errors, &files, &packet);
	assert_int_equal(fake.n, 2);

	p = fake_packet_field(1);
	assert_true(fake_field(p.data, p.len, PB_TRACE_PACKET_PROCESS_STATS, 0, &stats));
	assert_int_equal(fake_count(stats.data, stats.len, PB_PROCESS_STATS_UNREAD_FILES), 2);
	assert_true(fake_field(stats.data, stats.len, PB_PROCESS_STATS_UNREAD_FILES, 0, &row));
	assert_true(fake_str_is(row, PB_PROCESS_STATS_UNREAD_FILE_NAME, 0, "dmabuf_rss"));
	assert_int_equal(fake_u64(row, PB_PROCESS_STATS_UNREAD_FILE_ERROR), ENOENT);
	assert_int_equal(fake_u64(row, PB_PROCESS_STATS_UNREAD_FILE_COUNT), 0);
	assert_true(fake_field(stats.data, stats.len, PB_PROCESS_STATS_UNREAD_FILES, 1, &row));
	assert_true(fake_str_is(row, PB_PROCESS_STATS_UNREAD_FILE_NAME, 0, "io"));
	assert_int_equal(fake_u64(row, PB_PROCESS_STATS_UNREAD_FILE_ERROR), EACCES);
	assert_int_equal(fake_u64(row, PB_PROCESS_STATS_UNREAD_FILE_COUNT), 4);
}

FIXTURE_TEST(refused_tracks_are_logged_and_counted)
{
	struct pb_field p, stats;

	errors.refused_tracks = 7;
	told_begin();
	process_errors_log(&errors, &files);
	errors.refused_tracks = 9;
	process_errors_log(&errors, &files);
	assert_int_equal(told_end("counter tracks; the excess is dropped"), 1);
	process_errors_write(&errors, &files, &packet);
	process_errors_write(&errors, &files, &packet);
	assert_int_equal(fake.n, 1);
	p = fake_packet_field(0);
	assert_true(fake_field(p.data, p.len, PB_TRACE_PACKET_PROCESS_STATS, 0, &stats));
	assert_int_equal(fake_u64(stats, PB_PROCESS_STATS_REFUSED_TRACKS), 9);
	assert_false(fake_has(stats, PB_PROCESS_STATS_UNREAD_FILES));
}
