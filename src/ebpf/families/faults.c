/* SPDX-License-Identifier: Apache-2.0 */
#include "ebpf/families/families.h"

#include "base/core/mem.h"
#include "bpf/faults.h"
#include "ebpf/engine/images.h"
#include "ebpf/tracks/per_process.h"

EBPF_DECLARE(faults);
EBPF_DECLARE(faults_raw);
EBPF_DECLARE(faults_tp);

static const struct ebpf_need needs_of_tp_btf[] = {
	NEED_TP_BTF("sched_process_exit", 1, 2), NEED_TP_BTF("sched_switch", 3, 8),
	NEED_TP_BTF("sched_wakeup_new", 1, 1),	 NEED_MEMBER("task_struct", "min_flt"),
	NEED_MEMBER("task_struct", "maj_flt"),	 NEED_END,
};

/* Without BTF major faults are unknown: these programs need the tracepoint only. */
static const struct ebpf_need needs_of_raw_tp[] = {
	NEED_RAW_TP("exceptions/page_fault_user", "address", 3, 3),
	NEED_RAW_TP("exceptions/page_fault_kernel", "address", 3, 3),
	NEED_END,
};

static const struct ebpf_need needs_of_tp[] = {
	NEED_EVENT("exceptions/page_fault_user", "address"),
	NEED_FIELD("exceptions/page_fault_kernel", "address", FAULTS_ADDRESS),
	NEED_END,
};

static const struct track_spec columns[] = {
	TRACK_TOTAL("page faults", "minor and major page faults since the recording began", COUNT),
	TRACK_TOTAL("major page faults", "page faults that needed I/O, since the recording began",
		    COUNT),
};

static const struct per_process_spec spec = {
	.columns = columns,
	.n_values = sizeof(struct faults) / sizeof(uint64_t),
	.n_columns = ARRAY_SIZE(columns),
	.weights = 1u,
	.has_totals = true,
	.lost_name = "page faults lost",
	.lost_description = "page faults not counted: no room",
};

static const struct per_process_spec spec_without_major = {
	.columns = columns,
	.n_values = sizeof(struct faults) / sizeof(uint64_t),
	.n_columns = 1,
	.weights = 1u,
	.has_totals = true,
	.lost_name = "page faults lost",
	.lost_description = "page faults not counted: no room",
};

static const struct ebpf_variant variants[] = {
	{"tp_btf", EBPF_IMAGE(faults), needs_of_tp_btf},
	{"raw_tp", EBPF_IMAGE(faults_raw), needs_of_raw_tp},
	{"tp", EBPF_IMAGE(faults_tp), needs_of_tp},
};

static bool has_fault_tracepoints(const struct ebpf_features *f)
{
	return ebpf_has_field(f, "exceptions/page_fault_user", "address") ||
	       f->count_args(f->ctx, "page_fault_user") == 3;
}

static uint32_t faults_prepare(struct ebpf_object *o, const struct ebpf_features *f,
			       uint32_t n_cpus)
{
	static const char *const at_faults[] = {"on_fault_user", "on_fault_kernel", "on_exit"};
	static const char *const at_switches[] = {"on_switch", "on_wakeup_new"};

	if (has_fault_tracepoints(f))
		for (size_t i = 0; i < ARRAY_SIZE(at_switches); i++)
			ebpf_object_leave_out_program(o, at_switches[i]);
	else
		for (size_t i = 0; i < ARRAY_SIZE(at_faults); i++)
			ebpf_object_leave_out_program(o, at_faults[i]);
	return 0;
}

const struct ebpf_family faults_family = {
	.id = PB__EBPF_COUNTERS_CONFIG__FAMILY__FAULTS,
	.name = "faults",
	.by_default = true,
	.variants = variants,
	.n_variants = ARRAY_SIZE(variants),
	.prepare = faults_prepare,
	.processes = &spec,
	.processes_below = &spec_without_major,
};
