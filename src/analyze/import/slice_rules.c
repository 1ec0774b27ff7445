/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernel events that begin and end slices: interrupts and timers on tracks of their CPU; system
 * calls and work items on the track of their thread. A row of slice_rules says what an event makes.
 */
#include "analyze/import/event_rules.h"

#include <errno.h>
#include <string.h>

#include "analyze/import/remembered.h"
#include "analyze/import/slices.h"
#include "analyze/import/tracks.h"
#include "base/core/mem.h"
#include "base/system/syscall_names.h"
#include "gen/fields.h"

static const struct track_type irq_type = {"cpu_irq", NULL, false, {{"cpu", false}}};
static const struct track_type hrtimer_type = {"cpu_hrtimer", NULL, false, {{"cpu", false}}};
static const struct track_type softirq_type = {"cpu_softirq", NULL, false, {{"cpu", false}}};

static uint32_t get_cpu_track(struct import *im, struct machine *m, const struct track_type *type,
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

static void handle_irq_entry(struct import *im, struct machine *m, const struct ftrace_event *e)
{
	struct pb_field f;

	event_field(e, PB_IRQ_HANDLER_ENTRY_FTRACE_EVENT_NAME, &f);
	slices_begin(im, e->ts, -1, get_cpu_track(im, m, &irq_type, "Irq", e->cpu),
		     slice_rules_intern(im, "irq"),
		     strings_intern_f(&im->store->strings, "IRQ (%.*s)",
				      (int)MIN(f.len, (size_t)200),
				      f.data ? (const char *)f.data : ""),
		     NULL);
}

static void handle_irq_exit(struct import *im, struct machine *m, const struct ftrace_event *e)
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
	slices_end(im, e->ts, get_cpu_track(im, m, &irq_type, "Irq", e->cpu), NULL_U32, NULL_U32,
		   &im->args);
}

static const char *const softirqs[] = {"HI",	       "TIMER",	  "NET_TX", "NET_RX",  "BLOCK",
				       "BLOCK_IOPOLL", "TASKLET", "SCHED",  "HRTIMER", "RCU"};

static void handle_softirq_entry(struct import *im, struct machine *m, const struct ftrace_event *e)
{
	struct pb_field f;

	event_field(e, PB_SOFTIRQ_ENTRY_FTRACE_EVENT_VEC, &f);
	if (f.u64 < ARRAY_SIZE(softirqs))
		slices_begin(im, e->ts, -1, get_cpu_track(im, m, &softirq_type, "SoftIrq", e->cpu),
			     slice_rules_intern(im, "irq"), slice_rules_intern(im, softirqs[f.u64]),
			     NULL);
}

static void handle_softirq_exit(struct import *im, struct machine *m, const struct ftrace_event *e)
{
	struct pb_field f;

	event_field(e, PB_SOFTIRQ_EXIT_FTRACE_EVENT_VEC, &f);
	if (f.u64 >= ARRAY_SIZE(softirqs))
		return;
	arg_builder_add_int(im->store, &im->args, "vec", ARG_INT, (int64_t)f.u64);
	slices_end(im, e->ts, get_cpu_track(im, m, &softirq_type, "SoftIrq", e->cpu), NULL_U32,
		   NULL_U32, &im->args);
}

static void handle_local_timer_entry(struct import *im, struct machine *m,
				     const struct ftrace_event *e)
{
	slices_begin(im, e->ts, -1, get_cpu_track(im, m, &irq_type, "Irq", e->cpu),
		     slice_rules_intern(im, "irq"), slice_rules_intern(im, "IRQ (LocalTimer)"),
		     NULL);
}

static void handle_local_timer_exit(struct import *im, struct machine *m,
				    const struct ftrace_event *e)
{
	slices_end(im, e->ts, get_cpu_track(im, m, &irq_type, "Irq", e->cpu), NULL_U32, NULL_U32,
		   NULL);
}

