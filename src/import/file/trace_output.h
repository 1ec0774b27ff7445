/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

#include "wire/pb_enc.h"

/* Writes the packets of a trace to a descriptor, in large pieces. After an error nothing more is
 * written, and `error` stays set. For one thread. */
struct trace_output {
	int fd; /* borrowed */
	int error; /* 0 or -errno */
	uint64_t packets;
	struct pb_mem packet; /* the open packet */
	uint8_t *pending; /* owned: whole packets that are not written yet */
	size_t n_pending;
};

/* One packet sequence of the trace. */
struct trace_sequence {
	struct trace_output *out; /* borrowed */
	uint32_t id; /* from 1 */
};

/* Returns 0 or -ENOMEM. */
int trace_output_init(struct trace_output *o, int fd);
void trace_output_deinit(struct trace_output *o);

/* Opens a packet; the encoder takes the fields of one TracePacket. No other one may be open. */
struct pb_enc *trace_sequence_begin(struct trace_sequence *s);
void trace_sequence_end(struct trace_sequence *s);

/* Writes what is pending. Returns the error. */
int trace_output_flush(struct trace_output *o);
