/* SPDX-License-Identifier: Apache-2.0 */
/* The whole source, in a kernel that is not one (fake_bpf.h). */
#include "unit/fixture.h"
#include "unit/procfs/counter_rig.h"

#include "bpf/block.h"
#include "bpf/memory.h"
#include "bpf/tcp.h"
#include "ebpf/ebpf_source.h"
#include "ebpf/program_cost.h"
#include "unit/ebpf/fake_bpf.h"
#include "unit/procfs/captured_log.h"

#define FAMILY(name) PB__EBPF_COUNTERS_CONFIG__FAMILY__##name

static Pb__EbpfCountersConfig counters;
static Pb__EbpfCountersConfig__Family families[8];

SETUP
{
	rig_setup(&ebpf_counters_data_source);
	env.tracefs_root = "/sys/kernel/tracing";
	env.sys_root = "/sys";
	pb__ebpf_counters_config__init(&counters);
	counters.period_ms = 10;
	counters.families = families;
	config.ebpf_counters_config = &counters;
	fake_bpf_reset(ebpf_count_cpus());
}

TEARDOWN
{
	rig_teardown();
	fake_bpf_reset(0);
}

static void ask_for(Pb__EbpfCountersConfig__Family f)
{
	families[counters.n_families++] = f;
}

/* Why that is not counted, as the packets have it; NULL: they do not say. */
static const char *reason_of(const char *what)
{
	static char text[512];
	struct pb_field stats, failure, f;
	const char *found = NULL;

	for (size_t i = 0; i < fake.n; i++) {
		if (!read_sub(fake_packet_field(i), PB_TRACE_PACKET_EBPF_COUNTERS_STATS, &stats))
			continue;
		for (unsigned k = 0; fake_field(stats.data, stats.len,
						PB_EBPF_COUNTERS_STATS_FAILURES, k, &failure);
		     k++) {
			if (!fake_str_is(failure, PB_EBPF_COUNTERS_STATS_FAILURE_WHAT, 0, what))
				continue;
			assert_true(read_sub(failure, PB_EBPF_COUNTERS_STATS_FAILURE_REASON, &f));
			snprintf(text, sizeof(text), "%.*s", (int)f.len, (const char *)f.data);
			found = text;
		}
	}
	return found;
}

static void assert_reason(const char *what, const char *part)
{
	const char *reason = reason_of(what);

	assert_non_null(reason);
	if (!strstr(reason, part))
		fail_msg("%s: \"%s\" and not \"%s\"", what, reason, part);
}

#define OOM_KILLS "eBPF counters/Memory/OOM kills"

/* Of the family that was loaded last. */
static void set_oom_kills(uint64_t n)
{
	((struct memory_cpu *)fake_value("cpus", 0))->oom_kills = n;
}

/* The next pass, in which no family rests, however slow this machine is. */
static void trace_read_batch(void)
{
	rig_poll()->is_waited_for = true;
	run_pass();
}

FIXTURE_TEST(one_is_off_and_the_others_run)
{
	ask_for(FAMILY(RUNQ));
	ask_for(FAMILY(MEMORY));
	fake_bpf_fail(BPF_PROG_LOAD, "on_switch", EPERM);
	capture_log();
	create_and_start();
	assert_int_equal(captured("linux.ebpf_counters: runq: permission denied"), 1);
	assert_reason("runq", "CAP_BPF and CAP_PERFMON");
	assert_null(reason_of("memory"));
	set_oom_kills(4);
	trace_read_batch();
	assert_int_equal(read_last(OOM_KILLS), 4);
	set_oom_kills(5);
	stop_source();
	assert_int_equal(read_last(OOM_KILLS), 5);
}

FIXTURE_TEST(none_may_and_the_source_lives)
{
	fake_bpf_fail(BPF_PROG_LOAD, NULL, EPERM);
	capture_log();
	create_and_start();
	assert_int_equal(captured("permission denied"), 6); /* of the default families, once each */
	assert_reason("runq", "permission denied");
	assert_reason("tcp", "permission denied");
	trace_read_batch();
	stop_source();
}

