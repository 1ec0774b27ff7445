/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/*
 * How many bytes of a trace each kind of data takes: kernel events by name, other packets by kind;
 * and the machines that were recorded. Packets are untrusted; names are copied without control
 * characters.
 */

#define CONTENTS_MAX_NAME 96
#define CONTENTS_MAX_KINDS 4096 /* further ones are "other" */
#define CONTENTS_MAX_MACHINES 64 /* further ones are not listed */

struct content_row {
	char name[CONTENTS_MAX_NAME];
	uint64_t count;
	uint64_t bytes;
};

struct content_machine {
	uint32_t id; /* 0: the service's machine */
	char name[64], system[64], release[96], arch[32]; /* "": unknown */
	uint64_t cpus; /* 0: unknown */
};

#define CONTENTS_MAX_NOTES 16 /* as sonda import writes */

/* The file of another program that the trace was made from. */
struct content_import {
	char format[32], recorder[64],
		clock[32]; /* "": unknown; no format: the trace was recorded */
	char notes[CONTENTS_MAX_NOTES][200]; /* what is missing or different */
	size_t n_notes;
};

struct content_node;

#define CONTENTS_EVENTS 1024 /* field numbers of kernel events whose rows need no search */

/* Zero-initialise; contents_deinit frees. */
struct contents {
	struct content_node *by_name; /* owned hash */
	struct content_node *by_number; /* owned hash: kernel events that the trace describes */
	struct content_row other; /* sum of the kinds past the limit, or for which memory ran out */
	struct content_row *by_event[CONTENTS_EVENTS]; /* by field number; NULL: none yet */
	struct content_machine machines[CONTENTS_MAX_MACHINES];
	size_t n_machines;
	struct content_import imported;
	uint64_t bytes; /* of all packets */
};

void contents_deinit(struct contents *c);

/* Adds one whole TracePacket that is not compressed. */
void contents_add_packet(struct contents *c, const uint8_t *data, size_t len);

/* Returns the rows, the most bytes first. The caller frees *ret. Returns 0 or -ENOMEM. */
int contents_list_rows(const struct contents *c, struct content_row **ret, size_t *ret_n);
