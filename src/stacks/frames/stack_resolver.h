/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "stacks/files/file_reader.h"
#include "stacks/frames/address_spaces.h"
#include "stacks/frames/cpu_rings.h"
#include "stacks/frames/data_objects.h"
#include "stacks/frames/jit_spaces.h"
#include "stacks/frames/stacks.h"
#include "symbols/symbol_cache.h"

/*
 * Turns addresses of the kernel and of processes into numbers of stacks, for one data source. The
 * source works in rounds:
 *
 *	records    in order of time: stack_resolver_apply_record(), stack_resolver_ensure_maps(), walks,
 *	           data_objects_add()
 *	names      stack_resolver_request_names()
 *	packets    stacks_write_interned(), then stack_resolver_end_packets()
 *	           stack_resolver_end_round()
 *
 * The mappings of a process and the names of functions come from the file reader, the names of the
 * kernel's functions from the symbol cache. While stack_resolver_is_waiting(), a round stops, after
 * stack_resolver_begin_waiting(); `ready` continues it when the answers are there, or when none
 * came within STACK_RESOLVER_ANSWER_MS.
 */
#define STACK_RESOLVER_ANSWER_MS 2000

/* Profiling.StackUnwindError */
enum stack_error { STACK_COMPLETE, STACK_INVALID_MAP = 5, STACK_TOO_MANY_FRAMES = 6 };

/* The frames of a request for names. */
struct name_request {
	uint32_t n;
	uint32_t frames[FILE_NAMES_MAX];
};

struct stack_resolver {
	/* Set by the caller before stack_resolver_init(). */
	const char *source; /* the data source, for messages */
	const struct cpu_rings *rings; /* borrowed: the records that change mappings */
	void (*ready)(void *ctx); /* from the loop */
	void *ctx;

	struct mapped_files files;
	struct address_spaces spaces;
	struct jit_spaces jits;
	struct data_objects objects;
	struct stacks stacks;
	struct event *deadline; /* owned: timer of the answers */
	struct symbol_cache_user symbols;
	struct file_reader_user reader;
	bool has_user_frames;
	bool is_last_round; /* set by the caller: names are requested now, not later */
	const char *proc_root; /* borrowed */

	struct name_request *requests; /* owned: of the round */
	size_t n_requests, cap_requests;
	size_t named; /* frames below this number have been requested */
	unsigned outstanding; /* answers that the round waits for */
	unsigned late; /* answers that earlier rounds gave up waiting for */
	/* set with `late`: rounds send no requests until the late answers have come */
	bool reader_is_silent;
	int32_t maps_of; /* the process whose mappings are read; 0: none */
};

/* Returns 0 or -ENOMEM. hides_addresses: of mappings (stacks.h). */
int stack_resolver_init(struct stack_resolver *r, struct event_base *loop, bool hides_addresses);
/* Joins the file reader and the symbol cache. Returns 0 or -ENOMEM. Without a running file reader
 * user functions have no names, which is logged. */
int stack_resolver_join(struct stack_resolver *r, struct event_base *loop, const char *proc_root,
			bool has_user_frames, bool has_kernel_frames);
void stack_resolver_deinit(struct stack_resolver *r);

/* Returns true while answers or the kernel's symbols are still to come. */
bool stack_resolver_is_waiting(const struct stack_resolver *r);
/* Starts the deadline for the answers, unless it runs already or the kernel's symbols are still to
 * come: these always come. */
void stack_resolver_begin_waiting(struct stack_resolver *r);
/* Applies a record of mapping_records.h. */
void stack_resolver_apply_record(struct stack_resolver *r, const struct perf_event_header *h);
/* Returns true if the mappings of the process are known, or cannot be read. Else it requests them,
 * and the record of its thread tid has to wait for the answer. */
bool stack_resolver_ensure_maps(struct stack_resolver *r, struct address_space *a, uint32_t tid);
/* Requests the names of new frames. Returns true if the round need not wait: all were requested and
 * answered, or no answer will come. */
bool stack_resolver_request_names(struct stack_resolver *r);
/* Call it when all stacks of the round are written. Empties the tables if they are full; then it
 * returns true, and a new incremental state has to begin. */
bool stack_resolver_end_packets(struct stack_resolver *r);
/* Cancels the deadline. If answers are late, later rounds do not wait for the reader. */
void stack_resolver_end_round(struct stack_resolver *r);

/* The frames of a stack, the innermost first. Zero-initialise. */
struct stack_walk {
	uint32_t frames[STACKS_FRAMES_MAX];
	uint32_t n;
	uint8_t error; /* enum stack_error: the last one */
};

/* Adds n addresses of a perf event: PERF_CONTEXT_KERNEL or _USER precede those of each kind. From
 * the first user address without a mapping, the rest is left out: in a program without frame
 * pointers the kernel takes other values for return addresses. */
void stack_walk_add_chain(struct stack_walk *w, struct stack_resolver *r, struct address_space *a,
			  const uint64_t *addresses, size_t n);
/* Add the addresses of a stack that a BPF program took: of the kernel, as bpf_get_stack() returns
 * them, or of a process, as bpf/unwind.h does. */
void stack_walk_add_kernel_stack(struct stack_walk *w, struct stack_resolver *r,
				 const uint64_t *addresses, size_t n);
void stack_walk_add_user_stack(struct stack_walk *w, struct stack_resolver *r,
			       struct address_space *a, const uint64_t *addresses, size_t n);
/* Returns the number of the stack + 1; 0: it has no frames, or memory runs out. */
uint32_t stack_walk_end(struct stack_walk *w, struct stack_resolver *r);
