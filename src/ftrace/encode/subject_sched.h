/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/core/pid_set.h"
#include "ftrace/encode/compact_sched.h"

/*
 * The columns of a recording in which the kernel leaves out all switches between two threads that
 * do not belong to the subject ("strangers"). A reader of columns takes the thread of the previous
 * switch for the one that leaves the CPU. So a switch to a stranger is written as one to the idle
 * task, with a priority that no task has (wire/stranger.h):
 *
 *	kernel      A -> X        (X -> Y, Y -> Z)       Z -> A       A -> B
 *	columns     A -> 0            nothing            0 -> A       A -> B
 *
 * The caller adds the threads that are in the kernel's list at the start to `members`. Which ones
 * join later follows from the kernel's choice of events: one of the two threads of each switch, and
 * of each wake-up, belongs to the subject. A thread that is not known yet is left out at first. If
 * the next switch on this CPU is away from it, its switch is written then, with its own time:
 *
 *	kernel      A -> B (new)                         B -> A
 *	columns     A -> 0                    0 -> B     B -> A
 *	time        1                         1          2
 *
 * This can show a stranger that ran at both times, but not all the time between. So strangers are
 * remembered, too, but not for longer than the kernel needs to use all thread ids once. Threads
 * must not join the subject in other ways than by being born in it.
 */
#define SUBJECT_ROWS_MAX 2 /* that a record needs */
#define SUBJECT_STRANGERS 1024 /* that are remembered, by the lowest bits of their ids */
#define SUBJECT_STRANGER_NS 1000000000

/* What is known about threads. Zeroed: none is known yet. Free it with pid_set_clear(&members). */
struct subject_threads {
	struct pid_set members;
	struct {
		uint64_t time; /* of the record that shows it */
		int32_t tid;
	} strangers[SUBJECT_STRANGERS];
};

/* The state of one CPU. Zeroed: there was no record yet, or none since the last loss. */
struct subject_cpu {
	bool begun, switched; /* a row was written; a switch was written */
	int32_t running; /* the thread that readers take for the running one */
	struct comm idle; /* the name of the idle task */
	/* the latest switch, if its thread was left out; tid 0: it was not */
	struct left_out_switch {
		uint64_t time;
		int32_t tid;
		int32_t prio;
		struct comm comm;
	} left_out;
};

/* Adds a record of COMPILED_SUBJECT_SWITCH. number is the number of the CPU. */
void subject_sched_switch(struct compact_sched *s, struct subject_cpu *cpu, unsigned number,
			  struct subject_threads *known, const struct compiled_event *ev,
			  const struct ring_record *r, struct encode_ctx *ctx);
/* Adds a record of COMPILED_SUBJECT_WAKING. Returns false if readers would take another thread for
 * the waker: then the record has to be written as ev->whole. */
bool subject_sched_waking(struct compact_sched *s, struct subject_cpu *cpu, unsigned number,
			  struct subject_threads *known, const struct compiled_event *ev,
			  const struct ring_record *r, struct encode_ctx *ctx);
/* Forgets the state of the CPU. Call it when records of the CPU were lost. */
void subject_sched_lost(struct subject_cpu *cpu);
