/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

struct pb_enc;
struct trace;

/* The fields of TraceStats that describe a trace. The session writes the other fields. */

/* Writes one buffer_stats for each buffer. */
void trace_put_buffer_stats(const struct trace *t, struct pb_enc *e);
/* Writes invalid_packets and filter_stats. */
void trace_put_read_stats(const struct trace *t, struct pb_enc *e);
/* Writes the histograms of each writer, until the encoder's position has reached end. */
void trace_put_writer_stats(struct trace *t, struct pb_enc *e, uint64_t end);
