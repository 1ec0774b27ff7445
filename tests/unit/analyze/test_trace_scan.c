/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packets made by hand, and two traces that Perfetto 56 recorded (names of programs blanked), of
 * which the numbers that protoc --decode shows are expected.
 */
#include <zlib.h>

#include "base/system/fs.h"
#include "gen/fields.h"
#include "unit/analyze/scan_rig.h"

#define BIG_ENOUGH (1u << 20)

static void scan_recorded(const char *path)
{
	struct strbuf b = {0};

	assert_int_equal(fs_read_file(path, BIG_ENOUGH, &b), 0);
	assert_int_equal(trace_scan_file(&s, (const uint8_t *)b.s, b.len), 0);
	strbuf_deinit(&b);
}

FIXTURE_TEST(a_recorded_trace_with_self_describing_events)
{
	struct cpu_loss *losses;
	size_t n;

	scan_recorded("tests/data/traces/generic_events.pftrace");
	assert_int_equal(s.packets, 25);
	assert_int_equal(s.bad_packets, 0);
	assert_string_equal(groups_of(&s.ftrace.counts), "sched=48 msr=45 timer=22 csd=3 ");
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
}

FIXTURE_TEST(a_recorded_trace_with_ring_losses)
{
	struct cpu_loss *losses;
	size_t n;

	scan_recorded("tests/data/traces/ring_losses.pftrace");
	assert_int_equal(s.bad_packets, 0);
	assert_string_equal(groups_of(&s.ftrace.counts), "sched=226 msr=94 irq=3 ");
	assert_int_equal(s.processes, 89);
	assert_int_equal(s.ftrace.bundles_after_loss, 2);
	assert_int_equal(ftrace_scan_losses(&s.ftrace, &losses, &n), 0);
	assert_int_equal(n, 2);
	assert_int_equal(losses[0].cpu, 0);
	assert_int_equal(losses[0].events, 12110);
	assert_int_equal(losses[1].cpu, 1);
	assert_int_equal(losses[1].events, 12165);
	free(losses);
}

FIXTURE_TEST(a_file_cut_anywhere_is_refused_but_never_harms)
{
	struct strbuf b = {0};
	size_t len;

	assert_int_equal(fs_read_file("tests/data/traces/generic_events.pftrace", BIG_ENOUGH, &b),
			 0);
	for (len = 0; len < b.len; len += 7) {
		int r = trace_scan_file(&s, (const uint8_t *)b.s, len);

		assert_true(r == 0 || r == -EBADMSG);
		assert_true(s.packets <= 25);
		fixture_teardown(NULL);
		fixture_setup(NULL);
	}
	strbuf_deinit(&b);
}

FIXTURE_TEST(bytes_of_another_format_are_refused)
{
	static const uint8_t text[] = "buffers { size_kb: 64 }";
	static const uint8_t number[] = {0x08, 0x01};

	assert_int_equal(trace_scan_file(&s, text, sizeof(text) - 1), -EBADMSG);
	assert_int_equal(trace_scan_file(&s, number, sizeof(number)), -EBADMSG);
	assert_int_equal(trace_scan_file(&s, NULL, 0), 0);
	assert_int_equal(s.packets, 0);
}

/* ---- by hand ---- */

FIXTURE_TEST(fields_behind_the_payload_belong_to_it)
{
	scan("ftrace_stats { phase: 2 cpu_stats { } } trusted_packet_sequence_id: 77");
	assert_int_equal(s.ftrace.n_rings, 1);
	assert_int_equal(s.ftrace.rings[0].sequence, 77);
	scan("service_event { tracing_started: 1 } timestamp: 123");
	assert_int_equal(s.started_ns, 123);
	assert_int_equal(s.disabled_ns, 0);
	assert_int_equal(s.bad_packets, 0);
}

FIXTURE_TEST(a_process_counts_once_and_pids_have_a_limit)
{
	static const uint64_t pids[] = {1, 4194303, 1, 8, 9, UINT64_MAX, 1ull << 40, 4194303};

	for (size_t i = 0; i < ARRAY_SIZE(pids); i++)
		scan("process_tree { processes { pid: %" PRIu64 " } }", pids[i]);
	assert_int_equal(s.processes, 4);
	assert_true(s.pids_cap <= 1 << 20);
}

/* Scans compressed packets, and returns the packet that contains them. */
static struct pb_mem scan_compressed(const void *packets, size_t len)
{
	uint8_t packed[256];
	uLongf n = sizeof(packed);
	struct pb_mem m;

	assert_int_equal(compress(packed, &n, packets, len), Z_OK);
	assert_int_equal(pb_mem_init(&m), 0);
	pb_enc_bytes(&m.enc, PB_TRACE_PACKET_COMPRESSED_PACKETS, packed, n);
	trace_scan_packet(&s, m.buf, pb_mem_len(&m));
	return m;
}

FIXTURE_TEST(compressed_packets_are_decompressed_once)
{
	static const uint8_t plain[] = {0x0a, 2, 0x50, 7, 0x0a, 2, 0x50, 7}; /* of sequence 7 */
	struct pb_mem m = scan_compressed(plain, sizeof(plain)), outer;

	assert_int_equal(s.packets, 2);
	assert_int_equal(s.bytes, 4);
	assert_int_equal(s.bad_packets + s.compressed_packets, 0);
	/* Compressed packets within compressed packets are not read: no producer writes them. */
	assert_int_equal(pb_mem_init(&outer), 0);
	pb_enc_bytes(&outer.enc, 1, m.buf, pb_mem_len(&m));
	pb_mem_deinit(&m);
	m = scan_compressed(outer.buf, pb_mem_len(&outer));
	assert_int_equal(s.compressed_packets, 1);
	assert_int_equal(s.packets, 3);
	pb_mem_deinit(&outer);
	pb_mem_deinit(&m);
}

FIXTURE_TEST(invalid_packets_are_counted)
{
	static const uint8_t broken[] = {0x0a, 0x05, 0x00};

	scan("compressed_packets: 'xyz'");
	scan("zstd_compressed_packets: 'xyz'");
	assert_int_equal(s.compressed_packets, 0);
	assert_int_equal(s.bad_packets, 2);
	trace_scan_packet(&s, broken, sizeof(broken));
	assert_int_equal(s.bad_packets, 3);
	assert_int_equal(s.packets, 3);
}
