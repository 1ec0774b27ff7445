/* SPDX-License-Identifier: Apache-2.0 */
#include "base/core/clock.h"
#include "cli/report/snapshot_report.h"
#include "unit/cli/facts.h"
#include "unit/test.h"

#define RECORDER                                                                                   \
	FACTS_FTRACE " trigger_config { trigger_mode: CLONE_SNAPSHOT triggers { name: 'late' } }"

struct fixture {
	struct facts facts;
	struct snapshot_log log;
	Pb__ObservableEvents__CloneTriggerHit hit;
	struct snapshot_facts snapshot;
};

static int setup_with(void **state, const char *config)
{
	struct fixture *x = calloc(1, sizeof(*x));

	if (!x)
		return -1;
	facts_init(&x->facts, config);
	pb__observable_events__clone_trigger_hit__init(&x->hit);
	x->hit.trigger_name = (char *)"late";
	x->hit.producer_name = (char *)"app";
	x->hit.boot_time_ns = clock_boot_ns();
	x->snapshot = (struct snapshot_facts){
		.config = x->facts.f.config,
		.hit = &x->hit,
		.name = "x.0.pftrace",
		.bytes = 12400000,
	};
	*state = x;
	return 0;
}

static int setup(void **state)
{
	return setup_with(state, RECORDER);
}

static int setup_without_ftrace(void **state)
{
	return setup_with(state, "buffers { size_kb: 1 }");
}

static int teardown(void **state)
{
	struct fixture *x = *state;

	snapshot_log_deinit(&x->log);
	facts_deinit(&x->facts);
	free(x);
	return 0;
}

/* The date and time in a line are not the test's. */
static void is_line(const char *line, const char *pattern)
{
	if (!str_glob(pattern, line))
		fail_msg("'%s' is not like '%s'", line, pattern);
}

#define AT " at 20*-*-* *:*:*"

#define FIXTURE_TEST(name) TEST_STATE(name, setup, teardown, struct fixture *x)

FIXTURE_TEST(one_that_lost_nothing)
{
	struct trace_scan *scan = &x->facts.scan;

	facts_ring(&x->facts, 0, 0);
	scan->ftrace.counts.total = 48211;
	scan->started_ns = x->hit.boot_time_ns - 60 * NS_PER_S;
	scan->ftrace.first_ns = x->hit.boot_time_ns - 8300 * NS_PER_MS;
	is_line(snapshot_log_add_saved(&x->log, &x->snapshot, scan),
		"x.0.pftrace: trigger 'late' of app" AT
		", 11.8 MiB, 48,211 events from 8.3 s before "
		"it; lost nothing");
	assert_int_equal(x->log.saved, 1);
	assert_false(x->log.lossy);
	/* It is kept for what else the summary tells. */
	assert_int_equal(x->log.newest.ftrace.counts.total, 48211);
	assert_int_equal(scan->ftrace.counts.total, 0);
}

FIXTURE_TEST(losses_are_in_the_line)
{
	struct trace_scan *scan = &x->facts.scan;

	facts_ring(&x->facts, 0, 12);
	scan->has_stats = true;
	scan->stats.n_buffers = 1;
	scan->stats.buffers[0].size = 1000000;
	scan->stats.buffers[0].chunks_discarded = 7;
	is_line(snapshot_log_add_saved(&x->log, &x->snapshot, scan),
		"x.0.pftrace: *11.8 MiB, 0 events; lost: kernel rings: 12 events*; lost: central "
		"buffer (977 KiB): full: discarded the newest 7 chunks*");
	assert_true(x->log.lossy);
}

FIXTURE_TEST(holes_are_in_the_line)
{
	struct trace_scan *scan = &x->facts.scan;
	struct holes *h = &scan->ftrace.holes;

	facts_ring(&x->facts, 0, 12);
	scan->started_ns = NS_PER_S;
	h->list[h->n++] = (struct hole){.cpu = 0, .to_ns = 2 * NS_PER_S, .events = 5};
	h->list[h->n++] = (struct hole){.on_the_way = true,
					.from_ns = 4 * NS_PER_S,
					.to_ns = 4 * NS_PER_S + 250 * NS_PER_MS};
	h->list[h->n++] = (struct hole){
		.cpu = 3, .from_ns = 4 * NS_PER_S, .to_ns = 4 * NS_PER_S + NS_PER_MS, .events = 7};
	h->total = 5;
	is_line(snapshot_log_add_saved(&x->log, &x->snapshot, scan),
		"*; lost: kernel rings: 12 events*; holes: cpu0 2 (1.250 s), cpu3 1 (0.001 s), 2 "
		"shorter ones");
}

/* That a ring goes round is what it is for. */
FIXTURE_TEST(what_a_ring_overwrote_is_no_loss)
{
	struct trace_scan *scan = &x->facts.scan;

	facts_ring(&x->facts, 0, 0);
	scan->has_stats = true;
	scan->stats.n_buffers = 1;
	scan->stats.buffers[0].size = 1000000;
	scan->stats.buffers[0].bytes_overwritten = 5000000;
	facts_packet(&x->facts, 2, 1, 1, 0, true);
	facts_packet(&x->facts, 2, 1, 1, 0, false);
	is_line(snapshot_log_add_saved(&x->log, &x->snapshot, scan), "*; lost nothing");
	assert_false(x->log.lossy);
}

FIXTURE_TEST(not_known_is_not_nothing)
{
	is_line(snapshot_log_add_saved(&x->log, &x->snapshot, &x->facts.scan),
		"x.0.pftrace: *11.8 MiB, 0 events");
}

TEST_STATE(one_that_found_no_room, setup_without_ftrace, teardown, struct fixture *x)
{
	x->snapshot.cut = "No space left on device";
	is_line(snapshot_log_add_saved(&x->log, &x->snapshot, &x->facts.scan),
		"x.0.pftrace: trigger 'late' of app" AT ", 11.8 MiB; truncated: No space left on "
		"device");
	assert_true(x->log.lossy);
}

FIXTURE_TEST(one_that_failed)
{
	x->hit.producer_name = NULL;
	x->hit.boot_time_ns = 0;
	is_line(snapshot_log_add_failed(&x->log, &x->hit, "it was too much"),
		"not saved: trigger 'late'" AT ": it was too much");
	x->hit.trigger_name = (char *)"\033[31mred";
	is_line(snapshot_log_add_failed(&x->log, &x->hit, "no"),
		"not saved: trigger '?[[]31mred'*");
	assert_int_equal(x->log.failed, 2);
	assert_int_equal(x->log.saved, 0);
}

FIXTURE_TEST(summary_has_the_newest)
{
	struct strbuf out = {0};
	size_t lines = 0;
	char why[16];

	for (int i = 0; i < 25; i++) {
		snprintf(why, sizeof(why), "no %d", i);
		snapshot_log_add_failed(&x->log, &x->hit, why);
	}
	snapshot_log_write(&x->log, &out);
	assert_true(str_starts(out.s, "5 earlier snapshots, then\nnot saved: "));
	assert_null(strstr(out.s, ": no 4\n"));
	assert_non_null(strstr(out.s, ": no 5\n"));
	assert_true(str_ends(out.s, ": no 24\n"));
	for (const char *p = out.s; *p; p++)
		lines += *p == '\n';
	assert_int_equal(lines, 1 + SNAPSHOT_LOG_LINES);
	strbuf_deinit(&out);
}
