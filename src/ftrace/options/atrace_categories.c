/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Android's category names. Requests have the syntax of ftrace_events. Most of the events exist on
 * phones only.
 */
#include "ftrace/options/atrace_categories.h"

#include <errno.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/text/str.h"
#include "ftrace/format/proto_events.h"

#define MAX_REQUESTS 24

static const struct category {
	const char *name;
	const char *requests
		[MAX_REQUESTS]; /* ends with NULL; empty: user-space events of Android only */
} categories[] = {
	{"gfx", {"mdss/*", "mali/*", "sde/*", "dpu/*", "g2d/*", "panel/panel_write_generic"}},
	{"ion", {"kmem/ion_alloc_buffer_start"}},
	{"sched",
	 {"sched/sched_switch", "sched/sched_waking", "sched/sched_blocked_reason",
	  "sched/sched_cpu_hotplug", "sched/sched_pi_setprio", "sched/sched_process_exit",
	  "cgroup/*", "oom/oom_score_adj_update", "task/task_rename", "task/task_newtask",
	  "systrace/*", "scm/*"}},
	{"irq", {"irq/*", "ipi/*"}},
	{"irqoff", {"preemptirq/irq_enable", "preemptirq/irq_disable"}},
	{"preemptoff", {"preemptirq/preempt_enable", "preemptirq/preempt_disable"}},
	{"i2c", {"i2c/*"}},
	{"freq",
	 {"power/cpu_frequency", "power/gpu_frequency", "power/clock_set_rate",
	  "power/clock_disable", "power/clock_enable", "clk/clk_set_rate", "clk/clk_disable",
	  "clk/clk_enable", "power/cpu_frequency_limits", "power/suspend_resume",
	  "cpuhp/cpuhp_enter", "cpuhp/cpuhp_exit", "cpuhp/cpuhp_pause", "msm_bus/*"}},
	{"membus", {"memory_bus/*"}},
	{"idle", {"power/cpu_idle"}},
	{"disk",
	 {"f2fs/f2fs_sync_file_enter", "f2fs/f2fs_sync_file_exit", "f2fs/f2fs_write_begin",
	  "f2fs/f2fs_write_end", "f2fs/f2fs_iostat", "f2fs/f2fs_iostat_latency",
	  "ext4/ext4_da_write_begin", "ext4/ext4_da_write_end", "ext4/ext4_sync_file_enter",
	  "ext4/ext4_sync_file_exit", "block/block_bio_queue", "block/block_bio_complete",
	  "ufs/ufshcd_command"}},
	{"mmc", {"mmc/*"}},
	{"load", {"cpufreq_interactive/*"}},
	{"sync", {"sync/*", "fence/*", "dma_fence/*"}},
	{"workq", {"workqueue/*"}},
	{"memreclaim",
	 {"vmscan/mm_vmscan_direct_reclaim_begin", "vmscan/mm_vmscan_direct_reclaim_end",
	  "vmscan/mm_vmscan_kswapd_wake", "vmscan/mm_vmscan_kswapd_sleep", "lowmemorykiller/*"}},
	{"regulators", {"regulator/*"}},
	{"binder_driver",
	 {"binder/binder_transaction", "binder/binder_transaction_received",
	  "binder/binder_transaction_alloc_buf", "binder/binder_set_priority"}},
	{"binder_lock", {"binder/binder_lock", "binder/binder_locked", "binder/binder_unlock"}},
	{"pagecache", {"filemap/*"}},
	{"memory",
	 {"kmem/rss_stat", "kmem/ion_heap_grow", "kmem/ion_heap_shrink", "ion/ion_stat",
	  "mm_event/mm_event_record", "dmabuf_heap/dma_heap_stat", "gpu_mem/gpu_mem_total"}},
	{"thermal", {"thermal/thermal_temperature", "thermal/cdev_update"}},
	{"camera", {"lwis/tracing_mark_write"}},
	{"adb", {0}},
	{"aidl", {0}},
	{"am", {0}},
	{"audio", {0}},
	{"bionic", {0}},
	{"dalvik", {0}},
	{"database", {0}},
	{"hal", {0}},
	{"input", {0}},
	{"network", {0}},
	{"nnapi", {0}},
	{"pdx", {0}},
	{"pm", {0}},
	{"power", {0}},
	{"res", {0}},
	{"rro", {0}},
	{"rs", {0}},
	{"sm", {0}},
	{"ss", {0}},
	{"vibrator", {0}},
	{"video", {0}},
	{"view", {0}},
	{"webview", {0}},
	{"wm", {0}},
};

static const struct category *atrace_categories_find(const char *name)
{
	for (unsigned i = 0; i < ARRAY_SIZE(categories); i++)
		if (!strcmp(name, categories[i].name))
			return &categories[i];
	return NULL;
}

static void report_unknown_category(const struct setup *s, const char *name)
{
	struct str_nearest n;

	str_nearest_init(&n, name);
	for (unsigned i = 0; i < ARRAY_SIZE(categories); i++)
		str_nearest_try(&n, categories[i].name);
	if (str_nearest_get(&n))
		setup_error_add(s->errors,
				"option:atrace_categories (%s: no such category; did you mean %s?)",
				name, str_nearest_get(&n));
	else
		setup_error_add(s->errors, "option:atrace_categories (%s: no such category)", name);
}

/* Events that this kernel lacks are not reported: the config does not name them. */
static int atrace_categories_add_events(const struct category *c, struct event_selection *events,
					const struct setup *s)
{
	struct event_selection there = {0};
	struct setup_errors ignored = {0};
	struct proto_event known;
	size_t n = 0;
	int r;

	while (c->requests[n])
		n++;
	r = event_select(s->root, (char *const *)c->requests, n, &there, &ignored);
	for (size_t i = 0; !r && i < there.n; i++)
		if (proto_events_find(there.events[i].group, there.events[i].name, &known))
			r = event_selection_add(events, there.events[i].group,
						there.events[i].name);
	event_selection_deinit(&there);
	setup_errors_deinit(&ignored);
	return r;
}

int atrace_categories_apply(struct event_selection *events, const struct setup *s)
{
	const Pb__FtraceConfig *c = s->config;
	int r;

	if (!c->n_atrace_categories && !c->n_atrace_apps && !c->n_atrace_categories_prefer_sdk)
		return 0;
	setup_error_notice(
		s->errors,
		"atrace: only the kernel's part of the categories is recorded: what Android's "
		"own processes and apps write exists on Android only");
	for (size_t i = 0; i < c->n_atrace_categories; i++) {
		const struct category *category = atrace_categories_find(c->atrace_categories[i]);

		if (!category)
			report_unknown_category(s, c->atrace_categories[i]);
		else if (!c->atrace_userspace_only &&
			 (r = atrace_categories_add_events(category, events, s)))
			return r;
	}
	return event_selection_add(events, "ftrace", "print");
}
