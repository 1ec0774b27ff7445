/* SPDX-License-Identifier: Apache-2.0 */
#include "ftrace/options/instance_options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/system/fs.h"
#include "base/text/str.h"
#include "ftrace/format/proto_events.h"
#include "ftrace/options/event_filters.h"
#include "ftrace/options/event_triggers.h"
#include "ftrace/options/pid_filter.h"
#include "ftrace/options/setup.h"
#include "ftrace/options/subject_filter.h"

/*
 * Android's category names. Requests have the syntax of ftrace_events. Most of the events exist on
 * phones only.
 */

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

/* Adds the events of a category. Events that this kernel lacks are not reported: the config does
 * not name them. */
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
	setup_error_set_notice(s->errors,
			       "atrace: only the kernel events of the categories are recorded; "
			       "events from Android's processes and apps exist only on Android");
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

/* ---- defaults of a new instance ---- */

/* The options that affect records, as in the kernel's TRACE_DEFAULT_FLAGS. The kernel clears the
 * other options of a new instance, or they affect only the output of `trace`. */
static const struct {
	const char *name;
	bool on;
} defaults[] = {
	{"overwrite", true},	   {"markers", true},	       {"stacktrace", false},
	{"userstacktrace", false}, {"func-no-repeats", false}, {"disable_on_free", false},
	{"function-trace", true},
};

/* Returns 0, 1 or -errno; -EIO: not a boolean option. */
static int read_option_state(const struct instance *i, const char *file)
{
	_cleanup_(freep) char *text = NULL;

	errno = 0;
	text = instance_read(i, file);
	if (!text)
		return errno ? -errno : -EIO;
	text[strcspn(text, "\n")] = '\0';
	if (!strcmp(text, "0") || !strcmp(text, "1"))
		return *text - '0';
	return -EIO;
}

/* Resets the options that affect records to the kernel's defaults: a new instance inherits the
 * current options of the top level, such as another user's `stacktrace` or `nooverwrite`. */
static void tracefs_options_reset(const struct instance *i)
{
	char file[64];
	int is;

	for (unsigned k = 0; k < ARRAY_SIZE(defaults); k++) {
		snprintf(file, sizeof(file), "options/%s", defaults[k].name);
		is = read_option_state(i, file);
		if (is >= 0 && is != defaults[k].on)
			instance_write(i, file, defaults[k].on ? "1" : "0");
	}
}

/* ---- tracefs_options ---- */

/* Options that have a global effect although each instance has a file for them. */
static const struct {
	const char *name;
	const char *why;
} shared[] = {
	{"trace_printk_dest", "it would redirect the kernel's trace_printk from the top level"},
	{"record-tgid", "it affects the events of all users, and no trace needs it"},
	{"test_nop_accept", "the setting is shared by all instances"},
	{"test_nop_refuse", "the setting is shared by all instances"},
};

static bool is_option_name(const char *name)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				      "0123456789_-";

	return *name && strlen(name) < 64 && name[strspn(name, letters)] == '\0';
}

static void instance_options_refuse(const struct setup *s, const char *name, const char *why)
{
	setup_error_add(s->errors, "option:tracefs_options (%s: %s)", name, why);
}

static void refuse_unknown(const struct setup *s, const char *name)
{
	_cleanup_(freep) char *dir = instance_make_path(s->instance, "options");
	char path[4096], best[STR_NEAREST_SIZE];
	const char *meant;

	snprintf(path, sizeof(path), "%s/options/%s", s->root, name);
	if (fs_exists(path)) {
		instance_options_refuse(s, name,
					"the option exists only at tracefs' top level, where it "
					"would affect all users");
		return;
	}
	meant = dir ? fs_find_nearest(dir, name, best) : NULL;
	if (meant)
		setup_error_add(s->errors,
				"option:tracefs_options (%s: no such option; did you mean %s?)",
				name, meant);
	else
		instance_options_refuse(s, name, "no such option");
}

static void set_tracefs_option(const struct setup *s, const char *name, bool on)
{
	char file[80];
	int r;

	for (unsigned k = 0; k < ARRAY_SIZE(shared); k++)
		if (!strcmp(name, shared[k].name)) {
			instance_options_refuse(s, name, shared[k].why);
			return;
		}
	snprintf(file, sizeof(file), "options/%s", name);
	r = read_option_state(s->instance, file);
	if (r == -ENOENT) {
		refuse_unknown(s, name);
		return;
	}
	if (r >= 0)
		r = r == on ? 0 : instance_write(s->instance, file, on ? "1" : "0");
	if (r)
		instance_options_refuse(s, name, strerror(-r));
}