static void handle_hrtimer_entry(struct import *im, struct machine *m, const struct ftrace_event *e)
{
	slices_begin(im, e->ts, -1, get_cpu_track(im, m, &hrtimer_type, "Hrtimer", e->cpu),
		     slice_rules_intern(im, "hrtimer"),
		     event_function_name(im, m, e, PB_HRTIMER_EXPIRE_ENTRY_FTRACE_EVENT_FUNCTION),
		     NULL);
}

static void handle_hrtimer_exit(struct import *im, struct machine *m, const struct ftrace_event *e)
{
	slices_end(im, e->ts, get_cpu_track(im, m, &hrtimer_type, "Hrtimer", e->cpu), NULL_U32,
		   NULL_U32, NULL);
}

/* ---- system calls ---- */

#define SYSCALLS_END 550

static uint32_t syscall_string(struct import *im, const struct machine *m, uint64_t number)
{
	char name[SYSCALL_NAME_MAX];

	if (syscall_name(m->arch, (uint32_t)number, name) < 0)
		im->store->budget.error = -ENOMEM;
	if (name[0])
		return strings_intern_f(&im->store->strings, "sys_%s", name);
	return strings_intern_f(&im->store->strings, "sys_%u", (unsigned)number);
}

static uint32_t name_of_syscall(struct import *im, struct machine *m, uint64_t number)
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

static void handle_sys_enter(struct import *im, struct machine *m, const struct ftrace_event *e)
{
	struct pb_field f;
	uint32_t slice, name;
	bool has_args = event_field(e, PB_SYS_ENTER_FTRACE_EVENT_ARGS, &f);

	event_field(e, PB_SYS_ENTER_FTRACE_EVENT_ID, &f);
	if (f.u64 >= SYSCALLS_END)
		return;
	name = name_of_syscall(im, m, f.u64);
	slice = slices_begin_syscall(im, e->ts,
				     name == slice_rules_intern(im, "sys_rt_sigreturn") ? 0 : -1,
				     tracks_get_thread_track(im, m, e->utid), name,
				     has_args ? last_ftrace_row(im) : NULL_U32);
	if (name == slice_rules_intern(im, "sys_write"))
		im->infos.threads[e->utid].in_write = slice;
}

