/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/ftrace_scan.h"
#include "gen/fields.h"
#include "unit/analyze/scan_rig.h"

static struct ftrace_scan *const x = &s.ftrace;

/* The text is empty after a call; bundles and stats are scanned without their packet. */
static bool scan_part(bool is_bundle, uint32_t sequence, struct pb_mem *m)
{
	bool ok = is_bundle ? ftrace_scan_bundle(x, PB_BYTES(m->buf, pb_mem_len(m)))
			    : ftrace_scan_stats(x, sequence, PB_BYTES(m->buf, pb_mem_len(m)));

	pb_mem_deinit(m);
	return ok;
}

#define scan_bundle(...)                                                                           \
	({                                                                                         \
		struct pb_mem m_;                                                                  \
		message_make(&m_, "FtraceEventBundle", __VA_ARGS__);                               \
		scan_part(true, 0, &m_);                                                           \
	})
#define scan_stats(sequence, ...)                                                                  \
	({                                                                                         \
		struct pb_mem m_;                                                                  \
		message_make(&m_, "FtraceStats", __VA_ARGS__);                                     \
		scan_part(false, sequence, &m_);                                                   \
	})

static uint64_t known(uint32_t field)
{
	return x->counts.known ? x->counts.known[field] : 0;
}

#define EVENT(ns, name) "event { timestamp: " #ns " pid: 42 " #name " { } } "
#define RANGE "lost_ranges { begin_timestamp: %d end_timestamp: %d event_count: %d } "

FIXTURE_TEST(events_are_counted_and_timed)
{
	assert_true(scan_bundle("cpu: 1 " EVENT(5000, task_rename) EVENT(4000, task_rename)
					EVENT(9000, sched_switch)));
	assert_int_equal(x->counts.total, 3);
	assert_int_equal(known(PB_FTRACE_EVENT_TASK_RENAME), 2);
	assert_int_equal(known(PB_FTRACE_EVENT_SCHED_SWITCH), 1);
	assert_int_equal(x->first_ns, 4000);
	assert_int_equal(x->last_ns, 9000);
	assert_int_equal(x->bundles, 1);
	assert_int_equal(x->bundles_after_loss, 0);
}

FIXTURE_TEST(rings_that_are_read_on_request_overwrite_without_a_loss)
{
	struct ring_overwrites o;
	struct cpu_loss *losses;
	size_t n;

	assert_false(ftrace_scan_overwrites(x, &o));
	x->sequence = 7;
	assert_true(
		scan_bundle("cpu: 0 lost_events: 1 " RANGE EVENT(5000, task_rename), 0, 4000, 90));
	assert_true(scan_bundle("cpu: 1 lost_events: 1 " RANGE EVENT(5000, task_rename), 4500, 4700,
				10));
	assert_true(scan_stats(7, "phase: 1 overwrites: 1 cpu_stats { cpu: 0 overrun: 10 }"));
	assert_true(scan_stats(7, "phase: 2 overwrites: 1 cpu_stats { cpu: 0 overrun: 100 } "
				  "cpu_stats { cpu: 1 overrun: 10 dropped_events: 3 }"));
	assert_true(ftrace_scan_overwrites(x, &o));
	assert_int_equal(o.events, 100);
	assert_int_equal(o.complete_ns, 4700);
	assert_true(ftrace_scan_hole_is_before(x, &x->holes.list[0]));
	assert_false(ftrace_scan_hole_is_before(x, &x->holes.list[1]));
	assert_int_equal(ftrace_scan_losses(x, &losses, &n), 0);
	assert_int_equal(n, 1); /* events that a ring drops are lost */
	assert_int_equal(losses[0].events, 3);
	free(losses);
}

FIXTURE_TEST(compact_events_are_counted_and_timed)
{
	assert_true(scan_bundle("compact_sched { switch_timestamp: [300, 10] } "
				"compact_sched { waking_timestamp: [200, 5, 800] }"));
	assert_int_equal(known(PB_FTRACE_EVENT_SCHED_SWITCH), 2);
	assert_int_equal(known(PB_FTRACE_EVENT_SCHED_WAKING), 3);
	assert_int_equal(x->first_ns, 200);
	assert_int_equal(x->last_ns, 1005);
}

