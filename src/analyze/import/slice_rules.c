/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernel events that begin and end slices: interrupts and timers on tracks of their CPU; system
 * calls and work items on the track of their thread. A row of slice_rules says what an event makes.
 */
#include "analyze/import/event_rules.h"

#include <string.h>

#include "analyze/import/import_steps.h"
#include "analyze/import/slices.h"
#include "analyze/import/tracks.h"
#include "base/core/mem.h"
#include "base/system/syscall_names.h"
#include "gen/fields.h"

static const struct track_type irq_type = {"cpu_irq", NULL, false, {{"cpu", false}}};
static const struct track_type hrtimer_type = {"cpu_hrtimer", NULL, false, {{"cpu", false}}};
static const struct track_type softirq_type = {"cpu_softirq", NULL, false, {{"cpu", false}}};

static uint32_t cpu_track(struct import *im, struct machine *m, const struct track_type *type,
			  const char *name, uint32_t cpu)
{
	int64_t value = cpu;

	return tracks_get(im, m, type,
			  strings_intern_f(&im->store->strings, "%s Cpu %u", name, (unsigned)cpu),
			  &value);
}

static uint32_t slice_rules_intern(struct import *im, const char *s)
{
	return strings_intern_z(&im->store->strings, s);
}

/* ---- interrupts ---- */

static void irq_entry(struct import *im, struct machine *m, const struct ftrace_event *e)
{
	struct pb_field f;

	event_field(e, PB_IRQ_HANDLER_ENTRY_FTRACE_EVENT_NAME, &f);
	slices_begin(im, e->ts, -1, cpu_track(im, m, &irq_type, "Irq", e->cpu),
		     slice_rules_intern(im, "irq"),
		     strings_intern_f(&im->store->strings, "IRQ (%.*s)",
				      (int)MIN(f.len, (size_t)200),
				      f.data ? (const char *)f.data : ""),
		     NULL);
}

static void irq_exit(struct import *im, struct machine *m, const struct ftrace_event *e)
{
	uint32_t key = slice_rules_intern(im, "ret");
	struct pb_field f;

	event_field(e, PB_IRQ_HANDLER_EXIT_FTRACE_EVENT_RET, &f);
	arg_builder_add(im->store, &im->args,
			&(struct stored_arg){.key = key,
					     .flat_key = key,
					     .type = ARG_STRING,
					     .value = slice_rules_intern(
						     im, f.u64 == 1 ? "handled" : "unhandled")});
	slices_end(im, e->ts, cpu_track(im, m, &irq_type, "Irq", e->cpu), NULL_U32, NULL_U32,
		   &im->args);
}

static const char *const softirqs[] = {"HI",	       "TIMER",	  "NET_TX", "NET_RX",  "BLOCK",
				       "BLOCK_IOPOLL", "TASKLET", "SCHED",  "HRTIMER", "RCU"};

static void softirq_entry(struct import *im, struct machine *m, const struct ftrace_event *e)
{
	struct pb_field f;

	event_field(e, PB_SOFTIRQ_ENTRY_FTRACE_EVENT_VEC, &f);
	if (f.u64 < ARRAY_SIZE(softirqs))
		slices_begin(im, e->ts, -1, cpu_track(im, m, &softirq_type, "SoftIrq", e->cpu),
			     slice_rules_intern(im, "irq"), slice_rules_intern(im, softirqs[f.u64]),
			     NULL);
}

static void softirq_exit(struct import *im, struct machine *m, const struct ftrace_event *e)
{
	struct pb_field f;

	event_field(e, PB_SOFTIRQ_EXIT_FTRACE_EVENT_VEC, &f);
	if (f.u64 >= ARRAY_SIZE(softirqs))
		return;
	arg_builder_add_int(im->store, &im->args, "vec", ARG_INT, (int64_t)f.u64);
	slices_end(im, e->ts, cpu_track(im, m, &softirq_type, "SoftIrq", e->cpu), NULL_U32,
		   NULL_U32, &im->args);
}

static void local_timer_entry(struct import *im, struct machine *m, const struct ftrace_event *e)
{
	slices_begin(im, e->ts, -1, cpu_track(im, m, &irq_type, "Irq", e->cpu),
		     slice_rules_intern(im, "irq"), slice_rules_intern(im, "IRQ (LocalTimer)"),
		     NULL);
}

static void local_timer_exit(struct import *im, struct machine *m, const struct ftrace_event *e)
{
	slices_end(im, e->ts, cpu_track(im, m, &irq_type, "Irq", e->cpu), NULL_U32, NULL_U32, NULL);
}

static void hrtimer_entry(struct import *im, struct machine *m, const struct ftrace_event *e)
{
	slices_begin(im, e->ts, -1, cpu_track(im, m, &hrtimer_type, "Hrtimer", e->cpu),
		     slice_rules_intern(im, "hrtimer"),
		     event_function_name(im, m, e, PB_HRTIMER_EXPIRE_ENTRY_FTRACE_EVENT_FUNCTION),
		     NULL);
}

static void hrtimer_exit(struct import *im, struct machine *m, const struct ftrace_event *e)
{
	slices_end(im, e->ts, cpu_track(im, m, &hrtimer_type, "Hrtimer", e->cpu), NULL_U32,
		   NULL_U32, NULL);
}

/* ---- system calls ---- */

