/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbols/symbol_table.h"

/* Names of the recorded kernel's functions. A perf.data has addresses without names, and the
 * address of one symbol. A kallsyms of the same kernel, of this boot or another one, has the names:
 * the symbol's addresses in both show how far the kernel was moved. */
#define KERNEL_BUILD_ID_MAX 20

/* Where names may come from. All is borrowed. */
struct kernel_names_source {
	const char *kallsyms; /* the text; NULL: none */
	bool is_of_user; /* the user says that it is of the recorded kernel */
	/* Otherwise it is of this machine, whose kernel may be another one. */
	uint8_t build_id[KERNEL_BUILD_ID_MAX];
	uint32_t n_build_id; /* 0: unknown */
	char release[128];
};

/* The recorded kernel. */
struct recorded_kernel {
	const char *symbol; /* "": unknown, as are its address */
	uint64_t address;
	const uint8_t *build_id;
	uint32_t n_build_id; /* 0: unknown */
	const char *release; /* "": unknown */
};

struct kernel_names {
	struct symbol_table symbols; /* owned */
	uint64_t shift; /* to add to an address of the recording */
	bool is_usable;
};

/* Sets is_usable if the source is of this kernel: by the user's word; by the build id; or, where
 * the recording has none, by the release and the address of the symbol. Returns 0 or -ENOMEM. */
int kernel_names_init(struct kernel_names *k, const struct kernel_names_source *source,
		      const struct recorded_kernel *kernel);
void kernel_names_deinit(struct kernel_names *k);

/* Like symbol_table_find_name(), for an address of the recording. */
size_t kernel_names_find(const struct kernel_names *k, uint64_t address, char *ret_name);