static void handle_sys_exit(struct import *im, struct machine *m, const struct ftrace_event *e)
{
	struct thread_info *info = &im->infos.threads[e->utid];
	struct pb_field f;
	uint32_t name;

	event_field(e, PB_SYS_EXIT_FTRACE_EVENT_ID, &f);
	if (f.u64 >= SYSCALLS_END)
		return;
	name = name_of_syscall(im, m, f.u64);
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

static void handle_workqueue_start(struct import *im, struct machine *m,
				   const struct ftrace_event *e)
{
	uint32_t name =
		event_function_name(im, m, e, PB_WORKQUEUE_EXECUTE_START_FTRACE_EVENT_FUNCTION);

	arg_builder_add_int(im->store, &im->args, "cpu", ARG_INT, e->cpu);
	slices_begin(im, e->ts, -1, tracks_get_thread_track(im, m, e->utid),
		     slice_rules_intern(im, "workqueue"), name, &im->args);
}

static void handle_workqueue_end(struct import *im, struct machine *m, const struct ftrace_event *e)
{
	slices_end(im, e->ts, tracks_get_thread_track(im, m, e->utid),
		   slice_rules_intern(im, "workqueue"), NULL_U32, NULL);
}

const struct event_rule slice_rules[] = {
	{PB_FTRACE_EVENT_IRQ_HANDLER_ENTRY, handle_irq_entry, NULL},
	{PB_FTRACE_EVENT_IRQ_HANDLER_EXIT, handle_irq_exit, NULL},
	{PB_FTRACE_EVENT_SOFTIRQ_ENTRY, handle_softirq_entry, NULL},
	{PB_FTRACE_EVENT_SOFTIRQ_EXIT, handle_softirq_exit, NULL},
	{PB_FTRACE_EVENT_LOCAL_TIMER_ENTRY, handle_local_timer_entry, NULL},
	{PB_FTRACE_EVENT_LOCAL_TIMER_EXIT, handle_local_timer_exit, NULL},
	{PB_FTRACE_EVENT_HRTIMER_EXPIRE_ENTRY, handle_hrtimer_entry, "function"},
	{PB_FTRACE_EVENT_HRTIMER_EXPIRE_EXIT, handle_hrtimer_exit, NULL},
	{PB_FTRACE_EVENT_SYS_ENTER, handle_sys_enter, NULL},
	{PB_FTRACE_EVENT_SYS_EXIT, handle_sys_exit, NULL},
	{PB_FTRACE_EVENT_WORKQUEUE_EXECUTE_START, handle_workqueue_start, "function"},
	{PB_FTRACE_EVENT_WORKQUEUE_EXECUTE_END, handle_workqueue_end, "function"},
	{0, NULL, NULL},
};

/*
 * Kernel events that are slices of a thread: reclaim of memory, signals, functions, probes. A row
 * of `steps` says what an event begins or ends, and which fields become arguments.
 */

struct arg_field {
	uint32_t field;
	const char *key;
	enum arg_type type;
};

enum step_kind { STEP_BEGIN, STEP_END, STEP_INSTANT };

static const struct slice_step {
	uint32_t event;
	enum step_kind kind;
	const char *name;
	uint32_t thread; /* field with the tid of the slice's thread; 0: the event's thread */
	struct arg_field args[5]; /* ends with a NULL key */
} steps[] = {
	{PB_FTRACE_EVENT_MM_VMSCAN_DIRECT_RECLAIM_BEGIN,
	 STEP_BEGIN,
	 "mm_vmscan_direct_reclaim",
	 0,
	 {{PB_MM_VMSCAN_DIRECT_RECLAIM_BEGIN_FTRACE_EVENT_ORDER, "direct_reclaim_order", ARG_INT},
	  {PB_MM_VMSCAN_DIRECT_RECLAIM_BEGIN_FTRACE_EVENT_MAY_WRITEPAGE,
	   "direct_reclaim_may_writepage", ARG_INT},
	  {PB_MM_VMSCAN_DIRECT_RECLAIM_BEGIN_FTRACE_EVENT_GFP_FLAGS, "direct_reclaim_gfp_flags",
	   ARG_UINT}}},
	{PB_FTRACE_EVENT_MM_VMSCAN_DIRECT_RECLAIM_END,
	 STEP_END,
	 NULL,
	 0,
	 {{PB_MM_VMSCAN_DIRECT_RECLAIM_END_FTRACE_EVENT_NR_RECLAIMED, "direct_reclaim_nr_reclaimed",
	   ARG_UINT}}},
	{PB_FTRACE_EVENT_MM_VMSCAN_MEMCG_RECLAIM_BEGIN,
	 STEP_BEGIN,
	 "mm_vmscan_memcg_reclaim",
	 0,
	 {{PB_MM_VMSCAN_MEMCG_RECLAIM_BEGIN_FTRACE_EVENT_ORDER, "memcg_reclaim_order", ARG_INT},
	  {PB_MM_VMSCAN_MEMCG_RECLAIM_BEGIN_FTRACE_EVENT_MAY_WRITEPAGE,
	   "memcg_reclaim_may_writepage", ARG_INT},
	  {PB_MM_VMSCAN_MEMCG_RECLAIM_BEGIN_FTRACE_EVENT_GFP_FLAGS, "memcg_reclaim_gfp_flags",
	   ARG_UINT}}},
	{PB_FTRACE_EVENT_MM_VMSCAN_MEMCG_RECLAIM_END,
	 STEP_END,
	 NULL,
	 0,
	 {{PB_MM_VMSCAN_MEMCG_RECLAIM_END_FTRACE_EVENT_NR_RECLAIMED, "memcg_reclaim_nr_reclaimed",
	   ARG_UINT}}},
	{PB_FTRACE_EVENT_MM_SHRINK_SLAB_END,
	 STEP_END,
	 NULL,
	 0,
	 {{PB_MM_SHRINK_SLAB_END_FTRACE_EVENT_RETVAL, "freed", ARG_INT}}},
	{PB_FTRACE_EVENT_SIGNAL_GENERATE,
	 STEP_INSTANT,
	 "signal_generate",
	 PB_SIGNAL_GENERATE_FTRACE_EVENT_PID,
	 {{PB_SIGNAL_GENERATE_FTRACE_EVENT_SIG, "signal.sig", ARG_INT}}},
	{PB_FTRACE_EVENT_SIGNAL_DELIVER,
	 STEP_INSTANT,
	 "signal_deliver",
	 0,
	 {{PB_SIGNAL_DELIVER_FTRACE_EVENT_SIG, "signal.sig", ARG_INT}}},
	{PB_FTRACE_EVENT_MARK_VICTIM,
	 STEP_INSTANT,
	 "mem.oom_kill",
	 PB_MARK_VICTIM_FTRACE_EVENT_PID,
	 {{0, NULL, ARG_NULL}}},
};

static uint32_t thread_slices_intern(struct import *im, const char *s)
{
	return strings_intern_z(&im->store->strings, s);
}

static void thread_slices_add_text(struct import *im, const char *key, uint32_t text)
{
	arg_builder_add_int(im->store, &im->args, key, ARG_STRING, text);
}

static void apply_slice_step(struct import *im, struct machine *m, const struct ftrace_event *e,
			     const struct slice_step *s)
{
	uint32_t utid = e->utid, track;
	struct pb_field f;

	if (s->thread) {
		event_field(e, s->thread, &f);
		utid = tasks_get_thread(&m->tasks, (int32_t)f.u64);
	}
	track = tracks_get_thread_track(im, m, utid);
	for (const struct arg_field *a = s->args; a < s->args + ARRAY_SIZE(s->args) && a->key;
	     a++) {
		event_field(e, a->field, &f);
		arg_builder_add_int(im->store, &im->args, a->key, a->type, (int64_t)f.u64);
	}
	if (s->kind == STEP_END)
		slices_end(im, e->ts, track, NULL_U32, NULL_U32, &im->args);
	else
		slices_begin(im, e->ts, s->kind == STEP_INSTANT ? 0 : -1, track, NULL_U32,
			     thread_slices_intern(im, s->name), &im->args);
}

static void thread_slices_apply_steps(struct import *im, struct machine *m,
				      const struct ftrace_event *e)
{
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++)
		if (steps[i].event == e->number)
			apply_slice_step(im, m, e, &steps[i]);
}

