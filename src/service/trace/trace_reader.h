/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "service/filter/packet_sink.h"

struct trace;

/*
 * Reading a trace, a bounded pass at a time:
 *
 *	read_begin(t);
 *	while (read_pass(t, sink, batch))
 *		;
 *
 * Each pass writes what the service has to say by now and then packets of producers, from buffer to
 * buffer, until about `batch` bytes are out, or so much was looked at that the turn must end (then
 * also with nothing that was written): each packet checked, and with the trusted fields
 * appended. What was read is gone from the buffers.
 */
void read_begin(struct trace *t);
/* True: there is more. */
bool read_pass(struct trace *t, struct packet_sink *sink, size_t batch);
