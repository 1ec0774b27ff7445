/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

#include <linux/types.h>

#include "bpf/unwind_tables.h"

/*
 * The BPF maps of bpf/unwind_tables.h. Programs get them by bpf_map__reuse_fd(). Without eBPF
 * (EBPF=no) they cannot be created.
 */
struct unwind_maps {
	int rows_fd, rules_fd, processes_fd; /* owned */
	struct unwind_row *rows; /* owned: the mapped array, of UNWIND_ROWS_MAX */
};

/* Returns 0 or -errno; then nothing is to be destroyed. */
int unwind_maps_create(struct unwind_maps *ret);
void unwind_maps_destroy(struct unwind_maps *m);

/* Return 0 or -errno. */
int unwind_maps_set_rule(const struct unwind_maps *m, uint16_t number,
			 const struct unwind_rule *rule);
/* A program that runs meanwhile reads the old element or the new one. */
int unwind_maps_set_process(const struct unwind_maps *m, int32_t pid,
			    const struct unwind_process *p);
void unwind_maps_remove_process(const struct unwind_maps *m, int32_t pid);
