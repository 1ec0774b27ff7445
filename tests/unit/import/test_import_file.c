/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/mman.h>
#include <unistd.h>

#include "base/core/pid_set.h"
#include "gen/fields.h"
#include "import/file/byte_reader.h"
#include "import/file/import_result.h"
#include "import/file/trace_output.h"
#include "import/formats/thread_names.h"
#include "unit/message_text.h"
#include "unit/test.h"
#include "wire/pb_dec.h"

/* ---- bytes ---- */

TEST(numbers_and_strings_are_read_in_order)
{
	static const uint8_t bytes[] = "\1\2\0\3\0\0\0name\0\4\0\0\0\0\0\0\0";
	struct byte_reader r = byte_reader_make(bytes, sizeof(bytes) - 1);
	char text[8];

	assert_int_equal(byte_reader_u8(&r), 1);
	assert_int_equal(byte_reader_u16(&r), 2);
	assert_int_equal(byte_reader_u32(&r), 3);
	byte_reader_string(&r, text, sizeof(text));
	assert_string_equal(text, "name");
	assert_int_equal(byte_reader_u64(&r), 4);
	assert_int_equal(byte_reader_left(&r), 0);
	assert_false(r.failed);
}

TEST(a_read_beyond_the_end_fails_for_good)
{
	static const uint8_t bytes[] = {1, 2, 3};
	struct byte_reader r = byte_reader_make(bytes, sizeof(bytes));
	char text[4] = "old";

	assert_int_equal(byte_reader_u32(&r), 0);
	assert_true(r.failed);
	assert_int_equal(byte_reader_u8(&r), 0);
	byte_reader_string(&r, text, sizeof(text));
	assert_string_equal(text, "");
	assert_null(byte_reader_read(&r, 1));
	r = byte_reader_make(bytes, sizeof(bytes));
	assert_null(byte_reader_read(&r, UINT64_MAX));
}

TEST(a_long_string_is_cut_and_read_to_its_end)
{
	static const uint8_t bytes[] = "a long name\0\7";
	struct byte_reader r = byte_reader_make(bytes, sizeof(bytes) - 1);
	char text[4];

	byte_reader_string(&r, text, sizeof(text));
	assert_string_equal(text, "a l");
	assert_int_equal(byte_reader_u8(&r), 7);
}

/* ---- the result ---- */

TEST(a_note_is_kept_once_and_plain)
{
	static struct import_result r;

	import_add_note(&r, "%s: bad\n\x1b[31m", "file");
	import_add_note(&r, "%s: bad\n\x1b[31m", "file");
	assert_int_equal(r.n_notes, 1);
	assert_string_equal(r.notes[0], "file: bad??[31m");
	for (int i = 0; i < IMPORT_NOTES + 3; i++)
		import_add_note(&r, "note %d", i);
	assert_int_equal(r.n_notes, IMPORT_NOTES + 4);
}

TEST(the_first_error_is_kept)
{
	static struct import_result r;

	assert_int_equal(import_set_error(&r, -5, "first"), -5);
	assert_int_equal(import_set_error(&r, -6, "second"), -6);
	assert_int_equal(r.error, -5);
	assert_string_equal(r.problem, "first");
}

/* ---- the output ---- */

#define BIG (3u << 20)

TEST(packets_of_any_size_are_whole_and_have_their_sequence)
{
	static uint8_t big[BIG];
	static const size_t sizes[] = {0, 10, BIG, 700000, 700000, 5};
	int fd = memfd_create("trace", MFD_CLOEXEC);
	struct trace_output out;
	struct trace_sequence s = {.out = &out, .id = 7};
	struct pb_field packet, field;
	struct pb_dec trace, fields;
	size_t n = 0, len;
	uint8_t *data;

	assert_int_equal(trace_output_init(&out, fd), 0);
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		pb_enc_bytes(trace_sequence_begin(&s), PB_TRACE_PACKET_TRACE_UUID, big, sizes[i]);
		trace_sequence_end(&s);
	}
	assert_int_equal(trace_output_flush(&out), 0);
	len = (size_t)lseek(fd, 0, SEEK_END);
	data = mmap(NULL, len, PROT_READ, MAP_PRIVATE, fd, 0);
	assert_true(data != MAP_FAILED);
	pb_dec_init(&trace, data, len);
	while (pb_dec_next(&trace, &packet)) {
		pb_dec_init(&fields, packet.data, packet.len);
		assert_true(pb_dec_next(&fields, &field));
		assert_int_equal(field.len, sizes[n++]);
		assert_true(pb_dec_next(&fields, &field));
		assert_int_equal(field.id, PB_TRACE_PACKET_TRUSTED_PACKET_SEQUENCE_ID);
		assert_int_equal(field.u64, 7);
	}
	assert_true(pb_dec_ok(&trace));
	assert_int_equal(n, ARRAY_SIZE(sizes));
	munmap(data, len);
	trace_output_deinit(&out);
	close(fd);
}

TEST(a_failed_write_is_reported)
{
	int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
	struct trace_output out;
	struct trace_sequence s = {.out = &out, .id = 1};

	assert_int_equal(trace_output_init(&out, fd), 0);
	trace_sequence_begin(&s);
	trace_sequence_end(&s);
	assert_int_equal(trace_output_flush(&out), -ENOSPC);
	trace_sequence_begin(&s);
	trace_sequence_end(&s);
	assert_int_equal(trace_output_flush(&out), -ENOSPC);
	trace_output_deinit(&out);
	close(fd);
}

/* ---- names of threads ---- */

TEST(names_of_threads_are_written_unless_their_start_was_recorded)
{
	static const char cmdlines[] =
		"1 init\n2 a name of more than fifteen\n3 with space\nx bad\n"
		"0 idle\n4194304 too large\n4 new";
	struct trace_output out;
	struct trace_sequence s = {.out = &out, .id = 1};
	struct pid_set skipped = {0};

	assert_int_equal(pid_set_add(&skipped, 4), 0);
	assert_int_equal(trace_output_init(&out, -1), 0);
	thread_names_write(cmdlines, &skipped, 50, &s);
	assert_message("TracePacket", out.packet.buf, pb_mem_len(&out.packet),
		       "timestamp: 50 process_tree {"
		       " processes { pid: 1 cmdline: 'init' cmdline_is_comm: 1 }"
		       " threads { tid: 1 name: 'init' tgid: 1 }"
		       " processes { pid: 3 cmdline: 'with space' cmdline_is_comm: 1 }"
		       " threads { tid: 3 name: 'with space' tgid: 3 } }"
		       " trusted_packet_sequence_id: 1");
	trace_output_deinit(&out);
	pid_set_clear(&skipped);
}
