/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/pb_enc.h"

struct writer;

/*
 * The packets of linux.process_stats. One packet is open at a time: a ProcessTree or a
 * ProcessStats. It takes rows until it is large, the other kind is needed, or process_packet_end()
 * is called.
 *
 *	process_packet_next(p);                      before the files of a task are read
 *	... read ...
 *	e = process_packet_open_row(p, KIND, FIELD); opens a packet if none is open
 *	... fields of the row ...
 *	pb_enc_close(e);
 *
 * The timestamp of a packet is CLOCK_BOOTTIME before the first read, its collection_end_timestamp
 * the time after the last. The row of a process that is new in the trace begins a packet (call
 * process_packet_end() before it): readers sort by time and would assign a row of an earlier packet
 * to the previous owner of the id. A state that events reported for a past moment gets its own
 * packet with that time; process_packet_next_at() begins it.
 */
enum process_packet_kind { PROCESS_PACKET_TREE, PROCESS_PACKET_STATS };

/* A packet of this size takes no further task. */
#define PROCESS_PACKET_BYTES (16u << 10)

struct process_packet {
	struct writer *w; /* borrowed */
	struct pb_enc *e; /* encoder of the open packet, or NULL */
	enum process_packet_kind kind; /* of the open packet */
	uint64_t start_pos;
	uint64_t task_ns; /* before the files of the task were read, or the time of the event */
	bool single_event; /* the packet has the time of one event and takes nothing else */
	bool new_state; /* mark the next packet with incremental_state_cleared; true at first */
};

void process_packet_next(struct process_packet *p);
/*
 * Like process_packet_next() for the state that an event reported at ns of CLOCK_BOOTTIME (0: now).
 * The packet sorts right after the event.
 */
void process_packet_next_at(struct process_packet *p, uint64_t ns);
/* Returns the open packet; opens one if there is none of the kind. */
struct pb_enc *process_packet_open(struct process_packet *p, enum process_packet_kind kind);
/* Likewise, and opens a nested message in a field of it. */
struct pb_enc *process_packet_open_row(struct process_packet *p, enum process_packet_kind kind,
				       uint32_t field);
void process_packet_end(struct process_packet *p);
