/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

#include <linux/types.h>

#include "bpf/unwind_tables.h"

/* The BPF maps of bpf/unwind_tables.h. Programs get them by bpf_map__reuse_fd(). Without eBPF
 * (EBPF=no) they cannot be created. */
struct unwind_maps {
	int rows_fd, rules_fd, files_fd, state_fd; /* owned */
	struct unwind_row *rows; /* owned: the mapped array, of UNWIND_ROWS_MAX */
	uint32_t changes; /* as in struct unwind_state */
};

/* Returns 0 or -errno; then nothing is to be destroyed. */
int unwind_maps_create(struct unwind_maps *ret);
void unwind_maps_destroy(struct unwind_maps *m);

/* Return 0 or -errno. */
int unwind_maps_set_rule(const struct unwind_maps *m, uint16_t number,
			 const struct unwind_rule *rule);
int unwind_maps_set_file(const struct unwind_maps *m, const struct unwind_file_key *key,
			 const struct unwind_file *f);
/* Removes an element. No-op if the map does not have it. */
void unwind_maps_remove_file(const struct unwind_maps *m, const struct unwind_file_key *key);
/* Returns when a stack used the file last (UNWIND_USED_NS), CLOCK_MONOTONIC; 0: never. */
uint64_t unwind_maps_read_last_use(const struct unwind_maps *m, const struct unwind_file_key *key);
/* Space that removed files referred to is used again from now on. */
void unwind_maps_increment_changes(struct unwind_maps *m);
