/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The receiver of a trace's packets: the replies of ReadBuffers, or a file. Embedded in its
 * implementation. */
struct packet_sink {
	/* A packet of size bytes begins. Calls of bytes() pass exactly that many, in pieces that
	 * are borrowed during the call. */
	void (*begin)(struct packet_sink *sink, size_t size);
	void (*bytes)(struct packet_sink *sink, const void *data, size_t len);
	/* Optional: announces the sequence id and the enum packet_state of the next packet, if it
	 * is a producer's. */
	void (*of_sequence)(struct packet_sink *sink, uint32_t id, uint32_t state);
};
