/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/*
 * Where the packets of a trace go: the replies of ReadBuffers, or a file. Embedded in what
 * implements it.
 */
struct packet_sink {
	/* A packet of size bytes begins; exactly so many follow by bytes(), in pieces that are
	 * borrowed during the call. */
	void (*begin)(struct packet_sink *sink, size_t size);
	void (*bytes)(struct packet_sink *sink, const void *data, size_t len);
	/* Optional: of the packet that begins next, if it is a producer's: its sequence's id, and
	 * which of enum packet_state it says. */
	void (*of_sequence)(struct packet_sink *sink, uint32_t id, uint32_t state);
};
