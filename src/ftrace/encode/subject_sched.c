/* SPDX-License-Identifier: Apache-2.0 */
#include "ftrace/encode/subject_sched.h"

#include <stdio.h>
#include <string.h>

#include "wire/stranger.h"

#define FLAGS_OF_INTERRUPT (0x08 | 0x10 | 0x40) /* hardirq, softirq, NMI: of common_flags */

/* A row of the columns of sched_switch. */
struct switch_row {
	uint64_t time;
	uint64_t state; /* of the thread that leaves the CPU */
	int32_t tid, prio;
	const struct comm *comm;
};

static void put_row(struct compact_sched *s, struct subject_cpu *cpu, const struct switch_row *row)
{
	compact_put_time(s, SWITCH_TIME, row->time - s->switch_time);
	s->switch_time = row->time;
	compact_put(s, SWITCH_PREV_STATE, row->state);
	compact_put(s, SWITCH_NEXT_PRIO, (uint64_t)row->prio);
	compact_put_task(s, SWITCH_NEXT_PID, row->tid, SWITCH_NEXT_COMM,
			 (const uint8_t *)row->comm);
	s->room--;
	cpu->running = row->tid;
}

/* Writes a first row for the CPU, because readers skip the first switch of a CPU, and everything
 * before it. After a loss, nothing is known about the thread that ran before. The row is one ns
 * earlier than the record: if a wake-up and a switch have the same time, readers may take either as
 * the first. */
static void begin_cpu(struct compact_sched *s, struct subject_cpu *cpu, unsigned number,
		      uint64_t time)
{
	char name[COMM_LEN] = "";

	if (cpu->begun)
		return;
	snprintf(name, sizeof(name), "swapper/%u", number);
	memcpy(&cpu->idle, name, sizeof(cpu->idle));
	cpu->begun = true;
	put_row(s, cpu,
		&(struct switch_row){
			.time = time - 1, .prio = COMPACT_STRANGER_PRIO, .comm = &cpu->idle});
}

static bool is_known_stranger(const struct subject_threads *known, int32_t tid, uint64_t time)
{
	unsigned i = (uint32_t)tid % SUBJECT_STRANGERS;

	return known->strangers[i].tid == tid &&
	       time - known->strangers[i].time < SUBJECT_STRANGER_NS;
}

static void add_stranger(struct subject_threads *known, int32_t tid, uint64_t time)
{
	unsigned i = (uint32_t)tid % SUBJECT_STRANGERS;

	if (!tid)
		return;
	pid_set_remove(&known->members, tid);
	known->strangers[i].tid = tid;
	known->strangers[i].time = time;
}

static void add_member(struct subject_threads *known, int32_t tid)
{
	unsigned i = (uint32_t)tid % SUBJECT_STRANGERS;

	(void)pid_set_add(&known->members, tid);
	if (known->strangers[i].tid == tid)
		known->strangers[i].tid = 0;
}

/* Learns from a record of thread `tid`, which runs now on the CPU. If the last recorded switch was
 * not to this thread, neither this thread nor the one of that switch belongs to the subject.
 * Returns true in this case. */
static bool learn_from_running(struct subject_threads *known, const struct subject_cpu *cpu,
			       int32_t tid, uint64_t time)
{
	if (!cpu->switched || tid == (cpu->left_out.tid ? cpu->left_out.tid : cpu->running))
		return false;
	add_stranger(known, tid, time);
	add_stranger(known, cpu->left_out.tid, cpu->left_out.time);
	pid_set_remove(&known->members, cpu->running);
	return true;
}

/* Decides which thread of a switch belongs to the subject: at least one does, and the idle task
 * never does. */
static void sort_threads_of_switch(struct subject_threads *known, const struct subject_cpu *cpu,
				   int32_t prev, int32_t next, uint64_t time)
{
	bool is_stranger = learn_from_running(known, cpu, prev, time);

	if (!next)
		add_member(known, prev);
	else if (!prev || is_stranger || is_known_stranger(known, prev, time))
		add_member(known, next);
}

/* Decides which thread of a wake-up belongs to the subject: the running one, or the one that is
 * woken. */
static void learn_from_waking(struct subject_threads *known, const struct subject_cpu *cpu,
			      int32_t waker, int32_t woken, uint64_t time)
{
	bool is_stranger = learn_from_running(known, cpu, waker, time);

	if (!waker || is_stranger || is_known_stranger(known, waker, time))
		add_member(known, woken);
	else if (is_known_stranger(known, woken, time))
		add_member(known, waker);
}

void subject_sched_switch(struct compact_sched *s, struct subject_cpu *cpu, unsigned number,
			  struct subject_threads *known, const struct compiled_event *ev,
			  const struct ring_record *r, struct encode_ctx *ctx)
{
	const struct field_op *state = &ev->ops[0], *pid = &ev->ops[1];
	int32_t prev = (int32_t)load32(r->payload + ev->ops[4].offset);
	int32_t next = (int32_t)load32(r->payload + pid->offset);
	struct switch_row row = {
		.time = r->time,
		.state = state->type == FIELD_S64 ? load64(r->payload + state->offset)
						  : compact_s32(r, state),
		.tid = next,
		.prio = (int32_t)load32(r->payload + ev->ops[2].offset),
	};
	struct comm comm;

	memcpy(&comm, r->payload + ev->ops[3].offset, sizeof(comm));
	row.comm = &comm;
	begin_cpu(s, cpu, number, r->time);
	sort_threads_of_switch(known, cpu, prev, next, r->time);
	if (prev && prev == cpu->left_out.tid && !is_known_stranger(known, prev, r->time))
		put_row(s, cpu,
			&(struct switch_row){.time = cpu->left_out.time,
					     .tid = prev,
					     .prio = cpu->left_out.prio,
					     .comm = &cpu->left_out.comm});
	cpu->left_out.tid = 0;
	if (cpu->running == 0)
		row.state = 0;
	if (!next || pid_set_has(&known->members, next)) {
		compact_add_tid(ctx, r, pid);
	} else {
		cpu->left_out = (struct left_out_switch){
			.time = r->time, .tid = next, .prio = row.prio, .comm = comm};
		row.tid = 0;
		row.prio = COMPACT_STRANGER_PRIO;
		row.comm = &cpu->idle;
	}
	put_row(s, cpu, &row);
	cpu->switched = true;
}

bool subject_sched_waking(struct compact_sched *s, struct subject_cpu *cpu, unsigned number,
			  struct subject_threads *known, const struct compiled_event *ev,
			  const struct ring_record *r, struct encode_ctx *ctx)
{
	int32_t waker = (int32_t)load32(r->payload + ev->pid_offset);
	int32_t woken = (int32_t)load32(r->payload + ev->ops[0].offset);
	bool by_interrupt = r->payload[ev->ops[4].offset] & FLAGS_OF_INTERRUPT;

	learn_from_waking(known, cpu, waker, woken, r->time);
	begin_cpu(s, cpu, number, r->time);
	/* If the waker is an interrupt handler, the thread that it interrupted does not matter. */
	if (waker != cpu->running && !(by_interrupt && cpu->running == 0))
		return false;
	compact_sched_waking(s, ev, r, ctx);
	return true;
}

void subject_sched_lost(struct subject_cpu *cpu)
{
	*cpu = (struct subject_cpu){0};
}
