/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

/*
 * Where the packets of a trace go: the replies of ReadBuffers. Embedded in what implements it.
 */
struct packet_sink {
	/* A packet of size bytes begins; exactly so many follow by bytes(), in pieces that are
	 * borrowed during the call. */
	void (*begin)(struct packet_sink *sink, size_t size);
	void (*bytes)(struct packet_sink *sink, const void *data, size_t len);
};
