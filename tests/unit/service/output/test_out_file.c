/* SPDX-License-Identifier: Apache-2.0 */

#include "service/output/out_file.h"
#include "service/output/trace_record.h"
#include "unit/service/rig.h"
#include "unit/service/trace_file_helper.h"
#include "unit/temp_dir.h"
#include "unit/test.h"

static struct write_thread *writer;
static struct file_part part;

static int setup(void **state)
{
	return temp_dir_setup(state) ||
	       write_thread_new(0, true, (struct priority_boost){PRIORITY_BOOST_NONE, 0}, &writer);
}

/* Ends the file, and waits until all its jobs are done. */
static void end_file(void)
{
	struct file_result r;

	if (!writer)
		return;
	file_part_deinit(&part);
	assert_int_equal(write_thread_sync(writer, 99, -1), 0);
	while (write_thread_pending(writer) > 0) {
		assert_int_equal(write_thread_wait(writer, -1), 0);
		while (write_thread_next_result(writer, &r))
			free(r.buf);
	}
	write_thread_free(TAKE_PTR(writer));
}

static int teardown(void **state)
{
	end_file();
	return temp_dir_teardown(state);
}

#define FILE_TEST(name) TEST_WITH(name, setup, teardown)

static void open_fd(int fd, const char *config_text)
{
	Pb__TraceConfig *c = peer_parse_config(config_text);

	assert_true(fd >= 0);
	assert_int_equal(file_part_init(&part, c, 7, fd, writer, 1), 0);
	assert_int_equal(part.number, 7);
	pb__trace_config__free_unpacked(c, NULL);
}

static const char *open_trace(void *const *state, const char *config_text)
{
	const char *path = temp_dir_path(state, 0, "trace");

	open_fd(open(path, O_RDWR | O_CREAT | O_TRUNC, 0600), config_text);
	return path;
}

/* A packet comes in two pieces, as one of two chunks does. */
static void put(char c, size_t len)
{
	struct packet_sink *sink = file_part_sink(&part);
	char *text = malloc(len + 1);

	assert_non_null(text);
	memset(text, c, len);
	sink->begin(sink, len);
	sink->bytes(sink, text, len / 2);
	sink->bytes(sink, text + len / 2, len - len / 2);
	free(text);
}

/* Until the writer has written all packets. */
static int write_all(void)
{
	struct file_result r;
	int state;

	file_part_end_group(&part);
	while ((state = out_file_write(&part.out)) >= 0 && write_thread_pending(writer) > 0) {
		assert_int_equal(write_thread_wait(writer, -1), 0);
		while (write_thread_next_result(writer, &r))
			out_file_handle_result(&part.out, &r);
	}
	return state;
}

/* Each letter of `texts` is a packet whose bytes are this letter. */
static void check_packets(const char *path, const char *texts, size_t len)
{
	struct peer_packets t = packets_of_file(path);

	assert_int_equal(t.n, strlen(texts));
	for (size_t i = 0; i < t.n; i++) {
		assert_int_equal(t.list[i].len, len);
		assert_int_equal(t.list[i].data[0], texts[i]);
		assert_int_equal(t.list[i].data[len - 1], texts[i]);
	}
	peer_packets_free(&t);
}

FILE_TEST(large_packet_leaves_no_memory)
{
	const char *path = open_trace(state, "");

	put('x', 5 << 20);
	assert_int_equal(write_all(), OUT_FILE_DONE);
	assert_null(part.out.buf);
	assert_null(part.out.spare);
	check_packets(path, "x", 5 << 20);
}

/* Packets of 1000 zeros until there is no room: the file is never larger than it may be. */
FILE_TEST(file_fills_up_to_its_size)
{
	static const char *const configs[] = {"", "compression { deflate {} }",
					      "compression { zstd {} }"};
	unsigned n[ARRAY_SIZE(configs)] = {0};

	for (size_t i = 0; i < ARRAY_SIZE(configs); i++) {
		const char *path = open_trace(state, configs[i]);

		while (n[i] < 100000 && file_part_make_room(&part, 1000, 10000)) {
			put(0, 1000);
			n[i]++;
		}
		assert_int_equal(write_all(), OUT_FILE_DONE);
		assert_in_range(size_of_file(path), 8000, 10000);
		file_part_deinit(&part);
	}
	assert_int_equal(n[0], 9);
	assert_true(n[1] > 100 && n[2] > 100);
}

/* ---- records ---- */

TEST(end_of_the_whole_records_is_found)
{
	static const uint8_t two[] = {0x0a, 2, 1, 2, 0x0a, 0x80, 1};

	assert_int_equal(trace_records_whole(two, 0), 0);
	assert_int_equal(trace_records_whole(two, 3), 0);
	assert_int_equal(trace_records_whole(two, 4), 4);
	assert_int_equal(trace_records_whole(two, 6), 4);
	assert_int_equal(trace_records_whole(two, 7), 4);
	assert_int_equal(trace_record_len(two + 4, two + 7), 3 + 128);
	assert_int_equal(trace_record_len(two + 4, two + 6), 0);
	assert_int_equal(trace_record_len(two + 1, two + 4), 0); /* another tag */
}

BEFORE_TESTS
{
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
}
