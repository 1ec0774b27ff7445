/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "service/buffer/trace_packet.h"

/*
 * Validates the top-level fields of a producer's packet, and builds the trailer of fields that only
 * the service may write.
 */

/* Returns true if the slices together are a well-formed message without the service's own fields
 * (3, 10, 33, 35, 36, 50, 69, 79, 98, 124, 125, 133). The content of fields is not checked. An
 * empty message is valid. The caller must drop an invalid packet and count it. */
bool packet_is_valid(const struct iovec *slices, size_t n_slices);

/* The incremental state of a valid packet: bits of TracePacket.SequenceFlags. The older field
 * incremental_state_cleared sets the first bit as well. */
enum packet_state {
	PACKET_STATE_CLEARED = 1, /* the sequence has no state before it */
	PACKET_STATE_NEEDED = 2, /* the packet depends on earlier ones */
};
uint32_t packet_state_flags(const struct iovec *slices, size_t n_slices);

/* Writes the fields to append to a packet: trusted_uid, trusted_packet_sequence_id, trusted_pid if
 * known, machine_id of another machine, and previous_packet_dropped if loss is not 0. They are
 * appended, because in protobuf the last value of a field counts. Returns the bytes written. */
#define PACKET_MAX_TRAILER 40
size_t packet_put_trailer(uint8_t buf[static PACKET_MAX_TRAILER], const struct trace_packet *packet,
			  uint32_t sequence_id);
