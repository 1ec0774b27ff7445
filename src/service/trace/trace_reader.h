/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "service/filter/packet_sink.h"

struct trace;

/*
 * Reading a trace, a bounded pass at a time:
 *
 *	trace_read_begin(t);
 *	while (trace_read_batch(t, sink, batch))
 *		;
 *
 * Each pass writes what the service has to say by now and then packets of producers, from buffer to
 * buffer, until about `batch` bytes are out, or so much was looked at that the turn must end (then
 * also with nothing that was written): each packet checked, and with the trusted fields
 * appended. What was read is gone from the buffers.
 */
void trace_read_begin(struct trace *t);
/* True: there is more. */
bool trace_read_batch(struct trace *t, struct packet_sink *sink, size_t batch);
