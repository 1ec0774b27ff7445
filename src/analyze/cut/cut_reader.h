/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/cut/cut_differences.h"
#include "analyze/import/clocks.h"
#include "analyze/packets.h"
#include "analyze/store/store.h"
#include "base/core/hash_table.h"
#include "base/text/str.h"

/*
 * The packets of a trace in the file's order, each with its machine, its sequence with the
 * incremental state after it, and its time. Memory grows with sequences, CPUs and clock snapshots,
 * not with packets. The bytes are untrusted.
 */

#define CUT_CPUS_MAX 4096u
#define CUT_MACHINES_MAX 64u
#define CUT_SEQUENCES_MAX (1u << 20)
#define CUT_INTERNED_MAX (256u << 20) /* bytes of interned data of one sequence */

struct cut_sequence {
	uint64_t key; /* machine and sequence */
	size_t number; /* from 0 */
	uint64_t packets;
	bool valid; /* no packet is missing since the last clear: the state is complete */
	uint64_t generation; /* clears so far */
	uint64_t defaults_version;
	struct strbuf defaults; /* TracePacketDefaults since the last clear; empty: none */
	struct strbuf interned; /* InternedData since the last clear, all of it */
	struct strbuf thread; /* the last thread descriptor since the clear, a field of a packet */
	uint32_t default_clock;
	struct cut_times times; /* since the last clear */
	struct cut_sums sums; /* since the last clear */
	UT_hash_handle hh;
};

/* The last switch of a CPU in columns. Each part needs it: importers skip the first switch. */
struct cut_switch {
	bool known;
	uint64_t ts; /* as the pieces of its bundle have it: may be converted to CLOCK_BOOTTIME */
	uint64_t prev_state, next_pid, next_prio;
	uint8_t comm[32];
	size_t comm_len;
};

struct cut_cpu {
	bool had_bundle;
	struct cut_switch last;
};

struct cut_machine {
	uint32_t id; /* machine_id */
	struct clocks clocks;
	struct cut_counters counters;
	bool has_snapshot;
	int64_t latest; /* time of its packets, in the service's trace clock */
	uint64_t first_data; /* the latest previous_end of the first bundle of each CPU; 0: none */
	struct cut_cpu *cpus; /* owned */
	size_t n_cpus, cap_cpus;
};

struct cut_packet {
	const uint8_t *data; /* a whole TracePacket */
	size_t len;
	struct packet p;
	struct cut_machine *m;
	struct cut_sequence *seq; /* NULL: the packet has no sequence */
	int64_t ts; /* time in the service's trace clock; for a bundle the time of its packet */
	int64_t own_ts; /* time in the trace clock of its machine */
	bool converted; /* own_ts was converted from the packet's timestamp of another clock */
	struct cut_differences differences; /* of a track event */
};

struct cut_reader {
	struct store store; /* the budget of the clocks */
	struct cut_machine *machines[CUT_MACHINES_MAX]; /* owned */
	size_t n_machines;
	struct cut_sequence *sequences; /* owned hash */
	struct cut_reader *whole; /* borrowed: of the first pass, with all clocks; or NULL */
	struct strbuf unpacked;
	bool unpacking, cut_off;
	bool programs; /* has packets that are patches for a ProtoVM */
	uint64_t packets, undecodable, not_unpacked;
	/* Called for each packet except compressed ones. Returns 0 or -errno, which ends
	 * reading. */
	int (*on_packet)(void *ctx, const struct cut_packet *c);
	void *ctx;
};

void cut_reader_init(struct cut_reader *r);
void cut_reader_deinit(struct cut_reader *r);

/* Reads a trace. mapped: data is a mapping, whose pages are released after they were read. Returns
 * 0 (with cut_off if the trace is truncated), -EBADMSG if it is not a trace, -EFBIG if the state of
 * its sequences is larger than the limits above, -ENOMEM, or the error of on_packet. */
int cut_reader_run(struct cut_reader *r, const uint8_t *data, size_t len, bool mapped);

/* Converts a time in the unit of its clock to ns of the trace clock of the machine, by the
 * snapshots so far, else by those of r->whole. Moves an incremental clock forward. Returns false
 * with *ret unchanged if no snapshots connect the two clocks, or if the time overflows. */
bool cut_reader_convert(struct cut_reader *r, struct cut_machine *m, clock_key clock, int64_t ts,
			int64_t *ret);

/* Returns the CPU, valid until the next call. Returns NULL if its number is too large, or if memory
 * runs out, which ends cut_reader_run() with -ENOMEM. */
struct cut_cpu *cut_machine_cpu(struct cut_machine *m, uint64_t cpu);
/* Returns the machine, created if needed; NULL if there are too many or memory runs out. */
struct cut_machine *cut_reader_machine(struct cut_reader *r, uint32_t id);
