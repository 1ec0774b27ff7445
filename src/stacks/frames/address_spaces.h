/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/core/hash_table.h"
#include "stacks/frames/mapped_files.h"

/* The executable mappings of every process, at the time of the record that is being read. A process
 * whose start was not recorded is unknown until its /proc/PID/maps is read. */
#define ADDRESS_SPACES_MAX 65536 /* processes; one more removes all, so that all are unknown */
#define ADDRESS_SPACE_MAPPINGS_MAX 65536 /* of a process; further ones are ignored */
/* Mappings of all processes. Above it, the next new process makes all processes unknown. Until then
 * the limit is twice as high, and further mappings are ignored. */
#define ADDRESS_SPACES_MAPPINGS_MAX (1u << 20)

struct process_mapping {
	uint64_t start, end;
	uint64_t offset; /* in the file */
	uint32_t file; /* mapped_files.h */
	uint32_t generation; /* of struct file_mapping */
};

struct address_space {
	int32_t pid; /* key */
	bool is_known; /* all mappings of the process are in `mappings` */
	bool is_checked; /* is_wanted is valid */
	bool is_wanted; /* the config requests samples of the process */
	uint32_t jit; /* the number of the code that it compiled (jit_spaces.h); 0: none */
	bool has_objects; /* data of the process was recorded (data_objects.h) */
	uint64_t followed_ns; /* of unwind_request_files_of_stack(); 0: never */
	struct process_mapping *mappings; /* owned; sorted, without overlaps */
	size_t n, cap;
	UT_hash_handle hh;
};

struct address_spaces {
	struct address_space *all; /* owned; by pid */
	size_t n_mappings; /* mappings of all processes */
	struct mapped_files *files; /* borrowed */
};

void address_spaces_deinit(struct address_spaces *s);

/* Returns the process, which it adds as unknown if it is new; NULL: no memory. */
struct address_space *address_spaces_get(struct address_spaces *s, int32_t pid);
/* Makes all processes unknown, because records of changes were lost. */
void address_spaces_remove_all(struct address_spaces *s);
void address_space_remove_mappings(struct address_spaces *s, struct address_space *a);
/* Adds a mapping. It replaces the parts of other mappings that it overlaps. */
void address_space_add_mapping(struct address_spaces *s, struct address_space *a,
			       const struct file_mapping *m, const char *path);
/* Removes the mappings of a process that executes another program: it is known to have none. */
void address_spaces_exec(struct address_spaces *s, int32_t pid);
/* Gives the child the mappings of its parent, if they are known. */
void address_spaces_fork(struct address_spaces *s, int32_t parent, int32_t child);
/* Removes a process that has exited. No-op if it is not there. */
void address_spaces_exit(struct address_spaces *s, int32_t pid);

/* Returns the number of the code that the process compiled; 0: none is known. */
uint32_t address_spaces_find_jit(const struct address_spaces *s, int32_t pid);
/* Returns the mapping that contains the address, or NULL. */
const struct process_mapping *address_space_find_mapping(const struct address_space *a,
							 uint64_t address);