/* Sets FtraceConfig.tracefs_options. Reports unknown names with the nearest known name, and
 * options with global effect, which it does not set. */
static void tracefs_options_set(const struct setup *s)
{
	const Pb__FtraceConfig *c = s->config;

	for (size_t i = 0; i < c->n_tracefs_options; i++) {
		const Pb__FtraceConfig__TracefsOption *o = c->tracefs_options[i];
		const char *name = o->name ? o->name : "";

		if (!is_option_name(name))
			instance_options_refuse(s, name, "not a valid option name");
		else if (o->state == PB__FTRACE_CONFIG__TRACEFS_OPTION__STATE__STATE_UNKNOWN)
			instance_options_refuse(s, name,
						"set state to STATE_ENABLED or STATE_DISABLED");
		else
			set_tracefs_option(
				s, name,
				o->state ==
					PB__FTRACE_CONFIG__TRACEFS_OPTION__STATE__STATE_ENABLED);
	}
}

/* Adds ftrace/kernel_stack and user_stack if the config sets the options that generate them.
 * Returns 0 or -ENOMEM. */
static int tracefs_options_add_implied_events(struct event_selection *events, const struct setup *s)
{
	static const struct {
		const char *option;
		const char *event;
	} stacks[] = {{"stacktrace", "kernel_stack"}, {"userstacktrace", "user_stack"}};
	int r = 0;

	for (size_t i = 0; !r && i < s->config->n_tracefs_options; i++) {
		const Pb__FtraceConfig__TracefsOption *o = s->config->tracefs_options[i];

		for (unsigned k = 0; !r && k < ARRAY_SIZE(stacks); k++)
			if (o->state == PB__FTRACE_CONFIG__TRACEFS_OPTION__STATE__STATE_ENABLED &&
			    o->name && !strcmp(o->name, stacks[k].option))
				r = event_selection_add(events, "ftrace", stacks[k].event);
	}
	return r;
}

/* ---- tracing_cpumask ---- */

#define SHOWN 80 /* bytes of an invalid mask that are shown */

static int refuse_cpumask(const struct setup *s, const char *why)
{
	setup_error_set_fatal(s->errors, "nothing is recorded: tracing_cpumask \"%.*s\": %s", SHOWN,
			      s->config->tracing_cpumask, why);
	return -EINVAL;
}

/* Returns true for hexadecimal words of one to eight digits, separated by commas. */
static bool is_cpu_mask(const char *mask)
{
	for (;;) {
		size_t digits = strspn(mask, "0123456789abcdefABCDEF");

		if (digits < 1 || digits > 8)
			return false;
		mask += digits;
		if (*mask != ',')
			return *mask == '\0';
		mask++;
	}
}

/* Sets the CPUs whose events are recorded, FtraceConfig.tracing_cpumask: hexadecimal words of 32
 * bits, separated by commas, highest CPUs first. Returns 0, or -errno with a fatal setup error if
 * the mask is invalid or empty, because CPUs other than those requested would be recorded. */
static int traced_cpus_set(const struct setup *s)
{
	const char *mask = s->config->tracing_cpumask;
	int r;

	if (!mask || !*mask)
		return 0;
	if (!is_cpu_mask(mask))
		return refuse_cpumask(s, "expected hexadecimal words of up to 8 digits, for "
					 "example 00000001,ffffffff");
	if (mask[strspn(mask, "0,")] == '\0')
		return refuse_cpumask(s, "the mask selects no CPU");
	r = instance_write(s->instance, "tracing_cpumask", mask);
	switch (r) {
	case 0:
		return 0;
	case -EOVERFLOW:
		return refuse_cpumask(s, "the mask selects CPUs that this machine does not have");
	default:
		return refuse_cpumask(s, strerror(-r));
	}
}

int instance_options_set(const struct setup *s, const char *proc_root)
{
	int r;

	if (instance_is_own(s->instance))
		tracefs_options_reset(s->instance);
	tracefs_options_set(s);
	r = traced_cpus_set(s);
	return r ? r : pid_filter_set(s, proc_root);
}

int instance_options_restrict_events(struct event_selection *events, const struct setup *s)
{
	int r = atrace_categories_apply(events, s);

	if (!r)
		r = syscall_events_apply(events, s);
	if (!r)
		r = event_filters_apply(events, s);
	if (!r)
		r = subject_filter_programs(events, s);
	if (!r)
		r = tracefs_options_add_implied_events(events, s);
	return r ? r : event_triggers_add_implied_events(events, s);
}
