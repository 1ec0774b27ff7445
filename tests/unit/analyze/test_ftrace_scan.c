/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/ftrace_scan.h"
#include "gen/fields.h"
#include "unit/test.h"
#include "wire/pb_dec.h"
#include "wire/pb_mem.h"

#define BUNDLE(field) PB_FTRACE_EVENT_BUNDLE_##field

struct fixture {
	struct ftrace_scan s;
	struct pb_mem m;
};

static int setup(void **state)
{
	struct fixture *x = calloc(1, sizeof(*x));

	*state = x;
	return pb_mem_init(&x->m);
}

static int teardown(void **state)
{
	struct fixture *x = *state;

	ftrace_scan_deinit(&x->s);
	pb_mem_deinit(&x->m);
	free(x);
	return 0;
}

static bool scan_bundle(struct fixture *x)
{
	bool ok = ftrace_scan_bundle(&x->s, PB_BYTES(x->m.buf, pb_mem_len(&x->m)));

	pb_mem_reset(&x->m);
	return ok;
}

static bool scan_stats(struct fixture *x, uint32_t sequence)
{
	bool ok = ftrace_scan_stats(&x->s, sequence, PB_BYTES(x->m.buf, pb_mem_len(&x->m)));

	pb_mem_reset(&x->m);
	return ok;
}

static void put_event(struct fixture *x, uint64_t ns, uint32_t field)
{
	pb_enc_open(&x->m.enc, BUNDLE(EVENT));
	pb_enc_u64(&x->m.enc, PB_FTRACE_EVENT_TIMESTAMP, ns);
	pb_enc_u64(&x->m.enc, PB_FTRACE_EVENT_PID, 42);
	pb_enc_bytes(&x->m.enc, field, "", 0);
	pb_enc_close(&x->m.enc);
}

static void put_compact(struct fixture *x, uint32_t field, const uint8_t *varints, size_t len)
{
	pb_enc_open(&x->m.enc, BUNDLE(COMPACT_SCHED));
	pb_enc_bytes(&x->m.enc, field, varints, len);
	pb_enc_close(&x->m.enc);
}

static uint64_t known(struct fixture *x, uint32_t field)
{
	return x->s.counts.known ? x->s.counts.known[field] : 0;
}

#define FIXTURE_TEST(name) TEST_STATE(name, setup, teardown, struct fixture *x)

FIXTURE_TEST(test_events_are_counted_and_timed)
{
	pb_enc_u64(&x->m.enc, BUNDLE(CPU), 1);
	put_event(x, 5000, PB_FTRACE_EVENT_TASK_RENAME);
	put_event(x, 4000, PB_FTRACE_EVENT_TASK_RENAME);
	put_event(x, 9000, PB_FTRACE_EVENT_SCHED_SWITCH);
	assert_true(scan_bundle(x));
	assert_int_equal(x->s.counts.total, 3);
	assert_int_equal(known(x, PB_FTRACE_EVENT_TASK_RENAME), 2);
	assert_int_equal(known(x, PB_FTRACE_EVENT_SCHED_SWITCH), 1);
	assert_int_equal(x->s.first_ns, 4000);
	assert_int_equal(x->s.last_ns, 9000);
	assert_int_equal(x->s.bundles, 1);
	assert_int_equal(x->s.bundles_after_loss, 0);
}

/* Two switches at 300 and 310, three wakings at 200, 205 and 1005. */
TEST_WITH(test_compact_events_are_counted_and_timed, setup, teardown)
{
	static const uint8_t switches[] = {0xac, 0x02, 0x0a};
	static const uint8_t wakings[] = {0xc8, 0x01, 0x05, 0xa0, 0x06};
	struct fixture *x = *state;

	put_compact(x, PB_FTRACE_EVENT_BUNDLE_COMPACT_SCHED_SWITCH_TIMESTAMP, switches,
		    sizeof(switches));
	put_compact(x, PB_FTRACE_EVENT_BUNDLE_COMPACT_SCHED_WAKING_TIMESTAMP, wakings,
		    sizeof(wakings));
	assert_true(scan_bundle(x));
	assert_int_equal(known(x, PB_FTRACE_EVENT_SCHED_SWITCH), 2);
	assert_int_equal(known(x, PB_FTRACE_EVENT_SCHED_WAKING), 3);
	assert_int_equal(x->s.first_ns, 200);
	assert_int_equal(x->s.last_ns, 1005);
}