static void handle_shrink_slab(struct import *im, struct machine *m, const struct ftrace_event *e)
{
	struct pb_field scan, priority;

	event_field(e, PB_MM_SHRINK_SLAB_START_FTRACE_EVENT_TOTAL_SCAN, &scan);
	event_field(e, PB_MM_SHRINK_SLAB_START_FTRACE_EVENT_PRIORITY, &priority);
	thread_slices_add_text(
		im, "shrink_name",
		event_function_name(im, m, e, PB_MM_SHRINK_SLAB_START_FTRACE_EVENT_SHRINK));
	arg_builder_add_int(im->store, &im->args, "total_scan", ARG_UINT, (int64_t)scan.u64);
	arg_builder_add_int(im->store, &im->args, "priority", ARG_INT, (int64_t)priority.u64);
	slices_begin(im, e->ts, -1, tracks_get_thread_track(im, m, e->utid), NULL_U32,
		     thread_slices_intern(im, "mm_vmscan_shrink_slab"), &im->args);
}

/* ---- contiguous memory (CMA) ---- */

/* Kernels 5.10 to 6.0 have cma_alloc_info, which ends the slice. Later ones have cma_alloc_finish,
 * and a separate event for what was migrated. */
enum cma_events { CMA_NONE, CMA_INFO, CMA_FINISH };

