/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/core/hash_table.h"
#include "perf/mapped_files.h"

/*
 * What every process has mapped to execute, at the time of the record that is looked at. A process
 * whose start was not seen is unknown until its /proc/PID/maps was read.
 */
#define ADDRESS_SPACES_MAX 65536 /* processes; when there are more, all become unknown again */
#define ADDRESS_SPACE_MAPPINGS_MAX 65536 /* of a process; further ones are ignored */
/* Of all processes. When there are more, the next new process makes all unknown again; until then
 * as many again are added, and further ones are ignored. */
#define ADDRESS_SPACES_MAPPINGS_MAX (1u << 20)

struct process_mapping {
	uint64_t start, end;
	uint64_t offset; /* in the file */
	uint32_t file; /* mapped_files.h */
};

struct address_space {
	int32_t pid; /* key */
	bool is_known; /* mappings has all */
	bool is_checked; /* is_wanted is valid */
	bool is_wanted; /* the config asks for its samples */
	struct process_mapping *mappings; /* owned; sorted, without overlaps */
	size_t n, cap;
	UT_hash_handle hh;
};

struct address_spaces {
	struct address_space *all; /* owned; by pid */
	size_t n_mappings; /* of all */
	struct mapped_files *files; /* borrowed */
};

void address_spaces_deinit(struct address_spaces *s);

/* Returns the process, which it adds as unknown if it is new; NULL: no memory. */
struct address_space *address_spaces_get(struct address_spaces *s, int32_t pid);
/* Makes all unknown: changes of them were missed. */
void address_spaces_forget(struct address_spaces *s);
void address_space_clear(struct address_spaces *s, struct address_space *a);
/* Adds a mapping over what was there. */
void address_space_map(struct address_spaces *s, struct address_space *a,
		       const struct file_mapping *m, const char *path);
/* The process executes another program: it has no mappings. */
void address_spaces_exec(struct address_spaces *s, int32_t pid);
void address_spaces_fork(struct address_spaces *s, int32_t parent, int32_t child);
void address_spaces_exit(struct address_spaces *s, int32_t pid);

/* Returns the mapping that contains the address, or NULL. */
const struct process_mapping *address_space_find(const struct address_space *a, uint64_t address);