FIXTURE_TEST(test_a_loss_before_a_bundle_is_noted)
{
	pb_enc_bool(&x->m.enc, BUNDLE(LOST_EVENTS), true);
	pb_enc_u64(&x->m.enc, BUNDLE(LOST_EVENT_COUNT), 1000);
	assert_true(scan_bundle(x));
	pb_enc_bool(&x->m.enc, BUNDLE(LOST_EVENTS), false);
	assert_true(scan_bundle(x));
	assert_int_equal(x->s.bundles, 2);
	assert_int_equal(x->s.bundles_after_loss, 1);
	assert_int_equal(x->s.counted_losses, 1000);
}

static void put_range(struct fixture *x, uint64_t begin, uint64_t end, uint64_t events)
{
	pb_enc_open(&x->m.enc, BUNDLE(LOST_RANGES));
	pb_enc_u64(&x->m.enc, PB_FTRACE_EVENT_BUNDLE_LOST_RANGE_BEGIN_TIMESTAMP, begin);
	pb_enc_u64(&x->m.enc, PB_FTRACE_EVENT_BUNDLE_LOST_RANGE_END_TIMESTAMP, end);
	pb_enc_u64(&x->m.enc, PB_FTRACE_EVENT_BUNDLE_LOST_RANGE_EVENT_COUNT, events);
	pb_enc_close(&x->m.enc);
}

FIXTURE_TEST(test_ranges_without_events_are_kept_by_cpu)
{
	pb_enc_u64(&x->m.enc, BUNDLE(CPU), 3);
	put_range(x, 100, 200, 7);
	put_range(x, 0, 300, 0);
	assert_true(scan_bundle(x));
	assert_int_equal(x->s.holes.n, 2);
	assert_int_equal(x->s.holes.list[0].from_ns, 0);
	assert_int_equal(x->s.holes.list[0].to_ns, 300);
	assert_int_equal(x->s.holes.list[1].cpu, 3);
	assert_int_equal(x->s.holes.list[1].from_ns, 100);
	assert_int_equal(x->s.holes.list[1].to_ns, 200);
	assert_int_equal(x->s.holes.list[1].events, 7);
	for (unsigned i = 0; i < HOLES_MAX; i++) {
		put_range(x, 1, 2, 3);
		assert_true(scan_bundle(x));
	}
	assert_int_equal(x->s.holes.n, HOLES_MAX);
	assert_int_equal(x->s.holes.total, HOLES_MAX + 2);
	put_range(x, 200, 100, 7);
	assert_false(scan_bundle(x));
}

/* The kernel did not store the number with the gap; a later bundle has it. */
FIXTURE_TEST(test_a_later_range_numbers_an_earlier_loss)
{
	pb_enc_u64(&x->m.enc, BUNDLE(CPU), 3);
	pb_enc_bool(&x->m.enc, BUNDLE(LOST_EVENTS), true);
	pb_enc_u64(&x->m.enc, BUNDLE(PREVIOUS_BUNDLE_END_TIMESTAMP), 100);
	assert_true(scan_bundle(x));
	assert_int_equal(x->s.holes.total, 1);
	assert_int_equal(x->s.holes.list[0].events, 0);
	pb_enc_u64(&x->m.enc, BUNDLE(CPU), 3);
	pb_enc_bool(&x->m.enc, BUNDLE(LOST_EVENTS), true);
	put_range(x, 100, 200, 7);
	assert_true(scan_bundle(x));
	assert_int_equal(x->s.holes.total, 1);
	assert_int_equal(x->s.holes.n, 1);
	assert_int_equal(x->s.holes.list[0].to_ns, 200);
	assert_int_equal(x->s.holes.list[0].events, 7);
}

