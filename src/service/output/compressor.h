/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

#include "config/trace_config.pb-c.h"
#include "service/filter/packet_sink.h"

/*
 * Compresses a trace in front of a sink. Packets are collected in a group of about
 * COMPRESSOR_GROUP_BYTES, as Trace.packet records. Each group becomes one packet with
 * compressed_packets (zlib's format, level 6) or zstd_compressed_packets (one frame).
 *
 *	compressor_sink --> group --full, or compressor_end_group--> one packet --> next
 *
 * A packet larger than COMPRESSOR_MAX_PACKET is passed unchanged, which bounds the work of one
 * call. Memory: about 0.6 MiB plus that of the library (zlib 0.3 MiB, zstd of level 3 about 1.5
 * MiB, of level 12 about 5 MiB).
 */
struct compressor;

#define COMPRESSOR_GROUP_BYTES (128u << 10)
#define COMPRESSOR_MAX_PACKET (256u << 10)
/* Higher levels are reduced to this one: they would block the loop for longer than the disk. */
#define COMPRESSOR_MAX_ZSTD_LEVEL 12

/* Creates the compressor of the config; zstd if it requests both. Sets *ret to NULL if it requests
 * none. Returns 0 or -ENOMEM. */
int compressor_new(const Pb__TraceConfig *config, struct compressor **ret);
/* Drops the collected group. No-op for NULL. */
void compressor_free(struct compressor *c);

/* Returns the sink for packets. next (borrowed) receives the output until the next call of
 * compressor_sink(). */
struct packet_sink *compressor_sink(struct compressor *c, struct packet_sink *next);
/* Compresses and passes on the collected group. */
void compressor_end_group(struct compressor *c);
/* Returns the maximum size of the next output packet after another packet of packet_size. */
size_t compressor_bound(const struct compressor *c, size_t packet_size);
