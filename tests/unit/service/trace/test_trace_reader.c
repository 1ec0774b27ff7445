/* SPDX-License-Identifier: Apache-2.0 */
#include "common/trace_stats.pb-c.h"
#include "unit/test.h"
#define STAGE_SETUP setup
#include "service/ipc/limits.h"
#include "service/trace/trace_reader.h"
#include "unit/service/rig.h"

/* A sink that counts. */
struct counter {
	struct packet_sink sink;
	size_t packets, bytes, promised;
	uint8_t last[4096];
	size_t last_len;
};

static void on_begin(struct packet_sink *sink, size_t size)
{
	struct counter *c = (struct counter *)sink;

	assert_int_equal(c->bytes, c->promised); /* the one before is whole */
	c->packets++;
	c->promised += size;
	c->last_len = 0;
}

static void on_bytes(struct packet_sink *sink, const void *data, size_t len)
{
	struct counter *c = (struct counter *)sink;

	assert_true(c->last_len + len <= sizeof(c->last));
	memcpy(c->last + c->last_len, data, len);
	c->last_len += len;
	c->bytes += len;
}

static struct counter counter(void)
{
	return (struct counter){.sink = {.begin = on_begin, .bytes = on_bytes}};
}

#define QUIET                                                                                      \
	"builtin_data_sources { disable_clock_snapshotting: true disable_trace_config: true "      \
	"disable_system_info: true disable_service_events: true "                                  \
	"snapshot_interval_ms: 3600000 }"

static void read_all(struct stage *g, struct counter *c)
{
	trace_read_begin(rig_session(&g->rig)->trace);
	assert_false(trace_read_batch(rig_session(&g->rig)->trace, &c->sink, 1 << 20));
}

/* The head of the trace has been read. */
static int setup(void **state)
{
	struct stage *g = stage_new(0, false);
	struct counter head = counter();

	stage_start(g, STAGE_CONFIG QUIET);
	read_all(g, &head);
	*state = g;
	return 0;
}

/* Of the session's stats. */
static uint64_t invalid_packets(struct stage *g)
{
	Pb__TraceStats *s;
	struct pb_mem m;
	uint64_t n;

	assert_int_equal(pb_mem_init(&m), 0);
	session_put_stats(rig_session(&g->rig), &m.enc, SIZE_MAX);
	s = pb__trace_stats__unpack(NULL, pb_mem_len(&m), m.buf);
	assert_non_null(s);
	n = s->invalid_packets;
	pb__trace_stats__free_unpacked(s, NULL);
	pb_mem_deinit(&m);
	return n;
}

STAGE_TEST(empty_buffers_are_read_at_once)
{
	struct counter c = counter();

	read_all(g, &c);
	assert_int_equal(c.packets, 0);
}

STAGE_TEST(trusted_fields_come_last)
{
	struct counter c = counter();
	struct pb_field packet, f;

	stage_write(g, 0, 7, 0, "text");
	read_all(g, &c);
	assert_int_equal(c.packets, 1);
	assert_int_equal(c.bytes, c.promised);
	packet = (struct pb_field){.data = c.last, .len = c.last_len};
	assert_true(peer_subfield(&packet, PEER_FIELD, &f));
	assert_true(peer_subfield(&packet, PB_TRACE_PACKET_TRUSTED_UID, &f));
	assert_int_equal(f.u64, getuid());
	assert_int_equal(peer_number(&packet, PB_TRACE_PACKET_TRUSTED_PACKET_SEQUENCE_ID), 2);
	assert_int_equal(peer_number(&packet, PB_TRACE_PACKET_TRUSTED_PID), getpid());
	assert_memory_equal(c.last, "\xa2\x38\x04text", 7);
}

STAGE_TEST(batch_ends_the_pass_and_the_next_goes_on)
{
	struct counter c = counter();
	unsigned passes = 1;

	for (uint32_t i = 0; i < 50; i++)
		stage_write(g, i, 1, i, "0123456789");
	trace_read_begin(rig_session(&g->rig)->trace);
	while (trace_read_batch(rig_session(&g->rig)->trace, &c.sink, 100))
		passes++;
	assert_int_equal(c.packets, 50);
	assert_in_range(passes, 10, 26);
}

