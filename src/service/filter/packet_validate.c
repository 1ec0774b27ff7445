/* SPDX-License-Identifier: Apache-2.0 */
#include "service/filter/packet_validate.h"

#include <assert.h>

#include "base/core/mem.h"
#include "gen/fields.h"
#include "service/ipc/limits.h"
#include "wire/pb_enc.h"

/*
 * A packet lies in the central buffer as one slice for each chunk that it was written to. The check
 * walks the top-level fields with a cursor that crosses the ends of slices, so no copy is needed.
 * The contents of fields are skipped.
 *
 *      slices     | tag len ======= | ======== tag va | lue tag len === |
 *      cursor       ^ here, then jumps over the contents ^ and so on, and must stop at the end ^
 *
 * The last field must end exactly at the end of the packet. Otherwise, a reader would take the
 * appended trailer for a part of the producer's last field.
 */

#define MAX_FIELD_ID ((1u << 29) - 1)
#define PACKET_PROTOVMS 125 /* the service does not decode it, so it is not in protos/ */

struct cursor {
	const uint8_t *cur, *end; /* in the current slice */
	const struct iovec *next, *last; /* slices after it */
};

/* At the end of a slice, moves the cursor to the next slice with bytes. Returns false at the end of
 * the packet. */
static bool enter_next_slice(struct cursor *c)
{
	while (c->cur == c->end) {
		if (c->next == c->last)
			return false;
		c->cur = c->next->iov_base;
		c->end = c->cur + c->next->iov_len;
		c->next++;
	}
	return true;
}

static bool packet_validate_skip(struct cursor *c, uint64_t len)
{
	while (len > (uint64_t)(c->end - c->cur)) {
		len -= (uint64_t)(c->end - c->cur);
		c->cur = c->end;
		if (!enter_next_slice(c))
			return false;
	}
	c->cur += len;
	return true;
}

/* Returns false if the packet ends before the varint does, or the varint has more than 64 bits. */
static bool read_varint(struct cursor *c, uint64_t *ret_v)
{
	uint64_t v = 0;

	for (unsigned shift = 0; shift < 64; shift += 7) {
		uint8_t byte;

		if (c->cur == c->end && !enter_next_slice(c))
			return false;
		byte = *c->cur++;
		if (shift == 63 && byte > 1)
			return false;
		v |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80)) {
			*ret_v = v;
			return true;
		}
	}
	return false;
}

/* Returns true for fields that only the service may write. */
static bool is_reserved(uint64_t id)
{
	switch (id) {
	case PB_TRACE_PACKET_TRUSTED_UID:
	case PB_TRACE_PACKET_TRUSTED_PACKET_SEQUENCE_ID:
	case PB_TRACE_PACKET_TRACE_CONFIG:
	case PB_TRACE_PACKET_TRACE_STATS:
	case PB_TRACE_PACKET_SYNCHRONIZATION_MARKER:
	case PB_TRACE_PACKET_COMPRESSED_PACKETS:
	case PB_TRACE_PACKET_SERVICE_EVENT:
	case PB_TRACE_PACKET_TRUSTED_PID:
	case PB_TRACE_PACKET_MACHINE_ID:
	case PB_TRACE_PACKET_TRACE_PROVENANCE:
	case PACKET_PROTOVMS:
	case PB_TRACE_PACKET_ZSTD_COMPRESSED_PACKETS:
		return true;
	default:
		return false;
	}
}

static NO_CANARY bool skip_field_value(struct cursor *c, unsigned wire_type)
{
	uint64_t v;

	switch (wire_type) {
	case PB_WIRE_VARINT:
		return read_varint(c, &v);
	case PB_WIRE_FIXED64:
		return packet_validate_skip(c, 8);
	case PB_WIRE_FIXED32:
		return packet_validate_skip(c, 4);
	case PB_WIRE_BYTES:
		return read_varint(c, &v) && v <= PB_MAX_MESSAGE && packet_validate_skip(c, v);
	default:
		return false;
	}
}

NO_CANARY bool packet_is_valid(const struct iovec *slices, size_t n_slices)
{
	struct cursor c = {.next = slices, .last = slices + n_slices};
	uint32_t n_fields = 0;
	uint64_t tag;

	while (enter_next_slice(&c)) {
		if (n_fields++ == MAX_PACKET_FIELDS)
			return false;
		/* Some readers of traces stop at field 0, before the trailer. */
		if (!read_varint(&c, &tag) || tag >> 3 == 0 || tag >> 3 > MAX_FIELD_ID)
			return false;
		if (is_reserved(tag >> 3) || !skip_field_value(&c, tag & 7))
			return false;
	}
	return true;
}

NO_CANARY uint32_t packet_state_flags(const struct iovec *slices, size_t n_slices)
{
	struct cursor c = {.next = slices, .last = slices + n_slices};
	uint64_t tag, v = 0;
	uint32_t state = 0;

	while (enter_next_slice(&c) && read_varint(&c, &tag)) {
		if ((tag & 7) != PB_WIRE_VARINT) {
			if (!skip_field_value(&c, tag & 7))
				break;
			continue;
		}
		if (!read_varint(&c, &v))
			break;
		if (tag >> 3 == PB_TRACE_PACKET_SEQUENCE_FLAGS)
			state |= v & (PACKET_STATE_CLEARED | PACKET_STATE_NEEDED);
		else if (tag >> 3 == PB_TRACE_PACKET_INCREMENTAL_STATE_CLEARED && v)
			state |= PACKET_STATE_CLEARED;
	}
	return state;
}

static uint8_t *packet_validate_put_field(uint8_t *p, uint32_t field, uint64_t v)
{
	p = pb_put_varint(p, pb_tag(field, PB_WIRE_VARINT));
	return pb_put_varint(p, v);
}

size_t packet_put_trailer(uint8_t buf[static PACKET_MAX_TRAILER], const struct trace_packet *packet,
			  uint32_t sequence_id)
{
	/* The field is an int32, whose negative values are encoded in 64 bits. */
	int64_t uid = (int32_t)packet->writer.uid;
	uint8_t *p = buf;

	p = packet_validate_put_field(p, PB_TRACE_PACKET_TRUSTED_UID, (uint64_t)uid);
	p = packet_validate_put_field(p, PB_TRACE_PACKET_TRUSTED_PACKET_SEQUENCE_ID, sequence_id);
	if (packet->writer.pid > 0)
		p = packet_validate_put_field(p, PB_TRACE_PACKET_TRUSTED_PID,
					      (uint64_t)packet->writer.pid);
	if (packet->writer.machine_id)
		p = packet_validate_put_field(p, PB_TRACE_PACKET_MACHINE_ID,
					      packet->writer.machine_id);
	if (packet->loss)
		p = packet_validate_put_field(p, PB_TRACE_PACKET_PREVIOUS_PACKET_DROPPED,
					      packet->loss);
	assert(p <= buf + PACKET_MAX_TRAILER);
	return (size_t)(p - buf);
}
