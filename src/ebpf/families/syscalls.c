/* SPDX-License-Identifier: Apache-2.0 */
#include "ebpf/families/syscalls.h"

#include "base/core/mem.h"
#include "bpf/syscalls.h"
#include "ebpf/engine/images.h"
#include "ebpf/tracks/per_process.h"
#include "ebpf/families/syscall_sums.h"

EBPF_DECLARE(syscalls);
EBPF_DECLARE(syscalls_raw);

static const struct ebpf_need needs_of_tp_btf[] = {
	NEED_TP_BTF("sys_enter", 2, 2),
	NEED_TP_BTF("sys_exit", 2, 2),
	NEED_TP_BTF("sched_process_exit", 1, 2),
	NEED_END,
};

#if defined(__x86_64__) || defined(__aarch64__)
static const struct ebpf_need needs_of_raw_tp[] = {
	NEED_RAW_TP("raw_syscalls/sys_enter", "id", 2, 2),
	NEED_RAW_TP("raw_syscalls/sys_exit", "ret", 2, 2),
	NEED_END,
};
#endif

static const struct ebpf_rung rungs[] = {
	{"tp_btf", EBPF_IMAGE(syscalls), needs_of_tp_btf},
#if defined(__x86_64__) || defined(__aarch64__)
	{"raw_tp", EBPF_IMAGE(syscalls_raw), needs_of_raw_tp},
#endif
};

static const struct track_spec columns[] = {
	{.name = "syscalls",
	 .description = "system calls that returned, since the recording began",
	 .unit = TRACK_UNIT_COUNT,
	 .total = true},
	{.name = "syscall time",
	 .description = "from the begin to the end of each, also while it waits",
	 .unit = TRACK_UNIT_NS,
	 .total = true},
	{.name = "syscall errors",
	 .description = "calls that returned an error",
	 .unit = TRACK_UNIT_COUNT,
	 .total = true},
};

/* A process has an element for each call that it makes. */
static const struct processes_spec spec = {
	.columns = columns,
	.n_values = sizeof(struct syscalls) / sizeof(uint64_t),
	.n_columns = ARRAY_SIZE(columns),
	.weights = 1u,
	.lost_name = "syscalls lost",
	.lost_description = "system calls that could not be counted: no room",
	.elements_per_cpu = 16384,
};

static uint32_t prepare(struct ebpf_object *o, const struct ebpf_facts *f, uint32_t n_cpus)
{
	uint32_t switches = 0;

	(void)o;
	(void)n_cpus;
#if defined(__x86_64__)
	switches |= SONDA_ON_X86_64;
	if (f->has_member(f->ctx, "thread_info", "status"))
		switches |= SYSCALLS_COMPAT_IN_STATUS;
#elif defined(__aarch64__)
	if (f->has_member(f->ctx, "thread_info", "flags"))
		switches |= SYSCALLS_COMPAT_IN_FLAGS;
#endif
	return switches;
}

static void see(void *ctx, uint32_t pid, uint32_t what, const uint64_t *values)
{
	syscall_sums_add(ctx, pid, what, (const struct syscalls *)values);
}

static int begin(struct ebpf_run *r)
{
	r->processes->each = see;
	r->processes->ctx = r->state;
	return 0;
}

static int read_calls(struct ebpf_run *r)
{
	int e;

	syscall_sums_begin(r->state);
	e = processes_read(r->processes, r);
	if (e == 0)
		syscall_sums_end(r->state, r->tracks, r->processes->top);
	return e;
}

static void hide(struct ebpf_run *r)
{
	syscall_sums_hide(r->state, r->tracks);
}

static void end(struct ebpf_run *r)
{
	syscall_sums_deinit(r->state);
}

const struct ebpf_family syscalls_family = {
	.id = PB__EBPF_COUNTERS_CONFIG__FAMILY__SYSCALLS,
	.name = "syscalls",
	.rungs = rungs,
	.n_rungs = ARRAY_SIZE(rungs),
	.processes = &spec,
	.state_size = sizeof(struct syscall_sums),
	.prepare = prepare,
	.begin = begin,
	.read = read_calls,
	.hide = hide,
	.end = end,
};