STAGE_TEST(reserved_fields_are_dropped_and_counted)
{
	static const uint32_t reserved[] = {3, 10, 33, 35, 36, 50, 69, 79, 98, 124, 125, 133};
	struct counter c = counter();
	struct smb_chunk_header h = {.writer_id = 1};
	struct smb_chunk chunk;

	for (uint32_t i = 0; i < 12; i++) {
		uint8_t *p;

		assert_true(smb_partition(&g->s.smb, i, SMB_DIV1));
		h.chunk_id = i;
		assert_true(smb_acquire_free(&g->s.smb, i, 0, &h, &chunk));
		p = pb_put_varint(chunk.payload + 1, pb_tag(reserved[i], PB_WIRE_VARINT));
		*p++ = 0;
		chunk.payload[0] = (uint8_t)(p - chunk.payload - 1);
		smb_header_store_packets(chunk.header, 1, 0);
		assert_true(smb_release_complete(&g->s.smb, i, 0));
		assert_true(peer_accepted(g->prod, peer_commit(g->prod, i, 0, g->s.buffer, 0)));
	}
	stage_write(g, 20, 1, 12, "good");
	read_all(g, &c);
	assert_int_equal(c.packets, 1);
	assert_int_equal(invalid_packets(g), 12);
}

/* A user's writers get a share of the sequence ids. Its packets count for the batch all the same. */
STAGE_TEST(a_user_without_sequence_ids_loses_its_own_packets_only)
{
	struct trace_buffer *b = trace_get_buffer(rig_session(&g->rig)->trace, 0);
	struct trace_buffer_writer w = {.producer_id = 1000, .uid = 4242};
	struct smb_chunk_header h = {.count = 1};
	const uint64_t *refused = &g->rig.quota->refused[REFUSED_SEQUENCES];
	struct counter c = counter();

	for (int round = 0; round < 1000 && *refused == 0; round++) {
		for (int i = 0; i < 1000; i++) {
			w.producer_id += w.writer_id == SMB_MAX_WRITER_ID;
			w.writer_id = (uint16_t)(w.writer_id % SMB_MAX_WRITER_ID + 1);
			h.writer_id = w.writer_id;
			trace_buffer_commit(b, &w, &h, (const uint8_t *)"\x03\xa2\x38", 4, true);
		}
		read_all(g, &c);
	}
	stage_write(g, 0, 1, 0, "kept");
	for (int i = 0; i < 200; i++, h.chunk_id++)
		trace_buffer_commit(b, &w, &h, (const uint8_t *)"\x03\xa2\x38", 4, true);
	c = counter();
	trace_read_begin(rig_session(&g->rig)->trace);
	assert_true(trace_read_batch(rig_session(&g->rig)->trace, &c.sink, 100));
	while (trace_read_batch(rig_session(&g->rig)->trace, &c.sink, 100))
		;
	assert_int_equal(c.packets, 1);
	assert_memory_equal(c.last, "\xa2\x38\x04kept", 7);
	assert_int_equal(*refused, invalid_packets(g));
}

/* A producer may write as much as it likes of which nothing is left for a trace. */
STAGE_TEST(fragments_without_bytes_end_the_pass_too)
{
	struct counter c = counter();
	unsigned passes = 1;

	for (uint32_t i = 0; i < 30; i++)
		stage_write_empty(g, i, 1, i, 1000);
	stage_write(g, 30, 1, 30, "text");
	trace_read_begin(rig_session(&g->rig)->trace);
	assert_true(trace_read_batch(rig_session(&g->rig)->trace, &c.sink, 1 << 20));
	assert_int_equal(c.packets, 0);
	while (trace_read_batch(rig_session(&g->rig)->trace, &c.sink, 1 << 20))
		passes++;
	assert_int_equal(c.packets, 1);
	assert_int_equal(passes, 30 * 1000 / READ_PASS_STEPS);
}

STAGE_TEST(buffers_are_read_in_their_order)
{
	struct peer *second = rig_consumer(&g->rig);
	struct peer_session s[2] = {{0}, {0}};
	struct pb_field f;
	int first, next;

	s[0].smb = s[1].smb = g->s.smb;
	peer_enable(second, "buffers { size_kb: 4 } buffers { size_kb: 4 } "
			    "data_sources { config { name: 'src' target_buffer: 1 } } "
			    "data_sources { config { name: 'src' } }" QUIET);
	for (int i = 0; i < 2; i++)
		assert_true(peer_await_session(g->prod, g->stream, false, &s[i]));
	for (int i = 0; i < 2; i++)
		assert_true(peer_command(g->prod, g->stream, CMD(START_DATA_SOURCE), &f));
	assert_int_equal(s[0].buffer, s[1].buffer + 1);
	g->s.buffer = s[0].buffer;
	stage_write(g, 0, 1, 0, "second");
	g->s.buffer = s[1].buffer;
	stage_write(g, 0, 2, 0, "first");
	assert_true(peer_read(second, &g->got));
	first = peer_find_packet(&g->got, 0, PEER_FIELD);
	next = peer_find_packet(&g->got, (size_t)first + 1, PEER_FIELD);
	assert_true(first >= 0 && next > first);
	assert_true(peer_packet_field(&g->got, (size_t)first, PEER_FIELD, &f));
	assert_memory_equal(f.data, "first", 5);
	rig_hang_up(&g->rig, second);
}