FIXTURE_TEST(test_pages_that_could_not_be_read_are_counted)
{
	pb_enc_open(&x->m.enc, BUNDLE(ERROR));
	pb_enc_u64(&x->m.enc, PB_FTRACE_EVENT_BUNDLE_FTRACE_ERROR_STATUS, 6);
	pb_enc_close(&x->m.enc);
	assert_true(scan_bundle(x));
	assert_int_equal(x->s.bad_pages, 1);
}

static void put_error(struct fixture *x, uint64_t status)
{
	pb_enc_open(&x->m.enc, BUNDLE(ERROR));
	pb_enc_u64(&x->m.enc, PB_FTRACE_EVENT_BUNDLE_FTRACE_ERROR_TIMESTAMP, 5);
	pb_enc_u64(&x->m.enc, PB_FTRACE_EVENT_BUNDLE_FTRACE_ERROR_STATUS, status);
	pb_enc_close(&x->m.enc);
}

FIXTURE_TEST(test_reasons_of_broken_pages_are_counted)
{
	put_error(x, 15);
	put_error(x, 15);
	put_error(x, 6);
	put_error(x, 999); /* of a later version */
	put_error(x, UINT64_MAX);
	assert_true(scan_bundle(x));
	assert_int_equal(x->s.bad_pages, 5);
	assert_int_equal(x->s.statuses[15], 2);
	assert_int_equal(x->s.statuses[6], 1);
	assert_int_equal(x->s.statuses[FTRACE_STATUSES], 2);
}

FIXTURE_TEST(test_self_describing_events_get_their_name)
{
	struct group_count *groups;
	size_t n;

	put_event(x, 10, 65536);
	pb_enc_open(&x->m.enc, BUNDLE(GENERIC_EVENT_DESCRIPTORS));
	pb_enc_u64(&x->m.enc, PB_FTRACE_EVENT_BUNDLE_GENERIC_EVENT_DESCRIPTOR_FIELD_ID, 65536);
	pb_enc_open(&x->m.enc, PB_FTRACE_EVENT_BUNDLE_GENERIC_EVENT_DESCRIPTOR_EVENT_DESCRIPTOR);
	pb_enc_str(&x->m.enc, 1, "write_msr");
	pb_enc_close(&x->m.enc);
	pb_enc_str(&x->m.enc, PB_FTRACE_EVENT_BUNDLE_GENERIC_EVENT_DESCRIPTOR_GROUP_NAME, "msr");
	pb_enc_close(&x->m.enc);
	assert_true(scan_bundle(x));
	assert_int_equal(event_counts_by_group(&x->s.counts, &groups, &n), 0);
	assert_int_equal(n, 1);
	assert_string_equal(groups[0].group, "msr");
	free(groups);
}

FIXTURE_TEST(test_old_generic_events_are_counted)
{
	pb_enc_open(&x->m.enc, BUNDLE(EVENT));
	pb_enc_open(&x->m.enc, PB_FTRACE_EVENT_GENERIC);
	pb_enc_str(&x->m.enc, PB_GENERIC_FTRACE_EVENT_EVENT_NAME, "foo");
	pb_enc_close(&x->m.enc);
	pb_enc_close(&x->m.enc);
	assert_true(scan_bundle(x));
	assert_int_equal(x->s.counts.total, 1);
	assert_int_equal(x->s.counts.unnamed, 1);
}

FIXTURE_TEST(test_broken_bundles_keep_what_came_before)
{
	size_t len;

	put_event(x, 10, PB_FTRACE_EVENT_SCHED_SWITCH);
	put_event(x, 20, PB_FTRACE_EVENT_SCHED_SWITCH);
	len = pb_mem_len(&x->m);
	assert_false(ftrace_scan_bundle(&x->s, PB_BYTES(x->m.buf, len - 1)));
	assert_int_equal(known(x, PB_FTRACE_EVENT_SCHED_SWITCH), 1);
	/* Fields of a wrong type: an event, compact events, a descriptor as numbers. */
	pb_mem_reset(&x->m);
	pb_enc_u64(&x->m.enc, BUNDLE(EVENT), 1);
	assert_false(scan_bundle(x));
	pb_enc_u64(&x->m.enc, BUNDLE(COMPACT_SCHED), 1);
	assert_false(scan_bundle(x));
	pb_enc_u64(&x->m.enc, BUNDLE(GENERIC_EVENT_DESCRIPTORS), 1);
	assert_false(scan_bundle(x));
	assert_int_equal(x->s.counts.total, 1);
}