static enum cma_events cma_events(const struct machine *m)
{
	if (m->kernel_major < 5 || (m->kernel_major == 5 && m->kernel_minor < 10))
		return CMA_NONE;
	return m->kernel_major < 6 || (m->kernel_major == 6 && m->kernel_minor < 1) ? CMA_INFO
										    : CMA_FINISH;
}

enum cma_number { CMA_MIGRATED, CMA_RECLAIMED, CMA_MAPPED, CMA_NUMBERS };

/* Returns where a number of the thread's current allocation is kept; NULL if out of memory. */
static int64_t *get_cma_number(struct import *im, const struct machine *m, uint32_t utid,
			       enum cma_number which)
{
	return import_remembered(im, m, REMEMBER_CMA, (uint64_t)utid * CMA_NUMBERS + which);
}

static void handle_cma_start(struct import *im, struct machine *m, const struct ftrace_event *e)
{
	if (cma_events(m) == CMA_NONE)
		return;
	for (unsigned i = 0; i < CMA_NUMBERS; i++) {
		int64_t *number = get_cma_number(im, m, e->utid, i);

		if (number)
			*number = 0;
	}
	slices_begin(im, e->ts, -1, tracks_get_thread_track(im, m, e->utid), NULL_U32,
		     thread_slices_intern(im, "mm_cma_alloc"), NULL);
}

static void handle_cma_migrated(struct import *im, struct machine *m, const struct ftrace_event *e)
{
	static const uint32_t fields[CMA_NUMBERS] = {
		PB_MM_ALLOC_CONTIG_MIGRATE_RANGE_INFO_FTRACE_EVENT_NR_MIGRATED,
		PB_MM_ALLOC_CONTIG_MIGRATE_RANGE_INFO_FTRACE_EVENT_NR_RECLAIMED,
		PB_MM_ALLOC_CONTIG_MIGRATE_RANGE_INFO_FTRACE_EVENT_NR_MAPPED};
	struct pb_field f;

	for (unsigned i = 0; i < CMA_NUMBERS; i++) {
		int64_t *number = get_cma_number(im, m, e->utid, i);

		event_field(e, fields[i], &f);
		if (number)
			*number = (int64_t)f.u64;
	}
}

static void add_cma_numbers(struct import *im, uint64_t pfn, uint64_t pages,
			    const int64_t numbers[CMA_NUMBERS])
{
	static const char *const keys[CMA_NUMBERS] = {"cma_nr_migrated", "cma_nr_reclaimed",
						      "cma_nr_mapped"};

	arg_builder_add_int(im->store, &im->args, "cma_pfn", ARG_UINT, (int64_t)pfn);
	arg_builder_add_int(im->store, &im->args, "cma_req_pages", ARG_UINT, (int64_t)pages);
	for (unsigned i = 0; i < CMA_NUMBERS; i++)
		arg_builder_add_int(im->store, &im->args, keys[i], ARG_UINT, numbers[i]);
}

static void handle_cma_finish(struct import *im, struct machine *m, const struct ftrace_event *e)
{
	int64_t numbers[CMA_NUMBERS] = {0};
	struct pb_field pfn, pages;

	if (cma_events(m) != CMA_FINISH)
		return;
	for (unsigned i = 0; i < CMA_NUMBERS; i++) {
		const int64_t *number = get_cma_number(im, m, e->utid, i);

		numbers[i] = number ? *number : 0;
	}
	thread_slices_add_text(im, "cma_name",
			       event_text(im, e, PB_CMA_ALLOC_FINISH_FTRACE_EVENT_NAME));
	event_field(e, PB_CMA_ALLOC_FINISH_FTRACE_EVENT_PFN, &pfn);
	event_field(e, PB_CMA_ALLOC_FINISH_FTRACE_EVENT_COUNT, &pages);
	add_cma_numbers(im, pfn.u64, pages.u64, numbers);
	slices_end(im, e->ts, tracks_get_thread_track(im, m, e->utid), NULL_U32, NULL_U32,
		   &im->args);
}

