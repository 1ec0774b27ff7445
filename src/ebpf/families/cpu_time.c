/* SPDX-License-Identifier: Apache-2.0 */
#include "ebpf/families/families.h"

#include "base/core/mem.h"
#include "bpf/cpu_time.h"
#include "ebpf/engine/images.h"
#include "ebpf/tracks/per_process.h"

EBPF_DECLARE(cpu_time);
EBPF_DECLARE(cpu_time_tp);

static const struct ebpf_need needs_of_tp_btf[] = {
	/* The first three arguments are stable; 5.18 appended prev_state. */
	NEED_TP_BTF("sched_switch", 3, 8),
	NEED_TP_BTF("sched_wakeup", 1, 1),
	NEED_TP_BTF("sched_wakeup_new", 1, 1),
	NEED_END,
};

/* There is no raw_tp variant: the arguments are tasks, whose fields need BTF. */
static const struct ebpf_need needs_of_tp[] = {NEEDS_OF_SWITCH_RECORDS, NEED_END};

static const struct ebpf_variant variants[] = {
	{"tp_btf", EBPF_IMAGE(cpu_time), needs_of_tp_btf},
	{"tp", EBPF_IMAGE(cpu_time_tp), needs_of_tp},
};

#define COLUMN(state, title, what)                                                                 \
	[CPU_TIME_##state] = {.name = (title),                                                     \
			      .description = (what),                                               \
			      .unit = TRACK_UNIT_NS,                                               \
			      .axis = "cpu time",                                                  \
			      .total = true}

static const struct track_spec columns[] = {
	COLUMN(ON, "CPU time", "time its threads spent running"),
	COLUMN(RUNNABLE, "off CPU: runnable", "time its threads spent waiting for a CPU"),
	COLUMN(SLEEPING, "off CPU: sleeping", "time its threads spent sleeping (S)"),
	COLUMN(BLOCKED, "off CPU: blocked", "time its threads spent blocked (D)"),
	COLUMN(OTHER, "off CPU: other", "time its threads spent stopped, traced, parked or idle"),
};

/* A process that only sleeps does not rank. */
static const struct per_process_spec spec = {
	.columns = columns,
	.n_values = CPU_TIME_STATES,
	.n_columns = CPU_TIME_STATES,
	.weights = 1u << CPU_TIME_ON | 1u << CPU_TIME_RUNNABLE | 1u << CPU_TIME_BLOCKED,
	.is_spans = true,
	.lost_name = "cpu_time lost",
	.lost_description = "state changes not counted: no room, or missed",
	.elements_per_cpu = 16384, /* thousands of processes begin and end in a period */
};

static uint32_t cpu_time_prepare(struct ebpf_object *o, const struct ebpf_features *f,
				 uint32_t n_cpus)
{
	return f->count_args(f->ctx, "sched_switch") >= 4 ? CPU_TIME_HAS_STATE : 0;
}

const struct ebpf_family cpu_time_family = {
	.id = PB__EBPF_COUNTERS_CONFIG__FAMILY__CPU_TIME,
	.name = "cpu_time",
	.variants = variants,
	.n_variants = ARRAY_SIZE(variants),
	.prepare = cpu_time_prepare,
	.processes = &spec,
};
