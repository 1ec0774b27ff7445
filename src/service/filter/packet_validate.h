/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "service/buffer/trace_packet.h"

/*
 * What stands between a producer's packet and a trace: a check of its top-level fields, and the
 * fields that only the service may write.
 */

/*
 * Is this a whole message that leaves the service's own fields alone (3, 10, 33, 35, 36, 50, 69,
 * 79, 98, 124, 125, 133)? Slices are scanned as one string of bytes; what is inside of a field is
 * not looked at. No bytes at all are a whole message. A packet that is refused must be
 * dropped and counted as invalid.
 */
bool packet_is_valid(const struct iovec *slices, size_t n_slices);

/*
 * What a packet that was accepted says about the incremental state of its sequence: bits of
 * TracePacket.SequenceFlags, with incremental_state_cleared as the older way to say the first.
 */
enum packet_state {
	PACKET_STATE_CLEARED = 1, /* the sequence begins anew */
	PACKET_STATE_NEEDED = 2, /* it means something only with what came before */
};
uint32_t packet_validate_state(const struct iovec *slices, size_t n_slices);

/*
 * The fields to append to a packet: trusted_uid, trusted_packet_sequence_id, trusted_pid if
 * known, machine_id of another machine, and previous_packet_dropped if loss is not 0. Appended, so that by protobuf's last-one-
 * wins rule they hold. Returns the bytes written.
 */
#define PACKET_MAX_TRAILER 40
size_t packet_validate_trailer(uint8_t buf[static PACKET_MAX_TRAILER],
			       const struct trace_packet *packet, uint32_t sequence_id);
