/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packets made by hand, and two traces that Perfetto 56 recorded (names of programs blanked), of
 * which the numbers that protoc --decode shows are expected.
 */

#include <zlib.h>

#include "analyze/trace_scan.h"
#include "base/system/fs.h"
#include "gen/fields.h"
#include "unit/test.h"
#include "wire/pb_mem.h"

#define BIG_ENOUGH (1u << 20)

static void scan_recorded(struct trace_scan *s, const char *path)
{
	struct strbuf b = {0};

	assert_int_equal(fs_read_file(path, BIG_ENOUGH, &b), 0);
	assert_int_equal(trace_scan_file(s, (const uint8_t *)b.s, b.len), 0);
	strbuf_deinit(&b);
}

static void check_groups(const struct trace_scan *s, const char *expected)
{
	char text[1024] = "";
	struct group_count *groups;
	size_t i, n;

	assert_int_equal(event_counts_by_group(&s->ftrace.counts, &groups, &n), 0);
	for (i = 0; i < n; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s=%llu ",
			 groups[i].group, (unsigned long long)groups[i].count);
	free(groups);
	assert_string_equal(text, expected);
}

TEST(test_a_recorded_trace_with_self_describing_events)
{
	struct trace_scan s = {0};
	struct cpu_loss *losses;
	size_t n;

	scan_recorded(&s, "tests/data/traces/generic_events.pftrace");
	assert_int_equal(s.packets, 25);
	assert_int_equal(s.bad_packets, 0);
	check_groups(&s, "sched=48 msr=45 timer=22 csd=3 ");
	assert_int_equal(s.processes, 86);
	assert_int_equal(s.ftrace.unknown.n, 1);
	assert_string_equal(s.ftrace.unknown.names[0], "sched/sched_nosuch");
	assert_true(ftrace_scan_has_rings(&s.ftrace));
	assert_int_equal(ftrace_scan_losses(&s.ftrace, &losses, &n), 0);
	assert_int_equal(n, 0);
	free(losses);
	assert_true(s.has_stats);
	assert_int_equal(s.stats.n_buffers, 1);
	assert_int_equal(s.stats.buffers[0].size, 4096 * 1024);
	/* duration_ms was 300 */
	assert_true(s.disabled_ns - s.started_ns > 300000000 &&
		    s.disabled_ns - s.started_ns < 400000000);
	trace_scan_deinit(&s);
}

TEST(test_a_recorded_trace_with_ring_losses)
{
	struct trace_scan s = {0};
	struct cpu_loss *losses;
	size_t n;

	scan_recorded(&s, "tests/data/traces/ring_losses.pftrace");
	assert_int_equal(s.bad_packets, 0);
	check_groups(&s, "sched=226 msr=94 irq=3 ");
	assert_int_equal(s.processes, 89);
	assert_int_equal(s.ftrace.bundles_after_loss, 2);
	assert_int_equal(ftrace_scan_losses(&s.ftrace, &losses, &n), 0);
	assert_int_equal(n, 2);
	assert_int_equal(losses[0].cpu, 0);
	assert_int_equal(losses[0].events, 12110);
	assert_int_equal(losses[1].cpu, 1);
	assert_int_equal(losses[1].events, 12165);
	free(losses);
	trace_scan_deinit(&s);
}

TEST(test_a_file_cut_anywhere_is_refused_but_never_harms)
{
	struct strbuf b = {0};
	size_t len;

	assert_int_equal(fs_read_file("tests/data/traces/generic_events.pftrace", BIG_ENOUGH, &b),
			 0);
	for (len = 0; len < b.len; len += 7) {
		struct trace_scan s = {0};
		int r = trace_scan_file(&s, (const uint8_t *)b.s, len);

		assert_true(r == 0 || r == -EBADMSG);
		assert_true(s.packets <= 25);
		trace_scan_deinit(&s);
	}
	strbuf_deinit(&b);
}

TEST(test_what_is_no_trace_is_refused)
{
	static const uint8_t text[] = "buffers { size_kb: 64 }";
	static const uint8_t number[] = {0x08, 0x01};
	struct trace_scan s = {0};

	assert_int_equal(trace_scan_file(&s, text, sizeof(text) - 1), -EBADMSG);
	assert_int_equal(trace_scan_file(&s, number, sizeof(number)), -EBADMSG);
	assert_int_equal(trace_scan_file(&s, NULL, 0), 0);
	assert_int_equal(s.packets, 0);
	trace_scan_deinit(&s);
}

/* ---- by hand ---- */

static void scan(struct trace_scan *s, struct pb_mem *m)
{
	trace_scan_packet(s, m->buf, pb_mem_len(m));
	pb_mem_reset(m);
}

TEST(test_fields_behind_the_payload_belong_to_it)
{
	struct trace_scan s = {0};
	struct pb_mem m;

	assert_int_equal(pb_mem_init(&m), 0);
	pb_enc_open(&m.enc, PB_TRACE_PACKET_FTRACE_STATS);
	pb_enc_u64(&m.enc, PB_FTRACE_STATS_PHASE, 2);
	pb_enc_open(&m.enc, PB_FTRACE_STATS_CPU_STATS);
	pb_enc_close(&m.enc);
	pb_enc_close(&m.enc);
	pb_enc_u64(&m.enc, PB_TRACE_PACKET_TRUSTED_PACKET_SEQUENCE_ID, 77);
	scan(&s, &m);
	assert_int_equal(s.ftrace.n_rings, 1);
	assert_int_equal(s.ftrace.rings[0].sequence, 77);

	pb_enc_open(&m.enc, PB_TRACE_PACKET_SERVICE_EVENT);
	pb_enc_bool(&m.enc, PB_TRACING_SERVICE_EVENT_TRACING_STARTED, true);
	pb_enc_close(&m.enc);
	pb_enc_u64(&m.enc, PB_TRACE_PACKET_TIMESTAMP, 123);
	scan(&s, &m);
	assert_int_equal(s.started_ns, 123);
	assert_int_equal(s.disabled_ns, 0);
	assert_int_equal(s.bad_packets, 0);
	pb_mem_deinit(&m);
	trace_scan_deinit(&s);
}

