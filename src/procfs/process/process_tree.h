/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/event_loop/time_slice.h"
#include "procfs/process/proc_files.h"
#include "procfs/process/task_table.h"
#include "wire/pb_enc.h"

struct writer;

/*
 * The packets of linux.process_stats. One packet is open at a time: a ProcessTree or a
 * ProcessStats. It takes rows until it is large, the other kind is needed, or process_packet_end()
 * is called.
 *
 *	process_packet_prepare(p);                      before the files of a task are read
 *	... read ...
 *	e = process_packet_open_row(p, KIND, FIELD); opens a packet if none is open
 *	... fields of the row ...
 *	pb_enc_close(e);
 *
 * The timestamp of a packet is CLOCK_BOOTTIME before the first read, its collection_end_timestamp
 * the time after the last. The row of a process that is new in the trace begins a packet (call
 * process_packet_end() before it): readers sort by time and would assign a row of an earlier packet
 * to the previous owner of the id. A state that events reported for a past moment gets its own
 * packet with that time; process_packet_prepare_at() begins it.
 */
enum process_packet_kind { PROCESS_PACKET_TREE, PROCESS_PACKET_STATS };

struct process_packet {
	struct writer *w; /* borrowed */
	struct pb_enc *e; /* encoder of the open packet, or NULL */
	enum process_packet_kind kind; /* of the open packet */
	uint64_t start_pos;
	uint64_t task_ns; /* before the files of the task were read, or the time of the event */
	bool single_event; /* the packet has the time of one event and takes nothing else */
	bool new_state; /* mark the next packet with incremental_state_cleared; true at first */
};

/* Sets the time of the next rows; call it before the files of a task are read. Ends the open packet
 * if it is large, or if it belongs to one event. */
void process_packet_prepare(struct process_packet *p);
/* Returns the open packet; opens one if there is none of the kind. */
struct pb_enc *process_packet_open(struct process_packet *p, enum process_packet_kind kind);
/* Like process_packet_open(); then opens a nested message in a field of the packet. */
struct pb_enc *process_packet_open_row(struct process_packet *p, enum process_packet_kind kind,
				       uint32_t field);
/* Ends the open packet. No-op if there is none. */
void process_packet_end(struct process_packet *p);

/*
 * Writes the rows of ProcessTree: names, parents and threads, each task once. A process has one
 * Process row and, unless skip_main_thread is set, the Thread row of its leader. A task that exits
 * before its files are read is skipped.
 *
 * Format: protos/trace/ps/process_tree.proto.
 */

struct process_tree_options {
	bool thread_names;
	bool age; /* process_start_from_boot */
	bool skip_main_thread;
};

/* If more command lines than this are missing, they are not read again, and the names stay. */
#define PROCESS_TREE_UNREAD_MAX 1024u
/* Above this number of waiting tasks further ones are dropped: a task that keeps running is
 * reported again by the next event. */
#define PROCESS_TREE_QUEUE_MAX (1u << 16)

/* The owner sets options, files and packet; the rest is zero-initialised. */
struct process_tree {
	struct process_tree_options options;
	struct proc_files *files; /* borrowed */
	struct process_packet *packet; /* borrowed */
	struct task_table tasks;
	uint64_t flushed_ns[2]; /* CLOCK_BOOTTIME of the answers to the last two flushes, the older
				 * first; 0: none */
	/* Pids of processes whose command line is still to be read: another task held the lock of
	 * their memory map at the last attempt. */
	int32_t unread[PROCESS_TREE_UNREAD_MAX];
	unsigned n_unread;
	/* Tasks to be written, first in first out. */
	int32_t *queue; /* owned; [queue_next, queue_end) wait */
	size_t queue_next, queue_end, queue_cap;
};

void process_tree_deinit(struct process_tree *t);

/* Writes a process. *ret_status: its status, for a walk over its threads. Returns false if the
 * process has exited, pid is not a leader, or it has not run yet. */
bool process_tree_write_process(struct process_tree *t, int32_t pid,
				struct proc_status *ret_status);
/* Writes a thread of a written process, from the open list of its threads. namespaced: also reads
 * its ids inside its namespaces. */
void process_tree_write_thread(struct process_tree *t, const struct pid_list *threads, int32_t tid,
			       bool namespaced);
/* Writes a thread whose process and name are known. */
void process_tree_write_named_thread(struct process_tree *t, int32_t pid, int32_t tid,
				     const struct proc_name *name);

/* Queues a task unless it has a row; for a thread, its process is written first. */
void process_tree_queue_task(struct process_tree *t, int32_t tid);
static inline bool process_tree_has_queued(const struct process_tree *t)
{
	return t->queue_next < t->queue_end;
}
/* Writes queued tasks until the time slice is over (returns true) or none is left (returns false),
 * but at least one. */
bool process_tree_run_queue(struct process_tree *t, const struct time_slice *slice);

/* Reads the missing command lines again until the time slice is over, and writes the rows of the
 * processes that have one now. */
void process_tree_retry_unread(struct process_tree *t, const struct time_slice *slice);

/* The events about a task, merged; from its start on if an event reported the start. */
struct task_state {
	uint64_t began_ns; /* CLOCK_BOOTTIME; 0: no start was reported, or its time is unknown */
	uint64_t last_ns; /* time of the last event; 0: unknown */
	int32_t tid;
	int32_t creator; /* valid if is_new */
	int32_t was; /* id before an exec, which gave it the id of its leader; 0: no change */
	bool is_new;
	bool is_thread; /* valid if is_new */
	bool is_sibling; /* valid if is_new: it is a sibling of its creator (CLONE_PARENT) */
	bool awaits_start; /* another publisher may report its start */
	bool has_name;
	bool has_ended;
	/* write it without reading /proc: the id was reused, or the queue is too long */
	bool closed;
	uint32_t file_len;
	char *file; /* file name of its program; NULL: no exec was reported */
	char name[16]; /* up to the first NUL */
};

/* Writes the task again: from its files if it exists, with the name of the event; else from the
 * events alone. */
void process_tree_write_state(struct process_tree *t, const struct task_state *state);

/* Starts a new incremental state: all rows are written again, and the next packet tells readers to
 * discard the old ones. keep_relations: known ids still belong to the same tasks. */
void process_tree_clear(struct process_tree *t, bool keep_relations);
