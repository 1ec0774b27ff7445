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

#include "base/core/mem.h"
#include "ebpf/families/block.h"
#include "ebpf/families/cpu_time.h"
#include "ebpf/engine/family.h"
#include "ebpf/families/faults.h"
#include "ebpf/families/futex.h"
#include "ebpf/families/interrupts.h"
#include "ebpf/families/locks.h"
#include "ebpf/families/memory.h"
#include "ebpf/families/runq.h"
#include "ebpf/families/syscalls.h"
#include "ebpf/families/tcp.h"

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