FIXTURE_TEST(a_loss_before_a_bundle_is_counted)
{
	assert_true(scan_bundle("lost_events: 1 lost_event_count: 1000"));
	assert_true(scan_bundle("lost_events: 0"));
	assert_int_equal(x->bundles, 2);
	assert_int_equal(x->bundles_after_loss, 1);
	assert_int_equal(x->counted_losses, 1000);
}

static void check_hole(size_t i, uint32_t cpu, uint64_t from, uint64_t to, uint64_t events)
{
	assert_int_equal(x->holes.list[i].cpu, cpu);
	assert_int_equal(x->holes.list[i].from_ns, from);
	assert_int_equal(x->holes.list[i].to_ns, to);
	assert_int_equal(x->holes.list[i].events, events);
}

FIXTURE_TEST(a_counted_loss_without_a_range_is_a_hole)
{
	assert_true(scan_bundle("cpu: 1 lost_events: 1 lost_event_count: 9 "
				"previous_bundle_end_timestamp: 500 event { timestamp: 600 }"));
	assert_int_equal(x->holes.n, 1);
	check_hole(0, 1, 500, 600, 9);
}

FIXTURE_TEST(ranges_without_events_are_kept_by_cpu)
{
	assert_true(scan_bundle("cpu: 3 " RANGE RANGE, 100, 200, 7, 0, 300, 0));
	assert_int_equal(x->holes.n, 2);
	check_hole(0, 3, 0, 300, 0);
	check_hole(1, 3, 100, 200, 7);
	for (unsigned i = 0; i < HOLES_MAX; i++)
		assert_true(scan_bundle(RANGE, 1, 2, 3));
	assert_int_equal(x->holes.n, HOLES_MAX);
	assert_int_equal(x->holes.total, HOLES_MAX + 2);
	assert_false(scan_bundle(RANGE, 200, 100, 7));
}

/* The kernel did not store the number with the gap; a later bundle has it. */
FIXTURE_TEST(a_later_range_numbers_an_earlier_loss)
{
	assert_true(scan_bundle("cpu: 3 lost_events: 1 previous_bundle_end_timestamp: 100"));
	assert_int_equal(x->holes.total, 1);
	assert_int_equal(x->holes.list[0].events, 0);
	assert_true(scan_bundle("cpu: 3 lost_events: 1 " RANGE, 100, 200, 7));
	assert_int_equal(x->holes.total, 1);
	assert_int_equal(x->holes.n, 1);
	check_hole(0, 3, 100, 200, 7);
}

/* The last two statuses are those of a later version. */
FIXTURE_TEST(reasons_of_broken_pages_are_counted)
{
	assert_true(scan_bundle(
		"error { timestamp: 5 status: 15 } error { status: 15 } error { status: 6 } "
		"error { status: 999 } error { status: 0xffffffffffffffff }"));
	assert_int_equal(x->bad_pages, 5);
	assert_int_equal(x->statuses[15], 2);
	assert_int_equal(x->statuses[6], 1);
	assert_int_equal(x->statuses[FTRACE_STATUSES], 2);
}

/* DescriptorProto.name is field 1. */
FIXTURE_TEST(described_events_have_the_group_of_their_descriptor)
{
	assert_true(scan_bundle(
		EVENT(10, 65536) "generic_event_descriptors { field_id: 65536 "
				 "event_descriptor: '\\x0a\\x09write_msr' group_name: 'msr' }"));
	assert_string_equal(groups_of(&x->counts), "msr=1 ");
}

FIXTURE_TEST(generic_events_with_their_name_are_counted)
{
	assert_true(scan_bundle("event { generic { event_name: 'foo' } }"));
	assert_int_equal(x->counts.total, 1);
	assert_int_equal(x->counts.unnamed, 1);
}