static void handle_cma_info(struct import *im, struct machine *m, const struct ftrace_event *e)
{
	static const uint32_t fields[CMA_NUMBERS] = {PB_CMA_ALLOC_INFO_FTRACE_EVENT_NR_MIGRATED,
						     PB_CMA_ALLOC_INFO_FTRACE_EVENT_NR_RECLAIMED,
						     PB_CMA_ALLOC_INFO_FTRACE_EVENT_NR_MAPPED};
	static const struct arg_field failures[] = {
		{PB_CMA_ALLOC_INFO_FTRACE_EVENT_ERR_ISO, "cma_nr_isolate_fail", ARG_UINT},
		{PB_CMA_ALLOC_INFO_FTRACE_EVENT_ERR_MIG, "cma_nr_migrate_fail", ARG_UINT},
		{PB_CMA_ALLOC_INFO_FTRACE_EVENT_ERR_TEST, "cma_nr_test_fail", ARG_UINT}};
	int64_t numbers[CMA_NUMBERS];
	struct pb_field pfn, pages, f;

	if (cma_events(m) != CMA_INFO)
		return;
	for (unsigned i = 0; i < CMA_NUMBERS; i++) {
		event_field(e, fields[i], &f);
		numbers[i] = (int64_t)f.u64;
	}
	thread_slices_add_text(im, "cma_name",
			       event_text(im, e, PB_CMA_ALLOC_INFO_FTRACE_EVENT_NAME));
	event_field(e, PB_CMA_ALLOC_INFO_FTRACE_EVENT_PFN, &pfn);
	event_field(e, PB_CMA_ALLOC_INFO_FTRACE_EVENT_COUNT, &pages);
	add_cma_numbers(im, pfn.u64, pages.u64, numbers);
	for (size_t i = 0; i < ARRAY_SIZE(failures); i++) {
		event_field(e, failures[i].field, &f);
		arg_builder_add_int(im->store, &im->args, failures[i].key, failures[i].type,
				    (int64_t)f.u64);
	}
	slices_end(im, e->ts, tracks_get_thread_track(im, m, e->utid), NULL_U32, NULL_U32,
		   &im->args);
}

/* ---- functions ---- */

/* The idle tasks of all CPUs are one thread, so their functions are on a track of the CPU. */
static uint32_t function_track(struct import *im, struct machine *m, const struct ftrace_event *e)
{
	static const struct track_type thread = {
		"thread_funcgraph", NULL, false, {{"utid", false}}};
	static const struct track_type cpu = {"cpu_funcgraph", NULL, false, {{"cpu", false}}};
	int64_t utid = e->utid, number = e->cpu;

	if (e->tid)
		return tracks_get(im, m, &thread, thread_slices_intern(im, "Funcgraph"), &utid);
	return tracks_get(
		im, m, &cpu,
		strings_intern_f(&im->store->strings, "swapper%u -funcgraph", (unsigned)e->cpu),
		&number);
}

static void handle_function_entry(struct import *im, struct machine *m,
				  const struct ftrace_event *e)
{
	slices_begin(im, e->ts, -1, function_track(im, m, e), NULL_U32,
		     event_function_name(im, m, e, PB_FUNCGRAPH_ENTRY_FTRACE_EVENT_FUNC), NULL);
}

static void handle_function_exit(struct import *im, struct machine *m, const struct ftrace_event *e)
{
	slices_end(im, e->ts, function_track(im, m, e), NULL_U32,
		   event_function_name(im, m, e, PB_FUNCGRAPH_EXIT_FTRACE_EVENT_FUNC), NULL);
}

