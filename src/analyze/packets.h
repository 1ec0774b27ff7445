/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text/str.h"
#include "wire/pb_read.h"

/* One TracePacket, split into its header and its payload. Fields point into the packet's bytes. */

#define PACKET_STATE_CLEARED 1u /* sequence_flags: the sequence's state begins anew */
#define PACKET_NEEDS_STATE 2u

struct packet {
	struct pb_field payload; /* id 0: none that the caller wants */
	struct pb_field interned, defaults; /* id 0: none */
	uint64_t timestamp;
	uint32_t clock; /* timestamp_clock_id */
	uint32_t sequence;
	uint32_t flags; /* sequence_flags; the older incremental_state_cleared sets its bit */
	uint32_t dropped; /* previous_packet_dropped */
	uint64_t n_dropped; /* packets_dropped; 0 unknown */
	uint32_t machine;
	int32_t pid;
	bool has_timestamp, has_clock, has_sequence;
	bool first; /* first_packet_on_sequence */
};

/* Splits a packet. wants: returns true for the number of a payload field that the caller reads; the
 * last such field becomes the payload. Returns false if the packet violates protobuf's rules; *ret
 * then has the fields before the error. */
bool packet_read(struct packet *ret, const uint8_t *data, size_t len,
		 bool (*wants)(uint32_t field));

/* Unpacks a field of TracePacket, compressed_packets or zstd_compressed_packets by its number, into
 * ret (cleared first): bytes of Trace.packet records. Returns 0, 1 (ret has the records of the
 * first compressed streams; the rest of the field is invalid or truncated), -EBADMSG (all of it is
 * invalid), -EFBIG (more than 64 MiB) or -ENOMEM. */
int packets_unpack(uint32_t field, const uint8_t *data, size_t len, struct strbuf *ret);

/* Stores the text of a field, cut and without control characters; "" for a field without bytes. */
void packet_copy_text(const struct pb_field *f, char *to, size_t size);

/* The kind of a file of `size` bytes, by its first `len` bytes. packets_are_binary() returns true
 * for the record of a whole TracePacket; it checks the fields of the packet only if the packet ends
 * within these bytes. packets_are_text() returns true for text, even if it begins with an empty
 * line. */
bool packets_are_binary(const uint8_t *data, size_t len, uint64_t size);
bool packets_are_text(const uint8_t *data, size_t len, uint64_t size);
