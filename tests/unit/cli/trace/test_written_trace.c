/* SPDX-License-Identifier: Apache-2.0 */
#include "base/system/fs.h"
#include "cli/trace/trace_readback.h"
#include "unit/temp_dir.h"
#include "unit/test.h"

static int scan_file(void **state, const struct strbuf *b, struct trace_scan *scan,
		     uint64_t *ret_bytes)
{
	_cleanup_(closep) int fd =
		open(temp_dir_path(state, 0, "x"), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	if (b->len)
		assert_int_equal(fs_write_all(fd, b->s, b->len), 0);
	/* It is looked at from its beginning wherever the descriptor stands. */
	return trace_readback_scan(fd, scan, ret_bytes);
}

#define IN_DIR(name) TEST_WITH(name, temp_dir_setup, temp_dir_teardown)

IN_DIR(same_as_the_whole_file_at_once)
{
	struct trace_scan all = {0}, scan = {0};
	struct strbuf b = {0};
	uint64_t bytes = 0;

	assert_int_equal(fs_read_file("tests/data/traces/ring_losses.pftrace", 1 << 20, &b), 0);
	assert_int_equal(trace_scan_file(&all, (uint8_t *)b.s, b.len), 0);
	assert_int_equal(scan_file(state, &b, &scan, &bytes), 0);
	assert_int_equal(bytes, b.len);
	assert_true(scan.packets > 10);
	assert_int_equal(scan.packets, all.packets);
	assert_int_equal(scan.bytes, all.bytes);
	assert_int_equal(scan.ftrace.counts.total, all.ftrace.counts.total);
	trace_scan_deinit(&all);
	trace_scan_deinit(&scan);
	strbuf_deinit(&b);
}

/* Of those that a buffer of 1 MiB cuts, and those that are larger than it. */
IN_DIR(packets_of_every_size)
{
	static const size_t sizes[] = {0, 1, 127, 128, 1 << 20, 300000, 3 << 20, (1 << 20) - 7, 5};
	struct trace_scan scan = {0};
	struct strbuf b = {0};
	uint64_t bytes = 0;
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		strbuf_putc(&b, 0x0a);
		for (n = sizes[i]; n > 127; n >>= 7)
			strbuf_putc(&b, (char)(n | 0x80));
		strbuf_putc(&b, (char)n);
		memset(strbuf_reserve(&b, sizes[i]), 0, sizes[i]);
		b.len += sizes[i];
	}
	assert_int_equal(scan_file(state, &b, &scan, &bytes), 0);
	assert_int_equal(scan.packets, ARRAY_SIZE(sizes));
	assert_int_equal(bytes, b.len);
	trace_scan_deinit(&scan);
	strbuf_deinit(&b);
}