/* ---- FtraceStats ---- */

static void put_cpu(struct fixture *x, uint32_t cpu, uint64_t overrun, uint64_t commit_overrun,
		    uint64_t dropped)
{
	pb_enc_open(&x->m.enc, PB_FTRACE_STATS_CPU_STATS);
	pb_enc_u64(&x->m.enc, PB_FTRACE_CPU_STATS_CPU, cpu);
	pb_enc_u64(&x->m.enc, PB_FTRACE_CPU_STATS_OVERRUN, overrun);
	pb_enc_u64(&x->m.enc, PB_FTRACE_CPU_STATS_COMMIT_OVERRUN, commit_overrun);
	pb_enc_u64(&x->m.enc, PB_FTRACE_CPU_STATS_DROPPED_EVENTS, dropped);
	pb_enc_close(&x->m.enc);
}

static void report(struct fixture *x, uint32_t sequence, bool end, uint32_t cpu, uint64_t overrun)
{
	put_cpu(x, cpu, overrun, 0, 0);
	pb_enc_u64(&x->m.enc, PB_FTRACE_STATS_PHASE, end ? 2 : 1); /* after the counters */
	assert_true(scan_stats(x, sequence));
}

static void check_losses(struct fixture *x, const struct cpu_loss *expected, size_t n_expected)
{
	struct cpu_loss *losses;
	size_t i, n;

	assert_int_equal(ftrace_scan_losses(&x->s, &losses, &n), 0);
	assert_int_equal(n, n_expected);
	for (i = 0; i < n; i++) {
		assert_int_equal(losses[i].cpu, expected[i].cpu);
		assert_int_equal(losses[i].events, expected[i].events);
	}
	free(losses);
}

TEST_WITH(test_losses_are_the_first_start_subtracted_from_the_last_end, setup, teardown)
{
	static const struct cpu_loss expected[] = {{0, 30}, {3, 7}};
	struct fixture *x = *state;

	assert_false(ftrace_scan_has_rings(&x->s));
	report(x, 2, false, 3, 100);
	report(x, 2, true, 3, 101);
	report(x, 2, false, 3, 100); /* the pair comes again with each flush */
	report(x, 2, true, 3, 107);
	report(x, 2, true, 0, 30); /* its START packet is missing */
	report(x, 2, false, 1, 5);
	report(x, 2, true, 1, 5);
	assert_true(ftrace_scan_has_rings(&x->s));
	check_losses(x, expected, 2);
}

TEST_WITH(test_all_three_counters_are_losses, setup, teardown)
{
	static const struct cpu_loss expected[] = {{1, 111}};
	struct fixture *x = *state;

	pb_enc_u64(&x->m.enc, PB_FTRACE_STATS_PHASE, 2);
	put_cpu(x, 1, 1, 10, 100);
	assert_true(scan_stats(x, 2));
	check_losses(x, expected, 1);
}

TEST_WITH(test_a_cleared_ring_counts_from_zero, setup, teardown)
{
	static const struct cpu_loss expected[] = {{0, 4}};
	struct fixture *x = *state;

	report(x, 2, false, 0, 1000);
	report(x, 2, true, 0, 4);
	check_losses(x, expected, 1);
}

/* Two data sources of a session read the same rings and report them both. */
TEST_WITH(test_two_reports_of_a_ring_count_once, setup, teardown)
{
	static const struct cpu_loss expected[] = {{0, 9}};
	struct fixture *x = *state;

	report(x, 2, true, 0, 9);
	report(x, 3, true, 0, 8);
	check_losses(x, expected, 1);
}

