/* SPDX-License-Identifier: Apache-2.0 */
/* Configs as text: what is there, what is added, what comes out. */

#include "base/text/str.h"
#include "config/source_merge.h"
#include "config/text.h"
#include "config/trace_config.h"
#include "unit/test.h"

static Pb__TraceConfig *config_of(const char *text)
{
	struct strbuf errors = {0};
	Pb__TraceConfig *c = NULL;

	if (trace_config_load("test", text, strlen(text), TRACE_CONFIG_TEXT, &errors, &c))
		fail_msg("%s", errors.s);
	return c;
}

/* Adds all data sources of `added`, and compares with `expected`, both without buffers. */
static void check(const char *old, const char *added, const char *expected)
{
	Pb__TraceConfig *c = config_of(old), *a = config_of(added), *x = config_of(expected);
	struct strbuf got = {0}, want = {0};

	for (size_t i = 0; i < a->n_data_sources; i++)
		assert_int_equal(config_add_source(c, a->data_sources[i]->config, 0), 0);
	text_print(&c->base, &got);
	text_print(&x->base, &want);
	assert_string_equal(got.s, want.s);
	strbuf_deinit(&got);
	strbuf_deinit(&want);
	pb__trace_config__free_unpacked(c, NULL);
	pb__trace_config__free_unpacked(a, NULL);
	pb__trace_config__free_unpacked(x, NULL);
}

#define SOURCE(name, config) "data_sources { config { name: \"" name "\" " config " } }"
#define STATS(fields) SOURCE("linux.sys_stats", "sys_stats_config { " fields " }")
#define EBPF(fields) SOURCE("linux.ebpf_counters", "ebpf_counters_config { " fields " }")
#define NETWORK(fields) SOURCE("linux.network_stats", "network_stats_config { " fields " }")
#define FTRACE(fields) SOURCE("linux.ftrace", "ftrace_config { " fields " }")

TEST(lists_are_joined)
{
	check(EBPF("families: RUNQ families: TCP"), EBPF("families: TCP families: BLOCK"),
	      EBPF("families: RUNQ families: TCP families: BLOCK"));
	check(NETWORK("interfaces: 'a' interfaces: 'b'"),
	      NETWORK("interfaces: 'b' interfaces: 'c'"),
	      NETWORK("interfaces: 'a' interfaces: 'b' interfaces: 'c'"));
}

TEST(the_shorter_period_counts_and_flags_are_kept)
{
	check(STATS("meminfo_period_ms: 1000 psi_period_ms: 50"),
	      STATS("meminfo_period_ms: 200 psi_period_ms: 100 vmstat_period_ms: 1000"),
	      STATS("meminfo_period_ms: 200 psi_period_ms: 50 vmstat_period_ms: 1000"));
	check(SOURCE("linux.process_stats", "process_stats_config { record_thread_names: true "
					    "record_process_age: false }"),
	      SOURCE("linux.process_stats",
		     "process_stats_config { record_process_age: true proc_stats_poll_ms: 500 }"),
	      SOURCE("linux.process_stats",
		     "process_stats_config { record_thread_names: true record_process_age: true "
		     "proc_stats_poll_ms: 500 }"));
}

/* An empty list means all: a list beside it would restrict what the other asks for. */
TEST(both_stay_where_a_list_restricts_only_one)
{
#define ALL "vmstat_period_ms: 1000"
#define FEW "vmstat_period_ms: 500 vmstat_counters: VMSTAT_PGFAULT"
	check(STATS(ALL), STATS(FEW), STATS(ALL) STATS(FEW));
	check(STATS("meminfo_period_ms: 1"), STATS(FEW), STATS("meminfo_period_ms: 1 " FEW));
	check(EBPF("families: RUNQ pids: 7"), EBPF("families: TCP"),
	      EBPF("families: RUNQ pids: 7") EBPF("families: TCP"));
	check(EBPF("period_ms: 100"), EBPF("families: LOCKS"),
	      EBPF("period_ms: 100") EBPF("families: LOCKS"));
}

TEST(both_stay_where_numbers_differ)
{
	check(EBPF("families: RUNQ top_n: 4"), EBPF("families: RUNQ top_n: 8"),
	      EBPF("families: RUNQ top_n: 4") EBPF("families: RUNQ top_n: 8"));
	check(NETWORK(""), NETWORK("period_ms: 5000"), NETWORK("") NETWORK("period_ms: 5000"));
	check(SOURCE("a", ""), SOURCE("b", ""), SOURCE("a", "") SOURCE("b", ""));
}

TEST(ftrace_is_always_united)
{
	check(FTRACE("ftrace_events: 'a/b' buffer_size_kb: 4096 drain_period_ms: 500"),
	      FTRACE("ftrace_events: 'c/d' buffer_size_kb: 1024 drain_period_ms: 100 "
		     "symbolize_ksyms: true"),
	      FTRACE("ftrace_events: 'a/b' ftrace_events: 'c/d' buffer_size_kb: 4096 "
		     "drain_period_ms: 100 symbolize_ksyms: true"));
	check(SOURCE("linux.ftrace", "target_buffer: 3 ftrace_config { instance_name: 'x' }")
		      SOURCE("linux.ftrace", "target_buffer: 2"),
	      FTRACE("ftrace_events: 'c/d'"),
	      SOURCE("linux.ftrace", "target_buffer: 3 ftrace_config { instance_name: 'x' }")
		      SOURCE("linux.ftrace",
			     "target_buffer: 2 ftrace_config { ftrace_events: 'c/d' }"));
}

/* The names of processes have a buffer of their own, which polled values would fill. */
TEST(another_buffer_is_another_data_source)
{
	check(SOURCE("x", "target_buffer: 1"), SOURCE("x", ""),
	      SOURCE("x", "target_buffer: 1") SOURCE("x", ""));
	check(SOURCE("x", "target_buffer: 0"), SOURCE("x", ""), SOURCE("x", "target_buffer: 0"));
}

/* What the service gives to some producers only is not for all. */
TEST(sources_of_some_producers_stay_alone)
{
	check("data_sources { config { name: 'x' } producer_name_filter: 'p' }", SOURCE("x", ""),
	      "data_sources { config { name: 'x' } producer_name_filter: 'p' }" SOURCE("x", ""));
}
