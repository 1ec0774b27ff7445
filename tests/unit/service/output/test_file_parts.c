/* SPDX-License-Identifier: Apache-2.0 */
#include "service/filter/packet_validate.h"
#include "service/output/trace_files.h"
#include "unit/service/output_dir.h"
#include "unit/service/rig.h"
#include "unit/service/trace_file_helper.h"
#include "unit/temp_dir.h"
#include "unit/test.h"

/* A session that runs, and beside it files that the test feeds itself. */
struct fixture {
	struct stage *stage;
	void *dir;
	struct trace_files parts;
	struct file_owner owner;
	struct quota_account account;
	Pb__TraceConfig *config;
	uint32_t flushed; /* the file for which producers were flushed last */
};

static int on_flush(void *ctx, uint32_t number)
{
	struct fixture *x = ctx;

	x->flushed = number;
	return 0;
}

static const struct file_writer_ops ops = {.flush = on_flush};

static int setup(void **state)
{
	struct fixture *x = calloc(1, sizeof(*x));
	struct err_text e;
	char text[512];

	if (!x || temp_dir_setup(&x->dir) < 0)
		return -1;
	x->stage = stage_new(0, false);
	stage_start(x->stage, STAGE_CONFIG);
	snprintf(text, sizeof(text),
		 "write_into_file: true output_path: '%s' rotate { max_file_size_bytes: 100000 }",
		 temp_dir_path(&x->dir, 0, "t.x"));
	x->config = peer_parse_config(text);
	x->owner = (struct file_owner){.ops = &ops,
				       .ctx = x,
				       .loop = x->stage->rig.loop,
				       .trace = session_trace(rig_session(&x->stage->rig)),
				       .config = x->config,
				       .account = &x->account};
	quota_open(&x->account, x->stage->rig.quota, 0);
	assert_int_equal(trace_files_open(&x->parts, &x->owner, (struct passed_file){-1, 0}, &e),
			 0);
	*state = x;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *x = *state;

	trace_files_deinit(&x->parts);
	quota_close(&x->account);
	pb__trace_config__free_unpacked(x->config, NULL);
	stage_free(x->stage);
	temp_dir_teardown(&x->dir);
	free(x);
	return 0;
}

/* A packet of a sequence: field 900 with text in it. */
static void put(struct fixture *x, uint32_t sequence, uint32_t state, const char *text, size_t len)
{
	struct packet_sink *sink = &x->parts.sink;
	uint8_t head[16], *p = head;

	p = pb_put_varint(p, pb_tag(PEER_FIELD, PB_WIRE_BYTES));
	p = pb_put_varint(p, len);
	sink->of_sequence(sink, sequence, state);
	sink->begin(sink, (size_t)(p - head) + len);
	sink->bytes(sink, head, (size_t)(p - head));
	sink->bytes(sink, text, len);
}

static void put_text(struct fixture *x, uint32_t sequence, uint32_t state, const char *text)
{
	put(x, sequence, state, text, strlen(text));
}

static void fill_newest(struct fixture *x, uint32_t sequence, uint32_t state)
{
	static const char zeros[60000];

	put(x, sequence, state, zeros, sizeof(zeros));
}

static unsigned count_in(struct fixture *x, const char *name, const char *text)
{
	struct peer_packets t;
	unsigned n;

	assert_int_equal(trace_files_write_now(&x->parts, -1), 0);
	t = packets_of_file(temp_dir_path(&x->dir, 1, name));
	n = peer_count_text(&t, text);
	peer_packets_free(&t);
	return n;
}

#define PARTS_TEST(name) TEST_STATE(name, setup, teardown, struct fixture *x)

PARTS_TEST(next_file_is_a_trace_of_its_own)
{
	struct peer_packets t;
	struct pb_field f;

	fill_newest(x, 2, 0);
	fill_newest(x, 2, 0);
	assert_int_equal(x->parts.n, 2);
	assert_int_equal(trace_files_end_older(&x->parts, 0), 0);
	assert_int_equal(x->parts.n, 1);
	assert_int_equal(trace_files_write_now(&x->parts, -1), 0);
	t = packets_of_file(temp_dir_path(&x->dir, 1, "t.000001.x"));
	assert_true(peer_packet_field(&t, t.n - 1, PB_TRACE_PACKET_TRACE_STATS, &f));
	peer_packets_free(&t);
	t = packets_of_file(temp_dir_path(&x->dir, 1, "t.000002.x"));
	assert_true(peer_packet_field(&t, 0, PB_TRACE_PACKET_CLOCK_SNAPSHOT, &f));
	assert_true(peer_find_packet(&t, 0, PB_TRACE_PACKET_TRACE_CONFIG) > 0);
	assert_true(peer_find_packet(&t, 0, PB_TRACE_PACKET_TRACE_UUID) > 0);
	assert_true(peer_find_packet(&t, 0, PB_TRACE_PACKET_SYSTEM_INFO) > 0);
	assert_true(peer_packet_field(&t, t.n - 1, PEER_FIELD, &f));
	peer_packets_free(&t);
}

