/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "stacks/frames/address_spaces.h"
#include "wire/pb_enc.h"

/*
 * Call stacks of a session, each once, as numbers that packets use:
 *
 *	stack    the numbers of its frames, the outermost function first
 *	frame    a mapping and an offset in its file; or for the kernel a function's name. In code
 *	         that a process compiled also the process, and the version of its names
 *	mapping  a file and where it is mapped
 *	name     of a function
 *
 * stacks_write_interned() writes to InternedData what the sequence does not have yet. When a table
 * is full, stacks_reset() empties all of them, and a new incremental state begins.
 */
#define STACKS_FRAMES_MAX 512 /* of a stack */
#define STACKS_TABLE_MAX (1u << 18) /* stacks, frames, mappings and names: then stacks_is_full() */
#define STACKS_IDS_MAX (1u << 23)
#define STACKS_NAMES_MAX (64u << 20) /* bytes */

struct stack_mapping {
	uint64_t start, end, offset;
	uint32_t file;
	uint32_t written[STACKS_SEQUENCES]; /* the generation in which it was written */
};

struct stack_frame {
	uint32_t mapping;
	uint32_t name; /* 0: unknown */
	uint64_t offset; /* in the file; kernel: the name's number */
	uint32_t written[STACKS_SEQUENCES];
	uint32_t jit; /* number of a jit_space; 0: the code is in a file */
	uint32_t version; /* jit: of the names of the space that `name` is from */
	uint64_t address; /* jit: in the process */
	bool is_requested; /* its name was requested */
	bool is_data; /* a variable, which no stack has */
};

struct stack_name {
	uint32_t at, len; /* in bytes */
	uint32_t written[STACKS_SEQUENCES];
};

struct stack {
	uint32_t first, n; /* in ids */
	uint32_t written[STACKS_SEQUENCES];
};

struct stack_index {
	uint32_t *slots; /* owned; 0 is free, else the number + 1 */
	size_t n_slots;
};

struct stacks {
	struct mapped_files *files; /* borrowed */
	bool hides_addresses; /* of mappings */
	/* The packet sequence that is written to, and the generations of the interned data of each,
	 * from 1. */
	unsigned sequence;
	uint32_t generations[STACKS_SEQUENCES];
	struct stack_mapping *mappings; /* owned, as are the other arrays */
	struct stack_frame *frames;
	struct stack_name *names; /* the first one is the unknown name */
	struct stack *stacks;
	uint32_t *ids;
	char *bytes;
	size_t n_mappings, n_frames, n_names, n_stacks, n_ids, n_bytes;
	size_t cap_mappings, cap_frames, cap_names, cap_stacks, cap_ids, cap_bytes;
	struct stack_index by_mapping, by_frame, by_name, by_stack;
};

void stacks_init(struct stacks *s, struct mapped_files *files, bool hides_addresses);
void stacks_deinit(struct stacks *s);
/* Empties all tables; a new generation of each sequence begins. */
void stacks_reset(struct stacks *s);
/* Begins a new generation of the sequence: everything is written again when it is next used. */
void stacks_clear_written(struct stacks *s);
/* Returns the generation of the sequence that is written to. */
static inline uint32_t stacks_generation(const struct stacks *s)
{
	return s->generations[s->sequence];
}
/* Returns whether that sequence has the stack. */
static inline bool stacks_has_written(const struct stacks *s, uint32_t stack)
{
	return s->stacks[stack].written[s->sequence] == stacks_generation(s);
}
bool stacks_is_full(const struct stacks *s);

/* Each returns the number of a frame, stack or name; or -ENOMEM, also if there are STACKS_NAMES_MAX
 * bytes of names. len 0: the function is unknown. */
int stacks_add_user_frame(struct stacks *s, const struct process_mapping *m, uint64_t address);
int stacks_add_data_frame(struct stacks *s, const struct process_mapping *m, uint64_t address);
/* Like stacks_add_user_frame(), for code that the process compiled; jit is the number of its
 * jit_space. A frame is added again if its name is of a version before `moved`, or if it had no
 * name before `version`. */
int stacks_add_jit_frame(struct stacks *s, const struct process_mapping *m, uint64_t address,
			 uint32_t jit, uint32_t version, uint32_t moved);
int stacks_add_kernel_frame(struct stacks *s, const char *name, size_t len);
int stacks_add_unknown_frame(struct stacks *s);
int stacks_add_stack(struct stacks *s, const uint32_t *frames, uint32_t n);
int stacks_add_name(struct stacks *s, const char *name, size_t len);

/* Appends the fields of InternedData that the stack needs. */
void stacks_write_interned(struct stacks *s, uint32_t stack, struct pb_enc *e);