/* sonda's data sources have rings of their own, also after a restart, and say which. */
FIXTURE_TEST(test_losses_of_several_instances_are_added_up)
{
	static const struct cpu_loss expected[] = {{0, 9 + 8 + 3}, {1, 1}};

	pb_enc_str(&x->m.enc, PB_FTRACE_STATS_INSTANCE, "sonda-7-1");
	report(x, 2, true, 0, 9);
	report(x, 3, true, 1, 1); /* does not say whose */
	put_cpu(x, 0, 8, 0, 0);
	pb_enc_u64(&x->m.enc, PB_FTRACE_STATS_PHASE, 2);
	pb_enc_str(&x->m.enc, PB_FTRACE_STATS_INSTANCE, "sonda-7-1-2"); /* after the counters */
	assert_true(scan_stats(x, 4));
	pb_enc_str(&x->m.enc, PB_FTRACE_STATS_INSTANCE, "sonda-7-1-2"); /* two in one instance */
	report(x, 5, true, 0, 6);
	x->s.machine = 99;
	pb_enc_str(&x->m.enc, PB_FTRACE_STATS_INSTANCE, "sonda-7-1"); /* of another machine */
	report(x, 6, true, 0, 3);
	check_losses(x, expected, 2);
}

FIXTURE_TEST(test_a_start_without_an_end_is_no_report)
{
	report(x, 2, false, 0, 9);
	assert_false(ftrace_scan_has_rings(&x->s));
	check_losses(x, NULL, 0);
}

FIXTURE_TEST(test_words_of_the_producer_are_kept_once)
{
	int i;

	for (i = 0; i < 2; i++) {
		pb_enc_str(&x->m.enc, PB_FTRACE_STATS_UNKNOWN_FTRACE_EVENTS, "sched/nosuch");
		pb_enc_str(&x->m.enc, PB_FTRACE_STATS_FAILED_FTRACE_EVENTS, "a/b (busy)");
		pb_enc_str(&x->m.enc, PB_FTRACE_STATS_ATRACE_ERRORS, "");
		pb_enc_str(&x->m.enc, PB_FTRACE_STATS_EXCLUSIVE_FEATURE_ERROR, "in use");
		pb_enc_u64(&x->m.enc, PB_FTRACE_STATS_CPU_BUFFER_SIZE_PAGES, 17);
		assert_true(scan_stats(x, 2));
	}
	assert_int_equal(x->s.unknown.n, 1);
	assert_string_equal(x->s.unknown.names[0], "sched/nosuch");
	assert_int_equal(x->s.failed.n, 1);
	assert_string_equal(x->s.failed.names[0], "a/b (busy)");
	assert_int_equal(x->s.problems.n, 1);
	assert_int_equal(x->s.pages_per_cpu, 17);
}

TEST_WITH(test_those_that_are_told_as_a_number, setup, teardown)
{
	static const char *const said[] = {"and 57 more", "and 60 more", "and 58 more"};
	struct fixture *x = *state;

	for (unsigned i = 0; i < 3; i++) {
		pb_enc_str(&x->m.enc, PB_FTRACE_STATS_FAILED_FTRACE_EVENTS, said[i]);
		assert_true(scan_stats(x, 2));
	}
	assert_true(x->s.failed_more == 60);
	assert_int_equal(x->s.failed.n, 0);
	/* These are names. */
	pb_enc_str(&x->m.enc, PB_FTRACE_STATS_UNKNOWN_FTRACE_EVENTS, "and 5 more/b");
	pb_enc_str(&x->m.enc, PB_FTRACE_STATS_UNKNOWN_FTRACE_EVENTS, "and more");
	pb_enc_str(&x->m.enc, PB_FTRACE_STATS_UNKNOWN_FTRACE_EVENTS, "");
	assert_true(scan_stats(x, 2));
	assert_int_equal(x->s.unknown.n, 2);
	assert_true(x->s.unknown_more == 0);
}

FIXTURE_TEST(test_reasons_that_only_the_end_tells)
{
	pb_enc_u64(&x->m.enc, PB_FTRACE_STATS_PHASE, 2);
	pb_enc_u64(&x->m.enc, PB_FTRACE_STATS_FTRACE_PARSE_ERRORS, 2);
	pb_enc_u64(&x->m.enc, PB_FTRACE_STATS_FTRACE_PARSE_ERRORS, 17);
	pb_enc_u64(&x->m.enc, PB_FTRACE_STATS_FTRACE_PARSE_ERRORS, UINT64_MAX);
	assert_true(scan_stats(x, 2));
	assert_int_equal(x->s.reported_statuses, 1u << 2 | 1u << 17 | 1u << FTRACE_STATUSES);
	assert_int_equal(x->s.bad_pages, 0);
}

