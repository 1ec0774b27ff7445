/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "analyze/store/store.h"
#include "base/text/str.h"

/* Maps frames of call stacks to functions. Frames with the same name, in files of the same base
 * name, are one function, even across processes. Code without a name is one function for each
 * CODE_RANGE bytes of its file, and is called FILE+0x1000, so that a stripped program has several
 * rows. A frame with several symbols represents a function and the functions that the compiler
 * inlined into it. */
#define CODE_RANGE 4096u

enum code_kind {
	CODE_USER,
	CODE_KERNEL,
	CODE_NOTE, /* a frame that is not code but words in brackets: [futex], [no stack taken] */
};

struct code_function {
	uint32_t name; /* a string; NULL_U32: code without a name */
	uint32_t path; /* a string: of one of its files */
	uint64_t address; /* code without a name: in the file, a multiple of CODE_RANGE */
	enum code_kind kind;
};

struct code {
	const struct store *s;
	struct code_function *of; /* owned */
	uint32_t n;
	uint32_t *chain; /* owned: functions of all frames, for each frame the outermost first */
	uint32_t *first; /* owned: by frame, and one more: where its functions begin in chain */
};

/* Reads the frames of the store, which is borrowed. Returns false if out of memory. Deinit in
 * either case. */
bool code_init(struct code *c, const struct store *s);
void code_deinit(struct code *c);

/* Returns the base name of a function's file, or "". */
const char *code_file(const struct code *c, uint32_t function);
/* Appends the name of a function. */
void code_put_name(const struct code *c, uint32_t function, struct strbuf *b);

/* Return the function of a call stack that best explains a wait, or NULL_U32. A thread's own
 * function is the innermost user function outside of the libraries that all programs call (C, C++,
 * the loader); failing that, the innermost user function; failing that, the innermost kernel
 * function. The function that woke a thread is found in the same way. An interrupt, however, has
 * kernel code only: for it, take the innermost function that is not part of every wakeup. site: a
 * row of stack_profile_callsite. */
uint32_t code_own_function(const struct code *c, uint32_t site);
uint32_t code_waking_function(const struct code *c, uint32_t site);
/* Returns true if the stack waits for a condition variable or a semaphore: until another thread has
 * work, rather than for a lock. */
bool code_waits_for_condition(const struct code *c, uint32_t site);
