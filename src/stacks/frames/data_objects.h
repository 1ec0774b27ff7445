/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "stacks/files/file_messages.h"
#include "stacks/frames/mapped_files.h"
#include "stacks/frames/stacks.h"

/* What lies at data addresses that a data source has recorded, such as that of a mutex: a variable
 * of a program, or some kind of memory. The mappings of the process show that; they are read when
 * the first address of a process is added, and again for further ones, so they may be younger than
 * the address. An object is removed after DATA_OBJECT_KEEP_NS, and when its process executes
 * another program. */
#define DATA_OBJECTS_MAX 16384 /* one more removes all */
#define DATA_OBJECT_KEEP_NS 2000000000ull
#define DATA_OBJECTS_REQUESTS_MAX                                                                  \
	64 /* requests of a round; what is left is unknown in this round */
#define DATA_OBJECT_NAME_MAX 256 /* bytes of a name, with the NUL; longer ones are cut */

enum data_object_kind {
	DATA_OBJECT_NEW, /* not requested yet */
	DATA_OBJECT_REQUESTED,
	DATA_OBJECT_UNKNOWN, /* the process has ended, or has no such mapping */
	DATA_OBJECT_IN_FILE, /* frame is valid */
	DATA_OBJECT_BEHIND_FILE, /* frame is valid: in .bss, or memory that happens to be there */
	DATA_OBJECT_HEAP,
	DATA_OBJECT_STACK, /* of the main thread */
	DATA_OBJECT_ANONYMOUS,
};

struct data_object {
	struct {
		uint64_t address;
		int32_t pid;
		uint32_t unused;
	} key;
	uint32_t tid; /* a thread of the process */
	uint32_t frame; /* number in stacks.h */
	uint64_t wanted_ns; /* CLOCK_BOOTTIME */
	enum data_object_kind kind;
	UT_hash_handle hh;
};

struct data_objects {
	struct data_object *all; /* owned */
	uint32_t n_new;
	uint32_t n_requests; /* of the round; the caller sets it to 0 */
	/* The pending request: objects by their index in it. */
	int32_t pid; /* 0: none */
	uint32_t n;
	struct data_object *requested[FILE_NAMES_MAX]; /* NULL: freed since */
};

/* Removes all objects. A zeroed struct is allowed. */
void data_objects_remove_all(struct data_objects *o);
void data_objects_remove_process(struct data_objects *o, int32_t pid);
/* Adds an object whose name is needed, at the time `now`. tid: a thread of the process. */
void data_objects_add(struct data_objects *o, int32_t pid, uint32_t tid, uint64_t address,
		      uint64_t now);
/* Chooses the objects of the next request: those of one process. Returns their number and sets
 * addresses; 0: there are none. o->pid is the process, *ret_tid a thread of it. */
uint32_t data_objects_choose_request(struct data_objects *o, uint32_t *ret_tid,
				     uint64_t addresses[static FILE_NAMES_MAX]);
/* Handles the answer to the request, and adds frames of the objects in files. a NULL: no answer
 * will arrive. */
void data_objects_handle_answer(struct data_objects *o, const struct file_answer *a,
				struct stacks *stacks);
/* Writes the name: FILE:VARIABLE+0x10, FILE+0x1000, heap, stack or anonymous. Returns false if it
 * is not known. */
bool data_objects_format_name(const struct data_objects *o, int32_t pid, uint64_t address,
			      const struct stacks *stacks, char ret[static DATA_OBJECT_NAME_MAX]);
