/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of the built-in families. A family consists of:
 *
 *	protos/config/linux/ebpf_counters_config.proto   its number
 *	bpf/NAME.h                      the values of its maps; the programs and the reader include it
 *	bpf/NAME.bpf.c                  its programs; the Makefile finds it
 *	src/ebpf/families/NAME.c        struct ebpf_family NAME_family: program variants, maps -> tracks
 *	src/ebpf/families/families.h    its declaration
 *	here                            its row
 *	tests/root/test_ebpf_NAME.sh, docs/reference/ebpf.md
 *
 * docs/internals/ebpf-families.md explains each step.
 */

#include "ebpf/families/families.h"

#include "base/core/mem.h"

/* clang-format off */
const struct ebpf_family *const ebpf_families[] = {
	&runq_family,
	&block_family,
	&interrupts_family,
	&cpu_time_family,
	&faults_family,
	&tcp_family,
	&memory_family,
	&locks_family,
	&syscalls_family,
	&futex_family,
	&processes_family,
};
/* clang-format on */
const size_t ebpf_n_families = ARRAY_SIZE(ebpf_families);