static void put_misses(struct fixture *x, uint64_t phase, uint64_t misses)
{
	pb_enc_u64(&x->m.enc, PB_FTRACE_STATS_PHASE, phase);
	pb_enc_open(&x->m.enc, PB_FTRACE_STATS_KPROBE_STATS);
	pb_enc_u64(&x->m.enc, PB_FTRACE_KPROBE_STATS_HITS, 1000);
	pb_enc_u64(&x->m.enc, PB_FTRACE_KPROBE_STATS_MISSES, misses);
	pb_enc_close(&x->m.enc);
	assert_true(scan_stats(x, 2));
}

FIXTURE_TEST(test_misses_of_probes_begin_at_the_start)
{
	put_misses(x, 1, 10);
	put_misses(x, 2, 10);
	assert_int_equal(x->s.kprobe_misses, 0);
	put_misses(x, 1, 10);
	put_misses(x, 2, 17);
	assert_int_equal(x->s.kprobe_misses, 7);
}

static void put_probe(struct fixture *x, const char *group, const char *name, uint64_t misses)
{
	pb_enc_open(&x->m.enc, PB_FTRACE_STATS_PROBE_STATS);
	pb_enc_str(&x->m.enc, PB_FTRACE_PROBE_STATS_GROUP, group);
	pb_enc_str(&x->m.enc, PB_FTRACE_PROBE_STATS_NAME, name);
	pb_enc_u64(&x->m.enc, PB_FTRACE_PROBE_STATS_HITS, 100);
	pb_enc_u64(&x->m.enc, PB_FTRACE_PROBE_STATS_MISSES, misses);
	pb_enc_close(&x->m.enc);
}

FIXTURE_TEST(test_probes_with_misses_are_told_apart)
{
	char name[32];

	put_probe(x, "g", "good", 0);
	put_probe(x, "g", "bad\033", 3);
	put_probe(x, "g", "worse", 1);
	assert_true(scan_stats(x, 2));
	put_probe(x, "g", "worse", 9); /* the next flush */
	assert_true(scan_stats(x, 2));
	assert_int_equal(x->s.n_probes, 2);
	assert_string_equal(x->s.probes[0].name, "g/bad?");
	assert_int_equal(x->s.probes[0].misses, 3);
	assert_int_equal(x->s.probes[1].misses, 9);
	pb_enc_u64(&x->m.enc, PB_FTRACE_STATS_PROBE_STATS, 1);
	assert_false(scan_stats(x, 2));
	for (int i = 0; i < FTRACE_SCAN_MAX_PROBES + 5; i++) {
		snprintf(name, sizeof(name), "p%d", i);
		put_probe(x, "", name, 1);
		assert_true(scan_stats(x, 2));
	}
	assert_int_equal(x->s.n_probes, FTRACE_SCAN_MAX_PROBES);
}

/* A reason has the kernel's own lines; a name has not. */
FIXTURE_TEST(test_reasons_keep_their_lines)
{
	pb_enc_str(&x->m.enc, PB_FTRACE_STATS_UNKNOWN_FTRACE_EVENTS, "a/b\nc");
	pb_enc_str(&x->m.enc, PB_FTRACE_STATS_FAILED_FTRACE_EVENTS, "a/b (x\n  ^\033)");
	assert_true(scan_stats(x, 2));
	assert_string_equal(x->s.unknown.names[0], "a/b?c");
	assert_string_equal(x->s.failed.names[0], "a/b (x\n  ^?)");
}

FIXTURE_TEST(test_the_number_of_rings_has_a_limit)
{
	uint32_t cpu;

	pb_enc_u64(&x->m.enc, PB_FTRACE_STATS_PHASE, 2);
	for (cpu = 0; cpu < FTRACE_SCAN_MAX_RINGS + 10; cpu++)
		put_cpu(x, cpu, 1, 0, 0);
	assert_true(scan_stats(x, 2));
	assert_int_equal(x->s.n_rings, FTRACE_SCAN_MAX_RINGS);
}