IN_DIR(what_is_cut_or_no_trace)
{
	static const struct {
		const char *text;
		size_t len;
		int error;
		uint64_t packets, bytes;
	} rows[] = {
		{"", 0, 0, 0, 0},
		{"\x0a\x00\x0a\x02\x08\x01", 6, 0, 2, 6},
		{"\x0a\x00\x0a\x02\x08", 5, -EBADMSG, 1, 2},
		{"\x0a\x00\x0a", 3, -EBADMSG, 1, 2},
		{"\x0a\x00\x0a\xff\xff", 5, -EBADMSG, 1, 2},
		{"\x0a\x00hello", 7, -EBADMSG, 1, 2},
		{"\x0a\xff\xff\xff\xff\x7f", 6, -EFBIG, 0, 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct trace_scan scan = {0};
		struct strbuf b = {0};
		uint64_t bytes = 99;

		strbuf_add(&b, rows[i].text, rows[i].len);
		assert_int_equal(scan_file(state, &b, &scan, &bytes), rows[i].error);
		assert_int_equal(scan.packets, rows[i].packets);
		assert_int_equal(bytes, rows[i].bytes);
		trace_scan_deinit(&scan);
		strbuf_deinit(&b);
	}
}

TEST(only_files_can_be_looked_at)
{
	struct trace_scan scan = {0};
	uint64_t bytes;
	int p[2];

	assert_int_equal(pipe(p), 0);
	assert_int_equal(trace_readback_scan(p[0], &scan, &bytes), -ESPIPE);
	close(p[0]);
	close(p[1]);
	assert_int_equal(trace_readback_scan(-1, &scan, &bytes), -EBADF);
}

TEST(a_row_of_files_has_other_names)
{
	Pb__TraceConfig__Rotate rotate = PB__TRACE_CONFIG__ROTATE__INIT;
	Pb__TraceConfig config = PB__TRACE_CONFIG__INIT;
	char name[64];

	config.output_path = (char *)"/a/x.pftrace";
	trace_readback_get_output_name(&config, "", name, sizeof(name));
	assert_string_equal(name, "/a/x.pftrace");
	config.rotate = &rotate;
	trace_readback_get_output_name(&config, "", name, sizeof(name));
	assert_string_equal(name, "/a/x.000001.pftrace and the following files");
	trace_readback_get_output_name(&config, "/a/x.000002.pftrace", name, sizeof(name));
	assert_string_equal(name, "/a/x.000002.pftrace and the following files");
}

/* A file of one packet: TracePacket.trace_uuid with TraceUuid.lsb. */
static void write_file(void **state, const char *name, uint8_t lsb, time_t written)
{
	const uint8_t packet[] = {0x0a, 5, 0xca, 0x05, 2, 0x10, lsb};
	const struct timespec times[2] = {{.tv_sec = written}, {.tv_sec = written}};
	_cleanup_(closep) int fd = open(temp_dir_path(state, 0, name), O_RDWR | O_CREAT, 0600);

	assert_true(fd >= 0);
	assert_int_equal(fs_write_all(fd, packet, sizeof(packet)), 0);
	assert_int_equal(futimens(fd, times), 0);
}

/* The oldest of a session's files may be the last that is written, and the service leaves out
 * numbers that are taken. */
IN_DIR(row_of_files_is_that_of_the_session_that_wrote_last)
{
	Pb__TraceConfig__Rotate rotate = PB__TRACE_CONFIG__ROTATE__INIT;
	Pb__TraceConfig config = PB__TRACE_CONFIG__INIT;
	static const time_t last[] = {3, 4, 5};

	config.rotate = &rotate;
	config.output_path = (char *)temp_dir_path(state, 1, "x.pftrace");
	for (size_t i = 0; i < ARRAY_SIZE(last); i++) {
		struct trace_scan scan = {0};
		uint64_t bytes;
		char first[PATH_MAX];

		write_file(state, "x.000001.pftrace", 7, 1); /* of an earlier session */
		write_file(state, "x.000002.pftrace", 8, last[i] == 3 ? 9 : 3);
		write_file(state, "x.000003.pftrace", 7, 2); /* of the earlier session, too */
		write_file(state, "x.000004.pftrace", 8, last[i] == 4 ? 9 : 4);
		write_file(state, "x.000005.pftrace", 8, last[i] == 5 ? 9 : 5);
		write_file(state, "x.000006.pftrace", 7, 2); /* of the earlier session, too */
		assert_int_equal(trace_readback_scan_files(&config, &scan, &bytes, first), 0);
		assert_string_equal(first, temp_dir_path(state, 0, "x.000002.pftrace"));
		assert_int_equal(bytes, 3 * 7);
		trace_scan_deinit(&scan);
	}
}

IN_DIR(digits_in_the_extension_are_no_number)
{
	Pb__TraceConfig__Rotate rotate = PB__TRACE_CONFIG__ROTATE__INIT;
	Pb__TraceConfig config = PB__TRACE_CONFIG__INIT;
	struct trace_scan scan = {0};
	char first[PATH_MAX];
	uint64_t bytes;

	config.rotate = &rotate;
	config.output_path = (char *)temp_dir_path(state, 1, "x.000001");
	write_file(state, "x.000001.000001", 7, 1);
	write_file(state, "x.000002.000001", 7, 2);
	assert_int_equal(trace_readback_scan_files(&config, &scan, &bytes, first), 0);
	assert_string_equal(first, temp_dir_path(state, 0, "x.000001.000001"));
	assert_int_equal(bytes, 2 * 7);
	trace_scan_deinit(&scan);
}
