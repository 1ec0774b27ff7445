/* SPDX-License-Identifier: Apache-2.0 */
#include "ebpf/families/families.h"

#include "base/core/mem.h"
#include "bpf/futex.h"
#include "bpf/settings.h"
#include "ebpf/engine/images.h"
#include "ebpf/tracks/per_process.h"

EBPF_DECLARE(futex);
EBPF_DECLARE(futex_raw);

static const struct ebpf_need needs_on_x86[] = {
	NEED_TP_BTF("sys_enter", 2, 2),
	NEED_TP_BTF("sys_exit", 2, 2),
	NEED_MEMBER("pt_regs", "orig_ax"),
	NEED_MEMBER("thread_info", "status"),
	NEED_END,
};

static const struct ebpf_need needs_on_arm64[] = {
	NEED_TP_BTF("sys_enter", 2, 2),
	NEED_TP_BTF("sys_exit", 2, 2),
	NEED_MEMBER("pt_regs", "syscallno"),
	NEED_END,
};

#if defined(__x86_64__) || defined(__aarch64__)
static const struct ebpf_need needs_of_raw_tp[] = {
	NEEDS_OF_RAW_SYSCALLS,
	NEED_END,
};
#endif

static const struct ebpf_variant variants[] = {
	{"tp_btf, x86", EBPF_IMAGE(futex), needs_on_x86},
	{"tp_btf, arm64", EBPF_IMAGE(futex), needs_on_arm64},
#if defined(__x86_64__) || defined(__aarch64__)
	{"raw_tp", EBPF_IMAGE(futex_raw), needs_of_raw_tp},
#endif
};

static const struct track_spec columns[] = {
	TRACK_TOTAL("futex wait time",
		    "total duration of completed waits, since the recording began", NS),
	TRACK_TOTAL("futex waits", "completed waits, since the recording began", COUNT),
};

static const struct per_process_spec spec = {
	.columns = columns,
	.n_values = sizeof(struct futex) / sizeof(uint64_t),
	.n_columns = ARRAY_SIZE(columns),
	.weights = 1u,
	.lost_name = "futex waits lost",
	.lost_description = "futex waits not counted: no room",
};

static uint32_t futex_prepare(struct ebpf_object *o, const struct ebpf_features *f, uint32_t n_cpus)
{
#if defined(__x86_64__)
	return SONDA_ON_X86_64;
#else
	return f->has_member(f->ctx, "pt_regs", "orig_ax") ? SONDA_ON_X86_64 : 0;
#endif
}

const struct ebpf_family futex_family = {
	.id = PB__EBPF_COUNTERS_CONFIG__FAMILY__FUTEX,
	.name = "futex",
	.variants = variants,
	.n_variants = ARRAY_SIZE(variants),
	.prepare = futex_prepare,
	.processes = &spec,
};