FIXTURE_TEST(a_clear_writes_again)
{
	ask_for(FAMILY(RUNQ));
	ask_for(FAMILY(MEMORY));
	fake_bpf_fail(BPF_MAP_CREATE, "migrations", ENOMEM);
	capture_log();
	create_and_start();
	assert_int_equal(captured("runq.bpf.o could not be loaded"), 1);
	set_oom_kills(1);
	trace_read_batch();
	assert_int_equal(read_last(OOM_KILLS), 1);
	fake_reset_packets();
	source->clear(instance);
	capture_log();
	trace_read_batch();
	assert_int_equal(captured("runq"), 0); /* logged before */
	assert_reason("runq", "Cannot allocate memory");
	/* Its descriptor, and its value, though that is the same. */
	assert_int_equal(read_last(OOM_KILLS), 1);
	stop_source();
}

FIXTURE_TEST(a_failed_read_is_logged_once)
{
	ask_for(FAMILY(BLOCK));
	ask_for(FAMILY(MEMORY));
	create_and_start();
	set_oom_kills(1);
	fake_bpf_fail(BPF_MAP_LOOKUP_BATCH, "disks", EIO);
	fake_bpf_fail(BPF_MAP_GET_NEXT_KEY, "disks", EIO);
	capture_log();
	trace_read_batch();
	trace_read_batch();
	assert_int_equal(captured("block"), 1);
	assert_int_equal(read_last(OOM_KILLS), 1);
	assert_true(read_last("eBPF counters/failed reads") >= 2);
	fake_bpf_fail_no_more();
	fake_put(fake_map("disks"), &(struct block_key){.disk = 8 << 20},
		 &(struct block_disk){.name = "sda", .begun = 9, .ended = 7, .bytes = 4096});
	trace_read_batch();
	assert_int_equal(read_last("eBPF counters/Block I/O/sda/read requests"), 7);
	assert_int_equal(read_last("eBPF counters/Block I/O/sda/in flight"), 2);
	stop_source();
}

/* A program ran ten times more, and took that long. */
static void spend(const char *program, uint64_t ns)
{
	for (size_t i = 0; i < fake_bpf.n_programs; i++)
		if (!strcmp(fake_bpf.programs[i].name, program)) {
			fake_bpf.programs[i].ns += ns;
			fake_bpf.programs[i].runs += 10;
		}
}

FIXTURE_TEST(the_most_expensive_ends)
{
	ask_for(FAMILY(TCP));
	ask_for(FAMILY(MEMORY));
	counters.max_overhead_percent = 50;
	create_and_start(); /* loads; then the statistics are on, for a period */
	set_oom_kills(2);
	spend("on_drop", 600000000000);
	spend("on_oom_kill", 1000);
	capture_log();
	trace_read_batch();
	assert_int_equal(captured("tcp: switched off"), 1);
	assert_reason("tcp", "more than max_overhead_percent (50)");
	assert_null(reason_of("memory"));
	set_oom_kills(3);
	stop_source();
	assert_int_equal(read_last(OOM_KILLS), 3);
	/* Of one that ended the cost is in the summary, too. */
	assert_true(read_last_double("eBPF counters/own cost/memory") < 1);
	assert_true(read_nth("eBPF counters/own cost/tcp", 0)->d > 100);
}

FIXTURE_TEST(within_the_limit_both_go_on)
{
	ask_for(FAMILY(TCP));
	ask_for(FAMILY(MEMORY));
	counters.max_overhead_percent = 50;
	create_and_start();
	for (int i = 0; i < COST_EVERY + 2; i++) {
		spend("on_drop", 1000);
		trace_read_batch();
	}
	assert_null(reason_of("tcp"));
	stop_source();
}

FIXTURE_TEST(programs_without_a_dir)
{
	char *programs[] = {(char[]){"mine"}};

	counters.programs = programs;
	counters.n_programs = 1;
	ask_for(FAMILY(MEMORY));
	capture_log();
	create_and_start();
	assert_int_equal(captured("mine: no directory for BPF programs is set"), 1);
	assert_reason("mine", "no directory for BPF programs is set");
	set_oom_kills(1);
	stop_source();
	assert_int_equal(read_last(OOM_KILLS), 1);
}

BEFORE_TESTS
{
	if (access("/sys/kernel/btf/vmlinux", R_OK) < 0) {
		fprintf(stderr, "the kernel has no BTF\n");
		exit(77);
	}
}