FIXTURE_TEST(an_invalid_bundle_keeps_the_events_before_the_error)
{
	assert_false(scan_bundle(EVENT(10, sched_switch) "1: '\\x08' event: '\\x08'"));
	assert_int_equal(known(PB_FTRACE_EVENT_SCHED_SWITCH), 1);
	/* Messages whose fields are numbers. */
	assert_false(scan_bundle("event: 1"));
	assert_false(scan_bundle("compact_sched: 1"));
	assert_false(scan_bundle("generic_event_descriptors: 1"));
	assert_int_equal(x->counts.total, 1);
}

/* ---- FtraceStats ---- */

#define RING "cpu_stats { cpu: %u overrun: %u } "

/* The phase may follow the counters. */
static void report(uint32_t sequence, bool end, uint32_t cpu, unsigned overrun)
{
	assert_true(scan_stats(sequence, RING "phase: %d", cpu, overrun, end ? 2 : 1));
}

/* "CPU=EVENTS ..." */
static void check_losses(const char *expected)
{
	struct cpu_loss *losses;
	char text[256] = "";
	size_t n;

	assert_int_equal(ftrace_scan_losses(x, &losses, &n), 0);
	for (size_t i = 0; i < n; i++)
		sprintf(text + strlen(text), "%u=%u ", losses[i].cpu, (unsigned)losses[i].events);
	free(losses);
	assert_string_equal(text, expected);
}

FIXTURE_TEST(losses_are_the_first_start_subtracted_from_the_last_end)
{
	assert_false(ftrace_scan_has_rings(x));
	report(2, false, 3, 100);
	assert_false(ftrace_scan_has_rings(x)); /* a start without an end is no report */
	check_losses("");
	report(2, true, 3, 101);
	report(2, false, 3, 100); /* the pair comes again with each flush */
	report(2, true, 3, 107);
	report(2, true, 0, 30); /* its START packet is missing */
	report(2, false, 1, 5);
	report(2, true, 1, 5);
	assert_true(ftrace_scan_has_rings(x));
	check_losses("0=30 3=7 ");
}

FIXTURE_TEST(all_three_counters_are_losses)
{
	assert_true(scan_stats(
		2,
		"phase: 2 cpu_stats { cpu: 1 overrun: 1 commit_overrun: 10 dropped_events: 100 }"));
	check_losses("1=111 ");
}

FIXTURE_TEST(a_cleared_ring_counts_from_zero)
{
	report(2, false, 0, 1000);
	report(2, true, 0, 4);
	check_losses("0=4 ");
}

/* Two data sources of a session read the same rings and report them both. */
FIXTURE_TEST(two_reports_of_a_ring_count_once)
{
	report(2, true, 0, 9);
	report(3, true, 0, 8);
	check_losses("0=9 ");
}

/* sonda's data sources have rings of their own, also after a restart, and say which. */
FIXTURE_TEST(losses_of_several_instances_are_added_up)
{
#define OF(instance) "instance: '" instance "' phase: 2 "
	assert_true(scan_stats(2, OF("sonda-7-1") RING, 0, 9));
	report(3, true, 1, 1); /* without its instance */
	assert_true(scan_stats(4, RING OF("sonda-7-1-2"), 0, 8)); /* after the counters */
	assert_true(scan_stats(5, OF("sonda-7-1-2") RING, 0, 6)); /* two in one instance */
	x->machine = 99;
	assert_true(scan_stats(6, OF("sonda-7-1") RING, 0, 3)); /* of another machine */
	check_losses("0=20 1=1 "); /* 9 + 8 + 3 */
}

/* Its clock is another one. */
FIXTURE_TEST(events_of_another_machine_do_not_extend_the_time)
{
	assert_true(scan_bundle(EVENT(10, sched_switch) EVENT(12, sched_switch)));
	x->machine = 99;
	assert_true(scan_bundle(EVENT(5, sched_switch) EVENT(900, sched_switch)));
	assert_int_equal(x->first_ns, 10);
	assert_int_equal(x->last_ns, 12);
	assert_int_equal(x->counts.total, 4);
}

