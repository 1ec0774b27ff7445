// SPDX-License-Identifier: Apache-2.0
/*
 * The table `unbuilt` is the complement of what this source can do: whoever builds an option takes
 * its row out. Fields that are in neither, because they change nothing that is recorded here:
 * ksyms_mem_policy, initialize_ksyms_synchronously_for_testing, atrace_userspace_only,
 * function_graph_max_depth and the like, which only refine an option of the table.
 */
#include "ftrace/settings.h"

#include <errno.h>

#include "base/mem.h"
#include "config/limits.h"

#define SMALL_RING_KB 2048u
#define LARGE_RING_KB 8192u
#define LARGE_RING_RAM (7ull << 30)

static uint32_t ring_size_kb(const Pb__FtraceConfig *c, uint64_t ram_bytes)
{
	uint32_t preset = ram_bytes >= LARGE_RING_RAM ? LARGE_RING_KB : SMALL_RING_KB;

	if (!c->buffer_size_kb)
		return preset;
	return c->buffer_size_lower_bound ? MAX(c->buffer_size_kb, preset) : c->buffer_size_kb;
}

/* Without the first kind of options there is less in the trace than was asked for; without the
 * second kind something else. */
enum { LESS, OTHER };

static int report_unbuilt(const Pb__FtraceConfig *c, struct reports *reports)
{
	const struct {
		const char *name;
		bool is_set;
		int without_it;
	} unbuilt[] = {
		{"atrace_categories", c->n_atrace_categories, LESS},
		{"atrace_apps", c->n_atrace_apps, LESS},
		{"atrace_categories_prefer_sdk", c->n_atrace_categories_prefer_sdk, LESS},
		{"symbolize_ksyms", c->symbolize_ksyms, LESS},
		{"throttle_rss_stat", c->throttle_rss_stat, LESS},
		{"syscall_events", c->n_syscall_events, LESS},
		{"enable_function_graph", c->enable_function_graph, LESS},
		{"function_filters", c->n_function_filters, LESS},
		{"function_graph_roots", c->n_function_graph_roots, LESS},
		{"print_filter", c->print_filter && c->print_filter->n_rules, OTHER},
		{"preserve_ftrace_buffer", c->preserve_ftrace_buffer, LESS},
		{"instance_name", c->instance_name && *c->instance_name, OTHER},
		{"drain_buffer_percent", c->drain_buffer_percent, LESS},
		{"kprobe_events", c->n_kprobe_events, LESS},
		{"debug_ftrace_abi", c->debug_ftrace_abi, LESS},
		{"tids_to_trace", c->n_tids_to_trace, OTHER},
		{"tracefs_options", c->n_tracefs_options, LESS},
		{"tracing_cpumask", c->tracing_cpumask && *c->tracing_cpumask, OTHER},
	};
	int r = 0;

	for (unsigned i = 0; i < ARRAY_SIZE(unbuilt); i++) {
		if (!unbuilt[i].is_set)
			continue;
		report_failed(reports, "option:%s (not supported by this version)",
			      unbuilt[i].name);
		if (unbuilt[i].without_it == LESS)
			continue;
		report_problem(reports,
			       "nothing is recorded: %s is not supported by this version, and "
			       "without it the events were others than those asked for",
			       unbuilt[i].name);
		r = -EOPNOTSUPP;
	}
	for (unsigned i = 0; i < c->base.n_unknown_fields; i++)
		report_failed(reports, "option:field %u (not known to this version)",
			      c->base.unknown_fields[i].tag);
	return r;
}

int ftrace_settings_read(const Pb__FtraceConfig *config, uint64_t ram_bytes,
			 struct ftrace_settings *ret, struct reports *reports)
{
	const Pb__FtraceConfig none = PB__FTRACE_CONFIG__INIT;
	const Pb__FtraceConfig *c = config ? config : &none;
	uint32_t period = c->drain_period_ms;

	if (period < MIN_DRAIN_PERIOD_MS || period > LIMIT_DRAIN_PERIOD_MS)
		period = DEFAULT_DRAIN_PERIOD_MS;
	*ret = (struct ftrace_settings){
		.drain_period_ms = period,
		.buffer_size_kb = ring_size_kb(c, ram_bytes),
		.mono_raw_clock = c->use_monotonic_raw_clock,
		.events =
			{
				.compact = !c->compact_sched || c->compact_sched->enabled,
				.no_generic = c->disable_generic_events,
				.legacy_generic = c->has_denser_generic_event_encoding &&
						  !c->denser_generic_event_encoding,
			},
	};
	return report_unbuilt(c, reports);
}
