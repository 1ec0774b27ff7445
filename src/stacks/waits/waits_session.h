/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/core/hash_table.h"
#include "bpf/waits.h"
#include "stacks/frames/stack_session.h"
#include "stacks/unwind/unwind_preload.h"
#include "stacks/unwind/unwind_tables.h"
#include "stacks/waits/waits_config.h"
#include "stacks/waits/waits_program.h"

/*
 * One instance of linux.waits: what the files of this directory share.
 *
 *	waits_source.c    its lifetime
 *	waits_config.c    its config
 *	waits_program.c   the BPF programs and their maps
 *	waits_records.c   turns records of the programs into stacks and single waits
 *	waits_totals.c    the programs' totals
 *	waits_packets.c   turns both into packets
 *	wait_reasons.c    why a thread waits, in words
 *
 * A round reads records of the programs and of the perf rings in order of time, requests mappings
 * and names, and writes single waits; once a period also the totals.
 */
#define WAITS_READ_MS 100 /* time between two rounds */
#define WAITS_ROUND_MAX 16384 /* single waits of a round; the rest follows in the next one */
#define WAITS_STACKS_MAX 65536 /* stacks by hash; one more frees all */
#define WAITS_THREADS_MAX 65536 /* threads with a track; one more describes all again */

/* A stack as the programs sent it, with the frames that its addresses are. */
struct known_stack {
	uint64_t hash; /* key */
	UT_hash_handle hh;
	uint32_t n;
	uint32_t frames[]; /* numbers of stacks.h, the innermost first */
};

/* A thread whose track was described. */
struct waits_thread {
	struct {
		uint32_t pid, tid;
	} key;
	UT_hash_handle hh;
	uint32_t written; /* generation of stacks.h */
};

/* A total, and how much of it is written. */
struct waits_total {
	struct waker_key key; /* name "": not of a waker */
	UT_hash_handle hh;
	struct wait_sum now, written;
	uint32_t table; /* index of the map (waits_program.h) */
	uint16_t idle; /* reads since it has changed */
	uint16_t postponed; /* reads for which its stacks were not known yet */
};

/* The waits of a process or thread that are not in the totals of wakers: the sum of the other
 * totals minus those. For a short time it may be negative. */
struct waits_without_waker {
	struct {
		uint32_t tgid, tid;
	} key;
	UT_hash_handle hh;
	int64_t ns, waits;
	uint64_t last;
};

struct waits_session {
	struct stack_session base; /* its first member; its rings: changes of mappings */
	bool hides_addresses;
	const char *tracefs_root; /* borrowed */
	struct waits_config config;
	uint32_t own[WAITS_OWN_MAX]; /* processes of the recorder */
	struct waits_program *program; /* owned; NULL: it does not run */
	struct unwind_tables_user tables; /* of the program */
	struct unwind_preload preload; /* from start() until the programs run */
	struct unwind_tables_stats table_stats; /* when the programs were removed */

	struct waits_queue queue; /* records of the programs that are still to be handled */
	struct known_stack *known; /* owned */
	struct waits_thread *threads; /* owned */
	struct waits_total *totals; /* owned */
	struct waits_without_waker *without_waker; /* owned */
	struct wait_event *waits; /* owned; of the round */
	size_t n_waits, cap_waits;

	uint64_t totals_due; /* CLOCK_BOOTTIME */
	bool writes_totals; /* the round ends with the totals */
	uint64_t n_written; /* single waits */
	uint64_t n_waits_lost; /* single waits that found no memory */
	uint64_t n_stacks_lost; /* totals and waits whose stack never came */
	struct waits_counts counts; /* when the programs were removed */
};

/* Handles records until the queue is empty, WAITS_ROUND_MAX is reached, the stacks are full, or an
 * answer is needed (stack_session_ops.read). */
bool waits_records_handle_queue(struct stack_session *base);
/* Frees all stacks; the programs send them again. */
void waits_records_forget_stacks(struct waits_session *s);
/* Returns the stack, or NULL. */
const struct known_stack *waits_records_find_stack(const struct waits_session *s, uint64_t hash);

/* Returns whether the thread waited for the futex at args[0]. */
bool waits_records_is_futex_wait(const struct wait_event *e);

/* Reads the totals of the programs. */
void waits_totals_read(struct waits_session *s);
/* Calls write for each total that has grown, and whose stacks are known. */
void waits_totals_write(struct waits_session *s,
			void (*write)(struct waits_session *s, const struct waker_key *k,
				      const struct wait_sum *grown));
/* Calls write for each process or thread some of whose waits are not in the totals of wakers; the
 * key has no stacks. */
void waits_totals_write_without_waker(struct waits_session *s,
				      void (*write)(struct waits_session *s,
						    const struct waker_key *k,
						    const struct wait_sum *grown));

/* Writes the single waits of the round. */
void waits_packets_write_waits(struct waits_session *s);
void waits_packets_write_totals(struct waits_session *s);
/* Writes losses and cost. */
void waits_packets_write_stats(struct waits_session *s, const struct waits_counts *counts);
