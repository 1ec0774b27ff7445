/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

#include "wire/pb_read.h"

/* Which control group each process is in (CgroupMembers), and what the counters by process of eBPF
 * families (EbpfProcessRows) add to the groups. Bytes are untrusted. */
#define METRICS_PROCESSES_MAX 65536u /* further ones are left out */

struct metrics_processes;

enum metrics_process_family { PROCESS_CPU_TIME, PROCESS_SYSCALLS, PROCESS_FAMILIES };
#define METRICS_PROCESS_COLUMNS 5u

/* growth: of each column of the family, in the order of EbpfProcessRows. group: the id; 0:
 * unknown. */
typedef void (*metrics_growth_fn)(void *ctx, enum metrics_process_family family, uint64_t group,
				  const uint64_t growth[static METRICS_PROCESS_COLUMNS]);

/* Returns NULL if memory runs out. */
struct metrics_processes *metrics_processes_new(void);
void metrics_processes_free(struct metrics_processes *p);
/* A session begins: counters start at 0. */
void metrics_processes_clear(struct metrics_processes *p);

/* Stores the control groups of the processes in a CgroupMembers. now: time of the packet. */
void metrics_processes_read_members(struct metrics_processes *p, const struct pb_field *members,
				    uint64_t now);
/* Calls fn with the growth of each process. */
void metrics_processes_read_rows(struct metrics_processes *p, const struct pb_field *message,
				 uint64_t now, metrics_growth_fn fn, void *ctx);
