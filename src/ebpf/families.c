/* SPDX-License-Identifier: Apache-2.0 */
/*
 * THE TABLE of what can be counted. A family is:
 *
 *	protos/config/linux/ebpf_counters_config.proto   its number (all ten are there)
 *	bpf/NAME.h           the values of its maps; both sides include it
 *	bpf/NAME.bpf.c       its programs; the Makefile finds it
 *	src/ebpf/NAME.c      struct ebpf_family NAME_family: its ladder of hooks, maps -> tracks
 *	src/ebpf/NAME.h      declares it
 *	here                 its row
 *	tests/root/test_ebpf_NAME.sh, docs/ebpf.md
 *
 * docs/ebpf.md goes through it step by step.
 */
#include <stdio.h>

#include "base/mem.h"
#include "ebpf/block.h"
#include "ebpf/cpu_time.h"
#include "ebpf/family.h"
#include "ebpf/faults.h"
#include "ebpf/futex.h"
#include "ebpf/interrupts.h"
#include "ebpf/locks.h"
#include "ebpf/memory.h"
#include "ebpf/runq.h"
#include "ebpf/syscalls.h"
#include "ebpf/tcp.h"

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
};
/* clang-format on */
const size_t ebpf_n_families = ARRAY_SIZE(ebpf_families);

const struct ebpf_family *ebpf_family_find(Pb__EbpfCountersConfig__Family id)
{
	for (size_t i = 0; i < ebpf_n_families; i++)
		if (ebpf_families[i]->id == id)
			return ebpf_families[i];
	return NULL;
}
