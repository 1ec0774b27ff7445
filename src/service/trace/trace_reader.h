/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "service/filter/packet_sink.h"

struct trace;

/*
 * Reads a trace in bounded batches:
 *
 *	trace_read_begin(t);
 *	while (trace_read_batch(t, sink, batch))
 *		;
 *
 * Each batch has the pending packets of the service, then packets of producers, buffer by buffer.
 * It ends after about `batch` bytes, or after READ_PASS_STEPS; then it may be empty. A producer's
 * packet is checked and gets the trusted fields. Reading removes the data from the buffers.
 */
void trace_read_begin(struct trace *t);
/* Returns true if more data remains. */
bool trace_read_batch(struct trace *t, struct packet_sink *sink, size_t batch);
