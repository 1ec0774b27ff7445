/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/top/top_config.h"

#include <errno.h>

#include "base/core/mem.h"
#include "base/text/str.h"
#include "config/trace_config.h"

/*
 * The buffer holds many periods: a terminal that stops the output for a time loses nothing. Values
 * are written when they change. Descriptions are repeated, in case the buffer wrapped nevertheless.
 */
static const char frame[] =
	"buffers { size_kb: 32768 fill_policy: RING_BUFFER }\n"
	"incremental_state_config { clear_period_ms: 60000 }\n"
	"builtin_data_sources { disable_clock_snapshotting: true disable_trace_config: true\n"
	"  disable_system_info: true disable_service_events: true\n"
	"  disable_extension_descriptors: true disable_chunk_usage_histograms: true }\n"
	"priority_boost { policy: POLICY_SCHED_OTHER priority: 0 }\n";

static void put_ebpf(const struct top_options *o, bool with_processes, struct strbuf *b)
{
	strbuf_printf(
		b,
		"data_sources { config { name: \"linux.ebpf_counters\" ebpf_counters_config {\n"
		"  families: RUNQ families: CPU_TIME families: SYSCALLS%s\n"
		"  period_ms: %u top_n: %u no_call_names: true process_rows: true\n",
		with_processes ? " families: PROCESSES" : "", o->period_ms, TOP_EBPF_PROCESSES);
	for (size_t i = 0; i < o->n_pids; i++)
		strbuf_printf(b, "  pids: %u\n", o->pids[i]);
	strbuf_puts(b, "} } }\n");
}

static void put_process_stats(const struct top_options *o, bool with_sched, struct strbuf *b)
{
	strbuf_printf(
		b,
		"data_sources { config { name: \"linux.process_stats\" process_stats_config {\n"
		"  scan_all_processes_on_start: true record_process_age: true\n"
		"  quirks: DISABLE_ON_DEMAND skip_main_thread_message: true\n"
		"  proc_stats_poll_ms: %u record_process_io: true%s } } }\n",
		MAX(o->period_ms, 100u), with_sched ? " record_thread_sched: true" : "");
}

int top_config_build(const struct top_options *o, enum top_sources sources, Pb__TraceConfig **ret)
{
	struct strbuf text = {0}, errors = {0};
	int r;

	strbuf_puts(&text, frame);
	if (sources != TOP_PROC)
		put_ebpf(o, sources == TOP_EBPF, &text);
	if (sources != TOP_EBPF)
		put_process_stats(o, sources == TOP_PROC, &text);
	strbuf_printf(
		&text,
		"data_sources { config { name: \"linux.sys_stats\" sys_stats_config {\n"
		"  stat_period_ms: %u stat_counters: STAT_CPU_TIMES psi_period_ms: %u\n"
		"  meminfo_period_ms: %u\n"
		"  meminfo_counters: MEMINFO_MEM_TOTAL meminfo_counters: MEMINFO_MEM_AVAILABLE\n"
		"  meminfo_counters: MEMINFO_SWAP_TOTAL meminfo_counters: MEMINFO_SWAP_FREE\n"
		"} } }\n",
		o->period_ms, o->period_ms, o->period_ms);
	if (text.failed)
		r = -ENOMEM;
	else
		r = trace_config_load("sonda top", text.s, text.len, TRACE_CONFIG_TEXT, &errors,
				      ret);
	strbuf_deinit(&text);
	strbuf_deinit(&errors);
	return r;
}
