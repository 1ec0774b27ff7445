/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Makes one trace of the traces of several machines, as a service would have recorded it with
 * remote producers: each packet has the number of its machine (TracePacket.machine_id), and
 * RemoteClockSync states how the clocks of the machines relate. The traces are aligned by
 * CLOCK_REALTIME. The machine that booted first has the number 0 and the clock of the merged trace,
 * so that no time is negative.
 *
 *	merge_input_read() of each trace --> merge_trace_plan() --> merge_trace_write()
 *
 * The bytes are untrusted. Memory grows with the sequences of a trace, not with its packets.
 */

#define MERGE_INPUTS_MAX 64

/* CLOCK_BOOTTIME and CLOCK_REALTIME of one moment, in ns. */
struct merge_clocks {
	int64_t boot, real;
};

struct merge_input {
	const uint8_t *data; /* borrowed */
	size_t len;
	bool is_mapped; /* data is a mapping, whose pages are released after they were read */
	const char *machine; /* borrowed: inputs of one machine have equal names */

	/* Set by merge_input_read(). */
	struct merge_clocks first, last; /* the first and last clock snapshot with both clocks */
	bool has_clocks;
	uint32_t trace_clock; /* BuiltinClock of the times; 6: CLOCK_BOOTTIME */
	bool has_machines; /* it is a trace of several machines already */
	bool has_programs; /* it has programs of a ProtoVM */
	bool cut_off;
	uint32_t max_sequence;
	uint64_t packets, undecodable, not_unpacked;

	/* Set by merge_trace_plan(). */
	uint32_t number; /* machine_id in the merged trace */
	uint32_t first_sequence; /* is added to the numbers of its sequences */
};

/* Reads what merge_trace_plan() needs. Returns 0, -EBADMSG if it is not a trace, -EFBIG if its
 * state is too large, or -ENOMEM. */
int merge_input_read(struct merge_input *in);

/* Why traces cannot be merged. `of` is the trace; for MERGE_MACHINES and MERGE_REBOOT, `with` is
 * the other one. */
enum merge_refusal {
	MERGE_POSSIBLE,
	MERGE_NO_CLOCKS, /* a trace without a clock snapshot */
	MERGE_OTHER_CLOCK, /* its times are not of CLOCK_BOOTTIME */
	MERGE_PROGRAMS,
	MERGE_MACHINES, /* of several machines; `with` booted before its service's machine */
	MERGE_REBOOT, /* two of one machine, which was rebooted in between */
	MERGE_SEQUENCES, /* too many sequences */
};

/* Numbers the machines and the sequences of inputs that merge_input_read() has read. Returns why
 * they cannot be merged, and sets the indexes of the inputs concerned, or returns
 * MERGE_POSSIBLE. */
enum merge_refusal merge_trace_plan(struct merge_input *inputs, size_t n, size_t *ret_of,
				    size_t *ret_with);

struct merge_output {
	/* Writes a packet (borrowed). Returns 0 or -errno, which ends merge_trace_write(). */
	int (*write)(void *ctx, const uint8_t *packet, size_t len);
	void *ctx;
};

/* Writes the packets of all traces, uncompressed, one trace after the other. Returns 0, -ENOMEM, or
 * what `write` returned. */
int merge_trace_write(const struct merge_input *inputs, size_t n, const struct merge_output *out);