/* Adds an argument of a probe to those of the slice: a GenericFtraceEvent.Field. */
static void add_probe_argument(struct import *im, const struct pb_field *field)
{
	struct pb_field name = {.data = NULL}, value = {.id = 0};
	struct stored_arg a = {.type = ARG_INT};

	pb_for_each (part, field) {
		if (part.id == PB_GENERIC_FTRACE_EVENT_FIELD_NAME)
			name = part;
		else
			value = part;
	}
	if (!name.data || !value.id)
		return;
	a.key = a.flat_key = import_intern_text(im, &name);
	if (value.data)
		a.type = ARG_STRING;
	else if (value.id == PB_GENERIC_FTRACE_EVENT_FIELD_UINT_VALUE)
		a.type = ARG_UINT;
	a.value = value.data ? import_intern_text(im, &value) : (int64_t)value.u64;
	arg_builder_add(im->store, &im->args, &a);
}

/* The type is a KprobeType: 1 begins a slice, 2 ends it, 3 is an instant. */
static void handle_kprobe_event(struct import *im, struct machine *m, const struct ftrace_event *e)
{
	uint32_t track = tracks_get_thread_track(im, m, e->utid);
	uint32_t name = event_text(im, e, PB_KPROBE_EVENT_NAME);
	struct pb_field f;

	event_field(e, PB_KPROBE_EVENT_TYPE, &f);
	if (f.u64 < 1 || f.u64 > 3)
		return;
	pb_for_each (part, &e->message)
		if (part.id == PB_KPROBE_EVENT_ARGUMENT && part.data)
			add_probe_argument(im, &part);
	if (f.u64 == 2)
		slices_end(im, e->ts, track, NULL_U32, name, &im->args);
	else
		slices_begin(im, e->ts, f.u64 == 3 ? 0 : -1, track, NULL_U32, name, &im->args);
}

const struct event_rule thread_slice_rules[] = {
	{PB_FTRACE_EVENT_MM_VMSCAN_DIRECT_RECLAIM_BEGIN, thread_slices_apply_steps, NULL},
	{PB_FTRACE_EVENT_MM_VMSCAN_DIRECT_RECLAIM_END, thread_slices_apply_steps, NULL},
	{PB_FTRACE_EVENT_MM_VMSCAN_MEMCG_RECLAIM_BEGIN, thread_slices_apply_steps, NULL},
	{PB_FTRACE_EVENT_MM_VMSCAN_MEMCG_RECLAIM_END, thread_slices_apply_steps, NULL},
	{PB_FTRACE_EVENT_MM_SHRINK_SLAB_START, handle_shrink_slab, "shrink"},
	{PB_FTRACE_EVENT_MM_SHRINK_SLAB_END, thread_slices_apply_steps, NULL},
	{PB_FTRACE_EVENT_SIGNAL_GENERATE, thread_slices_apply_steps, NULL},
	{PB_FTRACE_EVENT_SIGNAL_DELIVER, thread_slices_apply_steps, NULL},
	{PB_FTRACE_EVENT_MARK_VICTIM, thread_slices_apply_steps, NULL},
	{PB_FTRACE_EVENT_CMA_ALLOC_START, handle_cma_start, NULL},
	{PB_FTRACE_EVENT_MM_ALLOC_CONTIG_MIGRATE_RANGE_INFO, handle_cma_migrated, NULL},
	{PB_FTRACE_EVENT_CMA_ALLOC_FINISH, handle_cma_finish, NULL},
	{PB_FTRACE_EVENT_CMA_ALLOC_INFO, handle_cma_info, NULL},
	{PB_FTRACE_EVENT_FUNCGRAPH_ENTRY, handle_function_entry, "func"},
	{PB_FTRACE_EVENT_FUNCGRAPH_EXIT, handle_function_exit, "func"},
	{PB_FTRACE_EVENT_KPROBE_EVENT, handle_kprobe_event, NULL},
	{0, NULL, NULL},
};