FIXTURE_TEST(reports_of_the_producer_are_kept_once)
{
	for (int i = 0; i < 2; i++)
		assert_true(scan_stats(
			2,
			"unknown_ftrace_events: 'sched/nosuch' failed_ftrace_events: 'a/b (busy)' "
			"atrace_errors: '' exclusive_feature_error: 'in use' "
			"cpu_buffer_size_pages: 17"));
	assert_string_equal(names_of(&x->unknown), "sched/nosuch");
	assert_string_equal(names_of(&x->failed), "a/b (busy)");
	assert_int_equal(x->problems.n, 1);
	assert_int_equal(x->pages_per_cpu, 17);
	/* A reason has the kernel's own lines; a name has not. */
	assert_true(scan_stats(
		2,
		"unknown_ftrace_events: 'a/b\\x0ac' failed_ftrace_events: 'a/b (x\\x0a  ^\\x1b)'"));
	assert_string_equal(x->unknown.names[1], "a/b?c");
	assert_string_equal(x->failed.names[1], "a/b (x\n  ^?)");
}

FIXTURE_TEST(a_number_of_further_reports_is_the_largest)
{
	static const unsigned numbers[] = {57, 60, 58};

	for (unsigned i = 0; i < 3; i++)
		assert_true(scan_stats(2, "failed_ftrace_events: 'and %u more'", numbers[i]));
	assert_true(x->failed_more == 60);
	assert_int_equal(x->failed.n, 0);
	/* These are names. */
	assert_true(scan_stats(
		2, "unknown_ftrace_events: 'and 5 more/b' unknown_ftrace_events: 'and more' "
		   "unknown_ftrace_events: ''"));
	assert_int_equal(x->unknown.n, 2);
	assert_true(x->unknown_more == 0);
}

FIXTURE_TEST(reasons_in_the_stats_of_the_end_are_kept)
{
	assert_true(scan_stats(2, "phase: 2 ftrace_parse_errors: 2 ftrace_parse_errors: 17 "
				  "ftrace_parse_errors: 0xffffffffffffffff"));
	assert_int_equal(x->reported_statuses, 1u << 2 | 1u << 17 | 1u << FTRACE_STATUSES);
	assert_int_equal(x->bad_pages, 0);
}

FIXTURE_TEST(misses_of_probes_count_from_the_start)
{
	static const struct {
		int phase, misses;
		uint64_t want;
	} rows[] = {{1, 10, 0}, {2, 10, 0}, {1, 10, 0}, {2, 17, 7}};

	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_true(scan_stats(2, "phase: %d kprobe_stats { hits: 1000 misses: %d }",
				       rows[i].phase, rows[i].misses));
		assert_int_equal(x->kprobe_misses, rows[i].want);
	}
}

#define PROBE(name, n) "probe_stats { group: 'g' name: '" name "' hits: 100 misses: " #n " } "

FIXTURE_TEST(probes_are_kept_by_name)
{
	assert_true(scan_stats(2, PROBE("good", 0) PROBE("bad\\x1b", 3) PROBE("worse", 1)));
	assert_true(scan_stats(2, PROBE("worse", 9))); /* the next flush */
	/* The call and the return of a span. */
	assert_true(scan_stats(2, "probe_stats { group: 'g' name: 'span' hits: 7 } "
				  "probe_stats { group: 'g' name: 'span' hits: 6 }"));
	assert_int_equal(x->n_probes, 4);
	assert_int_equal(x->probes[0].misses, 0);
	assert_string_equal(x->probes[1].name, "g/bad?");
	assert_int_equal(x->probes[1].misses, 3);
	assert_int_equal(x->probes[2].misses, 9);
	assert_string_equal(x->probes[3].name, "g/span");
	assert_int_equal(x->probes[3].hits, 7);
	assert_false(scan_stats(2, "probe_stats: 1"));
	for (int i = 0; i < FTRACE_SCAN_MAX_PROBES + 5; i++)
		assert_true(scan_stats(2, PROBE("p%d", 1), i));
	assert_int_equal(x->n_probes, FTRACE_SCAN_MAX_PROBES);
}

