/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once

/*
 * Common to all objects of this directory: types, helpers, settings, the licence. Include it
 * first.
 */

#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

typedef _Bool bool;

#include "kernel_types.h"
#include "settings.h"

/*
 * A program is attached by SEC(HOOK(irq, softirq_exit)). For kernels without BTF, NAME_raw.bpf.c
 * and NAME_tp.bpf.c compile the programs again: each defines one of the macros below and includes
 * NAME.bpf.c, which then reads no field of the kernel's structs (runq_tp.bpf.c has programs of its
 * own).
 *
 *	SONDA_RAW       arguments are numbers: NAME_raw.bpf.c
 *	SONDA_RECORDS   the record of the event, at the offsets in the settings: NAME_tp.bpf.c
 *
 * ARG(0, INTERRUPTS_VECTOR) is the first argument, or that field of the record.
 */
#if defined(SONDA_RECORDS)
#define SONDA_NO_BTF
#define HOOK(group, event) "tp/" #group "/" #event
#define ARG(i, field) record_field(ctx, field)
#elif defined(SONDA_RAW)
#define SONDA_NO_BTF
#define HOOK(group, event) "raw_tp/" #event
#define ARG(i, field) (ctx[i])
#else
#define HOOK(group, event) "tp_btf/" #event
#define ARG(i, field) (ctx[i])
#endif

char LICENSE[] SEC("license") = "GPL";

const volatile struct sonda_settings settings SEC(".rodata.sonda") = {};

/* The number of the current period, from 1; the reader increments it at the end of a period. */
volatile __u64 generation SEC(".data.sonda") = 1;

#ifdef SONDA_RECORDS
/* Reads a field of a record by a helper: the verifier requires constant offsets in a record, the
 * helper does not. */
static __always_inline __u64 record_field(void *record, __u32 field)
{
	__u32 size = settings.fields[field].size;
	__u64 v = 0;

	if (size == 0 || size > sizeof(v))
		return 0;
	bpf_probe_read_kernel(&v, size, record + settings.fields[field].offset);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	v >>= (sizeof(v) - size) * 8;
#endif
	return v;
}
#endif

/* Pids of processes, when the scope has SONDA_SCOPE_PIDS. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u8);
} sonda_pids SEC(".maps");

#include "cgroups.h"

static __always_inline int is_one_of_names(const char name[PROGRAM_NAME_SIZE], __u32 n,
					   const volatile char (*names)[PROGRAM_NAME_SIZE])
{
	const __u64 *have = (const __u64 *)name;

#pragma unroll
	for (__u32 i = 0; i < PROGRAM_NAMES_MAX; i++) {
		const volatile __u64 *want = (const volatile __u64 *)names[i];

		if (i < n && have[0] == want[0] && have[1] == want[1])
			return 1;
	}
	return 0;
}

/* Returns true if a thread's process has one of the names. Kernels before 5.17 leave the end of an
 * older name behind the NUL of a name. */
static __always_inline int is_program_name(struct task_struct *t, __u32 n,
					   const volatile char (*names)[PROGRAM_NAME_SIZE])
{
	char name[PROGRAM_NAME_SIZE] = {};

	bpf_probe_read_kernel_str(name, sizeof(name), t->group_leader->comm);
	return is_one_of_names(name, n, names);
}

/* Calls is_program_name() with s.n_programs and s.programs. Without names every process matches. */
#define HAS_PROGRAM_NAME(t, s)                                                                     \
	(!(s).n_programs || is_program_name((t), (s).n_programs, (s).programs))

/* Returns 1 if the process counts, 0 if it does not, -1 if its control group or name decides. */
static __always_inline int is_process_counted(__u32 tgid)
{
	if (tgid == settings.own_pid)
		return 0;
	if ((settings.scope & SONDA_SCOPE_PIDS) && bpf_map_lookup_elem(&sonda_pids, &tgid))
		return 1;
	if (settings.scope & (SONDA_SCOPE_CGROUPS | SONDA_SCOPE_PROGRAMS))
		return -1;
	return settings.scope == SONDA_SCOPE_ALL;
}

/* Returns whether a thread of the process tgid is counted. */
static __always_inline int is_counted(__u32 tgid, struct task_struct *task)
{
	int is = is_process_counted(tgid);

	if (is >= 0)
		return is;
	if (settings.scope & SONDA_SCOPE_CGROUPS && is_task_in_cgroups(task))
		return 1;
	return settings.scope & SONDA_SCOPE_PROGRAMS &&
	       is_program_name(task, settings.n_programs, settings.programs);
}

#ifndef SONDA_NO_BTF
static __always_inline int is_current_program(void)
{
	struct task_struct *t = (struct task_struct *)bpf_get_current_task();
	char name[PROGRAM_NAME_SIZE] = {};

	if (settings.switches & SONDA_TYPED_CURRENT)
		return is_program_name(bpf_get_current_task_btf(), settings.n_programs,
				       settings.programs);
	t = BPF_CORE_READ(t, group_leader);
	bpf_core_read_str(name, sizeof(name), &t->comm);
	return is_one_of_names(name, settings.n_programs, settings.programs);
}
#else
/* Returns true if the running thread has one of the names. The name of its process needs BTF. */
static __always_inline int is_current_program(void)
{
	char name[PROGRAM_NAME_SIZE] = {};

	bpf_get_current_comm(name, sizeof(name));
	return is_one_of_names(name, settings.n_programs, settings.programs);
}
#endif

/* Returns whether the running thread is counted, for programs whose tracepoint has no task (see
 * is_counted()). tgid: its process. */
static __always_inline int is_current_counted(__u32 tgid)
{
	int is = is_process_counted(tgid);

	if (is >= 0)
		return is;
	if (settings.scope & SONDA_SCOPE_CGROUPS && is_current_in_cgroups())
		return 1;
	return settings.scope & SONDA_SCOPE_PROGRAMS && is_current_program();
}

#ifndef SONDA_NO_BTF
/* Like is_current_counted(), for programs of perf events: hardware events interrupt everything. */
static __always_inline int is_interrupted_counted(__u32 tgid)
{
	int is = is_process_counted(tgid);

	if (is >= 0)
		return is;
	if (settings.scope & SONDA_SCOPE_CGROUPS && is_interrupted_in_cgroups())
		return 1;
	return settings.scope & SONDA_SCOPE_PROGRAMS && is_current_program();
}
#endif

/* Returns the key of the sums to which a thread's values are added. */
static __always_inline __u32 sums_key(__u32 tgid, __u32 pid)
{
	return settings.switches & SONDA_BY_THREAD ? pid : tgid;
}

static __always_inline __u64 task_state(struct task_struct *t)
{
	if (bpf_core_field_exists(t->__state))
		return t->__state;
	return ((struct task_struct___before_5_14 *)t)->state;
}