#define SYSCALLS_END 550

static uint32_t syscall_string(struct import *im, const struct machine *m, uint64_t number)
{
	char name[SYSCALL_NAME_MAX];

	syscall_name(m->arch, (uint32_t)number, name);
	if (name[0])
		return strings_intern_f(&im->store->strings, "sys_%s", name);
	return strings_intern_f(&im->store->strings, "sys_%u", (unsigned)number);
}

static uint32_t cached_syscall(struct import *im, struct machine *m, uint64_t number)
{
	if (!m->syscalls[number])
		m->syscalls[number] = syscall_string(im, m, number) + 1;
	return m->syscalls[number] - 1;
}

/* Returns the event's own row of ftrace_event, which is the last row. */
static uint32_t last_ftrace_row(const struct import *im)
{
	return im->store->tables[TABLE_FTRACE].rows - 1;
}

static void sys_enter(struct import *im, struct machine *m, const struct ftrace_event *e)
{
	struct pb_field f;
	uint32_t slice, name;
	bool has_args = event_field(e, PB_SYS_ENTER_FTRACE_EVENT_ARGS, &f);

	event_field(e, PB_SYS_ENTER_FTRACE_EVENT_ID, &f);
	if (f.u64 >= SYSCALLS_END)
		return;
	name = cached_syscall(im, m, f.u64);
	slice = slices_begin_syscall(im, e->ts,
				     name == slice_rules_intern(im, "sys_rt_sigreturn") ? 0 : -1,
				     tracks_get_thread_track(im, m, e->utid), name,
				     has_args ? last_ftrace_row(im) : NULL_U32);
	if (name == slice_rules_intern(im, "sys_write"))
		im->infos.threads[e->utid].in_write = slice;
}

static void sys_exit(struct import *im, struct machine *m, const struct ftrace_event *e)
{
	struct thread_info *info = &im->infos.threads[e->utid];
	struct pb_field f;
	uint32_t name;

	event_field(e, PB_SYS_EXIT_FTRACE_EVENT_ID, &f);
	if (f.u64 >= SYSCALLS_END)
		return;
	name = cached_syscall(im, m, f.u64);
	if (name == slice_rules_intern(im, "sys_write")) {
		bool ended = info->in_write == NULL_U32 || info->in_write == WRITE_CUT;

		info->in_write = NULL_U32;
		if (ended)
			return;
	}
	slices_end_syscall(im, e->ts, tracks_get_thread_track(im, m, e->utid), name,
			   last_ftrace_row(im));
}

/* A program writes a marker by write(2); as in trace_processor, that slice ends at the marker. */
void slice_rules_cut_write(struct import *im, struct machine *m, int64_t ts, uint32_t utid)
{
	struct thread_info *info = &im->infos.threads[utid];

	if (info->in_write == NULL_U32 || info->in_write == WRITE_CUT)
		return;
	info->in_write = WRITE_CUT;
	slices_end(im, ts, tracks_get_thread_track(im, m, utid), NULL_U32,
		   slice_rules_intern(im, "sys_write"), NULL);
	stats_add(im->store, STAT_TRUNCATED_SYS_WRITE_DURATION, STAT_NO_INDEX, 1);
}

/* ---- work items ---- */

static void work_start(struct import *im, struct machine *m, const struct ftrace_event *e)
{
	uint32_t name =
		event_function_name(im, m, e, PB_WORKQUEUE_EXECUTE_START_FTRACE_EVENT_FUNCTION);

	arg_builder_add_int(im->store, &im->args, "cpu", ARG_INT, e->cpu);
	slices_begin(im, e->ts, -1, tracks_get_thread_track(im, m, e->utid),
		     slice_rules_intern(im, "workqueue"), name, &im->args);
}

static void work_end(struct import *im, struct machine *m, const struct ftrace_event *e)
{
	slices_end(im, e->ts, tracks_get_thread_track(im, m, e->utid),
		   slice_rules_intern(im, "workqueue"), NULL_U32, NULL);
}

const struct event_rule slice_rules[] = {
	{PB_FTRACE_EVENT_IRQ_HANDLER_ENTRY, irq_entry, NULL},
	{PB_FTRACE_EVENT_IRQ_HANDLER_EXIT, irq_exit, NULL},
	{PB_FTRACE_EVENT_SOFTIRQ_ENTRY, softirq_entry, NULL},
	{PB_FTRACE_EVENT_SOFTIRQ_EXIT, softirq_exit, NULL},
	{PB_FTRACE_EVENT_LOCAL_TIMER_ENTRY, local_timer_entry, NULL},
	{PB_FTRACE_EVENT_LOCAL_TIMER_EXIT, local_timer_exit, NULL},
	{PB_FTRACE_EVENT_HRTIMER_EXPIRE_ENTRY, hrtimer_entry, "function"},
	{PB_FTRACE_EVENT_HRTIMER_EXPIRE_EXIT, hrtimer_exit, NULL},
	{PB_FTRACE_EVENT_SYS_ENTER, sys_enter, NULL},
	{PB_FTRACE_EVENT_SYS_EXIT, sys_exit, NULL},
	{PB_FTRACE_EVENT_WORKQUEUE_EXECUTE_START, work_start, "function"},
	{PB_FTRACE_EVENT_WORKQUEUE_EXECUTE_END, work_end, "function"},
	{0, NULL, NULL},
};
