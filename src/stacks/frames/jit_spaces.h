/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "stacks/files/file_reader.h"

/* Processes that run code which comes from no file: they compile it while they run, and may write
 * its names to a file (files/jit_names.h). The file grows and memory is used again, so it is read
 * again while samples are in such code: every JIT_SPACE_REQUEST_NS, at the beginning more often. It
 * is read for the last time after the process has ended. */
#define JIT_SPACES_MAX 65536 /* of a session; the code of further processes has no names */
#define JIT_SPACE_REQUEST_NS 1000000000ull
#define JIT_SPACE_FIRST_NS                                                                         \
	50000000ull /* the first pause; each is twice as long as the one before */

struct jit_space {
	int32_t pid;
	struct file_reader_process process; /* valid if `is_read` */
	bool is_read;
	bool is_used; /* has a sample since the last request */
	uint64_t requested; /* time of the last request, CLOCK_BOOTTIME in ns; 0: none yet */
	uint64_t pause; /* ns until the next one */
	uint32_t reader_file; /* the number for requests of names; 0: it has no names */
	uint32_t n_functions; /* at the last answer */
	uint32_t version; /* of its names, changes when there are further ones */
	uint32_t moved; /* the version in which an address got another name */
};

struct jit_spaces {
	struct jit_space *items; /* owned; the number of a space is its index + 1 */
	size_t n, cap;
};

void jit_spaces_deinit(struct jit_spaces *j);
/* Adds a process. Returns its number; 0: there are too many, or memory runs out. */
uint32_t jit_spaces_add(struct jit_spaces *j, int32_t pid);
/* Returns true if the names are to be requested now. at_end: also if the last request was only a
 * short time ago. */
bool jit_space_is_request_due(const struct jit_space *s, bool at_end);
/* Call it when the names were requested. */
void jit_space_set_requested(struct jit_space *s);
/* Call it when the process has ended or executes another program. */
void jit_space_end(struct jit_space *s);
/* Reads the identity of the process. Returns false if the process has ended. */
bool jit_space_read_process(struct jit_space *s, const char *proc_root);
/* Takes the number of functions, and the reader's number of the names, from an answer; raises the
 * version if they changed. No-op for an answer with an error. */
void jit_space_handle_answer(struct jit_space *s, const struct file_answer *a);

/* Parses /proc/PID/status and /proc/PID/stat. Sets all but pid; `started` by the two clocks now, in
 * ns. Returns false if something is missing. */
bool jit_space_parse(const char *status, const char *stat, uint64_t realtime, uint64_t boottime,
		     struct file_reader_process *ret);