static void put_process(struct pb_mem *m, uint64_t pid)
{
	pb_enc_open(&m->enc, PB_TRACE_PACKET_PROCESS_TREE);
	pb_enc_open(&m->enc, PB_PROCESS_TREE_PROCESSES);
	pb_enc_u64(&m->enc, PB_PROCESS_TREE_PROCESS_PID, pid);
	pb_enc_close(&m->enc);
	pb_enc_close(&m->enc);
}

TEST(test_a_process_counts_once_and_pids_have_a_limit)
{
	static const uint64_t pids[] = {1, 4194303, 1, 8, 9, UINT64_MAX, 1ull << 40, 4194303};
	struct trace_scan s = {0};
	struct pb_mem m;
	size_t i;

	assert_int_equal(pb_mem_init(&m), 0);
	for (i = 0; i < sizeof(pids) / sizeof(pids[0]); i++) {
		put_process(&m, pids[i]);
		scan(&s, &m);
	}
	assert_int_equal(s.processes, 4);
	assert_true(s.pids_cap <= 1 << 20);
	pb_mem_deinit(&m);
	trace_scan_deinit(&s);
}

/* A packet with a compressed one in it, and that with two plain ones. */
TEST(test_compressed_packets_are_looked_into)
{
	static const uint8_t plain[] = {0x0a, 2, 0x50, 7, 0x0a, 2, 0x50, 7}; /* of sequence 7 */
	uint8_t packed[256], outer[256], inner[256], *p = outer;
	uLongf len = sizeof(packed);
	struct trace_scan s = {0};
	struct pb_mem m;

	assert_int_equal(compress(packed, &len, plain, sizeof(plain)), Z_OK);
	assert_int_equal(pb_mem_init(&m), 0);
	pb_enc_bytes(&m.enc, PB_TRACE_PACKET_COMPRESSED_PACKETS, packed, len);
	memcpy(inner, m.buf, pb_mem_len(&m));
	p = pb_put_varint(p, 0x0a);
	p = pb_put_varint(p, pb_mem_len(&m));
	memcpy(p, inner, pb_mem_len(&m));
	p += pb_mem_len(&m);
	scan(&s, &m);
	assert_int_equal(s.packets, 2);
	assert_int_equal(s.bytes, 4);
	assert_int_equal(s.bad_packets + s.compressed_packets, 0);
	/* Compressed packets within compressed packets are not read: no producer writes them. */
	len = sizeof(packed);
	assert_int_equal(compress(packed, &len, outer, (uLong)(p - outer)), Z_OK);
	pb_enc_bytes(&m.enc, PB_TRACE_PACKET_COMPRESSED_PACKETS, packed, len);
	scan(&s, &m);
	assert_int_equal(s.compressed_packets, 1);
	assert_int_equal(s.packets, 3);
	pb_mem_deinit(&m);
	trace_scan_deinit(&s);
}

TEST(test_compressed_and_broken_packets_are_counted)
{
	static const uint8_t broken[] = {0x0a, 0x05, 0x00};
	struct trace_scan s = {0};
	struct pb_mem m;

	assert_int_equal(pb_mem_init(&m), 0);
	pb_enc_bytes(&m.enc, PB_TRACE_PACKET_COMPRESSED_PACKETS, "xyz", 3);
	scan(&s, &m);
	pb_enc_bytes(&m.enc, PB_TRACE_PACKET_ZSTD_COMPRESSED_PACKETS, "xyz", 3);
	scan(&s, &m);
	assert_int_equal(s.compressed_packets, 0);
	assert_int_equal(s.bad_packets, 2);
	trace_scan_packet(&s, broken, sizeof(broken));
	assert_int_equal(s.bad_packets, 3);
	assert_int_equal(s.packets, 3);
	pb_mem_deinit(&m);
	trace_scan_deinit(&s);
}

TEST(test_gaps_come_from_the_services_field)
{
	struct trace_scan s = {0};
	struct pb_mem m;
	int i;

	assert_int_equal(pb_mem_init(&m), 0);
	for (i = 0; i < 2; i++) {
		/* What the producer claimed comes first, what the service found comes last. */
		pb_enc_u64(&m.enc, PB_TRACE_PACKET_PREVIOUS_PACKET_DROPPED, 1 | 256);
		pb_enc_u64(&m.enc, PB_TRACE_PACKET_TRUSTED_PACKET_SEQUENCE_ID, 2);
		pb_enc_u64(&m.enc, PB_TRACE_PACKET_TRUSTED_PID, 55);
		if (i)
			pb_enc_u64(&m.enc, PB_TRACE_PACKET_PREVIOUS_PACKET_DROPPED, 1 | 64);
		scan(&s, &m);
	}
	assert_non_null(s.sequences.by_id);
	pb_mem_deinit(&m);
	trace_scan_deinit(&s);
}
