/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of a ring as one trace, without a running recorder. */
#include <sys/time.h>
#include <time.h>

#include "base/system/fs.h"
#include "base/text/str.h"
#include "cli/recorder/recorder_dir.h"
#include "cli/recorder/recorder_snapshot.h"
#include "cli/recorder/recorder_state.h"
#include "cli/trace/trace_file.h"
#include "gen/fields.h"
#include "unit/temp_dir.h"
#include "unit/test.h"
#include "wire/pb_dec.h"
#include "wire/pb_read.h"

#define DIR_TEST(name) TEST_STATE(name, temp_dir_setup, temp_dir_teardown, char *dir)

static struct recorder_snapshot snapshot;
static struct err_text e;

/* A packet with a timestamp below 128, and "tracing started" or not. */
static void put_packet(struct strbuf *b, uint8_t ts, bool started)
{
	const uint8_t packet[] = {0x0a, 2, 0x40, ts};
	const uint8_t begin[] = {0x0a, 7, 0x40, ts, 0xaa, 0x04, 2, 0x10, 1};

	if (started)
		strbuf_add(b, begin, sizeof(begin));
	else
		strbuf_add(b, packet, sizeof(packet));
}

/* A part with two packets, that ended so many seconds ago. */
static void put_part(const char *dir, const char *boot, unsigned session, unsigned number,
		     uint8_t ts, time_t age, bool cut)
{
	struct recorder_part part = {.session = session, .number = number};
	const struct timeval end = {.tv_sec = time(NULL) - age};
	struct strbuf b = {0};
	char path[PATH_MAX];
	int fd;

	snprintf(part.boot, sizeof(part.boot), "%s", boot);
	assert_int_equal(recorder_part_path(dir, &part, path), 0);
	put_packet(&b, ts, number == 1);
	put_packet(&b, ts + 1, false);
	fd = open(path, O_WRONLY | O_CREAT, 0600);
	assert_int_equal(fs_write_all(fd, b.s, b.len - cut), 0);
	close(fd);
	assert_int_equal(utimes(path, (struct timeval[]){end, end}), 0);
	strbuf_deinit(&b);
}

/* The timestamps of the snapshot: "1s 2 3n", with s for "tracing started", n for "next session started". */
static const char *times(void *const *state, uint64_t last_s)
{
	const char *dir = *state, *path = temp_dir_path(state, 0, "out.pftrace");
	static char text[256];
	struct trace_file *file;
	struct strbuf b = {0};
	struct pb_field packet;
	struct pb_dec d;
	size_t n = 0;
	int r;

	text[0] = '\0';
	unlink(path);
	assert_int_equal(trace_file_open(path, &e, &file), 0);
	r = recorder_snapshot_write(dir, last_s * 1000000000, file, &snapshot, &e);
	if (r == 0)
		r = trace_file_save(file, &e);
	trace_file_free(file);
	if (r < 0)
		return e.text;
	assert_int_equal(fs_read_file(path, 1 << 20, &b), 0);
	assert_int_equal(b.len, snapshot.bytes);
	pb_dec_init(&d, b.s, b.len);
	while (pb_dec_next(&d, &packet)) {
		struct pb_field event = pb_inner_field(&packet, PB_TRACE_PACKET_SERVICE_EVENT);
		bool started = false, next = false;
		uint64_t ts = 0;

		assert_true(pb_read(&packet, PB_TO(PB_TRACE_PACKET_TIMESTAMP, &ts)));
		if (event.id)
			assert_true(pb_read(
				&event, PB_TO(PB_TRACING_SERVICE_EVENT_TRACING_STARTED, &started),
				PB_TO(PB_TRACING_SERVICE_EVENT_NEXT_SESSION_STARTED, &next)));
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%u%s%s", n ? " " : "",
				      (unsigned)ts, started ? "s" : "", next ? "n" : "");
	}
	assert_true(pb_dec_ok(&d));
	strbuf_deinit(&b);
	return text;
}

DIR_TEST(all_parts_of_the_newest_boot)
{
	put_part(dir, "0000000a", 1, 1, 90, 500, false); /* another boot */
	put_part(dir, "0000000b", 2, 1, 1, 400, false);
	put_part(dir, "0000000b", 2, 2, 3, 300, false);
	put_part(dir, "0000000b", 3, 1, 5, 200, false);
	assert_string_equal(times((void *[]){dir}, 0), "1s 2 3 4 5n 6");
	assert_int_equal(snapshot.parts, 3);
	assert_false(snapshot.is_live);
	assert_string_equal(snapshot.not_live.text, "");
}

DIR_TEST(the_last_seconds_begin_with_a_whole_part)
{
	put_part(dir, "0000000b", 2, 1, 1, 400, false);
	put_part(dir, "0000000b", 2, 2, 3, 300, false);
	put_part(dir, "0000000b", 3, 1, 5, 200, false);
	assert_string_equal(times((void *[]){dir}, 350), "3 4 5n 6");
	assert_string_equal(times((void *[]){dir}, 250), "5s 6");
	assert_non_null(strstr(times((void *[]){dir}, 100), "has no data of the last 100 s"));
}

DIR_TEST(a_part_that_was_cut_by_a_kill_has_its_whole_packets)
{
	put_part(dir, "0000000b", 1, 1, 1, 20, true);
	put_part(dir, "0000000b", 2, 2, 3, 10, false);
	assert_string_equal(times((void *[]){dir}, 0), "1s 3 4");
}

DIR_TEST(an_empty_part_and_one_of_nonsense_do_no_harm)
{
	struct recorder_part part = {.session = 2, .number = 1, .boot = "0000000b"};
	char path[PATH_MAX];
	FILE *f;

	put_part(dir, "0000000b", 1, 1, 1, 20, false);
	assert_int_equal(recorder_part_path(dir, &part, path), 0);
	f = fopen(path, "w");
	fwrite("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\x7fnonsense", 1, 18, f);
	fclose(f);
	part.number = 2;
	assert_int_equal(recorder_part_path(dir, &part, path), 0);
	fclose(fopen(path, "w"));
	assert_string_equal(times((void *[]){dir}, 0), "1s 2");
}

DIR_TEST(without_a_ring_there_is_no_snapshot)
{
	assert_non_null(strstr(times((void *[]){dir}, 0), "no recorder has recorded into"));
}

DIR_TEST(a_recorder_that_does_not_answer_is_named)
{
	struct recorder_state s = {.what = "recording", .consumer = "/nowhere/consumer"};
	int lock;

	put_part(dir, "0000000b", 1, 1, 1, 20, false);
	assert_int_equal(recorder_dir_lock(dir, &lock, &e), 0);
	assert_int_equal(recorder_state_write(dir, &s), 0);
	assert_string_equal(times((void *[]){dir}, 0), "1s 2");
	assert_false(snapshot.is_live);
	assert_true(snapshot.not_live.text[0]);
	strcpy(s.what, "waiting");
	strcpy(s.why, "the file system is nearly full");
	assert_int_equal(recorder_state_write(dir, &s), 0);
	assert_string_equal(times((void *[]){dir}, 0), "1s 2");
	assert_string_equal(snapshot.not_live.text,
			    "the recorder is waiting: the file system is nearly full");
	close(lock);
}
