/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stddef.h>

#include "wire/pb_enc.h"
#include "procfs/process/proc_status.h"
#include "procfs/process/proc_files.h"

struct writer;

/*
 * The packets of linux.process_stats, one open at a time: a ProcessTree or a ProcessStats, which
 * takes rows until it is large, the other kind is wanted, or process_packet_end comes.
 *
 *	process_packet_next(p);                      before a task's files are read
 *	... read ...
 *	e = process_packet_row(p, KIND, FIELD);      opens a packet where none is
 *	... fields of the row ...
 *	pb_enc_close(e);
 *
 * The packet's timestamp is CLOCK_BOOTTIME before the first read of what it tells, its
 * collection_end_timestamp after the last. A row of a process that the trace does not know yet begins a
 * packet (process_packet_end before it): readers that sort by time would take an earlier packet for one of
 * another process, which had the number before. What was not read but heard, and was true at some moment
 * of the past, is a packet of its own with that moment; process_packet_next_at begins it.
 */
enum process_packet_kind { PROCESS_PACKET_TREE, PROCESS_PACKET_STATS };

/* A packet that is this long takes no further task. */
#define PROCESS_PACKET_BYTES (16u << 10)

struct process_packet {
	struct writer *w; /* borrowed */
	struct pb_enc *e; /* of the open packet, or NULL */
	enum process_packet_kind kind; /* of the open one */
	uint64_t start_pos;
	uint64_t task_ns; /* before the task's files were read, or when it was so */
	bool heard; /* the open packet, or the next, is of that time alone */
	bool new_state; /* the next packet tells that nothing before it counts; at first set */
};

void process_packet_next(struct process_packet *p);
/* Of what an event at that moment of CLOCK_BOOTTIME told (0: now): the packet comes right behind the
 * event, for those who sort both by time. */
void process_packet_next_at(struct process_packet *p, uint64_t ns);
/* The packet itself, for fields that are no message. */
struct pb_enc *process_packet_open(struct process_packet *p, enum process_packet_kind kind);
/* A nested message in field of the packet. */
struct pb_enc *process_packet_row(struct process_packet *p, enum process_packet_kind kind,
				  uint32_t field);
void process_packet_end(struct process_packet *p);

/*
 * The rows of a ProcessTree: what tasks are called and whose they are.
 *
 * Format: protos/trace/ps/process_tree.proto.
 */

struct process_row {
	const struct proc_status *status;
	const char *cmdline; /* NUL-separated; empty: the name stands for it */
	size_t cmdline_len;
	bool has_start;
	uint64_t start_from_boot_ns;
};

struct thread_row {
	int32_t tid;
	int32_t tgid;
	const struct proc_name *name; /* NULL: not recorded */
	const int32_t *nstid;
	unsigned n_nstid;
};

void process_packet_add_process(struct process_packet *p, const struct process_row *row);
void process_packet_add_thread(struct process_packet *p, const struct thread_row *row);

/*
 * Files that cannot be read, and counter tracks that there is no room for: a kind of file is told on
 * the log when it is met for the first time, and all are counted in the trace.
 */

/* Zero-initialise. */
struct process_errors {
	uint64_t refused_tracks; /* so far; the owner sets it */
	bool told_refused;
	uint32_t told; /* bits by enum proc_file */
	uint64_t written; /* errors, of all kinds, when they were written last */
};

/* Says what has not been said yet. */
void process_errors_log(struct process_errors *t, const struct proc_files *f);
/* A ProcessStats with unread_files and refused_tracks, if there are more than in the one before. */
void process_errors_write(struct process_errors *t, const struct proc_files *f,
			  struct process_packet *p);
