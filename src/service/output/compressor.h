/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

#include "config/trace_config.pb-c.h"
#include "service/filter/packet_sink.h"

/*
 * Compression of a trace on its way to a sink: packets gather in a group of about
 * COMPRESSOR_GROUP_BYTES, as Trace.packet records, and each group becomes one packet with
 * compressed_packets (zlib's format, level 6) or zstd_compressed_packets (one frame).
 *
 *	compressor_sink --> group --full, or compressor_end--> one packet --> next
 *
 * A packet larger than COMPRESSOR_MAX_PACKET goes as it is: so one call never has more to do than a
 * group and such a packet. Memory: about 0.6 MiB and what the library takes (zlib 0.3 MiB, zstd of
 * level 3 about 1.5 MiB, of level 12 about 5 MiB).
 */
struct compressor;

#define COMPRESSOR_GROUP_BYTES (128u << 10)
#define COMPRESSOR_MAX_PACKET (256u << 10)
/* A higher level is taken as this: it would hold up the loop for longer than the disk does. */
#define COMPRESSOR_MAX_ZSTD_LEVEL 12

/* Of what the config asks for; zstd where it asks for both. *ret NULL: for none. 0 or -ENOMEM. */
int compressor_new(const Pb__TraceConfig *config, struct compressor **ret);
/* Drops what was gathered. NULL is fine. */
void compressor_free(struct compressor *c);

/* Where packets go in; next (borrowed) gets what comes out until this is called again. */
struct packet_sink *compressor_sink(struct compressor *c, struct packet_sink *next);
/* Hands on what was gathered. */
void compressor_end(struct compressor *c);
/* How large the packet may be that comes out if one more of so many bytes goes in. */
size_t compressor_bound(const struct compressor *c, size_t packet_size);