TEST_WITH(what_needs_an_older_file_goes_there, setup, teardown)
{
	struct fixture *x = *state;

	put_text(x, 3, PACKET_STATE_CLEARED | PACKET_STATE_NEEDED, "begins");
	fill_newest(x, 2, 0);
	fill_newest(x, 2, 0);
	assert_int_equal(x->parts.n, 2);
	/* of the older file's state, however full that is */
	put_text(x, 3, PACKET_STATE_NEEDED, "goes on");
	put_text(x, 3, 0, "goes on");
	assert_int_equal(trace_files_end_older(&x->parts, 0), 0);
	assert_int_equal(x->parts.n, 2);
	assert_int_equal(count_in(x, "t.000001.x", "goes on"), 2);
	put_text(x, 3, PACKET_STATE_CLEARED, "anew");
	put_text(x, 3, PACKET_STATE_NEEDED, "anew");
	assert_int_equal(count_in(x, "t.000002.x", "anew"), 2);
	/* no sequence continues in the older one */
	assert_int_equal(trace_files_end_older(&x->parts, 0), 0);
	assert_int_equal(x->parts.n, 1);
}

PARTS_TEST(file_is_ended_when_producers_have_answered)
{
	put_text(x, 3, PACKET_STATE_CLEARED, "begins");
	fill_newest(x, 2, 0);
	fill_newest(x, 2, 0);
	assert_int_equal(trace_files_end_older(&x->parts, 1), 0);
	assert_int_equal(x->parts.n, 2);
	assert_int_equal(trace_files_end_older(&x->parts, 2), 0);
	assert_int_equal(x->parts.n, 1);
	/* what still says that it needs something goes into the newest */
	put_text(x, 3, PACKET_STATE_NEEDED, "late");
	assert_int_equal(count_in(x, "t.000002.x", "late"), 1);
}

PARTS_TEST(producers_are_flushed_for_the_next_file)
{
	fill_newest(x, 2, 0);
	trace_files_rotate(&x->parts);
	assert_int_equal(x->flushed, 2);
	/* A file without data is not ended. */
	trace_files_rotate(&x->parts);
	assert_int_equal(x->parts.n, 2);
}

PARTS_TEST(no_more_files_are_open_than_may_be)
{
	put_text(x, 2, PACKET_STATE_CLEARED, "begins");
	for (uint32_t i = 0; i < 20; i++)
		fill_newest(x, 3 + i, PACKET_STATE_CLEARED);
	assert_int_equal(x->parts.n, MAX_FILE_PARTS);
	assert_true(x->owner.account->quota->refused[REFUSED_FILE_PARTS] >= 12);
	assert_int_equal(x->parts.error, 0);
	assert_int_equal(trace_files_write_now(&x->parts, -1), 0);
	/* the last one takes the rest: nothing is lost */
	assert_true(size_of_file(temp_dir_path(&x->dir, 1, "t.000008.x")) > 12 * 60000);
}

PARTS_TEST(next_file_that_cannot_be_made_is_an_error)
{
	fill_newest(x, 2, 0);
	temp_dir_teardown(&x->dir);
	put_text(x, 2, 0, "small");
	fill_newest(x, 2, 0);
	assert_true(trace_files_write(&x->parts) < 0);
	assert_non_null(strstr(x->parts.error_text.text, "No such file"));
	/* What the thread has is freed with its result. */
	while (trace_files_are_busy(&x->parts)) {
		assert_int_equal(write_thread_wait(x->parts.writer, -1), 0);
		(void)trace_files_write(&x->parts);
	}
	assert_int_equal(temp_dir_setup(&x->dir), 0);
}

TEST_GROUP(output_dir_start, output_dir_end)