FIXTURE_TEST(test_broken_stats_are_told)
{
	put_cpu(x, 1, 1, 0, 0);
	assert_false(ftrace_scan_stats(&x->s, 2, PB_BYTES(x->m.buf, pb_mem_len(&x->m) - 1)));
	pb_mem_reset(&x->m);
	pb_enc_u64(&x->m.enc, PB_FTRACE_STATS_CPU_STATS, 1);
	assert_false(scan_stats(x, 2));
}

/* What an event of any bytes says, field by field. */
struct said {
	bool ok;
	uint64_t events, ns;
};

static struct said said_by(const uint8_t *data, size_t len)
{
	struct said said = {0};
	struct pb_field f;
	struct pb_dec d;

	pb_dec_init(&d, data, len);
	while (pb_dec_next(&d, &f)) {
		if (f.id == PB_FTRACE_EVENT_TIMESTAMP)
			said.ns = MAX(said.ns, f.u64);
		else if (f.id != PB_FTRACE_EVENT_PID && f.id != PB_FTRACE_EVENT_COMMON_FLAGS &&
			 f.id != PB_FTRACE_EVENT_GENERIC && f.data)
			said.events++;
	}
	said.ok = pb_dec_ok(&d);
	return said;
}

static void check_event(struct fixture *x, const uint8_t *event, size_t len)
{
	struct said want = said_by(event, len);
	bool ok;

	pb_enc_bytes(&x->m.enc, BUNDLE(EVENT), event, len);
	ok = scan_bundle(x);
	assert_int_equal(ok, want.ok);
	assert_int_equal(x->s.counts.total, want.events);
	assert_int_equal(x->s.last_ns, want.ns);
	ftrace_scan_deinit(&x->s);
}

/* An event in the usual order takes a way of its own. Whatever is cut off, changed or added, both
 * ways say the same. */
TEST_WITH(test_usual_events_and_others_are_told_alike, setup, teardown)
{
	static const uint8_t usual[] = {
		0x08, 0xc8, 0xd0, 0xa0, 0x8e, 0x92, 0x1d, /* timestamp */
		0x10, 0x92, 0x9c, 0x01, /* pid */
		0xda, 0x01, 0x0a, 0x08, 1,    0x10, 2,	  0x18, 3, 0x20, 4, 0x28, 5, /* a message */
	};
	struct fixture *x = *state;
	uint8_t event[sizeof(usual) + 1] = {0};

	memcpy(event, usual, sizeof(usual));
	check_event(x, event, sizeof(usual));
	assert_int_equal(said_by(event, sizeof(usual)).events, 1);
	for (size_t len = 0; len <= sizeof(event); len++)
		check_event(x, event, len);
	for (size_t i = 0; i < sizeof(usual); i++)
		for (unsigned byte = 0; byte < 256; byte++) {
			/* generic events are counted by their names, after all */
			if (i == 11 && byte >> 3 == PB_FTRACE_EVENT_GENERIC)
				continue;
			/* whole: GCC 12 drops the store that would put one byte back */
			memcpy(event, usual, sizeof(usual));
			event[i] = (uint8_t)byte;
			check_event(x, event, sizeof(usual));
		}
}

TEST(test_each_has_words_of_its_own)
{
	for (uint64_t i = 0; i < FTRACE_STATUSES; i++) {
		assert_non_null(ftrace_status_words(i));
		for (uint64_t k = 0; k < i; k++)
			assert_string_not_equal(ftrace_status_words(i), ftrace_status_words(k));
	}
	assert_string_equal(ftrace_status_words(15), "an event longer than its page");
}

TEST(test_numbers_of_a_later_version)
{
	assert_non_null(strstr(ftrace_status_words(FTRACE_STATUSES), "does not know"));
	assert_ptr_equal(ftrace_status_words(UINT64_MAX), ftrace_status_words(FTRACE_STATUSES));
}