FIXTURE_TEST(the_number_of_rings_has_a_limit)
{
	for (uint32_t cpu = 0; cpu < FTRACE_SCAN_MAX_RINGS + 10; cpu++)
		report(2, true, cpu, 1);
	assert_int_equal(x->n_rings, FTRACE_SCAN_MAX_RINGS);
}

FIXTURE_TEST(invalid_stats_are_refused)
{
	assert_false(scan_stats(2, "cpu_stats: '\\x08'"));
	assert_false(scan_stats(2, "cpu_stats: 1"));
}

/* What an event of any bytes says, field by field. A time at its beginning counts, else the last
 * one. */
struct said {
	bool ok;
	uint64_t events, ns;
};

static struct said said_by(const uint8_t *data, size_t len)
{
	struct said said = {0};
	bool leads = false;
	struct pb_field f;
	struct pb_dec d;

	pb_dec_init(&d, data, len);
	for (bool first = true; pb_dec_next(&d, &f); first = false) {
		if (first && f.id == PB_FTRACE_EVENT_TIMESTAMP && f.wire_type == PB_WIRE_VARINT)
			leads = true;
		if (f.id == PB_FTRACE_EVENT_TIMESTAMP && (first || !leads))
			said.ns = f.data ? 0 : f.u64;
		else if (f.id == PB_FTRACE_EVENT_TIMESTAMP)
			continue;
		else if (f.id != PB_FTRACE_EVENT_PID && f.id != PB_FTRACE_EVENT_COMMON_FLAGS &&
			 f.id != PB_FTRACE_EVENT_GENERIC && f.data)
			said.events++;
	}
	said.ok = pb_dec_ok(&d);
	return said;
}

static void check_event(const uint8_t *event, size_t len)
{
	struct said want = said_by(event, len);
	struct pb_mem m;

	assert_int_equal(pb_mem_init(&m), 0);
	pb_enc_bytes(&m.enc, PB_FTRACE_EVENT_BUNDLE_EVENT, event, len);
	assert_int_equal(scan_part(true, 0, &m), want.ok);
	assert_int_equal(x->counts.total, want.events);
	assert_int_equal(x->last_ns, want.ns);
	ftrace_scan_deinit(x);
}

/* An event in the usual order takes a way of its own. Whatever is cut off, changed or added, both
 * ways say the same. */
FIXTURE_TEST(events_in_the_usual_order_and_others_read_alike)
{
	static const uint8_t usual[] = {
		0x08, 0xc8, 0xd0, 0xa0, 0x8e, 0x92, 0x1d, /* timestamp */
		0x10, 0x92, 0x9c, 0x01, /* pid */
		0xda, 0x01, 0x0a, 0x08, 1,    0x10, 2,	  0x18, 3, 0x20, 4, 0x28, 5, /* a message */
	};
	uint8_t event[sizeof(usual) + 1] = {0};

	memcpy(event, usual, sizeof(usual));
	check_event(event, sizeof(usual));
	assert_int_equal(said_by(event, sizeof(usual)).events, 1);
	for (size_t len = 0; len <= sizeof(event); len++)
		check_event(event, len);
	for (size_t i = 0; i < sizeof(usual); i++)
		for (unsigned byte = 0; byte < 256; byte++) {
			/* generic events are counted by their names, after all */
			if (i == 11 && byte >> 3 == PB_FTRACE_EVENT_GENERIC)
				continue;
			/* whole: GCC 12 drops the store that would put one byte back */
			memcpy(event, usual, sizeof(usual));
			event[i] = (uint8_t)byte;
			check_event(event, sizeof(usual));
		}
}

TEST(each_status_has_a_description_of_its_own)
{
	for (uint64_t i = 0; i < FTRACE_STATUSES; i++)
		for (uint64_t k = 0; k < i; k++)
			assert_string_not_equal(ftrace_status_words(i), ftrace_status_words(k));
	assert_string_equal(ftrace_status_words(15), "an event longer than its page");
	assert_non_null(strstr(ftrace_status_words(FTRACE_STATUSES), "unknown to this version"));
	assert_ptr_equal(ftrace_status_words(UINT64_MAX), ftrace_status_words(FTRACE_STATUSES));
}
